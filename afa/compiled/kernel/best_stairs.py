"""The rows of a state in the order of the field that fences compare with the event; where only the longest count.

    rows of b    last    4   7   9  12         e.val >= r.last holds of those up to e.val; X_STAIRS has those of them that no row
                 m      61  64  62  70         before them outlives, so that the last one up to e.val is the best of the range
    stairs       last    4   7      12         a row enters where it belongs, and takes those behind it out that it outlives: for
                 m      61  64      70         each that goes one has come, whatever the list

Rows leave a state all at once, or when their m is over: those with the least m first, which stand first. So no row that is out of
the stairs is ever needed again. Rows that are over stay in the list until `take_over_out` looks for them; no event takes them. An
event for which that does not suffice is REFUSED: then `best_sums` serves it, and the stairs are made anew.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.best_list import column
from afa.compiled.kernel.best_sums import bit_of
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel

MAGNITUDE, INFINITY = 2**63 - 1, 0x7FF0000000000000


@kernel
def begin_stairs(m: Any, w: Any, p: Any, x: int) -> None:
    """Put all rows into stairs, if the program asks for ranges: X_QUICK. O(n log n)."""
    w[x + X_QUICK] = 0
    if p[P_STAIRS] == 0:
        return
    states = p[P_STATES]
    w[x + X_STAIRS] = m[C_W] + 8 * w[W_READY]
    w[x + X_STAIR_ROOM] = w[W_ROWS] // max(1, p[p[P_STAIRS] + states])
    w[x + X_THERE], w[x + X_PASSING], w[x + X_UNUSUALS], w[x + X_FARTHEST] = 0, 0, 0, BEGINNING
    w[x + X_FRESH] = w[x + X_N]
    for state in range(states):
        empty_state(w, x, state)
    w[x + X_QUICK] = 1
    for k in range(w[x + X_N]):
        count_in(m, w, p, x, k)
        raise_row(m, w, p, x, k)
    w[x + X_PASSING] = 0


@kernel
def empty_state(w: Any, x: int, state: int) -> None:
    """Forget the rows of a state."""
    w[x + X_STATE_ROWS + state], w[x + X_STAIR_COUNT + state] = 0, 0
    w[x + X_BEST_M + state], w[x + X_BEST_START + state] = BEGINNING, BEGINNING


@kernel
def count_in(m: Any, w: Any, p: Any, x: int, k: int) -> None:
    """Count row ``k``, which is new."""
    state = w[column(m, w, N_STATE) + k]
    if w[x + X_STATE_ROWS + state] == 0:
        w[x + X_PASSING] |= 1 << state
    w[x + X_STATE_ROWS + state] += 1
    if p[P_KEEPING] >> state & 1:
        w[x + X_UNUSUALS] += bit_of(m, w, p, k) >> UNUSUAL & 1
    w[x + X_THERE] |= 1 << state | int(w[x + X_UNUSUALS] > 0) << UNUSUAL


@kernel
def count_out(m: Any, w: Any, p: Any, x: int, k: int) -> None:
    """Count row ``k``, which is about to go."""
    state = w[column(m, w, N_STATE) + k]
    w[x + X_STATE_ROWS + state] -= 1
    if w[x + X_STATE_ROWS + state] == 0:
        empty_state(w, x, state)
        w[x + X_THERE] &= ~(1 << state)
    if w[x + X_UNUSUALS] and bit_of(m, w, p, k) >> UNUSUAL & 1:
        w[x + X_UNUSUALS] -= 1
        if w[x + X_UNUSUALS] == 0:
            w[x + X_THERE] &= ~(1 << UNUSUAL)


@kernel
def raise_row(m: Any, w: Any, p: Any, x: int, k: int) -> None:
    """Put row ``k``, which is new or better than it was, into the stairs of its state. Without room X_QUICK ends."""
    state = w[column(m, w, N_STATE) + k]
    until, start = w[column(m, w, N_M) + k], w[column(m, w, N_START) + k]
    w[x + X_FARTHEST] = max(w[x + X_FARTHEST], until)
    best = w[x + X_BEST_M + state]
    if until > best or (until == best and start > w[x + X_BEST_START + state]):
        w[x + X_BEST_M + state], w[x + X_BEST_START + state] = until, start
    order = p[p[P_ORDERS] + state]
    if order == NOWHERE:
        return
    word = w[column(m, w, N_REG + (order >> 2)) + k]
    if order & 2:
        if word & MAGNITUDE > INFINITY:  # NaN: no comparison holds of it
            return
        if word < 0:
            word = 0 if word == BEGINNING else word ^ MAGNITUDE  # -0.0 is 0.0
    put_stair(w, x, w[W_READY] + p[p[P_STAIRS] + state] * w[x + X_STAIR_ROOM], state, ~word if order & 1 else word, until, start)


@kernel
def put_stair(w: Any, x: int, words: int, state: int, word: int, until: int, start: int) -> None:
    """Put a row into the stairs at ``w[words]``, unless one before it is as good; those behind it that it outlives go."""
    ms, n = words + w[W_ROWS], w[x + X_STAIR_COUNT + state]
    starts = ms + w[W_ROWS]
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        if w[words + middle] <= word:
            low = middle + 1
        else:
            high = middle
    if low and (w[ms + low - 1] > until or (w[ms + low - 1] == until and w[starts + low - 1] >= start)):
        return
    if low and w[words + low - 1] == word:
        low -= 1
    end = low
    while end < n and (w[ms + end] < until or (w[ms + end] == until and w[starts + end] <= start)):
        end += 1
    if end == low:
        if n >= w[x + X_STAIR_ROOM]:
            w[x + X_QUICK] = 0
            return
        for j in range(n, low, -1):
            w[words + j], w[ms + j], w[starts + j] = w[words + j - 1], w[ms + j - 1], w[starts + j - 1]
        w[x + X_STAIR_COUNT + state] = n + 1
    elif end > low + 1:
        gone = end - low - 1
        for j in range(end, n):
            w[words + j - gone], w[ms + j - gone], w[starts + j - gone] = w[words + j], w[ms + j], w[starts + j]
        w[x + X_STAIR_COUNT + state] = n - gone
    w[words + low], w[ms + low], w[starts + low] = word, until, start


@kernel
def drop_stairs(w: Any, p: Any, x: int, le: int) -> None:
    """Take the stairs out that are over at ``le``: the first ones."""
    for state in range(p[P_STATES]):
        n, gone = w[x + X_STAIR_COUNT + state], 0
        words = w[W_READY] + p[p[P_STAIRS] + state] * w[x + X_STAIR_ROOM]
        ms, starts = words + w[W_ROWS], words + 2 * w[W_ROWS]
        while gone < n and w[ms + gone] <= le:
            gone += 1
        if gone:
            for j in range(gone, n):
                w[words + j - gone], w[ms + j - gone], w[starts + j - gone] = w[words + j], w[ms + j], w[starts + j]
            w[x + X_STAIR_COUNT + state] = n - gone
