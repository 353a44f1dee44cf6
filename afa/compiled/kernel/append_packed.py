"""Append rows in order to a packed key without unpacking it: the common case of many keys.

    before   [head | step | step | step 9]               its words stay, but for the head
    draft    [head | ..                  | 12 | 15]      a step for each row, its list derived from the one before
    after    [head | step | step | step 9 | 12 | 15]     in the same cell, or in another one where that is full

    before   the same                                    after a promise of all of it, at 10
    draft    [head | 10 | cover: what step 9 has alive | 12 | 15]      the same as `clean` leaves, and the new steps

Where a promise has made only some steps final, all stay until the key is unpacked. Keys that are not plain (several events at a
time, waiting retractions, time-outs, runs, numbers, sequences) are left to `serve`, unchanged.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.derive import call_step
from afa.compiled.kernel.dispatch import ROWS
from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.heap import room, save_in_full
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy, unique
from afa.compiled.kernel.matches import accepted, log_match
from afa.compiled.kernel.native_call import kernel, peek
from afa.compiled.kernel.one_step import put_payload, re_of
from afa.compiled.kernel.packed_keys import read_nodes, span_of, write_node
from afa.compiled.kernel.unpacked import SWAPPED, put_draft

LISTS = 120
"""The most rows of a list: the unpack buffer holds two lists."""


@kernel
def append_packed(m: Memory, w: Scratch, p: Program, c: Any, key: int, low: int, high: int) -> int:
    """Append rows ``low`` to ``high`` of w.index, of one key, in order. Returns how many were taken, all or none, or a status.

    *Requires* `may_append_packed`. A status is NEED_UNDO, NEED_HEAP, NEED_LOG, NEED_TEMP; then nothing is done.
    """
    entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
    packed, logged = -entry.block, w.log_top
    if packed < 0 or high - low > ROWS:
        return 0
    if not room(w, SWAPPED + 16):
        return NEED_UNDO
    w.key = key * m.shards + m.shard
    # Keep the old words, or draft the cover that a promise leaves of them.
    words, clean = begin_draft(m, w, packed)
    if words == 0:
        return 0
    kept = words if clean == NOWHERE else 0  # how many words of the old record stay
    first = entry.clean if clean == NOWHERE else clean
    le = le_of(w, c, low)
    # Draft a step for each row, then store old words and draft as one record.
    status = write_rows(m, w, p, c, low, high, words, packed if kept else m.draft)
    if status > 0:
        if clean != NOWHERE and w.owed > 0 and entry.changed == m.serial:
            save_in_full(m, w)  # INVARIANT: a record saved by its head only grows
        status = put_draft(m, w, key, status, kept)
        if status == DONE:
            put_deadlines(m, key, FOREVER, min(first, le + 1))
            entry.changed = m.serial
            m.changes += high - low
            m.now = max(m.now, le_of(w, c, high - 1) + 1)
            return high - low
    w.log_top = logged  # nothing else was written but the draft
    return status


@kernel
def le_of(w: Scratch, c: TableWords, k: int) -> int:
    """Return the LE of a row at w.index."""
    return peek(c.le + 8 * w[w.index + k])


@kernel
def begin_draft(m: Memory, w: Scratch, at: PackedKey) -> Any:
    """Draft the cover of the record at ``at`` if a promise has made all its steps final; 0: the key has no record.

    Unpacks the list of the last step, w.listed rows. Writes to w.ready where in the record the steps begin at which these rows
    began: w.begins pairs [start, offset]. Returns how many words the draft has (0: the record is not plain), and its deadline.
    The deadline NOWHERE says that the whole record and the deadline of the entry stay.
    """
    draft = m.draft
    rows = m.unpacked + Block(m.unpacked).nodes
    s, pairs, known = NodeRow.register + m.register_words, 0, w.ready
    w.begins = w.listed = 0
    m[draft] = ZF_RUNS << HEAD_FLAGS
    if at == 0:
        return PackedKey.rest, FOREVER
    # Refuse what is not plain, by the flags of the head and the forms of the last step.
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
    node = PackedNode(step.rest + events * (m.payload_words + (forms & (SF_FOREVER | SF_SPAN) == 0)))
    n = form >> STEP_BITS & STEP_COUNT
    if n > LISTS:
        return 0, 0
    # Unpack its list. Rows stand by start, so that each start is noted once.
    for k in range(n):
        offset, row = node.form >> NODE_STATES & MOST, NodeRow(rows + k * s)
        node = PackedNode(read_nodes(m, at, node, row, 1))
        if row.end != ALONE:
            return 0, 0
        if offset and (pairs == 0 or w[known + 2 * pairs - 2] != row.start):
            w[known + 2 * pairs], w[known + 2 * pairs + 1] = row.start, offset
            pairs += 1
    w.listed = n
    if le >= m.final:
        w.begins = pairs
        return head & HEAD_MASK, NOWHERE
    if form >> 2 * STEP_BITS & STEP_COUNT and forms & SF_HERE == 0:
        return 0, 0
    return write_cover(m, w, le, rows, n)


@kernel
def write_cover(m: Memory, w: Scratch, le: int, rows: int, n: int) -> Any:
    """Draft a cover: of the list of the last step, at ``le``, the rows that outlive the promise. Returns as `begin_draft`."""
    draft, s, t, alive, clean = m.draft, NodeRow.register + m.register_words, m.final, 0, FOREVER
    # Keep the rows that are alive; the first of them to end is the deadline.
    for k in range(n):
        re = NodeRow(rows + k * s).until
        if re > t:
            clean = min(clean, re)
            if alive != k:
                copy(m, rows + k * s, m, rows + alive * s, s)
            alive += 1
    if PackedKey.rest + 1 + PackedStep.rest + alive * (s - 1) > m.packed_limit:
        return 0, 0
    w.listed = alive
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
    """Write ``n`` rows as the nodes of the step at ``step``, the draft's last one. Returns the word behind them.

    ``base``: the record whose words stay, or the draft. Offsets in the draft count from the begin of the whole record.
    """
    known, j, pairs, own, le = w.ready, 0, w.begins, step - draft, step.le
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

    Returns how many words the record has then (0: the rows go another way), or a status.
    """
    draft, s, n = PackedKey(m.draft), NodeRow.register + m.register_words, w.listed
    rows = m.unpacked + Block(m.unpacked).nodes
    out = rows + (LISTS + 8) * s
    steps, flags = m[base] >> HEAD_BITS & HEAD_MASK, m[base] >> HEAD_FLAGS
    begin = m[base] >> 2 * HEAD_BITS & HEAD_MASK
    latest = PackedStep(base + begin).le if steps else BEGINNING
    at = draft + words
    for k in range(low, high):
        row = w[w.index + k]
        le = peek(c.le + 8 * row)
        if (le <= latest and steps) or 2 * w.begins + 2 >= w.rows * s:
            return 0
        # Draft the step and its event, and derive its list from the one before.
        seek(p, le)
        if p.spill or at - draft + PackedStep.rest + m.payload_words + 1 > m.packed_limit:
            return 0
        step = PackedStep(at)
        at = write_event(m, c, step, le, row)
        n = call_step(
            m, p, m.m_at, rows, n, True, le, re_of(c, le, row), m.m_at + 8 * (at - m.payload_words), m.m_at + 8 * out, LISTS
        )
        if n < 0 or n >= w.hashes:
            return 0
        for i in range(n):
            NodeRow(out + i * s).end = ALONE
        n = unique(m, w, out, n, s)
        if n > w.budget:
            return 0
        # Draft nodes and matches. INVARIANT: nothing is written where the record would get longer than m.packed_limit.
        found = accepted(m, w, p, m, out, n, le)
        if found < 0:
            return found
        if at - draft + n * (s - 1) + found * (1 + m.register_words) > m.packed_limit:
            return 0
        w[w.ready + 2 * w.begins], w[w.ready + 2 * w.begins + 1] = le, step - draft
        at = write_list(m, w, base, draft, step, at, out, n)
        if at == 0:
            return 0
        w.begins += 1
        step.form |= n << STEP_BITS
        if found:
            if w.log_top + found > w.log_cap:
                return NEED_LOG
            at = write_matches(m, w, step, at, found)
        begin, steps, latest = step - draft, steps + 1, le
        rows, out = out, rows  # two lists in turn
    draft.head = (at - draft) | steps << HEAD_BITS | begin << 2 * HEAD_BITS | flags << HEAD_FLAGS
    return at - draft


@kernel
def write_event(m: Memory, c: Any, step: PackedStep, le: int, row: int) -> int:
    """Write the step of one event. Returns the word behind its payload."""
    at, re = int(step.rest), re_of(c, le, row)
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
    put_payload(m, c, at, row)
    return at + m.payload_words


@kernel
def write_matches(m: Memory, w: Scratch, step: PackedStep, at: int, found: int) -> int:
    """Write the matches at w.temp behind the nodes of a step, and to the output log. Returns the word behind them."""
    width = MatchRow.register + m.register_words
    for k in range(found):
        match = w.temp + k * width
        log_match(m, w, w, match, 1)
        copy(w, match + MatchRow.re, m, at, width - MatchRow.re)
        at += width - MatchRow.re
    step.form |= found << 2 * STEP_BITS | SF_HERE << STEP_FORMS
    return at
