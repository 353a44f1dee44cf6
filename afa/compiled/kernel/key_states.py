"""What a snapshot holds of many keys at once, and those keys again; see `afa.state.states`.

A batch of three forms: its first row always tells of which keys (their numbers in the directory; NOWHERE: nothing is held), in
whatever order.

    HEADS      changes, rows, LE, number, RE    of each key, without the steps that `given` counts; see `afa.state.states`;
               pruned                           and whether promises with conditions have thinned it out, or said more of it
    COVERS     start, m, state, register..      of each partial match of their covers
    CHANGES    LE, RE, copies, words..          of each event, and with -copies of each retraction that waits
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.blocks import make
from afa.compiled.kernel.buffers import load_list
from afa.compiled.kernel.desk import SWAPPED, held_block, replace
from afa.compiled.kernel.due_keys import put_deadlines
from afa.compiled.kernel.heap import room
from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel, prefetch
from afa.compiled.kernel.one_key import grow, serve, settled
from afa.compiled.kernel.order import find_place
from afa.compiled.kernel.step import derive_matches

AHEAD = 8
"""How many keys ahead memory is asked for: as long as it takes to come. First their entries, then, as far, what they point to."""
LINES = 4
"""How many lines of a block or record are asked for."""


@kernel
def save_keys(m: Any, c: Any, n: int, what: int) -> int:
    """Write what HEADS, COVERS or CHANGES says of ``n`` keys to the batch. Returns DONE."""
    at = 0
    for k in range(n):
        ask_ahead(m, c, k, n)
        b = held_block(m, c[0, k]) if c[0, k] != NOWHERE else 0
        if what == HEADS:
            save_head(m, c, b, k)
        elif b == 0:
            continue
        elif what == COVERS:
            at = save_cover(m, c, b, at)
        else:
            at = save_changes(m, c, b, at)
    return DONE


@kernel
def ask_ahead(m: Any, c: Any, k: int, n: int) -> None:
    """Have the memory brought in that holds the keys some places behind ``k``."""
    if k + 2 * AHEAD < n:
        prefetch(m[C_M] + 8 * (m[C_DIR] + c[0, k + 2 * AHEAD] * D_SIZE))
    if k + AHEAD < n and c[0, k + AHEAD] != NOWHERE:
        at = m[C_M] + 8 * abs(m[m[C_DIR] + c[0, k + AHEAD] * D_SIZE + D_BLOCK])
        for line in range(LINES):
            prefetch(at + 64 * line)


@kernel
def covered(m: Any, b: int) -> bool:
    """Return whether a block's first step is ``cover``, and derived as others are."""
    if m[b + H_PRUNED] != BEGINNING or m[b + H_FIRST] == m[b + H_LAST]:
        return False
    return bool(m[b + HEAD + EV * m[b + H_CAP] + m[b + HEAD + m[b + H_FIRST]]] & COUNT == 0)


@kernel
def given(m: Any, b: int) -> int:
    """Return how many steps there are whose lists a snapshot must give: to the first behind H_PRUNED; the others follow from it."""
    if m[b + H_PRUNED] == BEGINNING:
        return 0
    return int(min(find_place(m, b, m[b + H_PRUNED] + 1, 0) + 1, m[b + H_LAST]) - m[b + H_FIRST])


@kernel
def save_head(m: Any, c: Any, b: int, k: int) -> None:
    """Write how many changes and rows a block has (0: there is none), and the times of its cover, to column ``k``."""
    for i in range(1, 7):
        c[i, k] = 0
    if b == 0:
        return
    cap, changes = m[b + H_CAP], m[b + H_PENDING_TOP]
    for place in range(m[b + H_FIRST] + given(m, b), m[b + H_LAST]):
        changes += m[b + HEAD + EV * cap + m[b + HEAD + place]] & COUNT
    c[1, k] = changes
    if covered(m, b):
        i = m[b + HEAD + m[b + H_FIRST]]
        c[2, k] = m[b + HEAD + ND * cap + i] & COUNT
        c[3, k] = m[b + HEAD + LE * cap + i]
        if m[C_GAPLESS]:
            c[4, k], c[5, k] = m[b + HEAD + SEQ * cap + i], m[b + H_OVER]
    c[6, k] = m[b + H_PRUNED] != BEGINNING or m[b + H_CLEANED] > m[C_FINAL]


