"""Lists of partial matches: the same one once, in order of start.

    unique        (1, a) (1, b) (1, a) (4, a)                  -->  (1, a) (1, b) (4, a)      compared among those of one start
    merge_lists   (1, a) (4, a) | (2, b) (4, a)                -->  (1, a) (2, b) (4, a)      the second part was sorted in
    count_until   (1, a) (1, b) (4, a), bound 1                -->  2                         rows that began by then: the head

A row is ``[start, until, state, end, register..]``; all words but ``end`` say which partial match it is. Above FEW rows of one
start a set is used: places of 3 words ``[stamp, row, key]``, free if the stamp is not that of the set at work; see `place_of`.
"""

from __future__ import annotations

from typing import Annotated, Any

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel

FEW = 12


@kernel
def equal(a: Any, x: Annotated[NodeRow, "a"], c: Any, y: Annotated[NodeRow, "c"], s: int) -> bool:
    """Return whether two rows are one partial match, wherever they stand."""
    if x.start != y.start or x.until != y.until or x.state != y.state:
        return False
    for i in range(NodeRow.register, s):
        if a[x + i] != c[y + i]:
            return False
    return True


@kernel
def copy(a: Any, x: int, c: Any, y: int, n: int) -> None:
    """Copy ``n`` words from ``a[x]`` on to ``c[y]`` on."""
    for i in range(n):
        c[y + i] = a[x + i]


@kernel
def new_set(w: Scratch) -> None:
    """Begin a new set of rows."""
    w.stamp += 1


@kernel
def same_words(a: Any, x: int, c: Any, y: int, n: int) -> bool:
    """Return whether ``n`` words agree."""
    for i in range(n):
        if a[x + i] != c[y + i]:
            return False
    return True


@kernel
def hash_of(a: Any, w: Scratch, x: int, n: int, but: int, key: int) -> int:
    """Return where the set looks first for ``n`` words, but for word ``but``, and ``key``."""
    h = key & 0xFFFFFFF
    for i in range(n):
        if i != but:
            word = a[x + i]
            h = (h * 31 + (word & 0xFFFFFFF) + ((word >> 28) & 0xFFFFFFF) * 7) & 0xFFFFFFFFFF
    # With the low bits of h, values 1 to 1000 are looked up at a sixth of the rate. INVARIANT: no product leaves int64.
    return (((h ^ h >> 20) & 0x7FFFFFFF) * 0x9E3779B1 >> 12) & w.hashes - 1


@kernel
def place_of(a: Any, w: Scratch, x: int, n: int, but: int, key: int) -> int:
    """Return the place in the set of the ``n`` words at ``x``, but for word ``but`` (NOWHERE: of all), and of ``key``. O(n).

    Where no equal words stand it is a free place, whose stamp is not that of the set, for the caller to fill.
    """
    places, table = w.hashes, w.hash
    at = hash_of(a, w, x, n, but, key)
    while w[table + 3 * at] == w.stamp:
        if w[table + 3 * at + 2] == key:
            other, i = w[table + 3 * at + 1], 0
            while i < n and (i == but or a[x + i] == a[other + i]):
                i += 1
            if i == n:
                break
        at = (at + 1) & (places - 1)
    return table + 3 * at


@kernel
def fill_place(w: Scratch, place: int, x: int, key: int) -> None:
    """Put words into the set, at the place that `place_of` gave."""
    w[place], w[place + 1], w[place + 2] = w.stamp, x, key


@kernel
def sort_by_start(a: Any, rows: int, s: int, w: Scratch, at: int, spare: int, n: int) -> int:
    """Sort the numbers of rows ``w[at:][:n]`` by start, with as much room at ``spare``; stable. O(n log parts that are in order).

    Returns where they stand then: ``at`` or ``spare``.
    """
    # Merge neighbouring parts that are in order, until all is one part.
    while True:
        low, first = 0, rise_of(a, rows, s, w, at, 0, n)
        if first == n:
            return at
        while low < n:
            middle = first if low == 0 else rise_of(a, rows, s, w, at, low, n)
            high = rise_of(a, rows, s, w, at, middle, n)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j == high or NodeRow(a, rows + w[at + i] * s).start <= NodeRow(a, rows + w[at + j] * s).start):
                    w[spare + k] = w[at + i]
                    i += 1
                else:
                    w[spare + k] = w[at + j]
                    j += 1
            low = high
        at, spare = spare, at


