"""One list in columns, where only the longest count: its rows, the set that finds them, what is known of eight rows at a time.

columns      start   1    4    9            W_OTHER: W_ROWS words a column, as the words of a row stand; instead of ``end`` the
             m      61   64   69            number of the node; then the place in the set, and the LE at which it was stored
             state   b    b    a
             node   17   20   21
set          (b, 7) -> 0                    W_HASH: the row of a state and register
sums         69, 9, 61, a b                 W_READY: of eight rows m and start of the best, the least m, states as bits; behind
hints        a -> 2, b -> 1                 them the row that came last into each state; then the bits at X_GONE
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.buffers import since_of
from afa.compiled.kernel.lists import new_set
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel

HINTS = 64
"""Words at X_HINTS."""


@kernel
def column(m: Any, w: Any, word: int) -> int:
    """Return where a column of the list begins; behind those of a row: PLACED, the place in the set, and SINCE."""
    return int(w[W_OTHER] + word * w[W_ROWS])


@kernel
def begin_columns(m: Any, w: Any, p: Any, b: int, x: int, n: int) -> int:
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
    w[x + X_SUMS_SPAN], w[x + X_OVERS_SPAN] = (w[W_ROWS] >> 3) + 16, (w[W_ROWS] >> 6) + 10
    w[x + X_SUMS], w[x + X_HINTS] = m[C_W] + 8 * w[W_READY], m[C_W] + 8 * hints_at(w, x)
    w[x + X_OVERS], w[x + X_GONE] = m[C_W] + 8 * overs_at(w, x), m[C_W] + 8 * gone_at(w, x)
    for state in range(HINTS):
        w[hints_at(w, x) + state] = NOWHERE
    forget_ends(w, x)
    for group in range(((n + 7) >> 3) + 9):
        sum_rows(m, w, p, x, group)
    for block in range(((n + 63) >> 6) + 9):
        sum_groups(w, x, block)
    fill_set(m, w, x)
    count_finals(m, w, p, x)
    return reach


@kernel
def hints_at(w: Any, x: int) -> int:
    """Return where the words at X_HINTS begin; those at X_OVERS, and then the bits at X_GONE, follow on them."""
    return int(w[W_READY] + 4 * w[x + X_SUMS_SPAN])


@kernel
def overs_at(w: Any, x: int) -> int:
    """Return where the words at X_OVERS begin."""
    return int(hints_at(w, x) + HINTS)


@kernel
def gone_at(w: Any, x: int) -> int:
    """Return where the bits at X_GONE begin."""
    return int(overs_at(w, x) + 4 * w[x + X_OVERS_SPAN])


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
def first_since(m: Any, w: Any, x: int) -> int:
    """Return the LE at which the oldest node of the list was stored; FOREVER: there is none."""
    found, since = FOREVER, column(m, w, N_REG + m[C_R] + 1)
    for k in range(w[x + X_N]):
        found = min(found, w[since + k])
    return found


@kernel
def take_out(m: Any, w: Any, p: Any, x: int, k: int) -> None:
    """Take row ``k`` out of the list and the set: the last row takes its place."""
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
    sum_up(m, w, p, x, last >> 3)


@kernel
def forget_ends(w: Any, x: int) -> None:
    """Clear the bits at X_GONE."""
    at = gone_at(w, x)
    for k in range((w[x + X_SUMS_SPAN] + 7) >> 3):
        w[at + k] = 0


@kernel
def bit_of(m: Any, w: Any, p: Any, k: int) -> int:
    """Return what bits row ``k`` of the list has at X_SUMS."""
    state, kept, begin = w[column(m, w, N_STATE) + k], p[P_KEPT], p[P_BEGIN]
    bits = 1 << min(state, LARGE_STATE)
    for j in range(m[C_R] if kept else 0):
        if (kept >> min(j, 62)) & 1 and w[column(m, w, N_REG + j) + k] != p[begin + N_REG + j]:
            return int(bits | 1 << UNUSUAL)
    return int(bits)


@kernel
def sum_up(m: Any, w: Any, p: Any, x: int, group: int) -> None:
    """Say at X_SUMS what eight rows are, and at X_OVERS what the eight groups are of which they are one."""
    sum_rows(m, w, p, x, group)
    sum_groups(w, x, group >> 3)


@kernel
def sum_rows(m: Any, w: Any, p: Any, x: int, group: int) -> None:
    """Say at X_SUMS what eight rows are."""
    at, span, ms, starts = w[W_READY] + group, w[x + X_SUMS_SPAN], column(m, w, N_M), column(m, w, N_START)
    best, start, least, bits = BEGINNING, BEGINNING, FOREVER, 0
    for k in range(8 * group, min(8 * group + 8, w[x + X_N])):
        if w[ms + k] > best or (w[ms + k] == best and w[starts + k] > start):
            best, start = w[ms + k], w[starts + k]
        least = min(least, w[ms + k])
        bits |= bit_of(m, w, p, k)
    w[at], w[at + span], w[at + 2 * span], w[at + 3 * span] = best, start, least, bits


@kernel
def sum_groups(w: Any, x: int, block: int) -> None:
    """Say at X_OVERS what eight groups are."""
    at, over, n = overs_at(w, x) + block, w[x + X_OVERS_SPAN], (w[x + X_N] + 7) >> 3
    sums, span = w[W_READY], w[x + X_SUMS_SPAN]
    best, start, least, bits = BEGINNING, BEGINNING, FOREVER, 0
    for group in range(8 * block, min(8 * block + 8, n)):
        row = sums + group
        if w[row] > best or (w[row] == best and w[row + span] > start):
            best, start = w[row], w[row + span]
        least = min(least, w[row + 2 * span])
        bits |= w[row + 3 * span]
    w[at], w[at + over], w[at + 2 * over], w[at + 3 * over] = best, start, least, bits


@kernel
def put_sum(m: Any, w: Any, p: Any, x: int, k: int, least: int) -> None:
    """Say at X_SUMS and X_OVERS that row ``k`` has come, or become better; ``least``: its m before, FOREVER: there was none."""
    best, start, bits = w[column(m, w, N_M) + k], w[column(m, w, N_START) + k], bit_of(m, w, p, k)
    w[hints_at(w, x) + min(w[column(m, w, N_STATE) + k], LARGE_STATE)] = k
    at, span = w[W_READY] + (k >> 3), w[x + X_SUMS_SPAN]
    if least == w[at + 2 * span] and least != FOREVER:  # it may be larger now
        sum_up(m, w, p, x, k >> 3)
        return
    for _ in range(2):
        if best > w[at] or (best == w[at] and start > w[at + span]):
            w[at], w[at + span] = best, start
        w[at + 2 * span] = min(w[at + 2 * span], best)
        w[at + 3 * span] |= bits
        at, span = overs_at(w, x) + (k >> 6), w[x + X_OVERS_SPAN]
