"""Events in order, the common case: each is appended and derived at once, nothing is marked and nothing looked up.

    columns   LE  20  21  22  23  ..        order  [ .. 7 | 8   9  10 ->
    of the        |   |   |                 le     [ .. 19| 20  21 22 ->        H_LAST, H_STEPS and the tops move on
    batch         v   v   v                 events [ ..   | e8 e9 e10 ->
                                            nodes  [ .. list of 7 | list of 8 | list of 9 | ->      each derived from the one before

The same as `append` and `walk` one after the other. Most rows are done in the automaton's own loop (`afa.compiled.code.in_order`);
here is what it leaves: punctuations, changes of arcs, matches.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.derive import repeated
from afa.compiled.kernel.lists import unique
from afa.compiled.kernel.matches import accepted, set_matches
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import call1, kernel, peek, peek_byte
from afa.compiled.kernel.order import promise
from afa.compiled.kernel.swap import change_arc

LEAVE, NEXT, READY = 0, 1, 2


@kernel
def may_go_forward(m: Any, p: Any, b: int) -> bool:
    """Return whether `forward` or `forward_runs` serves this program and this block."""
    if m[C_GAPLESS]:
        return False
    loop = p[P_LOOP_RUNS] if m[C_RUNS] else p[P_LOOP]
    return bool(p[P_STEP] != 0 and loop != 0 and p[P_TIMEOUT] == 0 and p[P_COUNTED] < BY_TIMEOUTS and m[b + H_PENDING_TOP] == 0)


@kernel
def set_columns(m: Any, w: Any, p: Any, c: Any, b: int) -> int:
    """Tell the loops where they read and write, as far as that stays. Returns where their words are."""
    x, base, scratch = w[W_LOOP], m[C_M], m[C_W]
    w[x + X_NONE] = 0
    w[x + X_LE_AT] = c[0, F_LE]
    kinds, ends, window = c[0, F_KIND], c[0, F_RE], c[0, F_WINDOW]
    w[x + X_KIND_AT] = kinds if kinds != 0 else scratch + 8 * (x + X_NONE)
    w[x + X_KIND_MASK] = -1 if kinds != 0 else 0
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
    w[x + X_CHANGE] = BEGINNING
    for j in range(m[C_V]):
        w[x + X_WORDS + j] = c[0, F_WORDS + 2 * j]
    return int(x)


@kernel
def set_position(m: Any, w: Any, b: int, record: int, high: int, i: int, place: int, top: int, latest: int, bound: int) -> int:
    """Tell a loop where it begins: step, place and event. Returns how many rows there is room for."""
    x, base, cap = w[W_LOOP], m[C_M], m[b + H_CAP]
    room = min(cap - place, cap - i, m[b + H_EVENT_CAP] - top)
    w[x + X_RECORD], w[x + X_HIGH] = record, min(high, record + room)
    w[x + X_LATEST] = max(latest, m[C_EVENTS] - 1) if m[C_EVENTS] > BEGINNING else latest
    w[x + X_BOUND] = bound
    w[x + X_ORDER], w[x + X_TIMES] = base + 8 * (b + HEAD + place), base + 8 * (b + HEAD + LE * cap + i)
    w[x + X_STEP], w[x + X_SLICE] = i, top << 24 | 1
    w[x + X_EVENT] = base + 8 * (b + m[b + H_EVENTS] + top * (E_WORDS + m[C_V]))
    return int(room)


@kernel
def row_of(c: Any, record: int) -> int:
    """Return which row of the columns a record is."""
    return int(peek(c[0, F_INDEX] + 8 * record)) if c[0, F_INDEX] != 0 else record


@kernel
def between_loops(m: Any, w: Any, p: Any, c: Any, record: int, latest: int) -> int:
    """See to a row where a loop ended. Returns NEXT (it was a punctuation or an arc), READY (an event) or LEAVE (another way)."""
    record = row_of(c, record)
    le, change = peek(c[0, F_LE] + 8 * record), w[W_LOOP] + X_CHANGE
    if c[0, F_KIND] != 0:
        kind = peek_byte(c[0, F_KIND] + record)
        if kind == PUNCTUATION:
            promise(m, le)
            return NEXT
        if kind == ARC and le == BEGINNING and c[0, F_ARC] != 0:
            code = peek(c[0, F_CODES] + 8 * peek(c[0, F_ARC] + 8 * record))
            diff = peek(c[0, F_DIFF] + 8 * record) if c[0, F_DIFF] != 0 else 1
            if not change_arc(m, p, code, diff, max(m[C_NOW], latest + 1)):
                return LEAVE
            w[change] = min(w[change], p[P_HIGH])
            return NEXT
        if kind != EVENT:
            return LEAVE
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
    """Take rows ``low`` to ``high`` of the columns at ``c`` (F_*). Returns the first that must go another way, or a status.

    *Requires* `may_go_forward`.
    """
    s, cap = N_REG + m[C_R], m[b + H_CAP]
    order, times, lists = b + HEAD, b + HEAD + LE * cap, b + HEAD + ND * cap
    i, place, event_top, top = m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP], m[b + H_NODE_TOP]
    first = i
    base, nodes = m[C_M], b + m[b + H_NODES]
    x = set_columns(m, w, p, c, b)
    p[p[P_BEGIN] + N_M] = FOREVER
    source = m[lists + m[order + place - 1]] if place > m[b + H_FIRST] else 0
    rows, n = nodes + (source >> 24) * s, source & COUNT
    latest = m[times + m[order + place - 1]] if place > m[b + H_FIRST] else BEGINNING
    record, status = low, DONE
    while record < high:
        room = set_position(m, w, b, record, high, i, place, event_top, latest, w[x + X_CHANGE])
        w[x + X_OUT], w[x + X_TOP] = base + 8 * (nodes + top * s), top
        w[x + X_SRC], w[x + X_N] = base + 8 * rows, n
        code = call1(p[P_LOOP], m[C_W] + 8 * x)
        taken = w[x + X_RECORD] - record
        if taken > 0:
            i, place, event_top, record, top = i + taken, place + taken, event_top + taken, record + taken, w[x + X_TOP]
            latest = m[times + i - 1]
            n = w[x + X_N]
            rows = nodes + (top - n) * s
        if code == LOOP_LOOK:
            status = finish_step(m, w, p, b, i, place, event_top, peek(c[0, F_LE] + 8 * row_of(c, record)), top, w[x + X_MADE])
            if status < 0:
                break
            rows, n = nodes + top * s, status
            latest = m[times + i]
            i, place, event_top, record, top = i + 1, place + 1, event_top + 1, record + 1, top + n
            continue
        if code < 0 or record >= high:
            status = NEED_NODES if code == -2 else DONE
            break
        found = between_loops(m, w, p, c, record, latest)
        while found == NEXT:
            record += 1
            if record >= high:
                break
            found = between_loops(m, w, p, c, record, latest)
            taken = 0
        if found == LEAVE:
            break
        if found == READY and taken == room:
            status = NEED_EVENTS if event_top >= m[b + H_EVENT_CAP] else NEED_BLOCK
            break
    m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP], m[b + H_NODE_TOP] = i, place, event_top, top
    if m[C_ORDERED]:
        write_sequence(m, b, first, i)
    return count_taken(m, i - first, latest, record, status)


@kernel
def write_sequence(m: Any, b: int, first: int, end: int) -> None:
    """Write the sequence's words of steps ``first`` to ``end``, which have one event each: the loops leave them out."""
    cap, width = m[b + H_CAP], E_WORDS + m[C_V]
    seqs, slices, events = b + HEAD + SEQ * cap, b + HEAD + EV * cap, b + m[b + H_EVENTS] + E_WORDS + m[C_SEQ]
    for i in range(first, end):
        m[seqs + i] = m[events + (m[slices + i] >> 24) * width]


