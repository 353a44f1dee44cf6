"""A long list in parts: an event that comes in order looks only at the parts that it may move.

    part         nodes     state  until          event of kind b          event of kind c       event at 71
    of step 10   0, 1, 2   a      70, 70, 71     each becomes a row in b  pass, unseen          all over
    of step 12   3, 4      b      70, 71         pass, unseen             each becomes a match  both over
    of step 15   5         a      75             as those above           pass, unseen          passes

A part is what one step has of nodes in one state. The event alone tells of most states that all their rows stay, whatever their
registers (`unchanged_ir` of `afa.compiled.code.step_function`): nodes of such states are OPEN already, and nothing of them is read
but the least ``until`` of each state, and what is over (`afa.compiled.kernel.parts_by_state`). The others are brought together, in
order of start, and go through the step function as any list; what they become is written behind the nodes there are. So an event
costs as much as it moves and ends, and two comparisons a state. Between two events that move something, the loop over rows in order
passes over those that do not.

    w.chains   by state its parts, in the order of their steps            w.set      the rows that stand, by content: a new one that
    w.old      the numbers of nodes that the event may move               is the same as one that stays is not written
    w.ready    these nodes as rows, in order of start; w.new: what the step function makes of them

A list is in parts while `forward` takes rows, nowhere else: it leaves nodes of several steps, as everywhere.
Where most rows move with each event, whole lists are cheaper: parts are given up then (w.loss), for the next rows (w.wait).
"""

from __future__ import annotations

from afa.compiled.kernel.derive import call_step
from afa.compiled.kernel.dispatch import LOSS
from afa.compiled.kernel.heap import room
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy, equal, hash_of, sort_by_start
from afa.compiled.kernel.matches import accepted, set_matches
from afa.compiled.kernel.native_call import call2, kernel
from afa.compiled.kernel.one_step import ASK, put_step
from afa.compiled.kernel.order import find_place
from afa.compiled.kernel.parts_by_state import add_to_part, end_chain, narrow_chain, no_parts, set_end, stands
from afa.compiled.kernel.step import over

OVERHEAD = 24
"""What an event costs, in rows."""
UNFIT = -102
"""What `take_in_parts` returns where the list can't be in parts: a row that stays is in a final state."""


@kernel
def read_parts(m: Memory, w: Scratch, b: Block, place: int) -> int:
    """Make parts of the list before a place; its nodes are OPEN from now on, but fresh ones. O(steps back to ``reach`` + rows).

    Returns how many rows it has, or UNFIT, NEED_ROWS, NEED_UNDO.
    """
    # INVARIANT: the parts are exactly the list: nodes of the last step, and those of earlier ones that reach it.
    order, times = b.order, b.le
    no_parts(w)
    w.loss, w.fresh = 0, FOREVER
    new_rows(w)
    last = order[place - 1]
    le, reach = times[last], b.reach[last]
    at = place - 1 if reach >= le else max(find_place(m, b, reach, 0), b.first)
    while at < place:
        i = order[at]
        rows = b.nodes_of[i]
        if at + 1 == place and rows.count and rows.first + rows.count == b.node_top and all_alone(m, b, rows):
            w.fresh, Loop(w.loop).open = rows.first, 0
        status = read_part(m, w, b, rows, times[i], le if at + 1 < place else BEGINNING)
        if status < 0:
            return status
        at += 1
    return w.standing


@kernel
def all_alone(m: Memory, b: Block, rows: Slice) -> bool:
    """Return whether the nodes of a slice are all ALONE."""
    s, nodes = NodeRow.register + m.register_words, b + b.nodes
    for k in range(rows.first, rows.first + rows.count):
        if NodeRow(nodes + k * s).end != ALONE:
            return False
    return True


@kernel
def read_part(m: Memory, w: Scratch, b: Block, rows: Slice, since: int, until: int) -> int:
    """Add the nodes of a step that end after ``until`` (BEGINNING: all) to parts. A status."""
    s, nodes = NodeRow.register + m.register_words, b + b.nodes
    for k in range(rows.first, rows.first + rows.count):
        node = NodeRow(nodes + k * s)
        if until != BEGINNING and node.end <= until:
            continue
        if node.state >= STATES:
            return UNFIT
        if w.standing + 2 >= w.rows:
            return NEED_ROWS
        if not room(w, 8):
            return NEED_UNDO
        if k < w.fresh or until != BEGINNING:
            set_end(m, w, node, k, OPEN)
        stands_already(m, w, nodes, k, k)
        add_to_part(m, w, node, k, since)
    return DONE


