"""Changes as others read them: messages of Debezium, rows to be written over others of their id."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.errors import AfaError, did_you_mean
from afa.model.option_values import names_of
from punctuation.door import one_array

OPS = np.array(["", "c", "d", "u"])
"""By what there is: 1 for a row behind, 2 for one before."""


def to_debezium(changes: pa.Table, id: str | Sequence[str] | None = None) -> pa.Table:
    """Return changes as Debezium's messages: columns ``before``, ``after`` (the row, with ``le`` and ``re``) and ``op`` (c, u, d).

    Parameters
    ----------
    changes : pyarrow.Table
        Rows with ``diff``, of one call.
    id : str, or sequence of str, optional
        The columns that identify a row: an old one and a new one of an id are one update. None: all columns do. That no two rows of
        an id are there at a time is checked within a call.

    Examples
    --------
    >>> changes = pa.table({"card": ["a", "a", "b"], "total": [5, 7, 1], "diff": [-1, 1, 1]})
    >>> [(row["op"], row["before"], row["after"]) for row in to_debezium(changes, "card").to_pylist()]
    [('u', {'card': 'a', 'total': 5}, {'card': 'a', 'total': 7}), ('c', None, {'card': 'b', 'total': 1})]
    """
    rows, before, after = _by_id(changes, id)
    struct = pa.StructArray.from_arrays([one_array(column) for column in rows.columns], fields=list(rows.schema))
    ops = OPS[(after >= 0) + 2 * (before >= 0)]
    columns = [struct.take(pa.array(places, mask=places < 0)) for places in (before, after)]
    return pa.table({"before": columns[0], "after": columns[1], "op": pa.array(ops, pa.string())})


def upserts(changes: pa.Table, id: str | Sequence[str]) -> pa.Table:
    """Return one row for each id that changes: as it is now (``diff`` 1), or as it was, where it is gone (-1).

    >>> changes = pa.table({"card": ["a", "a", "b"], "total": [5, 7, 1], "diff": [-1, 1, -1]})
    >>> upserts(changes, "card").to_pylist()
    [{'card': 'a', 'total': 7, 'diff': 1}, {'card': 'b', 'total': 1, 'diff': -1}]
    """
    rows, before, after = _by_id(changes, id)
    there = after >= 0
    diff = pa.array(np.where(there, 1, -1), changes.schema.field("diff").type)
    return rows.take(pa.array(np.where(there, after, before))).add_column(changes.column_names.index("diff"), "diff", diff)


def _by_id(changes: pa.Table, id: str | Sequence[str] | None) -> tuple[pa.Table, np.ndarray, np.ndarray]:
    """Return the rows without ``diff``, and the places of each id's last row that goes, and that comes; -1: there is none.

    Ids are in the order in which they come.
    """
    if not isinstance(changes, pa.Table) or "diff" not in changes.column_names:
        raise AfaError(f"expected an Arrow table of changes, with diff, but got {type(changes).__name__}")
    changes = changes.filter(pc.not_equal(changes["diff"], 0))  # what only tells of a match
    rows = changes.drop_columns(["diff"])
    names = list(names_of(id, "id")) or rows.column_names
    for name in names:
        if name not in rows.column_names:
            raise AfaError(
                f"id= names no column {name!r} among {', '.join(rows.column_names)}{did_you_mean(name, rows.column_names)}"
            )
    diff = changes["diff"].to_numpy()
    codes = np.zeros(len(rows), np.int64)
    for name in names:
        column = one_array(rows[name])
        if pa.types.is_nested(column.type):
            raise AfaError(f"expected columns of scalars as id= but got {name!r}, of {column.type}")
        mine = one_array(pc.fill_null(column.dictionary_encode("encode").indices, -1)).to_numpy().astype(np.int64) + 1
        codes = np.unique(codes * (mine.max(initial=0) + 1) + mine, return_inverse=True)[1]
    _, first, at = np.unique(codes, return_index=True, return_inverse=True)
    there = np.bincount(at, diff, len(first)).astype(np.int64)  # rows that come, less those that go
    if (abs(there) > 1).any():
        worst = int(abs(there).argmax())
        said = ", ".join(f"{name}={rows[name][int(first[worst])].as_py()!r}" for name in names)
        what = "come" if there[worst] > 0 else "go"
        raise AfaError(
            f"expected one row of an id at a time but got {abs(there[worst])} that {what}, of {said}; name more columns as id="
        )
    number = np.argsort(np.argsort(first))[at]
    before, after = (_last(np.flatnonzero(mask), number, len(first)) for mask in (diff < 0, diff > 0))
    return rows, before, after


def _last(places: np.ndarray, at: np.ndarray, n: int) -> np.ndarray:
    """Return the last of some places for each of n ids; -1: there is none."""
    found = np.full(n, -1, np.int64)
    np.maximum.at(found, at[places], places)
    return found
