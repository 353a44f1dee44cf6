"""Arcs that change in the midst of a batch, in the default mode ([AFA10] Sec. 2.3): from one tick past all that was seen.

What is not that simple (explicit lifetimes, arcs of one name, time-outs) is left to the operator, which makes the program anew.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel


@kernel
def change_arc(m: Any, p: Any, code: int, diff: int, now: int) -> bool:
    """Let an arc begin (``diff`` 1) or end (-1) at ``now``; False, and nothing done, where that is not for this program."""
    last = p[A_BOUNDS] + (p[A_BOUNDCOUNT] - 1) * BOUND
    if p[A_PLAIN] == 0 or code < 0 or now == FOREVER or p[A_BOUNDCOUNT] >= p[A_BOUNDCAP]:
        return False
    if p[A_BOUNDCOUNT] > 0 and p[last + B_T] > now:
        return False
    latest = p[A_CODES] + code * RECORD + K_LATEST
    if diff == 1:
        row = p[A_COUNT]
        if row >= p[A_ROWCAP]:
            return False
        at = p[A_ROWS] + row * ROW
        p[at + R_CODE], p[at + R_BEGIN], p[at + R_END] = code, now, FOREVER
        p[at + R_NEXT], p[at + R_BACK], p[at + R_BEFORE], p[at + R_SLOT] = NOWHERE, NOWHERE, p[latest], NOWHERE
        p[latest] = row
        p[A_COUNT] = row + 1
    else:
        row = p[latest]
        if diff != -1 or row < 0 or p[p[A_ROWS] + row * ROW + R_BEGIN] >= now:
            return False
        p[p[A_ROWS] + row * ROW + R_END] = now
        p[latest] = p[p[A_ROWS] + row * ROW + R_BEFORE]
    bound = p[A_BOUNDS] + p[A_BOUNDCOUNT] * BOUND
    p[bound + B_T], p[bound + B_ROW], p[bound + B_SIGN] = now, row, diff
    p[A_BOUNDCOUNT] += 1
    p[A_HIGH] = min(p[A_HIGH], now)
    m[C_ARCS] += 1
    return True


@kernel
def forget_arcs(p: Any, count: int) -> None:
    """Take back the changes of arcs since there were ``count`` bounds."""
    for k in range(p[A_BOUNDCOUNT] - 1, count - 1, -1):
        bound = p[A_BOUNDS] + k * BOUND
        at = p[A_ROWS] + p[bound + B_ROW] * ROW
        latest = p[A_CODES] + p[at + R_CODE] * RECORD + K_LATEST
        if p[bound + B_SIGN] > 0:
            p[latest] = p[at + R_BEFORE]
            p[A_COUNT] -= 1
        else:
            p[at + R_END] = FOREVER
            p[latest] = p[bound + B_ROW]
    if p[A_BOUNDCOUNT] > count:
        p[A_BOUNDCOUNT] = count
        p[A_LOW] = p[A_HIGH] = FOREVER  # the next `seek` begins from the beginning


@kernel
def drop_arcs(p: Any, t: int) -> None:
    """Drop the arc events that ended at or before ``t`` ([AFA10] Sec. 5.4). O(arc events)."""
    rows, places, kept = p[A_ROWS], p[A_PLACES], 0
    for row in range(p[A_COUNT]):
        at = rows + row * ROW
        p[places + row] = NOWHERE
        if p[at + R_END] <= t:
            continue
        p[places + row] = kept
        if p[at + R_BEFORE] >= 0:
            p[at + R_BEFORE] = p[places + p[at + R_BEFORE]]
        if p[at + R_END] == FOREVER:
            p[p[A_CODES] + p[at + R_CODE] * RECORD + K_LATEST] = kept
        for i in range(ROW):
            p[rows + kept * ROW + i] = p[at + i]
        kept += 1
    if kept == p[A_COUNT]:
        return
    bounds, count = p[A_BOUNDS], 0
    for k in range(p[A_BOUNDCOUNT]):
        row = p[places + p[bounds + k * BOUND + B_ROW]]
        if row >= 0:
            p[bounds + count * BOUND + B_T] = p[bounds + k * BOUND + B_T]
            p[bounds + count * BOUND + B_SIGN] = p[bounds + k * BOUND + B_SIGN]
            p[bounds + count * BOUND + B_ROW] = row
            count += 1
    p[A_COUNT], p[A_BOUNDCOUNT] = kept, count
    p[A_LOW] = p[A_HIGH] = FOREVER
