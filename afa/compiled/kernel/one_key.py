"""The work on one key.

    serve    KeyEntry.block --> block        room is short?  `grow`: a larger block; the undo log has the old one
               |                      packed?  it is opened in the unpack buffer, and packed again in the end
               v
             attempt                  clean as far as is promised > records into steps > propagate
               |  NEED_*              rolled back, a larger block, and the same again: `attempt_until_roomy`
               v
             close    KeyEntry.act, KeyEntry.clean: which punctuation concerns the key next; a block without steps goes

What fails for want of room is rolled back, and done again in a larger block. Only what the caller must provide (heap, scratch) ends
the call with a status, after which the caller may ask for the same again.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.blocks import make, measure, move
from afa.compiled.kernel.clean import clean, expire, oldest, set_deadlines, tick
from afa.compiled.kernel.dispatch import may_choose_loop, may_go_forward, may_go_longest, runs_fit
from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.events import merge
from afa.compiled.kernel.forward import forward
from afa.compiled.kernel.gaps import ascend, forget_cover, pass_gaps
from afa.compiled.kernel.heap import rollback, room, save, save_deadlines, size_of
from afa.compiled.kernel.kept_parts import derive_appended, take_kept
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.longest_forward import forward_longest
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import arrange, find_place
from afa.compiled.kernel.propagate import propagate
from afa.compiled.kernel.scan_orbits import serve_scan
from afa.compiled.kernel.step import mark
from afa.compiled.kernel.swap import forget_arcs
from afa.compiled.kernel.unpacked import SWAPPED, TOO_MUCH, opened, pack, replace

LARGE = 1 << 13
"""How many words a block must have to be worth leaving."""
LITTLE = 8
"""A block of so many steps or fewer is packed where that takes half the words that a packed key may have."""
FEW = 32
"""A call of so many records or more sets the rates of rows a step."""


@kernel
def grow(m: Memory, w: Scratch, key: int, b: Block, n: int, status: int) -> int:
    """Move a key's state from block ``b`` (0: none yet) to a block with room for ``n`` records more.

    What `clean` is about to drop stays behind. There is room for all that is known to come in the call: with less, a long one would
    move the state again and again. ``status``: what the old block was short of, if it was made for the same records; else DONE.
    Returns the block, or NEED_UNDO, NEED_HEAP.
    """
    if not room(w, SWAPPED):
        return NEED_UNDO
    # What the key has, without steps that are about to go.
    steps = events = nodes = matches = waiting = first = 0
    if b:
        cleans = n and b.cleaned < m.final and m.scans == 0 and (m.gapless == 0 or b.gap >= m.final)  # gaps are yet to be logged
        first = oldest(m, b, m.final) if cleans else b.first
        steps, events, nodes, matches = measure(m, b, first)
        waiting = b.pending_top
        learn_rates(m, b)
    # What comes, at the rates of rows that a step has taken so far.
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
    if b:
        move(m, b, to, first)
    replace(m, w, key, to)
    return to


@kernel
def is_spacious(m: Memory, b: Block) -> bool:
    """Return whether a block is large and nearly empty: the next long call can have it once it is free."""
    return size_of(b.size_class) >= LARGE and 8 * (b.last - b.first) <= b.cap


@kernel
def is_short(m: Memory, b: Block, n: int) -> bool:
    """Return whether a block has hardly room for ``n`` records more."""
    if b.cap - b.steps < n or b.event_cap - b.event_top < n:
        return True
    return b.node_cap - b.node_top < n * m.rate[1] >> 6


@kernel
def learn_rates(m: Memory, b: Block) -> None:
    """Set m.rate to the rows that a step of this block takes: no less than here; with many keys to an average."""
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
    """Put the ``n`` records at w.index into a key's block, or do ``what`` else, in as large a block as it takes.

    Returns DONE, or what the caller must provide: NEED_HEAP, NEED_UNDO, NEED_LOG, NEED_PLACES, NEED_ROWS, NEED_TEMP; or FAULT,
    ENDLESS, CROWDED, OVER. Then all is as it was before.
    """
    # Open: the records in order, the key's block, with room for them.
    entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
    if what == SERVE:
        arrange(m, w, c, n)
    begun, origin = save_counters(m, w, p), w.undo_top
    w.key = key * m.shards + m.shard
    if entry.block == 0 and n == 0:
        return DONE
    b = opened(m, key)
    if b < 0:
        return b
    if m.gapless and what == SERVE and m.looked == 0 and not ascend(m, w, c, b, n):
        m.numbered = n
        return NUMBERS
    if b == 0 or (n and is_short(m, b, n)):
        b = grow(m, w, key, b, n, DONE)
    # Attempt, then close. INVARIANT: a status leaves the key and all counters as they were.
    start = origin
    if b > 0:
        b, start = attempt_until_roomy(m, w, p, c, key, b, n, what, low, high)
    status = b if b < 0 else close_block(m, w, p, key, b, n, what, start)
    if status < 0:
        rollback(m, w, origin)
        restore_counters(m, w, p, begun)
        return status
    if m.looked == ONCE and what == SERVE:
        m.looked = 0
    if what != TICK:
        entry.changed = m.serial
    return DONE


@kernel
def attempt_until_roomy(
    m: Memory, w: Scratch, p: Program, c: Any, key: int, b: Block, n: int, what: int, low: int, high: int
) -> tuple[int, int]:
    """Attempt the work of `serve` in larger and larger blocks, until one has room.

    Returns that block, or a status; and where the undo log begins for it.
    """
    begun, start, again = save_counters(m, w, p), w.undo_top, False
    while b > 0:
        start = w.undo_top
        if not room(w, HEAD + 16 + SWAPPED):
            return NEED_UNDO, start
        if b != m.unpacked:  # INVARIANT: the header is saved before it changes; of a packed key its record is
            save(m, w, b + MOVING, HEAD - MOVING)
            if b.born != m.serial:
                save_deadlines(m, w, key)
        status = attempt(m, w, p, c, b, n, what, low, high)
        if status >= 0:
            if b == m.unpacked or b.born == m.serial:
                w.undo_top = start
            break
        # Back to where the attempt began; short of room in the block it is made again in a larger one.
        rollback(m, w, start)
        restore_counters(m, w, p, begun)
        if b == m.unpacked:
            opened(m, key)
        if status != NEED_BLOCK and not NEED_MATCHES <= status <= NEED_EVENTS:
            return status, start
        b = Block(grow(m, w, key, b, n, status if again else DONE))
        again = True
    return b, start


@kernel
def close_block(m: Memory, w: Scratch, p: Program, key: int, b: Block, n: int, what: int, start: int) -> int:
    """Leave a block that is too large or empty, pack a key that has little, set its deadlines. Returns DONE, NEED_UNDO, NEED_HEAP.

    ``start``: where the undo log begins for the block.
    """
    if b != m.unpacked and what == CLEAN and b.first < b.last and is_spacious(m, b):
        b = Block(grow(m, w, key, b, 0, DONE))
        if b < 0:
            return b
    elif what == FORWARD and n >= FEW:
        learn_rates(m, b)
    if b.first == b.last and b.pending_top == 0:
        if b != m.unpacked and b.born != m.serial:  # INVARIANT: a rolled-back call finds the block as it was
            rollback(m, w, start)
        if not room(w, SWAPPED):
            return NEED_UNDO
        replace(m, w, key, 0)
        put_deadlines(m, key, FOREVER, FOREVER)
        return DONE
    b = Block(settled(m, w, key, b))
    if b < 0:
        return b
    set_deadlines(m, p, b, key)
    return DONE


@kernel
def settled(m: Memory, w: Scratch, key: int, b: Block) -> int:
    """Pack a key that has little in block ``b``; give a state in the unpack buffer that is too much for that a block of its own.

    Returns a block; or NEED_UNDO, NEED_HEAP, for a state in the unpack buffer.
    """
    status = TOO_MUCH
    if b == m.unpacked:
        status = pack(m, w, key, b, m.packed_limit)
    elif m.packed_limit and b.last - b.first <= LITTLE:
        status = pack(m, w, key, b, m.packed_limit // 2)
        if status < 0:  # it stays: the undo log has nothing that would bring a block of this call back
            return b
    if status == TOO_MUCH and b == m.unpacked:
        return grow(m, w, key, b, 0, DONE)
    return status if status < 0 else b


@kernel
def save_counters(m: Memory, w: Scratch, p: Program) -> Any:
    """Return the counters outside the block that a rollback must restore."""
    return w.log_top, w.taken, m.events, m.stale, m.changes, m.now, m.arcs, m.waiting, p.boundcount


@kernel
def restore_counters(m: Memory, w: Scratch, p: Program, old: Any) -> None:
    """Restore the counters that `save_counters` saved."""
    w.log_top, w.taken, m.events, m.stale, m.changes, m.now, m.arcs, m.waiting, bounds = old
    forget_arcs(p, bounds)


@kernel
def attempt(m: Memory, w: Scratch, p: Program, c: Arrivals, b: Block, n: int, what: int, low: int, high: int) -> int:
    """Do the work of `serve` in the block as it is. Returns a status; NEED_BLOCK and the like ask for another block."""
    kept, was_long = take_kept(m, w, b)
    # A new epoch: no step is marked; steps from w.made on are new.
    w.made = b.steps
    w.epoch += 1
    w.marked_from = FOREVER
    w.until = BEGINNING
    w.whole = low if what == SWAP else FOREVER
    if b.cap > w.places:
        return NEED_PLACES
    if may_choose_loop(m, p, b, n):
        b.runs = runs_fit(m, b, n)
    # What is final by now goes first, so that nothing is derived that would be dropped.
    if what == EXPIRE:
        return expire(m, w, b, low)
    if m.scans:
        return serve_scan(m, w, p, c, b, n, what, low, high)
    if m.gapless:
        status = join_gaps(m, w, p, b)
        if status < 0:
            return status
    if b.cleaned < m.final:
        kept = was_long = False
        status = clean(m, w, p, b, m.final)
        if status >= 0 and m.longest and p.timeout:
            status = derive_behind(m, w, p, b)
        if status < 0:
            return status
    if m.gapless:
        forget_cover(m, b)
        if n:
            b.gap = min(b.gap, c.le[w[w.index]]) if what == SERVE else b.gap
    # What else than records is to be done.
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
            low = forward(m, w, p, c, b, low, high, kept)
            m.stopped = low
        return low
    if n == 0:
        return DONE
    # The records into steps, which marks them; then Algorithm 1 from the first marked one.
    last = b.last
    place = status = merge(m, w, p, c, b, n)
    if place >= 0 and place == last:
        status = derive_appended(m, w, p, b, place, n, kept, was_long)
    elif place >= 0:
        status = propagate(m, w, p, b, place)
    if m.gapless and status >= 0:
        forget_cover(m, b)
    return status


@kernel
def derive_behind(m: Memory, w: Scratch, p: Program, b: Block) -> int:
    """Derive the first list after cover again: time-outs may have changed which of equal partial matches began last. A status."""
    place = b.first + 1
    if place >= b.last:
        return DONE
    mark(m, w, b, place)
    status = propagate(m, w, p, b, place)
    w.epoch += 1
    return status


@kernel
def join_gaps(m: Memory, w: Scratch, p: Program, b: Block) -> int:
    """Make gaps final that can't close any more; where they are joined, lists go on across them. A status."""
    final = m.final
    place = pass_gaps(m, w, b, max(m.events, final))
    if 0 <= place < b.last:
        m.final = min(final, m.events)  # matches that a join brings are not final yet, though the call promises it
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
