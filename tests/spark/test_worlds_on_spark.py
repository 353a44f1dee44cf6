"""`Worlds` through Spark: what comes out is what one `Worlds` says of the same rows."""

from __future__ import annotations

import json
import random
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
import pyarrow as pa
import pytest

import afa
from afa import AfaError, Arc, Automaton, Change, Punctuation
from afa.errors import ChangeError, LateEventError, SnapshotError
from afa.extra.uncertain.worlds_options import UPPER
from afa.model.option_values import names_of
from afa.operator.options import Options
from afa.spark import match, replay
from afa.spark.bucket import bucket_of_job
from afa.spark.job import BucketAnswer, Job, job_of
from afa.spark.packed_rows import BadRow, changes_schema, written
from afa.spark.pattern_said import said_of
from afa.spark.worlds_bucket import WorldsBucket, check_same
from afa.uncertain import Clock, Worlds
from tests.spark.streams import micros
from tests.spark.test_stream import Files, run

SECOND = 1_000_000
BASE = datetime(2026, 1, 1, tzinfo=timezone.utc)
ZERO = int(BASE.timestamp()) * SECOND
COLUMNS = "id long, host string, kind string, lower timestamp, upper timestamp, diff int"


class Item(NamedTuple):
    id: int
    kind: str


class Pair(NamedTuple):
    a: int = -1
    b: int = -1


class Row(NamedTuple):
    """An event, or its retraction; times in seconds."""

    id: int
    host: str
    kind: str
    lower: float
    upper: float
    diff: int = 1


def pattern(timeout: bool = False) -> Automaton:
    """An A, then a B with no C in between; or an A with neither within ten seconds."""
    end = Arc.timeout("1", "2", "r.a * 0 + 10000000", name="none")
    return Automaton(
        start="0",
        final={"2"},
        event=Item,
        register=Pair(),
        arcs=[
            Arc("0", "1", "kind == 'A'", "Pair(id, -1)"),
            Arc("1", "1", "kind != 'C'"),
            *([end] if timeout else [Arc("1", "2", "kind == 'B'", "Pair(r.a, id)")]),
        ],
    )


def worlds(**more: Any) -> Worlds:
    given = {"lower": "lower", "upper": "upper", "identity": "id", "key": "host", "window": "30 seconds", "tick": "us"}
    return Worlds(pattern(), **{"worlds": 20, **given, **more})


def rows(seed: str, n: int = 120) -> list[Row]:
    """Events of three hosts, some late, some retracted."""
    rng = random.Random(seed)
    found = list[Row]()
    for i in range(n):
        if found and rng.random() < 0.1:
            old = rng.choice(found[-15:])
            if old.diff > 0 and old._replace(diff=-1) not in found:
                found.append(old._replace(diff=-1))
                continue
        lower = max(0.0, i - (rng.randint(1, 8) if rng.random() < 0.3 else 0))
        found.append(Row(i, rng.choice("xyz"), rng.choice("AABBC"), lower, lower + rng.choice([0, 0.5, 3, 9])))
    return found


def moment(second: float) -> datetime:
    return BASE + timedelta(seconds=second)


def in_lines(some: Sequence[Row]) -> list[str]:
    return [json.dumps({**r._asdict(), "lower": moment(r.lower).isoformat(), "upper": moment(r.upper).isoformat()}) for r in some]


def as_table(some: Sequence[Row], lower: str = "lower", upper: str = "upper") -> pa.Table:
    columns = {name: [getattr(row, name) for row in some] for name in ("id", "host", "kind", "diff")}
    ends = {lower: [ZERO + round(row.lower * SECOND) for row in some], upper: [ZERO + round(row.upper * SECOND) for row in some]}
    return pa.table(columns | ends)


def net_of(op: Worlds, calls: Sequence[Sequence[Any]]) -> set[Any]:
    """What is in force after all these calls: of tables, and of promises."""
    net = Counter[Any]()
    for call in calls:
        for change in op.push_many(list(call)):
            if isinstance(change, Change):
                net[change.key, tuple(change.payload), change.le, change.re] += change.diff
    assert set(net.values()) <= {0, 1}
    return {found for found, n in net.items() if n}


def found_in(table: Any) -> set[Any]:
    return {
        (row.host, (row.a, row.b, row.confidence, micros(row.first), micros(row.last)), micros(row.le), micros(row.re))
        for row in table.collect()
    }


# -- buckets, without Spark ------------------------------------------------------------------------------------------------


