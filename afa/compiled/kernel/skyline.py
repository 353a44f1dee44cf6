"""The rows of a state in the order of the field that fences compare with the event; where only the longest count.

    rows of b    last    4   7   9  12         e.val >= r.last holds of those up to e.val; the skyline, at Loop.skyline, has those
                 until  61  64  62  70         that no row before them outlives: its last one up to e.val is the best of the range
    skyline      last    4   7      12         a row enters where it belongs, and takes those behind it out that it outlives: for
                 until  61  64      70         each that goes one has come, whatever the list

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
    states = p.states
    x.skyline = m.w_at + 8 * w.ready
    x.skyline_room = w.rows // max(1, p[p.skylines + states])
    x.there, x.passing, x.unusuals, x.farthest = 0, 0, 0, BEGINNING
    x.fresh = x.n
    for state in range(states):
        empty_state(w, x, state)
    x.quick = 1
    for k in range(x.n):
        count_in(m, w, p, x, k)
        raise_row(m, w, p, x, k)
    x.passing = 0


@kernel
def empty_state(w: Scratch, x: Loop, state: int) -> None:
    """Forget the rows of a state."""
    x.state_rows[state], x.skyline_rows[state] = 0, 0
    x.best_until[state], x.best_start[state] = BEGINNING, BEGINNING


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
        empty_state(w, x, state)
        x.there &= ~(1 << state)
    if x.unusuals and unusual(m, w, p, row):
        x.unusuals -= 1
        if x.unusuals == 0:
            x.there &= ~(1 << UNUSUAL)


@kernel
def raise_row(m: Memory, w: Scratch, p: Program, x: Loop, k: int) -> None:
    """Put row ``k``, which is new or lasts longer now, into the skyline of its state. Without room Loop.quick ends."""
    row = NodeRow(w, row_at(m, w, k))
    state, until, start = row.state, row.until, row.start
    x.farthest = max(x.farthest, until)
    best = x.best_until[state]
    if until > best or (until == best and start > x.best_start[state]):
        x.best_until[state], x.best_start[state] = until, start
    # The word of its register that orders the state, so that words compare as values do.
    order = p[p.orders + state]
    if order == NOWHERE:
        return
    word = row.register[order >> 2]
    if order & 2:
        if word & MAGNITUDE > INFINITY:  # NaN: no comparison holds of it
            return
        if word < 0:
            word = 0 if word == BEGINNING else word ^ MAGNITUDE  # -0.0 is 0.0
    put_skyline(w, x, w.ready + p[p.skylines + state] * x.skyline_room, state, ~word if order & 1 else word, until, start)


@kernel
def put_skyline(w: Scratch, x: Loop, words: int, state: int, word: int, until: int, start: int) -> None:
    """Put a row into the skyline at ``w[words]``, unless one before it lasts as long; those behind it that it outlives go."""
    untils, n = words + w.rows, x.skyline_rows[state]
    starts = untils + w.rows
    # Where it belongs by its word; by halves.
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        if w[words + middle] <= word:
            low = middle + 1
        else:
            high = middle
    if low and (w[untils + low - 1] > until or (w[untils + low - 1] == until and w[starts + low - 1] >= start)):
        return
    if low and w[words + low - 1] == word:
        low -= 1
    # INVARIANT: a skyline rises in word, and in (until, start): rows from ``low`` to ``end`` would break that.
    end = low
    while end < n and (w[untils + end] < until or (w[untils + end] == until and w[starts + end] <= start)):
        end += 1
    if end == low:
        if n >= x.skyline_room:
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
        words = w.ready + p[p.skylines + state] * x.skyline_room
        untils, starts = words + w.rows, words + 2 * w.rows
        while gone < n and w[untils + gone] <= le:
            gone += 1
        if gone:
            for j in range(gone, n):
                w[words + j - gone], w[untils + j - gone], w[starts + j - gone] = w[words + j], w[untils + j], w[starts + j]
            x.skyline_rows[state] = n - gone
