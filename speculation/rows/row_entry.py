"""The entry of the kernels for rows: what a caller may ask, by number; and the ways through keys."""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.native_call import kernel
from speculation.rows.row_chains import held, settle_matches, take_matches
from speculation.rows.row_lasts import put_floors, settle_events, take_events
from speculation.rows.row_lists import undo
from speculation.rows.row_names import *
from speculation.rows.row_order import arrange


@kernel
def main(m: Any, r: Any, what: int, n: int) -> int:
    """Do the one thing that ``what`` names. Returns its status."""
    if what == TAKE:
        return take(m, r, n)
    if what == SETTLE:
        return settle(m, r)
    if what == HELD:
        return held(m)
    if what == FLOORS:
        return put_floors(m, r, n)
    if what == ROLLBACK:
        undo(m, r)
    m[UNDO_N], m[LOG_N], m[GONE_N] = 0, 0, 0
    m[W_UNRANKED] = 0
    m[W_SERIAL] += 1
    return DONE


@kernel
def take(m: Any, r: Any, n: int) -> int:
    """Take the rows in INDEX, key by key; what is asked for goes on with the same key."""
    if m[m[SPEC_AT] + S_TEXTS] and m[W_RANKED] == 0:
        return NEED_RANKS
    if m[W_DONE] == NOTHING:
        arrange(m, r, n)
        if m[W_UNRANKED]:
            return NEED_RANKS
        m[W_DONE] = 0
    index = m[INDEX_AT]
    while m[W_DONE] < n:
        first = m[W_DONE]
        key, end = r[m[index + first], R_KEY], first + 1
        while end < n and r[m[index + end], R_KEY] == key:
            end += 1
        entry = m[DIR_AT] + key * D_SIZE
        events = m[m[SPEC_AT] + S_LASTS]
        status = take_events(m, r, entry, key, first, end) if events else take_matches(m, r, entry, key, first, end)
        if status != DONE:
            return status
        m[W_DONE] = end
    return DONE


@kernel
def settle(m: Any, r: Any) -> int:
    """Forget what is final behind the promise W_PROMISE, of the keys that it concerns."""
    if m[m[SPEC_AT] + S_TEXTS] and m[W_RANKED] == 0:
        return NEED_RANKS
    while m[W_DONE] < m[DIR_N]:
        key = m[W_DONE]
        entry = m[DIR_AT] + key * D_SIZE
        if m[entry + D_N] and (m[entry + D_DUE] <= m[W_PROMISE] or m[W_FORCE]):
            events = m[m[SPEC_AT] + S_LASTS]
            status = settle_events(m, r, entry, key) if events else settle_matches(m, r, entry, key)
            if status != DONE:
                return status
        m[W_DONE] += 1
    return DONE
