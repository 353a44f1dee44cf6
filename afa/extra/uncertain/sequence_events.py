"""Which events of a `Sequence` are there, by identity: one interval and one content for each; retractions may wait for theirs.

What a call leaves counts, not the order within it: a retraction may come before its insertion, and a new interval before the old
one has gone.

A `Sequence` as bytes is what it looks for, its numbers, and these events; its matches follow from them:

a blob of `punctuation.sealed` with the magic b"AFAU": [ said, numbers, events ]
    said        the pattern, as text and numbers: it must be that of the operator that is made
    numbers     [promised, changes, ignored, pruned, late, outputs, retractions]
    events      [[field..], lower, upper, [shape, [parameter..]], copies], by identity; below 0 copies: retractions that wait
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from afa.errors import ChangeError, SnapshotError
from afa.extra.uncertain.distributions import Distribution, data_of, shape_in
from afa.extra.uncertain.event_instants import check_width
from afa.extra.uncertain.interval import Between
from afa.extra.uncertain.sequence_pattern import SequencePattern
from afa.journal import Journal
from afa.model.copies import COPIES, as_total, crowded
from afa.operator import snapshot
from afa.operator.plain_data import reading
from afa.state.sound import short, wanted
from punctuation import sealed
from punctuation.time import as_time

MAGIC, VERSION = b"AFAU", 1


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


def seal(pattern: SequencePattern, numbers: list[int], entries: Iterable[tuple[SequenceEvent, int]]) -> bytes:
    """Returns a `Sequence` as a blob, in an order that does not depend on how events came."""
    events = [[list(entry.payload), entry.lower, entry.upper, data_of(entry.shape), copies] for entry, copies in entries]
    events.sort(key=lambda each: (each[1:3], repr(each)))
    return sealed.seal(MAGIC, VERSION, snapshot.plain([pattern.said, numbers, events]))


def unseal(pattern: SequencePattern, blob: bytes) -> tuple[list[int], list[tuple[Hashable, SequenceEvent, int]]]:
    """Returns the numbers and events in a blob, checked. SnapshotError: it is something else, or of another pattern."""
    body = snapshot.unseal(MAGIC, VERSION, blob)
    with reading("the three fields of a Sequence", short(body)):
        said, numbers, events = body
        wanted(f"a snapshot of the pattern {pattern.said}", said == pattern.said, said)
        promised, *counts = numbers
        wanted("six counts", len(counts) == 6, numbers)
        found = [_event(pattern, as_time(promised, "promised"), each) for each in events]
        wanted("each identity once", len({identity for identity, _, _ in found}) == len(found))
        return [promised, *map(as_total, counts)], found


def _event(pattern: SequencePattern, promised: int, data: Sequence[Any]) -> tuple[Hashable, SequenceEvent, int]:
    values, lower, upper, shape, copies = data
    payload = pattern.schema.take(tuple(values))
    when = Between(lower, upper, shape_in(shape)).ticks(None)
    check_width(when, SnapshotError)
    wanted("a number of copies", type(copies) is int and copies != 0, copies)
    wanted("retractions that are not overdue", copies > 0 or lower >= promised, lower)
    component = pattern.component_of(payload)
    wanted("an event that fits a component", component is not None, payload)
    assert component is not None
    return pattern.identity_of(payload), SequenceEvent(pattern.key_of(payload), component, payload, *when), copies
