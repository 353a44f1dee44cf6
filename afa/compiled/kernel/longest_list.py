"""One list in columns, where only the longest count: its rows, and the set that finds them.

columns      start   1    4    9            w.other: w.rows words a column, in the order of a row's words; instead of ``end`` the
             until   61   64   69           number of the node; then the place in the set, and the LE at which it was stored
             state   b    b    a
             node    17   20   21
set          (b, 7) -> 0                    w.hash: the row of a state and register

`skyline` and `group_sums` tell which of them an event concerns.
"""

from __future__ import annotations

from typing import Annotated

from afa.compiled.kernel.buffers import since_of
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import new_set
from afa.compiled.kernel.native_call import kernel


@kernel
def column(m: Memory, w: Scratch, word: int) -> int:
    """Return where a column of the list begins; behind a row's words: its place in the set, the LE at which it was stored."""
    return w.other + word * w.rows


@kernel
def begin_columns(m: Memory, w: Scratch, p: Program, x: Loop, n: int) -> int:
    """Bring the ``n`` rows at w.source into columns, and into the set. Returns the LE at which the oldest node was stored."""
    s, rows, reach = NodeRow.register + m.register_words, w.source, FOREVER
    for j in range(s):
        at = column(m, w, j)
        for k in range(n):
            w[at + k] = w[rows + k * s + j]
    since, untils = column(m, w, s + 1), column(m, w, NodeRow.until)
    for k in range(n):
        w[since + k] = w[since_of(w, rows, k, s)]
        reach = min(reach, w[since + k])
    for k in range(n, n + 9):  # INVARIANT: rows behind the last, which a group of eight takes in, are over
        w[untils + k] = BEGINNING
    x.n = n
    x.src, x.stride = m.w_at + 8 * w.other, w.rows
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
    s = NodeRow.register + m.register_words
    state, placed, row = column(m, w, NodeRow.state), column(m, w, s), NodeRow(w, w.new + (w.rows - 1) * s)
    for k in range(x.n):
        for j in range(m.register_words):
            row.register[j] = w[column(m, w, NodeRow.register + j) + k]
        row.state = w[state + k]
        place = find_longest(m, w, row)
        w[place], w[place + 1] = w.stamp, k
        w[placed + k] = place
        x.used += 1


@kernel
def find_longest(m: Memory, w: Scratch, row: Annotated[NodeRow, "w"]) -> int:
    """Return the place in the set of the state and register of ``w[row]``, or a free one. O(1).

    A place is 3 words ``[stamp, number of the row in the list, -]``; NOWHERE: that row has gone.
    """
    r, places, table = m.register_words, w.hashes, w.hash
    h = row.state
    for i in range(NodeRow.register, NodeRow.register + r):
        word = w[row + i]
        h = (h * 31 + (word & 0xFFFFFFF) + ((word >> 28) & 0xFFFFFFF) * 7) & 0xFFFFFFFFFF
    at = (h * 0x9E3779B1 >> 12) & (places - 1)
    while w[table + 3 * at] == w.stamp:
        k = w[table + 3 * at + 1]
        if k != NOWHERE and is_row(m, w, row, k):
            break
        at = (at + 1) & (places - 1)
    return table + 3 * at


@kernel
def is_row(m: Memory, w: Scratch, row: Annotated[NodeRow, "w"], k: int) -> bool:
    """Return whether row ``k`` of the list has the state and the register of ``w[row]``."""
    if w[column(m, w, NodeRow.state) + k] != row.state:
        return False
    for j in range(NodeRow.register, NodeRow.register + m.register_words):
        if w[column(m, w, j) + k] != w[row + j]:
            return False
    return True


@kernel
def count_finals(m: Memory, w: Scratch, p: Program, x: Loop) -> None:
    """Count the rows of the list in states that are final now."""
    found, state = 0, column(m, w, NodeRow.state)
    for k in range(x.n):
        found += p[p.now + w[state + k]] != 0
    x.finals = found


@kernel
def take_out(m: Memory, w: Scratch, p: Program, x: Loop, k: int) -> int:
    """Take row ``k`` out of the list and the set; the last row takes its place. Returns where the last one stood."""
    s, last = NodeRow.register + m.register_words, x.n - 1
    placed = column(m, w, s)
    x.finals -= p[p.now + w[column(m, w, NodeRow.state) + k]] != 0
    w[w[placed + k] + 1] = NOWHERE  # INVARIANT: the place stays taken, so that others are found behind it
    if k != last:
        for j in range(s + 2):
            at = column(m, w, j)
            w[at + k] = w[at + last]
        w[w[placed + k] + 1] = k
    w[column(m, w, NodeRow.until) + last] = BEGINNING
    x.n = last
    return last
