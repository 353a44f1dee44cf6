"""History through an automaton: the rows of one key after another, all of them known, none of them to be revised.

    lane   rows of one key by time     7  9  9  12
    step   rows of one LE (and rank)   the list before --> `step` of each row --> the list, by the starts of its partial matches
    match  rows in final states        counted, or written as entries of the output log

It is Algorithm 1 as `afa.compiled.kernel.row_loop` has it, over two lists in turn in place of a block: there are no steps to go
back to, no undo, no promises. A lane in which an arc asks Python, or whose lists are long, is left to the operator, as a whole.

The names in capitals, `step` and `write_event` are *holes*: `afa.compiled.linked_loop` fills them.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import call4, kernel, peek, poke
from afa.compiled.kernel.row_loop import STAYED, repeats, step, write_event

ROW_WORDS = WIDTH = SHOWN = 0
"""Words of a row of a list, of a register; how many of these a match shows."""
RUNS = UNASKED = 0
"""Whether rows may stay; the states, as bits, of which `write_event` never tells."""
WAITS = 0
"""Whether there are time-outs; their matches come at once, or behind an epsilon arc, and nothing goes on from there."""
SKIPS = 0
"""1: rows may stay by skips, which pass all events of a step or none; 2: also by others, or taking note: then steps of several
events are left to the operator."""
LONGEST = 0
"""Whether of the partial matches of one state and register only the one that lasts longest counts."""
MORE = 1
"""That there are more rows to take, in another call."""
ALIKE, SHORT = 256, 1 << 14
"""The most matches of a step out of the order of their ends; how many rows of lists a lane may look at at first."""
ASKED = 6
"""From so many rows of a list on the event is asked first whether it lets all of them stay: fewer are looked at sooner."""
EACH = 64
"""How many rows of lists a row may look at, on average, until a lane is left to the operator, which takes long lists in parts."""
LONGEST_EACH, LONGEST_SHORT = 8, 1 << 9
"""The same, and SHORT, where the longest count."""


@kernel
def lanes(w: Any, x: Lane, here: int) -> int:
    """Take lanes up to ``x.end``. Returns 0; or MORE: there is no room for matches, or ``x.stop`` rows are taken.

    ``here``: the address of ``x``.
    """
    while x.lane < x.end:
        begin_lane(w, x)
        status = take(w, x, here)
        if status == MORE:
            return MORE
        end_lane(w, x, status)
    return 0


@kernel
def begin_lane(w: Any, x: Lane) -> None:
    """Set the words of the lane at work, if it has not begun."""
    if x.row == NOWHERE:
        x.begun, x.matches, x.src, x.n = x.out, 0, x.left, 0
        x.before = BEGINNING
        x.row = peek(x.bounds + 8 * (x.lane * LaneBounds.SIZE + LaneBounds.first))


@kernel
def end_lane(w: Any, x: Lane, status: int) -> None:
    """Tell what has become of the lane at work, and go on to the next one."""
    if status != LANE_DONE:
        x.out = x.begun
    poke(x.status + 8 * x.lane, status)
    poke(x.counts + 8 * x.lane, x.matches)
    x.lane, x.row = x.lane + 1, NOWHERE


@kernel
def take(w: Any, x: Lane, here: int) -> int:
    """Take the rows of one lane, from where it was left. Returns its status, or MORE. O(rows * list)."""
    bounds = x.bounds + 8 * x.lane * LaneBounds.SIZE
    begins, end = peek(bounds + 8 * LaneBounds.begins), peek(bounds + 8 * LaneBounds.end)
    le_at, re_at, re_mask, le_mask = x.le_at, x.re_at, x.re_mask, x.le_mask
    index_at, index_mask, plain_mask = x.index_at, x.index_mask, x.plain_mask
    seq_at, seq_mask = x.seq_at, x.seq_mask
    begin, slots, now, event = x.begin, x.slots, x.now, x.event
    words = event + 8 * EventRow.payload
    row, src, n, stop = x.row, x.src, x.n, x.row + x.stop
    out = x.right if src == x.left else x.left
    wanted, lowest, highest, looks = -1, FOREVER, BEGINNING, SHORT
    poke(begin + 8 * NodeRow.until, FOREVER)
    place = peek(index_at + 8 * (row & index_mask)) + (row & plain_mask) if row < end else 0
    after = peek(le_at + 8 * place) if row < end else 0
    rank = peek(seq_at + 8 * (place & seq_mask))
    while row < end:
        if row >= stop:
            x.stop, x.row, x.src, x.n = 0, row, src, n
            return MORE
        if row >= begins:
            if n == 0:
                break
            poke(begin + 8 * NodeRow.until, BEGINNING)
        if WAITS:
            status = fire(w, x, src, n, x.before + 1, after)
            if status != LANE_DONE:
                x.stop, x.row, x.src, x.n = stop - row, row, src, n
                return status
            x.before = after
        # All rows of one step, each over the list before; most often there is one.
        first, le, seq, count, several, stays, more = row, after, rank, 0, 0, 0, 1
        poke(begin + 8 * NodeRow.start, le)
        while more:
            re = peek(re_at + 8 * (place & re_mask)) + (le & le_mask)
            here_at = place
            row += 1
            if row < end:
                place = peek(index_at + 8 * (row & index_mask)) + (row & plain_mask)
                after, rank = peek(le_at + 8 * place), peek(seq_at + 8 * (place & seq_mask))
            more = row < end and after == le and rank == seq
            alone = several == 0 and more == 0
            asked = RUNS and WAITS == 0 and n >= ASKED and alone and wanted & UNASKED == 0 and le < lowest and re >= highest
            unchanged = write_event(here, event, here_at, re, asked)
            if asked and unchanged & wanted == wanted:
                stays = 1
                break
            room = out + 8 * x.room
            made = step(words, re, le, src, n, begin, out + 8 * count * ROW_WORDS, room, slots)
            if made < 0:
                return LANE_ASKS if made == BY_ARCS else LANE_LONG
            count += made & (1 << STAYED) - 1
            looks += EACH - n
            if looks < 0:
                return LANE_LONG
            if RUNS and WAITS == 0 and alone and wanted != -1 and count == n and made >> STAYED == n:
                stays = 1
            several += 1
        if stays:
            continue
        if SKIPS == 2 and several > 1:
            return LANE_ASKS
        if SKIPS and several > 1:
            count = passed(out, count, several)
        if WAITS:
            status = fire(w, x, out, count, BEGINNING, le)
            if status != LANE_DONE:
                x.stop, x.row, x.src, x.n = stop - first, first, src, n
                return status
        # Each partial match once, by start: of one row they mostly are. What of them is final, and when the list may stay.
        mixed, finals, states, low, high = int(several > 1 or LONGEST), 0, 0, FOREVER, BEGINNING
        while True:
            if mixed:
                count = outlived(w, out, count, several) if LONGEST else settled(out, count)
            finals, states, low, high, last, alike = 0, 0, FOREVER, BEGINNING, FOREVER, 0
            for k in range(count):
                at = out + 8 * k * ROW_WORDS
                start, state = peek(at + 8 * NodeRow.start), peek(at + 8 * NodeRow.state)
                alike, last = alike | (start == last), start
                finals += peek(now + 8 * state) != 0
                if RUNS:
                    until = peek(at + 8 * NodeRow.until)
                    states |= 1 << state if state < STATES else -1
                    low, high = min(low, until), max(high, until)
            if mixed or not alike or not repeated(out, count):
                break
            mixed = 1
        if finals:
            status = told(w, x, out, count, le, now)
            if status == MORE:
                x.stop, x.row, x.src, x.n = stop - first, first, src, n
                return MORE
            if status != LANE_DONE:
                return status
        wanted, lowest, highest = -1 if finals else states | 1 << STATES, low, high
        src, out, n = out, src, count
    x.stop, x.row, x.src, x.n = max(stop - row, 1), row, src, n
    return fire(w, x, src, n, x.before + 1, x.clock) if WAITS else LANE_DONE


@kernel
def fire(w: Any, x: Lane, src: int, n: int, since: int, until: int) -> int:
    """Tell the matches of the time-outs of a list: those of its rows that fall in [since, until].

    With BEGINNING as ``since`` those of new rows, which have come to their states at ``until``, where time-outs before fire, too.
    What is told twice is one match where all are there. Returns LANE_DONE, MORE or LANE_ASKS.
    """
    entry, made, spare = x.out, 0, x.spare
    for k in range(n):
        row = src + 8 * k * ROW_WORDS
        link = peek(x.waits + 8 * peek(row + 8 * NodeRow.state))
        if since == BEGINNING and peek(row + 8 * NodeRow.end) != ALONE:  # a row that has stayed by a skip
            link = 0
        while link != 0:
            register = row + 8 * NodeRow.register
            if call4(peek(link + 8 * LaneWait.code), 0, register, spare, peek(link + 8 * LaneWait.constants)) < 0:
                return LANE_ASKS
            t = peek(spare)
            if since == BEGINNING and t <= until:
                t = until
            taken = int(since <= t and t <= until and t < peek(row + 8 * NodeRow.until))
            then = peek(link + 8 * LaneWait.then)
            if taken and then != 0:
                taken = call4(then, 0, register, spare, peek(link + 8 * LaneWait.then_constants))
                if taken < 0:
                    return LANE_ASKS
                register = spare
            if taken:
                made += 1
                if x.write:
                    if entry + 8 * (LogRow.register + WIDTH) > x.out_end:
                        return MORE
                    write_match(w, x, entry, t, peek(row + 8 * NodeRow.until), register)
                    entry += 8 * (LogRow.register + WIDTH)
            link = peek(link + 8 * LaneWait.next)
    x.out, x.matches = entry, x.matches + made
    return LANE_DONE


@kernel
def repeated(out: int, count: int) -> bool:
    """Return whether two rows of a list are the same partial match."""
    for k in range(count):
        if repeats(out, k):
            return True
    return False


@kernel
def passed(out: int, count: int, several: int) -> int:
    """Leave out the rows that have stayed by a skip of some of the events of a step, not of all. Returns how many are left."""
    n = 0
    for k in range(count):
        mark = peek(out + 8 * (k * ROW_WORDS + NodeRow.end))
        times = 0
        if mark != ALONE:
            for i in range(count):
                times += peek(out + 8 * (i * ROW_WORDS + NodeRow.end)) == mark
        if times == 0 or times == several:
            exchange(out, k, n)
            n += 1
    return n


@kernel
def settled(out: int, count: int) -> int:
    """Bring the rows of a list in the order of their starts, each once. Returns how many they are. O(rows ** 2)."""
    n = 0
    for k in range(count):
        at = n
        exchange(out, k, n)
        while at > 0 and peek(out + 8 * ((at - 1) * ROW_WORDS + NodeRow.start)) > peek(out + 8 * (at * ROW_WORDS + NodeRow.start)):
            exchange(out, at - 1, at)
            at -= 1
        if repeats(out, at):
            while at < n:
                exchange(out, at, at + 1)
                at += 1
        else:
            n += 1
    return n


@kernel
def outlived(w: Any, out: int, count: int, several: int) -> int:
    """Keep of each state and register the row of a list that lasts longest, in no order. Returns how many.

    New rows come first, most of them alike; those that have stayed by a skip of one event differ from each other.
    """
    n = 0
    for stayed in range(2):
        new = n
        for k in range(new, count):
            row = out + 8 * k * ROW_WORDS
            if (peek(row + 8 * NodeRow.end) != ALONE) == stayed:
                i = (new if stayed and several == 1 else n) - 1
                while i >= 0 and not same_thread(w, row, out + 8 * i * ROW_WORDS):
                    i -= 1
                if i < 0:
                    exchange(out, k, n)
                    n += 1
                elif peek(row + 8 * NodeRow.until) > peek(out + 8 * (i * ROW_WORDS + NodeRow.until)):
                    exchange(out, k, i)
    return n


@kernel
def same_thread(w: Any, row: int, other: int) -> bool:
    """Return whether two rows have one state and register."""
    if peek(row + 8 * NodeRow.state) != peek(other + 8 * NodeRow.state):
        return False
    for j in range(WIDTH):
        if peek(row + 8 * (NodeRow.register + j)) != peek(other + 8 * (NodeRow.register + j)):
            return False
    return True


@kernel
def exchange(out: int, one: int, other: int) -> None:
    """Exchange two rows of a list."""
    if one != other:
        for j in range(ROW_WORDS):
            at, to = out + 8 * (one * ROW_WORDS + j), out + 8 * (other * ROW_WORDS + j)
            word = peek(at)
            poke(at, peek(to))
            poke(to, word)


@kernel
def told(w: Any, x: Lane, out: int, count: int, le: int, now: int) -> int:
    """Count the matches of a list, each once, and write them if that is asked. Returns LANE_DONE, MORE or LANE_LONG."""
    entry, made, past, tied = x.out, 0, BEGINNING, 0
    for k in range(count):
        row = out + 8 * k * ROW_WORDS
        if peek(now + 8 * peek(row + 8 * NodeRow.state)):
            re = peek(row + 8 * NodeRow.until)
            tied = tied | int(LONGEST and made > 0)
            if re <= past:
                tied = 1
                if made > ALIKE:
                    return LANE_LONG
                if LONGEST == 0 and shown_before(out, k, now):
                    continue
            past, made = max(past, re), made + 1
            if x.write:
                if entry + 8 * (LogRow.register + WIDTH) > x.out_end:
                    return MORE
                write_match(w, x, entry, le, re, row + 8 * NodeRow.register)
                entry += 8 * (LogRow.register + WIDTH)
    x.out, x.matches, x.tied = entry, x.matches + made, x.tied | tied
    return LANE_DONE


@kernel
def write_match(w: Any, x: Lane, entry: int, t: int, re: int, register: int) -> None:
    """Write a match of the lane at work as an entry of the output log."""
    poke(entry + 8 * LogRow.key, x.lane)
    poke(entry + 8 * LogRow.sign, 1)
    poke(entry + 8 * LogRow.t, t)
    poke(entry + 8 * LogRow.re, re)
    for j in range(WIDTH):
        poke(entry + 8 * (LogRow.register + j), peek(register + 8 * j))


@kernel
def shown_before(out: int, k: int, now: int) -> bool:
    """Return whether a row in a final state before the row ``k`` stands for the same match."""
    row = out + 8 * k * ROW_WORDS
    for i in range(k):
        other = out + 8 * i * ROW_WORDS
        if peek(now + 8 * peek(other + 8 * NodeRow.state)) and peek(other + 8 * NodeRow.until) == peek(row + 8 * NodeRow.until):
            j = 0
            while j < SHOWN and peek(other + 8 * (NodeRow.register + j)) == peek(row + 8 * (NodeRow.register + j)):
                j += 1
            if j == SHOWN:
                return True
    return False
