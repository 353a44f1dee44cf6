"""The changes that one event makes to a list in columns, where only the longest count.

    the list     (1, 61, b, 7)  (4, 64, b, 4)  (9, 69, a, 0)      start, until, state, register; see `longest_list`

    an event     ends   row 0 (it is over)      the last row takes its place; node 17 ends at the event's LE
                 makes  (9, 69, b, 4)           it outlives row 1, of its state and register: node 20 ends, node 22 takes its place
    the step     nodes  22                      all others stand on: their nodes are OPEN

`afa.compiled.code.column_step` finds the rows that an event makes and ends. So a step costs a look at the list and its changes, and
has a node for each row that comes: lists of thousands of rows, of which most stay, are never copied. Of nodes that were there
before the work on the key began the undo log has the old end.
"""

from __future__ import annotations

from typing import Annotated

from afa.compiled.kernel.group_sums import begin_sums, forget_ends, put_sum, sum_groups, sum_rows, sum_up
from afa.compiled.kernel.heap import put, room
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.longest_list import begin_columns, column, fill_set, find_longest, take_out
from afa.compiled.kernel.native_call import call4, kernel, peek, peek_byte
from afa.compiled.kernel.skyline import begin_skyline, count_in, count_out, drop_skyline, raise_row
from afa.compiled.kernel.step import over

APART = 64
"""After so many steps rows that are over are looked for, and the oldest node of the list."""
CREDIT, RETURNED = 8, 64
"""So many events may be refused, one more for so many that are not: each one costs a look at all rows, and a new skyline."""


@kernel
def begin_list(m: Memory, w: Scratch, p: Program, b: Block, n: int) -> int:
    """Bring the ``n`` rows at w.source, the list of a step, into columns. Returns DONE, NEED_UNDO or NEED_ROWS."""
    x = Loop(w.loop)
    if not room(w, 64 + 8 * n):
        return NEED_UNDO
    if n + 16 >= w.rows:
        return NEED_ROWS
    x.begin, x.slots = m.p_at + 8 * p.begin, m.p_at + 8 * p.slots
    x.reach = begin_columns(m, w, p, x, n)
    x.own = x.newest = b.node_top
    x.open, x.credit, x.next_look = 0, CREDIT * RETURNED, APART
    begin_skyline(m, w, p, x)
    if x.quick == 0:
        begin_sums(m, w, p, x)
    return DONE


@kernel
def change_columns(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, event: int, re: int, le: int) -> int:
    """Change the list by the event whose payload is at address ``event``; the rows that come are the next nodes of the block.

    Returns how many these are, ASK: nothing is done, or NEED_ROWS, NEED_NODES, NEED_MATCHES, OVER. *Requires* `begin_list`.
    """
    # The code of the arcs looks at the rows that the event may concern, and writes what they become to w.new.
    refused = False
    made = call4(p.columns, event, re, le, m.w_at + 8 * x)
    if made == REFUSED:  # ranges do not suffice: once more, over all groups of eight rows
        refused = True
        x.credit -= RETURNED
        begin_sums(m, w, p, x)
        made = call4(p.columns, event, re, le, m.w_at + 8 * x)
    quick = x.quick
    if made < 0:
        if quick == 0:
            forget_ends(w, x)
        return ASK if made == BY_ARCS else NEED_ROWS
    # INVARIANT: room in the block is asked for before anything is written that the steps before would miss.
    top = b.node_top
    if top + made > b.node_cap:
        return NEED_NODES
    if x.finals + made > b.match_cap - b.match_top:
        return NEED_MATCHES
    if x.set != w.stamp or 2 * (x.used + made) > w.hashes:
        fill_set(m, w, x)
    # Rows that the event ends, and now and then all that are over, leave the list.
    if quick:
        if x.leave:
            leave(m, w, p, b, x, le)
        x.credit += x.credit < CREDIT * RETURNED
    elif x.ended:
        end_rows(m, w, p, b, x, le)
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
    fresh, s = 0, NodeRow.register + m.register_words
    for k in range(made):
        fresh = add_longest_row(m, w, p, b, x, w.new + k * s, le, fresh)
    if x.n > w.budget and standing(m, w, x, le) > w.budget:
        return over(w, le, standing(m, w, x, le), NOWHERE, False)
    put_nodes(m, w, b, fresh)
    x.newest = top
    x.reach = le if x.n == fresh else min(x.reach, le)
    if refused and x.credit > 0:
        begin_skyline(m, w, p, x)
    elif quick and x.quick == 0:  # the skyline has no more room
        begin_sums(m, w, p, x)
    return fresh


@kernel
def standing(m: Memory, w: Scratch, x: Loop, le: int) -> int:
    """Return how many rows of the list in columns stand at ``le``; others that are over may still be in it. O(n)."""
    untils, n = column(m, w, NodeRow.until), 0
    for k in range(x.n):
        n += w[untils + k] > le
    return n


@kernel
def leave(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, le: int) -> None:
    """Take the rows out whose states are among Loop.leave: they came with the last step."""
    states, bits = column(m, w, NodeRow.state), x.leave
    for k in range(x.n - 1, x.fresh - 1, -1):
        if bits >> w[states + k] & 1:
            end_node(m, w, b, x, w[column(m, w, NodeRow.end) + k], le)
            count_out(m, w, p, x, k)
            take_out(m, w, p, x, k)


