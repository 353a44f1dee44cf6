"""Durations: text, timedelta and ints as ticks, and the ``tick`` of an operator."""

from __future__ import annotations

import copy
import pickle
import random
from datetime import timedelta
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import afa
from afa import AfaError, Arc, Automaton, Keyed, Operator, SnapshotError, insert
from afa.operator.saved_options import SavedOptions
from punctuation.durations import NANOSECONDS, UNITS, ticks_of_duration
from speculation import Ordered
from tests.forged import forged

TICK = SavedOptions._fields.index("tick")


class Tick(NamedTuple):
    who: str
    n: int


TWO = Automaton(start="0", final={"2"}, event=Tick, arcs=[Arc("0", "1", "n == 1"), Arc("1", "2", "n == 2")])


@pytest.mark.parametrize(
    ("value", "tick", "expected"),
    [
        ("10 minutes", "ms", 600_000), ("1h 30m", "s", 5400), ("500 ms", "us", 500_000), ("1.5 hours", "min", 90),
        ("10m", "s", 600),
        ("1 hour and 30 minutes", "min", 90), ("1 hour, 1 s", "s", 3601), (".5s", "ms", 500), ("1_000 us", "ms", 1),
        ("2 W", "d", 14),
        ("24:00:00", "h", 24), ("1:30", "min", 90), ("2 days 00:00:01.5", "ms", 172_801_500), ("1 day, 2:00:00", "h", 26),
        ("PT1H30M", "min", 90), ("P2DT1.5S", "ms", 172_801_500), ("P1W", "d", 7), ("P0DT0H1M0S", "s", 60),
        ("0 s", "ns", 0), (timedelta(minutes=1, microseconds=1), "us", 60_000_001), (pd.Timedelta(5, "ns"), "ns", 5),
        (np.timedelta64(90, "m"), "s", 5400), (np.timedelta64(3, "D"), "h", 72), (np.timedelta64(2, "W"), "w", 2),
        (7, None, 7), (np.int64(7), "s", 7), (-7, None, -7), ("3 µs", "ns", 3000), ("1 day", "Hours", 24),
    ],
)  # fmt: skip
def test_durations(value: Any, tick: str | None, expected: int) -> None:
    assert ticks_of_duration(value, tick, "window") == expected


@pytest.mark.parametrize(
    ("value", "tick", "message"),
    [
        (
            "10 minutes",
            None,
            r"expected tick=, what one int of LE counts, beside window='10 minutes' but got none; give tick=\"ms\"",
        ),
        (timedelta(1), None, r"expected tick=, what one int of LE counts, beside window=datetime.timedelta"),
        ("1500 us", "ms", r"expected a whole number of ticks but got window='1500 us' with tick='ms'"),
        (timedelta(seconds=-1), "s", r"expected a duration from 0 to an int64 of ticks but got window=.* with tick='s'"),
        ("300 years", "s", r"expected a unit of time but got window='300 years' with the unit 'years'; .*have no fixed length"),
        ("3 M", "s", r"expected a unit of time but got window='3 M' with the unit 'M'; .*write min for minutes, days for months"),
        ("10", "s", r'expected a duration such as "10 minutes", "1h 30m" or a timedelta but got window=\'10\''),
        ("", "s", r"expected a duration such as"),
        ("-1 s", "s", r"expected a duration such as"),
        ("1 s x", "s", r"expected a duration such as"),
        ("s", "s", r"expected a duration such as"),
        ("P", "s", r"expected a duration such as"),
        ("PT", "s", r"expected a duration such as"),
        ("P1M", "s", r"expected a duration such as"),
        ("1 s" * 100, "s", r"expected a duration such as"),
        ("9" * 50 + " s", "s", r"expected a number but got"),
        ("9" * 30 + " s", "s", r"expected a duration from 0 to an int64"),
        ("1 s", "moon", r"expected a unit of time but got tick='moon'"),
        (np.timedelta64("NaT"), "s", r"expected a duration such as"),
        (np.timedelta64(1, "Y"), "s", r"expected a duration such as"),
        (pd.NaT, "s", r"expected an int \(ticks\) but got window=NaT"),
        (1.5, "s", r"expected an int \(ticks\) but got window=1.5"),
        (True, "s", r"expected an int \(ticks\) but got window=True"),
        (None, "s", r"expected an int \(ticks\) but got window=None"),
    ],
)
def test_what_is_no_duration(value: Any, tick: str | None, message: str) -> None:
    with pytest.raises(AfaError, match=message):
        ticks_of_duration(value, tick, "window")


