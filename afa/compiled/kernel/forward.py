"""Events in order, the common case: each is appended and derived at once, nothing is marked and nothing looked up.

The same as `append` and `sweep` one after the other, in one loop that holds in registers where everything stands.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arcs import seek
from afa.compiled.kernel.call import call9, kernel, peek
from afa.compiled.kernel.matches import accepted, announce
from afa.compiled.kernel.names import (
    A_BEGIN,
    A_COUNTED,
    A_HIGH,
    A_LOW,
    A_NOW,
    A_SLOTS,
    A_SPILL,
    A_STEP,
    A_TIMEOUT,
    ARC,
    BEGINNING,
    C_CHANGES,
    C_EVENTS,
    C_M,
    C_NOW,
    C_P,
    C_R,
    C_STALE,
    C_V,
    COUNT,
    DONE,
    E_COPIES,
    E_RE,
    E_WORDS,
    EV,
    EVENT,
    F_ARC,
    F_DIFF,
    F_KIND,
    F_LE,
    F_RE,
    F_WINDOW,
    F_WORDS,
    FLOAT,
    FOREVER,
    H_CAP,
    H_COPIES,
    H_EVENT_CAP,
    H_EVENT_TOP,
    H_EVENTS,
    H_FIRST,
    H_LAST,
    H_NODE_CAP,
    H_NODE_TOP,
    H_NODES,
    H_PENDING_TOP,
    H_STEPS,
    H_STORED,
    HEAD,
    LE,
    MT,
    N_M,
    N_START,
    N_STATE,
    ND,
    NEED_BLOCK,
    NEED_EVENTS,
    NEED_NODES,
    PUNCTUATION,
    REACH,
)
from afa.compiled.kernel.rows import unique
from afa.compiled.kernel.swap import change_arc

MINUS_ZERO, MAGNITUDE, INFINITY = -(2**63), 2**63 - 1, 0x7FF0000000000000
NAN_WORD = 0x7FF8000000000000


@kernel
def may_go_forward(m: Any, p: Any, b: int) -> bool:
    """Whether `forward` serves this program and this block."""
    return bool(p[A_STEP] != 0 and p[A_TIMEOUT] == 0 and p[A_COUNTED] == 0 and m[b + H_PENDING_TOP] == 0)


@kernel
def promise(m: Any, t: int) -> None:
    """Take a punctuation of the event input."""
    if t <= m[C_EVENTS]:
        m[C_STALE] += 1
        return
    m[C_EVENTS] = t
    m[C_NOW] = max(m[C_NOW], t + 1 if t < FOREVER else FOREVER)


@kernel
def passed(m: Any, n: int, latest: int) -> None:
    """Note that ``n`` events were taken, the last of them at ``latest``."""
    m[C_CHANGES] += n
    if n:
        m[C_NOW] = max(m[C_NOW], latest + 1)


@kernel
def word(c: Any, j: int, x: int) -> int:
    """Word ``j`` of the payload of row ``x``, in its one form: one NaN, no -0.0."""
    found = peek(c[0, F_WORDS + 2 * j] + 8 * x)
    if c[0, F_WORDS + 2 * j + 1] == FLOAT:
        if found == MINUS_ZERO:
            return 0
        if (found & MAGNITUDE) > INFINITY:
            return NAN_WORD
    return int(found)


@kernel
def forward(m: Any, w: Any, p: Any, c: Any, b: int, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` (F_*) one by one; the first that must go another way, or a status.

    *Requires* `may_go_forward`.
    """
    v, s, cap = m[C_V], 4 + m[C_R], m[b + H_CAP]
    size = 2 + v
    order, times, events = b + HEAD, b + HEAD + LE * cap, b + HEAD + EV * cap
    lists, matches, reaches = b + HEAD + ND * cap, b + HEAD + MT * cap, b + HEAD + REACH * cap
    i, place, event_top, top = m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP], m[b + H_NODE_TOP]
    nodes, node_cap, event_cap = b + m[b + H_NODES], m[b + H_NODE_CAP], m[b + H_EVENT_CAP]
    event = b + m[b + H_EVENTS] + event_top * size
    base, begin, now, slots = m[C_M], p[A_BEGIN], p[A_NOW], m[C_P] + 8 * p[A_SLOTS]
    first, function = m[C_P] + 8 * begin, p[A_STEP]
    p[begin + N_M] = FOREVER
    source = m[lists + m[order + place - 1]] if place > m[b + H_FIRST] else 0
    rows, n = nodes + (source >> 24) * s, source & COUNT
    since, until, status, taken, stored = FOREVER, BEGINNING, DONE, 0, 0
    x = low
    le_at, re_at, kind_at, window = c[0, F_LE], c[0, F_RE], c[0, F_KIND], c[0, F_WINDOW]
    arc_at, diff_at = c[0, F_ARC], c[0, F_DIFF]
    latest = m[times + m[order + place - 1]] if place > m[b + H_FIRST] else BEGINNING
    while x < high:
        le = peek(le_at + 8 * x)
        if kind_at != 0:
            kind = peek(kind_at + 8 * x)
            if kind == PUNCTUATION:
                promise(m, le)
                x += 1
                continue
            if kind == ARC and le == BEGINNING and arc_at != 0:
                code, diff = peek(arc_at + 8 * x), peek(diff_at + 8 * x)
                if not change_arc(m, p, code, diff, max(m[C_NOW], latest + 1)):
                    break
                until = min(until, p[A_HIGH])
                x += 1
                continue
            if kind != EVENT:
                break
        if le <= latest or le < m[C_EVENTS]:
            break
        if le >= until or le < since:
            seek(p, le)
            since, until = p[A_LOW], p[A_HIGH]
            if p[A_SPILL]:
                break
        if place >= cap or i >= cap:
            status = NEED_BLOCK
            break
        if event_top >= event_cap:
            status = NEED_EVENTS
            break
        re = peek(re_at + 8 * x) if re_at != 0 else le + window if window != 0 else FOREVER
        m[event + E_RE] = re
        m[event + E_COPIES] = 1
        for j in range(v):
            m[event + E_WORDS + j] = word(c, j, x)
        p[begin + N_START] = le
        out = nodes + top * s
        count = call9(
            function, base + 8 * (event + E_WORDS), re, le, base + 8 * rows, n, first, base + 8 * out, node_cap - top, slots
        )
        if count < 0:
            status = NEED_NODES if count == -2 else DONE
            break
        accepting = 0
        again = False
        for k in range(count):
            row = out + k * s
            accepting |= p[now + m[row + N_STATE]]
            j = row - s
            while j >= out and m[j + N_START] == m[row + N_START]:
                again = again or m[j + N_STATE] == m[row + N_STATE]
                j -= s
        if again:
            count = unique(m, w, out, count, s)
        m[order + place] = i
        m[times + i] = le
        m[events + i] = event_top << 24 | 1
        m[lists + i] = top << 24 | count
        m[matches + i] = 0
        m[reaches + i] = le
        if accepting:
            found = accepted(m, w, p, m, out, count, le, 0)
            status = announce(m, w, p, b, i, found) if found >= 0 else found
            if status < 0:
                break
        rows, n = out, count
        top += count
        stored += count
        i += 1
        place += 1
        event_top += 1
        event += size
        taken += 1
        latest = le
        x += 1
    m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP], m[b + H_NODE_TOP] = i, place, event_top, top
    m[b + H_COPIES] += taken
    passed(m, taken, latest)
    m[b + H_STORED] += stored
    return int(status if status < 0 else x)
