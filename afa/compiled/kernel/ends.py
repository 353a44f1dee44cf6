"""Count the beginnings whose partial matches are over, and why, from the lists: statistics, see `Ends`.

    steps      10      11      13 (RE of 10 is 13)      20
    lists      p10     p10     p13                      p20     a partial match by where it began
    ends               ^       ^                                10: at 13, m = 13: by the window; 13: at 20, m = 16: by the window;
                                                                20: open. Had m of 10 been 14: by no arc

The batch ``c`` is a hash table of beginnings, one a column, with the rows of `Beginnings`: from which LE on none of its partial
matches stands, the latest m of those that stood last, and whether a time-out of one comes past its m.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import call4, kernel
from afa.compiled.kernel.order import find_place
from afa.compiled.kernel.unpacked import block_of_key

WINDOW, NO_ARC, PAST, FULL, SPARE = 0, 1, 2, 3, 4  # words at w.temp


@kernel
def ends(m: Memory, w: Scratch, p: Program, c: Any, places: int) -> int:
    """Count at w.temp the beginnings that the window ended, that no arc ended, and those with a time-out past m. O(nodes).

    ``c`` has ``places`` columns, a power of two, all 0; FULL is 1 if they are too few. Returns DONE, or FAULT after an interrupt.
    """
    at = w.temp
    for i in range(SPARE):
        w[at + i] = 0
    for key in range(m.keys):
        b = block_of_key(m, key)
        if b == 0:
            continue
        status = end_block(m, w, p, c, b, key + 1, places)
        if status < 0:
            return status
        if w[at + FULL]:
            return DONE
    return DONE


@kernel
def end_block(m: Memory, w: Scratch, p: Program, c: Beginnings, b: Block, stamp: int, places: int) -> int:
    """Count the beginnings of a block. Returns DONE or FAULT."""
    at, s, used = w.temp, NodeRow.register + m.register_words, 0
    for place in range(b.first, b.last):
        rows = b.nodes_of[b.order[place]]
        for k in range(rows.count):
            node = NodeRow(b + b.nodes + (rows.first + k) * s)
            # Find the beginning of the node, or a free column for it.
            q = find_column(c, node.start, stamp, places)
            if c.stamp[q] != stamp:
                used += 1
                if 2 * used > places:
                    w[at + FULL] = 1
                    return DONE
                c.stamp[q], c.start[q] = stamp, node.start
                c.until[q], c.latest[q], c.past[q] = BEGINNING, BEGINNING, 0
            # Count it anew where the node stands longer than those seen so far.
            until = stands_until(m, b, place, node.end)
            if until >= c.until[q]:
                count_end(w, c, q, -1)
                c.latest[q] = max(c.latest[q], node.until) if until == c.until[q] else node.until
                c.until[q] = until
                count_end(w, c, q, 1)
            if c.past[q] == 0 and p[p.waits + node.state] >= 0:  # its state has time-outs
                past = waits_past(m, w, p, node)
                if past < 0:
                    return FAULT
                c.past[q] = past
                w[at + PAST] += past
    return DONE


@kernel
def find_column(c: Beginnings, start: int, stamp: int, places: int) -> int:
    """Return the column of a beginning, or the free one for it; neighbours in time lie side by side."""
    q = (start ^ (start >> 13) ^ (start >> 29)) & (places - 1)
    while c.stamp[q] == stamp and c.start[q] != start:
        q = (q + 1) & (places - 1)
    return q


@kernel
def stands_until(m: Memory, b: Block, place: int, end: int) -> int:
    """Return the LE of the first step at which a node of a place does not stand; FOREVER: it stands at the last one."""
    order, times = b.order, b.le
    if end == OPEN:
        return FOREVER
    after = place + 1 if end == ALONE else find_place(m, b, end, 0)
    return times[order[after]] if after < b.last else FOREVER


@kernel
def count_end(w: Scratch, c: Beginnings, q: int, sign: int) -> None:
    """Add ``sign`` to the count to which a beginning belongs by now; none while it stands."""
    at, until = w.temp, c.until[q]
    if until != FOREVER and until != BEGINNING:
        w[at + (WINDOW if c.latest[q] <= until else NO_ARC)] += sign


@kernel
def waits_past(m: Memory, w: Scratch, p: Program, node: NodeRow) -> int:
    """Return 1 if a time-out of a partial match comes at its m or later, 0 if none does, or FAULT after an interrupt."""
    out = w.temp + SPARE
    link = p[p.waits + node.state]
    while link >= 0:
        arc = ArcRow(p.rows + link * ArcRow.SIZE)
        link = arc.next
        code, register = ArcWords(p.codes + arc.code * ArcWords.SIZE), m.m_at + 8 * node.register
        status = NOWHERE
        if code.code != 0:
            status = call4(code.code, 0, register, m.w_at + 8 * out, code.constants)
        if status < 0:  # the expression, not the user's function: nothing raises
            answer = call4(p.python, INSTANT - arc.code, 0, register, m.w_at + 8 * out)
            if answer != YES:
                return FAULT
        if node.until <= w[out] < FOREVER and arc.begin <= w[out] < arc.end:
            return 1
    return 0
