"""The state of an `Ordered` as bytes: versioned, checked, plain data only.

Format, version 1
-----------------
    a blob of `punctuation.sealed` with the magic b"AFAO": a list
        [ operator, number, gaps, repeated, counters, keys ]
    operator      the snapshot of the operator beneath, see `afa.snapshot`
    number        the field
    gaps          "break" or "join"
    repeated      "raise" or "drop"; null: a callback
    counters      [changes, gaps, missing numbers, repeated], as text beyond int64
    keys          of each key [key, cover, events, waiting]
    cover         [number, LE, RE], or null
    events        [LEs, REs, one column for each field of the event]: those that can still change, by number
    waiting       the same, of retractions without their insertion; then their copies
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from afa import snapshot
from afa.arc import Arc
from afa.copies import as_plain, as_total
from afa.core import Core
from afa.errors import AfaError, SnapshotError
from afa.keys import take_key
from punctuation.sealed import seal
from punctuation.time import as_count, as_time
from speculation.barrier import Derived
from speculation.numbers import Cover, Entry
from speculation.sequences import Repeated, Sequences

MAGIC, VERSION = b"AFAO", 1


class Body(NamedTuple):
    """What a snapshot holds."""

    operator: bytes
    number: str
    gaps: str
    repeated: str | None
    counters: list[int | str]
    keys: list[Any]


def save(sequences: Sequences, keyed: bool) -> bytes:
    """The state as a blob. O(state).

    Raises
    ------
    SnapshotError
        As of `afa.snapshot.save`.
    """
    repeated = sequences.repeated if isinstance(sequences.repeated, str) else None
    keys = []
    for key, numbers in sequences.keys.items():
        numbers.settle(sequences.derived.event)
        events = [entry for _, entry in sorted(numbers.entries.items())]
        waiting = sorted(numbers.waiting.items(), key=repr)
        copies = [copies for _, copies in waiting]
        cover = None if numbers.cover is None else list(numbers.cover)
        keys.append([key, cover, _columns(events), [*_columns([entry for entry, _ in waiting]), copies]])
    keys.sort(key=lambda item: repr(item[0]))
    beneath = snapshot.save(sequences.core, keyed=keyed)
    counters = list(map(as_plain, sequences.counters()))  # one gap may miss 2**64 numbers
    body = Body(beneath, sequences.derived.number, sequences.gaps, repeated, counters, keys)
    return seal(MAGIC, VERSION, snapshot.plain(list(body)))


def unpacked(blob: bytes) -> Body:
    """What a blob holds.

    Raises
    ------
    SnapshotError
        It is no snapshot of an `Ordered`, or damaged.
    """
    body = snapshot.unseal(MAGIC, VERSION, blob)
    try:
        found = Body(*body)
    except TypeError as error:
        raise SnapshotError(f"expected the six fields of a snapshot but got {body!r}") from error
    if not isinstance(found.number, str) or found.gaps not in ("break", "join") or found.repeated not in ("raise", "drop", None):
        raise SnapshotError(f"expected a field and policies but got {found.number!r}, {found.gaps!r}, {found.repeated!r}")
    return found


def core_of(body: Body, derived: Derived, arcs: list[Arc], late: Any, engine: str, keyed: bool) -> Core:
    """The operator beneath."""
    return snapshot.load(derived.automaton, [body.operator], [derived.arc(arc) for arc in arcs], late, engine, keyed=keyed)


def policy_of(body: Body, repeated: Repeated | None) -> Repeated:
    """The policy for repeated numbers.

    Raises
    ------
    SnapshotError
        It was a callback, and none is given.
    """
    if repeated is None and body.repeated is None:
        raise SnapshotError("expected repeated=<callable>: the operator was saved with a callback, which no snapshot holds")
    return body.repeated if repeated is None else repeated  # type: ignore[return-value]


def fill(body: Body, sequences: Sequences) -> None:
    """Put the numbers of all keys back.

    Raises
    ------
    SnapshotError
        They are none.
    """
    try:
        sequences.changes, sequences.gap_count, sequences.missing, sequences.repeats = map(as_total, body.counters)
        for key, cover, events, waiting in body.keys:
            numbers = sequences.made(None if key is None else take_key(key))
            if cover is not None:
                numbers.put_cover(Cover._make(as_time(item, "cover") for item in cover))
            for entry in _entries(events, sequences.derived):
                numbers.add(entry.payload[sequences.derived.place], entry)
            *columns, copies = waiting
            for entry, count in zip(_entries(columns, sequences.derived), copies):
                numbers.waiting[entry] = as_count(count)
            sequences.refresh(key)
        sequences.core.journal.commit()
    except (AfaError, TypeError, ValueError, IndexError, KeyError) as error:
        raise SnapshotError(f"expected the numbers of a snapshot's keys but got something else: {error}") from error


def _columns(entries: list[Entry]) -> list[Any]:
    """LEs, REs and fields as columns."""
    payloads = [entry.payload[:-1] for entry in entries]
    return [[entry.le for entry in entries], [entry.re for entry in entries], *map(list, zip(*payloads))]


def _entries(columns: list[Any], derived: Derived) -> Iterable[Entry]:
    for le, re, *fields in zip(*columns):
        yield Entry(as_time(le, "le"), as_time(re, "re"), derived.event(tuple(fields)))
