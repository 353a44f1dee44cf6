"""What the columns of a DataFrame become as fields of an event: exactly the same value, or a row that can't be read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from afa import AfaError, Arc, Automaton
from afa.spark.job import delay, microseconds
from tests.spark.streams import SECOND, when

afa_spark = pytest.importorskip("afa.spark", reason='pyspark is not installed: pip install "afa[spark]"')

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
BERLIN = "Europe/Berlin"


def ticks(*moment: int, zone: Any = timezone.utc) -> int:
    return (datetime(*moment, tzinfo=zone) - EPOCH) // timedelta(microseconds=1)  # type: ignore[arg-type,misc]


class Whole(NamedTuple):
    value: int | None


class Real(NamedTuple):
    value: float | None


class Flag(NamedTuple):
    value: bool | None


@pytest.fixture
def zone(spark: Any) -> Iterator[str]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", BERLIN)
    yield BERLIN
    spark.conf.set("spark.sql.session.timeZone", before)


def seen(spark: Any, schema: Any, *literals: str) -> list[Any]:
    """What an automaton finds in an event's field that a column of these values feeds, in their order; "fault" for a bad row."""
    automaton = Automaton(start="a", final={"b"}, event=schema, register=schema(None), arcs=[Arc("a", "b", "True", "(e.value,)")])
    rows = ", ".join(f"({i}, {literal})" for i, literal in enumerate(literals))
    table = spark.sql(f"select who, value, timestamp'2026-01-01' as at from values {rows} as t(who, value)")
    found = table.transform(afa_spark.match(automaton, key="who", time="at", buckets=1)).collect()
    return [row["value"] if row["kind"] == "match" else row["kind"] for row in sorted(found, key=lambda row: row["who"])]


MOMENTS = [
    (
        (
            "timestamp'2013-07-01 12:00:00.123456Z'",
            "timestamp'1969-12-31 23:59:59.999999Z'",
            "timestamp'0001-01-02 00:00:00.5Z'",
            "null",
        ),
        (ticks(2013, 7, 1, 12, 0, 0, 123456), -1, ticks(1, 1, 2, 0, 0, 0, 500_000), None),
    ),
    (
        ("timestamp_ntz'2013-07-01 12:00:00.000001'", "timestamp_ntz'1960-01-01 00:00:00.75'"),
        (ticks(2013, 7, 1, 12, 0, 0, 1, zone=ZoneInfo(BERLIN)), ticks(1960, 1, 1, 0, 0, 0, 750_000, zone=ZoneInfo(BERLIN))),
    ),
    (("date'2013-07-01'", "null"), (ticks(2013, 7, 1, zone=ZoneInfo(BERLIN)), None)),
    (("interval '1 02:03:04.567891' day to second", "interval '-0 00:00:00.000001' day to second"), (93_784_567_891, -1)),
]


@pytest.mark.parametrize(("literals", "expected"), MOMENTS)
def test_moments_are_microseconds(spark: Any, zone: str, literals: tuple[str, ...], expected: tuple[Any, ...]) -> None:
    assert seen(spark, Whole, *literals) == list(expected)


def test_moments_in_a_float_field(spark: Any) -> None:
    literals = ("timestamp'2013-07-01 12:00:00.123456Z'", "timestamp'9999-01-01 00:00:00.000001Z'")  # no float equals the second
    assert seen(spark, Real, *literals) == [float(ticks(2013, 7, 1, 12, 0, 0, 123456)), "fault"]


@pytest.mark.parametrize(
    ("schema", "literals", "expected"),
    [
        (
            Whole,
            ("1.0d", "1.5d", "double('nan')", "9.223372036854775807e18d", "-9.223372036854775808e18d"),
            [1, *["fault"] * 3, -(2**63)],
        ),
        (Whole, ("1.00bd", "1.50bd"), [1, "fault"]),
        (Whole, ("'7'", "'x'", "null"), [7, "fault", None]),
        (Real, ("9007199254740992", "9007199254740993", "9223372036854775807"), [2.0**53, "fault", "fault"]),
        (Real, ("1.25bd", "null"), [1.25, None]),
        (Flag, ("1", "0", "2"), [True, False, "fault"]),
        (Flag, ("'true'", "'no'", "'maybe'"), [True, False, "fault"]),
    ],
)
def test_what_a_field_does_not_hold_is_a_bad_row(spark: Any, schema: Any, literals: tuple[str, ...], expected: list[Any]) -> None:
    assert seen(spark, schema, *literals) == expected


def test_a_fence_between_fractions_of_a_second(spark: Any) -> None:
    class Flight(NamedTuple):
        due: int
        left: int

    automaton = Automaton(
        start="a", final={"b"}, event=Flight, arcs=[Arc("a", "b", "left - due > 60250000", name="late")]
    )  # 60.25 s
    rows = [(i, when(0), when(60) + timedelta(microseconds=250_000 + i)) for i in range(-3, 4)]
    table = spark.createDataFrame(rows, "who long, due timestamp, left timestamp").selectExpr("*", "due as at")
    found = table.transform(afa_spark.match(automaton, key="who", time="at", buckets=1)).collect()
    assert sorted(row["who"] for row in found) == [1, 2, 3]


def test_durations_are_text_or_timedelta(spark: Any) -> None:
    automaton = Automaton(start="a", final={"b"}, event=Whole, arcs=[Arc("a", "b", "value > 0")])
    stream = spark.readStream.format("rate").load()
    stream = stream.selectExpr("value as who", "value", "timestamp as at")
    for duration in ("90 seconds", timedelta(seconds=90)):
        given = {"window": duration, "lateness": duration, "speculation": duration}
        plan = stream.transform(afa_spark.match(automaton, key="who", time="at", **given))
        assert plan.isStreaming
        text = plan._jdf.queryExecution().analyzed().toString()
        assert "1 minutes 30 seconds" in text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, 'expected a duration such as "24 hours" but got lateness=5'),
        (pd.Timedelta(-1, "us"), "expected a duration of 0 microseconds at least but got lateness="),
        (pd.Timedelta(1, "ns"), "expected a duration of whole microseconds but got lateness="),
        (timedelta(seconds=-1), "expected a duration of 0 microseconds at least but got lateness="),
        ("", "expected a duration such as .* but got lateness=''"),
        (None, 'expected a duration such as "24 hours" but got lateness=None'),
    ],
)
def test_durations_that_are_none(spark: Any, value: Any, message: str) -> None:
    with pytest.raises(AfaError, match=message):
        delay(value)


def test_long_and_short_durations() -> None:
    assert microseconds(timedelta(days=400_000), "window") == 400_000 * 86_400 * SECOND
    assert microseconds(timedelta(microseconds=1), "window") == 1
    for text in ("1h 30m", "90 minutes", "1:30:00", "PT1H30M", "0 days 01:30:00"):
        assert microseconds(text, "window") == 5400 * SECOND
