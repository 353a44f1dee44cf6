"""The paths that lead to a match, for its lineage: forward, step by step, the edges that lead to each partial match of its runs;
then backward, those edges that lead to the match.

    step        1          2          3            4             groups      (to p, b: from ..), edges: one for each from
    event       a1         b2         b3           c4            1  p  a1    begun
    list        p          p q        p q          p q f         2  q  b2    p
                                                                 3  q  b3    p, q         q rests, too: one more group, without
                                                                 4  f  c4    q            an event
    backward    f at 4 is the match; its group is kept, q is reached; at 3 and 2 the groups of q, at 1 the one of p

Steps that leave all as it is are passed over (`p.unchanged`). Elsewhere each row of the list before goes through each arc of its
state, and the row that it becomes is looked up in the step's list. A row that rests while nothing else leads to it makes no group.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.closure import close, fire, undated
from afa.compiled.kernel.gaps import linked
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy, equal
from afa.compiled.kernel.live_paths import keep_alive, renumber
from afa.compiled.kernel.native_call import call2, call4, kernel
from afa.compiled.kernel.path_ends import first_of, is_end, is_start, last_place, starts_of
from afa.compiled.kernel.path_layout import *
from afa.compiled.kernel.path_rows import add_stored, find_row, number_of, place_of, stand_before, stands
from afa.compiled.kernel.path_sums import sums
from afa.compiled.kernel.unpacked import block_of_key


@kernel
def paths(m: Memory, w: Scratch, p: Program, c: PathRows, key: int) -> int:
    """Find the paths that lead to the match asked for in ``c``. Returns DONE, with PathQuestion.told, or another status.

    O(steps from its start on * rows there that began with it). Reads the state only.
    """
    b = block_of_key(m, key)
    if b < 0:
        return b
    # Where its runs began; groups and edges of all steps from there on; backward, those that lead to the match; sums over them.
    status = NO_MATCH
    if b:
        status = starts_of(m, w, p, c, b)
    if status == FOUND:
        status = paths_ahead(m, w, p, c, b)
    if status == FOUND:
        if c.last[0] != c.last[c.asked.ends - 1]:
            c.asked.apart = 0
        keep_alive(c)
        renumber(m, c, b)
        if c.asked.sum:
            status = sums(m, c)
    if NO_MATCH >= status >= TOO_SMALL or status == FOUND:
        c.asked.told = status
        return DONE
    return status


@kernel
def paths_ahead(m: Memory, w: Scratch, p: Program, c: PathRows, b: Block) -> int:
    """Make the groups and edges of all steps from the first start to the match. Returns FOUND, why not, or a status."""
    last_le = c.asked.le
    order, times = b.order, b.le
    c.asked.numbers = STANDS
    c.asked.groups = c.asked.edges = c.asked.ends = 0
    c.asked.hashed = NOWHERE
    c.alive[BEGUN_ANEW], c.asked.apart = 0, 1
    place, last = first_of(m, w, c, b), last_place(m, p, b, last_le)
    if place < 0:
        return BY_PYTHON
    n = 0
    while place < b.last and times[order[place]] <= last_le:
        i = order[place]
        le = times[i]
        seek(p, le)
        # A step that stores nothing and leaves all rows as they are makes no group.
        if place >= last or b.nodes_of[i].count or not passes(m, w, p, c, b, place, n):
            n = one_step(m, w, p, c, b, place, n)
            if n < 0:
                return n
        place += 1
    return FOUND


@kernel
def unchanged(m: Memory, p: Program, b: Block, i: int) -> int:
    """Return the states, as bits, that the event of a step leaves as they are if it lasts as long; 0: none, or unknown."""
    events = b.events_of[i]
    if p.unchanged == 0 or p.spill or events.count != 1:
        return 0
    event = b + b.events + events.first * (EventRow.payload + m.payload_words)
    return call2(p.unchanged, m.m_at + 8 * (event + EventRow.payload), m.p_at + 8 * p.slots)


@kernel
def first_re(m: Memory, b: Block, i: int) -> int:
    """Return the RE of a step's first event."""
    return EventRow(b + b.events + b.events_of[i].first * (EventRow.payload + m.payload_words)).re


@kernel
def passes(m: Memory, w: Scratch, p: Program, c: PathRows, b: Block, place: int, n: int) -> bool:
    """Return whether a step that stores nothing leaves all rows that stand before it as they are."""
    i, s, rows = b.order[place], NodeRow.register + m.register_words, w.source
    times = b.le
    le, before, bits = times[i], BEGINNING, -1
    if place > b.first:
        before = times[b.order[place - 1]]
    if c.asked.every:  # a run that begins need not be stored: an equal row may stand already
        bits = unchanged(m, p, b, i)
        if bits >> STATES & 1 == 0 or m.gapless:
            return False
        bits &= ~c.asked.takes
    for k in range(n):
        row = NodeRow(w, rows + k * s)
        if row.until <= le or (row.end <= before and w[place_of(m, w, k)] != place - 1):
            continue
        if row.end <= le:  # it may lead to a row that stands already, which is not stored again
            return False
        if bits == -1:
            bits = unchanged(m, p, b, i) & ~c.asked.takes
            if bits == 0 or (m.gapless and not linked(m, b, place)):
                return False
        if row.state >= STATES or bits >> row.state & 1 == 0 or row.until > first_re(m, b, i):
            return False
    return True


