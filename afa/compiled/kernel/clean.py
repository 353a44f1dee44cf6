"""State cleanup using punctuations ([AFA10] Sec. 5.4, App. C.1); see `afa.interpreted.cleanup` for the picture of what is final.

    clean(b, 13)     before                             after
    order            [ 10  11  12  14 ]                 10  11 [ 12  14 ]           Block.first moves, nothing else does
    events of 12     [ e ]                              empty                       12 is ``cover``
    list of 12       p (start 10, m 20)                 p  alone                    rows whose m is not behind 13 go,
                     q (start 11, m 13)                                             those that stay are its own
    matches of 12    T 12 (final), T 13 by a time-out   T 13                        only what may still be withdrawn

After cleanup the first step is ``cover``, the latest one before the punctuation: it has no events any more, and of its list what
can still go on. No word is written before `save` has kept it, and what lies before ``cover`` is only left behind.
"""

from __future__ import annotations

from afa.compiled.kernel.buffers import load_list, since_of, sorted_rows
from afa.compiled.kernel.closure import fire
from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.gaps import horizon_of, mark_waits
from afa.compiled.kernel.heap import put, room, save
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.longest_rows import distinct
from afa.compiled.kernel.matches import store_matches
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place
from afa.compiled.kernel.propagate import propagate
from afa.compiled.kernel.step import is_cover, store_nodes, waits_since


@kernel
def tick(m: Memory, w: Scratch, p: Program, b: Block) -> int:
    """Fire the time-outs that the clock has reached: the list of the last step waits until there. Returns the status of `walk`."""
    if p.timeout == 0 or b.last == b.first:
        return DONE
    w.epoch += 1
    w.marked_from = b.last - 1
    w.until = BEGINNING
    return int(propagate(m, w, p, b, mark_waits(m, w, b, w.marked_from) if m.gapless else w.marked_from))


@kernel
def cover_of(m: Memory, b: Block, t: int) -> int:
    """Return the place of the last step before ``t``; one before the first place if there is none."""
    cover = find_place(m, b, t, 0) - 1
    while cover >= b.first and b.le[b.order[cover]] >= t:
        cover -= 1  # of several at t, `find_place` may give a later one
    return int(cover)


@kernel
def oldest(m: Memory, b: Block, t: int) -> int:
    """Return the first place that is of use when a block is cleaned until ``t``: where the oldest node of ``cover`` stands."""
    cover = cover_of(m, b, t)
    if cover < b.first:
        return int(b.first)
    i = b.order[cover]
    reach = b.reach[i]
    if reach >= b.le[i]:
        return int(cover)
    return int(max(find_place(m, b, reach, 0), b.first))


@kernel
def clean(m: Memory, w: Scratch, p: Program, b: Block, t: int) -> int:
    """Drop what lies before ``cover(t)``. O(log steps + the list of cover).

    Returns DONE, or NEED_ROWS, NEED_UNDO, NEED_NODES, NEED_MATCHES, NEED_TEMP, FAULT, ENDLESS.
    """
    b.cleaned = t
    s, cover = NodeRow.register + m.register_words, cover_of(m, b, t)
    if cover < b.first:
        return DONE
    i = b.order[cover]
    if b.le[i] > b.pruned:
        b.pruned = BEGINNING
    rows, slices = w.source, b.events_of
    n = cover_list(m, w, p, b, cover, t)
    if n < 0:
        return n
    alive, until = 0, BEGINNING
    for k in range(n):
        if NodeRow(w, rows + k * s).until > t:
            until = max(until, NodeRow(w, rows + k * s).until)
            copy(w, rows + k * s, w, rows + alive * s, s)
            alive += 1
    if not room(w, 64):
        return NEED_UNDO
    top = b.node_top
    if top + alive > b.node_cap:
        return NEED_NODES
    waits = max(waits_since(m, b, cover), t)
    b.since = waits
    if m.gapless and Slice(slices[i]).count:
        event = EventRow(b + b.events + Slice(slices[i]).first * (EventRow.payload + m.payload_words))
        b.over = max(event.re, until)  # what has skipped the event may outlive it
    put(m, w, slices + i, 0)
    nodes = b + b.nodes + top * s
    copy(w, rows, m, nodes, alive * s)
    store_nodes(m, w, b, i, Slice(top, alive) if alive else 0, b.le[i])
    b.first = cover if alive or m.gapless else cover + 1  # where numbers are gapless, for its number
    count = open_matches(m, w, b, i, t) if alive else 0  # though no time-out is in force any more, one that was may have made some
    if count < 0:
        return int(count)
    if b.match_top + count > b.match_cap:
        return NEED_MATCHES
    store_matches(m, w, b, i, count)
    return DONE


