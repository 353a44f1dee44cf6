"""The rows of a state in the order of the field that fences compare with the event; where only the longest count.

    rows of b    last    4   7   9  12         e.val >= r.last holds of those up to e.val; the skyline, at Loop.skyline, has those
                 until  61  64  62  70         that no row before them outlives: its last one up to e.val is the best of the range
    skyline      last    4   7      12         a row enters where it belongs, and takes those behind it out that it outlives: for
                 until  61  64      70         each that goes one has come, whatever the list

The skyline of a state of which no fence asks so is its best row; NaN, of which no comparison holds, stands behind all numbers.
Rows leave a state all at once, or when they are over: those with the least ``until`` first, which stand first. So no row that is
out of the skyline is ever needed again. Rows that are over stay in the list until `take_over_out` looks for them; no event takes
them. An event for which the skyline does not suffice is REFUSED: then each row is looked at, and the skyline is made anew.
"""

from __future__ import annotations

from typing import Annotated

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel

MAGNITUDE, INFINITY = 2**63 - 1, 0x7FF0000000000000


@kernel
def begin_skyline(m: Memory, w: Scratch, p: Program, x: Loop) -> None:
    """Put all rows into skylines, and set Loop.quick, if the program asks for best rows. O(n log n)."""
    x.quick = 0
    if p.best_step == 0:
        return
    # The skyline of a state whose rows have no order is its best row.
    states, ordered, place = p.states, 0, 0
    for state in range(states):
        ordered += p[p.orders + state] != NOWHERE
    for state in range(states):
        x.skyline_at[state], x.state_rows[state], x.skyline_rows[state] = place, 0, 0
        place += (w.rows - states) // ordered if p[p.orders + state] != NOWHERE else 1
    x.skyline_at[states] = place
    x.skyline = m.w_at + 8 * w.ready
    x.there, x.passing, x.unusuals, x.farthest = 0, 0, 0, BEGINNING
    x.fresh, x.quick = x.n, 1
    for k in range(x.n):
        count_in(m, w, p, x, k)
        put_skyline(m, w, p, x, k)
    x.passing = 0


@kernel
def row_at(m: Memory, w: Scratch, k: int) -> int:
    """Return where row ``k`` of the list stands."""
    return int(w.other + k * (NodeRow.register + m.register_words))


@kernel
def unusual(m: Memory, w: Scratch, p: Program, row: Annotated[NodeRow, "w"]) -> bool:
    """Return whether a row's words at p.kept are not the initial ones, in a state where they count."""
    if p.keeping >> row.state & 1 == 0:
        return False
    begin = NodeRow(p, p.begin)
    for j in range(m.register_words):
        if p.kept >> min(j, STATES) & 1 and row.register[j] != begin.register[j]:
            return True
    return False


@kernel
def count_in(m: Memory, w: Scratch, p: Program, x: Loop, k: int) -> None:
    """Count row ``k``, which is new."""
    row = NodeRow(w, row_at(m, w, k))
    state = row.state
    if x.state_rows[state] == 0:
        x.passing |= 1 << state
    x.state_rows[state] += 1
    x.unusuals += unusual(m, w, p, row)
    x.there |= 1 << state | int(x.unusuals > 0) << UNUSUAL


@kernel
def count_out(m: Memory, w: Scratch, p: Program, x: Loop, k: int) -> None:
    """Count row ``k``, which is about to go."""
    row = NodeRow(w, row_at(m, w, k))
    state = row.state
    x.state_rows[state] -= 1
    if x.state_rows[state] == 0:
        x.skyline_rows[state] = 0
        x.there &= ~(1 << state)
    if x.unusuals and unusual(m, w, p, row):
        x.unusuals -= 1
        if x.unusuals == 0:
            x.there &= ~(1 << UNUSUAL)


@kernel
def rank_of(word: int, floats: int, falls: int) -> int:
    """Return a word of a register such that words compare as values do; ``floats``: MAGNITUDE or 0, ``falls``: -1 or 0."""
    return word ^ (word >> 63 & floats) ^ falls


@kernel
def put_skyline(m: Memory, w: Scratch, p: Program, x: Loop, k: int) -> None:
    """Put row ``k``, which is new or lasts longer now, into the skyline of its state, unless one before it lasts as long.

    Those behind it that it outlives go. Without room Loop.quick ends.
    """
    row = NodeRow(w, row_at(m, w, k))
    state, until, start = row.state, row.until, row.start
    x.farthest = max(x.farthest, until)
    words, n, order = w.ready + x.skyline_at[state], x.skyline_rows[state], p[p.orders + state]
    untils, starts = words + w.rows, words + 2 * w.rows
    # Where it belongs by the word of its register that orders the state; by halves.
    word = row.register[order >> 2] if order != NOWHERE else 0
    floats, falls = -(order >> 1 & 1) & MAGNITUDE, -(order & 1)
    if floats & falls and word > INFINITY:  # NaN with a sign, which falls behind all others
        word |= BEGINNING
    rank, low, high = rank_of(word, floats, falls), 0, n
    while low < high:
        middle = (low + high) >> 1
        if rank_of(w[words + middle], floats, falls) <= rank:
            low = middle + 1
        else:
            high = middle
    if low and (w[untils + low - 1] > until or (w[untils + low - 1] == until and w[starts + low - 1] >= start)):
        return
    if low and w[words + low - 1] == word:
        low -= 1
    # INVARIANT: a skyline rises in rank, and in (until, start): rows from ``low`` to ``end`` would break that.
    end = low
    while end < n and (w[untils + end] < until or (w[untils + end] == until and w[starts + end] <= start)):
        end += 1
    if end == low:
        if x.skyline_at[state] + n >= x.skyline_at[state + 1]:
            x.quick = 0
            return
        for j in range(n, low, -1):
            w[words + j], w[untils + j], w[starts + j] = w[words + j - 1], w[untils + j - 1], w[starts + j - 1]
        x.skyline_rows[state] = n + 1
    elif end > low + 1:
        gone = end - low - 1
        for j in range(end, n):
            w[words + j - gone], w[untils + j - gone], w[starts + j - gone] = w[words + j], w[untils + j], w[starts + j]
        x.skyline_rows[state] = n - gone
    w[words + low], w[untils + low], w[starts + low] = word, until, start


@kernel
def drop_skyline(w: Scratch, p: Program, x: Loop, le: int) -> None:
    """Take the rows out of all skylines that are over at ``le``: the first ones."""
    for state in range(p.states):
        n, gone = x.skyline_rows[state], 0
        words = w.ready + x.skyline_at[state]
        untils, starts = words + w.rows, words + 2 * w.rows
        while gone < n and w[untils + gone] <= le:
            gone += 1
        if gone:
            for j in range(gone, n):
                w[words + j - gone], w[untils + j - gone], w[starts + j - gone] = w[words + j], w[untils + j], w[starts + j]
            x.skyline_rows[state] = n - gone
