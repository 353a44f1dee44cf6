"""`forward` for lists with ignorable runs ([AFA10] App. D): an event that changes no list costs what it takes to see that."""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.call import call1, call2, kernel, peek
from afa.compiled.kernel.carry import STATES, load, renew, stay, summary
from afa.compiled.kernel.derive import repeated, step
from afa.compiled.kernel.forward import LEAVE, NEXT, aim, control, passed, start
from afa.compiled.kernel.matches import accepted, announce
from afa.compiled.kernel.memory import room
from afa.compiled.kernel.names import (
    A_PASS,
    A_QUIET,
    A_SLOTS,
    BEGINNING,
    BUSY,
    C_M,
    C_P,
    C_R,
    C_V,
    C_W,
    DONE,
    E_COPIES,
    E_RE,
    E_WORDS,
    EV,
    F_LE,
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
    H_STEPS,
    HEAD,
    LE,
    MT,
    ND,
    NEED_BLOCK,
    NEED_EVENTS,
    NEED_ROWS,
    NEED_UNDO,
    REACH,
    W_AHEAD,
    W_HIGH,
    W_LOW,
    W_NEW,
    W_REACH,
    W_ROWS,
    W_SOONEST,
    W_SOURCE,
    X_CHANGE,
    X_HIGHEST,
    X_LE_MASK,
    X_RE_AT,
    X_RE_MASK,
    X_REACH,
    X_RECORD,
    X_WANTED,
)
from afa.compiled.kernel.rows import unique
from afa.compiled.kernel.steps import claims

MINUS_ZERO, MAGNITUDE, INFINITY = -(2**63), 2**63 - 1, 0x7FF0000000000000
NAN_WORD = 0x7FF8000000000000
QUIET, ASK = 1 << 32, -100


@kernel
def forward_runs(m: Any, w: Any, p: Any, c: Any, b: int, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` (F_*) one by one; the first that must go another way, or a status.

    *Requires* `may_go_forward`.
    """
    cap = m[b + H_CAP]
    order, times = b + HEAD, b + HEAD + LE * cap
    i, place, event_top = m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP]
    n = load(m, w, b, place - 1, w[W_SOURCE]) if place > m[b + H_FIRST] else 0
    if n < 0:
        return n
    x = aim(m, w, p, c, b)
    states, first = summary(m, w, p, b, n), i
    latest = m[times + m[order + place - 1]] if place > m[b + H_FIRST] else BEGINNING
    record, status = low, DONE
    while record < high:
        if states != BUSY and w[W_SOONEST] > latest:
            until = min(w[x + X_CHANGE], w[W_LOW], w[W_SOONEST])
            start(m, w, b, record, high, i, place, event_top, latest, until)
            w[x + X_WANTED], w[x + X_HIGHEST], w[x + X_REACH] = states | 1 << STATES, w[W_HIGH], w[W_REACH]
            call1(p[A_PASS], m[C_W] + 8 * x)
            taken = w[x + X_RECORD] - record
            i, place, event_top, record = i + taken, place + taken, event_top + taken, record + taken
            latest = m[times + i - 1] if taken else latest
            if record >= high:
                break
        found = control(m, w, p, c, record, latest)
        if found == LEAVE:
            break
        if found == NEXT:
            record += 1
            continue
        if start(m, w, b, record, high, i, place, event_top, latest, FOREVER) == 0:
            status = NEED_EVENTS if event_top >= m[b + H_EVENT_CAP] else NEED_BLOCK
            break
        latest = peek(c[0, F_LE] + 8 * record)
        re = put_event(m, w, c, b, i, place, event_top, record, latest)
        status = meet(m, w, p, b, i, n, latest, re, event_top, states)
        if status < 0:
            break
        if status != QUIET:
            n = status
            states = summary(m, w, p, b, n)
        i, place, event_top, record = i + 1, place + 1, event_top + 1, record + 1
    m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP] = i, place, event_top
    m[b + H_COPIES] += i - first
    passed(m, i - first, latest)
    return int(status if status < 0 and status != ASK else record)


@kernel
def put_event(m: Any, w: Any, c: Any, b: int, i: int, place: int, top: int, record: int, le: int) -> int:
    """Store the event of a row and begin its step; its RE."""
    x, cap, size = w[W_AHEAD], m[b + H_CAP], 2 + m[C_V]
    event = b + m[b + H_EVENTS] + top * size
    re = peek(w[x + X_RE_AT] + 8 * (record & w[x + X_RE_MASK])) + (le & w[x + X_LE_MASK])
    m[event + E_RE] = re
    m[event + E_COPIES] = 1
    for j in range(size - E_WORDS):
        m[event + E_WORDS + j] = word(c, j, record)
    m[b + HEAD + place] = i
    m[b + HEAD + LE * cap + i] = le
    m[b + HEAD + EV * cap + i] = top << 24 | 1
    m[b + HEAD + ND * cap + i] = 0
    m[b + HEAD + MT * cap + i] = 0
    return int(re)


@kernel
def meet(m: Any, w: Any, p: Any, b: int, i: int, n: int, le: int, re: int, top: int, states: int) -> int:
    """Let the ``n`` rows at W_SOURCE meet the event of step ``i``: how many there are then, QUIET if they stay, or a status."""
    words = m[C_M] + 8 * (b + m[b + H_EVENTS] + top * (2 + m[C_V]) + E_WORDS)
    wanted = states | 1 << STATES
    if not room(w, 64 + 8 * n):
        return NEED_UNDO
    simple = states != BUSY and le < w[W_LOW] and re >= w[W_HIGH]
    if simple and call2(p[A_QUIET], words, m[C_P] + 8 * p[A_SLOTS]) & wanted == wanted:
        if w[W_SOONEST] <= le:
            w[W_SOONEST] = stay(m, w, b, n, le)
        m[b + HEAD + REACH * m[b + H_CAP] + i] = min(le, w[W_REACH])
        return QUIET
    s = 4 + m[C_R]
    count = step(m, p, m[C_W], w[W_SOURCE], n, True, le, re, words, m[C_W] + 8 * w[W_NEW], w[W_ROWS])
    if count < 0:
        return NEED_ROWS if count == -2 else ASK
    if repeated(w, w[W_NEW], count, s):
        count = unique(w, w, w[W_NEW], count, s)
    n = renew(m, w, b, i, n, count, le)
    if n > 0 and claims(m, p, b, i, w, w[W_SOURCE], n):
        found = accepted(m, w, p, w, w[W_SOURCE], n, le, 0)
        status = announce(m, w, p, b, i, found) if found >= 0 else found
        if status < 0:
            return int(status)
    return n


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
