"""Take events in order, the common case: append and derive each at once, without marks and searches.

    columns   LE  20  21  22  23  ..        order  [ .. 7 | 8   9  10 ->
    of the        |   |   |                 le     [ .. 19| 20  21 22 ->        Block.last, Block.steps and the tops move on
    batch         v   v   v                 events [ ..   | e8 e9 e10 ->
                                            nodes  [ .. list of 7 | list of 8 | list of 9 | ->      each derived from the one before

    with runs     LE        20        21        22        23
                  events    e         ignored   ignored   f
                  nodes     p, q      -         -         p', s      a list that stays costs a step and no node; 23 ends all runs:
                  end       23  23                        ALONE      its list is written anew, one slice of nodes

The result is that of `merge`, then `propagate`. The automaton's own loop (`afa.compiled.kernel.row_loop`) takes most rows; there
is one for whole lists and one for runs. `forward` takes the rows that they leave: punctuations, changes of arcs, steps of which
two matches may be the same. Where blocks keep runs, the lists that the loops write are joined (`afa.compiled.kernel.join`).

The runs of a block at the beginning may be nodes of several steps. They are read into w.source and can only stay (Loop.most 0). The
first event that changes them (`first_step`) writes a list of one slice, with which the loop goes on. A list of many rows stands in
parts (`afa.compiled.kernel.parts`); in the loop it can only stay, too.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.buffers import load_list
from afa.compiled.kernel.dispatch import give_up, go_on_with_runs, is_worth_it, loop_of, may_part, parts_serve
from afa.compiled.kernel.join import join_lists
from afa.compiled.kernel.kept_parts import keep_parts, resume_parts
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import call1, kernel, peek, peek_byte
from afa.compiled.kernel.one_step import ASK, STAYS, finish_step, first_step, put_event, row_of
from afa.compiled.kernel.other_rows import first_other, row_of_other, take_others
from afa.compiled.kernel.parts import UNFIT, read_parts, take_in_parts
from afa.compiled.kernel.propagate_runs import summarize

LEAVE, READY = 0, 1
SHORT = 1 << 10
"""Lists of fewer rows are not joined where the call itself drops them."""
JOINED = 1 << 12
"""After so many nodes lists are joined, while they are in the cache."""
APART = 16
"""Rows so far apart stand in lines of cache that the processor does not fetch by itself."""


@kernel
def set_columns(m: Memory, w: Scratch, p: Program, c: TableWords, b: Block) -> int:
    """Write the words of the loop that stay the same through a call. Returns where they are."""
    x, base, scratch = Loop(w.loop), m.m_at, m.w_at
    x.none = 0
    x.le_at = c.le
    ends, window = c.re, c.window
    x.re_at = ends if ends != 0 else scratch + 8 * (x + Loop.constant_re)
    x.re_mask = -1 if ends != 0 else 0
    x.le_mask = -1 if ends == 0 and window != 0 else 0
    x.constant_re = window if window != 0 else FOREVER
    index = c.index
    x.index_at = index if index != 0 else scratch + 8 * (x + Loop.none)
    x.index_mask, x.plain_mask = (-1, 0) if index != 0 else (0, -1)
    x.cap = b.cap
    x.begin = m.p_at + 8 * p.begin
    x.slots = m.p_at + 8 * p.slots
    x.now = m.p_at + 8 * p.now
    x.last = base + 8 * (b + b.nodes + b.node_cap * (NodeRow.register + m.register_words))
    x.match_last = base + 8 * (b + b.matches + b.match_cap * (MatchRow.register + m.register_words))
    x.log_last = scratch + 8 * (w.log + w.log_cap * (LogRow.register + m.register_words))
    x.budget = w.budget
    x.key, x.final = w.key, m.final
    x.change = BEGINNING
    for j in range(m.payload_words):
        x.payload[j] = c.payload[2 * j]
    return x


@kernel
def set_position(m: Memory, w: Scratch, b: Block, record: int, high: int, latest: int, bound: int) -> int:
    """Write the words of the loop that say where it begins: behind the last step. Returns for how many rows there is room."""
    x, base, place, i, event, node = Loop(w.loop), m.m_at, b.last, b.steps, b.event_top, b.node_top
    left = min(b.cap - place, b.cap - i, b.event_cap - event)
    x.record, x.high, x.room = record, min(high, record + left), record + left
    x.latest = max(latest, m.events - 1) if m.events > BEGINNING else latest
    x.bound = bound
    x.order, x.times = base + 8 * (b.order + place), base + 8 * (b.le + i)
    x.step, x.slice = i, Slice(event, 1)
    x.event = base + 8 * (b + b.events + event * (EventRow.payload + m.payload_words))
    x.out, x.top = base + 8 * (b + b.nodes + node * (NodeRow.register + m.register_words)), node
    x.match, x.mtop = base + 8 * (b + b.matches + b.match_top * (MatchRow.register + m.register_words)), b.match_top
    x.log = m.w_at + 8 * (w.log + w.log_top * (LogRow.register + m.register_words))
    return left


@kernel
def append_steps(m: Memory, b: Block, n: int, top: int) -> None:
    """Count ``n`` steps of one event each, which are written behind the last one; their nodes end at row ``top``."""
    b.steps += n
    b.last += n
    b.event_top += n
    b.node_top = top


@kernel
def between_loops(m: Memory, w: Scratch, p: Program, c: TableWords, record: int, latest: int) -> int:
    """Return READY for an event that the loop may take, LEAVE for one that must go another way. Moves the cursor of arcs."""
    le, x = peek(c.le + 8 * row_of(c, record)), Loop(w.loop)
    if le <= latest or le < m.events:
        return LEAVE
    if le >= x.change:
        seek(p, le)
        x.change = p.high
        if p.spill:
            return LEAVE
    return READY


@kernel
def forward(m: Memory, w: Scratch, p: Program, c: TableWords, b: Block, low: int, high: int, kept: bool) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` in order. ``kept``: the list stands in parts.

    Returns the first row that must go another way, or a status. *Requires* `may_go_forward`.
    """
    nodes, s, runs, first = b + b.nodes, NodeRow.register + m.register_words, p.ignorable, b.steps
    loop = loop_of(m, p, b)
    whole = loop == p.loop
    begun, begun_top, limit = b.last, b.node_top, b.node_top + JOINED  # lists from here on are not joined; at `limit` they will be
    x = Loop(set_columns(m, w, p, c, b))
    w.own, x.parted = b.node_top, 0
    far = row_of(c, high - 1) - row_of(c, low) >= APART * (high - low)
    x.ahead = FAR if far else MIXED if c.index != 0 and m.keyed == 0 else 0
    NodeRow(p, p.begin).until = FOREVER
    latest, number = BEGINNING, 0
    if b.last > b.first:
        latest, number = b.le[b.order[b.last - 1]], b.seq[b.order[b.last - 1]]
    # Give the loop the list of the last step.
    if kept and not whole and parts_serve(m, p):
        n = resume_parts(m, w, p, b, x)
    else:
        n = first_list(m, w, p, b, x) if whole else first_runs(m, w, p, b, x)
    if n < 0:
        return n
    record, status, others = low, DONE, first_other(c, low)
    other = row_of_other(c, others)
    until = low if m.gapless else high  # numbers are adjacent up to this row
    while record < high:
        # Take rows that are no events: promises, changes of arcs.
        if record == other:
            after = take_others(m, w, p, c, others, high, latest)
            record, other = record + after - others, row_of_other(c, after)
            others = after
            if record == other:
                break
            continue
        # Gapless: take rows only up to the next gap. After one the list before is empty, and the step begins anew.
        if record >= until:
            until, number = next_gap(m, c, record, high, number)
            if until == record:
                row = row_of(c, record)
                here = peek(c.payload[2 * m.seq] + 8 * row)
                if b.last > b.first:
                    if here <= number:
                        break
                    b.gap = min(b.gap, peek(c.le + 8 * row))
                x.n = 0
                until, number = next_gap(m, c, record + 1, high, here)
        # Run the loop until it meets a row that it must leave, and count what it has appended.
        bound = x.change
        if x.most == 0:
            bound = bound if x.parted else min(bound, w.soonest)
        else:
            x.most = w.many if not whole and may_part(m, w, p, FOREVER) else FOREVER
        left = set_position(m, w, b, record, min(until, other), latest, bound)
        if runs:
            x.last = m.m_at + 8 * (nodes + min(limit, b.node_cap) * s)
        code = call1(loop, m.w_at + 8 * x)
        taken = x.record - record
        w.wait = max(w.wait - taken, 0)
        w.log_top += x.mtop - b.match_top
        b.match_top = x.mtop
        if taken > 0:
            append_steps(m, b, taken, x.top)
            record, latest = record + taken, b.le[b.steps - 1]
        # 1. The rows of the next step are written, but two may be the same, or two of its matches.
        if code == LOOP_LOOK:
            le = peek(c.le + 8 * row_of(c, record))
            status = finish_step(m, w, p, b, b.steps, b.last, b.event_top, le, b.node_top, x.made)
        # 2. The nodes have reached the limit: join the lists so far. Keep runs from now on if that saves half of the nodes.
        elif code == NO_ROOM and runs and limit < b.node_cap:
            if b.node_top == begun_top or (latest < m.then and x.n < SHORT):  # one list is as long, or all goes soon
                limit = b.node_cap
                continue
            written = b.node_top - begun_top
            n = join_lists(m, w, b, begun, n if whole else 0)
            if whole and go_on_with_runs(w, p, written, b.node_top - begun_top, x.n):
                b.runs, whole, loop = 1, False, p.loop_runs
            if n >= 0:
                n = first_list(m, w, p, b, x) if whole else first_runs(m, w, p, b, x)
            if n < 0:
                return n
            begun, begun_top, limit = b.last, b.node_top, b.node_top + JOINED
            continue
        # 3. There is no room for nodes, the step can only be derived arc by arc, or all rows are taken.
        elif code < 0 or record >= high:
            status = NEED_NODES if code == NO_ROOM else DONE
            break
        # 4. The loop has reached the bound of this turn.
        elif record >= until or record == other:
            continue
        # 5. The row is late, other arcs come into force, the block is full, or the list can't stay.
        else:
            if between_loops(m, w, p, c, record, latest) == LEAVE:
                break
            if taken == left:
                status = NEED_EVENTS if b.event_top >= b.event_cap else NEED_BLOCK
                break
            if x.most > x.n:  # other arcs: the loop goes on with them
                continue
            # A list that stands in w.source or in parts is changed here, by this one event.
            if x.parted or x.most or may_part(m, w, p, x.rows):
                if x.parted == 0:
                    status = join_lists(m, w, b, begun, 0)
                    if status < 0:
                        return status
                begun, begun_top, limit = b.last, b.node_top, b.node_top + JOINED
            status = change_list(m, w, p, c, b, record)
            if status == STAYS:
                append_steps(m, b, 1, b.node_top)
                record, latest = record + 1, b.le[b.steps - 1]
                continue
        # A step was made outside the loop, of which status says how many nodes it has: its list is the loop's next one.
        if status < 0:
            break
        record, latest = record + 1, b.le[b.steps]
        if x.parted == 0:
            x.src, x.n = m.m_at + 8 * (nodes + b.node_top * s), status
            if not whole:
                summarize_nodes(m, w, p, x, nodes + b.node_top * s, status, latest)
        append_steps(m, b, 1, b.node_top + status)
    # Join what is left.
    if x.parted and status >= 0:
        keep_parts(w, b)
    elif runs and x.parted == 0:
        n = join_lists(m, w, b, begun, n if whole else 0)
        if n < 0:
            return n
    if m.ordered:
        write_sequence(m, b, first)
    return count_taken(m, b.steps - first, latest, record, DONE if status == ASK else status)