@kernel
def take_over_out(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, le: int) -> int:
    """Take the rows out that are over at ``le``. Returns the LE at which the oldest node of the others was stored. O(n)."""
    found, since, untils = FOREVER, column(m, w, NodeRow.register + m.register_words + 1), column(m, w, NodeRow.until)
    for k in range(x.n - 1, -1, -1):
        if w[untils + k] > le:
            found = min(found, w[since + k])
            continue
        end_node(m, w, b, x, w[column(m, w, NodeRow.end) + k], w[untils + k])
        if x.quick:
            count_out(m, w, p, x, k)
            take_out(m, w, p, x, k)
        else:
            sum_up(m, w, p, x, take_out(m, w, p, x, k) >> 3)
            sum_up(m, w, p, x, k >> 3)
    if x.quick:
        drop_skyline(w, p, x, le)
    return found


@kernel
def end_rows(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, le: int) -> None:
    """Take the rows out of the list whose bits are set at Loop.gone, and end their nodes."""
    blocks = x.n + 63 >> 6
    for back in range(blocks):
        block = blocks - 1 - back
        if peek(x.gone + 8 * block) != 0:
            end_groups(m, w, p, b, x, le, 8 * block)
    forget_ends(w, x)


@kernel
def end_groups(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, le: int, first: int) -> None:
    """Take such rows out of eight groups, the last one first: rows behind the one at work have left by then."""
    for back in range(8):
        group, lane = first + 7 - back, 7
        bits = peek_byte(x.gone + group)
        if bits == 0:
            continue
        while bits:
            if bits & (1 << lane):
                bits -= 1 << lane
                k = 8 * group + lane
                end_node(m, w, b, x, w[column(m, w, NodeRow.end) + k], min(le, w[column(m, w, NodeRow.until) + k]))
                sum_up(m, w, p, x, take_out(m, w, p, x, k) >> 3)
            lane -= 1
        sum_up(m, w, p, x, group)


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
    """Set the end of all nodes of the list to OPEN. *Requires* `room` for 3 each."""
    nodes, end = column(m, w, NodeRow.end), b + b.nodes + NodeRow.end
    for k in range(x.n):
        at = end + w[nodes + k] * (NodeRow.register + m.register_words)
        if m[at] != OPEN:
            put(m, w, at, OPEN)
    x.open = 1
    x.newest = FOREVER  # those that stand on are not new


@kernel
def add_longest_row(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, row: Annotated[NodeRow, "w"], le: int, fresh: int) -> int:
    """Add the row at ``w[row]`` to the list, or replace the one of its state and register, unless that lasts as long.

    The numbers of the rows that have come stand at w.source. Returns how many these are.
    """
    s, place = NodeRow.register + m.register_words, find_longest(m, w, row)
    n, node = x.n, b.node_top
    nodes, untils, starts = column(m, w, NodeRow.end), column(m, w, NodeRow.until), column(m, w, NodeRow.start)
    if w[place] == w.stamp:
        # One of its state and register: the row that lasts longer, of these the one that began later, stays.
        k = w[place + 1]
        least = w[untils + k]
        if least > row.until or (least == row.until and w[starts + k] >= row.start):
            return fresh
        w[untils + k], w[starts + k] = row.until, row.start
        if x.quick:
            raise_row(m, w, p, x, k)
        else:
            put_sum(m, w, p, x, k, least)
        if w[nodes + k] >= node:  # of this step
            return fresh
        end_node(m, w, b, x, w[nodes + k], min(le, least))
    else:
        # A new row: into the columns, the set, the counts, and the skyline or the sums.
        k = n
        for j in range(s):
            w[column(m, w, j) + k] = w[row + j]
        w[untils + k + 9] = BEGINNING
        w[place], w[place + 1], w[column(m, w, s) + k] = w.stamp, k, place
        x.n, x.used = n + 1, x.used + 1
        x.finals += p[p.now + row.state] != 0
        if x.quick:
            count_in(m, w, p, x, k)
            raise_row(m, w, p, x, k)
        else:
            if k & 7 == 0:
                sum_rows(m, w, p, x, (k >> 3) + 9)
            if k & 63 == 0:
                sum_groups(w, x, (k >> 6) + 9)
            put_sum(m, w, p, x, k, FOREVER)
    w[nodes + k], w[column(m, w, s + 1) + k] = node, le
    w[w.source + fresh] = k
    return fresh + 1


@kernel
def put_nodes(m: Memory, w: Scratch, b: Block, fresh: int) -> None:
    """Write the nodes of the ``fresh`` rows at w.source, by start, as the next ones of the block."""
    s, rows, starts, top = NodeRow.register + m.register_words, w.source, column(m, w, NodeRow.start), b.node_top
    # INVARIANT: Ordering.
    for q in range(1, fresh):
        k, j = w[rows + q], q
        while j > 0 and w[starts + w[rows + j - 1]] > w[starts + k]:
            w[rows + j] = w[rows + j - 1]
            j -= 1
        w[rows + j] = k
    nodes = column(m, w, NodeRow.end)
    for q in range(fresh):
        k, at = w[rows + q], NodeRow(b + b.nodes + (top + q) * s)
        for j in range(s):
            m[at + j] = w[column(m, w, j) + k]
        at.end = OPEN
        w[nodes + k] = top + q


@kernel
def end_list(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, le: int) -> None:
    """Set the end of the last step's nodes, at ``le``, to ALONE, as no step follows yet; end those that are over."""
    take_over_out(m, w, p, b, x, le)
    if x.open == 0 or x.newest == FOREVER:
        return
    for node in range(x.newest, b.node_top):
        NodeRow(b + b.nodes + node * (NodeRow.register + m.register_words)).end = ALONE
