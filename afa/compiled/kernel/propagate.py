"""Algorithm 1 of [AFA10] over all marked steps at once: one walk that removes what is invalid and derives what is new.

    LE          10        11 (new)     12            13          14
    marked                *
    list        [p]       -            [p1]          [p2]        [r]
    walk        source    derived      derived       derived     its list before is what it was: the walk ends
    list        [p]       [p' b]       [p1' b1]      [p2]        [r]

A step is marked when it is new, when its events changed, when the step before it was deleted, or when an arc changed at its LE. A
marked step's list is derived anew from the list before it. Behind it only partial matches that began at or before it can differ
(Ordering makes them the head of each list), so that the walk goes on with those alone, and ends where the list before a step is
what it was when the step's own list was derived.

Where promises with conditions have thinned lists out (`afa.compiled.kernel.prune`), a step's list is not what the list before it
gives. What is new there still ends all that began before it and does not lead through it: up to ``cut`` rows are derived anew from
what is there. An event that joins a step takes nothing away: what it gives is added, and what that leads to, up to ``bound``.

Departs from the paper: a batch's changes are brought into order first, so that each step is derived once, not once for each change.
"""

from __future__ import annotations

from afa.compiled.kernel.derive import derive_nodes
from afa.compiled.kernel.gaps import linked
from afa.compiled.kernel.heap import room
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy, count_until, merge_lists, same_list
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.propagate_runs import propagate_runs
from afa.compiled.kernel.step import complete, derive_matches, is_cover, mark, marked, may_match, over, store_nodes, waits_since


@kernel
def propagate(m: Memory, w: Scratch, p: Program, b: Block, place: int) -> int:
    """Bring all lists and matches up to date from the first marked place at or after ``place``.

    Returns DONE, or NEED_UNDO, NEED_NODES, NEED_MATCHES, NEED_LOG, NEED_ROWS, NEED_TEMP, OVER, FAULT, ENDLESS.
    """
    if p.timeout:
        mark_neighbours(m, w, b)
        place = max(place - 1, b.first)
    last = b.last
    while True:
        while place < last and not marked(w, place):
            place += 1
        if place >= last:
            return DONE
        if m.runs:
            place = propagate_runs(m, w, p, b, place)
        else:
            place = propagate_longest(m, w, p, b, place) if m.longest else propagate_lists(m, w, p, b, place)
        if place < 0:
            return int(place)


@kernel
def mark_neighbours(m: Memory, w: Scratch, b: Block) -> None:
    """Mark the neighbours of marked steps too, with time-outs: the waits before and after them end, or begin, elsewhere."""
    before = False
    for place in range(b.first, b.last):
        here = marked(w, place)
        if here and place > 0:
            mark(m, w, b, place - 1)
        if before and not here:
            mark(m, w, b, place)
        before = here


