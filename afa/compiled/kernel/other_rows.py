"""Rows of a table that are no events, promises and changes of arcs: found in one pass, so that the loops meet events only.

    kind      0 0 0 2 0 0 1 1 0 ..                              the table's columns
    others    [3 PROMISED, 60]  [6 GOES, 4]  [7 COMES, 9]  ..   by row, `OtherRow`: carried out between two loops

A loop takes the rows up to the next one of these. A column that is read at few rows only is slow to read: one pass reads it.
"""

from __future__ import annotations

from afa.compiled.kernel.arc_cursor import pass_bound
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel, peek, peek_byte, poke, prefetch
from afa.compiled.kernel.order import promise
from afa.compiled.kernel.swap import change_arc


@kernel
def find_others(c: TableWords, n: int, step: int, arcs: int) -> int:
    """Write rows that are no events, of the first ``n``, to ``others``; to ``least`` the least LE of events of each ``step`` rows.

    ``arcs``: how many the batch has. *Requires* room for one more row at ``others``: it tells how many promises there are, and the
    latest one. Returns a sum: UNKNOWN if a row is of no kind or no arc, OWN if an arc changes otherwise than in the default mode,
    SINGLE if each event is one more copy.
    """
    times, kinds, diffs, at, begin, found = c.le, c.kind, c.diff, c.others, 0, 0
    while begin < n:
        end, row, least = min(begin + step, n), begin, FOREVER
        while row < end:
            if row + 8 <= end and peek(kinds + row) == 0:  # eight events
                least = min(least, least_of_eight(times + 8 * row))
                found |= other_copies(diffs + 8 * row) if diffs != 0 else 0
                row += 8
                continue
            prefetch(c.arc + 8 * row)  # for `tell_others`
            for k in range(8 if row + 8 <= end else end - row):  # without a branch: no CPU foresees which row it is
                kind = peek_byte(kinds + row + k)
                event = (kind - 1) >> 63  # all bits, or none
                poke(at + 8 * OtherRow.row, row + k)
                at += 8 * OtherRow.SIZE * (1 + event)
                least = min(least, (peek(times + 8 * (row + k)) & event) | (FOREVER & (-1 - event)))
                found |= (peek(diffs + 8 * (row + k)) - 1) & event if diffs != 0 else 0
            row += 8
        poke(c.least + 8 * (begin // step), least)
        begin = end
    return tell_others(c, at, arcs) + (SINGLE if found == 0 else 0)


@kernel
def tell_others(c: TableWords, end: int, arcs: int) -> int:
    """Write the kind and value of each row at TableWords.others, up to address ``end``. Returns UNKNOWN, OWN of `find_others`.

    In a loop of its own: the columns are far from the cache, and several lines are fetched side by side.
    """
    times, kinds, diffs, numbers, at, found, promised, latest = c.le, c.kind, c.diff, c.arc, c.others, 0, 0, BEGINNING
    while at < end:
        row = peek(at + 8 * OtherRow.row)
        kind, value, what = peek_byte(kinds + row), peek(times + 8 * row), PROMISED
        if kind == ARC and numbers != 0:
            diff = peek(diffs + 8 * row) if diffs != 0 else 1
            what = COMES if diff == 1 else GOES if diff == -1 else UNFIT
            what = what if value == BEGINNING else UNFIT
            value = peek(numbers + 8 * row)
            if value < 0 or value >= arcs:
                found |= UNKNOWN
            if what == UNFIT:
                found |= OWN
        elif kind == PUNCTUATION:
            promised, latest = promised + 1, max(latest, value)
        else:
            found |= UNKNOWN
        poke(at + 8 * OtherRow.row, 4 * row + what)
        poke(at + 8 * OtherRow.value, value)
        at += 8 * OtherRow.SIZE
    poke(at + 8 * OtherRow.row, promised)
    poke(at + 8 * OtherRow.value, latest)
    return found


@kernel
def least_of_eight(at: int) -> int:
    """Return the least of eight words."""
    one, two = min(peek(at), peek(at + 8)), min(peek(at + 16), peek(at + 24))
    three, four = min(peek(at + 32), peek(at + 40)), min(peek(at + 48), peek(at + 56))
    return min(min(one, two), min(three, four))


@kernel
def other_copies(at: int) -> int:
    """Return 0 if eight words are 1."""
    one, two = (peek(at) - 1) | (peek(at + 8) - 1), (peek(at + 16) - 1) | (peek(at + 24) - 1)
    three, four = (peek(at + 32) - 1) | (peek(at + 40) - 1), (peek(at + 48) - 1) | (peek(at + 56) - 1)
    return one | two | three | four


@kernel
def first_other(c: TableWords, row: int) -> int:
    """Return the number of the first other row at or behind a row. O(log n)."""
    if c.index != 0:
        return c.count
    low, high = 0, c.count
    while low < high:
        middle = (low + high) // 2
        if peek(c.others + 8 * OtherRow.SIZE * middle) >> 2 < row:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def row_of_other(c: TableWords, other: int) -> int:
    """Return the row at which an other row stands; FOREVER behind the last."""
    return peek(c.others + 8 * OtherRow.SIZE * other) >> 2 if other < c.count else FOREVER


@kernel
def take_others(m: Memory, w: Scratch, p: Program, c: TableWords, other: int, high: int, latest: int) -> int:
    """Carry out other rows that stand side by side, before row ``high``, behind an event at ``latest`` (BEGINNING: none).

    Returns the first that is not carried out: the next one, or one that must go another way.
    """
    at, count, change = c.others + 8 * OtherRow.SIZE * other, c.count, w.loop + Loop.change
    row, arcs, after = peek(at) >> 2, m.arcs, latest + 1 if latest > BEGINNING else BEGINNING
    while other < count and row < high and peek(at) >> 2 == row:
        what, value = peek(at) & 3, peek(at + 8)
        if what == PROMISED:
            promise(m, value)
        else:
            code = peek(c.codes + 8 * value) if what != UNFIT else NOWHERE
            now = max(m.now, after)
            if not change_arc(m, p, code, 1 if what == COMES else -1, now):
                break
            if now == after:  # no event comes before it
                pass_bound(p)
        other, row, at = other + 1, row + 1, at + 8 * OtherRow.SIZE
    # Arcs changed: the loop may go on up to the next bound, if it knows the arcs now.
    if m.arcs > arcs:
        there = p.low <= after and after < p.high
        w[change] = p.high if there else min(w[change], p.high)
        if p.spill:  # no loop serves
            w[change] = BEGINNING
    return other
