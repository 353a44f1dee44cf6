"""Events that look at others of their key, over rows in order, as `speculation.last_before` has it.

For each condition at the last one before, and at neighbours: a field of the event so many steps before, or behind.

    entries   (floor)  a b  c      a and b at one place: LE (and order); they have the same lasts
    lasts     10       10   b's    the lasts before a place; kept in each row, with how many copies have left

An entry is marked where it is a *floor*: no event, but the lasts behind all that a promise has made final. It is the first one. A
condition that nothing satisfies before has the last one FOREVER.
"""

from __future__ import annotations

from afa.compiled.kernel.native_call import kernel
from speculation.rows.row_layout import *
from speculation.rows.row_lists import *

# -- the last events --------------------------------------------------------------------------------------------------------------


@kernel
def revise(m: RowControl, r: RowPool, entry: RowKey, place: int, last: int) -> None:
    """Go through the entries that changes from ``place`` to ``last`` concern, and log events that leave or go; drop those without
    copies.

    Begins where a neighbour behind may have changed. Ends where none before has, and the lasts are what they were.
    """
    spec = RowSpec(m.spec)
    a, n = entry.block + 1, entry.n
    begin = steps_back(m, r, a, step_begin(m, r, a, place + 1), spec.following)
    end = last + 1
    if spec.previous:
        end = steps_on(m, r, a, n, step_end(m, r, a, n, last), spec.previous)
    lasts_before(m, r, a, begin)
    i, at = begin, begin
    while i < n:
        row = m[a + i] >> 1
        cut(m, r.le[row])
        if i >= end and same_looks(m, r, row, spec.lasts):
            break
        low, i = i, step_end(m, r, a, n, i)
        look_beside(m, r, a, n, low, i)
        for k in range(low, i):
            version(m, r, m[a + k] >> 1)
        for k in range(low, i):
            remember(m, r, m[a + k] >> 1)
    for k in range(begin, i):
        event = m[a + k] >> 1
        if r[event, spec.state + COPIES] != 0:
            m[a + at] = m[a + k]
            at += 1
        else:
            m[m.gone + m.gone_top] = event
            m.gone_top += 1
    if at < i:
        for k in range(i, n):
            m[a + at + k - i] = m[a + k]
        entry.n = n - (i - at)


@kernel
def revised_from(m: RowControl, r: RowPool, entry: RowKey, place: int) -> int:
    """Return an entry at or before the first one that changes from ``place`` on may revise."""
    begin = place_before(m, r, entry, place)
    return int(steps_back(m, r, entry.block + 1, begin, RowSpec(m.spec).following))


@kernel
def look_beside(m: RowControl, r: RowPool, a: int, n: int, low: int, high: int) -> None:
    """Put the neighbours of the step from ``low`` to ``high`` into NOW. Where a step beside it has several events there is none."""
    spec = RowSpec(m.spec)
    now, of, le = m.last_events + spec.lasts, m.spec + RowSpec.order + 2 * spec.order_n, r.le[m[a + low] >> 1]
    while now < m.last_events + spec.looks:
        offset, found = m[of], NONE
        if offset < 0:
            end = steps_back(m, r, a, low, -offset - 1)
            begin = steps_back(m, r, a, end, 1)
            if begin < end:
                found = in_force(m, r, a, begin, step_end(m, r, a, n, begin))
        else:
            begin = steps_on(m, r, a, n, high, offset - 1)
            while begin < n and found == NONE:
                end = step_end(m, r, a, n, begin)
                found = in_force(m, r, a, begin, end)
                begin = end
        m[now], m[now + 1] = 0, 0
        if found >= 0:
            row = m[a + found] >> 1
            ahead = offset > 0 and spec.window > 0 and r.le[row] >= BEGINNING + spec.window
            near = r.le[row] - spec.window < le if ahead else True
            if near and (m[of + 2] == 0 or r[row, m[of + 2]] == 0):
                m[now], m[now + 1] = 1, r[row, m[of + 1]]
        now += 2
        of += 3


@kernel
def version(m: RowControl, r: RowPool, row: int) -> None:
    """Write to the log which versions of an event go and come."""
    size, state = RowSpec(m.spec).looks, RowSpec(m.spec).state
    copies, left = r[row, state + COPIES], r[row, state + LEFT]
    now, other = max(copies, 0), 0 if same_looks(m, r, row, size) else 1
    if now == left and not other:
        return
    keep_state(m, r, row)
    if other and left:
        line(m, r, row, -left)
        m.revised += now
        left = 0
    for c in range(size):
        r[row, state + LASTS + c] = m[m.last_events + c]
    if now != left:
        line(m, r, row, now - left)
    r[row, state + LEFT] = now


@kernel
def line(m: RowControl, r: RowPool, row: int, diff: int) -> None:
    """Write a line of output: row, copies, and what the row looks at. *Requires* room."""
    top, size, state = m.log + m.log_top, RowSpec(m.spec).looks, RowSpec(m.spec).state
    m[top], m[top + 1] = row, diff
    for c in range(size):
        m[top + 2 + c] = r[row, state + LASTS + c]
    m.log_top += 2 + size


@kernel
def same_looks(m: RowControl, r: RowPool, row: int, n: int) -> bool:
    """Return whether the first ``n`` words of what a row looks at are those in NOW."""
    at, state = m.last_events, RowSpec(m.spec).state
    for c in range(n):
        if r[row, state + LASTS + c] != m[at + c]:
            return False
    return True


@kernel
def place_before(m: RowControl, r: RowPool, entry: RowKey, place: int) -> int:
    """Return the first entry of the same place in the order as the one before ``place``."""
    a = entry.block + 1
    return place if place == 0 or m[a + place - 1] & 1 else step_begin(m, r, a, place)


