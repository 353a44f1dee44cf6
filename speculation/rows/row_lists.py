"""The rows of a key in order, as entries of its block: find a place or a step, merge a batch, undo."""

from __future__ import annotations

from afa.compiled.kernel.heap import free_block, size_of, take_block
from afa.compiled.kernel.native_call import kernel
from speculation.rows.row_layout import *
from speculation.rows.row_order import compared


@kernel
def place_of(m: RowControl, r: RowPool, a: int, low: int, n: int, row: int) -> int:
    """Return the first of the entries from ``low`` to ``n`` that does not stand before a row: looked for from the end."""
    words = RowSpec(m.spec).order_n
    high, step = n, 1
    while high > low and compared(m, r, m[a + high - 1] >> 1, row, words) >= 0:
        high -= step
        step = 2 * step
    low = max(low, high)
    high = min(n, high + (step >> 1))
    while low < high:
        middle = (low + high) >> 1
        if compared(m, r, m[a + middle] >> 1, row, words) < 0:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def counted(m: RowControl, r: RowPool, entry: RowKey, first: int, end: int) -> int:
    """Work out the actions of the sorted rows of a batch from ``first`` to ``end`` on their key's entries. Writes nothing else.

    Returns how many actions there are: triples of a place, a row that comes (NOTHING: the entry there changes), and how many copies
    there are then. Or NEED_RANKS; or FAULT: there are too many copies.
    """
    n, a, actions, count, low, k = entry.n, entry.block + 1, m.actions, 0, 0, first
    words, index, state = RowSpec(m.spec).order_n, m.index, RowSpec(m.spec).state
    while k < end:
        row = m[index + k]
        place = place_of(m, r, a, low, n, row)
        there = place < n and compared(m, r, m[a + place] >> 1, row, words) == 0
        before = r[m[a + place] >> 1, state + COPIES] if there else 0
        copies = before
        while k < end and compared(m, r, m[index + k], row, words) == 0:
            other = m[index + k]
            diff = r.diff[other]
            if m.unranked == 0 and ((diff > 0 and copies > FOREVER - diff) or (diff < 0 and copies < -FOREVER - diff)):
                m.fault = other
                return FAULT
            copies += diff
            k += 1
        if copies != before:
            m[actions + 3 * count] = place
            m[actions + 3 * count + 1] = NOTHING if there else row
            m[actions + 3 * count + 2] = copies
            count += 1
        low = place
    return NEED_RANKS if m.unranked else count


@kernel
def reserved(m: RowControl, entry: RowKey, n: int, least: int) -> int:
    """Make room for so many entries in a key's block. Returns DONE, or NEED_HEAP."""
    block = entry.block
    if block != 0 and size_of(m[block]) > least:
        return DONE
    new = take_block(m, least + (least >> 1) + 2)
    if new == NEED_HEAP:
        return NEED_HEAP
    for i in range(n):
        m[new + 1 + i] = m[block + 1 + i]
    if block != 0:
        free_block(m, block)
    entry.block = new
    return DONE


@kernel
def save(m: RowControl, entry: RowKey, key: int, place: int) -> None:
    """Copy a key's entries from a place on to the undo log. *Requires* room there."""
    n, a, top = entry.n, entry.block + 1, m.undo + m.undo_top
    for i in range(place, n):
        m[top + i - place] = m[a + i]
    top += n - place
    m[top], m[top + 1], m[top + 2] = place, n, key
    m.undo_top += n - place + 3


@kernel
def merge(m: RowControl, r: RowPool, entry: RowKey, saved: int, place: int, count: int) -> int:
    """Carry out so many actions on a key's entries, of which those from ``place`` on stand at ``saved``.

    Returns the last place that has changed: entries behind it are old ones.
    """
    n, a, actions, at, last, old = entry.n, entry.block + 1, m.actions, place, place - 1, place
    for k in range(count):
        until, row = m[actions + 3 * k], m[actions + 3 * k + 1]
        while old < until:
            m[a + at] = m[saved + old - place]
            at += 1
            old += 1
        new = row
        if row == NOTHING:
            row = m[saved + old - place] >> 1
            old += 1
        put_copies(m, r, row, new != NOTHING, m[actions + 3 * k + 2])
        m[a + at] = 2 * row
        last = at
        at += 1
    while old < n:
        m[a + at] = m[saved + old - place]
        at += 1
        old += 1
    entry.n = at
    return int(last)


