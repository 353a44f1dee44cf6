"""Epsilon arcs and time-outs: what a partial match becomes without an event ([AFA10] Sec. 2.2, App. E).

    close(row 2) with  a --eps--> b --eps--> c        rows  [..][..][a]   -->  [..][..][a][b][c]
    fire(row, le = 10, since = 10, horizon = 30) with  a --at 20--> b --at 25--> c --eps--> d

    w.ready   [ the row itself ] [ b, at 20 ] [ c, at 25 ] [ d, at 25 ]       the instant stands in place of ``end``

A row that is there already is not added: a cycle that changes nothing ends, any other is cut at CLOSURE_LIMIT.
"""

from __future__ import annotations

from typing import Annotated, Any

from afa.compiled.kernel.arc_cursor import run_arc, seek
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import add_to_set, copy, new_set, unique
from afa.compiled.kernel.native_call import call4, kernel


@kernel
def close(m: Memory, w: Scratch, p: Program, rows: int, at: int, n: int, t: int, waits: bool) -> int:
    """Add to a buffer of ``n`` rows all that epsilon arcs in force at ``t`` make of its row ``at``, the last one so far.

    With ``waits`` also what time-outs make of those rows that have waited long enough: ``at(r) <= t``. Returns how many rows there
    are then, or NEED_ROWS, FAULT, ENDLESS. Where the closure goes on for ever, Python says whether the row is to stand alone.

    *Requires* `seek` to ``t``.
    """
    s = NodeRow.register + m.register_words
    if p.epsilon == 0 and (not waits or p.timeout == 0 or p[p.waits + NodeRow(w, rows + at * s).state] < 0):
        return n
    todo, steps = at, 0
    new_set(w)
    add_to_set(w, w, rows + at * s, s, 0)
    while todo < n:
        source = NodeRow(w, rows + todo * s)
        todo += 1
        waiting = False
        link = p[p.first + source.state]
        while link >= 0 or (waits and not waiting and p.timeout != 0):
            if link < 0:  # behind the epsilon arcs the time-outs
                waiting = True
                link = p[p.waits + source.state]
                continue
            arc = ArcRow(p.rows + link * ArcRow.SIZE)
            link = arc.next
            code = arc.code
            if waiting and (not arc.begin <= t < arc.end):
                continue
            if not waiting and ArcWords(p.codes + code * ArcWords.SIZE).kind != EPSILON:
                continue
            if n + 2 >= w.rows:
                return NEED_ROWS
            target = NodeRow(w, rows + n * s)
            m.place = t
            out = target if waiting else target.register  # where ``at`` goes, or the register
            taken = run_arc(m, p, code, 0, m.w_at + 8 * source.register, m.w_at + 8 * out)
            if taken < 0:
                return FAULT
            if taken == 0 or (waiting and w[target] > t):
                continue
            if waiting:
                copy(w, source.register, w, target.register, m.register_words)
            steps += 1
            if steps > CLOSURE_LIMIT:
                m.place, m.need, m.arc = t, rows + at * s, n - at
                return at + 1 if call4(p.python, NOWHERE, 0, 0, 0) == NO else ENDLESS
            target.start = source.start
            target.until = source.until
            target.state = ArcWords(p.codes + code * ArcWords.SIZE).dst
            target.end = ALONE
            if add_to_set(w, w, target, s, 0) < 0:
                n += 1
    return n


@kernel
def fire(m: Memory, w: Scratch, p: Program, a: Any, row: Annotated[NodeRow, "a"], le: int, since: int, horizon: int) -> int:
    """Write to w.ready what time-outs make of a partial match, from ``since`` until ``horizon``; its last event was at ``le``.

    Each row has its instant in place of ``end``: ``T = at(r) <= horizon`` and ``T < m``; epsilon arcs and further time-outs from
    there are in it. What fires at ``le`` stands in the list (`close`): ``since`` lies behind it. Returns how many rows, the first
    of which is the partial match itself, or NEED_ROWS, FAULT, ENDLESS. Where they go on for ever, Python says whether none is to
    fire. Moves the cursor of arcs.
    """
    if p[p.waits + row.state] < 0:
        return 0
    s = NodeRow.register + m.register_words
    ready = NodeRow(w, w.ready)
    if w.rows < 4:
        return NEED_ROWS
    copy(a, row, w, ready, s)  # row 0 is what waits; what fires follows
    ready.end = le
    n, todo = 1, 0
    while todo < n:
        source = NodeRow(w, ready + todo * s)
        link = p[p.waits + source.state]
        while link >= 0:
            arc = ArcRow(p.rows + link * ArcRow.SIZE)
            link = arc.next
            if n + 2 >= w.rows:
                return NEED_ROWS
            target = NodeRow(w, ready + n * s)
            m.place = source.end
            if run_arc(m, p, arc.code, 0, m.w_at + 8 * source.register, m.w_at + 8 * target) < 0:
                return FAULT
            t = max(source.end, w[target])
            if not (since <= t <= horizon and t < source.until and (arc.begin <= t < arc.end)):
                continue
            copy(w, source, w, target, s)
            target.state = ArcWords(p.codes + arc.code * ArcWords.SIZE).dst
            target.end = ALONE
            seek(p, t)
            end = close(m, w, p, ready, n, n + 1, t, False)
            if end < 0:
                return end
            n = date_rows(w, ready, n, end, t, s)
            if n > CLOSURE_LIMIT:
                m.place, m.need, m.arc = t, ready, n
                return 1 if call4(p.python, NOWHERE, 0, 0, 0) == NO else ENDLESS
        todo += 1
    return n


@kernel
def date_rows(w: Scratch, ready: int, n: int, end: int, t: int, s: int) -> int:
    """Give the rows from ``n`` to ``end`` the instant ``t``, and keep those that are new. Returns how many rows there are then."""
    new_set(w)
    for k in range(1, n):
        add_to_set(w, w, ready + k * s, s, NodeRow(w, ready + k * s).end & 281474976710655)
    kept = n
    for k in range(n, end):
        target = NodeRow(w, ready + kept * s)
        if k != kept:
            copy(w, ready + k * s, w, target, s)
        target.end = t
        if add_to_set(w, w, target, s, t & 0xFFFFFFFFFFFF) < 0:
            kept += 1
    return kept


@kernel
def undated(m: Memory, w: Scratch, rows: int, n: int) -> int:
    """Drop the instants of rows that time-outs made, and keep each partial match once. Returns how many are left."""
    s = NodeRow.register + m.register_words
    for k in range(n):
        NodeRow(w, rows + k * s).end = ALONE
    return unique(w, w, rows, n, s)
