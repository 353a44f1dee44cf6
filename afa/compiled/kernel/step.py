"""One step: its mark, its list, its matches.

    step i  -->  nd[i] = slice of nodes      `store_nodes`: rows at the top of the section become its list
            -->  mt[i] = slice of matches    `derive_matches`: those that the list stands for; the difference goes to the output log

    mark        W_MARK[place] = W_EPOCH      a new epoch forgets all marks at once; from W_FROM on all are marked

A step made in this call (from W_MADE on) is written in place; of an older one the old word goes to the undo log.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.best_rows import add_longest, put_matches
from afa.compiled.kernel.closure import fire
from afa.compiled.kernel.gaps import horizon_of
from afa.compiled.kernel.heap import put
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.matches import accepted, among, set_matches
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel


@kernel
def mark(m: Any, w: Any, b: int, place: int) -> None:
    """Mark a place, if there is one."""
    if m[b + H_FIRST] <= place < m[b + H_LAST]:
        w[w[W_MARK] + place] = w[W_EPOCH]


@kernel
def marked(w: Any, place: int) -> bool:
    """Return whether a place is marked."""
    return bool(place >= w[W_FROM] or w[w[W_MARK] + place] == w[W_EPOCH])


@kernel
def is_cover(m: Any, b: int, i: int) -> bool:
    """Return whether a step without events is ``cover``; else it is a stone: a promise with a condition took its events."""
    return bool(m[b + HEAD + LE * m[b + H_CAP] + i] < max(m[b + H_CLEANED], m[C_FINAL]))


@kernel
def complete(m: Any, w: Any, b: int, place: int) -> bool:
    """Return whether the list at a place, which is not new, is what the list before it gives."""
    pruned, order, times = m[b + H_PRUNED], b + HEAD, b + HEAD + LE * m[b + H_CAP]
    if pruned == BEGINNING or m[times + m[order + place]] >= w[W_WHOLE]:
        return True
    before = place - 1
    while before >= m[b + H_FIRST] and m[order + before] >= w[W_MADE]:
        before -= 1
    return bool(before >= m[b + H_FIRST] and m[times + m[order + before]] > pruned)


@kernel
def waits_since(m: Any, b: int, place: int) -> int:
    """Return since when the list at a place waits for time-outs: behind its LE, or from the punctuation that made it ``cover``."""
    cap = m[b + H_CAP]
    i = m[b + HEAD + place]
    if m[b + HEAD + EV * cap + i] & COUNT or not is_cover(m, b, i):
        return int(m[b + HEAD + LE * cap + i] + 1)
    return int(max(m[b + HEAD + LE * cap + i] + 1, m[b + H_SINCE]))


@kernel
def store_nodes(m: Any, w: Any, b: int, i: int, rows: int, reach: int) -> None:
    """Make ``rows``, the last ones of their section, the nodes of step ``i``. *Requires* `room` for 6."""
    cap = m[b + H_CAP]
    lists, reaches = b + HEAD + ND * cap, b + HEAD + REACH * cap
    count = rows & COUNT
    m[b + H_NODE_TOP] += count
    if i >= w[W_MADE]:
        m[lists + i] = rows
        m[reaches + i] = reach
        return
    put(m, w, lists + i, rows)
    if m[reaches + i] != reach:
        put(m, w, reaches + i, reach)


@kernel
def over(w: Any, le: int, count: int, rows: int, lasting: bool) -> int:
    """Return OVER, and note why: ``count`` rows would stand at the step; where (NOWHERE: in columns or parts), in m or in w."""
    w[W_OVER], w[W_OVER + 1], w[W_OVER + 2], w[W_OVER + 3] = le, count, rows, lasting
    return OVER


@kernel
def may_match(m: Any, p: Any, b: int, i: int, a: Any, rows: int, n: int) -> bool:
    """Return whether a step has matches, or will have. *Requires* `seek` to its LE."""
    if p[P_TIMEOUT] or m[b + HEAD + MT * m[b + H_CAP] + i]:
        return True
    s, now = N_REG + m[C_R], p[P_NOW]
    for k in range(n):
        if p[now + a[rows + k * s + N_STATE]]:
            return True
    return False


@kernel
def derive_matches(m: Any, w: Any, p: Any, b: int, place: int, a: Any, rows: int, n: int) -> int:
    """Make the matches of a step those that its partial matches ``a[rows:][:n]`` stand for. *Requires* `room` for 3.

    Returns DONE, or NEED_TEMP, NEED_LOG, NEED_MATCHES, NEED_ROWS, FAULT, ENDLESS.
    """
    cap = m[b + H_CAP]
    i = m[b + HEAD + place]
    le = m[b + HEAD + LE * cap + i]
    count = 0
    if m[b + HEAD + EV * cap + i] & COUNT or not is_cover(m, b, i):
        seek(p, le)
        count = accepted(m, w, p, a, rows, n, le, 0)
    if p[P_TIMEOUT] and count >= 0:
        count = add_timed(m, w, p, b, place, a, rows, n, count)
    if count < 0:
        return int(count)
    return int(set_matches(m, w, p, b, i, count))


@kernel
def add_timed(m: Any, w: Any, p: Any, b: int, place: int, a: Any, rows: int, n: int, count: int) -> int:
    """Add to the ``count`` matches at W_TEMP those by time-outs, until `horizon_of`."""
    cap, s, r = m[b + H_CAP], N_REG + m[C_R], m[C_R]
    width = M_REG + r
    order, times = b + HEAD, b + HEAD + LE * cap
    le = m[times + m[order + place]]
    horizon = horizon_of(m, b, place)
    temp, ready = w[W_TEMP], w[W_READY]
    for k in range(n):
        found = fire(m, w, p, a, rows + k * s, le, waits_since(m, b, place), horizon)
        if found < 0:
            return int(found)
        if m[C_LONGEST] and found > 1:  # the set has served the closure
            put_matches(m, w, temp, count)
        for q in range(1, found):
            row = ready + q * s
            t = w[row + N_END]
            if t < m[C_FINAL]:
                continue
            seek(p, t)
            if p[p[P_NOW] + w[row + N_STATE]] == 0:
                continue
            at = temp + count * width
            if at + width > temp + w[W_TEMP_CAP]:
                return NEED_TEMP
            w[at + M_T] = t
            w[at + M_RE] = w[row + N_M]
            copy(w, row + N_REG, w, at + 2, r)
            if m[C_LONGEST]:
                if count + 2 >= w[W_ROWS]:
                    return NEED_ROWS
                count = add_longest(m, w, at, count)
            elif not among(w, at, w, temp, count, width):
                count += 1
    return count
