"""The ways that lead to a match, for its lineage: what leads to each partial match of its runs, step by step; then backward, which
of that leads to the match.

    step        1          2          3            4             groups      (to p, b: from ..), edges: one for each from
    event       a1         b2         b3           c4            1  p  a1    begun
    list        p          p q        p q          p q f         2  q  b2    p
                                                                 3  q  b3    p, q         q rests, too: one more group, without
                                                                 4  f  c4    q            an event
    backward    f at 4 is the match; its group is kept, q is reached; at 3 and 2 the groups of q, at 1 the one of p

Steps that leave all as it is are passed over (`P_UNCHANGED`); else each row of the list before goes through each arc of its state,
and what it becomes is looked up in the step's list. A row that rests while nothing else leads to it makes no group. The list stands
in W_SOURCE, the numbers of its rows and the places where they are stored in the two columns behind it.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.desk import held_block
from afa.compiled.kernel.gaps import linked
from afa.compiled.kernel.lists import FEW, add_to_set, copy, equal, find_in_set, new_set
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call2, call4, kernel
from afa.compiled.kernel.order import find_place
from afa.compiled.kernel.way_names import *


@kernel
def ways(m: Any, w: Any, p: Any, c: Any, key: int) -> int:
    """Find the ways that lead to the match asked for in ``c``. Returns DONE, with Q_TOLD; or NEED_HEAP, NEED_ROWS, NEED_TEMP.

    O(steps from its start on * rows there that began with it). Reads the state only.
    """
    b = held_block(m, key)
    if b < 0:
        return int(b)
    status = NO_MATCH
    if p[P_EPSILON] or p[P_TIMEOUT]:
        status = BY_PYTHON
    elif b:
        status = starts_of(m, w, p, c, b)
    if status == FOUND:
        status = ways_ahead(m, w, p, c, b)
    if status == FOUND:
        keep_alive(c)
        renumber(m, c, b)
    if NO_MATCH >= status >= TOO_SMALL or status == FOUND:
        c[Y_ASKED, Q_TOLD] = status
        return DONE
    return int(status)


# -- where the match ends ----------------------------------------------------------------------------------------------------


@kernel
def first_place(m: Any, b: int, le: int) -> int:
    """Return the first place of an LE or behind it, whatever the sequence."""
    order, times = b + HEAD, b + HEAD + LE * m[b + H_CAP]
    place = find_place(m, b, le, 0)
    while place > m[b + H_FIRST] and m[times + m[order + place - 1]] == le:
        place -= 1
    return int(place)


@kernel
def is_match(p: Any, c: Any, a: Any, row: int) -> bool:
    """Return whether a partial match at a step of the match's LE is the match. *Requires* `seek` to it."""
    if a[row + N_M] != c[Y_ASKED, Q_RE] or p[p[P_NOW] + a[row + N_STATE]] == 0:
        return False
    width = c[Y_ASKED, Q_WIDTH]
    for k in range(c[Y_ASKED, Q_CHOICES]):
        i = 0
        while i < width and a[row + N_REG + i] == c[Y_WANTED, k * width + i]:
            i += 1
        if i == width:
            return True
    return False


@kernel
def starts_of(m: Any, w: Any, p: Any, c: Any, b: int) -> int:
    """Write to W_TEMP, in order, where the runs began that end as the match. Returns FOUND, NO_MATCH, BEFORE, NEED_TEMP."""
    cap, s, le = m[b + H_CAP], N_REG + m[C_R], c[Y_ASKED, Q_LE]
    order, times = b + HEAD, b + HEAD + LE * cap
    seek(p, le)
    c[Y_ASKED, Q_STARTS] = 0
    place = first_place(m, b, le)
    while place < m[b + H_LAST] and m[times + m[order + place]] == le:
        i = m[order + place]
        if m[b + HEAD + EV * cap + i] & COUNT:
            at = first_place(m, b, min(m[b + HEAD + REACH * cap + i], le))
            while at <= place:
                rows = m[b + HEAD + ND * cap + m[order + at]]
                for k in range(rows & COUNT):
                    row = b + m[b + H_NODES] + ((rows >> 24) + k) * s
                    if (at == place or m[row + N_END] > le) and is_match(p, c, m, row) and not add_start(w, c, m[row + N_START]):
                        return NEED_TEMP
                at += 1
        place += 1
    if c[Y_ASKED, Q_STARTS] == 0:
        return NO_MATCH
    return BEFORE if w[w[W_TEMP]] < c[Y_ASKED, Q_SINCE] else FOUND


