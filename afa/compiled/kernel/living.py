"""Where what may go on has begun: how far back lineages may be asked for; see `afa.operator.kept_lineage`.

living at 20     LE      3     8    12    17  |  20
                 list          .     .   p (start 8, m 25)  q (start 3, m 18)      q is over: 8
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.buffers import load_list
from afa.compiled.kernel.clean import cover_of
from afa.compiled.kernel.desk import held_block
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place


@kernel
def living(m: Any, w: Any, t: int, floor: int) -> int:
    """Write to W_TEMP where the first partial match began, over all keys, that may go on at ``t``; FOREVER: none may.

    Then how many partial matches were looked at, or steps, and how many keys. Nothing before ``floor`` counts. Returns DONE or
    NEED_ROWS. O(keys + lists there).
    """
    at, keys = w[W_TEMP], 0
    w[at], w[at + 1] = FOREVER, 0
    for key in range(m[C_KEYS]):
        b = held_block(m, key)
        if b == 0:
            continue
        keys += 1
        place = cover_of(m, b, t)
        if place < m[b + H_FIRST]:
            continue
        if m[C_LONGEST]:
            first_alive(m, w, b, find_place(m, b, floor, BEGINNING), place, t)
            continue
        status = first_begun(m, w, b, place, t)
        if status < 0:
            return status
    w[at + 2] = keys
    return DONE


@kernel
def first_begun(m: Any, w: Any, b: int, place: int, t: int) -> int:
    """Let W_TEMP be at most the first start in the list of a place whose ``m`` lies behind ``t``. Returns DONE or NEED_ROWS."""
    rows, s, at = w[W_SOURCE], N_REG + m[C_R], w[W_TEMP]
    n = load_list(m, w, b, place, rows)
    if n < 0:
        return int(n)
    w[at + 1] += n
    for k in range(n):
        if w[rows + k * s + N_M] > t:
            w[at] = min(w[at], w[rows + k * s + N_START])
            break
    return DONE


@kernel
def first_alive(m: Any, w: Any, b: int, first: int, last: int, t: int) -> None:
    """Let W_TEMP be at most the LE of the first step of some places with an event whose RE lies behind ``t``.

    Of those that last longest the starts say nothing.
    """
    cap, size, out = m[b + H_CAP], E_WORDS + m[C_V], w[W_TEMP]
    for at in range(first, last + 1):
        i = m[b + HEAD + at]
        w[out + 1] += 1
        events = m[b + HEAD + EV * cap + i]
        for k in range(events >> 24, (events >> 24) + (events & COUNT)):
            if m[b + m[b + H_EVENTS] + k * size + E_RE] > t:
                w[out] = min(w[out], m[b + HEAD + LE * cap + i])
                return
