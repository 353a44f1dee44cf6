"""Temporal patterns through Spark: what comes out is what one operator of the pattern says of the same readings."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import afa
from afa.change import Change
from afa.situations import Situation, TemporalPattern
from afa.spark import match, replay
from tests.spark.streams import micros
from tests.spark.test_rows_of_matches import told
from tests.spark.test_stream import Files, run

COLUMNS = "who string, speed int, wet boolean, time timestamp"
SECOND = 1_000_000
BASE = datetime(2026, 1, 1, tzinfo=timezone.utc)
ZERO = int(BASE.timestamp()) * SECOND
Row = tuple[str, int, bool, int]


class Reading(NamedTuple):
    who: str
    speed: int
    wet: bool
    at: afa.Instant | None = None


def driving(speed: int = 3) -> TemporalPattern:
    return TemporalPattern(
        event=Reading,
        within="40 seconds",
        key="who",
        fast=Situation(f"speed > {speed}", at_least="2 seconds"),
        rain=Situation("wet", at_most=timedelta(seconds=9)),
        calm=Situation("speed < 2 and not wet"),
        where="fast overlaps|during|contains|starts|finishes|before rain and calm before|meets|after|met_by rain",
        returns={"top": "max(fast.speed)", "n": "count(rain)"},
    )


def readings(seed: str, n: int = 160) -> list[Row]:
    """Readings of three keys, some up to eight seconds late; each key has one at a time."""
    rng = random.Random(seed)
    rows = [(rng.choice("ABC"), rng.randint(0, 6), rng.random() < 0.4, t) for t in range(n)]
    return sorted(rows, key=lambda row: row[3] + (rng.randint(1, 8) if rng.random() < 0.3 else 0))


def in_lines(rows: list[Row]) -> list[str]:
    return [json.dumps({"who": k, "speed": s, "wet": w, "time": (BASE + timedelta(seconds=t)).isoformat()}) for k, s, w, t in rows]


def add(changes: list[Any], net: Counter[Any]) -> None:
    for change in changes:
        if isinstance(change, Change):
            net[change.key, tuple(change.payload), change.le, change.re] += change.diff


def take(op: Any, items: list[Any], net: Counter[Any]) -> None:
    add(op.push_many(items), net)


def found_in(table: Any, pattern: TemporalPattern) -> set[Any]:
    names = [field.name for field in pattern.automaton.match_schema.fields]
    return {(row.who, tuple(told(row[name]) for name in names), micros(row.le), micros(row.re)) for row in table.collect()}


@pytest.mark.parametrize(
    "speed", [pytest.param(3, id="the same pattern", marks=pytest.mark.stress), pytest.param(4, id="another threshold")]
)
def test_a_stream_with_a_restart_equals_one_operator(spark: Any, speed: int, tmp_path: Path) -> None:
    """Late rows, keys that move to other buckets; a threshold that changes holds from the present on, which the job tells."""
    rng, rows, events = random.Random(speed), readings("stream"), Files(tmp_path / "in")
    half = len(rows) // 2
    op, net = driving().operator(tick="us"), Counter[Any]()
    for part, pattern in enumerate([driving(), driving(speed)]):
        come = rows[part * half : part * half + half]
        begin = 0
        while begin < len(come):
            end = begin + rng.randint(25, 45)
            events.put(in_lines(come[begin:end]))
            begin = end
        stream = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(events.path))
        more: dict[str, Any] = {"lateness": "10 seconds", "buckets": 2 + part, "checkpoint": str(tmp_path / "checkpoint")}
        run(stream.transform(match(pattern, time="time", **more)), tmp_path)
        told = spark.read.parquet(str(tmp_path / "changes")).where("kind = 'code' and reason like '%condition%'").collect()
        presents = {int(re.findall(r"from (\d+) on .*the condition of 'fast' is 'e.speed > 4'", row.reason)[0]) for row in told}
        assert len(presents) == (part and speed == 4)
        for present in presents:
            add(op.redefine("fast", "speed > 4", le=present), net)
        take(op, [afa.insert(Reading(k, s, w), ZERO + t * SECOND) for k, s, w, t in come], net)
    take(op, [afa.Punctuation(ZERO + (max(t for *_, t in rows) - 10) * SECOND)], net)
    changes = spark.read.parquet(str(tmp_path / "changes"))
    assert {row.kind for row in changes.select("kind").distinct().collect()} == {"match", "code"}
    got = found_in(afa.spark.current(changes), driving())
    assert len(got) > 5
    assert got == {found for found, copies in net.items() if copies}


@pytest.mark.parametrize("end", ["latest", "forever"])
def test_a_static_table_equals_find(spark: Any, end: Any, caplog: pytest.LogCaptureFixture) -> None:
    rows, pattern = readings("static", 60), driving()
    columns = dict(zip(("who", "speed", "wet", "time"), map(list, zip(*rows))))
    columns["time"] = [ZERO + t * SECOND for t in columns["time"]]
    want = afa.find(pattern, columns, time="time", tick="us", end=end)
    names = [field.name for field in pattern.automaton.match_schema.fields]
    columns_of = [list(want[name]) for name in ("who", *names, "le", "re")]
    there = {(who, tuple(values), le, re) for who, *values, le, re in zip(*columns_of)}
    table = spark.createDataFrame([(k, s, w, BASE + timedelta(seconds=t)) for k, s, w, t in rows], COLUMNS)
    assert there
    assert found_in(table.transform(match(pattern, time="time", buckets=2, end=end)), pattern) == there
    again = replay(pattern, time="time", buckets=2, end=end)
    assert found_in(table.transform(again), pattern) == there
    assert str(again.plan) == "full run (a reading that is left out would change what holds after the one before it)"


def test_what_does_not_fit_is_refused(spark: Any) -> None:
    table = spark.createDataFrame([("A", 1, True, BASE)], COLUMNS)
    with pytest.raises(afa.AfaError, match="with require=True, but got a full run: a reading that is left out would change"):
        table.transform(replay(driving(), time="time", require=True))
    with pytest.raises(
        afa.AfaError, match=r"arcs=DataFrame.* can't be combined with a temporal pattern because its arcs follow from where="
    ):
        table.transform(match(driving(), time="time", arcs=spark.createDataFrame([("{}",)], "value string")))
    with pytest.raises(afa.AfaError, match=r"expected a column 'speed' but got the columns who, wet, time"):
        table.drop("speed").transform(match(driving(), time="time"))