@kernel
def propagate_lists(m: Memory, w: Scratch, p: Program, b: Block, place: int) -> int:
    """Derive whole lists from a marked place on, until they are what they were. Returns the place where they are, or a status."""
    s = NodeRow.register + m.register_words
    order, times, lists = b.order, b.le, b.nodes_of
    nodes, last = b + b.nodes, b.last
    source = before = rest = waits = 0
    if place > b.first:
        source = before = lists[order[place - 1]]
        rest, waits = times[order[place - 1]], waits_since(m, b, place - 1)
    bound = cut = BEGINNING
    while place < last:
        i = order[place]
        le, old, events = times[i], Slice(lists[i]), b.events_of[i]
        if m.gapless and place > b.first:
            source, before = linked_lists(m, w, b, place, source, before)
        rows, n = nodes + Slice(source).first * s, Slice(source).count
        head = tail = 0
        behind = False  # whether the list before does not say what this one is
        if events.count == 0 and is_cover(m, b, i):  # it keeps its list; marked because of its time-outs
            count, tail = 0, old.count
        else:
            behind = i < w.made and not complete(m, w, b, place)
            begins = marked(w, place) or le <= bound  # with a sequence, a step of the same LE: what begins there is not told apart
            if not begins:
                n = count_until(m, rows, n, s, bound)
                was = nodes + Slice(before).first * s
                if not behind and same_list(m, rows, n, m, was, count_until(m, was, Slice(before).count, s, bound), s):
                    return int(place)
                if behind and n == 0 and (count_until(m, nodes + old.first * s, old.count, s, cut) == 0):
                    source = before = old
                    rest, waits = le, waits_since(m, b, place)
                    place += 1
                    continue
            count = derive_nodes(m, w, p, b, rows, n, begins, le, events, rest, waits)
            if begins:
                bound, cut = le, cut if behind else le
            if behind or not begins:
                head = count_until(m, nodes + old.first * s, old.count, s, cut if behind else bound)
                tail = old.count - head
        if count < 0:
            return int(count)
        if not room(w, 24):
            return NEED_UNDO
        top = b.node_top
        if top + count + tail > b.node_cap:
            return NEED_NODES
        copy(m, nodes + (old.first + head) * s, m, nodes + (top + count) * s, tail * s)
        if cut < bound and count and tail:
            if count + tail >= w.rows:  # of a block out of a snapshot: more than the set of rows has places for
                return NEED_ROWS
            count, tail = merge_lists(m, w, nodes + top * s, count, count + tail, s), 0
        if behind and same_list(m, nodes + top * s, count + tail, m, nodes + old.first * s, old.count, s):
            bound = cut  # nothing was added that goes on
        if count + tail > w.budget:
            return over(w, le, count + tail, nodes + top * s, True)
        source = Slice(top, count + tail)
        before = before if i >= w.made else old
        store_nodes(m, w, b, i, source, le)
        if may_match(m, p, b, i, m, nodes + top * s, count + tail):
            status = derive_matches(m, w, p, b, place, m, nodes + top * s, count + tail)
            if status < 0:
                return status
        rest, waits = le, waits_since(m, b, place)
        place += 1
    return int(place)


@kernel
def linked_lists(m: Memory, w: Scratch, b: Block, place: int, source: int, before: int) -> tuple[int, int]:
    """Return the nodes of the list before a step, now and as it was, where numbers are gapless: none before a gap.

    What a new step stands before did not continue the list before that.
    """
    if not linked(m, b, place):
        return 0, 0
    return source, 0 if b.order[place - 1] >= w.made else before


@kernel
def propagate_longest(m: Memory, w: Scratch, p: Program, b: Block, place: int) -> int:
    """Do what `walk_lists` does where only the longest count: of a list that has changed each part may be another one.

    A partial match that went may have been better than others of any beginning. Nothing is pruned then.
    """
    s = NodeRow.register + m.register_words
    order, times, lists = b.order, b.le, b.nodes_of
    nodes, last = b + b.nodes, b.last
    source = before = rest = waits = 0
    if place > b.first:
        source = before = lists[order[place - 1]]
        rest, waits = times[order[place - 1]], waits_since(m, b, place - 1)
    while place < last:
        i = order[place]
        le, old, events = times[i], Slice(lists[i]), b.events_of[i]
        if m.gapless and place > b.first:
            source, before = linked_lists(m, w, b, place, source, before)
        rows, n = nodes + Slice(source).first * s, Slice(source).count
        if not marked(w, place) and same_list(m, rows, n, m, nodes + Slice(before).first * s, Slice(before).count, s):
            return int(place)
        if not room(w, 24):
            return NEED_UNDO
        top = b.node_top
        if events.count == 0 and is_cover(m, b, i):  # it keeps its list; marked because of its time-outs
            count = old.count
            if top + count > b.node_cap:
                return NEED_NODES
            copy(m, nodes + old.first * s, m, nodes + top * s, count * s)
        else:
            count = derive_nodes(m, w, p, b, rows, n, True, le, events, rest, waits)
        if count < 0:
            return int(count)
        if top + count > b.node_cap:
            return NEED_NODES
        if count > w.budget:
            return over(w, le, count, nodes + top * s, True)
        source = Slice(top, count)
        before = before if i >= w.made else old
        store_nodes(m, w, b, i, source, le)
        if may_match(m, p, b, i, m, nodes + top * s, count):
            status = derive_matches(m, w, p, b, place, m, nodes + top * s, count)
            if status < 0:
                return status
        rest, waits = le, waits_since(m, b, place)
        place += 1
    return int(place)
