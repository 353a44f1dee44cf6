"""What `replay` refuses, and when it runs in full: each with its words."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import afa
from afa import BEGINNING, AfaError, Arc, Automaton, ChangeError, insert
from afa.replay import explain, index, replay
from afa.replay.stored import Stored
from tests.replay.stored_files import agree, forced, saved


class Trade(NamedTuple):
    price: float
    side: str


def pattern(*arcs: Arc) -> Automaton:
    return Automaton(start="0", final={"2"}, event=Trade, arcs=arcs)


spike = pattern(Arc("0", "1", "price > 90"), Arc("1", "2", "price < 50"))
any_two = pattern(Arc("0", "1", "True"), Arc("1", "2", "True"))
opaque = pattern(Arc("0", "1", lambda e, r: hash(e.side) != 5 and e.price > 90, name="odd"), Arc("1", "2", "price < 50"))


def rows(seed: int = 2) -> pa.Table:
    random = np.random.default_rng(seed)
    price = random.choice([60.0, 61.0, 62.0, 40.0, 95.0], 60, p=[0.3, 0.3, 0.3, 0.05, 0.05])
    price[[10, 11, 30, 31, 44, 47]] = [95, 40, 95, 40, 95, 40]
    return pa.table(
        {
            "at": np.arange(60) * 2,
            "price": price,
            "side": random.choice(["b", "s"], 60),
        }
    )


@pytest.fixture
def path(tmp_path: Path) -> str:
    return saved(rows(), tmp_path / "trades.parquet", 4)


FULL: list[tuple[Automaton, int | None, str]] = [
    (any_two, 9, "every event may be part of a match"),
    (spike, None, "without a window an event may be part of a match at any distance"),
]


@pytest.mark.parametrize(("asked", "window", "reason"), FULL)
def test_where_nothing_is_left_out_the_plan_says_why(path: str, asked: Automaton, window: int | None, reason: str) -> None:
    plan = agree(asked, rows(), path, window=window)
    assert plan.reason == reason
    assert plan.full
    assert (plan.read, plan.replayed) == (15, 60)
    assert str(plan) == f"full run ({reason}): 60 rows in 15 row groups"
    assert explain(asked, path, time="at", window=window).reason == reason
    with pytest.raises(AfaError, match=f"expected a pattern that needs some rare event, with require=True.*{reason}"):
        replay(asked, path, time="at", window=window, require=True)
    found = replay(spike, path, time="at", window=9)
    assert found.plan.reason in (None, "it costs less than looking for rare events")


def test_a_table_that_is_small_is_run_in_full_and_refused_if_that_is_not_wanted(path: str) -> None:
    found = replay(any_two, path, time="at", window=9)
    assert "matches; full run (every event" in repr(found)
    most = pattern(Arc("0", "1", "price > 50"), Arc("1", "2", "price > 50"))
    with pytest.raises(AfaError, match=r"require=True, but got a full run: (it costs less|matches may lie)"):
        replay(most, path, time="at", window=9, require=True)


def test_a_pattern_that_never_matches_reads_nothing(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Seen(NamedTuple):
        n: int = 0

    arcs = [Arc("0", "1", "price > 90"), Arc("1", "2", "r.n > 5")]
    never = Automaton(start="0", final={"2"}, event=Trade, register=Seen(), arcs=arcs)
    far = pattern(Arc("0", "1", "price > 1e9"), Arc("1", "2", "True"))
    monkeypatch.setattr(Stored, "read", None)
    for asked, window in ((never, 9), (never, None)):
        found = replay(asked, path, time="at", window=window, require=True)
        assert found.matches.num_rows == found.plan.replayed == 0
    monkeypatch.undo()
    found, plan = forced(far, path, [], window=9)
    assert (found.num_rows, plan.may_hold, plan.replayed) == (0, 0, 0)


def test_fences_that_can_not_be_read_are_named(path: str) -> None:
    plan = agree(opaque, rows(), path, window=9)
    assert plan.opaque == ["arc 0 -> 1"] or "odd" in plan.opaque[0]
    assert "can't be read, so that they allow every event" in str(plan)
    assert plan.reason is None
    assert plan.replayed < 60
    both = pattern(Arc("0", "1", lambda e, r: len(e.side) == 1 and hash(e) != 0), Arc("1", "2", lambda e, r: hash(e) != 1))
    assert agree(both, rows(), path, window=9).reason == "every event may be part of a match"


BAD: list[tuple[dict[str, Any], str]] = [
    ({"time": "att"}, r"expected a column 'att' \(time\) but got the columns at, price, side; did you mean 'at'\?"),
    ({"time": "side"}, "expected ints or timestamps as time"),
    ({"time": "price"}, "expected an int"),
    ({"key": "sid"}, r"expected a column 'sid' \(key\).*did you mean 'side'"),
    ({"key": ["side", "x"]}, r"expected a column 'x' \(key\)"),
    ({"key": 5}, "expected the name of a column as the key"),
    ({"until": "end"}, r"expected a column 'end' \(until\)"),
    ({"until": "side"}, "until"),
    ({"diff": "d"}, r"expected a column 'd' \(diff\)"),
    ({"end": "soon"}, 'expected "latest" or "forever" but got end=\'soon\''),
    ({"window": -1}, "window"),
    ({"window": "5 s"}, "tick"),
    ({"order_by": "at"}, "order_by"),
    ({"engine": "fast"}, "engine"),
    ({"arcs": [insert(Trade(1.0, "b"), 3)]}, "expected changes of arcs, as afa.insert"),
    ({"arcs": [5]}, "expected changes of arcs, as afa.insert"),
    ({"arcs": [insert(Arc("0", "1", "price > 3", name="x"))]}, r"expected an arc with a lifetime.*got le=None for arc"),
    ({"arcs": [insert(Arc("0", "1", "prize > 3", name="x"), BEGINNING)]}, "prize"),
    ({"arcs": [insert(Arc("0", "1", "price > 3", name="x"), 5, 3)]}, "re"),
]


@pytest.mark.parametrize(("said", "text"), BAD, ids=range(len(BAD)))
def test_what_is_said_of_columns_and_arcs(path: str, said: dict[str, Any], text: str) -> None:
    with pytest.raises(AfaError, match=text):
        replay(spike, path, **{"time": "at", "window": 9, **said})


def test_fields_that_are_no_columns(path: str) -> None:
    class Other(NamedTuple):
        prise: float

    other = Automaton(start="0", final={"1"}, event=Other, arcs=[Arc("0", "1", "prise > 9")])
    with pytest.raises(ChangeError, match=r"expected a column 'prise' \(field prise of Other\).*did you mean 'price'"):
        replay(other, path, time="at", window=9)
    with pytest.raises(AfaError, match="with event="):
        replay(Automaton(start="0", final={"1"}, arcs=[Arc("0", "1", lambda e, r: True)]), path, time="at", window=9)
    with pytest.raises(AfaError, match="expected an automaton or a query"):
        replay("price > 9", path, time="at", window=9)


@pytest.mark.parametrize("source", [5, None, rows(), [], [5], {"at": [1]}, rows().to_pandas(), [rows()], b"x"], ids=range(9))
def test_sources_that_are_none(source: Any) -> None:
    with pytest.raises(AfaError, match=r"expected a path, a folder, a list of paths or a pyarrow\.dataset as the source but got"):
        replay(spike, source, time="at", window=9)


def test_paths_at_which_there_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(AfaError, match=r"expected the path of a Parquet file, or of a folder of them, but got '.*none"):
        replay(spike, tmp_path / "none", time="at", window=9)
    (tmp_path / "empty").mkdir()
    with pytest.raises(AfaError, match=r"expected a folder with Parquet files but got '.*empty', in which there is none"):
        replay(spike, tmp_path / "empty", time="at", window=9)
    (tmp_path / "text.parquet").write_text("no Parquet")
    with pytest.raises(AfaError, match=r"text\.parquet"):
        replay(spike, tmp_path / "text.parquet", time="at", window=9)
    with pytest.raises(AfaError, match="expected the path of a Parquet file"):
        replay(spike, ["a.parquet", "b.parquet"], time="at", window=9)
    with pytest.raises(AfaError, match="expected the path of a Parquet file"):
        replay(spike, "", time="at", window=9)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = saved(rows(), tmp_path / "a.parquet", 60, compression="zstd")
    saved(rows(), tmp_path / "b.parquet", 60, compression="zstd")
    whole = Path(path).read_bytes()
    for begin, end in ((4, 400), (len(whole) - 300, len(whole) - 100), (len(whole) - 9, len(whole)), (0, len(whole) // 2)):
        damaged = whole[:begin] + b"\xff" * (end - begin) + whole[end:]
        Path(path).write_bytes(damaged)
        with pytest.raises(AfaError, match=r"a\.parquet"):
            forced(spike, tmp_path, window=9)
    Path(path).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(AfaError, match=r"a\.parquet"):
        replay(spike, tmp_path, time="at", window=9)


def changing(path: str, what: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something to a file when a row group of it is read for the first time."""
    read, calls = Stored.read_several, []

    def reading(self: Stored, *given: Any) -> pa.Table:
        table = read(self, *given)
        calls.append(given)
        if len(calls) == 1:
            what()
        return table

    monkeypatch.setattr(Stored, "read_several", reading)


