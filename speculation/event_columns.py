"""Tables of events in one form: Arrow columns of the schema's types, so that rows can wait without an object each.

What is not plainly of its type is left to the rows' own path (`afa.operator.tables`), which says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from afa.change import Change
from afa.model.copies import COPIES, total
from afa.operator.call import Core
from afa.operator.table_rows import TIMES
from afa.operator.tables import shape_of
from afa.schema import ODD, Field
from punctuation.door import Table, arrow_type, scalar_of
from punctuation.time import FOREVER


class Columns:
    """The columns of an operator's events: the key's that are no fields, the fields, ``le``, ``re``, ``diff``.

    Parameters
    ----------
    core : Core
    """

    def __init__(self, core: Core) -> None:
        schema, keys = core.automaton.event_schema, core.keys
        self._core, self._keys = core, keys
        self._fields: Sequence[Field] = schema.fields if schema else ()
        self._beside = list(keys.columns) if keys else []
        names = [*self._beside, *(field.name for field in self._fields)]
        fit = schema is not None and schema.scalar and (keys is None or keys.function is None)
        self.fit = fit and not set(names) & {*TIMES, "kind"} and len(set(names)) == len(names)
        """Whether there is such a form, and a column ``kind`` can stand beside it."""

    def of(self, batch: Table) -> Any:
        """Return a table in this form; None if it must go row by row."""
        import pyarrow as pa

        there = batch.names
        if not self.fit or len(set(there)) < len(there) or shape_of(self._core, batch).mixed:
            return None
        if any(name not in there for name in (*self._beside, *(field.name for field in self._fields), "le")):
            return None
        try:
            return self._of(batch, there)
        except (pa.ArrowException, *ODD):
            return None

    def _of(self, batch: Table, there: list[str]) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        found = {name: _key(_arrow(batch, name)) for name in self._beside}
        for field in self._fields:
            found[field.name] = _plain(_arrow(batch, field.name), field, batch.kind == "pandas")
        times = {name: _plain(_arrow(batch, name), Field(name, int, name == "re"), False) for name in TIMES if name in there}
        if any(column is None for column in (*found.values(), *times.values())):
            return None
        le = times["le"]
        numbers = le.to_numpy()
        window = self._core.window
        if window is not None and len(numbers) and int(numbers.max()) > FOREVER - window:
            return None
        ends = pa.chunked_array([np.full(len(le), FOREVER) if window is None else numbers + window])
        re = ends if "re" not in times else pc.if_else(pc.is_null(times["re"]), ends, times["re"])
        diff = times.get("diff", pa.chunked_array([np.ones(len(le), np.int64)]))
        diffs = diff.to_numpy()
        if (re.to_numpy() <= numbers).any() or (diffs == 0).any() or total(diffs) > COPIES or self._no_number(found):
            return None
        if not self._core.retractions and (diffs < 0).any():
            return None
        return pa.table({**found, "le": le, "re": re, "diff": diff})

    def _no_number(self, found: dict[str, Any]) -> bool:
        """Return whether a sequence is no number somewhere."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = found.get(self._core.sequence or "")
        return column is not None and pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())

    def changes(self, table: Any) -> list[Change]:
        """Return rows of this form as changes in their form, with their keys."""
        schema, keys = self._core.automaton.event_schema, self._keys
        assert schema is not None
        listed = {name: table.column(name).to_pylist() for name in table.column_names}
        n = len(table)
        records = list(zip(*(listed[field.name] for field in self._fields))) if self._fields else [()] * n
        payloads = [schema.take(schema.cls(*record)) for record in records]
        of_rows = keys.of_rows(listed, payloads) if keys else [None] * n
        return [Change(*change) for change in zip(payloads, listed["le"], listed["re"], listed["diff"], of_rows)]


def _arrow(batch: Table, name: str) -> Any:
    """Return a column as an Arrow one, as it is."""
    import pyarrow as pa

    column = batch.column(name)
    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        if not hasattr(column, "dtype"):
            raise TypeError("a list says no type")
        numbers = isinstance(column.dtype, np.dtype)  # in which NaN is a NaN
        column = pa.array(np.asarray(column), from_pandas=False) if numbers else pa.array(column)
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _plain(column: Any, field: Field, pandas: bool) -> Any:
    """Return a column in its field's type; None if it is not plainly of it."""
    found = scalar_of(column.type)
    if (column.null_count and not field.optional) or (pandas and field.optional and found is float):
        return None  # in pandas NaN may say that something is missing
    return column.cast(arrow_type(found)) if found and found is field.type else None


def _key(column: Any) -> Any:
    """Return a column of a key that is no field, at its full width; None if it has missing values, or a type of its own."""
    found = scalar_of(column.type)
    return None if column.null_count or found in (None, float) else column.cast(arrow_type(found))
