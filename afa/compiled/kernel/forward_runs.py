"""`forward` for lists with ignorable runs ([AFA10] App. D): an event that changes no list costs what it takes to see that."""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arcs import seek
from afa.compiled.kernel.call import call2, kernel, peek
from afa.compiled.kernel.carry import STATES, load, renew, stay, summary
from afa.compiled.kernel.derive import repeated, step
from afa.compiled.kernel.forward import passed, promise, word
from afa.compiled.kernel.matches import accepted, announce
from afa.compiled.kernel.memory import room
from afa.compiled.kernel.names import (
    A_HIGH,
    A_LOW,
    A_QUIET,
    A_SLOTS,
    A_SPILL,
    ARC,
    BEGINNING,
    BUSY,
    C_EVENTS,
    C_M,
    C_NOW,
    C_P,
    C_R,
    C_V,
    C_W,
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
    PUNCTUATION,
    REACH,
    W_HIGH,
    W_LOW,
    W_NEW,
    W_REACH,
    W_ROWS,
    W_SOONEST,
    W_SOURCE,
)
from afa.compiled.kernel.rows import unique
from afa.compiled.kernel.steps import claims
from afa.compiled.kernel.swap import change_arc


@kernel
def forward_runs(m: Any, w: Any, p: Any, c: Any, b: int, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` (F_*) one by one; the first that must go another way, or a status.

    *Requires* `may_go_forward`.
    """
    v, s, cap = m[C_V], 4 + m[C_R], m[b + H_CAP]
    size = 2 + v
    order, times, events = b + HEAD, b + HEAD + LE * cap, b + HEAD + EV * cap
    lists, matches, reaches = b + HEAD + ND * cap, b + HEAD + MT * cap, b + HEAD + REACH * cap
    i, place, event_top = m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP]
    event, event_cap = b + m[b + H_EVENTS] + event_top * size, m[b + H_EVENT_CAP]
    base, slots, silent = m[C_M], m[C_P] + 8 * p[A_SLOTS], 1 << STATES
    n = load(m, w, b, place - 1, w[W_SOURCE]) if place > m[b + H_FIRST] else 0
    if n < 0:
        return n
    since, until, status, x = FOREVER, BEGINNING, DONE, low
    states = summary(m, w, p, b, n)
    first = i
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
        words = base + 8 * (event + E_WORDS)
        m[order + place] = i
        m[times + i] = le
        m[events + i] = event_top << 24 | 1
        m[lists + i] = 0
        m[matches + i] = 0
        wanted = states | silent
        if states != BUSY and le < w[W_LOW] and re >= w[W_HIGH] and call2(p[A_QUIET], words, slots) & wanted == wanted:
            if w[W_SOONEST] <= le:
                if not room(w, 64 + 8 * n):
                    status = NEED_UNDO
                    break
                w[W_SOONEST] = stay(m, w, b, n, le)
            m[reaches + i] = min(le, w[W_REACH])
        else:
            count = step(m, p, m[C_W], w[W_SOURCE], n, True, le, re, words, m[C_W] + 8 * w[W_NEW], w[W_ROWS])
            if count < 0:
                status = NEED_ROWS if count == -2 else DONE
                break
            if repeated(w, w[W_NEW], count, s):
                count = unique(w, w, w[W_NEW], count, s)
            if not room(w, 64 + 8 * n):
                status = NEED_UNDO
                break
            status = renew(m, w, b, i, n, count, le)
            if status < 0:
                break
            n = status
            if claims(m, p, b, i, w, w[W_SOURCE], n):
                found = accepted(m, w, p, w, w[W_SOURCE], n, le, 0)
                status = announce(m, w, p, b, i, found) if found >= 0 else found
                if status < 0:
                    break
            states = summary(m, w, p, b, n)
        i += 1
        place += 1
        event_top += 1
        event += size
        latest = le
        x += 1
    m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP] = i, place, event_top
    m[b + H_COPIES] += i - first
    passed(m, i - first, latest)
    return int(status if status < 0 else x)
