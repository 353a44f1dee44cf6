"""The chain of chosen matches, as `speculation.chain` has it, over rows in order: an entry is marked where it is chosen.

In order of start (or of end), of one start the preferred one first, the chain is what a greedy walk takes: each row that starts at
the resume point of the last one taken, or behind it. Of a group only the first row can be taken, as a row starts before its own
resume point.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.native_call import kernel
from speculation.rows.row_lists import merge, planned, reserved, save
from speculation.rows.row_names import *
from speculation.rows.row_order import compared, signed


@kernel
def take_matches(m: Any, r: Any, entry: int, key: int, first: int, end: int) -> int:
    """Take the sorted rows of a batch from ``first`` to ``end``, of one key, and draw its chain anew.

    Returns DONE; or what is asked for, and then nothing was done; or FAULT.
    """
    count = planned(m, r, entry, first, end)
    if count < 0:
        return count
    n, place = m[entry + D_N], m[m[ACTIONS_AT]]
    tail = n - place if count else 0
    if m[UNDO_N] + tail + 3 > m[UNDO_SIZE]:
        return NEED_UNDO
    if m[LOG_N] + 3 * (2 * tail + end - first) > m[LOG_SIZE]:
        return NEED_LOG
    if m[GONE_N] + 2 * (end - first) > m[GONE_SIZE]:
        return NEED_GONE
    if reserved(m, entry, n, n + count) != DONE:
        return NEED_HEAP
    for k in range(count):
        row = m[m[ACTIONS_AT] + 2 * k + 1]
        if row != NOTHING:
            r[row, R_DIFF] = 0  # it stays
    for k in range(first, end):
        row = m[m[INDEX_AT] + k]
        if r[row, R_DIFF] != 0:
            m[m[GONE_AT] + m[GONE_N]] = row
            m[GONE_N] += 1
    if count == 0:
        return DONE
    saved = m[UNDO_AT] + m[UNDO_N]
    save(m, entry, key, place)
    last = merge(m, entry, saved, place, count)
    met = draw(m, r, entry, place, last)
    tell(m, r, entry, key, saved, tail, place, met)
    m[entry + D_CHANGED] = m[W_SERIAL]
    m[entry + D_DUE] = due(m, r, entry)
    return DONE


@kernel
def draw(m: Any, r: Any, entry: int, place: int, last: int) -> int:
    """Draw a chain anew from a place on, until it meets an old link behind the last place that has changed. Returns where."""
    a, n, link, i = m[entry + D_BLOCK] + 1, m[entry + D_N], NOTHING, place - 1
    while i >= 0 and link == NOTHING:
        if m[a + i] & 1:
            link = m[a + i] >> 1
        i -= 1
    i = place
    while i < n:
        row = m[a + i] >> 1
        if link == NOTHING or reaches(m, r, row, link):
            if i > last and m[a + i] & 1:
                return int(i)
            m[a + i] = 2 * row + 1
            m[W_DRAWN] += 1
            link = row
            i += 1
        elif m[m[SPEC_AT] + S_BY_START]:
            until = next_of(m, r, a, i, n, link)
            for k in range(i, until):
                m[a + k] = m[a + k] & -2
            i = until
        else:
            m[a + i] = 2 * row
            i += 1
    return int(n)


@kernel
def next_of(m: Any, r: Any, a: int, i: int, n: int, link: int) -> int:
    """Return the first entry behind ``i`` that starts at a link's resume point or behind it, where entries stand by their start."""
    low, step = i + 1, 1
    while low + step <= n and not reaches(m, r, m[a + low + step - 1] >> 1, link):
        low += step
        step = 2 * step
    high = min(low + step, n)
    while low < high:
        middle = (low + high) >> 1
        if reaches(m, r, m[a + middle] >> 1, link):
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def reaches(m: Any, r: Any, row: int, link: int) -> bool:
    """Return whether a row starts at a link's resume point or behind it."""
    spec = m[SPEC_AT]
    if m[spec + S_MODE] == PAST:
        return behind(m, r, row, link, S_CLOSES) > 0 and starts(m, r, row, link) > 0
    if m[spec + S_MODE] == TO and goes_on(m, r, link):
        return behind(m, r, row, link, S_TO) >= 0
    return starts(m, r, row, link) > 0