@kernel
def save_cover(m: Any, c: Any, b: int, at: int) -> int:
    """Write the list of a block's cover from column ``at`` on. Returns the column behind it."""
    if not covered(m, b):
        return at
    s, rows = N_REG + m[C_R], m[b + HEAD + ND * m[b + H_CAP] + m[b + HEAD + m[b + H_FIRST]]]
    for k in range(rows & COUNT):
        node = b + m[b + H_NODES] + ((rows >> 24) + k) * s
        c[1, at], c[2, at], c[3, at] = m[node + N_START], m[node + N_M], m[node + N_STATE]
        for i in range(m[C_R]):
            c[4 + i, at] = m[node + N_REG + i]
        at += 1
    return at


@kernel
def save_changes(m: Any, c: Any, b: int, at: int) -> int:
    """Write the events of a block and its retractions that wait from column ``at`` on. Returns the column behind them."""
    v, cap = m[C_V], m[b + H_CAP]
    for place in range(m[b + H_FIRST] + given(m, b), m[b + H_LAST]):
        step = m[b + HEAD + place]
        rows = m[b + HEAD + EV * cap + step]
        for k in range(rows & COUNT):
            row = b + m[b + H_EVENTS] + ((rows >> 24) + k) * (E_WORDS + v)
            c[1, at], c[2, at], c[3, at] = m[b + HEAD + LE * cap + step], m[row + E_RE], m[row + E_COPIES]
            for i in range(v):
                c[4 + i, at] = m[row + E_WORDS + i]
            at += 1
    for k in range(m[b + H_PENDING_TOP]):
        row = b + m[b + H_PENDING] + k * (Q_WORDS + v)
        c[1, at], c[2, at], c[3, at] = m[row + Q_LE], m[row + Q_RE], -m[row + Q_COPIES]
        for i in range(v):
            c[4 + i, at] = m[row + Q_WORDS + i]
        at += 1
    return at


@kernel
def restore_covers(m: Any, w: Any, c: Any, high: int) -> int:
    """Make first blocks of keys with their cover steps, from column C_NEXT of the batch on. Returns a status.

    A column ``[key, LE, since, n, number, RE]``, then ``n`` columns as COVERS has them.
    """
    while m[C_NEXT] < high:
        at = m[C_NEXT]
        status = restore(m, w, c, c[0, at], at, c[3, at])
        if status < 0:
            return status
        m[C_NEXT] = at + 1 + c[3, at]
    return DONE


@kernel
def restore(m: Any, w: Any, c: Any, key: int, at: int, n: int) -> int:
    """Make a key's first block, with a cover step of ``n`` partial matches. Returns DONE, NEED_UNDO or NEED_HEAP."""
    b = grow(m, w, key, 0, n, DONE)
    if b < 0:
        return int(b)
    s, cap = N_REG + m[C_R], m[b + H_CAP]
    for column in range(COLUMNS):
        m[b + HEAD + column * cap] = 0
    m[b + HEAD + LE * cap] = m[b + HEAD + REACH * cap] = c[1, at]
    m[b + HEAD + SEQ * cap], m[b + H_OVER] = c[4, at], c[5, at]
    m[b + H_SINCE], m[b + H_CLEANED] = c[2, at], m[C_FINAL]
    for k in range(n):
        row, x = b + m[b + H_NODES] + k * s, at + 1 + k
        m[row + N_START], m[row + N_M], m[row + N_STATE], m[row + N_END] = c[1, x], c[2, x], c[3, x], ALONE
        for i in range(m[C_R]):
            m[row + N_REG + i] = c[4 + i, x]
    m[b + HEAD + ND * cap] = m[b + H_NODE_TOP] = n
    m[b + H_STEPS] = m[b + H_LAST] = 1
    put_deadlines(m, key, BEGINNING, BEGINNING)
    return int(min(settled(m, w, key, b), DONE))


