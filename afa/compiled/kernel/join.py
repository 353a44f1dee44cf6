"""Join whole lists that the loops over rows in order have written into runs: each partial match is stored once.

    LE         20      21         22      23                  20     21     22     23
    written    p q     p q r      -       p r s    joined     p q    r      -      s
    end                                                       p: OPEN   q: 23   r: OPEN   s: ALONE

Propagation stores the same runs: a block depends on its events alone, not on how, nor in which calls, they came. Only lists that
the call's own promises drop, and lists of which no partial match stays, are left as they were written.
"""

from __future__ import annotations

from afa.compiled.kernel.buffers import load_list, since_of
from afa.compiled.kernel.heap import room
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import FEW, copy, equal, fill_place, hash_of, new_set
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.parts_by_state import set_end
from afa.compiled.kernel.propagate_runs import end_runs

LOOKED, BACK = 64, 64
"""How many steps are looked at to tell whether any partial match stays; how far back the list before a step is searched."""


@kernel
def join_lists(m: Memory, w: Scratch, b: Block, first: int, ended: int) -> int:
    """Join the lists of the new steps from place ``first`` on, whose nodes are the last ones.

    Each of them is a slice of its own, or the list before it. ``ended``: how many rows w.source has, if it is the list before them
    and they are whole lists: it ends at the first of them. Returns DONE, or NEED_ROWS, NEED_UNDO.
    """
    last, top = b.last, b.node_top
    # End the runs before whole lists.
    if ended and first < last:
        if not room(w, 64 + 3 * ended):
            return NEED_UNDO
        end_runs(m, w, b, w.source, 0, ended, b.le[b.order[first]])
    # Leave the lists that the call drops, and all if no partial match stays.
    first = first_kept(m, b, first, last)
    if not any_stays(m, b, first, last):
        return DONE
    order, times, reaches = b.order, b.le, b.reach
    here, there = w.old, w.other  # the list before a step: the number of each node, and the LE of the step that has it
    n, reach, begun = nodes_before(m, w, b, first, here), FOREVER, False
    if n < 0:
        return n
    for place in range(first, last):
        i = order[place]
        rows, le = b.nodes_of[i], times[i]
        if rows.count == 0 and reaches[i] < le:  # the list before it
            if reach < reaches[i]:
                reaches[i] = reach
            continue
        if rows.count + 2 >= w.rows:
            return NEED_ROWS
        if not room(w, 64 + 6 * n):
            return NEED_UNDO
        # End the nodes of the list before, then open again those that stay and write those that are new over the written list.
        # INVARIANT: rows of new steps need no undo; a node never moves to a later row, so that no row is overwritten unread.
        if rows.count and not begun:
            top, begun = rows.first, True
        end_nodes(m, w, b, here, n, le)
        made, reach = join_rows(m, w, b, rows, here, n, there, top, le)
        b.nodes_of[i], reaches[i] = Slice(top, made) if made else 0, reach
        top, n = top + made, rows.count
        here, there = there, here
    b.node_top = top
    return DONE


@kernel
def first_kept(m: Memory, b: Block, low: int, high: int) -> int:
    """Return the first of the places ``low`` to ``high`` that the promises of this call do not drop. O(log n)."""
    while low < high:
        middle = (low + high) >> 1
        if b.le[b.order[middle]] < m.then:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def any_stays(m: Memory, b: Block, first: int, last: int) -> bool:
    """Return whether a list of places ``first`` to ``last`` has a row of the list before it: LOOKED of many are tried."""
    if last - first <= LOOKED:
        return first < last
    s, nodes, order = NodeRow.register + m.register_words, b + b.nodes, b.order
    place, apart = last - 1, (last - first) // LOOKED
    while place >= first:
        here, before, back = b.nodes_of[order[place]], Slice(0), place - 1
        while before.count == 0 and back >= max(place - BACK, first):
            before = b.nodes_of[order[back]]
            back -= 1
        for k in range(here.count):
            row, other = nodes + (here.first + k) * s, nodes + before.first * s
            for _ in range(min(before.count, k + FEW)):
                if equal(m, row, m, other, s):
                    return True
                other += s
        place -= apart
    return False


