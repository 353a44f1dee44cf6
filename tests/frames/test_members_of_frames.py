"""``afa.find(.., members=)``: a column of the events behind each match, in every kind of frame."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import afa
from afa import AfaError, Arc, Automaton, Punctuation, insert, retract
from afa.frames import slicing
from afa.language.query import Query
from afa.language.terms import Aggregate
from tests.automata import Log
from tests.frames.test_find_worlds import ALL, changes
from tests.frames.test_find_worlds import frame as table
from tests.language import row_worlds
from tests.language.worlds import world
from tests.strategies import Seeded


def tries(select: str | None = None) -> Automaton:
    arcs = [
        Arc("0", "try", "kind == 'try'"),
        Arc("try", "try", "True", name="wait"),
        Arc("try", "in", "kind == 'login'", select=select),
    ]
    return Automaton(start="0", final={"in"}, event=Log, arcs=arcs)


ROWS = {"kind": ["try", "look", "login", "try"], "id": [1, 2, 3, 4], "at": [10, 11, 13, 12]}
SQL = """SELECT * FROM logs MATCH_RECOGNIZE (ORDER BY at MEASURES LAST(b.id) AS id PATTERN (a b+) WITHIN 60
         DEFINE a AS kind = 'try', b AS kind <> 'try')"""


def frame(kind: str, rows: dict[str, list[Any]] = ROWS) -> Any:
    table = pa.table(rows)
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        return pytest.importorskip("polars").from_arrow(table)
    return table if kind == "arrow" else {name: np.array(column) for name, column in rows.items()}


def members(found: Any) -> list[Any]:
    """The column in Python's values."""
    column = found["members"]
    values = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return [{k: list(v) for k, v in row.items()} if isinstance(row, dict) else list(row) for row in values]


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "arrow"])
def test_kinds_of_frames(kind: str, engine: str) -> None:
    asked: dict[str, Any] = {"time": "at", "window": 60, "engine": engine}
    assert members(afa.find(tries(), frame(kind), members="id", **asked)) == [[1, 3], [4, 3]]
    assert members(afa.find(tries("done"), frame(kind), members="le", **asked)) == [
        {"try": [10], "done": [13]},
        {"try": [12], "done": [13]},
    ]
    assert "members" not in list(afa.find(tries(), frame(kind), **asked).keys() if kind == "dict" else [])
    chosen = afa.find(afa.sql(SQL, event=Log), frame(kind), members="id", time="at", engine=engine)
    assert members(chosen) == [{"a": [1], "b": [2]}, {"a": [4], "b": [3]}]


@pytest.mark.parametrize("kind", ["dict", "pandas", "arrow"])
@pytest.mark.parametrize("select", [None, "done"])
def test_times(kind: str, select: str | None) -> None:
    at = np.array(ROWS["at"]).astype("datetime64[s]")
    given = frame(kind, {**ROWS, "at": at})
    found = afa.find(tries(select), given, time="at", window="1 minute", members="le")
    first = members(found)[0]
    values = first if isinstance(first, list) else [*first["try"], *first["done"]]
    assert [np.datetime64(value, "s") for value in values] == [at[0], at[2]]


def test_events_themselves() -> None:
    found = afa.find(tries(), frame("arrow"), time="at", window=60, members=True)
    assert found["members"].to_pylist()[1] == [
        {"kind": "try", "id": 4, "le": 12, "re": 72}, {"kind": "login", "id": 3, "le": 13, "re": 73},
    ]  # fmt: skip


def test_a_slice_does_not_end_within_an_instant(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, engine: str) -> None:
    """Rows of one instant are alternatives: a later one would be one more event behind a match that was told."""
    monkeypatch.setattr(slicing, "SLICE", 2)
    monkeypatch.setattr(slicing, "MOST", 2)
    rows = {"kind": ["try", "login", "login", "login", "login", "try"], "id": [1, 2, 3, 4, 5, 6], "at": [1, 2, 2, 2, 2, 3]}
    assert members(afa.find(tries(), frame("dict", rows), members="id", time="at", window=9, engine=engine)) == [[1, 2, 3, 4, 5]]
    path = tmp_path / "rows.parquet"
    pq.write_table(frame("arrow", rows), path, row_group_size=3)
    assert members(afa.find(tries(), path, members="id", time="at", window=9, engine=engine)) == [[1, 2, 3, 4, 5]]


def test_retractions(engine: str) -> None:
    rows = {**{name: [*column, column[0]] for name, column in ROWS.items()}, "diff": [1, 1, 1, 1, -1]}
    found = afa.find(tries(), frame("dict", rows), members="id", time="at", window=60, diff="diff", engine=engine)
    assert members(found) == [[4, 3]]


def one_by_one(query: Any, items: list[Any], engine: Any, end: int) -> dict[Any, Any]:
    """The members of the matches in force at the end, of an operator that is told again of those whose events change."""
    op, held = query.operator(engine=engine, members="seq", tell="lineage"), {}
    out = [change for sign, event in items for change in op.push((insert if sign == "+" else retract)(*event))]
    for change in [*out, *op.push(Punctuation(end))]:
        if isinstance(change, Punctuation):
            continue
        name = *((change.key,) if isinstance(change.key, int) else change.key or ()), *change.payload, change.le, change.re
        if change.diff < 0:
            del held[name]
        else:
            held[name] = change.members
    return held


@pytest.mark.parametrize("kind", ["plain", "chosen"])
def test_random_frames(kind: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("SLICE", 3), ("MOST", 3), ("KEYS", 1), ("SAMPLE", 2)):
        monkeypatch.setattr(slicing, name, size)
    met = 0
    for number in range(60):
        if kind == "chosen":
            here = row_worlds.numbered("members of frames", number)
            query = Query(replace(here.tree, rows=None, returns=(("n", Aggregate("", "count")),)))
        else:
            here = world(Seeded(f"members of frames {number}"), ALL[kind])
            query = Query(here.tree)
        items = changes(here)
        if not items:
            continue
        try:
            expected = one_by_one(query, items, engine, max(event.le for _, event in items))
        except AfaError:  # of ties, where there may be none
            continue
        asked: dict[str, Any] = {"time": "when", "until": "until", "diff": "diff", "engine": engine, "members": "seq"}
        found = afa.find(query, table(items), **asked)
        *rows, members = (column.tolist() for column in found.values())
        got = {tuple(row): each for row, each in zip(zip(*rows), members)}
        assert got == expected, (kind, number)
        met += len(got)
    assert met > 20, met
