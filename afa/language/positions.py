"""Positions: a pattern taken apart into the places at which it takes one event, and which may follow which (Glushkov).

A `Repeat` is written out: low copies that must be there, then optional ones up to high; without a bound the last copy follows
itself. Where optional parts lie between two neighbours, the strategy is that of the gap in front of the second; absent components
are those of all gaps in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from afa.errors import AutomatonError
from afa.language.pattern import Component, Either, Gap, Pattern, Repeat, Seq

MOST = 300
"""How many positions a pattern may have: ``a{500}`` is refused in words, not by time and memory."""
PAIRS = 10_000
"""How many pairs of positions may follow one another: some seconds of work at most, also for a hostile text."""
WAYS = 16
"""How many gaps may lead to one position, or from it: alternatives that take nothing, each with a negation, multiply them."""


class Successor(NamedTuple):
    """Position ``to`` may follow; ``again``: as one more iteration of a `Repeat` of that one component."""

    to: int
    gap: Gap
    again: bool


class Positions(NamedTuple):
    """The positions of a pattern."""

    components: list[Component]  # of each position
    first: list[int]  # at which a match can begin
    last: list[int]  # at which it can end
    edges: list[list[Successor]]  # what may follow each position

    @classmethod
    def of(cls, pattern: Pattern) -> Positions:
        """Take a pattern apart; one of more than `MOST` positions, or `PAIRS` of them, is refused (AutomatonError)."""
        maker = _PositionMaker()
        part = maker.part(pattern)
        if len(maker.edges) > PAIRS:
            raise AutomatonError(
                f"expected a pattern in which at most {PAIRS:,} pairs of positions follow one another but got "
                f"{len(maker.edges):,}: alternatives and optional parts that repeat multiply; write several patterns"
            )
        first, last = (list(dict.fromkeys(p for p, _ in ends)) for ends in (part.first, part.last))
        found = cls(maker.components, first, last, [[] for _ in maker.components])
        for p, edge in maker.edges:
            if edge not in found.edges[p]:
                found.edges[p].append(edge)
        return found

    def behind(self, positions: Iterable[int]) -> set[int]:
        """Returns the positions that may come after one of these, at once or later."""
        found, todo = set[int](), list(positions)
        while todo:
            new = {edge.to for edge in self.edges[todo.pop()]} - found
            found |= new
            todo += new
        return found

    def labels(self) -> list[str]:
        """Return a name for each position: its component's, numbered where there are several, with ``+`` where it repeats."""
        names = [component.name for component in self.components]
        found = []
        for p, name in enumerate(names):
            number = str(names[: p + 1].count(name)) if names.count(name) > 1 else ""
            found.append(name + number + ("+" if any(edge.to == p for edge in self.edges[p]) else ""))
        return found


class _PatternPart(NamedTuple):
    """A part of the pattern: where it begins and ends, each with the gap to what lies there (None: nothing was left out)."""

    first: list[tuple[int, Gap | None]]
    last: list[tuple[int, Gap | None]]
    empty: tuple[Gap | None, ...]  # the gap that it leaves, in each way in which it may take nothing


class _PositionMaker:
    def __init__(self) -> None:
        self.components: list[Component] = []
        self.edges: list[tuple[int, Successor]] = []

    def part(self, pattern: Pattern) -> _PatternPart:
        match pattern:
            case Component():
                if len(self.components) == MOST:
                    raise AutomatonError(f"expected a pattern of at most {MOST} positions but got more: {{n,m}} is written out")
                self.components.append(pattern)
                here: list[tuple[int, Gap | None]] = [(len(self.components) - 1, None)]
                return _PatternPart(here, here, ())
            case Seq(items, gaps):
                found = self.part(items[0])
                for gap, item in zip(gaps, items[1:], strict=True):
                    found = self.joined(found, gap, self.part(item))
                return found
            case Either(items):
                parts = [self.part(item) for item in items]
                return _few(
                    [end for part in parts for end in part.first],
                    [end for part in parts for end in part.last],
                    [way for part in parts for way in part.empty],
                )
            case Repeat():
                return self.repeated(pattern)
        raise AutomatonError(f"expected a pattern but got {pattern!r}")

    def repeated(self, repeat: Repeat) -> _PatternPart:
        """Write the copies out from the last to the first: ``x{1,3}`` is ``x (x (x)?)?``."""
        single = isinstance(repeat.item, Component)
        if repeat.low < 0 or (repeat.high is not None and repeat.high < max(repeat.low, 1)):
            raise AutomatonError(f"expected 0 <= low <= high and high > 0 but got {{{repeat.low},{repeat.high}}}")
        n = max(repeat.low, 1) if repeat.high is None else repeat.high
        if n > MOST:
            raise AutomatonError(f"expected a pattern of at most {MOST} positions but got more: {{n,m}} is written out")
        copies = [self.part(repeat.item) for _ in range(n)]
        found = copies[-1]
        if repeat.high is None:
            self.edges += self.between(found, repeat.gap, found, single)
        nothing: tuple[None, ...] = (None,)  # an iteration that takes nothing leaves no gap
        found = found._replace(empty=nothing if found.empty or n > repeat.low else ())
        for i in range(n - 1, 0, -1):
            left = copies[i - 1]
            self.edges += self.between(left, repeat.gap, found, single)
            first = left.first + (found.first if left.empty and i < repeat.low else [])  # else an empty iteration is the last one
            last = (left.last if found.empty else []) + found.last  # behind an iteration that is not, there is no gap
            found = _PatternPart(first, last, nothing if (left.empty and found.empty) or i > repeat.low else ())
        return found

    def joined(self, left: _PatternPart, gap: Gap, right: _PatternPart) -> _PatternPart:
        self.edges += self.between(left, gap, right, False)
        opened = dict.fromkeys(_one_gap(way, gap) for way in left.empty)
        first = left.first + [(q, _one_gap(before, lead)) for before in opened for q, lead in right.first]
        closed = dict.fromkeys(_one_gap(gap, way) for way in right.empty)
        last = [(p, _one_gap(trail, behind)) for behind in closed for p, trail in left.last] + right.last
        return _few(first, last, [_one_gap(before, way) for before in opened for way in right.empty])

    @staticmethod
    def between(left: _PatternPart, gap: Gap, right: _PatternPart, again: bool) -> Iterator[tuple[int, Successor]]:
        for p, trail in left.last:
            for q, lead in right.first:
                found = _one_gap(_one_gap(trail, gap), lead)
                assert found is not None
                yield p, Successor(q, found, again)


def _few(first: list[tuple[int, Gap | None]], last: list[tuple[int, Gap | None]], empty: list[Gap | None]) -> _PatternPart:
    """Returns a part with each way once; refuses one with more than `WAYS` of them at one position."""
    part = _PatternPart(list(dict.fromkeys(first)), list(dict.fromkeys(last)), tuple(dict.fromkeys(empty)))
    ways = [*Counter(p for p, _ in part.first).values(), *Counter(p for p, _ in part.last).values(), len(part.empty)]
    if max(ways) > WAYS:
        raise AutomatonError(
            f"expected parts that can be left out with at most {WAYS} different negations side by side but got {max(ways)} ways to "
            "leave them out: alternatives of optional parts with a negation each multiply; write several patterns"
        )
    return part


def _one_gap(left: Gap | None, right: Gap | None) -> Gap | None:
    """Return the gap between two neighbours between which optional parts took nothing."""
    if left is None or right is None:
        return right if left is None else left
    return Gap(right.strategy, left.absent + tuple(absent for absent in right.absent if absent not in left.absent))
