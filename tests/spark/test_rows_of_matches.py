"""ALL ROWS PER MATCH on Spark: buckets that are lost after each batch, and through Spark."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import afa
from afa import AfaError, SnapshotError
from afa.language.query import Query
from afa.spark import shared
from afa.spark.bucket import Bucket
from afa.spark.hashing import bucket_numbers
from afa.spark.moved import joined
from punctuation.time import BEGINNING
from tests.language import row_worlds
from tests.language.oracle import Event
from tests.spark.streams import micros
from tests.spark.test_query_on_spark import COLUMNS, Stock, in_lines, random_stock
from tests.spark.test_stages import QueryBuckets, in_force, job, rows_of
from tests.spark.test_stream import Files
from tests.spark.test_stream import run as run_stream
from tests.strategies import Choices, Seeded


def asking(choose: Choices) -> Query:
    """A random query with a key whose rows are shown."""
    while True:
        found = row_worlds.tree(choose)
        if found.key:
            try:
                return Query(found)
            except AfaError:
                continue


@pytest.mark.parametrize("number", [*range(20), 141])
def test_random_worlds(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    run(number)


def run(number: int) -> int:
    """Run a world; how many rows it came to in all."""
    choose = Seeded(f"rows of buckets/{number}")
    query = asking(choose)
    here, copies, told = QueryBuckets(query, choose), Counter[Event](), 0
    stream = row_worlds.TiedStream(choose, query.tree, row_worlds.Allowed(ties=False), choose.number(6, 14), 9)
    for _ in range(choose.number(6, 16)):
        promised = stream.promise()[1] if choose.chance(40) else stream.promised
        changes = [(op[1], 1 if op[0] == "+" else -1) for op in (stream.change() for _ in range(choose.number(0, 5))) if op]
        for event, diff in changes:
            copies[event] += diff
        here.batch(changes, promised)
        want = {(key, shown, le, re) for (key, shown), le, re in row_worlds.rows(query.tree, in_force(copies, here), here.promised)}
        got = {((key, shown), le, re) for (key, shown), le, re in here.held}
        assert got == {((key, shown), le, re) for key, shown, le, re in want}, number
        told += len(want)
    return told


def test_worlds_have_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    assert sum(run(number) for number in range(12)) > 40


class Row(NamedTuple):
    key: int
    x: int
    at: afa.Instant | None = None


def rising(measures: str = "CLASSIFIER() AS c", pattern: str = "a b+") -> Query:
    return afa.sql(
        f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY key ORDER BY at MEASURES {measures} ALL ROWS PER MATCH "
        f"PATTERN ({pattern}) WITHIN 10 DEFINE b AS x > PREV(x))",
        event=Row,
    )


def given(here: Any, *rows: tuple[int, int, int]) -> Any:
    return rows_of(here, [(Event(Row(0, x), le), diff) for x, le, diff in rows])


def found(answer: Any) -> list[Any]:
    return [(row["diff"], row["le"], row["c"], row["x"]) for table in answer.changes for row in table.to_pylist()]


def test_a_restart_keeps_what_was_told() -> None:
    here = job(rising())
    bucket = Bucket(here, 0)
    assert found(bucket.run(given(here, (1, 1, 1), (2, 2, 1), (5, 4, 1)), [], BEGINNING)) == [
        (1, 1, "a", 1),
        (1, 2, "b", 2),
        (1, 4, "b", 5),
    ]
    blobs = [bucket.save(False)]
    bucket = Bucket(here, 0, blobs)
    assert found(bucket.run(given(here, (2, 2, -1), (3, 2, 1)), [], BEGINNING)) == [(-1, 2, "b", 2), (1, 2, "b", 3)]
    bucket = Bucket(here, 0, [*blobs, bucket.save(True)])
    assert found(bucket.run(given(here, (9, 30, 1)), [], 10)) == []  # final in the operator; of the choice it is not
    assert bucket.numbers(True)["candidates"] == 3
    bucket = Bucket(here, 0, [bucket.save(False)])
    assert found(bucket.run(given(here, (10, 31, 1)), [], 25)) == [(1, 30, "a", 9), (1, 31, "b", 10)]
    for other, said in ((rising("COUNT(*) AS c"), "MEASURES.*; values shown"), (rising(pattern="a b+?"), "PATTERN")):
        with pytest.raises(SnapshotError, match=rf"expected a query that chooses and shows as .* \(other {said}"):
            Bucket(job(other), 0, blobs)


def test_what_can_not_be_told_is_a_fault() -> None:
    here = job(rising("CLASSIFIER() AS c, 6.0 / (x - 3) AS odd"))
    answer = Bucket(here, 0).run(given(here, (1, 1, 1), (3, 2, 1)), [], BEGINNING)
    assert found(answer) == []
    (fault,) = answer.faults
    assert re.search("division by zero", fault.reason)
    ties = Bucket(here, 0).run(given(here, (1, 1, 1), (2, 2, 1), (4, 2, 1)), [], BEGINNING)
    assert (found(ties), len(ties.faults)) == ([], 1)
    with pytest.raises(ZeroDivisionError, match="MEASURES, in the match from 1 to 2"):
        Bucket(job(rising("CLASSIFIER() AS c, 6.0 / (x - 3) AS odd"), on_fault="raise"), 0).run(
            given(here, (1, 1, 1), (3, 2, 1)), [], BEGINNING
        )


STOCKS = """SELECT * FROM stocks MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY at MEASURES CLASSIFIER() AS part, COUNT(*) AS n, FINAL LAST(b.price) AS top
    ALL ROWS PER MATCH PATTERN (a b+) WITHIN INTERVAL '30' SECOND DEFINE a AS price < 4, b AS price >= PREV(price))"""


def test_through_spark(spark: Any, tmp_path: Path) -> None:
    """A stream of two batches, in any order, and a job that is started again between them."""
    query = afa.sql(STOCKS, event=Stock, tick="us")
    base, stream, second = datetime(2024, 1, 1, tzinfo=timezone.utc), random_stock("rows"), 1_000_000
    events, start = Files(tmp_path / "in"), int(base.timestamp()) * second
    for part in range(2):
        events.put(in_lines(stream[part * 30 : part * 30 + 30], base))
        read = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(events.path))
        run_stream(read.transform(afa.spark.match(query, time="time", lateness="1 hour", buckets=2)), tmp_path)
    found = afa.spark.current(spark.read.parquet(str(tmp_path / "changes"))).collect()
    names = [field.name for field in query.shown.fields]
    got = Counter(((row.symbol, tuple(told(row[name]) for name in names)), micros(row.le), micros(row.re)) for row in found)
    assert got == row_worlds.rows(query.tree, [Event(Stock(s, p, start + t * second), start + t * second) for s, p, t in stream])
    assert len(got) > 20


def told(value: Any) -> Any:
    return micros(value) if isinstance(value, datetime) else value


def test_keys_that_move_keep_what_lineages_need() -> None:
    """A bucket without events keeps nothing below the promise; one that it is joined with does."""
    text = "PATTERN SEQ(a, b) WHERE partition_contiguity(a, b) { [key] and b.x > a.x } WITHIN 10 RETURN b.x AS c"
    query = afa.query(text.replace("SEQ(a, b)", "SEQ(Row a, Row b)"), event=Row)
    two, one = job(query, 2, members="le"), job(query, 1, members="le")
    key = next(key for key in range(9) if bucket_numbers([pa.array([key])], 2)[0] == 1)
    buckets = [Bucket(two, number) for number in range(2)]
    buckets[0].run(None, [], 4)
    buckets[1].run(rows_of(two, [(Event(Row(key, 1), 2), 1)]), [], BEGINNING)
    buckets[1].run(None, [], 4)
    parts = [list(Bucket(two, number, [bucket.save(False)]).split(1)) for number, bucket in enumerate(buckets)]
    bucket, _ = joined(one, 0, [part[0] for part in parts], 5)
    bucket = Bucket(one, 0, [bucket.save(False)])
    (table,) = bucket.run(rows_of(one, [(Event(Row(key, 7), 6), 1)]), [], 5).changes
    assert table.to_pylist()[0]["members"] == {"a": [2], "b": [6]}
