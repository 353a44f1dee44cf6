"""Of partial matches of one state and register the one that lasts longest; of matches with one LE and payload the longest.

    list      (1, 61, a, 7)  (2, 50, a, 7)  (3, 61, a, 7)  (3, 62, a, 8)       start, m, state, register
    best      (3, 61, a, 7)  (3, 62, a, 8)                                     the largest m, of these the latest start

    matches   at 5: [5, 61) shows 7     [5, 50) shows 7      -->    [5, 61) shows 7
    of two steps that hold matches at 5, the longest of both is the one that the output knows

What another partial match of its state and register outlives leads to nothing that this one does not lead to for longer: so a list
is a function of the list before it still. What a match does not show (words of the register from C_TOLD on) is 0 in its row.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.lists import FEW, copy, fill_place, new_set, place_of, same_words, unique
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place


@kernel
def distinct(m: Any, a: Any, w: Any, rows: int, n: int, s: int) -> int:
    """Keep each partial match of a list once; where only the longest count, the best of each state and register. Returns how many.

    *Requires* rows sorted by start, fewer than W_ROWS.
    """
    return int(best_rows(a, w, rows, n, s) if m[C_LONGEST] else unique(a, w, rows, n, s))


@kernel
def best_rows(a: Any, w: Any, rows: int, n: int, s: int) -> int:
    """Keep of each state and register the row with the largest ``m``, of these the one that began last. O(n).

    Of equal rows the first is kept, with the mark of one that stays if any has it. The others stay in their order.
    """
    hashed = n > FEW
    if hashed:
        new_set(w)
    for k in range(n):
        row = rows + k * s
        twin = NOWHERE
        if hashed:
            place = place_of(a, w, row + N_REG, s - N_REG, NOWHERE, a[row + N_STATE])
            if w[place] == w[W_STAMP]:
                twin = w[place + 1] - N_REG
            if twin == NOWHERE or outlives(a, row, twin):
                fill_place(w, place, row + N_REG, a[row + N_STATE])
        else:
            for j in range(k):
                other = rows + j * s
                if a[other + N_STATE] == a[row + N_STATE] and same_words(a, row + N_REG, a, other + N_REG, s - N_REG):
                    twin = other
                    break
        if twin == NOWHERE:
            continue
        if outlives(a, row, twin):
            a[twin + N_STATE] = NOWHERE
            continue
        if a[row + N_M] == a[twin + N_M] and a[row + N_START] == a[twin + N_START] and a[row + N_END] != ALONE:
            a[twin + N_END] = a[row + N_END]
        a[row + N_STATE] = NOWHERE
    kept = 0
    for k in range(n):
        if a[rows + k * s + N_STATE] != NOWHERE:
            if kept != k:
                copy(a, rows + k * s, a, rows + kept * s, s)
            kept += 1
    return kept


@kernel
def outlives(a: Any, row: int, other: int) -> bool:
    """Return whether a row is better than another one of its state and register."""
    return bool(a[row + N_M] > a[other + N_M] or (a[row + N_M] == a[other + N_M] and a[row + N_START] > a[other + N_START]))


@kernel
def add_longest(m: Any, w: Any, at: int, count: int) -> int:
    """Add the match behind the ``count`` ones at W_TEMP, which stands at ``at``, or lengthen the one with its T and payload.

    Returns how many there are then. *Requires* a set begun for these matches, and fewer than W_ROWS of them.
    """
    for j in range(m[C_TOLD], m[C_R]):
        w[at + M_REG + j] = 0
    place = place_of(w, w, at + M_REG, m[C_R], NOWHERE, w[at + M_T])
    if w[place] != w[W_STAMP]:
        fill_place(w, place, at + M_REG, w[at + M_T])
        return count + 1
    twin = w[place + 1] - M_REG
    w[twin + M_RE] = max(w[twin + M_RE], w[at + M_RE])
    return count


@kernel
def longest_elsewhere(m: Any, b: int, i: int, a: Any, match: int) -> int:
    """Return the largest RE of a match like this one that a step other than ``i`` holds, or BEGINNING; see `held_elsewhere`."""
    cap = m[b + H_CAP]
    width = M_REG + m[C_R]
    order, times, slices = b + HEAD, b + HEAD + LE * cap, b + HEAD + MT * cap
    t, found = a[match + M_T], BEGINNING
    place = find_place(m, b, t, 0) if t > BEGINNING else m[b + H_FIRST]
    while place > m[b + H_FIRST] and m[times + m[order + place - 1]] == t:
        place -= 1
    place = max(place - 1, m[b + H_FIRST])
    while place < m[b + H_LAST] and m[times + m[order + place]] <= t:
        other = m[order + place]
        rows = b + m[b + H_MATCHES] + (m[slices + other] >> 24) * width
        for k in range(m[slices + other] & COUNT if other != i else 0):
            row = rows + k * width
            if m[row + M_T] == t and same_words(a, match + M_REG, m, row + M_REG, m[C_R]):
                found = max(found, m[row + M_RE])
        place += 1
    return int(found)


@kernel
def log_longest(m: Any, w: Any, p: Any, b: int, i: int, there: int, before: int, count: int) -> None:
    """Log what a step's ``before`` matches at ``m[there]`` and its ``count`` new ones at W_TEMP change of the longest.

    *Requires* room for twice as many entries as there are matches of both kinds, and for both at W_TEMP; fewer than W_ROWS.
    """
    width, here, shared = M_REG + m[C_R], w[W_TEMP], p[P_COUNTED] != 0
    old = here + count * width
    copy(m, there, w, old, before * width)
    put_matches(m, w, here, count)
    for k in range(before):
        match = old + k * width
        place = place_of(w, w, match + M_REG, m[C_R], NOWHERE, w[match + M_T])
        now = w[w[place + 1] - M_REG + M_RE] if w[place] == w[W_STAMP] else BEGINNING
        other = longest_elsewhere(m, b, i, w, match) if shared else BEGINNING
        log_end(m, w, match, max(w[match + M_RE], other), max(now, other))
    put_matches(m, w, old, before)
    for k in range(count):
        match = here + k * width
        if w[place_of(w, w, match + M_REG, m[C_R], NOWHERE, w[match + M_T])] != w[W_STAMP]:
            other = longest_elsewhere(m, b, i, w, match) if shared else BEGINNING
            log_end(m, w, match, other, max(w[match + M_RE], other))


@kernel
def put_matches(m: Any, w: Any, rows: int, n: int) -> None:
    """Make the set that of ``n`` matches at ``w[rows]``, by T and payload."""
    new_set(w)
    for k in range(n):
        match = rows + k * (M_REG + m[C_R])
        fill_place(w, place_of(w, w, match + M_REG, m[C_R], NOWHERE, w[match + M_T]), match + M_REG, w[match + M_T])


@kernel
def log_end(m: Any, w: Any, match: int, was: int, now: int) -> None:
    """Log that the longest match like the one at ``w[match]`` ends at ``now``, no longer at ``was``; BEGINNING: there is none."""
    if was == now:
        return
    r = m[C_R]
    for sign in (-1, 1):
        end = was if sign < 0 else now
        if end == BEGINNING:
            continue
        at = w[W_LOG] + w[W_LOG_TOP] * (L_REG + r)
        w[at + L_KEY] = w[W_KEY]
        w[at + L_SIGN] = sign
        copy(w, match, w, at + L_T, M_REG + r)
        w[at + L_RE] = end
        w[W_LOG_TOP] += 1
        if sign < 0:
            w[W_TAKEN] += 1
