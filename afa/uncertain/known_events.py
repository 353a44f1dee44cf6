"""Which events are there, by their identities: a retraction names the interval of its insertion, and one identity one event.

A promise of t lets go what begins below it: no change of it can come any more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import repeat
from typing import Any

from sortedcontainers import SortedDict

from afa.errors import ChangeError
from afa.journal import Journal
from afa.model.copies import added
from punctuation.calls import Member

Known = tuple[Hashable, int, int, Any, int]
"""An event: what it holds, the ends of its interval, its distribution; how many copies (below 0: retracted before it came)."""


class KnownEvents(Member):
    """The events that may still change."""

    def __init__(self) -> None:
        self.events: dict[Hashable, Known] = {}
        self._by_lower: SortedDict[int, list[Hashable]] = SortedDict()  # one list a call, by the largest lower end in it
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
        """Take changes of events. O(1) for each.

        Raises
        ------
        ChangeError
            An identity comes with other content, or under another interval.
        """
        high = max(lower)
        self._journal.put(self._by_lower, high, [*self._by_lower.get(high, ()), *identities])
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

    def settle(self, t: int) -> None:
        """Forget the events of calls that begin below a promise, all of them. O(1) for each."""
        for high in list(self._by_lower.irange(None, t, inclusive=(True, False))):
            for identity in self._by_lower[high]:
                known = self.events.get(identity)
                if known is not None and known[1] <= high:
                    self._journal.drop(self.events, identity)
                    self.copies -= known[4]
            self._journal.drop(self._by_lower, high)

    def due(self) -> int | None:
        """Return a promise at which something is forgotten; None: there is nothing."""
        return next((high + 1 for high in self._by_lower), None)

    def load(self, events: Iterable[tuple[Hashable, Known]]) -> None:
        """Take events that were held, where none is; the caller turns what it raises into a `SnapshotError`."""
        for identity, (content, lower, upper, shape, copies) in events:
            if identity in self.events or lower > upper or not copies:
                raise ValueError(f"no event: {identity!r}")
            self.take([identity], [content], [lower], [upper], shape, [copies])
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
