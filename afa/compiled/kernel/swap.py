"""Arcs that come or go for good ([AFA10] Sec. 2.3): in a batch from one tick past all that was seen, in a call behind all bounds.

    arc events           x [0, ..)                  bounds    0 +x
    + y, now = 20        x [0, ..)  y [20, ..)      bounds    0 +x, 20 +y
    - x, now = 25        x [0, 25)  y [20, ..)      bounds    0 +x, 20 +y, 25 -x       latest of x: the one before
    failed call          x [0, ..)                  bounds    0 +x                     `forget_arcs`, from the end

Other changes (an end known beforehand, arcs of one name, time-outs) are left to the operator, which makes the program anew.
"""

from __future__ import annotations

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel


@kernel
def change_arc(m: Memory, p: Program, code: int, diff: int, now: int) -> bool:
    """Begin an arc (``diff`` 1) or end it (-1) at ``now``. Returns False, with nothing done, if this program can't."""
    last = BoundRow(p.bounds + (p.boundcount - 1) * BoundRow.SIZE)
    if p.plain == 0 or code < 0 or now == FOREVER or p.boundcount >= p.boundcap:
        return False
    if p.boundcount > 0 and last.t > now:
        return False
    latest = p.codes + code * ArcWords.SIZE + ArcWords.latest
    if diff == 1:
        row = p.count
        if row >= p.rowcap:
            return False
        at = ArcRow(p.rows + row * ArcRow.SIZE)
        at.code, at.begin, at.end = code, now, FOREVER
        at.next, at.back, at.before, at.slot = NOWHERE, NOWHERE, p[latest], NOWHERE
        p[latest] = row
        p.count = row + 1
    else:
        row = p[latest]
        at = ArcRow(p.rows + row * ArcRow.SIZE)
        if diff != -1 or row < 0 or at.begin >= now:
            return False
        at.end = now
        p[latest] = at.before
    # INVARIANT: bounds are in order, as none lies behind ``now``; the arcs now are right up to the new one.
    bound = BoundRow(p.bounds + p.boundcount * BoundRow.SIZE)
    bound.t, bound.row, bound.sign = now, row, diff
    p.boundcount += 1
    p.high = min(p.high, now)
    m.arcs += 1
    return True


@kernel
def change_at(m: Memory, p: Program, code: int, diff: int, now: int) -> int:
    """Do `change_arc` between two batches. Returns 0 if nothing is done, else one more than Program.spill at ``now``."""
    if not change_arc(m, p, code, diff, now):
        return 0
    m.arcs = 0
    seek(p, now)
    return p.spill + 1


@kernel
def forget_arcs(p: Program, count: int) -> None:
    """Roll the changes of arcs back to those of the first ``count`` bounds."""
    for k in range(p.boundcount - 1, count - 1, -1):
        bound = BoundRow(p.bounds + k * BoundRow.SIZE)
        at = ArcRow(p.rows + bound.row * ArcRow.SIZE)
        latest = p.codes + at.code * ArcWords.SIZE + ArcWords.latest
        if bound.sign > 0:
            p[latest] = at.before
            p.count -= 1
        else:
            at.end = FOREVER
            p[latest] = bound.row
    if p.boundcount > count:
        p.boundcount = count
        p.low = p.high = FOREVER  # the next `seek` begins from the beginning


@kernel
def drop_arcs(p: Program, t: int) -> None:
    """Drop the arc events that ended at or before ``t`` ([AFA10] Sec. 5.4). O(arc events)."""
    # Where each arc event goes.
    rows, places, kept = p.rows, p.places, 0
    for row in range(p.count):
        lasts = ArcRow(rows + row * ArcRow.SIZE).end > t
        p[places + row] = kept if lasts else NOWHERE
        kept += lasts
    if kept == p.count:
        return
    # INVARIANT: all numbers of arc events move with them: ArcWords.latest, ArcRow.before, BoundRow.row.
    for row in range(p.count):
        at, place = ArcRow(rows + row * ArcRow.SIZE), p[places + row]
        latest = p.codes + at.code * ArcWords.SIZE + ArcWords.latest
        if p[latest] == row:  # a moved one is at or before its old row: it is not taken for this one
            p[latest] = place
        if place < 0:
            continue
        if at.before >= 0:  # it may stand behind this one
            at.before = p[places + at.before]
        for i in range(ArcRow.SIZE):
            p[rows + place * ArcRow.SIZE + i] = p[at + i]
    bounds, count = p.bounds, 0
    for k in range(p.boundcount):
        bound, target = BoundRow(bounds + k * BoundRow.SIZE), BoundRow(bounds + count * BoundRow.SIZE)
        row = p[places + bound.row]
        if row >= 0:
            target.t, target.sign, target.row = bound.t, bound.sign, row
            count += 1
    p.count, p.boundcount = kept, count
    p.low = p.high = FOREVER
