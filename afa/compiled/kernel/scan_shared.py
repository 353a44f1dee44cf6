"""Rows whose register is that of the row before: what becomes of classes follows from the arcs that take the row, once for all.

Where conditions read the row and the one before (PREV), and nothing else of the match, threads have no register. So the classes
behind a row, and the links to them, follow from the classes before it and the *ways*, the arcs that take it, as bits; rows of all
keys share them: one word a row.

    row     ways     classes before     SharedClasses      nodes_of
    a       0b001    none               (0, 001) -> 40     40:0        no rows of the block's own: where it stands in Memory.shared
    b       0b011    40                 (40, 011) -> 72    72:0
    b       0b011    72                 (72, 011) -> 99    99:0        other links to the classes that stand at 72: StepClasses.same
    b       0b011    72                 (72, 011) -> 99    99:0
"""

from __future__ import annotations

from afa.compiled.kernel.heap import take_block
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy, same_words
from afa.compiled.kernel.native_call import call4, kernel
from afa.compiled.kernel.scan_layout import *


@kernel
def row_register(m: Memory, w: Scratch) -> int:
    """Return where in w the register stands that the row before gives; behind it there is room for one more."""
    return w.ready + 8


@kernel
def first_register(m: Memory, w: Scratch) -> int:
    """Return where in w the register stands where there is no row before."""
    return row_register(m, w) + 2 * (m.shares + 1)


@kernel
def set_registers(m: Memory, w: Scratch, p: Program, b: Block, prior: int) -> None:
    """Set both registers, for the row behind that of a step; NOWHERE: for one before which no attempt begins."""
    copy(p, p.begin + NodeRow.register, w, first_register(m, w), m.shares)
    if prior == NOWHERE:
        copy(p, p.begin + NodeRow.register, w, row_register(m, w), m.shares)
        return
    last = EventRow(b + b.events + b.events_of[prior].first * (EventRow.payload + m.payload_words))
    register = row_register(m, w)
    for j in range(m.shares):
        word = p[p.before + j]
        w[register + j] = 1 if word == NOWHERE else last.payload[word]


@kernel
def ways_of(m: Memory, w: Scratch, p: Program, event: EventRow, le: int) -> int:
    """Return which arcs take an event, as bits. *Requires* `seek`, `set_registers`.

    NOWHERE: for some arc only the user's function knows, which is asked where a thread is there that may take it, and else never.
    """
    if p.asked == 0:
        collect_asks(p)
    if p.asked == TOO_MANY_ARCS:
        return NOWHERE
    known, none, out = row_register(m, w), first_register(m, w), m.w_at + 8 * (row_register(m, w) + m.shares + 1)
    found, m.instant = 0, le
    for k in range(p.askcount):
        ask = AskedOnce(p.asks + k * AskedOnce.SIZE)
        if ask.ways:
            taken = NOWHERE
            if ask.code:
                register = m.w_at + 8 * (none if ask.begins else known)
                taken = call4(ask.code, m.m_at + 8 * event.payload, register, out, ask.constants)
            if taken < 0:
                return NOWHERE
            found |= ask.ways * taken
    return found


@kernel
def collect_asks(p: Program) -> None:
    """Write which of the arcs in force now ask each condition."""
    p.asked = ASKED
    for k in range(p.askcount):
        AskedOnce(p.asks + k * AskedOnce.SIZE).ways = 0
    for state in range(p.states):
        link = p[p.first + state]
        while link >= 0:
            row = ArcRow(p.rows + link * ArcRow.SIZE)
            code = ArcWords(p.codes + row.code * ArcWords.SIZE)
            if code.rank >= 0:
                ask = AskedOnce(p.asks + code.same * AskedOnce.SIZE)
                ask.code, ask.constants, ask.begins = code.code, code.constants, state == 0
                ask.ways |= 1 << max(code.way, 0)
                if code.way < 0:
                    p.asked = TOO_MANY_ARCS
            link = row.next


@kernel
def entry_of(m: Memory, before: int, ways: int) -> int:
    """Return the address of the entry for classes before a row and its ways, free or not."""
    at = ((before ^ ways ^ ways >> 17) * 0x9E3779B1 >> 12) & (1 << SHARED_BITS) - 1
    while True:
        entry = SharedEntry(m.shared + SharedClasses.table + at * SharedEntry.SIZE)
        if entry.at == 0 or (entry.before == before and entry.ways == ways):
            return entry
        at = (at + 1) & (1 << SHARED_BITS) - 1


@kernel
def make_shared(m: Memory) -> int:
    """Make the block. Returns DONE or NEED_HEAP."""
    at = take_block(m, SHARED_WORDS)
    if at < 0:
        return at
    size = m[at]
    for j in range(SharedClasses.rest):
        m[at + j] = 0
    block = SharedClasses(at)
    block.size_class, block.top = size, SharedClasses.rest
    m.shared = at
    return DONE


@kernel
def same_classes(m: Memory, one: StepClasses, other: StepClasses) -> bool:
    """Return whether two steps have the same classes, over by the same time."""
    if one == other:
        return True
    if one.classes != other.classes or one.threads != other.threads:
        return False
    n = one.classes * ClassHead.SIZE + one.threads * (Thread.register + m.held)
    for j in range(n):
        if m[one.rest + j] != m[other.rest + j]:
            return False
    return True


@kernel
def known_classes(m: Memory, classes: StepClasses) -> int:
    """Return where the first classes equal to some begin in the block; NOWHERE: there are none. O(the block)."""
    block = SharedClasses(m.shared)
    at = SharedClasses.rest
    while block and at < block.top:
        if same_classes(m, classes, StepClasses(block + at)):
            return at
        at += StepClasses(block + at).size
    return NOWHERE


@kernel
def share(m: Memory, entry: SharedEntry, before: int, ways: int, at: StepClasses) -> int:
    """Let rows share classes that stand at an address. Returns the word for Block.nodes_of; 0: there is no room."""
    block, found = SharedClasses(m.shared), SharedClasses.rest
    while found < block.top and not same_words(m, at, m, block + found, at.size):
        found += StepClasses(block + found).size
    if found + at.size > SHARED_WORDS or 4 * block.used > 3 << SHARED_BITS:
        return 0
    if found == block.top:
        copy(m, at, m, block + found, at.size)
        block.top += at.size
        if at.same == NOWHERE:
            StepClasses(block + found).same = found
    entry.before, entry.ways, entry.at = before, ways, found
    block.used += 1
    return found << 24
