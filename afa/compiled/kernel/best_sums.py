"""What is known of a list in columns eight rows at a time, where only the longest count: which ones an event may look at.

sums         69, 9, 61, a b                 W_READY: of eight rows m and start of the best, the least m, states as bits; behind
hints        a -> 2, b -> 1                 them the row that came last into each state; then the same of eight times eight rows,
                                            and the bits at X_GONE

`afa.compiled.code.column_groups` reads it. While events ask for ranges (`best_stairs`) nothing of it is kept.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.best_list import column
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel

HINTS = 64
"""Words at X_HINTS."""


@kernel
def begin_sums(m: Any, w: Any, p: Any, x: int) -> None:
    """Say at X_SUMS and X_OVERS what all rows are. O(n)."""
    n = w[x + X_N]
    w[x + X_QUICK] = 0
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
    for j in range(m[C_R] if kept and p[P_KEEPING] & bits else 0):
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
