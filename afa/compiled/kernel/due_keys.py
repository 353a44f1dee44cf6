"""Find the keys that a punctuation concerns: each entry has deadlines, over which stand minima.

    entries   KeyEntry.act, KeyEntry.clean    |  9 12  .. 30 |  8 40 .. |           of each key
    minima    at m.minima       |  9           |  8       |           of GROUP keys side by side
    above     at m.above        |  8                      ..          of GROUP minima side by side

Minima are lower bounds. A deadline that falls lowers them at once; one that rises leaves them: `next_due`, which reads them, puts
those right that it passes. So a punctuation costs the keys that it concerns, and the groups whose deadlines have changed since.
"""

from __future__ import annotations

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel


@kernel
def put_deadlines(m: Memory, key: int, act: int, clean: int) -> None:
    """Write the deadlines of a key. INVARIANT: nothing else writes them, or minima would be above them."""
    entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
    entry.act, entry.clean = act, clean
    least = DeadlineRow(m.minima + (key >> LEVEL) * DeadlineRow.SIZE)
    if act < least.act or clean < least.clean:
        lower(m, least, act, clean)
        lower(m, m.above + (key >> 2 * LEVEL) * DeadlineRow.SIZE, act, clean)


@kernel
def lower(m: Memory, least: DeadlineRow, act: int, clean: int) -> None:
    """Lower a minimum to these deadlines, if they are earlier."""
    least.act = min(least.act, act)
    least.clean = min(least.clean, clean)


@kernel
def is_due(m: Memory, least: DeadlineRow, act: int, clean: int) -> bool:
    """Return whether a minimum is no later than ``act`` or ``clean``."""
    return least.act <= act or least.clean <= clean


@kernel
def next_due(m: Memory, key: int, act: int, clean: int) -> int:
    """Return the first key from ``key`` on with a deadline up to ``act`` or ``clean``; ``m.keys``: there is none."""
    keys, inside, within = m.keys, (1 << LEVEL) - 1, (1 << 2 * LEVEL) - 1
    while key < keys:
        group, part = key >> LEVEL, key >> 2 * LEVEL
        # Pass a whole part, or a group, whose minima are later.
        if key & within == 0 and not is_due(m, m.above + part * DeadlineRow.SIZE, act, clean):
            key += 1 << 2 * LEVEL
            continue
        if key & inside == 0 and not is_due(m, m.minima + group * DeadlineRow.SIZE, act, clean):
            key += 1 << LEVEL
        else:  # look at each key of a group, then put its minimum right
            entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
            if entry.block and (entry.act <= act or entry.clean <= clean):
                return key
            key += 1
            if key & inside == 0 or key == keys:
                renew_minimum(m, group)
        if key & within == 0 or key >= keys:
            renew_above(m, part)
    return keys


@kernel
def renew_minimum(m: Memory, group: int) -> None:
    """Recompute the minimum over the keys of a group."""
    least = DeadlineRow(m.minima + group * DeadlineRow.SIZE)
    least.act = least.clean = FOREVER
    for key in range(group << LEVEL, min(group + 1 << LEVEL, m.keys)):
        entry = KeyEntry(m.dir + key * KeyEntry.SIZE)
        if entry.block:
            lower(m, least, entry.act, entry.clean)


@kernel
def renew_above(m: Memory, part: int) -> None:
    """Recompute the minimum over the minima of a part."""
    above = DeadlineRow(m.above + part * DeadlineRow.SIZE)
    above.act = above.clean = FOREVER
    for group in range(part << LEVEL, min(part + 1 << LEVEL, m.keys + (1 << LEVEL) - 1 >> LEVEL)):
        least = DeadlineRow(m.minima + group * DeadlineRow.SIZE)
        lower(m, above, least.act, least.clean)
