"""What one event changes of a list, where only the longest count.

    the list     (1, 61, b, 7)  (4, 64, b, 4)  (9, 69, a, 0)      start, m, state, register; see `longest_list`

    an event     ends   row 0 (it is over)      the last row takes its place; node 17 ends at the event's LE
                 makes  (9, 69, b, 4)           it outlives row 1, of its state and register: node 20 ends, node 22 takes its place
    the step     nodes  22                      all others stand on: their nodes are OPEN

`longest_best` says what an event makes; if it refuses, the automaton's step is asked of row after row. So a step
costs a look at the list and what changes of it, and holds a node for each row that comes: lists of thousands of rows, of which
most stay, are never written anew. Nodes that were there before the unit of work are noted before they end.
"""

from __future__ import annotations

from typing import Annotated

from afa.compiled.kernel.buffers import since_of
from afa.compiled.kernel.derive import call_step
from afa.compiled.kernel.heap import put, room
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.longest_list import begin_rows, fill_set, find_longest, take_out
from afa.compiled.kernel.native_call import call4, kernel
from afa.compiled.kernel.skyline import begin_skyline, count_in, count_out, drop_skyline, put_skyline
from afa.compiled.kernel.step import over

APART = 64
"""After so many steps rows that are over are looked for, and the oldest node of the list."""
CREDIT, RETURNED = 8, 64
"""So many events may be refused, one more for so many that are not: each one costs a look at all rows, and a new skyline."""


@kernel
def begin_list(m: Memory, w: Scratch, p: Program, b: Block, n: int) -> int:
    """Read the ``n`` rows at w.source, the list of a step. Returns DONE, NEED_UNDO or NEED_ROWS."""
    x = Loop(w.loop)
    if not room(w, 64 + 8 * n):
        return NEED_UNDO
    if max(n, p.states) + 16 >= w.rows:
        return NEED_ROWS
    x.begin, x.slots = m.p_at + 8 * p.begin, m.p_at + 8 * p.slots
    x.reach = begin_rows(m, w, p, x, n)
    x.own = x.newest = b.node_top
    x.open, x.credit, x.next_look = 0, CREDIT * RETURNED, APART
    begin_skyline(m, w, p, x)
    return DONE


@kernel
def change_list(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, event: int, re: int, le: int) -> int:
    """Change the list by the event whose payload is at address ``event``; the rows that come are the next nodes of the block.

    Returns how many these are, ASK: nothing is done, or NEED_ROWS, NEED_NODES, NEED_MATCHES, OVER. *Requires* `begin_list`.
    """
    s, found = NodeRow.register + m.register_words, REFUSED
    if x.quick:
        found = call4(p.best_step, m.w_at + 8 * x, event, re, le)
    refused = found == REFUSED
    if refused:
        x.quick, x.credit, m.looks = 0, x.credit - RETURNED, m.looks + x.n
        found = call_step(m, p, m.w_at, w.other, x.n, True, le, re, event, m.w_at + 8 * w.new, w.rows - 2)
    if found < 0:
        return ASK if found == BY_ARCS else NEED_ROWS
    made, top = found, b.node_top
    for q in range(found if refused else 0):
        made -= NodeRow(w, w.new + q * s).end != ALONE
    if top + made > b.node_cap:
        return NEED_NODES
    if x.finals + made > b.match_cap - b.match_top:
        return NEED_MATCHES
    if x.set != w.stamp or 2 * (x.used + made) > w.hashes:
        fill_set(m, w, x)
    if refused:
        end_others(m, w, p, b, x, found, le)
    else:
        if x.leave:
            leave(m, w, p, b, x, le)
        x.credit += x.credit < CREDIT * RETURNED
    x.next_look -= 1
    if x.next_look <= 0 or x.n + made + 16 >= w.rows:
        x.reach = take_over_out(m, w, p, b, x, le)
        x.next_look = max(APART, x.n >> 2)
        if x.n + made + 16 >= w.rows:
            return NEED_ROWS
    # Rows that stay stand on; rows that come join them, or take the place of one that they outlive.
    x.passing, x.fresh = 0, x.n
    if x.open == 0:
        open_nodes(m, w, b, x)
    fresh = 0
    for q in range(found):
        row = NodeRow(w, w.new + q * s)
        if row.end == ALONE:
            fresh = add_longest_row(m, w, p, b, x, row, le, fresh)
    if x.n > w.budget and standing(m, w, x, le) > w.budget:
        return over(w, le, standing(m, w, x, le), NOWHERE, False)
    put_nodes(m, w, b, fresh)
    x.newest = top
    x.reach = le if x.n == fresh else min(x.reach, le)
    if refused and x.credit > 0:
        begin_skyline(m, w, p, x)
    return fresh


@kernel
def standing(m: Memory, w: Scratch, x: Loop, le: int) -> int:
    """Return how many rows of the list stand at ``le``: others, over by then, are still among them. O(n)."""
    s, n = NodeRow.register + m.register_words, 0
    for k in range(x.n):
        n += NodeRow(w, w.other + k * s).until > le
    return n


@kernel
def leave(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, le: int) -> None:
    """Take the rows out whose states are among Loop.leave: they came with the last step."""
    s, bits = NodeRow.register + m.register_words, x.leave
    for k in range(x.n - 1, x.fresh - 1, -1):
        row = NodeRow(w, w.other + k * s)
        if bits >> row.state & 1:
            end_row(m, w, p, b, x, k, le)


