"""On workers: which rows lie in a span of their key. It goes to them as plain arrays; this module knows nothing of Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.replay.key_spans import Lookup, Spans
from punctuation.time import BEGINNING


class KeyCodes(NamedTuple):
    """Keys as numbers: column by column, each value known by its place; a key of several by what those before it gave.

    >>> columns = [pa.chunked_array([["a", "b", "a", None]]), pa.chunked_array([[1, 1, 2, 2]])]
    >>> keys = KeyCodes.of(columns)
    >>> keys.numbers(columns).tolist(), keys.numbers([pa.chunked_array([["b", "c"]]), pa.chunked_array([[2, 1]])]).tolist()
    ([0, 2, 1, -1], [-1, -1])
    """

    values: tuple[Any, ...]  # of each column an Arrow array of the values that some key has
    codes: tuple[Any, ...]  # of each column but the first, sorted: ``number so far * len(values) + place``, as some key has it

    @classmethod
    def of(cls, columns: Sequence[pa.ChunkedArray]) -> KeyCodes:
        """Return the keys of some rows; a row without one counts nothing."""
        values: list[Any] = []
        codes: list[Any] = []
        number = np.zeros(len(columns[0]), np.int64)
        for column in columns:
            values.append(pc.unique(column).drop_null())
            code = _coded(number, _places(column, values[-1]), len(values[-1]))
            if len(values) > 1:
                codes.append(np.unique(code[code >= 0]))
                code = _ranked(code, codes[-1])
            number = code
        return cls(tuple(values), tuple(codes))

    def numbers(self, columns: Sequence[pa.ChunkedArray]) -> Any:
        """Return the numbers of the keys of rows; -1: of one that is not known."""
        number = _places(columns[0], self.values[0])
        for column, values, codes in zip(columns[1:], self.values[1:], self.codes):
            number = _ranked(_coded(number, _places(column, values), len(values)), codes)
        return number

    def __len__(self) -> int:
        return len(self.codes[-1]) if self.codes else len(self.values[0])


def _places(column: pa.ChunkedArray, values: Any) -> Any:
    return pc.fill_null(pc.index_in(column, value_set=values.cast(column.type)), -1).to_numpy().astype(np.int64)


def _coded(number: Any, place: Any, many: int) -> Any:
    return np.where((number >= 0) & (place >= 0), number * many + place, -1)


def _ranked(code: Any, codes: Any) -> Any:
    if not len(codes):
        return np.full(len(code), -1, np.int64)
    found = np.minimum(np.searchsorted(codes, code), len(codes) - 1)
    return np.where(codes[found] == code, found, -1)


class SpanRows(NamedTuple):
    """The rows of spans; ``names``: the columns of the key, ``span``: the column that gets the number of a row's span."""

    keys: KeyCodes | None  # None: there is no span
    names: Sequence[str]
    spans: Spans
    span: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield of each batch the rows that lie in spans, with the number of the span."""
        if self.keys is None:
            return
        keys, lookup = self.keys, Lookup(self.spans)
        for batch in batches:
            le = pc.fill_null(batch["le"], BEGINNING).to_numpy(zero_copy_only=False)
            number = lookup.number(keys.numbers([pa.chunked_array([batch[name]]) for name in self.names]), le)
            rows = np.flatnonzero(number >= 0)
            if len(rows):
                kept = batch.take(pa.array(rows))
                yield pa.RecordBatch.from_arrays([*kept.columns, pa.array(number[rows])], names=[*kept.schema.names, self.span])
