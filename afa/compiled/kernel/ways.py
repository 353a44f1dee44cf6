"""The ways that lead to a match, for its lineage: what leads to each partial match of its runs, step by step; then backward, which
of that leads to the match.

    step        1          2          3            4             groups      (to p, b: from ..), edges: one for each from
    event       a1         b2         b3           c4            1  p  a1    begun
    list        p          p q        p q          p q f         2  q  b2    p
                                                                 3  q  b3    p, q         q rests, too: one more group, without
                                                                 4  f  c4    q            an event
    backward    f at 4 is the match; its group is kept, q is reached; at 3 and 2 the groups of q, at 1 the one of p

Steps that leave all as it is are passed over (`P_UNCHANGED`); else each row of the list before goes through each arc of its state,
and what it becomes is looked up in the step's list. A row that rests while nothing else leads to it makes no group.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.closure import close, fire, undated
from afa.compiled.kernel.desk import held_block
from afa.compiled.kernel.gaps import linked
from afa.compiled.kernel.lists import copy, equal
from afa.compiled.kernel.live_ways import keep_alive, renumber
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call2, call4, kernel
from afa.compiled.kernel.way_ends import first_of, is_end, is_start, last_place, starts_of
from afa.compiled.kernel.way_names import *
from afa.compiled.kernel.way_rows import add_stored, find_row, merge_stored, number_of, place_of, stand_before, stands
from afa.compiled.kernel.way_sums import sums


@kernel
def ways(m: Any, w: Any, p: Any, c: Any, key: int) -> int:
    """Find the ways that lead to the match asked for in ``c``. Returns DONE, with Q_TOLD, or another status.

    O(steps from its start on * rows there that began with it). Reads the state only.
    """
    b = held_block(m, key)
    if b < 0:
        return int(b)
    status = NO_MATCH
    if b:
        status = starts_of(m, w, p, c, b)
    if status == FOUND:
        status = ways_ahead(m, w, p, c, b)
    if status == FOUND:
        if c[Y_LAST, 0] != c[Y_LAST, c[Y_ASKED, Q_ENDS] - 1]:
            c[Y_ASKED, Q_APART] = 0
        keep_alive(c)
        renumber(m, c, b)
        if c[Y_ASKED, Q_SUM]:
            status = sums(m, c)
    if NO_MATCH >= status >= TOO_SMALL or status == FOUND:
        c[Y_ASKED, Q_TOLD] = status
        return DONE
    return int(status)


@kernel
def ways_ahead(m: Any, w: Any, p: Any, c: Any, b: int) -> int:
    """Make the groups and edges of all steps from the first start to the match. Returns FOUND, why not, or a status."""
    cap, last_le = m[b + H_CAP], c[Y_ASKED, Q_LE]
    order, times = b + HEAD, b + HEAD + LE * cap
    c[Y_ASKED, Q_NUMBERS] = STANDS
    c[Y_ASKED, Q_GROUPS] = c[Y_ASKED, Q_EDGES] = c[Y_ASKED, Q_ENDS] = 0
    c[Y_ASKED, Q_HASHED] = NOWHERE
    c[Y_ALIVE, BEGUN_ANEW], c[Y_ASKED, Q_APART] = 0, 1
    place, last = first_of(m, w, c, b), last_place(m, p, b, last_le)
    if place < 0:
        return BY_PYTHON
    n = 0
    while place < m[b + H_LAST] and m[times + m[order + place]] <= last_le:
        i = m[order + place]
        le = m[times + i]
        seek(p, le)
        if place >= last or m[b + HEAD + ND * cap + i] & COUNT or not passes(m, w, p, c, b, place, n):
            n = one_step(m, w, p, c, b, place, n)
            if n < 0:
                return int(n)
        place += 1
    return FOUND


@kernel
def unchanged(m: Any, p: Any, b: int, i: int) -> int:
    """Return the states, as bits, that the event of a step leaves as they are if it lasts no less; 0: none, or nobody can tell."""
    events = m[b + HEAD + EV * m[b + H_CAP] + i]
    if p[P_UNCHANGED] == 0 or p[P_SPILL] or (events & COUNT) != 1:
        return 0
    event = b + m[b + H_EVENTS] + (events >> 24) * (E_WORDS + m[C_V])
    return int(call2(p[P_UNCHANGED], m[C_M] + 8 * (event + E_WORDS), m[C_P] + 8 * p[P_SLOTS]))


@kernel
def first_re(m: Any, b: int, i: int) -> int:
    """Return the RE of a step's first event."""
    return int(m[b + m[b + H_EVENTS] + (m[b + HEAD + EV * m[b + H_CAP] + i] >> 24) * (E_WORDS + m[C_V]) + E_RE])


