"""Arcs that come or go for good ([AFA10] Sec. 2.3): in a batch from one tick past all that was seen, in a call behind all bounds.

    arc events           x [0, ..)                  bounds    0 +x
    + y, now = 20        x [0, ..)  y [20, ..)      bounds    0 +x, 20 +y
    - x, now = 25        x [0, 25)  y [20, ..)      bounds    0 +x, 20 +y, 25 -x       ARC_LATEST of x: the one before, R_BEFORE
    failed call          x [0, ..)                  bounds    0 +x                     `forget_arcs`, from the end

What is not that simple (an end known beforehand, arcs of one name, time-outs) is left to the operator: it makes the program anew.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel


@kernel
def change_arc(m: Any, p: Any, code: int, diff: int, now: int) -> bool:
    """Begin an arc (``diff`` 1) or end it (-1) at ``now``. Returns whether that is for this program; if not, nothing is done."""
    last = p[P_BOUNDS] + (p[P_BOUNDCOUNT] - 1) * B_SIZE
    if p[P_PLAIN] == 0 or code < 0 or now == FOREVER or p[P_BOUNDCOUNT] >= p[P_BOUNDCAP]:
        return False
    if p[P_BOUNDCOUNT] > 0 and p[last + B_T] > now:
        return False
    latest = p[P_CODES] + code * ARC_SIZE + ARC_LATEST
    if diff == 1:
        row = p[P_COUNT]
        if row >= p[P_ROWCAP]:
            return False
        at = p[P_ROWS] + row * R_SIZE
        p[at + R_CODE], p[at + R_BEGIN], p[at + R_END] = code, now, FOREVER
        p[at + R_NEXT], p[at + R_BACK], p[at + R_BEFORE], p[at + R_SLOT] = NOWHERE, NOWHERE, p[latest], NOWHERE
        p[latest] = row
        p[P_COUNT] = row + 1
    else:
        row = p[latest]
        if diff != -1 or row < 0 or p[p[P_ROWS] + row * R_SIZE + R_BEGIN] >= now:
            return False
        p[p[P_ROWS] + row * R_SIZE + R_END] = now
        p[latest] = p[p[P_ROWS] + row * R_SIZE + R_BEFORE]
    bound = p[P_BOUNDS] + p[P_BOUNDCOUNT] * B_SIZE
    p[bound + B_T], p[bound + B_ROW], p[bound + B_SIGN] = now, row, diff
    p[P_BOUNDCOUNT] += 1
    p[P_HIGH] = min(p[P_HIGH], now)
    m[C_ARCS] += 1
    return True


@kernel
def change_at(m: Any, p: Any, code: int, diff: int, now: int) -> int:
    """`change_arc` between two batches. Returns 0 if nothing is done, else one more than how many arcs have no slot at ``now``."""
    if not change_arc(m, p, code, diff, now):
        return 0
    m[C_ARCS] = 0
    seek(p, now)
    return int(p[P_SPILL] + 1)


@kernel
def forget_arcs(p: Any, count: int) -> None:
    """Take back the changes of arcs since there were ``count`` bounds."""
    for k in range(p[P_BOUNDCOUNT] - 1, count - 1, -1):
        bound = p[P_BOUNDS] + k * B_SIZE
        at = p[P_ROWS] + p[bound + B_ROW] * R_SIZE
        latest = p[P_CODES] + p[at + R_CODE] * ARC_SIZE + ARC_LATEST
        if p[bound + B_SIGN] > 0:
            p[latest] = p[at + R_BEFORE]
            p[P_COUNT] -= 1
        else:
            p[at + R_END] = FOREVER
            p[latest] = p[bound + B_ROW]
    if p[P_BOUNDCOUNT] > count:
        p[P_BOUNDCOUNT] = count
        p[P_LOW] = p[P_HIGH] = FOREVER  # the next `seek` begins from the beginning


@kernel
def drop_arcs(p: Any, t: int) -> None:
    """Drop the arc events that ended at or before ``t`` ([AFA10] Sec. 5.4). O(arc events)."""
    rows, places, kept = p[P_ROWS], p[P_PLACES], 0
    for row in range(p[P_COUNT]):
        lasts = p[rows + row * R_SIZE + R_END] > t
        p[places + row] = kept if lasts else NOWHERE
        kept += lasts
    if kept == p[P_COUNT]:
        return
    for row in range(p[P_COUNT]):
        at, place = rows + row * R_SIZE, p[places + row]
        latest = p[P_CODES] + p[at + R_CODE] * ARC_SIZE + ARC_LATEST
        if p[latest] == row:  # one that is moved already stands at or before its old row, so it is not taken for this one
            p[latest] = place
        if place < 0:
            continue
        if p[at + R_BEFORE] >= 0:  # it may stand behind this one: rows are in the order in which they came
            p[at + R_BEFORE] = p[places + p[at + R_BEFORE]]
        for i in range(R_SIZE):
            p[rows + place * R_SIZE + i] = p[at + i]
    bounds, count = p[P_BOUNDS], 0
    for k in range(p[P_BOUNDCOUNT]):
        row = p[places + p[bounds + k * B_SIZE + B_ROW]]
        if row >= 0:
            p[bounds + count * B_SIZE + B_T] = p[bounds + k * B_SIZE + B_T]
            p[bounds + count * B_SIZE + B_SIGN] = p[bounds + k * B_SIZE + B_SIGN]
            p[bounds + count * B_SIZE + B_ROW] = row
            count += 1
    p[P_COUNT], p[P_BOUNDCOUNT] = kept, count
    p[P_LOW] = p[P_HIGH] = FOREVER
