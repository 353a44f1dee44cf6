"""Where a match ends whose ways are asked for, and where the runs began that end as it.

LE          1      4      9                    the match at 9, RE 61
list        p      q p    q f                  f is final at 9 and lives to 61: an end; its run began at 1
time-outs                 q --at 9--> g        g is reached at 9, from the list of 4: q is an end there, too
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.closure import fire
from afa.compiled.kernel.gaps import horizon_of
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place
from afa.compiled.kernel.way_names import *


@kernel
def first_place(m: Any, b: int, le: int) -> int:
    """Return the first place of an LE or behind it, whatever the sequence."""
    order, times = b + HEAD, b + HEAD + LE * m[b + H_CAP]
    place = find_place(m, b, le, 0)
    while place > m[b + H_FIRST] and m[times + m[order + place - 1]] == le:
        place -= 1
    return int(place)


@kernel
def last_place(m: Any, p: Any, b: int, le: int) -> int:
    """Return the first place at which a match at an LE may end: one of the LE, or the one before, whose time-outs come then."""
    place = first_place(m, b, le)
    return int(place - 1 if p[P_TIMEOUT] and place > m[b + H_FIRST] else place)


@kernel
def first_of(m: Any, w: Any, c: Any, b: int) -> int:
    """Return the first place at which a run of the match may begin; NOWHERE: it may have begun before Q_SINCE."""
    if c[Y_ASKED, Q_EVERY] == 0:
        return int(first_place(m, b, w[w[W_TEMP]]))
    s, cap, least = N_REG + m[C_R], m[b + H_CAP], c[Y_ASKED, Q_LEAST]
    order, times = b + HEAD, b + HEAD + LE * cap
    place = first_place(m, b, c[Y_ASKED, Q_SINCE])
    if place > m[b + H_FIRST]:  # what stands at the last step before
        i = m[order + place - 1]
        for at in range(first_place(m, b, min(m[b + HEAD + REACH * cap + i], m[times + i])), place):
            rows = m[b + HEAD + ND * cap + m[order + at]]
            for k in range(rows & COUNT):
                row = b + m[b + H_NODES] + ((rows >> 24) + k) * s
                if m[row + N_M] >= least and (at == place - 1 or m[row + N_END] > m[times + i]):
                    return NOWHERE
    while place < m[b + H_LAST] and not lasts(m, b, m[order + place], least):
        place += 1
    return int(place)


@kernel
def lasts(m: Any, b: int, i: int, least: int) -> bool:
    """Return whether an event of a step has an RE at or above a bound."""
    events, size = m[b + HEAD + EV * m[b + H_CAP] + i], E_WORDS + m[C_V]
    for k in range(events & COUNT):
        if m[b + m[b + H_EVENTS] + ((events >> 24) + k) * size + E_RE] >= least:
            return True
    return False


@kernel
def is_end(m: Any, w: Any, p: Any, c: Any, b: int, place: int, a: Any, row: int) -> int:
    """Return whether a partial match ends as the match: 1 or 0; or a status. Moves the cursor of arcs to its LE."""
    i, cap, last_le = m[b + HEAD + place], m[b + H_CAP], c[Y_ASKED, Q_LE]
    le = m[b + HEAD + LE * cap + i]
    seek(p, last_le)
    if le == last_le and m[b + HEAD + EV * cap + i] & COUNT and is_match(p, c, a, row):
        return 1
    if p[P_TIMEOUT] == 0:
        return 0
    fired = fire(m, w, p, a, row, le, le + 1, horizon_of(m, b, place))
    seek(p, last_le)
    for q in range(1, fired):
        at = w[W_READY] + q * (N_REG + m[C_R])
        if w[at + N_END] == last_le and is_match(p, c, w, at):
            return 1
    return int(min(fired, 0))


@kernel
def is_match(p: Any, c: Any, a: Any, row: int) -> bool:
    """Return whether a partial match that is reached at the match's LE is the match. *Requires* `seek` to it."""
    if p[p[P_NOW] + a[row + N_STATE]] == 0:
        return False
    if c[Y_ASKED, Q_BOUNDED]:
        if a[row + N_M] < c[Y_ASKED, Q_LEAST]:
            return False
    elif a[row + N_M] != c[Y_ASKED, Q_RE]:
        return False
    width = c[Y_ASKED, Q_WIDTH]
    for k in range(c[Y_ASKED, Q_CHOICES]):
        i = 0
        while i < width and a[row + N_REG + i] == c[Y_WANTED, k * width + i]:
            i += 1
        if i == width:
            return True
    return False


@kernel
def starts_of(m: Any, w: Any, p: Any, c: Any, b: int) -> int:
    """Write to W_TEMP, in order, where the runs began that end as the match. Returns FOUND, NO_MATCH, BEFORE, or a status.

    Where a run may begin at any step nothing is written.
    """
    cap, s, last_le = m[b + H_CAP], N_REG + m[C_R], c[Y_ASKED, Q_LE]
    order, times = b + HEAD, b + HEAD + LE * cap
    c[Y_ASKED, Q_STARTS] = 0
    found, largest = False, BEGINNING
    place = last_place(m, p, b, last_le)
    while place < m[b + H_LAST] and m[times + m[order + place]] <= last_le:
        i = m[order + place]
        le = m[times + i]
        at = first_place(m, b, min(m[b + HEAD + REACH * cap + i], le))
        while at <= place:
            rows = m[b + HEAD + ND * cap + m[order + at]]
            for k in range(rows & COUNT):
                row = b + m[b + H_NODES] + ((rows >> 24) + k) * s
                if at != place and m[row + N_END] <= le:
                    continue
                status = is_end(m, w, p, c, b, place, m, row)
                if status < 0:
                    return int(status)
                if status == 0:
                    continue
                found, largest = True, max(largest, m[row + N_M])
                if c[Y_ASKED, Q_EVERY] == 0 and not add_start(w, c, m[row + N_START]):
                    return NEED_TEMP
            at += 1
        place += 1
    if not found or (c[Y_ASKED, Q_BOUNDED] == EXACT and largest != c[Y_ASKED, Q_RE]):
        return NO_MATCH
    c[Y_ASKED, Q_RE] = largest
    if c[Y_ASKED, Q_EVERY]:
        return FOUND
    return BEFORE if w[w[W_TEMP]] < c[Y_ASKED, Q_SINCE] else FOUND


@kernel
def begins_by(w: Any, c: Any, start: int) -> int:
    """Return how many of the starts come before one. O(log n)."""
    low, high = 0, c[Y_ASKED, Q_STARTS]
    while low < high:
        middle = (low + high) >> 1
        if w[w[W_TEMP] + middle] < start:
            low = middle + 1
        else:
            high = middle
    return int(low)


@kernel
def is_start(w: Any, c: Any, start: int) -> bool:
    """Return whether a run of the match began at an LE, or may have."""
    if c[Y_ASKED, Q_EVERY]:
        return True
    at = begins_by(w, c, start)
    return bool(at < c[Y_ASKED, Q_STARTS] and w[w[W_TEMP] + at] == start)


@kernel
def add_start(w: Any, c: Any, start: int) -> bool:
    """Put a start among the others. Returns whether there is room."""
    n, at = c[Y_ASKED, Q_STARTS], begins_by(w, c, start)
    if at < n and w[w[W_TEMP] + at] == start:
        return True
    if n >= w[W_TEMP_CAP]:
        return False
    for k in range(n, at, -1):
        w[w[W_TEMP] + k] = w[w[W_TEMP] + k - 1]
    w[w[W_TEMP] + at] = start
    c[Y_ASKED, Q_STARTS] = n + 1
    return True
