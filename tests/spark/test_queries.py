"""Several matches in one query, and what may stand before and after one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

from afa import AfaError, Arc, Automaton, Keyed, Punctuation, insert, retract
from tests.spark.streams import SECOND, ZERO, Signal, signal_lines, signals, when
from tests.spark.test_stream import Files, read, run
from tests.strategies import Seeded

afa_spark = pytest.importorskip("afa.spark", reason='pyspark is not installed: pip install "afa[spark]"')
SCHEMA = "who long, sort int, at timestamp, diff int"


class Nothing(NamedTuple):
    pass


class Turn(NamedTuple):
    way: str


def turns(name: str, first: int) -> Automaton:
    """A signal of one sort, and the next second or later one of the other."""
    arcs = [Arc("idle", "half", f"sort == {first}", name="first"), Arc("half", name, f"sort == {1 - first}", name="second")]
    return Automaton(start="idle", final={name}, event=Signal, register=Nothing(), arcs=arcs)


UP, DOWN = turns("up", 0), turns("down", 1)
BOTH = Automaton(
    start="idle",
    final={"both"},
    event=Turn,
    register=Nothing(),
    arcs=[Arc("idle", "half", "way == 'up'", name="up"), Arc("half", "both", "way == 'down'", name="down")],
)


def net(automaton: Automaton, window: int, changes: list[tuple[int, Any, int, int]]) -> list[tuple[int, int]]:
    """The key and second of each match after all changes, each of a key, a payload, a second and a diff."""
    op = Keyed(automaton, key="key", window=window * SECOND)
    out: Counter[tuple[int, int, int]] = Counter()
    for key, payload, second, diff in changes:
        for change in op.push((insert if diff > 0 else retract)(payload, ZERO + second * SECOND), key=key):
            assert not isinstance(change, Punctuation)
            assert change.re is not None
            out[change.key, change.le, change.re] += change.diff
    return [(key, (le - ZERO) // SECOND) for (key, le, _), n in out.items() for _ in range(n)]


def test_two_matches_a_match_on_both_and_a_window_in_one_query(spark: Any, tmp_path: Path) -> None:
    """Of a stream that has a watermark of its own."""
    stream, events = signals(Seeded("spark/queries"), 36, 2), Files(tmp_path / "in")
    for at in range(0, len(stream), 90):
        events.put(signal_lines(stream[at : at + 90]))
    events.put(signal_lines([(9, 5, 1000, 1)]))
    events.put(signal_lines([(9, 5, 2000, 1)]))
    ups, downs = (net(automaton, 8, [(who, Signal(s), at, diff) for who, s, at, diff in stream]) for automaton in (UP, DOWN))
    pairs = [(who, Turn("up"), at, 1) for who, at in ups] + [(who, Turn("down"), at, 1) for who, at in downs]
    expected = Counter((who, at // 10, True) for who, at in net(BOTH, 9, pairs))
    assert sum(expected.values()) > 10
    rows = read(spark, events, SCHEMA).withWatermark("at", "8 seconds")
    given: dict[str, Any] = {"key": "who", "diff": "diff", "buckets": 2}
    both = [
        rows.transform(afa_spark.match(automaton, time="at", window="8 seconds", **given))
        .where("kind = 'match'")
        .select("who", F.lit(way).alias("way"), F.col("le").alias("then"), "diff")
        for automaton, way in ((UP, "up"), (DOWN, "down"))
    ]
    found = both[0].union(both[1]).transform(afa_spark.match(BOTH, time="then", window="9 seconds", **given))
    told = found.withColumn("ok", F.col("kind") == "match").groupBy(F.window("le", "10 seconds"), "who", "ok").agg(F.sum("diff"))
    fewer = {"spark.sql.shuffle.partitions": 1, "spark.sql.streaming.noDataMicroBatches.enabled": "false"}  # tasks and batches
    before = {setting: spark.conf.get(setting) for setting in fewer}
    try:
        for setting in fewer.items():
            spark.conf.set(*setting)
        query = run(told, tmp_path)
    finally:
        for setting in before.items():
            spark.conf.set(*setting)
    names = {name for progress in query.recentProgress for name in progress.observedMetrics}
    assert sorted(name.rpartition(" ")[0] for name in names) == ["afa both", "afa down", "afa up"]
    rows = spark.read.parquet(str(tmp_path / "changes")).collect()
    counts = {
        (row["who"], (row["window"]["start"] - when(0).replace(tzinfo=None)).seconds // 10, row["ok"]): row[-1] for row in rows
    }
    assert {place: n for place, n in counts.items() if n} == expected


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        (
            lambda rows: rows.withWatermark("at", "1 minute"),
            {"lateness": "5 minutes"},
            "expected lateness=None, as the stream has a watermark on 'at' already, of 60000 milliseconds, but got lateness=",
        ),
        (
            lambda rows: rows.withColumn("came", F.col("at")).withWatermark("came", "1 minute"),
            {},
            "expected a watermark on 'at' but got one on came: Spark takes one a stream",
        ),
        (
            lambda rows: rows.withColumn("came", F.col("at")).withWatermark("came", "1 minute").drop("came"),
            {},
            "expected a watermark on 'at' but got one on a column that is gone",
        ),
        (
            lambda rows: rows.transform(afa_spark.match(UP, key="who", time="at", speculation="0 seconds")).selectExpr(
                "who", "1 as sort", "le as at", "diff"
            ),
            {},
            "expected matches that come ahead of the watermark but got those of a match with time-outs or speculation=",
        ),
        (lambda rows: rows, {"name": 5}, "expected a name for the metrics, text, but got name=5"),
    ],
)
def test_watermarks_and_names_that_are_refused(
    spark: Any, tmp_path: Path, changed: Any, options: dict[str, Any], message: str
) -> None:
    rows = changed(read(spark, Files(tmp_path / "in"), SCHEMA))
    with pytest.raises(AfaError, match=message):
        rows.transform(afa_spark.match(DOWN, key="who", time="at", buckets=2, **options))


def test_marks_of_a_watermark_that_a_file_remembers(spark: Any, tmp_path: Path) -> None:
    """Spark writes them into Parquet files; a stream that is read from there has no watermark yet."""
    rows = read(spark, Files(tmp_path / "in"), SCHEMA)
    marked = rows.withWatermark("at", "1 minute").schema
    again = spark.readStream.schema(marked).json(str(tmp_path / "in"))
    assert again.schema["at"].metadata
    plan = again.transform(afa_spark.match(UP, key="who", time="at", lateness="5 minutes"))
    assert "5 minutes" in plan._jdf.queryExecution().analyzed().toString()
