"""`forward` for lists with ignorable runs ([AFA10] App. D): an event that leaves the list as it is costs a step and no node.

    LE        20        21        22        23
    events    e         ignored   ignored   f
    nodes     p, q      -         -         p', s        23 ends all runs: its list is written anew, one slice of nodes
    end       23  23    .         .         ALONE        that stand or end together; while they stand, OPEN

The list that the block had before the call may lie in nodes of several steps, so that it is read into W_SOURCE (X_FIXED). The first
event that changes it writes a list of one slice, which the automaton's loop can go on with.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.buffers import load_list
from afa.compiled.kernel.derive import call_step
from afa.compiled.kernel.forward import (
    LEAVE,
    NEXT,
    between_loops,
    count_taken,
    finish_step,
    put_step,
    row_of,
    set_columns,
    set_position,
)
from afa.compiled.kernel.heap import room
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call1, call2, kernel, peek
from afa.compiled.kernel.walk_runs import STATES, end_runs, extend_all, summarize

MINUS_ZERO, MAGNITUDE, INFINITY = -(2**63), 2**63 - 1, 0x7FF0000000000000
NAN_WORD = 0x7FF8000000000000
STAYS, ASK = 1 << 32, -100


@kernel
def forward_runs(m: Any, w: Any, p: Any, c: Any, b: int, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` (F_*). Returns the first that must go another way, or a status.

    The list that was there before stands at W_SOURCE, and stays there until an event changes it; then it is the loop's own.
    *Requires* `may_go_forward`.
    """
    s, cap = N_REG + m[C_R], m[b + H_CAP]
    order, times = b + HEAD, b + HEAD + LE * cap
    i, place, event_top, top = m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP], m[b + H_NODE_TOP]
    first = i
    base, nodes = m[C_M], b + m[b + H_NODES]
    x = set_columns(m, w, p, c, b)
    p[p[P_BEGIN] + N_M] = FOREVER
    latest = m[times + m[order + place - 1]] if place > m[b + H_FIRST] else BEGINNING
    n = load_list(m, w, b, place - 1, w[W_SOURCE]) if place > m[b + H_FIRST] else 0
    if n < 0:
        return n
    states = summarize(m, w, p, b, n)
    w[x + X_WANTED] = -1 if states == BUSY else states | 1 << STATES
    w[x + X_LOWEST], w[x + X_HIGHEST], w[x + X_REACH] = w[W_LOW], w[W_HIGH], w[W_REACH]
    w[x + X_OPEN] = w[x + X_FIXED] = 1
    w[x + X_N] = 0
    record, status = low, DONE
    while record < high:
        bound = min(w[x + X_CHANGE], w[W_SOONEST]) if w[x + X_FIXED] else w[x + X_CHANGE]
        room_left = set_position(m, w, b, record, high, i, place, event_top, latest, bound)
        w[x + X_OUT], w[x + X_TOP] = base + 8 * (nodes + top * s), top
        code = call1(p[P_LOOP_RUNS], m[C_W] + 8 * x)
        taken = w[x + X_RECORD] - record
        if taken > 0:
            i, place, event_top, record, top = i + taken, place + taken, event_top + taken, record + taken, w[x + X_TOP]
            latest = m[times + i - 1]
        if code == LOOP_LOOK:
            status = finish_step(m, w, p, b, i, place, event_top, peek(c[0, F_LE] + 8 * row_of(c, record)), top, w[x + X_MADE])
        elif code < 0 or record >= high:
            status = NEED_NODES if code == -2 else DONE
            break
        else:
            found = between_loops(m, w, p, c, record, latest)
            if found == LEAVE:
                break
            if found == NEXT:
                record += 1
                continue
            if taken == room_left:
                status = NEED_EVENTS if event_top >= m[b + H_EVENT_CAP] else NEED_BLOCK
                break
            if w[x + X_FIXED] == 0:  # other arcs
                continue
            status = first_step(m, w, p, c, b, i, place, event_top, top, n, record)
            if status == STAYS:
                latest = m[times + i]
                i, place, event_top, record = i + 1, place + 1, event_top + 1, record + 1
                continue
        if status < 0:
            break
        latest = m[times + i]
        set_list(m, w, p, x, nodes + top * s, status, latest)
        i, place, event_top, record, top = i + 1, place + 1, event_top + 1, record + 1, top + status
    m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP], m[b + H_NODE_TOP] = i, place, event_top, top
    return count_taken(m, i - first, latest, record, DONE if status == ASK else status)


