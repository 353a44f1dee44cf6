"""Bring rows of columns that are out of order into it, as row numbers.

    rows          0   1   2   3   4   5          LE that rise at w.index, the others at w.touched
    LE           20  24  22  26  21  28
    kept          0   1       3       5
    late                  2       4              sorted as words, by digits: LE less the least of them, and the row
    w.index       0   4   2   1   3   5          merged back from the end

A row in order costs one look, a late one as many rounds as the differences of LE have digits.
"""

from __future__ import annotations

from afa.compiled.kernel.by_key import RECORD, digits_of, pairs_at, sort_pairs
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel, peek
from afa.compiled.kernel.order import promise, sort
from afa.compiled.kernel.other_rows import first_other, row_of_other

NEAR = 40
"""Bits of a difference of LE up to which late rows are sorted by digits: the row fits into the same word."""


@kernel
def arrange_rows(m: Memory, w: Scratch, c: TableWords, b: Block, low: int, high: int) -> int:
    """Put the events among rows ``low`` to ``high`` of the columns at ``c`` at w.index in order, and take punctuations.

    Ends (m.stopped) at the first row that is an arc, or late. Also writes m.unordered and m.behind. Returns how many events; 0: two
    of them have one LE, or one number.
    """
    index, aside, le_at = w.index, w.touched, c.le
    kept = late = 0
    latest, others, row = past(m, BEGINNING), first_other(c, low), low
    # Tell rows whose LE rises from late ones, up to the next row that is no event; take promises on the way.
    while row < high:
        end = min(row_of_other(c, others), high)
        events = m.events
        while row < end:
            le = peek(le_at + 8 * row)
            if le < events:
                break
            w[index + kept] = w[aside + late] = row  # no branch: the processor could not predict it
            kept += le > latest
            late += le <= latest
            latest = max(latest, le)
            row += 1
        if row < end or row == high:
            break
        at = c.others + 8 * OtherRow.SIZE * others
        if peek(at) & 3 != PROMISED:
            break
        promise(m, peek(at + 8))
        latest, others, row = past(m, latest), others + 1, row + 1
    m.stopped, m.unordered = row, late
    # Sort the late ones, and merge both. INVARIANT: the rows at w.index have LE that rise, no two the same.
    n = kept + late
    sort_late(m, w, c, low, late)
    if not merge_rows(w, le_at, kept, late, low) or (m.gapless and not numbers_rise(m, w, c, n)):
        return 0
    # How many of them must be merged into the steps of the block.
    m.behind = 0
    if b and b.last > b.first:
        m.behind = rows_until(w, le_at, n, b.le[b.order[b.last - 1]])
    return n


@kernel
def numbers_rise(m: Memory, w: Scratch, c: TableWords, n: int) -> bool:
    """Return whether the numbers of ``n`` rows at w.index ascend. Of two rows with one number the one that came first counts."""
    at, before = c.payload[2 * m.seq], BEGINNING
    for k in range(n):
        number = peek(at + 8 * w[w.index + k])
        if k and number <= before:
            return False
        before = number
    return True


@kernel
def past(m: Memory, latest: int) -> int:
    """Return ``latest``, or the last LE that is promised if that is later: rows after it are in order."""
    return max(latest, m.events - 1) if m.events > BEGINNING else latest


@kernel
def sort_late(m: Memory, w: Scratch, c: TableWords, low: int, late: int) -> None:
    """Sort the ``late`` rows at w.touched by LE into w.pairs, whose low bits number them from ``low`` on."""
    aside, le_at = w.touched, c.le
    least, most = FOREVER, BEGINNING
    for k in range(late):
        le = peek(le_at + 8 * w[aside + k])
        least, most = min(least, le), max(most, le)
    near = (most >> 1) - (least >> 1) < 1 << NEAR - 1
    if not near:  # by comparison; the digits below are then all 0
        sort(m, w, c, le_at, aside, w.sort, late)
    rounds, bits = digits_of(most - least if near and late else 0)
    pairs = pairs_at(w, rounds)
    for k in range(late):
        row = w[aside + k]
        w[pairs + k] = (peek(le_at + 8 * row) - least << RECORD if near else 0) | row - low
    sort_pairs(w, pairs, late, rounds, bits)


@kernel
def merge_rows(w: Scratch, le_at: int, kept: int, late: int, low: int) -> bool:
    """Merge the ``late`` rows at w.pairs into the ``kept`` ones at w.index, both in order. Returns whether all LE differ.

    O(rows after the first late one).
    """
    index, pairs, a, k = w.index, w.pairs, kept - 1, kept + late - 1
    after = FOREVER
    # From the end: a kept row never moves over one that is still to be read.
    for b in range(late - 1, -1, -1):
        row = low + (w[pairs + b] & (1 << RECORD) - 1)
        le = peek(le_at + 8 * row)
        while a >= 0 and peek(le_at + 8 * w[index + a]) > le:
            w[index + k] = w[index + a]
            a -= 1
            k -= 1
        if le == after or (a >= 0 and peek(le_at + 8 * w[index + a]) == le):
            return False
        w[index + k] = row
        k -= 1
        after = le
    return True


@kernel
def rows_until(w: Scratch, le_at: int, n: int, last: int) -> int:
    """Return how many of the ``n`` rows at w.index, in order, are not after ``last``. O(log n)."""
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        if peek(le_at + 8 * w[w.index + middle]) <= last:
            low = middle + 1
        else:
            high = middle
    return low
