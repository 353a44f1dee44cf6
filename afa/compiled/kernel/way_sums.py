"""Sums over all paths of what `ways` has found, in one pass forward, as GRETA's: of each partial match how many paths lead to it.

    path counts      a1: p 1      b2: q 1      b3: q 3 (q 1, from q 1, from p 1)      c4: f 3
    pairs with a b                   q 1          q 4 (q 1, from q 1 + 1, from p 0 + 1)   f 4

Each computation that leads to a partial match is another path, if no two go different ways with the same picks (Q_APART): then the
sums over computations are those over paths. Else Python makes sets of partial matches (`afa.lineage.graph`).

Numbers are of Q_LIMBS limbs of 30 bits, the lowest first; the last one is signed and takes what is over. Floats are ints here,
times ``2 ** Q_SCALE``, so that sums are exact.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.way_names import *

BITS, LIMB = 30, (1 << 30) - 1
MOST_LIMBS = 64
MANTISSA, EXPONENTS, LEAST_EXPONENT = (1 << 52) - 1, 0x7FF, 1075
MAGNITUDE = 2**63 - 1
WIDE = 4  # limbs of a value


@kernel
def tell_apart(c: Any) -> None:
    """Clear Q_APART if two ways from one partial match have the same pick; the same way once more is marked as TWICE.

    O(edges * ways from one partial match at one step).
    """
    edges, step = c[Y_ASKED, Q_EDGES], NOWHERE
    for number in range(c[Y_ASKED, Q_NUMBERS]):
        c[Y_GROUP, number] = NOWHERE  # the last edge from it at the step of Y_MOVED
        c[Y_MOVED, number] = NOWHERE
    for edge in range(edges):
        group, source = c[Y_IN, edge], c[Y_FROM, edge]
        step = c[Y_PLACE, group]
        other = c[Y_GROUP, source] if c[Y_MOVED, source] == step else NOWHERE
        c[Y_BEFORE, edge] = other
        c[Y_GROUP, source], c[Y_MOVED, source] = edge, step
        while other >= 0:
            there = c[Y_IN, other]
            if there == group:
                c[Y_GROUP, source], c[Y_BEFORE, edge] = c[Y_BEFORE, edge], TWICE
                break
            if c[Y_EVENT, there] == c[Y_EVENT, group] and c[Y_OF, there] == c[Y_OF, group]:
                c[Y_ASKED, Q_APART] = 0
                return
            other = c[Y_BEFORE, other]


@kernel
def sums(m: Any, c: Any) -> int:
    """Write to Y_LIMBS the count of paths, that of pairs and the sum of a field over them, one after the other.

    Returns FOUND, BY_PYTHON or TOO_SMALL. O(edges * limbs). *Requires* the ways as `renumber` leaves them.
    """
    if c[Y_ASKED, Q_APART]:
        tell_apart(c)
    if c[Y_ASKED, Q_APART] == 0 or not find_scale(m, c):
        return BY_PYTHON
    while c[Y_ASKED, Q_LIMBS] <= MOST_LIMBS:
        status = sums_of(m, c, c[Y_ASKED, Q_LIMBS])
        if status != BY_PYTHON:
            return int(status)
        c[Y_ASKED, Q_LIMBS] *= 2
    return BY_PYTHON


@kernel
def find_scale(m: Any, c: Any) -> bool:
    """Set Q_SCALE for the floats that are summed. Returns whether all are finite, and near enough to each other."""
    c[Y_ASKED, Q_SCALE] = 0
    if c[Y_ASKED, Q_SUM] != FLOATS:
        return True
    least, most = FOREVER, BEGINNING
    for group in range(c[Y_ASKED, Q_GROUPS]):
        if not counts(m, c, group):
            continue
        word = m[c[Y_EVENT, group] + E_WORDS + c[Y_ASKED, Q_FIELD]]
        if (word >> 52) & EXPONENTS == EXPONENTS:
            return False
        if word & MAGNITUDE:
            least, most = min(least, exponent_of(word)), max(most, max((word >> 52) & EXPONENTS, 1) - LEAST_EXPONENT + 53)
    if least > most:
        return True
    c[Y_ASKED, Q_SCALE] = least
    return bool(most - least <= BITS * WIDE)


@kernel
def exponent_of(word: int) -> int:
    """Return the power of 2 that a float, as a word, is an odd multiple of. *Requires* that it is finite and not 0."""
    found, rest = max((word >> 52) & EXPONENTS, 1) - LEAST_EXPONENT, mantissa_of(word)
    for shift in (32, 16, 8, 4, 2, 1):
        if rest & ((1 << shift) - 1) == 0:
            rest, found = rest >> shift, found + shift
    return found


@kernel
def mantissa_of(word: int) -> int:
    """Return the mantissa of a float."""
    return int((word & MANTISSA) | (MANTISSA + 1 if (word >> 52) & EXPONENTS else 0))


@kernel
def counts(m: Any, c: Any, group: int) -> bool:
    """Return whether the pick of a group counts: its component is the one asked for, and the field has a value."""
    event = c[Y_EVENT, group]
    if event < 0 or (c[Y_ASKED, Q_ONLY] >= 0 and c[Y_OF, group] != c[Y_ASKED, Q_ONLY]):
        return False
    return bool(c[Y_ASKED, Q_KNOWN] < 0 or m[event + E_WORDS + c[Y_ASKED, Q_KNOWN]] != 0)


@kernel
def sums_of(m: Any, c: Any, n: int) -> int:
    """As `sums`, with ``n`` limbs; BY_PYTHON: they are too few."""
    size, numbers, groups = 3 * n, c[Y_ASKED, Q_NUMBERS], c[Y_ASKED, Q_GROUPS]
    if numbers * size > c[Y_ASKED, Q_SIZE]:
        return TOO_SMALL
    for k in range(numbers * size):
        c[Y_LIMBS, k] = 0
    for number in range(numbers):
        c[Y_LEAST, number], c[Y_MOST, number] = FOREVER, BEGINNING
    c[Y_LIMBS, BEGUN_ANEW * size] = 1
    group, edge, edges = 0, 0, c[Y_ASKED, Q_EDGES]
    while group < groups:
        first = group
        while group < groups and c[Y_PLACE, group] == c[Y_PLACE, first]:
            c[Y_LEAST_OF, group], c[Y_MOST_OF, group] = FOREVER, BEGINNING
            group += 1
        if (group - first) * size > c[Y_ASKED, Q_SIZE]:
            return TOO_SMALL
        for k in range((group - first) * size):
            c[Y_LIMBS_OF, k] = 0
        while edge < edges and c[Y_IN, edge] < group:
            if c[Y_BEFORE, edge] != TWICE:
                of, source = c[Y_IN, edge], c[Y_FROM, edge]
                if not add_all(c, Y_LIMBS_OF, (of - first) * size, Y_LIMBS, source * size, n):
                    return BY_PYTHON
                c[Y_LEAST_OF, of] = min(c[Y_LEAST_OF, of], c[Y_LEAST, source])
                c[Y_MOST_OF, of] = max(c[Y_MOST_OF, of], c[Y_MOST, source])
            edge += 1
        for of in range(first, group):
            if counts(m, c, of) and not add_pick(m, c, of, (of - first) * size, n):
                return BY_PYTHON
            to = c[Y_TO, of]
            for k in range(to * size, (to + 1) * size):
                c[Y_LIMBS, k] = 0
            c[Y_LEAST, to], c[Y_MOST, to] = FOREVER, BEGINNING
        for of in range(first, group):
            to = c[Y_TO, of]
            if not add_all(c, Y_LIMBS, to * size, Y_LIMBS_OF, (of - first) * size, n):
                return BY_PYTHON
            c[Y_LEAST, to], c[Y_MOST, to] = min(c[Y_LEAST, to], c[Y_LEAST_OF, of]), max(c[Y_MOST, to], c[Y_MOST_OF, of])
    return end_sums(c, n)


@kernel
def end_sums(c: Any, n: int) -> int:
    """Write what is summed up for all ends to number BEGUN_ANEW. Returns FOUND, or BY_PYTHON: limbs are too few."""
    size = 3 * n
    for k in range(size):
        c[Y_LIMBS, BEGUN_ANEW * size + k] = 0
    for k in range(c[Y_ASKED, Q_ENDS]):
        number = c[Y_END, k]
        if not add_all(c, Y_LIMBS, BEGUN_ANEW * size, Y_LIMBS, number * size, n):
            return BY_PYTHON
        c[Y_LEAST, BEGUN_ANEW] = min(c[Y_LEAST, BEGUN_ANEW], c[Y_LEAST, number])
        c[Y_MOST, BEGUN_ANEW] = max(c[Y_MOST, BEGUN_ANEW], c[Y_MOST, number])
    return FOUND


@kernel
def add_pick(m: Any, c: Any, group: int, at: int, n: int) -> bool:
    """Count the pick of a group, whose limbs begin at ``at``, once for each of its paths. Returns whether there is room."""
    if not add(c, Y_LIMBS_OF, at + n, Y_LIMBS_OF, at, n):
        return False
    kind = c[Y_ASKED, Q_SUM]
    if kind == PATHS:
        return True
    word = m[c[Y_EVENT, group] + E_WORDS + c[Y_ASKED, Q_FIELD]]
    rank, sign, value, shift = word, -1 if word < 0 else 1, word, 0
    if kind == FLOATS:
        value = word & MAGNITUDE
        rank = -value if word < 0 else value
        if value:
            value, shift = mantissa_of(word), max((word >> 52) & EXPONENTS, 1) - LEAST_EXPONENT - c[Y_ASKED, Q_SCALE]
            if shift < 0:  # it has as many zeros at its end
                value, shift = value >> -shift, 0
    elif word < 0:
        value = -word
        if value < 0:  # -2 ** 63
            value, shift = 1, 63
    c[Y_LEAST_OF, group], c[Y_MOST_OF, group] = min(c[Y_LEAST_OF, group], rank), max(c[Y_MOST_OF, group], rank)
    for j in range(WIDE):
        limb = limb_of(value, BITS * j - shift)
        if limb and not add_times(c, at, sign * limb, j, n):
            return False
    return True


@kernel
def limb_of(value: int, low: int) -> int:
    """Return the limb of a value whose lowest bit is ``low``, which may be below its lowest one."""
    if low >= 63 or low <= -BITS:
        return 0
    return int((value >> low) & LIMB) if low >= 0 else int((value & LIMB) << -low & LIMB)


@kernel
def add_times(c: Any, at: int, factor: int, j: int, n: int) -> bool:
    """Add the paths of a group, times a factor and ``j`` limbs further up, to its sum. Returns whether there is room."""
    if j >= n:
        return False
    carry, total = 0, at + 2 * n
    for i in range(n):
        word = c[Y_LIMBS_OF, at + i] * factor
        if i + j >= n:
            if word:
                return False
            continue
        word += c[Y_LIMBS_OF, total + i + j] + carry
        if i + j < n - 1:
            c[Y_LIMBS_OF, total + i + j], carry = word & LIMB, word >> BITS
        else:
            c[Y_LIMBS_OF, total + i + j] = word
            if abs(word) > LIMB:
                return False
    return True


@kernel
def add_all(c: Any, row: int, at: int, other: int, source: int, n: int) -> bool:
    """Add the counts and the sum at ``source`` of a row to those at ``at`` of another. Returns whether there is room."""
    if not add(c, row, at, other, source, n):
        return False
    if not add(c, row, at + n, other, source + n, n):
        return False
    return bool(c[Y_ASKED, Q_SUM] == PATHS or add(c, row, at + 2 * n, other, source + 2 * n, n))


@kernel
def add(c: Any, row: int, at: int, other: int, source: int, n: int) -> bool:
    """Add ``n`` limbs to others. Returns whether there is room."""
    carry = 0
    for i in range(n - 1):
        word = c[row, at + i] + c[other, source + i] + carry
        c[row, at + i], carry = word & LIMB, word >> BITS
    word = c[row, at + n - 1] + c[other, source + n - 1] + carry
    c[row, at + n - 1] = word
    return bool(abs(word) <= LIMB)
