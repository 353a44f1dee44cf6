"""Events that look back, over rows in order: for each condition the last one before, as `speculation.last_before` has it.

    entries   (floor)  a b  c      a and b at one place: LE (and order); they have the same lasts
    lasts     10       10   b's    the lasts before a place; kept in each row, with how many copies have left

An entry is marked where it is a *floor*: no event, but the lasts behind all that a promise has made final. It is the first one. A
condition that nothing satisfies before has the last one FOREVER.
"""

from __future__ import annotations

from afa.compiled.kernel.native_call import kernel
from speculation.rows.row_layout import *
from speculation.rows.row_lists import final_of, keep_state, save
from speculation.rows.row_order import compared

# -- the last events --------------------------------------------------------------------------------------------------------------


@kernel
def revise(m: RowControl, r: RowPool, entry: RowKey, place: int, last: int) -> None:
    """Go through the entries from a place on, and log events that leave or go; drop events without copies.

    Ends behind the last place that was touched, where the lasts are what they were.
    """
    a, n = entry.block + 1, entry.n
    i = place_before(m, r, entry, place)
    lasts_before(m, r, a, i)
    at = i
    while i < n:
        row, kept = m[a + i] >> 1, at
        cut(m, r.le[row])
        if i > last and same_lasts(m, r, row):
            break
        while i < n and same_place(m, r, m[a + i] >> 1, row):
            event = m[a + i] >> 1
            if version(m, r, event):
                m[a + at] = m[a + i]
                at += 1
            else:
                m[m.gone + m.gone_top] = event
                m.gone_top += 1
            i += 1
        for k in range(kept, at):
            remember(m, r, m[a + k] >> 1)
    if at < i:
        for k in range(i, n):
            m[a + at + k - i] = m[a + k]
        entry.n = n - (i - at)


@kernel
def version(m: RowControl, r: RowPool, row: int) -> bool:
    """Write to the log which versions of an event go and come. Returns whether there is any copy of it."""
    size, state = RowSpec(m.spec).lasts, RowSpec(m.spec).state
    copies, left = r[row, state + COPIES], r[row, state + LEFT]
    now, other = max(copies, 0), 0 if same_lasts(m, r, row) else 1
    if now == left and not other:
        return copies != 0
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
    return copies != 0


@kernel
def line(m: RowControl, r: RowPool, row: int, diff: int) -> None:
    """Write a line of output: row, copies, and the lasts in the row. *Requires* room."""
    top, size, state = m.log + m.log_top, RowSpec(m.spec).lasts, RowSpec(m.spec).state
    m[top], m[top + 1] = row, diff
    for c in range(size):
        m[top + 2 + c] = r[row, state + LASTS + c]
    m.log_top += 2 + size


@kernel
def same_place(m: RowControl, r: RowPool, x: int, y: int) -> bool:
    """Return whether two events are before nobody of each other."""
    return compared(m, r, x, y, RowSpec(m.spec).place_n) == 0


@kernel
def same_lasts(m: RowControl, r: RowPool, row: int) -> bool:
    """Return whether the lasts in a row are those in NOW."""
    at, state = m.last_events, RowSpec(m.spec).state
    for c in range(RowSpec(m.spec).lasts):
        if r[row, state + LASTS + c] != m[at + c]:
            return False
    return True


@kernel
def place_before(m: RowControl, r: RowPool, entry: RowKey, place: int) -> int:
    """Return the first entry of the same place in the order as the one before ``place``."""
    a, i = entry.block + 1, place
    while i > 0 and m[a + i - 1] & 1 == 0 and same_place(m, r, m[a + i - 1] >> 1, m[a + place - 1] >> 1):
        i -= 1
    return int(i)


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
    size, state = RowSpec(m.spec).lasts, RowSpec(m.spec).state
    if r[event, state + COPIES] > 0:
        for c in range(size):
            if r[event, state + LASTS + size + (c >> TRUTH_BITS)] >> (c & ((1 << TRUTH_BITS) - 1)) & 1:
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
    """Forget the final events of one key, where these are half of all, it is asked for, or one waits.

    Returns DONE; or a status that asks for room, with nothing done.
    """
    a, n, size, state = entry.block + 1, entry.n, RowSpec(m.spec).lasts, RowSpec(m.spec).state
    gone = n if m.all else final_of(m, r, a, n)
    vain = 0
    if m.retractions:
        for i in range(gone):
            vain += 1 if m[a + i] & 1 == 0 and r[m[a + i] >> 1, state + COPIES] < 0 else 0
    if gone == 0 or (vain == 0 and not m.force and (2 * gone < n)):
        entry.due = due_events(m, r, entry)
        return DONE
    if m.undo_top + n + size + 7 > m.rooms[UNDO]:
        return NEED_UNDO
    if m.gone_top + n > m.rooms[GONE]:
        return NEED_GONE
    if m.log_top + vain * (size + 2) > m.rooms[LOG]:
        return NEED_LOG
    lasts_before(m, r, a, gone)
    stays = 0 if m.all or not cut(m, m.promise) else 1
    save(m, entry, key, 0)
    for i in range(gone):
        row = m[a + i] >> 1
        if m[a + i] & 1 == 0 and r[row, state + COPIES] < 0:
            line(m, r, row, r[row, state + COPIES])
            m.retractions -= 1
        if i < gone - stays:
            m[m.gone + m.gone_top] = row
            m.gone_top += 1
    if stays:
        row = m[a + gone - 1] >> 1
        keep_state(m, r, row)
        r[row, state + COPIES], r[row, state + LEFT] = 0, 0
        for c in range(size):
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
    found, state = FOREVER, spec.state
    if m[a + (n >> 1)] & 1 == 0:
        found = r.le[m[a + (n >> 1)] >> 1] + 1
    elif spec.window:
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