@kernel
def find_moved(m: Memory, w: Scratch, p: Program, b: Block, bits: int, le: int, re: int) -> int:
    """Write the numbers of nodes that an event may move to w.old, mark their parts, and end those that are over at ``le``.

    ``bits``: which states the event leaves as they are. Returns how many nodes, or UNFIT.
    """
    n = kept = 0
    for j in range(w.holds):
        state = w[w.held + j]
        chain, stays = StateChain(w.chains + state * StateChain.SIZE), bits >> state & 1
        # Where no arc leaves a state all its rows end; else rows that are over do.
        if stays == 0 and p[p.first + state] == NOWHERE:
            end_chain(m, w, b, chain, le)
        elif chain.low <= le:
            narrow_chain(m, w, b, chain, le, 0)
        if chain.first == NOWHERE:
            continue
        w[w.held + kept] = state
        kept += 1
        # An event with an RE below the ``until`` of a row lowers it: then the row moves, too.
        if stays and p[p.now + state]:
            return UNFIT
        chain.moves = stays == 0 or re < chain.high
        if chain.moves:
            n = mark_moved(m, w, b, chain, stays, re, n)
    w.holds = kept
    return n


@kernel
def mark_moved(m: Memory, w: Scratch, b: Block, chain: StateChain, stays: int, re: int, n: int) -> int:
    """Mark the parts of a state whose nodes an event may move, and write the numbers of these behind the ``n`` at w.old.

    ``stays``: whether only nodes with an ``until`` above ``re`` move. Returns how many numbers there are then.
    """
    s, nodes, index, part, high = NodeRow.register + m.register_words, b + b.nodes, w.old, PartRow(chain.first), BEGINNING
    while part != NOWHERE:
        high = max(high, part.high)
        part.moves = stays == 0 or re < part.high
        if part.moves:
            for k in range(part.first, part.end):
                if stands(m, w, part, nodes + k * s, k):
                    w[index + n] = k
                    n += 1
        part = PartRow(part.next)
    chain.high, chain.moves = high, stays == 0 or re < high
    return n


@kernel
def move_rows(m: Memory, w: Scratch, p: Program, b: Block, n: int, le: int, re: int, words: int) -> int:
    """Write to w.new what the ``n`` nodes at w.old and the computation that begins become by an event at ``words``.

    Sorts the numbers at w.old by start. Returns how many rows, or NEED_ROWS, ASK, UNFIT.
    """
    s, nodes, rows = NodeRow.register + m.register_words, b + b.nodes, w.ready
    index = sort_by_start(m, nodes, s, w, w.old, w.other, n)
    if index != w.old:
        w.old, w.other = w.other, w.old
    for k in range(n):
        copy(m, nodes + w[index + k] * s, w, rows + k * s, s)
    count = call_step(m, p, m.w_at, rows, n, True, le, re, words, m.w_at + 8 * w.new, w.rows)
    if count < 0:
        return NEED_ROWS if count == NO_ROOM else ASK
    for k in range(count):
        row = NodeRow(w, w.new + k * s)
        state = row.state
        if state >= STATES or (row.end != ALONE and p[p.now + state]):
            return UNFIT
    return count


@kernel
def take_in_parts(m: Memory, w: Scratch, p: Program, b: Block, i: int, place: int, event: int, le: int, top: int) -> int:
    """Make step ``i`` of an event behind a list in parts, and set the words of the loop for the list then.

    Returns how many nodes the step has, or UNFIT or ASK, with nothing done; or NEED_UNDO, NEED_ROWS, NEED_NODES, NEED_TEMP,
    NEED_LOG, NEED_MATCHES, OVER.
    """
    at, standing = EventRow(b + b.events + event * (EventRow.payload + m.payload_words)), w.standing
    if not room(w, 64 + 6 * standing):  # INVARIANT: asked before the first end is written
        return NEED_UNDO
    if Loop(w.loop).open:
        w.fresh = FOREVER
    # Which nodes the event may move; these alone go through the step function, all others stand on.
    words, re, made = m.m_at + 8 * at.payload, at.re, 0
    bits = call2(p.unchanged, words, m.p_at + 8 * p.slots)
    n = find_moved(m, w, p, b, bits, le, re)
    if n < 0:
        return n
    if n or bits >> STATES & 1 == 0:
        count = move_rows(m, w, p, b, n, le, re, words)
        if count < 0:
            return count
        settle_parts(m, w, b, n, count, le)
        made = write_new(m, w, b, count, le, top)
        if made < 0:
            return made
    else:
        settle_parts(m, w, b, 0, 0, le)
    # What parts cost against a copy of the list; then the step, what the loop is to know of the list, and matches.
    w.loss = max(w.loss + 2 * n + OVERHEAD - standing, -LOSS * standing)
    put_step(m, b, i, place, event, le, Slice(top, made) if made else 0, summarize_parts(m, w, p, b, le, top, made))
    w.fresh = top if made else FOREVER
    found = accepted(m, w, p, m, b + b.nodes + top * (NodeRow.register + m.register_words), made, le) if made else 0
    status = set_matches(m, w, p, b, i, found) if found > 0 else found
    return made if status >= 0 else status


