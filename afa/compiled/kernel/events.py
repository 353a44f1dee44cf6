"""Event records enter and leave the steps of a block; what they change is marked, and derived by `walk` afterwards.

    records, in order     + at 7      - of e1 at 9 (its only event)      + at 9, another one       one more + of e0 at 5

    before   order  [ 0   1   3 ]       LE  5  9  12        events   0: e0    1: e1     3: e3
    after    order  [ 0   2   1   3 ]   LE  5  7  9  12     events   0: e0 twice   2: e2   1: e4   3: e3
    marked                *   *                             e0 was there: nothing to derive from a copy more

    where 1 loses all its events:
             order  [ 0   2   3 ]       its nodes and matches go with it, and the step behind it is marked
    marked                *   *

An event counts as often as it was inserted more than retracted. Where that is negative, retractions wait in the section ``pending``
until as many insertions have come.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.heap import put, room, save
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.matches import set_matches
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import earlier, find_place, is_before
from afa.compiled.kernel.step import mark


@kernel
def append(m: Any, w: Any, c: Any, b: int, n: int) -> int:
    """Append the ``n`` records at W_INDEX as new steps behind all others.

    Returns the first place of them, or NEED_BLOCK, NEED_EVENTS.

    *Requires* records at times that only rise, insertions of one copy each, all after the last step.
    """
    v, cap = m[C_V], m[b + H_CAP]
    size = E_WORDS + v
    i, place, top = m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP]
    if place + n > cap or i + n > cap:
        return NEED_BLOCK
    if top + n > m[b + H_EVENT_CAP]:
        return NEED_EVENTS
    order, times, seqs = b + HEAD, b + HEAD + LE * cap, b + HEAD + SEQ * cap
    events, lists, matches = b + HEAD + EV * cap, b + HEAD + ND * cap, b + HEAD + MT * cap
    event = b + m[b + H_EVENTS] + top * size
    for k in range(n):
        x = w[w[W_INDEX] + k]
        m[order + place + k] = i + k
        m[times + i + k] = c[I_LE, x]
        m[seqs + i + k] = c[I_SEQ, x]
        m[events + i + k] = (top + k) << 24 | 1
        m[lists + i + k] = 0
        m[matches + i + k] = 0
        m[event + E_RE] = c[I_RE, x]
        m[event + E_COPIES] = 1
        for j in range(v):
            m[event + E_WORDS + j] = c[I_WORDS + j, x]
        event += size
    m[b + H_STEPS] = i + n
    m[b + H_LAST] = place + n
    m[b + H_EVENT_TOP] = top + n
    w[W_FROM] = place
    return int(place)


@kernel
def merge(m: Any, w: Any, p: Any, c: Any, b: int, n: int) -> int:
    """Merge the ``n`` records at W_INDEX, which are in order, into the steps.

    Returns the first place that may be marked, or NEED_BLOCK, NEED_PLACES, NEED_UNDO, or a status of `apply_to_step`.
    """
    cap = m[b + H_CAP]
    if m[b + H_LAST] + n > cap or m[b + H_STEPS] + n > cap:
        return NEED_BLOCK
    if cap > w[W_PLACES]:
        return NEED_PLACES
    order, times, seqs = b + HEAD, b + HEAD + LE * cap, b + HEAD + SEQ * cap
    x = w[w[W_INDEX]]
    begin = place = find_place(m, b, c[I_LE, x], c[I_SEQ, x])
    last, k, out, gone, moved = m[b + H_LAST], 0, begin, False, False
    built = w[W_ORDER]
    while k < n:
        x = w[w[W_INDEX] + k]
        group = k
        while k < n and not earlier(m, c, 0, x, w[w[W_INDEX] + k]):
            k += 1
        le, seq = c[I_LE, x], c[I_SEQ, x]
        while place < last and is_before(m, b, m[order + place], le, seq):
            w[built + out] = m[order + place]
            if gone:
                w[w[W_MARK] + out] = w[W_EPOCH]
                gone = False
            out += 1
            place += 1
        i = m[order + place] if place < last else NOWHERE
        there = i != NOWHERE and m[times + i] == le and (m[C_ORDERED] == 0 or m[seqs + i] == seq)
        if not there:
            i = m[b + H_STEPS]
            m[b + HEAD + EV * cap + i] = 0
            m[b + HEAD + ND * cap + i] = 0
            m[b + HEAD + MT * cap + i] = 0
            m[times + i] = le
            m[seqs + i] = seq
        else:
            place += 1
        changed = apply_to_step(m, w, c, b, i, group, k)
        if changed < 0:
            return int(changed)
        if m[b + HEAD + EV * cap + i] & COUNT == 0:
            if there:
                status = empty_step(m, w, p, b, i)
                if status < 0:
                    return status
                gone = moved = True
            continue
        if not there:
            m[b + H_STEPS] = i + 1
            moved = True
        w[built + out] = i
        if changed or gone:
            w[w[W_MARK] + out] = w[W_EPOCH]
            gone = gone and not there  # what follows on a deleted step is marked, and all that is new before it
        out += 1
    rest = last - place
    if gone and rest:
        w[w[W_MARK] + out] = w[W_EPOCH]
    if moved:
        if not room(w, last - begin):
            return NEED_UNDO
        save(m, w, order + begin, last - begin)
        if out != place:
            move_words(m, order + place, order + out, rest)
        for at in range(begin, out):
            m[order + at] = w[built + at]
        m[b + H_LAST] = out + rest
        if gone and not rest and p[P_TIMEOUT]:  # the wait of what is last now goes on
            mark(m, w, b, out - 1)
    return int(begin)


@kernel
def move_words(m: Any, source: int, target: int, n: int) -> None:
    """Copy ``n`` words that may overlap."""
    if target < source:
        for k in range(n):
            m[target + k] = m[source + k]
    else:
        for k in range(n - 1, -1, -1):
            m[target + k] = m[source + k]


@kernel
def apply_to_step(m: Any, w: Any, c: Any, b: int, i: int, first: int, last: int) -> int:
    """Apply records ``first`` to ``last`` of W_INDEX to one step's events.

    Returns 1 if the set of distinct events changed, 0 if only copy counts did, or NEED_TEMP, NEED_UNDO, NEED_EVENTS, NEED_BLOCK,
    CROWDED.
    """
    v = m[C_V]
    size = E_WORDS + v
    slices = b + HEAD + EV * m[b + H_CAP]
    old = m[slices + i]
    had, temp = old & COUNT, w[W_TEMP]
    if (had + last - first) * (size + 1) > w[W_TEMP_CAP]:
        return NEED_TEMP
    copy(m, b + m[b + H_EVENTS] + (old >> 24) * size, w, temp, had * size)
    n = had
    for k in range(first, last):
        x = w[w[W_INDEX] + k]
        row = 0
        while row < n and not is_event(w, temp + row * size, c, x, v):
            row += 1
        if row == n:
            w[temp + n * size + E_RE] = c[I_RE, x]
            w[temp + n * size + E_COPIES] = 0
            for j in range(v):
                w[temp + n * size + E_WORDS + j] = c[I_WORDS + j, x]
            n += 1
        there = w[temp + row * size + E_COPIES]
        if c[I_DIFF, x] > FOREVER - there:
            m[C_PLACE] = x
            return CROWDED
        count = there + c[I_DIFF, x]
        if m[b + H_PENDING_TOP] or count < 0:
            count = offset_waiting(m, w, c, b, x, count)
            if count < 0:
                return int(count)
        w[temp + row * size + E_COPIES] = count
    kept = changed = 0
    for row in range(n):
        at = temp + row * size
        if w[at + E_COPIES] == 0:
            changed = changed or row < had
            continue
        changed = changed or row >= had
        if kept != row:
            copy(w, at, w, temp + kept * size, size)
        kept += 1
    top = m[b + H_EVENT_TOP]
    if not room(w, 8 + 3 * had):
        return NEED_UNDO
    if not changed:
        for row in range(had):
            at = b + m[b + H_EVENTS] + ((old >> 24) + row) * size + E_COPIES
            if m[at] != w[temp + row * size + E_COPIES]:
                put(m, w, at, w[temp + row * size + E_COPIES])
        return 0
    if top + kept > m[b + H_EVENT_CAP]:
        return NEED_EVENTS
    if kept > 1 and m[C_TIES]:
        m[C_TIED] = 1
    copy(w, temp, m, b + m[b + H_EVENTS] + top * size, kept * size)
    m[b + H_EVENT_TOP] = top + kept
    rows = top << 24 | kept if kept else 0
    if i >= w[W_MADE]:
        m[slices + i] = rows
    else:
        put(m, w, slices + i, rows)
    return 1


@kernel
def is_event(a: Any, row: int, c: Any, x: int, v: int) -> bool:
    """Return whether a row has the lifetime and the payload of a record."""
    if a[row + E_RE] != c[I_RE, x]:
        return False
    for j in range(v):
        if a[row + E_WORDS + j] != c[I_WORDS + j, x]:
            return False
    return True


@kernel
def offset_waiting(m: Any, w: Any, c: Any, b: int, x: int, count: int) -> int:
    """Offset ``count`` copies of a record's event against the retractions of it that wait; if ``count`` is negative, they wait.

    Returns how many copies are in force, or NEED_UNDO, NEED_BLOCK, CROWDED.
    """
    v = m[C_V]
    size = Q_WORDS + v
    base, top = b + m[b + H_PENDING], m[b + H_PENDING_TOP]
    row = 0
    while row < top:
        at = base + row * size
        if m[at + Q_LE] == c[I_LE, x] and m[at + Q_RE] == c[I_RE, x]:
            equal = True
            for j in range(v):
                equal = equal and m[at + Q_WORDS + j] == c[I_WORDS + j, x]
            if equal:
                break
        row += 1
    at = base + row * size
    if not room(w, 2 * size + 16):
        return NEED_UNDO
    if row < top:
        if count < m[at + Q_COPIES] - FOREVER:
            m[C_PLACE] = x
            return CROWDED
        count -= m[at + Q_COPIES]
        save(m, w, at, size)
        save(m, w, base + (top - 1) * size, size)  # it may take this one's place, and another one its own
        if count >= 0:
            copy(m, base + (top - 1) * size, m, at, size)
            m[b + H_PENDING_TOP] = top - 1
            m[C_WAITING] -= 1
            return int(count)
        m[at + Q_COPIES] = -count
        return 0
    if count >= 0:
        return int(count)
    if top == m[b + H_PENDING_CAP]:
        return NEED_BLOCK
    m[at + Q_LE] = c[I_LE, x]
    m[at + Q_RE] = c[I_RE, x]
    m[at + Q_COPIES] = -count
    for j in range(v):
        m[at + Q_WORDS + j] = c[I_WORDS + j, x]
    m[b + H_PENDING_TOP] = top + 1
    m[C_WAITING] += 1
    return 0


@kernel
def empty_step(m: Any, w: Any, p: Any, b: int, i: int) -> int:
    """Withdraw the matches of a step that has no events any more, and note how far its nodes reached. Returns a status."""
    s, cap = N_REG + m[C_R], m[b + H_CAP]
    if not room(w, 8):
        return NEED_UNDO
    rows = m[b + HEAD + ND * cap + i]
    for k in range(rows >> 24, (rows >> 24) + (rows & COUNT)):
        w[W_UNTIL] = max(w[W_UNTIL], m[b + m[b + H_NODES] + k * s + N_END])
    return int(set_matches(m, w, p, b, i, 0))