@kernel
def begins_by(w: Any, c: Any, start: int) -> int:
    """Return how many of the starts come before one. O(log n)."""
    low, high = 0, c[Y_ASKED, Q_STARTS]
    while low < high:
        middle = (low + high) >> 1
        if w[w[W_TEMP] + middle] < start:
            low = middle + 1
        else:
            high = middle
    return int(low)


@kernel
def is_start(w: Any, c: Any, start: int) -> bool:
    """Return whether a run of the match began at an LE."""
    at = begins_by(w, c, start)
    return bool(at < c[Y_ASKED, Q_STARTS] and w[w[W_TEMP] + at] == start)


@kernel
def add_start(w: Any, c: Any, start: int) -> bool:
    """Put a start among the others. Returns whether there is room."""
    if is_start(w, c, start):
        return True
    n, at = c[Y_ASKED, Q_STARTS], begins_by(w, c, start)
    if n >= w[W_TEMP_CAP]:
        return False
    for k in range(n, at, -1):
        w[w[W_TEMP] + k] = w[w[W_TEMP] + k - 1]
    w[w[W_TEMP] + at] = start
    c[Y_ASKED, Q_STARTS] = n + 1
    return True


# -- ahead -------------------------------------------------------------------------------------------------------------------


@kernel
def ways_ahead(m: Any, w: Any, p: Any, c: Any, b: int) -> int:
    """Make the groups and edges of all steps from the first start to the match. Returns FOUND, BY_PYTHON, TOO_SMALL, NEED_ROWS."""
    cap, last_le = m[b + H_CAP], c[Y_ASKED, Q_LE]
    order, times = b + HEAD, b + HEAD + LE * cap
    c[Y_ASKED, Q_NUMBERS] = STANDS
    c[Y_ASKED, Q_GROUPS] = c[Y_ASKED, Q_EDGES] = c[Y_ASKED, Q_ENDS] = 0
    c[Y_ASKED, Q_HASHED] = NOWHERE
    c[Y_ALIVE, BEGUN_ANEW] = 0
    place = first_place(m, b, w[w[W_TEMP]])
    n = 0
    while place < m[b + H_LAST] and m[times + m[order + place]] <= last_le:
        i = m[order + place]
        le = m[times + i]
        seek(p, le)
        if le == last_le or m[b + HEAD + ND * cap + i] & COUNT or not passes(m, w, p, c, b, place, n):
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
    na, n = n, add_stored(m, w, c, b, place, n)
    if n < 0:
        return int(n)
    c[Y_ASKED, Q_MEMO], c[Y_ASKED, Q_FIRST_GROUP] = NOWHERE, c[Y_ASKED, Q_GROUPS]
    bits = unchanged(m, p, b, i) & ~c[Y_ASKED, Q_TAKES]
    for k in range(na):
        row = rows + k * s
        if w[row + N_M] <= le:
            continue
        number = w[number_of(m, w, k)]
        if bits and w[row + N_STATE] < STATES and (bits >> w[row + N_STATE]) & 1 and w[row + N_M] <= first_re(m, b, i):
            c[Y_REST, number] = place
            continue
        status = through_arcs(m, w, p, c, b, place, k, row, na, n)
        if status != FOUND:
            return int(status)
    if is_start(w, c, le):
        begin = w[W_READY]
        copy(p, p[P_BEGIN], w, begin, s)
        w[begin + N_START], w[begin + N_M] = le, FOREVER
        status = through_arcs(m, w, p, c, b, place, NOWHERE, begin, na, n)
        if status != FOUND:
            return int(status)
    return end_step(m, w, p, c, b, place, na, n)


@kernel
def number_of(m: Any, w: Any, k: int) -> int:
    """Return where the number of row ``k`` stands."""
    return int(w[W_SOURCE] + w[W_ROWS] * (N_REG + m[C_R]) + k)


@kernel
def place_of(m: Any, w: Any, k: int) -> int:
    """Return where it is told at which place row ``k`` is stored."""
    return int(w[W_SOURCE] + w[W_ROWS] * (N_REG + m[C_R] + 1) + k)


@kernel
def stand_before(m: Any, w: Any, place: int, before: int, n: int) -> int:
    """Keep of the ``n`` rows those that stand at the place before, whose LE is ``before``. Returns how many."""
    s, rows, kept = N_REG + m[C_R], w[W_SOURCE], 0
    for k in range(n):
        if w[rows + k * s + N_END] <= before and w[place_of(m, w, k)] != place - 1:
            continue
        if kept != k:
            copy(w, rows + k * s, w, rows + kept * s, s)
            w[number_of(m, w, kept)] = w[number_of(m, w, k)]
            w[place_of(m, w, kept)] = w[place_of(m, w, k)]
        kept += 1
    return int(kept)


