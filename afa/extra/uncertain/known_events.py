"""Which events are there, by their identities: a retraction names the interval of its insertion, and one identity one event.

A promise of t lets go what begins below it: no change of it can come any more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sequence
from itertools import repeat
from typing import Any

from sortedcontainers import SortedDict

from afa.errors import ChangeError
from afa.journal import Journal
from afa.model.copies import added
from punctuation.calls import Member
from punctuation.time import as_time

Known = tuple[Hashable, int, int, Any, int]
"""An event: what it holds, the ends of its interval, its distribution; how many copies (below 0: retracted before it came)."""


class KnownEvents(Member):
    """The events that may still change."""

    def __init__(self) -> None:
        self.events: dict[Hashable, Known] = {}
        self._by_lower: SortedDict[int, list[tuple[list[int], list[Hashable]]]] = SortedDict()  # sorted; by the least lower end
        self.copies = 0
        self._journal = Journal()

    def take(
        self,
        identities: Sequence[Hashable],
        contents: Sequence[Hashable],
        lower: Sequence[int],
        upper: Sequence[int],
        shape: Any,
        diff: Sequence[int],
    ) -> None:
        """Take changes of events. O(1) for each. ChangeError: an identity comes with other content, or under another interval."""
        order = sorted(range(len(identities)), key=lower.__getitem__)
        self._wait([lower[i] for i in order], [identities[i] for i in order])
        self.copies += sum(diff)
        if self.events.keys().isdisjoint(identities) and len(set(identities)) == len(identities):
            self._journal.note(_forget, self.events, identities)
            self.events.update(zip(identities, zip(contents, lower, upper, repeat(shape), diff)))
            return
        for identity, content, low, upp, n in zip(identities, contents, lower, upper, diff):
            known = self.events.get(identity)
            if known is not None:
                _check_same(identity, known, content, low, upp, shape, n)
            copies = added(0 if known is None else known[4], n, identity, low)
            if copies:
                self._journal.put(self.events, identity, (content, low, upp, shape, copies))
            elif known is not None:
                self._journal.drop(self.events, identity)

    def _wait(self, lower: list[int], identities: list[Hashable]) -> None:
        """Note at which promises events are forgotten."""
        if lower:
            self._journal.put(self._by_lower, lower[0], [*self._by_lower.get(lower[0], ()), (lower, identities)])

    def settle(self, t: int) -> None:
        """Forget the events that begin below a promise. O(log n) for each."""
        for least in list(self._by_lower.irange(None, t, inclusive=(True, False))):
            waiting = self._by_lower[least]
            self._journal.drop(self._by_lower, least)
            for lower, identities in waiting:
                final = bisect_left(lower, t)
                gone = [(each, self.events[each]) for each in identities[:final] if each in self.events]
                self._journal.note(self.events.update, gone)
                for identity, known in gone:
                    if self.events.pop(identity, None) is not None:
                        self.copies -= known[4]
                self._wait(lower[final:], identities[final:])

    def load(self, events: Iterable[tuple[Hashable, Known]]) -> None:
        """Take events that were held, into none; the caller turns what it raises into a `SnapshotError`."""
        of_shape: dict[Any, list[tuple[Any, ...]]] = {}
        for identity, (content, lower, upper, shape, copies) in events:
            times = as_time(lower, "lower"), as_time(upper, "upper")
            if times[0] > times[1] or type(content) is not int or type(copies) is not int or not copies:
                raise ValueError(f"no event: {identity!r}")
            of_shape.setdefault(shape, []).append((identity, content, *times, copies))
        for shape, rows in of_shape.items():
            identities, contents, lowers, uppers, diffs = zip(*rows)
            if len(set(identities)) < len(identities) or not self.events.keys().isdisjoint(identities):
                raise ValueError(f"no events: {identities!r}")
            self.take(identities, contents, lowers, uppers, shape, diffs)
        self._journal.commit()

    # -- calls: see `punctuation.calls.Member` ---------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        return self.copies

    def call_failed(self, before: Any) -> None:
        self._journal.rollback()
        self.copies = before

    def call_worked(self) -> None:
        self._journal.commit()


def _check_same(identity: Any, known: Known, content: Any, lower: int, upper: int, shape: Any, diff: int) -> None:
    own, *times, _ = known
    if times != [lower, upper, shape]:
        what = "a retraction under the interval of its insertion" if diff < 0 else "an identity under one interval"
        there = f"[{times[0]}, {times[1]}] {times[2]!r}"
        raise ChangeError(f"expected {what}, {there}, but got [{lower}, {upper}] {shape!r} for the event {identity!r}")
    if own != content:
        raise ChangeError(f"expected an identity of one event but got {identity!r} with different content")


def _forget(events: dict[Hashable, Known], identities: Sequence[Hashable]) -> None:
    for identity in identities:
        events.pop(identity, None)
