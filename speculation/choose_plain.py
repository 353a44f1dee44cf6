"""The plain way of `Choose`: a chain for each key, changes one by one, payloads of any kind (`speculation.chain`).

The other one, with the same answers, holds rows of words: `speculation.choose_rows`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cmp_to_key
from typing import Any

from afa.change import Change
from afa.errors import ChangeError
from punctuation.deadlines import Deadlines
from punctuation.time import BEGINNING, FOREVER
from speculation.chain import ChosenMatch, Group, MatchChain, Point
from speculation.stage import Output


class PlainWay:
    """The matches of a `Choose`, whose journal takes the inverse of every write, and the chains over them."""

    columns = False

    def __init__(self, stage: Any) -> None:
        self._stage = stage
        self.chains: dict[Hashable, MatchChain] = {}
        self.leaving: dict[Any, int] = {}  # how many chosen matches stand for one that is shown
        self._coming: dict[Hashable, tuple[Point, Point]] = {}  # of each key, the first and the last group that has changed
        self._deadlines: Deadlines | None = None  # None: they are to be set anew

    def look(self) -> tuple[int, int]:
        """Return how many matches are held, and how many of them are chosen."""
        chains = self.chains.values()
        return sum(len(group) for chain in chains for group in chain.groups.values()), sum(len(chain.chosen) for chain in chains)

    def matches(self) -> list[Change]:
        """Return all matches that are held."""
        return [match for chain in self.chains.values() for group in chain.groups.values() for match in group]

    def chosen(self, key: Hashable) -> list[Change]:
        """Return the matches of a key that are chosen, with all that they hold."""
        chain = self.chains.get(key)
        return [] if chain is None else [link.match for link in chain.chosen.values()]

    # -- one call --------------------------------------------------------------------------------------------------------------

    def begins(self) -> None:
        """Begin a call: nothing of one before is coming."""
        self._coming = {}

    def failed(self) -> None:
        """Deadlines are set anew when they are needed."""
        self._deadlines = None

    def worked(self) -> None:
        """End a call."""

    def take(self, item: Change) -> None:
        """Take a match that comes or goes. `end` draws the chains."""
        stage = self._stage
        payload, le, _, diff, key = item
        values = stage.values(item)
        start = stage.start(item, values)
        group = start if stage.by == "start" else stage.close(item, values)
        chain = self.chains.get(key)
        if chain is None:
            chain = MatchChain(stage._journal, self._pick)
            stage._journal.put(self.chains, key, chain)
        try:
            fits = chain.insert(group, item) if diff > 0 else chain.retract(group, item)
            coming = self._coming.get(key)
            if coming is None:
                self._coming[key] = group, group
            elif group < coming[0]:
                self._coming[key] = group, coming[1]
            elif group > coming[1]:
                self._coming[key] = coming[0], group
        except TypeError as error:
            raise stage.not_comparable(payload, error) from None
        if not fits:
            raise ChangeError(f"expected a match that comes once, then goes, but got diff={diff} for {payload!r} at le={le}")

    def end(self, out: Output) -> None:
        """Draw the chains anew; append the difference."""
        coming, self._coming = self._coming, {}
        shown: dict[Any, int] = {}
        for key, (first, last) in coming.items():
            chain = self.chains[key]
            found = chain.draw(first, last)
            self._stage._drawn += found.drawn
            for link in found.withdrawn:
                match = self._shown(link.match)
                shown[match] = shown.get(match, 0) - 1
            for link in found.announced:
                match = self._shown(link.match)
                shown[match] = shown.get(match, 0) + 1
            self._rest(key, chain)
        changes: list[Change] = [Change(payload, le, re, sign, key) for (payload, le, re, key), sign in self._net(shown)]
        changes.sort(key=lambda change: (change.diff > 0, change.le))
        out += changes

    def _net(self, shown: dict[Any, int]) -> Iterable[tuple[Any, int]]:
        """Count chosen matches that show the same, and yield those that come or go."""
        for match, diff in shown.items():
            before = self.leaving.get(match, 0)
            if diff:
                self._leave(match, before + diff)
                if not before or not before + diff:
                    yield match, 1 if diff > 0 else -1

    def _leave(self, match: Any, count: int) -> None:
        if count:
            self._stage._journal.put(self.leaving, match, count)
        else:
            self._stage._journal.drop(self.leaving, match)

    def _rest(self, key: Hashable, chain: MatchChain) -> None:
        """Set the punctuation that a key wants next; forget the key if it holds nothing."""
        if not chain.groups:
            self._stage._journal.drop(self.chains, key)
        if self._deadlines is not None and self._stage.window is not None:
            self._deadlines.set(key, self._deadline(chain))

    def _deadline(self, chain: MatchChain) -> int | None:
        """Return the smallest punctuation that makes a chain smaller."""
        window: int = self._stage.window
        groups, wait = chain.groups, 1 if self._stage.by == "end" else window
        if not groups:
            return None
        first = groups.peekitem(0)[0]
        link: ChosenMatch | None = chain.chosen.get(first)
        at: int = first[0] + wait
        if link is None:
            return at
        at = max(at, link.resume[0] + window)  # it may be the last final link, which stays
        return min(at, groups.peekitem(1)[0][0] + wait) if len(groups) > 1 else at

    def settle(self, t: int, group: int, least: int) -> None:
        """Forget what is final behind a promise: what comes lies in ``group`` or behind it, and starts at ``least`` or later."""
        if t == FOREVER:
            due = list(self.chains)
        else:
            if self._deadlines is None or not self._deadlines.whole:
                self._deadlines = Deadlines()
                for key, chain in self.chains.items():
                    self._deadlines.set(key, self._deadline(chain))
            due = self._deadlines.due(t)
        for key in due:
            chain = self.chains[key]
            for link in chain.settle((group,), (least,)):  # all that show the same are final, or none
                match = self._shown(link.match)
                self._leave(match, self.leaving[match] - 1)
            self._rest(key, chain)

    # -- matches ---------------------------------------------------------------------------------------------------------------

    def _pick(self, group: Group, resume: Point | None) -> ChosenMatch | None:
        """Return the preferred match of a group, of those that start at the resume point or behind it."""
        stage = self._stage
        matches: Iterable[Change] = group
        if stage.by == "end" and resume is not None:
            matches = [match for match in matches if stage.start(match, stage.values(match)) >= resume]
        try:
            match = next(iter(matches), None) if len(group) == 1 else min(matches, key=self._rank, default=None)
            return None if match is None else ChosenMatch(stage.resume(match), match)
        except TypeError as error:
            raise stage.not_comparable([match.payload for match in group], error) from None

    def _rank(self, match: Change) -> tuple[Any, ...]:
        """Return what the matches of one group are ordered by: the first one is preferred."""
        stage = self._stage
        values = stage.values(match)
        prefer = [_preferred(values[i], down) for i, down in stage.preferred]
        last = stage.start(match, values) if stage.by == "end" else stage.close(match, values)
        first = [_down(last), *prefer] if stage.by == "end" else [*prefer, _down(last)]
        return (*first, *_tie(match))

    def _shown(self, match: Change) -> tuple[Any, ...]:
        payload, shown = match.payload, self._stage.shown
        if shown is not None:
            payload = shown(*payload[: len(shown._fields)])
        return payload, match.le, match.re, match.key


def _preferred(value: Any, down: bool) -> tuple[Any, ...]:
    """Return what a field says of the preference; smaller is preferred, NaN behind all numbers, None last."""
    if value is None:
        return (2,)
    return (1,) if value != value else (0, _down(value) if down else value)


def _tie(match: Change) -> tuple[Any, ...]:
    """Return what orders matches that nothing else does: their payload field by field, then RE."""
    payload = match.payload
    fields = payload if isinstance(payload, tuple) else (payload,)
    return tuple(map(_told, fields)), BEGINNING if match.re is None else match.re


def _told(value: Any) -> tuple[Any, ...]:
    """Return what orders values of any kind: None behind all others, NaN behind numbers."""
    if value is None:
        return (2,)
    if isinstance(value, (bool, int, float)):
        return (1, "", value != value, 0 if value != value else value)
    return (1, type(value).__name__, False, value if isinstance(value, str) else repr(value))


def _down(value: Any) -> Any:
    """Return what orders values of one type in the other direction."""
    return -value if type(value) in (int, float) else _DESCENDING(value)


_DESCENDING = cmp_to_key(lambda a, b: (a < b) - (b < a))  # type: ignore[operator]
