"""Tables of readings, judged as columns; and what is told of them, as columns for the operator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.conditions.condition import Condition
from afa.extra.situations import reading_layout as k
from afa.extra.situations.held_readings import TableReadings
from afa.extra.situations.judged import InForce
from afa.extra.situations.told_forms import flag_names
from afa.io.event_batch import EventBatch, batch_of
from afa.model.keys import Keys
from afa.rewrite.vectors import ColumnCondition
from afa.state.plain import Unfit, stable_order
from afa.state.states import Column
from punctuation.door import Table
from punctuation.time import FOREVER


class NewReadings(NamedTuple):
    """Readings of a table, each an insertion: as the kernel has them, and what makes their payloads."""

    c: Any
    table: TableReadings

    @property
    def le(self) -> Any:
        """Their times."""
        return self.c[k.ReadingColumns.le]


class ReadingTables:
    """The way of tables through a `Deriving`."""

    def __init__(self, stage: Any) -> None:
        self._stage = stage
        self._columns: dict[Condition, ColumnCondition] = {}
        self.fit = stage.event_schema.scalar and stage.order is None
        """Whether readings can be taken as columns."""
        named = zip(stage.judged.names, stage.telling.kinds)
        self._flags = [
            (flag, number, mark) for number, (name, kind) in enumerate(named) for flag, mark in flag_names([name], [kind])
        ]

    # -- what comes ------------------------------------------------------------------------------------------------------------

    def coming(self, table: Table, keys: Keys | None) -> NewReadings | None:
        """Return a table's readings; None: they must come one by one, which tells what is wrong with them."""
        own = {field.name for field in self._stage.event_schema.fields}
        if not self.fit or "re" in table.names or ("kind" in table.names and "kind" not in own):
            return None
        try:
            return self._coming(batch_of(table, self._stage.event_schema, keys), keys)
        except Unfit:
            return None

    def _coming(self, batch: EventBatch, keys: Keys | None) -> NewReadings:
        schema, held = self._stage.event_schema, self._stage.held
        n, le, diff = batch.n, batch.times["le"], batch.times.get("diff")
        bools = {field.name for field in schema.fields if field.type is bool}
        fields = {name: _copied(column, name in bools) for name, column in batch.fields.items()}
        if n and (int(le.max()) == FOREVER or (diff is not None and (diff != 1).any())):
            raise Unfit
        lines = self._stage.judged.lines
        bits = as_bits((self._satisfies(line, le, fields) for line in lines), len(lines), n)
        key = held.keys.number(None) if keys is None else batch.key_numbers(keys.single, held.keys.numbers_of)
        order = _order(None if keys is None else key, le)
        c = np.empty((k.ReadingColumns.values + 2 * len(held.folds), n), np.int64)
        for to, values in zip(c, (key, le, bits)):
            _put_in_order(to, values, order)
        for i, fold in enumerate(held.folds):
            at = c[k.ReadingColumns.values + 2 * i :]
            for to, values in zip(at, fold.words(None if fold.field is None else fields[fold.field], n)):
                _put_in_order(to, values, order)
            at[0] *= at[1]
        return NewReadings(c, TableReadings([fields[field.name] for field in schema.fields], schema, order))

    def _satisfies(self, line: Sequence[InForce], le: Any, fields: dict[str, Column]) -> Any:
        """Return which rows satisfy the condition that is in force at their LE."""
        found = self._holds(line[0].condition, fields, len(le))
        for since, condition in line[1:]:
            found = np.where(le >= since, self._holds(condition, fields, len(le)), found)
        return found

    def _holds(self, condition: Condition, fields: dict[str, Column], n: int) -> Any:
        if condition not in self._columns:
            self._columns[condition] = ColumnCondition(condition)
        return self._columns[condition].truths(fields, n)

    # -- what leaves -----------------------------------------------------------------------------------------------------------

    def columns(self, lines: Any, keys: Keys | None) -> tuple[Any, Any, Any]:
        """Return lines of instants as columns: the fields of instants, their times, those of the key."""
        import pyarrow as pa

        telling, t = self._stage.telling, np.ascontiguousarray(lines[:, k.LineWords.told])
        fields: dict[str, Any] = {name: (lines[:, mark] >> number & 1).astype(np.bool_) for name, number, mark in self._flags}
        for i, (name, fold) in enumerate(zip(telling.aggregates, self._stage.held.folds)):
            values, there = fold.values(lines[:, k.LineWords.values + 2 * i], lines[:, k.LineWords.values + 2 * i + 1])
            fields[name] = pa.array(values, mask=~there)
        span = telling.span
        re = np.where(t > FOREVER - span, FOREVER, t + np.minimum(span, FOREVER - np.maximum(t, 0)))
        times = {"le": t, "re": re}
        if (lines[:, k.LineWords.sign] < 0).any():
            times["diff"] = np.ascontiguousarray(lines[:, k.LineWords.sign])
        if keys is None:
            return {**fields, telling.instant: t}, times, None
        names: list[Any] = self._stage.held.keys.all
        told = [names[number] for number in lines[:, k.LineWords.key].tolist()]
        return {**fields, telling.instant: t}, times, [told] if keys.single else list(map(list, zip(*told)))


def _order(key: Any, le: Any) -> Any:
    """Return the rows of one key together, in order of LE; None: they are so. Two of one place stay as they came."""
    if (le[1:] < le[:-1]).any():
        return np.argsort(le, kind="stable") if key is None else np.lexsort((le, key))
    if key is None or (key[1:] >= key[:-1]).all():
        return None
    return stable_order(key)


def _put_in_order(to: Any, values: Any, order: Any) -> None:
    """Put values where rows stand in an order; or one value for all."""
    to[:] = values if order is None or np.ndim(values) == 0 else values.take(order)


def as_bits(on: Iterable[Any], definitions: int, n: int) -> Any:
    """Return n bools of each definition, arrays or lists, as the bits of one number each.

    a        x - x
    b        x x -          bits 3 2 1
    """
    kind = np.uint8 if definitions <= 8 else np.uint16 if definitions <= 16 else np.int64
    found = np.zeros(n, kind)
    for number, each in enumerate(map(np.asarray, on)):
        one = each.view(np.uint8) if each.dtype == np.bool_ else each  # which numpy shifts faster than bools
        found |= np.left_shift(one, number, dtype=kind, casting="unsafe")
    return found


def _copied(column: Column, is_bool: bool) -> Column:
    """Return a copy of a column, which is held, and may be the user's own; bools as such."""
    return Column(column.values.astype(np.bool_) if is_bool else column.values.copy(), column.present, column.texts)