@kernel
def set_list(m: Any, w: Any, p: Any, x: int, rows: int, n: int, le: int) -> None:
    """Make the ``n`` nodes of a step at ``le`` the list of the loop."""
    s, states, low, high = N_REG + m[C_R], 0, FOREVER, BEGINNING
    for k in range(n):
        row = rows + k * s
        state = m[row + N_STATE]
        states |= -1 if state >= STATES or p[p[P_NOW] + state] else 1 << state
        low, high = min(low, m[row + N_M]), max(high, m[row + N_M])
    w[x + X_SRC], w[x + X_N] = m[C_M] + 8 * rows, n
    w[x + X_WANTED], w[x + X_LOWEST], w[x + X_HIGHEST], w[x + X_REACH] = states | 1 << STATES, low, high, le
    w[x + X_OPEN] = w[x + X_FIXED] = 0


@kernel
def first_step(m: Any, w: Any, p: Any, c: Any, b: int, i: int, place: int, event: int, top: int, n: int, record: int) -> int:
    """Make step ``i`` of an event for the ``n`` rows at W_SOURCE. Returns how many new nodes are its list, STAYS, or a status."""
    record = row_of(c, record)
    x, s, le = w[W_LOOP], N_REG + m[C_R], peek(c[0, F_LE] + 8 * record)
    at = b + m[b + H_EVENTS] + event * (E_WORDS + m[C_V])
    re = peek(w[x + X_RE_AT] + 8 * (record & w[x + X_RE_MASK])) + (le & w[x + X_LE_MASK])
    m[at + E_RE] = re
    m[at + E_COPIES] = 1
    for j in range(m[C_V]):
        m[at + E_WORDS + j] = payload_word(c, j, record)
    words, wanted = m[C_M] + 8 * (at + E_WORDS), w[x + X_WANTED]
    if not room(w, 64 + 8 * n):
        return NEED_UNDO
    simple = wanted != -1 and le < w[W_LOW] and re >= w[W_HIGH]
    if simple and call2(p[P_UNCHANGED], words, m[C_P] + 8 * p[P_SLOTS]) & wanted == wanted:
        if w[W_SOONEST] <= le:
            w[W_SOONEST] = extend_all(m, w, b, n, le)
        put_step(m, b, i, place, event, le, 0, min(le, w[W_REACH]))
        return STAYS
    out = b + m[b + H_NODES] + top * s
    count = call_step(m, p, m[C_W], w[W_SOURCE], n, True, le, re, words, m[C_M] + 8 * out, m[b + H_NODE_CAP] - top)
    if count < 0:
        return NEED_NODES if count == -2 else ASK
    for k in range(count):  # rows that stay, too
        m[out + k * s + N_END] = ALONE
    end_runs(m, w, b, w[W_SOURCE], 0, n, le)
    return finish_step(m, w, p, b, i, place, event, le, top, count)


@kernel
def payload_word(c: Any, j: int, x: int) -> int:
    """Return word ``j`` of the payload of row ``x`` in its normal form: one NaN, no -0.0."""
    found = peek(c[0, F_WORDS + 2 * j] + 8 * x)
    if c[0, F_WORDS + 2 * j + 1] == FLOAT:
        if found == MINUS_ZERO:
            return 0
        if (found & MAGNITUDE) > INFINITY:
            return NAN_WORD
    return int(found)
