"""The matches of a scan: where the attempt that begins with a row ends one, which place took each row, and what it shows.

match_end     forward by links from the row on, until the attempt is over or a row is beyond the lifetimes: its last end
read_match    backward from the end: the thread, and the place that took each row; then forward the measures
next_match    the first row from a place on whose attempt ends a match
first_alive   the first row from a place on whose attempt is in one of some classes at a later place
"""

from __future__ import annotations

from afa.compiled.kernel.arc_cursor import run_arc
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.scan_rows import classes_of, event_at, link_at

NEAR = 64
"""How many rows `first_over` looks at."""


@kernel
def link_of(m: Memory, b: Block, place: int, source: int) -> int:
    """Return the address of the link of a class at the row of a place; NOWHERE: of the attempt that begins with the row."""
    at = StepClasses(classes_of(m, b, b.order[place]))
    return link_at(m, at, at.sources - 1 if source == NOWHERE else source)


@kernel
def match_end(m: Memory, b: Block, start: int) -> int:
    """Return the place where the match of the attempt ends that begins at a place; NOWHERE: it ends none."""
    end, until, source, place = NOWHERE, FOREVER, NOWHERE, start
    while place < b.last:
        i = b.order[place]
        if b.le[i] >= until:
            break
        link = ClassLink(link_of(m, b, place, source))
        if link.thread != NOWHERE:
            end = place
        source = link.to
        if source == NOWHERE:
            break
        event = event_at(m, b, i)
        until = min(until, EventRow(event).re)
        place += 1
    return end


@kernel
def read_path(m: Memory, w: Scratch, b: Block, start: int, end: int, path: int) -> int:
    """Write to ``w[path:]`` which place of the pattern took each row of the match from a place to another. Returns its RE."""
    n = end - start + 1
    # Forward: the source of each row, and the smallest RE.
    source, until = NOWHERE, FOREVER
    for k in range(n):
        w[path + k] = source
        source = ClassLink(link_of(m, b, start + k, source)).to
        until = min(until, EventRow(event_at(m, b, b.order[start + k])).re)
    # Backward: the thread, and which place took it.
    link = ClassLink(link_of(m, b, end, w[path + n - 1]))
    thread = link.thread
    w[path + n - 1] = link.place
    for k in range(n - 2, -1, -1):
        at = classes_of(m, b, b.order[start + k])
        link = ClassLink(link_of(m, b, start + k, w[path + k]))
        took = m[at + link.took + thread]
        thread = took >> PLACE_BITS
        w[path + k] = took & (1 << PLACE_BITS) - 1
    return until


@kernel
def measure(m: Memory, w: Scratch, p: Program, b: Block, start: int, n: int, path: int, registers: int) -> int:
    """Run the measures over the ``n`` rows from a place on. Returns where in w their register stands, or FAULT."""
    state, register, other = 0, registers, registers + m.measured
    copy(p, p.measure_begin, w, register, m.measured)
    for k in range(n):
        row = Measure(p.measures + ((state * p.pattern + w[path + k]) * 2 + (k == n - 1)) * Measure.SIZE)
        event = EventRow(event_at(m, b, b.order[start + k]))
        m.instant = b.le[b.order[start + k]]
        if run_arc(m, p, row.code, m.m_at + 8 * event.payload, m.w_at + 8 * register, m.w_at + 8 * other) <= 0:
            return FAULT
        state = row.dst
        register, other = other, register
    return register


@kernel
def landing(m: Memory, w: Scratch, p: Program, b: Block, start: int, end: int, path: int) -> int:
    """Return where a scan goes on behind a match: twice the place, and one more if it is behind its row. Uses ``w[path:]``.

    See `afa.scan.scan.Scan.landing`.
    """
    if m.scans == SCAN_PAST:
        return 2 * end + 1
    found = start
    if m.scans != SCAN_NEXT:
        read_path(m, w, b, start, end, path)
        for k in range(end - start + 1):
            if p[p.lands + w[path + k]]:
                found = start + k
                if m.scans == SCAN_FIRST:
                    break
    return 2 * found + (found == start)


