"""Columns, however they came, go to the kernels as columns, and mean what their rows mean."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from afa import FOREVER, AfaError, Arc, Automaton, Keyed, Operator


class Number(NamedTuple):
    value: int


class Real(NamedTuple):
    value: float


class Flag(NamedTuple):
    value: bool


class Word(NamedTuple):
    value: str


class Perhaps(NamedTuple):
    value: int | None


class PerhapsReal(NamedTuple):
    value: float | None


class PerhapsWord(NamedTuple):
    value: str | None


class PerhapsFlag(NamedTuple):
    value: bool | None


REGISTERS: dict[type, Any] = {
    Number: Number(0),
    Real: Real(0.0),
    Flag: Flag(False),
    Word: Word(""),
    Perhaps: Perhaps(None),
    PerhapsReal: PerhapsReal(None),
    PerhapsWord: PerhapsWord(None),
    PerhapsFlag: PerhapsFlag(None),
}


def automaton(event: type) -> Automaton:
    """Each event is a match that carries its value."""
    return Automaton(start="a", final={"b"}, event=event, register=REGISTERS[event], arcs=[Arc("a", "b", "True", "(value,)")])


def found(event: type, batch: Any, engine: Any, **options: Any) -> Any:
    """The matches, or the words of the error."""
    make: Any = Keyed if "key" in options else Operator
    operator = make(automaton(event), engine=engine, **options)
    try:
        out = operator.push_many(batch)
    except AfaError as error:
        return str(error)
    names = out.column_names if isinstance(out, pa.Table) else list(out)
    columns = [out[name].to_pylist() if isinstance(out, pa.Table) else out[name].tolist() for name in names]
    return sorted((repr(row) for row in zip(*columns)), key=str)


FINE = [
    (Number, pa.array([1, 2], pa.int8())),
    (Number, pa.array([1, 2], pa.uint64())),
    (Number, np.array([1, 2], ">i8")),
    (Number, np.arange(4)[::2]),
    (Number, np.array([1, 2], np.uint32)),
    (Number, [1, 2]),
    (Number, (1, 2)),
    (Number, np.array([1, 2], object)),
    (Number, pd.Series([1, 2], dtype="Int64")),
    (Number, pd.Series([1, 2], dtype="int16[pyarrow]")),
    (Real, pa.array([1, -(2**53)])),
    (Real, pa.array([0.5, math.nan], pa.float32())),
    (Real, pd.Series([0.5, math.nan])),  # a NaN, as the field may not be None
    (Real, np.array([-0.0, 0.0])),
    (Real, [1, 0.5]),
    (Flag, pa.array([True, False])),
    (Flag, np.array([True, False])),
    (Flag, pd.Series([True, False], dtype="boolean")),
    (Word, pa.array(["x", "y"], pa.large_string())),
    (Word, pa.array(["x", "y"]).dictionary_encode()),
    (Word, pa.array(["x", "y"], pa.string_view())),
    (Word, np.array(["x", "longer"])),
    (Word, pd.Series(["x", "y"], dtype="category")),
    (Perhaps, pa.array([None, 2])),
    (Perhaps, [None, 2]),
    (Perhaps, pd.Series([math.nan, 2])),
    (Perhaps, pd.Series([None, 2], dtype="Int64")),
    (Perhaps, np.array([1, 2])),
    (Perhaps, [None, None]),
    (PerhapsReal, pd.Series([math.nan, 2.5])),  # None
    (PerhapsReal, np.array([math.nan, 2.5])),  # a NaN
    (PerhapsReal, [None, math.nan]),
    (PerhapsWord, pa.array(["x", None]).dictionary_encode()),
    (PerhapsWord, pd.Series(["x", None])),
    (PerhapsWord, pd.Series(["x", math.nan])),
    (PerhapsFlag, pa.array([True, None])),
]
WRONG = [
    (Number, pa.array([1, 2**63], pa.uint64())),
    (Number, pa.array([1, None])),
    (Number, pd.Series([1.0, 2.0])),
    (Perhaps, pd.Series([math.nan, 2.0**60])),
    (Number, np.array([1.0, 2.0])),
    (Number, "12"),
    (Real, pa.array([1, 2**53 + 1])),
    (Word, [b"x", b"y"]),
    (Word, ["x", 1]),
    (Word, pd.Series(["x", None])),
    (Flag, [1, 0]),
    (Perhaps, pd.Series([math.nan, 2.5])),
    (Perhaps, pd.Series([None, 2.0], dtype=object)),
    (Perhaps, [None, 2.0]),
]


def batch_of(column: Any, **others: Any) -> Any:
    columns = {"value": column, "le": [1, 2], **others}
    if type(column).__module__.startswith("pandas"):
        return pd.DataFrame(columns)
    return pa.table(columns) if isinstance(column, pa.Array) else columns


@pytest.mark.parametrize(("event", "column"), FINE)
def test_a_column_means_what_its_rows_mean(event: type, column: Any, no_rows: None) -> None:
    batch = batch_of(column)
    assert found(event, batch, "compiled") == found(event, batch, "interpreted")


@pytest.mark.parametrize(("event", "column"), WRONG)
def test_what_no_column_is_goes_row_by_row_which_says_why(event: type, column: Any) -> None:
    assert found(event, batch_of(column), "compiled") == found(event, batch_of(column), "interpreted")


@pytest.mark.parametrize("window", [None, 5])
@pytest.mark.parametrize("ends", [pa.array([None, 9]), pd.Series([None, 9.0]), pd.Series([None, 9], dtype="Int64"), [None, 9]])
def test_a_lifetime_that_is_not_said_ends_by_the_window(ends: Any, window: int | None, no_rows: None) -> None:
    shape = pa.array if isinstance(ends, pa.Array) else pd.Series if isinstance(ends, pd.Series) else list
    batch = batch_of(shape([1, 2]), re=ends)
    rows = found(Number, batch, "compiled", window=window)
    assert rows == found(Number, batch, "interpreted", window=window)
    assert str(FOREVER if window is None else 6) in rows[0]
    late = batch_of(shape([1, 2]), re=ends, le=[FOREVER - 3, 2])
    assert found(Number, late, "interpreted", window=9).startswith("expected an int64 (ticks) but got le + window=")


def test_a_promise_of_all_time_has_no_lifetime(no_rows: None) -> None:
    batch = {"value": [1, 0], "le": [1, FOREVER], "kind": [0, 2]}
    assert found(Number, batch, "compiled", window=5) == found(Number, batch, "interpreted", window=5)
    arcs = {"value": [1, 0, 1], "le": [1, 3, 4], "kind": [0, 1, 0], "re": [None, None, None], "arc": [0, 0, 0]}
    out = Operator(automaton(Number), window=5, engine="compiled").push_many(arcs, arcs=[Arc("a", "b", "value > 0", "(7,)")])
    assert sorted(zip(out["value"].tolist(), out["re"].tolist())) == [(1, 6), (1, 9), (7, 9)]


@pytest.mark.parametrize(
    ("key", "columns"),
    [
        ("at", {"at": pa.array([0.0, -0.0])}),
        ("at", {"at": pa.array([math.nan, 1.5])}),
        (["at", "to"], {"at": pa.array([None, "x"]), "to": pa.array([1, None])}),
        (["at", "to"], {"at": pa.array([None, "x"]).dictionary_encode(), "to": pa.array([1.5, None])}),
        (["at", "to"], {"at": pa.array(["x", "x"]), "to": pa.array([2, 1], pa.date32())}),
    ],
)
def test_keys(key: Any, columns: dict[str, Any], no_rows: None) -> None:
    batch = batch_of(pa.array([1, 2]), **columns)
    assert found(Number, batch, "compiled", key=key) == found(Number, batch, "interpreted", key=key)


def test_of_a_slice_only_its_own_keys_count(no_rows: None) -> None:
    """The dictionary is the whole table's."""
    names = pa.array([f"k{i}" for i in range(100)]).dictionary_encode()
    whole = pa.table({"value": list(range(100)), "le": list(range(100)), "at": names})
    op = Keyed(automaton(Number), key="at", engine="compiled")
    out = op.push_many(whole.slice(40, 2))
    assert out["at"].to_pylist() == op.keys == ["k40", "k41"]
    assert len(op._core.engine.store.directory) == 2  # type: ignore[attr-defined]


def test_a_key_that_is_missing_in_a_dictionary() -> None:
    none = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["x", None]))
    batch = batch_of(pa.array([1, 2]), at=none)
    assert found(Number, batch, "compiled", key="at") == "expected a key but got key=None"


@pytest.fixture
def no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled engine gets no event of its own from a table."""
    from afa.compiled.compiled_engine import CompiledEngine

    def refused(self: Any, key: Any, changes: Any) -> None:
        raise AssertionError(f"row by row: {changes}")

    monkeypatch.setattr(CompiledEngine, "apply", refused)
