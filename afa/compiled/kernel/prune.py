"""State that no event which can still come is able to touch ([AFA10] App. F.2); see `afa.interpreted.pruning` for the reasons.

    promised: no event that could begin a computation before 40, or continue one in state a before 30

    LE           10      12      20      31               10      12      20      31
    events       e       e       e       e         -->    .       .       e       e        kept where an arc could still take it
    nodes        p (a)   -       -       r (b)     -->    .       .       p       r        p at the last step before 30: what comes
                 until 31                                                                  from 30 on continues the list there
    order        [ 10    12      20      31 ]      -->    [ 20    31 ]                     10 and 12 are stones: no partial match
                                                                                           starts before, passes, or begins there

A block is copied without what promises with conditions have made superfluous; the old one is kept until the call has worked.
H_PRUNED remembers up to which step lists do not follow from the ones before them any more.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.blocks import copy_rows, make, measure
from afa.compiled.kernel.clean import set_deadlines
from afa.compiled.kernel.desk import SWAPPED, held_block, replace
from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.heap import room
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call2, kernel
from afa.compiled.kernel.one_key import settled
from afa.compiled.kernel.order import find_place


@kernel
def prune(m: Any, w: Any, p: Any, c: Any, key: int) -> int:
    """Drop of a key what G_* say that nothing needs. Returns DONE, NEED_PLACES, NEED_UNDO or NEED_HEAP. O(state)."""
    entry = m[C_DIR] + key * D_SIZE
    b = held_block(m, key)
    if b == 0:
        return DONE
    first = m[b + H_FIRST]
    steps, events, nodes, matches = measure(m, b, first)
    if steps and m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + first]] == BEGINNING:
        return DONE  # which H_PRUNED could not tell from none
    spare = steps // 2 + 3
    if steps + spare > w[W_PLACES]:
        return NEED_PLACES
    if not room(w, 3 * SWAPPED):
        return NEED_UNDO
    to = make(m, steps + spare, events + spare, nodes + spare, matches + spare // 4 + 1, m[b + H_PENDING_CAP])
    if to < 0:
        return int(to)
    for name in (H_RUNS, H_SINCE, H_CLEANED, H_PRUNED):
        m[to + name] = m[b + name]
    m[to + H_STEPS] = steps
    copy_events(m, c, b, to)
    copy_nodes(m, w, p, c, b, to)
    copy_rows(m, b, to, m[b + H_PENDING_TOP], H_PENDING, H_PENDING_TOP, Q_WORDS + m[C_V])
    m[to + H_LAST] = m[to + H_THINNED] = drop_stones(m, w, c, to, steps)
    replace(m, w, key, to)
    set_deadlines(m, p, to, key)
    if m[to + H_LAST] == 0 and m[to + H_PENDING_TOP] == 0:
        replace(m, w, key, 0)
        put_deadlines(m, key, FOREVER, FOREVER)
    else:
        settled(m, w, key, to)
    m[entry + D_CHANGED] = m[C_SERIAL]
    return DONE


@kernel
def copy_events(m: Any, c: Any, b: int, to: int) -> None:
    """Copy the steps, with the events that are of use still."""
    order, cap, new = b + HEAD + m[b + H_FIRST], m[b + H_CAP], m[to + H_CAP]
    for j in range(m[to + H_STEPS]):
        i = m[order + j]
        m[to + HEAD + j], m[to + HEAD + ND * new + j] = j, 0
        for column in (LE, SEQ, REACH):
            m[to + HEAD + column * new + j] = m[b + HEAD + column * cap + i]
        m[to + HEAD + MT * new + j] = copy_rows(m, b, to, m[b + HEAD + MT * cap + i], H_MATCHES, H_MATCH_TOP, M_REG + m[C_R])
        le, events = m[b + HEAD + LE * cap + i], m[b + HEAD + EV * cap + i]
        if events & COUNT and useless(m, c, b, le, events):
            m[to + H_PRUNED], events = max(m[to + H_PRUNED], le), 0
        m[to + HEAD + EV * new + j] = copy_rows(m, b, to, events, H_EVENTS, H_EVENT_TOP, E_WORDS + m[C_V])


@kernel
def useless(m: Any, c: Any, b: int, le: int, events: int) -> bool:
    """Return whether nothing that can come before a step leads to an arc that one of its events could take."""
    if le >= c[G_BEGINS, G_ARCS]:
        return False
    for k in range(events >> 24, (events >> 24) + (events & COUNT)):
        event = m[C_M] + 8 * (b + m[b + H_EVENTS] + k * (E_WORDS + m[C_V]) + E_WORDS)
        for arc in range(c[G_BEGINS, G_COUNT]):
            if c[G_USE, arc] <= le and (c[G_TEST, arc] == 0 or call2(c[G_TEST, arc], event, c[G_CONSTANTS, arc]) != 0):
                return False
    return True


@kernel
def copy_nodes(m: Any, w: Any, p: Any, c: Any, b: int, to: int) -> None:
    """Copy the nodes that something can still continue, each to the first step where something can."""
    s, steps, first, cap, new = N_REG + m[C_R], m[to + H_STEPS], m[b + H_FIRST], m[b + H_CAP], m[to + H_CAP]
    lists, tops, nodes = to + HEAD + ND * new, w[W_ORDER], to + m[to + H_NODES]
    for place in range(first, first + steps):
        rows = m[b + HEAD + ND * cap + m[b + HEAD + place]]
        for k in range(rows >> 24, (rows >> 24) + (rows & COUNT)):
            at = first_use(m, p, c, b, place, b + m[b + H_NODES] + k * s)
            if at != place:
                note_pruned(m, b, to, place, at, m[b + m[b + H_NODES] + k * s + N_END])
            if at != NOWHERE:
                m[lists + at - first] += 1
    top = 0
    for j in range(steps):
        count = m[lists + j]
        m[lists + j], w[tops + j] = top << 24 | count if count else 0, nodes + top * s
        top += count
    m[to + H_NODE_TOP] = top
    for place in range(first, first + steps):
        rows = m[b + HEAD + ND * cap + m[b + HEAD + place]]
        for k in range(rows >> 24, (rows >> 24) + (rows & COUNT)):
            row = b + m[b + H_NODES] + k * s
            at = first_use(m, p, c, b, place, row)
            if at == NOWHERE:
                continue
            target, begin = w[tops + at - first], nodes + (m[lists + at - first] >> 24) * s
            w[tops + at - first] = target + s
            copy(m, row, w, w[W_READY], s)
            while target > begin and m[target - s + N_START] > w[w[W_READY] + N_START]:  # INVARIANT: Ordering
                copy(m, target - s, m, target, s)
                target -= s
            copy(w, w[W_READY], m, target, s)


@kernel
def first_use(m: Any, p: Any, c: Any, b: int, place: int, row: int) -> int:
    """Return the first place, from that of a node on, where something can continue it, or where it stands for an open match.

    NOWHERE if the node does not stand there.
    """
    order, times, state = b + HEAD, b + HEAD + LE * m[b + H_CAP], m[row + N_STATE]
    le, final = m[times + m[order + place]], max(m[C_FINAL], m[b + H_CLEANED])
    at = max(find_place(m, b, c[G_IDLE, state], 0) - 1, place)
    if at == place:
        return place
    if p[p[P_FINALS] + state]:
        at = min(at, max(find_place(m, b, final, 0), place))
    elif c[G_BEGINS, G_FINALS]:  # arcs make states final, now and then
        if m[row + N_END] != ALONE:
            return place
        seek(p, le)
        if le >= final and p[p[P_NOW] + state]:
            return place
    if at == place or m[row + N_END] > m[times + m[order + at]]:
        return int(at)
    return NOWHERE


@kernel
def note_pruned(m: Any, b: int, to: int, place: int, at: int, end: int) -> None:
    """Move H_PRUNED to where a node did stand last that stood at a place, until ``end``, and stands at ``at`` now, or NOWHERE."""
    last = place
    if at != NOWHERE:
        last = at - 1
    elif end != ALONE:
        last = max(find_place(m, b, end, 0) - 1, place)
    le = m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + last]]
    m[to + H_PRUNED] = max(m[to + H_PRUNED], le)


@kernel
def drop_stones(m: Any, w: Any, c: Any, to: int, steps: int) -> int:
    """Remove stones that no computation can start before, pass, or begin at. Returns how many steps remain.

    A stone is a step without events and partial matches; see `afa.interpreted.pruning`.
    """
    s, cap, earliest = N_REG + m[C_R], m[to + H_CAP], FOREVER
    times, events, lists = to + HEAD + LE * cap, to + HEAD + EV * cap, to + HEAD + ND * cap
    for j in range(steps - 1, -1, -1):
        w[w[W_ORDER] + j] = earliest  # where the earliest partial match began of those that are stored behind a step
        if m[lists + j] & COUNT:
            earliest = min(earliest, m[to + m[to + H_NODES] + (m[lists + j] >> 24) * s + N_START])
    kept, until, leads_on = 0, ALONE, False
    for j in range(steps):
        le, rows = m[times + j], m[lists + j]
        for k in range(rows >> 24, (rows >> 24) + (rows & COUNT)):
            until = max(until, m[to + m[to + H_NODES] + k * s + N_END])
        stone = m[events + j] & COUNT == 0 and rows & COUNT == 0 and until <= le
        passed = le < m[to + H_CLEANED] or (le <= c[G_BEGINS, G_START] and w[w[W_ORDER] + j] > le)
        if stone and not leads_on and passed:
            continue
        m[to + HEAD + kept] = j
        kept, leads_on = kept + 1, not stone
    return kept
