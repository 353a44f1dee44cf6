"""Only the longest: of partial matches of one state and register, and of matches of one LE and payload, the one that lasts longest.

    list      (1, 61, a, 7)  (2, 50, a, 7)  (3, 61, a, 7)  (3, 62, a, 8)       start, until, state, register
    longest   (3, 61, a, 7)  (3, 62, a, 8)                                     the largest until, of these the latest start

    matches   at 5: [5, 61) shows 7     [5, 50) shows 7      -->    [5, 61) shows 7
    of two steps that store matches at 5, the longest of both is the one that the output has

A partial match that another one of its state and register outlives leads to nothing that the other does not lead to for longer. So
a list is a function of the list before it still. Words of the register that a match does not show (from m.told on) are 0 in its
row.
"""

from __future__ import annotations

from typing import Annotated, Any

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import FEW, copy, fill_place, new_set, place_of, same_words, unique
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place


@kernel
def distinct(m: Memory, a: Any, w: Scratch, rows: int, n: int, s: int) -> int:
    """Keep each partial match of a list once; where only the longest count, that of each state and register. Returns how many.

    *Requires* rows sorted by start, fewer than w.rows.
    """
    return longest_rows(a, w, rows, n, s) if m.longest else unique(a, w, rows, n, s)


@kernel
def longest_rows(a: Any, w: Scratch, rows: int, n: int, s: int) -> int:
    """Keep of each state and register the row with the largest ``until``, of these the one that began last. O(n).

    Of equal rows the first is kept; if any of them stays as a node, it does. The rows kept stay in their order.
    """
    # Each row against the best one so far of its state and register; of the two one gets the state NOWHERE.
    hashed = n > FEW
    if hashed:
        new_set(w)
    for k in range(n):
        row = NodeRow(a, rows + k * s)
        best = NodeRow(a, NOWHERE)
        if hashed:
            place = place_of(a, w, row.register, s - NodeRow.register, NOWHERE, row.state)
            if w[place] == w.stamp:
                best = NodeRow(a, w[place + 1] - NodeRow.register)
            if best == NOWHERE or outlives(a, row, best):
                fill_place(w, place, row.register, row.state)
        else:
            for j in range(k):
                other = NodeRow(a, rows + j * s)
                if other.state == row.state and same_words(a, row.register, a, other.register, s - NodeRow.register):
                    best = other
                    break
        if best == NOWHERE:
            continue
        if outlives(a, row, best):
            best.state = NOWHERE
            continue
        if row.until == best.until and row.start == best.start and row.end != ALONE:
            best.end = row.end
        row.state = NOWHERE
    # INVARIANT: those left stay in order of start.
    kept = 0
    for k in range(n):
        if NodeRow(a, rows + k * s).state != NOWHERE:
            if kept != k:
                copy(a, rows + k * s, a, rows + kept * s, s)
            kept += 1
    return kept


@kernel
def outlives(a: Any, row: Annotated[NodeRow, "a"], other: Annotated[NodeRow, "a"]) -> bool:
    """Return whether a row lasts longer than another one of its state and register, or as long and began later."""
    return row.until > other.until or (row.until == other.until and row.start > other.start)


@kernel
def add_longest(m: Memory, w: Scratch, at: Annotated[MatchRow, "w"], count: int) -> int:
    """Add the match at ``at`` to the ``count`` ones before it at w.temp, or lengthen the one with its T and payload.

    Returns how many there are then. *Requires* a set begun for these matches, and fewer than w.rows of them.
    """
    for j in range(m.told, m.register_words):
        at.register[j] = 0
    place = place_of(w, w, at.register, m.register_words, NOWHERE, at.t)
    if w[place] != w.stamp:
        fill_place(w, place, at.register, at.t)
        return count + 1
    same = MatchRow(w, w[place + 1] - MatchRow.register)
    same.re = max(same.re, at.re)
    return count


@kernel
def stored_elsewhere(m: Memory, b: Block, i: int, a: Any, match: Annotated[MatchRow, "a"]) -> int:
    """Return the RE of a match that a step other than ``i`` stores, too: one at T, or the last one before; BEGINNING: none does.

    Where only the longest count, the largest RE of matches with this T and payload.
    """
    order, times, r, t, found = b.order, b.le, m.register_words, match.t, BEGINNING
    place = find_place(m, b, t, 0) if t > BEGINNING else b.first
    while place > b.first and times[order[place - 1]] == t:
        place -= 1
    place = max(place - 1, b.first)
    while place < b.last and times[order[place]] <= t:
        other = order[place]
        rows = b.matches_of[other]
        for k in range(rows.count if other != i else 0):
            row = MatchRow(b + b.matches + (rows.first + k) * (MatchRow.register + r))
            if row.t == t and (m.longest or row.re == match.re) and same_words(a, match.register, m, row.register, r):
                found = max(found, row.re)
        place += 1
    return found


@kernel
def log_longest(m: Memory, w: Scratch, p: Program, b: Block, i: int, there: int, before: int, count: int) -> None:
    """Log how the longest matches change as a step's ``before`` matches at ``m[there]`` become the ``count`` at w.temp.

    *Requires* room for twice as many entries as there are matches of both kinds, and for both at w.temp; fewer than w.rows.
    """
    width, here, shared = MatchRow.register + m.register_words, w.temp, p.counted != 0
    old = here + count * width
    copy(m, there, w, old, before * width)
    # Matches that the step had: they end elsewhere now, or nowhere.
    put_matches(m, w, here, count)
    for k in range(before):
        match = MatchRow(w, old + k * width)
        place = place_of(w, w, match.register, m.register_words, NOWHERE, match.t)
        now = MatchRow(w, w[place + 1] - MatchRow.register).re if w[place] == w.stamp else BEGINNING
        other = stored_elsewhere(m, b, i, w, match) if shared else BEGINNING
        log_end(m, w, match, max(match.re, other), max(now, other))
    # Matches that it did not have.
    put_matches(m, w, old, before)
    for k in range(count):
        match = MatchRow(w, here + k * width)
        if w[place_of(w, w, match.register, m.register_words, NOWHERE, match.t)] != w.stamp:
            other = stored_elsewhere(m, b, i, w, match) if shared else BEGINNING
            log_end(m, w, match, other, max(match.re, other))


@kernel
def put_matches(m: Memory, w: Scratch, rows: int, n: int) -> None:
    """Begin a new set, of the ``n`` matches at ``w[rows]``, by T and payload."""
    new_set(w)
    for k in range(n):
        match = MatchRow(w, rows + k * (MatchRow.register + m.register_words))
        fill_place(w, place_of(w, w, match.register, m.register_words, NOWHERE, match.t), match.register, match.t)


@kernel
def log_end(m: Memory, w: Scratch, match: int, was: int, now: int) -> None:
    """Log that the longest match like ``w[match]`` ends at ``now``, no longer at ``was``; BEGINNING: there is none."""
    if was == now:
        return
    r = m.register_words
    for sign in (-1, 1):
        end = was if sign < 0 else now
        if end == BEGINNING:
            continue
        at = LogRow(w.log + w.log_top * (LogRow.register + r))
        at.key, at.sign = w.key, sign
        copy(w, match, w, at + LogRow.t, MatchRow.register + r)
        at.re = end
        w.log_top += 1
        if sign < 0:
            w.taken += 1
