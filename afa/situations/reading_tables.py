"""Tables of readings, taken as columns; and what is told of them, as columns for the operator."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from afa.change import Change
from afa.conditions.condition import NO_REGISTER, Condition
from afa.io.event_batch import EventBatch, batch_of
from afa.model.keys import Keys
from afa.rewrite.vectors import vector_of
from afa.schema import NAN, Schema
from afa.situations.column_folds import Folded, empty
from afa.situations.column_readings import ColumnState, Coming, items, marks
from afa.situations.judged import InForce
from afa.situations.reading_columns import BITS, MOST, Covers, KeyInstants, together
from afa.situations.reading_slices import in_slices
from afa.situations.readings import Readings
from afa.situations.satisfied import as_bits
from afa.situations.told_forms import flag_names
from afa.state.plain import Unfit
from afa.state.states import Column
from punctuation.door import Table
from punctuation.time import BEGINNING, FOREVER
from speculation.last_rows import one_by_one
from speculation.rows.row_keys import RowKeys


class Made:
    """Makes readings of values; ``kinds``: the types of their fields."""

    def __init__(self, schema: Schema) -> None:
        self.kinds = [field.type for field in schema.fields]
        self._take = schema.take
        self._cls: Any = schema.cls

    def __call__(self, values: Any) -> Any:
        return self._take(self._cls(*values))


class ReadingTables:
    """The way of tables through a `Deriving`.

    Parameters
    ----------
    stage : Deriving
    """

    def __init__(self, stage: Any) -> None:
        self._stage = stage
        self._made = Made(stage.event_schema)
        self._vectors: dict[Condition, Any] = {}
        kinds = stage.telling.form.kinds
        self.plan, self._fields = _plan(stage)
        self.fit = (
            stage.event_schema.scalar
            and stage.order is None
            and stage.telling.instant is not None
            and all(each.type in (int, float) or each.place is None for each in self.plan)
            and len(kinds) <= MOST
        )
        """Whether readings can be held as columns."""
        self.threads = 1
        """In how many threads tables are judged, each in a slice of time."""
        self._flags = [
            (name, number, mark)
            for number, each in enumerate(stage.judged.names)
            for name, mark in flag_names([each], [kinds[number]])
        ]
        self._names: tuple[int, Any, list[Any]] = 0, None, []

    def coming(self, table: Table, keys: Keys | None, state: ColumnState) -> Coming | None:
        """Return a table's readings; None: they must come one by one, which tells what is wrong with them."""
        own = {field.name for field in self._stage.event_schema.fields}
        if "re" in table.names or ("kind" in table.names and "kind" not in own):
            return None
        try:
            return self._coming(batch_of(table, self._stage.event_schema, keys), keys, state)
        except Unfit:
            return None

    def _coming(self, batch: EventBatch, keys: Keys | None, state: ColumnState) -> Coming:
        n, le, diff = batch.n, batch.times["le"].copy(), batch.times.get("diff")  # which are held, and may be the user's own
        bools = {field.name for field in self._stage.event_schema.fields if field.type is bool}
        fields = {name: _held(column, name in bools) for name, column in batch.fields.items()}
        if n and (int(le.max()) == FOREVER or (diff is not None and (diff != 1).any())):
            raise Unfit
        on, moved = in_slices(n, self.threads if self._at_once else 1, lambda low, high: self._bits(le, fields, low, high))
        key = _zeros(n) if keys is None else batch.key_numbers(keys.single, state.keys.numbers)
        if keys is None and not len(state.keys):
            state.keys.number(None)
        values = [part for name in self._fields for part in _values(fields[name])]
        one_key = keys is None and len(state.keys) == 1
        columns = {field.name: fields[field.name] for field in self._stage.event_schema.fields}
        return Coming(key, le, on, columns, tuple(values), moved if one_key else None)

    def _bits(self, le: Any, fields: dict[str, Column], low: int, high: int) -> Any:
        """Return which definitions the readings between two places satisfy, as bits."""
        lines = self._stage.judged.lines
        if high - low < len(le):
            le, fields = le[low:high], {name: _between(column, low, high) for name, column in fields.items()}
        return as_bits((self._satisfies(line, le, fields) for line in lines), len(lines), len(le))

    def _satisfies(self, line: Sequence[InForce], le: Any, fields: dict[str, Column]) -> Any:
        """Return which rows satisfy the condition that is in force at their LE."""
        found = self._holds(line[0].condition, fields, len(le))
        for since, condition in line[1:]:
            found = np.where(le >= since, self._holds(condition, fields, len(le)), found)
        return found

    def _holds(self, condition: Condition, fields: dict[str, Column], n: int) -> Any:
        vector = self._vector(condition)
        return one_by_one(condition, fields, n) if vector is None else vector(fields)

    def _vector(self, condition: Condition) -> Any:
        if condition not in self._vectors:
            self._vectors[condition] = vector_of(condition.expr, self._stage.event_schema, NO_REGISTER)
        return self._vectors[condition]

    @property
    def _at_once(self) -> bool:
        """Whether all conditions go by columns: others hold the interpreter's lock."""
        return all(self._vector(each.condition) is not None for line in self._stage.judged.lines for each in line)

    # -- what leaves -----------------------------------------------------------------------------------------------------------

    def columns(self, state: ColumnState, gone: KeyInstants, come: KeyInstants, keys: Keys | None) -> tuple[Any, Any, Any]:
        """Return what goes and what comes as columns: the fields of instants, their times, those of the key."""
        whole = come
        if len(gone.t):
            key, t, code, *values = together([gone, come] if len(come.t) else [gone])
            whole = KeyInstants(key, t, code, tuple(values))
        fields = {name: marks(whole, number, mark) for name, number, mark in self._flags}
        t, span = whole.t, self._stage.telling.span
        re = np.where(t > FOREVER - span, FOREVER, t + np.minimum(span, FOREVER - np.maximum(t, 0)))
        times = {"le": t, "re": re}
        if len(gone.t):
            diff = np.ones(len(t), np.int64)
            diff[: len(gone.t)] = -1
            times["diff"] = diff
        of_keys = (
            None if keys is None else [self._key_column(state, part, keys.single, whole.key) for part in range(len(keys.names))]
        )
        return {**fields, **self._aggregates(whole), self._stage.telling.instant: t}, times, of_keys

    def _aggregates(self, whole: KeyInstants) -> dict[str, Any]:
        import pyarrow as pa

        names = self._stage.telling.aggregates
        return {name: pa.array(whole.values[2 * i], mask=~whole.values[2 * i + 1]) for i, name in enumerate(names)}

    def _key_column(self, state: ColumnState, part: int, single: bool, numbers: Any) -> Any:
        import pyarrow as pa

        names: list[Any] = state.keys.names
        values = names if single else [name[part] for name in names]
        if self._names[0] == len(names) and self._names[1] is state.keys and len(self._names[2]) > part:
            dictionary = self._names[2][part]
        else:
            try:
                dictionary = pa.array(values)
            except (pa.ArrowException, TypeError, OverflowError):
                return [values[each] for each in numbers.tolist()]
            known = self._names[2] if part and self._names[:2] == (len(names), state.keys) else []
            self._names = len(names), state.keys, [*known, dictionary]
        return pa.DictionaryArray.from_arrays(pa.array(numbers), dictionary)

    def changes(self, state: ColumnState, gone: KeyInstants, come: KeyInstants) -> Iterator[Change]:
        """Yield what goes and what comes as changes."""
        stage, names = self._stage, state.keys.names
        for diff, each in ((-1, gone), (1, come)):
            flags = [marks(each, number, mark).tolist() for _, number, mark in self._flags]
            values = [_listed(*each.values[2 * i : 2 * i + 2]) if each.values else [] for i in range(len(self.plan))]
            told = zip(*values) if self.plan else [()] * len(each.t)
            for key, t, aggregates, *of in zip(each.key.tolist(), each.t.tolist(), told, *flags):
                payload = stage.telling.payload((t, tuple(of), aggregates))
                yield Change(payload, t, stage.telling.times((t, (), ()))[1], diff, names[key])

    # -- row by row --------------------------------------------------------------------------------------------------------------

    def readings(self, state: ColumnState) -> Iterator[tuple[Hashable, int, Any]]:
        """Yield what is held, reading by reading: key, LE, payload."""
        return state.readings(self._made)

    def late(self, coming: Coming, promised: int, state: ColumnState) -> tuple[Coming, list[Change]]:
        """Return a table's readings without those below a promise, and these as changes."""
        below = coming.le < promised
        if promised == BEGINNING or not below.any():
            return coming, []
        places = np.flatnonzero(below)
        columns = [items(column, places, kind) for column, kind in zip(coming.fields.values(), self._made.kinds)]
        payloads = map(self._made, zip(*columns) if columns else [()] * len(places))
        keys = [state.keys.names[each] for each in coming.key[below].tolist()]
        late = [Change(payload, le, None, 1, key) for payload, le, key in zip(payloads, coming.le[below].tolist(), keys)]
        fields = {
            name: Column(each.values[~below], None if each.present is None else each.present[~below], each.texts)
            for name, each in coming.fields.items()
        }
        values = tuple(each[~below] for each in coming.values)
        return Coming(coming.key[~below], coming.le[~below], coming.on[~below], fields, values), late

    def loaded(self, lines: Mapping[Hashable, Readings]) -> ColumnState | None:
        """Return the state that holds what `Readings` hold; None: they hold what columns do not. O(readings)."""
        stage = self._stage
        state = ColumnState.empty(stage.telling.form.kinds, RowKeys(), self.plan)
        numbers = state.keys.numbers(list(lines))
        rows: list[tuple[int, int, int, Any]] = []
        told: list[tuple[int, int, int]] = []
        tells: list[Any] = []
        covers: list[list[tuple[int, bool]]] = []
        for number, line in zip(numbers.tolist(), lines.values()):
            for (le, _), bucket in line.places.items():
                for (payload, re), copies in bucket.items():
                    if copies != 1 or re is not None or len(bucket) > 1:
                        return None
                    rows.append((number, le, stage.judged.bits(payload, le), payload))
            if line.cover.until != FOREVER:
                return None
            covers.append([(FOREVER, True) if each is None else (each.ts, each.lasted) for each in line.cover.going])
            there = (*(each for entry in line.entries.values() for each in entry.told), *line.tail)
            told += [(number, each[0], self._code(each[1])) for each in there]
            tells += [each[2] for each in there]
        m = len(stage.judged.lines)
        key, le, bits = (np.array([each[i] for each in rows], np.int64) for i in range(3))
        on = as_bits((bits >> number & 1 for number in range(m)), m, len(rows))
        columns = zip(*(row[3] for row in rows)) if rows else [[] for _ in stage.event_schema.fields]
        fields = {field.name: Column.of(list(column), field) for field, column in zip(stage.event_schema.fields, columns)}
        ts = np.array([[each[0] for each in cover] for cover in covers], np.int64).reshape(len(covers), m)
        lasted = np.array([[each[1] for each in cover] for cover in covers], np.bool_).reshape(len(covers), m)
        last = np.full(len(covers), BEGINNING)
        below = Covers(ts, lasted, self._held([line.cover for line in lines.values()]))
        values = tuple(part for name in self._fields for part in _values(fields[name]))
        taken = state._replace(covers=below, behind=below, last=last).taken(Coming(key, le, on, fields, values), stage.promised)
        if taken is None:
            return None
        at, t, code = (np.array([each[i] for each in told], np.int64) for i in range(3))
        of = [_arrays([each[i] for each in tells], self.plan[i]) for i in range(len(self.plan))]
        known = KeyInstants(at, t, code, tuple(part for pair in of for part in pair))
        order = np.lexsort((t, at))
        return taken[0]._replace(told=(known.at(order),))

    def _held(self, covers: Sequence[Any]) -> tuple[Any, ...]:
        """Return what aggregates have come to in each key that stands so."""
        found = empty(self.plan, len(covers))
        for i, each in enumerate(self.plan):
            place = sum(other.number == each.number for other in self.plan[:i])
            for row, cover in enumerate(covers):
                going = cover.going[each.number]
                held = None if going is None else going.held[place]
                if held is not None:
                    pair = held if each.fold == "avg" else (held, held if each.fold == "count" else 1)
                    found[2 * i][row], found[2 * i + 1][row] = pair
        return found

    def _code(self, flags: Sequence[bool]) -> int:
        """Return the marks of an instant as its code."""
        return sum(mark << (BITS * number) for (_, number, mark), flag in zip(self._flags, flags) if flag)


