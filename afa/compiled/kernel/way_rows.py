"""The list at which `ways` has arrived: rows at W_SOURCE, their numbers and the places where they are stored behind them.

W_SOURCE    p (1, 61, a)   q (1, 61, b)   |  room          rows below ``na`` stand before the step at work, those from there on
number      2              3              |                are stored at it; one that stood before, with another end, keeps
place       0              1              |                its number

With a bound (Q_BOUNDED) starts and ``m`` do not count: rows begin at 0, end at the bound, and each state and register has one row.
One that stood before and is stored again stays where it is, with the later end and place.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.lists import FEW, add_to_set, copy, equal, find_in_set, new_set
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.way_ends import is_start
from afa.compiled.kernel.way_names import *


@kernel
def number_of(m: Any, w: Any, k: int) -> int:
    """Return where the number of row ``k`` stands."""
    return int(w[W_SOURCE] + w[W_ROWS] * (N_REG + m[C_R]) + k)


@kernel
def place_of(m: Any, w: Any, k: int) -> int:
    """Return where it is told at which place row ``k`` is stored."""
    return int(w[W_SOURCE] + w[W_ROWS] * (N_REG + m[C_R] + 1) + k)


@kernel
def stand_before(m: Any, w: Any, place: int, before: int, n: int) -> int:
    """Keep of the ``n`` rows those that stand at the place before, whose LE is ``before``. Returns how many."""
    s, rows, kept = N_REG + m[C_R], w[W_SOURCE], 0
    for k in range(n):
        if w[rows + k * s + N_END] <= before and w[place_of(m, w, k)] != place - 1:
            continue
        if kept != k:
            copy(w, rows + k * s, w, rows + kept * s, s)
            w[number_of(m, w, kept)] = w[number_of(m, w, k)]
            w[place_of(m, w, kept)] = w[place_of(m, w, k)]
        kept += 1
    return int(kept)


@kernel
def add_stored(m: Any, w: Any, c: Any, b: int, place: int, n: int) -> int:
    """Add what a step stores of the starts to the ``n`` rows before it. Returns how many there are then, or a status.

    One that stood before, with another end, has its number.
    """
    s, i, rows, na = N_REG + m[C_R], m[b + HEAD + place], w[W_SOURCE], n
    stored = m[b + HEAD + ND * m[b + H_CAP] + i]
    hashed = False
    for k in range(stored & COUNT):
        node = b + m[b + H_NODES] + ((stored >> 24) + k) * s
        if not is_start(w, c, m[node + N_START]):
            continue
        if n + 4 >= w[W_ROWS]:
            return NEED_ROWS
        if c[Y_ASKED, Q_NUMBERS] >= c[Y_ASKED, Q_SIZE]:
            return TOO_SMALL
        row = rows + n * s
        copy(m, node, w, row, s)
        if not hashed and n - na > FEW and na > FEW:
            hashed = True
            new_set(w)
            for j in range(na):
                add_to_set(w, w, rows + j * s, s, 0)
        twin = NOWHERE
        if hashed:
            found = find_in_set(w, w, row, s, 0)
            if found >= 0:
                twin = (found - rows) // s
        else:
            for j in range(na):
                if equal(w, row, w, rows + j * s, s):
                    twin = j
                    break
        w[place_of(m, w, n)] = place
        if twin >= 0:
            w[number_of(m, w, n)] = w[number_of(m, w, twin)]
        else:
            number = c[Y_ASKED, Q_NUMBERS]
            c[Y_ASKED, Q_NUMBERS] = number + 1
            w[number_of(m, w, n)] = number
            c[Y_REST, number] = c[Y_MOVED, number] = NOWHERE
            c[Y_ALIVE, number] = 0
        n += 1
    return int(n)


@kernel
def merge_stored(m: Any, w: Any, c: Any, b: int, place: int, n: int) -> int:
    """Add what a step stores to the ``n`` rows before it, each state and register once. As `add_stored`, with a bound."""
    s, rows, least = N_REG + m[C_R], w[W_SOURCE], c[Y_ASKED, Q_LEAST]
    stored = m[b + HEAD + ND * m[b + H_CAP] + m[b + HEAD + place]]
    hashed = False
    for k in range(stored & COUNT):
        node = b + m[b + H_NODES] + ((stored >> 24) + k) * s
        if m[node + N_M] < least or not is_start(w, c, m[node + N_START]):
            continue
        if n + 4 >= w[W_ROWS]:
            return NEED_ROWS
        if c[Y_ASKED, Q_NUMBERS] >= c[Y_ASKED, Q_SIZE]:
            return TOO_SMALL
        row, twin = rows + n * s, NOWHERE
        copy(m, node, w, row, s)
        w[row + N_START], w[row + N_M] = 0, least
        if not hashed and n > FEW:
            hashed = True
            new_set(w)
            for j in range(n):
                add_to_set(w, w, rows + j * s, s, 0)
        if hashed:
            found = add_to_set(w, w, row, s, 0)
            twin = (found - rows) // s if found >= 0 else NOWHERE
        else:
            for j in range(n):
                if equal(w, row, w, rows + j * s, s):
                    twin = j
                    break
        if twin >= 0:
            w[rows + twin * s + N_END] = max(w[rows + twin * s + N_END], w[row + N_END])
            w[place_of(m, w, twin)] = place
            continue
        number = c[Y_ASKED, Q_NUMBERS]
        c[Y_ASKED, Q_NUMBERS] = number + 1
        w[number_of(m, w, n)], w[place_of(m, w, n)] = number, place
        c[Y_REST, number] = c[Y_MOVED, number] = NOWHERE
        c[Y_ALIVE, number] = 0
        n += 1
    return int(n)


@kernel
def stands(m: Any, w: Any, k: int, place: int, le: int) -> bool:
    """Return whether row ``k`` stands at a place, whose LE is ``le``."""
    return bool(w[w[W_SOURCE] + k * (N_REG + m[C_R]) + N_END] > le or w[place_of(m, w, k)] == place)


@kernel
def find_row(m: Any, w: Any, c: Any, b: int, place: int, k: int, target: int, na: int, n: int) -> int:
    """Return which row of a step's list is the one at ``target``; NOWHERE: none is.

    The list: the rows before ``na`` that stand here too, and those from there on, which are stored here.
    """
    s, rows, memo = N_REG + m[C_R], w[W_SOURCE], c[Y_ASKED, Q_MEMO]
    le = m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + place]]
    if memo >= 0 and equal(w, target, w, rows + memo * s, s):
        return int(memo)
    if k >= 0 and stands(m, w, k, place, le) and equal(w, target, w, rows + k * s, s):
        return k
    many = n - na > FEW
    if not many:
        for j in range(na, n):
            if equal(w, target, w, rows + j * s, s):
                return int(j)
    if not many and na <= FEW:
        for j in range(na):
            if stands(m, w, j, place, le) and equal(w, target, w, rows + j * s, s):
                return int(j)
        return NOWHERE
    if c[Y_ASKED, Q_HASHED] != w[W_STAMP]:
        new_set(w)
        c[Y_ASKED, Q_HASHED] = w[W_STAMP]
        for j in range(n):
            if stands(m, w, j, place, le):
                add_to_set(w, w, rows + j * s, s, 0)
    found = find_in_set(w, w, target, s, 0)
    return (found - rows) // s if found >= 0 else NOWHERE
