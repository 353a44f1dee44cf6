"""MATCH_RECOGNIZE over one another on Spark: in buckets that are lost after each batch, as a stream and as a table."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import afa
from afa import AfaError, Change, Punctuation, SnapshotError
from afa.operator.options import Options
from afa.spark import backtest, match, replay
from afa.spark.bucket import bucket_of_job
from afa.spark.hashing import bucket_numbers
from afa.spark.job import job_of
from afa.spark.pattern_said import said_of
from punctuation.time import BEGINNING
from tests.language import stacked_worlds
from tests.strategies import Seeded
from tests.worlds.kind import RefusedError, Seen


class StackBuckets:
    """The buckets of a statement, as an operator."""

    def __init__(self, library: Any, buckets: int) -> None:
        said = said_of(library, Options(), time="at")
        types = [pa.string()] * len(library.links[-1].tree.key)
        self.job = job_of(said.automaton, said.options, buckets=buckets, on_fault="raise", key_types=types, asked=said.asked)
        self.shown, self.blobs, self.promised = library.shown.cls, dict[int, list[bytes]](), BEGINNING

    def push_many(self, batch: list[Any]) -> list[Change]:
        """Rows, and behind them perhaps a promise, for which a timer calls."""
        changes = [each for each in batch if not isinstance(each, Punctuation)]
        rows = [{**each.payload._asdict(), "at": each.le, "le": each.le, "diff": each.diff} for each in changes]
        rows = [{name: _float(row[name]) for name in self.job.schema.names} for row in rows]
        out = self.run(pa.Table.from_pylist(rows, self.job.schema))
        for each in batch:
            if isinstance(each, Punctuation):
                self.promised = max(self.promised, each.t)
                out += self.run(self.job.schema.empty_table())
        return out

    def push(self, item: Any) -> list[Change]:
        return self.push_many([item])

    def run(self, rows: pa.Table) -> list[Change]:
        """A batch of all buckets; none is kept where one refuses."""
        keys = [rows[name] for name in self.job.keys]
        numbers = bucket_numbers(keys, self.job.buckets) if keys else [0] * len(rows)
        blobs, out = dict[int, list[bytes]](), list[Change]()
        for number in range(self.job.buckets):
            bucket = bucket_of_job(self.job, number, self.blobs.get(number, ()))
            answer = bucket.run(rows.filter(pa.array([each == number for each in numbers], pa.bool_())), (), self.promised)
            assert (answer.faults, answer.late) == ([], [])
            blobs[number] = [bucket.save(False)]
            for row in (row for table in answer.changes for row in table.to_pylist()):
                payload = self.shown(*(row[name] for name in self.shown._fields))
                out.append(Change(payload, row["le"], row["re"], row["diff"], *(row[name] for name in self.job.keys)))
        self.blobs |= blobs
        return out

    def snapshot(self) -> dict[int, list[bytes]]:
        return dict(self.blobs)

    def _check(self) -> None: ...


def _float(value: Any) -> Any:
    """A DECIMAL as the job's rows have it."""
    return float(value) if isinstance(value, Decimal) else value


def test_random_statements_in_buckets() -> None:
    """Whatever they hold is saved and read again between two batches."""
    seen = Seen()
    for number in range(56):
        of = stacked_worlds.numbered("b2", number, family=4)._replace(ends=False)
        choose = Seeded(f"buckets/{number}")
        try:
            library = stacked_worlds.stack(of).library
            buckets = StackBuckets(library, choose.number(1, 3) if library.key else 1)
        except (AfaError, RefusedError) as error:
            if not re.search("the outermost PARTITION BY|other names than le|40 random", str(error)):
                raise
            seen["declined"] += 1
            continue
        seen += stacked_worlds.judged(of, buckets, lambda operator, other: operator)
    assert min(seen["compared"], seen["compared, three levels"] * 2, seen["retractions"], seen["shown"] / 5) > 50, seen