def test_random_durations() -> None:
    """Each duration is its exact number of ticks, as text, as Python's and pandas' words, and as values; or it is refused."""
    choose = random.Random(1)
    refused = 0
    for _ in range(2000):
        parts = [(choose.randint(0, 999), choose.choice(list(UNITS))) for _ in range(choose.randint(1, 4))]
        text = choose.choice(["", " ", ", "]).join(f"{n}{choose.choice(['', ' '])}{unit}" for n, unit in parts)
        tick = choose.choice(list(NANOSECONDS))
        length = sum(n * NANOSECONDS[UNITS[unit]] for n, unit in parts)
        exact = Fraction(length, NANOSECONDS[tick])
        forms: list[Any] = [text, pd.Timedelta(length, "ns"), str(pd.Timedelta(length, "ns")), np.timedelta64(length, "ns")]
        forms.append(pd.Timedelta(length, "ns").isoformat())
        if length % 1000 == 0:
            forms += [timedelta(microseconds=length // 1000), str(timedelta(microseconds=length // 1000))]
        for form in forms:
            if exact.denominator == 1:
                assert ticks_of_duration(form, tick, "x") == exact, form
            else:
                refused += 1
                with pytest.raises(AfaError, match="expected a whole number of ticks"):
                    ticks_of_duration(form, tick, "x")
    assert refused > 500


@pytest.mark.parametrize("window", ["1 minute", timedelta(minutes=1), 60_000])
def test_a_window_with_units(window: Any, engine: Any) -> None:
    made = [
        Operator(TWO, window=window, tick="ms", engine=engine),
        Keyed(TWO, key="who", window=window, tick="ms", engine=engine),
    ]
    for op in made:
        assert (op._core.window, op._core.tick) == (60_000, "ms")
        op.push(insert(Tick("a", 1), 1))
        (found,) = op.push(insert(Tick("a", 2), 60_000))
        assert (found.le, found.re) == (60_000, 60_001)
        assert op.push(insert(Tick("a", 2), 60_001)) == []


def test_no_window_with_units_without_a_tick() -> None:
    with pytest.raises(AfaError, match=r"expected tick=, what one int of LE counts, beside window='1 s' but got none"):
        Operator(TWO, window="1 s")
    with pytest.raises(AfaError, match="expected a window of at least one tick but got window='0 s'"):
        Operator(TWO, window="0 s", tick="ms")
    with pytest.raises(AfaError, match="expected a unit of time but got tick='moon'"):
        Operator(TWO, tick="moon")


def test_an_operator_keeps_its_tick() -> None:
    op = Operator(TWO, window="1 s", tick="milliseconds")
    assert op._core.tick == "ms"
    assert [twin._core.tick for twin in (copy.deepcopy(op), pickle.loads(pickle.dumps(op)))] == ["ms", "ms"]
    blob = op.snapshot()
    assert Operator.restore(TWO, blob)._core.tick == "ms"

    def with_last(last: list[Any]) -> bytes:
        return forged(blob, (2,), lambda said: [*said[:TICK], *last])

    for last, expected in ([[], None], [["s"], "s"]):
        found = Operator.restore(TWO, with_last(last))
        assert found._core.tick == expected, "one that was saved before there were ticks has none"
    for wrong, message in (
        (["moon"], "a unit of time as the tick"),
        ([["s"]], "a unit of time as the tick"),
        (["s", "s"], "snapshot's fields"),
    ):
        with pytest.raises(SnapshotError, match=message):
            Operator.restore(TWO, with_last(wrong))
    assert Ordered(TWO, number="n", window="1 s", tick="ms")._core.window == 1000


def test_a_snapshot_without_a_tick_can_be_given_one() -> None:
    plain, spans = Operator(TWO, window=5000), Automaton(start="0", final={"2"}, event=Tick, arcs=[
        Arc("0", "1", "n == 1"), Arc("1", "2", "n == span('2 ms')")
    ])  # fmt: skip
    plain.push(insert(Tick("a", 1), 1))
    op = Operator.restore(spans, plain.snapshot(), tick="milliseconds")
    assert op._core.tick == "ms"
    assert len(op.push(insert(Tick("a", 2), 5))) == 1
    assert Operator.restore(spans, op.snapshot())._core.tick == "ms"
    assert Operator.restore(spans, op.snapshot(), tick="ms")._core.tick == "ms"
    with pytest.raises(SnapshotError, match="expected tick='ms', with which the operator was saved, but got tick='s'"):
        Operator.restore(spans, op.snapshot(), tick="s")
    with pytest.raises(SnapshotError, match="expected a unit of time but got tick='moon'"):
        Operator.restore(spans, op.snapshot(), tick="moon")
    keyed = Keyed(TWO, key="who", window=5000)
    assert Keyed.restore(TWO, keyed.snapshot(), key="who", tick="s")._core.tick == "s"
    ordered = Ordered(TWO, number="n", window=5000)
    assert Ordered.restore(TWO, ordered.snapshot(), tick="s")._core.tick == "s"


def test_a_query_hands_its_tick_on() -> None:
    query = afa.query("PATTERN SEQ(Tick a, Tick b) WITHIN 1 minute RETURN a.n", event=Tick, tick="s")
    assert (query.operator()._core.tick, query.operator()._core.window) == ("s", 60)
    with pytest.raises(AfaError, match="expected the query's own tick='s' but got tick='ms'"):
        query.operator(tick="ms")
    assert afa.query("PATTERN SEQ(Tick a, Tick b) WITHIN 60 RETURN a.n", event=Tick).operator(tick="ms")._core.tick == "ms"
