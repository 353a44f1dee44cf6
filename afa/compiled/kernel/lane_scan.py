"""History through an automaton that chooses among its matches (AFTER MATCH SKIP): rows of one key after another, `lane_loop`.

    rows      1    2       3          4            5           the list: threads of all attempts, the preferred one first
    list      a1   b1 a2   b1 b2      b1 b2                    each (state, register) once: of b1 and b2 the first
    match          -       1 to 3: what is preferred less      an end cuts off all behind it, and no attempt begins;
                           goes, b1 goes on        1 to 4      it is shown once what is before it is over

So the list is empty behind a match, and the scan goes on where AFTER MATCH SKIP says; where that is within the match, with one
attempt alone, as it mostly ends a match, too: the others would be begun in vain. A thread stands for one of a later attempt
that it has left out; where its lifetime ends, as that of the other would not, the scan tries the next row instead. What a match
shows is in the registers of threads, which `afa.compiled.lane_choice` makes of those of the automaton and of its measures.

The names in capitals, `step` and `write_event` are *holes*: `afa.compiled.linked_loop` fills them.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.lane_loop import MORE, begin_lane, end_lane
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel, peek, poke
from afa.compiled.kernel.row_loop import step, write_event

ROW_WORDS = SHOWN = OWN = BEHIND = 0
"""Words of a row of a list; of its register: how many a match shows, the first one of the automaton's own, the one behind these."""
LANDS = 0
"""Where a scan goes on: SCAN_PAST, SCAN_NEXT; else so many rows before the last one as BEHIND says, if not < 0."""
EACH, OWNED, SHORT = 64, 320, 1 << 12
"""How many threads a row may look at, on average, until a lane is left to the operator: where they have no register, or one, which
the operator has to tell apart; how many a lane may look at before."""
NEAR = 4
"""A thread with a register is compared with so many before it: to leave out one that is there saves time and no more."""


@kernel
def chosen(w: Any, x: Lane, here: int) -> int:
    """Take lanes up to ``x.end``. As `afa.compiled.kernel.lane_loop.lanes`."""
    while x.lane < x.end:
        begin_lane(w, x)
        status = scan(w, x, here)
        if status == MORE:
            return MORE
        end_lane(w, x, status)
    return 0


