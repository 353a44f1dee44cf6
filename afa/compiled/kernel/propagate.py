"""Algorithm 1 of [AFA10] over all marked steps in one pass: what is invalid goes and what is new comes, step by step.

    LE          10        11 (new)     12            13          14
    marked                *
    list        [p]       -            [p1]          [p2]        [r]
    pass        source    derived      derived       derived     its source is what it was: propagation ends
    list        [p]       [p' b]       [p1' b1]      [p2]        [r]

A step is marked when it is new, when its events changed, when the step before it was deleted, or when an arc changed at its LE. A
marked step's list is derived anew from the list before it. Behind it only partial matches that began at or before it can differ.
Ordering makes them the head of each list, so propagation goes on with the heads alone. It ends where the list before a step is what
it was when the step's own list was derived.

Promises with conditions thin lists out (`afa.compiled.kernel.prune`): then the list before a step does not give the whole list of
the step. A new partial match still ends all that began before it and does not lead through it: rows that began up to ``changed``
are derived anew. An event that joins a step takes nothing away: what it gives is added, and what that leads to, up to ``added``.

Departs from the paper: a batch's changes are brought into order first, so that each step is derived once, not once for each change.
RemoveInvalidatedSequences and PropagateInsert are one derivation, compared with the list that the step had.
"""

from __future__ import annotations

from afa.compiled.kernel.derive import derive_nodes
from afa.compiled.kernel.dispatch import complete
from afa.compiled.kernel.gaps import linked
from afa.compiled.kernel.heap import room
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy, count_until, merge_lists, same_list
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.propagate_runs import propagate_runs
from afa.compiled.kernel.step import derive_matches, is_cover, mark, marked, may_match, over, store_nodes, waits_since


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
        place = propagate_runs(m, w, p, b, place) if p.ignorable else propagate_lists(m, w, p, b, place)
        if place < 0:
            return place


@kernel
def mark_neighbours(m: Memory, w: Scratch, b: Block) -> None:
    """Mark the neighbours of marked steps, for time-outs: the waits before and after these steps begin or end elsewhere."""
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
    s, nodes, order, last = NodeRow.register + m.register_words, b + b.nodes, b.order, b.last
    source = source_was = Slice(0)  # the list before the step: as it is now, and as it was
    rest = waits = 0
    if place > b.first:
        source = source_was = b.nodes_of[order[place - 1]]
        rest, waits = b.le[order[place - 1]], waits_since(m, b, place - 1)
    added = changed = BEGINNING  # rows that began by then may be new; rows that began by then may also be gone
    while place < last:
        i = order[place]
        le, old, events = b.le[i], b.nodes_of[i], b.events_of[i]
        if m.gapless and place > b.first:
            source, source_was = linked_lists(m, w, b, place, source, source_was)
        rows, n = nodes + source.first * s, source.count
        head = stays = 0  # of the old list: rows that are derived anew, rows that stay behind them
        thinned = False  # whether the list before does not give all of this one
        if events.count == 0 and is_cover(m, b, i):  # it keeps its list; marked because of its time-outs
            count, stays = 0, old.count
        else:
            thinned = i < w.made and not complete(m, w, b, place)
            begins = marked(w, place) or le <= added  # steps of one LE (a sequence): their beginnings are not told apart
            # Lines 10 and 20: is anything gone or new in the list before? Only rows that began by `added` can be.
            if not begins:
                bound = FOREVER if m.longest else added
                n = count_until(m, rows, n, s, bound)
                was = nodes + source_was.first * s
                if not thinned and same_list(m, rows, n, m, was, count_until(m, was, source_was.count, s, bound), s):
                    return place
                begins = m.longest != 0  # all of the list: one that went may have been better than others of any beginning
                if thinned and n == 0 and count_until(m, nodes + old.first * s, old.count, s, changed) == 0:
                    source = source_was = old
                    rest, waits = le, waits_since(m, b, place)
                    place += 1
                    continue
            # Lines 4, 5 (MakeTransitions) at a marked step, else 10-26: each of these rows through the arcs of its state.
            count = derive_nodes(m, w, p, b, rows, n, begins, le, events, rest, waits)
            if begins:
                added, changed = le, changed if thinned else le
            if thinned or not begins:
                head = count_until(m, nodes + old.first * s, old.count, s, changed if thinned else added)
                stays = old.count - head
        if count < 0:
            return count
        # The new list: derived rows, then the tail of the old one, which no change reaches.
        if not room(w, 24):  # INVARIANT: asked before the first write to the step
            return NEED_UNDO
        top = b.node_top
        if top + count + stays > b.node_cap:
            return NEED_NODES
        copy(m, nodes + (old.first + head) * s, m, nodes + (top + count) * s, stays * s)
        if changed < added and count and stays:  # INVARIANT: Ordering, as derived rows may have begun behind those that stay
            if count + stays >= w.rows:  # of a block out of a snapshot: more than the set of rows has places for
                return NEED_ROWS
            count, stays = merge_lists(m, w, nodes + top * s, count, count + stays, s), 0
        count += stays
        if thinned and same_list(m, nodes + top * s, count, m, nodes + old.first * s, old.count, s):
            added = changed  # nothing was added that goes on
        if count > w.budget:
            return over(w, le, count, nodes + top * s, True)
        # Store it; the step's matches follow from it, and the next step continues it.
        source = Slice(top, count)
        source_was = source_was if i >= w.made else old
        store_nodes(m, w, b, i, source, le)
        if may_match(m, p, b, i, m, nodes + top * s, count):
            status = derive_matches(m, w, p, b, place, m, nodes + top * s, count)
            if status < 0:
                return status
        rest, waits = le, waits_since(m, b, place)
        place += 1
    return place


@kernel
def linked_lists(m: Memory, w: Scratch, b: Block, place: int, source: Slice, source_was: Slice) -> tuple[Slice, Slice]:
    """Return the nodes before a step, now and as they were, where numbers are gapless: none before a gap.

    Where the step before is new its number was missing: there was a gap then.
    """
    if not linked(m, b, place):
        return Slice(0), Slice(0)
    return source, Slice(0) if b.order[place - 1] >= w.made else source_was
