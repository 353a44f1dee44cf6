"""Which events are there, by their identities: a retraction names the interval of its insertion, and one identity one event.

A promise of t lets go what begins below it: no change of it can come any more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from afa.errors import ChangeError
from afa.journal import Journal
from afa.model.copies import added
from punctuation.calls import Member


class Known(NamedTuple):
    """An event: what it holds, the ends of its interval, its distribution; how many copies (below 0: retracted before it came)."""

    content: Hashable
    lower: int
    upper: int
    shape: Any
    copies: int


class KnownEvents(Member):
    """The events that may still change."""

    def __init__(self) -> None:
        self.events: dict[Hashable, Known] = {}
        self._by_lower: SortedDict[int, list[Hashable]] = SortedDict()  # one list a call, by the largest lower end in it
        self.copies = 0
        self._journal = Journal()

    def take(self, changes: Iterable[tuple[Hashable, Hashable, int, int, Any, int]]) -> None:
        """Take changes of events: identity, content, lower, upper, shape, diff. O(1) for each.

        Raises
        ------
        ChangeError
            An identity comes with other content, or under another interval.
        """
        journal, come, high = self._journal, list[Hashable](), None
        for identity, content, lower, upper, shape, diff in changes:
            known = self.events.get(identity)
            if known is None:
                journal.put(self.events, identity, Known(content, lower, upper, shape, added(0, diff, content, lower)))
                come.append(identity)
                high = lower if high is None else max(high, lower)
            else:
                _check_same(identity, known, content, lower, upper, shape, diff)
                copies = added(known.copies, diff, content, lower)
                if copies:
                    journal.put(self.events, identity, known._replace(copies=copies))
                else:
                    journal.drop(self.events, identity)
            self.copies += diff
        if high is not None:
            journal.put(self._by_lower, high, [*self._by_lower.get(high, ()), *come])

    def settle(self, t: int) -> None:
        """Forget the events of calls that begin below a promise, all of them. O(1) for each."""
        for high in list(self._by_lower.irange(None, t, inclusive=(True, False))):
            for identity in self._by_lower[high]:
                known = self.events.get(identity)
                if known is not None and known.lower <= high:
                    self._journal.drop(self.events, identity)
                    self.copies -= known.copies
            self._journal.drop(self._by_lower, high)

    def due(self) -> int | None:
        """Return a promise at which something is forgotten; None: there is nothing."""
        return next((high + 1 for high in self._by_lower), None)

    def load(self, events: Iterable[tuple[Hashable, Known]]) -> None:
        """Take events that were held, where none is; the caller turns what it raises into a `SnapshotError`."""
        for identity, known in events:
            if identity in self.events or known.lower > known.upper or not known.copies:
                raise ValueError(f"no event: {known!r}")
            self.take([(identity, *known[:4], known.copies)])
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
    if (known.lower, known.upper, known.shape) != (lower, upper, shape):
        what = "a retraction under the interval of its insertion" if diff < 0 else "an identity under one interval"
        raise ChangeError(
            f"expected {what}, [{known.lower}, {known.upper}] {known.shape!r}, but got [{lower}, {upper}] {shape!r} for the event "
            f"{identity!r}"
        )
    if known.content != content:
        raise ChangeError(f"expected events of different identities but got {known.content!r} and {content!r} under {identity!r}")
