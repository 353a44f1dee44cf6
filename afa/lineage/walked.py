"""The ways of a match, walked backward: which sets of partial matches, one step earlier, lead to a set of them, and by which picks.

A set is an int, with a bit for each partial match that was met; two more stand for what is no partial match:

    BEGIN   before the first event of a run: what was begun there has no past
    MATCH   the match itself; at each step at which it ends, the partial matches that stand for it come into the set
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np

from afa.change import Change
from afa.engine import Ways
from afa.lineage.components import Pick, components_in, in_order
from afa.model.arctable import ArcTable

BEGIN, MATCH = 1, 2
AT_ONCE, WORD = 1 << 20, 64
"""So many bits of sets are made at once; bits of a word."""
Group = tuple[int, int, int]
"""A partial match as a bit, the pick (-1: none) and the set that leads to it."""


class Walked:
    """The ways of a match, backward. ``shown`` reduces an event's payload to the fields that are told."""

    def __init__(self, ways: Ways, key: Any, shown: Callable[[Any], Any], table: ArcTable) -> None:
        self._ways, self._key, self._shown, self._table = ways, key, shown, table
        self.size = len(ways.times)
        self.re = ways.re
        self._told: dict[int, tuple[str, Change]] = {}
        self._moved: list[int] = []  # by step, what is led to there
        self._groups: list[list[Group] | None] = []
        self._first: Any = None  # by step, its first group; at last how many there are
        self._ends: dict[int, int] = {}
        for step, number in zip(*ways.ends):
            self._ends[step] = self._ends.get(step, 0) | 1 << number
        self._places = sorted(self._ends)

    # -- one step back -------------------------------------------------------------------------------------------------------

    def last(self, i: int, held: int) -> int:
        """Return the last step up to ``i`` at which something leads to a set otherwise than by leaving it as it is."""
        moved = self._moved or self._movable()
        if not held & MATCH:
            while i >= 0 and not moved[i] & held:
                i -= 1
            return i
        found = bisect_right(self._places, i)
        least = self._places[found - 1] if found else -1
        while i > least and not moved[i] & held:
            i -= 1
        return i

    def back(self, i: int, held: int) -> tuple[dict[int, int], int]:
        """Return what leads to a set at step ``i``: by each pick, in order, a set at the step before; and by none."""
        passed = held & BEGIN
        if held & (BEGIN | MATCH):
            if held & MATCH:
                passed |= MATCH if i > self._places[0] else 0
                held |= self._ends.get(i, 0)
            held &= ~(BEGIN | MATCH)
        moved = held & (self._moved or self._movable())[i]
        passed |= held ^ moved
        picked: dict[int, int] = {}
        for to, pick, sources in (self._groups[i] or self._made(i)) if moved else ():
            if not moved & to:
                continue
            if pick < 0:
                passed |= sources
            else:
                picked[pick] = picked.get(pick, 0) | sources
        if len(picked) > 1:
            picked = {pick: picked[pick] for pick in sorted(picked, key=self._in_order)}
        return picked, passed

    def _movable(self) -> list[int]:
        steps, to, _, _ = self._ways.groups
        moved = [0] * self.size
        for step, number in zip(steps, to):
            moved[step] |= 1 << number
        self._moved, self._groups = moved, [None] * self.size
        self._first = np.searchsorted(np.array(steps, np.int64), np.arange(self.size + 1))
        return moved

    def _made(self, i: int) -> list[Group]:
        """Make the groups of a step, and of so many before it that it pays."""
        ways, last = self._ways, i
        end = int(self._first[i + 1])
        while i and (end - int(self._first[i - 1])) * ways.numbers <= AT_ONCE and self._groups[i - 1] is None:
            i -= 1
        begin = int(self._first[i])
        low, high = np.searchsorted(np.array(ways.groups[0], np.int64)[ways.edges[0]], (i, last + 1))
        into, source = ways.edges[:, low:high]
        bits = np.zeros((end - begin, -(-ways.numbers // WORD) * WORD), np.uint8)
        bits[into - begin, source] = 1
        rows = np.packbits(bits, axis=1, bitorder="little")
        if rows.shape[1] * 8 == WORD:
            sets: list[int] = rows.view("<u8").ravel().tolist()
        else:
            packed, width = rows.tobytes(), rows.shape[1]
            sets = [int.from_bytes(packed[at : at + width], "little") for at in range(0, len(packed), width)]
        _, numbers, events, components = (column[begin:end] for column in ways.groups)
        count = len(ways.components)
        picks = [-1 if event < 0 else event * count + component for event, component in zip(events, components)]
        groups = list(zip([1 << number for number in numbers], picks, sets))
        first = (self._first[i : last + 2] - begin).tolist()
        self._groups[i : last + 1] = [groups[low:high] for low, high in pairwise(first)]
        return self._groups[last] or []

    # -- all paths at once ---------------------------------------------------------------------------------------------------

    def extremes(self, weight: Callable[[str, Any], Any]) -> tuple[Any, Any]:
        """Return the least and the largest sum of weights over a path: in one pass forward over all that leads to the match.

        Several computations of one path have one sum. O(edges).
        """
        steps, numbers, _, _ = self._ways.groups
        into, sources = self._ways.edges.tolist()
        weights, scale = self._weights(weight)
        low, high = [0] * self._ways.numbers, [0] * self._ways.numbers
        found: list[int] = []
        edge = group = 0
        while group < len(steps):
            step = steps[group]
            news: dict[int, tuple[list[int], list[int]]] = {}
            while group < len(steps) and steps[group] == step:
                news.setdefault(numbers[group], ([], []))
                group += 1
            while edge < len(into) and into[edge] < group:
                lows, highs = news[numbers[into[edge]]]
                lows.append(low[sources[edge]] + weights[into[edge]])
                highs.append(high[sources[edge]] + weights[into[edge]])
                edge += 1
            for number, (lows, highs) in news.items():
                low[number], high[number] = min(lows), max(highs)
            for number in self._numbers_in(self._ends.get(step, 0)):
                found += (low[number], high[number])
        return Fraction(min(found), scale), Fraction(max(found), scale)

    def _weights(self, weight: Callable[[str, Any], Any]) -> tuple[list[int], int]:
        """Return the weight of what each group picks, times a number that makes all of them whole; and that number."""
        ways, known = self._ways, dict[tuple[int, int], Any]()
        for pick in zip(*ways.groups[2:]):
            if pick not in known:
                event, component = pick
                known[pick] = weight(ways.components[component], ways.form(*ways.events[event][0])) if event >= 0 else 0
        scale = lcm(*{value.denominator for value in known.values()})
        whole = {pick: int(value * scale) for pick, value in known.items()}
        return [whole[pick] for pick in zip(*ways.groups[2:])], scale

    @staticmethod
    def _numbers_in(held: int) -> Iterator[int]:
        while held:
            low = held & -held
            yield low.bit_length() - 1
            held ^= low

    def components(self) -> set[str]:
        """Return the names that arcs in force take events for."""
        return components_in(self._table)

    # -- picks: the number of the event, and that of the component ------------------------------------------------------------

    def told(self, step: int, pick: int) -> tuple[str, Change]:
        """Return a pick as it is told: one object, however many paths have it."""
        found = self._told.get(pick)
        if found is None:
            ways = self._ways
            event, component = divmod(pick, len(ways.components))
            fields, re = ways.events[event]
            change = Change(self._shown(ways.form(*fields)), ways.times[step], re, 1, self._key)
            found = self._told[pick] = ways.components[component], change
        return found

    def picks(self) -> Iterator[tuple[str, Change]]:
        """Yield each pick that is in some path, in order."""
        steps, _, events, components = self._ways.groups
        count = len(self._ways.components)
        found = {event * count + component: step for step, event, component in zip(steps, events, components) if event >= 0}
        if len(set(found.values())) < len(found):
            found = dict(sorted(found.items(), key=lambda item: (item[1], self._in_order(item[0]))))
        return (self.told(step, pick) for pick, step in found.items())

    def _pick(self, pick: int) -> Pick:
        event, component = divmod(pick, len(self._ways.components))
        fields, re = self._ways.events[event]
        return Pick(self._ways.components[component], self._ways.form(*fields), re)

    def _in_order(self, pick: int) -> tuple[Any, ...]:
        return in_order(self._pick(pick))
