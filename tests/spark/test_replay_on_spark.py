"""`replay` on a static table: the matches of a full run, as `match` and `afa.find` have them, read only where one can lie."""

from __future__ import annotations

import math
from collections import Counter
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import afa
from afa import AfaError, Arc, Automaton
from afa import spark as afa_spark
from afa.expression.intervals import ValueRange
from afa.replay.key_spans import Spans, joined
from afa.replay.witness.boxes import Box
from afa.spark import candidate_rows
from afa.spark.box_conditions import Asker, stretches
from afa.spark.span_rows import KeyCodes, SpanRows
from tests.spark.buckets import job_of
from tests.spark.streams import ZERO, when
from tests.spark.test_query_on_spark import COLUMNS, RISING, Stock, calm, chosen, random_stock
from tests.strategies import Seeded

SCHEMA = "k bigint, t string, x int, y double, s string, flag boolean, at timestamp, until timestamp, diff int"
SECOND = 1_000_000


class Seen(NamedTuple):
    x: int
    y: float | None
    s: str
    flag: bool
    at: afa.Instant | None = None


class Kept(NamedTuple):
    n: int = 0
    since: int = 0


RARE = ["x > 8", "x == 9", "x < 1", "s == 'u'", "s in ('u', 'w') and x > 6", "y is None", "y is not None and y > 0.9"]
RARE += ["y is not None and y <= 0", "not flag", "x >= r.n and x > 7", "x > 6 and y is not None and not y > 0.1"]
OFTEN = ["x > 2", "s != 'u'", "x >= r.n", "flag or x % 3 == r.n % 3", "True", "s.startswith('v')", "x > 8 or s == 'v'"]
TRANSFERS = [None, "(x, at)", "r._replace(n=max(r.n, x))", "r._replace(n=(r.n + 1) % 4)", "(0, at)"]


def arc(choose: Seeded, src: str, dst: str, name: str) -> Arc:
    kind = choose.number(0, 9)
    if kind == 0 and src != dst:
        return Arc.epsilon(src, dst, choose.one(["r.n > 4", "r.n % 2 == 0", "r.since > 0"]), name=name)
    if kind == 1 and src != "a":
        return Arc.timeout(src, dst, choose.one(["r.since + 4000000", "r.since + 9000000"]), name=name)
    if kind == 2 and src == dst and src != "a":
        return Arc.skip(src, choose.one(["True", *OFTEN]), name=name)
    return Arc(src, dst, choose.one(RARE if choose.chance(60) else OFTEN), choose.one(TRANSFERS), name=name)


def automaton_of(choose: Seeded) -> Automaton:
    """A way from the start to the end, and a few arcs beside it; arcs that are refused come anew."""
    states = "abcd"[: choose.number(2, 4)]
    while True:
        ways = [*pairwise(states), *((choose.one(states), choose.one(states[1:])) for _ in range(choose.number(0, 3)))]
        try:
            arcs = [arc(choose, src, dst, f"{src}{dst}{n}") for n, (src, dst) in enumerate(ways)]
            return Automaton(start="a", final={states[-1]}, event=Seen, register=Kept(), arcs=arcs)
        except AfaError:
            continue


def row_of(choose: Seeded, times: int, until: bool) -> dict[str, Any]:
    second = choose.number(0, times)
    rare = choose.chance(40)
    row = {"k": choose.number(0, 2), "t": choose.one(["p", "q"]), "x": choose.number(0, 9) if rare else 5}
    row |= {"y": choose.one([None, -0.0, 0.0, 0.5, 0.95]) if rare else 0.5, "s": choose.one("uvw") if rare else "v"}
    row |= {"flag": not rare or choose.chance(50), "at": when(second), "diff": 1}
    return {**row, "until": when(second + choose.number(1, 12)) if until and choose.chance(60) else None}


class World(NamedTuple):
    automaton: Automaton
    rows: list[dict[str, Any]]
    given: dict[str, Any]


