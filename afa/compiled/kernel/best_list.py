"""One list in columns, where only the longest count: its rows, and the set that finds them.

columns      start   1    4    9            W_OTHER: W_ROWS words a column, as the words of a row stand; instead of ``end`` the
             m      61   64   69            number of the node; then the place in the set, and the LE at which it was stored
             state   b    b    a
             node   17   20   21
set          (b, 7) -> 0                    W_HASH: the row of a state and register

`best_stairs` and `best_sums` say which of them an event concerns.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.buffers import since_of
from afa.compiled.kernel.lists import new_set
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel


@kernel
def column(m: Any, w: Any, word: int) -> int:
    """Return where a column of the list begins; behind those of a row: PLACED, the place in the set, and SINCE."""
    return int(w[W_OTHER] + word * w[W_ROWS])


@kernel
def begin_columns(m: Any, w: Any, p: Any, x: int, n: int) -> int:
    """Bring the ``n`` rows at W_SOURCE into columns, and into the set. Returns the LE at which the oldest node was stored."""
    s, rows, reach = N_REG + m[C_R], w[W_SOURCE], FOREVER
    for j in range(s):
        at = column(m, w, j)
        for k in range(n):
            w[at + k] = w[rows + k * s + j]
    since, ms = column(m, w, s + 1), column(m, w, N_M)
    for k in range(n):
        w[since + k] = w[since_of(w, rows, k, s)]
        reach = min(reach, w[since + k])
    for k in range(n, n + 9):
        w[ms + k] = BEGINNING
    w[x + X_N] = n
    w[x + X_SRC], w[x + X_STRIDE] = m[C_W] + 8 * w[W_OTHER], w[W_ROWS]
    w[x + X_OUT] = m[C_W] + 8 * w[W_NEW]
    w[x + X_LAST] = m[C_W] + 8 * (w[W_NEW] + (w[W_ROWS] - 2) * s)
    fill_set(m, w, x)
    count_finals(m, w, p, x)
    return reach


@kernel
def fill_set(m: Any, w: Any, x: int) -> None:
    """Make the set anew: of all rows of the list."""
    new_set(w)
    w[x + X_SET], w[x + X_USED] = w[W_STAMP], 0
    state, placed = column(m, w, N_STATE), column(m, w, N_REG + m[C_R])
    row = w[W_NEW] + (w[W_ROWS] - 1) * (N_REG + m[C_R])
    for k in range(w[x + X_N]):
        for j in range(m[C_R]):
            w[row + N_REG + j] = w[column(m, w, N_REG + j) + k]
        w[row + N_STATE] = w[state + k]
        place = find_best(m, w, row)
        w[place], w[place + 1] = w[W_STAMP], k
        w[placed + k] = place
        w[x + X_USED] += 1


@kernel
def find_best(m: Any, w: Any, row: int) -> int:
    """Return the place in the set of the state and register of ``w[row]``, or a free one. O(1).

    A place is 3 words ``[stamp, number of the row in the list, -]``; NOWHERE: of one that has gone.
    """
    r, places, table = m[C_R], w[W_HASHES], w[W_HASH]
    h = w[row + N_STATE]
    for i in range(N_REG, N_REG + r):
        word = w[row + i]
        h = (h * 31 + (word & 0xFFFFFFF) + ((word >> 28) & 0xFFFFFFF) * 7) & 0xFFFFFFFFFF
    at = (h * 0x9E3779B1 >> 12) & (places - 1)
    while w[table + 3 * at] == w[W_STAMP]:
        k = w[table + 3 * at + 1]
        if k != NOWHERE and is_row(m, w, row, k):
            break
        at = (at + 1) & (places - 1)
    return int(table + 3 * at)


@kernel
def is_row(m: Any, w: Any, row: int, k: int) -> bool:
    """Return whether row ``k`` of the list has the state and the register of ``w[row]``."""
    if w[column(m, w, N_STATE) + k] != w[row + N_STATE]:
        return False
    for j in range(N_REG, N_REG + m[C_R]):
        if w[column(m, w, j) + k] != w[row + j]:
            return False
    return True


@kernel
def count_finals(m: Any, w: Any, p: Any, x: int) -> None:
    """Count the rows of the list in states that are final now."""
    found, state = 0, column(m, w, N_STATE)
    for k in range(w[x + X_N]):
        found += p[p[P_NOW] + w[state + k]] != 0
    w[x + X_FINALS] = found


@kernel
def take_out(m: Any, w: Any, p: Any, x: int, k: int) -> int:
    """Take row ``k`` out of the list and the set: the last row takes its place. Returns where that stood."""
    s, last = N_REG + m[C_R], w[x + X_N] - 1
    placed = column(m, w, s)
    w[x + X_FINALS] -= p[p[P_NOW] + w[column(m, w, N_STATE) + k]] != 0
    w[w[placed + k] + 1] = NOWHERE
    if k != last:
        for j in range(s + 2):
            at = column(m, w, j)
            w[at + k] = w[at + last]
        w[w[placed + k] + 1] = k
    w[column(m, w, N_M) + last] = BEGINNING
    w[x + X_N] = last
    return last
