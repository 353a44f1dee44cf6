"""What the operator says of itself: the net of the output log, and what is held.

    net    log, sorted by T and key     +1 m1    -1 m1    -1 m2    +1 m3
           signs afterwards              0        0       -1       +1           2 are left

What came and went in one call is not said.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.best_rows import longest_elsewhere
from afa.compiled.kernel.desk import held_block
from afa.compiled.kernel.matches import held_elsewhere
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel

LOW = (1 << 32) - 1


@kernel
def net(w: Any, order: Any, n: int, r: int) -> int:
    """Set the signs of those entries of the output log to 0 that cancel each other. Returns how many are left.

    ``order[0]`` sorts them by the change that they belong to (``order[1]``), T and key. O(n m), m of them of one change, T and key.
    """
    s, log = L_REG + r, w[W_LOG]
    left = n
    for k in range(n):
        x = log + order[0, k] * s
        j = k - 1
        while j >= 0:
            y = log + order[0, j] * s
            if w[y + L_T] != w[x + L_T] or w[y + L_KEY] != w[x + L_KEY] or order[1, j] != order[1, k]:
                break
            if w[y + L_SIGN] == -w[x + L_SIGN] and w[x + L_SIGN] != 0:
                twins = True
                for i in range(L_RE, s):
                    twins = twins and w[x + i] == w[y + i]
                if twins:
                    w[x + L_SIGN] = w[y + L_SIGN] = 0
                    left -= 2
                    break
            j -= 1
    return left


@kernel
def sizes(m: Any, w: Any, p: Any, final: int) -> int:
    """Count at W_TEMP the events, partial matches, intervals, matches, waiting retractions, keys and ties held. O(what is held).

    Of events and of retractions the low halves of their copies are counted there, the high halves at the end: no sum of them wraps.
    Behind them stand how many of the steps, of the events (again in halves) and of the partial matches lie before ``final``; no
    match that ends before it counts. Returns DONE.
    """
    at = w[W_TEMP]
    for i in range(13):
        w[at + i] = 0
    for key in range(m[C_KEYS]):
        b = held_block(m, key)
        if b == 0:
            continue
        size_up(m, w, p, b, final)
        for row in range(m[b + H_PENDING_TOP]):
            copies = m[b + m[b + H_PENDING] + row * (Q_WORDS + m[C_V]) + Q_COPIES]
            w[at + 4] += copies & LOW
            w[at + 8] += copies >> 32
        w[at + 5] += 1
    return DONE


@kernel
def size_up(m: Any, w: Any, p: Any, b: int, final: int) -> None:
    """Add the events, partial matches, intervals and matches of a block to those at W_TEMP; see `sizes`."""
    at, v, r, cap, first = w[W_TEMP], m[C_V], m[C_R], m[b + H_CAP], m[b + H_FIRST]
    for place in range(first, m[b + H_LAST]):
        i = m[b + HEAD + place]
        events, nodes, matches = m[b + HEAD + EV * cap + i], m[b + HEAD + ND * cap + i], m[b + HEAD + MT * cap + i]
        before = int(m[b + HEAD + LE * cap + i] < final and events & COUNT > 0)
        for k in range(events & COUNT):
            copies = m[b + m[b + H_EVENTS] + ((events >> 24) + k) * (E_WORDS + v) + E_COPIES]
            w[at] += copies & LOW
            w[at + 7] += copies >> 32
            w[at + 10] += (copies & LOW) * before
            w[at + 11] += (copies >> 32) * before
        w[at + 6] += max(0, (events & COUNT) - 1)
        w[at] += events & COUNT == 0 and nodes & COUNT == 0 and m[C_GAPLESS] == 0  # a stone
        w[at + 1] += nodes & COUNT
        w[at + 9] += before
        w[at + 12] += (nodes & COUNT) * before
        for k in range(nodes & COUNT):
            w[at + 2] += m[b + m[b + H_NODES] + ((nodes >> 24) + k) * (N_REG + r) + N_END] != ALONE
        m[b + H_FIRST] = place + 1  # of the steps that hold one match the last one counts
        for k in range(matches & COUNT):
            match = b + m[b + H_MATCHES] + ((matches >> 24) + k) * (M_REG + r)
            w[at + 3] += m[match + M_T] >= final and not (p[P_COUNTED] and told_elsewhere(m, b, i, match))
    m[b + H_FIRST] = first


@kernel
def by_state(m: Any, c: Any) -> int:
    """Add the partial matches stored to row 0 of ``c``, by the numbers of their states. Returns DONE. O(what is held)."""
    s = N_REG + m[C_R]
    for key in range(m[C_KEYS]):
        b = held_block(m, key)
        if b == 0:
            continue
        for place in range(m[b + H_FIRST], m[b + H_LAST]):
            rows = m[b + HEAD + ND * m[b + H_CAP] + m[b + HEAD + place]]
            for k in range(rows & COUNT):
                c[0, m[b + m[b + H_NODES] + ((rows >> 24) + k) * s + N_STATE]] += 1
    return DONE


@kernel
def told_elsewhere(m: Any, b: int, i: int, match: int) -> bool:
    """Return whether a step other than ``i`` holds a match; where only the longest count, one of its T and payload."""
    if m[C_LONGEST]:
        return bool(longest_elsewhere(m, b, i, m, match) != BEGINNING)
    return bool(held_elsewhere(m, b, i, m, match))
