"""Rows in order of a key at rest, the common case of many keys: its record goes on, without being opened.

    before   [head | step | step | step 9]               its words stay as they are, but for the head
    draft    [head | ..                  | 12 | 15]      a step for each row behind them, its list derived from the one before
    after    [head | step | step | step 9 | 12 | 15]     in the same cell, or where that is full in another one

    before   the same                                    after a promise of all of it, at 10
    draft    [head | 10 | cover: what step 9 has alive | 12 | 15]      the same as `clean` leaves, and the new steps

Steps that a promise has made final only in part stay until the record is opened: they are not looked at here. Whatever is not
plain (several events at a time, retractions that wait, time-outs, runs, numbers, sequences) is left to `serve`: nothing is done.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.derive import call_step
from afa.compiled.kernel.desk import SWAPPED, put_draft
from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.heap import room, spell_out
from afa.compiled.kernel.lists import copy, unique
from afa.compiled.kernel.matches import accepted, log_match
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel, peek
from afa.compiled.kernel.one_step import payload_word
from afa.compiled.kernel.rest import read_nodes, span_of, write_node

LISTS = 120
"""The rows of a list: two of them stand on the desk."""
ROWS = 40
"""The most rows of a unit that are tried."""


@kernel
def goes_on(m: Any, w: Any, p: Any) -> bool:
    """Return whether this program and these arrays let records go on."""
    if m[C_LONGEST]:
        return False
    if m[C_REST] == 0 or m[C_DRAFT] == 0 or m[C_DESK] == 0 or m[C_ORDERED] or m[C_GAPLESS] or p[P_IGNORABLE] or m[C_TIES]:
        return False
    return bool(p[P_STEP] != 0 and p[P_LOOP] != 0 and p[P_TIMEOUT] == 0 and p[P_COUNTED] == 0 and w[W_PLACES] >= 64)


@kernel
def go_on(m: Any, w: Any, p: Any, c: Any, key: int, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of W_INDEX, of one key, in order. Returns how many were taken, all or none, or a status.

    *Requires* `goes_on`. A status is NEED_UNDO, NEED_HEAP, NEED_LOG, NEED_TEMP; then nothing is done.
    """
    entry = m[C_DIR] + key * D_SIZE
    held, logged = m[entry + D_BLOCK], w[W_LOG_TOP]
    if held > 0 or high - low > ROWS:
        return 0
    if not room(w, SWAPPED + 16):
        return NEED_UNDO
    w[W_KEY] = key
    words, clean = begin_draft(m, w, -held, m[entry + D_CLEAN])
    if words == 0:
        return 0
    kept = words if clean == NOWHERE else 0
    first = m[entry + D_CLEAN] if clean == NOWHERE else clean
    le = le_of(w, c, low)
    status = write_rows(m, w, p, c, low, high, words, -held if kept else m[C_DRAFT])
    if status > 0:
        if clean != NOWHERE and w[W_OWED] > 0 and m[entry + D_CHANGED] == m[C_SERIAL]:
            spell_out(m, w)
        status = put_draft(m, w, key, status, kept)
        if status == DONE:
            put_deadlines(m, key, FOREVER, min(first, le + 1))
            m[entry + D_CHANGED] = m[C_SERIAL]
            m[C_CHANGES] += high - low
            m[C_NOW] = max(m[C_NOW], le_of(w, c, high - 1) + 1)
            return high - low
    w[W_LOG_TOP] = logged
    return int(status)


@kernel
def le_of(w: Any, c: Any, k: int) -> int:
    """Return LE of a row at W_INDEX."""
    return int(peek(c[0, F_LE] + 8 * w[w[W_INDEX] + k]))


