"""Rows in order through an automaton: one loop, for the rows that need nothing else of what `forward` does.

    row       6          8               9                  10
    event     written    written         written            written
    list      [p]        stays: no node  [p1 b]: new nodes  two equal rows: LOOP_LOOK, its step is not written
    matches   -          -               of rows in states that are final, if no two can be the same

With RUNS, a row that leaves the list as it is becomes a step without nodes: the nodes of the list before stand on, OPEN. Without,
each row is a step with a list of its own.

The names in capitals and the functions without a body are *holes*: `afa.compiled.linked_loop` fills them with the code of one
automaton, which LLVM inlines.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel, peek, poke, prefetch

EVENT_WORDS = ROW_WORDS = WIDTH = PAYLOAD = 0
"""Words of an event, of a row of a list, of a register, of a payload."""
RUNS = BYTES = UNASKED = 0
"""Whether rows may stay; which words of a payload come from bytes; the states, as bits, of which `unchanged_ir` never tells."""
AHEAD = 12
"""So many rows before a row is taken its memory is asked for, where rows stand far apart."""
STAYED = 32
"""From this bit on `step` counts the rows that have stayed."""


def write_event(x: int, event: int, row: int, re: int, asked: int) -> int:
    """Hole: write row ``row`` of the columns as the event at an address. Returns what `unchanged_ir` tells of it, if ``asked``."""
    raise NotImplementedError


def step(words: int, re: int, le: int, src: int, n: int, begin: int, out: int, last: int, slots: int) -> int:
    """Hole: `step_ir` of `afa.compiled.code.step_function`, with its room up to ``last``; from bit STAYED on, rows that stay."""
    raise NotImplementedError


@kernel
def loop(w: Any, x: Loop, here: int) -> int:
    """Take rows from ``record`` on; ``here``: the address of ``x``. The block has room for their events and steps.

    Returns LOOP_STOP at a row that is late, at which other arcs are in force, or at the limit; LOOP_LOOK where a row's list has to
    be looked at, its event and list are written and its step is not; or BY_ARCS, NO_ROOM of `step`. O(rows * list).
    """
    record, high, latest, bound, most = x.record, x.high, x.latest, x.bound, x.most
    le_at, re_at, re_mask, le_mask = x.le_at, x.re_at, x.re_mask, x.le_mask
    index_at, index_mask, plain_mask, ahead = x.index_at, x.index_mask, x.plain_mask, x.ahead
    begin, slots, now, last, budget = x.begin, x.slots, x.now, x.last, x.budget
    event, out, top, src, n = x.event, x.out, x.top, x.src, x.n
    wanted, lowest, highest, reach, opened = x.wanted, x.lowest, x.highest, x.reach, x.open
    steps, slices, cap = x.step - record, x.slice - (record << 24), 8 * x.cap
    orders, times = x.order - 8 * record, x.times - 8 * record
    status, count = LOOP_STOP, 0
    while record < high:
        # The row's times; it is not for the loop if it is late, or past the next change of arcs.
        row = peek(index_at + 8 * (record & index_mask)) + (record & plain_mask)
        if ahead:
            ask_ahead(w, x, min(record + AHEAD, high - 1))
        le = peek(le_at + 8 * row)
        if le <= latest or le >= bound:
            break
        re = peek(re_at + 8 * (row & re_mask)) + (le & le_mask)
        # Does the event alone tell that each row stays, and nothing begins?
        stays = RUNS and wanted & UNASKED == 0 and le < lowest and re >= highest
        unchanged = write_event(here, event, row, re, stays)
        words = event + 8 * EventRow.payload
        nodes, found, back = 0, 0, le
        if stays and unchanged & wanted == wanted:
            if opened == 0:
                set_ends(src, n, OPEN)
            opened, back = 1, min(le, reach)
        else:
            if RUNS and n >= most:
                break
            # The list that the event makes of the one before, behind the nodes that are there.
            poke(begin + 8 * NodeRow.start, le)
            made = step(words, re, le, src, n, begin, out, last, slots)
            if made < 0:
                status = made
                break
            count = made & (1 << STAYED) - 1
            if RUNS and count == n and made >> STAYED == n and wanted != -1:
                # All rows have stayed, as their registers tell: the nodes before stand on, those just written are left behind.
                if opened == 0:
                    set_ends(src, n, OPEN)
                opened, back = 1, min(le, reach)
            else:
                if RUNS and opened:
                    set_ends(src, n, le)
                if count > budget:
                    status = LOOP_LOOK
                    break
                finals, states, low, high_m, k = 0, 0, FOREVER, BEGINNING, 0
                while k < count and not repeats(out, k):
                    at = out + 8 * k * ROW_WORDS
                    state = peek(at + 8 * NodeRow.state)
                    finals += peek(now + 8 * state) != 0
                    if RUNS:
                        until = peek(at + 8 * NodeRow.until)
                        states |= 1 << state if state < STATES else -1
                        low, high_m = min(low, until), max(high_m, until)
                    k += 1
                if k < count or (finals and not accept(w, x, out, count, finals, le, now)):
                    status = LOOP_LOOK
                    break
                nodes, found = top << 24 | count, (x.mtop - finals) << 24 | finals if finals else 0
                src, n, out, top = out, count, out + 8 * count * ROW_WORDS, top + count
                # Where one is in a final state each step has its own list: it stands for a match again.
                wanted, lowest, highest, reach, opened = -1 if finals else states | 1 << STATES, low, high_m, le, 0
        # INVARIANT: a step is written after its event, its nodes and its matches, of which it holds slices.
        at = times + 8 * record
        poke(orders + 8 * record, steps + record)
        poke(at, le)
        poke(at + (Block.events_of - Block.le) * cap, slices + (record << 24))
        poke(at + (Block.nodes_of - Block.le) * cap, nodes)
        poke(at + (Block.matches_of - Block.le) * cap, found)
        poke(at + (Block.reach - Block.le) * cap, back)
        event, latest, record = event + 8 * EVENT_WORDS, le, record + 1
    x.record, x.out, x.top, x.src, x.n, x.made = record, out, top, src, n, count
    if RUNS:
        x.wanted, x.lowest, x.highest, x.reach, x.open = wanted, lowest, highest, reach, opened
    return status


@kernel
def ask_ahead(w: Any, x: Loop, record: int) -> None:
    """Ask for the memory of a row that comes soon: rows stand far apart."""
    row = peek(x.index_at + 8 * record)
    prefetch(x.le_at + 8 * row)
    for j in range(PAYLOAD):
        prefetch(x.payload[j] + (row if BYTES >> j & 1 else 8 * row))


@kernel
def set_ends(src: int, n: int, end: int) -> None:
    """Let all nodes of a list have this end. They are the loop's own, so no undo log has them."""
    for k in range(n):
        poke(src + 8 * (k * ROW_WORDS + NodeRow.end), end)