def test_a_file_that_changes_while_it_is_read(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changing(path, lambda: saved(rows(3), Path(path), 4) and None, monkeypatch)  # type: ignore[func-returns-value]
    with pytest.raises(AfaError, match=r"trades\.parquet"):
        replay(any_two, path, time="at", window=9)
    monkeypatch.undo()
    saved(rows(), Path(path), 4)
    changing(path, lambda: os.utime(path, (1, 1)), monkeypatch)
    with pytest.raises(
        AfaError, match=r"expected .*trades\.parquet to stay as it is while it is read but it has changed.*read again"
    ):
        forced(spike, path, window=9)
    monkeypatch.undo()
    changing(path, lambda: os.remove(path), monkeypatch)
    with pytest.raises(AfaError, match=r"trades\.parquet"):
        replay(any_two, path, time="at", window=9)


def test_an_index_of_another_file_is_left_out(tmp_path: Path) -> None:
    path = saved(rows(), tmp_path / "a.parquet", 60)
    index(path, time="at", block=4)
    plan = agree(spike, rows(), path, window=9)
    assert plan.replayed < 60
    other = rows().set_column(1, "price", pa.array(rows()["price"].to_numpy()[::-1]))
    saved(other, tmp_path / "a.parquet", 60)  # the index tells of the file as it was
    with pytest.warns(UserWarning, match=r"a\.parquet"):
        got, _ = forced(spike, path, window=9)
    assert got.equals(afa.find(spike, other, time="at", window=9))
    index(path, time="at", block=4)
    agree(spike, other, path, window=9)
    index_of = next(tmp_path.glob(".a.parquet.*"))
    index_of.write_bytes(index_of.read_bytes()[:-40])
    with pytest.raises(AfaError, match=r"expected an index but got a damaged one, .*a\.parquet.*delete it"):
        forced(spike, path, window=9)


def test_an_index_serves_where_row_groups_tell_nothing(tmp_path: Path) -> None:
    for seed in range(4):
        table = rows(seed)
        path = saved(table, tmp_path / "a.parquet", 60, write_statistics=False)
        index(path, time="at", block=4)
        for key in (None, "side"):
            agree(spike, table, path, window=9, key=key)
            agree(
                pattern(Arc("0", "1", "side == 'b' and price > 90"), Arc("1", "2", "price == 61")), table, path, window=9, key=key
            )
        _, plan = forced(spike, path, [], window=3)
        assert plan.may_hold <= 1


def test_explain_reads_no_row(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stored, "read", None)
    monkeypatch.setattr(Stored, "sample", None)
    plan = explain(spike, path, time="at", window=9)
    assert plan.ahead is not None
    assert plan.replayed == plan.read == 0
    bare = saved(rows(), Path(path).parent / "bare.parquet", write_statistics=False)
    explain(spike, bare, time="at", window=9)
    explain(spike, ds.dataset(path), time="at", window=9, until="at", key="side")


def test_progress_is_told(path: str) -> None:
    told: list[tuple[str, int, int]] = []
    replay(any_two, path, time="at", window=9, progress=lambda *said: told.append(said))
    assert told == [("replay", n, 15) for n in range(1, 16)]
