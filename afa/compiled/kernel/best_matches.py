"""The matches of a step whose list stands in columns, where only the longest count: mostly one, or none.

rows in final states    (9, 69, F, 4)         one payload: its match is compared with the one that the step had, without a set
                        (9, 69, F, 4) ..      several: as `matches` does
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.best_list import column
from afa.compiled.kernel.best_rows import log_end
from afa.compiled.kernel.lists import copy, same_words
from afa.compiled.kernel.matches import accepted, set_matches, store_matches
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel


@kernel
def final_rows(m: Any, w: Any, p: Any, x: int, le: int) -> int:
    """Copy the rows in states that are final at ``le`` to W_SOURCE. Returns how many."""
    s, source, count, finals = N_REG + m[C_R], w[W_SOURCE], 0, w[x + X_FINALS]
    state, ms, k = column(m, w, N_STATE), column(m, w, N_M), w[x + X_N] - 1
    while k >= 0 and finals > 0:
        if p[p[P_NOW] + w[state + k]]:
            finals -= 1
            if w[ms + k] > le:
                for j in range(s):
                    w[source + count * s + j] = w[column(m, w, j) + k]
                count += 1
        k -= 1
    return count


@kernel
def best_matches(m: Any, w: Any, p: Any, b: int, x: int, i: int, le: int) -> int:
    """Make the matches of a step those of the list in columns. Returns DONE or NEED_LOG, NEED_TEMP, NEED_ROWS, NEED_MATCHES.

    *Requires* `room` for 3, and that no other step stands for these matches.
    """
    old, width, count = m[b + HEAD + MT * m[b + H_CAP] + i], M_REG + m[C_R], final_rows(m, w, p, x, le)
    if count > 1 or old & COUNT > 1 or le < m[C_FINAL]:
        found = accepted(m, w, p, w, w[W_SOURCE], count, le, 0)
        return int(set_matches(m, w, p, b, i, found)) if found >= 0 else int(found)
    if count == 0 and old & COUNT == 0:
        return DONE
    if w[W_LOG_TOP] + 4 > w[W_LOG_CAP]:
        return NEED_LOG
    if 2 * width > w[W_TEMP_CAP]:
        return NEED_TEMP
    match, before = w[W_TEMP], w[W_TEMP] + width
    was = now = BEGINNING
    if count:
        w[match + M_T], w[match + M_RE] = le, w[w[W_SOURCE] + N_M]
        copy(w, w[W_SOURCE] + N_REG, w, match + M_REG, m[C_R])
        for j in range(m[C_TOLD], m[C_R]):
            w[match + M_REG + j] = 0
        now = w[match + M_RE]
    if old & COUNT:
        copy(m, b + m[b + H_MATCHES] + (old >> 24) * width, w, before, width)
        was = w[before + M_RE]
    if old & COUNT and count and not same_words(w, match + M_REG, w, before + M_REG, m[C_R]):
        log_end(m, w, before, was, BEGINNING)
        was = BEGINNING
    elif was == now:
        return DONE
    log_end(m, w, match if count else before, was, now)
    store_matches(m, w, b, i, count)
    return DONE
