"""Close partial matches under epsilon arcs, and fire time-outs: steps without an event ([AFA10] Sec. 2.2, App. E).

    close(row 2) with  a --eps--> b --eps--> c        rows  [..][..][a]   -->  [..][..][a][b][c]
    fire(row, le = 10, since = 10, horizon = 30) with  a --at 20--> b --at 25--> c --eps--> d

    w.ready   [ the row itself ] [ b, at 20 ] [ c, at 25 ] [ d, at 25 ]       the instant stands in place of ``end``

A row is added once: so a cycle that changes nothing ends; any other is cut at CLOSURE_LIMIT.
"""

from __future__ import annotations

from typing import Annotated, Any

from afa.compiled.kernel.arc_cursor import run_arc, seek
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import add_to_set, copy, new_set, unique
from afa.compiled.kernel.native_call import call4, kernel


@kernel
def close(m: Memory, w: Scratch, p: Program, rows: int, at: int, n: int, t: int, waits: bool) -> int:
    """Add to a buffer of ``n`` rows all rows that epsilon arcs in force at ``t`` make of row ``at``, the last one.

    With ``waits`` time-outs with ``at(r) <= t`` are taken, too. Returns how many rows there are then, or NEED_ROWS, FAULT, ENDLESS.
    Where the closure goes on for ever, Python decides whether row ``at`` stands without it.

    *Requires* `seek` to ``t``.
    """
    s = NodeRow.register + m.register_words
    if p.epsilon == 0 and (not waits or p.timeout == 0 or p[p.waits + NodeRow(w, rows + at * s).state] < 0):
        return n
    # The buffer from `at` on is a queue: each row taken from it may add others behind.
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
            if waiting and not arc.begin <= t < arc.end:
                continue
            if not waiting and ArcWords(p.codes + code * ArcWords.SIZE).kind != EPSILON:
                continue
            # Run the arc; its new row is written behind the others.
            if n + 2 >= w.rows:
                return NEED_ROWS
            target = NodeRow(w, rows + n * s)
            m.instant = t
            out = target if waiting else target.register  # a time-out gives its instant, an epsilon arc the register
            taken = run_arc(m, p, code, 0, m.w_at + 8 * source.register, m.w_at + 8 * out)
            if taken < 0:
                return FAULT
            if taken == 0 or (waiting and w[target] > t):
                continue
            if waiting:
                copy(w, source.register, w, target.register, m.register_words)
            # Cut a closure that goes on; else keep the row if it is a new one.
            steps += 1
            if steps > CLOSURE_LIMIT:
                m.instant, m.endless, m.endless_rows = t, rows + at * s, n - at
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
    """Write to w.ready all rows that time-outs make of a partial match from ``since`` until ``horizon``; ``le``: its last event.

    Each row has its instant ``T = at(r)`` in place of ``end``, with ``T <= horizon`` and ``T < m``. Epsilon arcs and further
    time-outs from there are followed. Time-outs at ``le`` itself are the business of `close`: ``since`` lies after it. Returns how
    many rows, the first of which is the partial match itself, or NEED_ROWS, FAULT, ENDLESS. Where they go on for ever, Python
    decides whether none fires. Moves the cursor of arcs.
    """
    if p[p.waits + row.state] < 0:
        return 0
    s = NodeRow.register + m.register_words
    ready = NodeRow(w, w.ready)
    if w.rows < 4:
        return NEED_ROWS
    # Again a queue: row 0 waits; the rows that fire follow.
    copy(a, row, w, ready, s)
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
            # When does it fire? Only within its bounds, and while the arc is in force.
            target = NodeRow(w, ready + n * s)
            m.instant = source.end
            if run_arc(m, p, arc.code, 0, m.w_at + 8 * source.register, m.w_at + 8 * target) < 0:
                return FAULT
            t = max(source.end, w[target])
            if not (since <= t <= horizon and t < source.until and arc.begin <= t < arc.end):
                continue
            # Add the row with all that epsilon arcs make of it, at this instant.
            copy(w, source, w, target, s)
            target.state = ArcWords(p.codes + arc.code * ArcWords.SIZE).dst
            target.end = ALONE
            seek(p, t)
            end = close(m, w, p, ready, n, n + 1, t, False)
            if end < 0:
                return end
            n = date_rows(w, ready, n, end, t, s)
            if n > CLOSURE_LIMIT:
                m.instant, m.endless, m.endless_rows = t, ready, n
                return 1 if call4(p.python, NOWHERE, 0, 0, 0) == NO else ENDLESS
        todo += 1
    return n


@kernel
def date_rows(w: Scratch, ready: int, n: int, end: int, t: int, s: int) -> int:
    """Date the rows from ``n`` to ``end`` with the instant ``t``, and keep the new ones. Returns how many rows there are then."""
    new_set(w)
    for k in range(1, n):
        add_to_set(w, w, ready + k * s, s, NodeRow(w, ready + k * s).end & 0xFFFFFFFFFFFF)
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
    """Drop the instants of rows that time-outs have made, and keep each partial match once. Returns how many are left."""
    s = NodeRow.register + m.register_words
    for k in range(n):
        NodeRow(w, rows + k * s).end = ALONE
    return unique(w, w, rows, n, s)
