"""Aggregates of situations as text, and situations by themselves."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple

import pytest

import afa
from afa.errors import AfaError, QueryError
from afa.extra.situations.situation_aggregates import SituationAggregate, aggregates_of
from afa.schema import Schema
from afa.situations import Situation


class Car(NamedTuple):
    """A reading."""

    when: afa.Instant
    speed: float
    gear: int | None
    plate: str
    fast: bool
    extra: Any


CAR = Schema.of(Car, "event")


def asked(text: Any) -> SituationAggregate:
    return aggregates_of({"x": text}, ["speeding", "braking"], CAR)["x"]


def test_what_is_asked_for() -> None:
    assert asked("avg(speeding.speed)") == ("avg_speeding_speed", "avg", "speeding", "speed")
    assert asked(" count ( braking ) ") == ("count_braking", "count", "braking", None)
    assert str(asked("count(speeding.extra)")) == "count(speeding.extra)"
    assert aggregates_of(None, ["speeding"], CAR) == {}


@pytest.mark.parametrize(
    ("text", "kind", "is_time"),
    [
        ("avg(speeding.gear)", float, False),
        ("sum(speeding.gear)", int, False),
        ("max(speeding.speed)", float, False),
        ("first(speeding.plate)", str, False),
        ("last(speeding.fast)", bool, False),
        ("count(speeding)", int, False),
        ("last(speeding.when)", int, True),
        ("max(speeding.when)", int, True),
        ("count(speeding.when)", int, False),
        ("avg(speeding.when)", float, False),
    ],
)
def test_types(text: str, kind: type, is_time: bool) -> None:
    assert (asked(text).type_of(CAR), asked(text).is_time(CAR)) == (kind, is_time)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "average(speeding.speed)",
            "column 1: expected a function of a situation's readings but got 'average'; did you mean 'avg'",
        ),
        ("median(speeding.speed)", "expected a function of a situation's readings but got 'median'"),
        ("avg(speding.speed)", "column 5: expected a definition but got 'speding'; .*did you mean 'speeding'"),
        ("avg(speeding.sped)", "column 14: expected a field of Car but got 'sped'; .*did you mean 'speed'"),
        ("avg(speeding)", "expected a field for avg but got none"),
        ("sum(speeding.plate)", "expected a number for sum but got 'plate', which is str in Car"),
        ("min(speeding.plate)", "expected a number for min"),
        ("avg(speeding.fast)", "expected a number for avg but got 'fast', which is bool"),
        ("sum(speeding.extra)", "expected a number for sum but got 'extra', which is Any"),
        ("first(speeding.extra)", "expected a scalar for first but got 'extra', which is Any"),
        ("avg(speeding.speed) + 1", "column 21: expected an aggregate for 'x'"),
        ("speeding.speed", "column 9: expected an aggregate for 'x' but got 'speeding.speed'; write 'avg"),
        ("avg(speeding.speed", "expected an aggregate for 'x'"),
        ("", "expected an aggregate for 'x' but got ''"),
        ("avg(avg(speeding.speed))", "expected an aggregate for 'x'"),
        (7, "expected text for 'x' in returns= but got 7"),
    ],
)
def test_refused(text: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        asked(text)


@pytest.mark.parametrize("name", ["", "a b", "_x", "class", 7])
def test_names_that_are_refused(name: Any) -> None:
    with pytest.raises(QueryError, match="expected the name of a match's field"):
        aggregates_of({name: "count(speeding)"}, ["speeding"], CAR)


def test_returns_that_is_no_dict() -> None:
    with pytest.raises(QueryError, match=r"expected a dict such as .* but got returns=\['count\(speeding\)'\]"):
        aggregates_of(["count(speeding)"], ["speeding"], CAR)


@pytest.mark.parametrize(
    ("durations", "message"),
    [
        ({"at_least": 0}, "expected at_least of at least one tick but got at_least=0: every situation lasts that long"),
        ({"at_most": -1}, "expected at_most of at least one tick"),
        ({"at_least": 5, "at_most": 4}, "expected at_most not below at_least=5 but got at_most=4: no situation lasts so long"),
        ({"at_least": "5 min", "at_most": timedelta(minutes=4)}, "no situation lasts so long"),
        ({"at_least": "5 moons"}, "expected a unit of time but got .*moons"),
        ({"at_least": 1.5}, "at_least=1.5"),
        ({"at_most": True}, "at_most=True"),
    ],
)
def test_durations_that_no_situation_has(durations: Any, message: str) -> None:
    with pytest.raises(AfaError, match=message):
        Situation("fast", **durations)


def test_a_condition_is_text_or_a_function() -> None:
    with pytest.raises(QueryError, match="expected a condition, text or a function of a reading, but got condition=7"):
        Situation(7)  # type: ignore[arg-type]


def test_situations_are_frozen_values() -> None:
    one = Situation("fast", at_least=3)
    assert one == Situation("fast", 3)
    assert hash(one) == hash(Situation("fast", 3))
    with pytest.raises(AttributeError):
        one.at_least = 4  # type: ignore[misc]