def _zeros(n: int) -> Any:
    """Return so many zeros, which nobody changes."""
    return np.broadcast_to(np.int64(0), (n,))


def _held(column: Column, is_bool: bool) -> Column:
    """Return a copy of a column; bools as such."""
    return Column(column.values.astype(np.bool_) if is_bool else column.values.copy(), column.present, column.texts)


def _between(column: Column, low: int, high: int) -> Column:
    """Return the rows of a column between two places."""
    return Column(column.values[low:high], None if column.present is None else column.present[low:high], column.texts)


def _plan(stage: Any) -> tuple[list[Folded], list[str]]:
    """Return the aggregates of a stage, and the fields of which they are, each once."""
    types = {field.name: field.type for field in stage.event_schema.fields}
    fields = list(dict.fromkeys(name for names in stage.fields for name in names if name is not None))
    plan = [
        Folded(number, fold, None if name is None else fields.index(name), int if name is None else types[name])
        for number, (kind, names) in enumerate(zip(stage.telling.form.kinds, stage.fields))
        for fold, name in zip(kind.folds, names)
    ]
    return plan, fields


def _values(column: Column) -> tuple[Any, Any]:
    """Return a column's values, and which of them there are."""
    values = column.values if column.present is None else np.where(column.present, column.values, 0)
    return values, np.ones(len(values), np.bool_) if column.present is None else np.asarray(column.present)


def _listed(values: Any, there: Any) -> list[Any]:
    return [NAN if item != item else item if of else None for item, of in zip(values.tolist(), there.tolist())]


def _arrays(items: Sequence[Any], of: Folded) -> tuple[Any, Any]:
    there = np.array([item is not None for item in items], np.bool_)
    kind = np.float64 if of.fold == "avg" or (of.type is float and of.fold != "count") else np.int64
    return np.array([0 if item is None else item for item in items], kind), there
