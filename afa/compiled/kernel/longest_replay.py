"""Replay of the steps behind a late event, where only the longest count: event by event, until lists are what they were.

    step          41       42       43       44 ..     the list before 41 is read; each event changes a few rows of it
    nodes now     p q      r        -        s         (`longest_step`), the rows that come are the step's nodes from now on
    as it was     p q' t   r'       u        s         w.old: the list as it was, brought up to a step where they are compared
                                             |
                                             both lists hold the same: nodes take over how far those of w.old reached

So a step costs no more than an event that comes in order, whatever the list; `propagate_runs` would derive and compare it whole.
Replay ends at a step of several events, or of none, and at one that only arc by arc can be taken: `propagate_runs` goes on there.
"""

from __future__ import annotations

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.buffers import add_nodes, copy_row, since_of, sorted_rows
from afa.compiled.kernel.heap import room
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.longest_list import count_finals, fill_set, find_longest
from afa.compiled.kernel.longest_matches import longest_matches
from afa.compiled.kernel.longest_step import begin_list, change_list, end_list
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.step import marked, store_nodes

APART = 64
"""How many steps lie between two comparisons at most, or the list's rows if more. At first m.soon, then twice as many each time."""


@kernel
def replay(m: Memory, w: Scratch, p: Program, b: Block, place: int, n: int, before: int) -> tuple[int, int, int, int]:
    """Make the steps from a place on. The list before it: ``n`` rows at w.source; as it was, ``before`` rows at w.old.

    Returns the place where it stops or a status, how many rows w.source and w.old have there, and whether the two lists hold the
    same. *Requires* `may_replay`, and a step before the place.
    """
    x, last, order, times = Loop(w.loop), b.last, b.order, b.le
    status = begin_list(m, w, p, b, n)
    if status < 0:
        return status, n, before, 0
    seen, apart, until = place, m.soon, BEGINNING
    ahead = place + apart
    while place < last:
        i = order[place]
        le, events = times[i], b.events_of[i]
        # Now and then both lists are compared: propagation ends where they are the same.
        if place >= ahead and not marked(w, place):
            before, seen = bring_up(m, w, b, seen, place, before), place
            if before < 0:
                return before, n, before, 0
            if last_before(m, w, b, place) >= w.until and agrees(m, w, x, before, times[order[place - 1]]):
                end_list(m, w, p, b, x, times[order[place - 1]])
                return place, pair_rows(m, w, before), before, 1
            apart = min(2 * apart, max(APART, x.n))
            ahead = place + apart
        # The arcs in force at the step.
        if events.count != 1:
            break
        if le >= until:
            seek(p, le)
            until = p.high
            count_finals(m, w, p, x)
        if p.spill:
            break
        if not room(w, 24):
            return NEED_UNDO, n, before, 0
        # Its event changes the list; what comes are its nodes. The nodes that it had are kept for `bring_up`.
        event = EventRow(b + b.events + events.first * (EventRow.payload + m.payload_words))
        fresh = change_list(m, w, p, b, x, m.m_at + 8 * event.payload, event.re, le)
        if fresh == ASK:
            break
        if fresh < 0:
            return fresh, n, before, 0
        w[w.order + place] = b.nodes_of[i]
        store_nodes(m, w, b, i, Slice(b.node_top, fresh) if fresh else 0, x.reach)
        if x.finals or b.matches_of[i]:
            status = longest_matches(m, w, p, b, x, i, le)
            if status < 0:
                return status, n, before, 0
        place += 1
    end_list(m, w, p, b, x, times[order[place - 1]])
    if place < last:
        before = bring_up(m, w, b, seen, place, before)
        if before < 0:
            return before, n, before, 0
        before = sorted_rows(w, w.old, before, NodeRow.register + m.register_words)
        n = put_rows(m, w, x)
    return place, n, before, 0


@kernel
def last_before(m: Memory, w: Scratch, b: Block, place: int) -> int:
    """Return the LE of the last old (not new) step before a place; BEGINNING: there is none."""
    order, times = b.order, b.le
    at = place - 1
    while at >= b.first:
        if order[at] < w.made:
            return times[order[at]]
        at -= 1
    return BEGINNING


@kernel
def bring_up(m: Memory, w: Scratch, b: Block, seen: int, place: int, n: int) -> int:
    """Move w.old, the list before place ``seen`` as it was, on to the last old step before ``place``.

    *Requires* at w.order the nodes that these steps had. Returns how many rows there are then, or NEED_ROWS.
    """
    order, times, rows, s = b.order, b.le, w.old, NodeRow.register + m.register_words
    last = place - 1
    while last >= seen and order[last] >= w.made:
        last -= 1
    if last < seen:
        return n
    # Rows whose nodes reached that step, then the nodes of the steps up to it.
    le, kept = times[order[last]], 0
    for k in range(n):
        if w[since_of(w, rows, k, s) + w.rows] > le:
            if k != kept:
                copy_row(w, rows, k, rows, kept, s)
            kept += 1
    for at in range(seen, last + 1):
        i = order[at]
        if i < w.made:
            kept = add_nodes(m, w, b, i, w[w.order + at], rows, kept, BEGINNING if at == last else le)
            if kept < 0:
                return kept
    return kept


@kernel
def agrees(m: Memory, w: Scratch, x: Loop, n: int, le: int) -> bool:
    """Return whether the list, of a step at ``le``, holds the ``n`` rows at w.old and no others. O(n)."""
    s, rows, alive = NodeRow.register + m.register_words, w.old, 0
    for k in range(x.n):
        alive += NodeRow(w, w.other + k * s).until > le
    if alive != n:
        return False
    if x.set != w.stamp:
        fill_set(m, w, x)
    for j in range(n):
        row = NodeRow(w, rows + j * s)
        place = find_longest(m, w, row)
        if w[place] != w.stamp:
            return False
        found = NodeRow(w, w.other + w[place + 1] * s)
        if found.until != row.until or found.start != row.start:
            return False
    return True


@kernel
def pair_rows(m: Memory, w: Scratch, n: int) -> int:
    """Write the list to w.source in the order of the ``n`` rows at w.old, which `agrees` with it. Returns ``n``."""
    s, rows, old = NodeRow.register + m.register_words, w.source, w.old
    for j in range(n):
        at = since_of(w, rows, j, s) + w.rows
        end = w[at]
        copy_row(w, w.other, w[find_longest(m, w, old + j * s) + 1], rows, j, s)
        w[at] = end
    return n


@kernel
def put_rows(m: Memory, w: Scratch, x: Loop) -> int:
    """Write the list to w.source, by start. Returns how many rows it has."""
    s, rows, n = NodeRow.register + m.register_words, w.source, x.n
    for k in range(n):
        copy_row(w, w.other, k, rows, k, s)
        w[since_of(w, rows, k, s) + w.rows] = ALONE
    return sorted_rows(w, rows, n, s)
