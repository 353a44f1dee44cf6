"""Indexes beside files: what their blocks hold, against brute force; files that change; indexes that are damaged or not ours."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from afa import AfaError
from afa.errors import ChangeError
from afa.replay import index, sidecar_file, windows
from afa.replay.known_blocks import Blocks
from afa.replay.sidecar_file import KEY, sidecar_path
from afa.replay.stored import Stored
from tests.replay.window_oracle import aggregate, plain, same, world

COLUMNS = ["n", "x", "s", "t"]


def table(rows: int = 20) -> pa.Table:
    return pa.table({"at": range(rows), "x": [float(i % 7) for i in range(rows)], "s": [f"name {i}" for i in range(rows)]})


def written(folder: Path, name: str = "a.parquet", rows: int = 20, **more: Any) -> Path:
    pq.write_table(table(rows), folder / name, **{"row_group_size": 8, **more})
    return folder / name


def read(path: Any, time: str = "at") -> Blocks | None:
    """The blocks, if some are those of an index."""
    found = Blocks(Stored(path), time)
    return found if found.indexed.any() else None


@pytest.mark.parametrize("start", range(0, 120, 40))
def test_blocks_hold_what_brute_force_says(start: int, tmp_path: Path) -> None:
    for seed in range(start, start + 40):
        folder = tmp_path / str(seed)
        folder.mkdir()
        of, block = world(seed, folder), random.Random(seed).choice([1, 2, 5, 100])
        result = index(of.source, time="at", block=block)
        assert result.rows == len(of.rows)
        assert result.paths == [sidecar_path(str(file)) for file in of.files]
        assert result.bytes == sum(os.path.getsize(path) for path in result.paths)
        stored = Stored(of.source)
        found = Blocks(stored, "at")
        assert found.indexed.all()
        assert result.blocks == len(found.rows) == sum(math.ceil(rows / block) for rows in stored.rows.tolist())
        begins = np.cumsum(stored.rows) - stored.rows
        for i, (group, first, rows) in enumerate(zip(*(part.tolist() for part in found.stretches))):
            assert first % block == 0
            assert rows == min(block, stored.rows[group] - first)
            held = of.rows[begins[group] + first : begins[group] + first + rows]
            assert (found.low[i], found.high[i]) == (min(row["at"] for row in held), max(row["at"] for row in held))
            for name in COLUMNS:
                check_block(found, name, i, [row[name] for row in held])


def check_block(found: Blocks, name: str, i: int, values: list[Any]) -> None:
    column = found.column(name)
    known = [item for item in values if item is not None and item == item]
    long = any(len(item.encode()) > 256 for item in known if isinstance(item, str) and item in (min(known), max(known)))
    assert column.known[i] == (not long)
    assert column.nulls[i] == values.count(None)
    assert column.nans[i] == len(values) - values.count(None) - len(known)
    low, high = plain(column.low)[i], plain(column.high)[i]
    assert (low, high) == ((None, None) if long or not known else (min(known), max(known)))
    assert (column.total is None) == (name in "st")
    if column.total is not None:
        wanted = aggregate("sum", values)  # a block of -0.0 may add up to it
        scale = sum(abs(item) for item in known if abs(item) < 1e301)
        assert same(column.total[i].as_py() + 0.0, 0.0 if wanted is None else wanted, scale)


def test_all_types_of_columns(tmp_path: Path) -> None:
    numbers = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    times = [pa.time32("ms"), pa.time64("us"), pa.date32(), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.duration("ms")]
    kinds = [*numbers, pa.float16(), pa.float32(), pa.float64(), pa.bool_(), *times]
    columns: dict[str, Any] = {f"c{i}": pa.array([None, 1, 0, 1], pa.int64()).cast(kind) for i, kind in enumerate(numbers)}
    for i, kind in enumerate(kinds[len(numbers) :], len(numbers)):
        whole = pa.int32() if kind.bit_width == 32 and pa.types.is_temporal(kind) else pa.int64()
        ints = pa.array([None, 1, 0, 1], whole)
        columns[f"c{i}"] = ints.cast(pa.float32()).cast(kind) if pa.types.is_floating(kind) else ints.cast(kind)
    columns["text"] = pa.array(["b", None, "", "a"]).dictionary_encode()
    columns["large"] = pa.array(["b", None, "", "a"], pa.large_string())
    unfit = {"list": [[1]] * 4, "decimal": pa.array([1, 2, 3, 4]).cast(pa.decimal128(20)), "bytes": [b"x"] * 4, "none": pa.nulls(4)}
    pq.write_table(pa.table({"at": [1, 2, 3, 4], **columns, **unfit}), tmp_path / "a.parquet")
    index(tmp_path / "a.parquet", time="at")
    stored = Stored(tmp_path / "a.parquet")
    found = Blocks(stored, "at")
    for name, column in columns.items():
        of = found.column(name)
        whole = column.dictionary_decode() if name == "text" else column
        assert (of.low.type, of.nulls.tolist(), of.known.all()) == (whole.type, [1], True), name
        assert (of.low[0], of.high[0]) == ((whole[2], whole[0]) if name in ("text", "large") else (whole[2], whole[1])), name
    for name in unfit:
        assert not found.column(name).known.any()
        assert found.column(name).nulls.tolist() == [-1]
        with pytest.raises(AfaError, match=f"expected columns of numbers, times or text but got '{name}' of "):
            index(tmp_path / "a.parquet", time="at", columns=[name])


def test_a_sum_that_no_int64_holds_is_unknown(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": range(4), "n": [2**63 - 1, 1, 5, 6]}), tmp_path / "a.parquet")
    index(tmp_path / "a.parquet", time="at", block=2)
    found = read(tmp_path / "a.parquet")
    assert found is not None
    assert found.column("n").total is not None
    assert found.column("n").total.to_pylist() == [None, 11]


def test_folders_pass_an_index_over(tmp_path: Path) -> None:
    written(tmp_path)
    written(tmp_path, "b.parquet")
    assert read(tmp_path) is None
    result = index(tmp_path, time="at", columns="x")
    assert [Path(path).name for path in result.paths] == [".a.parquet.afa-index", ".b.parquet.afa-index"]
    assert [Path(path).name for path in ds.dataset(tmp_path).files] == ["a.parquet", "b.parquet"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".a.parquet.afa-index",
        ".b.parquet.afa-index",
        "a.parquet",
        "b.parquet",
    ]
    os.remove(result.paths[0])
    found = read(tmp_path)
    assert found is not None
    assert found.indexed.tolist() == [False] * 3 + [True] * 3
    assert found.group.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.column("s").nulls.tolist() == [0] * 3 + [-1] * 3, "not in the index"
    assert read(tmp_path, "x") is None, "of other times"


def test_two_thousand_blocks_take_little(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    pq.write_table(pa.table({"at": np.cumsum(rng.integers(0, 9, 32_000)), "x": rng.normal(size=32_000)}), tmp_path / "a.parquet")
    result = index(tmp_path / "a.parquet", time="at", block=16)
    assert result.blocks == 2000
    assert result.bytes < 200 * 1024


def test_progress_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("afa.replay.known_blocks.BATCH", 10)
    seen: list[int] = []
    index(written(tmp_path), time="at", progress=seen.append)
    assert seen == [8, 8, 4]


# -- files that change -------------------------------------------------------------------------------------------------------


def appended(path: Path) -> None:
    written(path.parent, path.name, 25)


def edited(path: Path) -> None:
    """As long as before, with the same footer, at another time."""
    content = bytearray(path.read_bytes())
    at = content.find(np.float64(3.0).tobytes())
    content[at : at + 8] = np.float64(4.0).tobytes()
    path.write_bytes(content)
    os.utime(path, ns=(1, 1))


def another_footer(path: Path) -> None:
    """At the same time and as long, but with other statistics."""
    stat = path.stat()
    pq.write_table(table().set_column(1, "x", [[6.0 - i % 7 for i in range(20)]]), path, row_group_size=8, compression="none")
    size = path.stat().st_size
    assert size == stat.st_size
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.parametrize("change", [appended, edited, another_footer])
def test_an_index_of_a_file_as_it_was_is_left_out(change: Callable[[Path], None], tmp_path: Path) -> None:
    path = written(tmp_path, compression="none")
    index(path, time="at")
    assert read(path) is not None
    change(path)
    with pytest.warns(
        UserWarning, match=r"a.parquet has changed since .*\.a.parquet.afa-index was written, which is left out; run afa"
    ):
        assert read(path) is None
    with pytest.warns(UserWarning, match="has changed since"):
        found = windows(path, {"x": "sum"}, time="at", size=100)
    assert found["x_sum"].to_pylist() == [sum(pq.read_table(path)["x"].to_pylist())]
    index(path, time="at")
    assert read(path) is not None


def test_the_index_of_another_file_is_refused(tmp_path: Path) -> None:
    a, b = written(tmp_path), written(tmp_path, "b.parquet")
    index(a, time="at")
    shutil.copy(sidecar_path(str(a)), sidecar_path(str(b)))
    for call in (lambda: read(b), lambda: windows(tmp_path, {"x": "sum"}, time="at", size=5)):
        with pytest.raises(
            AfaError, match=r"expected the index of .*b.parquet but got that of another file, 'a.parquet', in .*\.b\.parq"
        ):
            call()
    index(b, time="at")
    assert read(b) is not None


def test_a_file_that_changes_while_it_is_indexed(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(AfaError, match=r"expected .*a.parquet to stay as it is while it is read but it has changed"):
        index(path, time="at", progress=lambda rows: appended(path))
    assert not Path(sidecar_path(str(path))).exists()


def test_an_index_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    index(path, time="at")
    before = Path(sidecar_path(str(path))).read_bytes()

    def fails(table: Any, out: Any, **more: Any) -> None:
        out.write(b"PAR1")
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(sidecar_file.pq, "write_table", fails)
        with pytest.raises(AfaError, match=r"expected a folder in which .*\.a.parquet.afa-index can be written: no space left"):
            index(path, time="at", block=2)
    assert Path(sidecar_path(str(path))).read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2
    os.remove(sidecar_path(str(path)))
    os.mkdir(sidecar_path(str(path)))
    with pytest.raises(AfaError, match="expected a folder in which"):
        index(path, time="at")
    assert read(path) is None


# -- damaged and hostile ones ------------------------------------------------------------------------------------------------


def content(found: Blocks | None) -> Any:
    assert found is not None
    parts = (*found.stretches, found.low, found.high, found.indexed)
    return [part.tolist() for part in parts], [[str(part) for part in found.column(name)] for name in ("x", "s")]


def test_any_byte_may_be_damaged(tmp_path: Path) -> None:
    path = written(tmp_path)
    index(path, time="at", columns=["x"])
    beside = Path(sidecar_path(str(path)))
    whole, wanted, rng = beside.read_bytes(), content(read(path)), random.Random(1)
    refused = untouched = 0
    places = [*range(0, len(whole), 5), *range(len(whole) - 40, len(whole))]
    for at in places:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << rng.randrange(8)
        beside.write_bytes(damaged)
        try:
            untouched += content(read(path)) == wanted  # a byte that says nothing
        except AfaError as error:
            refused += str(beside) in str(error)
    assert refused + untouched == len(places)
    assert refused > 300
    for end in [*range(0, len(whole), 50), len(whole) - 1]:
        beside.write_bytes(whole[:end])
        with pytest.raises(AfaError, match=r"expected an index but got a damaged one, .*\.a\.parquet\.afa-index: "):
            read(path)


def hostile(path: Path, columns: dict[str, Any], about: dict[str, Any]) -> None:
    """Another content under a digest that is right."""
    beside = sidecar_path(str(path))
    old = pq.read_table(beside)
    said = {**json.loads(old.schema.metadata[KEY]), **about}
    said.pop("digest")
    arrays = {name: old[name].combine_chunks() for name in old.column_names}
    arrays |= {name: array for name, array in columns.items() if array is not None}
    new = pa.table({name: array for name, array in arrays.items() if columns.get(name, 0) is not None})
    said["digest"] = about.get("digest", sidecar_file._digest(said, new))
    pq.write_table(new.replace_schema_metadata({KEY: json.dumps(said).encode()}), beside)


INT = pa.int64()
HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("expected blocks of 1 to 8 rows", {"rows": pa.array([8, 0, 8, 4], INT)}),
    ("expected blocks of 1 to 8 rows", {"rows": pa.array([-8, 8, 16], INT)}),
    ("expected blocks of 1 to 8 rows", {"rows": pa.array([2**62, 8, 4], INT)}),
    ("its blocks have more or fewer rows than their row groups", {"rows": pa.array([8, 8, 3], INT)}),
    ("its blocks have more or fewer rows", {"group": pa.array([0, 0, 2], pa.int32())}),
    (".* in the order of the row groups", {"group": pa.array([1, 0, 2], pa.int32())}),
    ("expected blocks of row groups 0 to 2", {"group": pa.array([0, 1, 3], pa.int32())}),
    ("expected blocks of row groups 0 to 2", {"group": pa.array([-1, 1, 2], pa.int32())}),
    ("a block ends before it begins", {"low": pa.array([0, 99, 16], INT)}),
    ("a number is missing", {"low": pa.array([0, None, 16], INT)}),
    ("a number is missing", {"0.nans": pa.array([0, None, 0], INT)}),
    ("its columns are others than those of an index", {"low": pa.array([0.0, 8.0, 16.0])}),
    ("its columns are others than those of an index", {"0.total": None}),
    ("its columns are others than those of an index", {"more": pa.array([1, 2, 3])}),
    ("column 'x' has bounds of ", {"0.low": None}),
    ("column 'x' has bounds of int64", {"0.low": pa.array([1, 2, 3])}),
    ("column 'x' misses more values than there are", {"0.nulls": pa.array([9, 0, 0], INT)}),
    ("column 'x' misses more values than there are", {"0.nans": pa.array([0, 0, -1], INT)}),
    ("the bounds of column 'x' contradict each other", {"0.low": pa.array([9.0, 0.0, 0.0])}),
    ("the bounds of column 'x' contradict each other", {"0.low": pa.array([math.nan, 0.0, 0.0])}),
    ("the bounds of column 'x' contradict each other", {"0.low": pa.array([None, 0.0, 0.0])}),
    ("the bounds of column 'x' contradict each other", {"0.nans": pa.array([8, 0, 0], INT)}),
]


@pytest.mark.parametrize(("match", "columns"), HOSTILE)
def test_an_index_that_contradicts_itself(match: str, columns: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path)
    index(path, time="at", columns=["x"], block=8)
    hostile(path, {}, {})
    assert read(path) is not None
    many = {len(array) for array in columns.values() if array is not None} - {3}
    rest = {name: pa.nulls(4, INT).fill_null(0) for name in ("low", "high", "0.nulls", "0.nans")} if many else {}
    rest |= (
        {"group": pa.array([0] * 4, pa.int32()), **{f"0.{name}": pa.array([0.0] * 4) for name in ("low", "high", "total")}}
        if many
        else {}
    )
    hostile(path, {**rest, **columns}, {})
    with pytest.raises(AfaError, match=f"damaged one, .*: {match}"):
        read(path)


@pytest.mark.parametrize(
    ("match", "about"),
    [
        ("expected an index of version 1 but got version 2 in .*; run afa index again", {"version": 2}),
        ("expected an index of version 1 but got version '1'", {"version": "1"}),
        ("its metadata has columns=7", {"columns": 7}),
        ("its metadata has size=True", {"size": True}),
        ("its metadata tells of other columns", {"columns": []}),
        ("its metadata tells of other columns", {"columns": [["x"]]}),
        ("column 'y' has bounds of ", {"columns": ["x", "y"], "types": ["double", "double"]}),
        ("its digest is that of another content", {"digest": "0"}),
        ("expected blocks of 1 to 3 rows", {"block": 3}),
        ("expected blocks of 1 to -1 rows", {"block": -1}),
    ],
)
def test_metadata_that_is_odd(match: str, about: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path)
    index(path, time="at", columns=["x"])
    hostile(path, {}, about)
    with pytest.raises(AfaError, match=match):
        read(path)


@pytest.mark.parametrize(
    "odd", [pa.array([[1]] * 3), pa.array(["a"] * 3).dictionary_encode(), pa.array([None] * 3), pa.array([b"x"] * 3)]
)
def test_bounds_of_odd_types(odd: Any, tmp_path: Path) -> None:
    path = written(tmp_path)
    index(path, time="at", columns=["x"])
    hostile(path, {"0.low": odd, "0.high": odd, "0.nans": None, "0.total": None}, {"types": [str(odd.type)]})
    with pytest.raises(AfaError, match=r"damaged one, .*: (column 'x' has bounds of|its digest)"):
        read(path)


def test_what_is_no_index(tmp_path: Path) -> None:
    path = written(tmp_path)
    beside = sidecar_path(str(path))
    pq.write_table(table(5), beside)
    with pytest.raises(AfaError, match="it has no metadata of an index"):
        read(path)
    index(path, time="at", columns=["x"])
    old = pq.read_table(beside)
    pq.write_table(pa.concat_tables([old] * 9), beside)
    with pytest.raises(AfaError, match="it has 27 blocks of 20 rows"):
        read(path)


# -- what is refused ---------------------------------------------------------------------------------------------------------


def test_what_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)

    def refused(match: str, source: Any = path, error: type[AfaError] = AfaError, **said: Any) -> None:
        with pytest.raises(error, match=match):
            index(source, **{"time": "at", **said})

    refused("expected blocks of at least 1 row but got block=0", block=0)
    refused(r"expected an int \(ticks\) but got block=1.5", block=1.5)
    refused(r"expected a column 'y' \(columns\) but got the columns at, x, s", columns=["y"])
    refused("expected names of columns but got 7", columns=[7])
    refused(r"expected a column 'on' \(time\)", time="on", error=ChangeError)
    refused("expected ints, timestamps or dates", time="s", error=ChangeError)
    refused("expected the path of a Parquet file", tmp_path / "none")
    refused("expected Parquet files but got", ds.dataset(table()))
    (tmp_path / "parts/day=1").mkdir(parents=True)
    written(tmp_path / "parts/day=1")
    refused(
        "expected columns of the files but got 'day', which the names of folders tell already", tmp_path / "parts", columns=["day"]
    )
    pq.write_table(pa.table({"at": [1, None]}), path)
    refused(
        r"expected a value in every row of column 'at' \(time\) but got 1 without in row group 0 of .*a.parquet", error=ChangeError
    )
