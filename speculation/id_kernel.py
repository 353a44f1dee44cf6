"""What each message does to its id, in order of arrival: the kernel; see `speculation.id_layout`."""

from __future__ import annotations

from afa.compiled.kernel.native_call import kernel
from speculation.id_layout import *


@kernel
def main(m: IdCall, c: IdMessage, r: IdEntry, what: int, n: int) -> int:
    """Judge the first ``n`` messages; contents that are kept get places in order. ``what``: not used. Returns 0."""
    for i in range(n):
        c.verdict[i] = judged(m, c, r, i, c.number[i])
    return 0


@kernel
def judged(m: IdCall, c: IdMessage, r: IdEntry, i: int, x: int) -> int:
    """Take message ``i`` of the id with number ``x``. Returns what it does."""
    state = r.held[x] & STATE
    if state != ABSENT and r.until[x] < m.horizon:
        state = ABSENT
    if state == ABSENT:
        return first(m, c, r, i, x)
    if m.versioned:
        return versioned(m, c, r, i, x, state)
    if c.sign[i] < 0:
        if state != IN_FORCE:
            r.until[x] = max(r.until[x], c.le[i]) if state == WAITING else r.until[x]
            return REPEATED
        if r.until[x] < m.promise:
            return LATE
        c.old[i] = r.held[x] >> 2
        r.held[x] = (r.held[x] & ~STATE) | RETRACTED
        return GONE
    if state == WAITING:
        if c.le[i] < m.promise:
            return LATE
        keep(m, c, r, i, x, RETRACTED)
        m.waiting -= 1
        return MET
    c.old[i] = r.held[x] >> 2
    return SAME


@kernel
def first(m: IdCall, c: IdMessage, r: IdEntry, i: int, x: int) -> int:
    """Take a message of an id of which nothing is known."""
    if c.le[i] < m.promise:
        return LATE
    r.until[x] = c.le[i]
    if m.versioned:
        r.version[x] = c.version[i]
    if c.sign[i] < 0:
        r.held[x] = WAITING
        m.waiting += 1
        return QUIET
    keep(m, c, r, i, x, IN_FORCE)
    return NEW


@kernel
def keep(m: IdCall, c: IdMessage, r: IdEntry, i: int, x: int, state: int) -> None:
    """Give the content of a message the next place, and its id that state."""
    r.held[x] = m.next << 2 | state
    m.next += 1
    r.until[x] = max(r.until[x], c.le[i])
    if m.versioned:
        r.le[x] = c.le[i]


@kernel
def versioned(m: IdCall, c: IdMessage, r: IdEntry, i: int, x: int, state: int) -> int:
    """Take a message with a version of an id that is known."""
    version, sign = c.version[i], c.sign[i]
    if version < r.version[x]:
        if sign > 0:
            r.until[x] = max(r.until[x], c.le[i])
            if state == WAITING:
                r.held[x] = RETRACTED
                m.waiting -= 1
        return SUPERSEDED
    if version == r.version[x]:
        if (sign > 0) != (state == IN_FORCE):
            return CLASHES
        c.old[i] = r.held[x] >> 2
        return SAME if sign > 0 else REPEATED
    if (state == IN_FORCE and r.le[x] < m.promise) or (sign > 0 and c.le[i] < m.promise):
        return LATE
    r.version[x] = version
    c.old[i] = r.held[x] >> 2
    if sign < 0:
        if state == WAITING:
            r.until[x] = max(r.until[x], c.le[i])
        if state != IN_FORCE:
            return QUIET
        r.held[x] = RETRACTED
        return GONE
    if state == WAITING:
        m.waiting -= 1
    keep(m, c, r, i, x, IN_FORCE)
    return REVISED if state == IN_FORCE else NEW
