"""Propagation over marked steps with ignorable runs: the itree of [AFA10] App. D in arrays.

A partial match that takes an ignorable arc stays the node that it is; the node's ``end`` says until when it stands:

    node of step 10, ignorable events at 11, 12, 14          LE    10    11    12    14    15
                                                             list   p     p     p     p
    end = OPEN while it goes on, 15 once it does not         node   p

The list of a step is its own nodes and the earlier ones that reach it; ``reach`` says how far back to look. Propagation has three
lists at hand in row buffers, with the number of its node in place of ``end``, and two columns behind the rows:

    w.source   the list before the step, as it is now
    w.old      the list before the step, as it was; where both are the same propagation is over
    w.other    the list of the step, as it becomes w.source of the next one

An event that leaves all of them as they are, which the automaton's ``unchanged`` function sees, costs O(1): nothing is derived.

Rows in order go through the loop for runs, or through that for whole lists where most events change most of a list, as `runs_fit`
says (`python -m bench --only ignorable` has both): by the loop for runs alone, Q1 with ignorable arcs takes in events that are not
ignored at 0.87 to 0.98 of the rate. What is held is the same: `afa.compiled.kernel.join` makes runs of what either has written.
"""

from __future__ import annotations

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.buffers import advance_old, copy_row, find_row, load_list, since_of, sorted_rows
from afa.compiled.kernel.derive import derive
from afa.compiled.kernel.dispatch import complete, may_replay
from afa.compiled.kernel.heap import put, room
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy, count_until, equal, same_list
from afa.compiled.kernel.longest_replay import last_before, replay
from afa.compiled.kernel.native_call import call2, kernel
from afa.compiled.kernel.step import derive_matches, is_cover, marked, over, store_nodes, waits_since


@kernel
def summarize(m: Memory, w: Scratch, p: Program, b: Block, n: int) -> int:
    """Set w.low, w.high, w.reach and w.soonest for the ``n`` rows at w.source.

    Returns the bits that the function at Program.unchanged gives if the list stays; BUSY where it can't tell of this list.
    """
    if p.unchanged == 0 or p.timeout:
        return BUSY
    s, rows = NodeRow.register + m.register_words, w.source
    wanted, low, high, reach, soonest = 1 << STATES, FOREVER, BEGINNING, FOREVER, FOREVER
    for k in range(n):
        row = NodeRow(w, rows + k * s)
        state = row.state
        if state >= STATES or p[p.now + state]:  # no bit for it; or its rows stand for a match at each step
            return BUSY
        wanted |= 1 << state
        low, high = min(low, row.until), max(high, row.until)
        reach = min(reach, w[since_of(w, rows, k, s)])
        soonest = min(soonest, NodeRow(b + b.nodes + row.end * s).end)
    w.low, w.high, w.reach, w.soonest = low, high, reach, soonest
    return wanted


@kernel
def leaves_list(m: Memory, w: Scratch, p: Program, b: Block, event: int, le: int, wanted: int) -> bool:
    """Return whether an event leaves the list at w.source as it is and begins nothing. O(arcs), whatever the list.

    ``wanted``: what `summarize` says of the list. Moves the cursor of arcs.
    """
    at = EventRow(b + b.events + event * (EventRow.payload + m.payload_words))
    if wanted == BUSY or le >= w.low or at.re < w.high:
        return False
    seek(p, le)
    return p.spill == 0 and call2(p.unchanged, m.m_at + 8 * at.payload, m.p_at + 8 * p.slots) & wanted == wanted


