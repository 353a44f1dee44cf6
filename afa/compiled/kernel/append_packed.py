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
from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.heap import room, save_in_full
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy, unique
from afa.compiled.kernel.matches import accepted, log_match
from afa.compiled.kernel.native_call import kernel, peek
from afa.compiled.kernel.one_step import payload_word
from afa.compiled.kernel.packed_keys import read_nodes, span_of, write_node
from afa.compiled.kernel.unpacked import SWAPPED, put_draft

LISTS = 120
"""The rows of a list: two of them stand on the desk."""
ROWS = 40
"""The most rows of a unit that are tried."""


@kernel
def may_append_packed(m: Memory, w: Scratch, p: Program) -> bool:
    """Return whether this program and these arrays let records go on."""
    if m.longest:
        return False
    if m.rest == 0 or m.draft == 0 or m.unpacked == 0 or m.ordered or m.gapless or p.ignorable or m.ties:
        return False
    return bool(p.step != 0 and p.loop != 0 and p.timeout == 0 and p.counted == 0 and w.places >= 64)


@kernel
def append_packed(m: Memory, w: Scratch, p: Program, c: Any, key: int, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of w.index, of one key, in order. Returns how many were taken, all or none, or a status.

    *Requires* `goes_on`. A status is NEED_UNDO, NEED_HEAP, NEED_LOG, NEED_TEMP; then nothing is done.
    """
    entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
    held, logged = entry.block, w.log_top
    if held > 0 or high - low > ROWS:
        return 0
    if not room(w, SWAPPED + 16):
        return NEED_UNDO
    w.key = key
    words, clean = begin_draft(m, w, -held, entry.clean)
    if words == 0:
        return 0
    kept = words if clean == NOWHERE else 0
    first = entry.clean if clean == NOWHERE else clean
    le = le_of(w, c, low)
    status = write_rows(m, w, p, c, low, high, words, -held if kept else m.draft)
    if status > 0:
        if clean != NOWHERE and w.owed > 0 and entry.changed == m.serial:
            save_in_full(m, w)
        status = put_draft(m, w, key, status, kept)
        if status == DONE:
            put_deadlines(m, key, FOREVER, min(first, le + 1))
            entry.changed = m.serial
            m.changes += high - low
            m.now = max(m.now, le_of(w, c, high - 1) + 1)
            return high - low
    w.log_top = logged
    return int(status)


@kernel
def le_of(w: Scratch, c: TableWords, k: int) -> int:
    """Return LE of a row at w.index."""
    return int(peek(c.le + 8 * w[w.index + k]))


@kernel
def begin_draft(m: Memory, w: Scratch, at: PackedKey, clean: int) -> Any:
    """Draft what a promise leaves of the record at ``at`` (0: nothing is held), if that is less than all of it.

    The list of its last step comes to the desk. w.ready gets where the steps begin at which they began: [start, offset]..; w.made
    how many of these, w.marked_from of rows. Returns how many words it has, 0: the record is not plain; and the deadline, or
    NOWHERE for that of the entry: all of the record stays.
    """
    draft = m.draft
    rows = m.unpacked + Block(m.unpacked).nodes
    s, n, pairs, known = NodeRow.register + m.register_words, 0, 0, w.ready
    w.made = w.marked_from = 0
    m[draft] = ZF_RUNS << HEAD_FLAGS
    if at == 0:
        return PackedKey.rest, FOREVER
    head = at.head
    flags, begin = head >> HEAD_FLAGS, head >> 2 * HEAD_BITS & HEAD_MASK
    if flags & ~(ZF_RUNS | ZF_CLEANED | ZF_SINCE) or head >> 3 * HEAD_BITS & HEAD_MASK or head >> HEAD_BITS & HEAD_MASK == 0:
        return 0, 0
    if flags & ZF_CLEANED and at.rest[0] > m.final:  # more is promised of this key than of others
        return 0, 0
    step = PackedStep(at + begin)
    form, le = step.form, step.le
    forms, events = form >> STEP_FORMS, form & STEP_COUNT
    if forms & (SF_REACH | SF_COPIES) or events > 1:
        return 0, 0
    x = PackedNode(step.rest + events * (m.payload_words + (forms & (SF_FOREVER | SF_SPAN) == 0)))
    n = form >> STEP_BITS & STEP_COUNT
    if n > LISTS:
        return 0, 0
    for k in range(n):
        offset, row = x.form >> NODE_STATES & MOST, NodeRow(rows + k * s)
        x = PackedNode(read_nodes(m, at, x, row, 1))
        if row.end != ALONE:
            return 0, 0
        if offset and (pairs == 0 or w[known + 2 * pairs - 2] != row.start):
            w[known + 2 * pairs], w[known + 2 * pairs + 1] = row.start, offset
            pairs += 1
    w.marked_from = n
    if le >= m.final:
        w.made = pairs
        return head & HEAD_MASK, NOWHERE
    if form >> 2 * STEP_BITS & STEP_COUNT and forms & SF_HERE == 0:
        return 0, 0
    return write_cover(m, w, le, rows, n)


@kernel
def write_cover(m: Memory, w: Scratch, le: int, rows: int, n: int) -> Any:
    """Write a draft in which nothing is but what goes on of the list of the last step, at ``le``. Returns as `begin_draft`."""
    draft, s, t, alive, clean = m.draft, NodeRow.register + m.register_words, m.final, 0, FOREVER
    for k in range(n):
        re = NodeRow(rows + k * s).until
        if re > t:
            clean = min(clean, re)
            if alive != k:
                copy(m, rows + k * s, m, rows + alive * s, s)
            alive += 1
    if PackedKey.rest + 1 + PackedStep.rest + alive * (s - 1) > m.rest:
        return 0, 0
    w.marked_from = alive
    at, flags = PackedStep(draft + PackedKey.rest), ZF_RUNS
    if alive or t > m.known:
        flags |= ZF_CLEANED
        m[at] = t
        at += 1
    m[draft] = flags << HEAD_FLAGS
    if alive:
        m[draft] = flags << HEAD_FLAGS | (at - draft) << 2 * HEAD_BITS | 1 << HEAD_BITS
        at.form, at.le = alive << STEP_BITS, le
        at = PackedStep(write_list(m, w, draft, draft, at, at.rest, rows, alive))
    return (at - draft if at else 0), clean


@kernel
def write_list(m: Memory, w: Scratch, base: int, draft: int, step: PackedStep, at: int, rows: int, n: int) -> int:
    """Write ``n`` rows as the nodes of the step at ``step``, the draft's last one. Returns what follows.

    ``base``: where the record is whose words stay, or the draft. What is drafted behind them has its place by their number.
    """
    known, j, pairs, own, le = w.ready, 0, w.made, step - draft, step.le
    kept = 0 if base == draft else m[base] & HEAD_MASK
    for k in range(n):
        row = NodeRow(rows + k * (NodeRow.register + m.register_words))
        start = row.start
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
def write_rows(m: Memory, w: Scratch, p: Program, c: TableWords, low: int, high: int, words: int, base: int) -> int:
    """Draft a step for each row behind the ``words`` of the record at ``base``, or of the draft, and a head.

    Returns how many words there are then, 0: left; or a status.
    """
    draft, s, n = PackedKey(m.draft), NodeRow.register + m.register_words, w.marked_from
    rows = m.unpacked + Block(m.unpacked).nodes
    out = rows + (LISTS + 8) * s
    steps, flags = m[base] >> HEAD_BITS & HEAD_MASK, m[base] >> HEAD_FLAGS
    begin = m[base] >> 2 * HEAD_BITS & HEAD_MASK
    latest = PackedStep(base + begin).le if steps else BEGINNING
    at = draft + words
    for k in range(low, high):
        row = w[w.index + k]
        le = peek(c.le + 8 * row)
        if (le <= latest and steps) or 2 * w.made + 2 >= w.rows * s:
            return 0
        seek(p, le)
        if p.spill or at - draft + PackedStep.rest + m.payload_words + 1 > m.rest:
            return 0
        step = PackedStep(at)
        at = write_event(m, c, step, le, row)
        n = call_step(
            m, p, m.m_at, rows, n, True, le, re_of(m, c, le, row), m.m_at + 8 * (at - m.payload_words), m.m_at + 8 * out, LISTS
        )
        if n < 0 or n >= w.hashes:
            return 0
        for i in range(n):
            NodeRow(out + i * s).end = ALONE
        n = unique(m, w, out, n, s)
        if n > w.budget:
            return 0
        found = accepted(m, w, p, m, out, n, le, 0)
        if found < 0:
            return int(found)
        if at - draft + n * (s - 1) + found * (1 + m.register_words) > m.rest:
            return 0
        w[w.ready + 2 * w.made], w[w.ready + 2 * w.made + 1] = le, step - draft
        at = write_list(m, w, base, draft, step, at, out, n)
        if at == 0:
            return 0
        w.made += 1
        step.form |= n << STEP_BITS
        if found:
            if w.log_top + found > w.log_cap:
                return NEED_LOG
            at = write_matches(m, w, step, at, found)
        begin, steps, latest = step - draft, steps + 1, le
        rows, out = out, rows
    draft.head = (at - draft) | steps << HEAD_BITS | begin << 2 * HEAD_BITS | flags << HEAD_FLAGS
    return at - draft


@kernel
def re_of(m: Memory, c: TableWords, le: int, row: int) -> int:
    """Return RE of a row."""
    if c.re:
        return int(peek(c.re + 8 * row))
    return le + c.window if c.window else FOREVER


@kernel
def write_event(m: Memory, c: Any, step: PackedStep, le: int, row: int) -> int:
    """Write the step of one event. Returns what follows on its payload."""
    at, re = int(step.rest), re_of(m, c, le, row)
    step.le = le
    if re == FOREVER:
        step.form = 1 | SF_FOREVER << STEP_FORMS
    else:
        span = span_of(le, re)
        if span >= 0:
            step.form = 1 | SF_SPAN << STEP_FORMS | span << STEP_SPANS
        else:
            step.form, m[at] = 1, re
            at += 1
    for j in range(m.payload_words):
        m[at + j] = payload_word(c, j, row)
    return int(at + m.payload_words)


@kernel
def write_matches(m: Memory, w: Scratch, step: PackedStep, at: int, found: int) -> int:
    """Write the matches at w.temp behind the nodes of a step, and to the output log. Returns what follows."""
    width = MatchRow.register + m.register_words
    for k in range(found):
        match = w.temp + k * width
        log_match(m, w, w, match, 1)
        copy(w, match + MatchRow.re, m, at, width - MatchRow.re)
        at += width - MatchRow.re
    step.form |= found << 2 * STEP_BITS | SF_HERE << STEP_FORMS
    return at