@kernel
def add_stored(m: Any, w: Any, c: Any, b: int, place: int, n: int) -> int:
    """Add what a step stores of the starts to the ``n`` rows before it. Returns how many there are then, or a status.

    One that stood before, with another end, has its number.
    """
    s, i, rows, na = N_REG + m[C_R], m[b + HEAD + place], w[W_SOURCE], n
    stored = m[b + HEAD + ND * m[b + H_CAP] + i]
    hashed = False
    for k in range(stored & COUNT):
        node = b + m[b + H_NODES] + ((stored >> 24) + k) * s
        if not is_start(w, c, m[node + N_START]):
            continue
        if n + 4 >= w[W_ROWS]:
            return NEED_ROWS
        if c[Y_ASKED, Q_NUMBERS] >= c[Y_ASKED, Q_SIZE]:
            return TOO_SMALL
        row = rows + n * s
        copy(m, node, w, row, s)
        if not hashed and n - na > FEW and na > FEW:
            hashed = True
            new_set(w)
            for j in range(na):
                add_to_set(w, w, rows + j * s, s, 0)
        twin = NOWHERE
        if hashed:
            found = find_in_set(w, w, row, s, 0)
            if found >= 0:
                twin = (found - rows) // s
        else:
            for j in range(na):
                if equal(w, row, w, rows + j * s, s):
                    twin = j
                    break
        w[place_of(m, w, n)] = place
        if twin >= 0:
            w[number_of(m, w, n)] = w[number_of(m, w, twin)]
        else:
            number = c[Y_ASKED, Q_NUMBERS]
            c[Y_ASKED, Q_NUMBERS] = number + 1
            w[number_of(m, w, n)] = number
            c[Y_REST, number] = c[Y_MOVED, number] = NOWHERE
            c[Y_ALIVE, number] = 0
        n += 1
    return int(n)


@kernel
def through_arcs(m: Any, w: Any, p: Any, c: Any, b: int, place: int, k: int, source: int, na: int, n: int) -> int:
    """Note what the row at ``source``, number ``k`` of the list before (NOWHERE: what begins), becomes by the events of a step.

    Returns FOUND, BY_PYTHON, TOO_SMALL.
    """
    s, size, events = N_REG + m[C_R], E_WORDS + m[C_V], m[b + HEAD + EV * m[b + H_CAP] + m[b + HEAD + place]]
    first, target = b + m[b + H_EVENTS] + (events >> 24) * size, w[W_READY] + s
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
            if once and c[Y_FORM, code] & KEEPS and c[Y_SEEN, code] == 2 * place + 1:
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
            if taken and note_way(m, w, c, b, place, k, target, NOWHERE, NOWHERE, na, n) < 0:
                return TOO_SMALL
        if p[record + ARC_KIND] != CONSUME:
            continue
        component = c[Y_COMPONENT, code]
        for j in range(events & COUNT):
            event = first + j * size
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
            if note_way(m, w, c, b, place, k, target, picked, component, na, n) < 0:
                return TOO_SMALL
    return FOUND


@kernel
def call_arc(m: Any, p: Any, record: int, event: int, source: int, target: int) -> int:
    """Run the code of an arc on an event and the register of one row; the new register goes to another. Returns what it says."""
    before, after = m[C_W] + 8 * (source + N_REG), m[C_W] + 8 * (target + N_REG)
    return int(call4(p[record + ARC_CODE], m[C_M] + 8 * (event + E_WORDS), before, after, p[record + ARC_CONSTANTS]))


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
def find_row(m: Any, w: Any, c: Any, b: int, place: int, k: int, target: int, na: int, n: int) -> int:
    """Return which row of a step's list is the one at ``target``; NOWHERE: none is.

    The list: the rows before ``na`` that stand here too, and those from there on, which are stored here.
    """
    s, rows, memo = N_REG + m[C_R], w[W_SOURCE], c[Y_ASKED, Q_MEMO]
    le = m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + place]]
    if memo >= 0 and equal(w, target, w, rows + memo * s, s):
        return int(memo)
    if k >= 0 and w[rows + k * s + N_END] > le and equal(w, target, w, rows + k * s, s):
        return k
    many = n - na > FEW
    if not many:
        for j in range(na, n):
            if equal(w, target, w, rows + j * s, s):
                return int(j)
    if not many and na <= FEW:
        for j in range(na):
            if w[rows + j * s + N_END] > le and equal(w, target, w, rows + j * s, s):
                return int(j)
        return NOWHERE
    if c[Y_ASKED, Q_HASHED] != place:
        c[Y_ASKED, Q_HASHED] = place
        new_set(w)
        for j in range(n):
            if j >= na or w[rows + j * s + N_END] > le:
                add_to_set(w, w, rows + j * s, s, 0)
    found = find_in_set(w, w, target, s, 0)
    return (found - rows) // s if found >= 0 else NOWHERE


