"""Row buffers: the list of a step where runs are kept, its own nodes and the earlier ones that reach it, by start.

    block   LE      10          11        12           w.source = load_list(place of 12)
            nodes   p  end 15   q  alone  r  alone     rows    [ p | number of its node ] [ r | number of its node ]
                    p2 end 12                          since   [ 10 ] [ 12 ]
                                                       end     [ 15 ] [ ALONE ]

A row has the number of its node in place of ``end``. Behind the rows stand two columns: the LE of the step where each is stored,
and the end that its node had. w.old is the same list as it was before propagation began.
"""

from __future__ import annotations

from typing import Annotated

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import FEW, copy, count_until, equal, sort_by_start
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place


@kernel
def since_of(w: Scratch, rows: int, k: int, s: int) -> int:
    """Return where row ``k`` of a buffer has the LE of its step; the end of its node stands w.rows words further."""
    return rows + w.rows * s + k


@kernel
def load_list(m: Memory, w: Scratch, b: Block, place: int, rows: int) -> int:
    """Read the list of a place into a row buffer, sorted by start. O(steps back to ``reach``).

    Returns how many rows it has, or NEED_ROWS.
    """
    s = NodeRow.register + m.register_words
    order, times = b.order, b.le
    le = times[order[place]]
    reach = b.reach[order[place]]
    at = place if reach >= le else max(find_place(m, b, reach, 0), b.first)
    n = 0
    # Earlier nodes that reach this step, then its own nodes.
    while at <= place:
        i = order[at]
        n = add_nodes(m, w, b, i, b.nodes_of[i], rows, n, le if at < place else BEGINNING)
        if n < 0:
            return n
        at += 1
    m.looks += n
    return sorted_rows(w, rows, n, s)


@kernel
def add_nodes(m: Memory, w: Scratch, b: Block, i: int, old: Slice, rows: int, n: int, until: int) -> int:
    """Add the nodes ``old``, a slice of step ``i``, that end after ``until`` (BEGINNING: all) to the ``n`` rows of a buffer.

    Returns how many rows there are then, or NEED_ROWS.
    """
    s = NodeRow.register + m.register_words
    if n + old.count >= w.rows:
        return NEED_ROWS
    for k in range(old.first, old.first + old.count):
        node = NodeRow(b + b.nodes + k * s)
        if until != BEGINNING and node.end <= until:
            continue
        copy(m, node, w, rows + n * s, s)
        NodeRow(w, rows + n * s).end = k
        column = since_of(w, rows, n, s)
        w[column] = b.le[i]
        w[column + w.rows] = node.end
        n += 1
    return n


@kernel
def advance_old(m: Memory, w: Scratch, b: Block, i: int, le: int, n: int) -> int:
    """Advance w.old from the old list before step ``i`` to the old list of that step.

    Drops the rows that ended there and adds the step's own nodes. Returns how many rows there are then, or NEED_ROWS.
    """
    s, rows, kept = NodeRow.register + m.register_words, w.old, 0
    for k in range(n):
        if w[since_of(w, rows, k, s) + w.rows] > le:
            if k != kept:
                copy_row(w, rows, k, rows, kept, s)
            kept += 1
    kept = add_nodes(m, w, b, i, b.nodes_of[i], rows, kept, BEGINNING)
    return kept if kept < 0 else sorted_rows(w, rows, kept, s)


@kernel
def sorted_rows(w: Scratch, rows: int, n: int, s: int) -> int:
    """Sort a row buffer and its columns by start. Returns ``n``. O(n) where few rows are out of order.

    Writes to w.ready where many are.
    """
    spare, moved = w.rows - 1, 0
    for k in range(1, n):
        if NodeRow(w, rows + k * s).start >= NodeRow(w, rows + (k - 1) * s).start:
            continue
        moved += 1
        if moved > FEW:
            return sorted_all(w, rows, n, s)
        # Insert row k where it belongs.
        copy_row(w, rows, k, rows, spare, s)
        j = k
        while j > 0 and NodeRow(w, rows + (j - 1) * s).start > NodeRow(w, rows + spare * s).start:
            copy_row(w, rows, j - 1, rows, j, s)
            j -= 1
        copy_row(w, rows, spare, rows, j, s)
    return n


@kernel
def sorted_all(w: Scratch, rows: int, n: int, s: int) -> int:
    """Sort a row buffer by start by way of row numbers, where many rows are out of order. Returns ``n``."""
    spare, at = w.rows - 1, w.ready
    for k in range(n):
        w[at + k] = k
    at = sort_by_start(w, rows, s, w, at, at + n, n)
    for k in range(n):  # carry out the permutation, cycle by cycle
        if w[at + k] == k:
            continue
        copy_row(w, rows, k, rows, spare, s)
        j = k
        while w[at + j] != k:
            q = w[at + j]
            copy_row(w, rows, q, rows, j, s)
            w[at + j] = j
            j = q
        copy_row(w, rows, spare, rows, j, s)
        w[at + j] = j
    return n


@kernel
def copy_row(w: Scratch, rows: int, k: int, others: int, to: int, s: int) -> None:
    """Copy row ``k`` of a buffer and its columns to row ``to`` of another one, or of the same."""
    copy(w, rows + k * s, w, others + to * s, s)
    source, target = since_of(w, rows, k, s), since_of(w, others, to, s)
    w[target] = w[source]
    w[target + w.rows] = w[source + w.rows]


@kernel
def find_row(w: Scratch, rows: int, n: int, row: Annotated[NodeRow, "w"], s: int) -> int:
    """Return the number of the row of a buffer, sorted by start, that is the partial match of ``row``; NOWHERE: none is.

    O(log n + rows of one start).
    """
    start = row.start
    k = count_until(w, rows, n, s, start - 1)
    while k < n and NodeRow(w, rows + k * s).start == start:
        if equal(w, rows + k * s, w, row, s):
            return k
        k += 1
    return NOWHERE