@kernel
def begin_draft(m: Any, w: Any, at: int, clean: int) -> Any:
    """Draft what a promise leaves of the record at ``at`` (0: nothing is held), if that is less than all of it.

    The list of its last step comes to the desk. W_READY gets where the steps begin at which they began: [start, offset]..; W_MADE
    how many of these, W_FROM of rows. Returns how many words it has, 0: the record is not plain; and the deadline, or NOWHERE for
    that of the entry: all of the record stays.
    """
    draft = m[C_DRAFT]
    rows = m[C_DESK] + m[m[C_DESK] + H_NODES]
    s, n, pairs, known = N_REG + m[C_R], 0, 0, w[W_READY]
    w[W_MADE] = w[W_FROM] = 0
    m[draft] = ZF_RUNS << HEAD_FLAGS
    if at == 0:
        return Z_WORDS, FOREVER
    head = m[at + Z_HEAD]
    flags, begin = head >> HEAD_FLAGS, head >> 2 * HEAD_BITS & HEAD_MASK
    if flags & ~(ZF_RUNS | ZF_CLEANED | ZF_SINCE) or head >> 3 * HEAD_BITS & HEAD_MASK or head >> HEAD_BITS & HEAD_MASK == 0:
        return 0, 0
    if flags & ZF_CLEANED and m[at + Z_WORDS] > m[C_FINAL]:  # more is promised of this key than of others
        return 0, 0
    step = at + begin
    form, le = m[step + S_FORM], m[step + S_LE]
    forms, events = form >> STEP_FORMS, form & STEP_COUNT
    if forms & (SF_REACH | SF_COPIES) or events > 1:
        return 0, 0
    x = step + S_WORDS + events * (m[C_V] + (forms & (SF_FOREVER | SF_SPAN) == 0))
    n = form >> STEP_BITS & STEP_COUNT
    if n > LISTS:
        return 0, 0
    for k in range(n):
        offset, row = m[x + V_FORM] >> NODE_STATES & MOST, rows + k * s
        x = read_nodes(m, at, x, row, 1)
        if m[row + N_END] != ALONE:
            return 0, 0
        if offset and (pairs == 0 or w[known + 2 * pairs - 2] != m[row + N_START]):
            w[known + 2 * pairs], w[known + 2 * pairs + 1] = m[row + N_START], offset
            pairs += 1
    w[W_FROM] = n
    if le >= m[C_FINAL]:
        w[W_MADE] = pairs
        return head & HEAD_MASK, NOWHERE
    if form >> 2 * STEP_BITS & STEP_COUNT and forms & SF_HERE == 0:
        return 0, 0
    return write_cover(m, w, le, rows, n)


@kernel
def write_cover(m: Any, w: Any, le: int, rows: int, n: int) -> Any:
    """Write a draft in which nothing is but what goes on of the list of the last step, at ``le``. Returns as `begin_draft`."""
    draft, s, t, alive, clean = m[C_DRAFT], N_REG + m[C_R], m[C_FINAL], 0, FOREVER
    for k in range(n):
        re = m[rows + k * s + N_M]
        if re > t:
            clean = min(clean, re)
            if alive != k:
                copy(m, rows + k * s, m, rows + alive * s, s)
            alive += 1
    if Z_WORDS + 1 + S_WORDS + alive * (s - 1) > m[C_REST]:
        return 0, 0
    w[W_FROM] = alive
    at, flags = draft + Z_WORDS, ZF_RUNS
    if alive or t > m[C_KNOWN]:
        flags |= ZF_CLEANED
        m[at] = t
        at += 1
    m[draft] = flags << HEAD_FLAGS
    if alive:
        m[draft] = flags << HEAD_FLAGS | (at - draft) << 2 * HEAD_BITS | 1 << HEAD_BITS
        m[at + S_FORM], m[at + S_LE] = alive << STEP_BITS, le
        at = write_list(m, w, draft, draft, at, at + S_WORDS, rows, alive)
    return (at - draft if at else 0), clean


@kernel
def write_list(m: Any, w: Any, base: int, draft: int, step: int, at: int, rows: int, n: int) -> int:
    """Write ``n`` rows as the nodes of the step at ``step``, the draft's last one. Returns what follows.

    ``base``: where the record is whose words stay, or the draft. What is drafted behind them has its place by their number.
    """
    known, j, pairs, own, le = w[W_READY], 0, w[W_MADE], step - draft, m[step + S_LE]
    kept = 0 if base == draft else m[base] & HEAD_MASK
    for k in range(n):
        row = rows + k * (N_REG + m[C_R])
        start = m[row + N_START]
        while j < pairs and w[known + 2 * j] < start:
            j += 1
        begin = 0
        if start == le:
            begin = own
        elif j < pairs and w[known + 2 * j] == start:
            begin = w[known + 2 * j + 1]
        at = write_node(m, row, at, begin, begin + (draft if begin >= kept else base))
        if at == 0:
            return 0
    return at


