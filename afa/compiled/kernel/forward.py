"""Events in order, the common case: each is appended and derived at once, nothing is marked and nothing looked up.

    columns   LE  20  21  22  23  ..        order  [ .. 7 | 8   9  10 ->
    of the        |   |   |                 le     [ .. 19| 20  21 22 ->        H_LAST, H_STEPS and the tops move on
    batch         v   v   v                 events [ ..   | e8 e9 e10 ->
                                            nodes  [ .. list of 7 | list of 8 | list of 9 | ->      each derived from the one before

    with runs     LE        20        21        22        23
                  events    e         ignored   ignored   f
                  nodes     p, q      -         -         p', s      a list that stays costs a step and no node; 23 ends all runs:
                  end       23  23                        ALONE      its list is written anew, one slice of nodes

The same as `append` and `walk` one after the other. Most rows are done in the automaton's own loop (`afa.compiled.code.in_order`),
of which there is one for whole lists and one for runs; here is what they leave: punctuations, changes of arcs, matches of which
two may be the same. Where blocks keep runs, what the loops write is joined (`afa.compiled.kernel.join`).

The runs that a block has at the beginning may be nodes of several steps. They are read into W_SOURCE and can only stay (X_MOST 0);
the first event that changes them (`first_step`) writes a list of one slice, with which the loop goes on. A list of many rows stands
in parts (`afa.compiled.kernel.parts`), and in the loop it can only stay, too.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.buffers import load_list
from afa.compiled.kernel.join import join_lists
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call1, kernel, peek, peek_byte
from afa.compiled.kernel.one_step import ASK, STAYS, finish_step, first_step, put_event, row_of
from afa.compiled.kernel.other_rows import first_other, row_of_other, take_others
from afa.compiled.kernel.parts import UNFIT, give_up, is_worth_it, may_part, read_parts, take_in_parts
from afa.compiled.kernel.walk_runs import summarize

LEAVE, READY = 0, 1
SHORT = 1 << 10
"""Lists of fewer rows stay as they are written where the call drops them itself."""
JOINED = 1 << 12
"""After so many nodes lists are joined: what was written of them is in the cache still."""
APART = 16
"""So many rows apart, rows stand in lines of cache that nothing fetches by itself."""


@kernel
def may_go_forward(m: Any, p: Any, b: int) -> bool:
    """Return whether `forward` serves this program and this block."""
    loop = loop_of(m, p, b)
    return bool(p[P_STEP] != 0 and loop != 0 and p[P_TIMEOUT] == 0 and p[P_COUNTED] < BY_TIMEOUTS and m[b + H_PENDING_TOP] == 0)


@kernel
def loop_of(m: Any, p: Any, b: int) -> int:
    """Return the address of the loop for this block: where most events change most of a list, the one for whole lists is faster."""
    return int(p[P_LOOP_RUNS] if m[C_RUNS] and m[b + H_RUNS] else p[P_LOOP])


@kernel
def set_columns(m: Any, w: Any, p: Any, c: Any, b: int) -> int:
    """Tell the loop where it reads and writes, as far as that stays. Returns where its words X_* are."""
    x, base, scratch = w[W_LOOP], m[C_M], m[C_W]
    w[x + X_NONE] = 0
    w[x + X_LE_AT] = c[0, F_LE]
    ends, window = c[0, F_RE], c[0, F_WINDOW]
    w[x + X_RE_AT] = ends if ends != 0 else scratch + 8 * (x + X_WORD)
    w[x + X_RE_MASK] = -1 if ends != 0 else 0
    w[x + X_LE_MASK] = -1 if ends == 0 and window != 0 else 0
    w[x + X_WORD] = window if window != 0 else FOREVER
    index = c[0, F_INDEX]
    w[x + X_INDEX_AT] = index if index != 0 else scratch + 8 * (x + X_NONE)
    w[x + X_INDEX_MASK], w[x + X_PLAIN_MASK] = (-1, 0) if index != 0 else (0, -1)
    w[x + X_CAP] = m[b + H_CAP]
    w[x + X_BEGIN] = m[C_P] + 8 * p[P_BEGIN]
    w[x + X_SLOTS] = m[C_P] + 8 * p[P_SLOTS]
    w[x + X_NOW] = m[C_P] + 8 * p[P_NOW]
    w[x + X_LAST] = base + 8 * (b + m[b + H_NODES] + m[b + H_NODE_CAP] * (N_REG + m[C_R]))
    w[x + X_MATCH_LAST] = base + 8 * (b + m[b + H_MATCHES] + m[b + H_MATCH_CAP] * (M_REG + m[C_R]))
    w[x + X_LOG_LAST] = scratch + 8 * (w[W_LOG] + w[W_LOG_CAP] * (L_REG + m[C_R]))
    w[x + X_BUDGET] = w[W_BUDGET]
    w[x + X_KEY], w[x + X_FINAL] = w[W_KEY], m[C_FINAL]
    w[x + X_CHANGE] = BEGINNING
    for j in range(m[C_V]):
        w[x + X_WORDS + j] = c[0, F_WORDS + 2 * j]
    return int(x)


@kernel
def set_position(m: Any, w: Any, b: int, record: int, high: int, i: int, place: int, top: int, latest: int, bound: int) -> int:
    """Tell the loop at which step, place and event it begins. Returns how many rows the block has room for."""
    x, base, cap = w[W_LOOP], m[C_M], m[b + H_CAP]
    left = min(cap - place, cap - i, m[b + H_EVENT_CAP] - top)
    w[x + X_RECORD], w[x + X_HIGH], w[x + X_ROOM] = record, min(high, record + left), record + left
    w[x + X_LATEST] = max(latest, m[C_EVENTS] - 1) if m[C_EVENTS] > BEGINNING else latest
    w[x + X_BOUND] = bound
    w[x + X_ORDER], w[x + X_TIMES] = base + 8 * (b + HEAD + place), base + 8 * (b + HEAD + LE * cap + i)
    w[x + X_STEP], w[x + X_SLICE] = i, top << 24 | 1
    w[x + X_MTOP] = m[b + H_MATCH_TOP]
    w[x + X_MATCH] = base + 8 * (b + m[b + H_MATCHES] + m[b + H_MATCH_TOP] * (M_REG + m[C_R]))
    w[x + X_LOG] = m[C_W] + 8 * (w[W_LOG] + w[W_LOG_TOP] * (L_REG + m[C_R]))
    w[x + X_EVENT] = base + 8 * (b + m[b + H_EVENTS] + top * (E_WORDS + m[C_V]))
    return int(left)


@kernel
def between_loops(m: Any, w: Any, p: Any, c: Any, record: int, latest: int) -> int:
    """Return READY for an event that the loop may take, LEAVE for one that must go another way."""
    record = row_of(c, record)
    le, change = peek(c[0, F_LE] + 8 * record), w[W_LOOP] + X_CHANGE
    if le <= latest or le < m[C_EVENTS]:
        return LEAVE
    if le >= w[change]:
        seek(p, le)
        w[change] = p[P_HIGH]
        if p[P_SPILL]:
            return LEAVE
    return READY


@kernel
def forward(m: Any, w: Any, p: Any, c: Any, b: int, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` (F_*) one by one.

    Returns the first row that must go another way, or a status. *Requires* `may_go_forward`.
    """
    cap, order, nodes = m[b + H_CAP], b + HEAD, b + m[b + H_NODES]
    times, s, runs = order + LE * cap, N_REG + m[C_R], m[C_RUNS]
    i, place, event_top, top = m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP], m[b + H_NODE_TOP]
    first, loop, whole = i, loop_of(m, p, b), runs == 0 or m[b + H_RUNS] == 0
    begun, begun_top, limit = place, top, top + JOINED  # from where on lists are not joined, and when they are to be
    x = set_columns(m, w, p, c, b)
    w[W_OWN], w[x + X_PARTED] = top, 0
    far = row_of(c, high - 1) - row_of(c, low) >= APART * (high - low)
    w[x + X_AHEAD] = FAR if far else MIXED if c[0, F_INDEX] != 0 and m[C_KEYED] == 0 else 0
    p[p[P_BEGIN] + N_M] = FOREVER
    latest = m[times + m[order + place - 1]] if place > m[b + H_FIRST] else BEGINNING
    n = first_list(m, w, b, x) if whole else first_runs(m, w, p, b, x)
    if n < 0:
        return n
    record, status, others = low, DONE, first_other(c, low)
    other = row_of_other(c, others)
    until = low if m[C_GAPLESS] else high  # numbers are adjacent up to this row
    number = m[b + HEAD + SEQ * cap + m[order + place - 1]] if place > m[b + H_FIRST] else 0
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
                here = peek(c[0, F_WORDS + 2 * m[C_SEQ]] + 8 * row)
                if place > m[b + H_FIRST]:
                    if here <= number:
                        break
                    m[b + H_GAP] = min(m[b + H_GAP], peek(c[0, F_LE] + 8 * row))
                w[x + X_N] = 0
                until, number = next_gap(m, c, record + 1, high, here)
        bound = w[x + X_CHANGE]
        if w[x + X_MOST] == 0:
            bound = bound if w[x + X_PARTED] else min(bound, w[W_SOONEST])
        else:
            w[x + X_MOST] = w[W_MANY] if not whole and may_part(m, w, p, FOREVER) else FOREVER
        left = set_position(m, w, b, record, min(until, other), i, place, event_top, latest, bound)
        w[x + X_OUT], w[x + X_TOP] = m[C_M] + 8 * (nodes + top * s), top
        if runs:
            w[x + X_LAST] = m[C_M] + 8 * (nodes + min(limit, m[b + H_NODE_CAP]) * s)
        code = call1(loop, m[C_W] + 8 * x)
        taken = w[x + X_RECORD] - record
        w[W_WAIT] = max(w[W_WAIT] - taken, 0)
        w[W_LOG_TOP] += w[x + X_MTOP] - m[b + H_MATCH_TOP]
        m[b + H_MATCH_TOP] = w[x + X_MTOP]
        if taken > 0:
            i, place, event_top, record, top = i + taken, place + taken, event_top + taken, record + taken, w[x + X_TOP]
            latest = m[times + i - 1]
        if code == LOOP_LOOK:
            le = peek(c[0, F_LE] + 8 * row_of(c, record))
            status = finish_step(m, w, p, b, i, place, event_top, le, top, w[x + X_MADE])
        elif code == -2 and runs and limit < m[b + H_NODE_CAP]:
            if top == begun_top or (latest < m[C_THEN] and w[x + X_N] < SHORT):  # one list is as long, or all goes soon
                limit = m[b + H_NODE_CAP]
                continue
            written, top = top - begun_top, join_lists(m, w, b, begun, place, top, n if whole else 0)
            m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP], m[b + H_NODE_TOP] = i, place, event_top, top
            if whole and p[P_LOOP_RUNS] and (2 * (top - begun_top) < written or w[x + X_N] >= w[W_MANY]):
                m[b + H_RUNS], whole, loop = 1, False, p[P_LOOP_RUNS]
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
                status = NEED_EVENTS if event_top >= m[b + H_EVENT_CAP] else NEED_BLOCK
                break
            if w[x + X_MOST] > w[x + X_N]:  # other arcs
                continue
            if w[x + X_PARTED] or w[x + X_MOST] or may_part(m, w, p, w[x + X_ROWS]):
                if w[x + X_PARTED] == 0:
                    top = join_lists(m, w, b, begun, place, top, 0)
                    if top < 0:
                        return top
                begun, begun_top, limit = place, top, top + JOINED
            m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP], m[b + H_NODE_TOP] = i, place, event_top, top
            status = change_list(m, w, p, c, b, record)
            if status == STAYS:
                latest = m[times + i]
                i, place, event_top, record = i + 1, place + 1, event_top + 1, record + 1
                continue
        if status < 0:
            break
        latest = m[times + i]
        if w[x + X_PARTED] == 0:
            w[x + X_SRC], w[x + X_N] = m[C_M] + 8 * (nodes + top * s), status
            if not whole:
                summarize_nodes(m, w, p, x, nodes + top * s, status, latest)
        i, place, event_top, record, top = i + 1, place + 1, event_top + 1, record + 1, top + status
    if runs and w[x + X_PARTED] == 0:
        top = join_lists(m, w, b, begun, place, top, n if whole else 0)
        if top < 0:
            return top
    m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP], m[b + H_NODE_TOP] = i, place, event_top, top
    if m[C_ORDERED]:
        write_sequence(m, b, first, i)
    return count_taken(m, i - first, latest, record, DONE if status == ASK else status)