@kernel
def behind(m: Any, r: Any, row: int, link: int, point: int) -> int:
    """Return -1, 0 or 1 as a row starts before, at or behind a point of a link: S_CLOSES or S_TO."""
    spec = m[SPEC_AT]
    for i in range(m[spec + S_POINT_N]):
        x, y = r[row, m[spec + S_OPENS + 2 * i]], r[link, m[spec + point + i]]
        if x != y:
            return signed(m, x, y, m[spec + S_OPENS + 2 * i + 1])
    return 0


@kernel
def starts(m: Any, r: Any, row: int, link: int) -> int:
    """Return -1, 0 or 1 as a row starts before, with or behind a link."""
    spec = m[SPEC_AT]
    for i in range(m[spec + S_POINT_N]):
        column = m[spec + S_OPENS + 2 * i]
        if r[row, column] != r[link, column]:
            return signed(m, r[row, column], r[link, column], m[spec + S_OPENS + 2 * i + 1])
    return 0


@kernel
def goes_on(m: Any, r: Any, link: int) -> bool:
    """Return whether a link says where the next one may begin, behind its own start."""
    spec = m[SPEC_AT]
    for i in range(m[spec + S_POINT_N]):
        missing = m[spec + S_MISSING + i]
        if missing >= 0 and r[link, missing]:
            return False
    return behind(m, r, link, link, S_TO) < 0


# -- what has changed --------------------------------------------------------------------------------------------------------------


@kernel
def tell(m: Any, r: Any, entry: int, key: int, saved: int, tail: int, place: int, met: int) -> None:
    """Write to the log which links are no longer chosen, and which are now: the old entries at ``saved`` against the new ones.

    Of one group an old and a new link that show the same are neither.
    """
    a, n, words = m[entry + D_BLOCK] + 1, m[entry + D_N], m[m[SPEC_AT] + S_GROUP_N]
    end = m[a + met] if met < n else NOTHING
    i, j = 0, place
    while True:
        while i < tail and m[saved + i] != end and not m[saved + i] & 1:
            i += 1
        while j < met and not m[a + j] & 1:
            j += 1
        old = m[saved + i] >> 1 if i < tail and m[saved + i] != end else NOTHING
        new = m[a + j] >> 1 if j < met else NOTHING
        if old == NOTHING and new == NOTHING:
            return
        side = 0 if old == new else 1 if old == NOTHING else -1 if new == NOTHING else compared(m, r, old, new, words)
        if side <= 0:
            i += 1
        if side >= 0:
            j += 1
        if side == 0 and (old == new or shows_same(m, r, old, new)):
            continue
        if side <= 0:
            log(m, old, key, -1)
        if side >= 0:
            log(m, new, key, 1)


@kernel
def shows_same(m: Any, r: Any, x: int, y: int) -> bool:
    """Return whether two rows show the same payload, with the same lifetime."""
    spec = m[SPEC_AT]
    for i in range(m[spec + S_SHOWN_N]):
        column = m[spec + S_SHOWN + i]
        if r[x, column] != r[y, column]:
            return False
    return True


@kernel
def log(m: Any, row: int, key: int, sign: int) -> None:
    """Write a row of output: a sign of 0 says that a link is forgotten. *Requires* room for three words."""
    top = m[LOG_AT] + m[LOG_N]
    m[top], m[top + 1], m[top + 2] = row, key, sign
    m[LOG_N] += 3


# -- what is final -----------------------------------------------------------------------------------------------------------------