@kernel
def restore_changes(m: Any, w: Any, p: Any, c: Any, high: int) -> int:
    """Serve the records of each key, which stand side by side, from column C_NEXT on; nothing is said of it. Returns a status.

    Without gaps to be told, that is. I_KEY is the number of a key in this memory.
    """
    while m[C_NEXT] < high:
        x, n = m[C_NEXT], 0
        while x + n < high and c[I_KEY, x + n] == c[I_KEY, x]:
            w[w[W_INDEX] + n] = x + n
            n += 1
        status = serve(m, w, p, c, c[I_KEY, x], n, SERVE, 0, 0)
        if status < 0:
            return status
        if m[C_GAPLESS] == 0:
            w[W_LOG_TOP] = w[W_TAKEN] = 0
        m[C_NEXT] = x + n
    return DONE


@kernel
def restore_steps(m: Any, w: Any, p: Any, c: Any, high: int) -> int:
    """Make the first blocks of keys, with steps whose lists are given, from column C_NEXT of the batch on. Returns a status.

    A column ``[key, steps, rows, events, pruned, cleaned]``; for each step a column ``[LE, rows, events, reach]``, its nodes, and
    its events as CHANGES has them, but from the first word of a column on.
    """
    while m[C_NEXT] < high:
        at = m[C_NEXT]
        status = restore_given(m, w, p, c, at)
        if status < 0:
            return status
        m[C_NEXT] = at + 1 + c[1, at] + c[2, at] + c[3, at]
    return DONE


@kernel
def restore_given(m: Any, w: Any, p: Any, c: Any, at: int) -> int:
    """Make a key's first block, with the steps from column ``at`` on. Returns a status."""
    steps, nodes, events, s, v = c[1, at], c[2, at], c[3, at], N_REG + m[C_R], m[C_V]
    if not room(w, 2 * SWAPPED):
        return NEED_UNDO
    b = make(m, steps + 3, events + 3, nodes + 3, nodes + 3, 1)
    if b < 0:
        return int(b)
    m[b + H_RUNS], m[b + H_CLEANED], m[b + H_PRUNED] = 1, max(m[C_FINAL], c[5, at]), c[4, at]
    m[b + H_STEPS], m[b + H_LAST] = steps, steps
    times, cap, x = b + HEAD + LE * m[b + H_CAP], m[b + H_CAP], at + 1
    for i in range(steps):
        le, rows, changes = c[0, x], c[1, x], c[2, x]
        for column in range(COLUMNS):
            m[b + HEAD + column * cap + i] = 0
        m[b + HEAD + i], m[times + i], m[b + HEAD + REACH * cap + i] = i, le, c[3, x]
        if rows:
            m[b + HEAD + ND * cap + i] = m[b + H_NODE_TOP] << 24 | rows
        if changes:
            m[b + HEAD + EV * cap + i] = m[b + H_EVENT_TOP] << 24 | changes
        x += 1
        for _ in range(rows):
            row = b + m[b + H_NODES] + m[b + H_NODE_TOP] * s
            for j in range(s):
                m[row + j] = c[j, x]
            m[b + H_NODE_TOP] += 1
            x += 1
        for _ in range(changes):
            row = b + m[b + H_EVENTS] + m[b + H_EVENT_TOP] * (E_WORDS + v)
            m[row + E_RE], m[row + E_COPIES] = c[0, x], c[1, x]
            for j in range(v):
                m[row + E_WORDS + j] = c[2 + j, x]
            m[b + H_EVENT_TOP] += 1
            x += 1
    key = c[0, at]
    replace(m, w, key, b)
    put_deadlines(m, key, BEGINNING, BEGINNING)
    w[W_MADE], w[W_KEY] = 0, key
    i = 0
    while i < steps and b > 0:
        n = load_list(m, w, b, i, w[W_SOURCE])
        status = derive_matches(m, w, p, b, i, w, w[W_SOURCE], n) if n >= 0 else n
        if status == NEED_MATCHES:  # time-outs may make many of one partial match
            b = grow(m, w, key, b, 0, status)
        elif status < 0:
            b = status
        else:
            i += 1
    if b > 0:
        b = settled(m, w, key, b)
    if b < 0:
        replace(m, w, key, 0)
        return int(b)
    return DONE
