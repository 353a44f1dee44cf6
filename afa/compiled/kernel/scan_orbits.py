"""The scan over the rows of one key: what is shown, and what a change of rows changes in it; see `afa.scan.orbits`.

    records > steps                     as for all automata: `events.merge` marks what changes
    look_ahead                          rows that look at those behind them (NEXT) are told what has come there, in their payloads
    derive_rows                         the classes of these rows, and of those behind them until they are what they were
    follow                              what was shown, and what is, from each start whose match may have changed until they meet

    shown          positions: steps at which a match begins that is shown, in order
    matches_of     of such a step: `MatchRow` of how it ends [LE, sequence of its last row, then of the row where the scan goes on,
                   and whether behind it], then what it shows

A place is where a row stands in the order. A scan stands at a place: of the first row not before the point that is meant.
"""

from __future__ import annotations

from afa.compiled.kernel.clean import cover_of
from afa.compiled.kernel.events import merge, move_words
from afa.compiled.kernel.heap import put, put_of_step, room, save
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.matches import log_match
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place, is_before
from afa.compiled.kernel.scan_folds import forget_folds
from afa.compiled.kernel.scan_kept import end_of_kept, read_match
from afa.compiled.kernel.scan_layout import *
from afa.compiled.kernel.scan_matches import ends_behind, first_alive, landing, match_end, next_match
from afa.compiled.kernel.scan_rows import classes_of, derive_rows, event_at
from afa.compiled.kernel.step import mark, marked


@kernel
def serve_scan(m: Memory, w: Scratch, p: Program, c: Arrivals, b: Block, n: int, what: int, low: int, high: int) -> int:
    """Do the work of `one_key.attempt` where a scan chooses: ``n`` records, or a change of arcs in ``[low, high)``. A status."""
    w.shown_low = b.shown_last
    if b.cleaned < m.final:
        status = forget(m, w, p, b, m.final)
        if status < 0:
            return status
    if what == FORWARD:  # all go as records
        m.stopped = low
        return low
    if what != SWAP and n == 0:
        return DONE
    marks, behind = w.old + w.rows * (NodeRow.register + m.register_words) // 2, NOWHERE
    # What matched before, then the records into steps.
    if what == SWAP:
        first = cover_of(m, b, low) + 1
        if first == b.last or b.le[b.order[first]] >= high:
            return DONE
    else:
        record = w[w.index]
        first = find_place(m, b, c.le[record], c.seq[record])
        if c.arc[record] == LAST_ROW:
            behind, first = first, max(b.first, first - p.farthest)
    status = ends_behind(m, w, b, first, marks)
    if status < 0:
        return status
    before = b.last
    end = b.order[b.last - 1] if b.first < b.last else NOWHERE
    if what == SWAP:
        for place in range(first, b.last):
            if b.le[b.order[place]] < high:
                mark(m, w, b, place)
    else:
        status = merge(m, w, p, c, b, n)
        if status >= 0 and behind != NOWHERE:
            status = look_ahead(m, w, p, b, first, behind)
        if status < 0:
            return status
        status = forget_folds(m, w, b, first, max(before, b.last))  # rows have other places
        if status < 0:
            return status
    # The classes of what is marked, up to the row behind the last one that came or went.
    place, last, stop = first, first, b.last
    if what != SWAP:
        record = w[w.index + n - 1]
        stop = min(stop, find_place(m, b, c.le[record], c.seq[record]) + 2)
    while place < stop:
        if marked(w, place):
            last = derive_rows(m, w, p, b, place)
            if last < 0:
                return last
            status = forget_folds(m, w, b, place, last + 1)
            if status < 0:
                return status
            place = last
        place += 1
    if end != NOWHERE and (b.first == b.last or is_before(m, b, b.order[b.last - 1], b.le[end], b.seq[end])):
        last = b.last  # the last row has gone, and nothing stands behind it to be derived
    if what != SWAP:
        low = c.le[w[w.index]] if first == b.last else min(c.le[w[w.index]], b.le[b.order[first]])
    return follow(m, w, p, b, first, last, marks, low)


@kernel
def look_ahead(m: Memory, w: Scratch, p: Program, b: Block, first: int, behind: int) -> int:
    """Let the rows from a place on look at those that have come behind them, from ``behind`` on. Returns DONE or NEED_UNDO."""
    for place in range(first, behind):
        row = EventRow(event_at(m, b, b.order[place]))
        for k in range(p.aheadcount):
            look = LookAhead(p.ahead + k * LookAhead.SIZE)
            at = place + look.offset
            if not row or at < behind or at >= b.last:
                continue
            i, le = b.order[at], b.le[b.order[place]]
            other = EventRow(event_at(m, b, i))
            near = p.window == 0 or b.le[i] < BEGINNING + p.window or b.le[i] - p.window < le
            if other and near and (look.missing == NOWHERE or other.payload[look.missing]):
                if not room(w, 8):
                    return NEED_UNDO
                put(m, w, row.payload + look.there, 1)
                put(m, w, row.payload + look.value, b.le[i] if look.source == NOWHERE else other.payload[look.source])
                mark(m, w, b, place)
    return DONE


