"""Summaries of a list in columns, where only the longest count: they tell which rows an event may skip.

    w.ready      groups   of eight rows: m and start of the best, the least m, the states as bits      69, 9, 61, a b
                 hints    by state: the row that came last                                              a -> 2, b -> 1
                 blocks   of eight groups: the same words as of a group
                 bits     rows that do not stay, at Loop.gone

`afa.compiled.code.column_groups` reads them. While events ask for ranges (`afa.compiled.kernel.skyline`), none are kept.
"""

from __future__ import annotations

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.longest_list import column
from afa.compiled.kernel.native_call import kernel

HINTS = 64
"""How many words stand at Loop.hints."""


@kernel
def begin_sums(m: Memory, w: Scratch, p: Program, x: Loop) -> None:
    """Compute the summaries of all groups and blocks. O(n)."""
    n = x.n
    x.quick = 0
    x.sums_span, x.overs_span = (w.rows >> 3) + 16, (w.rows >> 6) + 10
    hints = hints_at(w, x)
    x.sums, x.hints = m.w_at + 8 * w.ready, m.w_at + 8 * hints
    x.overs, x.gone = m.w_at + 8 * overs_at(w, x), m.w_at + 8 * gone_at(w, x)
    for state in range(HINTS):
        w[hints + state] = NOWHERE
    forget_ends(w, x)
    for group in range(((n + 7) >> 3) + 9):
        sum_rows(m, w, p, x, group)
    for block in range(((n + 63) >> 6) + 9):
        sum_groups(w, x, block)


@kernel
def hints_at(w: Scratch, x: Loop) -> int:
    """Return where the hints begin; behind them stand the summaries of blocks, then the bits at Loop.gone."""
    return w.ready + 4 * x.sums_span


@kernel
def overs_at(w: Scratch, x: Loop) -> int:
    """Return where the summaries of blocks begin."""
    return hints_at(w, x) + HINTS


@kernel
def gone_at(w: Scratch, x: Loop) -> int:
    """Return where the bits at Loop.gone begin."""
    return overs_at(w, x) + 4 * x.overs_span


@kernel
def forget_ends(w: Scratch, x: Loop) -> None:
    """Clear the bits at Loop.gone."""
    at = gone_at(w, x)
    for k in range(x.sums_span + 7 >> 3):
        w[at + k] = 0


@kernel
def bit_of(m: Memory, w: Scratch, p: Program, k: int) -> int:
    """Return the bits of row ``k`` in the summary of its group."""
    state, kept, begin = w[column(m, w, NodeRow.state) + k], p.kept, NodeRow(p, p.begin)
    bits = 1 << min(state, LARGE_STATE)
    for j in range(m.register_words if kept and p.keeping & bits else 0):
        if kept >> min(j, 62) & 1 and w[column(m, w, NodeRow.register + j) + k] != begin.register[j]:
            return bits | 1 << UNUSUAL
    return bits


@kernel
def sum_up(m: Memory, w: Scratch, p: Program, x: Loop, group: int) -> None:
    """Recompute the summary of rows 8 * group .. 8 * group + 7, then that of the block of eight groups around it."""
    sum_rows(m, w, p, x, group)
    sum_groups(w, x, group >> 3)


@kernel
def sum_rows(m: Memory, w: Scratch, p: Program, x: Loop, group: int) -> None:
    """Recompute the summary of a group of eight rows."""
    at, span, ms, starts = w.ready + group, x.sums_span, column(m, w, NodeRow.until), column(m, w, NodeRow.start)
    best, start, least, bits = BEGINNING, BEGINNING, FOREVER, 0
    for k in range(8 * group, min(8 * group + 8, x.n)):
        if w[ms + k] > best or (w[ms + k] == best and w[starts + k] > start):
            best, start = w[ms + k], w[starts + k]
        least = min(least, w[ms + k])
        bits |= bit_of(m, w, p, k)
    w[at], w[at + span], w[at + 2 * span], w[at + 3 * span] = best, start, least, bits


@kernel
def sum_groups(w: Scratch, x: Loop, block: int) -> None:
    """Recompute the summary of a block of eight groups."""
    at, over, n = overs_at(w, x) + block, x.overs_span, x.n + 7 >> 3
    sums, span = w.ready, x.sums_span
    best, start, least, bits = BEGINNING, BEGINNING, FOREVER, 0
    for group in range(8 * block, min(8 * block + 8, n)):
        row = sums + group
        if w[row] > best or (w[row] == best and w[row + span] > start):
            best, start = w[row], w[row + span]
        least = min(least, w[row + 2 * span])
        bits |= w[row + 3 * span]
    w[at], w[at + over], w[at + 2 * over], w[at + 3 * over] = best, start, least, bits


@kernel
def put_sum(m: Memory, w: Scratch, p: Program, x: Loop, k: int, least: int) -> None:
    """Bring the summaries up to date with row ``k``, which is new or better; ``least``: its old m, FOREVER: it is new."""
    best, start, bits = w[column(m, w, NodeRow.until) + k], w[column(m, w, NodeRow.start) + k], bit_of(m, w, p, k)
    w[hints_at(w, x) + min(w[column(m, w, NodeRow.state) + k], LARGE_STATE)] = k
    at, span = w.ready + (k >> 3), x.sums_span
    if least == w[at + 2 * span] and least != FOREVER:  # the least m may have risen
        sum_up(m, w, p, x, k >> 3)
        return
    for _ in range(2):  # its group, then its block
        if best > w[at] or (best == w[at] and start > w[at + span]):
            w[at], w[at + span] = best, start
        w[at + 2 * span] = min(w[at + 2 * span], best)
        w[at + 3 * span] |= bits
        at, span = overs_at(w, x) + (k >> 6), x.overs_span
