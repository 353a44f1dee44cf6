"""Tables of events in one form: Arrow columns of the schema's types, so that rows can wait without an object each.

What is not plainly of its type is left to the rows' own path (`afa.operator.tables`), which says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from afa.change import Change
from afa.io.event_batch import TIMES
from afa.model.event_order import fields_in
from afa.operator.call import Core
from afa.schema import ODD, Field, Schema
from afa.state.plain import Unfit
from punctuation.door import Table, arrow_type, scalar_of
from punctuation.time import BEGINNING, FOREVER

_TIMES = (Field("le", int, False), Field("re", int, True), Field("diff", int, False))


class EventColumns:
    """The columns of an operator's events: the key's that are no fields, the fields, ``le``, ``re``, ``diff``.

    ``taken``: of those that a stage in front of it takes.
    """

    def __init__(self, core: Core, taken: Schema | None = None) -> None:
        schema, keys = taken or core.automaton.event_schema, core.keys
        self._core, self._keys, self._schema = core, keys, schema
        self._names = [field.name for field in schema.fields] if schema else []
        self._wanted = [*(Field(name, None, False) for name in (keys.columns if keys else ())), *(schema.fields if schema else ())]
        self.names = [*(field.name for field in self._wanted), *TIMES]
        names = {field.name for field in self._wanted}
        fit = schema is not None and schema.scalar and (keys is None or keys.function is None)
        self.fit = fit and not names & {*TIMES, "kind"} and len(names) == len(self._wanted)
        """Whether there is such a form, and a column ``kind`` can stand beside it."""
        self._instant = schema.instant if schema else None
        self._needed = {*names - {self._instant}, "le"}

    def of(self, batch: Table) -> Any:
        """Return a table in this form; None if it must go row by row."""
        import pyarrow as pa

        there = set(batch.names)
        if not self.fit or len(there) < len(batch.names) or "kind" in there or not self._needed <= there:
            return None
        try:
            return self._of(batch, there)
        except (pa.ArrowException, *ODD):
            return None

    def _of(self, batch: Table, there: set[str]) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        found: dict[str, Any] = {}
        for field in (*self._wanted, *_TIMES):
            if field.name in there:
                column = found[field.name] = plain_column(batch.column(field.name), field, batch.kind == "pandas")
                if column is None:
                    return None
        if self._instant is not None and found.setdefault(self._instant, found["le"]) != found["le"]:
            return None
        ordered = [found[name] for name in fields_in(self._core.sequence) if name in found]
        window, le = self._core.window, found["le"].to_numpy()
        if window is not None and len(le) and int(le.max()) > FOREVER - window:
            return None
        ends = pa.chunked_array([np.full(len(le), FOREVER) if window is None else le + window])
        re = found["re"] = pc.if_else(pc.is_null(found["re"]), ends, found["re"]) if "re" in found else ends
        if self._core.rows_alike and not re.equals(ends):
            return None
        diffs = found.setdefault("diff", pa.chunked_array([np.ones(len(le), np.int64)])).to_numpy()
        if (re.to_numpy() <= le).any() or (diffs == 0).any() or (not self._core.retractions and (diffs < 0).any()):
            return None
        if any(pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py() for column in ordered):
            return None  # no number
        return pa.table({name: found[name] for name in self.names})

    def step(self, rows: Any, promised: int = BEGINNING, plain: bool = False) -> Any:
        """Return rows of this form as `Core.take` takes them; ``promised`` is the promise that stands right behind them.

        ``plain``: they are insertions that live for the window, which is read faster.
        """
        core, keys = self._core, self._keys
        if self.may_break(rows):
            return [("event", change, change.key) for change in self.changes(rows)]
        fields, times = ({name: rows.column(name) for name in names} for names in (self._names, ("le",) if plain else TIMES))
        of_keys = [rows.column(name) for name in keys.names] if keys else None
        try:
            return core.encoded(fields, times, of_keys).promised(promised)
        except Unfit:
            return [("event", change, change.key) for change in self.changes(rows)]

    def may_break(self, rows: Any) -> bool:
        """Return whether a row of this form may break a promise with a condition: then they go row by row."""
        progress = self._core.progress
        return progress.some > progress.events and bool((rows.column("le").to_numpy() < progress.some).any())

    def changes(self, rows: Any) -> list[Change]:
        """Return rows of this form as changes in their form, with their keys."""
        schema, keys = self._schema, self._keys
        assert schema is not None
        listed = {name: rows.column(name).to_pylist() for name in rows.column_names}
        n = len(rows)
        records = list(zip(*(listed[name] for name in self._names))) if self._names else [()] * n
        payloads = [schema.take(schema.cls(*record)) for record in records]
        of_rows = keys.of_rows(listed, payloads) if keys else [None] * n
        return [Change(*change) for change in zip(payloads, listed["le"], listed["re"], listed.get("diff", [1] * n), of_rows)]

    def rows(self, changes: Sequence[Change], kind: Any) -> Any:
        """Return insertions in their form as rows in the columns of a schema of this form. May raise what Arrow raises."""
        import pyarrow as pa

        columns = {name: [change.payload[i] for change in changes] for i, name in enumerate(self._names)}
        columns |= {name: [getattr(change, name) for change in changes] for name in TIMES}
        keys = self._keys
        for i, name in enumerate(keys.names if keys is not None else ()):
            if name not in self._names and keys is not None:
                columns[name] = [change.key if keys.single else change.key[i] for change in changes]
        return pa.table({field.name: pa.chunked_array([pa.array(columns[field.name], field.type)]) for field in kind})


def copied(rows: Any) -> Any:
    """Return a copy of rows of this form, whose columns may be the caller's arrays."""
    import pyarrow as pa

    def copy(column: Any) -> Any:
        if column.null_count or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            return column.take(np.arange(len(column)))
        return pa.chunked_array([pa.array(column.to_numpy().copy())])

    return pa.table({name: copy(rows.column(name)) for name in rows.column_names})


def with_fields(rows: Any, values: Mapping[Field, tuple[list[Any], Any]]) -> Any:
    """Return rows with columns more: of each field its values, and their places by row."""
    import pyarrow as pa

    for field, (each, places) in values.items():
        rows = rows.append_column(field.name, pa.array(each, arrow_type(field.type)).take(pa.array(places)))
    return rows


def plain_column(column: Any, field: Field, pandas: bool) -> Any:
    """Return a column in its field's type, of a key in the widest; None if it is not plainly of it."""
    import pyarrow as pa

    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        if not hasattr(column, "dtype"):
            raise TypeError("a list says no type")
        numbers = isinstance(column.dtype, np.dtype)  # in which NaN is a NaN
        column = pa.array(np.asarray(column), from_pandas=False) if numbers else pa.array(column)
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    found = scalar_of(column.type)
    if (column.null_count and not field.optional) or (pandas and field.optional and found is float):
        return None  # in pandas NaN may say that something is missing
    fits = found is field.type if field.type else found in (int, bool, str)
    return column.cast(arrow_type(found)) if found and fits else None