@kernel
def next_gap(m: Memory, c: TableWords, record: int, high: int, number: int) -> Any:
    """Return the first row from ``record`` on whose number is not one more than that of the event before; and that number.

    ``number``: that of the event before ``record``.
    """
    at, kinds = c.payload[2 * m.seq], c.kind
    while record < high:
        row = row_of(c, record)
        if kinds == 0 or peek_byte(kinds + row) == EVENT:
            if number == FOREVER or peek(at + 8 * row) != number + 1:
                break
            number += 1
        record += 1
    return record, number


@kernel
def first_list(m: Memory, w: Scratch, p: Program, b: Block, x: Loop) -> int:
    """Give the loop for whole lists the list of the block's last step. Returns how many rows it has, or NEED_ROWS."""
    place, source = b.last - 1, Slice(0)
    x.most = FOREVER
    if p.ignorable and place >= b.first:
        n = load_list(m, w, b, place, w.source)
        x.src, x.n = m.w_at + 8 * w.source, max(n, 0)
        return n
    if place >= b.first:
        source = b.nodes_of[b.order[place]]
    x.src = m.m_at + 8 * (b + b.nodes + source.first * (NodeRow.register + m.register_words))
    x.n = source.count
    return source.count


@kernel
def first_runs(m: Memory, w: Scratch, p: Program, b: Block, x: Loop) -> int:
    """Read the list of the block's last step into w.source, and give its summary to the loop for runs.

    Returns how many rows it has, or NEED_ROWS. It stays there until an event changes it.
    """
    place = b.last - 1
    n = load_list(m, w, b, place, w.source) if place >= b.first else 0
    if n < 0:
        return n
    x.wanted = summarize(m, w, p, b, n)
    x.lowest, x.highest, x.reach = w.low, w.high, w.reach
    x.open = 1
    x.most = x.n = x.parted = 0
    x.rows = n
    return n


