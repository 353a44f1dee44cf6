"""The events that a gate holds: by key and LE, so that a span of a key is let go; by LE, so that a promise drops what is over.

    events     key -> LE -> (payload, RE) -> copies    below 0: retractions that wait for their event
    by_le      LE -> the keys that hold something there
    waits      LE -> (key, payload, RE)                of the retractions that wait

    tables     rows of tables, insertions only, as they came (`afa.replay.held_rows`)

An event and its retraction that meet here are gone. What comes on its own stands in ``events``; a retraction takes the rows of its
key and LE from the tables there first. Each write leaves its inverse in a journal; ``copies`` and ``tables`` the gate puts back.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sortedcontainers import SortedDict

from afa.change import Change
from afa.journal import Journal
from afa.model.copies import added
from afa.replay.held_rows import HeldRows, Tables, compact, with_rows
from afa.state.sound import wanted
from speculation.waiting import Changes, joined

Bucket = dict[tuple[Any, int], int]


class HeldEvents:
    """The events that are held, of all keys.

    Parameters
    ----------
    journal : Journal

    Attributes
    ----------
    copies : int
        How many copies are held, and retractions that wait.

    Examples
    --------
    >>> held = HeldEvents(Journal())
    >>> [held.add(Change(x, le, le + 9, diff, "k")) for x, le, diff in [("a", 1, 1), ("b", 2, 1), ("a", 1, -1), ("c", 7, -1)]]
    [0, 0, 1, 0]
    >>> [change.payload for change in held.take_span("k", 0, 5)], held.copies
    (['b'], 1)
    >>> [change.payload for change in held.take_overdue(8)], held.copies, held.least
    (['c'], 0, None)
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._events: dict[Hashable, SortedDict[int, Bucket]] = {}
        self._by_le: SortedDict[int, dict[Hashable, None]] = SortedDict()
        self._waits: SortedDict[int, dict[tuple[Hashable, Any, int], None]] = SortedDict()
        self.copies = 0
        self.tables: Tables = ()
        self.key_names: tuple[str, ...] = ()
        """The columns of the key."""
        self.changes_of: Changes | None = None
        """Makes changes of rows."""

    def add(self, change: Change) -> int:
        """Hold a change of an event in its form, or refuse one copy too many. Returns how many pairs have met. O(log n)."""
        key, payload, diff = change.key, change.payload, change.diff
        le: Any = change.le
        if diff < 0 and self.tables:
            self._pull(key, le)
        re: Any = change.re
        bucket, event = self._bucket(key, le), (payload, re)
        before = bucket.get(event, 0)
        after = added(before, diff, payload, le)
        if (before < 0) != (after < 0):
            self._wait(le, (key, payload, re), after < 0)
        if after:
            self._journal.put(bucket, event, after)
        else:
            self._journal.drop(bucket, event)
            if not bucket:
                self._forget(key, le)
        self.copies += abs(after) - abs(before)
        return (abs(before) + abs(diff) - abs(after)) // 2

    def takes_rows(self, rows: Any) -> bool:
        """Return whether a table is like those that are held."""
        return all(held.rows.schema.equals(rows.schema) for held in self.tables)

    def hold(self, held: HeldRows) -> None:
        """Hold rows of a table."""
        places = held.alive.nonzero()[0]
        if len(places):
            self.copies += held.copies(places)
            self.tables = with_rows(self.tables, held, self.key_names)

    def add_rows(self, rows: Any) -> None:
        """Hold the rows of a table of a snapshot."""
        held = HeldRows.of(rows, self.key_names)
        wanted("keys of what waits", held is not None, "none")
        assert held is not None
        self.hold(held)

    def _pull(self, key: Hashable, le: int) -> None:
        """Let the rows of a key at an LE wait as changes."""
        rows = self._rows_taken([(key, le, le + 1)])
        if rows is not None:
            for change in self._as_changes(rows):
                self.add(change)

    def _as_changes(self, rows: Any) -> Iterable[Change]:
        assert self.changes_of is not None
        return self.changes_of(rows)

    def take_rows(self, spans: Sequence[tuple[Hashable, int, int]]) -> Any:
        """Remove and return the rows of tables in any of these spans of keys, as a table; None: there are none."""
        return self._rows_taken(spans) if self.tables else None

    def _rows_taken(self, spans: Sequence[tuple[Hashable, int, int]]) -> Any:
        found, kept = [], []
        for held in self.tables:
            places = [there for span in spans if len(there := held.places(*span))]
            if places:
                at = places[0] if len(places) == 1 else np.unique(np.concatenate(places))
                found.append(held.at(at))
                self.copies -= held.copies(at)
                held = held.without(at)
            kept.append(held)
        if not found:
            return None
        self.tables = compact(tuple(kept), self.key_names)
        return joined(found)

    def take_span(self, key: Hashable, low: int, high: int) -> list[Change]:
        """Remove and return what a key holds with an LE in ``[low, high)``, by LE. O(found log n)."""
        of_key = self._events.get(key)
        les = [] if of_key is None else list(of_key.irange(low, high, inclusive=(True, False)))
        return [change for le in les for change in self._take(key, le)]

    def take_below(self, le: int) -> int:
        """Drop what has an LE up to this one. Returns how many copies there were. O(found log n)."""
        before = self.copies
        if any(held.least <= le for held in self.tables):
            gone = [held.up_to(le) for held in self.tables]
            self.copies -= sum(held.copies(places) for held, places in zip(self.tables, gone))
            left = (held.without(places) if len(places) else held for held, places in zip(self.tables, gone))
            self.tables = compact(tuple(left), self.key_names)
        for at in list(self._by_le.irange(maximum=le)):
            for key in self._by_le[at]:
                of_key = self._events[key]
                for (payload, re), copies in of_key[at].items():
                    self.copies -= abs(copies)
                    if copies < 0:
                        self._wait(at, (key, payload, re), False)
                self._journal.drop(of_key, at)
                if not of_key:
                    self._journal.drop(self._events, key)
            self._journal.drop(self._by_le, at)
        return before - self.copies

    def take_overdue(self, t: int) -> list[Change]:
        """Remove and return the retractions with an LE below a promise: their events can't come any more. O(found log n)."""
        found = []
        for le in list(self._waits.irange(maximum=t, inclusive=(True, False))):
            if self.tables:
                for key in {key for key, _, _ in self._waits[le]}:
                    self._pull(key, le)
            for key, payload, re in list(self._waits.get(le, ())):
                diff = self._events[key][le][payload, re]
                found.append(Change(payload, le, re, diff, key))
                self.add(Change(payload, le, re, -diff, key))
        return found

    def take_all(self) -> list[Change]:
        """Remove and return all that is held: of tables, then the others by LE."""
        tables, self.tables = self.tables, ()
        self.copies -= sum(held.copies(held.alive) for held in tables)
        rows = [change for held in tables for change in self._as_changes(held.left)]
        return rows + [change for le in list(self._by_le) for key in list(self._by_le[le]) for change in self._take(key, le)]

    @property
    def least(self) -> int | None:
        """The least LE at which something is held."""
        les = [held.least for held in self.tables]
        return min([*les, self._by_le.peekitem(0)[0]] if self._by_le else les, default=None)

    @property
    def rows(self) -> Any:
        """The rows of tables that are held, as one table; None: there are none."""
        return joined([held.left for held in self.tables]) if self.tables else None

    @property
    def all(self) -> list[Change]:
        """All that is held, as changes."""
        return [*(change for held in self.tables for change in self._as_changes(held.left)), *self.changes]

    @property
    def changes(self) -> list[Change]:
        """What is held on its own, by LE."""
        return [change for le, keys in self._by_le.items() for key in keys for change in self._at(key, le)]

    def _at(self, key: Hashable, le: int) -> Iterator[Change]:
        for (payload, re), copies in self._events[key][le].items():
            yield Change(payload, le, re, copies, key)

    def _take(self, key: Hashable, le: int) -> list[Change]:
        found = list(self._at(key, le))
        self._forget(key, le)
        for change in found:
            self.copies -= abs(change.diff)
            if change.diff < 0:
                self._wait(le, (key, change.payload, change.re), False)
        return found

    def _bucket(self, key: Hashable, le: int) -> Bucket:
        """Return the events of a key at an LE."""
        journal, of_key = self._journal, self._events.get(key)
        if of_key is None:
            of_key = SortedDict()
            journal.put(self._events, key, of_key)
        bucket: Bucket | None = of_key.get(le)
        if bucket is None:
            bucket = {}
            journal.put(of_key, le, bucket)
            keys = self._by_le.get(le)
            if keys is None:
                keys = {}
                journal.put(self._by_le, le, keys)
            journal.put(keys, key, None)
        return bucket

    def _forget(self, key: Hashable, le: int) -> None:
        """Forget that a key holds anything at an LE."""
        of_key, keys = self._events[key], self._by_le[le]
        self._journal.drop(of_key, le)
        if not of_key:
            self._journal.drop(self._events, key)
        self._journal.drop(keys, key)
        if not keys:
            self._journal.drop(self._by_le, le)

    def _wait(self, le: int, event: Any, waits: bool) -> None:
        """Take note whether a retraction waits."""
        there = self._waits.get(le)
        if there is None:
            there = {}
            self._journal.put(self._waits, le, there)
        if waits:
            self._journal.put(there, event, None)
        else:
            self._journal.drop(there, event)
            if not there:
                self._journal.drop(self._waits, le)
