"""The state of an `Ordered` as bytes: versioned, checked, plain data only.

Format, version 1
-----------------
    a blob of `punctuation.sealed` with the magic b"AFAO": a list
        [ operator, number, gaps, repeated, counters, keys ]
    operator      the snapshot of the operator beneath, see `afa.operator.snapshot`
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

from afa.errors import SnapshotError
from afa.model.arc import Arc
from afa.model.copies import as_plain, as_total
from afa.model.keys import take_key
from afa.operator import snapshot
from afa.operator.call import Core
from afa.state.sound import short, wanted
from punctuation.sealed import seal
from punctuation.time import as_count, as_time
from speculation.barrier import Derived
from speculation.numbers import Cover, Entry, Numbers
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
        As of `afa.operator.snapshot.save`.
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
    """Return the content of a blob, once magic, version and checksum have been found right.

    Raises
    ------
    SnapshotError
        It is no snapshot of an `Ordered`, or damaged.
    """
    body = snapshot.unseal(MAGIC, VERSION, blob)
    try:
        found = Body(*body)
    except TypeError as error:
        raise SnapshotError(f"expected the six fields of a snapshot but got {short(body)}") from error
    if not isinstance(found.number, str) or found.gaps not in ("break", "join") or found.repeated not in ("raise", "drop", None):
        raise SnapshotError(f"expected a field and policies but got {short([found.number, found.gaps, found.repeated])}")
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
    keyed = sequences.core.keyed
    try:
        sequences.changes, sequences.gap_count, sequences.missing, sequences.repeats = map(as_total, body.counters)
        for key, cover, events, waiting in body.keys:
            wanted("keys" if keyed else "no key", (key is not None) is keyed, key)
            key = take_key(key) if keyed else None
            wanted("different keys", key not in sequences.keys, key)
            _fill_key(sequences, sequences.made(key), cover, events, waiting)
            sequences.refresh(key)
        sequences.core.journal.commit()
    except (SnapshotError, MemoryError):
        raise
    except Exception as error:  # what is none of ours may be wrong in any way
        raise SnapshotError(f"expected the numbers of a snapshot's keys but got something else: {error}") from error


def _fill_key(sequences: Sequences, numbers: Numbers, cover: Any, events: Any, waiting: Any) -> None:
    derived, promised = sequences.derived, sequences.core.progress.events
    before: tuple[int, int] | None = None  # number and LE
    if cover is not None:
        known = Cover._make(as_time(item, "cover") for item in cover)
        wanted("a cover that is final", known.le < min(promised, known.re), cover)
        numbers.put_cover(known)
        before = known.number, known.le
    for entry in _entries(events, derived):
        number = entry.payload[derived.place]
        wanted("events that are not final", promised <= entry.le < entry.re, entry)
        wanted("numbers in order, and their times", before is None or (before[0] < number and before[1] <= entry.le), entry)
        numbers.add(number, entry)
        before = number, entry.le
    *columns, copies = waiting
    entries = list(_entries(columns, derived))
    wanted("copies of each retraction that waits", isinstance(copies, list) and len(copies) == len(entries), copies)
    for entry, count in zip(entries, copies):
        wanted("retractions that are not overdue", promised <= entry.le < entry.re, entry)
        wanted("different retractions", entry not in numbers.waiting, entry)
        numbers.waiting[entry] = as_count(count)
    deadline = numbers.deadline(promised)
    wanted("a key that holds something", not numbers.empty and (deadline is None or deadline > promised), [cover, events, waiting])


def _columns(entries: list[Entry]) -> list[Any]:
    """LEs, REs and fields as columns."""
    payloads = [entry.payload[:-1] for entry in entries]
    return [[entry.le for entry in entries], [entry.re for entry in entries], *map(list, zip(*payloads))]


def _entries(columns: list[Any], derived: Derived) -> Iterable[Entry]:
    wanted("columns of one length", len(set(map(len, columns))) <= 1 and all(isinstance(part, list) for part in columns), columns)
    for le, re, *fields in zip(*columns):
        yield Entry(as_time(le, "le"), as_time(re, "re"), derived.event(tuple(fields)))
