"""Blocks: the state of one key; made, moved, measured.

    b                                              move(b, to, first = 1): rows that no step points to are not copied
    order      [ 0  2  1 ]                         order      [ 0  1 ]
    events_of  [ 0:1  1:1  2:1 ]                   events_of  [ 0:1  1:1 ]
    events     [ e0 ][ e1 ][ e2 ][ room ]   -->    events     [ e2 ][ e1 ][ room        ]
    nodes_of   [ 0:1  3:2  1:1 ]                   nodes_of   [ 0:1  1:2 ]
    nodes      [ n0 ][ n1 ][ - ][ n3 ][ n4 ] ..    nodes      [ n1 ][ n3 ][ n4 ][ room  ]

Steps get new numbers, and their rows stand in the order of time. The old block stays unchanged: a call that fails goes back to it.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.heap import size_of, take_block
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.native_call import kernel


@kernel
def make(m: Memory, steps: int, events: int, nodes: int, matches: int, pending: int) -> int:
    """Make an empty block with room for so many rows of each kind; words left over in its size class go to events and nodes.

    Returns its address, or NEED_HEAP.
    """
    v, r = m.payload_words, m.register_words
    columns = COLUMNS if m.scans else NO_SCAN
    fixed = HEAD + columns * steps + (MatchRow.register + r) * matches + (PendingRow.payload + v) * pending
    words = fixed + (EventRow.payload + v) * events + (NodeRow.register + r) * nodes
    b = Block(take_block(m, words))
    if b < 0:
        return b
    size = m[b]
    spare = size_of(size) - words
    events += spare // 4 // (EventRow.payload + v)
    nodes += spare // 2 // (NodeRow.register + r)
    empty_head(m, b)
    b.size_class = size
    b.cap = steps
    b.events = HEAD + columns * steps
    b.event_cap = events
    b.nodes = b.events + (EventRow.payload + v) * events
    b.node_cap = nodes
    b.matches = b.nodes + (NodeRow.register + r) * nodes
    b.match_cap = matches
    b.pending = b.matches + (MatchRow.register + r) * matches
    b.pending_cap = pending
    b.born = m.serial
    if m.scans:
        for k in range(steps):
            b.folds[k] = 0
    return b


@kernel
def empty_head(m: Memory, b: Block) -> None:
    """Write the words of a header that change with the state, as they are where there are no steps."""
    for name in range(MOVING, HEAD):
        m[b + name] = 0
    b.runs, b.cleaned, b.since, b.pruned = 1, BEGINNING, BEGINNING, BEGINNING
    b.told, b.gap = m.events, FOREVER


@kernel
def copy_head(m: Memory, b: Block, to: Block) -> None:
    """Copy the words of a header that say something of the state, whatever its steps and rows: from Block.runs on."""
    copy(m, b + Block.runs, m, to + Block.runs, HEAD - Block.runs)


@kernel
def measure(m: Memory, b: Block, first: int) -> Any:
    """Return how many steps a block has from a place on, and how many events, nodes and matches they point to."""
    events = nodes = matches = 0
    for place in range(first, b.last):
        i = b.order[place]
        events += b.events_of[i].count
        nodes += b.nodes_of[i].count
        matches += b.matches_of[i].count
    return b.last - first, events, nodes, matches


@kernel
def move(m: Memory, b: Block, to: Block, first: int) -> None:
    """Copy the steps of a block from a place on to an empty block, in order; the old block stays unchanged."""
    v, r = m.payload_words, m.register_words
    order, n = b.order + first, b.last - first
    at = m[order] if n and in_a_row(m, order, n) else NOWHERE
    for i in range(n):  # steps get new numbers, in the order of time
        to.order[i] = i
    for column in (Block.le, Block.seq, Block.reach):
        move_column(m, b, to, column, order, n, at)
    move_slices(m, b, to, Block.events_of, order, n, Block.events, Block.event_top, EventRow.payload + v)
    move_slices(m, b, to, Block.nodes_of, order, n, Block.nodes, Block.node_top, NodeRow.register + r)
    move_slices(m, b, to, Block.matches_of, order, n, Block.matches, Block.match_top, MatchRow.register + r)
    copy_rows(m, b, to, b.pending_top, Block.pending, Block.pending_top, PendingRow.payload + v)
    to.last = n
    to.steps = n
    copy_head(m, b, to)
    to.shown_last = b.shown_last - b.shown_first
    to.shown_first = 0
    place = first
    for k in range(to.shown_last):  # INVARIANT: they begin at live steps, in order
        while b.order[place] != b.shown[b.shown_first + k]:
            place += 1
        to.shown[k] = place - first


@kernel
def in_a_row(m: Memory, order: int, n: int) -> bool:
    """Return whether the ``n`` steps at ``order`` were made one after the other."""
    i, k = m[order], 1
    while k < n and m[order + k] == i + k:
        k += 1
    return k == n


@kernel
def move_column(m: Memory, b: Block, to: Block, column: int, order: int, n: int, at: int) -> None:
    """Copy one column of ``n`` steps; ``at``: the first of them if they are in a row, else NOWHERE."""
    source, target = b.order + column * b.cap, to.order + column * to.cap
    if at != NOWHERE:
        copy(m, source + at, m, target, n)
        return
    for k in range(n):
        m[target + k] = m[source + m[order + k]]


@kernel
def move_slices(m: Memory, b: Block, to: Block, column: int, order: int, n: int, base: int, top: int, width: int) -> None:
    """Copy the slices of ``n`` steps, and their rows to the end of a section; rows side by side are copied at once."""
    source, target = b.order + column * b.cap, to.order + column * to.cap
    rows, out, at = b + m[b + base], to + m[to + base], m[to + top]
    begin = end = 0  # rows that are still to be copied to ``at``
    for k in range(n):
        found = Slice(m[source + m[order + k]])
        count = found.count
        if count == 0:
            m[target + k] = found  # 0, or of a scan what rows of all keys share
            continue
        if found.first != end:  # copy the run of rows that ends here
            copy(m, rows + begin * width, m, out + at * width, (end - begin) * width)
            at += end - begin
            begin = end = found.first
        end += count
        m[target + k] = found + ((at - begin) << 24)
    copy(m, rows + begin * width, m, out + at * width, (end - begin) * width)
    m[to + top] = at + end - begin


@kernel
def copy_rows(m: Memory, b: int, to: int, rows: Slice, base: int, top: int, width: int) -> int:
    """Copy a slice of rows from block ``b`` to the end of a section of block ``to``. Returns the slice there."""
    count = rows.count
    if count == 0:
        return 0
    source = b + m[b + base] + rows.first * width
    at = m[to + top]
    target = to + m[to + base] + at * width
    copy(m, source, m, target, count * width)
    m[to + top] = at + count
    return Slice(at, count)
