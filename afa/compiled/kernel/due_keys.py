"""Which punctuations concern which keys: the deadlines in their entries, and minima over them.

    entries   D_ACT, D_CLEAN    |  9 12  .. 30 |  8 40 .. |           of each key
    minima    at C_MINIMA       |  9           |  8       |           of GROUP keys side by side
    above     at C_ABOVE        |  8                      ..          of GROUP minima side by side

Minima are lower bounds. A deadline that becomes lower lowers them at once, one that becomes higher leaves them as they are: who
looks for keys (`next_due`) puts the minima right that have led there. So a punctuation costs the keys that it concerns, and the
groups in which deadlines have changed since the last one.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel


@kernel
def put_deadlines(m: Any, key: int, act: int, clean: int) -> None:
    """Write the deadlines of a key. INVARIANT: nothing else writes them, or minima would be above them."""
    entry = m[C_DIR] + key * D_SIZE
    m[entry + D_ACT], m[entry + D_CLEAN] = act, clean
    least = m[C_MINIMA] + (key >> LEVEL) * MIN_SIZE
    if act < m[least + MIN_ACT] or clean < m[least + MIN_CLEAN]:
        lower(m, least, act, clean)
        lower(m, m[C_ABOVE] + (key >> 2 * LEVEL) * MIN_SIZE, act, clean)


@kernel
def lower(m: Any, least: int, act: int, clean: int) -> None:
    """Let a minimum be no later than these deadlines."""
    m[least + MIN_ACT] = min(m[least + MIN_ACT], act)
    m[least + MIN_CLEAN] = min(m[least + MIN_CLEAN], clean)


@kernel
def is_due(m: Any, least: int, act: int, clean: int) -> bool:
    """Return whether a minimum is no later than ``act`` or ``clean``."""
    return bool(m[least + MIN_ACT] <= act or m[least + MIN_CLEAN] <= clean)


@kernel
def next_due(m: Any, key: int, act: int, clean: int) -> int:
    """Return the first key from ``key`` on with D_ACT up to ``act`` or D_CLEAN up to ``clean``; C_KEYS: there is none."""
    keys, inside, within = m[C_KEYS], (1 << LEVEL) - 1, (1 << 2 * LEVEL) - 1
    while key < keys:
        group, part = key >> LEVEL, key >> 2 * LEVEL
        if key & within == 0 and not is_due(m, m[C_ABOVE] + part * MIN_SIZE, act, clean):
            key += 1 << 2 * LEVEL
            continue
        if key & inside == 0 and not is_due(m, m[C_MINIMA] + group * MIN_SIZE, act, clean):
            key += 1 << LEVEL
        else:
            entry = m[C_DIR] + key * D_SIZE
            if m[entry + D_BLOCK] and (m[entry + D_ACT] <= act or m[entry + D_CLEAN] <= clean):
                return key
            key += 1
            if key & inside == 0 or key == keys:
                renew_minimum(m, group)
        if key & within == 0 or key >= keys:
            renew_above(m, part)
    return int(keys)


@kernel
def renew_minimum(m: Any, group: int) -> None:
    """Write the minimum over the keys of a group."""
    least = m[C_MINIMA] + group * MIN_SIZE
    m[least + MIN_ACT] = m[least + MIN_CLEAN] = FOREVER
    for key in range(group << LEVEL, min(group + 1 << LEVEL, m[C_KEYS])):
        entry = m[C_DIR] + key * D_SIZE
        if m[entry + D_BLOCK]:
            lower(m, least, m[entry + D_ACT], m[entry + D_CLEAN])


@kernel
def renew_above(m: Any, part: int) -> None:
    """Write the minimum over the minima of a part."""
    above = m[C_ABOVE] + part * MIN_SIZE
    m[above + MIN_ACT] = m[above + MIN_CLEAN] = FOREVER
    for group in range(part << LEVEL, min(part + 1 << LEVEL, (m[C_KEYS] + (1 << LEVEL) - 1) >> LEVEL)):
        least = m[C_MINIMA] + group * MIN_SIZE
        lower(m, above, m[least + MIN_ACT], m[least + MIN_CLEAN])
