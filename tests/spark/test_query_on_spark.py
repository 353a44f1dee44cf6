"""`match` of a query: key, window and sequence are the query's; AFTER MATCH SKIP, a negation at the start; a query that changes."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import afa
from afa.language import many, one
from afa.spark import match
from tests.language.oracle import Event, matches
from tests.spark.streams import micros
from tests.spark.test_stream import Files, run

COLUMNS = "symbol string, price int, time timestamp"
SECOND, BASE = 1_000_000, datetime(2024, 1, 1, tzinfo=timezone.utc)
START = int(BASE.timestamp()) * SECOND
SWAP = START + 25 * SECOND


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


def random_stock(seed: str) -> list[tuple[str, int, int]]:
    rng = random.Random(seed)
    return [(rng.choice("AB"), rng.randint(1, 6), t) for t in rng.sample(range(60), 60)]


def in_lines(rows: list[tuple[str, int, int]], base: datetime = BASE) -> list[str]:
    return [json.dumps({"symbol": s, "price": p, "time": (base + timedelta(seconds=t)).isoformat()}) for s, p, t in rows]


def wanted(query: afa.Query, stream: list[tuple[str, int, int]]) -> set[Any]:
    """The matches by the oracle."""
    return matches(query.tree, [Event(Stock(s, p, START + t * SECOND), START + t * SECOND) for s, p, t in stream])


def told(rows: list[Any], query: afa.Query) -> set[Any]:
    """Rows of matches as the oracle has them."""
    names = [field.name for field in query.shown.fields]
    return {((row.symbol, tuple(row[name] for name in names)), micros(row.le), micros(row.re)) for row in rows}


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


def test_arrays_of_a_match_are_columns(spark: Any) -> None:
    """Matches of one key and time that differ in nulls, or in where an array ends, have ids of their own."""
    text = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at
        MEASURES ARRAY_AGG(price) AS a, ARRAY_AGG(b.price) AS b
        AFTER MATCH SKIP TO NEXT ROW PATTERN (a+ b) DEFINE a AS price IS NULL, b AS price > 0)"""
    event = pa.schema([("symbol", pa.string()), ("price", pa.int32()), ("at", pa.timestamp("us"))])
    rows = [("A", price, datetime(2024, 1, 1, 0, minute)) for minute, price in enumerate([None, None, 1])]
    table = spark.createDataFrame(rows, "symbol string, price int, at timestamp")
    found = table.transform(match(afa.sql(text, event=event, tick="us"), time="at"))
    assert found.schema["a"].dataType.simpleString() == "array<bigint>"
    told = afa.spark.current(found).collect()
    assert sorted(((row.a, row.b) for row in told), key=lambda row: len(row[0])) == [([None, 1], [1]), ([None, None, 1], [1])]
    assert len({row.id for row in told}) == 2
    with pytest.raises(afa.AfaError, match=r"expected other names than le, .*, members, and each once, but got 'members'"):
        table.transform(match(afa.sql(text.replace("AS a,", "AS members,"), event=event, tick="us"), time="at"))


SWAPPED = """
PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip_till_next_match(a[], b) {{ [symbol] and {} and a[i].price >= a[i-1].price and b.price < 3 }}
WITHIN 30 seconds RETURN a[1].price AS low, a.LEN AS n
"""


@pytest.mark.parametrize("static", [False, True])
def test_a_running_job_takes_another_threshold(spark: Any, static: bool, tmp_path: Path) -> None:
    """What the arcs of `changes_to` make of the job is what one query says whose threshold depends on the time of the event."""
    one, other = (afa.query(SWAPPED.format(f"a[i].price > {n}"), event=Stock, tick="us") for n in (2, 4))
    stream = random_stock("threshold")
    events, log = Files(tmp_path / "in"), afa.spark.arc_log(tmp_path / "arcs", one.automaton)
    changes = one.changes_to(other)
    assert (changes.goes, changes.comes) == ((), ())
    for part in range(2):
        events.put(in_lines(stream[part * 30 : part * 30 + 30]))
        if part:
            write(log, changes)
        if not static:
            read = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(events.path))
            run(read.transform(match(one, time="time", arcs=log.read(spark), lateness="1 hour", buckets=2)), tmp_path)
    if static:
        arcs = spark.read.text(str(log.path))
        found = spark.read.schema(COLUMNS).json(str(events.path)).transform(match(one, time="time", arcs=arcs))
        found = found.where("kind = 'match'")
    else:
        found = afa.spark.current(spark.read.parquet(str(tmp_path / "changes")))
    present = f"(a[i].at < {SWAP} and a[i].price > 2 or a[i].at >= {SWAP} and a[i].price > 4)"
    merged = afa.query(SWAPPED.format(present), event=Stock, tick="us")
    want = wanted(merged, stream)
    assert want
    assert told(found.collect(), merged) == want