@kernel
def next_gap(m: Any, c: Any, record: int, high: int, number: int) -> Any:
    """Return the first event from row ``record`` on whose number is not adjacent to that of the event before it, and the latter.

    ``number``: of the event before ``record``.
    """
    at, kinds = c[0, F_WORDS + 2 * m[C_SEQ]], c[0, F_KIND]
    while record < high:
        row = row_of(c, record)
        if kinds == 0 or peek_byte(kinds + row) == EVENT:
            if number == FOREVER or peek(at + 8 * row) != number + 1:
                break
            number += 1
        record += 1
    return record, number


@kernel
def first_list(m: Any, w: Any, b: int, x: int) -> int:
    """Tell the loop for whole lists the list of the block's last step. Returns how many rows it has, or NEED_ROWS."""
    place, source = m[b + H_LAST] - 1, 0
    w[x + X_MOST] = FOREVER
    if m[C_RUNS] and place >= m[b + H_FIRST]:
        n = load_list(m, w, b, place, w[W_SOURCE])
        w[x + X_SRC], w[x + X_N] = m[C_W] + 8 * w[W_SOURCE], max(n, 0)
        return n
    if place >= m[b + H_FIRST]:
        source = m[b + HEAD + ND * m[b + H_CAP] + m[b + HEAD + place]]
    w[x + X_SRC] = m[C_M] + 8 * (b + m[b + H_NODES] + (source >> 24) * (N_REG + m[C_R]))
    w[x + X_N] = source & COUNT
    return int(source & COUNT)


