"""Which events of a `Sequence` are there, by identity: one interval and one content for each; retractions may wait for theirs.

What a call leaves counts, not the order within it: a retraction may come before its insertion, and a new interval before the old
one has gone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from afa.errors import ChangeError
from afa.extra.uncertain.distributions import Distribution
from afa.extra.uncertain.interval import Between
from afa.journal import Journal
from afa.model.copies import COPIES, crowded


class SequenceEvent(NamedTuple):
    """An event as it came."""

    key: Hashable
    component: int
    payload: Any
    lower: int
    upper: int
    shape: Distribution


class SequenceEvents:
    """The events that are held, and the retractions that wait."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.entries: dict[Hashable, dict[SequenceEvent, int]] = {}
        """By identity: how many copies of each event; below 0, retractions that wait. Between two calls there is one of each."""
        self.waiting: dict[Hashable, int] = {}
        """The identities whose retraction waits, with the lower ends of their intervals."""

    def change(self, identity: Hashable, entry: SequenceEvent, diff: int) -> None:
        """Take a change. `settled` checks what a call has left."""
        there = self.entries.get(identity, {})
        copies = there.get(entry, 0) + diff
        if abs(copies) > COPIES:
            raise crowded(entry.payload, entry.lower, diff)
        left = {other: count for other, count in there.items() if other != entry}
        if copies:
            left[entry] = copies
        if left:
            self._journal.put(self.entries, identity, left)
        elif there:
            self._journal.drop(self.entries, identity)

    def settled(self, identity: Hashable) -> SequenceEvent | None:
        """Returns the event of an identity that is in force after a call, or None.

        ChangeError: there are two, or a retraction has another interval than the event.
        """
        there = self.entries.get(identity, {})
        if len(there) > 1:
            _refuse(identity, there)
        ((entry, copies),) = there.items() or [(None, 0)]
        if copies < 0 and entry is not None:
            self._journal.put(self.waiting, identity, entry.lower)
        elif identity in self.waiting:
            self._journal.drop(self.waiting, identity)
        return entry if copies > 0 else None

    def forget(self, identity: Hashable) -> None:
        self._journal.drop(self.entries, identity)

    def vain(self, t: int) -> Iterator[tuple[SequenceEvent, int]]:
        """Yields, and forgets, the retractions that have waited in vain for an event below a promise."""
        for identity in [identity for identity, lower in self.waiting.items() if lower < t]:
            ((entry, copies),) = self.entries[identity].items()
            self._journal.drop(self.waiting, identity)
            self._journal.drop(self.entries, identity)
            yield entry, copies


def _refuse(identity: Hashable, there: dict[SequenceEvent, int]) -> None:
    (a, copies), (b, others) = list(there.items())[:2]
    if a.payload != b.payload:
        raise ChangeError(
            f"expected one event of the identity {identity!r} but got {a.payload!r} and {b.payload!r}; name the fields that tell "
            f"events apart in identity="
        )
    ends = f"{_said(a)} and {_said(b)}"
    if (copies > 0) != (others > 0):
        raise ChangeError(f"expected a retraction under the interval of its insertion but got {ends} for {a.payload!r}")
    raise ChangeError(f"expected one interval of the identity {identity!r} but got {ends}")


def _said(entry: SequenceEvent) -> str:
    return repr(Between(entry.lower, entry.upper, entry.shape)).removeprefix("Between")
