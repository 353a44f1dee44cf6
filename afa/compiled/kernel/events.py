"""Bring event records into the steps of a block, and mark the steps that change; `propagate` derives their lists afterwards.

    records, in order     + at 7      - of e1 at 9 (its only event)      + at 9, another one       one more + of e0 at 5

    before   order  [ 0   1   3 ]       LE  5  9  12        events   0: e0    1: e1     3: e3
    after    order  [ 0   2   1   3 ]   LE  5  7  9  12     events   0: e0 twice   2: e2   1: e4   3: e3
    marked                *   *                             e0 was there: one copy more changes no list

    where 1 loses all its events:
             order  [ 0   2   3 ]       its nodes and matches go with it, and the step after it is marked
    marked                *   *

The copies of an event are its insertions less its retractions. Where that is negative, retractions wait in the section ``pending``
until as many insertions have come.
"""

from __future__ import annotations

from typing import Annotated, Any

from afa.compiled.kernel.heap import put, put_of_step, room, save
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.matches import set_matches
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import earlier, find_place, is_before
from afa.compiled.kernel.step import mark


@kernel
def merge(m: Memory, w: Scratch, p: Program, c: Arrivals, b: Block, n: int) -> int:
    """Merge the ``n`` records at w.index, which are in order, into the steps.

    Returns the first place that may be marked, or NEED_BLOCK, NEED_PLACES, NEED_UNDO, or a status of `apply_to_step`.
    """
    cap = b.cap
    if b.last + n > cap or b.steps + n > cap:
        return NEED_BLOCK
    if cap > w.places:
        return NEED_PLACES
    # The new order is built at w.order from `begin` on: place counts the old places passed, out the new ones written.
    order, times, seqs, events, lists, matches = b.order, b.le, b.seq, b.events_of, b.nodes_of, b.matches_of
    record = w[w.index]
    begin = place = find_place(m, b, c.le[record], c.seq[record])
    last, k, out, gone, moved = b.last, 0, begin, False, False  # gone: the step before was deleted; moved: the order differs
    built = w.order
    while k < n:
        # Take all records of one step.
        record = w[w.index + k]
        group, k = k, k + 1
        while k < n and not earlier(m, c, 0, record, w[w.index + k]):
            k += 1
        le, seq = c.le[record], c.seq[record]
        # Copy the places of the steps before it. INVARIANT: the order stays sorted by LE (then sequence).
        while place < last and is_before(m, b, order[place], le, seq):
            w[built + out] = order[place]
            if gone:
                w[w.mark + out] = w.epoch
                gone = False
            out += 1
            place += 1
        # Find the step, or make one.
        i = order[place] if place < last else NOWHERE
        there = i != NOWHERE and times[i] == le and (m.ordered == 0 or seqs[i] == seq)
        if not there:
            i = b.steps
            events[i] = lists[i] = matches[i] = 0
            times[i], seqs[i] = le, seq
        else:
            place += 1
        # Change its events: mostly it gets its one. A step left without leaves the order; a new one was never in it.
        if not there and k == group + 1 and c.diff[record] == 1 and b.pending_top == 0:
            changed = put_only(m, c, b, i, record)
        else:
            changed = apply_to_step(m, w, c, b, i, group, k)
        if changed < 0:
            return changed
        if b.events_of[i].count == 0:
            if there:
                status = empty_step(m, w, p, b, i)
                if status < 0:
                    return status
                gone = moved = True
            continue
        if not there:
            b.steps = i + 1
            moved = True
        w[built + out] = i
        if changed or gone:
            w[w.mark + out] = w.epoch
            gone = gone and not there  # after a deleted step the next old one is marked, and all new ones before that
        out += 1
    # Move the places after the last record, and write the new order before them.
    rest = last - place
    if gone and rest:
        w[w.mark + out] = w.epoch
    if moved:
        if not room(w, last - begin):
            return NEED_UNDO
        save(m, w, order + begin, last - begin)  # INVARIANT: before any place is overwritten
        if out != place:
            move_words(m, order + place, order + out, rest)
        for at in range(begin, out):
            order[at] = w[built + at]
        b.last = out + rest
        if gone and not rest and p.timeout:  # the list of the step that is last now waits longer
            mark(m, w, b, out - 1)
    return begin


@kernel
def move_words(m: Memory, source: int, target: int, n: int) -> None:
    """Copy ``n`` words that may overlap."""
    if target < source:
        for k in range(n):
            m[target + k] = m[source + k]
    else:
        for k in range(n - 1, -1, -1):
            m[target + k] = m[source + k]


@kernel
def put_only(m: Memory, c: Arrivals, b: Block, i: int, record: int) -> int:
    """Make the event of a record the only one of step ``i``, a new one. Returns 1, or NEED_EVENTS."""
    top = b.event_top
    if top == b.event_cap:
        return NEED_EVENTS
    put_record(m, m, b + b.events + top * (EventRow.payload + m.payload_words), c, record, 1)
    b.event_top = top + 1
    b.events_of[i] = Slice(top, 1)
    return 1


