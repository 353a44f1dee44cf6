"""The operator inside Structured Streaming: cut into micro-batches, stopped and started again, and all at once."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from afa import FOREVER, AfaError, Arc, Automaton, Keyed, Punctuation, insert
from tests.spark.streams import SECOND, ZERO, Signal, arc_lines, micros, of_program, plain, rows, when
from tests.strategies import Seeded
from tests.streams import Setting, Tally

afa_spark = pytest.importorskip("afa.spark", reason='pyspark is not installed: pip install "afa[spark]"')

ROOT = Path(__file__).parents[2]
SCHEMA = "sort int, size double, who long, due long, name string, extra long, flag boolean, at timestamp, diff int"


class Files:
    """A folder that a stream reads, a file a micro-batch."""

    def __init__(self, path: Path) -> None:
        self.path, self.n = path, 0
        path.mkdir()

    def put(self, lines: list[str]) -> None:
        self.n += 1
        hidden = self.path / f".{self.n:03}"
        hidden.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        os.utime(hidden, (1.7e9 + self.n, 1.7e9 + self.n))  # by which files are ordered
        hidden.rename(self.path / f"{self.n:03}.json")


def as_json(row: dict[str, Any]) -> str:
    moments = {name: row[name] and row[name].isoformat() for name in ("at", "until") if name in row}
    return json.dumps({**row, **moments})


def read(spark: Any, files: Files, schema: str = SCHEMA) -> Any:
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(files.path))


def run(changes: Any, path: Path) -> Any:
    """All that there is, in as many batches as there are files; the query."""
    writer = changes.writeStream.format("parquet").option("checkpointLocation", str(path / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(path / "changes"))
    query.awaitTermination()
    return query


def matches(table: Any) -> set[Any]:
    found = table.drop("id").collect()
    assert len(found) == len(set(found)), "a match twice"
    return {(*row[:-2], micros(row[-2]), 2**63 - 1 if row[-1] is None else micros(row[-1])) for row in found}


@pytest.mark.parametrize(
    ("program", "keys", "buckets"),
    [("branches", ("who",), 3), pytest.param("words", ("name", "who"), 1, marks=pytest.mark.stress)],
)
def test_a_stream_equals_one_operator_and_its_history(
    spark: Any, program: str, keys: tuple[str, ...], buckets: int, tmp_path: Path
) -> None:
    choose = Seeded(f"spark/{program}")
    here = of_program(program, keys)
    stream, lines = rows(choose, 120, 6), arc_lines(choose, here, 4, 60)
    events, log = Files(tmp_path / "in"), Files(tmp_path / "arcs")
    given = {"key": keys, "time": "at", "window": "25 seconds", "diff": "diff", "lateness": "1 hour", "buckets": buckets}
    for part in range(2):  # stopped and started again in between
        log.put(lines[2 * part : 2 * part + 2])
        for batch in (stream[part * 60 : part * 60 + 25], stream[part * 60 + 25 : part * 60 + 60]):
            events.put(list(map(as_json, batch)))
        pattern = afa_spark.match(here.automaton, arcs=spark.readStream.text(str(log.path)), **given)
        run(read(spark, events).transform(pattern), tmp_path)
    changes = spark.read.parquet(str(tmp_path / "changes"))
    assert [row["kind"] for row in changes.select("kind").distinct().collect()] == ["match"]
    expected = plain(here, 25, stream, lines)
    assert len(expected) > 5
    assert matches(afa_spark.current(changes)) == expected
    ids = Counter(row["id"] for row in changes.where("diff > 0").collect())
    assert ids.keys() >= {row["id"] for row in changes.where("diff < 0").collect()}
    history = spark.read.schema(SCHEMA).json(str(events.path))
    final = history.transform(afa_spark.match(here.automaton, arcs=spark.read.text(str(log.path)), **given))
    assert final.where("kind <> 'match' or diff <> 1").count() == 0
    assert matches(final.drop("diff", "kind", "reason")) == expected


def test_each_row_says_how_long_it_lives(spark: Any, tmp_path: Path) -> None:
    choose, here, events = Seeded("spark/lifetimes"), of_program("branches", ("who",)), Files(tmp_path / "in")
    stream = rows(choose, 90, 6, lifetimes=True)
    bad = {**stream[0], "until": stream[0]["at"]}
    for at in (0, 30, 60):
        events.put([*map(as_json, stream[at : at + 30]), as_json(bad)])
    given = {"key": "who", "time": "at", "until": "until", "window": "25 seconds", "diff": "diff", "lateness": "1 hour"}
    pattern = afa_spark.match(here.automaton, buckets=2, **given)
    run(read(spark, events, f"{SCHEMA}, until timestamp").transform(pattern), tmp_path)
    changes = spark.read.parquet(str(tmp_path / "changes"))
    reasons = [row["reason"] for row in changes.where("kind <> 'match'").collect()]
    assert len(reasons) == 3
    assert all(reason.startswith("expected a key, a time, an end after it and ") for reason in reasons)
    assert f"'until': '{bad['at'].isoformat(' ')[:19]}" in reasons[0]
    expected = plain(here, 25, stream, [])
    assert len({match[-1] - match[-2] for match in expected}) > 3
    assert matches(afa_spark.current(changes)) == expected


def test_without_speculation_nothing_is_withdrawn(spark: Any, tmp_path: Path) -> None:
    choose, here, events = Seeded("spark/held"), of_program("branches", ("who",)), Files(tmp_path / "in")
    stream = rows(choose, 90, 6)
    for at in (0, 30, 60):
        events.put(list(map(as_json, stream[at : at + 30])))
    events.put([as_json({**stream[0], "diff": 1, "at": when(3600)})])  # all that came before is final; most buckets have no row
    given = {"time": "at", "window": "25 seconds", "diff": "diff", "lateness": "1 minute", "buckets": 3}
    pattern = afa_spark.match(here.automaton, key="who", speculation="0 seconds", name="afa", **given)
    query = run(read(spark, events).transform(pattern), tmp_path)
    changes = spark.read.parquet(str(tmp_path / "changes"))
    assert {(row["kind"], row["diff"]) for row in changes.select("kind", "diff").distinct().collect()} == {("match", 1)}
    assert matches(changes.drop("diff", "kind", "reason")) == plain(here, 25, stream, [])
    held = [progress.observedMetrics["afa"]["held"] for progress in query.recentProgress if progress.observedMetrics]
    assert held[0] == 30


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(8))
def test_random_cuts_buckets_and_partitions(spark: Any, seed: int, tmp_path: Path) -> None:
    choose = Seeded(f"spark/cuts/{seed}")
    program, keys = choose.one([("branches", ("who",)), ("words", ("name", "who")), ("runs", ("who",))])
    here, n = of_program(program, keys), 100
    stream, lines = rows(choose, n, 6), arc_lines(choose, here, 4, n // 2)
    events, log = Files(tmp_path / "in"), Files(tmp_path / "arcs")
    given = {"key": keys, "time": "at", "window": "25 seconds", "diff": "diff", "lateness": "1 hour"}
    before, buckets = spark.conf.get("spark.sql.shuffle.partitions"), choose.number(1, 8)
    spark.conf.set("spark.sql.shuffle.partitions", choose.number(1, 8))
    at, unread = 0, list(lines)
    while at < n or unread:
        for _ in range(choose.number(1, 4)):
            cut = min(n, at + choose.number(1, n // 4))
            if cut > at:
                events.put(list(map(as_json, stream[at:cut])))
            at = cut
        arrived = choose.number(0, len(unread))
        log.put(unread[:arrived])
        unread = unread[arrived:]
        pattern = afa_spark.match(here.automaton, arcs=spark.readStream.text(str(log.path)), buckets=buckets, **given)
        run(read(spark, events).transform(pattern), tmp_path)
    spark.conf.set("spark.sql.shuffle.partitions", before)
    changes = spark.read.parquet(str(tmp_path / "changes"))
    assert changes.where("kind <> 'match'").count() == 0
    assert matches(afa_spark.current(changes)) == plain(here, 25, stream, lines)


def watched() -> Automaton:
    """A 1 within ten seconds of a 0, or a time-out."""
    return Automaton(
        start="idle",
        final={"answered", "silent"},
        event=Signal,
        register=Tally(),
        arcs=[
            Arc("idle", "asked", lambda e, r: e.sort == 0, name="ask"),
            Arc("asked", "answered", lambda e, r: e.sort == 1, name="answer"),
            Arc.timeout("asked", "silent", f"{ZERO + 12 * SECOND}", name="silence"),
        ],
    )


def test_time_outs_late_rows_and_faults_come_out(spark: Any, tmp_path: Path) -> None:
    events, log = Files(tmp_path / "in"), Files(tmp_path / "arcs")

    def row(who: int | None, second: int | None, sort: int | None) -> str:
        return json.dumps({"who": who, "sort": sort, "at": None if second is None else when(second).isoformat()})

    log.put(["nonsense"])
    events.put([row(1, 1, 0), row(2, 2, 0), row(2, 4, 1), row(1, None, 0), row(None, 3, 0), row(3, 3, None)])
    events.put([row(9, 100, 5)])  # key 1 gets no more rows: a timer tells that it is silent
    events.put([row(9, 101, 5), row(2, 5, 0)])
    arcs = spark.readStream.text(str(log.path))
    given = {"key": "who", "time": "at", "window": "1 hour", "lateness": "10 seconds", "buckets": 2}
    pattern = afa_spark.match(watched(), arcs=arcs, metrics=True, name="afa", **given)
    query = run(read(spark, events, "who long, sort int, at timestamp").transform(pattern), tmp_path)
    metrics = [progress.observedMetrics.get("afa") for progress in query.recentProgress]
    told = {name: sum(row[name] or 0 for row in metrics if row) for name in ("matches", "withdrawn", "late", "faults")}
    assert told == {"matches": 2, "withdrawn": 0, "late": 1, "faults": 4}
    assert sum(row["events"] for row in metrics if row) == 9
    by_bucket = afa_spark.metrics(spark.read.parquet(str(tmp_path / "changes"))).collect()
    assert sum(row["events"] for row in by_bucket) == 9
    assert {row["bucket"] for row in by_bucket} == {0, 1}
    assert sum(row["keys"] for row in by_bucket if row["batch"] == 0) == 2
    assert list(Path(os.environ["AFA_SHARED_DIR"]).glob("*/*-*-*/*")), "operators wait in the folder of the Java process"
    assert all(row["memory_bytes"] > 0 and row["written_bytes"] > 0 for row in by_bucket if row["events"])
    assert [line for row in metrics if row for line in [afa_spark.line(0, 1, row.asDict())] if "1 late" in line]
    changes = spark.read.parquet(str(tmp_path / "changes")).collect()
    found = sorted((row["who"], (micros(row["le"]) - ZERO) // SECOND, row["diff"]) for row in changes if row["kind"] == "match")
    assert found == [(1, 12, 1), (2, 4, 1)]
    late = [row for row in changes if row["kind"] == "late"]
    assert [(row["who"], row["diff"]) for row in late] == [(2, 1)]
    faults = [row["reason"] for row in changes if row["kind"] == "fault"]
    assert len(faults) == 4
    assert sum("expected a line of an arc log (JSON) but got 'nonsense'" in reason for reason in faults) == 1
    assert sum("expected a key, a time and sort: int" in reason for reason in faults) == 3


class Call(NamedTuple):
    due: int


def test_what_is_still_open_at_the_end_of_a_table_stays_open(spark: Any) -> None:
    automaton = Automaton(
        start="idle",
        final={"silent"},
        event=Call,
        register=Call(0),
        arcs=[Arc("idle", "asked", "due > 0", "(due,)", name="ask"), Arc.timeout("asked", "silent", "r.due", name="silence")],
    )
    calls = [(1, 1, 12), (2, 2, 200), (3, 3, 100), (9, 100, 101)]  # who, when, until when an answer is due
    rows = [(who, when(second), when(due)) for who, second, due in calls]
    table = spark.createDataFrame(rows, "who long, at timestamp, due timestamp")
    found = {}
    for end in ("latest", "forever"):
        op: Any = Keyed(automaton, key="who", window=3600 * SECOND)
        out = [
            change for who, at, due in calls for change in op.push(insert(Call(ZERO + due * SECOND), ZERO + at * SECOND), key=who)
        ]
        out += op.push(Punctuation(ZERO + 100 * SECOND if end == "latest" else FOREVER))
        given = {"key": "who", "time": "at", "window": "1 hour", "buckets": 3}
        changes = table.transform(afa_spark.match(automaton, **given, end=end)).collect()
        assert all(row["diff"] == 1 and row["kind"] == "match" for row in changes)
        found[end] = sorted((row["who"], micros(row["le"])) for row in changes)
        assert found[end] == sorted((change.key, change.le) for change in out if not isinstance(change, Punctuation))
    assert [who for who, _ in found["latest"]] == [1, 3]
    assert [who for who, _ in found["forever"]] == [1, 2, 3, 9]
    empty = table.where("false").transform(afa_spark.match(automaton, key="who", time="at"))
    assert empty.count() == 0


def test_an_end_that_is_none(spark: Any) -> None:
    with pytest.raises(AfaError, match='expected end="latest" or "forever" but got end=\'never\''):
        spark.createDataFrame([], SCHEMA).transform(afa_spark.match(watched(), key="who", time="at", end="never"))


def test_the_arc_log_and_the_table_of_current_matches(spark: Any, tmp_path: Path) -> None:
    automaton = Automaton(
        start="a", final={"b"}, event=Signal, register=Tally(), arcs=[Arc("a", "b", lambda e, r: e.sort == 7, name="seven")]
    )
    log, events = afa_spark.arc_log(tmp_path / "arcs", automaton), Files(tmp_path / "in")
    log.insert(Arc("a", "b", lambda e, r: e.sort > 8, name="more"), at=when(10), until=when(20))
    log.retract("seven", at=when(15))

    def row(second: int, sort: int, diff: int = 1) -> str:
        return json.dumps({"who": 1, "sort": sort, "at": when(second).isoformat(), "d": diff})

    events.put([row(5, 9), row(14, 7)])
    events.put([row(12, 9), row(16, 7)])
    events.put([row(14, 7, -1)])
    pattern = afa_spark.match(automaton, key="who", time="at", window="1 hour", diff="d", lateness="1 hour", arcs=log.read(spark))
    changes = read(spark, events, "who long, sort int, at timestamp, d int").transform(pattern)
    writer = changes.writeStream.foreachBatch(afa_spark.keep_current(tmp_path / "now"))
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start().awaitTermination()
    latest = max((tmp_path / "now").glob("v=*"), key=lambda path: int(path.name[2:]))
    assert {match[-2] - ZERO for match in matches(spark.read.parquet(str(latest)))} == {12 * SECOND}
    with pytest.raises(AfaError, match="expected an arc with a name"):
        log.insert(Arc("a", "b", "e.sort > 8"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key": "nobody"}, "expected a key column 'nobody'"),
        ({"key": "size"}, "expected a key of string, bigint"),
        ({"time": "due"}, "expected a timestamp column 'due' but got bigint"),
        ({"time": "never"}, "expected a timestamp column 'never'"),
    ],
)
def test_columns_that_are_not_there_are_named(spark: Any, options: dict[str, str], message: str) -> None:
    here: Setting = of_program("words", ("who",))
    table = spark.createDataFrame([], SCHEMA)
    with pytest.raises(AfaError, match=message):
        table.transform(afa_spark.match(here.automaton, **{"key": "who", "time": "at", **options}))


def test_a_pattern_that_comes_by_the_arc_log(spark: Any, tmp_path: Path) -> None:
    """Of an automaton without arcs; where there is no arc log, none can come."""

    class Ping(NamedTuple):
        sort: int

    empty = Automaton(start="a", final={"b"}, event=Ping, arcs=[])
    log = afa_spark.arc_log(tmp_path / "arcs", empty)
    log.insert(Arc("a", "b", "e.sort > 3", name="high"), at=when(0), until=when(30))
    table = spark.createDataFrame([(1, 5, when(10)), (1, 2, when(20)), (1, 5, when(40))], "who long, sort int, at timestamp")
    given: dict[str, Any] = {"key": "who", "time": "at", "window": "1 hour"}
    found = table.transform(afa_spark.match(empty, arcs=spark.read.text(str(log.path)), **given))
    assert [micros(row["le"]) - ZERO for row in found.select("le").collect()] == [10 * SECOND]
    with pytest.raises(AfaError, match="expected a start state that an arc leaves but got start='a'; arcs leave"):
        table.transform(afa_spark.match(empty, **given))
    with pytest.raises(AfaError, match="expected final states that 'a' reaches but got 'b': no arc leads to it"):
        table.transform(afa_spark.match(Automaton(start="a", final={"b"}, event=Ping, arcs=[Arc("a", "c", "True")]), **given))
