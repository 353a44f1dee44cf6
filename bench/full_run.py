"""A full run over a stored table as one writes it by hand: read some rows, push them, promise; and how answers are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from afa import FOREVER, Keyed, Operator, Punctuation

BATCH = 1 << 17
"""Row groups of fewer rows are read together, up to so many rows."""
MIXED = np.uint64(0x9E3779B97F4A7C15)


class Answer(NamedTuple):
    """How many matches there are, and a digest of them that does not depend on their order."""

    matches: int
    digest: int


class History(NamedTuple):
    """A stored table, and which of its columns a pattern wants."""

    path: str
    time: str
    key: str | None
    columns: Sequence[str]  # the event's fields, the key among them
    window: int


def full(automaton: Any, of: History, more: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the matches of a full run, table by table. ``more``: rows that come late, by ``le``, pushed where they belong."""
    file = pq.ParquetFile(of.path)
    op: Any = Operator(automaton, window=of.window) if of.key is None else Keyed(automaton, key=of.key, window=of.window)
    some = file.metadata.row_group(0).num_rows
    step = max(1, BATCH // some)
    found, done = [], 0
    for group in range(0, file.num_row_groups, step):
        groups = range(group, min(group + step, file.num_row_groups))
        table = file.read_row_groups(groups, columns=[of.time, *of.columns], use_threads=False)
        columns = {name: _wide(table[name].to_numpy()) for name in of.columns}
        columns["le"] = table[of.time].to_numpy()
        last = int(columns["le"][-1])
        if more is not None:
            upto = int(np.searchsorted(more["le"], last, "right")) if group + step < file.num_row_groups else len(more["le"])
            columns = {name: np.concatenate([column, more[name][done:upto]]) for name, column in columns.items()}
            done = upto
        found.append(op.push_many(columns))
        op.push(Punctuation(last))
    op.push(Punctuation(FOREVER - 1))
    return found


def _wide(values: Any) -> Any:
    return values.astype(np.int64) if values.dtype.kind == "i" else values


def answer(tables: Sequence[Any], names: Sequence[str]) -> Answer:
    """Return what matches are there: those of a full run, or of a replay."""
    matches, digest = 0, np.uint64(0)
    for table in tables:
        mixed = np.zeros(len(table["le"]), np.uint64)
        for name in names:
            mixed = (mixed ^ _bits(table[name])) * MIXED
            mixed ^= mixed >> np.uint64(29)
        signs = np.asarray(table["diff"], np.int64).astype(np.uint64) if "diff" in _names(table) else np.ones(1, np.uint64)
        with np.errstate(over="ignore"):
            digest += (mixed * signs).sum(dtype=np.uint64)
        matches += int(signs.astype(np.int64).sum()) if len(signs) == len(mixed) else len(mixed)
    return Answer(matches, int(digest))


def _names(table: Any) -> Sequence[str]:
    return table.column_names if isinstance(table, pa.Table) else list(table)


def _bits(column: Any) -> Any:
    values = column.to_numpy() if isinstance(column, (pa.ChunkedArray, pa.Array)) else np.asarray(column)
    values = values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
    return values.view(np.uint64)
