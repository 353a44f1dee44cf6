"""Gapless numbers ([AFA10] Sec. 5.3, AFA+O): a step continues the list before it only if their numbers are adjacent.

number   4  5  6  .  8  9          .: 7 has not come. The step of 8 begins anew; time-outs of 6 fire up to the promise,
                  ^                and not past 8. Block.gap: no gap that can still close ends before this LE
"""

from __future__ import annotations

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place


@kernel
def adjacent(m: Memory, b: Block, place: int) -> bool:
    """Return whether the numbers of the step at a place and of the one before it are adjacent."""
    order, seqs = b.order, b.seq
    return seqs[order[place - 1]] + 1 == seqs[order[place]]


@kernel
def linked(m: Memory, b: Block, place: int) -> bool:
    """Return whether the step at a place, which is not the first, continues the list before it."""
    if m.gapless == 0 or adjacent(m, b, place):
        return True
    return m.gapless == JOIN and b.le[b.order[place]] < b.told


@kernel
def horizon_of(m: Memory, b: Block, place: int) -> int:
    """Return until when the time-outs of a step fire: until the next step; after the last one and in a gap, until the clock."""
    order, times = b.order, b.le
    reached = max(times[order[place]], m.events)
    if place + 1 >= b.last:
        return reached
    after = times[order[place + 1]]
    return after if linked(m, b, place + 1) else min(after, reached)


@kernel
def ascend(m: Memory, w: Scratch, c: Arrivals, b: Block, n: int) -> bool:
    """Return whether the numbers of the ``n`` records at w.index, in order, differ and ascend with time among the steps.

    Then no insertion is repeated. O(n log steps); O(n) after the last step.
    """
    before = BEGINNING
    for k in range(n):
        record = w[w.index + k]
        le, seq, diff = c.le[record], c.seq[record], c.diff[record]
        if (diff != 1 and diff != -1) or (k and seq <= before):
            return False
        before = seq
        if b == 0:
            continue
        order, times, seqs = b.order, b.le, b.seq
        # Compare with the steps on both sides; a retraction stands where its insertion does.
        place = find_place(m, b, le, seq)
        if place > b.first and seqs[order[place - 1]] >= seq:
            return False
        if place < b.last and times[order[place]] == le and seqs[order[place]] == seq:
            if diff > 0:
                return False
            place += 1
        if place < b.last and seqs[order[place]] <= seq:
            return False
    return True


@kernel
def pass_gaps(m: Memory, w: Scratch, b: Block, t: int) -> int:
    """Make the gaps final that end before ``t``, and log them. Returns the first place whose list has changed, or a status.

    With JOIN the step after such a gap continues the list before it: all these steps are marked. Block.last: none is.
    """
    told, gap, found = b.told, b.gap, b.last
    if t <= told:
        return found
    b.told = t
    if gap >= t:
        return found
    order, times, seqs = b.order, b.le, b.seq
    place = max(find_place(m, b, gap, BEGINNING), b.first + 1)
    b.gap = FOREVER
    while place < b.last:
        le = times[order[place]]
        if le >= told and not adjacent(m, b, place):
            if le >= t:  # the first gap that can still close
                b.gap = le
                break
            if w.log_top >= w.log_cap:
                return NEED_LOG
            at = LogRow(w.log + w.log_top * (LogRow.register + m.register_words))
            at.key, at.sign = w.key, GAP
            at.t, at.re = seqs[order[place - 1]] + 1, seqs[order[place]] - 1
            w.log_top += 1
            if m.gapless == JOIN:
                w[w.mark + place] = w.epoch
                found = min(found, place)
        place += 1
    return found


@kernel
def mark_waits(m: Memory, w: Scratch, b: Block, place: int) -> int:
    """Mark the steps before gaps whose time-outs the promise may let fire. Returns the first of them, or ``place``."""
    order, times = b.order, b.le
    first = place
    at = b.first
    while at + 1 < b.last and times[order[at]] < m.events:
        if not linked(m, b, at + 1):
            w[w.mark + at] = w.epoch
            first = min(first, at)
        at += 1
    return first


@kernel
def forget_cover(m: Memory, b: Block) -> None:
    """Drop the cover of one of many keys if the key has no other step and the lifetime of cover's event is over.

    While a snapshot is loaded (ALWAYS) it stays: the events after it are yet to come.
    """
    first = b.first
    if m.keyed and m.looked != ALWAYS and first + 1 == b.last and b.over <= min(m.final, m.events):
        i = b.order[first]
        if b.events_of[i].count == 0:
            b.first = first + 1
