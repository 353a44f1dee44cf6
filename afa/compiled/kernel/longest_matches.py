"""The matches of a step, where only the longest count: mostly one, or none.

rows in final states    (9, 69, F, 4)         one payload: compared with the match that the step had, without a set
                        (9, 69, F, 4) ..      several: by `matches`
"""

from __future__ import annotations

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.lists import copy, same_words
from afa.compiled.kernel.longest_rows import log_end
from afa.compiled.kernel.matches import accepted, set_matches, store_matches
from afa.compiled.kernel.native_call import kernel


@kernel
def final_rows(m: Memory, w: Scratch, p: Program, x: Loop, le: int) -> int:
    """Copy the rows in states that are final at ``le`` to w.source. Returns how many."""
    s, source, count, finals = NodeRow.register + m.register_words, w.source, 0, x.finals
    k = x.n - 1
    while k >= 0 and finals > 0:
        row = NodeRow(w, w.other + k * s)
        if p[p.now + row.state]:
            finals -= 1
            if row.until > le:
                copy(w, row, w, source + count * s, s)
                count += 1
        k -= 1
    return count


@kernel
def longest_matches(m: Memory, w: Scratch, p: Program, b: Block, x: Loop, i: int, le: int) -> int:
    """Make the matches of a step those of the list. Returns DONE or NEED_LOG, NEED_TEMP, NEED_ROWS, NEED_MATCHES.

    *Requires* `room` for 3, and that no other step stands for these matches.
    """
    old, width, count = b.matches_of[i], MatchRow.register + m.register_words, final_rows(m, w, p, x, le)
    if count > 1 or old.count > 1 or le < m.final:
        found = accepted(m, w, p, w, w.source, count, le)
        return set_matches(m, w, p, b, i, found) if found >= 0 else found
    if count == 0 and old.count == 0:
        return DONE
    # One match at most, before and now.
    if w.log_top + 4 > w.log_cap:
        return NEED_LOG
    if 2 * width > w.temp_cap:
        return NEED_TEMP
    match, before = MatchRow(w, w.temp), MatchRow(w, w.temp + width)
    was = now = BEGINNING
    if count:
        match.t, match.re = le, NodeRow(w, w.source).until
        copy(w, w.source + NodeRow.register, w, match.register, m.register_words)
        for j in range(m.told, m.register_words):
            match.register[j] = 0
        now = match.re
    if old.count:
        copy(m, b + b.matches + old.first * width, w, before, width)
        was = before.re
    # Of another payload it is another match: the old one ends. Of the same one it changes its end.
    if old.count and count and not same_words(w, match.register, w, before.register, m.register_words):
        log_end(m, w, before, was, BEGINNING)
        was = BEGINNING
    elif was == now:
        return DONE
    log_end(m, w, match if count else before, was, now)
    store_matches(m, w, b, i, count)
    return DONE
