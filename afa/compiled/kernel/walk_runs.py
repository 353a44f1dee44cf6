"""The walk over marked steps with ignorable runs: the itree of [AFA10] App. D in arrays.

A partial match that takes an ignorable arc stays the node that it is; the node's ``end`` says until when it stands:

    node of step 10, ignorable events at 11, 12, 14          LE    10    11    12    14    15
                                                             list   p     p     p     p
    end = OPEN while it goes on, 15 once it does not         node   p

The list of a step is thus its own nodes and the earlier ones that reach it; ``reach`` says how far back to look. While the walk
goes on, three lists are at hand in row buffers, with the number of its node in place of ``end``, and two columns behind the rows:

    W_SOURCE   the list before the step, as it is now
    W_OLD      the list before the step, as it was; where both are the same the walk is over
    W_OTHER    the list of the step, as it becomes W_SOURCE of the next one

An event that leaves all of them as they are, which the automaton's ``unchanged`` function sees, costs O(1): nothing is derived.

Why a block may also keep whole lists, each step its own (`walk_lists`), and `form_fits` chooses: `python -m bench --only ignorable`
has both. With runs everywhere, Q1 with ignorable arcs takes in events that are not ignored at 0.87 to 0.98 of the rate (0.9 in the
median of six orders and patterns), and at 0.9 still where 20 % are ignored and half of all are late; the words held are the same.
With whole lists everywhere it holds 6 times the words where 90 % are ignored, at 0.78 to 0.96 of the rate.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.best_replay import last_before, may_replay, replay
from afa.compiled.kernel.buffers import advance_old, copy_row, find_row, load_list, since_of, sorted_rows
from afa.compiled.kernel.derive import derive
from afa.compiled.kernel.heap import put, room
from afa.compiled.kernel.lists import copy, count_until, equal, same_list
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call2, kernel
from afa.compiled.kernel.step import complete, derive_matches, is_cover, marked, over, store_nodes, waits_since

FAR_BACK = 32
"""A list with a partial match that was stored so many steps before is one that most events leave as it is in part."""


@kernel
def summarize(m: Any, w: Any, p: Any, b: int, n: int) -> int:
    """Set W_LOW to W_SOONEST for the ``n`` rows at W_SOURCE.

    Returns their states as bits; BUSY where `leaves_list` can't tell of this list.
    """
    if p[P_UNCHANGED] == 0 or p[P_TIMEOUT]:
        return BUSY
    s, rows = N_REG + m[C_R], w[W_SOURCE]
    states, low, high, reach, soonest = 0, FOREVER, BEGINNING, FOREVER, FOREVER
    for k in range(n):
        row = rows + k * s
        state = w[row + N_STATE]
        if state >= STATES or p[p[P_NOW] + state]:
            return BUSY
        states |= 1 << state
        low, high = min(low, w[row + N_M]), max(high, w[row + N_M])
        reach = min(reach, w[since_of(w, rows, k, s)])
        soonest = min(soonest, m[b + m[b + H_NODES] + w[row + N_END] * s + N_END])
    w[W_LOW], w[W_HIGH], w[W_REACH], w[W_SOONEST] = low, high, reach, soonest
    return states


@kernel
def leaves_list(m: Any, w: Any, p: Any, b: int, events: int, le: int, states: int) -> bool:
    """Return whether an event leaves the list at W_SOURCE as it is and begins nothing. O(arcs), whatever the list."""
    seek(p, le)
    if p[P_SPILL] or (events & COUNT) != 1 or le >= w[W_LOW]:
        return False
    event = b + m[b + H_EVENTS] + (events >> 24) * (E_WORDS + m[C_V])
    if m[event + E_RE] < w[W_HIGH]:
        return False
    bits = call2(p[P_UNCHANGED], m[C_M] + 8 * (event + E_WORDS), m[C_P] + 8 * p[P_SLOTS])
    return bool((bits >> STATES) & 1 and (bits & states) == states)


@kernel
def walk_runs(m: Any, w: Any, p: Any, b: int, place: int) -> int:
    """Derive lists from a marked place on, until they are what they were. Returns the place where they are, or a status."""
    s, cap = N_REG + m[C_R], m[b + H_CAP]
    order, times = b + HEAD, b + HEAD + LE * cap
    last = m[b + H_LAST]
    n = before = load_both(m, w, b, place)
    if n < 0:
        return n
    rest = waits = 0
    passed = BEGINNING  # the LE of the last step behind us that was there before: what ended by then is not in the list as it was
    if place > m[b + H_FIRST]:
        rest, waits = m[times + m[order + place - 1]], waits_since(m, b, place - 1)
        passed = rest
    states = summarize(m, w, p, b, n)
    bound = cut = BEGINNING  # see `walk`
    wait = m[C_SOON]
    ahead = place + wait if may_replay(m, p) else FOREVER
    while place < last:
        if place >= ahead:
            begun = place
            place, n, before, over = replay(m, w, p, b, place, n, before)
            if place < 0 or place == last:
                return int(place)
            if over:
                return take_over_ends(m, w, b, place, n, before)
            wait = m[C_SOON] if place > begun + m[C_SOON] else 2 * wait
            ahead = place + wait
            rest, waits, states = m[times + m[order + place - 1]], waits_since(m, b, place - 1), summarize(m, w, p, b, n)
            passed = last_before(m, w, b, place)
        i = m[order + place]
        le, events = m[times + i], m[b + HEAD + EV * cap + i]
        new, here = i >= w[W_MADE], marked(w, place)
        whole = new or complete(m, w, b, place)
        if not room(w, 64 + 8 * n):
            return NEED_UNDO
        if whole and not here and passed >= w[W_UNTIL] and same_list(w, w[W_SOURCE], n, w, w[W_OLD], before, s):
            return take_over_ends(m, w, b, place, n, before)
        if not whole and not here and (n == 0 or w[w[W_SOURCE] + N_START] > bound):
            further = next_touched(m, w, b, place, bound)
            if further > place and same_list(w, w[W_SOURCE], n, w, w[W_OLD], before, s):
                if take_over_ends(m, w, b, place, n, before) < 0:
                    return NEED_UNDO
                place = further
                n = before = load_both(m, w, b, place)
                if n < 0:
                    return n
                rest, waits, states = m[times + m[order + place - 1]], waits_since(m, b, place - 1), summarize(m, w, p, b, n)
                passed = rest
                continue
        if not new:
            before = advance_old(m, w, b, i, le, before)
            if before < 0:
                return before
        if here:
            bound, cut = le, le if whole else cut
        derived = True
        if events & COUNT == 0 and is_cover(m, b, i):  # it keeps its list; marked because of its time-outs
            n = load_list(m, w, b, place, w[W_SOURCE])
        elif not whole:
            n = store_derived(m, w, b, i, n, derive_pruned(m, w, p, b, i, n, before, here, bound, cut, rest, waits), le)
            if n >= 0:
                extend_as_before(m, w, b, n, before, cut, le)
                if same_list(w, w[W_SOURCE], n, w, w[W_OLD], before, s):
                    bound = cut  # nothing was added that goes on
        elif states != BUSY and leaves_list(m, w, p, b, events, le, states):
            derived = False
            if w[W_SOONEST] <= le:
                w[W_SOONEST] = extend_all(m, w, b, n, le)
            store_nodes(m, w, b, i, 0, min(le, w[W_REACH]) if n else le)
        else:
            n = store_derived(m, w, b, i, n, derive(m, w, p, b, w, m[C_W], w[W_SOURCE], n, True, le, events, rest, waits), le)
        if n < 0:
            return n
        if derived:
            states = summarize(m, w, p, b, n)
        if derived or m[b + HEAD + MT * cap + i]:
            status = derive_matches(m, w, p, b, place, w, w[W_SOURCE], n)
            if status < 0:
                return status
        rest, waits = le, waits_since(m, b, place)
        passed = passed if new else le
        place += 1
    return int(place)


@kernel
def load_both(m: Any, w: Any, b: int, place: int) -> int:
    """Read the list before a place into W_SOURCE and W_OLD. Returns how many rows, or NEED_ROWS."""
    if place == m[b + H_FIRST]:
        return 0
    n = load_list(m, w, b, place - 1, w[W_SOURCE])
    for k in range(n):
        copy_row(w, w[W_SOURCE], k, w[W_OLD], k, N_REG + m[C_R])
    return n


@kernel
def next_touched(m: Any, w: Any, b: int, place: int, bound: int) -> int:
    """Return the first place, from one on, that is marked, or complete, or whose list begins at or before ``bound``."""
    s, cap = N_REG + m[C_R], m[b + H_CAP]
    while place < m[b + H_LAST] and not marked(w, place) and not complete(m, w, b, place):
        rows = m[b + HEAD + ND * cap + m[b + HEAD + place]]
        if rows & COUNT and m[b + m[b + H_NODES] + (rows >> 24) * s + N_START] <= bound:
            break
        place += 1
    return place


@kernel
def derive_pruned(
    m: Any, w: Any, p: Any, b: int, i: int, n: int, before: int, here: bool, bound: int, cut: int, rest: int, waits: int
) -> int:
    """Write to W_NEW the list of a step that the list before it does not give.

    That is what the first rows of W_SOURCE become, and what began after ``cut`` among the ``before`` rows of W_OLD, its list as it
    was. Returns how many rows, or NEED_ROWS, FAULT, ENDLESS.
    """
    s, cap = N_REG + m[C_R], m[b + H_CAP]
    le, events = m[b + HEAD + LE * cap + i], m[b + HEAD + EV * cap + i]
    first = n if here else count_until(w, w[W_SOURCE], n, s, bound)
    made = derive(m, w, p, b, w, m[C_W], w[W_SOURCE], first, here, le, events, rest, waits) if events & COUNT else 0
    if made < 0:
        return int(made)
    count, new, old = made, w[W_NEW], w[W_OLD]
    for k in range(before):
        row = old + k * s
        if w[row + N_START] <= cut or find_row(w, new, made, row, s) >= 0:
            continue
        if count + 2 >= w[W_ROWS]:
            return NEED_ROWS
        copy(w, row, w, new + count * s, s)
        stays = find_row(w, w[W_SOURCE], n, row, s) if w[since_of(w, old, k, s)] < le else NOWHERE
        w[new + count * s + N_END] = stays if stays >= 0 else ALONE
        count += 1
    return sorted_rows(w, new, count, s)


@kernel
def extend_as_before(m: Any, w: Any, b: int, n: int, before: int, cut: int, le: int) -> None:
    """Extend the nodes that `store_derived` made for rows that are at W_OLD too: as far as those reached."""
    s, rows, old = N_REG + m[C_R], w[W_SOURCE], w[W_OLD]
    for k in range(n):
        row = rows + k * s
        if w[since_of(w, rows, k, s)] != le or w[row + N_START] <= cut:
            continue
        was = find_row(w, old, before, row, s)
        if was >= 0 and w[since_of(w, old, was, s) + w[W_ROWS]] > le:
            m[b + m[b + H_NODES] + w[row + N_END] * s + N_END] = w[since_of(w, old, was, s) + w[W_ROWS]]


@kernel
def extend_all(m: Any, w: Any, b: int, n: int, le: int) -> int:
    """Extend all nodes of W_SOURCE to ``le``. Returns the first end among them then. *Requires* `room` for 3 a row."""
    s = N_REG + m[C_R]
    soonest = FOREVER
    for k in range(n):
        soonest = min(soonest, extend(m, w, b, w[w[W_SOURCE] + k * s + N_END], le))
    return soonest


@kernel
def extend(m: Any, w: Any, b: int, node: int, le: int) -> int:
    """Extend a node to ``le``. Returns its end: OPEN until it does not go on (App. D, "Avoiding frequent itree updates")."""
    end = b + m[b + H_NODES] + node * (N_REG + m[C_R]) + N_END
    if m[end] <= le:
        put(m, w, end, OPEN)
    return int(m[end])


@kernel
def store_derived(m: Any, w: Any, b: int, i: int, n: int, count: int, le: int) -> int:
    """Store the ``count`` rows at W_NEW of a step: new ones become its nodes, nodes that stay are extended, others are ended.

    W_SOURCE becomes the list of the step. Returns how many rows it has, NEED_NODES, NEED_ROWS, OVER; or ``count``, a status.
    """
    if count < 0:
        return count
    s = N_REG + m[C_R]
    new, source, other, top = w[W_NEW], w[W_SOURCE], w[W_OTHER], m[b + H_NODE_TOP]
    if top + count > m[b + H_NODE_CAP]:
        return NEED_NODES
    if count >= w[W_ROWS]:
        return NEED_ROWS
    if count > w[W_BUDGET]:
        return over(w, le, count, new, False)
    made, reach, passed = 0, le, 0
    for k in range(count):
        row, target = new + k * s, other + k * s
        q = w[row + N_END]
        if q >= 0:  # all rows of the source before it that have not come up did not stay
            end_runs(m, w, b, source, passed, q, le)
            passed = max(passed, q + 1)
            node, begin = w[source + q * s + N_END], w[since_of(w, source, q, s)]
            extend(m, w, b, node, le)
        else:
            node, begin = top + made, le
            copy(w, row, m, b + m[b + H_NODES] + node * s, s)
            made += 1
        copy(w, row, w, target, s)
        w[target + N_END] = node
        column = since_of(w, other, k, s)
        w[column] = begin
        w[column + w[W_ROWS]] = ALONE
        reach = min(reach, begin)
    end_runs(m, w, b, source, passed, n, le)
    w[W_SOURCE], w[W_OTHER] = other, source
    store_nodes(m, w, b, i, top << 24 | made if made else 0, reach)
    return count


@kernel
def end_runs(m: Any, w: Any, b: int, source: int, low: int, high: int, le: int) -> None:
    """End the nodes of rows ``low`` to ``high`` of a buffer at ``le``. *Requires* `room` for 3 a row."""
    s = N_REG + m[C_R]
    for k in range(low, high):
        end = b + m[b + H_NODES] + w[source + k * s + N_END] * s + N_END
        if m[end] > le:
            put(m, w, end, le)


@kernel
def take_over_ends(m: Any, w: Any, b: int, place: int, n: int, before: int) -> int:
    """Stop the walk here: from this place on lists are unchanged, so the new nodes take over the end times of the old ones.

    Returns the place, or NEED_UNDO.
    """
    s, cap = N_REG + m[C_R], m[b + H_CAP]
    order, times, reaches = b + HEAD, b + HEAD + LE * cap, b + HEAD + REACH * cap
    source, old = w[W_SOURCE], w[W_OLD]
    le, last = m[times + m[order + place]], m[b + H_LAST]
    for k in range(n):
        twin = k
        if not equal(w, source + k * s, w, old + k * s, s):
            twin = 0
            while not equal(w, source + k * s, w, old + twin * s, s):
                twin += 1
        begin, was = w[since_of(w, source, k, s)], w[since_of(w, old, twin, s)]
        until = w[since_of(w, old, twin, s) + w[W_ROWS]]
        end = b + m[b + H_NODES] + w[source + k * s + N_END] * s + N_END
        if until <= le:
            if m[end] > le:
                put(m, w, end, le)
            continue
        if m[end] != until:
            put(m, w, end, until)
        at = place
        while begin < was and at < last and m[times + m[order + at]] < until:
            if m[reaches + m[order + at]] > begin:
                if not room(w, 64):
                    return NEED_UNDO
                put(m, w, reaches + m[order + at], begin)
            at += 1
    return place


@kernel
def form_fits(m: Any, b: int, n: int) -> bool:
    """Return whether the form of a block's lists, runs or whole ones, fits its last steps; ``n`` records are to come.

    Looked at are C_SAMPLE steps all over the last ``n``, or an eighth of all: what holds of a few side by side may soon be over,
    and a change takes as long as there are steps. A switch to runs happens here; a switch to whole lists is the caller's work
    (`to_whole_lists`). Runs save time and room where most events leave the list as it is, and cost both where most do not: see the
    head of this file.
    """
    s, cap, last = N_REG + m[C_R], m[b + H_CAP], m[b + H_LAST]
    order, slices, nodes = b + HEAD, b + HEAD + ND * cap, b + m[b + H_NODES]
    if m[C_LONGEST]:  # a list holds as many rows as there are registers, of which an event changes few
        return True
    same, sample = 0, m[C_SAMPLE]
    held = last - m[b + H_FIRST] - 1
    apart = min(held, max(n, held >> 3)) // sample
    for k in range(sample):
        place = last - 1 - k * apart
        here, before = m[slices + m[order + place]], m[slices + m[order + place - 1]]
        if m[b + H_RUNS]:
            far = m[order + max(place - FAR_BACK, m[b + H_FIRST])]
            same += here & COUNT == 0 or m[b + HEAD + REACH * cap + m[order + place]] <= m[b + HEAD + LE * cap + far]
        else:
            same += same_list(m, nodes + (here >> 24) * s, here & COUNT, m, nodes + (before >> 24) * s, before & COUNT, s)
    if m[b + H_RUNS] == 0 and same * 4 >= sample * 3:
        m[b + H_RUNS] = 1
    return m[b + H_RUNS] == 0 or same * 2 >= sample


@kernel
def write_lists(m: Any, w: Any, b: int, to: int) -> int:
    """Write the whole list of each step of ``b`` into ``to``, its copy (0: nowhere). Returns how many rows, or NEED_ROWS."""
    s, cap = N_REG + m[C_R], m[b + H_CAP]
    n = total = 0
    for place in range(m[b + H_FIRST], m[b + H_LAST]):
        i = m[b + HEAD + place]
        le = m[b + HEAD + LE * cap + i]
        n = advance_old(m, w, b, i, le, n)
        if n < 0:
            return n
        total += n
        if to:
            j, top, new = place - m[b + H_FIRST], m[to + H_NODE_TOP], m[to + H_CAP]
            out = to + m[to + H_NODES] + top * s
            copy(w, w[W_OLD], m, out, n * s)
            for k in range(n):
                m[out + k * s + N_END] = ALONE
            m[to + HEAD + ND * new + j], m[to + HEAD + REACH * new + j] = top << 24 | n if n else 0, le
            m[to + H_NODE_TOP] = top + n
    if to:
        m[to + H_RUNS] = 0
    return total