@kernel
def settle_parts(m: Memory, w: Scratch, b: Block, n: int, count: int, le: int) -> None:
    """End each of the ``n`` nodes at w.old that none of the ``count`` rows at w.new continues; nodes not at w.old stand on."""
    s, nodes, index, passed = NodeRow.register + m.register_words, b + b.nodes, w.old, 0
    for k in range(count + 1):
        # A row that stays names its node; nodes passed over on the way to it did not stay.
        q = n if k == count else NodeRow(w, w.new + k * s).end
        if q < 0:
            continue
        w.standing -= q - passed
        for j in range(passed, q):
            node = NodeRow(nodes + w[index + j] * s)
            if node.end == OPEN:
                set_end(m, w, node, w[index + j], le)
        if q < n:
            set_end(m, w, nodes + w[index + q] * s, w[index + q], OPEN)
        passed = q + 1
    # INVARIANT: a part has no node that has ended, and a state at w.held has parts.
    kept = 0
    for j in range(w.holds):
        state = w[w.held + j]
        chain = StateChain(w.chains + state * StateChain.SIZE)
        open_fresh(m, w, b, chain)
        if chain.moves:
            narrow_chain(m, w, b, chain, le, 1)
        if chain.first != NOWHERE:
            w[w.held + kept] = state
            kept += 1
    w.holds, w.fresh = kept, FOREVER


@kernel
def open_fresh(m: Memory, w: Scratch, b: Block, chain: StateChain) -> None:
    """Set the end of those nodes of a state to OPEN that are ALONE and stay."""
    s, nodes, part = NodeRow.register + m.register_words, b + b.nodes, PartRow(chain.last)
    if part.first < w.fresh or (chain.moves and part.moves):
        return
    for k in range(part.first, part.end):
        if stands(m, w, part, nodes + k * s, k):
            set_end(m, w, nodes + k * s, k, OPEN)


@kernel
def write_new(m: Memory, w: Scratch, b: Block, count: int, le: int, top: int) -> int:
    """Write new ones of the ``count`` rows at w.new as nodes from ``top`` on, in parts of the step at ``le``.

    Returns how many, or NEED_ROWS, NEED_NODES, OVER.
    """
    s, nodes, made = NodeRow.register + m.register_words, b + b.nodes, 0
    if w.standing + count + 2 >= w.rows:
        return NEED_ROWS
    if 4 * (w.set_used + count) > 3 * w.hashes:
        set_rows_anew(m, w, b)
    for j in range(count):
        row, k = NodeRow(w, w.new + j * s), top + made
        if row.end != ALONE:
            continue
        if k >= b.node_cap:
            return NEED_NODES
        copy(w, row, m, nodes + k * s, s)
        if not stands_already(m, w, nodes, k, top):  # INVARIANT: no partial match stands twice
            add_to_part(m, w, nodes + k * s, k, le)
            made += 1
    return made if w.standing <= w.budget else over(w, le, w.standing, NOWHERE, False)


@kernel
def new_rows(w: Scratch) -> None:
    """Begin a new set of the rows that stand."""
    w.stamp += 1
    w.set_stamp, w.set_used = w.stamp, 0


@kernel
def set_rows_anew(m: Memory, w: Scratch, b: Block) -> None:
    """Make the set of the rows that stand anew, without rows that stand no more. O(rows)."""
    s, nodes = NodeRow.register + m.register_words, b + b.nodes
    new_rows(w)
    for j in range(w.holds):
        part = PartRow(StateChain(w.chains + w[w.held + j] * StateChain.SIZE).first)
        while part != NOWHERE:
            for k in range(part.first, part.end):
                if stands(m, w, part, nodes + k * s, k):
                    stands_already(m, w, nodes, k, k)
            part = PartRow(part.next)


@kernel
def stands_already(m: Memory, w: Scratch, nodes: int, k: int, first: int) -> bool:
    """Return whether a row like node ``k`` stands, OPEN or among the nodes from ``first`` on; else put it into the set. O(1)."""
    s, places, table = NodeRow.register + m.register_words, w.hashes, w.set
    row, at = nodes + k * s, hash_of(m, w, nodes + k * s, s, NodeRow.end, 0)
    while w[table + 2 * at] == w.set_stamp:
        q = w[table + 2 * at + 1]
        if equal(m, row, m, nodes + q * s, s):
            if q != k and (NodeRow(nodes + q * s).end == OPEN or first <= q < k):
                return True
            w[table + 2 * at + 1] = k
            return False
        at = (at + 1) & (places - 1)
    w[table + 2 * at], w[table + 2 * at + 1] = w.set_stamp, k
    w.set_used += 1
    return False


@kernel
def summarize_parts(m: Memory, w: Scratch, p: Program, b: Block, le: int, top: int, made: int) -> int:
    """Tell the loop which events leave the list as it is, and which nodes are ALONE. Returns the reach of the step at ``le``."""
    x, states, low, high, reach = Loop(w.loop), 1 << STATES, FOREVER, BEGINNING, le
    for j in range(w.holds):
        state = w[w.held + j]
        chain = StateChain(w.chains + state * StateChain.SIZE)
        states |= -1 if p[p.now + state] else 1 << state
        low, high = min(low, chain.low), max(high, chain.high)
        reach = min(reach, PartRow(chain.first).since)
    x.wanted, x.lowest, x.highest, x.reach = states, low, high, reach
    x.src, x.n = m.m_at + 8 * (b + b.nodes + top * (NodeRow.register + m.register_words)), made
    x.open = made == 0
    return reach
