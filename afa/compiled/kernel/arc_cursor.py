"""Arcs in force at an instant: a cursor over the bounds of their lifetimes ([AFA10] Sec. 2.3, 5.2).

Events are mostly visited in order, so that going forward costs one bound; going back begins anew.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call4, kernel


@kernel
def seek(p: Any, t: int) -> None:
    """Let the arcs now be those in force at ``t``. O(1) within a segment, O(bounds passed) forward, O(arc events) back."""
    if p[A_LOW] <= t < p[A_HIGH]:
        return
    if t < p[A_LOW]:
        reset(p)
    bounds, count = p[A_BOUNDS], p[A_BOUNDCOUNT]
    k = p[A_NEXT]
    while k < count and p[bounds + k * BOUND + B_T] <= t:
        at = bounds + k * BOUND
        p[A_LOW] = p[at + B_T]
        if p[at + B_SIGN] > 0:
            begin(p, p[at + B_ROW])
        else:
            end(p, p[at + B_ROW])
        k += 1
    p[A_NEXT] = k
    p[A_HIGH] = p[bounds + k * BOUND + B_T] if k < count else FOREVER


@kernel
def reset(p: Any) -> None:
    """No arc is in force: the instant before all."""
    for k in range(p[A_STATES]):
        p[p[A_NOW] + k] = p[p[A_FINALS] + k]
        p[p[A_MARKS] + k] = 0
        p[p[A_FIRST] + k] = NOWHERE
    count = p[A_SLOTCOUNT]
    for k in range(count):
        p[p[A_SLOTS] + 2 * k] = NOWHERE
        p[p[A_FREE] + k] = k
        p[p[A_FREE] + count + k] = k + 1
    p[A_NEXT] = 0
    p[A_SPILL] = 0
    p[A_LOW] = BEGINNING
    p[A_HIGH] = BEGINNING


@kernel
def begin(p: Any, row: int) -> None:
    """An arc comes into force. O(1)."""
    at = p[A_ROWS] + row * ROW
    code = p[A_CODES] + p[at + R_CODE] * RECORD
    if p[code + K_KIND] != TIMEOUT:
        first = p[A_FIRST] + p[code + K_SRC]
        p[at + R_NEXT], p[at + R_BACK] = p[first], NOWHERE
        if p[first] >= 0:
            p[p[A_ROWS] + p[first] * ROW + R_BACK] = row
        p[first] = row
    if p[code + K_FINAL]:
        p[p[A_MARKS] + p[code + K_DST]] += 1
        p[p[A_NOW] + p[code + K_DST]] = 1
    if p[code + K_KIND] == CONSUME:
        take_slot(p, at, code)


@kernel
def end(p: Any, row: int) -> None:
    """An arc goes out of force. O(1)."""
    at = p[A_ROWS] + row * ROW
    code = p[A_CODES] + p[at + R_CODE] * RECORD
    if p[code + K_KIND] != TIMEOUT:
        after, before = p[at + R_NEXT], p[at + R_BACK]
        p[p[A_FIRST] + p[code + K_SRC] if before < 0 else p[A_ROWS] + before * ROW + R_NEXT] = after
        if after >= 0:
            p[p[A_ROWS] + after * ROW + R_BACK] = before
    if p[code + K_FINAL]:
        dst = p[code + K_DST]
        p[p[A_MARKS] + dst] -= 1
        if p[p[A_MARKS] + dst] == 0:
            p[p[A_NOW] + dst] = p[p[A_FINALS] + dst]
    if p[code + K_KIND] == CONSUME:
        give_slot(p, at, code)


@kernel
def take_slot(p: Any, at: int, code: int) -> None:
    """Give the arc event at ``at`` a slot of its class, if one is free."""
    first, free = p[code + K_SLOT], p[A_FREE]
    slot = p[free + first] if p[code + K_SLOTS] > 0 else first
    if slot == first + p[code + K_SLOTS]:
        p[at + R_SLOT] = NOWHERE
        p[A_SPILL] += 1
        return
    p[free + first] = p[free + p[A_SLOTCOUNT] + slot]
    p[at + R_SLOT] = slot
    p[p[A_SLOTS] + 2 * slot] = p[code + K_DST]
    p[p[A_SLOTS] + 2 * slot + 1] = p[code + K_CONSTANTS]


@kernel
def give_slot(p: Any, at: int, code: int) -> None:
    """Let the slot of the arc event at ``at`` be free again."""
    slot, free = p[at + R_SLOT], p[A_FREE]
    if slot < 0:
        p[A_SPILL] -= 1
        return
    p[free + p[A_SLOTCOUNT] + slot] = p[free + p[code + K_SLOT]]
    p[free + p[code + K_SLOT]] = slot
    p[p[A_SLOTS] + 2 * slot] = NOWHERE


@kernel
def ask(m: Any, p: Any, code: int, event: int, register: int, out: int) -> int:
    """Carry out an arc's functions at these addresses: 1 taken, 0 not, below 0 a fault.

    Native code that meets what only Python can tell (an overflow, a division by zero) hands over to the user's function.
    """
    at = p[A_CODES] + code * RECORD
    status = NOWHERE
    if p[at + K_CODE] != 0:
        status = call4(p[at + K_CODE], event, register, out, p[at + K_CONSTANTS])
    if status < 0:
        m[C_ASKED] += 1
        m[C_ARC] = code
        answer = call4(p[A_PYTHON], code, event, register, out)
        status = 1 if answer == YES else 0 if answer == NO else NOWHERE  # an exception that is lost on the way: neither
    return int(status)