@kernel
def repeats(out: int, k: int) -> bool:
    """Return whether row ``k`` of a list is the same partial match as one before it: those of one start stand side by side."""
    row = out + 8 * k * ROW_WORDS
    other = row - 8 * ROW_WORDS
    while other >= out and peek(other + 8 * NodeRow.start) == peek(row + 8 * NodeRow.start):
        if peek(other + 8 * NodeRow.state) == peek(row + 8 * NodeRow.state) and same_but_start(other, row):
            return True
        other -= 8 * ROW_WORDS
    return False


@kernel
def same_but_start(row: int, other: int) -> bool:
    """Return whether two rows of one start and state are the same."""
    if peek(row + 8 * NodeRow.until) != peek(other + 8 * NodeRow.until):
        return False
    for j in range(WIDTH):
        if peek(row + 8 * (NodeRow.register + j)) != peek(other + 8 * (NodeRow.register + j)):
            return False
    return True


@kernel
def accept(w: Any, x: Loop, out: int, count: int, finals: int, le: int, now: int) -> bool:
    """Write the matches of a list, and their entries of the output log.

    Returns False where they have to be looked at: there is no room, what matches there are is final, or lifetimes do not end in the
    order in which they began, so that two matches may be the same.
    """
    match, log = x.match, x.log
    match_end, log_end = match + 8 * finals * (MatchRow.register + WIDTH), log + 8 * finals * (LogRow.register + WIDTH)
    if match_end > x.match_last or log_end > x.log_last or le < x.final:
        return False
    past = le
    for k in range(count):
        row = out + 8 * k * ROW_WORDS
        if peek(now + 8 * peek(row + 8 * NodeRow.state)):
            re = peek(row + 8 * NodeRow.until)
            if re <= past:
                return False
            past = re
            poke(log + 8 * LogRow.key, x.key)
            poke(log + 8 * LogRow.sign, 1)
            poke(log + 8 * LogRow.t, le)
            poke(log + 8 * LogRow.re, re)
            poke(match + 8 * MatchRow.t, le)
            poke(match + 8 * MatchRow.re, re)
            for j in range(WIDTH):
                word = peek(row + 8 * (NodeRow.register + j))
                poke(log + 8 * (LogRow.register + j), word)
                poke(match + 8 * (MatchRow.register + j), word)
            log, match = log + 8 * (LogRow.register + WIDTH), match + 8 * (MatchRow.register + WIDTH)
    # INVARIANT: what is written counts from here on only: a list that is refused above leaves no match.
    x.mtop += finals
    x.match, x.log = match, log
    return True
