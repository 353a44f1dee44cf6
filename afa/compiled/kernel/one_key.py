"""A unit of work: one key.

    serve    D_BLOCK --> block        room is short?  `grow`: a larger block, the old one noted in the undo log
               |                      at rest?  its record is opened on the desk, and laid to rest again in the end
               v
             attempt                  clean as far as is promised > records into steps > walk
               |  NEED_*              taken back, a larger block, and the same again
               v
             entry    D_ACT, D_CLEAN: which punctuation concerns the key next; a block without steps goes

What fails for want of room is taken back to the unit's begin, and done again in a larger block. Only what the caller must provide
(heap, scratch) ends the call with a status, after which the caller may ask for the same again.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.best_forward import forward_best, may_go_best
from afa.compiled.kernel.blocks import make, measure, move
from afa.compiled.kernel.clean import clean, expire, oldest, set_deadlines, tick
from afa.compiled.kernel.desk import SWAPPED, TOO_MUCH, lay_to_rest, opened, replace
from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.events import append, merge
from afa.compiled.kernel.forward import forward, may_go_forward
from afa.compiled.kernel.gaps import ascend, forget_cover, pass_gaps
from afa.compiled.kernel.heap import rollback, room, save, save_deadlines, size_of
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import arrange, find_place
from afa.compiled.kernel.step import mark
from afa.compiled.kernel.swap import forget_arcs
from afa.compiled.kernel.walk import walk
from afa.compiled.kernel.walk_runs import form_fits, write_lists

LARGE = 1 << 13
"""How many words a block must have to be worth leaving."""
LITTLE = 8
"""At how many steps a block is looked at whether it could be a record of half the words that one may have."""
FEW = 32
"""After so many records the rates of rows a step are learnt."""


@kernel
def grow(m: Any, w: Any, key: int, b: int, n: int, status: int) -> int:
    """Move a key's state, which stands in block ``b``, to a block with room for ``n`` records more, or make its first one (0).

    What `clean` is about to drop stays behind. There is room for all that is known to come in the call: with less, a long one would
    move the state again and again. ``status`` is what the old block, which was made for the same records, was short of; DONE for
    another one. Returns the block, or NEED_UNDO, NEED_HEAP.
    """
    if not room(w, SWAPPED):
        return NEED_UNDO
    steps = events = nodes = matches = waiting = first = 0
    if b:
        cleans = n and m[b + H_CLEANED] < m[C_FINAL] and (m[C_GAPLESS] == 0 or m[b + H_GAP] >= m[C_FINAL])  # gaps are to be told
        first = oldest(m, b, m[C_FINAL]) if cleans else m[b + H_FIRST]
        steps, events, nodes, matches = measure(m, b, first)
        waiting = m[b + H_PENDING_TOP]
        learn_rates(m, b)
    spare = n + n // 4 + steps // 2 + (3 if b else 1)  # many keys get no second event
    if m[C_KEYED] or (b and m[b + H_STEPS] >= m[C_SAMPLE]):  # what a step takes is known
        spare = max(spare, m[C_COMING] + m[C_COMING] // 8)
    events += (spare * m[C_RATE] >> 6) + 1
    nodes += (spare * m[C_RATE + 1] >> 6) + (2 if b else 1)
    matches += (spare * m[C_RATE + 2] >> 6) + 1
    if status != DONE:  # nothing may be smaller than it was, or two needs would take turns
        events = max(events, m[b + H_EVENT_CAP] << (status == NEED_EVENTS))
        nodes = max(nodes, m[b + H_NODE_CAP] << (status == NEED_NODES))
        matches = max(matches, m[b + H_MATCH_CAP] << (status == NEED_MATCHES))
    more = n if waiting or m[C_WAITING] or status == NEED_BLOCK else 0
    to = make(m, steps + spare, events, nodes, matches, 2 * waiting + (b != 0) + more)
    if to < 0:
        return to
    m[to + H_RUNS] = 1
    if b:
        move(m, b, to, first)
    replace(m, w, key, to)
    return to


@kernel
def is_spacious(m: Any, b: int) -> bool:
    """Return whether a block is large and nearly empty: the next long call can have it once it is free."""
    return bool(size_of(m[b + H_CLASS]) >= LARGE and 8 * (m[b + H_LAST] - m[b + H_FIRST]) <= m[b + H_CAP])


@kernel
def is_short(m: Any, b: int, n: int) -> bool:
    """Return whether a block has hardly room for ``n`` records more."""
    if m[b + H_CAP] - m[b + H_STEPS] < n or m[b + H_EVENT_CAP] - m[b + H_EVENT_TOP] < n:
        return True
    return bool(m[b + H_NODE_CAP] - m[b + H_NODE_TOP] < n * m[C_RATE + 1] >> 6)


@kernel
def to_whole_lists(m: Any, w: Any, key: int, b: int) -> int:
    """Move a key's state, which stands in block ``b``, to a block in which each step has its whole list.

    Returns the block, or NEED_UNDO, NEED_ROWS, NEED_HEAP.
    """
    if not room(w, SWAPPED):
        return NEED_UNDO
    steps, events, nodes, matches = measure(m, b, m[b + H_FIRST])
    more = write_lists(m, w, b, 0)
    if more < 0:
        return more
    spare = max(steps // 2, m[b + H_CAP] - m[b + H_STEPS]) + 3
    share = 2 + spare // max(steps, 1)
    pending = m[b + H_PENDING_CAP]
    to = make(m, steps + spare, events + spare, nodes + share * more + 2, matches * share + 1, pending)
    if to < 0:
        return to
    move(m, b, to, m[b + H_FIRST])
    write_lists(m, w, b, to)
    replace(m, w, key, to)
    return to


@kernel
def learn_rates(m: Any, b: int) -> None:
    """Set C_RATE to what steps of this block take: no less than here, or with many keys about what most take."""
    steps = m[b + H_STEPS]
    if steps < 8:
        return
    for i in range(3):
        found = m[b + (H_EVENT_TOP, H_NODE_TOP, H_MATCH_TOP)[i]] * 72 // steps + 4
        if m[C_KEYED]:
            m[C_RATE + i] += (found - m[C_RATE + i]) // 8
        elif found > m[C_RATE + i]:
            m[C_RATE + i] = found
        elif 4 * found < m[C_RATE + i]:
            m[C_RATE + i] -= m[C_RATE + i] // 8


@kernel
def serve(m: Any, w: Any, p: Any, c: Any, key: int, n: int, what: int, low: int, high: int) -> int:
    """Put the ``n`` records at W_INDEX into a key's block, or do what else ``what`` names, in as large a block as it takes.

    Returns DONE, or what the caller must see to: NEED_HEAP, NEED_UNDO, NEED_LOG, NEED_PLACES, NEED_ROWS, NEED_TEMP, FAULT, ENDLESS,
    CROWDED, OVER; then all is as it was before.
    """
    entry = m[C_DIR] + key * D_SIZE
    simple = arrange(m, w, c, n) if what == SERVE else True
    begun, origin = save_counters(m, w, p), w[W_UNDO_TOP]
    start = origin
    again = False
    w[W_KEY] = key
    if m[entry + D_BLOCK] == 0 and n == 0:
        return DONE
    b = opened(m, key)
    if b < 0:
        return int(b)
    if m[C_GAPLESS] and what == SERVE and m[C_LOOKED] == 0 and not ascend(m, w, c, b, n):
        m[C_NEED] = n
        return NUMBERS
    if b == 0 or (n and is_short(m, b, n)):
        b = grow(m, w, key, b, n, DONE)
    while b > 0:
        start = w[W_UNDO_TOP]
        if not room(w, HEAD + 16 + SWAPPED):
            b = NEED_UNDO
            break
        if b != m[C_DESK]:
            save(m, w, b + MOVING, HEAD - MOVING)
            if m[b + H_BORN] != m[C_SERIAL]:
                save_deadlines(m, w, key)
        status = attempt(m, w, p, c, b, n, simple, what, low, high)
        if status >= 0:
            if b == m[C_DESK] or m[b + H_BORN] == m[C_SERIAL]:
                w[W_UNDO_TOP] = start
            break
        rollback(m, w, start)
        restore_counters(m, w, p, begun)
        if b == m[C_DESK]:
            opened(m, key)
        if status == NEED_LISTS:
            b = to_whole_lists(m, w, key, b)
        elif status == NEED_BLOCK or NEED_MATCHES <= status <= NEED_EVENTS:
            b = grow(m, w, key, b, n, status if again else DONE)
            again = True
        else:
            b = status
    if b > 0 and b != m[C_DESK] and what == CLEAN and m[b + H_FIRST] < m[b + H_LAST] and is_spacious(m, b):
        b = grow(m, w, key, b, 0, DONE)
    elif b > 0 and what == FORWARD and n >= FEW:
        learn_rates(m, b)
    empty = b > 0 and m[b + H_FIRST] == m[b + H_LAST] and m[b + H_PENDING_TOP] == 0
    if empty and b != m[C_DESK] and m[b + H_BORN] != m[C_SERIAL]:  # its block, as it was, is all that it takes to bring it back
        rollback(m, w, start)
    if empty and not room(w, SWAPPED):
        b = NEED_UNDO
    elif b > 0 and not empty:
        b = settled(m, w, key, b)
    if b < 0:
        rollback(m, w, origin)
        restore_counters(m, w, p, begun)
        return b
    if m[C_LOOKED] == ONCE and what == SERVE:
        m[C_LOOKED] = 0
    if empty:
        replace(m, w, key, 0)
        put_deadlines(m, key, FOREVER, FOREVER)
    else:
        set_deadlines(m, p, b, key)
    if what != TICK:
        m[entry + D_CHANGED] = m[C_SERIAL]
    return DONE


@kernel
def settled(m: Any, w: Any, key: int, b: int) -> int:
    """Lay a key to rest whose state stands in block ``b`` and is little; move what is too much from the desk to a block of its own.

    Returns a block where the state stands still; or, where it stands on the desk, NEED_UNDO, NEED_HEAP.
    """
    status = TOO_MUCH
    if b == m[C_DESK]:
        status = lay_to_rest(m, w, key, b, m[C_REST])
    elif m[C_REST] and m[b + H_LAST] - m[b + H_FIRST] <= LITTLE:
        status = lay_to_rest(m, w, key, b, m[C_REST] // 2)
        if status < 0:  # it stays: of a block of this call nothing is kept that would take the unit back
            return int(b)
    if status == TOO_MUCH and b == m[C_DESK]:
        return int(grow(m, w, key, b, 0, DONE))
    return int(status if status < 0 else b)


@kernel
def save_counters(m: Any, w: Any, p: Any) -> Any:
    """Return the counters outside the block that a rolled-back unit must restore."""
    return w[W_LOG_TOP], w[W_TAKEN], m[C_EVENTS], m[C_STALE], m[C_CHANGES], m[C_NOW], m[C_ARCS], m[C_WAITING], p[P_BOUNDCOUNT]


@kernel
def restore_counters(m: Any, w: Any, p: Any, old: Any) -> None:
    """Restore the counters that `save_counters` saved, after the work on a key was rolled back."""
    w[W_LOG_TOP], w[W_TAKEN], m[C_EVENTS], m[C_STALE], m[C_CHANGES], m[C_NOW], m[C_ARCS], m[C_WAITING], bounds = old
    forget_arcs(p, bounds)


@kernel
def attempt(m: Any, w: Any, p: Any, c: Any, b: int, n: int, simple: bool, what: int, low: int, high: int) -> int:
    """Do the work of `serve` in the block as it is. Returns a status; NEED_BLOCK, NEED_LISTS and the like ask for another block."""
    w[W_MADE] = m[b + H_STEPS]
    w[W_EPOCH] += 1
    w[W_FROM] = FOREVER
    w[W_UNTIL] = BEGINNING
    w[W_WHOLE] = low if what == SWAP else FOREVER
    if m[b + H_CAP] > w[W_PLACES]:
        return NEED_PLACES
    if p[P_IGNORABLE] and n >= m[C_SAMPLE] and m[b + H_LAST] - m[b + H_FIRST] > m[C_SAMPLE] and not form_fits(m, b, n):
        return NEED_LISTS
    m[C_RUNS] = p[P_IGNORABLE] and m[b + H_RUNS]
    if what == EXPIRE:
        return expire(m, w, b, low)
    if m[C_GAPLESS]:
        status = join_gaps(m, w, p, b)
        if status < 0:
            return status
    if m[b + H_CLEANED] < m[C_FINAL]:
        status = clean(m, w, p, b, m[C_FINAL])
        if status >= 0 and m[C_LONGEST] and p[P_TIMEOUT]:
            status = derive_behind(m, w, p, b)
        if status < 0:
            return status
    if m[C_GAPLESS]:
        forget_cover(m, b)
        if n:
            m[b + H_GAP] = min(m[b + H_GAP], c[I_LE, w[w[W_INDEX]]]) if what == SERVE else m[b + H_GAP]
    if what == TICK:
        return tick(m, w, p, b)
    if what == SWAP:
        return walk(m, w, p, b, mark_lifetime(m, w, b, low, high))
    if what == FORWARD:
        m[C_STOPPED], m[C_SHORT] = low, DONE
        if m[C_LONGEST]:
            if may_go_best(m, p, b):
                low = forward_best(m, w, p, c, b, low, high)
                m[C_STOPPED] = low
        elif may_go_forward(m, p, b):
            low = forward(m, w, p, c, b, low, high)
            m[C_STOPPED] = low
        return low
    if n == 0:
        return DONE
    last = m[b + H_LAST]
    if (
        simple
        and (last == m[b + H_FIRST] or m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + last - 1]] < c[I_LE, w[w[W_INDEX]]])
        and m[b + H_PENDING_TOP] == 0
    ):
        place = append(m, w, c, b, n)
    else:
        place = merge(m, w, p, c, b, n)
    status = place if place < 0 else walk(m, w, p, b, place)
    if m[C_GAPLESS] and status >= 0:
        forget_cover(m, b)
    return status


@kernel
def derive_behind(m: Any, w: Any, p: Any, b: int) -> int:
    """Derive the list behind cover again: by what time-outs have made, other partial matches may count as begun last. A status."""
    place = m[b + H_FIRST] + 1
    if place >= m[b + H_LAST]:
        return DONE
    mark(m, w, b, place)
    status = walk(m, w, p, b, place)
    w[W_EPOCH] += 1
    return int(status)


@kernel
def join_gaps(m: Any, w: Any, p: Any, b: int) -> int:
    """Let gaps be final that can't close any more, and lists go on across them where they are to. A status."""
    final = m[C_FINAL]
    place = pass_gaps(m, w, b, max(m[C_EVENTS], final))
    if 0 <= place < m[b + H_LAST]:
        m[C_FINAL] = min(final, m[C_EVENTS])  # what a join brings is not final, though the call promises that it will be
        place = walk(m, w, p, b, place)
        m[C_FINAL] = final
        w[W_EPOCH] += 1
    return min(place, DONE)


@kernel
def mark_lifetime(m: Any, w: Any, b: int, low: int, high: int) -> int:
    """Mark the steps that an arc with lifetime ``[low, high)`` serves. Returns the first of them.

    One step past the lifetime belongs to them, and with time-outs the one before them: what fires within it feeds that step.
    """
    begin = place = find_place(m, b, low, 0)
    while begin > m[b + H_FIRST] and m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + begin - 1]] >= low:
        begin -= 1
    place = begin
    mark(m, w, b, begin - 1)
    while place < m[b + H_LAST]:
        mark(m, w, b, place)
        if m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + place]] >= high:
            break
        place += 1
    return max(begin - 1, m[b + H_FIRST])