@kernel
def change_list(m: Memory, w: Scratch, p: Program, c: Any, b: Block, record: int) -> int:
    """Make the step of a row whose list before it the loop may not change: it stands in w.source or in parts.

    Returns as `first_step`, or a status of `take_in_parts`.
    """
    x, i, place, event, top = Loop(w.loop), b.steps, b.last, b.event_top, b.node_top
    parted = x.parted
    if parted == 0 and x.most == 0 and not may_part(m, w, p, x.rows):
        return first_step(m, w, p, c, b, i, place, event, top, x.rows, record)
    # In parts, if that is worth it and the event fits; else from w.source.
    status = DONE
    if parted and not is_worth_it(w):
        status = UNFIT
    elif parted == 0:
        status = read_parts(m, w, b, place)
    if status >= 0:
        x.most, x.parted = 0, 1
        status = take_in_parts(m, w, p, b, i, place, event, put_event(m, c, b, event, row_of(c, record)), top)
    if status != UNFIT:
        return status
    give_up(w)
    status = first_runs(m, w, p, b, x)
    if status < 0:
        return status
    return first_step(m, w, p, c, b, i, place, event, top, x.rows, record)


@kernel
def summarize_nodes(m: Memory, w: Scratch, p: Program, x: Loop, rows: int, n: int, le: int) -> None:
    """Give the loop for runs the summary of its list: the ``n`` nodes of a step at ``le``."""
    s, states, low, high = NodeRow.register + m.register_words, 0, FOREVER, BEGINNING
    for k in range(n):
        row = NodeRow(rows + k * s)
        state = row.state
        states |= -1 if state >= STATES or p[p.now + state] else 1 << state
        low, high = min(low, row.until), max(high, row.until)
    x.wanted, x.lowest, x.highest, x.reach = states | 1 << STATES, low, high, le
    x.open = 0
    x.most = FOREVER


@kernel
def write_sequence(m: Memory, b: Block, first: int) -> None:
    """Write the sequence words of the steps from ``first`` on, each with one event: the loops leave them out."""
    width = EventRow.payload + m.payload_words
    events = b + b.events + EventRow.payload + m.seq
    for i in range(first, b.steps):
        b.seq[i] = m[events + b.events_of[i].first * width]


@kernel
def count_taken(m: Memory, n: int, latest: int, record: int, status: int) -> int:
    """Note that ``n`` events were taken, the last of them at ``latest``. Returns the next record, or a status.

    If the block is full after some events, m.short says so: the rest is for another key task, in a larger block.
    """
    m.changes += n
    if n:
        m.now = max(m.now, latest + 1)
    m.short = n > 0 and (status == NEED_BLOCK or status <= NEED_EVENTS)
    return status if status < 0 and m.short == 0 else record