def world(choose: Seeded) -> World:
    until, times = choose.chance(25), choose.one([20, 60, 200])
    rows = [row_of(choose, times, until) for _ in range(choose.number(0, 120))]
    keys = choose.one([("k",), ("t",), ("k", "t"), ("s",)])
    given = {
        "key": keys,
        "time": "at",
        "window": f"{choose.number(2, 15)} seconds",
        "end": choose.one(["latest", "latest", "forever"]),
    }
    if until:
        given["until"] = "until"
    if choose.chance(20):
        given["diff"] = "diff"
        rows += [{**row, "diff": -1} for row in rows[:: choose.number(5, 9)]]
    if choose.chance(15):
        given["longest"] = True
    return World(automaton_of(choose), rows, given)


def counted(rows: list[Any]) -> Counter[Any]:
    return Counter(map(repr, rows))


def of_find(world: World) -> Counter[Any]:
    """What `afa.find` says of the same rows; times in microseconds."""
    kinds = {"k": pa.int64(), "t": pa.string(), "x": pa.int64(), "y": pa.float64(), "s": pa.string(), "flag": pa.bool_()}
    moments = dict.fromkeys(["at", "until"], pa.timestamp("us", "UTC"))
    table = pa.Table.from_pylist(world.rows, pa.schema({**kinds, **moments, "diff": pa.int64()}))
    found = afa.find(world.automaton, table, tick="us", **world.given).to_pylist()
    ticks = [{**row, "le": _ticks(row["le"]), "re": _ticks(row["re"])} for row in found]
    total: Counter[Any] = Counter()
    for row in ticks:
        total[tuple(row[name] for name in (*world.given["key"], "n", "since", "le", "re"))] += row.get("diff", 1)
    return +total


def _ticks(moment: Any) -> int | None:
    if moment is None or isinstance(moment, int):
        return moment
    return ZERO + round((moment.replace(tzinfo=None) - when(0).replace(tzinfo=None)).total_seconds() * SECOND)


def check(spark: Any, world: World) -> Any:
    """The replay has the matches of both, row by row; its plan."""
    table = spark.createDataFrame([[row[name] for name in spark_names()] for row in world.rows], SCHEMA)
    pattern = afa_spark.replay(world.automaton, **world.given)
    found = table.transform(pattern)
    full = table.transform(afa_spark.match(world.automaton, **world.given))
    assert found.schema == full.schema
    got = found.where("kind = 'match'").collect()
    assert counted(got) == counted(full.where("kind = 'match'").collect()), str(pattern.plan)
    keys = world.given["key"]
    as_found = Counter((*(row[name] for name in (*keys, "n", "since")), _ticks(row.le), _ticks(row.re)) for row in got)
    assert as_found == of_find(world)
    assert pattern.plan is not None
    return pattern.plan, len(got)


