"""Numbers without gaps ([AFA10] Sec. 5.3, AFA+O): a step continues the list before it only if their numbers are adjacent.

number   4  5  6  .  8  9          .: 7 has not come. The step of 8 begins anew; time-outs of 6 fire as far as the promise
                  ^                has come, and not past 8. H_GAP: no gap that can still close ends before this LE
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place


@kernel
def adjacent(m: Any, b: int, place: int) -> bool:
    """Return whether the numbers of the step at a place and of the one before it are adjacent."""
    order, seqs = b + HEAD, b + HEAD + SEQ * m[b + H_CAP]
    return bool(m[seqs + m[order + place - 1]] + 1 == m[seqs + m[order + place]])


@kernel
def linked(m: Any, b: int, place: int) -> bool:
    """Return whether the step at a place, which is not the first, continues the list before it."""
    if m[C_GAPLESS] == 0 or adjacent(m, b, place):
        return True
    return bool(m[C_GAPLESS] == JOIN and m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + place]] < m[b + H_TOLD])


@kernel
def horizon_of(m: Any, b: int, place: int) -> int:
    """Return until when the time-outs of a step fire: the next step; behind the last one and in a gap, the clock."""
    order, times = b + HEAD, b + HEAD + LE * m[b + H_CAP]
    reached = max(m[times + m[order + place]], m[C_EVENTS])
    if place + 1 >= m[b + H_LAST]:
        return int(reached)
    after = m[times + m[order + place + 1]]
    return int(after if linked(m, b, place + 1) else min(after, reached))


@kernel
def ascend(m: Any, w: Any, c: Any, b: int, n: int) -> bool:
    """Return whether the ``n`` records at W_INDEX, in order, have different numbers that ascend with time among the steps.

    Then no insertion is repeated. O(n log steps); O(n) behind the last step.
    """
    before = BEGINNING
    for k in range(n):
        x = w[w[W_INDEX] + k]
        le, seq, diff = c[I_LE, x], c[I_SEQ, x], c[I_DIFF, x]
        if (diff != 1 and diff != -1) or (k and seq <= before):
            return False
        before = seq
        if b == 0:
            continue
        order, times, seqs = b + HEAD, b + HEAD + LE * m[b + H_CAP], b + HEAD + SEQ * m[b + H_CAP]
        place = find_place(m, b, le, seq)
        if place > m[b + H_FIRST] and m[seqs + m[order + place - 1]] >= seq:
            return False
        if place < m[b + H_LAST] and m[times + m[order + place]] == le and m[seqs + m[order + place]] == seq:
            if diff > 0:
                return False
            place += 1
        if place < m[b + H_LAST] and m[seqs + m[order + place]] <= seq:
            return False
    return True


@kernel
def pass_gaps(m: Any, w: Any, b: int, t: int) -> int:
    """Make gaps final that end before ``t``, and log them. Returns the first place whose list has changed.

    That is with JOIN, where such a step continues the list before it; all of them are marked. H_LAST: none is; or a status.
    """
    told, gap, found = m[b + H_TOLD], m[b + H_GAP], m[b + H_LAST]
    if t <= told:
        return int(found)
    m[b + H_TOLD] = t
    if gap >= t:
        return int(found)
    order, times, seqs = b + HEAD, b + HEAD + LE * m[b + H_CAP], b + HEAD + SEQ * m[b + H_CAP]
    place = max(find_place(m, b, gap, BEGINNING), m[b + H_FIRST] + 1)
    m[b + H_GAP] = FOREVER
    while place < m[b + H_LAST]:
        le = m[times + m[order + place]]
        if le >= told and not adjacent(m, b, place):
            if le >= t:
                m[b + H_GAP] = le
                break
            if w[W_LOG_TOP] >= w[W_LOG_CAP]:
                return NEED_LOG
            at = w[W_LOG] + w[W_LOG_TOP] * (L_REG + m[C_R])
            w[at + L_KEY], w[at + L_SIGN] = w[W_KEY], GAP
            w[at + L_T], w[at + L_RE] = m[seqs + m[order + place - 1]] + 1, m[seqs + m[order + place]] - 1
            w[W_LOG_TOP] += 1
            if m[C_GAPLESS] == JOIN:
                w[w[W_MARK] + place] = w[W_EPOCH]
                found = min(found, place)
        place += 1
    return int(found)


@kernel
def mark_waits(m: Any, w: Any, b: int, place: int) -> int:
    """Mark the steps before gaps whose time-outs the promise may let fire. Returns the first of them, or ``place``."""
    order, times = b + HEAD, b + HEAD + LE * m[b + H_CAP]
    first = place
    at = m[b + H_FIRST]
    while at + 1 < m[b + H_LAST] and m[times + m[order + at]] < m[C_EVENTS]:
        if not linked(m, b, at + 1):
            w[w[W_MARK] + at] = w[W_EPOCH]
            first = min(first, at)
        at += 1
    return int(first)


@kernel
def forget_cover(m: Any, b: int) -> None:
    """Drop the cover of a key, of many, if nothing else is left and the lifetime of its event is over.

    While a snapshot is loaded (ALWAYS) it stays: the events behind it are yet to come.
    """
    first = m[b + H_FIRST]
    if m[C_KEYED] and m[C_LOOKED] != ALWAYS and first + 1 == m[b + H_LAST] and m[b + H_OVER] <= min(m[C_FINAL], m[C_EVENTS]):
        i = m[b + HEAD + first]
        if m[b + HEAD + EV * m[b + H_CAP] + i] & COUNT == 0:
            m[b + H_FIRST] = first + 1