@kernel
def apply_to_step(m: Memory, w: Scratch, c: Arrivals, b: Block, i: int, first: int, last: int) -> int:
    """Apply records ``first`` to ``last`` of w.index to one step's events.

    Returns 1 if the set of distinct events changed, 0 if only copy counts did, or NEED_TEMP, NEED_UNDO, NEED_EVENTS, NEED_BLOCK,
    CROWDED.
    """
    v = m.payload_words
    size = EventRow.payload + v
    old = b.events_of[i]
    had, temp = old.count, w.temp
    if (had + last - first) * (size + 1) > w.temp_cap:
        return NEED_TEMP
    # Copy the events to w.temp, and count the records into their copies there.
    copy(m, b + b.events + old.first * size, w, temp, had * size)
    n = had
    for k in range(first, last):
        record = w[w.index + k]
        row = 0
        while row < n and not is_event(w, temp + row * size, c, record, v):
            row += 1
        event = EventRow(w, temp + row * size)
        if row == n:
            put_record(m, w, event, c, record, 0)
            n += 1
        if c.diff[record] > FOREVER - event.copies:
            m.record = record
            return CROWDED
        count = event.copies + c.diff[record]
        if b.pending_top or count < 0:
            count = offset_waiting(m, w, c, b, record, count)
            if count < 0:
                return count
        event.copies = count
    # Drop the events of which no copy is left.
    kept = changed = 0
    for row in range(n):
        at = EventRow(w, temp + row * size)
        if at.copies == 0:
            changed = changed or row < had
            continue
        changed = changed or row >= had
        if kept != row:
            copy(w, at, w, temp + kept * size, size)
        kept += 1
    top = b.event_top
    if not room(w, 8 + 3 * had):
        return NEED_UNDO
    # The same events: write the copies that differ in place.
    if not changed:
        for row in range(had):
            word, copies = b + b.events + (old.first + row) * size + EventRow.copies, EventRow(w, temp + row * size).copies
            if m[word] != copies:
                put(m, w, word, copies)
        return 0
    # Other events: append them as a new slice. INVARIANT: the old rows stay for a rollback, the old slice goes to the undo log.
    if top + kept > b.event_cap:
        return NEED_EVENTS
    if kept > 1 and m.ties:
        m.tied = 1
    copy(w, temp, m, b + b.events + top * size, kept * size)
    b.event_top = top + kept
    put_of_step(m, w, i, b.events_of + i, Slice(top, kept) if kept else 0)
    return 1


@kernel
def put_record(m: Memory, a: Any, at: Annotated[EventRow, "a"], c: Arrivals, record: int, copies: int) -> None:
    """Write some copies of the event of a record."""
    at.re, at.copies = c.re[record], copies
    for j in range(m.payload_words):
        at.payload[j] = c.payload[j, record]


@kernel
def is_event(a: Any, row: Annotated[EventRow, "a"], c: Arrivals, record: int, v: int) -> bool:
    """Return whether a row has the lifetime and the payload of a record."""
    if row.re != c.re[record]:
        return False
    for j in range(v):
        if row.payload[j] != c.payload[j, record]:
            return False
    return True


@kernel
def offset_waiting(m: Memory, w: Scratch, c: Arrivals, b: Block, record: int, count: int) -> int:
    """Offset ``count`` copies of a record's event against its retractions that wait; a negative rest waits with them.

    Returns how many copies are in force, or NEED_UNDO, NEED_BLOCK, CROWDED.
    """
    v = m.payload_words
    size = PendingRow.payload + v
    base, top = b + b.pending, b.pending_top
    # Find the retractions of this event that wait.
    row = 0
    at = PendingRow(base)
    while row < top and not (at.le == c.le[record] and is_event(m, at + PendingRow.re, c, record, v)):
        row, at = row + 1, at + size
    if not room(w, 2 * size + 16):
        return NEED_UNDO
    if row < top:
        if count < at.copies - FOREVER:
            m.record = record
            return CROWDED
        count -= at.copies
        # INVARIANT: both rows are saved, as the last one may take this one's place, and another one the last one's.
        save(m, w, at, size)
        save(m, w, base + (top - 1) * size, size)
        if count >= 0:
            copy(m, base + (top - 1) * size, m, at, size)
            b.pending_top = top - 1
            m.waiting -= 1
            return count
        at.copies = -count
        return 0
    if count >= 0:
        return count
    # They are the first to wait.
    if top == b.pending_cap:
        return NEED_BLOCK
    at.le = c.le[record]
    put_record(m, m, at + PendingRow.re, c, record, -count)  # behind LE the row is that of an event
    b.pending_top = top + 1
    m.waiting += 1
    return 0


@kernel
def empty_step(m: Memory, w: Scratch, p: Program, b: Block, i: int) -> int:
    """Withdraw the matches of a step that has lost its events, and note in w.until how far its nodes reached. Returns a status."""
    s = NodeRow.register + m.register_words
    if m.scans:  # its match is followed like all others
        return DONE
    if not room(w, 8):
        return NEED_UNDO
    rows = b.nodes_of[i]
    for k in range(rows.first, rows.first + rows.count):
        w.until = max(w.until, NodeRow(b + b.nodes + k * s).end)
    return set_matches(m, w, p, b, i, 0)