@kernel
def put_copies(m: RowControl, r: RowPool, row: int, new: bool, copies: int) -> None:
    """Set how many copies of an event there are. *Requires* room in the undo log."""
    state = RowSpec(m.spec).state
    if new:
        for i in range(RowSpec(m.spec).looks):
            r[row, state + LASTS + i] = FOREVER
        r[row, state + LEFT], r[row, state + COPIES] = 0, 0
    else:
        keep_state(m, r, row)
    m.retractions += (1 if copies < 0 else 0) - (1 if r[row, state + COPIES] < 0 else 0)
    r[row, state + COPIES] = copies


@kernel
def keep_state(m: RowControl, r: RowPool, row: int) -> None:
    """Copy the words of an event that change to the undo log. *Requires* room there."""
    top, words, state = m.undo + m.undo_top, 2 + RowSpec(m.spec).looks, RowSpec(m.spec).state
    for i in range(words):
        m[top + i] = r[row, state + i]
    m[top + words], m[top + words + 1] = row, NOTHING
    m.undo_top += words + 2


@kernel
def final_of(m: RowControl, r: RowPool, a: int, n: int) -> int:
    """Return how many entries lie before all that can still come."""
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        if r.le[m[a + middle] >> 1] < m.promise:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def step_begin(m: RowControl, r: RowPool, a: int, i: int) -> int:
    """Return the first entry of the step in which the entry before ``i`` stands."""
    row, i = m[a + i - 1] >> 1, i - 1
    while i > 0 and m[a + i - 1] & 1 == 0 and same_place(m, r, m[a + i - 1] >> 1, row):
        i -= 1
    return int(i)


@kernel
def step_end(m: RowControl, r: RowPool, a: int, n: int, i: int) -> int:
    """Return the entry behind the step in which the entry ``i`` stands."""
    row, i = m[a + i] >> 1, i + 1
    while i < n and same_place(m, r, m[a + i] >> 1, row):
        i += 1
    return int(i)


@kernel
def in_force(m: RowControl, r: RowPool, a: int, low: int, high: int) -> int:
    """Return the entry from ``low`` to ``high``, a step, that is in force; NONE: there is none, SEVERAL: more than one."""
    found, state = NONE, RowSpec(m.spec).state
    for i in range(low, high):
        if r[m[a + i] >> 1, state + COPIES] > 0:
            found = i if found == NONE else SEVERAL
    return found


@kernel
def steps_back(m: RowControl, r: RowPool, a: int, i: int, steps: int) -> int:
    """Return the first entry of the step that stands so many steps in force before the entry ``i``; or the first one there is."""
    while steps > 0 and i > 0 and m[a + i - 1] & 1 == 0:
        begin = step_begin(m, r, a, i)
        steps -= 1 if in_force(m, r, a, begin, i) != NONE else 0
        i = begin
    return int(i)


@kernel
def steps_on(m: RowControl, r: RowPool, a: int, n: int, i: int, steps: int) -> int:
    """Return the entry behind so many steps in force from the entry ``i`` on, which begins a step."""
    while steps > 0 and i < n:
        end = step_end(m, r, a, n, i)
        steps -= 1 if in_force(m, r, a, i, end) != NONE else 0
        i = end
    return int(i)


@kernel
def same_place(m: RowControl, r: RowPool, x: int, y: int) -> bool:
    """Return whether two events are before nobody of each other."""
    return compared(m, r, x, y, RowSpec(m.spec).place_n) == 0


@kernel
def undo(m: RowControl, r: RowPool) -> None:
    """Restore all as it was before the call."""
    while m.undo_top > 0:
        top = m.undo + m.undo_top
        if m[top - 1] == NOTHING:
            words, state = 2 + RowSpec(m.spec).looks, RowSpec(m.spec).state
            for i in range(words):
                r[m[top - 2], state + i] = m[top - 2 - words + i]
            m.undo_top -= words + 2
            continue
        place, n, key = m[top - 3], m[top - 2], m[top - 1]
        entry = RowKey(m.directory + key * RowKey.SIZE)
        a = entry.block + 1
        for i in range(place, n):
            m[a + i] = m[top - 3 - n + i]
        entry.n = n
        entry.due = BEGINNING
        m.undo_top -= n - place + 3
