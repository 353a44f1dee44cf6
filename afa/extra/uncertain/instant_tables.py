"""Events as columns, and what is known of their instants, by the kind of their interval: its distribution and length.

    kind 0: uniform over 3      p  1/3 1/3 1/3      below  0 1/3 2/3 1      above  1 2/3 1/3 0

Events of one kind differ in where they lie only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from afa.errors import ChangeError
from afa.extra.uncertain.distributions import Distribution
from afa.extra.uncertain.event_instants import Instants, IntervalKind, interval_kind

LANES, BLOCK = 8, 128
IN_ALL = 20_000_000
"""The most instants of all kinds of what is held: about a gigabyte."""
LONGEST = 512
"""Signatures with an event of more instants are looked at one by one: tables would be too wide."""


class Events(NamedTuple):
    """Events of one component, by (low, high): their ends and the numbers of their kinds; arrays of int64, shape (n,)."""

    low: Any
    high: Any
    kind: Any

    def at(self, places: Any) -> Events:
        return Events(self.low[places], self.high[places], self.kind[places])


def check_room(held: int, n: int) -> None:
    """Refuse a kind of ``n`` instants beside others with so many instants in all."""
    if held + n > IN_ALL:
        raise ChangeError(
            f"expected intervals of different lengths with {IN_ALL:,} instants in all, each of which has its probability, "
            f"but got one more, of {n:,}; a coarser tick= makes them fewer, and Worlds take intervals of any length"
        )


class Kinds:
    """The kinds of the intervals of some events, as columns. Frozen."""

    def __init__(self, kinds: Iterable[IntervalKind] = ()) -> None:
        self.instants = [Instants(0, kind) for kind in kinds]
        """Of each kind, from 0 on."""
        self.numbers = {(each.kind.shape, each.kind.n): number for number, each in enumerate(self.instants)}
        self.lengths = np.array([len(each.p) for each in self.instants], np.int64)
        """How many instants each kind has."""
        self.skips = np.array([each.low for each in self.instants], np.int64)
        """How many instants of no weight each begins with."""
        self.special = np.array([len(each.p) > LONGEST or each.possible is not None for each in self.instants], np.bool_)
        """Which kinds need to be looked at one by one: long ones, and ones with instants of no weight."""
        self._tables: dict[Any, Any] = {}

    def changed(self, kept: Iterable[int], wanted: Iterable[tuple[Distribution, int]]) -> Kinds:
        """Returns kinds with those of some numbers, then more ones. ChangeError: they have more instants than IN_ALL."""
        kinds = {(each.shape, each.n): each for each in (self.instants[number].kind for number in kept)}
        held = sum(n for _, n in kinds)
        for shape, n in wanted:
            if (shape, n) not in kinds:
                check_room(held, n)
                kinds[shape, n], held = interval_kind(shape, n), held + n
        return Kinds(kinds.values())

    @property
    def ranks(self) -> Any:
        """Of each kind its rank among distributions, so that events of one range have an order."""
        if "ranks" not in self._tables:
            names = [(each.kind.shape.name, each.kind.shape.parameters) for each in self.instants]
            order = {name: rank for rank, name in enumerate(sorted(set(names)))}
            self._tables["ranks"] = np.array([order[name] for name in names], np.int64)
        return self._tables["ranks"]

    def of(self, events: Events, place: int) -> Instants:
        """Returns the instants of one of some events."""
        kind = self.instants[events.kind[place]]
        return Instants(int(events.low[place]) - kind.low, kind.kind)

    def mass(self, width: int) -> Any:
        """Returns the probabilities of instants, a row for each kind, as wide as asked; longer kinds are cut off."""
        if ("mass", width) not in self._tables:
            table = np.zeros((len(self.instants), width))
            for row, each in zip(table, self.instants):
                row[: len(each.p)] = each.p[:width]
            self._tables["mass", width] = table
        return self._tables["mass", width]

    def flat(self, name: str, pad: int = 0) -> tuple[Any, Any]:
        """Returns one kind behind another, and where each k = 0 is; ``pad`` of 1 stand before it, of 0 behind.

        "below": P(x <= low + k - 1) for k from 0 to n; "above": P(x >= low + k) likewise.
        """
        if (name, pad) not in self._tables:
            parts, starts, size = [np.zeros(0)], [], 0
            for each in self.instants:
                values = each.below if name == "below" else each.above
                parts += [np.ones(pad), values, np.zeros(pad)]
                starts.append(size + pad)
                size += len(values) + 2 * pad
            self._tables[name, pad] = np.concatenate(parts), np.array(starts, np.int64)
        found: tuple[Any, Any] = self._tables[name, pad]
        return found


def expanded(starts: Any, stops: Any) -> tuple[Any, Any]:
    """Returns the numbers of some ranges, one range behind another, and for each number its range.

    >>> [part.tolist() for part in expanded(np.array([3, 7, 9]), np.array([5, 7, 10]))]
    [[0, 0, 2], [3, 4, 9]]
    """
    counts = np.maximum(stops - starts, 0)
    of = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return of, np.arange(len(of)) + (starts - before)[of]


class Numbered(NamedTuple):
    """The different numbers of an array, ascending, and where among them each of the array is."""

    values: Any
    number: Any


def numbered(codes: Any) -> Numbered:
    """Returns the different numbers of an array of numbers from 0 on. O(n), unless they are few and far between."""
    size = int(codes.max(initial=-1)) + 1
    if size > 8 * len(codes) + (1 << 16):
        return Numbered(*np.unique(codes, return_inverse=True))
    there = np.zeros(size, np.bool_)
    there[codes] = True
    values = np.flatnonzero(there)
    number = np.zeros(size, np.int64)
    number[values] = np.arange(len(values))
    return Numbered(values, number[codes])


def wide(n: int) -> int:
    """Returns how many columns a table for ``n`` instants has, so that `added_up` adds them up as it does fewer or more."""
    return -(-n // LANES) * LANES if n <= BLOCK else -(-n // BLOCK) * BLOCK


def added_up(table: Any) -> Any:
    """Returns the sums of rows, of `wide` columns.

    In blocks of 128 numpy adds every eighth number, one by one, then these eight sums: so zeros behind a row don't move the last
    digit of its sum, on no machine. One by one over a whole row it takes five times as long.
    """
    if table.shape[1] <= BLOCK:
        return table.sum(axis=1)
    total = np.zeros(len(table))
    for block in range(0, table.shape[1], BLOCK):
        total += np.ascontiguousarray(table[:, block : block + BLOCK]).sum(axis=1)
    return total
