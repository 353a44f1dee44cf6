"""Messages of rows become changes of rows: of each key the largest version is in force, whatever the order and repetition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.errors import ChangeError
from afa.feeds.json_reader import OnFault
from afa.feeds.messages import Messages
from punctuation.door import one_array
from speculation import id_layout as k
from speculation.ids import Ids

VERSION, LE = " version", " le"
"""Columns beside those of a row, under names that no row has."""


class LatestRows:
    """The rows of a table in force, by key: `speculation.Ids`, and what truncations take out. It holds the table.

    ``told`` is told of messages that have one key and version and say different things.
    """

    def __init__(self, key: Sequence[str], told: OnFault) -> None:
        self._ids, self._told = Ids(tuple(key), on_repeat="update", version=VERSION), told
        self._schema: pa.Schema = pa.schema([])
        self._truncated: Any = None  # the latest version of a truncation

    def changes(self, given: Messages) -> pa.Table:
        """Return what messages change: rows with ``diff``."""
        ids, schema, parts = self._ids, self._schema, [*self._ids.rows.parts]
        try:
            return self._changes(given)
        except BaseException:
            self._schema, ids.rows.parts[:] = schema, parts
            raise

    def _changes(self, given: Messages) -> pa.Table:
        table = self._in_one_schema(given)
        emptied, truncated = given.sign == 0, self._truncated
        if emptied.any():
            latest = pc.max(table[VERSION].filter(pa.array(emptied))).as_py()
            truncated = latest if truncated is None else max(latest, truncated)
            table = pa.concat_tables([table.filter(pa.array(~emptied)), self._removals(truncated)])
        if truncated is not None:  # what is older says that the row is gone since then
            old = one_array(pc.less(table[VERSION], pa.scalar(truncated)))
            for name, value in ((VERSION, truncated), ("diff", -1)):
                column = pc.if_else(old, pa.scalar(value, table[name].type), one_array(table[name]))
                table = table.set_column(table.column_names.index(name), name, column)
        numbers = given.numbers[~emptied].tolist()
        self._ids.tell_row = lambda i, change, said, text: self._told(numbers[i], said)  # type: ignore[method-assign]
        found = self._ids.push_many(table) if len(table) else table
        self._truncated = truncated
        found = found.drop_columns([VERSION, "le"])
        return found.rename_columns(["le" if name == LE else name for name in found.column_names])

    def _in_one_schema(self, given: Messages) -> pa.Table:
        """Return messages as a table whose columns are those of all messages so far; so are then the rows that are held."""
        rows = given.rows.rename_columns([LE if name == "le" else name for name in given.rows.column_names])
        rows = rows.append_column(VERSION, given.version).append_column("le", pa.array(np.zeros(len(rows), np.int64)))
        try:
            schema = pa.unify_schemas([self._schema, rows.schema], promote_options="permissive")
        except (pa.ArrowException, TypeError) as error:
            raise ChangeError(f"expected columns of the types of the rows before but got others: {error}") from error
        if schema != self._schema:
            self._schema, held = schema, self._ids.rows.parts
            held[:] = [self._as_all(part).combine_chunks() for part in held]
        return self._as_all(rows).append_column("diff", pa.array(given.sign.astype(np.int64)))

    def _as_all(self, rows: pa.Table) -> pa.Table:
        return pa.concat_tables([self._schema.empty_table(), rows], promote_options="permissive").combine_chunks()

    def _removals(self, truncated: Any) -> pa.Table:
        """Return a message for each row in force; the truncation makes a removal of those that are older."""
        entries, rows = self._ids.entries, self._ids.rows
        states = entries.t[entries.known(), k.IdSlot.held]
        places = states[states & k.STATE == k.IN_FORCE] >> 2
        held = rows.take(places) if len(places) else self._schema.empty_table()
        older = held.filter(pc.less(held[VERSION], pa.scalar(truncated)))
        return older.append_column("diff", pa.array(np.full(len(older), -1, np.int64)))