def job_with(given: Worlds, **more: Any) -> Job:
    said = said_of(given, Options(), time="lower")
    types = [pa.string()] * len(names_of(said.options.key, "key"))
    options = {"buckets": 1, "on_fault": "report", "late": "report", "since": 0, **more}
    return job_of(said.automaton, said.options, key_types=types, asked=said.asked, **options)


def bucket_with(job: Job, number: int = 0, blob: bytes = b"") -> WorldsBucket:
    found = bucket_of_job(job, number, [blob] if blob else [])
    assert isinstance(found, WorldsBucket)
    return found


def snapshot_in(blob: bytes) -> bytes:
    """The snapshot of `Worlds` in the state of a bucket."""
    found: bytes = msgpack.unpackb(zlib.decompress(blob))[-1]
    return found


def net_in(job: Job, answers: Sequence[Any]) -> set[Any]:
    net = Counter[Any]()
    for answer in answers:
        for row in written(job, answer, []).to_pylist():
            if row["kind"] == "match":
                *shown, le, re = (row[name] for name in changes_schema(job).names[1:-3])
                net[row["host"], tuple(shown), le, re] += row["diff"]
    return {found for found, n in net.items() if n}


def test_a_bucket_lets_go_and_goes_on() -> None:
    """Its state is read before each batch, and is gone when a promise has made all final."""
    job, some, op = job_with(worlds()), rows("bucket"), worlds()
    blob, answers, calls, promised = b"", list[Any](), list[Any](), 0
    for at in range(0, len(some), 12):
        come = [row for row in some[at : at + 12] if ZERO + row.lower * SECOND >= promised]
        bucket = bucket_with(job, 0, blob)
        random.Random(at).shuffle(come)
        answers.append(bucket.run(as_table(come, "le", UPPER), [], promised))
        blob = bucket.save(False)
        assert snapshot_in(blob)
        calls.append([as_table(sorted(come, key=lambda row: -row.diff))])
        promised = ZERO + (at - 10) * SECOND
    ends = list[Any]()
    while (wakes := bucket_with(job, 0, blob).wakes(promised // 1000)) is not None:
        bucket = bucket_with(job, 0, blob)
        promised = wakes * 1000
        answers.append(bucket.run(None, [], promised))
        blob = bucket.save(False)
        ends.append(promised - ZERO)
    assert snapshot_in(blob) == b""
    last = max(round(row.upper * SECOND) for row in some)
    assert ends == [last + 1000, last + 30 * SECOND]  # the next millisecond
    found = net_in(job, answers)
    assert len(found) > 20
    assert found == net_of(op, calls)


def test_what_a_bucket_tells_of_rows_that_it_does_not_take() -> None:
    first = [Row(1, "x", "A", 0, 2), Row(2, "x", "B", 3, 4), Row(3, "x", "B", 5, 5)]
    other = [Row(2, "x", "C", 3, 4), Row(4, "x", "B", 6, 7), Row(3, "x", "B", 5, 6), Row(1, "x", "A", 0, 2, -1)]
    job = job_with(worlds())
    bucket = bucket_with(job, 3)
    answers = [
        bucket.run(as_table(first, "le", UPPER), [], 0),
        bucket.run(as_table(other, "le", UPPER), [], ZERO),
    ]
    said = [(fault.reason[:62], fault.what, fault.key) for fault in answers[1].faults]
    assert said == [
        ("expected an identity of one event but got 2 with different con", "bucket 3", ("x",)),
        ("expected an identity under one interval, [1767225605000000, 17", "bucket 3", ("x",)),
    ]
    assert net_in(job, answers) == set()
    with pytest.raises(AfaError, match="expected an identity of one event but got 2"):
        bucket_with(job_with(worlds(), on_fault="raise"), 3).run(as_table([*first, *other], "le", UPPER), [], 0)
    bad, reason = [BadRow({"id": None}, None)], "expected a key, lower <= upper and id: int, kind: str but got {'id': None}"
    assert [(row["reason"], row["host"]) for row in written(job, BucketAnswer([], [], []), bad).to_pylist()] == [(reason, None)]
    with pytest.raises(ChangeError, match=re.escape(reason)):
        written(job_with(worlds(), on_fault="raise"), BucketAnswer([], [], []), bad)
    late = bucket.run(as_table([Row(5, "x", "A", 2, 9)], "le", UPPER), [], ZERO + 4 * SECOND).late
    assert late == [Change(Item(5, "A"), ZERO + 2 * SECOND, None, 1, "x")]
    with pytest.raises(
        LateEventError, match=r"expected nothing behind the watermark \d+ but got 1 late, first \[1767225600000000, "
    ):
        bucket_with(job_with(worlds(), late="raise"), 0).run(as_table(first, "le", UPPER), [], ZERO + 3 * SECOND)


def test_a_function_that_raises_leaves_out_the_rows_that_it_is_asked_of(caplog: pytest.LogCaptureFixture) -> None:
    arcs = [
        Arc("0", "1", lambda e, r: 8 // (e.id - 4) > -9, lambda e, r: Pair(e.id, -1), name="first"),
        Arc("1", "2", "kind == 'B'"),
    ]
    given = Automaton(start="0", final={"2"}, event=Item, register=Pair(), arcs=arcs)
    options = {**worlds().options, "engine": "interpreted"}
    some = [Row(n, "x", "B", n, n) for n in range(8)]
    answer = bucket_with(job_with(Worlds(given, **options)), 0).run(as_table(some, "le", UPPER), [], 0)
    ((reason, *where, _),) = answer.faults
    assert reason.startswith("ZeroDivisionError: integer division or modulo by zero; ")
    assert where == ["bucket 0", ("x",), ZERO + 4 * SECOND]
    assert net_in(job_with(worlds()), [answer]) == net_of(Worlds(given, **options), [[as_table(some[:4] + some[5:])]])
    assert not caplog.records


def test_revised_in_one_batch() -> None:
    """A retraction and the event in its place may stand in any order."""
    job, old, new = job_with(worlds()), Row(2, "x", "B", 3, 4), Row(2, "x", "B", 3, 9)
    bucket = bucket_with(job)
    answers = [bucket.run(as_table([Row(1, "x", "A", 0, 2), old], "le", UPPER), [], 0)]
    for n, one, other in ((1, old, new), (2, new, old)):
        come = [other, one._replace(diff=-1), Row(n + 5, "x", "B", 2, 2), Row(n + 5, "x", "B", 2, 2, -1)]
        answers.append(bucket.run(as_table(come, "le", UPPER), [], 0))
        assert answers[-1].faults == []
    assert net_in(job, answers) == net_of(worlds(), [[as_table([Row(1, "x", "A", 0, 2), old])]])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (worlds(seed=1), r"expected the possible worlds \(the options of Worlds\) that the checkpoint was made with, "),
        (
            worlds(window="31 seconds"),
            r"expected the possible worlds \(the options of Worlds\) that the checkpoint was made with, ",
        ),
        (worlds(key=None), r"expected the key columns that the checkpoint was made with, \['host string'\], but got \[\]"),
        (
            Worlds(pattern(True), **worlds().options),
            "expected the arcs that the checkpoint was made with, .* but got .*: Worlds keep",
        ),
    ],
    ids=["seed", "window", "key", "arcs"],
)
def test_what_a_restart_may_not_change(given: Worlds, said: str) -> None:
    before = job_with(worlds()).recipe
    check_same(json.loads(json.dumps(before)), job_with(worlds(engine="interpreted")).recipe)
    with pytest.raises(SnapshotError, match=said):
        check_same(json.loads(json.dumps(before)), job_with(given).recipe)


# -- through Spark ---------------------------------------------------------------------------------------------------------


def test_a_stream_with_a_restart_and_its_history(spark: Any, tmp_path: Path) -> None:
    some, events, calls, latest = rows("stream"), Files(tmp_path / "in"), list[Any](), 0.0
    late = [Row(1000, "x", "A", 1, 2), Row(1001, "y", "B", 2, 30)]
    bad = Row(1002, "y", "B", 9, 8)
    for part in range(2):
        for at in (0, 30):
            come = some[part * 60 + at : part * 60 + at + 30]
            assert all(row.lower >= latest - 20 for row in come)
            calls.append([as_table(come)])
            latest = max(row.lower for row in (*some[: part * 60 + at], *come))
            events.put(in_lines([*come, *(late if part else []), *([bad] if at else [])]))
        stream = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(events.path))
        found = stream.transform(match(worlds(), time="lower", diff="diff", lateness="20 seconds", buckets=2))
        query = run(found, tmp_path)
    changes = spark.read.parquet(str(tmp_path / "changes"))
    names = ["host", "a", "b", "confidence", "first", "last", "le", "re", "diff", "id", "kind", "reason"]
    assert changes.columns == names
    want = net_of(worlds(), calls)
    assert len(want) > 20
    assert found_in(afa.spark.current(changes)) == want
    told = Counter((row.kind, row.reason) for row in changes.where("kind <> 'match'").collect())
    assert sum(n for (kind, _), n in told.items() if kind == "late") == 4
    assert {reason for kind, reason in told if kind == "late"} == {f"behind the watermark: {Item(r.id, r.kind)!r}" for r in late}
    assert sum(n for (kind, _), n in told.items() if kind == "fault") == 2
    observed = [row for progress in query.recentProgress for row in progress.observedMetrics.values()]
    assert sum(row["late"] or 0 for row in observed) == 4
    assert sum(row["events"] or 0 for row in observed) == 65
    history = spark.read.schema(COLUMNS).json(str(events.path)).where("id < 1000")
    final = history.transform(match(worlds(), time="lower", diff="diff", buckets=3))
    assert final.where("kind <> 'match' or diff <> 1").count() == 0
    assert found_in(final) == want


