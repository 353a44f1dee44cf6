"""Windowed aggregates: random stored tables, cuts and windows against brute force, by every way; what is refused, and how."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from afa import AfaError
from afa.errors import ChangeError, Int64Error
from afa.replay import index, slices, windows
from afa.replay.slice_work import Wanted, slices_of
from afa.replay.slices import WindowCut
from afa.replay.stored import Stored
from tests.replay.window_oracle import NUMBERS, World, aggregate, of_rows, of_time, plain, same, world

WORLDS, MANY, STEP = 200, 3000, 50


def aggregates(rng: random.Random) -> dict[str, list[str]]:
    found = {
        "x": rng.sample(NUMBERS, rng.randint(1, 5)),
        "n": rng.sample(NUMBERS, rng.randint(1, 5)),
        "s": ["count"],
        "t": rng.sample(["count", "min", "max"], rng.randint(1, 3)),
        "at": rng.sample(["count", "min", "max"], rng.randint(1, 3)),
        "*": ["count"],
    }
    return {name: found[name] for name in rng.sample(list(found), rng.randint(1, 6))}


def check(found: pa.Table, wanted: list[Any], asked: dict[str, list[str]], heads: list[str]) -> None:
    names = [*heads, *("count" if name == "*" else f"{name}_{word}" for name, words in asked.items() for word in words)]
    assert found.column_names == names
    assert [plain(found[name]) for name in heads] == [[head[i] for head, _ in wanted] for i in range(len(heads))]
    for name, words in asked.items():
        for word in words:
            column = plain(found["count" if name == "*" else f"{name}_{word}"])
            for one, (head, held) in zip(column, wanted):
                values = [1 if name == "*" else row[name] for row in held]
                scale = sum(abs(item) for item in values if isinstance(item, float) and abs(item) < 1e301)
                assert same(one, aggregate(word, values), scale), (name, word, head, values, one)


def cut_at_random(rng: random.Random) -> dict[str, int]:
    slide = rng.choice([1, 2, 3, 7, 10, 50])
    size = rng.choice([slide, 2 * slide, 5 * slide, rng.randint(1, 40), rng.randint(1, 4 * slide)])
    return {"size": size, "slide": slide, "origin": rng.choice([0, 0, -3, 17])}


def indexed(rng: random.Random, of: World) -> None:
    """Write indexes beside some of the files."""
    for file in of.files:
        if rng.random() < 0.6:
            columns = rng.choice([None, None, ["x"], ["n", "s"], []])
            index(file, time="at", columns=columns, block=rng.choice([1, 2, 5, 16, 100]))


SAMPLE = list(range(0, WORLDS, STEP))
LONG = [pytest.param(start, marks=pytest.mark.stress) for start in range(WORLDS, MANY, STEP)]


@pytest.mark.parametrize("start", SAMPLE + LONG)
def test_random_windows_are_those_of_brute_force(start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(start, start + STEP):
        rng = random.Random(seed)
        if seed % 2:
            monkeypatch.setattr("afa.replay.known_blocks.BATCH", rng.choice([1, 8, 30]))
            monkeypatch.setattr(slices, "CHUNK", rng.choice([4, 20]))
        folder = tmp_path / str(seed)
        folder.mkdir()
        of = world(seed, folder)
        indexed(rng, of)
        said, asked = cut_at_random(rng), aggregates(rng)
        wanted: list[Any] = list(of_time(of.rows, said["size"], said["slide"], said["origin"]))
        ways = ("read", "index", "auto")[: 3 if seed % 4 == 0 else 2]
        for way in ways:
            found = windows(of.source, asked, time="at", way=way, **said)  # type: ignore[arg-type]
            check(found, wanted, asked, ["le", "re"])
            assert found.schema.field("le").type == (pa.int64() if pa.types.is_integer(of.kind) else of.kind)
        of_count = {name: value for name, value in said.items() if name != "origin"}
        wanted = list(of_rows(of.rows, **of_count))
        for way in ways:
            found = windows(of.source, asked, time="at", by="rows", way=way, **of_count)  # type: ignore[arg-type]
            check(found, wanted, asked, ["row", "first", "last"])


def trades(path: Path, rows: int = 1000, **more: Any) -> Path:
    """One row a millisecond."""
    at = pa.array(range(rows), pa.timestamp("ms"))
    pq.write_table(pa.table({"at": at, "x": np.arange(rows) / 4, "name": ["a"] * rows}), path, **more)
    return path


def work(path: Path, size: int, slide: int, word: str, way: Any = "index", of_rows: bool = False) -> Any:
    return slices_of(Stored(path), Wanted("at", WindowCut(size, slide), of_rows, {"x": {word}}), way)


@pytest.mark.parametrize("of_rows", [False, True])
def test_only_blocks_that_an_edge_cuts_are_read(of_rows: bool, tmp_path: Path) -> None:
    path = trades(tmp_path / "t.parquet", row_group_size=10)
    if of_rows:  # which always wants the times of the first and the last row
        assert work(path, 100, 100, "min", of_rows=True).rows == 0
    assert work(path, 100, 100, "min").rows == 0, "the footers tell bounds"
    assert work(path, 100, 100, "sum", of_rows=of_rows).rows == 1000, "no footer tells sums"
    assert work(path, 10, 100, "sum", of_rows=of_rows).rows == 100, "nobody asks for what lies in gaps"
    index(path, time="at")
    assert work(path, 100, 100, "sum", of_rows=of_rows).rows == 0
    assert work(path, 105, 105, "sum", of_rows=of_rows).rows == 10 * 5, "every other of the 9 edges lies in a block"
    assert work(path, 1000, 7, "sum", of_rows=of_rows).rows > 900
    assert work(path, 10, 100, "sum", of_rows=of_rows).rows == 0


def test_what_is_cheaper_is_chosen(tmp_path: Path) -> None:
    path = trades(tmp_path / "t.parquet", row_group_size=10)
    index(path, time="at")
    for way, slide in (("read", 1), ("read", 9), ("index", 20), ("index", 200), ("index", 205)):
        for by_rows in (False, True):
            assert work(path, 3 * slide, slide, "sum", "auto", of_rows=by_rows).way == way, slide
    large = trades(tmp_path / "large.parquet", row_group_size=1000)
    index(large, time="at", block=10)
    assert work(large, 5, 5, "sum", "auto").way == "read"
    assert work(large, 205, 205, "sum", "auto").way == "index", "a few blocks of the row group are looked at"
    assert work(large, 205, 205, "sum", "auto").rows == 40 - 20


def test_long_streams_of_windows_over_many_slices(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    at = np.sort(rng.integers(0, 40_000, 20_000))
    x = rng.normal(size=20_000)
    pq.write_table(pa.table({"at": at, "x": x}), tmp_path / "t.parquet", row_group_size=1000)
    found = windows(tmp_path / "t.parquet", {"x": ["sum", "min", "count"]}, time="at", size=7001, slide=3)
    assert found.num_rows == (int(at[-1]) // 3) - (int(at[0]) - 7001) // 3
    for row in found.slice(0, found.num_rows).take(list(range(0, found.num_rows, 997))).to_pylist():
        held = x[(at >= row["le"]) & (at < row["re"])]
        assert row["x_count"] == len(held)
        assert row["x_sum"] == pytest.approx(held.sum(), rel=1e-12, abs=1e-10)
        assert row["x_min"] == held.min()


def test_windows_of_more_rows_than_there_are(tmp_path: Path) -> None:
    path = trades(tmp_path / "t.parquet", 5)
    for size, slide, counts in ((2**63 - 1, 1, [5, 4, 3, 2, 1]), (2**63 - 1, 2**63 - 1, [5]), (2, 2**63 - 1, [2])):
        assert windows(path, {"*": "count"}, time="at", by="rows", size=size, slide=slide)["count"].to_pylist() == counts


def test_a_large_sum_beside_small_ones_leaves_no_trace(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": [0, 1, 2, 3, 4], "x": [1e18, 0.25, 0.5, float("inf"), 0.125]}), tmp_path / "t.parquet")
    found = windows(tmp_path / "t.parquet", {"x": "sum"}, time="at", size=2, slide=1)
    assert found["x_sum"].to_pylist() == [1e18, 1e18, 0.75, float("inf"), float("inf"), 0.125]


def test_sums_of_ints_are_exact_or_refused(tmp_path: Path) -> None:
    large = 2**63 - 1
    rows = {"at": [0, 1, 2, 3], "n": [large, -large, large, 1], "u": pa.array([2**64 - 1, 0, 1, 2], pa.uint64())}
    for block in (None, 1, 4):
        pq.write_table(pa.table(rows), tmp_path / "t.parquet", row_group_size=2)
        if block is not None:
            index(tmp_path / "t.parquet", time="at", block=block)
        for way in ("read", "index"):
            found = windows(tmp_path / "t.parquet", {"n": ["sum", "avg"]}, time="at", size=3, slide=3, way=way)  # type: ignore[arg-type]
            assert found["n_sum"].to_pylist() == [large, 1]
            assert found["n_avg"].to_pylist() == [large / 3, 1.0]
            with pytest.raises(Int64Error, match="expected sums that an int64 holds but got 9223372036854775808 in column 'n'"):
                windows(tmp_path / "t.parquet", {"n": ["sum"]}, time="at", size=2, way=way)  # type: ignore[arg-type]
            with pytest.raises(Int64Error, match="18446744073709551615 in column 'u'; cast it to floats"):
                windows(tmp_path / "t.parquet", {"u": ["sum"]}, time="at", size=2, way=way)  # type: ignore[arg-type]
            assert windows(tmp_path / "t.parquet", {"u": "max"}, time="at", size=2, way=way)["u_max"].to_pylist() == [2**64 - 1, 2]  # type: ignore[arg-type]


def test_durations_origins_and_zones(tmp_path: Path) -> None:
    day = dt.datetime(2024, 5, 6, tzinfo=dt.timezone.utc)
    at = pa.array([day, day + dt.timedelta(hours=23), day + dt.timedelta(days=1)], pa.timestamp("us", "America/New_York"))
    pq.write_table(pa.table({"at": at, "x": [1, 2, 4]}), tmp_path / "t.parquet")
    source = tmp_path / "t.parquet"
    found = windows(source, {"x": "sum"}, time="at", size="1 day")
    assert (found["le"].to_pylist(), found["x_sum"].to_pylist()) == ([day, day + dt.timedelta(days=1)], [3, 4])
    assert found["le"].type == at.type
    for origin in ("12 hours", dt.timedelta(hours=12), day + dt.timedelta(hours=12), 12):
        unit = {"tick": "h"} if origin == 12 else {}
        found = windows(source, {"x": "sum"}, time="at", size=dt.timedelta(days=1), origin=origin, **unit)  # type: ignore[arg-type]
        assert (found["le"].to_pylist()[0], found["x_sum"].to_pylist()) == (day - dt.timedelta(hours=12), [1, 6])
    assert windows(source, {"x": "sum"}, time="at", size=24, tick="h")["x_sum"].to_pylist() == [3, 4]
    found = windows(source, {"*": "count"}, time="at", size="2h", slide="1 day")
    assert found["count"].to_pylist() == [1, 1]


def test_datasets_and_folders_by_name(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"venue={name}").mkdir()
        trades(tmp_path / f"venue={name}/t.parquet", 100)
    source = ds.dataset(tmp_path, partitioning="hive")
    index(source, time="at", columns=["x"])
    for given in (source, tmp_path):
        found = windows(given, {"venue": "count", "x": ["sum"]}, time="at", size=100)
        assert found.to_pylist()[0]["x_sum"] == 2 * sum(range(100)) / 4
        assert found["venue_count"].to_pylist() == [200]
    found = windows(ds.dataset(pa.table({"at": [3, 1], "x": [1, 2]})), {"x": "sum"}, time="at", size=2)
    assert found["x_sum"].to_pylist() == [2, 1]
    days = pa.table({"at": pa.array([dt.date(2024, 1, 3), dt.date(2024, 1, 1)], pa.date64())})
    found = windows(ds.dataset(days), {"*": "count"}, time="at", size="2 days", origin=dt.date(2024, 1, 1))
    assert found["le"].to_pylist() == [dt.date(2024, 1, 1), dt.date(2024, 1, 3)]
    assert found["le"].type == pa.date64()
    refused(
        "expected size in days, as the times of column 'at' (.*) are, but got size='1h'",
        ds.dataset(days),
        {"*": "count"},
        size="1h",
    )


def refused(match: str, source: Any, asked: Any = None, error: type[AfaError] = AfaError, **said: Any) -> None:
    with pytest.raises(error, match=match):
        windows(source, {"x": "sum"} if asked is None else asked, **{"time": "at", "size": 10, **said})


def test_what_is_refused(tmp_path: Path) -> None:
    path = trades(tmp_path / "t.parquet")
    refused(
        r"expected a column 'att' \(time\) but got the columns at, x, name; did you mean 'at'\?",
        path,
        time="att",
        error=ChangeError,
    )
    refused(r"expected ints, timestamps or dates in column 'x' \(time\) but got double", path, time="x", error=ChangeError)
    refused("expected the name of a column but got time=7", path, time=7, error=ChangeError)
    refused(r"expected a column 'y' \(aggregates\) but got the columns", path, {"y": "sum"}, error=ChangeError)
    refused("expected some of count, sum, avg, min, max but got 'mean' for column 'x'; avg is the mean", path, {"x": ["mean"]})
    refused("but got 'maxx' for column 'x'; did you mean 'max'", path, {"x": ["maxx"]})
    refused("expected some of count, sum, avg, min, max but got 7", path, {"x": 7})
    refused("expected aggregates of columns, .* but got 'x'", path, "x")
    refused("expected aggregates of columns, .* but got {}", path, {})
    refused('expected "count" of all rows but got', path, {"*": "sum"})
    refused("expected a column of ints, floats or truth for sum but got 'at' of timestamp", path, {"at": "sum"})
    refused("expected a column of numbers or times for min but got 'name' of string; count takes it", path, {"name": "min"})
    refused("expected at least 1 tick but got size=0", path, size=0)
    refused("expected at least 1 tick but got slide=-1", path, slide=-1)
    refused("expected at least 1 row but got size=-1", path, size=-1, by="rows")
    refused(r"expected an int \(ticks\) but got size=1.5", path, size=1.5)
    refused("expected a duration such as", path, size="a day")
    refused("expected a whole number of ticks but got size='1 us' with tick='ms'", path, size="1 us")
    refused(
        r"expected size in whole ms, as the times of column 'at' \(timestamp\[ms\]\) are, but got size='1 us'",
        path,
        size="1 us",
        tick="us",
    )
    refused("expected a number of rows beside by='rows' but got slide='1 day'", path, slide="1 day", by="rows")
    refused("expected neither origin= nor tick= beside by='rows'", path, by="rows", origin=3)
    refused('expected "time" or "rows" but got by=\'row\'', path, by="row")
    refused('expected "auto", "index" or "read" but got way=1', path, way=1)
    refused("expected at most 100,000,000 windows but got 8,640,000,000", path, size="100 days", slide=1)
    refused("expected the path of a Parquet file", tmp_path / "none.parquet")
    pq.write_table(pa.table({"at": [dt.date(2024, 1, 1)], "x": [1]}), path)
    refused(r"expected a whole number of ticks but got size='1 hour' with tick='d'", path, size="1 hour")
    refused(
        r"expected size in days, as the times of column 'at' \(date32\[day\]\) are, but got size='1 hour'",
        path,
        size="1 hour",
        tick="h",
    )
    pq.write_table(pa.table({"at": [2**63 - 3], "x": [1]}), path)
    for way in ("read", "index"):
        refused(r"expected times at least size \+ slide \+ \|origin\| = 20 ticks away from the ends of an int64", path, way=way)
    pq.write_table(pa.table({"at": [1, 2]}), path)
    refused("expected tick=, what one int of LE counts, beside size='1 s' but got none", path, {"*": "count"}, size="1 s")
    pq.write_table(pa.table({"at": pa.array([2**64 - 1], pa.uint64())}), path)
    refused("expected an int64 in column 'at'", path, {"*": "count"}, error=ChangeError)


@pytest.mark.parametrize("by", ["time", "rows"])
def test_a_time_that_is_missing(by: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"at": [1, 2, None], "x": [1, 2, 3]}), path, row_group_size=2)
    for way in ("read", "index", "auto"):
        refused(r"expected a value in every row of column 'at' \(time\) but got 1 without", path, by=by, way=way, error=ChangeError)


def test_more_windows_than_there_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trades(tmp_path / "t.parquet")
    monkeypatch.setattr(slices, "MOST", 500)
    refused("expected at most 500 windows but got 1,099 or more", path, size=100, slide=1)
    monkeypatch.setattr(slices, "MOST", 400)
    monkeypatch.setattr(slices, "CHUNK", 10)  # found out while it is read
    refused("expected at most 400 windows but got 500 or more", path, size=100, slide=1)


def test_windows_of_many_slices_are_made_a_few_stretches_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window of a million slices takes the memory of a few million numbers beside the answer, however many windows there are."""
    monkeypatch.setattr(slices, "CHUNK", 4)
    cut, ids = WindowCut(1000, 1), np.arange(6) * 10_000
    numbers = cut.windows(ids)
    over = slices.OverSlices(ids, cut, numbers)
    assert [len(axis.begin) for axis in over._axes] == [1000] * 6
    assert max(np.prod(axis.shape) for axis in over._axes) <= 3 * 1000
    assert over.of("sum", np.ones(6)).tolist() == [1] * 6000


def test_files_that_change_or_are_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trades(tmp_path / "a.parquet", row_group_size=100)
    read = Stored.read_tables

    def rewritten(self: Stored, groups: Any, columns: Any, **more: Any) -> Any:
        found = list(read(self, groups, columns, **more))
        trades(path, 900)
        return found

    with monkeypatch.context() as patch:
        patch.setattr("afa.replay.known_blocks.BATCH", 1)
        patch.setattr(Stored, "read_tables", rewritten)
        refused("a.parquet", path)
    path = trades(tmp_path / "b.parquet", row_group_size=100)
    content = bytearray(path.read_bytes())
    content[10:4000] = b"x" * 3990
    path.write_bytes(content)
    refused("expected a file that can be read but got .*b.parquet, row group", path)


def test_a_table_without_rows(tmp_path: Path) -> None:
    path = trades(tmp_path / "t.parquet", 0)
    for by in ("time", "rows"):
        found = windows(path, {"x": NUMBERS, "at": ["min"], "*": "count"}, time="at", size=5, by=by)  # type: ignore[arg-type]
        assert len(found) == 0
        assert found.schema.field("at_min").type == pa.timestamp("ms")
