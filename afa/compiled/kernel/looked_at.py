"""Keys as Python looks at them: words of their headers, the strings that they refer to; and whether records are sound.

A batch names the keys in its first row, by their numbers; the second row has what is read or set of each.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.one_key import grow
from afa.compiled.kernel.scan_layout import *
from afa.compiled.kernel.scan_rows import classes_of, threads_at
from afa.compiled.kernel.scan_sound import sound_scan, sound_shared
from afa.compiled.kernel.unpacked import TOO_MUCH, block_of_key, pack

STEPS = -1  # instead of a field of `Block`: how many steps


@kernel
def heads_of(m: Memory, c: Any, n: int, name: int) -> int:
    """Read a word of the header of each of ``n`` keys, or STEPS. Returns DONE."""
    for k in range(n):
        b = Block(block_of_key(m, c[0, k]))
        if b:
            c[1, k] = b.last - b.first if name == STEPS else m[b + name]
    return DONE


@kernel
def set_heads(m: Memory, w: Scratch, c: Any, n: int, name: int) -> int:
    """Set a word of the header of each of ``n`` keys, from m.next on. Returns a status.

    *Requires* keys that have changed in this call, or a word that no rollback need restore.
    """
    while m.next < n:
        key = c[0, m.next]
        b = Block(block_of_key(m, key))
        if b and m[b + name] != c[1, m.next]:
            m[b + name] = c[1, m.next]
            if b == m.unpacked:
                status = pack(m, w, key, b, m.packed_limit)
                if status == TOO_MUCH:
                    status = min(grow(m, w, key, b, 0, DONE), DONE)
                if status < 0:
                    return status
        m.next += 1
    return DONE


@kernel
def mark_strings(m: Memory, c: Any, n: int) -> int:
    """Mark in row 2 of the batch the numbers below ``n`` of strings that keys refer to. Returns DONE.

    Row 0 says which words of a payload are strings, row 1 the same of a register, row 3 of a match where a scan chooses; m.ordered
    whether the sequence is one. Rows that a block has left behind count until it is moved, but for threads and matches of a scan.
    """
    v, r = m.payload_words, m.register_words
    for key in range(m.keys):
        b = Block(block_of_key(m, key))
        if b == 0:
            continue
        mark_rows(m, c, n, 0, v, b + b.events + EventRow.payload, EventRow.payload + v, b.event_top)
        if m.scans:
            mark_classes(m, c, n, b)
        else:
            mark_rows(m, c, n, 1, r, b + b.nodes + NodeRow.register, NodeRow.register + r, b.node_top)
            mark_rows(m, c, n, 1, r, b + b.matches + MatchRow.register, MatchRow.register + r, b.match_top)
        mark_rows(m, c, n, 0, v, b + b.pending + PendingRow.payload, PendingRow.payload + v, b.pending_top)
        if m.ordered == 2:
            for i in range(b.steps):
                mark_string(c, b.seq[i], n)
    return DONE


@kernel
def mark_classes(m: Memory, c: Any, n: int, b: Block) -> None:
    """Mark the strings of threads, and of what is shown; forget the others that measures hold."""
    b.kept = 0
    for place in range(b.first, b.last):
        at = StepClasses(classes_of(m, b, b.order[place]))
        s = Thread.register + m.held
        mark_rows(m, c, n, 1, m.held, threads_at(m, at) + Thread.register, s, at.threads)
    width = MatchRow.register + m.register_words
    for k in range(b.shown_first, b.shown_last):
        rows = b.matches_of[b.shown[k]]
        mark_rows(m, c, n, 3, m.told, b + b.matches + (rows.first + 1) * width + MatchRow.register, width, rows.count - 1)


@kernel
def mark_rows(m: Memory, c: Any, n: int, of: int, words: int, at: int, width: int, rows: int) -> None:
    """Mark the strings of ``rows`` rows, whose records begin at ``at``."""
    for j in range(words):
        if c[of, j]:
            for k in range(rows):
                mark_string(c, m[at + k * width + j], n)


@kernel
def mark_string(c: Any, number: int, n: int) -> None:
    """Mark a string; a row that was left behind may hold any number."""
    if 0 <= number < n:
        c[2, number] = 1


@kernel
def sound(m: Memory, p: Program, c: Any, n: int, states: int) -> int:
    """Check whether the records of ``n`` keys can be read: their words, in the order in which they are read; of a scan all blocks.

    Returns how many can't; the row of each of these keys becomes 1. It comes with how many strings may be sequences. Nothing of a
    record is trusted, but all words up to MOST behind its address must be readable.
    """
    wrong = 0 if m.scans == 0 or sound_shared(m, p, states) else 1
    for k in range(n):
        at, strings = KeyEntry(m.dir + c[0, k] * KeyEntry.SIZE).block, c[1, k]
        readable = at >= 0 or is_sound(m, -at, states, strings)
        if at > 0 and m.scans and wrong == 0:
            readable = sound_scan(m, p, at, states, strings)
        c[1, k] = 0 if readable else 1
        wrong += c[1, k]
    return wrong


@kernel
def is_sound(m: Memory, at: PackedKey, states: int, strings: int) -> bool:
    """Return whether a record is sound: all that its words say lies within it."""
    head = at.head
    end, flags = at + (head & HEAD_MASK), head >> HEAD_FLAGS
    n, waiting = head >> HEAD_BITS & HEAD_MASK, head >> 3 * HEAD_BITS & HEAD_MASK
    if head < 0 or end > at + MOST or flags >> HEAD - Block.runs:
        return False
    # Header, retractions, steps: each must begin before the end, and the last one end there.
    x = PackedStep(at.rest + waiting * (PendingRow.payload + m.payload_words))
    for name in range(Block.cleaned, HEAD):
        x += flags >> name - Block.runs & 1
    first, events = x, 0
    for _ in range(n):
        if x.rest > end:
            return False
        if m.ordered == 2 and (x.rest >= end or x.rest[0] < 0 or x.rest[0] >= strings):
            return False
        events += x.form & STEP_COUNT
        x = PackedStep(sound_step(m, at, x, end, first, states))
        if x == 0 or events > MOST:
            return False
    return x == end


@kernel
def has_end(m: Memory, step: PackedStep, end: int) -> bool:
    """Return whether all words that `first_end` reads of a step lie before ``end``, the end of its record."""
    form = step.form
    forms = form >> STEP_FORMS
    if form < 0 or form & STEP_COUNT == 0:
        return False
    return forms & (SF_FOREVER | SF_SPAN) != 0 or step.rest + (m.ordered != 0) + (forms & SF_REACH != 0) < end


@kernel
def sound_step(m: Memory, at: int, x: PackedStep, end: int, first: int, states: int) -> int:
    """Return where the step at ``x`` of the record at ``at`` ends, or 0 if it does not end in it. ``first``: where steps begin."""
    step, form, v, r = x, x.form, m.payload_words, m.register_words
    if form < 0:
        return 0
    forms, n = form >> STEP_FORMS, form & STEP_COUNT
    x += PackedStep.rest + (m.ordered != 0) + (forms & SF_REACH != 0)
    x += n * (v + (forms & (SF_FOREVER | SF_SPAN) == 0) + (forms & SF_COPIES != 0))
    # Nodes say by forms how long they are, and may point to an earlier step.
    for _ in range(form >> STEP_BITS & STEP_COUNT):
        if x >= end:
            return 0
        node = m[x]
        begin, kinds = node >> NODE_STATES & MOST, node >> (NODE_STATES + NODE_BEGINS) & (2 * VF_SMALL - 1)
        if node < 0 or node & (1 << NODE_STATES) - 1 >= states or (kinds & VF_SMALL and m.small == 0):
            return 0
        if begin and (at + begin < first or at + begin > step):
            return 0
        if kinds & VF_M == 0 and (begin == 0 or not has_end(m, at + begin, end)):
            return 0
        x += PackedNode.rest + (begin == 0) + (kinds & VF_M != 0) + (kinds & (VF_OPEN | VF_END) == VF_END)
        x += 0 if kinds & VF_SMALL else r
    x += (form >> 2 * STEP_BITS & STEP_COUNT) * (MatchRow.register - MatchRow.re + r + (forms & SF_HERE == 0))
    return x if x <= end else 0
