"""The chain of chosen matches, as `speculation.chain` has it, over rows in order: an entry is marked where it is chosen.

In order of start (or of end), of one start the preferred one first, the chain is the greedy choice: each row that starts at
the resume point of the last one taken, or behind it. Of a group only the first row can be taken, as a row starts before its own
resume point.
"""

from __future__ import annotations

from afa.compiled.kernel.native_call import kernel
from speculation.rows.row_layout import *
from speculation.rows.row_lists import final_of, save
from speculation.rows.row_order import compared, signed


@kernel
def draw(m: RowControl, r: RowPool, entry: RowKey, place: int, last: int) -> int:
    """Draw a chain anew from a place on, until it meets an old link behind the last place that has changed. Returns where."""
    a, n, link, i = entry.block + 1, entry.n, NOTHING, place - 1
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
            m.drawn += 1
            link = row
            i += 1
        elif RowSpec(m.spec).by_start:
            until = next_of(m, r, a, i, n, link)
            for k in range(i, until):
                m[a + k] = m[a + k] & -2
            i = until
        else:
            m[a + i] = 2 * row
            i += 1
    return int(n)


@kernel
def next_of(m: RowControl, r: RowPool, a: int, i: int, n: int, link: int) -> int:
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
def reaches(m: RowControl, r: RowPool, row: int, link: int) -> bool:
    """Return whether a row starts at a link's resume point or behind it."""
    spec = RowSpec(m.spec)
    if spec.mode == PAST:
        return behind(m, r, row, link, RowSpec.closes) > 0 and starts(m, r, row, link) > 0
    if spec.mode == TO and goes_on(m, r, link):
        return behind(m, r, row, link, RowSpec.to) >= 0
    return starts(m, r, row, link) > 0


@kernel
def behind(m: RowControl, r: RowPool, row: int, link: int, point: int) -> int:
    """Return -1, 0 or 1 as a row starts before, at or behind a point of a link: RowSpec.closes or RowSpec.to."""
    spec = RowSpec(m.spec)
    for i in range(spec.point_n):
        x, y = r[row, spec.opens[2 * i]], r[link, m[spec + point + i]]
        if x != y:
            return signed(m, x, y, spec.opens[2 * i + 1])
    return 0


@kernel
def starts(m: RowControl, r: RowPool, row: int, link: int) -> int:
    """Return -1, 0 or 1 as a row starts before, with or behind a link."""
    spec = RowSpec(m.spec)
    for i in range(spec.point_n):
        column = spec.opens[2 * i]
        if r[row, column] != r[link, column]:
            return signed(m, r[row, column], r[link, column], spec.opens[2 * i + 1])
    return 0


@kernel
def goes_on(m: RowControl, r: RowPool, link: int) -> bool:
    """Return whether a link says where the next one may begin, behind its own start."""
    spec = RowSpec(m.spec)
    for i in range(spec.point_n):
        missing = spec.missing[i]
        if missing >= 0 and r[link, missing]:
            return False
    return behind(m, r, link, link, RowSpec.to) < 0


# -- changes -----------------------------------------------------------------------------------------------------------------------


@kernel
def tell(m: RowControl, r: RowPool, entry: RowKey, saved: int, tail: int, place: int, met: int) -> None:
    """Write to the log which links are no longer chosen, and which are now: the old entries at ``saved`` against the new ones.

    Of one group an old and a new link that show the same are neither.
    """
    a, n, words = entry.block + 1, entry.n, RowSpec(m.spec).group_n
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
            log(m, old, -1)
        if side >= 0:
            log(m, new, 1)


@kernel
def shows_same(m: RowControl, r: RowPool, x: int, y: int) -> bool:
    """Return whether two rows show the same payload, with the same lifetime."""
    spec = RowSpec(m.spec)
    for i in range(spec.shown_n):
        column = spec.shown[i]
        if r[x, column] != r[y, column]:
            return False
    return True


@kernel
def log(m: RowControl, row: int, sign: int) -> None:
    """Write a row of output: a sign of 0 says that a link is forgotten. *Requires* room for two words."""
    top = m.log + m.log_top
    m[top], m[top + 1] = row, sign
    m.log_top += 2


# -- final entries -----------------------------------------------------------------------------------------------------------------


@kernel
def settle_matches(m: RowControl, r: RowPool, entry: RowKey, key: int) -> int:
    """Forget the final rows of one key, where these are half of all, or it is asked for; the last link may stay.

    Returns DONE; or a status that asks for room, with nothing done.
    """
    a, n = entry.block + 1, entry.n
    cut = n if m.all else final_of(m, r, a, n)
    anchor = cut - 1
    while anchor >= 0 and not m[a + anchor] & 1:
        anchor -= 1
    keeps = 1 if anchor >= 0 and not m.all and holds_back(m, r, m[a + anchor] >> 1) else 0
    gone = cut - keeps
    if gone <= 0 or (2 * gone + 1 < n and not m.force):
        entry.due = due(m, r, entry)
        return DONE
    if m.undo_top + n + 3 > m.rooms[UNDO]:
        return NEED_UNDO
    if m.gone_top + n > m.rooms[GONE]:
        return NEED_GONE
    if m.log_top + 2 * n > m.rooms[LOG]:
        return NEED_LOG
    save(m, entry, key, 0)
    for i in range(cut):
        if i != anchor or not keeps:
            m[m.gone + m.gone_top] = m[a + i] >> 1
            m.gone_top += 1
            if m[a + i] & 1 and RowSpec(m.spec).logs:
                log(m, m[a + i] >> 1, 0)
    if keeps:
        m[a] = m[a + anchor]
    for i in range(cut, n):
        m[a + keeps + i - cut] = m[a + i]
    entry.n = n - gone
    entry.due = due(m, r, entry)
    return DONE


@kernel
def resume(m: RowControl, r: RowPool, link: int) -> int:
    """Return the first word of a link's resume point."""
    spec = RowSpec(m.spec)
    if spec.mode == PAST:
        return int(max(r[link, spec.closes[0]], r[link, spec.opens[0]]))
    if spec.mode == TO and goes_on(m, r, link):
        return int(r[link, spec.to[0]])
    return int(r[link, spec.opens[0]])


@kernel
def holds_back(m: RowControl, r: RowPool, link: int) -> bool:
    """Return whether a link passes over something that may still come."""
    spec, at = RowSpec(m.spec), resume(m, r, link)
    if at != m.least:
        return bool(at > m.least)
    return spec.mode != TO or spec.point_n > 1 or not goes_on(m, r, link)


@kernel
def due(m: RowControl, r: RowPool, entry: RowKey) -> int:
    """Return the smallest promise that lets half of a key's rows go."""
    a, n, spec = entry.block + 1, entry.n, RowSpec(m.spec)
    if n == 0 or spec.wait == 0:
        return FOREVER
    row = m[a + (n >> 1)] >> 1
    found = r[row, spec.first] + spec.wait
    if n == 1 and m[a] & 1:
        found = max(found, resume(m, r, row) + spec.window)
    return int(found)
