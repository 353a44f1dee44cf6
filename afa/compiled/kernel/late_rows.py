"""Rows of columns that are not in order, brought into it as numbers.

    rows x        0   1   2   3   4   5          LE that rise at w.index, the others at w.touched
    LE           20  24  22  26  21  28
    kept          0   1       3       5
    late                  2       4              sorted as words, by digits: LE less the least of them, and the row
    w.index       0   4   2   1   3   5          merged back from the end

In order each row costs a look, and what is late as many rounds as its LE have digits.
"""

from __future__ import annotations

from afa.compiled.kernel.by_key import RECORD, digits_of, pairs_at, sort_pairs
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel, peek
from afa.compiled.kernel.order import promise, sort
from afa.compiled.kernel.other_rows import first_other, row_of_other

NEAR = 40
"""Bits of a difference of LE up to which late rows are sorted by digits: such a word has room for the row beside it."""


@kernel
def arrange_rows(m: Memory, w: Scratch, c: TableWords, b: Block, low: int, high: int) -> int:
    """Put the events among rows ``low`` to ``high`` of the columns at ``c`` at w.index in order, and take punctuations.

    Ends (m.place) at the first row that is an arc, or late. m.need says how many rows were out of order, m.stopped how many events
    are not after the last step of the block. Returns how many events; 0: there are two of one LE, or of one number.
    """
    index, aside, le_at = w.index, w.touched, c.le
    kept = late = 0
    latest, others, x = past(m, BEGINNING), first_other(c, low), low
    while x < high:
        end = min(row_of_other(c, others), high)
        events = m.events
        while x < end:
            le = peek(le_at + 8 * x)
            if le < events:
                break
            w[index + kept] = w[aside + late] = x  # without a branch that nobody could foretell
            kept += le > latest
            late += le <= latest
            latest = max(latest, le)
            x += 1
        if x < end or x == high:
            break
        at = c.others + 8 * OtherRow.SIZE * others
        if peek(at) & 3 != PROMISED:
            break
        promise(m, peek(at + 8))
        latest, others, x = past(m, latest), others + 1, x + 1
    m.place, m.need = x, late
    n = kept + late
    sort_late(m, w, c, low, late)
    if not merge_rows(w, le_at, kept, late, low) or (m.gapless and not numbers_rise(m, w, c, n)):
        return 0
    m.stopped = 0
    if b and b.last > b.first:
        m.stopped = rows_until(w, le_at, n, b.le[b.order[b.last - 1]])
    return int(n)


@kernel
def numbers_rise(m: Memory, w: Scratch, c: TableWords, n: int) -> bool:
    """Return whether the numbers of ``n`` rows at w.index ascend. Of two rows with one number the first to come takes effect."""
    at, before = c.payload[2 * m.seq], BEGINNING
    for k in range(n):
        number = peek(at + 8 * w[w.index + k])
        if k and number <= before:
            return False
        before = number
    return True


@kernel
def past(m: Memory, latest: int) -> int:
    """Return ``latest``, or the last LE that is over if that is later: what comes behind it is not late."""
    return max(latest, m.events - 1) if m.events > BEGINNING else latest


@kernel
def sort_late(m: Memory, w: Scratch, c: TableWords, low: int, late: int) -> None:
    """Sort the ``late`` rows at w.touched by LE; the low bits of the words at w.pairs say which rows from ``low`` on they are."""
    aside, le_at = w.touched, c.le
    least, most = FOREVER, BEGINNING
    for k in range(late):
        le = peek(le_at + 8 * w[aside + k])
        least, most = min(least, le), max(most, le)
    near = (most >> 1) - (least >> 1) < 1 << NEAR - 1
    if not near:
        sort(m, w, c, le_at, aside, w.sort, late)
    rounds, bits = digits_of(most - least if near and late else 0)
    pairs = pairs_at(w, rounds)
    for k in range(late):
        x = w[aside + k]
        w[pairs + k] = (peek(le_at + 8 * x) - least << RECORD if near else 0) | x - low
    sort_pairs(w, pairs, late, rounds, bits)


@kernel
def merge_rows(w: Scratch, le_at: int, kept: int, late: int, low: int) -> bool:
    """Merge the ``late`` rows at w.pairs with the ``kept`` ones at w.index; both are in order. Returns whether no two have one LE.

    O(what is behind the first late one).
    """
    index, pairs, a, k = w.index, w.pairs, kept - 1, kept + late - 1
    after = FOREVER
    for b in range(late - 1, -1, -1):
        x = low + (w[pairs + b] & (1 << RECORD) - 1)
        le = peek(le_at + 8 * x)
        while a >= 0 and peek(le_at + 8 * w[index + a]) > le:
            w[index + k] = w[index + a]
            a -= 1
            k -= 1
        if le == after or (a >= 0 and peek(le_at + 8 * w[index + a]) == le):
            return False
        w[index + k] = x
        k -= 1
        after = le
    return True


@kernel
def rows_until(w: Scratch, le_at: int, n: int, last: int) -> int:
    """Return how many of the ``n`` rows at w.index, which are in order, are not after ``last``. O(log n)."""
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        if peek(le_at + 8 * w[w.index + middle]) <= last:
            low = middle + 1
        else:
            high = middle
    return low
