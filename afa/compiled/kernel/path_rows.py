"""The list at which `paths` has arrived: rows at w.source, behind them their numbers and the places where they are stored.

w.source    p (1, 61, a)   q (1, 61, b)   |  room          rows below ``na`` stand before the step at work, those from there on
number      2              3              |                are stored at it; one that stood before and is stored again stays
place       0              1              |                where it is, with the later end and place

With a bound (PathQuestion.bounded) starts and ``until`` do not count: rows begin at 0, end at the bound, and each state and
register has one row.
"""

from __future__ import annotations

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import FEW, add_to_set, copy, equal, find_in_set, new_set
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.path_ends import is_start
from afa.compiled.kernel.path_layout import *


@kernel
def number_of(m: Memory, w: Scratch, k: int) -> int:
    """Return where the number of row ``k`` stands."""
    return w.source + w.rows * (NodeRow.register + m.register_words) + k


@kernel
def place_of(m: Memory, w: Scratch, k: int) -> int:
    """Return where the place at which row ``k`` is stored stands."""
    return w.source + w.rows * (NodeRow.register + m.register_words + 1) + k


@kernel
def stand_before(m: Memory, w: Scratch, place: int, before: int, n: int) -> int:
    """Keep those of the ``n`` rows that stand at the place before, whose LE is ``before``. Returns how many."""
    s, rows, kept = NodeRow.register + m.register_words, w.source, 0
    for k in range(n):
        if NodeRow(w, rows + k * s).end <= before and w[place_of(m, w, k)] != place - 1:
            continue
        if kept != k:
            copy(w, rows + k * s, w, rows + kept * s, s)
            w[number_of(m, w, kept)] = w[number_of(m, w, k)]
            w[place_of(m, w, kept)] = w[place_of(m, w, k)]
        kept += 1
    return kept


@kernel
def add_stored(m: Memory, w: Scratch, c: PathRows, b: Block, place: int, n: int) -> int:
    """Add the rows of the starts that a step stores to the ``n`` rows before it. Returns how many there are then, or a status.

    A row that stood before stays where it is, with the later end and the place.
    """
    s, rows, least = NodeRow.register + m.register_words, w.source, c.asked.least
    stored = b.nodes_of[b.order[place]]
    hashed = False
    for k in range(stored.count):
        node = NodeRow(b + b.nodes + (stored.first + k) * s)
        if (c.asked.bounded and node.until < least) or not is_start(w, c, node.start):
            continue
        if n + 4 >= w.rows:
            return NEED_ROWS
        if c.asked.numbers >= c.asked.size:
            return TOO_SMALL
        row, same = NodeRow(w, rows + n * s), NOWHERE
        copy(m, node, w, row, s)
        if c.asked.bounded:
            row.start, row.until = 0, least
        # The same row among all so far: one by one, or by the set.
        if not hashed and n > FEW and stored.count > FEW:
            hashed = True
            new_set(w)
            for j in range(n):
                add_to_set(w, w, rows + j * s, s, 0)
        if hashed:
            found = add_to_set(w, w, row, s, 0)
            same = (found - rows) // s if found >= 0 else NOWHERE
        else:
            for j in range(n):
                if equal(w, row, w, rows + j * s, s):
                    same = j
                    break
        if same >= 0:
            stood = NodeRow(w, rows + same * s)
            stood.end = max(stood.end, row.end)
            w[place_of(m, w, same)] = place
            continue
        number = c.asked.numbers
        c.asked.numbers = number + 1
        w[number_of(m, w, n)], w[place_of(m, w, n)] = number, place
        c.rest[number] = c.moved[number] = NOWHERE
        c.alive[number] = 0
        n += 1
    return n


@kernel
def stands(m: Memory, w: Scratch, k: int, place: int, le: int) -> bool:
    """Return whether row ``k`` stands at a place, whose LE is ``le``."""
    return NodeRow(w, w.source + k * (NodeRow.register + m.register_words)).end > le or w[place_of(m, w, k)] == place


@kernel
def find_row(m: Memory, w: Scratch, c: PathRows, b: Block, place: int, k: int, target: int, na: int, n: int) -> int:
    """Return the number of the row at ``target`` in a step's list; NOWHERE: it is not there.

    The list: rows below ``na`` that stand here too, and rows from there on, which are stored here.
    """
    s, rows, memo = NodeRow.register + m.register_words, w.source, c.asked.memo
    le = b.le[b.order[place]]
    if memo >= 0 and equal(w, target, w, rows + memo * s, s):
        return memo
    if k >= 0 and stands(m, w, k, place, le) and equal(w, target, w, rows + k * s, s):
        return k
    many = n - na > FEW
    if not many:
        for j in range(na, n):
            if equal(w, target, w, rows + j * s, s):
                return j
    if not many and na <= FEW:
        for j in range(na):
            if stands(m, w, j, place, le) and equal(w, target, w, rows + j * s, s):
                return j
        return NOWHERE
    if c.asked.hashed != w.stamp:
        new_set(w)
        c.asked.hashed = w.stamp
        for j in range(n):
            if stands(m, w, j, place, le):
                add_to_set(w, w, rows + j * s, s, 0)
    found = find_in_set(w, w, target, s, 0)
    return (found - rows) // s if found >= 0 else NOWHERE
