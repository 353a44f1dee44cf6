"""`match` of a query: key, window and sequence are the query's."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import afa
from afa.language import many, one
from afa.spark import match
from tests.language.oracle import Event, matches
from tests.spark.test_stream import Files, run

COLUMNS = "symbol string, price int, time timestamp"


class Stock(NamedTuple):
    symbol: str
    price: int
    at: afa.Instant | None = None


TEXT = """
PATTERN SEQ(Stock+ a[], Stock b) WHERE skip_till_next_match(a[], b) { [symbol] and a[i].price > a[i-1].price and b.price < 3 }
WITHIN 1 hour RETURN a[1].price AS low, a.LEN AS n, b.at - a[1].at AS took
"""
RISING = afa.query(TEXT, event=Stock, tick="us")
BUILT = (
    many("a", where=lambda e, m: e.price > m.a.last.price)
    .followed_by(one("b", lambda e: e.price < 3))
    .by("symbol")
    .within(hours=1)
    .returns(low=lambda m: m.a.first.price, n=lambda m: m.a.count, took=lambda m: m.b.at - m.a.first.at)
    .of(Stock, tick="us")
)


@pytest.mark.parametrize("query", [RISING, BUILT], ids=["text", "builder"])
def test_key_and_window_are_the_querys(query: Any, spark: Any) -> None:
    begin = datetime(2024, 1, 1)
    prices = [("A", 4, 0), ("A", 5, 10), ("B", 1, 15), ("A", 2, 20), ("A", 1, 90)]
    rows = spark.createDataFrame(
        [(symbol, price, begin + timedelta(minutes=t)) for symbol, price, t in prices], "symbol string, price int, time timestamp"
    )
    found = rows.transform(match(query, time="time")).where("kind = 'match'").collect()
    minute = 60_000_000
    got = sorted((row.symbol, row.low, row.n, row.took / minute) for row in found)
    assert got == [("A", 4, 2, 20.0), ("A", 5, 1, 10.0)]


def test_refused(spark: Any) -> None:
    with pytest.raises(afa.AfaError, match="key='symbol' can't be combined with a query because it says that itself"):
        match(RISING, key="symbol", time="time")
    with pytest.raises(afa.AfaError, match="expected a query with tick='us', as times are microseconds on Spark, but got tick='s'"):
        match(afa.query(TEXT, event=Stock, tick="s"), time="time")
    with pytest.raises(afa.AfaError, match="expected a query with a key"):
        match(afa.query(TEXT.replace("[symbol] and ", ""), event=Stock, tick="us"), time="time")
    with pytest.raises(afa.AfaError, match="expected the names of key columns but got key=None"):
        match(RISING.automaton, time="time")


SWAPPED = """
PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip_till_next_match(a[], b) {{ [symbol] and {} and a[i].price >= a[i-1].price and b.price < 3 }}
WITHIN 30 seconds RETURN a[1].price AS low, a.LEN AS n
"""


@pytest.mark.parametrize("static", [False, True])
def test_a_running_job_takes_another_threshold(spark: Any, static: bool, tmp_path: Path) -> None:
    """What the arcs of `changes_to` make of the job is what one query says whose threshold depends on the time of the event."""
    one, other = (afa.query(SWAPPED.format(f"a[i].price > {n}"), event=Stock, tick="us") for n in (2, 4))
    rng, base, second = random.Random(1), datetime(2024, 1, 1, tzinfo=timezone.utc), 1_000_000
    start = int(base.timestamp()) * second
    stream = [(rng.choice("AB"), rng.randint(1, 6), t) for t in rng.sample(range(60), 60)]
    events, log = Files(tmp_path / "in"), afa.spark.arc_log(tmp_path / "arcs", one.automaton)
    told = one.changes_to(other)
    assert (told.goes, told.comes) == ((), ())
    for part in range(2):
        rows = stream[part * 30 : part * 30 + 30]
        events.put([json.dumps({"symbol": s, "price": p, "time": (base + timedelta(seconds=t)).isoformat()}) for s, p, t in rows])
        if part:
            for change in told.arcs:
                if change.diff > 0:
                    log.insert(change.payload, at=start + 25 * second)
                else:
                    log.retract(change.payload.name, at=start + 25 * second)
        if not static:
            read = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(events.path))
            run(read.transform(match(one, time="time", arcs=log.read(spark), lateness="1 hour", buckets=2)), tmp_path)
    if static:
        arcs = spark.read.text(str(log.path))
        found = spark.read.schema(COLUMNS).json(str(events.path)).transform(match(one, time="time", arcs=arcs))
        found = found.where("kind = 'match'")
    else:
        found = afa.spark.current(spark.read.parquet(str(tmp_path / "changes")))
    present = f"(a[i].at < {start + 25 * second} and a[i].price > 2 or a[i].at >= {start + 25 * second} and a[i].price > 4)"
    merged = afa.query(SWAPPED.format(present), event=Stock, tick="us")
    want = matches(merged.tree, [Event(Stock(s, p, start + t * second), start + t * second) for s, p, t in stream])
    assert want
    assert {((row.symbol, (row.low, row.n)), micros(row.le), micros(row.re)) for row in found.collect()} == want


def micros(moment: datetime) -> int:
    """A timestamp of Spark's, in the zone of the machine."""
    return round(moment.astimezone(timezone.utc).timestamp() * 1_000_000)