@kernel
def passes(m: Any, w: Any, p: Any, c: Any, b: int, place: int, n: int) -> bool:
    """Return whether a step that stores nothing leaves all rows as they are, those that stand before it."""
    i, s, rows = m[b + HEAD + place], N_REG + m[C_R], w[W_SOURCE]
    times = b + HEAD + LE * m[b + H_CAP]
    le, before, bits = m[times + i], BEGINNING, -1
    if place > m[b + H_FIRST]:
        before = m[times + m[b + HEAD + place - 1]]
    if c[Y_ASKED, Q_EVERY]:  # where a run begins nothing need be stored: another one may stand for it
        bits = unchanged(m, p, b, i)
        if (bits >> STATES) & 1 == 0 or m[C_GAPLESS]:
            return False
        bits &= ~c[Y_ASKED, Q_TAKES]
    for k in range(n):
        row = rows + k * s
        if w[row + N_M] <= le or (w[row + N_END] <= before and w[place_of(m, w, k)] != place - 1):
            continue
        if w[row + N_END] <= le:  # it may lead to one that stands already, which is not stored again
            return False
        if bits == -1:
            bits = unchanged(m, p, b, i) & ~c[Y_ASKED, Q_TAKES]
            if bits == 0 or (m[C_GAPLESS] and not linked(m, b, place)):
                return False
        if w[row + N_STATE] >= STATES or (bits >> w[row + N_STATE]) & 1 == 0 or w[row + N_M] > first_re(m, b, i):
            return False
    return True


@kernel
def one_step(m: Any, w: Any, p: Any, c: Any, b: int, place: int, n: int) -> int:
    """Make the groups of a step from the ``n`` rows at W_SOURCE, which become its list. Returns how many it has, or a status."""
    s, cap, rows = N_REG + m[C_R], m[b + H_CAP], w[W_SOURCE]
    order, times = b + HEAD, b + HEAD + LE * cap
    i = m[order + place]
    le, before = m[times + i], BEGINNING
    if place > m[b + H_FIRST]:
        before = m[times + m[order + place - 1]]
    n = stand_before(m, w, place, before, n)
    if place > m[b + H_FIRST] and not linked(m, b, place):
        n = 0
    na = n
    n = merge_stored(m, w, c, b, place, n) if c[Y_ASKED, Q_BOUNDED] else add_stored(m, w, c, b, place, n)
    if n < 0:
        return int(n)
    c[Y_ASKED, Q_MEMO] = c[Y_ASKED, Q_HASHED] = NOWHERE
    bits = unchanged(m, p, b, i) & ~c[Y_ASKED, Q_TAKES]
    for k in range(na):
        row = rows + k * s
        if w[row + N_M] <= le:
            continue
        number = w[number_of(m, w, k)]
        if bits and w[row + N_STATE] < STATES and (bits >> w[row + N_STATE]) & 1 and w[row + N_M] <= first_re(m, b, i):
            c[Y_REST, number] = place
            continue
        copy(w, row, w, w[W_READY], s)
        sources = 1
        if p[P_TIMEOUT]:
            sources = fire(m, w, p, w, row, before, before + 1, le)
            if sources < 0:
                return int(sources)
            sources = undated(m, w, w[W_READY], max(sources, 1))
            seek(p, le)
        for q in range(sources):
            status = through_arcs(m, w, p, c, b, place, k, q, na, n)
            if status != FOUND:
                return int(status)
    if is_start(w, c, le):
        copy(p, p[P_BEGIN], w, w[W_READY], s)
        w[w[W_READY] + N_START], w[w[W_READY] + N_M] = le, FOREVER
        if c[Y_ASKED, Q_BOUNDED]:
            w[w[W_READY] + N_START], w[w[W_READY] + N_M] = 0, c[Y_ASKED, Q_LEAST]
        sources = close(m, w, p, w[W_READY], 0, 1, le, False)
        if sources < 0:
            return int(sources)
        for q in range(sources):
            status = through_arcs(m, w, p, c, b, place, NOWHERE, q, na, n)
            if status != FOUND:
                return int(status)
    return end_step(m, w, p, c, b, place, na, n)


