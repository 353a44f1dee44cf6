"""Blocks: the state of one key; made, moved, measured.

    b                                              move(b, to, first = 1): what nothing points to stays behind
    order  [ 0  2  1 ]                             order  [ 0  1 ]
    ev     [ 0:1  1:1  2:1 ]                       ev     [ 0:1  1:1 ]
    events [ e0 ][ e1 ][ e2 ][ room ]       -->    events [ e2 ][ e1 ][ room        ]
    nd     [ 0:1  3:2  1:1 ]                       nd     [ 0:1  1:2 ]
    nodes  [ n0 ][ - ][ - ][ n3 ][ n4 ] ..         nodes  [ n1 ][ n3 ][ n4 ][ room  ]

Steps get new numbers, their rows stand in the order of time. The old block stays as it was: a call that fails goes back to it.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.heap import size_of, take_block
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel


@kernel
def make(m: Any, steps: int, events: int, nodes: int, matches: int, pending: int) -> int:
    """Make an empty block with room for so many rows of each kind; what its size class has left over goes to events and nodes.

    Returns its address, or NEED_HEAP.
    """
    v, r = m[C_V], m[C_R]
    fixed = HEAD + COLUMNS * steps + (M_REG + r) * matches + (Q_WORDS + v) * pending
    words = fixed + (E_WORDS + v) * events + (N_REG + r) * nodes
    b = take_block(m, words)
    if b < 0:
        return int(b)
    size = m[b]
    spare = size_of(size) - words
    events += spare // 4 // (E_WORDS + v)
    nodes += spare // 2 // (N_REG + r)
    for i in range(HEAD):
        m[b + i] = 0
    m[b + H_CLASS] = size
    m[b + H_CAP] = steps
    m[b + H_EVENTS] = HEAD + COLUMNS * steps
    m[b + H_EVENT_CAP] = events
    m[b + H_NODES] = m[b + H_EVENTS] + (E_WORDS + v) * events
    m[b + H_NODE_CAP] = nodes
    m[b + H_MATCHES] = m[b + H_NODES] + (N_REG + r) * nodes
    m[b + H_MATCH_CAP] = matches
    m[b + H_PENDING] = m[b + H_MATCHES] + (M_REG + r) * matches
    m[b + H_PENDING_CAP] = pending
    m[b + H_SINCE] = BEGINNING
    m[b + H_CLEANED] = BEGINNING
    m[b + H_PRUNED] = BEGINNING
    m[b + H_TOLD], m[b + H_GAP] = m[C_EVENTS], FOREVER
    m[b + H_BORN] = m[C_SERIAL]
    return int(b)


@kernel
def measure(m: Any, b: int, first: int) -> Any:
    """Return how many steps a block has from a place on, and how many rows of events, nodes and matches they point to."""
    cap = m[b + H_CAP]
    events = nodes = matches = 0
    for place in range(first, m[b + H_LAST]):
        i = m[b + HEAD + place]
        events += m[b + HEAD + EV * cap + i] & COUNT
        nodes += m[b + HEAD + ND * cap + i] & COUNT
        matches += m[b + HEAD + MT * cap + i] & COUNT
    return m[b + H_LAST] - first, events, nodes, matches


@kernel
def move(m: Any, b: int, to: int, first: int) -> None:
    """Copy the steps from a place on from one block to an empty one, in order; the old one stays as it was."""
    v, r = m[C_V], m[C_R]
    order, n = b + HEAD + first, m[b + H_LAST] - first
    at = m[order] if n and in_a_row(m, order, n) else NOWHERE
    for i in range(n):
        m[to + HEAD + i] = i
    for column in (LE, SEQ, REACH):
        move_column(m, b, to, column, order, n, at)
    move_slices(m, b, to, EV, order, n, H_EVENTS, H_EVENT_TOP, E_WORDS + v)
    move_slices(m, b, to, ND, order, n, H_NODES, H_NODE_TOP, N_REG + r)
    move_slices(m, b, to, MT, order, n, H_MATCHES, H_MATCH_TOP, M_REG + r)
    copy_rows(m, b, to, m[b + H_PENDING_TOP], H_PENDING, H_PENDING_TOP, Q_WORDS + v)
    m[to + H_LAST] = n
    m[to + H_STEPS] = n
    for name in (H_RUNS, H_SINCE, H_CLEANED, H_PRUNED, H_THINNED, H_TOLD, H_GAP, H_OVER):
        m[to + name] = m[b + name]


@kernel
def in_a_row(m: Any, order: int, n: int) -> bool:
    """Return whether the ``n`` steps at ``order`` were made one after the other."""
    i, k = m[order], 1
    while k < n and m[order + k] == i + k:
        k += 1
    return k == n


@kernel
def move_column(m: Any, b: int, to: int, column: int, order: int, n: int, at: int) -> None:
    """Copy the words of ``n`` steps; ``at``: the first of them if they are in a row, else NOWHERE."""
    source, target = b + HEAD + column * m[b + H_CAP], to + HEAD + column * m[to + H_CAP]
    if at != NOWHERE:
        copy(m, source + at, m, target, n)
        return
    for k in range(n):
        m[target + k] = m[source + m[order + k]]


@kernel
def move_slices(m: Any, b: int, to: int, column: int, order: int, n: int, base: int, top: int, width: int) -> None:
    """Copy the slices of ``n`` steps, with their rows to the end of a section: those that stand side by side at once."""
    source, target = b + HEAD + column * m[b + H_CAP], to + HEAD + column * m[to + H_CAP]
    rows, out, at = b + m[b + base], to + m[to + base], m[to + top]
    begin = end = 0  # rows that are still to be copied to ``at``
    for k in range(n):
        found = m[source + m[order + k]]
        count = found & COUNT
        if count == 0:
            m[target + k] = 0
            continue
        if found >> 24 != end:
            copy(m, rows + begin * width, m, out + at * width, (end - begin) * width)
            at += end - begin
            begin = end = found >> 24
        end += count
        m[target + k] = found + ((at - begin) << 24)
    copy(m, rows + begin * width, m, out + at * width, (end - begin) * width)
    m[to + top] = at + end - begin


@kernel
def copy_rows(m: Any, b: int, to: int, rows: int, base: int, top: int, width: int) -> int:
    """Copy a slice of rows from block ``b`` to the end of a section of block ``to``. Returns the slice there."""
    count = rows & COUNT
    if count == 0:
        return 0
    source = b + m[b + base] + (rows >> 24) * width
    at = m[to + top]
    target = to + m[to + base] + at * width
    copy(m, source, m, target, count * width)
    m[to + top] = at + count
    return int(at << 24 | count)
