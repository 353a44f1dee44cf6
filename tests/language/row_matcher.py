"""SQL's MATCH_RECOGNIZE by trying everything: what a scan over the rows shows, from the words of ISO/IEC 19075-5 alone.

A pattern is a tree of nodes; its ways through the rows come in the order of preference. Nothing is kept from one query to the next,
nothing is fast. Where the standard raises an error, SEMANTICS.md says what happens.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.language.row_values import Pick, Seen, TableRow, Value
from tests.worlds.kind import TooManyError

Picks = tuple[Pick, ...]


@dataclass(frozen=True)
class Node:
    """A part of a pattern: `Cat` of none is ()."""


@dataclass(frozen=True)
class Var(Node):
    name: str


@dataclass(frozen=True)
class Cat(Node):
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Alt(Node):
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Permute(Node):
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Rep(Node):
    part: Node
    low: int
    high: int | None
    greedy: bool = True


@dataclass(frozen=True)
class Hidden(Node):
    part: Node


@dataclass(frozen=True)
class Anchor(Node):
    end: bool


@dataclass(frozen=True)
class Clauses:
    """A query. ``rows``: "one", "show" (empty matches), "omit", "unmatched"; ``skip``: "past", "next", or ("first" | "last", v)."""

    pattern: Node
    define: Mapping[str, Value]
    measures: tuple[Value, ...]
    partition: Callable[[Any], Any] = lambda of: ()
    order: Callable[[TableRow], Any] = lambda row: row.le
    rows: str = "one"
    skip: str | tuple[str, str] = "past"
    window: int | None = None
    subsets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def answer(self, table: list[TableRow], patience: int = 10**9) -> Counter[Any]:
        """What is shown, each ``(partition, values, le, re)`` as often as SQL has it; of all rows the values are (row, values)."""
        found, tries, parts = Counter[Any](), itertools.count(), dict[Any, list[TableRow]]()
        for row in sorted(table, key=self.order):
            parts.setdefault(self.partition(row.of), []).append(row)
        for key, rows in parts.items():
            for values, le, re in Scan(self, rows, tries, patience).shown():
                found[key, values, le, re] += 1
        return found


@dataclass(frozen=True)
class Scan:
    """A scan over one partition."""

    query: Clauses
    rows: list[TableRow]
    tries: Iterator[int]
    patience: int

    def ways(self, node: Node, at: int, picks: Picks, hidden: bool = False) -> Iterator[tuple[int, Picks]]:
        """How a part can be matched from a row on, the preferred way first: the row behind it, and all that is taken then."""
        if next(self.tries) > self.patience:
            raise TooManyError
        match node:
            case Var(name):
                after = (*picks, Pick(name, at, hidden))
                if self.may_take(at, picks) and self.holds(name, after):
                    yield at + 1, after
            case Cat(()):
                yield at, picks
            case Cat((part, *rest)):
                for behind, taken in self.ways(part, at, picks, hidden):
                    yield from self.ways(Cat(tuple(rest)), behind, taken, hidden)
            case Alt(parts):
                for part in parts:
                    yield from self.ways(part, at, picks, hidden)
            case Permute(parts):
                yield from self.ways(Alt(tuple(map(Cat, itertools.permutations(parts)))), at, picks, hidden)
            case Rep(part, low, high, greedy):
                if low == 0 and not greedy:
                    yield at, picks
                for behind, taken in self.ways(part, at, picks, hidden) if high != 0 else ():
                    if behind == at and low <= 1:  # an iteration that takes nothing is the last one
                        yield at, taken
                    else:
                        yield from self.ways(Rep(part, max(low - 1, 0), high and high - 1, greedy), behind, taken, hidden)
                if low == 0 and greedy:
                    yield at, picks
            case Hidden(part):
                yield from self.ways(part, at, picks, True)
            case Anchor(end):
                if self.is_last(at) if end else at == 0:
                    yield at, picks

    def may_take(self, at: int, picks: Picks) -> bool:
        """Whether a row lies within the window of a match, or, without one, lives together with all of its rows."""
        if at >= len(self.rows) or not picks:
            return at < len(self.rows)
        window, le = self.query.window, self.rows[at].le
        ends = min(self.rows[pick.at].re for pick in picks) if window is None else self.rows[picks[0].at].le + window
        return le < ends

    def holds(self, name: str, picks: Picks) -> bool:
        condition = self.query.define.get(name)
        return condition is None or condition(self.seen(picks, len(picks), None)) is True

    def seen(self, picks: Picks, here: int, number: int | None) -> Seen:
        return Seen(self.rows, picks, here, number, self.query.subsets, self.query.window)

    def is_last(self, at: int) -> bool:
        """Whether no row comes behind that before ``at``, within the window."""
        window = self.query.window
        return at == len(self.rows) or (window is not None and at > 0 and self.rows[at].le - self.rows[at - 1].le >= window)

    def matches(self) -> Iterator[tuple[int, Picks]]:
        """Where each match begins, and what it takes."""
        start = 0
        while start < len(self.rows):
            end, picks = next(self.ways(self.query.pattern, start, ()), (start, None))
            if picks is not None:
                yield start, picks
                start = max(self.behind(end, picks), start + 1)
            else:
                start += 1

    def behind(self, end: int, picks: Picks) -> int:
        """Where a scan would go on behind a match; 0 for its second row."""
        if self.query.skip == "past":
            return end
        if self.query.skip == "next" or not picks:
            return 0
        which, name = self.query.skip
        of = self.seen(picks, len(picks), None).taken(name, True)
        return of[0 if which == "first" else -1].at if of else 0

    def shown(self) -> Iterator[tuple[Any, int, int]]:
        """The values of each row that is shown, and its lifetime."""
        every, matched, window = self.query.rows, set[int](), self.query.window
        for number, (start, picks) in enumerate(self.matches(), 1):
            places = [pick.at for pick in picks] or [start]
            matched |= set(places)
            of = [self.rows[at] for at in places]
            re = min(row.re for row in of) if window is None else of[0].le + window
            if every == "one":
                yield self.values(self.seen(picks, len(picks), number)), of[-1].le, re
            elif picks or every != "omit":
                for i, row in enumerate(of):
                    if not picks or not picks[i].hidden:
                        yield (row.of, self.values(self.seen(picks, i + 1, number))), row.le, re
        for i in set(range(len(self.rows))) - matched if every == "unmatched" else ():
            row = self.rows[i]
            yield (row.of, (None,) * len(self.query.measures)), row.le, row.re if window is None else row.le + window

    def values(self, seen: Seen) -> tuple[Any, ...]:
        return tuple(measure(seen) for measure in self.query.measures)
