"""Rows that say several things at several times, as one event for each of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.errors import AfaError, did_you_mean

TYPE = "type"
"""The column that says which fact of its row an event is."""


def facts(changes: pa.Table, said: Mapping[str, str]) -> pa.Table:
    """Return changes of rows as changes of events: one for each fact of a row whose time is there.

    Parameters
    ----------
    changes : pyarrow.Table
        Rows with ``diff``.
    said : mapping of str to str
        What an event is called in its column ``type``, and the column that says when it happened; null: it has not yet.

    Returns
    -------
    pyarrow.Table
        The columns of the rows, ``type``, ``le`` and ``diff``; in the order of the rows, then of ``said``.

    Examples
    --------
    >>> orders = pa.table({"id": [1, 2], "created_at": [10, 20], "paid_at": [15, None], "diff": [1, 1]})
    >>> facts(orders, {"placed": "created_at", "paid": "paid_at"}).select(["id", "type", "le"]).to_pylist()
    [{'id': 1, 'type': 'placed', 'le': 10}, {'id': 1, 'type': 'paid', 'le': 15}, {'id': 2, 'type': 'placed', 'le': 20}]
    """
    if not isinstance(changes, pa.Table) or not said:
        raise AfaError(f"expected an Arrow table of changes, and facts, but got {type(changes).__name__} and {said!r}")
    names = changes.column_names
    for name in said.values():
        if name not in names:
            raise AfaError(f"facts= names no column {name!r} among {', '.join(names)}{did_you_mean(name, names)}")
    if TYPE in names:
        raise AfaError(f"expected rows without a column {TYPE!r}, which says what an event is, but got one; rename it")
    if "le" in names:
        changes = changes.drop_columns(["le"])
    parts, places = [], []
    for i, (word, name) in enumerate(said.items()):
        there = pc.is_valid(changes[name])
        part = changes.filter(there)
        part = part.append_column(TYPE, pa.repeat(pa.scalar(word), len(part))).append_column("le", part[name])
        parts.append(part)
        places.append(np.flatnonzero(there.to_numpy()) * len(said) + i)
    order = np.argsort(np.concatenate(places), kind="stable")
    parts = _in_one_unit([part for part in parts if len(part)] or parts[:1])
    return pa.concat_tables(parts).take(pa.array(order))


def _in_one_unit(parts: list[pa.Table]) -> list[pa.Table]:
    """Return tables whose times are of one type: the finest of theirs."""
    kinds = {part.schema.field("le").type for part in parts}
    if len(kinds) == 1:
        return parts
    if len({getattr(kind, "tz", str(kind)) for kind in kinds}) > 1:
        raise AfaError(f"expected columns of one type as times of facts but got {', '.join(sorted(map(str, kinds)))}")
    finest = max(kinds, key=lambda kind: ("s", "ms", "us", "ns").index(kind.unit))
    return [part.set_column(part.column_names.index("le"), "le", part["le"].cast(finest)) for part in parts]
