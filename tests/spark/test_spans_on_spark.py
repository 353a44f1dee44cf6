"""A pattern with durations on Spark means, as times, what it means to an operator of any tick; arc logs may say durations too."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import afa
from afa import Arc, Automaton, AutomatonError, Keyed
from afa import spark as afa_spark
from afa.language import one
from tests.spark.buckets import job_of

LIMIT = afa.span("10 minutes")
START = datetime(2026, 3, 29, 0, 30, tzinfo=timezone.utc)  # across the hour that Berlin's clocks skip
SECONDS = {"a": [0, 599, 1199, 1300, 5000, 5600], "b": [0, 600, 3599, 4000]}


class Pay(NamedTuple):
    at: afa.Instant
    amount: int


class First(NamedTuple):
    at: int = 0


def pair(last: Any) -> Automaton:
    arcs = [Arc("0", "1", "True", lambda e, r: First(e.at), name="begin"), Arc("1", "2", last, name="end")]
    return Automaton(start="0", final={"2"}, event=Pay, register=First(), arcs=arcs)


def rows() -> list[tuple[str, datetime, int]]:
    return [(who, START + timedelta(seconds=t), 1) for who, times in SECONDS.items() for t in times]


def by_operator(automaton: Any, tick: str, scale: int) -> set[tuple[str, datetime]]:
    op = Keyed(automaton, key="who", window="1 hour", tick=tick)
    base = int(START.timestamp())
    table = {
        "who": [who for who, times in SECONDS.items() for _ in times],
        "amount": [1 for times in SECONDS.values() for _ in times],
        "le": [(base + t) * scale for times in SECONDS.values() for t in times],
    }
    out = op.push_many(table)
    return {(who, datetime.fromtimestamp(int(le) // scale, timezone.utc)) for who, le in zip(out["who"], out["le"])}


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC"])
def test_matches_are_those_of_an_operator(spark: Any, zone: str) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = spark.createDataFrame(rows(), "who string, time timestamp, amount int")
        automaton = pair(lambda e, r: e.at - r.at < LIMIT)
        found = frame.transform(afa_spark.match(automaton, key="who", time="time", window="1h", buckets=1)).collect()
        got = {(row["who"], row["le"].astimezone(timezone.utc)) for row in found}
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    for tick, scale in (("s", 1), ("ms", 1000), ("us", 10**6)):
        assert by_operator(automaton, tick, scale) == got
    starts = {int((START + timedelta(seconds=t)).timestamp() * 10**6) for times in SECONDS.values() for t in times}
    assert {row["at"] for row in found} <= starts


def test_an_arc_log_may_say_durations(spark: Any) -> None:
    frame = spark.createDataFrame(rows(), "who string, time timestamp, amount int")
    arc = {"src": "1", "dst": "2", "fence": "at - r.at < span('10 minutes')", "name": "later"}
    bad = arc | {"fence": "at - r.at < span('1 ns')", "name": "bad"}
    lines = [json.dumps({"op": "insert", "arc": each, "at": 0}) for each in (arc, bad)]
    arcs = spark.createDataFrame([(line,) for line in lines], "value string")
    plan = afa_spark.match(pair("at - r.at < 7"), key="who", time="time", window="1 hour", buckets=1, arcs=arcs)
    found = frame.transform(plan).collect()
    got = {(row["who"], row["le"].astimezone(timezone.utc)) for row in found if row["kind"] == "match"}
    assert got == by_operator(pair(lambda e, r: e.at - r.at < LIMIT), "us", 10**6)
    (fault,) = [row["reason"] for row in found if row["kind"] == "fault"]
    assert "expected a whole number of ticks (int64) but got span('1 ns') with tick='us' in the fence of arc 'bad'" in fault


def test_a_job_knows_ticks_only() -> None:
    automaton = pair(lambda e, r: e.at - r.at < LIMIT)
    plain = pair(lambda e, r: e.at - r.at < 600_000_000)
    jobs = [job_of(each, "who", "1 hour", None, 4, "report", [pa.string()]) for each in (automaton, plain)]
    assert jobs[0].recipe == jobs[1].recipe, "a restart goes on where durations take the place of ints"
    with pytest.raises(AutomatonError, match=r"expected a whole number of ticks .* got span\('1 ns'\) with tick='us'"):
        job_of(pair("at < span('1 ns')"), "who", "1 hour", None, 4, "report", [pa.string()])


def test_a_builder_has_microseconds_where_it_says_nothing(spark: Any) -> None:
    frame = spark.createDataFrame(rows(), "who string, at timestamp, amount int")

    class Paid(NamedTuple):
        who: str
        at: afa.Instant

    later = one("b", lambda e, m: e.at - m.a.at < LIMIT)
    built = one("a").next(later).by("who").within("1 hour").returns(since=lambda m: m.a.at).of(Paid)
    found = frame.transform(afa_spark.match(built, time="at", buckets=1)).collect()
    got = {(row["who"], row["le"].astimezone(timezone.utc)) for row in found}
    assert got == by_operator(pair(lambda e, r: e.at - r.at < LIMIT), "s", 1)
