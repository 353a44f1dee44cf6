"""The entry of the kernels for rows: all that a caller may ask, by number; and the passes over keys."""

from __future__ import annotations

from afa.compiled.kernel.native_call import kernel
from speculation.rows.row_lasts import due_events, open_events, revise, revised_from, settle_events
from speculation.rows.row_layout import *
from speculation.rows.row_lists import counted, merge, reserved, save, undo
from speculation.rows.row_order import arrange


@kernel
def main(m: RowControl, r: RowPool, what: int, n: int) -> int:
    """Do the one thing that ``what`` names. Returns its status."""
    if what == TAKE:
        return take(m, r, n)
    if what == SETTLE:
        return settle(m, r)
    if what == OPEN:
        return opened(m, r)
    if what == ROLLBACK:
        undo(m, r)
    m.undo_top, m.log_top, m.gone_top = 0, 0, 0
    m.unranked = 0
    return DONE


@kernel
def take(m: RowControl, r: RowPool, n: int) -> int:
    """Take the rows in INDEX, key by key; a call that asked for room goes on with the same key."""
    if m.done == NOTHING:
        arrange(m, r, n)
        if m.unranked:
            return NEED_RANKS
        m.done = 0
    index = m.index
    while m.done < n:
        first = m.done
        key, end = r.key[m[index + first]], first + 1
        while end < n and r.key[m[index + end]] == key:
            end += 1
        status = take_key(m, r, m.directory + key * RowKey.SIZE, key, first, end)
        if status != DONE:
            return status
        m.done = end
    return DONE


@kernel
def take_key(m: RowControl, r: RowPool, entry: RowKey, key: int, first: int, end: int) -> int:
    """Take the sorted rows of a batch from ``first`` to ``end``, of one key, and work out what leaves.

    Returns DONE; or a status that asks for room, with nothing done; or FAULT.
    """
    count = counted(m, r, entry, first, end)
    if count < 0:
        return count
    n, size = entry.n, RowSpec(m.spec).looks
    place = m[m.actions] if count else n
    rows, begin = n - place + count, revised_from(m, r, entry, place)
    if m.undo_top + n - place + 3 + (2 * rows + place - begin) * (size + 4) > m.rooms[UNDO]:
        return NEED_UNDO
    if m.log_top + 2 * (rows + place - begin) * (size + 2) > m.rooms[LOG]:
        return NEED_LOG
    if m.gone_top + rows + end - first > m.rooms[GONE]:
        return NEED_GONE
    if reserved(m, entry, n, n + count) != DONE:
        return NEED_HEAP
    for k in range(count):
        row = m[m.actions + 3 * k + 1]
        if row != NOTHING:
            r.diff[row] = 0  # it stays
    for k in range(first, end):
        row = m[m.index + k]
        if r.diff[row] != 0:
            m[m.gone + m.gone_top] = row
            m.gone_top += 1
    if count == 0:
        return DONE
    saved = m.undo + m.undo_top
    save(m, entry, key, place)
    revise(m, r, entry, place, merge(m, r, entry, saved, place, count))
    entry.due = due_events(m, r, entry)
    return DONE


@kernel
def settle(m: RowControl, r: RowPool) -> int:
    """Forget entries that the promise RowControl.promise makes final, of the keys that it concerns."""
    while m.done < m.key_count:
        key = m.done
        entry = RowKey(m.directory + key * RowKey.SIZE)
        if entry.n and (entry.due <= m.promise or m.force):
            status = settle_events(m, r, entry, key)
            if status != DONE:
                return status
        m.done += 1
    return DONE


@kernel
def opened(m: RowControl, r: RowPool) -> int:
    """Put the LE of the first event below the promise whose neighbours behind are not all final into FIRST_OPEN."""
    m.first_open = FOREVER
    for key in range(m.key_count):
        entry = RowKey(m.directory + key * RowKey.SIZE)
        if entry.n:
            open_events(m, r, entry)
    return DONE
