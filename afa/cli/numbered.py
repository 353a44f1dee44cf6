"""Keys of any type as numbers, and back: in the order in which they were seen first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class Numbered:
    """The number of each value of a column, or of each combination of the values of columns.

    NaN is a value, -0.0 is 0.0. O(values seen) a call.

    Examples
    --------
    >>> numbers = Numbered(2)
    >>> numbers.of([pa.chunked_array([["a", "b", "c", "b"]]), pa.chunked_array([[1.5, 1.5, 1.5, 1.5]])], 4).to_pylist()
    [0, 1, 2, 1]
    >>> [column.to_pylist() for column in numbers.values(pa.array([2, 0]))]
    [['c', 'a'], [1.5, 1.5]]
    """

    def __init__(self, columns: int) -> None:
        self._columns = [_Codes() for _ in range(columns)]
        self._pairs = [_Codes() for _ in range(columns - 1)]

    def of(self, columns: Sequence[pa.ChunkedArray], n: int) -> pa.Array:
        """The number of each of ``n`` rows; 0 where there are no columns."""
        codes, *rest = [known.of(column) for known, column in zip(self._columns, columns)] or [np.zeros(n, np.int64)]
        for known, more in zip(self._pairs, rest):
            codes = known.of(pa.chunked_array([codes * (1 << 31) + more]))
        return pa.array(codes)

    def values(self, numbers: Any) -> list[Any]:
        """The columns again."""
        if not self._columns:
            return []
        found = []
        codes = numbers.to_numpy()
        for i in range(len(self._columns) - 1, 0, -1):
            pairs = self._pairs[i - 1].seen.to_numpy()[codes]
            codes = pairs >> 31
            found.append(self._columns[i].seen.take(pa.array(pairs & ((1 << 31) - 1))))
        return [self._columns[0].seen.take(pa.array(codes)), *reversed(found)]


class _Codes:
    """The number of each value of one column."""

    def __init__(self) -> None:
        self.seen: Any = None

    def of(self, column: pa.ChunkedArray) -> Any:
        if pa.types.is_floating(column.type):
            column = pc.add(column, 0.0)
        fresh = column.unique()
        if self.seen is None:
            self.seen = fresh
        else:
            fresh = fresh.filter(pc.is_null(pc.index_in(fresh, self.seen)))
            self.seen = pa.concat_arrays([self.seen, fresh])
        return pc.index_in(column, self.seen).to_numpy().astype(np.int64)
