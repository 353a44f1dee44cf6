"""One step of one event at the end of a block, where the loops over rows in order can't make it.

first_step     the first event behind runs that were read into w.source: they stay, or their list is written anew, in one slice
finish_step    a step whose nodes are written: each partial match once, and its matches
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.derive import take_event
from afa.compiled.kernel.heap import room
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import unique
from afa.compiled.kernel.matches import accepted, set_matches
from afa.compiled.kernel.native_call import kernel, peek, peek_byte
from afa.compiled.kernel.propagate_runs import end_runs, extend_all, leaves_list
from afa.compiled.kernel.step import over

MINUS_ZERO, MAGNITUDE, INFINITY = -(2**63), 2**63 - 1, 0x7FF0000000000000
STAYS = 1 << 32


@kernel
def first_step(
    m: Memory, w: Scratch, p: Program, c: Any, b: Block, i: int, place: int, event: int, top: int, n: int, record: int
) -> int:
    """Make step ``i`` of an event, the first one behind the ``n`` rows at w.source.

    Returns STAYS if the list stays as it is; else how many nodes its new list has; or ASK, NEED_UNDO, NEED_NODES, or a status of
    `finish_step`.
    """
    s, le = NodeRow.register + m.register_words, put_event(m, c, b, event, row_of(c, record))
    if not room(w, 64 + 8 * n):
        return NEED_UNDO
    # An event that leaves all states there as they are: their nodes stand on, and the step has none.
    if leaves_list(m, w, p, b, event, le, Loop(w.loop).wanted):
        put_step(m, b, i, place, event, le, 0, extend_all(m, w, b, n, le))
        return STAYS
    # Else the whole list becomes nodes of this step, and the runs end here.
    out = b + b.nodes + top * s
    count = take_event(m, p, b, m.w_at, w.source, n, True, le, Slice(event, 1), m.m_at + 8 * out, b.node_cap - top)
    if count < 0:
        return NEED_NODES if count == NO_ROOM else ASK
    for k in range(count):  # rows that stay, too
        NodeRow(out + k * s).end = ALONE
    end_runs(m, w, b, w.source, 0, n, le)
    return finish_step(m, w, p, b, i, place, event, le, top, count)


@kernel
def row_of(c: TableWords, record: int) -> int:
    """Return which row of the columns a record is."""
    return peek(c.index + 8 * record) if c.index != 0 else record


@kernel
def re_of(c: TableWords, le: int, row: int) -> int:
    """Return the RE of a row of the columns, whose LE is known."""
    if c.re:
        return peek(c.re + 8 * row)
    return le + c.window if c.window else FOREVER


@kernel
def put_event(m: Memory, c: TableWords, b: Block, event: int, row: int) -> int:
    """Write a row of the columns as event ``event`` of a block. Returns its LE."""
    le, at = peek(c.le + 8 * row), EventRow(b + b.events + event * (EventRow.payload + m.payload_words))
    at.re, at.copies = re_of(c, le, row), 1
    put_payload(m, c, at.payload, row)
    return le


@kernel
def put_payload(m: Memory, c: TableWords, at: int, row: int) -> None:
    """Write the payload of a row of the columns."""
    for j in range(m.payload_words):
        m[at + j] = payload_word(c, j, row)


@kernel
def payload_word(c: TableWords, j: int, row: int) -> int:
    """Return word ``j`` of the payload of a row, in its one form: one NaN, no -0.0, 0 for a missing value."""
    at, kind = c.payload[2 * j], c.payload[2 * j + 1]
    if kind & OPTIONAL and peek_byte(c.payload[2 * (j - 1)] + row) == 0:
        return 0
    if kind & BYTE:
        return peek_byte(at + row) != 0
    found = peek(at + 8 * row)
    if kind & FLOAT:
        if found == MINUS_ZERO:
            return 0
        if (found & MAGNITUDE) > INFINITY:
            return NAN_WORD
    return found


@kernel
def finish_step(m: Memory, w: Scratch, p: Program, b: Block, i: int, place: int, event: int, le: int, top: int, count: int) -> int:
    """Make a step of an event and ``count`` new nodes, some of which may be equal or stand for matches.

    Returns how many nodes it has, or NEED_TEMP, NEED_LOG, NEED_MATCHES, OVER; NEED_ROWS: the set of rows is too small.
    """
    if count >= w.rows:
        return NEED_ROWS
    s = NodeRow.register + m.register_words
    out = b + b.nodes + top * s
    count = unique(m, w, out, count, s)
    if count > w.budget:
        return over(w, le, count, out, True)
    put_step(m, b, i, place, event, le, Slice(top, count), le)
    found = accepted(m, w, p, m, out, count, le)
    status = set_matches(m, w, p, b, i, found) if found > 0 else found
    return count if status >= 0 else status


@kernel
def put_step(m: Memory, b: Block, i: int, place: int, event: int, le: int, nodes: int, reach: int) -> None:
    """Make step ``i`` of one event."""
    b.order[place] = i
    b.le[i] = le
    b.events_of[i] = Slice(event, 1)
    b.nodes_of[i] = nodes
    b.matches_of[i] = 0
    b.reach[i] = reach
