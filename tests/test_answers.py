"""What leaves as a table, at its edges: names that occur twice, times that no column holds, columns of another library."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import afa
from afa import AfaError, Arc, Automaton, ChangeError, Operator, Reasons, insert
from afa.situations import Situation, TemporalPattern
from afa.uncertain import Worlds


class E(NamedTuple):
    kind: str
    k: int


class Shown(NamedTuple):
    k: int = 0


TWO = Automaton(
    start="0",
    final={"2"},
    event=E,
    register=Shown(),
    arcs=[Arc("0", "1", "kind == 'a'"), Arc("1", "2", "kind == 'b'", "Shown(k + 100)")],
)


@pytest.mark.parametrize("table", [pa.table, pd.DataFrame, dict], ids=["arrow", "pandas", "dict"])
def test_two_columns_of_one_name_are_refused(table: Any) -> None:
    op = Worlds(TWO, worlds=20, window=10, key="k", lower="lower", upper="upper")
    with pytest.raises(ChangeError, match="expected columns of different names in the output but got 'k' twice"):
        op.push_many(table({"kind": ["a", "b"], "k": [7, 7], "lower": [1, 2], "upper": [1, 2]}))


def test_a_column_that_is_there_twice_is_refused_in_words() -> None:
    twice = pa.table([["a"], [1], [1], [2]], names=["kind", "k", "lower", "lower"])
    op = Worlds(TWO, worlds=20, window=10, lower="lower", upper="upper")
    with pytest.raises(AfaError, match="'lower'"):
        op.push_many(twice)


class Day(NamedTuple):
    x: int


def test_a_reason_whose_time_no_column_holds_is_told_in_ticks() -> None:
    two = Automaton(start="0", final={"2"}, event=Day, arcs=[Arc("0", "1", "x == 1"), Arc("1", "2", "x == 2")])
    op = Reasons(Operator(two, tick="ms"))
    op.push_many({"x": [2], "le": np.array(["2024-01-03"], "M8[D]")})
    (out,) = op.push_many([{"x": [9], "le": np.array(["2024-01-05"], "M8[D]")}, insert(Day(1), 19_724 * 86_400_000 + 5)])
    assert out["le"].tolist() == [np.datetime64("2024-01-03").item()]
    assert out["because"][0]["le"] == 19_724 * 86_400_000 + 5


def test_a_dict_of_series_is_answered_by_arrays() -> None:
    frame = {"kind": ["a", "b", "b"], "k": pd.Series([1, 1, 2], dtype="int16"), "le": [1, 2, 3]}
    found = afa.find(ONE, frame, key="k", time="le", window=9)
    assert type(found["k"]) is np.ndarray


ONE = Automaton(start="0", final={"1"}, event=E, arcs=[Arc("0", "1", "kind == 'b'")])


def test_a_field_that_is_no_column_is_named() -> None:
    with pytest.raises(AfaError, match=r"'k'|k: int|k="):
        afa.find(ONE, {"kind": ["a"], "k": "7", "le": [1]})


class Held(NamedTuple):
    on: bool
    n: int


def test_what_is_held_is_not_the_users_array() -> None:
    pattern = TemporalPattern(event=Held, within=100, where="low during on", low=Situation("n < 5"), on=Situation("on"))
    rows = {"on": np.array([True, True, False, True]), "n": np.array([9, 2, 2, 9]), "le": np.array([1, 3, 6, 9])}
    held, kept = pattern.operator(), pattern.operator()
    held.push_many({name: column.copy() for name, column in rows.items()})
    kept.push_many(rows)
    rows["n"][:] = 1
    rows["le"][:] = 1
    assert kept.snapshot() == held.snapshot()
