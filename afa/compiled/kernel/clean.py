"""State cleanup using punctuations ([AFA10] Sec. 5.4, App. C.1); see `afa.interpreted.cleanup` for the picture of what is final.

    clean(b, 13)     before                             after
    order            [ 10  11  12  14 ]                 10  11 [ 12  14 ]           Block.first moves, nothing else does
    events of 12     [ e ]                              empty                       12 is ``cover``
    list of 12       p (start 10, m 20)                 p  alone                    rows whose m is not after 13 go;
                     q (start 11, m 13)                                             rows that stay become its own nodes
    matches of 12    T 12 (final), T 13 by a time-out   T 13                        only those that may still be withdrawn

After cleanup the first step is ``cover``, the latest one before the punctuation. It has no events any more, and its list holds only
what can still go on. Steps before ``cover`` are left behind as they are; no older word is overwritten without undo.
"""

from __future__ import annotations

from afa.compiled.kernel.buffers import load_list, since_of, sorted_rows
from afa.compiled.kernel.closure import fire
from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.gaps import horizon_of, mark_waits
from afa.compiled.kernel.heap import put, room, save
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.longest_rows import distinct
from afa.compiled.kernel.matches import store_matches
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place
from afa.compiled.kernel.propagate import propagate
from afa.compiled.kernel.scan_matches import first_over
from afa.compiled.kernel.step import is_cover, store_nodes, waits_since


@kernel
def tick(m: Memory, w: Scratch, p: Program, b: Block) -> int:
    """Fire the time-outs that the clock has reached: those of the last step's list. Returns the status of `propagate`."""
    if p.timeout == 0 or b.last == b.first:
        return DONE
    w.epoch += 1
    w.marked_from = b.last - 1
    w.until = BEGINNING
    return propagate(m, w, p, b, mark_waits(m, w, b, w.marked_from) if m.gapless else w.marked_from)


@kernel
def cover_of(m: Memory, b: Block, t: int) -> int:
    """Return the place of the last step before ``t``; one before the first place if there is none."""
    cover = find_place(m, b, t, 0) - 1
    while cover >= b.first and b.le[b.order[cover]] >= t:
        cover -= 1  # of several at t, `find_place` may give a later one
    return cover


@kernel
def oldest(m: Memory, b: Block, t: int) -> int:
    """Return the first place that cleaning until ``t`` reads: that of the oldest node in the list of ``cover``."""
    cover = cover_of(m, b, t)
    if cover < b.first:
        return b.first
    i = b.order[cover]
    reach = b.reach[i]
    if reach >= b.le[i]:
        return cover
    return max(find_place(m, b, reach, 0), b.first)


@kernel
def clean(m: Memory, w: Scratch, p: Program, b: Block, t: int) -> int:
    """Drop what lies before ``cover(t)``. O(log steps + the list of cover).

    Returns DONE, or NEED_ROWS, NEED_UNDO, NEED_NODES, NEED_MATCHES, NEED_TEMP, FAULT, ENDLESS.
    """
    b.cleaned = t
    s, cover = NodeRow.register + m.register_words, cover_of(m, b, t)
    if cover < b.first:
        return DONE
    i = b.order[cover]
    if b.le[i] > b.pruned:
        b.pruned = BEGINNING
    # Of the list of cover, keep the partial matches whose lifetime goes on after t.
    rows, events = w.source, b.events_of[i]
    n = cover_list(m, w, p, b, cover, t)
    if n < 0:
        return n
    alive, until = 0, BEGINNING
    for k in range(n):
        row = NodeRow(w, rows + k * s)
        if row.until > t:
            until = max(until, row.until)
            copy(w, row, w, rows + alive * s, s)
            alive += 1
    if not room(w, 64):
        return NEED_UNDO
    top = b.node_top
    if top + alive > b.node_cap:
        return NEED_NODES
    # Store them as nodes of its own, without its events. INVARIANT: the words of the step go to the undo log first; rows are
    # appended, so that the old ones stay for a rollback.
    b.since = max(waits_since(m, b, cover), t)
    if m.gapless and events.count:
        event = EventRow(b + b.events + events.first * (EventRow.payload + m.payload_words))
        b.over = max(event.re, until)  # a partial match that has skipped the event may outlive it
    put(m, w, b.events_of + i, 0)
    copy(w, rows, m, b + b.nodes + top * s, alive * s)
    store_nodes(m, w, b, i, Slice(top, alive) if alive else 0, b.le[i])
    # Drop the steps before it: from here on cover is never revised, as nothing comes or goes before it.
    b.first = cover if alive or m.gapless else cover + 1  # gapless: the number of cover is still needed
    # Keep the matches that may still be withdrawn: a time-out may have made some, though it is not in force any more.
    count = open_matches(m, w, b, i, t) if alive else 0
    if count < 0:
        return count
    if b.match_top + count > b.match_cap:
        return NEED_MATCHES
    store_matches(m, w, b, i, count)
    return DONE