def test_a_bucket_of_another_statement() -> None:
    """A restart may change nothing of it: neither what stands below nor what stands above."""
    event = pa.schema([("key", pa.string()), ("v", pa.int64()), ("at", pa.timestamp("us"))])
    text = """SELECT * FROM (SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY key ORDER BY at MEASURES LAST(at) AS t1, COUNT(*) AS n
        PATTERN (A B+) DEFINE B AS v < PREV(v))) MATCH_RECOGNIZE (PARTITION BY key ORDER BY t1 MEASURES SUM(n) AS m PATTERN (C D)
        DEFINE D AS n > C.n)"""
    buckets = StackBuckets(afa.sql(text, event=event), 1)
    buckets.run(pa.table({"key": ["a"], "v": [1], "at": [5], "le": [5], "diff": [1]}, schema=buckets.job.schema))
    for other in (text.replace("n > C.n", "n >= C.n"), text.replace("v < PREV", "v <= PREV"), text.replace("(A B+)", "(A B)")):
        changed = StackBuckets(afa.sql(other, event=event), 1)
        with pytest.raises(SnapshotError, match=r"expected the statement .*that the checkpoint was made with"):
            bucket_of_job(changed.job, 0, buckets.blobs[0])
    bucket_of_job(buckets.job, 0, buckets.blobs[0])
    with pytest.raises(SnapshotError):
        bucket_of_job(buckets.job, 0, [buckets.blobs[0][0][:-3]])


TEXT = """
    SELECT symbol, first, runs FROM (
      SELECT symbol, n, until FROM ticks MATCH_RECOGNIZE (
        PARTITION BY symbol ORDER BY at MEASURES COUNT(*) AS n, LAST(at) AS until
        PATTERN (A B+) WITHIN INTERVAL '1' MINUTE DEFINE B AS price < PREV(price)
      ) WHERE n > 1
    ) MATCH_RECOGNIZE (
      PARTITION BY symbol ORDER BY until MEASURES FIRST(until) AS first, COUNT(*) AS runs
      PATTERN (C D+) WITHIN INTERVAL '5' MINUTE DEFINE D AS n >= PREV(n)
    )
"""
START = datetime(2024, 5, 1, 9)
PRICES = {"A": (5, 4, 6, 5, 4, 7, 6, 5, 4, 9, 1), "B": (3, 2, 1, 5, 4, 6, 5, 3, 2, 1, 8)}
ROWS = [(symbol, float(x), START + timedelta(seconds=7 * i)) for symbol, prices in PRICES.items() for i, x in enumerate(prices)]


VIEW = "(SELECT at, price, NULLIF(lower(symbol), 'b') AS who FROM ticks)"
TEXTS = {
    "plain": TEXT,
    "of a view": TEXT.replace("symbol", "who").replace("FROM ticks", f"FROM {VIEW}").replace("BY at MEAS", "BY at, -price MEAS"),
    "alone": """
    SELECT runs, first FROM ticks MATCH_RECOGNIZE (
      PARTITION BY lower(symbol), EXTRACT(MINUTE FROM at) > 0 ORDER BY at MEASURES COUNT(*) AS runs, FIRST(at) AS first
      PATTERN (A B+) WITHIN INTERVAL '1' MINUTE DEFINE B AS price < A.price)""",
}
"""The keys of the last two are computed, one of them is NULL."""
SHOWN = ("first", "runs", "le", "re")


def expected(text: str) -> Counter[Any]:
    table = pa.table(dict(zip(("symbol", "price", "at"), map(list, zip(*ROWS)))))
    found = afa.find(text, table).to_pylist()
    assert len({each.get("symbol", each.get("key_0", each.get("who"))) for each in found}) == 2
    return Counter(tuple(str(row.get(name)) for name in (*KEYS, *SHOWN)) for row in found)


KEYS = ("symbol", "who", "key_0", "key_1")


def net(rows: list[Any]) -> Counter[Any]:
    found = Counter[Any]()
    for row in rows:
        assert row.kind == "match", row
        found[tuple(str(row.asDict().get(name)) for name in (*KEYS, *SHOWN))] += row.diff
    return Counter({each: n for each, n in found.items() if n})