def test_a_clock_with_time_outs(spark: Any, tmp_path: Path) -> None:
    """The watermark is the promise, less what clocks are off; it fires time-outs of buckets without rows. No key: one bucket."""
    clock = Clock(by="kind", skew="2 seconds", own="500 ms")
    given = Worlds(pattern(True), worlds=20, identity="id", clock=clock, time="at", window="30 seconds", tick="us")
    some = [Row(i, "x", kind, 3 * i, 3 * i) for i, kind in enumerate("AABCABBABAAC")]
    end = Row(100, "x", "B", 500, 500)
    op = given.restore(given.snapshot())
    want = net_of(op, [[as_table([*some, end], "at").drop_columns("upper")], [Punctuation(ZERO + 4975 * SECOND // 10)]])
    events = Files(tmp_path / "in")
    for come in (some[:6], some[6:], [end]):
        events.put(in_lines(come))
    stream = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(events.path))
    stream = stream.withColumnRenamed("lower", "at").drop("host")
    run(stream.transform(match(given, time="at")), tmp_path)
    changes = spark.read.parquet(str(tmp_path / "changes"))
    found = afa.spark.current(changes).selectExpr("string(null) as host", "*")
    assert len(want) > 3
    assert found_in(found) == want
    whole = spark.read.schema(COLUMNS).json(str(events.path)).withColumnRenamed("lower", "at").drop("host")
    assert found_in(whole.transform(match(given, time="at")).selectExpr("string(null) as host", "*")) == want


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "until": ({"until": "upper"}, "until='upper' can't be combined with Worlds on Spark because an event lives for the window"),
    "longest": ({"longest": True}, "longest=.* can't be combined with Worlds on Spark"),
    "members": ({"members": "id"}, "members=.* can't be combined with Worlds on Spark .* put identities into the register"),
    "speculation": ({"speculation": "0 seconds"}, "speculation=.* can't be combined with Worlds on Spark"),
    "checkpoint": ({"checkpoint": "here"}, "checkpoint=.* can't be combined with Worlds on Spark"),
    "window": ({"window": "30 seconds"}, "window=.* can't be combined with Worlds on Spark because they say it themselves"),
    "key": ({"key": "kind"}, "expected the key of Worlds, key='host', but got key='kind'"),
    "time": ({"time": "upper"}, "expected time='lower', the lower ends of intervals, which the watermark follows, but got"),
    "end": ({"end": "never"}, 'expected end="latest" or "forever"'),
}


@pytest.mark.parametrize("option", REFUSED)
def test_refused_options(option: str, spark: Any) -> None:
    table = spark.createDataFrame([(1, "x", "A", BASE, BASE, 1)], COLUMNS)
    options, said = REFUSED[option]
    with pytest.raises(AfaError, match=said):
        table.transform(match(worlds(), **{"time": "lower", **options}))


def test_refused_worlds(spark: Any) -> None:
    table = spark.createDataFrame([(1, "x", "A", BASE, BASE, 1)], COLUMNS)
    used = worlds()
    used.push_many(as_table(rows("used", 3)))
    for given, said in (
        (used, "expected Worlds that have taken nothing"),
        (worlds(tick="ms"), "expected Worlds with tick='us'"),
        (worlds(late="drop"), r"expected Worlds without late= on Spark but got late='drop': match\(late=\) says it"),
        (worlds(upper="kind"), "expected a column 'kind' of timestamps, or of microseconds as bigint, but got string"),
        (worlds(upper="none"), "expected a column 'none' of timestamps, .* but got the columns id, host"),
    ):
        with pytest.raises(AfaError, match=said):
            table.transform(match(given, time="lower"))
    with pytest.raises(AfaError, match=r"but got Worlds\(.*\): match takes it, over all rows"):
        replay(worlds(), time="lower")
