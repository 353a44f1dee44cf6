"""The first start of a partial match that may go on: how far back lineages may be asked for; see `afa.operator.kept_lineage`.

living at 20     LE      3     8    12    17  |  20
                 list          .     .   p (start 8, until 25)  q (start 3, until 18)      q is over: 8
"""

from __future__ import annotations

from afa.compiled.kernel.buffers import load_list
from afa.compiled.kernel.clean import cover_of
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.order import find_place
from afa.compiled.kernel.unpacked import block_of_key


@kernel
def living(m: Memory, w: Scratch, t: int, floor: int) -> int:
    """Write to w.temp the first start, over all keys, of a partial match that may go on at ``t``; FOREVER: there is none.

    Then how many partial matches, or steps, were looked at, and how many keys. Nothing before ``floor`` counts. Returns DONE or
    NEED_ROWS. O(keys + lists there).
    """
    at, keys = w.temp, 0
    w[at], w[at + 1] = FOREVER, 0
    for key in range(m.keys):
        b = Block(block_of_key(m, key))
        if b == 0:
            continue
        keys += 1
        place = cover_of(m, b, t)
        if place < b.first:
            continue
        if m.longest:
            first_alive(m, w, b, find_place(m, b, floor, BEGINNING), place, t)
            continue
        status = first_begun(m, w, b, place, t)
        if status < 0:
            return status
    w[at + 2] = keys
    return DONE


@kernel
def first_begun(m: Memory, w: Scratch, b: Block, place: int, t: int) -> int:
    """Lower w.temp to the first start in the list of a place whose ``until`` lies behind ``t``. Returns DONE or NEED_ROWS."""
    rows, s, at = w.source, NodeRow.register + m.register_words, w.temp
    n = load_list(m, w, b, place, rows)
    if n < 0:
        return n
    w[at + 1] += n
    for k in range(n):
        row = NodeRow(w, rows + k * s)
        if row.until > t:  # the first one: a list is in order of start
            w[at] = min(w[at], row.start)
            break
    return DONE


@kernel
def first_alive(m: Memory, w: Scratch, b: Block, first: int, last: int, t: int) -> None:
    """Lower w.temp to the LE of the first step from place ``first`` to ``last`` with an event whose RE lies behind ``t``.

    Where only the longest count, the starts of those kept say nothing of others.
    """
    size, out = EventRow.payload + m.payload_words, w.temp
    for place in range(first, last + 1):
        i = b.order[place]
        w[out + 1] += 1
        events = b.events_of[i]
        for k in range(events.first, events.first + events.count):
            if EventRow(b + b.events + k * size).re > t:
                w[out] = min(w[out], b.le[i])
                return
