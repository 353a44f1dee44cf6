"""One list in a row buffer, where only the longest count: its rows, in no order, and the set that finds them.

w.other      (1, 61, b, 17, 7)  (4, 64, b, 20, 4)  (9, 69, a, 21, 0)      start, m, state, number of the node, register
behind       8  12  16           at which LE each was stored                then its place in the set
set          (b, 7) -> 0                                                    w.hash: the row of a state and register

`skyline` says which of them an event concerns.
"""

from __future__ import annotations

from typing import Annotated

from afa.compiled.kernel.buffers import copy_row, since_of
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import hash_of, new_set, same_words
from afa.compiled.kernel.native_call import kernel


@kernel
def begin_rows(m: Memory, w: Scratch, p: Program, x: Loop, n: int) -> int:
    """Copy the ``n`` rows at w.source into the list and the set. Returns the LE at which the oldest node was stored."""
    s, rows, reach = NodeRow.register + m.register_words, w.other, FOREVER
    for k in range(n):
        copy_row(w, w.source, k, rows, k, s)
        reach = min(reach, w[since_of(w, rows, k, s)])
    x.n, x.src, x.stride = n, m.w_at + 8 * w.other, w.rows
    x.out = m.w_at + 8 * w.new
    x.last = m.w_at + 8 * (w.new + (w.rows - 2) * s)
    fill_set(m, w, x)
    count_finals(m, w, p, x)
    return reach


@kernel
def fill_set(m: Memory, w: Scratch, x: Loop) -> None:
    """Make the set anew, of all rows of the list."""
    new_set(w)
    x.set, x.used = w.stamp, 0
    s, rows = NodeRow.register + m.register_words, w.other
    for k in range(x.n):
        place = find_longest(m, w, rows + k * s)
        w[place], w[place + 1] = w.stamp, k
        w[since_of(w, rows, k, s) + w.rows] = place
        x.used += 1


@kernel
def find_longest(m: Memory, w: Scratch, row: Annotated[NodeRow, "w"]) -> int:
    """Return the place in the set of the state and register of ``w[row]``, or a free one. O(1).

    A place is 3 words ``[stamp, number of the row in the list, -]``; NOWHERE: that row has gone.
    """
    places, table, at = w.hashes, w.hash, hash_of(w, w, row.register, m.register_words, NOWHERE, row.state)
    while w[table + 3 * at] == w.stamp:
        k = w[table + 3 * at + 1]
        if k != NOWHERE and is_row(m, w, row, k):
            break
        at = (at + 1) & (places - 1)
    return table + 3 * at


@kernel
def is_row(m: Memory, w: Scratch, row: Annotated[NodeRow, "w"], k: int) -> bool:
    """Return whether row ``k`` of the list has the state and the register of ``w[row]``."""
    other = NodeRow(w, w.other + k * (NodeRow.register + m.register_words))
    return bool(other.state == row.state and same_words(w, row.register, w, other.register, m.register_words))


@kernel
def count_finals(m: Memory, w: Scratch, p: Program, x: Loop) -> None:
    """Count the rows of the list in states that are final now."""
    found, s = 0, NodeRow.register + m.register_words
    for k in range(x.n):
        found += p[p.now + NodeRow(w, w.other + k * s).state] != 0
    x.finals = found


@kernel
def take_out(m: Memory, w: Scratch, p: Program, x: Loop, k: int) -> None:
    """Take row ``k`` out of the list and the set: the last row takes its place."""
    s, rows, last = NodeRow.register + m.register_words, w.other, x.n - 1
    x.finals -= p[p.now + NodeRow(w, rows + k * s).state] != 0
    placed = since_of(w, rows, k, s) + w.rows
    w[w[placed] + 1] = NOWHERE
    if k != last:
        copy_row(w, rows, last, rows, k, s)
        w[w[placed] + 1] = k
    x.n = last
