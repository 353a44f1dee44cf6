"""The parts of a long list, chained by state: those of one state are passed over at once, or narrowed where rows are over.

    state a    part of step 10: m 70, 70   ->   step 12: m 72    ->   step 15: m 75       least m 70, rises
    state b    part of step 14: m 70, 72   ->   step 16: m 70, 72, 74                     least m 70, rises

    event at 69 that leaves a and b as they are     two comparisons, however many parts there are
    event at 71                                     of a the first part goes, and the second tells that no other is concerned;
                                                    of b each part loses its first row

The least m of the parts of a state mostly rises from step to step; where it does not, all of them are looked at. So an event costs
what is over by it, two comparisons a state, and the parts of those states that it may move. With one comparison a part in place of
that, and a part for each event that begins a computation, 1,000 that wait took 8 us an event, 10,000 took 33.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.heap import put
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel


@kernel
def no_parts(w: Any) -> None:
    """Let there be no part."""
    w[W_PARTED] = w[W_HOLDS] = w[W_STANDING] = 0
    w[W_SPARE] = NOWHERE
    for state in range(STATES):
        w[w[W_CHAINS] + state * CHAIN_SIZE + CHAIN_FIRST] = NOWHERE


@kernel
def add_to_part(m: Any, w: Any, node: int, k: int, since: int) -> None:
    """Add node ``k``, of the step at ``since``, to the part of its state, behind the nodes that this has."""
    re, chain = m[node + N_M], w[W_CHAINS] + m[node + N_STATE] * CHAIN_SIZE
    if w[chain + CHAIN_FIRST] == NOWHERE:
        w[w[W_HELD] + w[W_HOLDS]] = m[node + N_STATE]
        w[W_HOLDS] += 1
        w[chain + CHAIN_LOW], w[chain + CHAIN_HIGH], w[chain + CHAIN_RISES] = FOREVER, BEGINNING, 1
        begin_part(w, chain, m[node + N_STATE], k, since)
    elif w[w[chain + CHAIN_LAST] + PART_SINCE] != since:
        begin_part(w, chain, m[node + N_STATE], k, since)
    part = w[chain + CHAIN_LAST]
    if re < w[part + PART_HIGH]:
        w[part + PART_RISES] = 0
    if re < w[chain + CHAIN_BEFORE]:
        w[chain + CHAIN_RISES] = 0
    w[part + PART_END] = k + 1
    w[part + PART_LOW], w[part + PART_HIGH] = min(re, w[part + PART_LOW]), max(re, w[part + PART_HIGH])
    w[chain + CHAIN_LOW], w[chain + CHAIN_HIGH] = min(re, w[chain + CHAIN_LOW]), max(re, w[chain + CHAIN_HIGH])
    w[W_STANDING] += 1


@kernel
def begin_part(w: Any, chain: int, state: int, k: int, since: int) -> None:
    """Begin a part of a state with node ``k`` of the step at ``since``, behind the parts of the state that there are."""
    part = w[W_SPARE]
    if part == NOWHERE:
        part = w[W_PARTS] + w[W_PARTED] * PART_SIZE
        w[W_PARTED] += 1
    else:
        w[W_SPARE] = w[part + PART_NEXT]
    w[part + PART_STATE], w[part + PART_FIRST], w[part + PART_SINCE], w[part + PART_RISES] = state, k, since, 1
    w[part + PART_LOW], w[part + PART_HIGH], w[part + PART_MOVES], w[part + PART_NEXT] = FOREVER, BEGINNING, 0, NOWHERE
    if w[chain + CHAIN_FIRST] == NOWHERE:
        w[chain + CHAIN_FIRST], w[chain + CHAIN_BEFORE] = part, BEGINNING
    else:
        last = w[chain + CHAIN_LAST]
        w[last + PART_NEXT], w[chain + CHAIN_BEFORE] = part, w[last + PART_LOW]
    w[chain + CHAIN_LAST] = part


@kernel
def take_out(w: Any, chain: int, before: int, part: int) -> None:
    """Take a part out of those of a state; ``before``: the part before it, or NOWHERE."""
    after = w[part + PART_NEXT]
    if before == NOWHERE:
        w[chain + CHAIN_FIRST] = after
    else:
        w[before + PART_NEXT] = after
    if after == NOWHERE:
        w[chain + CHAIN_LAST] = before
    w[part + PART_NEXT] = w[W_SPARE]
    w[W_SPARE] = part


@kernel
def set_end(m: Any, w: Any, node: int, k: int, end: int) -> None:
    """Set the end of node ``k``. *Requires* `room` for 3."""
    if k >= w[W_OWN]:
        m[node + N_END] = end
    elif m[node + N_END] != end:
        put(m, w, node + N_END, end)


@kernel
def stands(m: Any, w: Any, part: int, node: int, k: int) -> bool:
    """Return whether node ``k``, among those of a part, is one of it."""
    if m[node + N_STATE] != w[part + PART_STATE]:
        return False
    return bool(m[node + N_END] == OPEN or (m[node + N_END] == ALONE and k >= w[W_FRESH]))


@kernel
def expire_part(m: Any, w: Any, b: int, part: int, le: int) -> None:
    """End the nodes of a part that are over at ``le``, and narrow it to those that stand."""
    s, nodes, low, end = N_REG + m[C_R], b + m[b + H_NODES], FOREVER, w[part + PART_END]
    k = until = w[part + PART_FIRST]
    while k < end:
        node = nodes + k * s
        if stands(m, w, part, node, k):
            if m[node + N_M] <= le:
                set_end(m, w, node, k, le)
                w[W_STANDING] -= 1
            else:
                if low == FOREVER:
                    w[part + PART_FIRST] = k
                low, until = min(low, m[node + N_M]), k + 1
                if w[part + PART_RISES]:
                    until = end
                    break
        k += 1
    w[part + PART_LOW], w[part + PART_END] = low, until


@kernel
def narrow_chain(m: Any, w: Any, b: int, chain: int, le: int, moved: int) -> None:
    """End what is over at ``le`` in the parts of a state, and take out those that are empty.

    ``moved``: whether nodes have moved of those parts that say so. Else, where the least m rises from part to part, the first part
    that has nothing to end is the last one looked at.
    """
    part, before, rising = w[chain + CHAIN_FIRST], NOWHERE, w[chain + CHAIN_RISES] and not moved
    low, latest, rises = FOREVER, BEGINNING, 1
    while part != NOWHERE:
        after, least = w[part + PART_NEXT], w[part + PART_LOW]
        if rising and least > le:
            low, rises = min(low, least), rises & (least >= latest)
            break
        if least <= le or (moved and w[part + PART_MOVES]):
            expire_part(m, w, b, part, le)
            least = w[part + PART_LOW]
        if w[part + PART_FIRST] >= w[part + PART_END]:
            take_out(w, chain, before, part)
        else:
            low, latest, rises = min(low, least), max(latest, least), rises & (least >= latest)
            before = part
        part = after
    w[chain + CHAIN_LOW], w[chain + CHAIN_RISES] = low, rises


@kernel
def end_chain(m: Any, w: Any, b: int, chain: int, le: int) -> None:
    """End all nodes of a state at ``le``: no arc leaves it."""
    s, nodes, part = N_REG + m[C_R], b + m[b + H_NODES], w[chain + CHAIN_FIRST]
    while part != NOWHERE:
        for k in range(w[part + PART_FIRST], w[part + PART_END]):
            node = nodes + k * s
            if stands(m, w, part, node, k):
                if m[node + N_END] == OPEN:
                    set_end(m, w, node, k, le)
                w[W_STANDING] -= 1
        after = w[part + PART_NEXT]
        take_out(w, chain, NOWHERE, part)
        part = after