def write(log: Any, changes: Any) -> None:
    """Write changes of arcs to a log, from an instant on."""
    for arc, _, _, diff, _ in changes.arcs:
        if diff > 0:
            log.insert(arc, at=SWAP)
        else:
            log.retract(arc.name, at=SWAP)


LONGER = """
PATTERN SEQ(Stock a, Stock b{}) WHERE {}(a, b{}) {{ [symbol] and b.price > a.price and a.price < 4{} }}
WITHIN 30 seconds RETURN a.price AS low, b.price AS high
"""
CHOSEN = """
SELECT * FROM stocks MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY at
    MEASURES FIRST(b.price) AS low, LAST(b.price) AS high, COUNT(b.price) AS n
    AFTER MATCH SKIP {} PATTERN (a b+) WITHIN INTERVAL '30' SECOND
    DEFINE a AS price < {}, b AS price >= PREV(price)
)
"""
CALM = """
PATTERN SEQ(~(Stock n), Stock a, Stock b) WHERE skip_till_next_match(a, b) {{ [symbol] and n.price > 5 and b.price > a.price{} }}
WITHIN 20 seconds RETURN a.price AS low, b.price AS high
"""


def short(component: str = "", strategy: str = "skip_till_next_match", name: str = "", where: str = "") -> afa.Query:
    return afa.query(LONGER.format(component, strategy, name, where), event=Stock, tick="us")


def chosen(skip: str, below: int) -> afa.Query:
    return afa.sql(CHOSEN.format(skip, below), event=Stock, tick="us")


def calm(more: str = "") -> afa.Query:
    return afa.query(CALM.format(more), event=Stock, tick="us")


@pytest.mark.parametrize(
    ("one", "two", "most"),
    [
        (short(), short(", Stock c", "skip_till_next_match", ", c", " and c.price < b.price"), 5),
        pytest.param(short(), short("", "skip_till_any_match"), 5, marks=pytest.mark.stress),
        (chosen("PAST LAST ROW", 4), chosen("PAST LAST ROW", 3), 3),
        (calm(), calm(" and a.price < 4"), 2),
    ],
    ids=["a component more", "another strategy", "chosen matches", "negation at the start"],
)
def test_a_running_job_takes_another_query(spark: Any, one: Any, two: Any, most: int, tmp_path: Path) -> None:
    """What the job says is what an operator says whose arcs have the same lifetimes; in more buckets from then on."""
    stream, changes = random_stock(f"stages {most}"), one.changes_to(two)
    events, log = Files(tmp_path / "in"), afa.spark.arc_log(tmp_path / "arcs", one.automaton)
    assert changes.arcs
    op, net = one.operator(), Counter[Any]()
    for arc, _, _, diff, _ in changes.arcs:
        if diff > 0:
            op.push_arc(afa.insert(arc, SWAP, afa.FOREVER))
        else:
            op.push_arc(afa.retract(arc, afa.BEGINNING, afa.FOREVER))
            op.push_arc(afa.insert(arc, afa.BEGINNING, SWAP))
    for part in range(2):
        rows = stream[part * 30 : part * 30 + 30]
        events.put(in_lines(rows))
        if part:
            write(log, changes)
        read = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(events.path))
        given: dict[str, Any] = {"arcs": log.read(spark), "lateness": "1 hour", "buckets": 2 + part}
        run(read.transform(match(one, time="time", checkpoint=str(tmp_path / "checkpoint"), **given)), tmp_path)
        for symbol, price, t in rows:
            for change in op.push(afa.insert(Stock(symbol, price), START + t * SECOND)):
                net[(change.key, tuple(change.payload)), change.le, change.re] += change.diff
    table = afa.spark.current(spark.read.parquet(str(tmp_path / "changes")))
    assert {*table.columns} == {"symbol", *(field.name for field in one.shown.fields), "id", "le", "re"}
    got = told(table.collect(), one)
    assert len(got) > most
    assert got == {match for match, n in net.items() if n}


@pytest.mark.parametrize("query", [chosen("TO NEXT ROW", 4), calm()], ids=["chosen matches", "negation at the start"])
def test_a_static_table_with_stages(spark: Any, query: Any) -> None:
    stream = random_stock("static")
    rows = [(symbol, price, BASE + timedelta(seconds=t)) for symbol, price, t in stream]
    found = spark.createDataFrame(rows, COLUMNS).transform(match(query, time="time", buckets=3)).where("kind = 'match'").collect()
    want = wanted(query, stream)
    assert want
    assert told(found, query) == want


