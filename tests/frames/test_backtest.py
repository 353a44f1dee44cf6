"""`backtest` finds for each variant what `find` finds, and counts what a live run would have withdrawn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import afa
from afa import AfaError, Arc, Automaton, Keyed, insert
from afa.compiled.machine.native import native
from afa.frames import slicing
from afa.frames.through import in_threads
from afa.replay.stored import Stored
from tests import nojit
from tests.frames.test_find import Low, Trade, columns


def dip(rise: float) -> Automaton:
    return Automaton(
        start="0",
        final={"2"},
        register=Low(),
        event=Trade,
        arcs=[
            Arc("0", "1", lambda e, r: e.price < 3, lambda e, r: Low(e.price)),
            Arc("1", "1", lambda e, r: e.price < 3, lambda e, r: Low(min(e.price, r.low))),
            Arc("1", "2", lambda e, r: e.price > r.low + rise),
        ],
    )


SAID: dict[str, Any] = {"key": "symbol", "window": 40}
RISES = [1.0, 2.5, 4.0, 7.0]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("keys", [2, 2048])
def test_each_variant_has_the_matches_that_find_finds(workers: int, keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slicing, "KEYS", keys)
    monkeypatch.setattr(slicing, "SAMPLE", 4)
    frame = pd.DataFrame(columns())
    found = afa.backtest({rise: dip(rise) for rise in RISES}, frame, **SAID, threads=workers)
    assert found.table["variant"].tolist() == RISES
    assert list(found.matches) == ["variant", "symbol", "low", "le", "re"]
    for rise, count in zip(RISES, found.table["matches"]):
        alone = afa.find(dip(rise), frame, **SAID)
        assert len(alone) == count > 0
        mine = found.matches[found.matches["variant"] == rise].drop(columns="variant").reset_index(drop=True)
        pd.testing.assert_frame_equal(mine, alone)


def withdrawn(given: dict[str, Any], rise: float, size: int) -> int:
    """What an operator that gets so many rows at once takes back, by hand."""
    op, gone = Keyed(dip(rise), **SAID), 0
    rows = [insert(Trade(price), int(le)) for price, le in zip(given["price"], given["le"])]
    if size == 1:
        for row, key in zip(rows, given["symbol"]):
            gone += sum(change.diff < 0 for change in op.push(row, key=key))  # type: ignore[union-attr]
        return gone
    for low in range(0, len(rows), size):
        part = {name: column[low : low + size] for name, column in given.items()}
        gone += int((op.push_many(part)["diff"] < 0).sum())
    return gone


def test_what_a_live_run_would_have_withdrawn() -> None:
    given = columns()
    for batch, size in ((None, 1), (20, 20)):
        found = afa.backtest({rise: dip(rise) for rise in RISES}, given, **SAID, batch=batch)
        assert found.table["withdrawn"].tolist() == [withdrawn(given, rise, size) for rise in RISES]
        assert found.table["withdrawn"].min() > 0
    ordered = columns(ordered=True)
    assert set(afa.backtest({rise: dip(rise) for rise in RISES}, ordered, **SAID).table["withdrawn"]) == {0}
    by_key = np.lexsort((ordered["le"], ordered["symbol"]))
    grouped = {name: column[by_key] for name, column in ordered.items()}
    assert set(afa.backtest({rise: dip(rise) for rise in RISES}, grouped, **SAID).table["withdrawn"]) == {0}


def test_what_is_withdrawn_need_not_be_counted() -> None:
    found = afa.backtest({rise: dip(rise) for rise in RISES}, columns(), **SAID, withdrawn=False)
    assert list(found.table) == ["variant", "matches"]
    assert found.table["matches"].min() > 0


@pytest.mark.skipif(nojit.DISABLED, reason="nothing is compiled")
def test_constants_are_swapped_without_compiling() -> None:
    frame = columns()
    afa.backtest({"first": dip(0.5)}, frame, **SAID)
    before = native.statistics()
    afa.backtest({rise: dip(rise) for rise in np.linspace(0.6, 7, 40).tolist()}, frame, **SAID)
    after = native.statistics()
    assert (after.functions, after.compiled) == (before.functions, before.compiled)


def test_queries_and_kinds_of_frames(tmp_path: Path) -> None:
    text = (
        "PATTERN SEQ(Quote a, Quote b) WHERE partition_contiguity(a, b) {{ [symbol] and b.price > a.price + {} }} "
        "WITHIN 40 RETURN b.price"
    )

    class Quote(NamedTuple):
        symbol: str
        price: float

    queries = {f"by {by}": afa.query(text.format(by), event=Quote) for by in (1, 3)}
    frame = pa.table(columns())
    pq.write_table(frame, tmp_path / "quotes.parquet")
    for given in (frame, tmp_path / "quotes.parquet", str(tmp_path), [tmp_path / "quotes.parquet"], ds.dataset(tmp_path)):
        found = afa.backtest(queries, given)
        assert type(found.table) is type(found.matches) is pa.Table
        assert found.table["variant"].to_pylist() == ["by 1", "by 3"]
        assert found.table["matches"].to_pylist() == [len(afa.find(query, frame)) for query in queries.values()]


def spike(limit: float, start: str = "0", last: str = "price < 3") -> Automaton:
    arcs = [Arc(start, "1", f"price > {limit}", "(e.price,)"), Arc("1", "2", last)]
    return Automaton(start=start, final={"2"}, register=Low(), event=Trade, arcs=arcs)


@pytest.mark.parametrize(
    ("patterns", "all_rows"),
    [([spike(97), spike(98)], False), ([spike(97), spike(1, last="price < 50")], True), ([spike(97), spike(98, "9")], True)],
    ids=["a common witness", "none", "another start"],
)
def test_of_files_only_what_may_match_is_read(
    patterns: list[Automaton], all_rows: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same as of a frame; and all is read where it has to be."""
    rng, n = np.random.default_rng(7), 30_000
    price = rng.uniform(4, 60, n)
    price[[15_000, 15_001]] = [99.0, 1.0]
    table = pa.table({"symbol": ["a"] * n, "price": price, "le": np.arange(n)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1000)
    read, original = [], Stored.read_tables

    def noted(self: Stored, groups: Any, columns: Any, **more: Any) -> Any:
        read.extend(groups)
        return original(self, groups, columns, **more)

    monkeypatch.setattr(Stored, "read_tables", noted)
    said: dict[str, Any] = {**SAID, "withdrawn": False}
    variants = dict(enumerate(patterns))
    found, whole = afa.backtest(variants, tmp_path, **said), afa.backtest(variants, table, **said)
    assert found.table.equals(whole.table)
    assert found.matches.equals(whole.matches)
    assert len(found.matches) >= 2
    assert set(read) == (set(range(30)) if all_rows else {15})


def test_arcs_in_python_run_in_this_thread() -> None:
    seen = set()

    def fence(e: Any, r: Any) -> bool:
        seen.add(threading.current_thread())
        return bool(e.price < 3)

    odd = Automaton(start="0", final={"1"}, event=Trade, arcs=[Arc("0", "1", fence)])
    found = afa.backtest({1: odd, 2: odd}, columns(), **SAID, threads=4)
    assert seen == {threading.current_thread()}
    assert found.table["matches"].tolist() == [len(afa.find(odd, columns(), **SAID)["le"])] * 2


def test_jobs_end_when_one_fails() -> None:
    begun = []

    def job(number: int) -> Callable[[bool], int]:
        def carry_out(threads: bool) -> int:
            begun.append(number)
            if number == 1:
                raise ValueError("odd")
            return number

        return carry_out

    assert in_threads([job(0), job(2)], 2) == [0, 2]
    with pytest.raises(ValueError, match="odd"):
        in_threads([job(1), *map(job, range(2, 500))], 2)
    assert len(begun) < 500


class Variant(NamedTuple):
    variant: float = 0.0


@pytest.mark.parametrize(
    ("patterns", "more", "text"),
    [
        ({}, {}, r"expected patterns by their names, \{name: automaton or query\}, but got \{\}"),
        ([dip(1)], {}, r"expected patterns by their names, .* but got \["),
        ({"a": dip(1), "b": 7}, {}, r"variant 'b': expected an automaton or a query but got 7"),
        ({(1, 2): dip(1)}, {}, r"expected an int, a float, a bool or a text as the name of a pattern but got \(1, 2\)"),
        ({"a": dip(1)}, {"batch": 0}, r"expected a number of rows, or None for one at a time, but got batch=0"),
        ({"a": dip(1)}, {"threads": True}, r"expected a number of threads, at least 1, but got threads=True"),
        ({"a": dip(1)}, {"key": "symbl"}, r"expected a column 'symbl' \(key\).*did you mean 'symbol'"),
        (
            {"a": dip(1), "b": Automaton(start="0", final={"1"}, event=Trade, arcs=[Arc("0", "1", "price < 1")])},
            {},
            r"expected patterns whose matches show the same, as variant 'a', Low\(low: float\) by .*, but got variant 'b' with",
        ),
        (
            {"a": Automaton(start="0", final={"1"}, event=Trade, register=Variant(), arcs=[Arc("0", "1", "price < 1")])},
            {},
            r"expected a name for what varies that no column of the matches has but got 'variant'; rename one",
        ),
    ],
)
def test_refused(patterns: Any, more: dict[str, Any], text: str) -> None:
    with pytest.raises(AfaError, match=text):
        afa.backtest(patterns, columns(), **{**SAID, **more})


def test_a_fault_names_its_variant() -> None:
    def over(by: float) -> Automaton:
        return Automaton(start="0", final={"1"}, event=Trade, arcs=[Arc("0", "1", lambda e, r: 1 / (e.price - by) > 0)])

    with pytest.raises(ZeroDivisionError) as raised:
        afa.backtest({"fine": over(11.5), "odd": over(5.0)}, columns(), **SAID, threads=2)
    assert "variant 'odd'" in str(getattr(raised.value, "__notes__", raised.value.args))


def test_names_of_several_types_are_texts() -> None:
    found = afa.backtest({1: dip(1), "a": dip(2)}, columns(), **SAID)
    assert found.table["variant"].tolist() == ["1", "a"]
    assert afa.backtest({1: dip(1), 2.5: dip(2)}, columns(), **SAID).table["variant"].dtype == np.float64


@pytest.mark.parametrize("keys", [[1, "a", 1, "a"], ["\ud800", "b", "\ud800", "b"]])
def test_keys_that_arrow_does_not_hold(keys: list[Any]) -> None:
    rows = {"key": keys, "price": [1.0, 1.0, 9.0, 9.0], "at": [1, 2, 3, 0]}
    dip = Automaton(start="0", final={"2"}, event=Trade, arcs=[Arc("0", "1", "price < 3"), Arc("1", "2", "price > 6")])
    found = afa.backtest({"dip": dip}, rows, key="key", time="at", window=10)
    assert (found.table["matches"].tolist(), found.table["withdrawn"].tolist()) == ([1], [0])
