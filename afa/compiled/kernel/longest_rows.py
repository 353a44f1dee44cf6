"""Of partial matches of one state and register the one that lasts longest; of matches with one LE and payload the longest.

    list      (1, 61, a, 7)  (2, 50, a, 7)  (3, 61, a, 7)  (3, 62, a, 8)       start, m, state, register
    best      (3, 61, a, 7)  (3, 62, a, 8)                                     the largest m, of these the latest start

    matches   at 5: [5, 61) shows 7     [5, 50) shows 7      -->    [5, 61) shows 7
    of two steps that hold matches at 5, the longest of both is the one that the output knows

What another partial match of its state and register outlives leads to nothing that this one does not lead to for longer: so a list
is a function of the list before it still. What a match does not show (words of the register from m.told on) is 0 in its row.
"""

from __future__ import annotations

from typing import Annotated, Any

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import FEW, copy, fill_place, new_set, place_of, same_words, unique
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place


@kernel
def distinct(m: Memory, a: Any, w: Scratch, rows: int, n: int, s: int) -> int:
    """Keep each partial match of a list once; where only the longest count, the best of each state and register. Returns how many.

    *Requires* rows sorted by start, fewer than w.rows.
    """
    return int(longest_rows(a, w, rows, n, s) if m.longest else unique(a, w, rows, n, s))


@kernel
def longest_rows(a: Any, w: Scratch, rows: int, n: int, s: int) -> int:
    """Keep of each state and register the row with the largest ``m``, of these the one that began last. O(n).

    Of equal rows the first is kept, with the mark of one that stays if any has it. The others stay in their order.
    """
    hashed = n > FEW
    if hashed:
        new_set(w)
    for k in range(n):
        row = NodeRow(a, rows + k * s)
        twin = NodeRow(a, NOWHERE)
        if hashed:
            place = place_of(a, w, row.register, s - NodeRow.register, NOWHERE, row.state)
            if w[place] == w.stamp:
                twin = NodeRow(a, w[place + 1] - NodeRow.register)
            if twin == NOWHERE or outlives(a, row, twin):
                fill_place(w, place, row.register, row.state)
        else:
            for j in range(k):
                other = NodeRow(a, rows + j * s)
                if other.state == row.state and same_words(a, row.register, a, other.register, s - NodeRow.register):
                    twin = other
                    break
        if twin == NOWHERE:
            continue
        if outlives(a, row, twin):
            twin.state = NOWHERE
            continue
        if row.until == twin.until and row.start == twin.start and row.end != ALONE:
            twin.end = row.end
        row.state = NOWHERE
    kept = 0
    for k in range(n):
        if NodeRow(a, rows + k * s).state != NOWHERE:
            if kept != k:
                copy(a, rows + k * s, a, rows + kept * s, s)
            kept += 1
    return kept


@kernel
def outlives(a: Any, row: Annotated[NodeRow, "a"], other: Annotated[NodeRow, "a"]) -> bool:
    """Return whether a row is better than another one of its state and register."""
    return bool(row.until > other.until or (row.until == other.until and row.start > other.start))


@kernel
def add_longest(m: Memory, w: Scratch, at: Annotated[MatchRow, "w"], count: int) -> int:
    """Add the match behind the ``count`` ones at w.temp, which stands at ``at``, or lengthen the one with its T and payload.

    Returns how many there are then. *Requires* a set begun for these matches, and fewer than w.rows of them.
    """
    for j in range(m.told, m.register_words):
        at.register[j] = 0
    place = place_of(w, w, at.register, m.register_words, NOWHERE, at.t)
    if w[place] != w.stamp:
        fill_place(w, place, at.register, at.t)
        return count + 1
    twin = MatchRow(w, w[place + 1] - MatchRow.register)
    twin.re = max(twin.re, at.re)
    return count


@kernel
def longest_elsewhere(m: Memory, b: Block, i: int, a: Any, match: Annotated[MatchRow, "a"]) -> int:
    """Return the largest RE of a match like this one that a step other than ``i`` holds, or BEGINNING; see `held_elsewhere`."""
    width = MatchRow.register + m.register_words
    order, times, slices = b.order, b.le, b.matches_of
    t, found = match.t, BEGINNING
    place = find_place(m, b, t, 0) if t > BEGINNING else b.first
    while place > b.first and times[order[place - 1]] == t:
        place -= 1
    place = max(place - 1, b.first)
    while place < b.last and times[order[place]] <= t:
        other = order[place]
        rows = b + b.matches + Slice(slices[other]).first * width
        for k in range(Slice(slices[other]).count if other != i else 0):
            row = MatchRow(rows + k * width)
            if row.t == t and same_words(a, match.register, m, row.register, m.register_words):
                found = max(found, row.re)
        place += 1
    return int(found)


@kernel
def log_longest(m: Memory, w: Scratch, p: Program, b: int, i: int, there: int, before: int, count: int) -> None:
    """Log what a step's ``before`` matches at ``m[there]`` and its ``count`` new ones at w.temp change of the longest.

    *Requires* room for twice as many entries as there are matches of both kinds, and for both at w.temp; fewer than w.rows.
    """
    width, here, shared = MatchRow.register + m.register_words, w.temp, p.counted != 0
    old = here + count * width
    copy(m, there, w, old, before * width)
    put_matches(m, w, here, count)
    for k in range(before):
        match = MatchRow(w, old + k * width)
        place = place_of(w, w, match.register, m.register_words, NOWHERE, match.t)
        now = MatchRow(w, w[place + 1] - MatchRow.register).re if w[place] == w.stamp else BEGINNING
        other = longest_elsewhere(m, b, i, w, match) if shared else BEGINNING
        log_end(m, w, match, max(match.re, other), max(now, other))
    put_matches(m, w, old, before)
    for k in range(count):
        match = MatchRow(w, here + k * width)
        if w[place_of(w, w, match.register, m.register_words, NOWHERE, match.t)] != w.stamp:
            other = longest_elsewhere(m, b, i, w, match) if shared else BEGINNING
            log_end(m, w, match, other, max(match.re, other))


@kernel
def put_matches(m: Memory, w: Scratch, rows: int, n: int) -> None:
    """Make the set that of ``n`` matches at ``w[rows]``, by T and payload."""
    new_set(w)
    for k in range(n):
        match = MatchRow(w, rows + k * (MatchRow.register + m.register_words))
        fill_place(w, place_of(w, w, match.register, m.register_words, NOWHERE, match.t), match.register, match.t)


@kernel
def log_end(m: Memory, w: Scratch, match: int, was: int, now: int) -> None:
    """Log that the longest match like the one at ``w[match]`` ends at ``now``, no longer at ``was``; BEGINNING: there is none."""
    if was == now:
        return
    r = m.register_words
    for sign in (-1, 1):
        end = was if sign < 0 else now
        if end == BEGINNING:
            continue
        at = LogRow(w.log + w.log_top * (LogRow.register + r))
        at.key = w.key
        at.sign = sign
        copy(w, match, w, at + LogRow.t, MatchRow.register + r)
        at.re = end
        w.log_top += 1
        if sign < 0:
            w.taken += 1
