"""The rows of a scan: what becomes of all attempts by each; see `afa.scan.attempts`, of which this is the same over words.

Each row begins an attempt. All attempts with equal ordered lists of threads are one class. `StepClasses` of a step stand where
other automata have its nodes: as many rows of `NodeRow` as its words take.

    classes  [b+ 3.0]  [b+ 3.0, a 2.0]          in an order of their own, that of their words: equal sets are equal words
    links    of each class before: to 1; of the new attempt: to 0
    took     of each thread of the class it leads to: the thread before, and the place of the pattern that took the row
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import run_arc, seek
from afa.compiled.kernel.heap import put_of_step, room
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy, same_words
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.scan_layout import *
from afa.compiled.kernel.scan_shared import (
    entry_of,
    first_register,
    known_classes,
    make_shared,
    row_register,
    same_classes,
    set_registers,
    share,
    ways_of,
)
from afa.compiled.kernel.step import marked, over


@kernel
def classes_of(m: Memory, b: Block, i: int) -> int:
    """Return the address of the classes of a step; 0: there are none yet."""
    rows = b.nodes_of[i]
    if rows.count:
        return b + b.nodes + rows.first * (NodeRow.register + m.register_words)
    return m.shared + rows.first if rows else 0


@kernel
def threads_at(m: Memory, at: StepClasses) -> int:
    """Return the address of the first thread."""
    return at.rest + at.classes * ClassHead.SIZE


@kernel
def first_thread(m: Memory, at: StepClasses, k: int) -> int:
    """Return the first thread of a class; of one past the last class: the number of threads."""
    return ClassHead(at.rest + (k - 1) * ClassHead.SIZE).end if k else 0


@kernel
def link_at(m: Memory, at: StepClasses, source: int) -> int:
    """Return the address of the link of a source; the last one is that of the attempt that begins."""
    return threads_at(m, at) + at.threads * (Thread.register + m.held) + source * ClassLink.SIZE


@kernel
def event_at(m: Memory, b: Block, i: int) -> int:
    """Return the address of the event of a step; 0: it has several, which is refused."""
    events = b.events_of[i]
    return b + b.events + events.first * (EventRow.payload + m.payload_words) if events.count == 1 else 0


@kernel
def next_arc(m: Memory, p: Program, state: int, rank: int, last: int) -> int:
    """Return the arc event now of a state that is tried next behind one of a rank (NOWHERE: none); NOWHERE: there is none."""
    found, least = NOWHERE, FOREVER
    link = p[p.first + state]
    while link >= 0:
        arc = ArcRow(p.rows + link * ArcRow.SIZE)
        code = ArcWords(p.codes + arc.code * ArcWords.SIZE)
        behind = code.rank > rank or (code.rank == rank and link > last)
        if behind and code.rank >= 0 and (code.rank < least or (code.rank == least and link < found)):
            found, least = link, code.rank
        link = arc.next
    return found


@kernel
def is_thread(m: Memory, w: Scratch, at: int, first: int, count: int, s: int) -> int:
    """Return which of ``count`` threads from ``w[first:]`` on equals the one at ``w[at:]``; NOWHERE: none does."""
    for k in range(count):
        if same_words(w, first + k * s, w, at, s):
            return k
    return NOWHERE


@kernel
def take_row(
    m: Memory,
    w: Scratch,
    p: Program,
    a: Any,
    base: int,
    threads: int,
    n: int,
    ways: int,
    le: int,
    event: EventRow,
    out: int,
    took: int,
) -> tuple[int, int, int]:
    """Let ``n`` threads from ``a[threads:]`` on take an event, in order: those that go on to ``w[out:]``, how to ``w[took:]``.

    ``ways``: which arcs take it, where rows share their classes. ``base``: address of ``a``. Returns how many go on (or FAULT),
    the thread that ends a match and the place that takes the event then (or NOWHERE). What ends one cuts off the less preferred.
    *Requires* room for n * arcs threads.
    """
    s, count = Thread.register + m.held, 0
    for k in range(n):
        thread = Thread(a, threads + k * s)
        link = next_arc(m, p, thread.state, NOWHERE, NOWHERE)
        while link != NOWHERE:
            row = ArcRow(p.rows + link * ArcRow.SIZE)
            code = ArcWords(p.codes + row.code * ArcWords.SIZE)
            after = Thread(w, out + count * s)
            m.instant = le
            if m.shares < 0:
                taken = run_arc(m, p, row.code, m.m_at + 8 * event.payload, base + 8 * thread.register, m.w_at + 8 * after.register)
            elif ways >= 0:
                taken = ways >> code.way & 1
            else:
                known = row_register(m, w)
                register = m.w_at + 8 * (known if thread.state else first_register(m, w))
                taken = run_arc(m, p, row.code, m.m_at + 8 * event.payload, register, m.w_at + 8 * (known + m.shares + 1))
            if taken < 0:
                return FAULT, NOWHERE, NOWHERE
            if taken:
                if p[p.now + code.dst]:
                    return count, k, code.place
                after.state = code.dst
                if is_thread(m, w, after, out, count, s) == NOWHERE:
                    w[took + count] = k << PLACE_BITS | code.place
                    count += 1
            link = next_arc(m, p, thread.state, code.rank, link)
    return count, NOWHERE, NOWHERE


@kernel
def is_less(w: Scratch, x: int, nx: int, y: int, ny: int) -> bool:
    """Return whether some words come before others: the fewer ones, or the smaller ones."""
    if nx != ny:
        return nx < ny
    for j in range(nx):
        if w[x + j] != w[y + j]:
            return w[x + j] < w[y + j]
    return False


@kernel
def derive_row(m: Memory, w: Scratch, p: Program, b: Block, i: int, prior: int) -> int:
    """Derive the classes and links of a step from those of the step before it (NOWHERE: there is none).

    Returns the word for Block.nodes_of, or NEED_ROWS, NEED_NODES, NEED_HEAP, OVER, FAULT.
    """
    s, le, event = Thread.register + m.held, b.le[i], EventRow(event_at(m, b, i))
    before = StepClasses(0 if prior == NOWHERE else classes_of(m, b, prior))
    sources = before.classes + 1 if before else 1
    seek(p, le)
    ways = key = NOWHERE
    if m.shares >= 0 and event:
        if m.shared == 0 and make_shared(m) < 0:
            return NEED_HEAP
        set_registers(m, w, p, b, prior if sources > 1 else NOWHERE)
        ways = ways_of(m, w, p, event, le)
        key = NOWHERE if ways < 0 else before.same if before else 0
        if key >= 0:
            entry = SharedEntry(entry_of(m, key, ways))
            if entry.at and StepClasses(m.shared + entry.at).threads <= w.budget:
                return entry.at << 24
    # In the row buffers: threads found, class by class, at w.new; how they were taken, by source, at w.source; at w.old by class
    # [first thread, threads, its place in order, until], at w.other by source [class, thread, place, where took begins, threads],
    # behind that the classes in order.
    size = w.rows * (NodeRow.register + m.register_words)
    found, took, of_class, of_source, ranks = w.new, w.source, w.old, w.other, w.other + 5 * (size >> 3)
    classes = threads = used = 0
    for source in range(sources):
        begins = source == sources - 1
        n = 1 if begins else first_thread(m, before, source + 1) - first_thread(m, before, source)
        until = FOREVER if begins else ClassHead(before.rest + source * ClassHead.SIZE).until
        if (threads + (n + 1) * p.count) * s > size or used + n * p.count > size or 8 * (source + 2) > size:
            return NEED_ROWS
        out, count, thread, place = found + threads * s, 0, NOWHERE, NOWHERE
        if event and until > le:
            if begins:
                begin = Thread(w, w.ready)
                begin.state = 0
                copy(p, p.begin + NodeRow.register, w, begin.register, m.held)
                count, thread, place = take_row(m, w, p, w, m.w_at, begin, 1, ways, le, event, out, took + used)
            else:
                at = threads_at(m, before) + first_thread(m, before, source) * s
                count, thread, place = take_row(m, w, p, m, m.m_at, at, n, ways, le, event, out, took + used)
            if count < 0:
                return count
        to = NOWHERE
        if count:
            until = FOREVER if m.shares >= 0 else min(until, event.re)
            rank = rank_of(w, found, of_class, ranks, classes, out, count, s)
            to = w[ranks + rank] if rank < classes else NOWHERE
            at = of_class + 4 * to
            if to != NOWHERE and not is_less(w, out, count * s, found + w[at] * s, w[at + 1] * s):
                w[at + 3] = max(w[at + 3], until)
            else:
                to, at = classes, of_class + 4 * classes
                w[at], w[at + 1], w[at + 3] = threads, count, until
                for k in range(classes, rank, -1):
                    w[ranks + k] = w[ranks + k - 1]
                w[ranks + rank] = to
                classes, threads = classes + 1, threads + count
        at = of_source + 5 * source
        w[at], w[at + 1], w[at + 2], w[at + 3], w[at + 4] = to, thread, place, used, count
        used += count
    if threads > w.budget:
        return over(w, le, threads, found, False)
    rows = write_classes(m, w, b, ranks, classes, threads, sources, used)
    if rows < 0:
        return rows
    at = StepClasses(b + b.nodes + b.node_top * (NodeRow.register + m.register_words))
    at.same = known_classes(m, at) if m.shares >= 0 else NOWHERE
    if key >= 0:
        found = share(m, SharedEntry(entry_of(m, key, ways)), key, ways, at)
        if found:
            return found
    b.node_top += rows
    return Slice(b.node_top - rows, rows)


@kernel
def rank_of(w: Scratch, found: int, of_class: int, ranks: int, classes: int, out: int, count: int, s: int) -> int:
    """Return how many of the classes that are found come before ``count`` threads, in the order of words. O(log classes)."""
    low, high = 0, classes
    middle = classes - 1  # where attempts come in order it is behind the last
    while low < high:
        at = of_class + 4 * w[ranks + middle]
        if is_less(w, found + w[at] * s, w[at + 1] * s, out, count * s):
            low = middle + 1
        else:
            high = middle
        middle = (low + high) >> 1
    return low


@kernel
def write_classes(m: Memory, w: Scratch, b: Block, ranks: int, classes: int, threads: int, sources: int, used: int) -> int:
    """Write what `derive_row` has found behind the nodes of the block, classes in the order of their words.

    Returns how many rows of nodes they take, or NEED_NODES.
    """
    s, width = Thread.register + m.held, NodeRow.register + m.register_words
    found, took, of_class, of_source = w.new, w.source, w.old, w.other
    words = StepClasses.rest + classes * ClassHead.SIZE + threads * s + sources * ClassLink.SIZE + used
    rows = (words + width - 1) // width
    if b.node_top + rows > b.node_cap:
        return NEED_NODES
    out = StepClasses(b + b.nodes + b.node_top * width)
    out.classes, out.threads, out.sources, out.size = classes, threads, sources, words
    first = 0
    for place in range(classes):
        at = of_class + 4 * w[ranks + place]
        w[at + 2] = place
        copy(w, found + w[at] * s, m, threads_at(m, out) + first * s, w[at + 1] * s)
        first += w[at + 1]
        head = ClassHead(out.rest + place * ClassHead.SIZE)
        head.end, head.until = first, w[at + 3]
    behind = link_at(m, out, sources)
    copy(w, took, m, behind, used)
    for source in range(sources):
        at, link = of_source + 5 * source, ClassLink(link_at(m, out, source))
        link.to = NOWHERE if w[at] == NOWHERE else w[of_class + 4 * w[at] + 2]
        link.thread, link.place, link.took = w[at + 1], w[at + 2], behind - out + w[at + 3]
    return rows


@kernel
def derive_rows(m: Memory, w: Scratch, p: Program, b: Block, place: int) -> int:
    """Derive the steps from a place on, until the classes of one are what they were: those behind it follow from these.

    Returns the last place, or NEED_UNDO, or what `derive_row` returns.
    """
    prior = b.order[place - 1] if place > b.first else NOWHERE
    while place < b.last:
        i = b.order[place]
        old = StepClasses(classes_of(m, b, i))
        found = derive_row(m, w, p, b, i, prior)
        if found < 0:
            return found
        if not room(w, 8):
            return NEED_UNDO
        put_of_step(m, w, i, b.nodes_of + i, found)
        # Where the row before gives the register, the next row reads what has changed here, whatever the classes are.
        goes_on = m.shares >= 0 and marked(w, place)
        if old and not goes_on and same_classes(m, old, StepClasses(classes_of(m, b, i))):
            return place
        prior = i
        place += 1
    return b.last - 1