@kernel
def propagate_runs(m: Memory, w: Scratch, p: Program, b: Block, place: int) -> int:
    """Derive lists from a marked place on, until they are what they were. Returns the place where they are, or a status."""
    s, order, times, last = NodeRow.register + m.register_words, b.order, b.le, b.last
    n = before = load_both(m, w, b, place)
    if n < 0:
        return n
    rest = waits = 0
    passed = BEGINNING  # LE of the last old (not new) step already passed; nodes that ended by then are not in w.old
    if place > b.first:
        rest, waits = times[order[place - 1]], waits_since(m, b, place - 1)
        passed = rest
    wanted = summarize(m, w, p, b, n)
    added = changed = BEGINNING  # as in `propagate_lists`
    wait = m.soon
    ahead = place + wait if may_replay(m, p) else FOREVER
    while place < last:
        # Far behind the change, where only the longest count: event by event in columns, without whole lists.
        if place >= ahead:
            begun = place
            place, n, before, same = replay(m, w, p, b, place, n, before)
            if place < 0 or place == last:
                return place
            if same:
                return take_over_ends(m, w, b, place, n)
            wait = m.soon if place > begun + m.soon else 2 * wait
            ahead = place + wait
            rest, waits, wanted = times[order[place - 1]], waits_since(m, b, place - 1), summarize(m, w, p, b, n)
            passed = last_before(m, w, b, place)
        i = order[place]
        le, events = times[i], b.events_of[i]
        new, here = i >= w.made, marked(w, place)
        whole = new or complete(m, w, b, place)
        if not room(w, 64 + 8 * n):  # INVARIANT: asked before the first write to the step
            return NEED_UNDO
        # Nothing is gone or new in the list before: propagation ends.
        if whole and not here and passed >= w.until and same_list(w, w.source, n, w, w.old, before, s):
            return take_over_ends(m, w, b, place, n)
        # In a pruned key the list before says little: go on at the next step that a change can reach.
        if not whole and not here and (n == 0 or NodeRow(w, w.source).start > added):
            further = next_touched(m, w, b, place, added)
            if further > place and same_list(w, w.source, n, w, w.old, before, s):
                if take_over_ends(m, w, b, place, n) < 0:
                    return NEED_UNDO
                place = further
                n = before = load_both(m, w, b, place)
                if n < 0:
                    return n
                rest, waits, wanted = times[order[place - 1]], waits_since(m, b, place - 1), summarize(m, w, p, b, n)
                passed = rest
                continue
        # w.old becomes the step's list as it was; w.source becomes, below, the list as it is from now on.
        if not new:
            before = advance_old(m, w, b, i, le, before)
            if before < 0:
                return before
        if here:
            added, changed = le, le if whole else changed
        derived = True
        if events.count == 0 and is_cover(m, b, i):  # it keeps its list; marked because of its time-outs
            n = load_list(m, w, b, place, w.source)
        elif not whole:
            n = store_derived(m, w, b, i, n, derive_pruned(m, w, p, b, i, n, before, here, added, changed, rest, waits), le)
            if n >= 0:
                extend_as_before(m, w, b, n, before, changed, le)
                if same_list(w, w.source, n, w, w.old, before, s):
                    added = changed  # nothing was added that goes on
        elif events.count == 1 and leaves_list(m, w, p, b, events.first, le, wanted):  # App. D: the step needs no node of its own
            derived = False
            store_nodes(m, w, b, i, 0, extend_all(m, w, b, n, le))
        else:
            n = store_derived(m, w, b, i, n, derive(m, w, p, b, n, True, le, events, rest, waits), le)
        if n < 0:
            return n
        # The step's matches follow from its list.
        if derived:
            wanted = summarize(m, w, p, b, n)
        if derived or b.matches_of[i]:
            status = derive_matches(m, w, p, b, place, w, w.source, n)
            if status < 0:
                return status
        rest, waits = le, waits_since(m, b, place)
        passed = passed if new else le
        place += 1
    return place


@kernel
def load_both(m: Memory, w: Scratch, b: Block, place: int) -> int:
    """Read the list before a place into w.source and w.old. Returns how many rows, or NEED_ROWS."""
    if place == b.first:
        return 0
    n = load_list(m, w, b, place - 1, w.source)
    for k in range(n):
        copy_row(w, w.source, k, w.old, k, NodeRow.register + m.register_words)
    return n


@kernel
def next_touched(m: Memory, w: Scratch, b: Block, place: int, added: int) -> int:
    """Return the first place, from ``place`` on, that is marked, or complete, or whose list begins at or before ``added``."""
    s = NodeRow.register + m.register_words
    while place < b.last and not marked(w, place) and not complete(m, w, b, place):
        rows = b.nodes_of[b.order[place]]
        if rows.count and NodeRow(b + b.nodes + rows.first * s).start <= added:
            break
        place += 1
    return place


@kernel
def derive_pruned(
    m: Memory,
    w: Scratch,
    p: Program,
    b: Block,
    i: int,
    n: int,
    before: int,
    here: bool,
    added: int,
    changed: int,
    rest: int,
    waits: int,
) -> int:
    """Write to w.new the list of a step that the list before it does not give.

    Its rows: what the first rows of w.source become, and those of the ``before`` rows of w.old, its list as it was, that began
    after ``changed``. Returns how many rows, or NEED_ROWS, FAULT, ENDLESS.
    """
    s = NodeRow.register + m.register_words
    le, events = b.le[i], b.events_of[i]
    # At a marked step all rows are derived, else those that may be new.
    first = n if here else count_until(w, w.source, n, s, added)
    made = derive(m, w, p, b, first, here, le, events, rest, waits) if events.count else 0
    if made < 0:
        return made
    count, new, old = made, w.new, w.old
    # Rows of the old list that stay: as the node that they were, where w.source has it still, else as a node of the step.
    for k in range(before):
        row = NodeRow(w, old + k * s)
        if row.start <= changed or find_row(w, new, made, row, s) >= 0:
            continue
        if count + 2 >= w.rows:
            return NEED_ROWS
        copy(w, row, w, new + count * s, s)
        stays = find_row(w, w.source, n, row, s) if w[since_of(w, old, k, s)] < le else NOWHERE
        NodeRow(w, new + count * s).end = stays if stays >= 0 else ALONE
        count += 1
    return sorted_rows(w, new, count, s)