@kernel
def open_matches(m: Memory, w: Scratch, b: Block, i: int, t: int) -> int:
    """Put the matches of ``cover`` that are not final at w.temp. Returns how many, or NEED_TEMP.

    They are those that were announced: if arcs have changed since, who is told of that change sees to them.
    """
    width, count = MatchRow.register + m.register_words, 0
    rows = b.matches_of[i]
    if rows.count * width > w.temp_cap:
        return NEED_TEMP
    for k in range(rows.first, rows.first + rows.count):
        match = MatchRow(b + b.matches + k * width)
        if match.t >= t:
            copy(m, match, w, w.temp + count * width, width)
            count += 1
    return count


@kernel
def cover_list(m: Memory, w: Scratch, p: Program, b: Block, cover: int, t: int) -> int:
    """Write the list of ``cover`` to w.source, each row with the end of its node. Returns how many rows, or a status.

    What a time-out before ``t`` has made stands in it from now on: the arc that made it may be dropped.
    """
    s, rows = NodeRow.register + m.register_words, w.source
    n = load_list(m, w, b, cover, rows)
    for k in range(n):
        NodeRow(w, rows + k * s).end = w[since_of(w, rows, k, s) + w.rows]
    if n <= 0 or p.timeout == 0:
        return n
    order, times = b.order, b.le
    le = times[order[cover]]
    horizon = horizon_of(m, b, cover)
    count = n
    for k in range(n):
        found = fire(m, w, p, w, rows + k * s, le, waits_since(m, b, cover), min(horizon, t - 1))
        if found < 0:
            return int(found)
        for q in range(1, found):
            if count + 2 >= w.rows:
                return NEED_ROWS
            copy(w, w.ready + q * s, w, rows + count * s, s)
            NodeRow(w, rows + count * s).end = ALONE
            count += 1
    return int(distinct(m, w, w, rows, sorted_rows(w, rows, count, s), s))


@kernel
def expire(m: Memory, w: Scratch, b: Block, t: int) -> int:
    """Drop the retractions that waited for insertions before ``t``. Returns DONE or NEED_UNDO."""
    size = PendingRow.payload + m.payload_words
    base, top = b + b.pending, b.pending_top
    if not room(w, top * size):
        return NEED_UNDO
    save(m, w, base, top * size)
    kept = 0
    for row in range(top):
        if PendingRow(base + row * size).le >= t:
            copy(m, base + row * size, m, base + kept * size, size)
            kept += 1
    b.pending_top = kept
    m.waiting -= top - kept
    return DONE


@kernel
def set_deadlines(m: Memory, p: Program, b: Block, key: int) -> None:
    """Write to the directory which punctuations concern this block, a key's, next: KeyEntry.act, KeyEntry.clean."""
    s = NodeRow.register + m.register_words
    act, dead = FOREVER, FOREVER
    size = PendingRow.payload + m.payload_words
    for row in range(b.pending_top):
        act = min(act, PendingRow(b + b.pending + row * size).le + 1)
    first, last = b.first, b.last
    if first < last:
        i = b.order[first]
        if p.timeout:
            act = dead = BEGINNING
        elif b.events_of[i].count or not is_cover(m, b, i):
            dead = b.le[i] + 1
        else:
            rows = b.nodes_of[i]
            for k in range(rows.count):
                dead = min(dead, NodeRow(b + b.nodes + (rows.first + k) * s).until)
            if m.gapless and m.keyed and (first + 1 == last):
                dead = min(dead, b.over)
            if first + 1 < last:
                dead = min(dead, b.le[b.order[first + 1]] + 1)
    if m.gapless and b.gap < FOREVER:
        act = min(act, b.gap + 1)
    put_deadlines(m, key, act, dead)
