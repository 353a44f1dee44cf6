"""One step: its mark, its list, its matches.

    step i  -->  nodes_of[i]    `store_nodes`: rows at the top of the section become its list
            -->  matches_of[i]  `derive_matches`: those that the list stands for; the difference goes to the output log

    mark         w.mark[place] = w.epoch      a new epoch forgets all marks at once; from w.marked_from on all are marked

A step made in this call (from w.made on) is written in place; of an older one the old word goes to the undo log.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.closure import fire
from afa.compiled.kernel.gaps import horizon_of
from afa.compiled.kernel.heap import put_of_step
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.longest_rows import add_longest, put_matches
from afa.compiled.kernel.matches import accepted, among, put_match, set_matches
from afa.compiled.kernel.native_call import kernel


@kernel
def mark(m: Memory, w: Scratch, b: Block, place: int) -> None:
    """Mark a place, if there is one."""
    if b.first <= place < b.last:
        w[w.mark + place] = w.epoch


@kernel
def marked(w: Scratch, place: int) -> bool:
    """Return whether a place is marked."""
    return place >= w.marked_from or w[w.mark + place] == w.epoch


@kernel
def is_cover(m: Memory, b: Block, i: int) -> bool:
    """Return whether a step without events is ``cover``; else it is a stone: a promise with a condition took its events."""
    return b.le[i] < max(b.cleaned, m.final)


@kernel
def waits_since(m: Memory, b: Block, place: int) -> int:
    """Return since when the list at a place waits for time-outs: from behind its LE; at ``cover`` from its punctuation."""
    i = b.order[place]
    if b.events_of[i].count or not is_cover(m, b, i):
        return b.le[i] + 1
    return max(b.le[i] + 1, b.since)


@kernel
def store_nodes(m: Memory, w: Scratch, b: Block, i: int, rows: Slice, reach: int) -> None:
    """Make ``rows``, the last ones of their section, the nodes of step ``i``. *Requires* `room` for 6."""
    b.node_top += rows.count
    put_of_step(m, w, i, b.nodes_of + i, rows)
    put_of_step(m, w, i, b.reach + i, reach)


@kernel
def over(w: Scratch, le: int, count: int, rows: int, lasting: bool) -> int:
    """Return OVER; note in w.over why: how many rows would stand at the step, and where (NOWHERE: apart, or in parts)."""
    w.over[0], w.over[1], w.over[2], w.over[3] = le, count, rows, lasting
    return OVER


@kernel
def may_match(m: Memory, p: Program, b: Block, i: int, a: Any, rows: int, n: int) -> bool:
    """Return whether a step has matches, or will have. *Requires* `seek` to its LE."""
    if p.timeout or b.matches_of[i]:
        return True
    s, now = NodeRow.register + m.register_words, p.now
    for k in range(n):
        if p[now + NodeRow(a, rows + k * s).state]:
            return True
    return False


@kernel
def derive_matches(m: Memory, w: Scratch, p: Program, b: Block, place: int, a: Any, rows: int, n: int) -> int:
    """Make the matches of a step those that its partial matches ``a[rows:][:n]`` stand for. *Requires* `room` for 3.

    Returns DONE, or NEED_TEMP, NEED_LOG, NEED_MATCHES, NEED_ROWS, FAULT, ENDLESS.
    """
    i = b.order[place]
    le, count = b.le[i], 0
    # Partial matches in final states; at cover, which has no event, only time-outs can match.
    if b.events_of[i].count or not is_cover(m, b, i):
        seek(p, le)
        count = accepted(m, w, p, a, rows, n, le)
    if p.timeout and count >= 0:
        count = add_timed(m, w, p, b, place, a, rows, n, count)
    if count < 0:
        return count
    return set_matches(m, w, p, b, i, count)


@kernel
def add_timed(m: Memory, w: Scratch, p: Program, b: Block, place: int, a: Any, rows: int, n: int, count: int) -> int:
    """Add to the ``count`` matches at w.temp those by time-outs, until `horizon_of`."""
    s, width = NodeRow.register + m.register_words, MatchRow.register + m.register_words
    le, horizon = b.le[b.order[place]], horizon_of(m, b, place)
    temp, ready = w.temp, w.ready
    for k in range(n):
        found = fire(m, w, p, a, rows + k * s, le, waits_since(m, b, place), horizon)
        if found < 0:
            return found
        if m.longest and found > 1:  # the set has served the closure
            put_matches(m, w, temp, count)
        # Row 0 is the partial match itself; each other one was reached at ``t``, which stands where a node has its end.
        for q in range(1, found):
            row = NodeRow(w, ready + q * s)
            t = row.end
            if t < m.final:
                continue
            seek(p, t)
            if p[p.now + row.state] == 0:
                continue
            at = put_match(m, w, w, row, t, count)
            if at < 0:
                return NEED_TEMP
            if m.longest:
                if count + 2 >= w.rows:
                    return NEED_ROWS
                count = add_longest(m, w, at, count)
            elif not among(w, at, w, temp, count, width):
                count += 1
    return count