# -- what is shown -------------------------------------------------------------------------------------------------------------


@kernel
def shown_from(m: Memory, b: Block, place: int) -> int:
    """Return the position of the first match shown whose start is behind the row before a place. O(log matches behind it)."""
    low, high, stride = b.shown_first, b.shown_last, 1
    if place == b.first:
        return low
    i = b.order[place - 1]
    while high - stride >= low:
        j = b.shown[high - stride]
        if not is_before(m, b, i, b.le[j], b.seq[j]):
            low = high - stride + 1
            break
        high, stride = high - stride, 2 * stride
    while low < high:
        middle = (low + high) >> 1
        j = b.shown[middle]
        if is_before(m, b, i, b.le[j], b.seq[j]):
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def place_of(m: Memory, b: Block, position: int) -> int:
    """Return the place of the first row not before the start of a match shown; behind all: of none."""
    if position >= b.shown_last:
        return b.last
    i = b.shown[position]
    return find_place(m, b, b.le[i], b.seq[i])


@kernel
def landing_of(m: Memory, b: Block, position: int) -> int:
    """Return the place where a scan goes on behind a match shown."""
    end = MatchRow(b + b.matches + b.matches_of[b.shown[position]].first * (MatchRow.register + m.register_words))
    le, seq = end.register[0], end.register[1]
    place = find_place(m, b, le, seq)
    if end.register[2] and place < b.last and not is_before_row(m, b, le, seq, b.order[place]):
        place += 1
    return place


@kernel
def is_before_row(m: Memory, b: Block, le: int, seq: int, i: int) -> bool:
    """Return whether ``(le, seq)`` comes before a step that does not come before it."""
    return b.le[i] != le or (m.ordered != 0 and b.seq[i] != seq)


@kernel
def save_shown(m: Memory, w: Scratch, b: Block, position: int) -> bool:
    """Save the positions from one on that the call has not saved yet. Returns whether there is room, for a few words more, too."""
    n = w.shown_low - position
    if not room(w, max(n, 0) + 8):
        return False
    if n > 0:
        save(m, w, b.shown + position, n)
        w.shown_low = position
    return True


@kernel
def drop_shown(m: Memory, w: Scratch, b: Block, position: int) -> int:
    """Withdraw the match shown at a position. Returns DONE, NEED_UNDO, NEED_LOG."""
    i, rest, width = b.shown[position], b.shown_last - position, MatchRow.register + m.register_words
    rows = b.matches_of[i]
    if not save_shown(m, w, b, position):
        return NEED_UNDO
    if w.log_top + rows.count > w.log_cap:
        return NEED_LOG
    move_words(m, b.shown + position + 1, b.shown + position, rest - 1)
    b.shown_last -= 1
    first = b + b.matches + (rows.first + 1) * width
    for k in range(rows.count - 1):
        log_match(m, w, m, first + k * width, -1)
    put_of_step(m, w, i, b.matches_of + i, 0)
    return DONE


@kernel
def put_shown(m: Memory, w: Scratch, p: Program, b: Block, start: int, end: int) -> int:
    """Show the match from a place to another.

    Returns the place where a scan goes on, or NEED_UNDO, NEED_LOG, NEED_TEMP, NEED_MATCHES, FAULT.
    """
    n, width, base = end - start + 1, MatchRow.register + m.register_words, w.temp
    most = n if m.all_rows else 1
    path = base + (1 + most) * width
    if path + n + 3 * m.measured > w.temp + w.temp_cap:
        return NEED_TEMP
    if b.match_top + 1 + most > b.match_cap:
        return NEED_MATCHES
    position = shown_from(m, b, start)
    rest = b.shown_last - position
    if not save_shown(m, w, b, position):
        return NEED_UNDO
    if w.log_top + most > w.log_cap:
        return NEED_LOG
    lands = landing(m, w, p, b, start, end, path)
    i, last, on = b.order[start], b.order[end], b.order[lands >> 1]
    count = read_match(m, w, p, b, start, end, path, base + width)
    if count < 0:
        return count
    head = MatchRow(w, base)
    head.t, head.re = b.le[last], b.seq[last]
    for j in range(m.register_words):
        head.register[j] = 0
    head.register[0], head.register[1], head.register[2] = b.le[on], b.seq[on], lands & 1
    for k in range(1, count + 1):
        log_match(m, w, w, base + k * width, 1)
    copy(w, base, m, b + b.matches + b.match_top * width, (1 + count) * width)
    put_of_step(m, w, i, b.matches_of + i, Slice(b.match_top, 1 + count))
    b.match_top += 1 + count
    move_words(m, b.shown + position, b.shown + position + 1, rest)
    b.shown[position] = i
    b.shown_last += 1
    return (lands >> 1) + (lands & 1)


# -- both orbits ---------------------------------------------------------------------------------------------------------------