def spark_names() -> list[str]:
    return [part.split()[0] for part in SCHEMA.split(", ")]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every witness is looked for, whatever it costs."""
    monkeypatch.setattr(candidate_rows, "FEW", 0)
    monkeypatch.setattr(candidate_rows, "COMMON", 2.0)
    monkeypatch.setattr(candidate_rows, "LOOK", 20)


SEEDS = [*range(6), *(pytest.param(seed, marks=pytest.mark.stress) for seed in range(6, 40))]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_worlds(spark: Any, seed: int, always: None) -> None:
    check(spark, world(Seeded(f"replay on spark/{seed}")))


# -- what is looked at -----------------------------------------------------------------------------------------------------------


class Trade(NamedTuple):
    price: float
    size: int | None = None


class Peak(NamedTuple):
    top: float = 0.0


SPIKE = Automaton(
    start="0",
    final={"2"},
    event=Trade,
    register=Peak(),
    arcs=[Arc("0", "1", "price > 99", "(e.price,)"), Arc("1", "1", "price > 60"), Arc("1", "2", "price < 50")],
)


def trades(folder: Path, spikes: tuple[int, ...]) -> list[Path]:
    """Eight files of five row groups; some have a spike in the middle row group."""
    paths = []
    for n in range(8):
        price = [60.0 + i % 9 for i in range(500)]
        if n in spikes:
            price[252:254] = [99.5, 40.0]
        at = pa.array([ZERO + (n * 500 + i) * SECOND for i in range(500)], pa.timestamp("us", "UTC"))
        table = pa.table(
            {"who": ["a", "b", "a", "a", "b"] * 100, "price": price, "size": pa.array(range(500), pa.int32()), "at": at}
        )
        paths.append(folder / f"{n}.parquet")
        pq.write_table(table, paths[-1], row_group_size=100, compression="none")
    return paths


def scramble(path: Path, groups: list[int]) -> None:
    """Make the pages of some row groups unreadable; the footer stays."""
    data, footer = bytearray(path.read_bytes()), pq.read_metadata(path)
    for group in groups:
        for column in range(footer.num_columns):
            meta = footer.row_group(group).column(column)
            begin = meta.dictionary_page_offset or meta.data_page_offset
            data[begin : begin + meta.total_compressed_size] = b"\xff" * meta.total_compressed_size
    path.write_bytes(bytes(data))


def test_files_and_row_groups_without_a_candidate_are_left_out(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(candidate_rows, "LOOK", 0)
    paths = trades(tmp_path, (2, 5))
    given = {"key": "who", "time": "at", "window": "10 seconds"}
    want = counted(spark.read.parquet(str(tmp_path)).transform(afa_spark.match(SPIKE, **given)).collect())
    assert len(want) == 2
    for n, path in enumerate(paths):
        scramble(path, [0, 1, 3, 4] if n in (2, 5) else [0, 1, 2, 3, 4])
    pattern = afa_spark.replay(SPIKE, require=True, **given)
    found = spark.read.parquet(*map(str, paths)).transform(pattern)
    assert counted(found.collect()) == want
    assert str(pattern.plan) == "price > 99 (0 -> 1): 2 rows; read in 2 stretches of time: 2 spans of 1 key"
    with pytest.raises(Exception, match=r"(?i)parquet|corrupt|could not read"):
        spark.read.parquet(*map(str, paths)).transform(afa_spark.match(SPIKE, **given)).collect()
    found.explain()
    said = capsys.readouterr().out
    assert "PushedFilters: [" in said
    assert "GreaterThanOrEqual(at," in said
    assert " = a)" in said  # the key, too


def test_a_common_witness_is_looked_for_around_a_rare_one(spark: Any, monkeypatch: pytest.MonkeyPatch, always: None) -> None:
    pairs = Automaton(
        start="0", final={"2"}, event=Trade, arcs=[Arc("0", "1", "price > 70"), Arc.skip("1", "True"), Arc("1", "2", "price < 50")]
    )
    monkeypatch.setattr(candidate_rows, "LOOK", 1000)
    rows = [("a", 60.0, when(n)) for n in range(200)]
    rows[50] = rows[90] = rows[120] = ("a", 80.0, when(0))
    rows = [(who, price, when(n)) for n, (who, price, _) in enumerate(rows)]
    rows[92] = ("a", 40.0, when(92))
    table = spark.createDataFrame(rows, "who string, price double, at timestamp").selectExpr("*", "cast(null as int) as size")
    pattern = afa_spark.replay(pairs, key="who", time="at", window="5 seconds")
    assert table.transform(pattern).count() == 1
    assert str(pattern.plan) == (
        "price < 50 (1 -> 2): 1 row; price > 70 (0 -> 1): 1 row; read in 1 stretch of time: 1 span of 1 key"
    )
    assert pattern.plan is not None
    assert pattern.plan.times == ((ZERO + 90 * SECOND, ZERO + 92 * SECOND + 1),)
    monkeypatch.setattr(candidate_rows, "MOST", 2)
    table.transform(pattern)
    assert pattern.plan.steps == ("price < 50 (1 -> 2): 1 row", "price > 70 (0 -> 1): 1 row")
    monkeypatch.setattr(candidate_rows, "MOST", 0)
    table.transform(pattern)
    assert str(pattern.plan) == "full run (more than 0 rows satisfy price > 70 (0 -> 1))"


def test_arcs_of_a_log_serve(spark: Any, tmp_path: Path) -> None:
    waits = Automaton(
        start="0", final={"2"}, event=Trade, register=Peak(), arcs=[Arc("0", "1", "price > 99", "(e.price,)", name="up")]
    )
    log = afa_spark.arc_log(tmp_path / "arcs", waits)
    log.insert(Arc("0", "1", "price < 20", "(e.price,)", name="down"), at=ZERO + 50 * SECOND)
    log.insert(Arc("1", "2", "price > 60", name="end"), at=ZERO)
    log.retract("up", at=ZERO + 60 * SECOND)
    log.insert(Arc.timeout("1", "2", f"{ZERO + 96 * SECOND}", name="late"), at=ZERO)
    rare = {20: 10.0, 30: 99.5, 70: 99.5, 80: 10.0, 94: 15.0, 95: 50.0, 97: 15.0}
    rows = [("a", rare.get(n, 61.0), 1, when(n)) for n in range(100)]
    table = spark.createDataFrame([*rows, ("b", 10.0, 1, when(93))], "who string, price double, size int, at timestamp")
    bad = spark.createDataFrame([("no line",)], "value string")
    given = {"key": "who", "time": "at", "window": "5 seconds", "arcs": spark.read.text(str(tmp_path / "arcs")).union(bad)}
    pattern = afa_spark.replay(waits, require=True, **given)
    found = table.transform(pattern)
    got, want = (counted(each.collect()) for each in (found, table.transform(afa_spark.match(waits, **given))))
    assert got == want
    assert {row.le.second for row in found.where("kind = 'match'").collect()} == {31, 21, 36, 37, 38}
    assert found.where("kind = 'fault'").count() == 1
    dropped = table.transform(afa_spark.replay(waits, require=True, on_fault="drop", **given))
    assert counted(dropped.collect()) == counted(found.where("kind <> 'fault'").collect())
    assert pattern.plan is not None
    assert len(pattern.plan.steps) == 1
    assert pattern.plan.steps[0].endswith(" (0 -> 1): 5 rows")  # of 8: the others come when their arc is not in force
    stream = spark.readStream.text(str(tmp_path / "arcs"))
    with pytest.raises(AfaError, match="expected static arcs beside static events but got a stream of arcs"):
        table.transform(afa_spark.replay(waits, **{**given, "arcs": stream}))


def test_nothing_is_there(spark: Any) -> None:
    table = spark.createDataFrame([("a", 60.0, 1, when(n)) for n in range(20)], "who string, price double, size int, at timestamp")
    given = {"key": "who", "time": "at", "window": "5 seconds"}
    pattern = afa_spark.replay(SPIKE, **given)
    found = table.transform(pattern)
    assert found.collect() == []
    assert found.schema == table.transform(afa_spark.match(SPIKE, **given)).schema
    assert str(pattern.plan) == "price > 99 (0 -> 1): 0 rows; so no match is possible"


# -- queries ---------------------------------------------------------------------------------------------------------------------

ROWS = """SELECT * FROM stocks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at MEASURES LAST(a.price) AS low ALL ROWS PER MATCH
AFTER MATCH SKIP PAST LAST ROW PATTERN (a b+) WITHIN INTERVAL '30' SECOND DEFINE a AS price < 3, b AS price > 4)"""

VIEW = f"{ROWS.replace('FROM stocks', 'FROM (SELECT * FROM stocks WHERE price <> 6)')} WHERE low < 2"


@pytest.mark.parametrize(
    "query",
    [
        RISING,
        chosen("PAST LAST ROW", 3),
        chosen("TO NEXT ROW", 3),
        *(afa.sql(text, event=Stock, tick="us") for text in (ROWS, VIEW)),
    ],
    ids=["text", "past last row", "to next row", "all rows", "filters before and behind"],
)
def test_a_query(spark: Any, query: Any, always: None) -> None:
    stream = [(symbol, price, 40 * t) for symbol, price, t in random_stock("replay")]
    stream += [(symbol, price, 40 * t + 3) for symbol, price, t in random_stock("replay, more")]
    table = spark.createDataFrame([(symbol, price, when(t)) for symbol, price, t in stream], COLUMNS)
    pattern = afa_spark.replay(query, time="time")
    found = table.transform(pattern)
    got, want = (counted(each.collect()) for each in (found, table.transform(afa_spark.match(query, time="time"))))
    assert got == want
    assert want
    assert pattern.plan is not None
    assert not pattern.plan.full


def test_members(spark: Any) -> None:
    rows = [("a", 99.5, 1, when(5)), ("a", 70.0, 2, when(6)), ("a", 40.0, 3, when(7)), ("b", 40.0, 4, when(7))]
    table = spark.createDataFrame(rows, "who string, price double, size int, at timestamp")
    given = {"key": "who", "time": "at", "window": timedelta(seconds=10), "members": "size"}
    found = table.transform(afa_spark.replay(SPIKE, require=True, **given)).collect()
    assert [row.members for row in found] == [[1, 3]]  # not the one that the loop ignores
    assert counted(found) == counted(table.transform(afa_spark.match(SPIKE, **given)).collect())


# -- refused, and full runs ------------------------------------------------------------------------------------------------------


def one_row(spark: Any) -> Any:
    return spark.createDataFrame([("a", 1.0, 1, when(0))], "who string, price double, size int, at timestamp")


def test_full_runs(spark: Any) -> None:
    table = one_row(spark)
    every = Automaton(start="0", final={"1"}, event=Trade, arcs=[Arc("0", "1", "True")])
    stocks = spark.createDataFrame([("A", 1, when(0))], COLUMNS)
    given = {"key": "who", "time": "at"}
    for automaton, rows, more, reason in [
        (SPIKE, table, given, "without a window an event may be part of a match at any distance"),
        (every, table, {**given, "window": "1 hour"}, "every event may be part of a match"),
        (calm(), stocks, {"time": "time"}, "a stage in front of the operator looks at what was before a match"),
    ]:
        pattern = afa_spark.replay(automaton, **more)
        full = rows.transform(afa_spark.match(automaton, **more))
        assert counted(rows.transform(pattern).collect()) == counted(full.collect())
        assert str(pattern.plan) == f"full run ({reason})"
        with pytest.raises(
            AfaError, match=f"a pattern that needs some rare event, with require=True, but got a full run: {reason}"
        ):
            rows.transform(afa_spark.replay(automaton, require=True, **more))
    common = afa_spark.replay(
        Automaton(start="0", final={"1"}, event=Trade, arcs=[Arc("0", "1", "price < 5")]), window="1 hour", **given
    )
    table.transform(common)
    assert str(common.plan) == "full run (at least every second row may be part of a match, as the first rows show)"


def test_refused(spark: Any, tmp_path: Path) -> None:
    table = one_row(spark)
    given: dict[str, Any] = {"key": "who", "time": "at", "window": "5 seconds"}
    table.write.parquet(str(tmp_path / "rows"))
    stream = spark.readStream.schema(table.schema).parquet(str(tmp_path / "rows"))
    for rows, automaton, more, message in [
        (stream, SPIKE, {}, "expected a static table, all rows of which are there, but got a stream: afa.spark.match takes one"),
        (None, SPIKE, {}, "expected events as a DataFrame but got None"),
        (table, SPIKE, {"end": "now"}, 'expected end="latest" or "forever" but got end=\'now\''),
        (table, SPIKE, {"time": "when"}, "expected a timestamp column 'when' but got the columns who, price, size, at"),
        (table, SPIKE, {"key": "price"}, "expected a key of string, .* but got price double: cast it"),
        (table, SPIKE, {"order_by": "no"}, "expected the event's field that orders rows, of price, size, but got order_by='no'"),
        (table.drop("size"), SPIKE, {}, "expected a column 'size' but got the columns who, price, at"),
        (table, SPIKE, {"window": "soon"}, "expected a duration such as"),
    ]:
        with pytest.raises(AfaError, match=message):
            afa_spark.replay(automaton, **{**given, **more})(rows)
    with pytest.raises(AfaError, match="expected the names of key columns but got key=None"):
        afa_spark.replay(SPIKE, time="at")
    with pytest.raises(AfaError, match="window='5 seconds' can't be combined with a query because the query says it"):
        afa_spark.replay(RISING, time="time", window="5 seconds")


# -- conditions ------------------------------------------------------------------------------------------------------------------


class Every(NamedTuple):
    i: int | None
    f: float | None
    s: str | None
    b: bool | None
    m: int | None
    d: int | None
    at: afa.Instant | None = None


ONE = {"nan": False, "none": False}
RANGES: list[tuple[str, ValueRange]] = [
    *((name, ValueRange(low=low, high=high, low_open=opens, high_open=opens, **more))  # type: ignore[arg-type]
      for name in ("i", "f") for low, high in ((0, math.inf), (-math.inf, 0), (-1, 2.5), (2**70, math.inf), (10**400, math.inf))
      for opens in (False, True) for more in (ONE, {**ONE, "none": True})),
    *((name, ValueRange(values=values, **ONE)) for name in "if" for values in ((0,), (3, 2.5), (), (1e308 * 10, 1.0), (True,))),
    ("f", ValueRange(high=0, none=False)), ("f", ValueRange(values=(), none=False)), ("f", ValueRange(low=2**53 + 1, **ONE)),
    ("s", ValueRange(values=("a", "\ud800", 3), **ONE)), ("s", ValueRange(none=False)), ("s", ValueRange(values=(), nan=False)),
    ("b", ValueRange(values=(True,), **ONE)), ("b", ValueRange(values=(0, ""), nan=False)), ("b", ValueRange(none=False)),
    ("m", ValueRange(low=ZERO + 5, low_open=True, **ONE)), ("m", ValueRange(values=(ZERO, 1.5), nan=False)),
    ("d", ValueRange(high=3, **ONE)), ("d", ValueRange(values=(7,), nan=False)),
    ("at", ValueRange(low=ZERO + 3 * SECOND, none=False)),
]  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "i": [0, -1, 3, None, 7, 2, 1, 2**40, -7],
    "f": [0.0, -0.0, math.nan, None, 2.5, 3.0, -1.0, math.inf, 2.0**53 + 2],
    "s": ["a", "", "b", None, "3", "ab", "a", "a", "a"],
    "b": [True, False, None, True, False, True, True, False, None],
    "m": [when(0), None, when(1), when(0), when(2), when(0) + timedelta(microseconds=6), None, when(-5), when(9)],
    "d": [3, 7, None, 3, 4, 7, 0, 1, 2],
    "at": [when(n) for n in range(9)],
}


def test_conditions_hold_for_every_row_in_a_box(spark: Any, tmp_path: Path) -> None:
    """Also where readers hold them against statistics and dictionaries: a file for each row."""
    never = Automaton(start="a", final={"b"}, event=Every, arcs=[Arc("a", "b", "i > 0")])
    job = job_of(never, "k", "5 seconds", None, 1, "report", [pa.int64()])
    kinds = {"i": pa.int64(), "f": pa.float64(), "s": pa.string(), "b": pa.bool_(), "m": pa.timestamp("us", "UTC")}
    schema = pa.schema({**kinds, "d": pa.decimal128(22, 2), "at": pa.timestamp("us", "UTC")})
    table = pa.Table.from_pydict({name: pa.array(values).cast(schema.field(name).type) for name, values in VALUES.items()})
    for n in range(9):
        pq.write_table(table.slice(n, 1), tmp_path / f"{n}.parquet")
    rows = spark.read.parquet(str(tmp_path))
    asker = Asker(rows.schema, "at", job)
    boxes = [Box(((name, allowed),)) for name, allowed in RANGES] + [Box((), ZERO + SECOND, ZERO + 4 * SECOND)]
    ticks = {name: [_ticks(v) for v in values] if name in ("m", "at") else values for name, values in VALUES.items()}
    wanted = [[box.allows({name: ticks[name][n] for name in ticks}, ticks["at"][n]) for box in boxes] for n in range(9)]
    told = rows.orderBy("at").select(*(asker.within(box).alias(f"c{n}") for n, box in enumerate(boxes))).collect()
    for n, row in enumerate(told):
        assert [box for box, held, want in zip(boxes, row, wanted[n]) if want and not held] == []
    extra = {
        (*box.fields[0], repr(ticks[box.fields[0][0]][n]))
        for n, row in enumerate(told)
        for box, held, want in zip(boxes, row, wanted[n])
        if held and not want
    }
    assert {value for name, allowed, value in extra if allowed.high < 1e300 or name != "f"} <= {"nan"}, extra
    for field, allowed in [
        ("f", ValueRange(low=0, **ONE)),
        ("f", ValueRange(high=0, **ONE)),
        ("f", ValueRange(values=(0,), **ONE)),
        ("m", RANGES[-5][1]),
    ]:
        box = Box(((field, allowed),))
        found = {_ticks(row.at) for row in rows.where(asker.may_be([box])).collect()}
        assert {ticks["at"][n] for n in range(9) if box.allows({field: ticks[field][n]}, ticks["at"][n])} <= found, box


def test_without_a_zone_a_day_more_is_read(spark: Any) -> None:
    rows = [("a", 61.0 + 38.5 * (n == 50) - 30 * (n == 52), 1, when(n)) for n in range(100)]
    table = spark.createDataFrame(rows, "who string, price double, size int, at timestamp").selectExpr(
        "who", "price", "size", "cast(at as timestamp_ntz) at"
    )
    given = {"key": "who", "time": "at", "window": "5 seconds"}
    pattern = afa_spark.replay(SPIKE, **given)
    got = table.transform(pattern).collect()
    assert len(got) == 1
    assert counted(got) == counted(table.transform(afa_spark.match(SPIKE, **given)).collect())


# -- without Spark ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_rows_find_their_spans(seed: int) -> None:
    choose = Seeded(f"span rows/{seed}")
    names = ["a", "b", "c"][: choose.number(1, 3)]
    domain = {"a": [None, 1, 2, 3], "b": ["u", "v", None, "w"], "c": [True, False, None]}

    def keys(n: int) -> list[Any]:
        return [tuple(choose.one(domain[name]) for name in names) for _ in range(n)]

    def columns(rows: list[Any]) -> list[Any]:
        kinds = {"a": pa.int64(), "b": pa.string(), "c": pa.bool_()}
        return [pa.chunked_array([pa.array([row[i] for row in rows], kinds[name])]) for i, name in enumerate(names)]

    seen, rows = keys(choose.number(0, 8)), keys(choose.number(0, 30))
    known = KeyCodes.of(columns(seen))
    number = known.numbers(columns(seen)).tolist()
    assert len(known) == len({key for key in seen if None not in key})
    of = dict(zip(seen, number))
    assert all((n < 0) == (None in key) for key, n in of.items())
    low = np.array([choose.number(0, 40) for _ in seen], np.int64)
    there = np.array(number, np.int64) >= 0
    spans = joined(np.array(number, np.int64)[there], low[there], low[there] + choose.number(1, 9))
    le = [choose.number(0, 50) for _ in rows]
    batch = pa.RecordBatch.from_arrays([*(c.combine_chunks() for c in columns(rows)), pa.array(le, pa.int64())], [*names, "le"])
    found = [row for part in SpanRows(known, names, spans, "span")([batch]) for row in part.to_pylist()]
    want = [
        {**dict(zip(names, key)), "le": at, "span": n}
        for key, at in zip(rows, le)
        for n in range(len(spans))
        if of.get(key) == spans.key[n] and spans.low[n] <= at < spans.high[n]
    ]
    assert found == want
    many = choose.number(1, 4)
    kept = stretches(spans, many)
    assert len(kept) <= many
    assert all(any(a <= low and high <= b for a, b in kept) for low, high in zip(spans.low.tolist(), spans.high.tolist()))


def test_no_spans_hold_no_rows() -> None:
    none = Spans(*np.zeros((3, 0), np.int64))
    batch = pa.RecordBatch.from_pydict({"k": ["a"], "le": [3]})
    assert list(SpanRows(KeyCodes.of([pa.chunked_array([["a"]])]), ["k"], none, "span")([batch])) == []
    assert stretches(none) == []
