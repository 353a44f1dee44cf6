"""The parts of a long list, chained by state: those of one state are passed over at once, or narrowed where rows are over.

    state a    part of step 10: until 70, 70   ->   step 12: until 72    ->   step 15: until 75       least until 70, rises
    state b    part of step 14: until 70, 72   ->   step 16: until 70, 72, 74                         least until 70, rises

    event at 69 that leaves a and b as they are     two comparisons, however many parts there are
    event at 71                                     of a the first part goes, and the second tells that no other is concerned;
                                                    of b each part loses its first row

The least ``until`` of the parts of a state mostly rises from step to step; where it does not, all of them are looked at. So an
event costs what is over by it, two comparisons a state, and the parts of those states that it may move. With one comparison a part
in place of that, and a part for each event that begins a computation, 1,000 that wait took 8 us an event, 10,000 took 33.
"""

from __future__ import annotations

from afa.compiled.kernel.heap import put
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel


@kernel
def no_parts(w: Scratch) -> None:
    """Drop all parts."""
    w.parted = w.holds = w.standing = 0
    w.spare = NOWHERE
    for state in range(STATES):
        StateChain(w.chains + state * StateChain.SIZE).first = NOWHERE


@kernel
def add_to_part(m: Memory, w: Scratch, node: NodeRow, k: int, since: int) -> None:
    """Add node ``k``, of the step at ``since``, to the part of its state, behind the nodes that this has."""
    re, chain = node.until, StateChain(w.chains + node.state * StateChain.SIZE)
    if chain.first == NOWHERE:
        w[w.held + w.holds] = node.state
        w.holds += 1
        chain.low, chain.high, chain.rises = FOREVER, BEGINNING, 1
        begin_part(w, chain, node.state, k, since)
    elif PartRow(chain.last).since != since:
        begin_part(w, chain, node.state, k, since)
    # INVARIANT: low and high bound each ``until`` of the part, and of the state; rises: each is at or above the one before.
    part = PartRow(chain.last)
    if re < part.high:
        part.rises = 0
    if re < chain.before:
        chain.rises = 0
    part.end = k + 1
    part.low, part.high = min(re, part.low), max(re, part.high)
    chain.low, chain.high = min(re, chain.low), max(re, chain.high)
    w.standing += 1


@kernel
def begin_part(w: Scratch, chain: StateChain, state: int, k: int, since: int) -> None:
    """Begin a part of a state with node ``k`` of the step at ``since``, behind the parts of the state that there are."""
    part = PartRow(w.spare)  # one that is free again, else one that was never used
    if part == NOWHERE:
        part = PartRow(w.parts + w.parted * PartRow.SIZE)
        w.parted += 1
    else:
        w.spare = part.next
    part.state, part.first, part.since, part.rises = state, k, since, 1
    part.low, part.high, part.moves, part.next = FOREVER, BEGINNING, 0, NOWHERE
    if chain.first == NOWHERE:
        chain.first, chain.before = part, BEGINNING
    else:
        last = PartRow(chain.last)
        last.next, chain.before = part, last.low
    chain.last = part


@kernel
def take_out(w: Scratch, chain: StateChain, before: PartRow, part: PartRow) -> None:
    """Take a part out of those of a state; ``before``: the part before it, or NOWHERE."""
    after = part.next
    if before == NOWHERE:
        chain.first = after
    else:
        before.next = after
    if after == NOWHERE:
        chain.last = before
    part.next = w.spare  # INVARIANT: a part is in one chain, that of its state or of free ones
    w.spare = part


@kernel
def set_end(m: Memory, w: Scratch, node: NodeRow, k: int, end: int) -> None:
    """Set the end of node ``k``. *Requires* `room` for 3."""
    if k >= w.own:  # INVARIANT: of an older node the undo log has the old end
        node.end = end
    elif node.end != end:
        put(m, w, node + NodeRow.end, end)


@kernel
def stands(m: Memory, w: Scratch, part: PartRow, node: NodeRow, k: int) -> bool:
    """Return whether node ``k``, in the range of a part, belongs to it and stands."""
    if node.state != part.state:
        return False
    return node.end == OPEN or (node.end == ALONE and k >= w.fresh)


@kernel
def expire_part(m: Memory, w: Scratch, b: Block, part: PartRow, le: int) -> None:
    """End the nodes of a part that are over at ``le``, and narrow it to those that stand."""
    s, nodes, low, end = NodeRow.register + m.register_words, b + b.nodes, FOREVER, part.end
    k = until = part.first
    while k < end:
        node = NodeRow(nodes + k * s)
        if stands(m, w, part, node, k):
            if node.until <= le:
                set_end(m, w, node, k, le)
                w.standing -= 1
            else:
                if low == FOREVER:
                    part.first = k
                low, until = min(low, node.until), k + 1
                if part.rises:  # none behind it is over
                    until = end
                    break
        k += 1
    part.low, part.end = low, until


@kernel
def narrow_chain(m: Memory, w: Scratch, b: Block, chain: StateChain, le: int, moved: int) -> None:
    """End nodes that are over at ``le`` in the parts of a state, and take out empty parts.

    ``moved``: whether nodes of parts with PartRow.moves have moved. Else, where the least ``until`` rises from part to part, the
    first part that has nothing to end is the last one looked at.
    """
    part, before, rising = PartRow(chain.first), NOWHERE, chain.rises and not moved
    low, latest, rises = FOREVER, BEGINNING, 1
    while part != NOWHERE:
        after, least = part.next, part.low
        if rising and least > le:
            low, rises = min(low, least), rises & (least >= latest)
            break
        if least <= le or (moved and part.moves):
            expire_part(m, w, b, part, le)
            least = part.low
        if part.first >= part.end:
            take_out(w, chain, before, part)
        else:
            low, latest, rises = min(low, least), max(latest, least), rises & (least >= latest)
            before = part
        part = PartRow(after)
    chain.low, chain.rises = low, rises


@kernel
def end_chain(m: Memory, w: Scratch, b: Block, chain: StateChain, le: int) -> None:
    """End all nodes of a state at ``le``: no arc leaves it."""
    s, nodes, part = NodeRow.register + m.register_words, b + b.nodes, PartRow(chain.first)
    while part != NOWHERE:
        for k in range(part.first, part.end):
            node = NodeRow(nodes + k * s)
            if stands(m, w, part, node, k):
                if node.end == OPEN:
                    set_end(m, w, node, k, le)
                w.standing -= 1
        after = part.next
        take_out(w, chain, NOWHERE, part)
        part = PartRow(after)