@kernel
def through_arcs(m: Any, w: Any, p: Any, c: Any, b: int, place: int, k: int, q: int, na: int, n: int) -> int:
    """Note what row ``k`` of the list before (NOWHERE: what begins) becomes by the events of a step: row ``q`` of W_READY.

    The first of those is row ``k`` itself, the others are what time-outs make of it. Returns FOUND, BY_PYTHON, TOO_SMALL, or a
    status.
    """
    s, size, events = N_REG + m[C_R], E_WORDS + m[C_V], m[b + HEAD + EV * m[b + H_CAP] + m[b + HEAD + place]]
    first, source, target = b + m[b + H_EVENTS] + (events >> 24) * size, w[W_READY] + q * s, w[W_NEW]
    if w[W_ROWS] < 4:
        return NEED_ROWS
    link = p[p[P_FIRST] + w[source + N_STATE]]
    while link >= 0:
        arc = p[P_ROWS] + link * R_SIZE
        link = p[arc + R_NEXT]
        code = p[arc + R_CODE]
        record = p[P_CODES] + code * ARC_SIZE
        if p[record + ARC_CODE] == 0:
            return BY_PYTHON
        once = (events & COUNT) == 1 and (c[Y_FORM, code] & BY_EVENT) != 0  # then the fence says of all rows the same
        if once and c[Y_SEEN, code] == 2 * place:
            continue
        if p[record + ARC_KIND] == SKIP and k >= 0:
            keeps = q == 0 and p[P_EPSILON] == 0 and (c[Y_FORM, code] & KEEPS) != 0
            if once and keeps and c[Y_SEEN, code] == 2 * place + 1:
                c[Y_REST, w[number_of(m, w, k)]] = place
                continue
            copy(w, source, w, target, s)
            taken, j = 1, 0
            while j < (events & COUNT) and taken > 0:
                copy(w, target + N_REG, w, target + s + N_REG, m[C_R])
                taken = call_arc(m, p, record, first + j * size, target + s, target)
                j += 1
            if taken < 0:
                return BY_PYTHON
            if once:
                c[Y_SEEN, code] = 2 * place + taken
            if taken:
                waits = not equal(w, source, w, target, s)
                status = note_ways(m, w, p, c, b, place, k, NOWHERE, NOWHERE, na, n, waits)
                if status < 0:
                    return int(status)
        if p[record + ARC_KIND] != CONSUME:
            continue
        component = c[Y_COMPONENT, code]
        for j in range(events & COUNT):
            event = first + j * size
            if c[Y_ASKED, Q_BOUNDED] and m[event + E_RE] < c[Y_ASKED, Q_LEAST]:
                continue
            taken = call_arc(m, p, record, event, source, target)
            if taken < 0:
                return BY_PYTHON
            if once:
                c[Y_SEEN, code] = 2 * place + taken
            if taken == 0:
                continue
            w[target + N_START], w[target + N_M] = w[source + N_START], min(w[source + N_M], m[event + E_RE])
            w[target + N_STATE] = p[record + ARC_DST]
            picked = NOWHERE if component < 0 else event
            status = note_ways(m, w, p, c, b, place, k, picked, component, na, n, True)
            if status < 0:
                return int(status)
    return FOUND


@kernel
def call_arc(m: Any, p: Any, record: int, event: int, source: int, target: int) -> int:
    """Run the code of an arc on an event and the register of one row; the new register goes to another. Returns what it says."""
    before, after = m[C_W] + 8 * (source + N_REG), m[C_W] + 8 * (target + N_REG)
    return int(call4(p[record + ARC_CODE], m[C_M] + 8 * (event + E_WORDS), before, after, p[record + ARC_CONSTANTS]))


@kernel
def note_ways(
    m: Any, w: Any, p: Any, c: Any, b: int, place: int, k: int, event: int, component: int, na: int, n: int, waits: bool
) -> int:
    """Note that row ``k`` becomes the row at W_NEW, and what `close` makes of that. Returns DONE, TOO_SMALL, or a status."""
    s = N_REG + m[C_R]
    count = close(m, w, p, w[W_NEW], 0, 1, m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + place]], waits)
    for j in range(count):
        status = note_way(m, w, c, b, place, k, w[W_NEW] + j * s, event, component, na, n)
        if status < 0:
            return int(status)
    return int(min(count, DONE))


