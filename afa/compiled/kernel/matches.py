"""Matches: what the partial matches of a step stand for, and how the output log learns of a change.

    step 12     list, final states marked     matches before       matches now          output log
                (10, 70, b*, 1.5)             (12, 70, 1.0)        (12, 70, 1.5)        [key, -1, 12, 70, 1.0]
                (11, 15, a,  2.0)             (12, 90, 0.0)        (12, 90, 0.0)        [key, +1, 12, 70, 1.5]
                (11, 90, b*, 0.0)

The log holds an entry whenever a match comes into force or leaves it. A match belongs to the step whose partial matches stand for
it. With a sequence, or with time-outs, two neighbours may stand for the same one: then an entry is written only if no other step
holds it.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.best_rows import add_longest, log_longest
from afa.compiled.kernel.heap import put
from afa.compiled.kernel.lists import FEW, copy, fill_place, new_set, place_of, same_words
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place


@kernel
def among(a: Any, row: int, c: Any, rows: int, count: int, width: int) -> bool:
    """Return whether a row is one of ``count`` rows."""
    for k in range(count):
        if same_words(a, row, c, rows + k * width, width):
            return True
    return False


@kernel
def is_noted(w: Any, row: int, width: int) -> bool:
    """Return whether a match is in the set (`new_set`); else put it there. O(1)."""
    place = place_of(w, w, row, width, NOWHERE, 0)
    if w[place] == w[W_STAMP]:
        return True
    fill_place(w, place, row, 0)
    return False


@kernel
def accepted(m: Any, w: Any, p: Any, a: Any, rows: int, n: int, le: int, count: int) -> int:
    """Add to the ``count`` matches at W_TEMP those of partial matches in a final state at ``le``, each once.

    Returns how many there are then, or NEED_TEMP. O(n).
    """
    r = m[C_R]
    s, width, now, temp = N_REG + r, M_REG + r, p[P_NOW], w[W_TEMP]
    if le < m[C_FINAL]:  # INVARIANT: what is final is never touched
        return count
    if m[C_LONGEST]:
        return accept_longest(m, w, p, a, rows, n, le)
    first, latest, hashed = count, le, False
    for k in range(n):
        row = rows + k * s
        if p[now + a[row + N_STATE]] == 0:
            continue
        at = temp + count * width
        if at + width > temp + w[W_TEMP_CAP]:
            return NEED_TEMP
        w[at + M_T] = le
        w[at + M_RE] = a[row + N_M]
        copy(a, row + N_REG, w, at + M_REG, r)
        if a[row + N_M] <= latest and not hashed and count - first > FEW:
            hashed = True
            new_set(w)
            for j in range(first, count):
                is_noted(w, temp + j * width, width)
        if hashed:
            if is_noted(w, at, width):
                continue
        elif a[row + N_M] <= latest and among(w, at, w, temp + first * width, count - first, width):
            continue
        latest = max(latest, a[row + N_M])
        count += 1
    return count


@kernel
def accept_longest(m: Any, w: Any, p: Any, a: Any, rows: int, n: int, le: int) -> int:
    """Write to W_TEMP the matches of partial matches in a final state at ``le``, of each payload the longest.

    Returns how many, or NEED_TEMP. The set of the matches begins here.
    """
    s, width, now, temp, count = N_REG + m[C_R], M_REG + m[C_R], p[P_NOW], w[W_TEMP], 0
    new_set(w)
    for k in range(n):
        row = rows + k * s
        if p[now + a[row + N_STATE]] == 0:
            continue
        at = temp + count * width
        if at + width > temp + w[W_TEMP_CAP]:
            return NEED_TEMP
        w[at + M_T], w[at + M_RE] = le, a[row + N_M]
        copy(a, row + N_REG, w, at + M_REG, m[C_R])
        count = add_longest(m, w, at, count)
    return count


@kernel
def held_elsewhere(m: Any, b: int, i: int, a: Any, match: int) -> bool:
    """Return whether a step other than ``i`` holds a match: one at T, or the last before it."""
    cap = m[b + H_CAP]
    width = M_REG + m[C_R]
    order, times, slices = b + HEAD, b + HEAD + LE * cap, b + HEAD + MT * cap
    t = a[match + M_T]
    place = find_place(m, b, t, 0) if t > BEGINNING else m[b + H_FIRST]
    while place > m[b + H_FIRST] and m[times + m[order + place - 1]] == t:
        place -= 1
    place = max(place - 1, m[b + H_FIRST])
    while place < m[b + H_LAST]:
        other = m[order + place]
        if m[times + other] > t:
            return False
        rows = m[slices + other]
        if other != i and among(a, match, m, b + m[b + H_MATCHES] + (rows >> 24) * width, rows & COUNT, width):
            return True
        place += 1
    return False


@kernel
def log_match(m: Any, w: Any, a: Any, match: int, sign: int) -> None:
    """Write one entry of the output log. *Requires* room in it."""
    r = m[C_R]
    at = w[W_LOG] + w[W_LOG_TOP] * (L_REG + r)
    w[at + L_KEY] = w[W_KEY]
    w[at + L_SIGN] = sign
    copy(a, match, w, at + L_T, M_REG + r)
    w[W_LOG_TOP] += 1
    if sign < 0:
        w[W_TAKEN] += 1


@kernel
def set_matches(m: Any, w: Any, p: Any, b: int, i: int, count: int) -> int:
    """Make the ``count`` matches at W_TEMP those of step ``i``; what changes goes to the output log.

    Returns DONE, NEED_LOG or NEED_MATCHES. *Requires* `room` for 3.
    """
    slices = b + HEAD + MT * m[b + H_CAP]
    old = m[slices + i]
    before = old & COUNT
    if before == 0 and count == 0:
        return DONE
    width = M_REG + m[C_R]
    here, there = w[W_TEMP], b + m[b + H_MATCHES] + (old >> 24) * width
    head = 0
    while head < before and head < count and same_words(w, here + head * width, m, there + head * width, width):
        head += 1
    if head == before and head == count:
        return DONE
    if w[W_LOG_TOP] + before + count > w[W_LOG_CAP]:
        return NEED_LOG
    if m[b + H_MATCH_TOP] + count > m[b + H_MATCH_CAP]:
        return NEED_MATCHES
    if m[C_LONGEST]:
        if w[W_LOG_TOP] + 2 * (before + count) > w[W_LOG_CAP]:
            return NEED_LOG
        if (before + count) * width > w[W_TEMP_CAP]:
            return NEED_TEMP
        if before >= w[W_ROWS]:
            return NEED_ROWS
        log_longest(m, w, p, b, i, there, before, count)
        store_matches(m, w, b, i, count)
        return DONE
    shared = p[P_COUNTED] != 0
    for k in range(head, before):
        match = there + k * width
        found = among(m, match, w, here + head * width, count - head, width)
        if not found and not (shared and held_elsewhere(m, b, i, m, match)):
            log_match(m, w, m, match, -1)
    for j in range(head, count):
        match = here + j * width
        found = among(w, match, m, there + head * width, before - head, width)
        if not found and not (shared and held_elsewhere(m, b, i, w, match)):
            log_match(m, w, w, match, 1)
    store_matches(m, w, b, i, count)
    return DONE


@kernel
def store_matches(m: Any, w: Any, b: int, i: int, count: int) -> None:
    """Store the matches at W_TEMP as those of step ``i``. *Requires* room in the block and in the undo log."""
    slices = b + HEAD + MT * m[b + H_CAP]
    width = M_REG + m[C_R]
    top = m[b + H_MATCH_TOP]
    copy(w, w[W_TEMP], m, b + m[b + H_MATCHES] + top * width, count * width)
    m[b + H_MATCH_TOP] = top + count
    value = top << 24 | count if count else 0
    if i >= w[W_MADE]:
        m[slices + i] = value
    else:
        put(m, w, slices + i, value)
