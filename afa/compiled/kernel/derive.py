"""MakeTransitions of [AFA10] Algorithm 1: derive the list of a step from the list before it.

    list before, by start      event at 12, RE 72            list of the step
    (10, 70, a, 1.0)      --   arc a -> b holds       -->    (10, 70, b, 1.5)
    (11, 15, a, 2.0)      --   arc a -> a, ignorable  -->    (11, 15, a, 2.0)   `end`: number of its row, it may go on as a run
    (11, 90, a, 2.0)      --   skip in a, of all      -->    (11, 90, a, 2.0)   the same, whatever RE the events have
    (11, 12, a, 0.0)      --   its lifetime is over
    a computation begins  --   arc s -> a holds       -->    (12, 72, a, 0.0)

The smallest RE is the new ``m``. A partial match found twice is kept once, and the list stays sorted by start.

`arc_by_arc` serves every automaton. Where the automaton has a step function (no epsilon arcs, no time-outs) and the step has one
event, that function derives the whole list. `derive` writes to the buffer w.new, `derive_nodes` behind the nodes of the block.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import run_arc, seek
from afa.compiled.kernel.closure import close, fire, undated
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy, equal
from afa.compiled.kernel.longest_rows import distinct
from afa.compiled.kernel.native_call import call9, kernel


@kernel
def call_step(
    m: Memory, p: Program, base: int, rows: int, n: int, begins: bool, le: int, re: int, event: int, out: int, room: int
) -> int:
    """Call the automaton's step function with ``n`` rows and the computation that begins.

    ``base``: address of the array in which the rows stand; ``event`` and ``out`` are addresses, too. A row that stays unchanged has
    the number of its source in place of ``end`` (App. D). Returns how many rows there are at ``out``, or BY_ARCS, NO_ROOM.
    """
    begin = NodeRow(p, p.begin)
    begin.start = le
    begin.until = FOREVER if begins else BEGINNING
    slots = m.p_at + 8 * p.slots
    return call9(p.step, event, re, le, base + 8 * rows, n, m.p_at + 8 * begin, out, room, slots)


@kernel
def take_event(
    m: Memory, p: Program, b: Block, base: int, rows: int, n: int, begins: bool, le: int, events: Slice, out: int, room: int
) -> int:
    """Call the step function with the event of a step; BY_ARCS also where it has several. Moves the cursor of arcs."""
    seek(p, le)
    if p.step == 0 or p.spill != 0 or events.count != 1:
        return BY_ARCS
    event = EventRow(b + b.events + events.first * (EventRow.payload + m.payload_words))
    return call_step(m, p, base, rows, n, begins, le, event.re, m.m_at + 8 * event.payload, out, room)


@kernel
def derive(m: Memory, w: Scratch, p: Program, b: Block, n: int, begins: bool, le: int, events: Slice, last: int, since: int) -> int:
    """Derive a step's list into w.new from the ``n`` rows at w.source, the list before it; with what begins there, if ``begins``.

    ``last``: LE of the step before; ``since``: from when its time-outs may fire. Returns how many rows, or a status: NEED_ROWS,
    FAULT, ENDLESS.
    """
    if n == 0 and not begins:
        return 0
    m.looks += n
    count = take_event(m, p, b, m.w_at, w.source, n, begins, le, events, m.w_at + 8 * w.new, w.rows)
    if count >= 0:
        return distinct(m, w, w, w.new, count, NodeRow.register + m.register_words)
    if count == NO_ROOM:
        return NEED_ROWS
    return arc_by_arc(m, w, p, b, w, w.source, n, begins, le, events, last, since)


@kernel
def derive_nodes(
    m: Memory, w: Scratch, p: Program, b: Block, rows: int, n: int, begins: bool, le: int, events: Slice, last: int, since: int
) -> int:
    """Derive a step's list behind the nodes of a block from ``m[rows:][:n]``, the list before it: for whole lists.

    Returns how many nodes, or NEED_NODES, NEED_ROWS, FAULT, ENDLESS.
    """
    if n == 0 and not begins:
        return 0
    m.looks += n
    s, top = NodeRow.register + m.register_words, b.node_top
    # The step function writes where the nodes are to stand. INVARIANT: behind b.node_top, where no step points yet.
    out, room = b + b.nodes + top * s, b.node_cap - top
    count = take_event(m, p, b, m.m_at, rows, n, begins, le, events, m.m_at + 8 * out, room)
    if count >= w.rows:  # the set of rows has fewer places
        return NEED_ROWS
    if count >= 0:
        return distinct(m, m, w, out, count, s)
    if count == NO_ROOM:
        return NEED_NODES
    # Else arc by arc, by way of w.new.
    count = arc_by_arc(m, w, p, b, m, rows, n, begins, le, events, last, since)
    if count > room:
        return NEED_NODES
    if count > 0:
        copy(w, w.new, m, out, count * s)
    return count


@kernel
def arc_by_arc(
    m: Memory,
    w: Scratch,
    p: Program,
    b: Block,
    a: Any,
    rows: int,
    n: int,
    begins: bool,
    le: int,
    events: Slice,
    last: int,
    since: int,
) -> int:
    """Derive a step's list into w.new from ``a[rows:][:n]``, for any automaton: each row through each arc in force. As `derive`."""
    m.general += 1
    s = NodeRow.register + m.register_words
    ready = NodeRow(w, w.ready)
    count = 0
    for k in range(n):
        row = NodeRow(a, rows + k * s)
        if row.until <= le:  # its lifetime is over
            continue
        # What may take the event: the row, and the rows that time-outs have made of it since.
        copy(a, row, w, ready, s)
        ready.end = ALONE
        sources = 1
        if p.timeout:
            sources = fire(m, w, p, a, row, last, since, le)
            if sources < 0:
                return sources
            sources = undated(m, w, ready, max(sources, 1))
            seek(p, le)
        count = consume(m, w, p, b, sources, count, le, events, k)
        if count < 0:
            return count
    if begins:  # a computation in the start state, last: rows stand by start
        copy(p, p.begin, w, ready, s)
        ready.start = le
        ready.until = FOREVER
        sources = close(m, w, p, ready, 0, 1, le, False)
        if sources < 0:
            return sources
        count = consume(m, w, p, b, sources, count, le, events, NOWHERE)
        if count < 0:
            return count
    return distinct(m, w, w, w.new, count, s)