@kernel
def follow(m: Memory, w: Scratch, p: Program, b: Block, first: int, last: int, marks: int, le: int) -> int:
    """Follow what was shown and what is, from each start whose match the rows of ``[first, last]`` may have changed. A status.

    ``le``: of the first row that has changed. ``w[marks:]`` marks the classes before ``first`` by which matches ended there or
    behind it; those by which one ends come to it.
    """
    n = 0 if first == b.first else StepClasses(classes_of(m, b, b.order[first - 1])).classes
    old = marks + n
    for k in range(n):
        w[old + k] = w[marks + k]
    status, touched = ends_behind(m, w, b, first, marks), 0
    if status < 0:
        return status
    for k in range(n):
        w[marks + k] = w[marks + k] | w[old + k]
        touched += w[marks + k]
    if b.kept and end_of_kept(m, b) > first:
        b.kept = 0
    at = b.first  # up to there both have been followed
    while True:
        start = first_alive(m, w, b, at, first, marks, le) if at < first and touched else first
        if start < 0:
            return start
        start = max(start, at)
        if start > last or (start == b.last and shown_from(m, b, start) == b.shown_last):
            break
        k = shown_from(m, b, start) - 1
        if k >= b.shown_first and place_of(m, b, k) >= at and landing_of(m, b, k) > start:  # the scan jumps over it
            at = landing_of(m, b, k)
            continue
        at = meet(m, w, p, b, start, first, last)
        if at < 0:
            return at
    return DONE


@kernel
def meet(m: Memory, w: Scratch, p: Program, b: Block, start: int, first: int, last: int) -> int:
    """Follow both from a place that is in both until they meet before ``first`` or behind ``last``. Returns where, or a status.

    INVARIANT: what comes begins before `was`, so that no match that is shown from there on is a new one.
    """
    was = withdrawn(m, w, b, start)
    while was == start and start < b.last:  # that was the match of a row that has gone
        was = withdrawn(m, w, b, start)
    now = shown_now(m, w, p, b, start, match_end(m, w, b, start) if start < b.last else NOWHERE)
    before, (after, end) = next_shown(m, b, was), next_match(m, w, b, now, max(was, last + 1))
    while was >= 0 and now >= 0 and after >= 0:
        at, least = max(was, now), min(before, after)
        if at <= least and at < first:
            return at
        if at <= least and least > last:
            return max(at, last + 1)
        if after < was:
            now = shown_now(m, w, p, b, after, match_end(m, w, b, after) if end == NOWHERE else end)
            after, end = next_match(m, w, b, now, max(was, last + 1))
        elif after < before:
            was = after + 1  # row by row: nothing was shown there
        else:
            was = withdrawn(m, w, b, before)
            before = next_shown(m, b, was)
    return min(was, now, after)


@kernel
def next_shown(m: Memory, b: Block, place: int) -> int:
    """Return the place of the first match from one on that was shown; one past all: there is none."""
    if place < 0:  # a status
        return place
    position = shown_from(m, b, place)
    return place_of(m, b, position) if position < b.shown_last else b.last + 1


@kernel
def withdrawn(m: Memory, w: Scratch, b: Block, start: int) -> int:
    """Withdraw the match that was shown from a place, if there is one. Returns where the scan went on, or a status."""
    position = shown_from(m, b, start)
    if position >= b.shown_last or place_of(m, b, position) != start:
        return min(start + 1, b.last)
    was = landing_of(m, b, position)
    status = drop_shown(m, w, b, position)
    return was if status >= 0 else status


@kernel
def shown_now(m: Memory, w: Scratch, p: Program, b: Block, start: int, end: int) -> int:
    """Show the match from a place to another (NOWHERE: there is none; or a status). Returns where the scan goes on, or a status."""
    if end < NOWHERE:
        return end
    return min(start + 1, b.last) if end == NOWHERE else put_shown(m, w, p, b, start, end)


# -- what is final -------------------------------------------------------------------------------------------------------------


@kernel
def resumes(m: Memory, w: Scratch, b: Block, t: int) -> int:
    """Return the place from which on rows are held, where nothing changes before ``t``; see `afa.scan.orbits.RowScan.resumes`."""
    here = cover_of(m, b, t) + 1
    n = 0 if here == b.first else StepClasses(classes_of(m, b, b.order[here - 1])).classes
    if n > w.rows:
        return NEED_ROWS
    for k in range(n):
        w[w.new + k] = 1
    place = first_alive(m, w, b, b.first, here, w.new, t)
    if place < 0:
        return place
    k = shown_from(m, b, place) - 1
    if k >= b.shown_first:
        place = max(place, landing_of(m, b, k))
    return place


@kernel
def forget(m: Memory, w: Scratch, p: Program, b: Block, t: int) -> int:
    """Drop what follows from nothing that may change. A status."""
    b.cleaned = t
    place = resumes(m, w, b, t)
    if place < 0:
        return place
    while b.shown_first < b.shown_last and place_of(m, b, b.shown_first) < place:
        b.shown_first += 1
    if place == b.first:
        return DONE
    b.first = place
    if place == b.last:
        return DONE
    last = derive_rows(m, w, p, b, place)
    return last if last < 0 else forget_folds(m, w, b, place, last + 1)