@kernel
def first_runs(m: Any, w: Any, p: Any, b: int, x: int) -> int:
    """Read the list of the block's last step into W_SOURCE, and tell the loop for runs what it must know of it.

    Returns how many rows it has, or NEED_ROWS. It stays there until an event changes it.
    """
    place = m[b + H_LAST] - 1
    n = load_list(m, w, b, place, w[W_SOURCE]) if place >= m[b + H_FIRST] else 0
    if n < 0:
        return n
    states = summarize(m, w, p, b, n)
    w[x + X_WANTED] = -1 if states == BUSY else states | 1 << STATES
    w[x + X_LOWEST], w[x + X_HIGHEST], w[x + X_REACH] = w[W_LOW], w[W_HIGH], w[W_REACH]
    w[x + X_OPEN] = 1
    w[x + X_MOST] = w[x + X_N] = w[x + X_PARTED] = 0
    w[x + X_ROWS] = n
    return n


@kernel
def change_list(m: Any, w: Any, p: Any, c: Any, b: int, record: int) -> int:
    """Make the step of a row that the loop leaves, as the list before it is too long or none of its own.

    Returns as `first_step`, or a status of `take_in_parts`.
    """
    x, i, place, event, top = w[W_LOOP], m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP], m[b + H_NODE_TOP]
    parted = w[x + X_PARTED]
    if parted == 0 and w[x + X_MOST] == 0 and not may_part(m, w, p, w[x + X_ROWS]):
        return int(first_step(m, w, p, c, b, i, place, event, top, w[x + X_ROWS], record))
    status = DONE
    if parted and not is_worth_it(w):
        status = UNFIT
    elif parted == 0:
        status = read_parts(m, w, b, place)
    if status >= 0:
        w[x + X_MOST], w[x + X_PARTED] = 0, 1
        status = take_in_parts(m, w, p, b, i, place, event, put_event(m, w, c, b, event, record), top)
    if status != UNFIT:
        return int(status)
    give_up(w)
    status = first_runs(m, w, p, b, x)
    if status < 0:
        return int(status)
    return int(first_step(m, w, p, c, b, i, place, event, top, w[x + X_ROWS], record))


