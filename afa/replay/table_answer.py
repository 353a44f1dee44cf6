"""MATCH_RECOGNIZE over a whole Arrow table, answered with SQL's columns.

Columns of the input leave as they came, whatever their type, by the numbers of their rows, which go through as a field of events. A
key whose values no field holds as they are is matched by the numbers of its values, in the order in which they come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.errors import AfaError
from afa.language.query import Query
from afa.language.shown_columns import ROW, UNITS, ShownColumn
from afa.replay.find import find
from afa.state.plain import units_of
from punctuation.door import one_array


def numbered(schema: pa.Schema) -> pa.Schema:
    """Return the columns of a table whose rows are numbered."""
    return schema.append(pa.field(ROW, pa.int64(), nullable=False))


def _in_decimals(column: Any, name: str, scale: int | None) -> Any:
    """Return floats, or arrays of them, as the DECIMALs that they stand for."""
    if scale is None:
        return column
    kind = pa.decimal128(38, scale)
    try:
        return column.cast(pa.list_(kind) if pa.types.is_list(column.type) else kind)
    except pa.ArrowInvalid as error:
        raise AfaError(f"expected {name} of at most 38 digits, a DECIMAL(38, {scale}), but got more: {error}") from None


def answered(query: Query, table: pa.Table, shown: Sequence[ShownColumn], numbers: Mapping[str, str], **options: Any) -> pa.Table:
    """Return the matches of a query in a table, with these columns. O(rows) beside `find`.

    ``numbers``: as of `RelationalEngine.matches`.
    """
    given, values = table.append_column(ROW, pa.array(np.arange(len(table)))), dict[str, Any]()
    for name, number in numbers.items():
        column = one_array(table[name])
        coded = (column.dictionary_decode() if pa.types.is_dictionary(column.type) else column).dictionary_encode()
        given, values[name] = given.append_column(number, coded.indices.cast(pa.int64())), coded.dictionary
    for name in query.event._fields:  # type: ignore[attr-defined]
        if name.startswith(UNITS):
            column = one_array(table[name.removeprefix(UNITS)])
            given = given.append_column(name, pa.array(units_of(column), mask=np.asarray(column.is_null())))
    found, scales = find(query, given, **options), dict(query.tree.decimals)
    columns = []
    for each in shown:
        if each.at in found.column_names:
            columns.append(table[each.field].take(found[each.at]))
        elif each.at is not None and each.field in numbers:
            columns.append(values[each.field].take(found[numbers[each.field]]))
        elif each.scale is not None:
            last = pa.scalar(Decimal(1).scaleb(-each.scale), pa.decimal128(max(each.scale, 1), each.scale))
            whole = found[each.field].cast(pa.int64()).cast(pa.decimal128(19, 0))
            columns.append(pc.multiply(whole, last).cast(pa.decimal128(38, each.scale)))
        else:
            columns.append(_in_decimals(found[each.field], each.name, scales.get(each.field)))
    return pa.table(columns, names=[each.name for each in shown])
