"""Events in order, the common case: each is appended and derived at once, nothing is marked and nothing looked up.

    columns   LE  20  21  22  23  ..        order  [ .. 7 | 8   9  10 ->
    of the        |   |   |                 le     [ .. 19| 20  21 22 ->        Block.last, Block.steps and the tops move on
    batch         v   v   v                 events [ ..   | e8 e9 e10 ->
                                            nodes  [ .. list of 7 | list of 8 | list of 9 | ->      each derived from the one before

    with runs     LE        20        21        22        23
                  events    e         ignored   ignored   f
                  nodes     p, q      -         -         p', s      a list that stays costs a step and no node; 23 ends all runs:
                  end       23  23                        ALONE      its list is written anew, one slice of nodes

The same as `append` and `propagate` one after the other. Most rows are done in the automaton's own loop (`row_loop`),
of which there is one for whole lists and one for runs; here is what they leave: punctuations, changes of arcs, matches of which
two may be the same. Where blocks keep runs, what the loops write is joined (`afa.compiled.kernel.join`).

The runs that a block has at the beginning may be nodes of several steps. They are read into w.source and can only stay (Loop.most
0); the first event that changes them (`first_step`) writes a list of one slice, with which the loop goes on. A list of many rows
stands in parts (`afa.compiled.kernel.parts`), and in the loop it can only stay, too.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.buffers import load_list
from afa.compiled.kernel.join import join_lists
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import call1, kernel, peek, peek_byte
from afa.compiled.kernel.one_step import ASK, STAYS, finish_step, first_step, put_event, row_of
from afa.compiled.kernel.other_rows import first_other, row_of_other, take_others
from afa.compiled.kernel.parts import UNFIT, give_up, is_worth_it, may_part, read_parts, take_in_parts
from afa.compiled.kernel.propagate_runs import summarize

LEAVE, READY = 0, 1
SHORT = 1 << 10
"""Lists of fewer rows stay as they are written where the call drops them itself."""
JOINED = 1 << 12
"""After so many nodes lists are joined: what was written of them is in the cache still."""
APART = 16
"""So many rows apart, rows stand in lines of cache that nothing fetches by itself."""


@kernel
def may_go_forward(m: Memory, p: Program, b: Block) -> bool:
    """Return whether `forward` serves this program and this block."""
    loop = loop_of(m, p, b)
    return bool(p.step != 0 and loop != 0 and p.timeout == 0 and p.counted < BY_TIMEOUTS and b.pending_top == 0)


@kernel
def loop_of(m: Memory, p: Program, b: Block) -> int:
    """Return the address of the loop for this block: where most events change most of a list, the one for whole lists is faster."""
    return int(p.loop_runs if m.runs and b.runs else p.loop)


@kernel
def set_columns(m: Memory, w: Scratch, p: Program, c: TableWords, b: Block) -> int:
    """Tell the loop where it reads and writes, as far as that stays. Returns where its words are."""
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
    return int(x)


@kernel
def set_position(
    m: Memory, w: Scratch, b: Block, record: int, high: int, i: int, place: int, top: int, latest: int, bound: int
) -> int:
    """Tell the loop at which step, place and event it begins. Returns how many rows the block has room for."""
    x, base, cap = Loop(w.loop), m.m_at, b.cap
    left = min(cap - place, cap - i, b.event_cap - top)
    x.record, x.high, x.room = record, min(high, record + left), record + left
    x.latest = max(latest, m.events - 1) if m.events > BEGINNING else latest
    x.bound = bound
    x.order, x.times = base + 8 * (b.order + place), base + 8 * (b.le + i)
    x.step, x.slice = i, Slice(top, 1)
    x.mtop = b.match_top
    x.match = base + 8 * (b + b.matches + b.match_top * (MatchRow.register + m.register_words))
    x.log = m.w_at + 8 * (w.log + w.log_top * (LogRow.register + m.register_words))
    x.event = base + 8 * (b + b.events + top * (EventRow.payload + m.payload_words))
    return int(left)


@kernel
def between_loops(m: Memory, w: Scratch, p: Program, c: TableWords, record: int, latest: int) -> int:
    """Return READY for an event that the loop may take, LEAVE for one that must go another way."""
    record = row_of(c, record)
    le, change = peek(c.le + 8 * record), w.loop + Loop.change
    if le <= latest or le < m.events:
        return LEAVE
    if le >= w[change]:
        seek(p, le)
        w[change] = p.high
        if p.spill:
            return LEAVE
    return READY


@kernel
def forward(m: Memory, w: Scratch, p: Program, c: TableWords, b: Block, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` one by one.

    Returns the first row that must go another way, or a status. *Requires* `may_go_forward`.
    """
    order, nodes = b.order, b + b.nodes
    times, s, runs = b.le, NodeRow.register + m.register_words, m.runs
    i, place, event_top, top = b.steps, b.last, b.event_top, b.node_top
    first, loop, whole = i, loop_of(m, p, b), runs == 0 or b.runs == 0
    begun, begun_top, limit = place, top, top + JOINED  # from where on lists are not joined, and when they are to be
    x = Loop(set_columns(m, w, p, c, b))
    w.own, x.parted = top, 0
    far = row_of(c, high - 1) - row_of(c, low) >= APART * (high - low)
    x.ahead = FAR if far else MIXED if c.index != 0 and m.keyed == 0 else 0
    NodeRow(p, p.begin).until = FOREVER
    latest = times[order[place - 1]] if place > b.first else BEGINNING
    n = first_list(m, w, b, x) if whole else first_runs(m, w, p, b, x)
    if n < 0:
        return n
    record, status, others = low, DONE, first_other(c, low)
    other = row_of_other(c, others)
    until = low if m.gapless else high  # numbers are adjacent up to this row
    number = b.seq[order[place - 1]] if place > b.first else 0
    while record < high:
        if record == other:
            after = take_others(m, w, p, c, others, high, latest)
            record, other = record + after - others, row_of_other(c, after)
            others = after
            if record == other:
                break
            continue
        if record >= until:
            until, number = next_gap(m, c, record, high, number)
            if until == record:  # the next event is not of the next number: nothing goes on to it
                row = row_of(c, record)
                here = peek(c.payload[2 * m.seq] + 8 * row)
                if place > b.first:
                    if here <= number:
                        break
                    b.gap = min(b.gap, peek(c.le + 8 * row))
                x.n = 0
                until, number = next_gap(m, c, record + 1, high, here)
        bound = x.change
        if x.most == 0:
            bound = bound if x.parted else min(bound, w.soonest)
        else:
            x.most = w.many if not whole and may_part(m, w, p, FOREVER) else FOREVER
        left = set_position(m, w, b, record, min(until, other), i, place, event_top, latest, bound)
        x.out, x.top = m.m_at + 8 * (nodes + top * s), top
        if runs:
            x.last = m.m_at + 8 * (nodes + min(limit, b.node_cap) * s)
        code = call1(loop, m.w_at + 8 * x)
        taken = x.record - record
        w.wait = max(w.wait - taken, 0)
        w.log_top += x.mtop - b.match_top
        b.match_top = x.mtop
        if taken > 0:
            i, place, event_top, record, top = i + taken, place + taken, event_top + taken, record + taken, x.top
            latest = times[i - 1]
        if code == LOOP_LOOK:
            le = peek(c.le + 8 * row_of(c, record))
            status = finish_step(m, w, p, b, i, place, event_top, le, top, x.made)
        elif code == -2 and runs and limit < b.node_cap:
            if top == begun_top or (latest < m.then and x.n < SHORT):  # one list is as long, or all goes soon
                limit = b.node_cap
                continue
            written, top = top - begun_top, join_lists(m, w, b, begun, place, top, n if whole else 0)
            b.steps, b.last, b.event_top, b.node_top = i, place, event_top, top
            if whole and p.loop_runs and (2 * (top - begun_top) < written or x.n >= w.many):
                b.runs, whole, loop = 1, False, p.loop_runs
            n = top
            if n >= 0:
                n = first_list(m, w, b, x) if whole else first_runs(m, w, p, b, x)
            if n < 0:
                return n
            begun, begun_top, limit = place, top, top + JOINED
            continue
        elif code < 0 or record >= high:
            status = NEED_NODES if code == -2 else DONE
            break
        elif record >= until or record == other:
            continue
        else:
            found = between_loops(m, w, p, c, record, latest)
            if found == LEAVE:
                break
            if taken == left:
                status = NEED_EVENTS if event_top >= b.event_cap else NEED_BLOCK
                break
            if x.most > x.n:  # other arcs
                continue
            if x.parted or x.most or may_part(m, w, p, x.rows):
                if x.parted == 0:
                    top = join_lists(m, w, b, begun, place, top, 0)
                    if top < 0:
                        return top
                begun, begun_top, limit = place, top, top + JOINED
            b.steps, b.last, b.event_top, b.node_top = i, place, event_top, top
            status = change_list(m, w, p, c, b, record)
            if status == STAYS:
                latest = times[i]
                i, place, event_top, record = i + 1, place + 1, event_top + 1, record + 1
                continue
        if status < 0:
            break
        latest = times[i]
        if x.parted == 0:
            x.src, x.n = m.m_at + 8 * (nodes + top * s), status
            if not whole:
                summarize_nodes(m, w, p, x, nodes + top * s, status, latest)
        i, place, event_top, record, top = i + 1, place + 1, event_top + 1, record + 1, top + status
    if runs and x.parted == 0:
        top = join_lists(m, w, b, begun, place, top, n if whole else 0)
        if top < 0:
            return top
    b.steps, b.last, b.event_top, b.node_top = i, place, event_top, top
    if m.ordered:
        write_sequence(m, b, first, i)
    return count_taken(m, i - first, latest, record, DONE if status == ASK else status)


