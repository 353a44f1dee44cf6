"""The rows of an input that are counted: all, as long as they are few enough; else those of some keys, chosen by their hash.

What came behind a promise (``--lateness``) is left out and counted, as ``afa run --late drop`` does.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa import BEGINNING, Punctuation
from afa.cli.request import CommandRequest
from afa.operator.contract import OperatorLike
from afa.state.plain import distinct
from punctuation.sources import BoundedDisorder


class KeptRows:
    """Rows in the operator's form.

    Attributes
    ----------
    tables : list of pyarrow.Table
    share : int
        One key of so many is kept.
    cut : bool
        Whether the rows behind the first ``most`` ones were left out, as there are no keys to choose among.
    rows, late : int
        How many rows came, and how many of them behind the promise.
    latest : int
        The largest timestamp.
    """

    def __init__(self, job: CommandRequest, most: int) -> None:
        self._keys, self._most = job.keys, most
        self._promises = None if job.lateness is None else BoundedDisorder(int(job.lateness), kinds=False)
        self._promised = BEGINNING
        self._size = 0
        self.tables: list[pa.Table] = []
        self.share, self.cut = 1, False
        self.rows = self.late = 0
        self.latest = BEGINNING

    def take(self, tables: Iterable[pa.Table]) -> KeptRows:
        """Take a whole input; less where there are no keys and it is too large."""
        for table in tables:
            if self.cut:
                break
            self._take(table)
        return self

    def _take(self, table: pa.Table) -> None:
        self.rows += len(table)
        if len(table):
            self.latest = max(self.latest, pc.max(table["le"]).as_py())
        parts = [table] if self._promises is None else self._promises.push_many(table)
        for part in parts:
            if isinstance(part, Punctuation):
                self._promised = max(self._promised, int(part.t))
            else:
                self._keep(self._in_time(part))

    def _in_time(self, table: pa.Table) -> pa.Table:
        if self._promised == BEGINNING:
            return table
        found = table.filter(pc.greater_equal(table["le"], self._promised))
        self.late += len(table) - len(found)
        return found

    def _keep(self, table: pa.Table) -> None:
        table = self._of_share(table)
        self.tables.append(table)
        self._size += len(table)
        if self._size > self._most and not self._keys:
            self.tables[-1] = table.slice(0, max(self._most - (self._size - len(table)), 0))
            self.cut = True
        while self._size > self._most and self._keys and self.share < 1 << 20:
            self.share *= 2
            self.tables = [self._of_share(each) for each in self.tables]
            self._size = sum(map(len, self.tables))

    def _of_share(self, table: pa.Table) -> pa.Table:
        if self.share == 1:
            return table
        return table.filter(pa.array(hashes(table, self._keys) % self.share == 0))


def hashes(table: pa.Table, keys: Iterable[str]) -> Any:
    """Return a number for the key of each row, the same in each run."""
    found = np.zeros(len(table), np.int64)
    for name in keys:
        places, values = distinct(table[name], nulls=True)
        numbers = np.array([zlib.crc32(repr(value).encode()) for value in values] or [0], np.int64)
        found = found * 31 + numbers[places]
    return found


def held_by(operator: OperatorLike, kept: KeptRows) -> None:
    """Let an operator take the rows that are kept, as one call without a promise."""
    for table in kept.tables:
        if len(table):
            operator.push_many(table)
