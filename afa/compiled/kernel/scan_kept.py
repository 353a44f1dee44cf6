"""What a match shows, read from its rows; of a long one that goes on, from where it was kept.

    rows      0 1 2 .. 980 .. 996 997            the match from 0 to 996; a row comes, and it goes on to 997
    Block.kept         |                         `KeptPath`: how it begins, all but its last BACK rows
    read               981 .. 997                if these rows reach what is kept by the same thread; else all

What is kept follows from the rows before its end alone: where one of these changes, it is forgotten.
"""

from __future__ import annotations

from afa.compiled.kernel.heap import room, save
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place
from afa.compiled.kernel.scan_layout import *
from afa.compiled.kernel.scan_matches import BACK, class_before, measure, read_path

LONG = 24
"""Of a match of more rows it is kept how it begins, for when it goes on."""


@kernel
def read_match(m: Memory, w: Scratch, p: Program, b: Block, start: int, end: int, path: int, out: int) -> int:
    """Write what the match from a place to another shows to ``w[out:]``. Returns as `measure`, or NEED_NODES, NEED_UNDO, NEED_TEMP.

    O(rows); of a long one that was shown last, and goes on, O(log rows + rows that have come).
    """
    w.match_from = b.le[b.order[start]]
    kept = KeptPath(kept_at(m, b) if b.kept else 0)
    if kept and kept.start == b.order[start] and m.all_rows == 0:
        begin = end_of_kept(m, b)
        if start < begin <= end:
            source = class_before(m, w, b, start, begin)
            found = source if source < NOWHERE else read_from(m, w, p, b, start, begin, end, source, kept, path, out)
            if found != NOWHERE:
                return found
    return read_from(m, w, p, b, start, start, end, NOWHERE, KeptPath(0), path, out)


@kernel
def read_from(
    m: Memory,
    w: Scratch,
    p: Program,
    b: Block,
    start: int,
    begin: int,
    end: int,
    source: int,
    kept: KeptPath,
    path: int,
    out: int,
) -> int:
    """Do the work of `read_match` from a place on that the attempt reaches in a class, behind what is kept (0: all is read).

    NOWHERE: what is kept does not serve, as its rows are taken otherwise now.
    """
    n, state = end - begin + 1, 0
    until, thread, until_kept, thread_kept = read_path(m, w, b, begin, end, source, path)
    if kept == 0:
        copy(p, p.measure_begin, w, path + n, m.measured)
    elif thread == kept.thread:
        until, until_kept, state = min(until, kept.until), min(until_kept, kept.until), kept.state
        copy(m, kept.register, w, path + n, m.measured)
    else:
        return NOWHERE
    count, state = measure(m, w, p, b, begin, n, until, state, path, out)
    if count == 1 and m.all_rows == 0 and n >= BACK and end - start >= LONG:
        return keep_path(m, w, b, start, end - BACK + 1, thread_kept, until_kept, state, path + n + 2 * m.measured)
    return count


@kernel
def kept_at(m: Memory, b: Block) -> int:
    """Return the address of the `KeptPath`."""
    return b + b.nodes + Slice(b.kept).first * (NodeRow.register + m.register_words)


@kernel
def end_of_kept(m: Memory, b: Block) -> int:
    """Return the place of the first row behind what is kept."""
    kept = KeptPath(kept_at(m, b))
    return find_place(m, b, b.le[kept.end], b.seq[kept.end])


@kernel
def keep_path(m: Memory, w: Scratch, b: Block, start: int, end: int, thread: int, until: int, state: int, register: int) -> int:
    """Keep how a match has come to the row of a place. Returns 1, as many as it shows, or NEED_NODES, NEED_UNDO."""
    words, width = KeptPath.register + m.measured, NodeRow.register + m.register_words
    rows = (words + width - 1) // width
    if b.kept == 0:
        if b.node_top + rows > b.node_cap:
            return NEED_NODES
        b.kept = Slice(b.node_top, rows)
        b.node_top += rows
    if not room(w, words + 8):
        return NEED_UNDO
    kept = KeptPath(kept_at(m, b))
    save(m, w, kept, words)
    kept.start, kept.end, kept.thread, kept.until, kept.state = b.order[start], b.order[end], thread, until, state
    copy(w, register, m, kept.register, m.measured)
    return 1