@kernel
def open_matches(m: Memory, w: Scratch, b: Block, i: int, t: int) -> int:
    """Copy the matches of ``cover`` that are not final to w.temp. Returns how many, or NEED_TEMP.

    They are those announced so far: where arcs have changed since, the call that changes arcs withdraws them.
    """
    width, count = MatchRow.register + m.register_words, 0
    rows = b.matches_of[i]
    if rows.count * width > w.temp_cap:
        return NEED_TEMP
    for k in range(rows.first, rows.first + rows.count):
        match = MatchRow(b + b.matches + k * width)
        if match.t >= t:
            copy(m, match, w, w.temp + count * width, width)
            count += 1
    return count


@kernel
def cover_list(m: Memory, w: Scratch, p: Program, b: Block, cover: int, t: int) -> int:
    """Write the list of ``cover`` to w.source, each row with the end of its node. Returns how many rows, or a status.

    From now on it also holds the partial matches that time-outs before ``t`` have made: the arcs that made them may be dropped.
    """
    s, rows = NodeRow.register + m.register_words, w.source
    n = load_list(m, w, b, cover, rows)
    for k in range(n):
        NodeRow(w, rows + k * s).end = w[since_of(w, rows, k, s) + w.rows]
    if n <= 0 or p.timeout == 0:
        return n
    le, since, until = b.le[b.order[cover]], waits_since(m, b, cover), min(horizon_of(m, b, cover), t - 1)
    count = n
    for k in range(n):
        found = fire(m, w, p, w, rows + k * s, le, since, until)
        if found < 0:
            return found
        for q in range(1, found):  # row 0 is the one that waits
            if count + 2 >= w.rows:
                return NEED_ROWS
            copy(w, w.ready + q * s, w, rows + count * s, s)
            NodeRow(w, rows + count * s).end = ALONE
            count += 1
    return distinct(m, w, w, rows, sorted_rows(w, rows, count, s), s)


@kernel
def expire(m: Memory, w: Scratch, b: Block, t: int) -> int:
    """Drop the retractions that waited for insertions before ``t``. Returns DONE or NEED_UNDO."""
    size = PendingRow.payload + m.payload_words
    base, top = b + b.pending, b.pending_top
    if not room(w, top * size):
        return NEED_UNDO
    save(m, w, base, top * size)  # INVARIANT: before the rows are moved up
    kept = 0
    for row in range(top):
        if PendingRow(base + row * size).le >= t:
            copy(m, base + row * size, m, base + kept * size, size)
            kept += 1
    b.pending_top = kept
    m.waiting -= top - kept
    return DONE


@kernel
def set_deadlines(m: Memory, p: Program, b: Block, key: int) -> None:
    """Write to the entry of a key which punctuation makes its block speak, and which makes it smaller, next."""
    s = NodeRow.register + m.register_words
    act, dead = FOREVER, FOREVER
    size = PendingRow.payload + m.payload_words
    for row in range(b.pending_top):
        act = min(act, PendingRow(b + b.pending + row * size).le + 1)
    first, last = b.first, b.last
    if first < last:
        i = b.order[first]
        if m.scans:
            dead = first_over(m, b)
        elif p.timeout:  # each punctuation may fire some
            act = dead = BEGINNING
        elif b.events_of[i].count or not is_cover(m, b, i):
            dead = b.le[i] + 1
        else:
            rows = b.nodes_of[i]
            for k in range(rows.count):
                dead = min(dead, NodeRow(b + b.nodes + (rows.first + k) * s).until)
            if m.gapless and m.keyed and first + 1 == last:
                dead = min(dead, b.over)
            if first + 1 < last:
                dead = min(dead, b.le[b.order[first + 1]] + 1)
    if m.gapless and b.gap < FOREVER:
        act = min(act, b.gap + 1)
    put_deadlines(m, key, act, dead)
