"""Count the beginnings whose partial matches are over, and why: for statistics, from the lists as they are; see `Ends`.

    steps      10      11      13 (RE of 10 is 13)      20
    lists      p10     p10     p13                      p20     a partial match by where it began
    ends               ^       ^                                10: at 13, m = 13: by the window; 13: at 20, m = 16: by the window;
                                                                20: open. Had m of 10 been 14: by no arc

A table in ``c``, by where it began: one column each, found by hashing; its rows T_*. Of a beginning it keeps the LE from which on
none of its partial matches stands, the latest m of those that stood last, and whether a time-out of one comes past its m.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.desk import held_block
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call4, kernel
from afa.compiled.kernel.order import find_place

WINDOW, NO_ARC, PAST, FULL, SPARE = 0, 1, 2, 3, 4  # what stands at W_TEMP


@kernel
def ends(m: Any, w: Any, p: Any, c: Any, places: int) -> int:
    """Count at W_TEMP the beginnings that the window ended, that no arc ended, and those with a time-out past m. O(nodes).

    ``c`` has ``places`` columns, a power of two, all 0; FULL is 1 if they are too few. Returns DONE, or
    FAULT after an interrupt.
    """
    at = w[W_TEMP]
    for i in range(SPARE):
        w[at + i] = 0
    for key in range(m[C_KEYS]):
        b = held_block(m, key)
        if b == 0:
            continue
        status = end_block(m, w, p, c, b, key + 1, places)
        if status < 0:
            return int(status)
        if w[at + FULL]:
            return DONE
    return DONE


@kernel
def end_block(m: Any, w: Any, p: Any, c: Any, b: int, stamp: int, places: int) -> int:
    """Add the beginnings of a block. Returns DONE or FAULT."""
    at, s, cap, used = w[W_TEMP], N_REG + m[C_R], m[b + H_CAP], 0
    for place in range(m[b + H_FIRST], m[b + H_LAST]):
        rows = m[b + HEAD + ND * cap + m[b + HEAD + place]]
        for k in range(rows & COUNT):
            node = b + m[b + H_NODES] + ((rows >> 24) + k) * s
            q = find_column(c, m[node + N_START], stamp, places)
            if c[T_STAMP, q] != stamp:
                used += 1
                if 2 * used > places:
                    w[at + FULL] = 1
                    return DONE
                c[T_STAMP, q], c[T_START, q] = stamp, m[node + N_START]
                c[T_UNTIL, q], c[T_M, q], c[T_PAST, q] = BEGINNING, BEGINNING, 0
            until = stands_until(m, b, place, m[node + N_END])
            if until >= c[T_UNTIL, q]:
                count_end(w, c, q, -1)
                c[T_M, q] = max(c[T_M, q], m[node + N_M]) if until == c[T_UNTIL, q] else m[node + N_M]
                c[T_UNTIL, q] = until
                count_end(w, c, q, 1)
            if c[T_PAST, q] == 0 and p[p[P_WAITS] + m[node + N_STATE]] >= 0:
                past = waits_past(m, w, p, node)
                if past < 0:
                    return FAULT
                c[T_PAST, q] = past
                w[at + PAST] += past
    return DONE


@kernel
def find_column(c: Any, start: int, stamp: int, places: int) -> int:
    """Return the column of a beginning, or the free one where it belongs: neighbours in time lie side by side."""
    q = (start ^ (start >> 13) ^ (start >> 29)) & (places - 1)
    while c[T_STAMP, q] == stamp and c[T_START, q] != start:
        q = (q + 1) & (places - 1)
    return int(q)


@kernel
def stands_until(m: Any, b: int, place: int, end: int) -> int:
    """Return the LE of the first step at which a node stored at a place does not stand any more; FOREVER: it stands at the last."""
    order, times = b + HEAD, b + HEAD + LE * m[b + H_CAP]
    if end == OPEN:
        return FOREVER
    after = place + 1 if end == ALONE else find_place(m, b, end, 0)
    return int(m[times + m[order + after]]) if after < m[b + H_LAST] else FOREVER


@kernel
def count_end(w: Any, c: Any, q: int, sign: int) -> None:
    """Count a beginning as what it is by now, or not any more."""
    at, until = w[W_TEMP], c[T_UNTIL, q]
    if until != FOREVER and until != BEGINNING:
        w[at + (WINDOW if c[T_M, q] <= until else NO_ARC)] += sign


@kernel
def waits_past(m: Any, w: Any, p: Any, node: int) -> int:
    """Return 1 if a time-out of a partial match comes at its m or later, 0 if none does, or FAULT, after an interrupt."""
    out = w[W_TEMP] + SPARE
    link = p[p[P_WAITS] + m[node + N_STATE]]
    while link >= 0:
        arc = p[P_ROWS] + link * R_SIZE
        link = p[arc + R_NEXT]
        code, register = p[P_CODES] + p[arc + R_CODE] * ARC_SIZE, m[C_M] + 8 * (node + N_REG)
        status = NOWHERE
        if p[code + ARC_CODE] != 0:
            status = call4(p[code + ARC_CODE], 0, register, m[C_W] + 8 * out, p[code + ARC_CONSTANTS])
        if status < 0:  # the expression, not the user's function: nothing raises
            answer = call4(p[P_PYTHON], INSTANT - p[arc + R_CODE], 0, register, m[C_W] + 8 * out)
            if answer != YES:
                return FAULT
        if m[node + N_M] <= w[out] < FOREVER and p[arc + R_BEGIN] <= w[out] < p[arc + R_END]:
            return 1
    return 0
