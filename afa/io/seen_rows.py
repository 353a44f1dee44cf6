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
"""So many tables are made one, so that there are not very many; the oldest one goes where the room is full."""


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
        self._bytes = self._kept = self._came = self._small = 0  # small: how many tables stand alone, at the end
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
        self._came += len(part)
        self._count(part, 1)
        self._small += 1
        if self._small == PARTS:
            whole = _one(self._parts[-PARTS:])
            for small in self._parts[-PARTS:]:
                self._count(small, -1)
            self._count(whole, 1)
            self._parts[-PARTS:], self._small = [whole], 0
        while max(self._bytes, self._kept * self._of_row(len(part.column_names))) > self._most:
            self._count(self._parts.pop(0), -1)
            self._small = min(self._small, len(self._parts))

    def _count(self, part: pa.Table, sign: int) -> None:
        self._kept += sign * len(part)
        self._bytes += sign * part.nbytes


def _one(parts: Iterable[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts).unify_dictionaries().combine_chunks()
