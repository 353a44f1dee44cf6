"""Epsilon arcs and time-outs: what a partial match becomes without an event ([AFA10] Sec. 2.2, App. E).

    close(row 2) with  a --eps--> b --eps--> c        rows  [..][..][a]   -->  [..][..][a][b][c]
    fire(row, le = 10, since = 10, horizon = 30) with  a --at 20--> b --at 25--> c --eps--> d

    W_READY   [ the row itself ] [ b, at 20 ] [ c, at 25 ] [ d, at 25 ]       the instant stands in place of ``end``

A row that is there already is not added: a cycle that changes nothing ends, any other is cut at CLOSURE_LIMIT.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import run_arc, seek
from afa.compiled.kernel.lists import add_to_set, copy, new_set, unique
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call4, kernel


@kernel
def close(m: Any, w: Any, p: Any, rows: int, at: int, n: int, t: int, waits: bool) -> int:
    """Add to a buffer of ``n`` rows all that epsilon arcs in force at ``t`` make of its row ``at``, the last one so far.

    With ``waits`` also what time-outs make of those rows that have waited long enough: ``at(r) <= t``. Returns how many rows there
    are then, or NEED_ROWS, FAULT, ENDLESS. Where the closure goes on for ever, Python says whether the row is to stand alone.

    *Requires* `seek` to ``t``.
    """
    if p[P_EPSILON] == 0 and (not waits or p[P_TIMEOUT] == 0):
        return n
    s = N_REG + m[C_R]
    todo, steps = at, 0
    new_set(w)
    add_to_set(w, w, rows + at * s, s, 0)
    while todo < n:
        source = rows + todo * s
        todo += 1
        waiting = False
        link = p[p[P_FIRST] + w[source + N_STATE]]
        while link >= 0 or (waits and not waiting and p[P_TIMEOUT] != 0):
            if link < 0:  # behind the epsilon arcs the time-outs
                waiting = True
                link = p[p[P_WAITS] + w[source + N_STATE]]
                continue
            arc = p[P_ROWS] + link * R_SIZE
            link = p[arc + R_NEXT]
            code = p[arc + R_CODE]
            if waiting and not p[arc + R_BEGIN] <= t < p[arc + R_END]:
                continue
            if not waiting and p[p[P_CODES] + code * ARC_SIZE + ARC_KIND] != EPSILON:
                continue
            if n + 2 >= w[W_ROWS]:
                return NEED_ROWS
            target = rows + n * s
            m[C_PLACE] = t
            out = target if waiting else target + N_REG  # where ``at`` goes, or the register
            taken = run_arc(m, p, code, 0, m[C_W] + 8 * (source + N_REG), m[C_W] + 8 * out)
            if taken < 0:
                return FAULT
            if taken == 0 or (waiting and w[target] > t):
                continue
            if waiting:
                copy(w, source + N_REG, w, target + N_REG, m[C_R])
            steps += 1
            if steps > CLOSURE_LIMIT:
                m[C_PLACE], m[C_NEED], m[C_ARC] = t, rows + at * s, n - at
                return at + 1 if call4(p[P_PYTHON], NOWHERE, 0, 0, 0) == NO else ENDLESS
            w[target + N_START] = w[source + N_START]
            w[target + N_M] = w[source + N_M]
            w[target + N_STATE] = p[p[P_CODES] + code * ARC_SIZE + ARC_DST]
            w[target + N_END] = ALONE
            if add_to_set(w, w, target, s, 0) < 0:
                n += 1
    return n


@kernel
def fire(m: Any, w: Any, p: Any, a: Any, row: int, le: int, since: int, horizon: int) -> int:
    """Write to W_READY what time-outs make of a partial match, from ``since`` until ``horizon``; its last event was at ``le``.

    Each row has its instant in place of ``end``: ``T = at(r) <= horizon`` and ``T < m``; epsilon arcs and further time-outs from
    there are in it. What fires at ``le`` stands in the list (`close`): ``since`` lies behind it. Returns how many rows, the first of which is the partial match itself, or NEED_ROWS, FAULT,
    ENDLESS. Where they go on for ever, Python says whether none is to fire. Moves the cursor of arcs.
    """
    if p[p[P_WAITS] + a[row + N_STATE]] < 0:
        return 0
    s = N_REG + m[C_R]
    ready = w[W_READY]
    if w[W_ROWS] < 4:
        return NEED_ROWS
    copy(a, row, w, ready, s)  # row 0 is what waits; what fires follows
    w[ready + N_END] = le
    n, todo = 1, 0
    while todo < n:
        source = ready + todo * s
        link = p[p[P_WAITS] + w[source + N_STATE]]
        while link >= 0:
            arc = p[P_ROWS] + link * R_SIZE
            link = p[arc + R_NEXT]
            if n + 2 >= w[W_ROWS]:
                return NEED_ROWS
            target = ready + n * s
            m[C_PLACE] = w[source + N_END]
            if run_arc(m, p, p[arc + R_CODE], 0, m[C_W] + 8 * (source + N_REG), m[C_W] + 8 * target) < 0:
                return FAULT
            t = max(w[source + N_END], w[target])
            if not (since <= t <= horizon and t < w[source + N_M] and p[arc + R_BEGIN] <= t < p[arc + R_END]):
                continue
            copy(w, source, w, target, s)
            w[target + N_STATE] = p[p[P_CODES] + p[arc + R_CODE] * ARC_SIZE + ARC_DST]
            w[target + N_END] = ALONE
            seek(p, t)
            end = close(m, w, p, ready, n, n + 1, t, False)
            if end < 0:
                return end
            n = date_rows(w, ready, n, end, t, s)
            if n > CLOSURE_LIMIT:
                m[C_PLACE], m[C_NEED], m[C_ARC] = t, ready, n
                return 1 if call4(p[P_PYTHON], NOWHERE, 0, 0, 0) == NO else ENDLESS
        todo += 1
    return n


@kernel
def date_rows(w: Any, ready: int, n: int, end: int, t: int, s: int) -> int:
    """Give the rows from ``n`` to ``end`` the instant ``t``, and keep those that are new. Returns how many rows there are then."""
    new_set(w)
    for k in range(1, n):
        add_to_set(w, w, ready + k * s, s, w[ready + k * s + N_END] & 0xFFFFFFFFFFFF)
    kept = n
    for k in range(n, end):
        target = ready + kept * s
        if k != kept:
            copy(w, ready + k * s, w, target, s)
        w[target + N_END] = t
        if add_to_set(w, w, target, s, t & 0xFFFFFFFFFFFF) < 0:
            kept += 1
    return kept


@kernel
def undated(m: Any, w: Any, rows: int, n: int) -> int:
    """Drop the instants of rows that time-outs made, and keep each partial match once. Returns how many are left."""
    s = N_REG + m[C_R]
    for k in range(n):
        w[rows + k * s + N_END] = ALONE
    return unique(w, w, rows, n, s)
