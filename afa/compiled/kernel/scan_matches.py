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
from afa.compiled.kernel.scan_folds import BITS, FAR, LEVELS, exits_of, fold_at, highest_level, made_fold, passed
from afa.compiled.kernel.scan_layout import *
from afa.compiled.kernel.scan_rows import classes_of, event_at, link_at

NEAR = 64
"""How many rows `first_over` looks at."""
BACK = 16
"""How many of its rows a match may take otherwise, as a rule, once it goes on."""


@kernel
def link_of(m: Memory, b: Block, place: int, source: int) -> int:
    """Return the address of the link of a class at the row of a place; NOWHERE: of the attempt that begins with the row."""
    at = StepClasses(classes_of(m, b, b.order[place]))
    return link_at(m, at, at.sources - 1 if source == NOWHERE else source)


@kernel
def match_end(m: Memory, w: Scratch, b: Block, start: int) -> int:
    """Return the place where the match of the attempt ends that begins at a place. NOWHERE: it ends none; or a status of `fold_at`.

    O(log rows until it is over).
    """
    end, until, source, place = NOWHERE, FOREVER, NOWHERE, start
    while place < b.last:
        i = b.order[place]
        if b.le[i] >= until:
            break
        level = highest_level(place, b.last) if place >= start + FAR else 0
        while level:
            fold = RowFold(fold_at(m, w, b, level, place))
            if fold < 0:
                return fold
            if fold.le < min(until, fold.until):
                break
            level -= 1
        if level:
            to, last = passed(m, b, level, place, source)
            end = end if last == NOWHERE else last
            until, source = min(until, RowFold(made_fold(m, b, level, place)).until), to
        else:
            link = ClassLink(link_of(m, b, place, source))
            end = end if link.thread == NOWHERE else place
            source = link.to
            event = event_at(m, b, i)
            until = min(until, EventRow(event).re if event else BEGINNING)
        if source == NOWHERE:
            break
        place += 1 << BITS * level
    return end


@kernel
def class_before(m: Memory, w: Scratch, b: Block, start: int, place: int) -> int:
    """Return the class before a place of the attempt that begins at another, or a status of `fold_at`. O(log rows)."""
    source = ClassLink(link_of(m, b, start, NOWHERE)).to
    at = start + 1
    while at < place:
        level = highest_level(at, place)
        if level:
            status = fold_at(m, w, b, level, at)
            if status < 0:
                return status
        source, _last = passed(m, b, level, at, source)
        at += 1 << BITS * level
    return source


@kernel
def read_path(m: Memory, w: Scratch, b: Block, begin: int, end: int, source: int, path: int) -> tuple[int, int, int, int]:
    """Write to ``w[path:]`` which place of the pattern took each row of a match, from a place on that it reaches in a class.

    Returns the smallest RE of these rows, the thread before them; and of all but the last BACK of them the smallest RE, the thread
    behind them.
    """
    n, until, until_kept, thread_kept = end - begin + 1, FOREVER, FOREVER, NOWHERE
    # Forward: the source of each row, and the smallest RE.
    for k in range(n):
        if k == n - BACK:
            until_kept = until
        w[path + k] = source
        source = ClassLink(link_of(m, b, begin + k, source)).to
        until = min(until, EventRow(event_at(m, b, b.order[begin + k])).re)
    # Backward: the thread, and which place took it.
    link = ClassLink(link_of(m, b, end, w[path + n - 1]))
    thread = link.thread
    w[path + n - 1] = link.place
    for k in range(n - 2, -1, -1):
        at = classes_of(m, b, b.order[begin + k])
        link = ClassLink(link_of(m, b, begin + k, w[path + k]))
        took = m[at + link.took + thread]
        thread = took >> PLACE_BITS
        w[path + k] = took & (1 << PLACE_BITS) - 1
        if k == n - BACK:
            thread_kept = thread
    return until, thread, until_kept, thread_kept