@kernel
def lasts_before(m: RowControl, r: RowPool, a: int, i: int) -> None:
    """Put the lasts behind all entries before ``i``, where a place begins, into NOW."""
    at, size, state = m.last_events, RowSpec(m.spec).lasts, RowSpec(m.spec).state
    if i == 0:
        for c in range(size):
            m[at + c] = FOREVER
        return
    row, k = m[a + i - 1] >> 1, i - 1
    for c in range(size):
        m[at + c] = r[row, state + LASTS + c]
    while k >= 0 and m[a + k] & 1 == 0 and same_place(m, r, m[a + k] >> 1, row):
        remember(m, r, m[a + k] >> 1)
        k -= 1


@kernel
def remember(m: RowControl, r: RowPool, event: int) -> None:
    """Let an event that is in force be the last one, in NOW, of the conditions that it satisfies."""
    bits, state = LASTS + RowSpec(m.spec).looks, RowSpec(m.spec).state
    if r[event, state + COPIES] > 0:
        for c in range(RowSpec(m.spec).lasts):
            if r[event, state + bits + (c >> TRUTH_BITS)] >> (c & ((1 << TRUTH_BITS) - 1)) & 1:
                m[m.last_events + c] = r.le[event]


@kernel
def cut(m: RowControl, le: int) -> bool:
    """Drop events from NOW that lie too far back for an event; return whether any is left."""
    window, found = RowSpec(m.spec).window, False
    for c in range(RowSpec(m.spec).lasts):
        last = m[m.last_events + c]
        if last != FOREVER and window and le >= BEGINNING + window and last <= le - window:
            m[m.last_events + c] = FOREVER
            last = FOREVER
        found = found or last != FOREVER
    return bool(found)


# -- final entries -----------------------------------------------------------------------------------------------------------------


@kernel
def settle_events(m: RowControl, r: RowPool, entry: RowKey, key: int) -> int:
    """Forget the final events of one key that no other looks at, where these are half of all, it is asked for, or one waits.

    Returns DONE; or a status that asks for room, with nothing done.
    """
    spec = RowSpec(m.spec)
    a, n, size, state = entry.block + 1, entry.n, spec.looks, spec.state
    final = n if m.all else final_of(m, r, a, n)
    gone = final if m.all or m.force > 1 else steps_back(m, r, a, final, spec.previous + spec.following)
    vain = 0
    if m.retractions:
        for i in range(final):
            vain += 1 if m[a + i] & 1 == 0 and r[m[a + i] >> 1, state + COPIES] < 0 else 0
    if vain == 0 and (gone == 0 or (not m.force and (2 * gone < n))):
        entry.due = due_events(m, r, entry)
        return DONE
    if m.undo_top + n + 3 + (vain + 1) * (size + 4) > m.rooms[UNDO]:
        return NEED_UNDO
    if m.gone_top + n > m.rooms[GONE]:
        return NEED_GONE
    if m.log_top + vain * (size + 2) > m.rooms[LOG]:
        return NEED_LOG
    lasts_before(m, r, a, gone)
    stays = 1 if gone and not m.all and cut(m, m.promise) else 0
    save(m, entry, key, 0)
    for i in range(final):
        row = m[a + i] >> 1
        if m[a + i] & 1 == 0 and r[row, state + COPIES] < 0:
            line(m, r, row, r[row, state + COPIES])
            m.retractions -= 1
            if i >= gone:
                keep_state(m, r, row)
                r[row, state + COPIES] = 0
        if i < gone - stays:
            m[m.gone + m.gone_top] = row
            m.gone_top += 1
    if stays:
        row = m[a + gone - 1] >> 1
        keep_state(m, r, row)
        r[row, state + COPIES], r[row, state + LEFT] = 0, 0
        for c in range(spec.lasts):
            r[row, state + LASTS + c] = m[m.last_events + c]
        m[a] = 2 * row + 1
    for i in range(gone, n):
        m[a + stays + i - gone] = m[a + i]
    entry.n = n - gone + stays
    entry.due = due_events(m, r, entry)
    return DONE


@kernel
def due_events(m: RowControl, r: RowPool, entry: RowKey) -> int:
    """Return the smallest promise that lets half of a key's events go, the floor, or a retraction that waits."""
    a, n, spec = entry.block + 1, entry.n, RowSpec(m.spec)
    if n == 0:
        return FOREVER
    found, state, half = FOREVER, spec.state, (n >> 1) + spec.previous + spec.following
    if half < n and m[a + half] & 1 == 0:
        found = r.le[m[a + half] >> 1] + 1
    elif spec.window and m[a] & 1:
        row, last = m[a] >> 1, BEGINNING
        for c in range(spec.lasts):
            if r[row, state + LASTS + c] != FOREVER:
                last = max(last, r[row, state + LASTS + c])
        found = FOREVER if last > FOREVER - spec.window else last + spec.window
    if m.retractions:
        for i in range(n):
            if m[a + i] & 1 == 0 and r[m[a + i] >> 1, state + COPIES] < 0:
                return int(min(found, r.le[m[a + i] >> 1] + 1))
    return int(found)


@kernel
def open_events(m: RowControl, r: RowPool, entry: RowKey) -> None:
    """Let FIRST_OPEN be at most the LE of the first event below the promise that a later one may follow as a neighbour."""
    spec = RowSpec(m.spec)
    a = entry.block + 1
    final = final_of(m, r, a, entry.n)
    i = steps_back(m, r, a, final, spec.following)
    if spec.window and m.promise >= BEGINNING + spec.window:
        while i < final and r.le[m[a + i] >> 1] <= m.promise - spec.window:
            i += 1
    if i < final:
        m.first_open = min(m.first_open, r.le[m[a + i] >> 1])
