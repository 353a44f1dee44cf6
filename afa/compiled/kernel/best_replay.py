"""Steps behind a late event once more, where only the longest count: by one event after the other, until lists are what they were.

    step          41       42       43       44 ..     the list before 41 goes into columns; each event changes a few rows of it
    nodes now     p q      r        -        s         (`best_step`), the rows that come are the step's nodes from now on
    as it was     p q' t   r'       u        s         W_OLD: the list as it was, brought up to a step where they are compared
                                             |
                                             both lists hold the same: nodes take over how far those of W_OLD reached

So a step costs what an event costs that comes in order, whatever the list, where `walk_runs` would derive and compare it whole. It
gives the walk back at a step of several events, or of none, and at one that only arc by arc can be taken.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.kernel.best_list import column, count_finals, fill_set, find_best
from afa.compiled.kernel.best_matches import best_matches
from afa.compiled.kernel.best_step import begin_list, change_columns, end_list
from afa.compiled.kernel.buffers import add_nodes, copy_row, since_of, sorted_rows
from afa.compiled.kernel.heap import room
from afa.compiled.kernel.lists import copy
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.step import marked, store_nodes

APART = 64
"""How many steps lie between two comparisons at most, if there are no more rows; at first C_SOON, then twice as many each time."""


@kernel
def may_replay(m: Any, p: Any) -> bool:
    """Return whether `replay` serves this program."""
    return bool(m[C_LONGEST] and p[P_COLUMNS] != 0 and p[P_TIMEOUT] == 0 and p[P_COUNTED] == 0)


@kernel
def replay(m: Any, w: Any, p: Any, b: int, place: int, n: int, before: int) -> tuple[int, int, int, int]:
    """Make the steps from a place on from the ``n`` rows at W_SOURCE, the list before it; W_OLD has ``before``, as it was.

    Returns the place where it stops or a status, how many rows W_SOURCE and W_OLD have there, and whether the two lists hold the
    same, by rows. *Requires* `may_replay`, and a step before the place.
    """
    x, cap, last = w[W_LOOP], m[b + H_CAP], m[b + H_LAST]
    order, times, slices, lists = b + HEAD, b + HEAD + LE * cap, b + HEAD + EV * cap, b + HEAD + ND * cap
    status = begin_list(m, w, p, b, n)
    if status < 0:
        return status, n, before, 0
    seen, apart, until = place, m[C_SOON], BEGINNING
    ahead = place + apart
    while place < last:
        i = m[order + place]
        le, events = m[times + i], m[slices + i]
        if place >= ahead and not marked(w, place):
            before, seen = bring_up(m, w, b, seen, place, before), place
            if before < 0:
                return before, n, before, 0
            if last_before(m, w, b, place) >= w[W_UNTIL] and agrees(m, w, x, before, m[times + m[order + place - 1]]):
                end_list(m, w, p, b, x, m[times + m[order + place - 1]])
                return place, pair_rows(m, w, x, before), before, 1
            apart = min(2 * apart, max(APART, w[x + X_N]))
            ahead = place + apart
        if events & COUNT != 1:
            break
        if le >= until:
            seek(p, le)
            until = p[P_HIGH]
            count_finals(m, w, p, x)
        if p[P_SPILL]:
            break
        if not room(w, 24):
            return NEED_UNDO, n, before, 0
        event = b + m[b + H_EVENTS] + (events >> 24) * (E_WORDS + m[C_V])
        fresh = change_columns(m, w, p, b, x, m[C_M] + 8 * (event + E_WORDS), m[event + E_RE], le)
        if fresh == ASK:
            break
        if fresh < 0:
            return fresh, n, before, 0
        w[w[W_ORDER] + place] = m[lists + i]
        store_nodes(m, w, b, i, m[b + H_NODE_TOP] << 24 | fresh if fresh else 0, w[x + X_REACH])
        if w[x + X_FINALS] or m[b + HEAD + MT * cap + i]:
            status = best_matches(m, w, p, b, x, i, le)
            if status < 0:
                return status, n, before, 0
        place += 1
    end_list(m, w, p, b, x, m[times + m[order + place - 1]])
    if place < last:
        before = bring_up(m, w, b, seen, place, before)
        if before < 0:
            return before, n, before, 0
        before = sorted_rows(w, w[W_OLD], before, N_REG + m[C_R])
        n = put_rows(m, w, x)
    return place, n, before, 0


@kernel
def last_before(m: Any, w: Any, b: int, place: int) -> int:
    """Return the LE of the last step before a place that was there before; BEGINNING: there is none."""
    order, times = b + HEAD, b + HEAD + LE * m[b + H_CAP]
    at = place - 1
    while at >= m[b + H_FIRST]:
        if m[order + at] < w[W_MADE]:
            return int(m[times + m[order + at]])
        at -= 1
    return BEGINNING


@kernel
def bring_up(m: Any, w: Any, b: int, seen: int, place: int, n: int) -> int:
    """Move W_OLD, the list before place ``seen`` as it was, on to the last step before ``place`` that was there before.

    At W_ORDER stand the nodes that these steps had. Returns how many rows there are then, or NEED_ROWS.
    """
    order, times, rows, s = b + HEAD, b + HEAD + LE * m[b + H_CAP], w[W_OLD], N_REG + m[C_R]
    last = place - 1
    while last >= seen and m[order + last] >= w[W_MADE]:
        last -= 1
    if last < seen:
        return n
    le, kept = m[times + m[order + last]], 0
    for k in range(n):
        if w[since_of(w, rows, k, s) + w[W_ROWS]] > le:
            if k != kept:
                copy_row(w, rows, k, rows, kept, s)
            kept += 1
    for at in range(seen, last + 1):
        i = m[order + at]
        if i < w[W_MADE]:
            kept = add_nodes(m, w, b, i, w[w[W_ORDER] + at], rows, kept, BEGINNING if at == last else le)
            if kept < 0:
                return kept
    return kept


@kernel
def agrees(m: Any, w: Any, x: int, n: int, le: int) -> bool:
    """Return whether the list in columns, of a step at ``le``, holds the ``n`` rows at W_OLD and no others. O(n)."""
    s, rows, ms, starts = N_REG + m[C_R], w[W_OLD], column(m, w, N_M), column(m, w, N_START)
    alive = 0
    for k in range(w[x + X_N]):
        alive += w[ms + k] > le
    if alive != n:
        return False
    if w[x + X_SET] != w[W_STAMP]:
        fill_set(m, w, x)
    for j in range(n):
        row = rows + j * s
        place = find_best(m, w, row)
        if w[place] != w[W_STAMP]:
            return False
        k = w[place + 1]
        if w[ms + k] != w[row + N_M] or w[starts + k] != w[row + N_START]:
            return False
    return True


@kernel
def pair_rows(m: Any, w: Any, x: int, n: int) -> int:
    """Write the list in columns to W_SOURCE in the order of the ``n`` rows at W_OLD, which `agrees` with it. Returns ``n``."""
    s, rows, old = N_REG + m[C_R], w[W_SOURCE], w[W_OLD]
    nodes, since = column(m, w, N_END), column(m, w, s + 1)
    for j in range(n):
        k = w[find_best(m, w, old + j * s) + 1]
        copy(w, old + j * s, w, rows + j * s, s)
        w[rows + j * s + N_END] = w[nodes + k]
        w[since_of(w, rows, j, s)] = w[since + k]
    return n


@kernel
def put_rows(m: Any, w: Any, x: int) -> int:
    """Write the list in columns to W_SOURCE, by start. Returns how many rows it has."""
    s, rows, n = N_REG + m[C_R], w[W_SOURCE], w[x + X_N]
    since = column(m, w, s + 1)
    for k in range(n):
        for j in range(s):
            w[rows + k * s + j] = w[column(m, w, j) + k]
        at = since_of(w, rows, k, s)
        w[at], w[at + w[W_ROWS]] = w[since + k], ALONE
    return sorted_rows(w, rows, n, s)