@kernel
def end_step(m: Any, w: Any, p: Any, c: Any, b: int, place: int, na: int, n: int) -> int:
    """End a step: what rests and is led to otherwise, too, gets an edge for that; where the match ends is noted.

    Returns how many rows its list has, or BY_PYTHON: nothing leads to a row; TOO_SMALL.
    """
    s, cap, rows = N_REG + m[C_R], m[b + H_CAP], w[W_SOURCE]
    i = m[b + HEAD + place]
    le, events, kept = m[b + HEAD + LE * cap + i], m[b + HEAD + EV * cap + i] & COUNT, 0
    for k in range(n):
        row = rows + k * s
        if k < na and w[row + N_END] <= le:
            continue
        number = w[number_of(m, w, k)]
        if c[Y_MOVED, number] == place:
            if c[Y_REST, number] == place and add_edge(c, place, number, NOWHERE, NOWHERE, number) < 0:
                return TOO_SMALL
        elif c[Y_REST, number] != place:
            return BY_PYTHON
        if le == c[Y_ASKED, Q_LE] and events and is_match(p, c, w, row):
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
    return int(kept)


# -- backward ----------------------------------------------------------------------------------------------------------------


@kernel
def keep_alive(c: Any) -> None:
    """Let Y_NEXT of each group tell whether it leads to the match: 1, else NOWHERE. O(groups + edges)."""
    group, edge, end = c[Y_ASKED, Q_GROUPS], c[Y_ASKED, Q_EDGES], c[Y_ASKED, Q_ENDS]
    while group > 0:
        place = c[Y_PLACE, group - 1]
        while end > 0 and c[Y_LAST, end - 1] >= place:
            end -= 1
            c[Y_ALIVE, c[Y_END, end]] = 1
        first = group
        while first > 0 and c[Y_PLACE, first - 1] == place:
            first -= 1
            c[Y_NEXT, first] = 1 if c[Y_ALIVE, c[Y_TO, first]] else NOWHERE
        for k in range(first, group):
            c[Y_ALIVE, c[Y_TO, k]] = 0
        while edge > 0 and c[Y_IN, edge - 1] >= first:
            edge -= 1
            if c[Y_NEXT, c[Y_IN, edge]] == 1:
                c[Y_ALIVE, c[Y_FROM, edge]] = 1
        group = first


@kernel
def renumber(m: Any, c: Any, b: int) -> None:
    """Drop all groups and edges that do not lead to the match, and number steps and partial matches anew, as they come."""
    for number in range(c[Y_ASKED, Q_NUMBERS]):
        c[Y_MOVED, number] = NOWHERE
    c[Y_MOVED, BEGUN_ANEW] = BEGUN_ANEW
    numbers, steps, groups, edges, place, end = STANDS, 0, 0, 0, NOWHERE, 0
    for group in range(c[Y_ASKED, Q_GROUPS]):
        if c[Y_NEXT, group] < 0:
            continue
        if c[Y_PLACE, group] != place:
            place = c[Y_PLACE, group]
            while end < c[Y_ASKED, Q_ENDS] and c[Y_LAST, end] < place:  # it rests since the step before
                c[Y_LAST, end] = steps - 1
                end += 1
            c[Y_LE, steps] = m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + place]]
            steps += 1
        to = c[Y_TO, group]
        if c[Y_MOVED, to] < 0:
            c[Y_MOVED, to] = numbers
            numbers += 1
        c[Y_PLACE, groups], c[Y_TO, groups] = steps - 1, c[Y_MOVED, to]
        c[Y_EVENT, groups], c[Y_OF, groups] = c[Y_EVENT, group], c[Y_OF, group]
        c[Y_NEXT, group] = groups
        groups += 1
    for edge in range(c[Y_ASKED, Q_EDGES]):
        group = c[Y_NEXT, c[Y_IN, edge]]
        if group >= 0:
            c[Y_IN, edges], c[Y_FROM, edges] = group, c[Y_MOVED, c[Y_FROM, edge]]
            edges += 1
    for k in range(c[Y_ASKED, Q_ENDS]):
        c[Y_END, k] = c[Y_MOVED, c[Y_END, k]]
        if k >= end:
            c[Y_LAST, k] = steps - 1
    c[Y_ASKED, Q_NUMBERS], c[Y_ASKED, Q_STEPS], c[Y_ASKED, Q_GROUPS], c[Y_ASKED, Q_EDGES] = numbers, steps, groups, edges
