"""What becomes of all attempts by many rows side by side: a tree of folds over the rows of a key.

The rows of a level are those of the level below by whose hash chance lets one in eight stay; each is the head of a node, which
reaches up to the next head. So the shape depends on the set of rows alone. FoldTree are made when they are asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sortedcontainers import SortedList

from afa.scan.attempts import NEW, Row, Threads

NEVER = 1 << 64
"""An LE behind all rows; -NEVER: one before them."""
BITS, LEVELS = 3, 8


class Reach(NamedTuple):
    """Where an attempt is behind some rows: its class (None: it is over), and where the last match of these rows ended."""

    to: Threads | None
    last: Any


class AttemptFold(NamedTuple):
    """What some rows make of attempts."""

    links: dict[Threads, Reach]  # of the classes before them
    matched: Any  # the first start among them that ends a match among them; None: none does
    unmatched: dict[Threads, Any]  # by the class in which it is behind them, the first start among them that ends none
    alive: dict[Threads, Any]  # by that class, the first start
    le: int  # of the last row
    until: int  # the smallest RE


def of_row(row: Row) -> AttemptFold:
    """Return the fold of one row."""
    links = {source: Reach(link.to, row.key if link.accept else None) for source, link in row.links.items()}
    own = links.pop(NEW)
    alive = {} if own.to is None else {own.to: row.key}
    return AttemptFold(links, own.last, alive if own.last is None else {}, alive, row.le, row.re)


def then(one: AttemptFold, other: AttemptFold) -> AttemptFold:
    """Return the fold of rows and of those behind them."""
    links = {source: step(reach, other) for source, reach in one.links.items()}
    matched, unmatched = first_match(one.matched, one.unmatched, other)
    alive = still_alive(one.alive, other)
    return AttemptFold(links, matched, unmatched, alive, other.le, min(one.until, other.until))


def step(reach: Reach, fold: AttemptFold) -> Reach:
    """Return where an attempt is behind further rows."""
    if reach.to is None:
        return reach
    to, last = fold.links[reach.to]
    return Reach(to, reach.last if last is None else last)


def first_match(matched: Any, unmatched: Mapping[Threads, Any], fold: AttemptFold) -> tuple[Any, dict[Threads, Any]]:
    """Return the first start that ends a match, and by class the first that does not, with those of further rows."""
    left = dict(fold.unmatched)
    found = [start for start in (matched, fold.matched) if start is not None]
    for source, start in unmatched.items():
        to, last = fold.links[source]
        if last is not None:
            found.append(start)
        elif to is not None:
            left[to] = min(start, left.get(to, start))
    return min(found, default=None), left


def still_alive(alive: Mapping[Threads, Any], fold: AttemptFold) -> dict[Threads, Any]:
    """Return by class the first start that is in it, with those of further rows."""
    found = dict(fold.alive)
    for source, start in alive.items():
        to = fold.links[source].to
        if to is not None:
            found[to] = min(start, found.get(to, start))
    return found


class FoldTree:
    """The tree over the rows of one key, ``rows`` by their places; ``behind``: a place behind all of them."""

    def __init__(self, rows: Mapping[Any, Row], behind: Any) -> None:
        self._rows, self._behind = rows, behind
        self._heads = [SortedList() for _ in range(LEVELS + 1)]
        self._known: list[dict[Any, AttemptFold]] = [{} for _ in range(LEVELS + 1)]

    def add(self, place: Any) -> None:
        """Take note of a row."""
        self.changed(place)
        for level in range(_level(place) + 1):
            self._heads[level].add(place)

    def drop(self, place: Any) -> None:
        """Take note that a row is gone."""
        for level in range(_level(place) + 1):
            self._known[level].pop(place, None)
            self._heads[level].remove(place)
        self.changed(place)

    def changed(self, place: Any) -> None:
        """Take note that the links of a row are others: the nodes in which it stands are forgotten."""
        for heads, known in zip(self._heads[1:], self._known[1:]):
            i = heads.bisect_right(place)
            if i:
                known.pop(heads[i - 1], None)

    def over(self, begin: Any, end: Any) -> Iterator[AttemptFold]:
        """Yield folds that cover the rows of ``[begin, end)``, in order. O(log rows) of them."""
        at = self.behind(begin, 0, here=True)
        while at < end:
            level, top = 0, _level(at)
            while level < top and self.behind(at, level + 1) <= end:
                level += 1
            yield self._fold(level, at)
            at = self.behind(at, level)

    def bound(self, begin: Any) -> Any:
        """Return the first row whose LE is not before the RE of each row from ``begin`` on: no match from there reaches it."""
        until, at = NEVER, self.behind(begin, 0, here=True)
        while at < self._behind:
            level = _level(at)
            while level and not (fold := self._fold(level, at)).le < min(until, fold.until):
                level -= 1
            row = self._rows[at]
            if level == 0 and row.le >= until:
                return at
            until = min(until, row.re if level == 0 else fold.until)
            at = self.behind(at, level)
        return at

    def behind(self, place: Any, level: int = 0, here: bool = False) -> Any:
        """Return the first head of a level behind a place, or at it; behind all: there is none."""
        heads = self._heads[level]
        i = heads.bisect_left(place) if here else heads.bisect_right(place)
        return heads[i] if i < len(heads) else self._behind

    def _fold(self, level: int, head: Any) -> AttemptFold:
        if level == 0:
            return of_row(self._rows[head])
        found = self._known[level].get(head)
        if found is None:
            parts = self._parts(level - 1, head, self.behind(head, level))
            found = self._known[level][head] = functools.reduce(then, parts)
        return found

    def _parts(self, level: int, at: Any, stop: Any) -> Iterator[AttemptFold]:
        while at < stop:
            yield self._fold(level, at)
            at = self.behind(at, level)


def _level(place: Any) -> int:
    """Return the highest level at which a row is the head of a node."""
    bits, level = hash((1, place)), 0
    while level < LEVELS and bits & ((1 << BITS) - 1) == 0:
        bits >>= BITS
        level += 1
    return level