@pytest.mark.spark
@pytest.mark.parametrize("name", [pytest.param("plain", marks=pytest.mark.stress), "of a view", "alone"])  # a view has all of it
def test_a_table_and_a_stream_with_a_restart(spark: Any, tmp_path: Path, name: str) -> None:
    schema = "symbol string, price double, at timestamp"
    table = spark.createDataFrame(ROWS, schema)
    query, wanted = afa.sql(TEXTS[name], event=expected_events()), expected(TEXTS[name])
    assert net(table.transform(match(query, time="at")).collect()) == wanted
    source, changes, checkpoint = (tmp_path / name for name in ("rows", "changes", "checkpoint"))
    mixed, choose = list(ROWS), Seeded("stacked")
    mixed = [mixed.pop(choose.number(0, len(mixed) - 1)) for _ in range(len(mixed))]
    for part in (mixed[:9], mixed[9:]):
        spark.createDataFrame(part, schema).coalesce(1).write.mode("append").json(str(source))
        stream = spark.readStream.schema(schema).json(str(source))
        found = stream.transform(match(query, time="at", lateness="10 minutes", on_fault="raise", buckets=2))
        running = (
            found.writeStream.format("parquet").option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        ).start(str(changes))
        running.awaitTermination()
    rows = spark.read.parquet(str(changes)).where("kind = 'match'").collect()
    assert net(rows) == wanted


@pytest.mark.spark
def test_a_statement_over_a_stream(spark: Any, tmp_path: Path) -> None:
    schema, source, out = "symbol string, price double, at timestamp", tmp_path / "rows", tmp_path / "out"
    spark.createDataFrame(ROWS, schema).coalesce(1).write.json(str(source))
    spark.readStream.schema(schema).json(str(source)).createOrReplaceTempView("ticks")
    text = TEXT.replace("COUNT(*) AS runs", "COUNT(*) AS runs, MAX(n) + 0.5 AS most").replace("first, runs", "first, runs, most")
    found = afa.spark.sql(spark, text, lateness="10 minutes", buckets=2)
    assert found.columns == ["symbol", "first", "runs", "most", "le", "re", "diff"]
    assert dict(found.dtypes)["most"] == "decimal(38,1)"
    running = found.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "at")).trigger(availableNow=True)
    running.start(str(out)).awaitTermination()
    counted = Counter[Any]()
    for row in spark.read.parquet(str(out)).collect():
        counted[tuple(str(row.asDict().get(name)) for name in (*KEYS, *SHOWN))] += row.diff
    assert +counted == expected(TEXT)
    with pytest.raises(AfaError, match="expected ORDER BY with the time of the last row"):
        afa.spark.sql(spark, TEXT.replace("ORDER BY until", "ORDER BY n"))
    with pytest.raises(AfaError, match="one MATCH_RECOGNIZE in a stream but got another one"):
        afa.spark.sql(spark, f"SELECT count(*) AS c FROM ({TEXT})")
    spark.catalog.dropTempView("ticks")


def expected_events() -> Any:
    return pa.schema([("symbol", pa.string()), ("price", pa.float64()), ("at", pa.timestamp("us"))])


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (TEXT.replace("symbol ORDER BY until", "n ORDER BY until"), {}, "deals out rows by these, but got n over symbol"),
        (TEXT, {"until": "u"}, "expected options of .* on Spark, time, but got until='u'"),
        (TEXT, {"members": "le"}, "but got members='le'"),
        (TEXT, {"speculation": "1 minute"}, "but got speculation="),
        (TEXT.replace("ORDER BY until", "ORDER BY n"), {}, "expected ORDER BY with the time"),
    ],
)
def test_what_is_refused(text: str, options: dict[str, Any], words: str) -> None:
    text = text.replace("SELECT symbol, first", "SELECT first") if "BY n ORDER" in text else text
    with pytest.raises(AfaError, match=words):
        match(afa.sql(text, event=expected_events()), time="at", **options)


def test_what_takes_columns_only_says_so() -> None:
    with pytest.raises(AfaError, match=r"expected columns in PARTITION BY .* for afa.spark.replay but got expressions \(key_0: "):
        replay(afa.sql(TEXTS["alone"], event=expected_events()), time="at")


@pytest.mark.spark
def test_a_backtest_takes_columns_only(spark: Any) -> None:
    table = spark.createDataFrame(ROWS, "symbol string, price double, at timestamp")
    with pytest.raises(AfaError, match=r"expected columns in PARTITION BY .* for afa.spark.backtest but got expr.* \(key_0: "):
        backtest({"one": afa.sql(TEXTS["alone"], event=expected_events())}, table, time="at")
