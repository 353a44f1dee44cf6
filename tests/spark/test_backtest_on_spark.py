"""`afa.spark.backtest` finds what `afa.backtest` finds in all rows at once, however these lie in partitions and groups."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import afa
import afa.spark
from afa import AfaError, Arc, Automaton
from afa.spark import backtest_plan
from afa.spark.backtest_plan import HASH, whole_keys
from tests.frames.test_lanes import FENCES, TRANSFERS, Reg, Row, frame
from tests.spark.test_query_on_spark import BUILT, RISING, random_stock
from tests.spark.test_situations_on_spark import driving, readings
from tests.strategies import Seeded

KEYS: dict[str, Any] = {"int": "key", "text": "key", "two": ["key", "other"]}


class Trade(NamedTuple):
    price: float


class Low(NamedTuple):
    low: float = 0.0


def dip(limit: float, odd: Any = None) -> Automaton:
    rises = Arc("1", "2", lambda e, r: e.price > r.low + limit) if odd is None else Arc("1", "2", odd)
    return Automaton(
        start="0", final={"2"}, event=Trade, register=Low(), arcs=[Arc("0", "1", "price < 4", lambda e, r: Low(e.price)), rises]
    )


def chains(choose: Any, count: int) -> dict[str, Automaton]:
    """Variants of an automaton, with other conditions, without those that raise."""

    def variant() -> Automaton:
        arcs = [Arc("0", "1", choose.one(FENCES[:-1]), choose.one(TRANSFERS[:-2])), Arc("1", "1", choose.one(FENCES[:-1]))]
        arcs.append(Arc("1", "2", choose.one(FENCES[:-1]), choose.one(TRANSFERS[:-2])))
        timeout = [Arc.timeout("1", "2", f"min(r.n, 9) + {choose.number(1, 60)}")] if choose.chance(30) else []
        return Automaton(start="0", final={"2"}, event=Row, register=Reg(), arcs=[*arcs, *timeout])

    return {f"v{number}": variant() for number in range(count)}


def rows(choose: Any, keys: str, times: str) -> pa.Table:
    """Random rows, some without a key; times are ints, or microseconds."""
    given = frame(choose, keys)
    kind = {"int": pa.int32(), "text": pa.string(), "two": pa.int64()}[keys]
    given["key"] = [None if choose.chance(10) else key for key in given["key"]]
    at = pa.array(given.pop("at"), pa.int64())
    fields = zip(Row._fields, (pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.int64(), pa.float64()))
    columns = {name: pa.array(given.pop(name), field) for name, field in fields}
    columns |= {"key": pa.array(given.pop("key"), kind), "at": at if times == "int" else at.cast(pa.timestamp("us", "UTC"))}
    return pa.table({**columns, **{name: pa.array(column, pa.string()) for name, column in given.items()}})


def bag(table: pa.Table) -> Counter[Any]:
    return Counter(tuple(map(repr, row.values())) for row in table.to_pylist())


def same(spark: Any, patterns: Any, table: Any, **given: Any) -> int:
    """Check matches and counts against those of all rows at once; how many matches there are."""
    whole = afa.backtest(patterns, table.toArrow(), withdrawn=False, **given)
    found = afa.spark.backtest(patterns, table, **given)
    matches = found.matches.toArrow()
    assert matches.column_names == whole.matches.column_names
    assert bag(matches) == bag(whole.matches)
    counted = afa.spark.backtest(patterns, table, counts=True, **given)
    assert counted.matches is None
    assert found.table.columns == counted.table.columns == ["variant", "matches"]
    for each in (found, counted):
        assert [tuple(row) for row in each.table.collect()] == list(zip(*whole.table.to_pydict().values()))
    return len(matches)


@pytest.mark.parametrize("keys", KEYS)
def test_random_frames(keys: str, spark: Any) -> None:
    matches = 0
    for number in range(2):
        choose = Seeded(f"sweep {keys} {number}")
        patterns, times = chains(choose, 4), choose.one(["int", "us"])
        table = spark.createDataFrame(rows(choose, keys, times)).repartition(choose.number(1, 3))
        given: dict[str, Any] = {"key": KEYS[keys], "time": "at", "end": choose.one(["latest", "forever"])}
        given |= {"window": choose.number(1, 40), "order_by": choose.one([None, "n", "n desc, *"])}
        matches += same(spark, patterns, table, **given)
    assert matches > 5


def shipped_sweep(monkeypatch: pytest.MonkeyPatch, patterns: Any, table: Any, **given: Any) -> Any:
    """Return what workers are sent."""
    sent: list[Any] = []
    monkeypatch.setattr(backtest_plan, "shipped", lambda function, arcs: sent.append(function) or (lambda batches: batches))
    afa.spark.backtest(patterns, table, **given)
    return sent[0].__self__


def test_groups_of_whole_keys_find_the_same(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = Seeded("groups")
    patterns, given = chains(choose, 5), {"key": "key", "time": "at", "window": 20}
    table = spark.createDataFrame(rows(choose, "text", "us"))
    sweep = shipped_sweep(monkeypatch, patterns, table, **given)
    sorted_rows = sweep.rows(table, ["key"]).coalesce(1).sortWithinPartitions(HASH).toArrow()
    whole = afa.backtest(patterns, table.toArrow(), withdrawn=False, **given)
    for most, size, together in ((1, 1, 1), (200, 7, 2), (10_000, 3, 16)):
        monkeypatch.setattr(backtest_plan, "GROUP", most)
        monkeypatch.setattr(backtest_plan, "TOGETHER", together)
        counts = list(sweep.counted(iter(sorted_rows.to_batches(size))))
        assert (len(counts) > 3) == (most < 10_000)
        assert np.sum([batch["matches"].to_numpy() for batch in counts], 0).tolist() == whole.table["matches"].to_pylist()
        assert bag(pa.Table.from_batches(sweep.found(iter(sorted_rows.to_batches(size))))) == bag(whole.matches)
    assert len(whole.matches) > 20


@pytest.mark.parametrize("size", [1, 2, 7, 400])
def test_a_group_has_whole_keys_and_no_more_of_them_than_its_bytes_allow(size: int) -> None:
    hashes = np.repeat([-5, -1, 0, 3, 8, 9], [1, 4, 1, 300, 2, 2])
    table = pa.table({"c0": np.arange(len(hashes)), HASH: hashes})
    batches = [*table.to_batches(size), pa.RecordBatch.from_pylist([], table.schema)]
    groups = [group["c0"].to_pylist() for group in whole_keys(iter(batches), 16 * 6)]
    assert [row for group in groups for row in group] == list(range(len(hashes)))
    assert all(hashes[group[0]] != hashes[group[0] - 1] for group in groups[1:])
    several = [len(group) for group in groups if hashes[group[0]] != hashes[group[-1]]]
    assert several
    assert max(several) < 6 + size
    assert list(whole_keys(iter(batches[-1:]), 1)) == []


def test_queries_times_and_names(spark: Any) -> None:
    at = [dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(seconds=second) for second in range(8)]
    table = pa.table({"a.b": ["x", "x", "y", "x", None, None, "y", "x"], "price": [3.0, 9, 1, 2, 3, 8, 7, 8.5], "at": at})
    table = spark.createDataFrame(table)
    named = afa.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES LAST(d.price) AS low, FIRST(d.at) AS since "
        "PATTERN (d u) WITHIN INTERVAL '5' SECOND DEFINE d AS price < 4, u AS price > 5)",
        tick="us",
        event=NamedTuple("Quote", [("k", str | None), ("price", float), ("at", afa.Instant | None)]),  # type: ignore[operator]
    )
    assert same(spark, {1: named, 2.5: named}, table.withColumnRenamed("a.b", "k"), time="at") == 8
    assert same(spark, {limit: dip(limit) for limit in (3.0, 5.5, 99.0)}, table, key="a.b", time="at", window="5 s") == 7
    nothing = afa.spark.backtest({"a": dip(1), "b": dip(2)}, table.limit(0), key="a.b", time="at")
    assert [tuple(row) for row in nothing.table.collect()] == [("a", 0), ("b", 0)]
    assert nothing.matches.count() == 0


def test_what_the_builder_has_made_and_situations_up_to_the_latest_time_of_all(spark: Any) -> None:
    stock = [(symbol, price, at) for symbol, price, at in random_stock("sweep")]
    table = spark.createDataFrame(stock, "symbol string, price long, at long").selectExpr(
        "symbol", "price", "timestamp_seconds(at) AS at"
    )
    assert same(spark, {"built": BUILT, "text": RISING}, table, time="at") > 20
    drives = [(who, speed, wet, at) for who, speed, wet, at in readings("sweep") if who != "B" or at < 80]
    table = spark.createDataFrame(drives, "who string, speed long, wet boolean, at long")
    table = table.selectExpr("who", "speed", "wet", "timestamp_seconds(at) AS time")
    for end in ("latest", "forever"):
        assert same(spark, {speed: driving(speed) for speed in (2, 3)}, table, time="time", end=end) > 3


def test_retractions(spark: Any) -> None:
    rows = [("x", 3.0, 1, 1), ("x", 9.0, 2, 1), ("x", 9.0, 2, -1), ("y", 1.0, 1, 1), ("y", 9.0, 3, 1)]
    table = spark.createDataFrame(rows, "key string, price double, at long, diff int")
    assert same(spark, {"a": dip(1), "b": dip(2)}, table, key="key", time="at", diff="diff") == 2


def test_an_error_on_a_worker_names_the_variant(spark: Any) -> None:
    table = spark.createDataFrame([(1, 1, 1.0), (1, 2, 9.0)], "key int, at long, price double")

    def odd(e: Any, r: Any) -> bool:
        raise ValueError("no such price")

    found = afa.spark.backtest({"fine": dip(1), "odd": dip(1, odd)}, table, key="key", time="at", counts=True)
    with pytest.raises(Exception, match=r"(?s)no such price.*of variant 'odd'"):
        found.table.collect()


def test_refused(spark: Any) -> None:
    table = spark.createDataFrame([(1, 1.5, 1, 1.0)], "key int, ratio double, at long, price double")
    patterns = {"a": dip(1), "b": dip(2)}
    given: dict[str, Any] = {"key": "key", "time": "at"}
    stream = spark.readStream.format("rate").load()
    for frame_, asked, said in (
        (stream, given, "expected a static table, all rows of which are there, but got a stream"),
        (patterns, given, "expected events as a DataFrame"),
        (table, {"time": "at"}, "expected the names of key columns but got key=None.*a constant column"),
        (table, given | {"key": "ratio"}, "expected a key of .* but got ratio double: cast it"),
        (table, given | {"key": "nothing"}, "nothing"),
        (table, given | {"time": "when"}, "when"),
        (table, given | {"threads": 2}, "expected options of backtest.*threads=2"),
        (table, given | {"members": "le"}, "expected options of backtest.*members='le'"),
        (table, given | {"end": "now"}, 'expected "latest" or "forever"'),
        (table, given | {"window": "5 s"}, "variant 'a': .*5 s"),
        (table, given | {"order_by": "nothing"}, "variant 'a': .*nothing"),
    ):
        with pytest.raises(AfaError, match=f"(?s){said}"):
            afa.spark.backtest(patterns, frame_, **asked)
    with pytest.raises(TypeError, match="unexpected keyword argument 'withdrawn'"):
        afa.spark.backtest(patterns, table, withdrawn=True, **given)
    with pytest.raises(AfaError, match="expected patterns by their names"):
        afa.spark.backtest(dip(1), table, **given)  # type: ignore[arg-type]
    with pytest.raises(AfaError, match="variant 'b'"):
        afa.spark.backtest({"a": dip(1), "b": Automaton(start="0", final={"1"}, arcs=[])}, table, **given)
