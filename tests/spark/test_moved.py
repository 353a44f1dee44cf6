"""Restarts through Spark: other buckets, windows, arcs; keys move, and what can't be carried over stops the query in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from afa import Arc, Automaton
from afa.spark.moved import _heads, _places
from punctuation.time import FOREVER
from tests.spark.buckets import Row, Sum
from tests.spark.streams import SECOND, ZERO, when
from tests.spark.test_restarts import Expected, arcs_of
from tests.spark.test_restarts import Row as Number
from tests.spark.test_restarts import Sum as Total
from tests.spark.test_stream import Files, afa_spark, matches, read, run
from tests.strategies import Seeded

SCHEMA = "who long, n int, at timestamp, diff int"


def pattern(*more: Arc) -> Automaton:
    """Two events one after the other."""
    arcs = [Arc("a", "b", "n == 1", "Sum(n)", name="in"), Arc("b", "c", "n == 2", name="out"), *more]
    return Automaton(start="a", final={"c"}, register=Sum(), event=Row, arcs=arcs)


def lines(second: int, n: int, keys: range = range(20)) -> list[str]:
    return [json.dumps({"who": who, "n": n, "at": when(second).isoformat(), "diff": 1}) for who in keys]


def start(spark: Any, path: Path, events: Files, automaton: Automaton, **given: Any) -> Any:
    options = {"key": "who", "time": "at", "window": "1 hour", "diff": "diff", "lateness": "1 minute", **given}
    return run(read(spark, events, SCHEMA).transform(afa_spark.match(automaton, **options)), path)


def numbers(query: Any, name: str) -> list[Any]:
    """An observed number of each batch that had rows."""
    found = [progress.observedMetrics for progress in query.recentProgress if progress.numInputRows]
    return [next(row[name] for key, row in seen.items() if key.startswith("afa")) for seen in found]


def test_keys_move_to_other_buckets(spark: Any, tmp_path: Path) -> None:
    """Half a match in each key, then the other half; more buckets, fewer, an odd number."""
    events, checkpoint = Files(tmp_path / "in"), str(tmp_path / "checkpoint")
    events.put(lines(1, 1))
    events.put(lines(2, 0, range(1)))  # one key is touched: all are counted
    query = start(spark, tmp_path, events, pattern(), buckets=4, checkpoint=checkpoint)
    assert numbers(query, "keys") == [20, 20]
    assert numbers(query, "events") == [20, 1]
    events.put(lines(2, 2, range(10)))
    with pytest.raises(Exception, match="expected the buckets that the checkpoint was made with, 4, but got buckets=7: keep"):
        start(spark, tmp_path, events, pattern(), buckets=7)
    again = pattern(Arc("a", "c", "n == 3", "Sum(n)", name="three"))
    query = start(spark, tmp_path, events, again, buckets=7, checkpoint=checkpoint, window="10 seconds")
    assert numbers(query, "keys") == [20]
    events.put([*lines(2, 2, range(10, 20)), *lines(30, 3)])
    query = start(spark, tmp_path, events, again, buckets=3, checkpoint=checkpoint, window="10 seconds")
    assert numbers(query, "keys") == [20]
    changes = spark.read.parquet(str(tmp_path / "changes"))
    hour, ten = ZERO + 3601 * SECOND, ZERO + 40 * SECOND
    expected = {(who, 1, ZERO + 2 * SECOND, hour) for who in range(20)} | {(who, 3, ZERO + 30 * SECOND, ten) for who in range(20)}
    assert matches(afa_spark.current(changes)) == expected
    told = [row["reason"] for row in changes.where("kind = 'code'").collect()]
    assert len(told) == 10
    assert sum(text.startswith("the buckets were 4, are 7: keys have moved; the job has changed") for text in told) == 7
    assert sum(text == "the buckets were 7, are 3: keys have moved" for text in told) == 3
    assert all(f"from {ZERO + 2 * SECOND + 1000} on arcs that go: none; arcs that come: 'three'" in text for text in told[:1])
    assert changes.where("kind not in ('match', 'code')").count() == 0


def test_the_first_batch_of_all_may_fail(spark: Any, tmp_path: Path) -> None:
    """Then the checkpoint has an operator without a state: the next start was refused, whatever its buckets."""
    events, checkpoint = Files(tmp_path / "in"), str(tmp_path / "checkpoint")
    events.put(lines(1, 0, range(1)))
    options = {"key": "who", "time": "at", "window": "1 hour", "diff": "diff", "lateness": "1 minute", "checkpoint": checkpoint}
    changes = read(spark, events, SCHEMA).transform(afa_spark.match(pattern(), buckets=2, **options))

    def fails(batch: Any, number: int) -> None:
        batch.count()
        raise RuntimeError("the sink is gone")

    query = changes.writeStream.foreachBatch(fails).option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    with pytest.raises(Exception, match="the sink is gone"):
        query.awaitTermination()
    assert _places(spark, checkpoint)
    assert _heads(spark, checkpoint, 0) is None
    (tmp_path / "checkpoint" / "commits").mkdir(exist_ok=True)
    (tmp_path / "checkpoint" / "commits" / "0").write_text("junk")
    with pytest.raises(Exception, match="MALFORMED_LOG_FILE"):
        afa_spark.match(pattern(), buckets=2, **options)(read(spark, events, SCHEMA))


@pytest.mark.stress
def test_a_first_batch_that_fails_loses_no_key(spark: Any, tmp_path: Path) -> None:
    """All keys have moved when it does; the next start finds the checkpoint as it was."""
    events, checkpoint = Files(tmp_path / "in"), str(tmp_path / "checkpoint")
    events.put(lines(1, 1))
    start(spark, tmp_path, events, pattern(), buckets=5)
    events.put(lines(2, 2))
    options = {"key": "who", "time": "at", "window": "1 hour", "diff": "diff", "lateness": "1 minute", "checkpoint": checkpoint}

    def fails(batch: Any, number: int) -> None:
        assert batch.where("kind = 'match'").count() == 20
        raise RuntimeError("the sink is gone")

    for buckets in (2, 9):
        changes = read(spark, events, SCHEMA).transform(afa_spark.match(pattern(), buckets=buckets, **options))
        query = changes.writeStream.foreachBatch(fails).option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        with pytest.raises(Exception, match="the sink is gone"):
            query.awaitTermination()
    query = start(spark, tmp_path, events, pattern(), buckets=3, checkpoint=checkpoint)
    assert numbers(query, "keys") == [20]
    found = afa_spark.current(spark.read.parquet(str(tmp_path / "changes")))
    assert matches(found) == {(who, 1, ZERO + 2 * SECOND, ZERO + 3601 * SECOND) for who in range(20)}


@pytest.mark.stress
def test_a_first_batch_that_has_arcs_alone_leaves_nothing_of_buckets_that_are_no_more(spark: Any, tmp_path: Path) -> None:
    events, checkpoint = Files(tmp_path / "in"), str(tmp_path / "checkpoint")
    log = afa_spark.arc_log(tmp_path / "arcs", pattern())
    events.put(lines(1, 1))
    start(spark, tmp_path, events, pattern(), buckets=4, arcs=log.read(spark))
    log.insert(Arc("a", "c", "n == 3", "Sum(n)", name="three"), at=when(20))
    start(spark, tmp_path, events, pattern(), buckets=2, checkpoint=checkpoint, arcs=log.read(spark))
    events.put([*lines(2, 2), *lines(30, 3)])
    query = start(spark, tmp_path, events, pattern(), buckets=2, checkpoint=checkpoint, arcs=log.read(spark))
    assert numbers(query, "keys") == [20]
    found = matches(afa_spark.current(spark.read.parquet(str(tmp_path / "changes"))))
    ends = {(1, ZERO + 2 * SECOND, ZERO + 3601 * SECOND), (3, ZERO + 30 * SECOND, ZERO + 3630 * SECOND)}
    assert found == {(who, *end) for who in range(20) for end in ends}


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(10))
def test_random_changes_at_restarts_of_a_query(spark: Any, seed: int, tmp_path: Path) -> None:
    choose, events = Seeded(f"spark/restarts/{seed}"), Files(tmp_path / "in")
    arcs, window, buckets, clock = arcs_of(choose, ["x0", "x1"]), choose.one([2, 5, 9, None]), choose.number(1, 5), 10
    expected, rows, latest = Expected(arcs, window), [], 0  # type: ignore[var-annotated]
    for part in range(4):
        if part:
            arcs = arcs_of(choose, ["x0", "x1", "x2"][: choose.number(0, 3)]) if choose.chance(60) else arcs
            window = choose.one([2, 5, 9, None])
            buckets = choose.number(1, 6)
            expected.change(arcs, window, latest + 1000)
        for _ in range(choose.number(1, 2)):
            batch = []
            for _ in range(choose.number(1, 15)):
                le = ZERO + (clock + choose.number(-2, 3)) * 1000
                batch.append({"who": choose.number(0, 9), "n": choose.number(0, 5), "le": le, "diff": 1})
            kept = [row for row in rows if row["diff"] > 0 and {**row, "diff": -1} not in rows]
            batch += [{**choose.one(kept), "diff": -1}] if kept and choose.chance(60) else []
            texts = [{**row, "at": str(when(0).replace(microsecond=(row["le"] - ZERO) % SECOND))} for row in batch]
            events.put([json.dumps({**text, "le": None}) for text in texts])
            rows, clock, latest = rows + batch, clock + choose.number(0, 4), max([latest, *(row["le"] for row in batch)])
        automaton = Automaton(start="a", final={"c"}, register=Total(), event=Number, arcs=arcs)
        given = {"window": None if window is None else f"{window} milliseconds", "lateness": "1 second"}
        start(spark, tmp_path, events, automaton, buckets=buckets, checkpoint=str(tmp_path / "checkpoint"), **given)
    changes = spark.read.parquet(str(tmp_path / "changes"))
    assert changes.where("kind not in ('match', 'code')").count() == 0
    found = {(*row[:2], row[2], FOREVER if row[3] >= FOREVER else row[3]) for row in matches(afa_spark.current(changes))}
    assert found == expected.matches(automaton, rows, latest - SECOND)
