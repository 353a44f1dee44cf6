"""Sums over all paths that `paths` has found, in one pass forward, as GRETA's: how many paths lead to each partial match.

    path counts      a1: p 1      b2: q 1      b3: q 3 (q 1, from q 1, from p 1)      c4: f 3
    pairs with a b                   q 1          q 4 (q 1, from q 1 + 1, from p 0 + 1)   f 4

Each computation that leads to a partial match is another path, if no two go different ways with the same picks (``apart``): then
the sums over computations are those over paths. Else Python makes sets of partial matches (`afa.lineage.graph`).

Numbers are of ``limbs`` limbs of 30 bits, the lowest first; the last one is signed and takes all that is over. Floats are ints
here, times ``2 ** scale``, so that sums are exact.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.path_layout import *

BITS, LIMB = 30, (1 << 30) - 1
MOST_LIMBS = 64
MANTISSA, EXPONENTS, LEAST_EXPONENT = (1 << 52) - 1, 0x7FF, 1075
MAGNITUDE = 2**63 - 1
WIDE = 4  # limbs of a value


@kernel
def tell_apart(c: PathRows) -> None:
    """Clear PathQuestion.apart if two edges from one partial match have the same pick; mark an edge that is there twice as TWICE.

    O(edges * edges from one partial match at one step).
    """
    edges, step = c.asked.edges, NOWHERE
    for number in range(c.asked.numbers):
        c.group[number] = NOWHERE  # the last edge from it at the step of PathRows.moved
        c.moved[number] = NOWHERE
    for edge in range(edges):
        group, source = c.group_of[edge], c.source[edge]
        step = c.place[group]
        other = c.group[source] if c.moved[source] == step else NOWHERE
        c.before[edge] = other
        c.group[source], c.moved[source] = edge, step
        while other >= 0:
            there = c.group_of[other]
            if there == group:
                c.group[source], c.before[edge] = c.before[edge], TWICE
                break
            if c.event[there] == c.event[group] and c.component_of_group[there] == c.component_of_group[group]:
                c.asked.apart = 0
                return
            other = c.before[other]


@kernel
def sums(m: Memory, c: PathRows) -> int:
    """Write to PathRows.limbs the count of paths, that of pairs and the sum of a field over them, one after the other.

    Returns FOUND, BY_PYTHON or TOO_SMALL. O(edges * limbs). *Requires* paths as `renumber` leaves them.
    """
    if c.asked.apart:
        tell_apart(c)
    if c.asked.apart == 0 or not find_scale(m, c):
        return BY_PYTHON
    while c.asked.limbs <= MOST_LIMBS:
        status = sums_of(m, c, c.asked.limbs)
        if status != BY_PYTHON:
            return status
        c.asked.limbs *= 2
    return BY_PYTHON


@kernel
def find_scale(m: Memory, c: PathRows) -> bool:
    """Set PathQuestion.scale for the floats that are summed. Returns whether all are finite, and near enough to each other."""
    c.asked.scale = 0
    if c.asked.sum != FLOATS:
        return True
    least, most = FOREVER, BEGINNING
    for group in range(c.asked.groups):
        if not counts(m, c, group):
            continue
        word = EventRow(c.event[group]).payload[c.asked.field]
        if word >> 52 & EXPONENTS == EXPONENTS:
            return False
        if word & MAGNITUDE:
            least, most = min(least, exponent_of(word)), max(most, max((word >> 52) & EXPONENTS, 1) - LEAST_EXPONENT + 53)
    if least > most:
        return True
    c.asked.scale = least
    return most - least <= BITS * WIDE


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
    return (word & MANTISSA) | (MANTISSA + 1 if word >> 52 & EXPONENTS else 0)


@kernel
def counts(m: Memory, c: PathRows, group: int) -> bool:
    """Return whether the pick of a group counts: its component is the one asked for, and the field has a value."""
    event = EventRow(c.event[group])
    if event < 0 or (c.asked.only >= 0 and c.component_of_group[group] != c.asked.only):
        return False
    return c.asked.known < 0 or event.payload[c.asked.known] != 0


@kernel
def sums_of(m: Memory, c: PathRows, n: int) -> int:
    """Do as `sums` with ``n`` limbs; BY_PYTHON: they are too few."""
    size, numbers, groups = 3 * n, c.asked.numbers, c.asked.groups
    if numbers * size > c.asked.size:
        return TOO_SMALL
    for k in range(numbers * size):
        c.limbs[k] = 0
    for number in range(numbers):
        c.least[number], c.most[number] = FOREVER, BEGINNING
    # One path begins. Then step by step: the groups of a step from the numbers before it, the numbers from their groups.
    c.limbs[BEGUN_ANEW * size] = 1
    group, edge, edges = 0, 0, c.asked.edges
    while group < groups:
        first = group
        while group < groups and c.place[group] == c.place[first]:
            c.least_of[group], c.most_of[group] = FOREVER, BEGINNING
            group += 1
        if (group - first) * size > c.asked.size:
            return TOO_SMALL
        for k in range((group - first) * size):
            c.limbs_of[k] = 0
        while edge < edges and c.group_of[edge] < group:
            if c.before[edge] != TWICE:
                of, source = c.group_of[edge], c.source[edge]
                if not add_all(c, PathRows.limbs_of, (of - first) * size, PathRows.limbs, source * size, n):
                    return BY_PYTHON
                c.least_of[of] = min(c.least_of[of], c.least[source])
                c.most_of[of] = max(c.most_of[of], c.most[source])
            edge += 1
        # INVARIANT: all groups of a step are summed before the first number they lead to changes.
        for of in range(first, group):
            if counts(m, c, of) and not add_pick(m, c, of, (of - first) * size, n):
                return BY_PYTHON
            to = c.target[of]
            for k in range(to * size, (to + 1) * size):
                c.limbs[k] = 0
            c.least[to], c.most[to] = FOREVER, BEGINNING
        for of in range(first, group):
            to = c.target[of]
            if not add_all(c, PathRows.limbs, to * size, PathRows.limbs_of, (of - first) * size, n):
                return BY_PYTHON
            c.least[to], c.most[to] = min(c.least[to], c.least_of[of]), max(c.most[to], c.most_of[of])
    return end_sums(c, n)


@kernel
def end_sums(c: PathRows, n: int) -> int:
    """Write the sums over all ends to number BEGUN_ANEW. Returns FOUND, or BY_PYTHON: limbs are too few."""
    size = 3 * n
    for k in range(size):
        c.limbs[BEGUN_ANEW * size + k] = 0
    for k in range(c.asked.ends):
        number = c.end[k]
        if not add_all(c, PathRows.limbs, BEGUN_ANEW * size, PathRows.limbs, number * size, n):
            return BY_PYTHON
        c.least[BEGUN_ANEW] = min(c.least[BEGUN_ANEW], c.least[number])
        c.most[BEGUN_ANEW] = max(c.most[BEGUN_ANEW], c.most[number])
    return FOUND


@kernel
def add_pick(m: Memory, c: PathRows, group: int, at: int, n: int) -> bool:
    """Count the pick of a group, whose limbs begin at ``at``, once for each of its paths. Returns whether there is room."""
    if not add(c, PathRows.limbs_of, at + n, PathRows.limbs_of, at, n):
        return False
    kind = c.asked.sum
    if kind == PATHS:
        return True
    word = EventRow(c.event[group]).payload[c.asked.field]
    rank, sign, value, shift = word, -1 if word < 0 else 1, word, 0
    if kind == FLOATS:
        value = word & MAGNITUDE
        rank = -value if word < 0 else value
        if value:
            value, shift = mantissa_of(word), max(word >> 52 & EXPONENTS, 1) - LEAST_EXPONENT - c.asked.scale
            if shift < 0:  # it has as many zeros at its end
                value, shift = value >> -shift, 0
    elif word < 0:
        value = -word
        if value < 0:  # -2 ** 63
            value, shift = 1, 63
    c.least_of[group], c.most_of[group] = min(c.least_of[group], rank), max(c.most_of[group], rank)
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
    return (value >> low) & LIMB if low >= 0 else (value & LIMB) << -low & LIMB


@kernel
def add_times(c: PathRows, at: int, factor: int, j: int, n: int) -> bool:
    """Add the paths of a group, times a factor and ``j`` limbs further up, to its sum. Returns whether there is room."""
    if j >= n:
        return False
    carry, total = 0, at + 2 * n
    for i in range(n):
        word = c.limbs_of[at + i] * factor
        if i + j >= n:
            if word:
                return False
            continue
        word += c.limbs_of[total + i + j] + carry
        if i + j < n - 1:
            c.limbs_of[total + i + j], carry = word & LIMB, word >> BITS
        else:
            c.limbs_of[total + i + j] = word
            if abs(word) > LIMB:
                return False
    return True


@kernel
def add_all(c: PathRows, row: int, at: int, other: int, source: int, n: int) -> bool:
    """Add the counts and the sum at ``source`` of a row to those at ``at`` of another. Returns whether there is room."""
    if not add(c, row, at, other, source, n):
        return False
    if not add(c, row, at + n, other, source + n, n):
        return False
    return c.asked.sum == PATHS or add(c, row, at + 2 * n, other, source + 2 * n, n)


@kernel
def add(c: Any, row: int, at: int, other: int, source: int, n: int) -> bool:
    """Add ``n`` limbs to others. Returns whether there is room."""
    carry = 0
    for i in range(n - 1):
        word = c[row, at + i] + c[other, source + i] + carry
        c[row, at + i], carry = word & LIMB, word >> BITS
    word = c[row, at + n - 1] + c[other, source + n - 1] + carry
    c[row, at + n - 1] = word
    return abs(word) <= LIMB