@kernel
def write_rows(m: Any, w: Any, p: Any, c: Any, low: int, high: int, words: int, base: int) -> int:
    """Draft a step for each row behind the ``words`` of the record at ``base``, or of the draft, and a head.

    Returns how many words there are then, 0: left; or a status.
    """
    draft, s, n = m[C_DRAFT], N_REG + m[C_R], w[W_FROM]
    rows = m[C_DESK] + m[m[C_DESK] + H_NODES]
    out = rows + (LISTS + 8) * s
    steps, flags = m[base] >> HEAD_BITS & HEAD_MASK, m[base] >> HEAD_FLAGS
    begin = m[base] >> 2 * HEAD_BITS & HEAD_MASK
    latest = m[base + begin + S_LE] if steps else BEGINNING
    at = draft + words
    for k in range(low, high):
        row = w[w[W_INDEX] + k]
        le = peek(c[0, F_LE] + 8 * row)
        if (le <= latest and steps) or 2 * w[W_MADE] + 2 >= w[W_ROWS] * s:
            return 0
        seek(p, le)
        if p[P_SPILL] or at - draft + S_WORDS + m[C_V] + 1 > m[C_REST]:
            return 0
        step = at
        at = write_event(m, c, step, le, row)
        n = call_step(m, p, m[C_M], rows, n, True, le, re_of(m, c, le, row), m[C_M] + 8 * (at - m[C_V]), m[C_M] + 8 * out, LISTS)
        if n < 0 or n >= w[W_HASHES]:
            return 0
        for i in range(n):
            m[out + i * s + N_END] = ALONE
        n = unique(m, w, out, n, s)
        if n > w[W_BUDGET]:
            return 0
        found = accepted(m, w, p, m, out, n, le, 0)
        if found < 0:
            return int(found)
        if at - draft + n * (s - 1) + found * (1 + m[C_R]) > m[C_REST]:
            return 0
        w[w[W_READY] + 2 * w[W_MADE]], w[w[W_READY] + 2 * w[W_MADE] + 1] = le, step - draft
        at = write_list(m, w, base, draft, step, at, out, n)
        if at == 0:
            return 0
        w[W_MADE] += 1
        m[step + S_FORM] |= n << STEP_BITS
        if found:
            if w[W_LOG_TOP] + found > w[W_LOG_CAP]:
                return NEED_LOG
            at = write_matches(m, w, step, at, found)
        begin, steps, latest = step - draft, steps + 1, le
        rows, out = out, rows
    m[draft + Z_HEAD] = (at - draft) | steps << HEAD_BITS | begin << 2 * HEAD_BITS | flags << HEAD_FLAGS
    return at - draft


@kernel
def re_of(m: Any, c: Any, le: int, row: int) -> int:
    """Return RE of a row."""
    if c[0, F_RE]:
        return int(peek(c[0, F_RE] + 8 * row))
    return le + c[0, F_WINDOW] if c[0, F_WINDOW] else FOREVER


@kernel
def write_event(m: Any, c: Any, step: int, le: int, row: int) -> int:
    """Write the step of one event. Returns what follows on its payload."""
    at, re = step + S_WORDS, re_of(m, c, le, row)
    m[step + S_LE] = le
    if re == FOREVER:
        m[step + S_FORM] = 1 | SF_FOREVER << STEP_FORMS
    else:
        span = span_of(le, re)
        if span >= 0:
            m[step + S_FORM] = 1 | SF_SPAN << STEP_FORMS | span << STEP_SPANS
        else:
            m[step + S_FORM], m[at] = 1, re
            at += 1
    for j in range(m[C_V]):
        m[at + j] = payload_word(c, j, row)
    return int(at + m[C_V])


@kernel
def write_matches(m: Any, w: Any, step: int, at: int, found: int) -> int:
    """Write the matches at W_TEMP behind the nodes of a step, and to the output log. Returns what follows."""
    width = M_REG + m[C_R]
    for k in range(found):
        match = w[W_TEMP] + k * width
        log_match(m, w, w, match, 1)
        copy(w, match + M_RE, m, at, width - M_RE)
        at += width - M_RE
    m[step + S_FORM] |= found << 2 * STEP_BITS | SF_HERE << STEP_FORMS
    return at
