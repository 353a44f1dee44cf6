"""MakeTransitions of [AFA10] Algorithm 1: what a list of partial matches becomes by one step.

    list before, by start      event at 12, RE 72            list of the step
    (10, 70, a, 1.0)      --   arc a -> b holds       -->    (10, 70, b, 1.5)
    (11, 15, a, 2.0)      --   arc a -> a, ignorable  -->    (11, 15, a, 2.0)   `end`: number of its row, it may go on as a run
    (11, 90, a, 2.0)      --   skip in a, of all      -->    (11, 90, a, 2.0)   the same, whatever the REs of the events
    (11, 12, a, 0.0)      --   its lifetime is over
    a computation begins  --   arc s -> a holds       -->    (12, 72, a, 0.0)

The smallest RE is the new ``m``. A partial match found twice is kept once, and the list stays sorted by start.

`arc_by_arc` serves every automaton. Where no arc waits or consumes nothing, and the step has one event, `derive` leaves
the whole list to the automaton's step function. `derive` writes to the buffer W_NEW, `derive_nodes` behind the nodes of the block.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import run_arc, seek
from afa.compiled.kernel.best_rows import distinct
from afa.compiled.kernel.closure import close, fire, undated
from afa.compiled.kernel.lists import copy, equal
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call9, kernel


@kernel
def call_step(m: Any, p: Any, base: int, rows: int, n: int, begins: bool, le: int, re: int, event: int, out: int, room: int) -> int:
    """Call the automaton's step function with ``n`` rows and the computation that begins.

    ``base`` is the address of the array in which the rows stand, ``event`` and ``out`` are addresses. A row that stays as it is has
    the number of its source in place of ``end`` (App. D). Returns how many rows there are at ``out``, or -1: only arc by arc; -2:
    more than ``room``.
    """
    begin = p[P_BEGIN]
    p[begin + N_START] = le
    p[begin + N_M] = FOREVER if begins else BEGINNING
    slots = m[C_P] + 8 * p[P_SLOTS]
    return int(call9(p[P_STEP], event, re, le, base + 8 * rows, n, m[C_P] + 8 * begin, out, room, slots))


@kernel
def take_event(
    m: Any, p: Any, b: int, base: int, rows: int, n: int, begins: bool, le: int, events: int, out: int, room: int
) -> int:
    """Do the same with the one event of a step of the block; -1 also where there are several. Moves the cursor of arcs."""
    seek(p, le)
    if p[P_STEP] == 0 or p[P_SPILL] != 0 or (events & COUNT) != 1:
        return -1
    event = b + m[b + H_EVENTS] + (events >> 24) * (E_WORDS + m[C_V])
    return call_step(m, p, base, rows, n, begins, le, m[event + E_RE], m[C_M] + 8 * (event + E_WORDS), out, room)


@kernel
def derive(
    m: Any, w: Any, p: Any, b: int, a: Any, base: int, rows: int, n: int, begins: bool, le: int, events: int, rest: int, since: int
) -> int:
    """Write to W_NEW what ``a[rows:][:n]``, the list before a step, becomes by its events; with what begins there, if ``begins``.

    Returns how many rows, or NEED_ROWS, FAULT, ENDLESS.
    """
    if n == 0 and not begins:
        return 0
    count = take_event(m, p, b, base, rows, n, begins, le, events, m[C_W] + 8 * w[W_NEW], w[W_ROWS])
    if count >= 0:
        return int(distinct(m, w, w, w[W_NEW], count, N_REG + m[C_R]))
    if count == -2:
        return NEED_ROWS
    return arc_by_arc(m, w, p, b, a, rows, n, begins, le, events, rest, since)


@kernel
def derive_nodes(
    m: Any, w: Any, p: Any, b: int, rows: int, n: int, begins: bool, le: int, events: int, rest: int, since: int
) -> int:
    """Write behind the nodes of a block what ``m[rows:][:n]``, the list before a step, becomes by its events: for whole lists.

    Returns how many nodes, or NEED_NODES, NEED_ROWS, FAULT, ENDLESS.
    """
    if n == 0 and not begins:
        return 0
    s, top = N_REG + m[C_R], m[b + H_NODE_TOP]
    out, room = b + m[b + H_NODES] + top * s, m[b + H_NODE_CAP] - top
    count = take_event(m, p, b, m[C_M], rows, n, begins, le, events, m[C_M] + 8 * out, room)
    if count >= w[W_ROWS]:  # more than the set of rows has places for
        return NEED_ROWS
    if count >= 0:
        if p[P_IGNORABLE]:  # rows that stay
            for k in range(count):
                m[out + k * s + N_END] = ALONE
        return int(distinct(m, m, w, out, count, s))
    if count == -2:
        return NEED_NODES
    count = arc_by_arc(m, w, p, b, m, rows, n, begins, le, events, rest, since)
    if count > room:
        return NEED_NODES
    if count > 0:
        copy(w, w[W_NEW], m, out, count * s)
    return count


@kernel
def arc_by_arc(
    m: Any, w: Any, p: Any, b: int, a: Any, rows: int, n: int, begins: bool, le: int, events: int, rest: int, since: int
) -> int:
    """Write to W_NEW what `derive` does, for any automaton: each row through each arc that is in force. Returns the same."""
    m[C_GENERAL] += 1
    s = N_REG + m[C_R]
    ready = w[W_READY]
    count = 0
    for k in range(n):
        if a[rows + k * s + N_M] <= le:
            continue
        copy(a, rows + k * s, w, ready, s)
        w[ready + N_END] = ALONE
        sources = 1
        if p[P_TIMEOUT]:
            sources = fire(m, w, p, a, rows + k * s, rest, since, le)
            if sources < 0:
                return int(sources)
            sources = undated(m, w, ready, max(sources, 1))
            seek(p, le)
        count = consume(m, w, p, b, sources, count, le, events, k)
        if count < 0:
            return int(count)
    if begins:
        copy(p, p[P_BEGIN], w, ready, s)
        w[ready + N_START] = le
        w[ready + N_M] = FOREVER
        sources = close(m, w, p, ready, 0, 1, le, False)
        if sources < 0:
            return int(sources)
        count = consume(m, w, p, b, sources, count, le, events, NOWHERE)
        if count < 0:
            return int(count)
    return int(distinct(m, w, w, w[W_NEW], count, s))


@kernel
def consume(m: Any, w: Any, p: Any, b: int, sources: int, count: int, le: int, events: int, k: int) -> int:
    """Add to the ``count`` rows at W_NEW what the ones at W_READY become by any event of the step.

    The first of them is row ``k`` of the list; only that one can stay. Returns how many rows there are then, or a status.
    """
    s, size = N_REG + m[C_R], E_WORDS + m[C_V]
    first = b + m[b + H_EVENTS] + (events >> 24) * size
    for q in range(sources):
        source = w[W_READY] + q * s
        link = p[p[P_FIRST] + w[source + N_STATE]]
        while link >= 0:
            arc = p[P_ROWS] + link * R_SIZE
            link = p[arc + R_NEXT]
            code = p[arc + R_CODE]
            record = p[P_CODES] + code * ARC_SIZE
            if p[record + ARC_KIND] == SKIP and k >= 0:
                count = pass_step(m, w, p, code, q, count, le, first, events & COUNT, k)
                if count < 0:
                    return int(count)
            if p[record + ARC_KIND] != CONSUME:
                continue
            for j in range(events & COUNT):
                event = first + j * size
                if count + 2 >= w[W_ROWS]:
                    return NEED_ROWS
                target = w[W_NEW] + count * s
                m[C_PLACE] = le
                taken = run_arc(
                    m, p, code, m[C_M] + 8 * (event + E_WORDS), m[C_W] + 8 * (source + N_REG), m[C_W] + 8 * (target + N_REG)
                )
                if taken < 0:
                    return FAULT
                if taken == 0:
                    continue
                copy(w, source, w, target, N_REG)
                w[target + N_END] = ALONE
                if k >= 0 and q == 0 and p[record + ARC_IGNORABLE] and m[C_RUNS] and w[source + N_M] <= m[event + E_RE]:
                    w[target + N_END] = k
                else:
                    w[target + N_M] = min(w[source + N_M], m[event + E_RE])
                    w[target + N_STATE] = p[record + ARC_DST]
                count = close(m, w, p, w[W_NEW], count, count + 1, le, True)
                if count < 0:
                    return int(count)
    return int(count)


@kernel
def pass_step(m: Any, w: Any, p: Any, code: int, q: int, count: int, le: int, first: int, events: int, k: int) -> int:
    """Add row ``q`` of W_READY to the ``count`` rows at W_NEW if a skip's fence holds of all events from ``first`` on.

    Its register goes from event to event. As `consume`: the first one of W_READY is row ``k`` of the list, and stays if its
    register is what it was. Returns how many rows there are, or a status.
    """
    if count + 2 >= w[W_ROWS]:
        return NEED_ROWS
    s = N_REG + m[C_R]
    source, target = w[W_READY] + q * s, w[W_NEW] + count * s
    m[C_PLACE] = le
    copy(w, source, w, target, s)
    for j in range(events):
        event = first + j * (E_WORDS + m[C_V])
        copy(w, target + N_REG, w, target + s + N_REG, m[C_R])
        register, out = m[C_W] + 8 * (target + s + N_REG), m[C_W] + 8 * (target + N_REG)
        taken = run_arc(m, p, code, m[C_M] + 8 * (event + E_WORDS), register, out)
        if taken < 0:
            return FAULT
        if taken == 0:
            return count
    same = equal(w, source, w, target, s)
    w[target + N_END] = k if q == 0 and m[C_RUNS] and same else ALONE
    return int(close(m, w, p, w[W_NEW], count, count + 1, le, not same))
