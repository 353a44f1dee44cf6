"""What becomes of all attempts by many rows side by side: folds over 16, 256, 4,096 .. rows.

    places      0 ..... 15 | 16 ..... 31 | 32 ..... 47 | ..          level 1: 16 rows
    Block.folds [ 0:1         3:1           -             ..         one word for each: rows of nodes in which the `RowFold` stands

A fold is made when it is asked for, of those of the level below. It is good for as long as the rows keep their places and links.
"""

from __future__ import annotations

from afa.compiled.kernel.heap import put, room
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.scan_layout import *
from afa.compiled.kernel.scan_rows import classes_of, event_at, link_at

BITS, LEVELS = 4, 4
FAR = 64
"""So many rows are gone through one by one before folds are made."""


@kernel
def fold_word(m: Memory, b: Block, level: int, place: int) -> int:
    """Return the address of the word of the fold of a level that a place stands in."""
    at = int(b.folds)
    for below in range(1, level):
        at += (b.cap >> BITS * below) + 1
    return at + (place >> BITS * level)


@kernel
def forget_folds(m: Memory, w: Scratch, b: Block, low: int, high: int) -> int:
    """Forget the folds of the rows of ``[low, high)``. Returns DONE or NEED_UNDO."""
    if b.cap >> BITS == 0:
        return DONE
    for level in range(1, LEVELS + 1):
        last = min(high, b.cap) - 1 >> BITS * level
        for k in range(low >> BITS * level, last + 1):
            word = fold_word(m, b, level, k << BITS * level)
            if m[word]:
                if not room(w, 4):
                    return NEED_UNDO
                put(m, w, word, 0)
    return DONE


@kernel
def highest_level(low: int, high: int) -> int:
    """Return the highest level of which a fold begins at ``low`` and ends by ``high``; 0: none."""
    level = 0
    while level < LEVELS and low & (1 << BITS * (level + 1)) - 1 == 0 and low + (1 << BITS * (level + 1)) <= high:
        level += 1
    return level


@kernel
def fold_at(m: Memory, w: Scratch, b: Block, level: int, place: int) -> int:
    """Return the address of the fold of a level at a place, made if need be; or NEED_NODES, NEED_UNDO, NEED_TEMP."""
    if m[fold_word(m, b, level, place)]:
        return made_fold(m, b, level, place)
    for below in range(1, level + 1):
        for part in range(1 << BITS * (level - below)):
            at = place + (part << BITS * below)
            if m[fold_word(m, b, below, at)] == 0:
                status = make_fold(m, w, b, below, at)
                if status < 0:
                    return status
    return made_fold(m, b, level, place)


@kernel
def made_fold(m: Memory, b: Block, level: int, place: int) -> int:
    """Return the address of a fold that is made."""
    return b + b.nodes + Slice(m[fold_word(m, b, level, place)]).first * (NodeRow.register + m.register_words)


@kernel
def make_fold(m: Memory, w: Scratch, b: Block, level: int, place: int) -> int:
    """Make a fold of rows, or of the folds of the level below. Returns DONE, NEED_NODES, NEED_UNDO, NEED_TEMP."""
    parts, width = 1 << BITS, NodeRow.register + m.register_words
    first = StepClasses(classes_of(m, b, b.order[place]))
    n, most = first.sources - 1, 0
    for part in range(parts):
        most = max(most, exits_of(m, b, level - 1, place + (part << BITS * (level - 1))))
    # At w.temp: by source [class, last end]; then by class behind, now and before, [first start that ended none, first start].
    froms = w.temp
    now, then = froms + 2 * n, froms + 2 * n + 2 * most
    if then + 2 * most > w.temp + w.temp_cap:
        return NEED_TEMP
    if not room(w, 8):
        return NEED_UNDO
    for k in range(n):
        w[froms + 2 * k], w[froms + 2 * k + 1] = k, NOWHERE
    matched, until, le, held = FOREVER, FOREVER, 0, 0
    for part in range(parts):
        k = place + (part << BITS * (level - 1))
        exits = exits_of(m, b, level - 1, k)
        for e in range(exits):
            w[then + 2 * e] = w[then + 2 * e + 1] = FOREVER
        # What of attempts from before this part, and of those that began in the parts before it.
        for source in range(n):
            to = w[froms + 2 * source]
            if to != NOWHERE:
                to, last = passed(m, b, level - 1, k, to)
                w[froms + 2 * source] = to
                if last != NOWHERE:
                    w[froms + 2 * source + 1] = last
        for source in range(held):
            unmatched, alive = w[now + 2 * source], w[now + 2 * source + 1]
            to, last = passed(m, b, level - 1, k, source)
            if last != NOWHERE:
                matched = min(matched, unmatched)
            elif to != NOWHERE:
                w[then + 2 * to] = min(w[then + 2 * to], unmatched)
            if to != NOWHERE:
                w[then + 2 * to + 1] = min(w[then + 2 * to + 1], alive)
        # What began in it.
        if level == 1:
            i = b.order[k]
            at = StepClasses(classes_of(m, b, i))
            link = ClassLink(link_at(m, at, at.sources - 1))
            event = event_at(m, b, i)
            until, le = min(until, EventRow(event).re if event else BEGINNING), b.le[i]
            if link.thread != NOWHERE:
                matched = min(matched, k)
            elif link.to != NOWHERE:
                w[then + 2 * link.to] = min(w[then + 2 * link.to], k)
            if link.to != NOWHERE:
                w[then + 2 * link.to + 1] = min(w[then + 2 * link.to + 1], k)
        else:
            fold = RowFold(made_fold(m, b, level - 1, k))
            until, le = min(until, fold.until), fold.le
            matched = min(matched, fold.matched)
            for e in range(exits):
                pair = fold.rest + 2 * fold.sources + 2 * e
                w[then + 2 * e] = min(w[then + 2 * e], m[pair])
                w[then + 2 * e + 1] = min(w[then + 2 * e + 1], m[pair + 1])
        now, then, held = then, now, exits
    # Write it behind the nodes.
    rows = (RowFold.rest + 2 * n + 2 * held + width - 1) // width
    if b.node_top + rows > b.node_cap:
        return NEED_NODES
    out = RowFold(b + b.nodes + b.node_top * width)
    out.sources, out.exits, out.until, out.le, out.matched = n, held, until, le, matched
    copy(w, froms, m, out.rest, 2 * n)
    copy(w, now, m, out.rest + 2 * n, 2 * held)
    put(m, w, fold_word(m, b, level, place), Slice(b.node_top, rows))
    b.node_top += rows
    return DONE


@kernel
def exits_of(m: Memory, b: Block, level: int, place: int) -> int:
    """Return how many classes there are behind a fold that is made; level 0: behind the row at the place."""
    if level == 0:
        return StepClasses(classes_of(m, b, b.order[place])).classes
    return RowFold(made_fold(m, b, level, place)).exits


@kernel
def passed(m: Memory, b: Block, level: int, place: int, source: int) -> tuple[int, int]:
    """Return what a fold that is made (level 0: a row) makes of a class: the class behind it, and where it ended a match last."""
    if level == 0:
        link = ClassLink(link_at(m, StepClasses(classes_of(m, b, b.order[place])), source))
        return link.to, place if link.thread != NOWHERE else NOWHERE
    at = RowFold(made_fold(m, b, level, place)).rest + 2 * source
    return m[at], m[at + 1]