@kernel
def nodes_before(m: Memory, w: Scratch, b: Block, place: int, at: int) -> int:
    """Write the nodes of the list before a place to ``at``, each with the LE of its step. Returns how many, or a status."""
    if place == b.first:
        return 0
    s, rows, n = NodeRow.register + m.register_words, w.source, load_list(m, w, b, place - 1, w.source)
    for k in range(n):
        w[at + 2 * k], w[at + 2 * k + 1] = NodeRow(w, rows + k * s).end, w[since_of(w, rows, k, s)]
    return n


@kernel
def end_nodes(m: Memory, w: Scratch, b: Block, at: int, n: int, le: int) -> None:
    """End those of ``n`` nodes at ``le`` that go on. *Requires* `room` for 3 a node."""
    s = NodeRow.register + m.register_words
    for k in range(n):
        node = NodeRow(b + b.nodes + w[at + 2 * k] * s)
        if node.end > le:
            set_end(m, w, node, w[at + 2 * k], le)


@kernel
def join_rows(m: Memory, w: Scratch, b: Block, rows: Slice, here: int, n: int, there: int, top: int, le: int) -> tuple[int, int]:
    """Store a list, the slice ``rows`` of the step at ``le``: rows that are among the ``n`` nodes at ``here`` stay there, open.

    The other rows become nodes from ``top`` on. Writes all its nodes to ``there``. Returns how many are its own, and its reach.
    *Requires* `room` for 3 a node. O(rows + nodes), as rows that stay keep their order.
    """
    s, nodes, made, reach = NodeRow.register + m.register_words, b + b.nodes, 0, le
    row, j, low, high = NodeRow(nodes + rows.first * s), 0, 0, 0
    for k in range(rows.count):
        if j >= n or not equal(m, row, m, nodes + w[here + 2 * j] * s, s):  # not the node behind that of the row before
            low, high = began_then(m, w, nodes, s, here, n, row.start, low, high)
            j = find_node(m, w, nodes, s, here, row, low, high)
        # Open the node that is the row, or move the row up.
        node, since = top + made, le
        if j >= 0:
            node, since = w[here + 2 * j], w[here + 2 * j + 1]
            set_end(m, w, nodes + node * s, node, OPEN)
            j += 1
        else:
            if nodes + node * s != row:
                copy(m, row, m, nodes + node * s, s)
            made += 1
            j = low
        w[there + 2 * k], w[there + 2 * k + 1] = node, since
        reach = min(reach, since)
        row += s
    return made, reach


@kernel
def began_then(m: Memory, w: Scratch, nodes: int, s: int, here: int, n: int, start: int, low: int, high: int) -> tuple[int, int]:
    """Return the range of the ``n`` nodes at ``here`` that began at ``start``; ``low``, ``high``: that of an earlier row.

    Makes a set of them if they are more than FEW.
    """
    if low < high and NodeRow(nodes + w[here + 2 * low] * s).start == start:
        return low, high
    low = high
    while low < n and NodeRow(nodes + w[here + 2 * low] * s).start < start:
        low += 1
    high = low
    while high < n and NodeRow(nodes + w[here + 2 * high] * s).start == start:
        high += 1
    if high - low > FEW:
        new_set(w)
        for j in range(low, high):
            row = nodes + w[here + 2 * j] * s
            at = hash_of(m, w, row, s, NodeRow.end, 0)
            while w[w.hash + 3 * at] == w.stamp:
                at = at + 1 & w.hashes - 1
            fill_place(w, w.hash + 3 * at, row, j)
    return low, high


@kernel
def find_node(m: Memory, w: Scratch, nodes: int, s: int, here: int, row: int, low: int, high: int) -> int:
    """Return the number of the node at ``here`` from ``low`` to ``high`` that is the partial match of a row, or NOWHERE. O(1)."""
    if high - low <= FEW:
        for j in range(low, high):
            if equal(m, row, m, nodes + w[here + 2 * j] * s, s):
                return j
        return NOWHERE
    at = hash_of(m, w, row, s, NodeRow.end, 0)
    while w[w.hash + 3 * at] == w.stamp:
        if equal(m, row, m, w[w.hash + 3 * at + 1], s):
            return w[w.hash + 3 * at + 2]
        at = at + 1 & w.hashes - 1
    return NOWHERE