@kernel
def settle_matches(m: Any, r: Any, entry: int, key: int) -> int:
    """Forget the final rows of one key, where these are half of all, or it is asked for; the last link may stay.

    Returns DONE; or what is asked for, and then nothing was done.
    """
    a, n = m[entry + D_BLOCK] + 1, m[entry + D_N]
    cut = n if m[W_ALL] else final_of(m, r, a, n)
    anchor = cut - 1
    while anchor >= 0 and not m[a + anchor] & 1:
        anchor -= 1
    keeps = 1 if anchor >= 0 and not m[W_ALL] and holds_back(m, r, m[a + anchor] >> 1) else 0
    gone = cut - keeps
    if gone <= 0 or (2 * gone + 1 < n and not m[W_FORCE]):
        m[entry + D_DUE] = due(m, r, entry)
        return DONE
    if m[UNDO_N] + n + 3 > m[UNDO_SIZE]:
        return NEED_UNDO
    if m[GONE_N] + n > m[GONE_SIZE]:
        return NEED_GONE
    if m[LOG_N] + 3 * n > m[LOG_SIZE]:
        return NEED_LOG
    save(m, entry, key, 0)
    for i in range(cut):
        if i != anchor or not keeps:
            m[m[GONE_AT] + m[GONE_N]] = m[a + i] >> 1
            m[GONE_N] += 1
            if m[a + i] & 1 and m[m[SPEC_AT] + S_LOGS]:
                log(m, m[a + i] >> 1, key, 0)
    if keeps:
        m[a] = m[a + anchor]
    for i in range(cut, n):
        m[a + keeps + i - cut] = m[a + i]
    m[entry + D_N] = n - gone
    m[entry + D_CHANGED] = m[W_SERIAL]
    m[entry + D_DUE] = due(m, r, entry)
    return DONE


@kernel
def final_of(m: Any, r: Any, a: int, n: int) -> int:
    """Return how many entries lie before all that can still come."""
    low, high, column = 0, n, m[m[SPEC_AT] + S_FIRST]
    while low < high:
        middle = (low + high) >> 1
        if r[m[a + middle] >> 1, column] < m[W_FIRST]:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def resume(m: Any, r: Any, link: int) -> int:
    """Return the first word of a link's resume point."""
    spec = m[SPEC_AT]
    if m[spec + S_MODE] == PAST:
        return int(max(r[link, m[spec + S_CLOSES]], r[link, m[spec + S_OPENS]]))
    if m[spec + S_MODE] == TO and goes_on(m, r, link):
        return int(r[link, m[spec + S_TO]])
    return int(r[link, m[spec + S_OPENS]])


@kernel
def holds_back(m: Any, r: Any, link: int) -> bool:
    """Return whether a link passes over something that may still come."""
    spec, at = m[SPEC_AT], resume(m, r, link)
    if at != m[W_LEAST]:
        return bool(at > m[W_LEAST])
    return m[spec + S_MODE] != TO or m[spec + S_POINT_N] > 1 or not goes_on(m, r, link)


@kernel
def due(m: Any, r: Any, entry: int) -> int:
    """Return the smallest promise that lets half of a key's rows go."""
    a, n, spec = m[entry + D_BLOCK] + 1, m[entry + D_N], m[SPEC_AT]
    if n == 0 or m[spec + S_WAIT] == 0:
        return FOREVER
    row = m[a + (n >> 1)] >> 1
    found = r[row, m[spec + S_FIRST]] + m[spec + S_WAIT]
    if n == 1 and m[a] & 1:
        found = max(found, resume(m, r, row) + m[spec + S_WINDOW])
    return int(found)


@kernel
def held(m: Any) -> int:
    """Return how many rows are held, and leave in W_LEAST how many of them are chosen."""
    count, chosen = 0, 0
    for key in range(m[DIR_N]):
        entry = m[DIR_AT] + key * D_SIZE
        count += m[entry + D_N]
        for i in range(m[entry + D_N]):
            chosen += m[m[entry + D_BLOCK] + 1 + i] & 1
    m[W_LEAST] = chosen
    return int(count)