@kernel
def one_step(m: Memory, w: Scratch, p: Program, c: PathRows, b: Block, place: int, n: int) -> int:
    """Make the groups of a step from the ``n`` rows at w.source, which become its list. Returns how many it has, or a status."""
    s, rows = NodeRow.register + m.register_words, w.source
    order, times = b.order, b.le
    i = order[place]
    le, before = times[i], BEGINNING
    if place > b.first:
        before = times[order[place - 1]]
    # The list before, then the rows that this step stores.
    n = stand_before(m, w, place, before, n)
    if place > b.first and not linked(m, b, place):
        n = 0
    na = n
    n = add_stored(m, w, c, b, place, n)
    if n < 0:
        return n
    # Each row of the list before: it rests, or goes through the arcs of its state, as do the rows that time-outs make of it.
    c.asked.memo = c.asked.hashed = NOWHERE
    bits = unchanged(m, p, b, i) & ~c.asked.takes
    for k in range(na):
        row = NodeRow(w, rows + k * s)
        if row.until <= le:
            continue
        number = w[number_of(m, w, k)]
        if bits and row.state < STATES and bits >> row.state & 1 and row.until <= first_re(m, b, i):
            c.rest[number] = place
            continue
        copy(w, row, w, w.ready, s)
        sources = 1
        if p.timeout:
            sources = fire(m, w, p, w, row, before, before + 1, le)
            if sources < 0:
                return sources
            sources = undated(m, w, w.ready, max(sources, 1))
            seek(p, le)
        for q in range(sources):
            status = through_arcs(m, w, p, c, b, place, k, q, na, n)
            if status != FOUND:
                return status
    # The computation that begins here.
    if is_start(w, c, le):
        copy(p, p.begin, w, w.ready, s)
        begun = NodeRow(w, w.ready)
        begun.start, begun.until = le, FOREVER
        if c.asked.bounded:
            begun.start, begun.until = 0, c.asked.least
        sources = close(m, w, p, w.ready, 0, 1, le, False)
        if sources < 0:
            return sources
        for q in range(sources):
            status = through_arcs(m, w, p, c, b, place, NOWHERE, q, na, n)
            if status != FOUND:
                return status
    return end_step(m, w, p, c, b, place, n)


@kernel
def through_arcs(m: Memory, w: Scratch, p: Program, c: PathRows, b: Block, place: int, k: int, q: int, na: int, n: int) -> int:
    """Note the paths of row ``k`` of the list before (NOWHERE: of the computation that begins) by the events of a step.

    It goes through the arcs as row ``q`` of w.ready: the first is row ``k`` itself, the others are what time-outs make of it.
    Returns FOUND, BY_PYTHON, TOO_SMALL, or a status.
    """
    s, size, events = NodeRow.register + m.register_words, EventRow.payload + m.payload_words, b.events_of[b.order[place]]
    first, source, target = b + b.events + events.first * size, NodeRow(w, w.ready + q * s), NodeRow(w, w.new)
    if w.rows < 4:
        return NEED_ROWS
    link = p[p.first + source.state]
    while link >= 0:
        arc = ArcRow(p.rows + link * ArcRow.SIZE)
        link = arc.next
        code = arc.code
        record = ArcWords(p.codes + code * ArcWords.SIZE)
        if record.code == 0:
            return BY_PYTHON
        once = events.count == 1 and c.form[code] & BY_EVENT != 0  # then its fence says the same of all rows
        if once and c.seen[code] == 2 * place:
            continue
        # An arc that passes the events over: a row whose register it changes moves, any other rests.
        if record.kind == SKIP and k >= 0:
            keeps = q == 0 and p.epsilon == 0 and c.form[code] & KEEPS != 0
            if once and keeps and c.seen[code] == 2 * place + 1:
                c.rest[w[number_of(m, w, k)]] = place
                continue
            copy(w, source, w, target, s)
            taken, j = 1, 0
            while j < events.count and taken > 0:
                copy(w, target.register, w, target + s + NodeRow.register, m.register_words)
                taken = call_arc(m, p, record, first + j * size, target + s, target)
                j += 1
            if taken < 0:
                return BY_PYTHON
            if once:
                c.seen[code] = 2 * place + taken
            if taken:
                waits = not equal(w, source, w, target, s)
                status = note_paths(m, w, p, c, b, place, k, NOWHERE, NOWHERE, na, n, waits)
                if status < 0:
                    return status
        if record.kind != CONSUME:
            continue
        # An arc that takes one event: one path for each of them.
        component = c.component[code]
        for j in range(events.count):
            event = EventRow(first + j * size)
            if c.asked.bounded and event.re < c.asked.least:
                continue
            taken = call_arc(m, p, record, event, source, target)
            if taken < 0:
                return BY_PYTHON
            if once:
                c.seen[code] = 2 * place + taken
            if taken == 0:
                continue
            target.start, target.until = source.start, min(source.until, event.re)
            target.state = record.dst
            picked = NOWHERE if component < 0 else event
            status = note_paths(m, w, p, c, b, place, k, picked, component, na, n, True)
            if status < 0:
                return status
    return FOUND


