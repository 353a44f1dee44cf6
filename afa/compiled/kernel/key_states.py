"""Write the state of many keys to a batch for a snapshot, and restore keys from one; see `afa.state.states`.

The first row of a batch holds the numbers of the keys in the directory, in any order; NOWHERE: a key without state. Three forms:

    HEADS      changes, rows, LE, number, RE    of each key, without the steps that `given` counts; see `afa.state.states`;
               pruned                           and whether promises with conditions have thinned it out, or promise more of it
    COVERS     start, m, state, register..      of each partial match of their covers
    CHANGES    LE, RE, copies, words..          of each event, and with -copies of each retraction that waits
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.blocks import make
from afa.compiled.kernel.buffers import load_list
from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.heap import room
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel, prefetch
from afa.compiled.kernel.one_key import grow, serve, settled
from afa.compiled.kernel.order import find_place
from afa.compiled.kernel.step import derive_matches
from afa.compiled.kernel.unpacked import SWAPPED, block_of_key, replace

AHEAD = 8
"""How many keys ahead memory is fetched: twice as far their entries, then the blocks and records to which these point."""
LINES = 4
"""How many lines of a block or record are fetched."""


@kernel
def save_keys(m: Memory, c: Any, n: int, what: int) -> int:
    """Write HEADS, COVERS or CHANGES of ``n`` keys to the batch. Returns DONE."""
    at = 0
    for k in range(n):
        ask_ahead(m, c, k, n)
        b = block_of_key(m, c[0, k]) if c[0, k] != NOWHERE else 0
        if what == HEADS:
            save_head(m, c, b, k)
        elif b == 0:
            continue
        elif what == COVERS:
            at = save_cover(m, c, b, at)
        else:
            at = save_changes(m, c, b, at)
    return DONE


@kernel
def ask_ahead(m: Memory, c: Any, k: int, n: int) -> None:
    """Fetch the memory of keys some places after ``k``."""
    if k + 2 * AHEAD < n:
        prefetch(m.m_at + 8 * (m.dir + c[0, k + 2 * AHEAD] * KeyEntry.SIZE))
    if k + AHEAD < n and c[0, k + AHEAD] != NOWHERE:
        at = m.m_at + 8 * abs(KeyEntry(m.dir + c[0, k + AHEAD] * KeyEntry.SIZE).block)
        for line in range(LINES):
            prefetch(at + 64 * line)


@kernel
def covered(m: Memory, b: Block) -> bool:
    """Return whether a block's first step is ``cover``, and no list is pruned."""
    if b.pruned != BEGINNING or b.first == b.last:
        return False
    return b.events_of[b.order[b.first]].count == 0


@kernel
def given(m: Memory, b: Block) -> int:
    """Return how many steps a snapshot must give with their lists: up to the first one after ``pruned``; others are derived."""
    if b.pruned == BEGINNING:
        return 0
    return min(find_place(m, b, b.pruned + 1, 0) + 1, b.last) - b.first


@kernel
def save_head(m: Memory, c: Any, b: Block, k: int) -> None:
    """Write to column ``k`` how many changes and cover rows a block has, and the times of its cover; ``b`` 0: all 0."""
    for i in range(1, 7):
        c[i, k] = 0
    if b == 0:
        return
    changes = b.pending_top
    for place in range(b.first + given(m, b), b.last):
        changes += b.events_of[b.order[place]].count
    c[1, k] = changes
    if covered(m, b):
        i = b.order[b.first]
        c[2, k] = b.nodes_of[i].count
        c[3, k] = b.le[i]
        if m.gapless:
            c[4, k], c[5, k] = b.seq[i], b.over
    c[6, k] = b.pruned != BEGINNING or b.cleaned > m.final


@kernel
def save_cover(m: Memory, c: Any, b: Block, at: int) -> int:
    """Write the list of a block's cover from column ``at`` on. Returns the column behind it."""
    if not covered(m, b):
        return at
    s, rows = NodeRow.register + m.register_words, b.nodes_of[b.order[b.first]]
    for k in range(rows.count):
        node = NodeRow(b + b.nodes + (rows.first + k) * s)
        c[1, at], c[2, at], c[3, at] = node.start, node.until, node.state
        for i in range(m.register_words):
            c[4 + i, at] = node.register[i]
        at += 1
    return at


@kernel
def save_changes(m: Memory, c: Any, b: Block, at: int) -> int:
    """Write a block's events, then its retractions that wait, from column ``at`` on. Returns the column behind them."""
    v = m.payload_words
    for place in range(b.first + given(m, b), b.last):
        step = b.order[place]
        rows = b.events_of[step]
        for k in range(rows.count):
            event = EventRow(b + b.events + (rows.first + k) * (EventRow.payload + v))
            c[1, at], c[2, at], c[3, at] = b.le[step], event.re, event.copies
            for i in range(v):
                c[4 + i, at] = event.payload[i]
            at += 1
    for k in range(b.pending_top):
        waiting = PendingRow(b + b.pending + k * (PendingRow.payload + v))
        c[1, at], c[2, at], c[3, at] = waiting.le, waiting.re, -waiting.copies
        for i in range(v):
            c[4 + i, at] = waiting.payload[i]
        at += 1
    return at