@kernel
def next_gap(m: Memory, c: TableWords, record: int, high: int, number: int) -> Any:
    """Return the first event from row ``record`` on whose number is not adjacent to that of the event before it, and the latter.

    ``number``: of the event before ``record``.
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
def first_list(m: Memory, w: Scratch, b: Block, x: Loop) -> int:
    """Tell the loop for whole lists the list of the block's last step. Returns how many rows it has, or NEED_ROWS."""
    place, source = b.last - 1, Slice(0)
    x.most = FOREVER
    if m.runs and place >= b.first:
        n = load_list(m, w, b, place, w.source)
        x.src, x.n = m.w_at + 8 * w.source, max(n, 0)
        return n
    if place >= b.first:
        source = b.nodes_of[b.order[place]]
    x.src = m.m_at + 8 * (b + b.nodes + source.first * (NodeRow.register + m.register_words))
    x.n = source.count
    return int(source.count)


@kernel
def first_runs(m: Memory, w: Scratch, p: Program, b: Block, x: Loop) -> int:
    """Read the list of the block's last step into w.source, and tell the loop for runs what it must know of it.

    Returns how many rows it has, or NEED_ROWS. It stays there until an event changes it.
    """
    place = b.last - 1
    n = load_list(m, w, b, place, w.source) if place >= b.first else 0
    if n < 0:
        return n
    states = summarize(m, w, p, b, n)
    x.wanted = -1 if states == BUSY else states | 1 << STATES
    x.lowest, x.highest, x.reach = w.low, w.high, w.reach
    x.open = 1
    x.most = x.n = x.parted = 0
    x.rows = n
    return n