@kernel
def scan(w: Any, x: Lane, here: int) -> int:
    """Take the rows of one lane, from where it was left. Returns its status, or MORE. O(rows * list)."""
    end = peek(x.bounds + 8 * (x.lane * LaneBounds.SIZE + LaneBounds.end))
    le_at, le_mask, within = x.le_at, x.le_mask, x.constant_re
    index_at, index_mask, plain_mask = x.index_at, x.index_mask, x.plain_mask
    seq_at, seq_mask = x.seq_at, x.seq_mask
    begin, slots, now, event = x.begin, x.slots, x.now, x.event
    words, size = event + 8 * EventRow.payload, 8 * (LogRow.register + SHOWN)
    row, src, out, n = x.row, x.left, x.right, 0
    each = EACH if OWN == BEHIND else OWNED
    stop, looks = row + x.stop, SHORT - each * row
    found, start, lands, merged, alone = NOWHERE, 0, NOWHERE, 0, 0
    while True:
        if n == 0 and found == NOWHERE:
            if row >= end:
                return LANE_DONE
            if row >= stop or (x.write and x.out + size > x.out_end):
                x.stop, x.row = max(stop - row, 0), row
                return MORE
            merged = 0
        if looks + each * row < 0:
            return LANE_LONG
        place = peek(index_at + 8 * (row & index_mask)) + (row & plain_mask)
        le = peek(le_at + 8 * place)
        if row + 1 < end:
            after = peek(index_at + 8 * (row + 1 & index_mask)) + (row + 1 & plain_mask)
            if peek(le_at + 8 * after) == le and peek(seq_at + 8 * (after & seq_mask)) == peek(seq_at + 8 * (place & seq_mask)):
                return LANE_ASKS
        if merged:
            lost = left_out(src, n, le)
            if lost != NOWHERE and (found == NOWHERE or lost < start):
                row, n, found = lost + 1, 0, NOWHERE
                continue
        # What the row makes of each thread, and of the attempt that begins with it.
        re = within + (le & le_mask)
        write_event(here, event, place, re, 0)
        poke(begin + 8 * NodeRow.start, row << 1)
        poke(begin + 8 * NodeRow.until, FOREVER if found == NOWHERE and (alone == 0 or n == 0) else BEGINNING)
        made = step(words, re, le, src, n, begin, out, out + 8 * x.room, slots)
        if made < 0:
            return LANE_ASKS if made == BY_ARCS else LANE_LONG
        count = 0
        for k in range(made):
            at = out + 8 * k * ROW_WORDS
            of = peek(now + 8 * peek(at + 8 * NodeRow.state))
            if of < 0:
                found, start = row, peek(at + 8 * NodeRow.start) >> 1
                if LANDS > SCAN_NEXT:
                    lands = peek(at + 8 * (NodeRow.register + BEHIND))
                if x.write:
                    write_match(w, x, at, le)
                break
            other = same_thread(out, count, at, now, of)
            if other == 0:
                if count < k:
                    for j in range(ROW_WORDS):
                        poke(out + 8 * (count * ROW_WORDS + j), peek(at + 8 * j))
                count += 1
            elif peek(other + 8 * NodeRow.start) != peek(at + 8 * NodeRow.start):
                poke(other + 8 * NodeRow.start, peek(other + 8 * NodeRow.start) | 1)
                merged = 1
            looks -= count >> 2 if OWN == BEHIND else 1
        looks -= 4 + n + made
        src, out, n, row = out, src, count, row + 1
        if row == end:
            n = 0
        if n == 0 and found == NOWHERE and alone:
            row, alone = start + 1, 0
        elif n == 0 and found != NOWHERE:
            x.matches += 1
            x.out += size if x.write else 0
            x.tied = x.tied | (LANDS != SCAN_PAST)
            row = found + 1
            if LANDS != SCAN_PAST:
                row = found - lands if LANDS > SCAN_NEXT and lands >= 0 else start
                row += row == start
                start, alone = row, 1
            found = NOWHERE


@kernel
def left_out(src: int, n: int, le: int) -> int:
    """Return the row with which the first thread begins whose lifetime has ended before ``le``, and that stands for others.

    NOWHERE: there is none.
    """
    k = 0
    while k < n and peek(src + 8 * (k * ROW_WORDS + NodeRow.until)) <= le:
        begun = peek(src + 8 * (k * ROW_WORDS + NodeRow.start))
        if begun & 1:
            return begun >> 1
        k += 1
    return NOWHERE


@kernel
def same_thread(out: int, count: int, at: int, now: int, of: int) -> int:
    """Return the address of a row of a list that is the same thread as the one at an address, whose state is ``of``; 0: none is."""
    for k in range(0 if OWN == BEHIND else max(count - NEAR, 0), count):
        other = out + 8 * k * ROW_WORDS
        if peek(now + 8 * peek(other + 8 * NodeRow.state)) == of:
            j = OWN
            while j < BEHIND and peek(other + 8 * (NodeRow.register + j)) == peek(at + 8 * (NodeRow.register + j)):
                j += 1
            if j == BEHIND:
                return other
    return 0


@kernel
def write_match(w: Any, x: Lane, at: int, le: int) -> None:
    """Write the match of the thread at an address where the next one goes; it counts once the scan goes on behind it."""
    entry = x.out
    poke(entry + 8 * LogRow.key, x.lane)
    poke(entry + 8 * LogRow.sign, 1)
    poke(entry + 8 * LogRow.t, le)
    poke(entry + 8 * LogRow.re, peek(at + 8 * NodeRow.until))
    for j in range(SHOWN):
        poke(entry + 8 * (LogRow.register + j), peek(at + 8 * (NodeRow.register + j)))
