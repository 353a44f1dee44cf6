"""What each message does to its id, in order of arrival: the kernel; see `speculation.id_layout`."""

from __future__ import annotations

from afa.compiled.kernel.native_call import kernel, prefetch, wrapped
from speculation.id_layout import *

SPREAD = 0x9E3779B97F4A7C15 - (1 << 64)
HALF = (1 << 31) - 1


@kernel
def main(m: IdCall, c: IdMessage, t: IdSlot, o: IdSlot, what: int, n: int) -> int:
    """Judge ``n`` messages, or (UNDO) take them back; or fill a table of which each slot is empty from ``n`` slots of another one.

    Returns 0; or (FIND) the slot of the first message's id.
    """
    if what == UNDO:
        for i in range(n - 1, -1, -1):
            undo(m, c, t, i)
        return 0
    if what == REFILL:
        refill(m, t, o, n)
        return 0
    if what == FIND:
        return slot_of(m, t, c.name[0], home(m, c.name[0]))
    low = 0
    while low < n:
        high = min(low + ROUND, n)
        for i in range(low, high):
            c.slot[i] = home(m, c.name[i])
            prefetch(m.t_at + 8 * m.width * c.slot[i])
        for i in range(low, high):
            s = slot_of(m, t, c.name[i], c.slot[i])
            c.slot[i], c.held[i], c.until[i] = s, t.held[s], t.until[s]
            if m.versioned:
                c.before[i] = t.version[s]
            c.verdict[i] = judged(m, c, t, i, s)
        low = high
    return 0


# -- the table ---------------------------------------------------------------------------------------------------------------------


@kernel
def home(m: IdCall, word: int) -> int:
    """Return the first slot in which a word may stand: in the order of its hash."""
    found = wrapped((int(word) ^ int(m.secret)) * SPREAD)
    found = wrapped((found ^ (found >> 32 & HALF)) * SPREAD)
    return (found >> 33 & HALF) * int(m.slots) >> 31


@kernel
def slot_of(m: IdCall, t: IdSlot, word: int, s: int) -> int:
    """Return the slot of a word, or the empty one for it, from its home on."""
    while t.held[s] != 0 and t.name[s] != word:
        s = s + 1 if s + 1 < m.slots else 0
    return s


@kernel
def refill(m: IdCall, t: IdSlot, o: IdSlot, n: int) -> None:
    """Put the slots of another table that are remembered into this one, from end to end.

    Requires: they leave one slot empty, where a search ends.
    """
    m.used = 0
    for i in range(n):
        if o.held[i] != 0 and o.until[i] >= m.horizon:
            s = slot_of(m, t, o.name[i], home(m, o.name[i]))
            t.name[s], t.held[s], t.until[s] = o.name[i], o.held[i], o.until[i]
            if m.versioned:
                t.version[s] = o.version[i]
            m.used += 1


@kernel
def undo(m: IdCall, c: IdMessage, t: IdSlot, i: int) -> None:
    """Restore what stood in the slot of a message, if it was reached; an empty slot is all 0 again."""
    s = c.slot[i]
    if s < 0:
        return
    t.held[s], t.until[s] = c.held[i], c.until[i]
    if m.versioned:
        t.version[s] = c.before[i]
    if c.held[i] == 0:
        t.name[s] = 0


# -- messages ----------------------------------------------------------------------------------------------------------------------


@kernel
def judged(m: IdCall, c: IdMessage, t: IdSlot, i: int, s: int) -> int:
    """Take message ``i``, whose id has slot ``s``. Returns what it does."""
    state = t.held[s] & STATE
    if state == EMPTY or t.until[s] < m.horizon:
        return first(m, c, t, i, s)
    if m.versioned:
        return versioned(m, c, t, i, s, state)
    le = c.le[i]
    if c.sign[i] < 0:
        if state != IN_FORCE:
            if state == WAITING and le > t.until[s]:
                t.until[s] = le
            return REPEATED
        if t.until[s] < m.promise:
            return LATE
        c.old[i] = t.held[s] >> 2
        t.held[s] = (t.held[s] & ~STATE) | RETRACTED
        return GONE
    if state == WAITING:
        if le < m.promise:
            return LATE
        m.waiting -= 1
        keep(m, c, t, i, s, RETRACTED)
        return MET
    c.old[i] = t.held[s] >> 2
    return SAME


@kernel
def first(m: IdCall, c: IdMessage, t: IdSlot, i: int, s: int) -> int:
    """Take a message of an id of which nothing is known."""
    le = c.le[i]
    if le < m.promise:
        return LATE
    if t.held[s] == 0:
        t.name[s] = c.name[i]
        m.used += 1
    if m.versioned:
        t.version[s] = c.version[i]
    if c.sign[i] < 0:
        t.held[s], t.until[s] = WAITING, le
        wait(m, le)
        return QUIET
    keep(m, c, t, i, s, IN_FORCE)
    return NEW


@kernel
def wait(m: IdCall, until: int) -> None:
    """Count a retraction that waits."""
    m.waiting += 1
    m.first_waiting = min(m.first_waiting, until)


@kernel
def keep(m: IdCall, c: IdMessage, t: IdSlot, i: int, s: int, state: int) -> None:
    """Give the content of a message the next place, and its id that state."""
    t.held[s] = m.next << 2 | state
    m.next += 1
    t.until[s] = c.le[i]


@kernel
def versioned(m: IdCall, c: IdMessage, t: IdSlot, i: int, s: int, state: int) -> int:
    """Take a message with a version of an id that is known."""
    version, sign, le = c.version[i], c.sign[i], c.le[i]
    if version < t.version[s]:
        if sign > 0 and state != IN_FORCE:
            if state == WAITING:
                t.held[s], t.until[s] = RETRACTED, max(le, m.promise)
                m.waiting -= 1
            elif le > t.until[s]:
                t.until[s] = le
        return SUPERSEDED
    if version == t.version[s]:
        if (sign > 0) != (state == IN_FORCE):
            return CLASHES
        c.old[i] = t.held[s] >> 2
        return SAME if sign > 0 else REPEATED
    if (state == IN_FORCE and t.until[s] < m.promise) or (sign > 0 and le < m.promise):
        return LATE
    t.version[s] = version
    c.old[i] = t.held[s] >> 2
    if sign < 0:
        if state == WAITING and le > t.until[s]:
            t.until[s] = le
        if state != IN_FORCE:
            return QUIET
        t.held[s] = RETRACTED
        return GONE
    if state == WAITING:
        m.waiting -= 1
    keep(m, c, t, i, s, IN_FORCE)
    return REVISED if state == IN_FORCE else NEW
