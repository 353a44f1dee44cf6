"""The entry of the kernels for rows: all that a caller may ask, by number; and the passes over keys."""

from __future__ import annotations

from afa.compiled.kernel.native_call import kernel
from speculation.rows.row_chains import settle_matches, take_matches
from speculation.rows.row_lasts import settle_events, take_events
from speculation.rows.row_layout import *
from speculation.rows.row_lists import undo
from speculation.rows.row_order import arrange


@kernel
def main(m: RowControl, r: RowPool, what: int, n: int) -> int:
    """Do the one thing that ``what`` names. Returns its status."""
    if what == TAKE:
        return take(m, r, n)
    if what == SETTLE:
        return settle(m, r)
    if what == ROLLBACK:
        undo(m, r)
    m.undo_top, m.log_top, m.gone_top = 0, 0, 0
    m.unranked = 0
    return DONE


@kernel
def take(m: RowControl, r: RowPool, n: int) -> int:
    """Take the rows in INDEX, key by key; a call that asked for room goes on with the same key."""
    if RowSpec(m.spec).texts and m.ranked == 0:
        return NEED_RANKS
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
        entry = m.directory + key * RowKey.SIZE
        events = RowSpec(m.spec).lasts
        status = take_events(m, r, entry, key, first, end) if events else take_matches(m, r, entry, key, first, end)
        if status != DONE:
            return status
        m.done = end
    return DONE


@kernel
def settle(m: RowControl, r: RowPool) -> int:
    """Forget entries that the promise RowControl.promise makes final, of the keys that it concerns."""
    if RowSpec(m.spec).texts and m.ranked == 0:
        return NEED_RANKS
    while m.done < m.key_count:
        key = m.done
        entry = RowKey(m.directory + key * RowKey.SIZE)
        if entry.n and (entry.due <= m.promise or m.force):
            events = RowSpec(m.spec).lasts
            status = settle_events(m, r, entry, key) if events else settle_matches(m, r, entry, key)
            if status != DONE:
                return status
        m.done += 1
    return DONE