@kernel
def summarize_nodes(m: Any, w: Any, p: Any, x: int, rows: int, n: int, le: int) -> None:
    """Tell the loop for runs when the ``n`` nodes of a step at ``le``, its list from now on, stay as they are."""
    s, states, low, high = N_REG + m[C_R], 0, FOREVER, BEGINNING
    for k in range(n):
        row = rows + k * s
        state = m[row + N_STATE]
        states |= -1 if state >= STATES or p[p[P_NOW] + state] else 1 << state
        low, high = min(low, m[row + N_M]), max(high, m[row + N_M])
    w[x + X_WANTED], w[x + X_LOWEST], w[x + X_HIGHEST], w[x + X_REACH] = states | 1 << STATES, low, high, le
    w[x + X_OPEN] = 0
    w[x + X_MOST] = FOREVER


@kernel
def write_sequence(m: Any, b: int, first: int, end: int) -> None:
    """Write the sequence's words of steps ``first`` to ``end``, which have one event each: the loops leave them out."""
    cap, width = m[b + H_CAP], E_WORDS + m[C_V]
    seqs, slices, events = b + HEAD + SEQ * cap, b + HEAD + EV * cap, b + m[b + H_EVENTS] + E_WORDS + m[C_SEQ]
    for i in range(first, end):
        m[seqs + i] = m[events + (m[slices + i] >> 24) * width]


@kernel
def count_taken(m: Any, n: int, latest: int, record: int, status: int) -> int:
    """Note that ``n`` events were taken, the last of them at ``latest``. Returns the record that comes next, or a status.

    A block that is full after some events has done them: C_SHORT; the rest is for another unit, in a larger one.
    """
    m[C_CHANGES] += n
    if n:
        m[C_NOW] = max(m[C_NOW], latest + 1)
    m[C_SHORT] = n > 0 and (status == NEED_BLOCK or status <= NEED_EVENTS)
    return int(status if status < 0 and m[C_SHORT] == 0 else record)
