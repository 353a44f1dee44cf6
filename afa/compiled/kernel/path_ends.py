"""The ends of a match whose paths are asked for, and the starts of the runs that end as it.

LE          1      4      9                    the match at 9, RE 61
list        p      q p    q f                  f is final at 9 and lives to 61: an end; its run began at 1
time-outs                 q --at 9--> g        g is reached at 9, from the list of 4: q is an end there, too
"""

from __future__ import annotations

from typing import Annotated, Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.closure import fire
from afa.compiled.kernel.gaps import horizon_of
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place
from afa.compiled.kernel.path_layout import *


@kernel
def first_place(m: Memory, b: Block, le: int) -> int:
    """Return the first place of an LE or behind it, whatever the sequence."""
    order, times = b.order, b.le
    place = find_place(m, b, le, 0)
    while place > b.first and times[order[place - 1]] == le:
        place -= 1
    return place


@kernel
def last_place(m: Memory, p: Program, b: Block, le: int) -> int:
    """Return the first place at which a match at an LE may end: that of the LE, or the one before, whose time-outs come then."""
    place = first_place(m, b, le)
    return place - 1 if p.timeout and place > b.first else place


@kernel
def first_of(m: Memory, w: Scratch, c: PathRows, b: Block) -> int:
    """Return the first place at which a run of the match may begin; NOWHERE: it may have begun before PathQuestion.since."""
    if c.asked.every == 0:
        return first_place(m, b, w[w.temp])
    s, least = NodeRow.register + m.register_words, c.asked.least
    order, times = b.order, b.le
    place = first_place(m, b, c.asked.since)
    if place > b.first:  # a row that stands at the last step before may have begun too early
        i = order[place - 1]
        for at in range(first_place(m, b, min(b.reach[i], times[i])), place):
            rows = b.nodes_of[order[at]]
            for k in range(rows.count):
                row = NodeRow(b + b.nodes + (rows.first + k) * s)
                if row.until >= least and (at == place - 1 or row.end > times[i]):
                    return NOWHERE
    while place < b.last and not lasts(m, b, order[place], least):
        place += 1
    return place


@kernel
def lasts(m: Memory, b: Block, i: int, least: int) -> bool:
    """Return whether an event of a step has an RE at or above a bound."""
    events, size = b.events_of[i], EventRow.payload + m.payload_words
    for k in range(events.count):
        if EventRow(b + b.events + (events.first + k) * size).re >= least:
            return True
    return False


@kernel
def is_end(m: Memory, w: Scratch, p: Program, c: PathRows, b: Block, place: int, a: Any, row: int) -> int:
    """Return whether a partial match ends as the match: 1 or 0; or a status. Moves the cursor of arcs to its LE."""
    i, last_le = b.order[place], c.asked.le
    le = b.le[i]
    seek(p, last_le)
    if le == last_le and b.events_of[i].count and is_match(p, c, a, row):
        return 1
    if p.timeout == 0:
        return 0
    fired = fire(m, w, p, a, row, le, le + 1, horizon_of(m, b, place))
    seek(p, last_le)
    for q in range(1, fired):  # rows that its time-outs reach, each with its instant in place of an end
        at = NodeRow(w, w.ready + q * (NodeRow.register + m.register_words))
        if at.end == last_le and is_match(p, c, w, at):
            return 1
    return min(fired, 0)


@kernel
def is_match(p: Program, c: PathRows, a: Any, row: Annotated[NodeRow, "a"]) -> bool:
    """Return whether a partial match that is reached at the match's LE is the match. *Requires* `seek` to it."""
    if p[p.now + row.state] == 0:
        return False
    if c.asked.bounded:
        if row.until < c.asked.least:
            return False
    elif row.until != c.asked.re:
        return False
    width = c.asked.width
    for k in range(c.asked.choices):
        i = 0
        while i < width and row.register[i] == c.wanted[k * width + i]:
            i += 1
        if i == width:
            return True
    return False


@kernel
def starts_of(m: Memory, w: Scratch, p: Program, c: PathRows, b: Block) -> int:
    """Write the starts of the runs that end as the match to w.temp, in order. Returns FOUND, NO_MATCH, BEFORE, or a status.

    Where a run may begin at any step nothing is written.
    """
    s, last_le = NodeRow.register + m.register_words, c.asked.le
    order, times = b.order, b.le
    c.asked.starts = 0
    found, largest = False, BEGINNING
    place = last_place(m, p, b, last_le)
    while place < b.last and times[order[place]] <= last_le:
        i = order[place]
        le = times[i]
        # The list of the place: its own nodes, and earlier ones that reach it.
        at = first_place(m, b, min(b.reach[i], le))
        while at <= place:
            rows = b.nodes_of[order[at]]
            for k in range(rows.count):
                row = NodeRow(b + b.nodes + (rows.first + k) * s)
                if at != place and row.end <= le:
                    continue
                status = is_end(m, w, p, c, b, place, m, row)
                if status < 0:
                    return status
                if status == 0:
                    continue
                found, largest = True, max(largest, row.until)
                if c.asked.every == 0 and not add_start(w, c, row.start):
                    return NEED_TEMP
            at += 1
        place += 1
    if not found or (c.asked.bounded == EXACT and largest != c.asked.re):
        return NO_MATCH
    c.asked.re = largest
    if c.asked.every:
        return FOUND
    return BEFORE if w[w.temp] < c.asked.since else FOUND


@kernel
def begins_by(w: Scratch, c: PathRows, start: int) -> int:
    """Return how many of the starts come before ``start``. O(log n)."""
    low, high = 0, c.asked.starts
    while low < high:
        middle = (low + high) >> 1
        if w[w.temp + middle] < start:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def is_start(w: Scratch, c: PathRows, start: int) -> bool:
    """Return whether a run of the match began at ``start``, or may have."""
    if c.asked.every:
        return True
    at = begins_by(w, c, start)
    return at < c.asked.starts and w[w.temp + at] == start


@kernel
def add_start(w: Scratch, c: PathRows, start: int) -> bool:
    """Put a start among the others. Returns whether there is room."""
    n, at = c.asked.starts, begins_by(w, c, start)
    if at < n and w[w.temp + at] == start:
        return True
    if n >= w.temp_cap:
        return False
    for k in range(n, at, -1):
        w[w.temp + k] = w[w.temp + k - 1]
    w[w.temp + at] = start
    c.asked.starts = n + 1
    return True
