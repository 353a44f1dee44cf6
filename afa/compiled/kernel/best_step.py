"""What one event changes of a list in columns, where only the longest count.

    the list     (1, 61, b, 7)  (4, 64, b, 4)  (9, 69, a, 0)      start, m, state, register; see `best_list`

    an event     ends   row 0 (m is over)       the last row takes its place; node 17 ends at the event's LE
                 makes  (9, 69, b, 4)           it outlives row 1, of its state and register: node 20 ends, node 22 takes its place
    the step     nodes  22                      all others stand on: their nodes are OPEN

`afa.compiled.code.column_step` says what an event makes and ends. So a step costs a look at the list and what changes of it, and
holds a node for each row that comes: lists of thousands of rows, of which most stay, are never copied. Nodes that were there before
the unit of work are noted before they end.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.best_list import begin_columns, column, fill_set, find_best, take_out
from afa.compiled.kernel.best_stairs import begin_stairs, count_in, count_out, drop_stairs, raise_row
from afa.compiled.kernel.best_sums import begin_sums, forget_ends, put_sum, sum_groups, sum_rows, sum_up
from afa.compiled.kernel.heap import put, room
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call4, kernel, peek, peek_byte
from afa.compiled.kernel.step import over

APART = 64
"""After so many steps it is looked at which rows are over, and where the oldest node of the list stands."""
CREDIT, RETURNED = 8, 64
"""So many events may be refused, one more for so many that are not: for each all rows are looked at, and put in order anew."""


@kernel
def begin_list(m: Any, w: Any, p: Any, b: int, n: int) -> int:
    """Bring the ``n`` rows at W_SOURCE, the list of a step, into columns. Returns DONE, NEED_UNDO or NEED_ROWS."""
    x = w[W_LOOP]
    if not room(w, 64 + 8 * n):
        return NEED_UNDO
    if n + 16 >= w[W_ROWS]:
        return NEED_ROWS
    w[x + X_BEGIN], w[x + X_SLOTS] = m[C_P] + 8 * p[P_BEGIN], m[C_P] + 8 * p[P_SLOTS]
    w[x + X_REACH] = begin_columns(m, w, p, x, n)
    w[x + X_TOP], w[x + X_MADE] = m[b + H_NODE_TOP], m[b + H_NODE_TOP]  # the unit's first node; the last step's
    w[x + X_OPEN], w[x + X_CREDIT], w[x + X_NEXT_LOOK] = 0, CREDIT * RETURNED, APART
    begin_stairs(m, w, p, x)
    if w[x + X_QUICK] == 0:
        begin_sums(m, w, p, x)
    return DONE


@kernel
def change_columns(m: Any, w: Any, p: Any, b: int, x: int, event: int, re: int, le: int) -> int:
    """Change the list by the event whose payload is at address ``event``; the rows that come are the next nodes of the block.

    Returns how many these are, ASK: nothing is done, or NEED_ROWS, NEED_NODES, NEED_MATCHES, OVER. *Requires* `begin_list`.
    INVARIANT: what asks for another block is looked at before anything is written that the steps before would miss.
    """
    refused = False
    made = call4(p[P_COLUMNS], event, re, le, m[C_W] + 8 * x)
    if made == REFUSED:
        refused = True
        w[x + X_CREDIT] -= RETURNED
        begin_sums(m, w, p, x)
        made = call4(p[P_COLUMNS], event, re, le, m[C_W] + 8 * x)
    quick = w[x + X_QUICK]
    if made < 0:
        if quick == 0:
            forget_ends(w, x)
        return ASK if made == -1 else NEED_ROWS
    top = m[b + H_NODE_TOP]
    if top + made > m[b + H_NODE_CAP]:
        return NEED_NODES
    if w[x + X_FINALS] + made > m[b + H_MATCH_CAP] - m[b + H_MATCH_TOP]:
        return NEED_MATCHES
    if w[x + X_SET] != w[W_STAMP] or 2 * (w[x + X_USED] + made) > w[W_HASHES]:
        fill_set(m, w, x)
    if quick:
        if w[x + X_LEAVE]:
            leave(m, w, p, b, x, le)
        w[x + X_CREDIT] += w[x + X_CREDIT] < CREDIT * RETURNED
    elif w[x + X_ENDED]:
        end_rows(m, w, p, b, x, le)
    w[x + X_NEXT_LOOK] -= 1
    if w[x + X_NEXT_LOOK] <= 0 or w[x + X_N] + made + 16 >= w[W_ROWS]:
        w[x + X_REACH] = take_over_out(m, w, p, b, x, le)
        w[x + X_NEXT_LOOK] = max(APART, w[x + X_N] >> 2)
        if w[x + X_N] + made + 16 >= w[W_ROWS]:
            return NEED_ROWS
    w[x + X_PASSING], w[x + X_FRESH] = 0, w[x + X_N]
    if w[x + X_OPEN] == 0:
        open_nodes(m, w, b, x)
    fresh, s = 0, N_REG + m[C_R]
    for k in range(made):
        fresh = add_best(m, w, p, b, x, w[W_NEW] + k * s, le, fresh)
    if w[x + X_N] > w[W_BUDGET] and standing(m, w, x, le) > w[W_BUDGET]:
        return over(w, le, standing(m, w, x, le), NOWHERE, False)
    put_nodes(m, w, b, x, fresh)
    w[x + X_MADE] = top
    w[x + X_REACH] = le if w[x + X_N] == fresh else min(w[x + X_REACH], le)
    if refused and w[x + X_CREDIT] > 0:
        begin_stairs(m, w, p, x)
    elif quick and w[x + X_QUICK] == 0:  # no room for more stairs
        begin_sums(m, w, p, x)
    return fresh


@kernel
def standing(m: Any, w: Any, x: int, le: int) -> int:
    """Return how many rows of the list in columns stand at ``le``: others, over by then, are still among them. O(n)."""
    ms, n = column(m, w, N_M), 0
    for k in range(w[x + X_N]):
        n += w[ms + k] > le
    return n


@kernel
def leave(m: Any, w: Any, p: Any, b: int, x: int, le: int) -> None:
    """Take the rows out whose states are among X_LEAVE: they came with the last step."""
    states, bits = column(m, w, N_STATE), w[x + X_LEAVE]
    for k in range(w[x + X_N] - 1, w[x + X_FRESH] - 1, -1):
        if bits >> w[states + k] & 1:
            end_node(m, w, b, x, w[column(m, w, N_END) + k], le)
            count_out(m, w, p, x, k)
            take_out(m, w, p, x, k)


@kernel
def take_over_out(m: Any, w: Any, p: Any, b: int, x: int, le: int) -> int:
    """Take the rows out whose m is over at ``le``. Returns the LE at which the oldest node of the others was stored. O(n)."""
    found, since, ms = FOREVER, column(m, w, N_REG + m[C_R] + 1), column(m, w, N_M)
    for k in range(w[x + X_N] - 1, -1, -1):
        if w[ms + k] > le:
            found = min(found, w[since + k])
            continue
        end_node(m, w, b, x, w[column(m, w, N_END) + k], w[ms + k])
        if w[x + X_QUICK]:
            count_out(m, w, p, x, k)
            take_out(m, w, p, x, k)
        else:
            sum_up(m, w, p, x, take_out(m, w, p, x, k) >> 3)
            sum_up(m, w, p, x, k >> 3)
    if w[x + X_QUICK]:
        drop_stairs(w, p, x, le)
    return found


@kernel
def end_rows(m: Any, w: Any, p: Any, b: int, x: int, le: int) -> None:
    """Take the rows out of the list that the bits at X_GONE name, and end their nodes."""
    blocks = (w[x + X_N] + 63) >> 6
    for back in range(blocks):
        block = blocks - 1 - back
        if peek(w[x + X_GONE] + 8 * block) != 0:
            end_groups(m, w, p, b, x, le, 8 * block)
    forget_ends(w, x)


@kernel
def end_groups(m: Any, w: Any, p: Any, b: int, x: int, le: int, first: int) -> None:
    """Do so with those of eight groups, the last one first: rows behind those at work have been taken out."""
    for back in range(8):
        group, lane = first + 7 - back, 7
        bits = peek_byte(w[x + X_GONE] + group)
        if bits == 0:
            continue
        while bits:
            if bits & (1 << lane):
                bits -= 1 << lane
                k = 8 * group + lane
                end_node(m, w, b, x, w[column(m, w, N_END) + k], min(le, w[column(m, w, N_M) + k]))
                sum_up(m, w, p, x, take_out(m, w, p, x, k) >> 3)
            lane -= 1
        sum_up(m, w, p, x, group)


@kernel
def end_node(m: Any, w: Any, b: int, x: int, node: int, le: int) -> None:
    """End a node at ``le``, by the step at work. *Requires* `room` for 3 for a node that is older than the unit."""
    end = b + m[b + H_NODES] + node * (N_REG + m[C_R]) + N_END
    if w[x + X_OPEN] == 0:  # the first step of the unit
        if m[end] > le:
            put(m, w, end, le)
    elif node >= w[x + X_MADE]:
        m[end] = ALONE
    elif node >= w[x + X_TOP]:
        m[end] = le
    else:
        put(m, w, end, le)


@kernel
def open_nodes(m: Any, w: Any, b: int, x: int) -> None:
    """Let all nodes of the list stand on. *Requires* `room` for 3 each."""
    nodes, end = column(m, w, N_END), b + m[b + H_NODES] + N_END
    for k in range(w[x + X_N]):
        at = end + w[nodes + k] * (N_REG + m[C_R])
        if m[at] != OPEN:
            put(m, w, at, OPEN)
    w[x + X_OPEN] = 1
    w[x + X_MADE] = FOREVER  # those that stand on are not new


@kernel
def add_best(m: Any, w: Any, p: Any, b: int, x: int, row: int, le: int, fresh: int) -> int:
    """Add the row at ``w[row]`` to the list, or let it take the place of one of its state and register, unless that lasts as long.

    The numbers of the rows that have come stand at W_SOURCE. Returns how many these are.
    """
    s, place = N_REG + m[C_R], find_best(m, w, row)
    n, node = w[x + X_N], m[b + H_NODE_TOP]
    nodes, ms, starts = column(m, w, N_END), column(m, w, N_M), column(m, w, N_START)
    if w[place] == w[W_STAMP]:
        k = w[place + 1]
        if w[ms + k] > w[row + N_M] or (w[ms + k] == w[row + N_M] and w[starts + k] >= w[row + N_START]):
            return fresh
        least = w[ms + k]
        w[ms + k], w[starts + k] = w[row + N_M], w[row + N_START]
        if w[x + X_QUICK]:
            raise_row(m, w, p, x, k)
        else:
            put_sum(m, w, p, x, k, least)
        if w[nodes + k] >= node:  # of this step
            return fresh
        end_node(m, w, b, x, w[nodes + k], min(le, least))
    else:
        k = n
        for j in range(s):
            w[column(m, w, j) + k] = w[row + j]
        w[ms + k + 9] = BEGINNING
        w[place], w[place + 1], w[column(m, w, s) + k] = w[W_STAMP], k, place
        w[x + X_N], w[x + X_USED] = n + 1, w[x + X_USED] + 1
        w[x + X_FINALS] += p[p[P_NOW] + w[row + N_STATE]] != 0
        if w[x + X_QUICK]:
            count_in(m, w, p, x, k)
            raise_row(m, w, p, x, k)
        else:
            if k & 7 == 0:
                sum_rows(m, w, p, x, (k >> 3) + 9)
            if k & 63 == 0:
                sum_groups(w, x, (k >> 6) + 9)
            put_sum(m, w, p, x, k, FOREVER)
    w[nodes + k], w[column(m, w, s + 1) + k] = node, le
    w[w[W_SOURCE] + fresh] = k
    return fresh + 1


@kernel
def put_nodes(m: Any, w: Any, b: int, x: int, fresh: int) -> None:
    """Write the nodes of the ``fresh`` rows at W_SOURCE, by start, as the next ones of the block."""
    s, rows, starts, top = N_REG + m[C_R], w[W_SOURCE], column(m, w, N_START), m[b + H_NODE_TOP]
    for q in range(1, fresh):
        k, j = w[rows + q], q
        while j > 0 and w[starts + w[rows + j - 1]] > w[starts + k]:
            w[rows + j] = w[rows + j - 1]
            j -= 1
        w[rows + j] = k
    nodes = column(m, w, N_END)
    for q in range(fresh):
        k, at = w[rows + q], b + m[b + H_NODES] + (top + q) * s
        for j in range(s):
            m[at + j] = w[column(m, w, j) + k]
        m[at + N_END] = OPEN
        w[nodes + k] = top + q


@kernel
def end_list(m: Any, w: Any, p: Any, b: int, x: int, le: int) -> None:
    """Let the nodes of the last step, at ``le``, stand alone: there is no step behind it yet; and end those that are over."""
    take_over_out(m, w, p, b, x, le)
    if w[x + X_OPEN] == 0 or w[x + X_MADE] == FOREVER:
        return
    for node in range(w[x + X_MADE], m[b + H_NODE_TOP]):
        m[b + m[b + H_NODES] + node * (N_REG + m[C_R]) + N_END] = ALONE