@kernel
def change_list(m: Memory, w: Scratch, p: Program, c: Any, b: Block, record: int) -> int:
    """Make the step of a row that the loop leaves, as the list before it is too long or none of its own.

    Returns as `first_step`, or a status of `take_in_parts`.
    """
    x, i, place, event, top = Loop(w.loop), b.steps, b.last, b.event_top, b.node_top
    parted = x.parted
    if parted == 0 and x.most == 0 and not may_part(m, w, p, x.rows):
        return int(first_step(m, w, p, c, b, i, place, event, top, x.rows, record))
    status = DONE
    if parted and not is_worth_it(w):
        status = UNFIT
    elif parted == 0:
        status = read_parts(m, w, b, place)
    if status >= 0:
        x.most, x.parted = 0, 1
        status = take_in_parts(m, w, p, b, i, place, event, put_event(m, w, c, b, event, record), top)
    if status != UNFIT:
        return int(status)
    give_up(w)
    status = first_runs(m, w, p, b, x)
    if status < 0:
        return int(status)
    return int(first_step(m, w, p, c, b, i, place, event, top, x.rows, record))


@kernel
def summarize_nodes(m: Memory, w: Scratch, p: Program, x: Loop, rows: int, n: int, le: int) -> None:
    """Tell the loop for runs when the ``n`` nodes of a step at ``le``, its list from now on, stay as they are."""
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
def write_sequence(m: Memory, b: Block, first: int, end: int) -> None:
    """Write the sequence's words of steps ``first`` to ``end``, which have one event each: the loops leave them out."""
    width = EventRow.payload + m.payload_words
    seqs, slices, events = b.seq, b.events_of, b + b.events + EventRow.payload + m.seq
    for i in range(first, end):
        seqs[i] = m[events + Slice(slices[i]).first * width]


@kernel
def count_taken(m: Memory, n: int, latest: int, record: int, status: int) -> int:
    """Note that ``n`` events were taken, the last of them at ``latest``. Returns the record that comes next, or a status.

    A block that is full after some events has done them: m.short; the rest is for another unit, in a larger one.
    """
    m.changes += n
    if n:
        m.now = max(m.now, latest + 1)
    m.short = n > 0 and (status == NEED_BLOCK or status <= NEED_EVENTS)
    return int(status if status < 0 and m.short == 0 else record)