@kernel
def rise_of(a: Any, rows: int, s: int, w: Scratch, at: int, low: int, n: int) -> int:
    """Return the end of the rows in order of start whose numbers stand from ``w[at + low]`` on."""
    k = low + 1
    while k < n and NodeRow(a, rows + w[at + k] * s).start >= NodeRow(a, rows + w[at + k - 1] * s).start:
        k += 1
    return min(k, n)


@kernel
def add_to_set(a: Any, w: Scratch, x: int, s: int, key: int) -> int:
    """Put the row at ``x`` into the set, for ``key``. Returns where an equal one stands already; NOWHERE: there was none. O(1)."""
    place = place_of(a, w, x, s, NodeRow.end, key)
    if w[place] == w.stamp:
        return w[place + 1]
    fill_place(w, place, x, key)
    return NOWHERE


@kernel
def find_in_set(a: Any, w: Scratch, x: int, s: int, key: int) -> int:
    """Return the row of the set that is equal to the one at ``x``, for ``key``; NOWHERE: none is. O(1)."""
    place = place_of(a, w, x, s, NodeRow.end, key)
    return w[place + 1] if w[place] == w.stamp else NOWHERE


@kernel
def unique(a: Any, w: Scratch, rows: int, n: int, s: int) -> int:
    """Keep each partial match once; one that stays rather than an equal one that was derived. Returns how many are left. O(n).

    Equal ones have one start, so they stand in one group of rows of that start.
    """
    # Up to the first row that began when the one before it did nothing can be equal.
    first = 1
    while first < n and NodeRow(a, rows + first * s).start != NodeRow(a, rows + (first - 1) * s).start:
        first += 1
    if first >= n:
        return n
    # Rows of one start are compared: a few one by one, more by the set. INVARIANT: the order of those kept stays.
    kept = group = first - 1
    hashed = False
    for k in range(first - 1, n):
        row = NodeRow(a, rows + k * s)
        if kept == 0 or row.start != NodeRow(a, rows + (kept - 1) * s).start:
            group = kept
            hashed = False
        at = NodeRow(a, rows + kept * s)
        if at != row:
            copy(a, row, a, at, s)
        same = NodeRow(a, NOWHERE)
        if not hashed and kept - group > FEW:
            hashed = True
            new_set(w)
            for j in range(group, kept):
                add_to_set(a, w, rows + j * s, s, 0)
        if hashed:
            same = NodeRow(a, add_to_set(a, w, at, s, 0))
        else:
            for j in range(group, kept):
                if equal(a, at, a, rows + j * s, s):
                    same = NodeRow(a, rows + j * s)
                    break
        if same == NOWHERE:
            kept += 1
        elif at.end != ALONE:
            same.end = at.end
    return kept


@kernel
def merge_lists(a: Any, w: Scratch, rows: int, first: int, n: int, s: int) -> int:
    """Sort a list's rows from ``first`` on into those before, each once; ``n`` in all. Returns how many are left."""
    spare = NodeRow(w, w.ready)
    for k in range(first, n):
        copy(a, rows + k * s, w, spare, s)
        j = k
        while j > 0 and NodeRow(a, rows + (j - 1) * s).start > spare.start:
            copy(a, rows + (j - 1) * s, a, rows + j * s, s)
            j -= 1
        copy(w, spare, a, rows + j * s, s)
    return unique(a, w, rows, n, s)


@kernel
def count_until(a: Any, rows: int, n: int, s: int, bound: int) -> int:
    """Return how many rows of a list began at or before ``bound``. O(log n)."""
    if n == 0 or NodeRow(a, rows + (n - 1) * s).start <= bound:
        return n
    low, high = 0, n - 1
    while low < high:
        middle = (low + high) >> 1
        if NodeRow(a, rows + middle * s).start <= bound:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def same_list(a: Any, x: int, n: int, c: Any, y: int, k: int, s: int) -> bool:
    """Return whether two lists hold the same partial matches; those of one start in any order. O(n * those of one start)."""
    if n != k:
        return False
    for i in range(n):
        if equal(a, x + i * s, c, y + i * s, s):
            continue
        # Not at the same place: it must be among the rows of its start.
        start = NodeRow(a, x + i * s).start
        if NodeRow(c, y + i * s).start != start:
            return False
        found = False
        j = i
        while j >= 0 and NodeRow(c, y + j * s).start == start:
            j -= 1
        j += 1
        while j < k and NodeRow(c, y + j * s).start == start:
            if equal(a, x + i * s, c, y + j * s, s):
                found = True
                break
            j += 1
        if not found:
            return False
    return True
