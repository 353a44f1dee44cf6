"""Events in order where only the longest count: one list in columns, of which each event changes a few rows.

    the list     (1, 61, b, 7)  (4, 64, b, 4)  (9, 69, a, 0)      start, m, state, register; see `best_list`

    an event     ends   row 0 (m is over)       the last row takes its place; node 17 ends at the event's LE
                 makes  (9, 69, b, 4)           it outlives row 1, of its state and register: node 20 ends, node 22 takes its place
    the step     nodes  22                      all others stand on: their nodes are OPEN

`afa.compiled.code.column_step` says what an event makes and ends. So a step costs a look at the list and what changes of it, and
holds a node for each row that comes: lists of thousands of rows, of which most stay, are never copied. The same as `forward`, from
the list of the block's last step on; nodes that were there before the unit of work are noted before they end.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.best_list import (
    begin_columns,
    column,
    count_finals,
    fill_set,
    find_best,
    first_since,
    forget_ends,
    put_sum,
    sum_groups,
    sum_rows,
    sum_up,
    take_out,
)
from afa.compiled.kernel.best_rows import log_end
from afa.compiled.kernel.buffers import load_list
from afa.compiled.kernel.forward import LEAVE, between_loops, count_taken, set_columns
from afa.compiled.kernel.heap import put, room
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.matches import accepted, set_matches, store_matches
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call4, kernel, peek, peek_byte
from afa.compiled.kernel.one_step import payload_word, put_step, row_of
from afa.compiled.kernel.other_rows import first_other, row_of_other, take_others

ASK = -100
"""A step that only arc by arc can be taken."""
APART = 64
"""After so many steps it is looked at where the oldest node of the list stands."""


@kernel
def may_go_best(m: Any, p: Any, b: int) -> bool:
    """Return whether `forward_best` serves this program and this block."""
    return bool(p[P_COLUMNS] != 0 and m[C_RUNS] and p[P_TIMEOUT] == 0 and p[P_COUNTED] == 0 and m[b + H_PENDING_TOP] == 0)


@kernel
def forward_best(m: Any, w: Any, p: Any, c: Any, b: int, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` (F_*) one by one.

    Returns the first row that must go another way, or a status. *Requires* `may_go_best`.
    """
    cap, i, place, event_top = m[b + H_CAP], m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP]
    first, times, top = i, b + HEAD + LE * cap, m[b + H_NODE_TOP]
    x = set_columns(m, w, p, c, b)
    latest = m[times + m[b + HEAD + place - 1]] if place > m[b + H_FIRST] else BEGINNING
    n = load_list(m, w, b, place - 1, w[W_SOURCE]) if place > m[b + H_FIRST] else 0
    if n < 0:
        return n
    if not room(w, 64 + 8 * n):
        return NEED_UNDO
    if n + 16 >= w[W_ROWS]:
        return NEED_ROWS
    reach = begin_columns(m, w, p, b, x, n)
    w[x + X_TOP], w[x + X_MADE], w[x + X_OPEN] = top, top, 0  # of the unit's first node; of the last step's; whether all are OPEN
    record, status, others = low, DONE, first_other(c, low)
    other = row_of_other(c, others)
    while record < high:
        if record == other:
            arcs = m[C_ARCS]
            after = take_others(m, w, p, c, others, high, latest)
            if m[C_ARCS] > arcs:
                count_finals(m, w, p, x)
            record, other = record + after - others, row_of_other(c, after)
            others = after
            if record == other:
                break
            continue
        row = row_of(c, record)
        le = peek(c[0, F_LE] + 8 * row)
        if le <= latest or le < m[C_EVENTS] or le >= w[x + X_CHANGE]:
            if between_loops(m, w, p, c, record, latest) == LEAVE:
                break
            count_finals(m, w, p, x)
        if place >= cap or i >= cap:
            status = NEED_BLOCK
            break
        if event_top >= m[b + H_EVENT_CAP]:
            status = NEED_EVENTS
            break
        status = best_step(m, w, p, c, b, i, place, event_top, row, reach)
        if status < 0:
            break
        i, place, event_top, record, latest = i + 1, place + 1, event_top + 1, record + 1, le
        reach = first_since(m, w, x) if (i - first) & (APART - 1) == 0 else min(reach, le)
    close_nodes(m, w, b, x)
    m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP] = i, place, event_top
    return count_taken(m, i - first, latest, record, DONE if status == ASK else status)