@kernel
def consume(m: Memory, w: Scratch, p: Program, b: Block, sources: int, count: int, le: int, events: Slice, k: int) -> int:
    """Add to the ``count`` rows at w.new all rows that an event of the step makes of the ``sources`` rows at w.ready.

    The first of them is row ``k`` of the list; only that one can stay unchanged. Returns how many rows there are then, or a status.
    """
    s, size = NodeRow.register + m.register_words, EventRow.payload + m.payload_words
    first = b + b.events + events.first * size
    for q in range(sources):
        source = NodeRow(w, w.ready + q * s)
        link = p[p.first + source.state]
        while link >= 0:
            arc = ArcRow(p.rows + link * ArcRow.SIZE)
            link = arc.next
            code = arc.code
            record = ArcWords(p.codes + code * ArcWords.SIZE)
            if record.kind == SKIP and k >= 0:  # a skip passes all events of the step, once
                count = pass_step(m, w, p, code, q, count, le, first, events.count, k)
                if count < 0:
                    return count
            if record.kind != CONSUME:
                continue
            for j in range(events.count):  # another arc takes any one of them
                event = EventRow(first + j * size)
                if count + 2 >= w.rows:
                    return NEED_ROWS
                target = NodeRow(w, w.new + count * s)
                m.instant = le
                taken = run_arc(m, p, code, m.m_at + 8 * event.payload, m.w_at + 8 * source.register, m.w_at + 8 * target.register)
                if taken < 0:
                    return FAULT
                if taken == 0:
                    continue
                # The row stays (App. D), or moves on with the smaller RE.
                copy(w, source, w, target, NodeRow.register)
                target.end = ALONE
                if k >= 0 and q == 0 and record.ignorable and p.ignorable and source.until <= event.re:
                    target.end = k
                else:
                    target.until = min(source.until, event.re)
                    target.state = record.dst
                count = close(m, w, p, w.new, count, count + 1, le, True)
                if count < 0:
                    return count
    return count


@kernel
def pass_step(m: Memory, w: Scratch, p: Program, code: int, q: int, count: int, le: int, first: int, events: int, k: int) -> int:
    """Add row ``q`` of w.ready to the ``count`` rows at w.new if a skip's fence holds of all events from ``first`` on.

    The register goes from event to event. As in `consume`, row 0 of w.ready is row ``k`` of the list: it stays if its register is
    unchanged. Returns how many rows there are then, or a status.
    """
    if count + 2 >= w.rows:
        return NEED_ROWS
    s = NodeRow.register + m.register_words
    source, target = w.ready + q * s, NodeRow(w, w.new + count * s)
    m.instant = le
    copy(w, source, w, target, s)
    for j in range(events):
        event = first + j * (EventRow.payload + m.payload_words)
        copy(w, target.register, w, target + s + NodeRow.register, m.register_words)
        register, out = m.w_at + 8 * (target + s + NodeRow.register), m.w_at + 8 * target.register
        taken = run_arc(m, p, code, m.m_at + 8 * (event + EventRow.payload), register, out)
        if taken < 0:
            return FAULT
        if taken == 0:
            return count
    same = equal(w, source, w, target, s)
    target.end = k if q == 0 and p.ignorable and same else ALONE
    return close(m, w, p, w.new, count, count + 1, le, not same)
