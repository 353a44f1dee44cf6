"""State that no event which can still come is able to touch ([AFA10] App. F.2); see `afa.interpreted.pruning` for the reasons.

    promised: no event that could begin a computation before 40, or continue one in state a before 30

    LE           10      12      20      31               10      12      20      31
    events       e       e       e       e         -->    .       .       e       e        kept where an arc could still take it
    nodes        p (a)   -       -       r (b)     -->    .       .       p       r        p at the last step before 30: events
                 until 31                                                                  from 30 on continue the list there
    order        [ 10    12      20      31 ]      -->    [ 20    31 ]                     10 and 12 are stones: no partial
                                                                                           match starts before, passes, or begins

A block is copied without events and nodes that promises with conditions have made superfluous; the old one stays until the call has
worked. Block.pruned is the last step whose list does not follow from the one before, or does not give the one behind.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.blocks import copy_head, copy_rows, make, measure
from afa.compiled.kernel.clean import set_deadlines
from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.heap import room
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.native_call import call2, kernel
from afa.compiled.kernel.one_key import settled
from afa.compiled.kernel.order import find_place
from afa.compiled.kernel.unpacked import SWAPPED, block_of_key, replace


@kernel
def prune(m: Memory, w: Scratch, p: Program, c: Any, key: int) -> int:
    """Drop all of a key that nothing needs, as `c` says. Returns DONE, NEED_PLACES, NEED_UNDO or NEED_HEAP. O(state)."""
    entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
    b = Block(block_of_key(m, key))
    if b == 0:
        return DONE
    first = b.first
    steps, events, nodes, matches = measure(m, b, first)
    if steps and b.le[b.order[first]] == BEGINNING:
        return DONE  # Block.pruned could not tell this LE from none
    spare = steps // 2 + 3
    if steps + spare > w.places:
        return NEED_PLACES
    if not room(w, 3 * SWAPPED):
        return NEED_UNDO
    to = Block(make(m, steps + spare, events + spare, nodes + spare, matches + spare // 4 + 1, b.pending_cap))
    if to < 0:
        return to
    # Copy what is needed, step by step; then steps go that nothing needs.
    copy_head(m, b, to)
    to.steps = steps
    copy_events(m, c, b, to)
    copy_nodes(m, w, p, c, b, to)
    copy_rows(m, b, to, b.pending_top, Block.pending, Block.pending_top, PendingRow.payload + m.payload_words)
    to.last = to.thinned = drop_stones(m, w, c, to, steps)
    replace(m, w, key, to)
    set_deadlines(m, p, to, key)
    if to.last == 0 and to.pending_top == 0:
        replace(m, w, key, 0)
        put_deadlines(m, key, FOREVER, FOREVER)
    else:
        settled(m, w, key, to)
    entry.changed = m.serial
    return DONE


@kernel
def copy_events(m: Memory, c: Any, b: Block, to: Block) -> None:
    """Copy the steps, with the events that are still of use."""
    order, cap, new = b.order + b.first, b.cap, to.cap
    for j in range(to.steps):
        i = m[order + j]
        to.order[j], to.nodes_of[j] = j, 0
        for column in (Block.le, Block.seq, Block.reach):
            to.order[column * new + j] = b.order[column * cap + i]
        to.matches_of[j] = copy_rows(
            m, b, to, b.matches_of[i], Block.matches, Block.match_top, MatchRow.register + m.register_words
        )
        le, events = b.le[i], b.events_of[i]
        if events.count and useless(m, c, b, le, events):
            to.pruned, events = max(to.pruned, le), Slice(0)
        to.events_of[j] = copy_rows(m, b, to, events, Block.events, Block.event_top, EventRow.payload + m.payload_words)


@kernel
def useless(m: Memory, c: PruneTable, b: Block, le: int, events: Slice) -> bool:
    """Return whether no arc can take an event of a step any more, whatever comes before the step."""
    size = EventRow.payload + m.payload_words
    if le >= c.begins.arcs:
        return False
    for k in range(events.first, events.first + events.count):
        event = m.m_at + 8 * (b + b.events + k * size + EventRow.payload)
        for arc in range(c.begins.count):
            if c.use[arc] <= le and (c.test[arc] == 0 or call2(c.test[arc], event, c.constants[arc]) != 0):
                return False
    return True


@kernel
def copy_nodes(m: Memory, w: Scratch, p: Program, c: Any, b: Block, to: Block) -> None:
    """Copy the nodes that something can still continue, each to the first step where something can."""
    s, steps, first = NodeRow.register + m.register_words, to.steps, b.first
    old, tops, nodes = b + b.nodes, w.order, to + to.nodes
    # Count the nodes of each step, then give each step its slice.
    for place in range(first, first + steps):
        rows = b.nodes_of[b.order[place]]
        for k in range(rows.first, rows.first + rows.count):
            at = first_use(m, p, c, b, place, old + k * s)
            if at != place:
                note_pruned(m, b, to, place, at, NodeRow(old + k * s).end)
            if at != NOWHERE:
                to.nodes_of[at - first] += 1
    top = 0
    for j in range(steps):
        count = int(to.nodes_of[j])  # from here on a slice
        to.nodes_of[j], w[tops + j] = Slice(top, count) if count else 0, nodes + top * s
        top += count
    to.node_top = top
    # Fill the slices.
    for place in range(first, first + steps):
        rows = b.nodes_of[b.order[place]]
        for k in range(rows.first, rows.first + rows.count):
            row = old + k * s
            at = first_use(m, p, c, b, place, row)
            if at == NOWHERE:
                continue
            target, begin = w[tops + at - first], nodes + to.nodes_of[at - first].first * s
            w[tops + at - first] = target + s
            copy(m, row, w, w.ready, s)
            while target > begin and NodeRow(target - s).start > NodeRow(w, w.ready).start:  # INVARIANT: Ordering
                copy(m, target - s, m, target, s)
                target -= s
            copy(w, w.ready, m, target, s)


@kernel
def first_use(m: Memory, p: Program, c: PruneTable, b: Block, place: int, row: NodeRow) -> int:
    """Return the first place, from that of a node on, where something can continue it, or where it stands for an open match.

    NOWHERE if the node does not stand there.
    """
    order, times, state = b.order, b.le, row.state
    le, final = times[order[place]], max(m.final, b.cleaned)
    at = max(find_place(m, b, c.idle[state], 0) - 1, place)
    if at == place:
        return place
    if p[p.finals + state]:
        at = min(at, max(find_place(m, b, final, 0), place))
    elif c.begins.finals:  # arcs make states final, now and then
        if row.end != ALONE:
            return place
        seek(p, le)
        if le >= final and p[p.now + state]:
            return place
    if at == place or row.end > times[order[at]]:
        return at
    return NOWHERE


@kernel
def note_pruned(m: Memory, b: Block, to: Block, place: int, at: int, end: int) -> None:
    """Raise ``pruned`` to the last step that loses a node: it stood from ``place`` to ``end``, now from ``at`` on, or NOWHERE."""
    last = place
    if at != NOWHERE:
        last = at - 1
    elif end != ALONE:
        last = max(find_place(m, b, end, 0) - 1, place)
    le = b.le[b.order[last]]
    to.pruned = max(to.pruned, le)


@kernel
def drop_stones(m: Memory, w: Scratch, c: PruneTable, to: Block, steps: int) -> int:
    """Remove stones that no computation can start before, pass, or begin at. Returns how many steps remain.

    A stone is a step without events and partial matches; see `afa.interpreted.pruning`.
    """
    s, nodes, earliest = NodeRow.register + m.register_words, to + to.nodes, FOREVER
    # Backward: by step, the earliest start of the partial matches stored behind it.
    for j in range(steps - 1, -1, -1):
        w[w.order + j] = earliest
        rows = to.nodes_of[j]
        if rows.count:
            earliest = min(earliest, NodeRow(nodes + rows.first * s).start)
    # Forward: a stone goes unless a run may span it, begin at it, or the step before leads on to it.
    kept, until, leads_on = 0, ALONE, False
    for j in range(steps):
        le, rows = to.le[j], to.nodes_of[j]
        for k in range(rows.first, rows.first + rows.count):
            until = max(until, NodeRow(nodes + k * s).end)
        stone = to.events_of[j].count == 0 and rows.count == 0 and until <= le
        passed = le < to.cleaned or (le <= c.begins.start and w[w.order + j] > le)
        if stone and not leads_on and passed:
            continue
        to.order[kept] = j
        kept, leads_on = kept + 1, not stone
    return kept