@kernel
def measure(
    m: Memory, w: Scratch, p: Program, b: Block, begin: int, n: int, until: int, state: int, path: int, out: int
) -> tuple[int, int]:
    """Write what a match shows as rows of `MatchRow` to ``w[out:]``, of its last row or of each; ``until``: its RE.

    Of its ``n`` rows from a place on; ``state``, and the first of three registers behind the path: of the measures before them.
    Returns how many rows; none where the measures raise and the operator goes on; or FAULT. And the state behind all but the last
    BACK rows; its register is the third one.
    """
    w.match_to = b.le[b.order[begin + n - 1]]
    count, register, other, kept = 0, path + n, path + n + m.measured, NOWHERE
    words = m.told if p.finish == NOWHERE else m.measured
    for k in range(n):
        if k == n - BACK:
            copy(w, register, w, path + n + 2 * m.measured, m.measured)
            kept = state
        i, place = b.order[begin + k], w[path + k]
        event = EventRow(event_at(m, b, i))
        m.instant = b.le[i]
        step = Measure(p.measures + 2 * (state * p.pattern + place) * Measure.SIZE)
        # What it shows as of this row.
        if k == n - 1 or (m.all_rows and p[p.hidden + place] == 0):
            ends = Measure(step + Measure.SIZE)
            taken = run_measure(m, p, ends, m.m_at + 8 * event.payload, m.w_at + 8 * register, m.w_at + 8 * other)
            if taken <= 0:
                return FAULT if taken < 0 else 0, kept
            if p[p.hidden + place] == 0:
                row = MatchRow(w, out + count * (MatchRow.register + m.register_words))
                row.t, row.re = b.le[i], until
                for j in range(m.register_words):
                    row.register[j] = w[other + j] if j < words else 0
                count += 1
        # And what it holds for the next one.
        if k < n - 1:
            taken = run_measure(m, p, step, m.m_at + 8 * event.payload, m.w_at + 8 * register, m.w_at + 8 * other)
            if taken <= 0:
                return FAULT if taken < 0 else 0, kept
            state = step.dst
            register, other = other, register
    # Values as of the end: of the register behind the last row, and that of each row.
    if p.finish != NOWHERE:
        for k in range(count):
            row = MatchRow(w, out + k * (MatchRow.register + m.register_words))
            taken = run_arc(m, p, p.finish, m.w_at + 8 * other, m.w_at + 8 * row.register, m.w_at + 8 * register)
            if taken <= 0:
                return FAULT if taken < 0 else 0, kept
            for j in range(m.register_words):
                row.register[j] = w[register + j] if j < m.told else 0
    return count, kept


@kernel
def run_measure(m: Memory, p: Program, step: Measure, event: int, register: int, out: int) -> int:
    """Run the arc of a row of a match, at addresses. Returns as `run_arc`; 0: there is none, which a damaged memory may ask for."""
    return 0 if step.code == NOWHERE else run_arc(m, p, step.code, event, register, out)


@kernel
def landing(m: Memory, w: Scratch, p: Program, b: Block, start: int, end: int, path: int) -> int:
    """Return where a scan goes on behind a match: twice the place, and one more if it is behind its row. Uses ``w[path:]``.

    See `afa.scan.orbits.RowScan.landing`.
    """
    if m.scans == SCAN_PAST:
        return 2 * end + 1
    found = start
    if m.scans != SCAN_NEXT:
        read_path(m, w, b, start, end, NOWHERE, path)
        for k in range(end - start + 1):
            if p[p.lands + w[path + k]]:
                found = start + k
                if m.scans == SCAN_FIRST:
                    break
    return 2 * found + (found == start)


@kernel
def next_match(m: Memory, w: Scratch, b: Block, place: int, limit: int) -> tuple[int, int]:
    """Return the first place from one on whose attempt ends a match, and where; one past all: there is none; or a status.

    From ``limit`` on it may be one whose attempt ends none in time, and where is NOWHERE.
    """
    while 0 <= place < b.last:
        place = first_end(m, w, b, place)
        if limit <= place < b.last:
            return place, NOWHERE
        if 0 <= place < b.last:
            end = match_end(m, w, b, place)
            if end != NOWHERE:
                return (place if end >= 0 else end), end
            place += 1  # it ends too late
    return (b.last + 1 if place >= 0 else place), NOWHERE


