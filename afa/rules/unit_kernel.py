"""Which events of a rule's key are sent to the store: the kernel; see `afa.rules.unit_layout`."""

from __future__ import annotations

from afa.compiled.kernel.layout import BEGINNING, FOREVER
from afa.compiled.kernel.native_call import kernel, prefetch, wrapped
from afa.rules.unit_layout import BEGIN, REFILL, ROUND, UNDO, Unit, UnitCall, UnitPair

SPREAD = 0x9E3779B97F4A7C15 - (1 << 64)
HALF = (1 << 31) - 1


@kernel
def main(m: UnitCall, c: UnitPair, t: Unit, o: Unit, what: int, n: int) -> int:
    """Take ``n`` begins (BEGIN), or take them back (UNDO); say which of ``n`` events are sent (ASK); or fill an empty table."""
    if what == UNDO:
        for i in range(n - 1, -1, -1):
            s = slot_of(m, t, c.name[i], home(m, c.name[i]))
            if t.name[s] != 0:
                t.low[s], t.high[s], t.over[s] = c.low[i], c.end[i], c.was_over[i]
                t.low2[s], t.high2[s] = c.low2[i], c.end2[i]
        return 0
    if what == REFILL:
        refill(m, t, o, n)
        return 0
    low = 0
    while low < n:
        high = min(low + ROUND, n)
        for i in range(low, high):
            prefetch(m.t_at + 48 * home(m, c.name[i]))
        for i in range(low, high):
            s = slot_of(m, t, c.name[i], home(m, c.name[i]))
            if what == BEGIN:
                begin(m, c, t, i, s)
            else:
                c.since[i] = sent(m, t, s, c.le[i])
        low = high
    return 0


@kernel
def home(m: UnitCall, word: int) -> int:
    """Return the first slot in which a word may stand: in the order of its hash."""
    found = wrapped(int(word) * SPREAD)
    found = wrapped((found ^ (found >> 32 & HALF)) * SPREAD)
    return (found >> 33 & HALF) * int(m.slots) >> 31


@kernel
def slot_of(m: UnitCall, t: Unit, word: int, s: int) -> int:
    """Return the slot of a word, or the empty one for it, from its home on."""
    while t.name[s] != 0 and t.name[s] != word:
        s = s + 1 if s + 1 < m.slots else 0
    return s


@kernel
def begin(m: UnitCall, c: UnitPair, t: Unit, i: int, s: int) -> None:
    """Let a match begin by event ``i``, whose unit has slot ``s``."""
    if t.name[s] == 0:
        t.name[s] = c.name[i]
        m.used += 1
        forget(t, s)
    c.low[i], c.end[i], c.was_over[i] = t.low[s], t.high[s], t.over[s]
    c.low2[i], c.end2[i] = t.low2[s], t.high2[s]
    if t.over[s] <= m.promise:
        forget(t, s)
    c.since[i] = widen(m, t, s, c.le[i], c.high[i])
    t.over[s] = max(t.over[s], c.over[i])


@kernel
def forget(t: Unit, s: int) -> None:
    """Let nothing be known of a unit."""
    t.low[s], t.high[s], t.low2[s], t.high2[s], t.over[s] = FOREVER, BEGINNING, FOREVER, BEGINNING, BEGINNING


@kernel
def widen(m: UnitCall, t: Unit, s: int, le: int, high: int) -> int:
    """Let the events in ``[le, high)`` be sent. Returns the least LE that was not before; FOREVER: none."""
    since = FOREVER
    if t.high[s] == BEGINNING:
        since, t.low[s], t.high[s] = le, le, high
    elif t.low[s] <= le:
        if le > t.high[s] and t.high2[s] <= m.promise:
            t.low2[s], t.high2[s] = t.low[s], t.high[s]
            since, t.low[s], t.high[s] = le, le, high
        elif high > t.high[s]:  # with what lies between them
            since, t.high[s] = t.high[s], high
    elif le < t.low2[s] or high > t.high2[s]:
        since, t.low[s], t.high[s] = le, le, max(high, t.high[s])
    return since


@kernel
def sent(m: UnitCall, t: Unit, s: int, le: int) -> int:
    """Return whether an event is to be sent that begins nothing; ``s``: the slot of its unit."""
    if t.name[s] == 0 or t.over[s] <= m.promise:
        return 0
    if (le < t.low[s] or le >= t.high[s]) and (le < t.low2[s] or le >= t.high2[s]):
        return 0
    if t.high[s] == FOREVER:
        t.over[s] = max(t.over[s], le + 1)
    return 1


@kernel
def refill(m: UnitCall, t: Unit, o: Unit, n: int) -> None:
    """Put the slots of another table that are not forgotten into this one, from end to end."""
    m.used = 0
    for i in range(n):
        if o.name[i] != 0 and o.over[i] > m.promise:
            s = slot_of(m, t, o.name[i], home(m, o.name[i]))
            t.name[s], t.low[s], t.high[s], t.over[s] = o.name[i], o.low[i], o.high[i], o.over[i]
            t.low2[s], t.high2[s] = o.low2[i], o.high2[i]
            m.used += 1
