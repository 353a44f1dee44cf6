"""Arcs in force at an instant: a cursor over the bounds of their lifetimes ([AFA10] Sec. 2.3, 5.2).

    LE            0         10        20        30
    arc event 0   |------------------------|              bounds   0 +0, 10 +1, 25 -0, 30 +2
    arc event 1             |----------------------->
    arc event 2                                 |--->

    seek(12)      P_LOW = 10, P_HIGH = 25, P_NEXT -> the bound 25 -0
                  arcs now of state a:   P_FIRST[a] --> 1 --R_NEXT--> 0 --> NOWHERE
                  slots of their class:  [dst, constants of 0] [dst, constants of 1] [NOWHERE, -] ..
    seek(26)      one bound passed: 0 leaves the chain, and its slot is free again

Events are mostly visited in order, so that going forward costs one bound; going back begins anew. A slot is what the step function
reads: an arc of a shape that it knows is 2 words there. Arcs that find no slot are counted in P_SPILL: then `derive` goes arc by
arc.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call4, kernel


@kernel
def seek(p: Any, t: int) -> None:
    """Move the cursor so that the arcs now are those in force at ``t``.

    O(1) within a segment, O(bounds passed) forward, O(arc events) back.
    """
    if p[P_LOW] <= t < p[P_HIGH]:
        return
    if t < p[P_LOW]:
        reset(p)
    bounds, count = p[P_BOUNDS], p[P_BOUNDCOUNT]
    k = p[P_NEXT]
    while k < count and p[bounds + k * B_SIZE + B_T] <= t:
        at = bounds + k * B_SIZE
        p[P_LOW] = p[at + B_T]
        if p[at + B_SIGN] > 0:
            begin_arc(p, p[at + B_ROW])
        else:
            end_arc(p, p[at + B_ROW])
        k += 1
    p[P_NEXT] = k
    p[P_HIGH] = p[bounds + k * B_SIZE + B_T] if k < count else FOREVER


@kernel
def pass_bound(p: Any) -> None:
    """Move the cursor past the last bound, which is new, if it has passed all others. O(1)."""
    last = p[P_BOUNDCOUNT] - 1
    at = p[P_BOUNDS] + last * B_SIZE
    if p[P_NEXT] != last or p[P_LOW] > p[at + B_T]:
        return
    if p[at + B_SIGN] > 0:
        begin_arc(p, p[at + B_ROW])
    else:
        end_arc(p, p[at + B_ROW])
    p[P_NEXT], p[P_LOW], p[P_HIGH] = last + 1, p[at + B_T], FOREVER


@kernel
def reset(p: Any) -> None:
    """Move the cursor to the instant before all: no arc is in force."""
    for k in range(p[P_STATES]):
        p[p[P_NOW] + k] = p[p[P_FINALS] + k]
        p[p[P_MARKS] + k] = 0
        p[p[P_FIRST] + k] = NOWHERE
    count = p[P_SLOTCOUNT]
    for k in range(count):
        p[p[P_SLOTS] + 2 * k] = NOWHERE
        p[p[P_FREE] + k] = k
        p[p[P_FREE] + count + k] = k + 1
    p[P_NEXT] = 0
    p[P_SPILL] = 0
    p[P_LOW] = BEGINNING
    p[P_HIGH] = BEGINNING


@kernel
def begin_arc(p: Any, row: int) -> None:
    """Put an arc event into force: into the chain of its state, and into a slot. O(1)."""
    at = p[P_ROWS] + row * R_SIZE
    code = p[P_CODES] + p[at + R_CODE] * ARC_SIZE
    if p[code + ARC_KIND] != TIMEOUT:
        first = p[P_FIRST] + p[code + ARC_SRC]
        p[at + R_NEXT], p[at + R_BACK] = p[first], NOWHERE
        if p[first] >= 0:
            p[p[P_ROWS] + p[first] * R_SIZE + R_BACK] = row
        p[first] = row
    if p[code + ARC_FINAL]:
        p[p[P_MARKS] + p[code + ARC_DST]] += 1
        p[p[P_NOW] + p[code + ARC_DST]] = 1
    if p[code + ARC_KIND] == CONSUME or p[code + ARC_KIND] == SKIP:
        take_slot(p, at, code)


@kernel
def end_arc(p: Any, row: int) -> None:
    """Put an arc event out of force. O(1)."""
    at = p[P_ROWS] + row * R_SIZE
    code = p[P_CODES] + p[at + R_CODE] * ARC_SIZE
    if p[code + ARC_KIND] != TIMEOUT:
        after, before = p[at + R_NEXT], p[at + R_BACK]
        p[p[P_FIRST] + p[code + ARC_SRC] if before < 0 else p[P_ROWS] + before * R_SIZE + R_NEXT] = after
        if after >= 0:
            p[p[P_ROWS] + after * R_SIZE + R_BACK] = before
    if p[code + ARC_FINAL]:
        dst = p[code + ARC_DST]
        p[p[P_MARKS] + dst] -= 1
        if p[p[P_MARKS] + dst] == 0:
            p[p[P_NOW] + dst] = p[p[P_FINALS] + dst]
    if p[code + ARC_KIND] == CONSUME or p[code + ARC_KIND] == SKIP:
        give_slot(p, at, code)


@kernel
def take_slot(p: Any, at: int, code: int) -> None:
    """Give the arc event at ``at`` a slot of its class, if one is free."""
    first, free = p[code + ARC_SLOT], p[P_FREE]
    slot = p[free + first] if p[code + ARC_SLOTS] > 0 else first
    if slot == first + p[code + ARC_SLOTS]:
        p[at + R_SLOT] = NOWHERE
        p[P_SPILL] += 1
        return
    p[free + first] = p[free + p[P_SLOTCOUNT] + slot]
    p[at + R_SLOT] = slot
    p[p[P_SLOTS] + 2 * slot] = p[code + ARC_DST]
    p[p[P_SLOTS] + 2 * slot + 1] = p[code + ARC_CONSTANTS]


@kernel
def give_slot(p: Any, at: int, code: int) -> None:
    """Free the slot of the arc event at ``at``."""
    slot, free = p[at + R_SLOT], p[P_FREE]
    if slot < 0:
        p[P_SPILL] -= 1
        return
    p[free + p[P_SLOTCOUNT] + slot] = p[free + p[code + ARC_SLOT]]
    p[free + p[code + ARC_SLOT]] = slot
    p[p[P_SLOTS] + 2 * slot] = NOWHERE


@kernel
def run_arc(m: Any, p: Any, code: int, event: int, register: int, out: int) -> int:
    """Run an arc's functions on the event and the register at these addresses; the new register goes to ``out``.

    Returns 1 if the arc is taken, 0 if not, a number below 0 after a fault. Where native code meets what only Python can tell (an
    overflow, a division by zero) it is the user's own function that runs.
    """
    at = p[P_CODES] + code * ARC_SIZE
    status = NOWHERE
    if p[at + ARC_CODE] != 0:
        status = call4(p[at + ARC_CODE], event, register, out, p[at + ARC_CONSTANTS])
    if status < 0:
        m[C_ASKED] += 1
        m[C_ARC] = code
        answer = call4(p[P_PYTHON], code, event, register, out)
        status = 1 if answer == YES else 0 if answer == NO else NOWHERE  # an exception that is lost on the way: neither
    return int(status)