@kernel
def first_end(m: Memory, w: Scratch, b: Block, place: int) -> int:
    """Return the first place from one of a row on whose attempt ends a match, whatever lifetimes say. As `next_match`.

    O(log rows until none before it can end one).
    """
    # By class, at w.new and at w.source by turns: the first attempt in it that has ended none.
    begin, size, matched = place, w.rows, b.last
    open_now, open_then, n = w.new, w.source, StepClasses(classes_of(m, b, b.order[place])).sources - 1
    if n + 1 > size:
        return NEED_ROWS
    for k in range(n):
        w[open_now + k] = b.last
    while place < b.last:
        level = highest_level(place, b.last) if place >= begin + FAR else 0
        if level:
            status = fold_at(m, w, b, level, place)
            if status < 0:
                return status
        at = StepClasses(classes_of(m, b, b.order[place]))
        exits = exits_of(m, b, level, place) if level else at.classes
        if exits + 1 > size:
            return NEED_ROWS
        for k in range(exits):
            w[open_then + k] = b.last
        # Of the attempts from before, and of those that begin here.
        links, least = link_at(m, at, 0), b.last
        if level == 0:
            w[open_now + n] = place
        for source in range(n if level else at.sources):
            start = w[open_now + source]
            if start < matched:
                link = ClassLink(links + source * ClassLink.SIZE)
                to, last = passed(m, b, level, place, source) if level else (link.to, link.thread)
                if last != NOWHERE:
                    matched = start
                elif to != NOWHERE:
                    w[open_then + to] = min(w[open_then + to], start)
        if level:
            fold = RowFold(made_fold(m, b, level, place))
            matched = min(matched, fold.matched)
            for k in range(exits):
                w[open_then + k] = min(w[open_then + k], m[fold.rest + 2 * fold.sources + 2 * k])
        for k in range(exits):
            least = min(least, w[open_then + k])
        if matched < b.last and least >= matched:
            return matched
        open_now, open_then, n = open_then, open_now, exits
        place += 1 << BITS * level
    return matched


@kernel
def ends_behind(m: Memory, w: Scratch, b: Block, place: int, marks: int) -> int:
    """Mark at ``w[marks:]`` the classes before a place by which a match ends there or behind. Returns DONE or a status."""
    if place == b.first:
        return DONE
    n = StepClasses(classes_of(m, b, b.order[place - 1])).classes
    if n > w.rows:
        return NEED_ROWS
    for k in range(n):
        source, at, last = k, place, NOWHERE
        while at < b.last and source != NOWHERE and last == NOWHERE:
            level = highest_level(at, b.last) if at >= place + FAR else 0
            if level:
                status = fold_at(m, w, b, level, at)
                if status < 0:
                    return status
            source, last = passed(m, b, level, at, source)
            at += 1 << BITS * level
        w[marks + k] = int(last != NOWHERE)
    return DONE


@kernel
def first_alive(m: Memory, w: Scratch, b: Block, low: int, place: int, marks: int, t: int) -> int:
    """Return the first place in ``[low, place)`` whose attempt is in one of the classes before a place that ``w[marks:]`` marks.

    ``t``: of those only whose rows all have an RE behind it. ``place``: there is none; or a status. O(log rows back to the first
    one that lives).
    """
    if place == b.first:
        return place
    found, until, at, here, there = place, FOREVER, place, marks, w.other
    while at > low:
        # Back over a fold that ends here, or over a row.
        level = 0
        if at <= place - FAR:
            while level < LEVELS and at & (1 << BITS * (level + 1)) - 1 == 0 and at - (1 << BITS * (level + 1)) >= low:
                level += 1
        while level:
            fold = RowFold(fold_at(m, w, b, level, at - (1 << BITS * level)))
            if fold < 0:
                return fold
            if fold.until > t:
                break
            level -= 1
        at -= 1 << BITS * level
        first = StepClasses(classes_of(m, b, b.order[at]))
        if first.sources - 1 > w.rows:
            return NEED_ROWS
        if level:
            fold = RowFold(made_fold(m, b, level, at))
            until = min(until, fold.until)
            for k in range(fold.exits):
                if w[here + k]:
                    found = min(found, m[fold.rest + 2 * fold.sources + 2 * k + 1])
        else:
            event = event_at(m, b, b.order[at])
            until = min(until, EventRow(event).re if event else BEGINNING)
            if until <= t:
                break
            link = ClassLink(link_of(m, b, at, NOWHERE))
            if link.to != NOWHERE and w[here + link.to]:
                found = at
        any_left = False
        for source in range(first.sources - 1):
            to, _last = passed(m, b, level, at, source)
            lives = to != NOWHERE and w[here + to] != 0
            w[there + source] = int(lives)
            any_left = any_left or lives
        if not any_left:
            break
        here, there = there, w.ready if there == w.other else w.other
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
            return min(until, b.le[i] + 1)
        until = min(until, EventRow(event_at(m, b, i)).re)
        place += 1
    return until if place == b.last else min(until, b.le[b.order[place]] + 1)
