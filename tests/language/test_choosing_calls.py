"""What SQL chooses, however rows come: one by one, as lists, tables and Arrow tables; promises, snapshots, refused calls between.

The matches in force are those of the backtracking matcher in the rows in force; nothing changes behind a promise.
"""

from __future__ import annotations

import copy
import random
from typing import Any

import pyarrow as pa
import pytest

from afa import Change, ChangeError, Keyed, Punctuation, insert, retract
from afa.language.query import Query
from afa.language.sql_reader import read
from tests.conftest import ENGINES
from tests.language.test_sql_matches import CASES, Case, Tick, expected, text

Row = tuple[Any, ...]


def as_table(changes: list[Change], arrow: bool) -> Any:
    columns = {name: [getattr(change.payload, name) for change in changes] for name in Tick._fields}
    columns |= {"le": [change.le for change in changes], "diff": [change.diff for change in changes]}
    return pa.table(columns) if arrow else columns


def rows_of(output: Any) -> list[tuple[Row, int]]:
    """The matches of an output, in any of its forms: key, payload, LE, RE; and its diff."""
    if isinstance(output, list):
        return [row for part in output for row in rows_of(part)]
    if isinstance(output, Change):
        return [((output.key, tuple(output.payload), output.le, output.re), output.diff)]
    if isinstance(output, Punctuation):
        return []
    columns = output.to_pydict() if isinstance(output, pa.Table) else output
    found = zip(*(list(column) for name, column in columns.items() if name != "kind"))
    return [((key, tuple(shown), int(le), int(re)), int(diff)) for key, *shown, le, re, diff in found]


class World:
    """Rows that come, go and are revised, in calls of every kind."""

    def __init__(self, case: Case, engine: str, seed: int) -> None:
        self.random = choose = random.Random(f"{case.pattern} {engine} {seed}")
        self.case, self.engine, self.window = case, engine, choose.choice([None, 5, 9])
        self.query = Query(read(text(case, self.window), Tick))
        self.op: Any = self.query.operator(engine=engine)
        self.rows: list[Tick] = []
        self.held: set[Row] = set()
        self.promised = 0
        self.told = -(10**9)

    def step(self, number: int) -> None:
        choose = self.random
        changes = [self.change() for _ in range(choose.randint(1, 5))]
        promise = choose.random() < 0.25
        if promise:
            self.promised = max(self.promised, number // 2 + choose.randint(0, 3))
        self.take(self.call(changes, [Punctuation(self.promised)] if promise else []))
        if choose.random() < 0.15:
            self.refused()
        if choose.random() < 0.15:
            self.again()
        assert self.held == expected(self.case, self.rows, self.window), number

    def change(self) -> Change:
        choose, rows = self.random, self.rows
        open_rows = [row for row in rows if row.at >= self.promised]
        if open_rows and choose.random() < 0.3:
            row = choose.choice(open_rows)
            rows.remove(row)
            return retract(row, row.at)
        at = self.promised + choose.randint(0, 12)
        taken = {(row.symbol, row.at, row.seq) for row in rows}
        symbol = choose.choice("AB")
        seq = next(n for n in range(99) if (symbol, at, n) not in taken)
        rows.append(Tick(symbol, at, seq, float(choose.randint(0, 5)), choose.choice("xyz")))
        return insert(rows[-1], at)

    def call(self, changes: list[Change], promise: list[Any]) -> Any:
        kind = self.random.choice(["one", "list", "table", "arrow", "mixed"])
        if kind == "one":
            return [self.op.push(item) for item in [*changes, *promise]]
        if kind == "list":
            return self.op.push_many([*changes, *promise], net=self.random.random() < 0.7)
        if kind == "mixed":
            half = len(changes) // 2
            table = [as_table(changes[:half], False)] if half else []
            return self.op.push_many([*table, *changes[half:], *promise])
        found = self.op.push_many(as_table(changes, kind == "arrow"))
        return [found, self.op.push_many(promise)] if promise else found

    def take(self, output: Any) -> None:
        for match, diff in rows_of(output):
            assert match[2] >= self.told, "what is final never changes"
            assert (match in self.held) is (diff < 0)
            self.held ^= {match}
        parts = [each for part in output if isinstance(part, list) for each in part] if isinstance(output, list) else []
        self.told = max([self.told, *(p.t for p in [*parts, *output] if isinstance(p, Punctuation))])

    def refused(self) -> None:
        before = self.op.snapshot()
        row = Tick("A", self.promised + 3, 50, 2.0, "x")
        with pytest.raises(ChangeError):
            self.op.push_many([insert(row, row.at), insert("none", 3)])
        assert self.op.snapshot() == before

    def again(self) -> None:
        if self.random.random() < 0.5:
            self.op = copy.deepcopy(self.op)
            return
        automaton, engine = self.query.automaton, self.random.choice(ENGINES)
        self.op = Keyed.restore(automaton, self.op.snapshot(), key="symbol", engine=engine)


@pytest.mark.parametrize("case", CASES, ids=[case.pattern for case in CASES])
def test_chosen_matches_do_not_depend_on_how_rows_come(case: Case, engine: str) -> None:
    for seed in range(2):
        world = World(case, engine, seed)
        for number in range(25):
            world.step(number)
        assert world.promised > 0
        assert world.op.stage.statistics.drawn > 4
