"""A cursor over the bounds of arc lifetimes: which arcs are in force at an instant ([AFA10] Sec. 2.3, 5.2).

    LE            0         10        20        30
    arc event 0   |------------------------|              bounds   0 +0, 10 +1, 25 -0, 30 +2
    arc event 1             |----------------------->
    arc event 2                                 |--->

    seek(12)      p.low = 10, p.high = 25, p.next -> the bound 25 -0
                  arcs now of state a:   p.first[a] --> 1 --ArcRow.next--> 0 --> NOWHERE
                  slots of their class:  [dst, constants of 0] [dst, constants of 1] [NOWHERE, -] ..
    seek(26)      one bound passed: 0 leaves the chain, and its slot is free again

Events are mostly visited in order, so going forward costs the bounds passed; going back begins anew. The step function reads slots:
an arc of a shape that it knows is 2 words there. p.spill counts the arcs without a slot: while it is not 0, `derive` goes arc by
arc.
"""

from __future__ import annotations

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import call4, kernel


@kernel
def seek(p: Program, t: int) -> None:
    """Move the cursor to ``t``: the arcs now are those in force at ``t``.

    O(1) within a segment, O(bounds passed) forward, O(arc events) back.
    """
    if p.low <= t < p.high:
        return
    if t < p.low:
        reset(p)
    bounds, count = p.bounds, p.boundcount
    k = p.next
    while k < count and BoundRow(bounds + k * BoundRow.SIZE).t <= t:
        at = BoundRow(bounds + k * BoundRow.SIZE)
        p.low = at.t
        if at.sign > 0:
            begin_arc(p, at.row)
        else:
            end_arc(p, at.row)
        k += 1
    p.next = k
    p.high = BoundRow(bounds + k * BoundRow.SIZE).t if k < count else FOREVER


@kernel
def pass_bound(p: Program) -> None:
    """Move the cursor past the last bound, a new one, if it has passed all others. O(1)."""
    last = p.boundcount - 1
    at = BoundRow(p.bounds + last * BoundRow.SIZE)
    if p.next != last or p.low > at.t:
        return
    if at.sign > 0:
        begin_arc(p, at.row)
    else:
        end_arc(p, at.row)
    p.next, p.low, p.high = last + 1, at.t, FOREVER


@kernel
def reset(p: Program) -> None:
    """Move the cursor before all bounds: no arc is in force."""
    for k in range(p.states):
        p[p.now + k] = p[p.finals + k]
        p[p.marks + k] = 0
        p[p.first + k] = NOWHERE
    count = p.slotcount
    for k in range(count):  # INVARIANT: all slots of a class are on its free list, which the first slot of the next class ends
        p[p.slots + 2 * k] = NOWHERE
        p[p.free + k] = k
        p[p.free + count + k] = k + 1
    p.next = p.spill = p.asked = 0
    p.low = BEGINNING
    p.high = BEGINNING


@kernel
def begin_arc(p: Program, row: int) -> None:
    """Put an arc event into force: chain it to its state, and give it a slot. O(1)."""
    p.asked = 0
    at = ArcRow(p.rows + row * ArcRow.SIZE)
    code = ArcWords(p.codes + at.code * ArcWords.SIZE)
    if code.kind != TIMEOUT:
        first = p.first + code.src
        at.next, at.back = p[first], NOWHERE
        if p[first] >= 0:
            ArcRow(p.rows + p[first] * ArcRow.SIZE).back = row
        p[first] = row
    if code.final:
        p[p.marks + code.dst] += 1
        p[p.now + code.dst] = 1
    if code.kind == CONSUME or code.kind == SKIP:
        take_slot(p, at, code)


@kernel
def end_arc(p: Program, row: int) -> None:
    """Put an arc event out of force. O(1)."""
    p.asked = 0
    at = ArcRow(p.rows + row * ArcRow.SIZE)
    code = ArcWords(p.codes + at.code * ArcWords.SIZE)
    if code.kind != TIMEOUT:
        after, before = at.next, at.back
        p[p.first + code.src if before < 0 else p.rows + before * ArcRow.SIZE + ArcRow.next] = after
        if after >= 0:
            ArcRow(p.rows + after * ArcRow.SIZE).back = before
    if code.final:
        dst = code.dst
        p[p.marks + dst] -= 1
        if p[p.marks + dst] == 0:  # no other arc now makes the state final
            p[p.now + dst] = p[p.finals + dst]
    if code.kind == CONSUME or code.kind == SKIP:
        give_slot(p, at, code)


@kernel
def take_slot(p: Program, at: ArcRow, code: ArcWords) -> None:
    """Give the arc event at ``at`` a slot of its class, if one is free."""
    first, free = code.slot, p.free
    slot = p[free + first] if code.slots > 0 else first
    if slot == first + code.slots:
        at.slot = NOWHERE
        p.spill += 1
        return
    p[free + first] = p[free + p.slotcount + slot]
    at.slot = slot
    p[p.slots + 2 * slot] = code.dst
    p[p.slots + 2 * slot + 1] = code.constants


@kernel
def give_slot(p: Program, at: ArcRow, code: ArcWords) -> None:
    """Free the slot of the arc event at ``at``."""
    slot, free = at.slot, p.free
    if slot < 0:
        p.spill -= 1
        return
    p[free + p.slotcount + slot] = p[free + code.slot]
    p[free + code.slot] = slot
    p[p.slots + 2 * slot] = NOWHERE


@kernel
def run_arc(m: Memory, p: Program, code: int, event: int, register: int, out: int) -> int:
    """Run an arc's functions on the event and the register at these addresses; write the new register to ``out``.

    Returns 1 if the arc is taken, 0 if not, a number below 0 after a fault. Where native code can't tell what Python would give (an
    overflow, a division by zero), the user's own function runs.
    """
    at = ArcWords(p.codes + code * ArcWords.SIZE)
    status = NOWHERE
    if at.code != 0:
        status = call4(at.code, event, register, out, at.constants)
    if status < 0:
        m.asked += 1
        answer = call4(p.python, code, event, register, out)
        status = 1 if answer == YES else 0 if answer == NO else NOWHERE  # an exception that is lost on the way: neither
    return status
