"""`replay` on stored tables of every kind finds what `afa.find` finds in their rows."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import afa
from afa import AfaError, Arc, Automaton
from tests.automata import Count
from tests.replay.stored_files import agree, forced, same, saved


class Last(NamedTuple):
    x: int
    z: int
    at: afa.Instant


def event_of(kind: Any) -> Any:
    """An event class whose ``x`` is of a type."""
    made: Any = NamedTuple
    return made("Event", [("x", kind), ("z", int)])


def pair(kind: Any, one: str, two: str = "z == 1") -> Automaton:
    """An event of one kind, directly behind it one of another kind; ``kind``: the type of x, or `Last`."""
    event = kind if kind is Last else event_of(kind)
    arcs = [Arc("0", "1", one, "r._replace(n=e.z)"), Arc("1", "2", two)]
    return Automaton(start="0", final={"2"}, event=event, register=Count(), arcs=arcs)


def rows_of(values: Sequence[Any], kind: pa.DataType, many: int = 42) -> pa.Table:
    """Each value several times, in a shuffled order, beside a column that is 1 now and then."""
    random = np.random.default_rng(5)
    order = random.integers(0, len(values), many)
    order[: many // 3] = 0
    column = pa.array([values[i] for i in order.tolist()], kind)
    return pa.table({"at": np.cumsum(random.integers(1, 4, many)), "x": column, "z": random.integers(0, 3, many)})


INTS = [3, 0, 1, 7, 100, 101, 127]
BIG = [5, 2**53, 2**53 + 1, 2**53 + 2, -(2**53) - 1, 2**63 - 1, -(2**63), 0]
FLOATS = [5.0, 0.1, 0.5, math.nan, -0.0, 0.0, math.inf, -math.inf, 16777217.0, 1e-45, 3.0]
HUGE = [5.0, 2.0**53, 2.0**53 + 2, -(2.0**53), 1.7e308, -math.inf, math.nan]
TEXTS = ["m", "", "a", "abc", "abd", "é", "日本", "\U0001f600", "z" * 50, 'quo"te']
INT_FENCES = [
    "x == 7", "x != 3", "x > 100", "x >= 101", "x < 1", "x in (0, 127)", "x > 100.5", "x == 100.0", "not x <= 3", "x == 0.5",
]  # fmt: skip
BIG_FENCES = [
    f"x {op} {bound!r}"
    for op in ("==", ">", "<=", "!=")
    for bound in (2**53 + 1, 2.0**53, 2**53, 2**63 - 1, float(2**63), -(2**63), 2.0**70, -1e300)
]
FLOAT_FENCES = [
    "x > 0.1", "x >= 0.1", "x == 0.1", "x < 0.1", "x == 0", "x == -0.0", "x > 0", "x != 5", "x != x", "x > 16777216", "not x < 5",
    "x in (0.5, 3)", "x >= 1e308", "x < -1e308", "x == 16777217", "0 < x < 1e-44", "x == 0.10000000149011612",
]  # fmt: skip
TEXT_FENCES = ["x == 'abc'", "x != 'm'", "x in ('é', '\U0001f600')", "x == ''", "x.startswith('ab')", f"x == {'z' * 50!r}"]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()])
def test_ints_of_every_width(tmp_path: Path, kind: pa.DataType) -> None:
    table = rows_of(INTS, kind)
    path = saved(table, tmp_path / "a.parquet")
    for n, fence in enumerate(INT_FENCES[:: 1 if kind == pa.int32() else 2]):
        agree(pair(float if n % 3 == 0 else int, fence), table, path)


def test_ints_that_no_float_holds_are_met_by_ints_and_floats(tmp_path: Path) -> None:
    table = rows_of(BIG, pa.int64())
    path = saved(table, tmp_path / "a.parquet")
    for fence in BIG_FENCES[::2]:
        agree(pair(int, fence), table, path)


def test_unsigned_ints_above_all_signed_ones_are_refused(tmp_path: Path) -> None:
    table = rows_of([1, 2**63 - 1, 2**63, 2**64 - 1], pa.uint64())
    path = saved(table, tmp_path / "a.parquet")
    with pytest.raises(AfaError, match="int64 overflow"):
        afa.find(pair(int, "x > 5"), table, time="at", window=10)
    with pytest.raises(AfaError, match="int64 overflow"):
        forced(pair(int, "x > 5"), path, window=10)
    small = rows_of([1, 2**63 - 1, 2**62], pa.uint64())
    for fence in ("x > 5", f"x == {2**62}", "x < 2"):
        agree(pair(int, fence), small, saved(small, tmp_path / "b.parquet"))


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_floats(tmp_path: Path, kind: pa.DataType) -> None:
    values = [np.float16(x) for x in FLOATS if x != 16777217] if kind == pa.float16() else FLOATS
    table = rows_of(values, kind)
    path = saved(table, tmp_path / "a.parquet")
    for fence in FLOAT_FENCES[:: 1 if kind == pa.float32() else 3]:
        agree(pair(float, fence), table, path)


def test_large_floats(tmp_path: Path) -> None:
    table = rows_of(HUGE, pa.float64())
    path = saved(table, tmp_path / "a.parquet")
    for fence in BIG_FENCES[1::3]:
        agree(pair(float, fence), table, path)


def test_values_that_are_missing(tmp_path: Path) -> None:
    for event, values, kind in ((float | None, FLOATS, pa.float64()), (int | None, INTS, pa.int32())):
        table = rows_of([None, None, *values], kind)
        path = saved(table, tmp_path / "a.parquet")
        for fence in (
            "x is None", "x is not None and x > 100", "x > 100 if x is not None else False", "x == 7", "x != 7", "x in (0, None)",
            "x is None or x < 1", "not (x is None) and x in (0, 3)", "(x or 0) > 100",
        ):  # fmt: skip
            agree(pair(event, fence), table, path)
    table = rows_of([None, None, *TEXTS], pa.string())
    path = saved(table, tmp_path / "a.parquet")
    for fence in ("x is None", "x == 'abc'", "x != 'm'", "x is None or x == ''", "x in ('a', None)"):
        agree(pair(str | None, fence), table, path)


def test_row_groups_of_nothing_but_missing_values(tmp_path: Path) -> None:
    table = pa.table({"at": range(12), "x": pa.array([None] * 6 + [5, None, 7, None, None, None], pa.int64()), "z": [1, 0] * 6})
    path = saved(table, tmp_path / "a.parquet")
    for fence in ("x is None", "x is not None and x > 4", "x == 7", "x != 7"):
        agree(pair(int | None, fence), table, path)
    _, plan = forced(pair(int | None, "x is not None and x == 7", "x is None"), path, [], window=2)
    assert plan.may_hold < 3


def test_a_value_missing_in_a_field_that_has_none_is_refused(tmp_path: Path) -> None:
    table = rows_of([None, 5, 7], pa.int64())
    path = saved(table, tmp_path / "a.parquet")
    with pytest.raises(AfaError, match=r"row group \d+ of .*a\.parquet"):
        forced(pair(int, "x == 7"), path, window=10)


def test_bools(tmp_path: Path) -> None:
    table = rows_of([False, False, False, True], pa.bool_())
    path = saved(table, tmp_path / "a.parquet")
    for fence in ("x", "not x", "x == True", "x == 1", "x > 0.5", "x in (0,)", "x is True", "x != False"):
        agree(pair(bool, fence), table, path)


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.large_string())]
)
def test_texts(tmp_path: Path, kind: pa.DataType) -> None:
    plain = rows_of(TEXTS, pa.string())
    table = plain.set_column(
        1, "x", plain["x"].cast(pa.string()).dictionary_encode() if pa.types.is_dictionary(kind) else plain["x"]
    )
    table = table.set_column(1, "x", table["x"].cast(kind))
    for n, options in enumerate([{}, {"use_dictionary": False}, {"write_statistics": False}, {"store_schema": False}]):
        path = saved(table, tmp_path / f"{n}.parquet", **options)
        for fence in TEXT_FENCES[: None if n == 0 else 2]:
            agree(pair(str, fence), table, path)


def test_long_texts_whose_statistics_are_cut_off_or_left_out(tmp_path: Path) -> None:
    values = ["m", "x" * 5000, "x" * 5000 + "y", "x" * 4999, "é" * 3000]
    table = rows_of(values, pa.string(), 30)
    path = saved(table, tmp_path / "a.parquet")
    for fence in (f"x == {'x' * 5000!r}", "x == 'm'", f"x == {'x' * 5000 + 'y'!r}", f"x in ({'é' * 3000!r}, 'q')"):
        agree(pair(str, fence), table, path)


@pytest.mark.parametrize("kind", [pa.decimal128(10, 2), pa.decimal256(40, 2)])
def test_decimals(tmp_path: Path, kind: pa.DataType) -> None:
    values = [decimal.Decimal(text) for text in ("5.00", "-1.25", "99.90", "100.10", "0.00")]
    table = rows_of(values, kind)
    path = saved(table, tmp_path / "a.parquet")
    for fence in ("x > 99", "x == 0", "x < 0", "x == 99.9"):
        try:
            afa.find(pair(float, fence), table, time="at", window=10)
        except AfaError as refused:
            with pytest.raises(AfaError, match=str(refused)[:20]):
                forced(pair(float, fence), path, window=10)
        else:
            agree(pair(float, fence), table, path)


def test_values_of_any_type(tmp_path: Path) -> None:
    for values, kind in (
        ([1, 2, 9], pa.int64()), ([1.5, 2.5, 3.0, math.nan], pa.float64()), (["a", "b", "2"], pa.string()),
        ([True, False], pa.bool_()),
        ([None, 2, 5], pa.int64()), ([None, 2.5, 3.0], pa.float32()), ([dt.date(2024, 1, 1), dt.date(2024, 1, 5)], pa.date32()),
    ):  # fmt: skip
        table = rows_of(values, kind)
        path = saved(table, tmp_path / "a.parquet")
        for fence in ("x == 2", "x == 2.5", "x == 'b'", "x in (9, 3.0)", "x == True"):
            agree(pair(Any, fence), table, path)


def test_files_without_statistics(tmp_path: Path) -> None:
    table = rows_of(INTS, pa.int64())
    path = saved(table, tmp_path / "a.parquet", write_statistics=False)
    plan = agree(pair(int, "x == 7"), table, path)
    assert plan.steps
    assert plan.replayed < 42
    agree(pair(int, "x == 7"), table, saved(table, tmp_path / "b.parquet", write_statistics=["at"]))
    agree(pair(int, "x == 7"), table, saved(table, tmp_path / "c.parquet", write_statistics=["x"]))


@pytest.mark.parametrize("version", ["1.0", "2.4", "2.6"])
def test_versions_of_the_format(tmp_path: Path, version: str) -> None:
    table = rows_of(INTS, pa.uint32())
    path = saved(table, tmp_path / "a.parquet", version=version, data_page_version="2.0", compression="zstd")
    agree(pair(int, "x == 7"), table, path)


def test_tables_of_no_row_and_of_one(tmp_path: Path) -> None:
    table = rows_of(INTS, pa.int64())
    once = Automaton(start="0", final={"1"}, event=event_of(int), register=Count(), arcs=[Arc("0", "1", "x == 7")])
    for many in (0, 1):
        few = table.slice(0, many).set_column(1, "x", pa.array([7] * many, pa.int64()))
        path = saved(few, tmp_path / f"{many}.parquet")
        for pattern, end, key in itertools.product((pair(int, "x == 7"), once), ("latest", "forever"), (None, "z")):
            agree(pattern, few, path, end=end, key=key)
    both = [str(tmp_path / "0.parquet"), str(tmp_path / "1.parquet"), saved(table, tmp_path / "2.parquet")]
    agree(once, pa.concat_tables([few, table]), both)
    with pq.ParquetWriter(tmp_path / "3.parquet", table.schema) as file:
        for part in (table.slice(0, 0), table.slice(0, 20), table.slice(0, 0), table.slice(20), table.slice(0, 0)):
            file.write_table(part)
    agree(pair(int, "x == 7"), table, tmp_path / "3.parquet")


def test_an_arc_is_taken_back_by_its_lifetime(tmp_path: Path) -> None:
    path = saved(pa.table({"at": [5], "x": [3], "z": [0]}), tmp_path / "a.parquet")
    first, again = (afa.insert(Arc("0", "2", "x == 3", name="past"), le, le + 10) for le in (0, 20))
    for gone, many in ((again, 1), (first, 0)):
        arcs = [first, again, gone._replace(diff=-1)]
        assert afa.replay.replay(pair(int, "x == 7"), path, time="at", window=9, arcs=arcs).matches.num_rows == many


# -- times -----------------------------------------------------------------------------------------------------------------------

BEGIN = dt.datetime(2024, 3, 30, 23, 59, 50)
TIMES = [
    pa.int32(), pa.int64(), *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")), pa.timestamp("us", "Europe/Berlin"),
    pa.timestamp("ns", "UTC"), pa.date32(), pa.date64(), pa.int8(), pa.uint16(), pa.uint64(),
]  # fmt: skip


def timed(kind: pa.DataType) -> pa.Table:
    """Rows whose times are of a type, in its smallest steps."""
    table = rows_of(INTS, pa.int64())
    at = table["at"].to_pylist()
    if pa.types.is_timestamp(kind):
        begin = pa.scalar(BEGIN, pa.timestamp("s")).cast(pa.timestamp(kind.unit)).value
        column = pa.array([begin + n for n in at], pa.int64()).cast(kind)
    elif pa.types.is_date(kind):
        column = pa.array([BEGIN.date() + dt.timedelta(n) for n in at], kind)
    else:
        column = pa.array([n - (42 if pa.types.is_signed_integer(kind) else 0) for n in at], kind)
    return table.set_column(0, "at", column)


@pytest.mark.parametrize("kind", TIMES, ids=str)
@pytest.mark.parametrize("statistics", [True, False])
def test_columns_of_times(tmp_path: Path, kind: pa.DataType, statistics: bool) -> None:
    path = saved(timed(kind), tmp_path / "a.parquet", write_statistics=statistics)
    table = pq.read_table(path)  # which has seconds as ms
    factor = 1000 if kind == pa.timestamp("s") else 1
    for window in (factor, 9 * factor):
        plan = agree(pair(int, "x == 7"), table, path, window=window)
    assert plan.replayed < 42
    late = Automaton(
        start="0",
        final={"2"},
        event=Last,
        register=Count(),
        arcs=[Arc("0", "1", "x == 7", "Count(e.at)"), Arc.timeout("1", "2", f"r.n + {2 * factor}")],
    )
    agree(late, table, path, window=5 * factor)


def test_times_at_both_ends_of_int64(tmp_path: Path) -> None:
    for at in ([-(2**63) + 1, -(2**63) + 2, 0, 5, 2**63 - 13, 2**63 - 12], [2**62 + i for i in range(6)]):
        table = pa.table({"at": pa.array(at, pa.int64()), "x": [7, 1, 7, 1, 7, 1], "z": [1] * 6})
        for rows, window in ((1, 1), (2, 2), (1, 10), (6, 10)):
            agree(pair(int, "x == 7"), table, saved(table, tmp_path / "a.parquet", rows), window=window)


def test_timestamps_in_the_hour_that_comes_twice(tmp_path: Path) -> None:
    at = [dt.datetime(2024, 10, 26, 22, tzinfo=dt.timezone.utc) + dt.timedelta(minutes=20 * i) for i in range(30)]
    x = [7 if i in (3, 7, 9, 10, 12, 13, 16) else 1 if i in (4, 8, 11, 14, 17) else 3 for i in range(30)]
    table = pa.table({"at": pa.array(at, pa.timestamp("us", "Europe/Berlin")), "x": x, "z": [value == 1 for value in x]})
    table = table.set_column(2, "z", table["z"].cast(pa.int64()))
    for rows, window in ((1, "20 min"), (1, "21 min"), (2, "61 min"), (3, "21 min")):
        agree(pair(int, "x == 7"), table, saved(table, tmp_path / "a.parquet", rows), window=window, tick="us")


def test_names_that_mean_something_else(tmp_path: Path) -> None:
    class Spanned(NamedTuple):
        x: int
        interval: int

    spanned = Automaton(start="0", final={"2"}, event=Spanned, arcs=[Arc("0", "1", "x == 7"), Arc("1", "2", "interval == 1")])
    table = rows_of(INTS, pa.int64()).rename_columns(["at", "x", "interval"]).append_column("interval0", pa.array(["a", "b"] * 21))
    path = saved(table, tmp_path / "a.parquet")
    for key in ("interval0", ["interval0", "interval"], None):
        agree(spanned, table, path, key=key)
    dotted = rows_of(INTS, pa.int64()).rename_columns(["a.t", "x", "z"]).append_column("a.b", pa.array(["a", "b"] * 21))
    nested = dotted.append_column("a", pa.array([{"b": 1}] * 42))
    for each in (dotted, nested.drop_columns(["a.b"])):
        key = "a.b" if "a.b" in each.column_names else None
        agree(pair(int, "x == 7"), each, saved(each, tmp_path / "b.parquet"), key=key, time="a.t")


@pytest.mark.parametrize("options", [{"use_deprecated_int96_timestamps": True}, {"coerce_timestamps": "ms"}, {"version": "1.0"}])
def test_timestamps_as_files_have_them(tmp_path: Path, options: dict[str, Any]) -> None:
    table = timed(pa.timestamp("ms"))
    path = saved(table, tmp_path / "a.parquet", **options)
    read = pq.read_table(path)
    agree(pair(int, "x == 7"), read, path, window=3_000_000 if read.schema.field("at").type.unit == "ns" else 3)


def test_timestamps_with_durations_and_a_coarser_tick(tmp_path: Path) -> None:
    path = saved(timed(pa.timestamp("s")), tmp_path / "a.parquet")
    table = pq.read_table(path)
    for tick in ("s", "ms", None):
        agree(pair(int, "x == 7"), table, path, window="5 s", tick=tick)
        agree(pair(int, "x == 7"), table, path, window=dt.timedelta(seconds=5), tick=tick)

    late = Automaton(
        start="0", final={"2"}, event=Last, register=Count(),
        arcs=[Arc("0", "1", "x == 7", "r._replace(n=e.at)"), Arc("1", "2", lambda e, r: e.at - r.n >= afa.span("2 s"))],
    )  # fmt: skip
    for tick in ("s", "ms"):
        agree(late, table, path, window="5 s", tick=tick)


def test_the_instant_is_asked_for(tmp_path: Path) -> None:
    table = rows_of(INTS, pa.int64())
    path = saved(table, tmp_path / "a.parquet")
    for fence in ("at > 100", "at == 50", "x == 7 and at < 40", "at in (20, 21, 22, 23)"):
        agree(pair(Last, fence), table, path)
    _, plan = forced(pair(Last, "at >= 100 and x == 7", "at < 110"), path, [], window=3)
    assert plan.may_hold < 10
    path = saved(timed(pa.timestamp("s")), tmp_path / "b.parquet")
    stamped = pq.read_table(path)
    bound = int(BEGIN.replace(tzinfo=dt.timezone.utc).timestamp()) + 60
    for tick, factor in (("s", 1), ("ms", 1000)):
        agree(pair(Last, f"at > {bound * factor} and x == 7"), stamped, path, window="5 s", tick=tick)
    kept = table.append_column("le", table["at"])
    agree(pair(Last, "at == 50"), kept, saved(kept, tmp_path / "c.parquet"), time="le")


def test_ends_of_lifetimes(tmp_path: Path) -> None:
    table = rows_of(INTS, pa.int64())
    at = np.array(table["at"])
    ends = [None if n % 7 == 0 else int(le) + 1 + n % 9 for n, le in enumerate(at)]
    for kind in (pa.int64(), pa.int32()):
        lasting = table.append_column("to", pa.array(ends, kind))
        path = saved(lasting, tmp_path / "a.parquet")
        agree(pair(int, "x == 7"), lasting, path, until="to", window=4)
        agree(pair(int, "x == 7"), lasting, path, until="to", window=None)
    stamped = table.set_column(0, "at", table["at"].cast(pa.timestamp("ms"))).append_column(
        "to", pa.array(ends, pa.timestamp("ms"))
    )
    agree(pair(int, "x == 7"), stamped, saved(stamped, tmp_path / "b.parquet"), until="to", window="4 ms")


def test_a_retraction_of_what_the_table_has_not_is_refused(tmp_path: Path) -> None:
    gone = rows_of(INTS, pa.int64()).append_column("d", pa.array([-1] * 42))
    with pytest.raises(AfaError, match="retract"):
        forced(pair(int, "x == 7"), saved(gone, tmp_path / "a.parquet"), diff="d", window=10)


# -- keys ------------------------------------------------------------------------------------------------------------------------

KEYS: list[tuple[list[Any], pa.DataType]] = [
    ([1, 2, 3], pa.int8()), ([1, 2, 2**63 + 1], pa.uint64()), (["a", "b", ""], pa.string()), (["a", "b"], pa.large_string()),
    ([0.0, -0.0, math.nan, 1.5], pa.float64()), ([0.1, 2.5], pa.float32()), ([True, False], pa.bool_()),
    ([BEGIN, BEGIN + dt.timedelta(microseconds=1)], pa.timestamp("us")), ([BEGIN.date(), dt.date(1970, 1, 1)], pa.date32()),
    ([decimal.Decimal("1.50"), decimal.Decimal("2.00")], pa.decimal128(8, 2)), (["a", "b"], pa.dictionary(pa.int8(), pa.string())),
    ([b"a", b"\xff"], pa.binary()),
]  # fmt: skip


@pytest.mark.parametrize(("values", "kind"), KEYS, ids=[str(kind) for _, kind in KEYS])
def test_keys_of_every_type(tmp_path: Path, values: list[Any], kind: pa.DataType) -> None:
    table = rows_of(INTS, pa.int64())
    column = pa.array([values[n * n % len(values)] for n in range(42)], kind)
    table = table.append_column("k", column).append_column("q", pa.array([n % 2 for n in range(42)]))
    path = saved(table, tmp_path / "a.parquet")
    for key in ("k", ["k", "q"], ["q", "k"]):
        plan = agree(pair(int, "x == 7"), table, path, key=key)
        assert plan.replayed < 42
        agree(pair(int, "x == 7", "True"), table, path, key=key)


def test_keys_that_are_fields_or_times(tmp_path: Path) -> None:
    table = rows_of(INTS, pa.int64())
    path = saved(table, tmp_path / "a.parquet")
    agree(pair(int, "x > 3", "x > 3"), table, path, key="x")
    agree(pair(int, "x > 3", "x > 3"), table, path, key=["z", "x"])
    ties = table.set_column(0, "at", pa.array([n // 3 for n in range(42)]))
    agree(pair(Last, "x > 3", "x > 3"), ties, saved(ties, tmp_path / "b.parquet"), key="at")


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.timestamp("us")])
def test_a_key_that_is_missing_is_one_as_any_other(tmp_path: Path, kind: pa.DataType) -> None:
    table = rows_of(INTS, pa.int64()).append_column("k", pa.array([None] * 42, kind))
    path = saved(table, tmp_path / "a.parquet")
    found = afa.find(pair(int, "x == 0"), table, time="at", window=10, key="k")
    assert len(found) == len(forced(pair(int, "x == 0"), path, window=10, key="k")[0]) > 0
    assert set(found["k"].to_pylist()) == {None}


# -- sources ---------------------------------------------------------------------------------------------------------------------


def test_folders_whose_names_hold_a_column(tmp_path: Path) -> None:
    table = rows_of(INTS, pa.int64()).append_column("part", pa.array([["a", "b", "c d"][n // 20] for n in range(42)]))
    pq.write_to_dataset(table, tmp_path / "text", partition_cols=["part"], row_group_size=4)
    pq.write_to_dataset(table, tmp_path / "number", partition_cols=["z"], row_group_size=4)
    for folder in ("text", "number"):
        read = pq.read_table(tmp_path / folder)
        agree(pair(int, "x == 7"), read, tmp_path / folder)
        agree(pair(int, "x == 7", "z == 2"), read, tmp_path / folder)
        agree(pair(int, "x == 7"), read, tmp_path / folder, key="part" if folder == "text" else "z")

    class Parted(NamedTuple):
        x: int
        part: str

    once = Automaton(
        start="0", final={"2"}, event=Parted, arcs=[Arc("0", "1", "part == 'b' and x > 3"), Arc("1", "2", "part in ('b', 'c d')")]
    )
    read = pq.read_table(tmp_path / "text")
    agree(once, read, tmp_path / "text")
    agree(once, read, tmp_path / "text", key="part")
    _, plan = forced(once, tmp_path / "text", [], window=2)
    assert plan.may_hold < plan.groups


def test_a_column_in_the_names_of_folders_may_be_missing(tmp_path: Path) -> None:
    table = rows_of(INTS, pa.int64()).append_column("part", pa.array([[1, None, 3][n // 20] for n in range(42)]))
    pq.write_to_dataset(table, tmp_path / "f", partition_cols=["part"], row_group_size=4)

    class Parted(NamedTuple):
        x: int
        part: int | None

    read = pq.read_table(tmp_path / "f", partitioning="hive")
    if pa.types.is_dictionary(read.schema.field("part").type):
        read = read.set_column(read.schema.names.index("part"), "part", read["part"].cast(pa.int32()))
    for fence in ("part is None", "part == 3", "part != 3", "part is not None and part < 2"):
        agree(Automaton(start="0", final={"1"}, event=Parted, arcs=[Arc("0", "1", fence)]), read, tmp_path / "f")


def test_files_that_differ_in_the_order_and_the_types_of_columns(tmp_path: Path) -> None:
    table = rows_of(INTS, pa.int64())
    one, two, three = table.slice(0, 20), table.slice(20, 20), table.slice(40)
    saved(one, tmp_path / "a.parquet")
    saved(two.select(["z", "at", "x"]).append_column("more", pa.array([1.5] * 20)), tmp_path / "b.parquet")
    small = three.set_column(1, "x", three["x"].cast(pa.int32())).set_column(0, "at", three["at"].cast(pa.int32()))
    saved(small, tmp_path / "c.parquet")
    for fence in ("x == 7", "x > 100", "x in (0, 127)"):
        for window in (2, 10):
            agree(pair(int, fence), table, tmp_path, window=window)
    paths = [tmp_path / f"{name}.parquet" for name in "bca"]
    agree(pair(int, "x == 7"), table, paths)
    agree(pair(int, "x == 7"), table, [str(path) for path in paths])


def test_a_column_that_some_files_do_not_have(tmp_path: Path) -> None:
    table = rows_of(INTS, pa.int64())
    saved(table.slice(0, 30), tmp_path / "a.parquet")
    saved(table.slice(30).select(["at", "z"]), tmp_path / "b.parquet")
    whole = ds.dataset(tmp_path, format="parquet").to_table()
    for fence in ("x is None", "x is not None and x == 7", "x == 7", "x != 7"):
        agree(pair(int | None, fence), whole, tmp_path)


def test_ints_of_other_widths_in_the_first_file(tmp_path: Path) -> None:
    table = rows_of([3, 7, 2**40], pa.int64())
    first = table.slice(0, 30)
    first = first.set_column(1, "x", pa.array([7] * 30, pa.int32()))
    saved(first, tmp_path / "a.parquet")
    saved(table.slice(30), tmp_path / "b.parquet")
    with pytest.raises(AfaError, match=r"b\.parquet"):  # as pyarrow's datasets have it, the first file says the types
        forced(pair(int, f"x == {2**40}"), tmp_path, window=10)


def test_steps_of_one_instant_that_two_row_groups_share(tmp_path: Path) -> None:
    """With a sequence, steps of one LE stand in any order in row groups: then no distance counts."""
    rows = [(4, 0, 6), (5, 3, 6), (5, 1, 9), (5, 2, 5), (6, 0, 1), *((7 + i, 0, 9 if i % 2 else 5) for i in range(12))]
    at, z, x = zip(*rows)
    table = pa.table({"at": at, "z": z, "x": x})
    saved(table.slice(0, 2), tmp_path / "a.parquet")
    saved(table.slice(2), tmp_path / "b.parquet", 20)
    arcs = [Arc("0", "1", "x == 9"), Arc("1", "2", "True"), Arc("2", "3", "True"), Arc("3", "4", "x == 1")]
    four = Automaton(start="0", final={"4"}, event=event_of(int), arcs=arcs)
    agree(four, table, tmp_path, window=20, order_by="z")
    assert afa.find(four, table, time="at", window=20, order_by="z").num_rows == 1


def test_datasets(tmp_path: Path) -> None:
    table = rows_of(INTS, pa.int64())
    pattern = pair(int, "x == 7")
    (tmp_path / "p").mkdir()
    saved(table, tmp_path / "p/a.parquet")
    agree(pattern, table, ds.dataset(tmp_path / "p"))
    pyarrow.csv.write_csv(table, tmp_path / "a.csv")
    agree(pattern, table, ds.dataset(tmp_path / "a.csv", format="csv"))
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as file:
        file.write_table(table, 7)
    agree(pattern, table, ds.dataset(tmp_path / "a.arrow", format="ipc"))
    agree(pattern, table, ds.dataset(table))
    both = ds.dataset([ds.dataset(tmp_path / "p"), ds.dataset(tmp_path / "a.csv", format="csv")])
    agree(pattern, pa.concat_tables([table, table]), both)
    with pytest.raises(AfaError, match="without a filter"):
        forced(pattern, ds.dataset(tmp_path / "p").filter(ds.field("x") > 3), window=10)
    keyed = ds.dataset(tmp_path / "p", partitioning=None)
    agree(pattern, table, keyed, key="z")


def test_a_case_to_keep(tmp_path: Path) -> None:
    """Directly behind an X an A and a B, within less than 10: in the rows there is none, though each of them is near another."""

    class Letter(NamedTuple):
        s: str

    one = Automaton(
        start="0", final={"3"}, event=Letter,
        arcs=[Arc("0", "1", "s == 'X'"), Arc("1", "2", "s == 'A'"), Arc("2", "3", "s == 'B'")],
    )  # fmt: skip
    table = pa.table({"s": list("ABXAyBAB"), "at": [0, 1, 8, 9, 10, 11, 20, 21]})
    for size in (1, 2, 3, 8):
        path = saved(table, tmp_path / f"{size}.parquet", size)
        plan = agree(one, table, path)
        assert forced(one, path, window=10)[0].num_rows == 0
        assert plan.reason is None
    near = pa.table({"s": list("XAB"), "at": [0, 5, 10]})
    for window, many in ((10, 0), (11, 1)):  # a window of w holds distances below w
        path = saved(near, tmp_path / "near.parquet", 1)
        agree(one, near, path, window=window)
        assert forced(one, path, window=window)[0].num_rows == many


def test_matches_have_the_types_that_find_gives(tmp_path: Path) -> None:
    table = timed(pa.timestamp("ns", "UTC"))
    table = table.append_column("k", pa.array(["a", "b"] * 21).dictionary_encode())
    path = saved(table, tmp_path / "a.parquet")
    want = afa.find(pair(int, "x == 7"), path, time="at", window=10, key="k")
    got, plan = forced(pair(int, "x == 7"), path, window=10, key="k")
    same(got, want)
    assert plan.replayed < 42