@kernel
def note_way(m: Any, w: Any, c: Any, b: int, place: int, k: int, target: int, event: int, component: int, na: int, n: int) -> int:
    """Note that row ``k`` becomes the row at ``target``, if that is in the step's list. Returns DONE or TOO_SMALL."""
    found = find_row(m, w, c, b, place, k, target, na, n)
    if found < 0:
        return DONE
    c[Y_ASKED, Q_MEMO] = found
    number, source = w[number_of(m, w, found)], BEGUN_ANEW
    if k >= 0:
        source = w[number_of(m, w, k)]
    if component < 0 and number == source:
        c[Y_REST, number] = place
        return DONE
    return int(add_edge(c, place, number, event, component, source))


@kernel
def add_edge(c: Any, place: int, number: int, event: int, component: int, source: int) -> int:
    """Add an edge to the group of a number and a pick. Returns DONE or TOO_SMALL."""
    groups, edges = c[Y_ASKED, Q_GROUPS], c[Y_ASKED, Q_EDGES]
    if groups >= c[Y_ASKED, Q_SIZE] or edges >= c[Y_ASKED, Q_SIZE]:
        return TOO_SMALL
    group = c[Y_GROUP, number] if c[Y_MOVED, number] == place else NOWHERE
    begin = group
    while group >= 0 and (c[Y_EVENT, group] != event or c[Y_OF, group] != component):
        group = c[Y_NEXT, group]
    if group < 0:
        group = groups
        c[Y_PLACE, group], c[Y_TO, group], c[Y_EVENT, group], c[Y_OF, group] = place, number, event, component
        c[Y_NEXT, group] = begin
        c[Y_GROUP, number], c[Y_MOVED, number] = group, place
        c[Y_ASKED, Q_GROUPS] = groups + 1
    c[Y_IN, edges], c[Y_FROM, edges] = group, source
    c[Y_ASKED, Q_EDGES] = edges + 1
    return DONE


@kernel
def end_step(m: Any, w: Any, p: Any, c: Any, b: int, place: int, na: int, n: int) -> int:
    """End a step: what rests and is led to otherwise, too, gets an edge for that; where the match ends is noted.

    Returns how many rows its list has, or BY_PYTHON: nothing leads to a row; TOO_SMALL, or a status.
    """
    s, cap, rows = N_REG + m[C_R], m[b + H_CAP], w[W_SOURCE]
    i = m[b + HEAD + place]
    le, last, kept = m[b + HEAD + LE * cap + i], last_place(m, p, b, c[Y_ASKED, Q_LE]), 0
    for k in range(n):
        row = rows + k * s
        if not stands(m, w, k, place, le):
            continue
        number = w[number_of(m, w, k)]
        if c[Y_MOVED, number] == place:
            if c[Y_REST, number] == place and add_edge(c, place, number, NOWHERE, NOWHERE, number) < 0:
                return TOO_SMALL
        elif c[Y_REST, number] != place:
            return BY_PYTHON
        status = is_end(m, w, p, c, b, place, w, row) if place >= last else 0
        if status < 0:
            return int(status)
        if status:
            at = c[Y_ASKED, Q_ENDS]
            if at >= c[Y_ASKED, Q_SIZE]:
                return TOO_SMALL
            c[Y_END, at], c[Y_LAST, at] = number, place
            c[Y_ASKED, Q_ENDS] = at + 1
        if kept != k:
            copy(w, row, w, rows + kept * s, s)
            w[number_of(m, w, kept)] = number
            w[place_of(m, w, kept)] = w[place_of(m, w, k)]
        kept += 1
    note_rests(c, place)
    return int(kept)


@kernel
def note_rests(c: Any, place: int) -> None:
    """Clear Q_APART if something goes on without a pick at a step where it rests as well, or before a run begins."""
    edge = c[Y_ASKED, Q_EDGES] - 1
    while edge >= 0 and c[Y_PLACE, c[Y_IN, edge]] == place:
        group, source = c[Y_IN, edge], c[Y_FROM, edge]
        if c[Y_EVENT, group] < 0 and c[Y_TO, group] != source and (source == BEGUN_ANEW or c[Y_REST, source] == place):
            c[Y_ASKED, Q_APART] = 0
        edge -= 1