@kernel
def call_arc(m: Memory, p: Program, record: ArcWords, event: int, source: int, target: int) -> int:
    """Run an arc's code on an event and the register of ``source``; the new one goes to ``target``. Returns what it says."""
    before, after = m.w_at + 8 * (source + NodeRow.register), m.w_at + 8 * (target + NodeRow.register)
    return call4(record.code, m.m_at + 8 * (event + EventRow.payload), before, after, record.constants)


@kernel
def note_paths(
    m: Memory,
    w: Scratch,
    p: Program,
    c: Any,
    b: Block,
    place: int,
    k: int,
    event: int,
    component: int,
    na: int,
    n: int,
    waits: bool,
) -> int:
    """Note that row ``k`` becomes the row at w.new, and those that `close` makes of that. Returns DONE, TOO_SMALL, or a status."""
    s = NodeRow.register + m.register_words
    count = close(m, w, p, w.new, 0, 1, b.le[b.order[place]], waits)
    for j in range(count):
        status = note_path(m, w, c, b, place, k, w.new + j * s, event, component, na, n)
        if status < 0:
            return status
    return min(count, DONE)


@kernel
def note_path(
    m: Memory, w: Scratch, c: PathRows, b: Block, place: int, k: int, target: int, event: int, component: int, na: int, n: int
) -> int:
    """Note that row ``k`` becomes the row at ``target``, if that is in the step's list. Returns DONE or TOO_SMALL."""
    found = find_row(m, w, c, b, place, k, target, na, n)
    if found < 0:
        return DONE
    c.asked.memo = found
    number, source = w[number_of(m, w, found)], BEGUN_ANEW
    if k >= 0:
        source = w[number_of(m, w, k)]
    if component < 0 and number == source:  # it rests: an edge only if another one leads to it
        c.rest[number] = place
        return DONE
    return add_edge(c, place, number, event, component, source)


@kernel
def add_edge(c: PathRows, place: int, number: int, event: int, component: int, source: int) -> int:
    """Add an edge to the group of a number and a pick. Returns DONE or TOO_SMALL."""
    groups, edges = c.asked.groups, c.asked.edges
    if groups >= c.asked.size or edges >= c.asked.size:
        return TOO_SMALL
    group = c.group[number] if c.moved[number] == place else NOWHERE
    # The group of this pick, among those of the number at this place; else a new one.
    begin = group
    while group >= 0 and (c.event[group] != event or c.component_of_group[group] != component):
        group = c.next[group]
    if group < 0:
        group = groups
        c.place[group], c.target[group], c.event[group], c.component_of_group[group] = place, number, event, component
        c.next[group] = begin
        c.group[number], c.moved[number] = group, place
        c.asked.groups = groups + 1
    c.group_of[edges], c.source[edges] = group, source
    c.asked.edges = edges + 1
    return DONE


@kernel
def end_step(m: Memory, w: Scratch, p: Program, c: PathRows, b: Block, place: int, n: int) -> int:
    """End a step: a row that rests and has edges gets one more for that; the ends of the match are noted.

    Returns how many rows its list has, or BY_PYTHON: nothing leads to a row; TOO_SMALL, or a status.
    """
    s, rows = NodeRow.register + m.register_words, w.source
    i = b.order[place]
    le, last, kept = b.le[i], last_place(m, p, b, c.asked.le), 0
    for k in range(n):
        row = rows + k * s
        if not stands(m, w, k, place, le):
            continue
        number = w[number_of(m, w, k)]
        if c.moved[number] == place:
            if c.rest[number] == place and add_edge(c, place, number, NOWHERE, NOWHERE, number) < 0:
                return TOO_SMALL
        elif c.rest[number] != place:
            return BY_PYTHON
        status = is_end(m, w, p, c, b, place, w, row) if place >= last else 0
        if status < 0:
            return status
        if status:
            at = c.asked.ends
            if at >= c.asked.size:
                return TOO_SMALL
            c.end[at], c.last[at] = number, place
            c.asked.ends = at + 1
        if kept != k:
            copy(w, row, w, rows + kept * s, s)
            w[number_of(m, w, kept)] = number
            w[place_of(m, w, kept)] = w[place_of(m, w, k)]
        kept += 1
    note_rests(c, place)
    return kept


@kernel
def note_rests(c: PathRows, place: int) -> None:
    """Clear PathQuestion.apart if a row that rests, or a run that begins, goes on without a pick as well."""
    edge = c.asked.edges - 1
    while edge >= 0 and c.place[c.group_of[edge]] == place:
        group, source = c.group_of[edge], c.source[edge]
        if c.event[group] < 0 and c.target[group] != source and (source == BEGUN_ANEW or c.rest[source] == place):
            c.asked.apart = 0
        edge -= 1
