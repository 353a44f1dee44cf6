"""The last rows that an operator has taken: bounded; as a table without what was late, and without what is retracted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from afa.errors import BudgetError
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING

PARTS = 256
"""How many tables are held before they are made one."""
LEFT = 0.75
"""The share of the room that the last rows have left when it is full."""


class RowsSoFar(NamedTuple):
    """The rows as they are at one moment."""

    parts: tuple[pa.Table, ...]
    kept: int
    came: int
    most: int

    def net(self) -> pa.Table:
        """Return the events that are there, without ``diff``. Refuses more copies of them than there is room for rows."""
        table = _one(self.parts)
        if "diff" not in table.column_names:
            return table
        events, diff = table.drop_columns(["diff"]), table["diff"].to_numpy()
        if (diff == 1).all():
            return events
        sums = table.group_by(events.column_names, use_threads=False).aggregate([("diff", "sum")])
        copies = np.maximum(sums["diff_sum"].to_numpy(), 0)
        if copies.sum() > self.most:
            raise BudgetError(f"expected at most {self.most:,} events but got {int(copies.sum()):,}")
        return sums.select(events.column_names).take(np.repeat(np.arange(len(sums)), copies))


class SeenRows:
    """The last rows that an operator has taken, in at most ``most`` bytes: their own, and those that ``of_row`` says a row costs.

    ``of_row``: what a row of so many columns costs its reader.
    """

    def __init__(self, most: int, of_row: Callable[[int], int]) -> None:
        self._most, self._of_row = most, of_row
        self._parts: list[pa.Table] = []
        self._bytes = self._kept = self._came = 0
        self._promised = BEGINNING

    def take(self, items: Iterable[Any]) -> None:
        """Take what an operator has taken: tables, and promises, behind which it has dropped rows."""
        for item in items:
            if isinstance(item, Punctuation):
                self._promised = max(self._promised, item.t)
            elif len(item):
                le = item["le"].to_numpy()
                self._add(item if le.min() >= self._promised else item.filter(pa.array(le >= self._promised)))

    def now(self) -> RowsSoFar:
        columns = len(self._parts[0].column_names) if self._parts else 1
        return RowsSoFar(tuple(self._parts), self._kept, self._came, self._most // self._of_row(columns))

    def _add(self, part: pa.Table) -> None:
        self._parts.append(part)
        self._came, self._kept, self._bytes = self._came + len(part), self._kept + len(part), self._bytes + part.nbytes
        cost = max(self._bytes, self._kept * self._of_row(len(part.column_names)))
        if cost > self._most:
            left = int(self._kept * LEFT * self._most / cost)
            self._hold(_one(self._parts).take(np.arange(self._kept - left, self._kept)))  # a copy: the others are freed
        elif len(self._parts) > PARTS:
            self._hold(_one(self._parts))

    def _hold(self, table: pa.Table) -> None:
        self._parts, self._kept, self._bytes = [table], len(table), table.nbytes


def _one(parts: Iterable[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts).unify_dictionaries().combine_chunks()
