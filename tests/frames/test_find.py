"""`find`: each kind of frame in and out, times with zones, what orders rows, and what is refused."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import afa
from afa import AfaError, Arc, Automaton, Keyed, insert
from afa.frames import slicing
from afa.language import one
from afa.replay import through_spans
from tests.conftest import ENGINES


class Trade(NamedTuple):
    price: float


class Low(NamedTuple):
    low: float = 0.0


DIP = Automaton(
    start="0",
    final={"2"},
    register=Low(),
    event=Trade,
    arcs=[
        Arc("0", "1", "price < 3", "(e.price,)"),
        Arc("1", "1", "price < 3", "(min(e.price, r.low),)"),
        Arc("1", "2", "price > r.low + 4"),
    ],
)
WINDOW = 40


def columns(n: int = 300, keys: int = 5, seed: int = 1, ordered: bool = False) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    le = rng.integers(0, 2 * n, n)
    return {
        "symbol": np.array([f"S{i}" for i in range(keys)], object)[rng.integers(0, keys, n)],
        "price": rng.integers(0, 10, n).astype(float),
        "le": np.sort(le) if ordered else le,
        "beside": np.arange(n),
    }


def expected(given: dict[str, Any], window: int = WINDOW, key: str = "symbol") -> list[tuple[Any, ...]]:
    """What an operator that gets the rows one by one has in force at the end."""
    op = Keyed(DIP, key=key, window=window)
    net: dict[Any, int] = {}
    for symbol, price, le in zip(given["symbol"], given["price"], given["le"]):
        for change in op.push(insert(Trade(price), int(le)), key=symbol):
            row = (change.key, *change.payload, change.le, change.re)  # type: ignore[union-attr]
            net[row] = net.get(row, 0) + change.diff  # type: ignore[union-attr]
    return sorted(row for row, diff in net.items() if diff)


def rows(found: Any) -> list[tuple[Any, ...]]:
    table = pa.table(found)
    assert table.column_names == ["symbol", "low", "le", "re"]
    return sorted(zip(*(column.to_pylist() for column in table.columns)))


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("engine", ENGINES)
def test_each_kind_of_frame(engine: Any, ordered: bool) -> None:
    duckdb = pytest.importorskip("duckdb")
    given = columns(ordered=ordered)
    table, wanted = pa.table(given), expected(given)
    assert len(wanted) > 5
    said: dict[str, Any] = {"key": "symbol", "window": WINDOW, "engine": engine}
    for frame in (pd.DataFrame(given), pl.DataFrame(given), table, table.to_reader(), table.to_batches()[0], given):
        found = afa.find(DIP, frame, **said)
        kind = pa.Table if isinstance(frame, (pa.RecordBatchReader, pa.RecordBatch)) else type(frame)
        assert type(found) is kind
        assert rows(found) == wanted
    relation = duckdb.connect().from_arrow(table)
    found = afa.find(DIP, relation, **said)
    assert type(found) is type(relation)
    assert sorted(found.fetchall()) == wanted
    assert found.join(relation, "symbol").fetchall()  # of the same connection


def test_the_order_of_what_comes_out_is_that_of_time() -> None:
    found = afa.find(DIP, pd.DataFrame(columns()), key="symbol", window=WINDOW)
    assert found[["le", "re"]].apply(tuple, axis=1).is_monotonic_increasing


@pytest.mark.parametrize("late", [0, 30, 10_000])
@pytest.mark.parametrize("groups", [7, 1000])
def test_a_parquet_file_is_read_row_group_by_row_group(
    late: int, groups: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = columns(ordered=True)
    order = np.argsort(given["le"] + np.random.default_rng(3).integers(0, late + 1, len(given["le"])), kind="stable")
    given = {name: column[order] for name, column in given.items()}
    path, longest = tmp_path / "trades.parquet", []
    pq.write_table(pa.table(given), path, row_group_size=groups)
    taken = through_spans.columns_of
    monkeypatch.setattr(
        through_spans, "columns_of", lambda frame, *said: longest.append(len(frame.table.columns)) or taken(frame, *said)
    )
    found = afa.find(DIP, path, key="symbol", window=WINDOW)
    assert type(found) is pa.Table
    assert rows(found) == expected(given)
    assert rows(afa.find(DIP, str(path), key="symbol", window=WINDOW, threads=1)) == expected(given)
    if late < 100 and groups == 7:
        assert max(longest) < 60, "all of it was in memory"
    if late > 100:
        assert len(longest) < 10, "what waits was cut again and again"


def test_of_files_only_what_may_match_is_read(tmp_path: Path) -> None:
    """A row that no match needs is asked of no function: one that would raise there does not."""
    price = np.arange(4000) % 7 + 1.0
    price[[1000, 2001]] = 8.0, 90.0
    table = pa.table({"price": price, "at": range(4000)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    rare = Automaton(
        start="0",
        final={"2"},
        event=Trade,
        arcs=[Arc("0", "1", lambda e, r: 1 / (e.price - 8) < 1), Arc("1", "2", "price > 50")],
    )
    said: dict[str, Any] = {"time": "at", "window": 5}
    for source in (tmp_path / "a.parquet", str(tmp_path), [tmp_path / "a.parquet"], ds.dataset(tmp_path)):
        assert afa.find(rare, source, **said)["le"].to_pylist() == [2001]
    with pytest.raises(ZeroDivisionError):
        afa.find(rare, table, **said)
    with pytest.raises(AfaError, match=r"expected the path of a Parquet file, or of a folder of them, but got '.*none'"):
        afa.find(rare, str(tmp_path / "none"), **said)


def test_an_empty_frame(tmp_path: Path) -> None:
    pq.write_table(pa.table(columns()).slice(0, 0), tmp_path / "none.parquet")
    assert rows(afa.find(DIP, tmp_path / "none.parquet", key="symbol", window=WINDOW)) == []
    nothing = {name: column[:0] for name, column in columns().items()}
    for frame in (nothing, pd.DataFrame(nothing).astype({"symbol": str}), pa.table(nothing).cast(pa.table(columns()).schema)):
        assert rows(afa.find(DIP, frame, key="symbol", window=WINDOW)) == []


ZONES = (None, "UTC", "Europe/Berlin", "America/New_York")


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_come_in_and_go_out_in_their_type(unit: str, zone: str | None) -> None:
    """Over the last Sunday of October, when clocks go back."""
    given = columns()
    begin = pd.Timestamp("2024-10-26 22:00", tz="UTC")
    at = begin + pd.to_timedelta(given["le"], unit="min")
    at = at.tz_localize(None) if zone is None else at.tz_convert(zone)
    frame = pd.DataFrame({**given, "at": at.as_unit(unit)}).drop(columns="le")
    wanted = [
        (symbol, low, begin + pd.Timedelta(le, "min"), begin + pd.Timedelta(re, "min")) for symbol, low, le, re in expected(given)
    ]
    window = datetime.timedelta(minutes=WINDOW)
    for shown in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False), frame.set_index("at")):
        found = afa.find(DIP, shown, key="symbol", window=f"{WINDOW} min")
        table = pa.table(found).to_pandas()
        came = shown.index if isinstance(shown, pd.DataFrame) and "at" not in shown else pa.table(shown).to_pandas()["at"]
        assert [str(kind) for kind in table.dtypes[["le", "re"]]] == [str(came.dtype)] * 2
        utc = table.assign(**{name: pd.to_datetime(table[name], utc=True) for name in ("le", "re")})
        assert sorted(utc.itertuples(index=False, name=None)) == wanted
    assert pa.table(afa.find(DIP, frame, key="symbol", time="at", window=window)).num_rows == len(wanted)
    assert len(afa.find(DIP, frame, key="symbol", window=WINDOW, tick="min")) == len(wanted)


def test_what_lives_for_ever_has_no_end_in_a_type_of_times() -> None:
    frame = pd.DataFrame({"price": [1.0, 9.0], "at": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    found = afa.find(DIP, frame)
    assert found["le"].tolist() == [pd.Timestamp("2024-01-02")]
    assert found["re"].isna().all()
    assert found["re"].dtype == frame["at"].dtype


def test_dates_and_an_index_without_a_name() -> None:
    days = pa.table({"price": [1.0, 9.0], "day": pa.array([19_000, 19_003], pa.date32())})
    found = afa.find(DIP, days, window="1 week")
    assert found.schema.field("le").type == pa.date32()
    assert found["re"].to_pylist() == [datetime.date(2022, 1, 15)]
    index = pd.DataFrame({"price": [1.0, 9.0]}, pd.to_datetime(["2024-01-01", "2024-01-02"]))
    assert len(afa.find(DIP, index, window="2 days")) == 1


def test_a_query_has_a_tick_of_its_own() -> None:
    query = afa.query(
        "PATTERN SEQ(Trade a, Trade b) WHERE a.price < b.price WITHIN 2 seconds RETURN b.price", event=Trade, tick="ms"
    )
    stamps = pd.to_datetime([1000, 2500, 9000], unit="ms")
    frame = pd.DataFrame({"price": [1.0, 2.0, 3.0], "at": stamps})
    assert afa.find(query, frame)["le"].tolist() == [stamps[1]]
    finer = frame.assign(at=stamps + pd.Timedelta("1us"))
    with pytest.raises(AfaError, match=r"expected a whole number of ticks \(tick='ms'\).* in row 0"):
        afa.find(query, finer)


def test_words_take_the_tick_of_the_times() -> None:
    words = one("a", where=lambda e: e.price < 3).followed_by(one("b", where=lambda e: e.price > 8)).within(minutes=2)
    frame = pd.DataFrame({"price": [1.0, 9.0, 9.5], "at": pd.to_datetime([0, 60, 121], unit="s")})
    assert len(afa.find(words.of(Trade), frame)) == 1


class Stamped(NamedTuple):
    price: float
    at: afa.Instant


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_spans_mean_the_same_in_each_unit_and_times_are_shown_as_times(unit: str) -> None:
    begin = pd.Timestamp("2024-03-31 00:30", tz="Europe/Berlin")  # clocks go forward at 2:00
    frame = pd.DataFrame({"price": [1.0, 9.0, 2.0, 9.5], "when": begin + pd.to_timedelta([0, 119, 200, 321], unit="min")})
    frame["when"] = frame["when"].dt.as_unit(unit)

    class Since(NamedTuple):
        at: int = 0

    two_hours = Automaton(
        start="0",
        final={"2"},
        register=Since(),
        event=Stamped,
        arcs=[
            Arc("0", "1", lambda e, r: e.price < 3, lambda e, r: Since(e.at)),
            Arc("1", "2", lambda e, r: e.at < r.at + afa.span("2 hours")),
        ],
    )
    assert afa.find(two_hours, frame, window="1 day")["le"].tolist() == [frame["when"][1]]
    text = "PATTERN SEQ(Stamped a, Stamped b) WHERE strict_contiguity(a, b) { a.price < 3 } WITHIN 2 hours RETURN a.at AS since"
    query = afa.query(text, event=Stamped, tick=unit)
    found = afa.find(query, frame)
    assert found["since"].tolist() == [frame["when"][0]]
    assert found["since"].dtype == frame["when"].dtype


def test_a_sequence_orders_equal_times() -> None:
    class Step(NamedTuple):
        price: float
        number: int

    up = Automaton(start="0", final={"2"}, event=Step, arcs=[Arc("0", "1", "price < 3"), Arc("1", "2", "price > 8")])
    frame = {"price": [9.0, 1.0], "number": [2, 1], "le": [5, 5]}
    assert len(afa.find(up, frame)["le"]) == 0
    assert len(afa.find(up, frame, order_by="number")["le"]) == 1


def test_a_retraction_of_what_the_frame_has_not_is_refused() -> None:
    frame = {"le": [1, 2, 3, 2], "diff": [1, 1, 1, -1], "end": [5, None, 90, None]}
    with pytest.raises(AfaError, match=r"expected the insertion of .* at le=2"):
        afa.find(DIP, {**frame, "price": [1.0, 7.0, 9.0, 5.0]}, window=10, until="end", diff="diff")


def test_fields_of_any_type_and_optional_ones() -> None:
    class Odd(NamedTuple):
        what: Any
        n: int | None

    arcs = [Arc("0", "1", lambda e, r: e.what == (1, 2)), Arc("1", "2", lambda e, r: e.n is None)]
    twice = Automaton(start="0", final={"2"}, event=Odd, arcs=arcs)
    frame = {"what": [(1, 2), "x"], "n": [3, None], "le": [2, 3]}
    assert afa.find(twice, frame, window=9)["le"].tolist() == [3]


def test_an_int_field_may_be_a_column_of_times() -> None:
    class Sent(NamedTuple):
        sent: int

    early = Automaton(start="0", final={"1"}, event=Sent, arcs=[Arc("0", "1", "sent < 2000")])
    at = pd.to_datetime([1, 2, 3], unit="s")
    assert len(afa.find(early, pd.DataFrame({"sent": at, "at": at}), time="at", tick="ms")) == 1


def test_an_optional_field_may_lack_a_time() -> None:
    class Sent(NamedTuple):
        sent: int | None

    lost = Automaton(start="0", final={"1"}, event=Sent, arcs=[Arc("0", "1", lambda e, r: e.sent is None)])
    at = pd.to_datetime(["2024-01-01", "2024-01-02"])
    frame = pd.DataFrame({"sent": pd.to_datetime(["2024-01-01", None]), "at": at})
    assert afa.find(lost, frame, time="at")["le"].tolist() == [at[1]]


def test_types_of_keys_stay() -> None:
    given = columns()
    frame = pd.DataFrame(given).astype({"symbol": "category"})
    assert afa.find(DIP, frame, key="symbol", window=WINDOW)["symbol"].dtype == frame["symbol"].dtype
    numbered = {**given, "symbol": given["beside"] % 3}
    assert afa.find(DIP, numbered, key="symbol", window=WINDOW)["symbol"].dtype == np.int64
    table = pa.table(given).append_column("n", pa.array(given["beside"] % 3, pa.int16()))
    found = afa.find(DIP, table, key=["symbol", "n"], window=WINDOW)
    assert found.column_names == ["symbol", "n", "low", "le", "re"]
    assert found.schema.field("n").type == pa.int16()


def test_the_text_of_a_user_s_fault_names_arc_and_event() -> None:
    bad = Automaton(start="0", final={"1"}, event=Trade, arcs=[Arc("0", "1", lambda e, r: 1 / (e.price - 5) > 0, name="odd")])
    with pytest.raises(ZeroDivisionError) as raised:
        afa.find(bad, {"price": [1.0, 5.0], "le": [1, 2]})
    assert "odd" in str(getattr(raised.value, "__notes__", raised.value.args))


GIVEN = columns(9)
NO_SCHEMA = Automaton(start="0", final={"1"}, arcs=[Arc("0", "1", lambda e, r: True)])
NOWHERE = Automaton(start="0", final={"2"}, event=Trade, arcs=[Arc("0", "1", "True")])
QUERY = afa.query("PATTERN SEQ(Trade a) WITHIN 9", event=Trade)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"key": "symbl"}, r"expected a column 'symbl' \(key\) but got the columns .*; did you mean 'symbol'\?"),
        ({"time": "lee"}, r"expected a column 'lee' \(time\).*did you mean 'le'\?"),
        ({"drop": "price"}, r"expected a column 'price' \(field price of Trade\) but got the columns symbol, le, beside"),
        ({"drop": "le"}, r"expected time=, the column that says when each event happened, but got none; columns of times: none"),
        ({"le": [1, None, *range(7)]}, r"expected a value in every row of column 'le' \(time\) but got none in row 1"),
        ({"le": [1.5] * 9}, r"expected an int \(ticks\) but got le=1.5 in row 0 .*expected ints or timestamps as time"),
        ({"le": ["2024"] * 9}, r"got le='2024' in row 0 .*pandas.to_datetime reads text"),
        ({"le": pd.to_datetime([*["2024-01-01"] * 8, None])}, r"expected a value in every row of column 'le' .* none in row 8"),
        ({"price": [1.0] * 8 + ["x"]}, r"expected price: float but got price='x' in Trade, in row 8 of column 'price'"),
        ({"price": [1.0] * 8 + [None]}, r"expected price: float but got price=None in Trade, in row 8 of column 'price'"),
        ({"diff": "beside", "beside": [1.5] * 9}, r"expected 1 for an insertion, -1 for a retraction"),
        (
            {"until": "beside", "beside": pd.to_datetime(["2024"] * 9)},
            r"expected ints in column 'beside' \(until\), as those of LE,",
        ),
        ({"until": "nil"}, r"expected a column 'nil' \(until\)"),
        ({"pattern": NO_SCHEMA}, r"expected an automaton with event=, .* but got one without a schema"),
        ({"pattern": NOWHERE}, r"expected final states that '0' reaches but got '2'"),
        ({"pattern": "SEQ(Trade a)"}, r"expected an automaton or a query but got 'SEQ\(Trade a\)'"),
        ({"pattern": QUERY}, r"window=9 can't be combined with a query because the query says it"),
        (
            {"frame": 7},
            r"expected a frame \(pandas, polars, Arrow, DuckDB, a dict of columns\) or the path of a Parquet file but got a",
        ),
        ({"frame": pl.DataFrame(GIVEN).lazy()}, r"LazyFrame.*; collect it first"),
        ({"frame": type("DataFrame", (), {"__module__": "pyspark.sql", "collect": None})()}, r"; afa.spark.match takes it"),
        ({"frame": "nowhere.parquet"}, r"expected the path of a Parquet file, or of a folder of them, but got 'nowhere.parquet'"),
        ({"key": lambda e: e.price}, r"expected the name of a column as the key, or several, but got key="),
        ({"time": 7}, r"expected the name of a column but got time=7"),
        ({"end": "now"}, r"expected \"latest\" or \"forever\" but got end='now'"),
        ({"threads": 0}, r"expected a number of threads, at least 1, but got threads=0"),
        ({"window": "1 hour"}, r"expected tick=, what one int of LE counts, beside window='1 hour'"),
    ],
)
def test_refused(change: dict[str, Any], text: str) -> None:
    change = {**change}
    given = {name: change.pop(name) if name in change else list(column) for name, column in GIVEN.items()}
    given.pop(change.pop("drop", ""), None)
    said: dict[str, Any] = {"key": "symbol", "window": 9, "frame": given, "pattern": DIP, **change}
    with pytest.raises(AfaError, match=text):
        afa.find(said.pop("pattern"), said.pop("frame"), **said)


def test_two_columns_of_times_and_one_name_twice() -> None:
    counted = Automaton(start="0", final={"1"}, event=NamedTuple("Counted", [("n", int)]), arcs=[Arc("0", "1", "n > 3")])
    with pytest.raises(AfaError, match=r"expected a column 'n' \(field n of Counted\) but got the columns symbol, price"):
        afa.find(counted, GIVEN)
    day = pd.to_datetime(["2024-01-01"])
    with pytest.raises(AfaError, match="columns of times: seen, sent"):
        afa.find(DIP, pd.DataFrame({"price": [1.0], "seen": day, "sent": day}))
    twice = pa.table([[1.0], [1.0], [1]], names=["price", "price", "le"])
    with pytest.raises(AfaError, match=r"expected one column 'price' \(field price of Trade\) but got 2"):
        afa.find(DIP, twice)
    with pytest.raises(AfaError, match=r"expected times in a unit of time, or tick=, but got column 'le' of datetime64\[10s\]"):
        afa.find(DIP, {"price": [1.0], "le": np.array([1], "M8[10s]")})


def test_a_fault_in_a_parquet_file_names_the_row_group(tmp_path: Path) -> None:
    at = pa.array([*range(8), None], pa.timestamp("s"))
    pq.write_table(pa.table({"price": [1.0] * 9, "at": at}), tmp_path / "holes.parquet", row_group_size=3)
    with pytest.raises(AfaError, match=r"got none in row 2; drop such rows \(row group 2 of .*holes.parquet\)"):
        afa.find(DIP, tmp_path / "holes.parquet")


class Tagged(NamedTuple):
    key: float
    price: float


@pytest.mark.parametrize("of_field", [False, True])
@pytest.mark.parametrize("zeros", [(0.0, -0.0), tuple(np.array([0x7FF8 << 48, 0xFFF8 << 48], np.uint64).view(float).tolist())])
def test_zeros_and_nans_are_one_key_among_many(zeros: tuple[float, float], of_field: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slicing, "KEYS", 2)
    event = Tagged if of_field else Trade
    dip = Automaton(start="0", final={"2"}, event=event, arcs=[Arc("0", "1", "price < 3"), Arc("1", "2", "price > 6")])
    given = {"key": np.array([zeros[0], 1.0, 2.0, 3.0, 4.0, 5.0, zeros[1]]), "price": np.array([1.0, *[5.0] * 5, 9.0])}
    found = afa.find(dip, {**given, "at": np.arange(7)}, key="key", time="at", window=100)
    assert found["le"].tolist() == [6]


def test_times_in_another_byte_order() -> None:
    dip = Automaton(start="0", final={"2"}, event=Trade, arcs=[Arc("0", "1", "price < 3"), Arc("1", "2", "price > 6")])
    times = np.array(["2024-01-01T00:00:00", "2024-01-01T00:00:05"], ">M8[s]")
    found = afa.find(dip, {"price": [1.0, 9.0], "at": times}, time="at", window="1 min")
    assert found["le"].tolist() == [datetime.datetime(2024, 1, 1, 0, 0, 5)]


@pytest.mark.parametrize("sizes", [(2, 0), (0, 2, 0, 0), (1, 0, 1), (0,)])
def test_row_groups_without_rows_promise_nothing(sizes: tuple[int, ...], tmp_path: Path) -> None:
    waits = Automaton(start="0", final={"2"}, event=Trade, arcs=[Arc("0", "1", "price < 3"), Arc.timeout("1", "2", lambda r: 1000)])
    table = pa.table({"price": [1.0, 2.0], "at": [1, 2]})
    with pq.ParquetWriter(tmp_path / "in.parquet", table.schema) as file:
        begin = 0
        for size in sizes:
            file.write_table(table.slice(begin, size))
            begin += size
    for end, many in (("latest", 0), ("forever", min(begin, 1))):
        found = afa.find(waits, tmp_path / "in.parquet", time="at", window=5000, end=end)  # type: ignore[arg-type]
        assert len(found) == many
