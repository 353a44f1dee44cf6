"""One step of one event at the end of a block, where the loops over rows in order can't make it.

first_step     the first event behind runs that were read into W_SOURCE: they stay, or their list is written anew, in one slice
finish_step    a step whose nodes are written: those that are the same once, and matches
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.derive import call_step
from afa.compiled.kernel.heap import room
from afa.compiled.kernel.lists import unique
from afa.compiled.kernel.matches import accepted, set_matches
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call2, kernel, peek, peek_byte
from afa.compiled.kernel.step import over
from afa.compiled.kernel.walk_runs import end_runs, extend_all

MINUS_ZERO, MAGNITUDE, INFINITY = -(2**63), 2**63 - 1, 0x7FF0000000000000
NAN_WORD = 0x7FF8000000000000
STAYS = 1 << 32


@kernel
def first_step(m: Any, w: Any, p: Any, c: Any, b: int, i: int, place: int, event: int, top: int, n: int, record: int) -> int:
    """Make step ``i`` of an event, the first one behind the ``n`` rows at W_SOURCE that the loop itself can't take.

    Returns STAYS if the list stays as it is, else how many new nodes are its list, ASK, or NEED_UNDO, NEED_NODES, or a status of
    `finish_step`.
    """
    x, s, le = w[W_LOOP], N_REG + m[C_R], put_event(m, w, c, b, event, record)
    at = b + m[b + H_EVENTS] + event * (E_WORDS + m[C_V])
    re = m[at + E_RE]
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
def row_of(c: Any, record: int) -> int:
    """Return which row of the columns a record is."""
    return int(peek(c[0, F_INDEX] + 8 * record)) if c[0, F_INDEX] != 0 else record


@kernel
def put_event(m: Any, w: Any, c: Any, b: int, event: int, record: int) -> int:
    """Write a row of the columns as event ``event`` of a block. Returns its LE."""
    x, row = w[W_LOOP], row_of(c, record)
    le, at = peek(c[0, F_LE] + 8 * row), b + m[b + H_EVENTS] + event * (E_WORDS + m[C_V])
    m[at + E_RE] = peek(w[x + X_RE_AT] + 8 * (row & w[x + X_RE_MASK])) + (le & w[x + X_LE_MASK])
    m[at + E_COPIES] = 1
    for j in range(m[C_V]):
        m[at + E_WORDS + j] = payload_word(c, j, row)
    return int(le)


@kernel
def payload_word(c: Any, j: int, x: int) -> int:
    """Return word ``j`` of the payload of row ``x``, in its one form: one NaN, no -0.0, 0 for what is not there."""
    at, kind = c[0, F_WORDS + 2 * j], c[0, F_WORDS + 2 * j + 1]
    if kind & OPTIONAL and peek_byte(c[0, F_WORDS + 2 * (j - 1)] + x) == 0:
        return 0
    if kind & BYTE:
        return int(peek_byte(at + x) != 0)
    found = peek(at + 8 * x)
    if kind & FLOAT:
        if found == MINUS_ZERO:
            return 0
        if (found & MAGNITUDE) > INFINITY:
            return NAN_WORD
    return int(found)


@kernel
def finish_step(m: Any, w: Any, p: Any, b: int, i: int, place: int, event: int, le: int, top: int, count: int) -> int:
    """Make a step of an event and ``count`` new nodes, among which there may be matches, or one twice.

    Returns how many nodes it has, or NEED_TEMP, NEED_LOG, NEED_MATCHES, OVER; NEED_ROWS: more than the set of rows has places for.
    """
    if count >= w[W_ROWS]:
        return NEED_ROWS
    s = N_REG + m[C_R]
    out = b + m[b + H_NODES] + top * s
    count = unique(m, w, out, count, s)
    if count > w[W_BUDGET]:
        return over(w, le, count, out, True)
    put_step(m, b, i, place, event, le, top << 24 | count, le)
    found = accepted(m, w, p, m, out, count, le, 0)
    status = set_matches(m, w, p, b, i, found) if found > 0 else found
    return int(count if status >= 0 else status)


@kernel
def put_step(m: Any, b: int, i: int, place: int, event: int, le: int, nodes: int, reach: int) -> None:
    """Make step ``i`` of one event."""
    cap = m[b + H_CAP]
    m[b + HEAD + place] = i
    m[b + HEAD + LE * cap + i] = le
    m[b + HEAD + EV * cap + i] = event << 24 | 1
    m[b + HEAD + ND * cap + i] = nodes
    m[b + HEAD + MT * cap + i] = 0
    m[b + HEAD + REACH * cap + i] = reach
