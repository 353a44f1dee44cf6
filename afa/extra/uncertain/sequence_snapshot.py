"""A `Sequence` as bytes: what it looks for, its numbers, and its events. Its matches follow from the events.

a blob of `punctuation.sealed` with the magic b"AFAU": [ said, numbers, events ]
    said        the pattern, as text and numbers: it must be that of the operator that is made
    numbers     [promised, changes, ignored, pruned, late, outputs, retractions]
    events      [[field..], lower, upper, [shape, [parameter..]], copies], by identity; below 0 copies: retractions that wait
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from afa.errors import SnapshotError
from afa.extra.uncertain.distributions import data_of, shape_in
from afa.extra.uncertain.event_instants import check_width
from afa.extra.uncertain.interval import Between
from afa.extra.uncertain.sequence_events import SequenceEvent
from afa.extra.uncertain.sequence_pattern import SequencePattern
from afa.model.copies import as_total
from afa.operator import snapshot
from afa.state.sound import short, wanted
from punctuation import sealed
from punctuation.time import as_time

MAGIC, VERSION = b"AFAU", 1
Events = list[tuple[Hashable, SequenceEvent, int]]


def seal(pattern: SequencePattern, numbers: list[int], entries: Iterable[tuple[SequenceEvent, int]]) -> bytes:
    """Returns a `Sequence` as a blob, in an order that does not depend on how events came."""
    events = [[list(entry.payload), entry.lower, entry.upper, data_of(entry.shape), copies] for entry, copies in entries]
    events.sort(key=lambda each: (each[1:3], repr(each)))
    return sealed.seal(MAGIC, VERSION, snapshot.plain([pattern.said, numbers, events]))


def unseal(pattern: SequencePattern, blob: bytes) -> tuple[list[int], Events]:
    """Returns the numbers and events in a blob, checked. SnapshotError: it is something else, or of another pattern."""
    body = snapshot.unseal(MAGIC, VERSION, blob)
    try:
        said, numbers, events = body
        wanted(f"a snapshot of the pattern {pattern.said}", said == pattern.said, said)
        promised, *counts = numbers
        wanted("six counts", len(counts) == 6, numbers)
        found = [_event(pattern, as_time(promised, "promised"), each) for each in events]
        wanted("each identity once", len({identity for identity, _, _ in found}) == len(found))
        return [promised, *map(as_total, counts)], found
    except (SnapshotError, MemoryError):
        raise
    except Exception as error:  # what is none of ours may be wrong in any way
        raise SnapshotError(f"expected the three fields of a Sequence but got {short(body)}: {error}") from error


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
