"""Events in order where only the longest count: each is appended, and changes a few rows of one list in columns.

The same as `forward`, from the list of the block's last step on. What one event changes of the list says `best_step`.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.best_list import count_finals
from afa.compiled.kernel.best_matches import best_matches
from afa.compiled.kernel.best_step import begin_list, change_columns, end_list
from afa.compiled.kernel.buffers import load_list
from afa.compiled.kernel.forward import LEAVE, between_loops, count_taken, set_columns
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel, peek
from afa.compiled.kernel.one_step import payload_word, put_step, row_of
from afa.compiled.kernel.other_rows import first_other, row_of_other, take_others


@kernel
def may_go_best(m: Any, p: Any, b: int) -> bool:
    """Return whether `forward_best` serves this program and this block."""
    return bool(p[P_COLUMNS] != 0 and m[C_RUNS] and p[P_TIMEOUT] == 0 and p[P_COUNTED] == 0 and m[b + H_PENDING_TOP] == 0)


@kernel
def forward_best(m: Any, w: Any, p: Any, c: Any, b: int, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` (F_*) one by one.

    Returns the first row that must go another way, or a status. *Requires* `may_go_best`.
    """
    cap, i, place, event_top = m[b + H_CAP], m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP]
    first, times = i, b + HEAD + LE * cap
    x = set_columns(m, w, p, c, b)
    latest = m[times + m[b + HEAD + place - 1]] if place > m[b + H_FIRST] else BEGINNING
    n = load_list(m, w, b, place - 1, w[W_SOURCE]) if place > m[b + H_FIRST] else 0
    if n < 0:
        return n
    status = begin_list(m, w, p, b, n)
    if status < 0:
        return status
    record, others = low, first_other(c, low)
    other = row_of_other(c, others)
    while record < high:
        if record == other:
            arcs = m[C_ARCS]
            after = take_others(m, w, p, c, others, high, latest)
            if m[C_ARCS] > arcs:
                count_finals(m, w, p, x)
            record, other = record + after - others, row_of_other(c, after)
            others = after
            if record == other:
                break
            continue
        row = row_of(c, record)
        le = peek(c[0, F_LE] + 8 * row)
        if le <= latest or le < m[C_EVENTS] or le >= w[x + X_CHANGE]:
            if between_loops(m, w, p, c, record, latest) == LEAVE:
                break
            count_finals(m, w, p, x)
        if place >= cap or i >= cap:
            status = NEED_BLOCK
            break
        if event_top >= m[b + H_EVENT_CAP]:
            status = NEED_EVENTS
            break
        status = best_step(m, w, p, c, b, i, place, event_top, row)
        if status < 0:
            break
        i, place, event_top, record, latest = i + 1, place + 1, event_top + 1, record + 1, le
    end_list(m, w, p, b, x, latest)
    m[b + H_STEPS], m[b + H_LAST], m[b + H_EVENT_TOP] = i, place, event_top
    return count_taken(m, i - first, latest, record, DONE if status == ASK else status)


@kernel
def best_step(m: Any, w: Any, p: Any, c: Any, b: int, i: int, place: int, event: int, row: int) -> int:
    """Make step ``i`` of the event in a row of the columns. Returns DONE, ASK: nothing is done, or NEED_*."""
    x, le = w[W_LOOP], peek(c[0, F_LE] + 8 * row)
    at = b + m[b + H_EVENTS] + event * (E_WORDS + m[C_V])
    re = peek(w[x + X_RE_AT] + 8 * (row & w[x + X_RE_MASK])) + (le & w[x + X_LE_MASK])
    m[at + E_RE], m[at + E_COPIES] = re, 1
    for j in range(m[C_V]):
        m[at + E_WORDS + j] = payload_word(c, j, row)
    fresh, top = change_columns(m, w, p, b, x, m[C_M] + 8 * (at + E_WORDS), re, le), m[b + H_NODE_TOP]
    if fresh < 0:
        return fresh
    put_step(m, b, i, place, event, le, top << 24 | fresh if fresh else 0, w[x + X_REACH])
    m[b + H_NODE_TOP] = top + fresh
    return best_matches(m, w, p, b, x, i, le) if w[x + X_FINALS] else DONE