LONGER = """
PATTERN SEQ(Stock a, Stock b{}) WHERE {}(a, b{}) {{ [symbol] and b.price > a.price and a.price < 4{} }}
WITHIN 30 seconds RETURN a.price AS low, b.price AS high
"""
SHORT = LONGER.format("", "skip_till_next_match", "", "")


@pytest.mark.parametrize(
    "text",
    [
        LONGER.format(", Stock c", "skip_till_next_match", ", c", " and c.price < b.price"),
        LONGER.format("", "skip_till_any_match", "", ""),
    ],
    ids=["a component more", "another strategy"],
)
def test_a_running_job_takes_another_query(spark: Any, text: str, tmp_path: Path) -> None:
    """What the job says is what an operator says whose arcs have the same lifetimes."""
    short, other = (afa.query(each, event=Stock, tick="us") for each in (SHORT, text))
    told, second = short.changes_to(other), 1_000_000
    rng, base = random.Random(text), datetime(2024, 1, 1, tzinfo=timezone.utc)
    start = int(base.timestamp()) * second
    swap = start + 25 * second
    stream = [(rng.choice("AB"), rng.randint(1, 6), t) for t in rng.sample(range(60), 60)]
    events, log = Files(tmp_path / "in"), afa.spark.arc_log(tmp_path / "arcs", short.automaton)
    op, net = short.operator(), Counter[Any]()
    for arc, _, _, diff, _ in told.arcs:
        if diff > 0:
            op.push_arc(afa.insert(arc, swap, afa.FOREVER))
        else:
            op.push_arc(afa.retract(arc, afa.BEGINNING, afa.FOREVER))
            op.push_arc(afa.insert(arc, afa.BEGINNING, swap))
    for part in range(2):
        rows = stream[part * 30 : part * 30 + 30]
        events.put([json.dumps({"symbol": s, "price": p, "time": (base + timedelta(seconds=t)).isoformat()}) for s, p, t in rows])
        for arc, _, _, diff, _ in told.arcs if part else ():
            if diff > 0:
                log.insert(arc, at=swap)
            else:
                log.retract(arc.name, at=swap)
        read = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(events.path))
        run(read.transform(match(short, time="time", arcs=log.read(spark), lateness="1 hour", buckets=2)), tmp_path)
        for symbol, price, t in rows:
            for change in op.push(afa.insert(Stock(symbol, price), start + t * second)):
                net[change.key, tuple(change.payload), change.le, change.re] += change.diff
    found = afa.spark.current(spark.read.parquet(str(tmp_path / "changes"))).collect()
    got = {(row.symbol, (row.low, row.high), micros(row.le), micros(row.re)) for row in found}
    assert len(got) > 5
    assert got == {match for match, n in net.items() if n}
