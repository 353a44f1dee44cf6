"""MATCH_RECOGNIZE over a whole Arrow table, answered with SQL's columns.

Columns of the input leave as they came, whatever their type, by the numbers of their rows, which go through as a field of events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from afa.language.query import Query
from afa.language.whole_statement import ROW, ShownColumn
from afa.replay.find import find


def numbered(schema: pa.Schema) -> pa.Schema:
    """Return the columns of a table whose rows are numbered."""
    return schema.append(pa.field(ROW, pa.int64(), nullable=False))


def answered(query: Query, table: pa.Table, shown: Sequence[ShownColumn], **options: Any) -> pa.Table:
    """Return the matches of a query in a table, with these columns. O(rows) beside `find`."""
    found = find(query, table.append_column(ROW, pa.array(np.arange(len(table)))), **options)
    rows = table.take(found[ROW]) if ROW in found.column_names else None
    columns = [(rows if each.of_input and rows is not None else found)[each.field] for each in shown]
    return pa.table(columns, names=[each.name for each in shown])