@kernel
def restore_covers(m: Memory, w: Scratch, c: Any, high: int) -> int:
    """Make the first blocks of keys, each with a cover step, from column m.next of the batch on. Returns a status.

    A column ``[key, LE, since, n, number, RE]``, then ``n`` columns as COVERS has them.
    """
    while m.next < high:
        at = m.next
        status = restore(m, w, c, c[0, at], at, c[3, at])
        if status < 0:
            return status
        m.next = at + 1 + c[3, at]
    return DONE


@kernel
def restore(m: Memory, w: Scratch, c: Any, key: int, at: int, n: int) -> int:
    """Make a key's first block, with a cover step of ``n`` partial matches. Returns DONE, NEED_UNDO or NEED_HEAP."""
    b = Block(grow(m, w, key, 0, n, DONE))
    if b < 0:
        return b
    # One step, number 0: all its columns, then its list.
    s, cap = NodeRow.register + m.register_words, b.cap
    for column in range(NO_SCAN):
        b.order[column * cap] = 0
    m[b.le] = m[b.reach] = c[1, at]
    m[b.seq], b.over = c[4, at], c[5, at]
    b.since, b.cleaned = c[2, at], m.final
    for k in range(n):
        row, here = NodeRow(b + b.nodes + k * s), at + 1 + k
        row.start, row.until, row.state, row.end = c[1, here], c[2, here], c[3, here], ALONE
        for i in range(m.register_words):
            row.register[i] = c[4 + i, here]
    m[b.nodes_of] = b.node_top = n
    b.steps = b.last = 1
    put_deadlines(m, key, BEGINNING, BEGINNING)
    return min(settled(m, w, key, b), DONE)


@kernel
def restore_changes(m: Memory, w: Scratch, p: Program, c: Arrivals, high: int) -> int:
    """Serve the records of each key, which stand side by side, from column m.next on. Returns a status.

    The output log is emptied, unless gaps are to be told. Arrivals.key is the number of a key in this memory.
    """
    while m.next < high:
        first, n = m.next, 0
        while first + n < high and c.key[first + n] == c.key[first]:
            w[w.index + n] = first + n
            n += 1
        status = serve(m, w, p, c, c.key[first], n, SERVE, 0, 0)
        if status < 0:
            return status
        if m.gapless == 0:
            w.log_top = w.taken = 0
        m.next = first + n
    return DONE


@kernel
def restore_steps(m: Memory, w: Scratch, p: Program, c: Any, high: int) -> int:
    """Make the first blocks of keys, with steps whose lists are given, from column m.next of the batch on. Returns a status.

    A column ``[key, steps, rows, events, pruned, cleaned]``; for each step a column ``[LE, rows, events, reach]``, its nodes, and
    its events as CHANGES has them, but from the first word of a column on.
    """
    while m.next < high:
        at = m.next
        status = restore_given(m, w, p, c, at)
        if status < 0:
            return status
        m.next = at + 1 + c[1, at] + c[2, at] + c[3, at]
    return DONE


@kernel
def restore_given(m: Memory, w: Scratch, p: Program, c: Any, at: int) -> int:
    """Make a key's first block, with the steps from column ``at`` on. Returns a status."""
    steps, nodes, events, s, v = c[1, at], c[2, at], c[3, at], NodeRow.register + m.register_words, m.payload_words
    if not room(w, 2 * SWAPPED):
        return NEED_UNDO
    b = Block(make(m, steps + 3, events + 3, nodes + 3, nodes + 3, 1))
    if b < 0:
        return b
    b.cleaned, b.pruned = max(m.final, c[5, at]), c[4, at]
    b.steps, b.last = steps, steps
    # Steps in order; their nodes and events are appended.
    times, cap, here = b.le, b.cap, at + 1
    for i in range(steps):
        le, rows, changes = c[0, here], c[1, here], c[2, here]
        for column in range(NO_SCAN):
            b.order[column * cap + i] = 0
        b.order[i], times[i], b.reach[i] = i, le, c[3, here]
        if rows:
            b.nodes_of[i] = Slice(b.node_top, rows)
        if changes:
            b.events_of[i] = Slice(b.event_top, changes)
        here += 1
        for _ in range(rows):
            node = b + b.nodes + b.node_top * s
            for j in range(s):
                m[node + j] = c[j, here]
            b.node_top += 1
            here += 1
        for _ in range(changes):
            event = b + b.events + b.event_top * (EventRow.payload + v)
            for j in range(EventRow.payload + v):
                m[event + j] = c[j, here]
            b.event_top += 1
            here += 1
    # The key gets the block now: it may be grown below, and a rollback frees it.
    key = c[0, at]
    replace(m, w, key, b)
    put_deadlines(m, key, BEGINNING, BEGINNING)
    w.made, w.key = 0, key * m.shards + m.shard
    i = 0
    # Derive the matches of each step from its list.
    while i < steps and b > 0:
        n = load_list(m, w, b, i, w.source)
        status = derive_matches(m, w, p, b, i, w, w.source, n) if n >= 0 else n
        if status == NEED_MATCHES:  # time-outs may make many of one partial match
            b = Block(grow(m, w, key, b, 0, status))
        elif status < 0:
            b = Block(status)
        else:
            i += 1
    if b > 0:
        b = Block(settled(m, w, key, b))
    if b < 0:
        replace(m, w, key, 0)
        return b
    return DONE
