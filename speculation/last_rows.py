"""The events of a `LastBefore` as rows of words: changes or tables in, changes or columns out (`speculation.rows`)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from afa.change import Change
from afa.engine import Logged
from afa.io.event_batch import batch_of
from afa.model.copies import crowded
from afa.model.keys import Keys
from afa.rewrite.column_condition import ColumnCondition
from afa.state.plain import Unfit
from afa.state.sound import wanted
from afa.state.states import Column
from afa.state.value_numbers import ValueNumbers
from punctuation.door import Table
from punctuation.time import BEGINNING, FOREVER
from speculation.rows import row_layout as k
from speculation.rows.row_memory import RowMemory
from speculation.rows.row_words import RowWords, words_of

BITS = 1 << k.TRUTH_BITS
"""How many conditions a word has."""
PACE = 16
"""Keys are looked through for final entries once in so many keys' changes, so that a promise for each change stays cheap."""


class LastRows:
    """The events of a `LastBefore`, in rows."""

    def __init__(self, stage: Any) -> None:
        self._words, self._keys = RowWords(stage.event_schema), ValueNumbers()
        self._idle = 0  # rows that have come since keys were looked through
        self._before = 0  # how many retractions waited before the call
        self._stage = stage
        self._lasts = len(stage.conditions)
        self._state = self._words.width
        self._holds = self._state + k.LASTS + self._lasts
        self._looks = slice(self._state + k.LASTS, self._holds)
        self._memory = RowMemory(self._holds + (self._lasts + BITS - 1) // BITS, self._spec())
        self._coming: list[Any] = []  # rows, or changes
        self._columns: list[ColumnCondition] | None = None

    def _spec(self) -> Any:
        """Return how the kernels compare rows, see `RowSpec`."""
        stage, places = self._stage, self._words.places
        order: list[tuple[int, int]] = [(k.RowPool.le, k.UP)]
        if stage.order is not None:
            order.append((places[stage.order].value, k.TEXT if places[stage.order].kind is str else k.UP))
        place = len(order)
        for value, missing, _ in places.values():  # texts by their numbers: equal events only must be found
            order += [(column, k.UP) for column in (missing, value) if column is not None]
        order.append((k.RowPool.re, k.UP))
        spec = np.zeros(k.RowSpec.order + 2 * len(order), np.int64)
        of = k.RowSpec
        spec[[of.order_n, of.place_n]] = len(order), place
        spec[[of.window, of.lasts, of.state]] = stage.window or 0, self._lasts, self._state
        spec[k.RowSpec.order :] = [word for pair in order for word in pair]
        return spec

    # -- calls -----------------------------------------------------------------------------------------------------------------

    def begins(self) -> None:
        """Begin a call."""
        self._coming = []
        self._before = int(self._memory.m[k.RowControl.retractions])
        if self._keys.many or self._words.many:
            self._tidy()

    def failed(self) -> None:
        """Restore all rows."""
        self._memory.rollback()
        self._memory.m[k.RowControl.retractions], self._memory.m[k.RowControl.revised] = self._before, 0

    def worked(self) -> None:
        """Forget how."""
        self._memory.commit()

    def _tidy(self) -> None:
        """Give numbers of keys and texts that nothing holds any more again; no call is under way."""
        rows, _ = self._memory.held()
        held = self._memory.r[rows]
        if self._keys.many:
            there = np.zeros(len(self._keys), bool)
            there[held[:, k.RowPool.key]] = True
            self._keys.keep(there.tolist())
        self._words.keep(held)

    # -- what comes ------------------------------------------------------------------------------------------------------------

    def see(self, item: Any) -> None:
        """Take a change of an event in its form, or rows of `rows_of`, at or above the promise. `left` says what it leads to."""
        self._coming.append(item)

    def rows_of(self, table: Table, keys: Keys | None, window: int | None, events: Any = slice(None)) -> Any:
        """Return a table's rows in words. Raises `Unfit` where they must go one by one, which says what is wrong with them.

        ``events``: which of them count, the others mean nothing.
        """
        if not self._stage.event_schema.scalar:
            raise Unfit
        batch = batch_of(table, self._stage.event_schema, keys, events)
        le, diff, fields, n = batch.times["le"], batch.times.get("diff"), batch.fields, batch.n
        if (le[events] > FOREVER - (window or 1)).any():
            raise Unfit
        re = batch.times.get("re", np.full(n, FOREVER) if window is None else le + window)
        if (re <= le)[events].any() or (diff is not None and ((diff == 0) | (diff == BEGINNING))[events].any()):
            raise Unfit
        order = self._stage.order
        if order is not None and fields[order].values.dtype.kind == "f" and np.isnan(fields[order].values[events]).any():
            raise Unfit
        rows = np.zeros((n, self._memory.width), np.int64)
        rows[:, k.RowPool.le], rows[:, k.RowPool.re], rows[:, k.RowPool.diff] = le, re, 1 if diff is None else diff
        rows[:, k.RowPool.key] = self._keys.number(None) if keys is None else batch.key_numbers(keys.single, self._keys.numbers_of)
        self._put_bits(rows, self._truths(fields, n))
        for name, column in fields.items():
            words_of(self._words.places[name], column, self._words.strings, rows)
        return rows

    def _truths(self, fields: dict[str, Column], n: int) -> list[Any]:
        """Return for each condition of which events it is true: an array, or one truth for all."""
        if self._columns is None:
            self._columns = list(map(ColumnCondition, self._stage.conditions.values()))
        return [each.truths(fields, n) for each in self._columns]

    def _put_bits(self, rows: Any, truths: Iterable[Any]) -> None:
        """Write which conditions each event satisfies."""
        for number, truth in enumerate(truths):
            rows[:, self._holds + number // BITS] |= np.asarray(truth, np.int64) << number % BITS

    def _of_changes(self, changes: Sequence[Change]) -> Any:
        payloads, le, re, diff, keys = zip(*changes)
        ends = [BEGINNING if each is None else each for each in re]
        return self._filled(list(zip(*payloads)), le, ends, diff, keys, payloads)

    def _filled(self, fields: Sequence[Any], le: Any, re: Any, diff: Any, keys: Sequence[Hashable], payloads: Any = None) -> Any:
        """Return rows of changes that are given by columns."""
        rows = np.zeros((len(le), self._memory.width), np.int64)
        rows[:, k.RowPool.le], rows[:, k.RowPool.re], rows[:, k.RowPool.diff] = le, re, diff
        rows[:, k.RowPool.key] = self._keys.numbers_of(keys)
        self._words.fill(rows, fields)
        events = self._words.records(rows) if payloads is None else payloads
        self._put_bits(rows, ([each.holds(event) for event in events] for each in self._stage.conditions.values()))
        return rows

    # -- what leaves -----------------------------------------------------------------------------------------------------------

    def left(self) -> Any:
        """Return versions of events that go and come by what has come since the last time, as rows with their copies; or None."""
        coming, self._coming = self._coming, []
        parts = list[Any]()
        for kind, items in groupby(coming, type):
            found = list(items)
            parts += [self._of_changes(found)] if kind is Change else found
        if not parts:
            return None
        row = self._put(parts[0] if len(parts) == 1 else np.concatenate(parts))
        if row is not None:
            raise crowded(self._words.records(row)[0], int(row[0, k.RowPool.le]), int(row[0, k.RowPool.diff]))
        self._stage._revised += int(self._memory.m[k.RowControl.revised])
        self._memory.m[k.RowControl.revised] = 0
        return self._logged()

    def _put(self, rows: Any) -> Any:
        """Call the kernels to take rows, in order of arrival. Returns the row that does not fit, or None."""
        memory = self._memory
        numbers = memory.rows(len(rows))
        memory.r[numbers] = rows
        memory.keys(len(self._keys))
        self._idle += len(rows)
        fault = memory.take(numbers, self._words.strings.ranks) == k.FAULT
        return memory.r[[memory.m[k.RowControl.fault]]] if fault else None

    def _logged(self) -> Any:
        lines = self._memory.logged()
        if not len(lines):
            return None
        rows = self._memory.r[lines[:, 0]]
        rows[:, k.RowPool.diff], rows[:, self._looks] = lines[:, 1], lines[:, 2:]
        return rows

    def changes(self, left: Any) -> list[Change]:
        """Return versions as changes."""
        stage, names = self._stage, self._keys.all
        lasts = [[None if last == FOREVER else last for last in each] for each in left[:, self._looks].tolist()]
        times = left[:, [k.RowPool.le, k.RowPool.re, k.RowPool.key, k.RowPool.diff]].tolist()
        found = []
        for payload, each, (le, re, key, diff) in zip(self._words.records(left), lasts, times):
            extra = [le if number is None else each[number] for number in stage._extra]
            found.append(Change(stage.filled(*payload, *extra), le, None if re == BEGINNING else re, diff, names[key]))
        return found

    def fields(self, left: Any, keys: Keys | None) -> tuple[dict[str, Any], dict[str, Any], list[Any] | None]:
        """Return versions as columns: the filled fields, their times, and those of the key."""
        import pyarrow as pa

        stage = self._stage
        le, re, diff = (np.ascontiguousarray(left[:, column]) for column in (k.RowPool.le, k.RowPool.re, k.RowPool.diff))
        columns = dict(zip(self._words.places, self._words.columns(left)))
        for name, number in zip(stage.filled._fields[len(columns) :], stage._extra):
            last = None if number is None else np.ascontiguousarray(left[:, self._looks][:, number])
            columns[name] = le if last is None else pa.array(last, mask=last == FOREVER)
        times = {"le": le, "re": re, "diff": diff}
        if keys is None:
            return columns, times, None
        names = self._keys.all
        its: Any = None
        if not all(name in columns for name in keys.names):
            its = list(zip(*(keys.parts(names[number]) for number in left[:, k.RowPool.key].tolist())))
        return columns, times, [columns[name] if its is None else list(its[i]) for i, name in enumerate(keys.names)]

    # -- what is final -----------------------------------------------------------------------------------------------------------

    def settled(self, t: int, force: bool = False) -> list[Change]:
        """Forget what a promise makes final. Returns the retractions that have waited in vain.

        With many keys not at each promise, unless ``force``.
        """
        m, whole = self._memory.m, t == FOREVER
        if not force and not whole and not m[k.RowControl.retractions] and self._idle * PACE < len(self._keys):
            return []
        m[k.RowControl.promise], m[k.RowControl.done] = t, 0
        m[k.RowControl.all], m[k.RowControl.force] = whole, force or whole
        self._memory.call(k.SETTLE)
        self._idle = 0
        vain = self._logged()
        return [] if vain is None else self.events(vain)

    def events(self, rows: Any) -> list[Change]:
        """Return rows of `rows_of` as changes."""
        return self._listed(rows, k.RowPool.diff)

    def _listed(self, rows: Any, copies: int) -> list[Change]:
        """Return rows as changes; ``copies``: the column that says of how many copies."""
        names, times = self._keys.all, rows[:, [k.RowPool.le, k.RowPool.re, copies, k.RowPool.key]].tolist()
        return [
            Change(payload, le, None if re == BEGINNING else re, n, names[key])
            for payload, (le, re, n, key) in zip(self._words.records(rows), times)
        ]

    # -- what is held ------------------------------------------------------------------------------------------------------------

    @property
    def held(self) -> int:
        """How many different events may still be revised."""
        self._settle_all()
        _, floors = self._memory.held()
        return len(floors) - int(floors.sum())

    @property
    def keys(self) -> Collection[Hashable]:
        """The keys of which anything is held."""
        return [self._keys.all[number] for number in self._memory.keys_held().tolist()]

    def _settle_all(self) -> None:
        if self._stage._promised > BEGINNING:
            self.settled(self._stage._promised, True)

    def _entries(self, keys: Iterable[Hashable] | None) -> tuple[Any, Any]:
        """Return the rows of all keys, or of some, and which of them are floors."""
        self._settle_all()
        numbers, floors = self._memory.held(None if keys is None else self._keys.known_of(keys))
        return self._memory.r[numbers], floors == 1

    def waiting(self, keys: Iterable[Hashable] | None = None) -> list[Change]:
        rows, floors = self._entries(keys)
        rows = rows[~floors]
        return self._listed(rows, self._state + k.COPIES)

    def floors(self, keys: Iterable[Hashable] | None = None) -> list[tuple[Hashable, list[tuple[int, int]]]]:
        """Return of each key for each condition the last event below the promise."""
        rows, floors = self._entries(keys)
        names, found = self._keys.all, []
        for row in rows[floors].tolist():
            lasts = row[self._looks]
            found.append((names[row[k.RowPool.key]], [(number, le) for number, le in enumerate(lasts) if le != FOREVER]))
        return found

    def part(self, keys: Iterable[Hashable] | None = None) -> list[Any]:
        """Return the events that may still be revised, of all keys or some, as plain data (`speculation.stage_state`)."""
        rows, floors = self._entries(keys)
        rows, names = rows[~floors], self._keys.all
        le, re, numbers, copies = rows[:, [k.RowPool.le, k.RowPool.re, k.RowPool.key, self._state + k.COPIES]].T.tolist()
        columns = [column.tolist() for column in self._words.columns(rows)]
        ends = [None if end == BEGINNING else end for end in re]
        return [list(self._words.places), [names[number] for number in numbers], le, ends, copies, columns]

    def load_part(self, came: Logged, floors: Sequence[Any], promised: int, without: Collection[Hashable]) -> None:
        """Take what `part` gave of another stage, but of some keys, and the lasts of keys; none of them is held here."""
        came = came.at([i for i, key in enumerate(came.keys) if key not in without]) if without else came
        wanted(f"events at or above the promise {promised}", not (came.le < promised).any(), came.le)
        held = set(self.keys)
        wanted("keys that are not held", held.isdisjoint(came.keys) and held.isdisjoint(key for key, _ in floors), "one that is")
        revised = self._stage._revised
        if floors:  # events that settle into floors at once
            of = dict(floors)
            ends = [(key, le) for key, lasts in of.items() for le in {*lasts.values()}]
            rows = np.zeros((len(ends), self._memory.width), np.int64)
            rows[:, k.RowPool.key], rows[:, k.RowPool.diff] = self._keys.numbers_of([key for key, _ in ends]), 1
            rows[:, k.RowPool.le] = [le for _, le in ends]
            self._put_bits(rows, ([of[key].get(number) == le for key, le in ends] for number in range(self._lasts)))
            self._coming = [rows]
            self.left()
            self.settled(promised, True)
        if len(came.le):
            self._coming = [self._filled(came.fields, came.le, came.re, came.diff, came.keys)]
            self.left()
        self._stage._revised = revised
        self._memory.commit()
