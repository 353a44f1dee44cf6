"""A bare number that stands for time, over timestamps: refused on each way in, in every notation; with a tick or a unit it goes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import afa
from afa.language import one
from afa.replay import amend, replay, sweep
from afa.situations import Derive, Situation

try:
    import duckdb
except ImportError:  # pragma: no cover
    duckdb = None  # type: ignore[assignment]


class Tick(NamedTuple):
    v: int
    at: afa.Instant = None  # type: ignore[assignment]


BEGIN = datetime(2026, 1, 1, 12)
ROWS = {"v": [1, 2], "at": [BEGIN, BEGIN + timedelta(seconds=20)]}
INTS = {"v": [1, 2], "at": [0, 20]}
FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "duckdb": lambda rows: duckdb.from_arrow(pa.table(rows)),
    "lists": dict,
}
BARE = "expected durations with units, as times are timestamps and nothing says what a bare number counts, but got"


def text(within: str = "1 minute", where: str = "", tick: str | None = "s") -> Any:
    asked = f"WHERE skip_till_next_match(a, b) {{ a.v == 1 and b.v == 2 {where} }} {within and f'WITHIN {within}'}"
    return afa.query(f"PATTERN SEQ(Tick a, Tick b) {asked} RETURN b.v AS v", event=Tick, tick=tick)


def built(within: Any = "1 minute", where: Any = None, tick: str | None = None) -> Any:
    b = one("b", lambda e: e.v == 2) if where is None else one("b", where)
    return one("a", lambda e: e.v == 1).followed_by(b).within(within).returns(v=lambda m: m.b.v).of(Tick, tick=tick)


def sql(within: str = "INTERVAL '1' MINUTE", where: str = "", tick: str | None = "s") -> Any:
    said = f"""SELECT v FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES b.v AS v PATTERN (a b) {within and f"WITHIN {within}"}
               DEFINE a AS v = 1, b AS v = 2 {where})"""
    return afa.sql(said, event=Tick, tick=tick)


WITHIN = {
    "text": lambda tick=None: text("60", tick=tick),
    "builder": lambda tick=None: built(60, tick=tick),
    "SQL": lambda tick=None: sql("60", tick=tick),
}
UNITS = {"text": text, "builder": built, "SQL": sql}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("notation", WITHIN)
def test_find(notation: str, frame: str) -> None:
    if frame == "duckdb" and duckdb is None:
        pytest.skip("no duckdb")
    table = FRAMES[frame](ROWS)
    with pytest.raises(afa.QueryError, match=f"{BARE} WITHIN 60; write WITHIN 60 seconds .*, or say tick="):
        afa.find(WITHIN[notation](), table, time="at")
    assert _found(afa.find(UNITS[notation](), table, time="at")) == 1
    assert _found(afa.find(WITHIN[notation](), table, time="at", tick="s")) == 1
    assert _found(afa.find(WITHIN[notation]("s"), table, time="at")) == 1
    assert _found(afa.find(WITHIN[notation](), FRAMES[frame](INTS), time="at")) == 1


def _found(table: Any) -> int:
    return (
        len(table["v"])
        if isinstance(table, dict)
        else len(pa.table(table))
        if not hasattr(table, "fetchall")
        else len(table.fetchall())
    )


@pytest.mark.parametrize("notation", WITHIN)
def test_other_ways_in(notation: str, tmp_path: Any) -> None:
    file, late = tmp_path / "rows.parquet", tmp_path / "late.parquet"
    pq.write_table(pa.table(ROWS), file)
    pq.write_table(pa.table({"v": [3], "at": [BEGIN + timedelta(seconds=5)]}), late)
    ways: list[Callable[[Any], Any]] = [
        lambda q: afa.backtest({"q": q}, pd.DataFrame(ROWS), time="at"),
        lambda q: replay(q, file, time="at"),
        lambda q: sweep({"q": q}, file, time="at"),
        lambda q: amend(q, file, pq.read_table(late), time="at", applied=False),
    ]
    for way in ways:
        with pytest.raises(afa.QueryError, match=f"{BARE} WITHIN 60"):
            way(WITHIN[notation]())
        way(UNITS[notation]())
        way(WITHIN[notation]("s"))


@pytest.mark.parametrize("notation", WITHIN)
def test_operators_need_a_tick(notation: str) -> None:
    made = WITHIN[notation]()
    with pytest.raises(afa.AfaError, match="tick="):
        made.operator().push_many(pd.DataFrame(ROWS).rename(columns={"at": "le"}))
    assert len(made.operator(tick="s").push_many(pa.table({"v": ROWS["v"], "le": ROWS["at"]}))) == 1


CONDITIONS = {  # of text, SQL, a lambda; what is said of it
    "difference": ("b.at - a.at < 30", "LAST(b.at) - a.at < 30", lambda e, m: e.v == 2 and e.at - m.a.at < 30),
    "turned": ("30 > b.at - a.at", "30 > at - a.at", lambda e, m: e.v == 2 and e.at - m.a.at < 30),
    "time and number": ("b.at < a.at + 30", "at < a.at + 30", lambda e, m: e.v == 2 and e.at < m.a.at + 30),
    "number and time": ("b.at - 2 * 15 < a.at", "at - 2 * 15 < a.at", lambda e, m: e.v == 2 and e.at - 2 * 15 < m.a.at),
    "of a difference": (
        "(b.at - a.at) / 2 <= 15.5",
        "(at - a.at) / 2.0 <= 15.5",
        lambda e, m: e.v == 2 and (e.at - m.a.at) / 2 < 15.5,
    ),
    "function": ("abs(a.at - b.at) < 30", "ABS(a.at - at) < 30", lambda e, m: e.v == 2 and abs(m.a.at - e.at) < 30),
    "one of two": ("max(b.at - a.at, 5) < 30", "COALESCE(at - a.at, 5) < 30", lambda e, m: e.v == 2 and max(e.at - m.a.at, 5) < 30),
    "between": ("10 < b.at - a.at < 30", "at - a.at BETWEEN 10 AND 30", lambda e, m: e.v == 2 and 10 < e.at - m.a.at < 30),
    "among": ("b.at - a.at in (20, 30)", "at - a.at IN (20, 30)", lambda e, m: e.v == 2 and e.at - m.a.at in (20, 30)),
    "second of the day": ("b.at % 60 < 30", "MOD(at, 60) < 30", lambda e, m: e.v == 2 and e.at % 60 < 30),
    "instant": ("b.at > 1700000000", "at > 1700000000", lambda e, m: e.v == 2 and e.at > 1700000000),
}
UNTOLD = {  # what bare numbers do not stand for time in, and numbers with units
    "unit": ("b.at - a.at < span('30 seconds')", "at - a.at < INTERVAL '30' SECOND", lambda e, m: e.at - m.a.at < afa.span("30 s")),
    "units": ("b.at < a.at + 2 * span('15 s')", "at < a.at + 2 * INTERVAL '15' SECOND", lambda e, m: e.at < m.a.at + 2 * HALF),
    "nothing": ("b.at - a.at > 0", "at - a.at > 0", lambda e, m: e.at - m.a.at > 0),
    "two times": (
        "(b.at - a.at) / 2 < b.at - a.at",
        "(at - a.at) / 2.0 < at - a.at",
        lambda e, m: (e.at - m.a.at) / 2 < e.at - m.a.at,
    ),
    "no time": ("b.v - a.v < 30", "v - a.v < 30", lambda e, m: e.v - m.a.v < 30),
}
HALF = afa.span("15 seconds")


@pytest.mark.parametrize("said", CONDITIONS)
def test_conditions(said: str) -> None:
    frame = pd.DataFrame(ROWS)
    in_text, in_sql, function = CONDITIONS[said]
    asked = {  # nothing else of them is a bare number
        "text": lambda tick: text("", f"and {in_text}", tick),
        "SQL": lambda tick: sql("", f"AND {in_sql}", tick),
        "builder": lambda tick: built(where=function, tick=tick),
    }
    for make in asked.values():
        with pytest.raises(afa.QueryError, match=BARE):
            afa.find(make(None), frame, time="at")
        afa.find(make("s"), frame, time="at")
        afa.find(make(None), pd.DataFrame(INTS), time="at", tick="s")


@pytest.mark.parametrize("said", UNTOLD)
def test_no_bare_times(said: str) -> None:
    in_text, in_sql, function = UNTOLD[said]
    for made in (text(where=f"and {in_text}"), built(where=function), sql(where=f"AND {in_sql}")):
        assert _found(afa.find(made, pd.DataFrame(ROWS), time="at")) == 1


def test_what_is_said() -> None:
    frame = pd.DataFrame(ROWS)
    for made, said in (
        (text("", "and b.at - a.at < 30", None), "b.at - a.at < 30"),
        (built(where=lambda e, m: e.at < m.a.at + 30), "b.at < a.at \\+ 30"),
        (text("", "and a.at < 7", None), "a.at < 7"),
    ):
        with pytest.raises(afa.QueryError, match=f"{BARE} {said}; write span\\('30 seconds'\\) .* for 30, or say tick="):
            afa.find(made, frame, time="at")


def test_int_fields_over_timestamps() -> None:
    class Stamped(NamedTuple):
        v: int
        seen: int

    frame = pd.DataFrame({**ROWS, "seen": ROWS["at"]})
    said = "PATTERN SEQ(Stamped a, Stamped b) WHERE skip_till_next_match(a, b) { b.seen - a.seen < 30 } RETURN b.v AS v"
    with pytest.raises(afa.QueryError, match=f"{BARE} b.seen - a.seen < 30"):
        afa.find(afa.query(said, event=Stamped), frame, time="at")
    assert _found(afa.find(afa.query(said, event=Stamped), frame.assign(seen=[3, 4]), time="at")) == 1


def test_a_tick_of_the_builder_is_its_own() -> None:
    assert _found(afa.find(built(60, tick="s"), pd.DataFrame(ROWS), time="at")) == 1  # 60 nanoseconds before


class Level(NamedTuple):
    glucose: float


LEVELS = pd.DataFrame(
    {"glucose": [60.0, 50.0, 90.0, 60.0], "at": pd.to_datetime([f"2020-01-01 00:{m}" for m in ("00", "05", "20", "30")])}
)


@pytest.mark.parametrize(("own", "said"), [("s", None), (None, None), (None, "s"), ("s", "s")])
def test_derive_takes_a_tick(own: str | None, said: str | None) -> None:
    found = afa.find(Derive(Level, tick=own, low=Situation("glucose < 70")), LEVELS, time="at", tick=said)
    assert found["ts"].tolist() == LEVELS["at"][[0, 3]].tolist()
    assert (
        len(
            afa.find(Derive(Level, tick=own, low=Situation("glucose < 70")), LEVELS.assign(at=[0, 5, 20, 30]), time="at", tick=said)
        )
        == 2
    )


def test_derive_has_one_tick() -> None:
    with pytest.raises(afa.QueryError, match="expected its own tick='ms' but got tick='s'"):
        afa.find(Derive(Level, tick="ms", low=Situation("glucose < 70")), LEVELS, time="at", tick="s")


def test_durations_of_situations() -> None:
    def made(tick: str | None) -> Any:
        return Derive(Level, low=Situation("glucose < 70", at_least=600), tick=tick)

    with pytest.raises(afa.QueryError, match=f"{BARE} at_least=600 of low; write it with a unit, .10 minutes., or say tick="):
        afa.find(made(None), LEVELS, time="at")
    for found in (afa.find(made("s"), LEVELS, time="at"), afa.find(made(None), LEVELS, time="at", tick="s")):
        assert found["ts"].tolist() == LEVELS["at"][[0]].tolist()
    assert len(afa.find(made(None), LEVELS.assign(at=[0, 5, 2000, 3000]), time="at")) == 1