@kernel
def best_step(m: Any, w: Any, p: Any, c: Any, b: int, i: int, place: int, event: int, row: int, reach: int) -> int:
    """Make step ``i`` of the event in a row of the columns. Returns DONE, ASK: nothing is done, or NEED_*.

    INVARIANT: what asks for another block is looked at before anything is written that the events before would miss.
    """
    x, s, le = w[W_LOOP], N_REG + m[C_R], peek(c[0, F_LE] + 8 * row)
    at = b + m[b + H_EVENTS] + event * (E_WORDS + m[C_V])
    re = peek(w[x + X_RE_AT] + 8 * (row & w[x + X_RE_MASK])) + (le & w[x + X_LE_MASK])
    m[at + E_RE], m[at + E_COPIES] = re, 1
    for j in range(m[C_V]):
        m[at + E_WORDS + j] = payload_word(c, j, row)
    made = call4(p[P_COLUMNS], m[C_M] + 8 * (at + E_WORDS), re, le, m[C_W] + 8 * x)
    if made < 0:
        forget_ends(w, x)
        return ASK if made == -1 else NEED_ROWS
    n, top = w[x + X_N], m[b + H_NODE_TOP]
    if n + made + 16 >= w[W_ROWS]:
        return NEED_ROWS
    if top + made > m[b + H_NODE_CAP]:
        return NEED_NODES
    if w[x + X_FINALS] + made > m[b + H_MATCH_CAP] - m[b + H_MATCH_TOP]:
        return NEED_MATCHES
    if w[x + X_SET] != w[W_STAMP] or 2 * (w[x + X_USED] + made) > w[W_HASHES]:
        fill_set(m, w, x)
    if w[x + X_ENDED]:
        end_rows(m, w, p, b, x, le)
    if w[x + X_OPEN] == 0:
        open_nodes(m, w, b, x)
    fresh = 0
    for k in range(made):
        fresh = add_best(m, w, p, b, x, w[W_NEW] + k * s, le, fresh)
    put_nodes(m, w, b, x, fresh, le)
    oldest = le if w[x + X_N] == fresh else min(reach, le)
    w[x + X_MADE] = top
    put_step(m, b, i, place, event, le, top << 24 | fresh if fresh else 0, oldest)
    m[b + H_NODE_TOP] = top + fresh
    return put_matches_of(m, w, p, b, x, i, le) if w[x + X_FINALS] else DONE


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
                end_node(m, w, b, x, w[column(m, w, N_END) + 8 * group + lane], le)
                take_out(m, w, p, x, 8 * group + lane)
            lane -= 1
        sum_up(m, w, p, x, group)


@kernel
def end_node(m: Any, w: Any, b: int, x: int, node: int, le: int) -> None:
    """End a node at ``le``, the step at work. *Requires* `room` for 3 for a node that is older than the unit."""
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

    The numbers of the rows that have come stand at W_OLD. Returns how many these are.
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
        put_sum(m, w, p, x, k, least)
        if w[nodes + k] >= node:  # of this step
            return fresh
        end_node(m, w, b, x, w[nodes + k], le)
    else:
        k = n
        for j in range(s):
            w[column(m, w, j) + k] = w[row + j]
        w[ms + k + 9] = BEGINNING
        w[place], w[place + 1], w[column(m, w, s) + k] = w[W_STAMP], k, place
        w[x + X_N], w[x + X_USED] = n + 1, w[x + X_USED] + 1
        w[x + X_FINALS] += p[p[P_NOW] + w[row + N_STATE]] != 0
        if k & 7 == 0:
            sum_rows(m, w, p, x, (k >> 3) + 9)
        if k & 63 == 0:
            sum_groups(w, x, (k >> 6) + 9)
        put_sum(m, w, p, x, k, FOREVER)
    w[nodes + k], w[column(m, w, s + 1) + k] = node, le
    w[w[W_OLD] + fresh] = k
    return fresh + 1


@kernel
def put_nodes(m: Any, w: Any, b: int, x: int, fresh: int, le: int) -> None:
    """Write the nodes of the ``fresh`` rows at W_OLD, by start, as the next ones of the block."""
    s, rows, starts, top = N_REG + m[C_R], w[W_OLD], column(m, w, N_START), m[b + H_NODE_TOP]
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
def put_matches_of(m: Any, w: Any, p: Any, b: int, x: int, i: int, le: int) -> int:
    """Make the matches of a step, whose list has rows in states that are final. Returns DONE or NEED_LOG, NEED_TEMP, NEED_ROWS."""
    s, n, source, count = N_REG + m[C_R], w[x + X_N], w[W_SOURCE], 0
    state = column(m, w, N_STATE)
    for back in range(n):
        k = n - 1 - back
        if p[p[P_NOW] + w[state + k]]:
            for j in range(s):
                w[source + count * s + j] = w[column(m, w, j) + k]
            count += 1
            if count == w[x + X_FINALS]:
                break
    if count > 1:
        found = accepted(m, w, p, w, source, count, le, 0)
        return int(set_matches(m, w, p, b, i, found)) if found > 0 else int(found)
    if le < m[C_FINAL]:
        return DONE
    if w[W_LOG_TOP] + 1 > w[W_LOG_CAP]:
        return NEED_LOG
    if M_REG + m[C_R] > w[W_TEMP_CAP]:
        return NEED_TEMP
    match = w[W_TEMP]
    w[match + M_T], w[match + M_RE] = le, w[source + N_M]
    copy(w, source + N_REG, w, match + M_REG, m[C_R])
    for j in range(m[C_TOLD], m[C_R]):
        w[match + M_REG + j] = 0
    log_end(m, w, match, BEGINNING, w[match + M_RE])
    store_matches(m, w, b, i, 1)
    return DONE


@kernel
def close_nodes(m: Any, w: Any, b: int, x: int) -> None:
    """Let the nodes of the last step stand alone: there is no step behind it yet."""
    if w[x + X_OPEN] == 0 or w[x + X_MADE] == FOREVER:
        return
    for node in range(w[x + X_MADE], m[b + H_NODE_TOP]):
        m[b + m[b + H_NODES] + node * (N_REG + m[C_R]) + N_END] = ALONE
