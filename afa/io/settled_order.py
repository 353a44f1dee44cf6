"""Changes of a call in an order that follows from them alone, whatever state they came from."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.io.column_texts import json_texts
from punctuation.door import one_array


def in_settled_order(changes: pa.Table) -> pa.Table:
    """Return changes with retractions first, then insertions, each by LE, those of one LE by their columns.

    An operator leaves open which key of one LE comes first, and one that was restored may tell them otherwise.
    """
    inserted = changes["diff"].to_numpy() > 0
    le = one_array(changes["le"]).cast(pa.int64()).to_numpy()
    if len(le) < 2:
        return changes
    order = np.lexsort((le, inserted))
    inserted, le = inserted[order], le[order]
    tied = (le[1:] == le[:-1]) & (inserted[1:] == inserted[:-1])
    group = np.concatenate([[0], np.cumsum(~tied)])
    some = np.flatnonzero(np.concatenate([tied, [False]]) | np.concatenate([[False], tied]))
    if len(some):
        part = changes.take(order[some])
        columns = {"group": group[some], **{str(i): _sortable(column) for i, column in enumerate(part.columns)}}
        inner = pc.sort_indices(pa.table(columns), sort_keys=[(name, "ascending") for name in columns])
        order[some] = order[some][inner.to_numpy()]
    return changes.take(order)


def _sortable(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in a type that Arrow sorts."""
    array = one_array(column)
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    return pa.array(json_texts(array), pa.string()) if pa.types.is_nested(array.type) else array