@kernel
def next_match(m: Memory, w: Scratch, b: Block, place: int) -> tuple[int, int]:
    """Return the first place from one on whose attempt ends a match, and where that ends.

    Behind all: there is none; NEED_ROWS. O(rows until no attempt before it can end one).
    """
    while place < b.last:
        found = first_end(m, w, b, place)
        if found < 0 or found == b.last:
            return found, NOWHERE
        end = match_end(m, b, found)
        if end != NOWHERE:
            return found, end
        place = found + 1  # it ends too late
    return b.last, NOWHERE


@kernel
def first_end(m: Memory, w: Scratch, b: Block, place: int) -> int:
    """Return the first place from one on whose attempt ends a match, whatever lifetimes say; behind all: there is none."""
    # By class, at w.new and at w.source by turns: the first attempt in it that has ended none.
    size, matched = w.rows, b.last
    open_now, open_then, n = w.new, w.source, 0
    while place < b.last:
        at = StepClasses(classes_of(m, b, b.order[place]))
        if at.classes + 1 > size:
            return NEED_ROWS
        for k in range(at.classes):
            w[open_then + k] = b.last
        least = b.last
        for source in range(n + 1):
            start = w[open_now + source] if source < n else place
            if start >= matched:
                continue
            link = ClassLink(link_at(m, at, source if source < n else at.sources - 1))
            if link.thread != NOWHERE:
                matched = min(matched, start)
            elif link.to != NOWHERE:
                w[open_then + link.to] = min(w[open_then + link.to], start)
                least = min(least, start)
        if matched < b.last and least >= matched:
            return matched
        open_now, open_then, n = open_then, open_now, at.classes
        place += 1
    return matched


@kernel
def ends_behind(m: Memory, w: Scratch, b: Block, place: int, marks: int) -> int:
    """Mark at ``w[marks:]`` the classes before a place by which a match ends there or behind. Returns how many, or NEED_ROWS."""
    if place == b.first:
        return 0
    count, n = 0, StepClasses(classes_of(m, b, b.order[place - 1])).classes
    if n > w.rows:
        return NEED_ROWS
    for k in range(n):
        source, at = k, place
        w[marks + k] = 0
        while at < b.last and source != NOWHERE:
            link = ClassLink(link_of(m, b, at, source))
            if link.thread != NOWHERE:
                w[marks + k] = 1
                count += 1
                break
            source = link.to
            at += 1
    return count


@kernel
def first_alive(m: Memory, w: Scratch, b: Block, low: int, place: int, marks: int, t: int) -> int:
    """Return the first place in ``[low, place)`` whose attempt is in one of the classes before a place that ``w[marks:]`` marks.

    ``t``: of those only whose rows all have an RE behind it. ``place``: there is none. O(rows back to the first one that lives).
    """
    if place == b.first:
        return place
    found, until, at, here, there = place, FOREVER, place - 1, marks, w.other
    while at >= low:
        i = b.order[at]
        step = StepClasses(classes_of(m, b, i))
        event = event_at(m, b, i)
        until = min(until, EventRow(event).re if event else BEGINNING)
        if until <= t:
            break
        any_left = False
        for source in range(step.sources):
            link = ClassLink(link_at(m, step, source))
            lives = link.to != NOWHERE and w[here + link.to] != 0
            if source == step.sources - 1:
                if lives:
                    found = at
            else:
                w[there + source] = int(lives)
                any_left = any_left or lives
        if not any_left:
            break
        here, there = there, w.ready if there == w.other else w.other
        at -= 1
    return found


@kernel
def first_over(m: Memory, b: Block) -> int:
    """Return the smallest promise that may make a block smaller: before it the attempt of its first row may go on.

    A lower bound, where that is long. O(1).
    """
    until, source, place = FOREVER, NOWHERE, b.first
    while place < min(b.last, b.first + NEAR):
        i = b.order[place]
        source = ClassLink(link_of(m, b, place, source)).to
        if source == NOWHERE:
            return b.le[i] + 1
        until = min(until, EventRow(event_at(m, b, i)).re)
        place += 1
    return until if place == b.last else min(until, b.le[b.order[place]] + 1)
