"""Events in order where only the longest count: each is appended, and changes a few rows of one list.

The same as `forward`, from the list of the block's last step on. What one event changes of the list says `longest_step`.
"""

from __future__ import annotations

from afa.compiled.kernel.buffers import load_list
from afa.compiled.kernel.forward import LEAVE, between_loops, count_taken, set_columns
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.longest_list import count_finals
from afa.compiled.kernel.longest_matches import longest_matches
from afa.compiled.kernel.longest_step import begin_list, change_list, end_list
from afa.compiled.kernel.native_call import kernel, peek
from afa.compiled.kernel.one_step import put_event, put_step, row_of
from afa.compiled.kernel.other_rows import first_other, row_of_other, take_others


@kernel
def forward_longest(m: Memory, w: Scratch, p: Program, c: TableWords, b: Block, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` one by one.

    Returns the first row that must go another way, or a status. *Requires* `may_go_longest`.
    """
    # The list of the last step goes into columns.
    cap, i, place, event_top = b.cap, b.steps, b.last, b.event_top
    first = i
    x = Loop(set_columns(m, w, p, c, b))
    latest = b.le[b.order[place - 1]] if place > b.first else BEGINNING
    n = load_list(m, w, b, place - 1, w.source) if place > b.first else 0
    if n < 0:
        return n
    status = begin_list(m, w, p, b, n)
    if status < 0:
        return status
    record, others = low, first_other(c, low)
    other = row_of_other(c, others)
    while record < high:
        # Promises and changes of arcs stand between events.
        if record == other:
            arcs = m.arcs
            after = take_others(m, w, p, c, others, high, latest)
            if m.arcs > arcs:
                count_finals(m, w, p, x)
            record, other = record + after - others, row_of_other(c, after)
            others = after
            if record == other:
                break
            continue
        # One event, one step.
        row = row_of(c, record)
        le = peek(c.le + 8 * row)
        if le <= latest or le < m.events or le >= x.change:
            if between_loops(m, w, p, c, record, latest) == LEAVE:
                break
            count_finals(m, w, p, x)
        if place >= cap or i >= cap:
            status = NEED_BLOCK
            break
        if event_top >= b.event_cap:
            status = NEED_EVENTS
            break
        status = longest_step(m, w, p, c, b, i, place, event_top, row)
        if status < 0:
            break
        i, place, event_top, record, latest = i + 1, place + 1, event_top + 1, record + 1, le
    # What was taken counts, whatever ended the loop.
    end_list(m, w, p, b, x, latest)
    b.steps, b.last, b.event_top = i, place, event_top
    return count_taken(m, i - first, latest, record, DONE if status == ASK else status)


@kernel
def longest_step(m: Memory, w: Scratch, p: Program, c: TableWords, b: Block, i: int, place: int, event: int, row: int) -> int:
    """Make step ``i`` of the event in a row of the columns. Returns DONE, NEED_*, or ASK: nothing is done."""
    x, le = Loop(w.loop), put_event(m, c, b, event, row)
    at = EventRow(b + b.events + event * (EventRow.payload + m.payload_words))
    fresh, top = change_list(m, w, p, b, x, m.m_at + 8 * at.payload, at.re, le), b.node_top
    if fresh < 0:
        return fresh
    put_step(m, b, i, place, event, le, Slice(top, fresh) if fresh else 0, x.reach)
    b.node_top = top + fresh
    return longest_matches(m, w, p, b, x, i, le) if x.finals else DONE
