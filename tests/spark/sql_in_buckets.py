"""Random SQL x rows against a matcher with backtracking, as `tests.language.sql_worlds`, in buckets that are lost after each batch.

By choice a bucket comes back from its state or from its image; between batches keys move to other buckets, and lines of an arc log
put another condition of a variable in force from an instant on.
"""

from __future__ import annotations

import json
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa

from afa import AfaError, Change, Punctuation, sql
from afa.language.query import Query
from afa.spark import shared
from afa.spark.job import BucketAnswer
from punctuation.time import BEGINNING
from tests.language.backtracking import Row, Sql
from tests.language.number_worlds import numbered as with_answer
from tests.language.sql_worlds import numbered, of_kinds, query, run
from tests.spark.buckets import Buckets
from tests.spark.test_stages import job, rows_of
from tests.strategies import Choices, Seeded
from tests.worlds.kind import RefusedError, Seen, Worlds


class SqlBuckets(Buckets):
    """The buckets of a query in SQL, as an operator. ``seen``: what has happened, how often."""

    choose: Choices

    def __init__(self, library: Query, choose: Choices) -> None:
        super().__init__(job(library, choose.number(1, 3), lifetimes=library.window is None), choose)
        self.library, self.promised, self.last, self.seen = library, BEGINNING, "", Seen()

    def push_many(self, batch: list[Any]) -> list[Change]:
        """Rows, and behind them perhaps a promise, for which a timer calls."""
        changes = [each for each in batch if not isinstance(each, Punctuation)]
        rows = [{**each.payload._asdict(), "at": each.le, "le": each.le, "re": each.re, "diff": each.diff} for each in changes]
        table = pa.Table.from_pylist([{name: row[name] for name in self.job.schema.names} for row in rows], self.job.schema)
        out = self.changes(self.run(table, (), self.promised))
        for each in batch:
            if isinstance(each, Punctuation):
                self.promised = max(self.promised, each.t)
                out += self.changes(self.run(rows_of(self.job, []), (), self.promised))
        return out

    def changes(self, answers: list[BucketAnswer]) -> list[Change]:
        """What buckets have found, as changes."""
        cls, found = self.library.shown.cls, []
        for answer in answers:
            assert (answer.faults, answer.late) == ([], [])
            for row in (row for table in answer.changes for row in table.to_pylist()):
                payload = cls(*(row[name] for name in cls._fields))  # type: ignore[attr-defined]
                found.append(Change(payload, row["le"], row["re"], row["diff"], row["p"]))
        return sorted(found, key=lambda change: change.diff)

    def step(self, operator: SqlBuckets, query: Sql, batch: list[Any], force: list[Row], promised: int) -> tuple[Any, Sql, Any]:
        """Do something, or nothing, in front of a batch; see `tests.language.sql_worlds.Beside`."""
        choose, out, self.last = self.choose, list[Change](), ""
        if choose.chance(10):
            out += self.changes(
                self.move(job(self.library, choose.number(1, 3), lifetimes=self.library.window is None), self.promised)
            )
            self.seen["moves"] += 1
            self.last += "move "
        plain = [name for name, (text, _) in query.define.items() if text.startswith("sort")]
        if plain and query.later is None and choose.chance(20):
            at, later = max(promised, choose.number(1, 9)), {**query.define, choose.one(tuple(plain)): of_kinds(choose)}
            changes = self.library.changes_to(sql(query._replace(define=later).text, event=Row))
            come = {(arc.src, arc.dst, arc.select): arc for arc, *_, diff, _ in changes.arcs if diff > 0}
            gone = [arc for arc, *_, diff, _ in changes.arcs if diff < 0]
            pairs = [(arc.name, come[arc.src, arc.dst, arc.select].to_json(self.library.automaton)) for arc in gone]
            lines = [json.dumps({"op": "swap", "name": name, "arc": arc, "at": at}) for name, arc in pairs]
            out += self.changes(self.run(rows_of(self.job, []), lines, self.promised))
            self.seen["swaps"] += bool(gone)
            self.last += f"swap {later} at {at} "
            query = query._replace(later=(at, later))
        return operator, query, out


@lru_cache(maxsize=4)
def made(seed: str, family: int) -> tuple[Sql, Query]:
    """The query of a family of worlds, and what the library makes of it."""
    choose = Seeded(f"sql in buckets/{seed}/query {family}")
    found = with_answer(choose) if choose.chance(40) else query(choose)
    view = ("v > 0 OR sort <> 'x'", lambda row: (row.v or 0) > 0 or row.sort != "x") if choose.chance(40) else None
    found = found._replace(keyed=True, view=view)
    return found, sql(found.text, event=Row)


def world(of: tuple[str, int], engine: None) -> Seen:
    """Run a world; what came. `RefusedError` where the library refuses the query."""
    seed, number = of
    choose = Seeded(f"sql in buckets/{seed}/{number}")
    try:
        query, library = made(seed, number // 4)
        buckets = SqlBuckets(library, choose)
    except AfaError as error:
        raise RefusedError(str(error)) from None
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(shared, "folder", return_value=Path(folder)):
        came = run(query, choose, buckets, buckets)  # type: ignore[arg-type]
    names = [layer.name for layer in buckets.job.asked.layers]
    stages = Seen(dict.fromkeys(names, buckets.calls)) + Seen({"look ahead": buckets.calls * buckets.job.asked.ahead})
    return Seen(came=came, calls=buckets.calls, images=buckets.taken) + buckets.seen + stages


WORLDS = Worlds("sql-in-buckets", numbered, world, engines=(None,))
