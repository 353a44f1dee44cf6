"""Answers about the operator: the net of the output log, and how much there is.

    net    log, sorted by T and key     +1 m1    -1 m1    -1 m2    +1 m3
           signs afterwards              0        0       -1       +1           2 are left

A match that came and went in one call is not in the output.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.heap import size_of
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.longest_rows import stored_elsewhere
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.scan_layout import *
from afa.compiled.kernel.scan_rows import classes_of, threads_at
from afa.compiled.kernel.unpacked import block_of_key

LOW = (1 << 32) - 1


@kernel
def net(w: Scratch, order: Any, n: int, r: int) -> int:
    """Set the signs of entries of the output log that cancel each other to 0. Returns how many are left.

    ``order[0]`` sorts them by the change that they belong to (``order[1]``), T and key. O(n k), k of them of one change, T and key.
    """
    s, log = LogRow.register + r, w.log
    left = n
    for k in range(n):
        x = LogRow(log + order[0, k] * s)
        j = k - 1
        while j >= 0:
            y = LogRow(log + order[0, j] * s)
            if y.t != x.t or y.key != x.key or order[1, j] != order[1, k]:
                break
            if y.sign == -x.sign and x.sign != 0:
                same = True
                for i in range(LogRow.re, s):
                    same = same and w[x + i] == w[y + i]
                if same:
                    x.sign = y.sign = 0
                    left -= 2
                    break
            j -= 1
    return left


@kernel
def sizes(m: Memory, w: Scratch, p: Program, final: int) -> int:
    """Count at w.temp events, partial matches, intervals, matches, waiting retractions, keys and ties. O(all state).

    Of events and of retractions the low halves of their copies are counted there, the high halves at the end: no sum of them wraps.
    Then how many of the steps, of the events (again in halves) and of the partial matches lie before ``final``; no match that ends
    before it counts. Returns DONE.
    """
    at = w.temp
    for i in range(13):
        w[at + i] = 0
    for key in range(m.keys):
        b = Block(block_of_key(m, key))
        if b == 0:
            continue
        size_up(m, w, p, b, final)
        for row in range(b.pending_top):
            copies = PendingRow(b + b.pending + row * (PendingRow.payload + m.payload_words)).copies
            w[at + 4] += copies & LOW
            w[at + 8] += copies >> 32
        w[at + 5] += 1
    return DONE


@kernel
def size_up(m: Memory, w: Scratch, p: Program, b: Block, final: int) -> None:
    """Add the events, partial matches, intervals and matches of a block to those at w.temp; see `sizes`."""
    at, v, r, first = w.temp, m.payload_words, m.register_words, b.first
    for place in range(first, b.last):
        i = b.order[place]
        events, nodes, matches = b.events_of[i], b.nodes_of[i], b.matches_of[i]
        before = int(b.le[i] < final and events.count > 0)
        for k in range(events.count):
            copies = EventRow(b + b.events + (events.first + k) * (EventRow.payload + v)).copies
            w[at] += copies & LOW
            w[at + 7] += copies >> 32
            w[at + 10] += (copies & LOW) * before
            w[at + 11] += (copies >> 32) * before
        w[at + 6] += max(0, events.count - 1)
        w[at] += events.count == 0 and nodes.count == 0 and m.gapless == 0  # a stone
        stored = StepClasses(classes_of(m, b, i)).threads if m.scans else nodes.count
        w[at + 1] += stored
        w[at + 9] += before
        w[at + 12] += stored * before
        if m.scans:
            w[at + 3] += max(matches.count - 1, 0)
            continue
        for k in range(nodes.count):
            w[at + 2] += NodeRow(b + b.nodes + (nodes.first + k) * (NodeRow.register + r)).end != ALONE
        b.first = place + 1  # of the steps that store one match the last one counts
        for k in range(matches.count):
            match = MatchRow(b + b.matches + (matches.first + k) * (MatchRow.register + r))
            w[at + 3] += match.t >= final and not (p.counted and stored_elsewhere(m, b, i, m, match) > BEGINNING)
    b.first = first


@kernel
def by_key(m: Memory, w: Scratch, p: Program, c: Any, final: int) -> int:
    """Write the partial matches of each entry to row 0 of ``c``, and the words of its block, unpacked, to row 1. Returns DONE."""
    for key in range(m.keys):
        b = Block(block_of_key(m, key))
        if b != 0:
            w[w.temp + 1] = 0
            size_up(m, w, p, b, final)
            c[0, key] = w[w.temp + 1]
            c[1, key] = size_of(b.size_class)
    return DONE


@kernel
def by_state(m: Memory, c: Any) -> int:
    """Add the partial matches stored to row 0 of ``c``, by the numbers of their states. Returns DONE. O(all state)."""
    s = NodeRow.register + m.register_words
    for key in range(m.keys):
        b = Block(block_of_key(m, key))
        if b == 0:
            continue
        for place in range(b.first, b.last):
            rows = b.nodes_of[b.order[place]]
            if m.scans:
                at = StepClasses(classes_of(m, b, b.order[place]))
                for k in range(at.threads):
                    c[0, Thread(threads_at(m, at) + k * (Thread.register + m.held)).state] += 1
                continue
            for k in range(rows.count):
                c[0, NodeRow(b + b.nodes + (rows.first + k) * s).state] += 1
    return DONE
