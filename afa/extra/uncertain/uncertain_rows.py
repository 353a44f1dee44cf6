"""Events with uncertain times as columns: read of tables and of changes, and drawn for every world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.extra.uncertain.clock import Clock
from afa.extra.uncertain.clock import InTicks as ClockTicks
from afa.extra.uncertain.distributions import Distribution, data_of, shape_in
from afa.extra.uncertain.draws import drawn, words_of, worlds_of
from afa.extra.uncertain.interval import interval_of
from afa.io.event_batch import columns_in
from afa.io.listed_columns import missing
from afa.io.table_times import with_ticks
from afa.model.copies import as_diff
from afa.schema import ODD, Field, Schema
from afa.state.plain import Unfit, distinct
from afa.state.states import Column
from punctuation.door import Table
from punctuation.time import FOREVER
from punctuation.timestamps import WITHOUT_TICK, Timed, times_of


class UncertainEvents(NamedTuple):
    fields: dict[str, Column]  # of the event's schema but the one that is filled with the LE
    keys: Sequence[tuple[Any, list[Any]]]  # for each column of the key the places of values, and the values
    recorded: Any  # int64: the first instant that was recorded
    until: Any  # the last one
    lower: Any  # the first instant that is possible, as a clock may be off
    upper: Any  # the last one
    diff: Any
    shape: Distribution

    def at(self, places: Any) -> UncertainEvents:
        fields = {name: each.moved(places) for name, each in self.fields.items()}
        keys = [(numbers[places], values) for numbers, values in self.keys]
        recorded, until, lower, upper, diff = (each[places] for each in self[2:7])
        return UncertainEvents(fields, keys, recorded, until, lower, upper, diff, self.shape)


def opened(table: Table, names: Sequence[str], tick: str | None) -> Table:
    """Returns a table whose columns of times are ticks; the first of them says in which type times leave.

    ChangeError: they hold times, and there is no tick; or a time is no whole number of ticks.
    """
    names = [name for name in names if table.names.count(name) == 1]
    if tick is None:
        for name in names:
            times = times_of(table.column(name))
            if times is not None:
                raise ChangeError(f"expected ints (ticks) in column {name!r} but got {times.said}{WITHOUT_TICK}")
        return table
    found = with_ticks(table, tick, names, False)
    if isinstance(found, Timed) and found.times is None:
        found.times = times_of(table.column(names[0]))
    return found


class EventReader:
    """Reads events, and draws their times.

    ``lower`` and ``upper`` name the columns with the ends of intervals; without them times are certain, or a clock has filled the
    column ``time``. ``identity``: what tells events apart; None: all that they hold, with the interval.
    """

    def __init__(
        self,
        event: Schema,
        keys: Sequence[str],
        lower: str | None,
        upper: str | None,
        time: str,
        clock: Clock | None,
        identity: Sequence[str] | None,
        shape: Distribution,
        tick: str | None,
        seed: int,
        worlds: int,
    ) -> None:
        self.event, self.keys, self.lower, self.upper, self.time = event, keys, lower, upper, time
        self.identity, self.shape, self.tick = identity, shape, tick
        self.by = () if clock is None else clock.by
        self.clock: ClockTicks | None = None if clock is None else clock.ticks(tick)
        self.fields = [field for field in event.fields if field.name != event.instant]
        self._of_name = {field.name: field for field in self.fields}
        self._own = worlds_of(seed, worlds, "time")
        self._of_clock = [worlds_of(seed, worlds, what) for what in ("skew", "own", "granularity")]

    # -- tables ----------------------------------------------------------------------------------------------------------------

    def times(self) -> list[str]:
        """Returns the names of the columns that hold times."""
        return [name for name in (self.lower, self.upper) if name is not None] or [self.time]

    def opened(self, table: Table) -> Table:
        return opened(table, self.times(), self.tick)

    def rows(self, table: Table) -> UncertainEvents:
        """Read a table, whose times are ticks. ChangeError: a column is missing, or holds other values."""
        times = self.times()
        needed = [*(field.name for field in self.fields), *self.keys, *times]
        lacking = [name for name in dict.fromkeys(needed) if table.names.count(name) != 1]
        if lacking:
            raise missing(lacking[0], table.names)
        try:
            batch = columns_in(table, self.fields, self.keys, times)
            keys = [distinct(column, nulls=True) for column in batch.keys]
        except Unfit:
            said = ", ".join(f"{field.name}: {getattr(field.type, '__name__', 'any')}" for field in self.fields)
            raise ChangeError(f"expected columns of {said} and of ints for {', '.join(times)} but got something else") from None
        recorded, until = batch.times[times[0]], batch.times[times[-1]]
        lower, upper = recorded, until
        wrong = np.flatnonzero(lower > upper)
        if len(wrong):
            i = int(wrong[0])
            raise AfaError(f"expected lower <= upper but got lower={lower[i]}, upper={upper[i]} in row {i}")
        if len(upper) and int(upper.max()) == FOREVER:
            raise AfaError(f"expected times below the end of time but got upper={FOREVER}")
        if self.clock is not None:
            lower, upper = self.clock.bounds(recorded, until)
        if self.shape.name == "weights":
            for n in np.unique(until - recorded + 1).tolist():
                self.shape.check(n)
        diff = batch.times.get("diff", np.ones(batch.n, np.int64))
        return UncertainEvents(batch.fields, keys, recorded, until, lower, upper, diff, self.shape)

    # -- changes ---------------------------------------------------------------------------------------------------------------

    def change(self, change: Change, key: Any) -> tuple[Any, int, int, int, int, int, Distribution, Any]:
        """Returns a change of an event: payload, times as of `UncertainEvents`, diff, distribution, key.

        ChangeError: it has no time, or does not fit the schema. AfaError: its time is none.
        """
        payload = self.event.take(self.event.dated(change.payload, 0))
        if change.re is not None:
            raise ChangeError(f"expected an event without RE, which its time and the window give, but got re={change.re!r}")
        diff = as_diff(change.diff, payload)
        ends = [getattr(payload, name, None) for name in (self.lower, self.upper) if name is not None]
        if change.le is not None:
            at = interval_of(change.le, self.tick)
        elif len(ends) == 2 and None not in ends:
            at = interval_of(ends[0], self.tick)._replace(upper=interval_of(ends[1], self.tick).upper, shape=self.shape)
            at = at.ticks(None) if at.lower < at.upper else at._replace(shape=self.shape)
        else:
            raise ChangeError(
                f"expected an event with a time, insert(event, between(lower, upper)), but got le=None for {payload!r}"
            )
        if self.clock is None:
            return payload, at.lower, at.upper, at.lower, at.upper, diff, at.shape, key
        lower, upper = (int(each[0]) for each in self.clock.bounds(np.array([at.lower]), np.array([at.upper])))
        return payload, at.lower, at.upper, lower, upper, diff, at.shape, key

    def rows_of(
        self, changes: Sequence[tuple[Any, int, int, int, int, int, Distribution, Any]], single: bool
    ) -> list[UncertainEvents]:
        """Returns changes, as `change` gives them, as rows: those of one distribution together."""
        found: list[UncertainEvents] = []
        low = 0
        for high in range(1, len(changes) + 1):
            if high < len(changes) and changes[high][6] == changes[low][6]:
                continue
            payloads, *times, shapes, keys = zip(*changes[low:high])
            columns = dict(zip((field.name for field in self.event.fields), zip(*payloads)))
            fields = {field.name: Column.of(list(columns[field.name]), field) for field in self.fields}
            of_keys = []
            for part in range(len(self.keys)):
                values = list(keys) if single else [key[part] for key in keys]
                numbers: dict[Any, int] = {}
                places = np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)
                of_keys.append((places, list(numbers)))
            recorded, until, lower, upper, diff = (np.array(each, np.int64) for each in times)
            found.append(UncertainEvents(fields, of_keys, recorded, until, lower, upper, diff, shapes[0]))
            low = high
        return found

    def data(self, rows: UncertainEvents) -> list[Any]:
        columns = [rows.fields[field.name].items(field) for field in self.fields]
        keys = [[places.tolist(), values] for places, values in rows.keys]
        times = [each.tolist() for each in (rows.recorded, rows.until, rows.lower, rows.upper, rows.diff)]
        return [columns, keys, times, data_of(rows.shape)]

    def loaded(self, data: Any) -> UncertainEvents:
        """Returns the rows that `data` has made plain data of; checked. Other data raises any exception."""
        columns, keys, times, shape = data
        recorded, until, lower, upper, diff = (np.array(each, np.int64) for each in times)
        n, schema = len(lower), self.event
        payloads = zip(*columns) if columns else [()] * n
        names = [field.name for field in self.fields]
        taken = [schema.take(schema.dated(dict(zip(names, payload)), 0)) for payload in payloads]
        of_key = [(np.array(places, np.int64), values) for places, values in keys]
        lengths = {n, len(taken), len(recorded), len(until), len(upper), len(diff)}
        sound = len(lengths) == 1 and bool((lower <= upper).all()) and len(keys) == len(self.keys)
        if not sound or any(len(places) != n or not ((places >= 0) & (places < len(values))).all() for places, values in of_key):
            raise ValueError(f"no rows: {data!r}")
        fields = {field.name: Column.of([getattr(each, field.name) for each in taken], field) for field in self.fields}
        return UncertainEvents(fields, of_key, recorded, until, lower, upper, diff, shape_in(shape))

    # -- identities, draws -----------------------------------------------------------------------------------------------------

    def identities(self, rows: UncertainEvents) -> list[Any] | None:
        """Returns the identities of events; None: all that they hold."""
        if self.identity is None:
            return None
        parts = [_listed(self._column(rows, name), self._of_name.get(name)) for name in self.identity]
        return parts[0] if len(parts) == 1 else list(zip(*parts))

    def words(self, rows: UncertainEvents) -> Any:
        """Returns 64 bits for the identity of each event."""
        if self.identity is None:
            columns = [*rows.fields.values(), *map(_as_column, rows.keys)]
            return words_of([*columns, Column(rows.recorded), Column(rows.until)], len(rows.lower))
        return words_of([self._column(rows, name) for name in self.identity], len(rows.lower))

    def _column(self, rows: UncertainEvents, name: str) -> Column:
        return rows.fields[name] if name in rows.fields else _as_column(rows.keys[list(self.keys).index(name)])

    def contents(self, rows: UncertainEvents) -> list[int]:
        """Returns 64 bits for what each event holds."""
        found: list[int] = words_of([*rows.fields.values(), *map(_as_column, rows.keys)], len(rows.lower)).tolist()
        return found

    def draw(self, rows: UncertainEvents, words: Any) -> Any:
        """Returns the time of each event in each world, shape (worlds, n)."""
        found, instants = rows.recorded, rows.until - rows.recorded + 1
        if (instants > 1).any():
            found = found + rows.shape.drawn(drawn(self._own, words), instants)
        if self.clock is not None:
            clocks = words_of([self._column(rows, name) for name in self.by], len(rows.lower))
            return self.clock.times(found, self._of_clock, words, clocks)
        return np.broadcast_to(found, (len(self._own), len(rows.lower)))


def _as_column(key: tuple[Any, list[Any]]) -> Column:
    """Returns a key's column as one of texts that say its values, for what is hashed of it."""
    places, values = key
    return Column(places, None, [f"{type(value).__name__} {value!r}" for value in values])


def _listed(column: Column, field: Field | None) -> list[Any]:
    if field is not None:
        return column.items(field)
    assert column.texts is not None
    return [column.texts[i] for i in column.values.tolist()]


def spread(column: Column, worlds: int) -> Any:
    """Returns a column once for each world, as an engine takes it."""
    import pyarrow as pa

    values = np.tile(column.values, worlds)
    missing = None if column.present is None else np.tile(~column.present, worlds)
    if column.texts is not None:
        return pa.DictionaryArray.from_arrays(pa.array(values, mask=missing), pa.array(column.texts, pa.large_string()))
    return values if missing is None else pa.array(values, mask=missing)


def spread_key(key: tuple[Any, list[Any]], worlds: int) -> Any:
    import pyarrow as pa

    places, values = key
    try:
        return pa.DictionaryArray.from_arrays(pa.array(np.tile(places, worlds)), pa.array(values))
    except (pa.ArrowException, *ODD):  # values of several types
        return [values[i] for i in places.tolist()] * worlds
