"""Which events of a rule's key are sent to the store: the kernel; see `afa.rules.unit_layout`."""

from __future__ import annotations

from afa.compiled.kernel.layout import BEGINNING, FOREVER
from afa.compiled.kernel.native_call import kernel, prefetch, wrapped
from afa.rules.unit_layout import BEGIN, MOVE, REFILL, ROUND, UNDO, KeyUnits, Unit, UnitCall, UnitPair

SPREAD = 0x9E3779B97F4A7C15 - (1 << 64)
HALF = (1 << 31) - 1


@kernel
def main(m: UnitCall, c: UnitPair, t: Unit, o: Unit, y: KeyUnits, what: int, n: int) -> int:
    """Take ``n`` begins (BEGIN), or events that move clocks (MOVE), or take them back (UNDO); say which events are sent (ASK); or
    fill an empty table.
    """
    if what == UNDO:
        for i in range(n - 1, -1, -1):
            s = slot_of(m, t, c.name[i], home(m, c.name[i]))
            if t.name[s] != 0:
                t.low[s], t.high[s], t.over[s] = c.low[i], c.end[i], c.was_over[i]
                t.low2[s], t.high2[s] = c.low2[i], c.end2[i]
        return 0
    if what == REFILL:
        refill(m, t, o, y, n)
        return 0
    low = 0
    while low < n:
        high = min(low + ROUND, n)
        for i in range(low, high):
            prefetch(m.t_at + 8 * Unit.SIZE * home(m, c.name[i]))
        for i in range(low, high):
            s = slot_of(m, t, c.name[i], home(m, c.name[i]))
            if what == BEGIN:
                begin(m, c, t, y, i, s)
            elif what == MOVE:
                keep(c, t, i, s)
                t.over[s] = max(t.over[s], c.over[i])
            else:
                c.since[i] = has(m, t, s, c.le[i])
        low = high
    return 0


@kernel
def home(m: UnitCall, word: int) -> int:
    """Return the first slot in which a word may stand: in the order of its hash."""
    return spread(word) * int(m.slots) >> 31


@kernel
def spread(word: int) -> int:
    """Return 31 bits of a word's hash."""
    found = wrapped(int(word) * SPREAD)
    found = wrapped((found ^ (found >> 32 & HALF)) * SPREAD)
    return found >> 33 & HALF


@kernel
def slot_of(m: UnitCall, t: Unit, word: int, s: int) -> int:
    """Return the slot of a word, or the empty one for it, from its home on."""
    while t.name[s] != 0 and t.name[s] != word:
        s = s + 1 if s + 1 < m.slots else 0
    return s


@kernel
def slot_of_key(m: UnitCall, y: KeyUnits, word: int) -> int:
    """Return the slot of a key, or the empty one for it."""
    name = word << 1 | 1
    s = spread(name) * int(m.keys) >> 31
    while y.name[s] != 0 and y.name[s] != name:
        s = s + 1 if s + 1 < m.keys else 0
    return s


@kernel
def put(m: UnitCall, t: Unit, y: KeyUnits, name: int, s: int) -> None:
    """Let an empty slot be a unit's."""
    k = slot_of_key(m, y, name >> 24)
    t.name[s], t.next[s] = name, y.first[k]
    y.name[k], y.first[k] = name >> 24 << 1 | 1, s + 1
    y.count[k] += 1
    m.used += 1


@kernel
def begin(m: UnitCall, c: UnitPair, t: Unit, y: KeyUnits, i: int, s: int) -> None:
    """Let a match begin by event ``i``, whose unit has slot ``s``."""
    if t.name[s] == 0:
        put(m, t, y, c.name[i], s)
        forget(t, s)
    keep(c, t, i, s)
    if t.over[s] <= m.promise:
        forget(t, s)
    c.since[i] = widen(m, t, s, c.le[i], c.high[i])
    t.over[s] = max(t.over[s], c.over[i])


@kernel
def keep(c: UnitPair, t: Unit, i: int, s: int) -> None:
    """Write what is known of a unit, for UNDO."""
    c.low[i], c.end[i], c.was_over[i] = t.low[s], t.high[s], t.over[s]
    c.low2[i], c.end2[i] = t.low2[s], t.high2[s]


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
def has(m: UnitCall, t: Unit, s: int, le: int) -> bool:
    """Return whether the store has the events of an instant of the unit of a slot."""
    if t.name[s] == 0 or t.over[s] <= m.promise:
        return False
    return (t.low[s] <= le and le < t.high[s]) or (t.low2[s] <= le and le < t.high2[s])


@kernel
def refill(m: UnitCall, t: Unit, o: Unit, y: KeyUnits, n: int) -> None:
    """Put the slots of another table that are not forgotten into this one, from end to end."""
    m.used = 0
    for i in range(n):
        if o.name[i] != 0 and o.over[i] > m.promise:
            s = slot_of(m, t, o.name[i], home(m, o.name[i]))
            put(m, t, y, o.name[i], s)
            t.low[s], t.high[s], t.over[s] = o.low[i], o.high[i], o.over[i]
            t.low2[s], t.high2[s] = o.low2[i], o.high2[i]
