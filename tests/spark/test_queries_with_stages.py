"""`match` of queries with stages, through Spark: AFTER MATCH SKIP, and a negation at the start."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import afa
from afa.spark import match
from tests.language.oracle import Event, matches
from tests.spark.test_query_on_spark import COLUMNS, Stock, micros
from tests.spark.test_stream import Files, run

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


def random_stock(seed: str) -> list[tuple[str, int, int]]:
    rng = random.Random(seed)
    return [(rng.choice("AB"), rng.randint(1, 6), t) for t in rng.sample(range(60), 60)]


def in_lines(rows: list[tuple[str, int, int]], base: datetime) -> list[str]:
    return [json.dumps({"symbol": s, "price": p, "time": (base + timedelta(seconds=t)).isoformat()}) for s, p, t in rows]


def chosen(skip: str, below: int) -> afa.Query:
    return afa.sql(CHOSEN.format(skip, below), event=Stock, tick="us")


def calm(more: str = "") -> afa.Query:
    return afa.query(CALM.format(more), event=Stock, tick="us")


@pytest.mark.parametrize(
    ("one", "two", "most"),
    [(chosen("PAST LAST ROW", 4), chosen("PAST LAST ROW", 3), 3), (calm(), calm(" and a.price < 4"), 2)],
    ids=["chosen matches", "negation at the start"],
)
def test_a_running_job_with_stages_takes_another_threshold(spark: Any, one: Any, two: Any, most: int, tmp_path: Path) -> None:
    """What the job says is what an operator says whose arcs have the same lifetimes; in more buckets from then on."""
    second, base = 1_000_000, datetime(2024, 1, 1, tzinfo=timezone.utc)
    start = int(base.timestamp()) * second
    swap = start + 25 * second
    stream = random_stock(f"stages {most}")
    events, log, told = Files(tmp_path / "in"), afa.spark.arc_log(tmp_path / "arcs", one.automaton), one.changes_to(two)
    assert told.arcs
    op, net = one.operator(), Counter[Any]()
    for arc, _, _, diff, _ in told.arcs:
        if diff > 0:
            op.push_arc(afa.insert(arc, swap, afa.FOREVER))
        else:
            op.push_arc(afa.retract(arc, afa.BEGINNING, afa.FOREVER))
            op.push_arc(afa.insert(arc, afa.BEGINNING, swap))
    for part in range(2):
        rows = stream[part * 30 : part * 30 + 30]
        events.put(in_lines(rows, base))
        for arc, _, _, diff, _ in told.arcs if part else ():
            if diff > 0:
                log.insert(arc, at=swap)
            else:
                log.retract(arc.name, at=swap)
        read = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(events.path))
        given: dict[str, Any] = {"arcs": log.read(spark), "lateness": "1 hour", "buckets": 2 + part}
        run(read.transform(match(one, time="time", checkpoint=str(tmp_path / "checkpoint"), **given)), tmp_path)
        for symbol, price, t in rows:
            for change in op.push(afa.insert(Stock(symbol, price), start + t * second)):
                net[change.key, tuple(change.payload), change.le, change.re] += change.diff
    table = afa.spark.current(spark.read.parquet(str(tmp_path / "changes")))
    assert {*table.columns} == {"symbol", *(field.name for field in one.shown.fields), "id", "le", "re"}
    shown = [field.name for field in one.shown.fields]
    got = {(row.symbol, tuple(row[name] for name in shown), micros(row.le), micros(row.re)) for row in table.collect()}
    assert len(got) > most
    assert got == {match for match, n in net.items() if n}


@pytest.mark.parametrize("query", [chosen("TO NEXT ROW", 4), calm()], ids=["chosen matches", "negation at the start"])
def test_a_static_table_with_stages(spark: Any, query: Any) -> None:
    base, stream = datetime(2024, 1, 1, tzinfo=timezone.utc), random_stock("static")
    rows = [(symbol, price, base + timedelta(seconds=t)) for symbol, price, t in stream]
    found = spark.createDataFrame(rows, COLUMNS).transform(match(query, time="time", buckets=3)).where("kind = 'match'").collect()
    second, start = 1_000_000, int(base.timestamp()) * 1_000_000
    want = matches(query.tree, [Event(Stock(s, p, start + t * second), start + t * second) for s, p, t in stream])
    assert want
    names = [field.name for field in query.shown.fields]
    assert {((row.symbol, tuple(row[name] for name in names)), micros(row.le), micros(row.re)) for row in found} == want
