"""Matches: those that the partial matches of a step stand for, and their changes in the output log.

    step 12     list, final states marked     matches before       matches now          output log
                (10, 70, b*, 1.5)             (12, 70, 1.0)        (12, 70, 1.5)        [key, -1, 12, 70, 1.0]
                (11, 15, a,  2.0)             (12, 90, 0.0)        (12, 90, 0.0)        [key, +1, 12, 70, 1.5]
                (11, 90, b*, 0.0)

The log has an entry for each match that comes into force or leaves it. A match belongs to the step whose partial matches stand for
it. With a sequence, or with time-outs, two neighbours may stand for the same one: then an entry is written only if no other step
stores it.
"""

from __future__ import annotations

from typing import Annotated, Any

from afa.compiled.kernel.heap import put_of_step
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import FEW, copy, fill_place, new_set, place_of, same_words
from afa.compiled.kernel.longest_rows import add_longest, log_longest, stored_elsewhere
from afa.compiled.kernel.native_call import kernel


@kernel
def among(a: Any, row: int, c: Any, rows: int, count: int, width: int) -> bool:
    """Return whether a row is one of ``count`` rows."""
    for k in range(count):
        if same_words(a, row, c, rows + k * width, width):
            return True
    return False


@kernel
def is_noted(w: Scratch, row: int, width: int) -> bool:
    """Return whether a match is in the set (`new_set`); else put it there. O(1)."""
    place = place_of(w, w, row, width, NOWHERE, 0)
    if w[place] == w.stamp:
        return True
    fill_place(w, place, row, 0)
    return False


@kernel
def put_match(m: Memory, w: Scratch, a: Any, row: Annotated[NodeRow, "a"], t: int, count: int) -> int:
    """Write the match at ``t`` of a partial match behind the ``count`` ones at w.temp. Returns where it stands, or NEED_TEMP."""
    width = MatchRow.register + m.register_words
    at = MatchRow(w, w.temp + count * width)
    if at + width > w.temp + w.temp_cap:
        return NEED_TEMP
    at.t, at.re = t, row.until
    copy(a, row.register, w, at.register, m.register_words)
    return at


@kernel
def accepted(m: Memory, w: Scratch, p: Program, a: Any, rows: int, n: int, le: int) -> int:
    """Write to w.temp the matches of partial matches in a final state at ``le``, each once; by payload, the longest.

    Where only the longest count, begins a new set: that of these matches. Returns how many, or NEED_TEMP. O(n).
    """
    s, width, temp, longest = NodeRow.register + m.register_words, MatchRow.register + m.register_words, w.temp, m.longest
    if le < m.final:  # INVARIANT: what is final is never touched
        return 0
    # A match whose RE is beyond all before it is new; any other is compared: with few one by one, else by the set.
    count, latest, hashed = 0, le, False
    if longest:
        new_set(w)
    for k in range(n):
        row = NodeRow(a, rows + k * s)
        if p[p.now + row.state] == 0:
            continue
        at = MatchRow(w, put_match(m, w, a, row, le, count))
        if at < 0:
            return NEED_TEMP
        if longest:
            count = add_longest(m, w, at, count)
            continue
        if row.until <= latest and not hashed and count > FEW:
            hashed = True
            new_set(w)
            for j in range(count):
                is_noted(w, temp + j * width, width)
        if hashed:
            if is_noted(w, at, width):
                continue
        elif row.until <= latest and among(w, at, w, temp, count, width):
            continue
        latest = max(latest, row.until)
        count += 1
    return count


@kernel
def log_match(m: Memory, w: Scratch, a: Any, match: int, sign: int) -> None:
    """Write one entry of the output log. *Requires* room in it."""
    r = m.register_words
    at = LogRow(w.log + w.log_top * (LogRow.register + r))
    at.key, at.sign = w.key, sign
    copy(a, match, w, at + LogRow.t, MatchRow.register + r)
    w.log_top += 1
    if sign < 0:
        w.taken += 1


@kernel
def set_matches(m: Memory, w: Scratch, p: Program, b: Block, i: int, count: int) -> int:
    """Make the ``count`` matches at w.temp those of step ``i``; changes go to the output log.

    Returns DONE, NEED_LOG or NEED_MATCHES. *Requires* `room` for 3.
    """
    old = b.matches_of[i]
    before = old.count
    if before == 0 and count == 0:
        return DONE
    # Matches at the head of both lists are as they were.
    width = MatchRow.register + m.register_words
    here, there = w.temp, b + b.matches + old.first * width
    head = 0
    while head < before and head < count and same_words(w, here + head * width, m, there + head * width, width):
        head += 1
    if head == before and head == count:
        return DONE
    # INVARIANT: all room is there before the first entry is written.
    if w.log_top + before + count > w.log_cap:
        return NEED_LOG
    if b.match_top + count > b.match_cap:
        return NEED_MATCHES
    if m.longest:
        if w.log_top + 2 * (before + count) > w.log_cap:
            return NEED_LOG
        if (before + count) * width > w.temp_cap:
            return NEED_TEMP
        if before >= w.rows:
            return NEED_ROWS
        log_longest(m, w, p, b, i, there, before, count)
        store_matches(m, w, b, i, count)
        return DONE
    # Of the others old ones leave and new ones come, unless another step stores the same.
    shared = p.counted != 0
    for k in range(head, before):
        match = there + k * width
        found = among(m, match, w, here + head * width, count - head, width)
        if not found and not (shared and stored_elsewhere(m, b, i, m, match) > BEGINNING):
            log_match(m, w, m, match, -1)
    for j in range(head, count):
        match = here + j * width
        found = among(w, match, m, there + head * width, before - head, width)
        if not found and not (shared and stored_elsewhere(m, b, i, w, match) > BEGINNING):
            log_match(m, w, w, match, 1)
    store_matches(m, w, b, i, count)
    return DONE


@kernel
def store_matches(m: Memory, w: Scratch, b: Block, i: int, count: int) -> None:
    """Store the matches at w.temp as those of step ``i``. *Requires* room in the block and in the undo log."""
    width, top = MatchRow.register + m.register_words, b.match_top
    copy(w, w.temp, m, b + b.matches + top * width, count * width)
    b.match_top = top + count
    put_of_step(m, w, i, b.matches_of + i, Slice(top, count) if count else 0)