@kernel
def count_taken(m: Any, n: int, latest: int, record: int, status: int) -> int:
    """Take note that ``n`` events were taken, the last at ``latest``. Returns the next record, or a status.

    A block that is full after some events has done them: C_SHORT; the rest is for another unit, in a larger one.
    """
    m[C_CHANGES] += n
    if n:
        m[C_NOW] = max(m[C_NOW], latest + 1)
    m[C_SHORT] = n > 0 and (status == NEED_BLOCK or status <= NEED_EVENTS)
    return int(status if status < 0 and m[C_SHORT] == 0 else record)


@kernel
def finish_step(m: Any, w: Any, p: Any, b: int, i: int, place: int, event: int, le: int, top: int, count: int) -> int:
    """Make a step of an event and ``count`` new nodes, with their matches, each once. Returns how many nodes, or a status."""
    s = N_REG + m[C_R]
    out = b + m[b + H_NODES] + top * s
    if repeated(m, out, count, s):
        count = unique(m, w, out, count, s)
    put_step(m, b, i, place, event, le, top << 24 | count, le)
    found = accepted(m, w, p, m, out, count, le, 0)
    status = set_matches(m, w, p, b, i, found) if found > 0 else found
    return int(count if status >= 0 else status)


@kernel
def put_step(m: Any, b: int, i: int, place: int, event: int, le: int, nodes: int, reach: int) -> None:
    """Make step ``i`` of one event."""
    cap = m[b + H_CAP]
    m[b + HEAD + place] = i
    m[b + HEAD + LE * cap + i] = le
    m[b + HEAD + EV * cap + i] = event << 24 | 1
    m[b + HEAD + ND * cap + i] = nodes
    m[b + HEAD + MT * cap + i] = 0
    m[b + HEAD + REACH * cap + i] = reach
