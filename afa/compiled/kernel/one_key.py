"""A unit of work: one key.

    serve    KeyEntry.block --> block        room is short?  `grow`: a larger block, the old one noted in the undo log
               |                      at rest?  its record is opened on the desk, and laid to rest again in the end
               v
             attempt                  clean as far as is promised > records into steps > walk
               |  NEED_*              taken back, a larger block, and the same again
               v
             entry    KeyEntry.act, KeyEntry.clean: which punctuation concerns the key next; a block without steps goes

What fails for want of room is taken back to the unit's begin, and done again in a larger block. Only what the caller must provide
(heap, scratch) ends the call with a status, after which the caller may ask for the same again.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.blocks import make, measure, move
from afa.compiled.kernel.clean import clean, expire, oldest, set_deadlines, tick
from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.events import append, merge
from afa.compiled.kernel.forward import forward, may_go_forward
from afa.compiled.kernel.gaps import ascend, forget_cover, pass_gaps
from afa.compiled.kernel.heap import rollback, room, save, save_deadlines, size_of
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.longest_forward import forward_longest, may_go_longest
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import arrange, find_place
from afa.compiled.kernel.propagate import propagate
from afa.compiled.kernel.propagate_runs import runs_fit
from afa.compiled.kernel.step import mark
from afa.compiled.kernel.swap import forget_arcs
from afa.compiled.kernel.unpacked import SWAPPED, TOO_MUCH, opened, pack, replace

LARGE = 1 << 13
"""How many words a block must have to be worth leaving."""
LITTLE = 8
"""At how many steps a block is looked at whether it could be a record of half the words that one may have."""
FEW = 32
"""After so many records the rates of rows a step are learnt."""


@kernel
def grow(m: Memory, w: Scratch, key: int, b: Block, n: int, status: int) -> int:
    """Move a key's state, which stands in block ``b``, to a block with room for ``n`` records more, or make its first one (0).

    What `clean` is about to drop stays behind. There is room for all that is known to come in the call: with less, a long one would
    move the state again and again. ``status`` is what the old block, which was made for the same records, was short of; DONE for
    another one. Returns the block, or NEED_UNDO, NEED_HEAP.
    """
    if not room(w, SWAPPED):
        return NEED_UNDO
    steps = events = nodes = matches = waiting = first = 0
    if b:
        cleans = n and b.cleaned < m.final and (m.gapless == 0 or b.gap >= m.final)  # gaps are to be told
        first = oldest(m, b, m.final) if cleans else b.first
        steps, events, nodes, matches = measure(m, b, first)
        waiting = b.pending_top
        learn_rates(m, b)
    spare = n + n // 4 + steps // 2 + (3 if b else 1)  # many keys get no second event
    if m.keyed or (b and b.steps >= m.sample):  # what a step takes is known
        spare = max(spare, m.coming + m.coming // 8)
    events += (spare * m.rate[0] >> 6) + 1
    nodes += (spare * m.rate[1] >> 6) + (2 if b else 1)
    matches += (spare * m.rate[2] >> 6) + 1
    if status != DONE:  # nothing may be smaller than it was, or two needs would take turns
        events = max(events, b.event_cap << (status == NEED_EVENTS))
        nodes = max(nodes, b.node_cap << (status == NEED_NODES))
        matches = max(matches, b.match_cap << (status == NEED_MATCHES))
    more = n if waiting or m.waiting or status == NEED_BLOCK else 0
    to = Block(make(m, steps + spare, events, nodes, matches, 2 * waiting + (b != 0) + more))
    if to < 0:
        return to
    to.runs = 1
    if b:
        move(m, b, to, first)
    replace(m, w, key, to)
    return to


@kernel
def is_spacious(m: Memory, b: Block) -> bool:
    """Return whether a block is large and nearly empty: the next long call can have it once it is free."""
    return bool(size_of(b.size_class) >= LARGE and 8 * (b.last - b.first) <= b.cap)


@kernel
def is_short(m: Memory, b: Block, n: int) -> bool:
    """Return whether a block has hardly room for ``n`` records more."""
    if b.cap - b.steps < n or b.event_cap - b.event_top < n:
        return True
    return bool(b.node_cap - b.node_top < n * m.rate[1] >> 6)


@kernel
def learn_rates(m: Memory, b: Block) -> None:
    """Set m.rate to what steps of this block take: no less than here, or with many keys about what most take."""
    steps = b.steps
    if steps < 8:
        return
    for i in range(3):
        found = m[b + (Block.event_top, Block.node_top, Block.match_top)[i]] * 72 // steps + 4
        if m.keyed:
            m.rate[i] += (found - m.rate[i]) // 8
        elif found > m.rate[i]:
            m.rate[i] = found
        elif 4 * found < m.rate[i]:
            m.rate[i] -= m.rate[i] // 8


@kernel
def serve(m: Memory, w: Scratch, p: Program, c: Any, key: int, n: int, what: int, low: int, high: int) -> int:
    """Put the ``n`` records at w.index into a key's block, or do what else ``what`` names, in as large a block as it takes.

    Returns DONE, or what the caller must see to: NEED_HEAP, NEED_UNDO, NEED_LOG, NEED_PLACES, NEED_ROWS, NEED_TEMP, FAULT, ENDLESS,
    CROWDED, OVER; then all is as it was before.
    """
    entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
    simple = arrange(m, w, c, n) if what == SERVE else True
    begun, origin = save_counters(m, w, p), w.undo_top
    start = origin
    again = False
    w.key = key
    if entry.block == 0 and n == 0:
        return DONE
    b = Block(opened(m, key))
    if b < 0:
        return int(b)
    if m.gapless and what == SERVE and m.looked == 0 and not ascend(m, w, c, b, n):
        m.need = n
        return NUMBERS
    if b == 0 or (n and is_short(m, b, n)):
        b = Block(grow(m, w, key, b, n, DONE))
    while b > 0:
        start = w.undo_top
        if not room(w, HEAD + 16 + SWAPPED):
            b = Block(NEED_UNDO)
            break
        if b != m.unpacked:
            save(m, w, b + MOVING, HEAD - MOVING)
            if b.born != m.serial:
                save_deadlines(m, w, key)
        status = attempt(m, w, p, c, b, n, simple, what, low, high)
        if status >= 0:
            if b == m.unpacked or b.born == m.serial:
                w.undo_top = start
            break
        rollback(m, w, start)
        restore_counters(m, w, p, begun)
        if b == m.unpacked:
            opened(m, key)
        if status == NEED_BLOCK or NEED_MATCHES <= status <= NEED_EVENTS:
            b = Block(grow(m, w, key, b, n, status if again else DONE))
            again = True
        else:
            b = Block(status)
    if b > 0 and b != m.unpacked and what == CLEAN and b.first < b.last and is_spacious(m, b):
        b = Block(grow(m, w, key, b, 0, DONE))
    elif b > 0 and what == FORWARD and n >= FEW:
        learn_rates(m, b)
    empty = b > 0 and b.first == b.last and b.pending_top == 0
    if empty and b != m.unpacked and b.born != m.serial:  # its block, as it was, is all that it takes to bring it back
        rollback(m, w, start)
    if empty and not room(w, SWAPPED):
        b = Block(NEED_UNDO)
    elif b > 0 and not empty:
        b = Block(settled(m, w, key, b))
    if b < 0:
        rollback(m, w, origin)
        restore_counters(m, w, p, begun)
        return b
    if m.looked == ONCE and what == SERVE:
        m.looked = 0
    if empty:
        replace(m, w, key, 0)
        put_deadlines(m, key, FOREVER, FOREVER)
    else:
        set_deadlines(m, p, b, key)
    if what != TICK:
        entry.changed = m.serial
    return DONE


@kernel
def settled(m: Memory, w: Scratch, key: int, b: Block) -> int:
    """Lay a key to rest whose state stands in block ``b`` and is little; move what is too much from the desk to a block of its own.

    Returns a block where the state stands still; or, where it stands on the desk, NEED_UNDO, NEED_HEAP.
    """
    status = TOO_MUCH
    if b == m.unpacked:
        status = pack(m, w, key, b, m.rest)
    elif m.rest and b.last - b.first <= LITTLE:
        status = pack(m, w, key, b, m.rest // 2)
        if status < 0:  # it stays: of a block of this call nothing is kept that would take the unit back
            return int(b)
    if status == TOO_MUCH and b == m.unpacked:
        return int(grow(m, w, key, b, 0, DONE))
    return int(status if status < 0 else b)


@kernel
def save_counters(m: Memory, w: Scratch, p: Program) -> Any:
    """Return the counters outside the block that a rolled-back unit must restore."""
    return w.log_top, w.taken, m.events, m.stale, m.changes, m.now, m.arcs, m.waiting, p.boundcount


@kernel
def restore_counters(m: Memory, w: Scratch, p: Program, old: Any) -> None:
    """Restore the counters that `save_counters` saved, after the work on a key was rolled back."""
    w.log_top, w.taken, m.events, m.stale, m.changes, m.now, m.arcs, m.waiting, bounds = old
    forget_arcs(p, bounds)


@kernel
def attempt(m: Memory, w: Scratch, p: Program, c: Arrivals, b: Block, n: int, simple: bool, what: int, low: int, high: int) -> int:
    """Do the work of `serve` in the block as it is. Returns a status; NEED_BLOCK and the like ask for another block."""
    w.made = b.steps
    w.epoch += 1
    w.marked_from = FOREVER
    w.until = BEGINNING
    w.whole = low if what == SWAP else FOREVER
    if b.cap > w.places:
        return NEED_PLACES
    m.runs = p.ignorable
    if m.runs and m.longest == 0 and n >= m.sample and (b.last - b.first > m.sample):
        b.runs = runs_fit(m, b, n)
    if what == EXPIRE:
        return expire(m, w, b, low)
    if m.gapless:
        status = join_gaps(m, w, p, b)
        if status < 0:
            return status
    if b.cleaned < m.final:
        status = clean(m, w, p, b, m.final)
        if status >= 0 and m.longest and p.timeout:
            status = derive_behind(m, w, p, b)
        if status < 0:
            return status
    if m.gapless:
        forget_cover(m, b)
        if n:
            b.gap = min(b.gap, c.le[w[w.index]]) if what == SERVE else b.gap
    if what == TICK:
        return tick(m, w, p, b)
    if what == SWAP:
        return propagate(m, w, p, b, mark_lifetime(m, w, b, low, high))
    if what == FORWARD:
        m.stopped, m.short = low, DONE
        if m.longest:
            if may_go_longest(m, p, b):
                low = forward_longest(m, w, p, c, b, low, high)
                m.stopped = low
        elif may_go_forward(m, p, b):
            low = forward(m, w, p, c, b, low, high)
            m.stopped = low
        return low
    if n == 0:
        return DONE
    last = b.last
    if simple and (last == b.first or b.le[b.order[last - 1]] < c.le[w[w.index]]) and b.pending_top == 0:
        place = append(m, w, c, b, n)
    else:
        place = merge(m, w, p, c, b, n)
    status = place if place < 0 else propagate(m, w, p, b, place)
    if m.gapless and status >= 0:
        forget_cover(m, b)
    return status


@kernel
def derive_behind(m: Memory, w: Scratch, p: Program, b: Block) -> int:
    """Derive the list behind cover again: by what time-outs have made, other partial matches may count as begun last. A status."""
    place = b.first + 1
    if place >= b.last:
        return DONE
    mark(m, w, b, place)
    status = propagate(m, w, p, b, place)
    w.epoch += 1
    return int(status)


@kernel
def join_gaps(m: Memory, w: Scratch, p: Program, b: Block) -> int:
    """Let gaps be final that can't close any more, and lists go on across them where they are to. A status."""
    final = m.final
    place = pass_gaps(m, w, b, max(m.events, final))
    if 0 <= place < b.last:
        m.final = min(final, m.events)  # what a join brings is not final, though the call promises that it will be
        place = propagate(m, w, p, b, place)
        m.final = final
        w.epoch += 1
    return min(place, DONE)


@kernel
def mark_lifetime(m: Memory, w: Scratch, b: Block, low: int, high: int) -> int:
    """Mark the steps that an arc with lifetime ``[low, high)`` serves. Returns the first of them.

    One step past the lifetime belongs to them, and with time-outs the one before them: what fires within it feeds that step.
    """
    begin = place = find_place(m, b, low, 0)
    while begin > b.first and b.le[b.order[begin - 1]] >= low:
        begin -= 1
    place = begin
    mark(m, w, b, begin - 1)
    while place < b.last:
        mark(m, w, b, place)
        if b.le[b.order[place]] >= high:
            break
        place += 1
    return max(begin - 1, b.first)
