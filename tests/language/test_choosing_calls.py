"""What SQL chooses, however rows come: one by one, as lists, tables and Arrow tables; promises, snapshots, refused calls between.

The matches in force are those of the backtracking matcher in the rows in force; nothing changes behind a promise.
"""

from __future__ import annotations

import copy
import random
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from afa import AfaError, Change, ChangeError, Punctuation, insert
from tests.conftest import ENGINES
from tests.language import sql_worlds
from tests.language.backtracking import Row
from tests.strategies import Seeded
from tests.worlds.kind import in_turn

KINDS = {"sort": pa.string(), "f": pa.float64()}
TYPES = pa.schema([(name, KINDS.get(name, pa.int64())) for name in ("p", "sort", "v", "f", "seq", "le", "diff")])


class AnyCall:
    """An operator of a query to which each list goes in another kind of call."""

    def __init__(self, query: Any, engine: str, seed: int) -> None:
        self.query, self.random = query, random.Random(seed)
        self.op: Any = query.operator(engine=engine)
        self.promised, self.told = 0, -(10**9)

    def push_many(self, items: list[Any]) -> list[Any]:
        changes = [item for item in items if isinstance(item, Change)]
        found = self.changes_of(self.call(changes, items[len(changes) :]))
        assert all(change.le >= self.told for change in found if isinstance(change, Change)), "what is final never changes"
        self.promised = max([self.promised, *(item.t for item in items if isinstance(item, Punctuation))])
        self.told = max([self.told, *(item.t for item in found if isinstance(item, Punctuation))])
        if self.random.random() < 0.15:
            self.refused()
        if self.random.random() < 0.15:
            again = self.query.restore(self.op.snapshot(), engine=self.random.choice(ENGINES))
            self.op = self.random.choice([copy.deepcopy(self.op), again])
        return found

    def call(self, changes: list[Change], promise: list[Any]) -> list[Any]:
        kind = self.random.choice(["one", "list", "table", "arrow", "mixed"])
        if kind == "one":
            return [each for item in [*changes, *promise] for each in self.op.push(item)]
        if kind == "list" or not changes:
            return list(self.op.push_many([*changes, *promise], net=self.random.random() < 0.7))
        if kind == "mixed":
            half = 1 + len(changes) // 2
            return list(self.op.push_many([self.table(changes[:half]).to_pydict(), *changes[half:], *promise]))
        table = self.table(changes)
        return [self.op.push_many(table if kind == "arrow" else table.to_pydict()), *self.op.push_many(promise)]

    def table(self, changes: list[Change]) -> pa.Table:
        rows = [{**change.payload._asdict(), "le": change.le, "diff": change.diff} for change in changes]
        return pa.Table.from_pylist(rows, TYPES)

    def changes_of(self, output: list[Any]) -> list[Any]:
        """Changes and promises of an output, whose tables are read row by row."""
        found: list[Any] = []
        for part in output:
            if isinstance(part, (Change, Punctuation)):
                found.append(part)
                continue
            table = part if isinstance(part, pa.Table) else pa.table({name: list(column) for name, column in part.items()})
            for row in table.to_pylist():
                key = row["p"] if self.query.key else None
                found.append(Change(SimpleNamespace(**row), row["le"], row["re"], row["diff"], key))
        return found

    def refused(self) -> None:
        before = self.op.snapshot()
        with pytest.raises(ChangeError):
            self.op.push_many([insert(Row(0, "x", 2, seq=50), self.promised + 3), insert("none", 3)])
        assert self.op.snapshot() == before


def test_chosen_matches_do_not_depend_on_how_rows_come(turns: str) -> None:
    came = 0
    for number in range(50):
        try:
            query, library = sql_worlds.made("calls", number)
            operator = AnyCall(library, in_turn(number, turns), number)
        except AfaError:
            continue
        came += sql_worlds.run(query, Seeded(f"calls {number}"), operator)
    assert came > 120
