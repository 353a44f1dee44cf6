"""Records of a batch, and all keys that a punctuation or a change of arcs concerns: a unit each."""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.groups import group_rows
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel, peek
from afa.compiled.kernel.order import promise
from afa.compiled.kernel.unit import serve


@kernel
def everyone(m: Any, w: Any, p: Any, c: Any, what: int, low: int, high: int) -> int:
    """A unit for each key that a punctuation (TICK, CLEAN) or a change of arcs (SWAP) concerns, from key C_NEXT on. A status.

    CLEAN leaves those keys alone that it would only make smaller, but with ``low`` = ALL_KEYS; with CHANGED_KEYS it takes those of
    them that have changed since the call ``high``.
    """
    key = m[C_NEXT]
    while key < m[C_KEYS]:
        entry = m[C_DIR] + key * D_SIZE
        due = m[entry + D_BLOCK] != 0
        if what != SWAP:
            smaller = low == ALL_KEYS or (low == CHANGED_KEYS and m[entry + D_CHANGED] >= high)
            due = due and (m[entry + D_ACT] <= m[C_EVENTS] or (smaller and m[entry + D_CLEAN] <= m[C_FINAL]))
        if due:
            status = serve(m, w, p, c, key, 0, what, low, high)
            if status < 0:
                return status
        key += 1
        m[C_NEXT] = key
    return DONE


@kernel
def listed_events(w: Any, c: Any, low: int, high: int) -> int:
    """Put the events among records ``low`` to ``high`` at W_INDEX; how many."""
    index, n = w[W_INDEX], 0
    for x in range(low, high):
        if c[I_KIND, x] == EVENT:
            w[index + n] = x
            n += 1
    return n


@kernel
def group(m: Any, w: Any, c: Any, low: int, high: int) -> int:
    """Chain the events among records ``low`` to ``high`` by key, in order of arrival; how many keys they have."""
    heads, links, touched = w[W_HEADS], w[W_NEXT], w[W_TOUCHED]
    count = 0
    for x in range(high - 1, low - 1, -1):
        if c[I_KIND, x] != EVENT:
            continue
        key = c[I_KEY, x]
        if w[heads + key] == 0:
            w[touched + count] = key
            count += 1
        w[links + x - low] = w[heads + key] - 1
        w[heads + key] = x + 1
    return count


@kernel
def scan(m: Any, c: Any, low: int, high: int) -> int:
    """Take records in order of arrival until ``high``, or the first that needs what came before it carried out; where it stopped.

    Late events are told apart, and what is seen moves the present.
    """
    safe = m[C_WAITING] == 0
    latest, started = BEGINNING, False
    x = low
    while x < high:
        kind = c[I_KIND, x]
        if kind == EVENT:
            le = c[I_LE, x]
            if le < m[C_EVENTS]:
                m[C_LATE] += 1
                m[C_PLACE] = x
                if m[C_REFUSE]:
                    return LATE
                c[I_KIND, x] = DROPPED
            else:
                started = True
                latest = max(latest, le)
                m[C_CHANGES] += abs(c[I_DIFF, x])
                safe = safe and c[I_DIFF, x] > 0
        elif kind != PUNCTUATION or not safe:
            break
        else:
            promise(m, c[I_LE, x])
        x += 1
    if started:
        m[C_NOW] = max(m[C_NOW], latest + 1)
    return x


@kernel
def chunk(m: Any, w: Any, p: Any, c: Any, low: int, high: int) -> int:
    """Carry out the events among records ``low`` to ``high``, but those that are TAKEN. A status."""
    index = w[W_INDEX]
    if m[C_KEYED] == 0:
        n = listed_events(w, c, low, high)
        return serve(m, w, p, c, 0, n, SERVE, 0, 0) if n else DONE
    count = group(m, w, c, low, high)
    status = DONE
    for k in range(count):
        key = w[w[W_TOUCHED] + k]
        x, n = w[w[W_HEADS] + key] - 1, 0
        w[w[W_HEADS] + key] = 0
        while x != NOWHERE:
            w[index + n] = x
            n += 1
            x = w[w[W_NEXT] + x - low]
        if status < 0:
            continue
        status = serve(m, w, p, c, key, n, SERVE, 0, 0)
        if status >= 0:
            for i in range(n):
                c[I_KIND, w[index + i]] = TAKEN
    return status


@kernel
def coming(m: Any, c: Any, key: int) -> int:
    """About how many rows of a key are still to come in this call; 0: no more than are at work."""
    if c[0, F_COUNTS] == 0:
        return 0
    b = m[m[C_DIR] + key * D_SIZE + D_BLOCK]
    held = m[b + H_LAST] - m[b + H_FIRST] if b else 0
    return int(peek(c[0, F_COUNTS] + 8 * key) - held)


@kernel
def each(m: Any, w: Any, p: Any, c: Any, low: int, high: int) -> int:
    """Carry out the events among records ``low`` to ``high`` one by one, but those that are TAKEN. A status.

    At I_ARC of each, where the output log ends after it.
    """
    for x in range(low, high):
        if c[I_KIND, x] != EVENT:
            continue
        w[w[W_INDEX]] = x
        status = serve(m, w, p, c, c[I_KEY, x], 1, SERVE, 0, 0)
        if status < 0:
            return status
        c[I_KIND, x], c[I_ARC, x] = TAKEN, w[W_LOG_TOP]
    return DONE


@kernel
def groups(m: Any, w: Any, p: Any, c: Any, low: int, high: int) -> int:
    """Take rows ``low`` to ``high`` of the columns at ``c`` key by key, from C_NEXT and C_FROM on; where it stopped, or a status.

    ``c[1, row - low]`` says of each whether it was not taken. See `group_rows`.
    """
    count = group_rows(m, w, c, low, high)
    stopped = m[C_PLACE]
    c[0, F_INDEX] = m[C_W] + 8 * w[W_INDEX]
    while m[C_NEXT] < count:
        end = w[w[W_SORT] + w[W_BATCH] + m[C_NEXT]]
        key = w[w[W_TOUCHED] + m[C_NEXT]]
        m[C_COMING] = coming(m, c, key)
        status = serve(m, w, p, c, key, end - m[C_FROM], FORWARD, m[C_FROM], end)
        if status < 0:
            return status
        if m[C_SHORT]:
            m[C_FROM] = m[C_STOPPED]
            continue
        for k in range(m[C_STOPPED], end):
            c[1, w[w[W_INDEX] + k] - low] = 1
        m[C_FROM] = end
        m[C_NEXT] += 1
    return int(stopped)