@kernel
def take_over_out(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, le: int) -> int:
    """Take the rows out that are over at ``le``. Returns the LE at which the oldest node of the others was stored. O(n)."""
    found, s = FOREVER, NodeRow.register + m.register_words
    for k in range(x.n - 1, -1, -1):
        if NodeRow(w, w.other + k * s).until > le:
            found = min(found, w[since_of(w, w.other, k, s)])
        else:
            end_row(m, w, p, b, x, k, le)
    if x.quick:
        drop_skyline(w, p, x, le)
    return found


@kernel
def end_others(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, found: int, le: int) -> None:
    """Take the rows out that are not among the ``found`` ones at w.new, where those that stay have their numbers, in order."""
    s, k = NodeRow.register + m.register_words, x.n - 1
    for q in range(found - 1, -1, -1):
        stays = NodeRow(w, w.new + q * s).end
        if stays != ALONE:
            while k > stays:
                end_row(m, w, p, b, x, k, le)
                k -= 1
            k -= 1
    while k >= 0:
        end_row(m, w, p, b, x, k, le)
        k -= 1


@kernel
def end_row(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, k: int, le: int) -> None:
    """Take row ``k`` out of the list, and end its node, at ``le`` or where its m was over. Rows behind it may change places."""
    row = NodeRow(w, w.other + k * (NodeRow.register + m.register_words))
    end_node(m, w, b, x, row.end, min(le, row.until))
    if x.quick:
        count_out(m, w, p, x, k)
    take_out(m, w, p, x, k)


@kernel
def end_node(m: Memory, w: Scratch, b: Block, x: Loop, node: int, le: int) -> None:
    """End a node at ``le``, by the step at work. *Requires* `room` for 3 for a node that is older than this work."""
    end = b + b.nodes + node * (NodeRow.register + m.register_words) + NodeRow.end
    if x.open == 0:  # the first step of this work
        if m[end] > le:
            put(m, w, end, le)
    elif node >= x.newest:  # of the last step: it stood nowhere else
        m[end] = ALONE
    elif node >= x.own:
        m[end] = le
    else:  # INVARIANT: of an older node the undo log has the old end
        put(m, w, end, le)


@kernel
def open_nodes(m: Memory, w: Scratch, b: Block, x: Loop) -> None:
    """Let all nodes of the list stand on. *Requires* `room` for 3 each."""
    s, end = NodeRow.register + m.register_words, b + b.nodes + NodeRow.end
    for k in range(x.n):
        at = end + NodeRow(w, w.other + k * s).end * s
        if m[at] != OPEN:
            put(m, w, at, OPEN)
    x.open = 1
    x.newest = FOREVER  # those that stand on are not new


@kernel
def add_longest_row(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, row: Annotated[NodeRow, "w"], le: int, fresh: int) -> int:
    """Add the row at ``w[row]`` to the list, or replace the one of its state and register, unless that lasts as long.

    The numbers of the rows that have come stand at w.source. Returns how many these are.
    """
    s, place, node, k = NodeRow.register + m.register_words, find_longest(m, w, row), b.node_top, x.n
    if w[place] == w.stamp:
        # One of its state and register: the row that lasts longer, of these the one that began later, stays.
        k = w[place + 1]
        there = NodeRow(w, w.other + k * s)
        if there.until > row.until or (there.until == row.until and there.start >= row.start):
            return fresh
        least = there.until
        there.until, there.start = row.until, row.start
        if x.quick:
            put_skyline(m, w, p, x, k)
        if there.end >= node:  # of this step
            return fresh
        end_node(m, w, b, x, there.end, min(le, least))
    else:
        copy(w, row, w, w.other + k * s, s)
        w[place], w[place + 1], w[since_of(w, w.other, k, s) + w.rows] = w.stamp, k, place
        x.n, x.used = k + 1, x.used + 1
        x.finals += p[p.now + row.state] != 0
        if x.quick:
            count_in(m, w, p, x, k)
            put_skyline(m, w, p, x, k)
    NodeRow(w, w.other + k * s).end, w[since_of(w, w.other, k, s)] = node, le
    w[w.source + fresh] = k
    return fresh + 1


@kernel
def put_nodes(m: Memory, w: Scratch, b: Block, fresh: int) -> None:
    """Write the nodes of the ``fresh`` rows at w.source, by start, as the next ones of the block."""
    s, rows, list_, top = NodeRow.register + m.register_words, w.source, w.other, b.node_top
    for q in range(1, fresh):
        k, j = w[rows + q], q
        while j > 0 and NodeRow(w, list_ + w[rows + j - 1] * s).start > NodeRow(w, list_ + k * s).start:
            w[rows + j] = w[rows + j - 1]
            j -= 1
        w[rows + j] = k
    for q in range(fresh):
        row, at = NodeRow(w, list_ + w[rows + q] * s), NodeRow(b + b.nodes + (top + q) * s)
        copy(w, row, m, at, s)
        at.end, row.end = OPEN, top + q


@kernel
def end_list(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, le: int) -> None:
    """Set the end of the last step's nodes, at ``le``, to ALONE, as no step follows yet; end those that are over."""
    take_over_out(m, w, p, b, x, le)
    if x.open == 0 or x.newest == FOREVER:
        return
    for node in range(x.newest, b.node_top):
        NodeRow(b + b.nodes + node * (NodeRow.register + m.register_words)).end = ALONE
