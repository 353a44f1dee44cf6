"""State cleanup using punctuations ([AFA10] Sec. 5.4, App. C.1); see `afa.interpreted.cleanup` for the picture of what is final.

    clean(b, 13)     before                             after
    order            [ 10  11  12  14 ]                 10  11 [ 12  14 ]           H_FIRST moves, nothing else does
    events of 12     [ e ]                              empty                       12 is ``cover``
    list of 12       p (start 10, m 20)                 p  alone                    rows whose m is not behind 13 go,
                     q (start 11, m 13)                                             those that stay are its own
    matches of 12    T 12 (final), T 13 by a time-out   T 13                        only what may still be withdrawn

After cleanup the first step is ``cover``, the latest one before the punctuation: it has no events any more, and of its list what
can still go on. No word is written before `save` has kept it, and what lies before ``cover`` is only left behind.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.best_rows import distinct
from afa.compiled.kernel.buffers import load_list, since_of, sorted_rows
from afa.compiled.kernel.closure import fire
from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.gaps import horizon_of, mark_waits
from afa.compiled.kernel.heap import put, room, save
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.matches import store_matches
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place
from afa.compiled.kernel.step import is_cover, store_nodes, waits_since
from afa.compiled.kernel.walk import walk


@kernel
def tick(m: Any, w: Any, p: Any, b: int) -> int:
    """Fire the time-outs that the clock has reached: the list of the last step waits until there. Returns the status of `walk`."""
    if p[P_TIMEOUT] == 0 or m[b + H_LAST] == m[b + H_FIRST]:
        return DONE
    w[W_EPOCH] += 1
    w[W_FROM] = m[b + H_LAST] - 1
    w[W_UNTIL] = BEGINNING
    return int(walk(m, w, p, b, mark_waits(m, w, b, w[W_FROM]) if m[C_GAPLESS] else w[W_FROM]))


@kernel
def cover_of(m: Any, b: int, t: int) -> int:
    """Return the place of the last step before ``t``; one before the first place if there is none."""
    cover = find_place(m, b, t, 0) - 1
    while cover >= m[b + H_FIRST] and m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + cover]] >= t:
        cover -= 1  # of several at t, `find_place` may give a later one
    return int(cover)


@kernel
def oldest(m: Any, b: int, t: int) -> int:
    """Return the first place that is of use when a block is cleaned until ``t``: where the oldest node of ``cover`` stands."""
    cover = cover_of(m, b, t)
    if cover < m[b + H_FIRST]:
        return int(m[b + H_FIRST])
    i = m[b + HEAD + cover]
    reach = m[b + HEAD + REACH * m[b + H_CAP] + i]
    if reach >= m[b + HEAD + LE * m[b + H_CAP] + i]:
        return int(cover)
    return int(max(find_place(m, b, reach, 0), m[b + H_FIRST]))


@kernel
def clean(m: Any, w: Any, p: Any, b: int, t: int) -> int:
    """Drop what lies before ``cover(t)``. O(log steps + the list of cover).

    Returns DONE, or NEED_ROWS, NEED_UNDO, NEED_NODES, NEED_MATCHES, NEED_TEMP, FAULT, ENDLESS.
    """
    m[b + H_CLEANED] = t
    s, cap, cover = N_REG + m[C_R], m[b + H_CAP], cover_of(m, b, t)
    if cover < m[b + H_FIRST]:
        return DONE
    i = m[b + HEAD + cover]
    if m[b + HEAD + LE * cap + i] > m[b + H_PRUNED]:
        m[b + H_PRUNED] = BEGINNING
    rows, slices = w[W_SOURCE], b + HEAD + EV * cap
    n = cover_list(m, w, p, b, cover, t)
    if n < 0:
        return n
    alive, until = 0, BEGINNING
    for k in range(n):
        if w[rows + k * s + N_M] > t:
            until = max(until, w[rows + k * s + N_M])
            copy(w, rows + k * s, w, rows + alive * s, s)
            alive += 1
    if not room(w, 64):
        return NEED_UNDO
    top = m[b + H_NODE_TOP]
    if top + alive > m[b + H_NODE_CAP]:
        return NEED_NODES
    waits = max(waits_since(m, b, cover), t)
    m[b + H_SINCE] = waits
    if m[C_GAPLESS] and m[slices + i] & COUNT:
        event = b + m[b + H_EVENTS] + (m[slices + i] >> 24) * (E_WORDS + m[C_V])
        m[b + H_OVER] = max(m[event + E_RE], until)  # what has skipped the event may outlive it
    put(m, w, slices + i, 0)
    nodes = b + m[b + H_NODES] + top * s
    copy(w, rows, m, nodes, alive * s)
    store_nodes(m, w, b, i, top << 24 | alive if alive else 0, m[b + HEAD + LE * cap + i])
    m[b + H_FIRST] = cover if alive or m[C_GAPLESS] else cover + 1  # where numbers are gapless, for its number
    count = open_matches(m, w, b, i, t) if alive else 0  # though no time-out is in force any more, one that was may have made some
    if count < 0:
        return int(count)
    if m[b + H_MATCH_TOP] + count > m[b + H_MATCH_CAP]:
        return NEED_MATCHES
    store_matches(m, w, b, i, count)
    return DONE


@kernel
def open_matches(m: Any, w: Any, b: int, i: int, t: int) -> int:
    """Put the matches of ``cover`` that are not final at W_TEMP. Returns how many, or NEED_TEMP.

    They are those that were announced: if arcs have changed since, who is told of that change sees to them.
    """
    width, count = M_REG + m[C_R], 0
    rows = m[b + HEAD + MT * m[b + H_CAP] + i]
    if (rows & COUNT) * width > w[W_TEMP_CAP]:
        return NEED_TEMP
    for k in range(rows >> 24, (rows >> 24) + (rows & COUNT)):
        match = b + m[b + H_MATCHES] + k * width
        if m[match + M_T] >= t:
            copy(m, match, w, w[W_TEMP] + count * width, width)
            count += 1
    return count


@kernel
def cover_list(m: Any, w: Any, p: Any, b: int, cover: int, t: int) -> int:
    """Write the list of ``cover`` to W_SOURCE, each row with the end of its node. Returns how many rows, or a status.

    What a time-out before ``t`` has made stands in it from now on: the arc that made it may be dropped.
    """
    s, cap, rows = N_REG + m[C_R], m[b + H_CAP], w[W_SOURCE]
    n = load_list(m, w, b, cover, rows)
    for k in range(n):
        w[rows + k * s + N_END] = w[since_of(w, rows, k, s) + w[W_ROWS]]
    if n <= 0 or p[P_TIMEOUT] == 0:
        return n
    order, times = b + HEAD, b + HEAD + LE * cap
    le = m[times + m[order + cover]]
    horizon = horizon_of(m, b, cover)
    count = n
    for k in range(n):
        found = fire(m, w, p, w, rows + k * s, le, waits_since(m, b, cover), min(horizon, t - 1))
        if found < 0:
            return int(found)
        for q in range(1, found):
            if count + 2 >= w[W_ROWS]:
                return NEED_ROWS
            copy(w, w[W_READY] + q * s, w, rows + count * s, s)
            w[rows + count * s + N_END] = ALONE
            count += 1
    return int(distinct(m, w, w, rows, sorted_rows(w, rows, count, s), s))


@kernel
def expire(m: Any, w: Any, b: int, t: int) -> int:
    """Drop the retractions that waited for insertions before ``t``. Returns DONE or NEED_UNDO."""
    size = Q_WORDS + m[C_V]
    base, top = b + m[b + H_PENDING], m[b + H_PENDING_TOP]
    if not room(w, top * size):
        return NEED_UNDO
    save(m, w, base, top * size)
    kept = 0
    for row in range(top):
        if m[base + row * size + Q_LE] >= t:
            copy(m, base + row * size, m, base + kept * size, size)
            kept += 1
    m[b + H_PENDING_TOP] = kept
    m[C_WAITING] -= top - kept
    return DONE


@kernel
def set_deadlines(m: Any, p: Any, b: int, key: int) -> None:
    """Write to the directory which punctuations concern this block, a key's, next: D_ACT, D_CLEAN."""
    cap, s = m[b + H_CAP], N_REG + m[C_R]
    act, dead = FOREVER, FOREVER
    size = Q_WORDS + m[C_V]
    for row in range(m[b + H_PENDING_TOP]):
        act = min(act, m[b + m[b + H_PENDING] + row * size + Q_LE] + 1)
    first, last = m[b + H_FIRST], m[b + H_LAST]
    if first < last:
        i = m[b + HEAD + first]
        if p[P_TIMEOUT]:
            act = dead = BEGINNING
        elif m[b + HEAD + EV * cap + i] & COUNT or not is_cover(m, b, i):
            dead = m[b + HEAD + LE * cap + i] + 1
        else:
            rows = m[b + HEAD + ND * cap + i]
            for k in range(rows & COUNT):
                dead = min(dead, m[b + m[b + H_NODES] + ((rows >> 24) + k) * s + N_M])
            if m[C_GAPLESS] and m[C_KEYED] and first + 1 == last:
                dead = min(dead, m[b + H_OVER])
            if first + 1 < last:
                dead = min(dead, m[b + HEAD + LE * cap + m[b + HEAD + first + 1]] + 1)
    if m[C_GAPLESS] and m[b + H_GAP] < FOREVER:
        act = min(act, m[b + H_GAP] + 1)
    put_deadlines(m, key, act, dead)