def test_rows_that_show_the_same(spark: Any, tmp_path: Path) -> None:
    """SQL's answer is a bag: at once, as changes, folded, and as a table that goes on from the one before."""
    text = """SELECT * FROM stocks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at MEASURES b.price AS top
        AFTER MATCH SKIP TO NEXT ROW PATTERN (a+ b) DEFINE a AS price < 5, b AS price >= 5)"""
    query = afa.sql(text, event=Stock, tick="us")
    parts = [[("A", 1, 0), ("A", 1, 1), ("A", 5, 3)], [("A", 1, 2), ("B", 1, 0)], [("A", 2, 4), ("B", 7, 2), ("B", 7, 1)]]
    rows = [(symbol, price, BASE + timedelta(seconds=t)) for part in parts for symbol, price, t in part]
    found = spark.createDataFrame(rows, COLUMNS).transform(match(query, time="time", buckets=2)).where("kind = 'match'")
    wanted = [("A", 5, 1)] * 3 + [("B", 7, 1)]
    assert sorted((row.symbol, row.top, row["diff"]) for row in found.collect()) == wanted
    events = Files(tmp_path / "in")
    for part in parts:
        events.put(in_lines(part))
    read = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(events.path))
    changes = read.transform(match(query, time="time", lateness="1 hour", buckets=2))
    run(changes, tmp_path)
    log = spark.read.parquet(str(tmp_path / "changes"))
    assert {row["diff"] for row in log.collect()} <= {1, -1}
    assert sorted((row.symbol, row.top, 1) for row in afa.spark.current(log).collect()) == wanted
    kept = changes.writeStream.foreachBatch(afa.spark.keep_current(tmp_path / "now")).trigger(availableNow=True)
    kept.option("checkpointLocation", str(tmp_path / "kept")).start().awaitTermination()
    assert sorted((row.symbol, row.top, 1) for row in spark.read.parquet(str(tmp_path / "now")).collect()) == wanted


AROUND = """
SELECT {} FROM (SELECT * FROM stocks WHERE price <> 6) MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY at
    MEASURES MATCH_NUMBER() AS number, FIRST(a.price) AS low, NEXT(LAST(b.price)) AS behind, PREV(a.price) AS before
    AFTER MATCH SKIP {} PATTERN (a b+) WITHIN INTERVAL '20' SECOND
    DEFINE a AS price < NEXT(price), b AS price > 2
) WHERE low < 4{}
"""
"""All that stands around an operator: a filter, neighbours on both sides, numbers and a filter behind it."""
NUMBERED = AROUND.format("*", "PAST LAST ROW", " AND number > 1")
ONCE = AROUND.format("DISTINCT behind, before", "TO NEXT ROW", "")


def around(text: str) -> afa.Query:
    return afa.sql(text, event=Stock, tick="us")


def by_operator(query: afa.Query, stream: list[tuple[str, int, int]]) -> Counter[Any]:
    """What an operator says of the same rows."""
    net = Counter[Any]()
    for change in query.operator().push_many([afa.insert(Stock(s, p), START + t * SECOND) for s, p, t in stream]):
        net[(change.key, tuple(change.payload)), change.le, change.re] += change.diff
    return +net


@pytest.mark.parametrize("text", [NUMBERED, ONCE], ids=["numbered", "once"])
def test_stages_on_all_sides(spark: Any, text: str, tmp_path: Path) -> None:
    """Rows in any order, taken back, in batches with a restart between them, from then on in more buckets; and all at once."""
    query, stream = around(text), random_stock("sides")
    events, rows = Files(tmp_path / "in"), []
    for part in range(3):
        come = [(each, 1) for each in stream[part * 20 : part * 20 + 20]]
        gone = [(each, -1) for each in stream[part * 20 - 5 : part * 20 : 2]]
        rows += come + gone
        events.put([line[:-1] + f', "diff": {diff}}}' for (each, diff) in come + gone for line in in_lines([each])])
        read = spark.readStream.schema(f"{COLUMNS}, diff int").option("maxFilesPerTrigger", 1).json(str(events.path))
        given: dict[str, Any] = {"diff": "diff", "lateness": "1 hour", "buckets": 2 + part // 2}
        run(read.transform(match(query, time="time", checkpoint=str(tmp_path / "checkpoint"), **given)), tmp_path)
    want = by_operator(query, [each for each, _ in rows if rows.count((each, 1)) > rows.count((each, -1))])
    table = afa.spark.current(spark.read.parquet(str(tmp_path / "changes")))
    assert {*table.columns} == {"symbol", *(field.name for field in query.shown.fields), "id", "le", "re"}
    assert len(want) > 3
    assert told(table.collect(), query) == {*want}
    static = (
        spark.read.schema(f"{COLUMNS}, diff int")
        .json(str(events.path))
        .transform(match(query, time="time", diff="diff", buckets=3))
    )
    assert told(static.where("kind = 'match'").collect(), query) == {*want}
