"""Whether what a memory says of a scan can be read: classes and links lead nowhere beyond their step; see `afa.compiled.image`."""

from __future__ import annotations

from afa.compiled.kernel.heap import size_of
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import is_before
from afa.compiled.kernel.scan_folds import BITS, LEVELS
from afa.compiled.kernel.scan_layout import *
from afa.compiled.kernel.scan_rows import first_thread, link_at, threads_at
from afa.compiled.kernel.scan_shared import same_classes


@kernel
def sound_shared(m: Memory, p: Program, states: int) -> bool:
    """Return whether the block of what rows share can be read, if there is one; what leads to them is forgotten.

    *Requires* that its words are in the memory.
    """
    block = SharedClasses(m.shared)
    if block == 0:
        return True
    top, place = block.top, SharedClasses.rest
    if size_of(block.size_class) < SHARED_WORDS or top > SHARED_WORDS:
        return False
    while place < top:  # one behind the other
        if shared_at(m, place, states) == 0:
            return False
        place += StepClasses(block + place).size
    for k in range(1 << SHARED_BITS):  # this process numbers arcs otherwise
        SharedEntry(block.table + k * SharedEntry.SIZE).at = 0
    block.used = 0
    return place == top


@kernel
def shared_at(m: Memory, at: int, states: int) -> int:
    """Return the address of classes that rows share; 0: there are none that can be read."""
    block = SharedClasses(m.shared)
    if block == 0 or at < SharedClasses.rest or at >= block.top:
        return 0
    return m.shared + at if sound_classes(m, m.shared + at, block.top - at, states) else 0


@kernel
def sound_classes(m: Memory, at: StepClasses, room: int, states: int) -> bool:
    """Return whether classes lie within ``room`` words, and their threads, links and all else within their size."""
    s, threads, last = Thread.register + m.held, at.threads, 0
    if room < StepClasses.rest or at.size > room or min(at.classes, threads, at.sources - 1) < 0:
        return False
    if max(at.classes, threads, at.sources) > room or link_at(m, at, at.sources) > at + at.size:
        return False
    for k in range(at.classes):
        first, last = last, first_thread(m, at, k + 1)
        if last <= first:
            return False
    if last != threads:
        return False
    for k in range(threads):
        if Thread(threads_at(m, at) + k * s).state < 0 or Thread(threads_at(m, at) + k * s).state >= states:
            return False
    if at.same == NOWHERE:
        return True
    block, words = SharedClasses(m.shared), threads_at(m, at) + threads * s - at
    if block == 0 or at.same < SharedClasses.rest or at.same > block.top - words:
        return False
    return same_classes(m, at, StepClasses(block + at.same))


@kernel
def sound_links(m: Memory, p: Program, at: StepClasses, before: StepClasses) -> bool:
    """Return whether links lead from the classes before a step (0: there are none) to its classes. *Requires* `sound_classes`."""
    if at.sources != (before.classes + 1 if before else 1):
        return False
    for source in range(at.sources):
        link = ClassLink(link_at(m, at, source))
        n = 1 if source == at.sources - 1 else first_thread(m, before, source + 1) - first_thread(m, before, source)
        if link.to < NOWHERE or link.to >= at.classes or link.thread < NOWHERE or link.thread >= n:
            return False
        if link.thread != NOWHERE and (link.place < 0 or link.place >= p.pattern):
            return False
        count = first_thread(m, at, link.to + 1) - first_thread(m, at, link.to) if link.to != NOWHERE else 0
        if count and (link.took < 0 or link.took + count > at.size):
            return False
        for k in range(count):
            took = m[at + link.took + k]
            if took < 0 or took >> PLACE_BITS >= n or took & (1 << PLACE_BITS) - 1 >= p.pattern:
                return False
    return True


@kernel
def sound_scan(m: Memory, p: Program, b: Block, states: int, strings: int) -> bool:
    """Return whether the steps of a block are in order and their classes can be read, and matches that are shown begin at them.

    Folds, and how a long match begins, are forgotten: they are made anew when asked for. *Requires* sound sections and slices.
    """
    width = NodeRow.register + m.register_words
    position, high, prior, before = b.shown_first, b.shown_last, NOWHERE, StepClasses(0)
    if position < 0 or position > high or high > b.cap or b.pruned != BEGINNING:
        return False
    for place in range(b.first, b.last):
        i = b.order[place]
        rows = b.nodes_of[i]
        if m.ordered == 2 and (b.seq[i] < 0 or b.seq[i] >= strings):
            return False
        if prior != NOWHERE and not is_before(m, b, prior, b.le[i], b.seq[i]):
            return False
        at = b + b.nodes + rows.first * width
        if rows.count == 0:
            at = shared_at(m, rows.first, states)
        elif not sound_classes(m, at, rows.count * width, states):
            return False
        if at == 0 or not sound_links(m, p, at, before):
            return False
        if position < high and b.shown[position] == i:
            end = MatchRow(b + b.matches + b.matches_of[i].first * (MatchRow.register + m.register_words))
            if b.matches_of[i].count == 0 or (m.ordered == 2 and (end.register[1] < 0 or end.register[1] >= strings)):
                return False
            position += 1
        prior, before = i, StepClasses(at)
    b.kept = 0
    for k in range(min(b.cap, (b.cap >> BITS - 1) + LEVELS)):
        if b.folds[k]:
            b.folds[k] = 0
    return position == high