@kernel
def extend_as_before(m: Memory, w: Scratch, b: Block, n: int, before: int, changed: int, le: int) -> None:
    """Extend nodes that `store_derived` made for rows which w.old has too: as far as those reached."""
    s, rows, old = NodeRow.register + m.register_words, w.source, w.old
    for k in range(n):
        row = NodeRow(w, rows + k * s)
        if w[since_of(w, rows, k, s)] != le or row.start <= changed:
            continue
        was = find_row(w, old, before, row, s)  # INVARIANT: its node is new in this step, so it needs no undo
        if was >= 0 and w[since_of(w, old, was, s) + w.rows] > le:
            NodeRow(b + b.nodes + row.end * s).end = w[since_of(w, old, was, s) + w.rows]


@kernel
def extend_all(m: Memory, w: Scratch, b: Block, n: int, le: int) -> int:
    """Let the ``n`` rows at w.source stand at ``le``, too. Returns the reach of that step. *Requires* `room` for 3 a row."""
    if w.soonest <= le:
        s, w.soonest = NodeRow.register + m.register_words, FOREVER
        for k in range(n):
            w.soonest = min(w.soonest, extend(m, w, b, NodeRow(w, w.source + k * s).end, le))
    return min(le, w.reach)


@kernel
def extend(m: Memory, w: Scratch, b: Block, node: int, le: int) -> int:
    """Extend a node to ``le``. Returns its end: OPEN until it does not go on (App. D, "Avoiding frequent itree updates")."""
    end = b + b.nodes + node * (NodeRow.register + m.register_words) + NodeRow.end
    if m[end] <= le:
        put(m, w, end, OPEN)
    return m[end]


@kernel
def store_derived(m: Memory, w: Scratch, b: Block, i: int, n: int, count: int, le: int) -> int:
    """Store the ``count`` rows at w.new of a step: new ones become its nodes, nodes that stay are extended, others are ended.

    w.source becomes the list of the step. Returns how many rows it has, NEED_NODES, NEED_ROWS, OVER; or ``count``, a status.
    """
    if count < 0:
        return count
    s = NodeRow.register + m.register_words
    new, source, other, top = w.new, w.source, w.other, b.node_top
    if top + count > b.node_cap:
        return NEED_NODES
    if count >= w.rows:
        return NEED_ROWS
    if count > w.budget:
        return over(w, le, count, new, False)
    # Row by row: a node that stays, or a new one; w.other collects the list.
    made, reach, passed = 0, le, 0
    for k in range(count):
        row, target = NodeRow(w, new + k * s), NodeRow(w, other + k * s)
        q = row.end  # derived rows come in the order of the source: rows of it that were skipped did not stay
        if q >= 0:
            end_runs(m, w, b, source, passed, q, le)
            passed = max(passed, q + 1)
            node, begin = NodeRow(w, source + q * s).end, w[since_of(w, source, q, s)]
            extend(m, w, b, node, le)  # INVARIANT: a node stands at all steps before its end
        else:
            node, begin = top + made, le
            copy(w, row, m, b + b.nodes + node * s, s)
            made += 1
        copy(w, row, w, target, s)
        target.end = node
        column = since_of(w, other, k, s)
        w[column] = begin
        w[column + w.rows] = ALONE
        reach = min(reach, begin)
    end_runs(m, w, b, source, passed, n, le)
    # The buffers change places.
    w.source, w.other = other, source
    store_nodes(m, w, b, i, Slice(top, made) if made else 0, reach)
    return count


@kernel
def end_runs(m: Memory, w: Scratch, b: Block, source: int, low: int, high: int, le: int) -> None:
    """End the nodes of rows ``low`` to ``high`` of a buffer at ``le``. *Requires* `room` for 3 a row."""
    s = NodeRow.register + m.register_words
    for k in range(low, high):
        end = b + b.nodes + NodeRow(w, source + k * s).end * s + NodeRow.end
        if m[end] > le:
            put(m, w, end, le)


@kernel
def take_over_ends(m: Memory, w: Scratch, b: Block, place: int, n: int) -> int:
    """Stop here: from this place on lists are unchanged, so the new nodes take over the ends of the old ones.

    Returns the place, or NEED_UNDO.
    """
    s, order, times, reaches = NodeRow.register + m.register_words, b.order, b.le, b.reach
    source, old = w.source, w.old
    le, last = times[order[place]], b.last
    for k in range(n):
        same = k  # number of the same row in w.old; mostly it is the same number
        if not equal(w, source + k * s, w, old + k * s, s):
            same = 0
            while not equal(w, source + k * s, w, old + same * s, s):
                same += 1
        begin, was = w[since_of(w, source, k, s)], w[since_of(w, old, same, s)]
        until = w[since_of(w, old, same, s) + w.rows]
        end = b + b.nodes + NodeRow(w, source + k * s).end * s + NodeRow.end
        if until <= le:  # it ended by this step
            if m[end] > le:
                put(m, w, end, le)
            continue
        if m[end] != until:
            put(m, w, end, until)
        # INVARIANT: reach of each step where the row stands is at or before the step that stores it, now an earlier one.
        at = place
        while begin < was and at < last and times[order[at]] < until:
            if reaches[order[at]] > begin:
                if not room(w, 64):
                    return NEED_UNDO
                put(m, w, reaches + order[at], begin)
            at += 1
    return place
