"""Columns, however they came, go to the kernels as columns, and mean what their rows mean."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from afa import FOREVER, AfaError, Arc, Automaton, Keyed, Operator


def automaton(kind: Any) -> Automaton:
    """Each event is a match that carries its value, of a type."""
    made: Any = NamedTuple
    event = made("Event", [("value", kind)])
    register = event({int: 0, float: 0.0, bool: False, str: ""}.get(kind))
    return Automaton(start="a", final={"b"}, event=event, register=register, arcs=[Arc("a", "b", "True", "(value,)")])


def found(kind: Any, batch: Any, engine: Any, **options: Any) -> Any:
    """The matches, or the words of the error."""
    make: Any = Keyed if "key" in options else Operator
    operator = make(automaton(kind), engine=engine, **options)
    try:
        out = operator.push_many(batch)
    except AfaError as error:
        return str(error)
    names = out.column_names if isinstance(out, pa.Table) else list(out)
    columns = [out[name].to_pylist() if isinstance(out, pa.Table) else out[name].tolist() for name in names]
    return sorted((repr(row) for row in zip(*columns)), key=str)


FINE = [
    (int, pa.array([1, 2], pa.int8())),
    (int, pa.array([1, 2], pa.uint64())),
    (int, np.array([1, 2], ">i8")),
    (int, np.arange(4)[::2]),
    (int, np.array([1, 2], np.uint32)),
    (int, [1, 2]),
    (int, (1, 2)),
    (int, np.array([1, 2], object)),
    (int, pd.Series([1, 2], dtype="Int64")),
    (int, pd.Series([1, 2], dtype="int16[pyarrow]")),
    (float, pa.array([1, -(2**53)])),
    (float, pa.array([0.5, math.nan], pa.float32())),
    (float, pd.Series([0.5, math.nan])),  # a NaN, as the field may not be None
    (float, np.array([-0.0, 0.0])),
    (float, [1, 0.5]),
    (bool, pa.array([True, False])),
    (bool, np.array([True, False])),
    (bool, pd.Series([True, False], dtype="boolean")),
    (str, pa.array(["x", "y"], pa.large_string())),
    (str, pa.array(["x", "y"]).dictionary_encode()),
    (str, pa.array(["x", "y"], pa.string_view())),
    (str, np.array(["x", "longer"])),
    (str, pd.Series(["x", "y"], dtype="category")),
    (int | None, pa.array([None, 2])),
    (int | None, [None, 2]),
    (int | None, pd.Series([math.nan, 2])),
    (int | None, pd.Series([None, 2], dtype="Int64")),
    (int | None, np.array([1, 2])),
    (int | None, [None, None]),
    (float | None, pd.Series([math.nan, 2.5])),  # None
    (float | None, np.array([math.nan, 2.5])),  # a NaN
    (float | None, [None, math.nan]),
    (str | None, pa.array(["x", None]).dictionary_encode()),
    (str | None, pd.Series(["x", None])),
    (str | None, pd.Series(["x", math.nan])),
    (bool | None, pa.array([True, None])),
]
WRONG = [
    (int, pa.array([1, 2**63], pa.uint64())),
    (int, pa.array([1, None])),
    (int, pd.Series([1.0, 2.0])),
    (int | None, pd.Series([math.nan, 2.0**60])),
    (int, np.array([1.0, 2.0])),
    (int, "12"),
    (float, pa.array([1, 2**53 + 1])),
    (str, [b"x", b"y"]),
    (str, ["x", 1]),
    (str, pd.Series(["x", None])),
    (bool, [1, 0]),
    (int | None, pd.Series([math.nan, 2.5])),
    (int | None, pd.Series([None, 2.0], dtype=object)),
    (int | None, [None, 2.0]),
]


def batch_of(column: Any, **others: Any) -> Any:
    columns = {"value": column, "le": [1, 2], **others}
    if type(column).__module__.startswith("pandas"):
        return pd.DataFrame(columns)
    return pa.table(columns) if isinstance(column, pa.Array) else columns


@pytest.mark.parametrize(("kind", "column"), FINE)
def test_a_column_means_what_its_rows_mean(kind: Any, column: Any, no_rows: None) -> None:
    batch = batch_of(column)
    assert found(kind, batch, "compiled") == found(kind, batch, "interpreted")


@pytest.mark.parametrize(("kind", "column"), WRONG)
def test_what_no_column_is_goes_row_by_row_which_says_why(kind: Any, column: Any) -> None:
    assert found(kind, batch_of(column), "compiled") == found(kind, batch_of(column), "interpreted")


@pytest.mark.parametrize("window", [None, 5])
@pytest.mark.parametrize("ends", [pa.array([None, 9]), pd.Series([None, 9.0]), pd.Series([None, 9], dtype="Int64"), [None, 9]])
def test_a_lifetime_that_is_not_said_ends_by_the_window(ends: Any, window: int | None, no_rows: None) -> None:
    shape = pa.array if isinstance(ends, pa.Array) else pd.Series if isinstance(ends, pd.Series) else list
    batch = batch_of(shape([1, 2]), re=ends)
    rows = found(int, batch, "compiled", window=window)
    assert rows == found(int, batch, "interpreted", window=window)
    assert str(FOREVER if window is None else 6) in rows[0]
    late = batch_of(shape([1, 2]), re=ends, le=[FOREVER - 3, 2])
    assert found(int, late, "interpreted", window=9).startswith("expected an int64 (ticks) but got le + window=")


def test_a_promise_of_all_time_has_no_lifetime(no_rows: None) -> None:
    batch = {"value": [1, 0], "le": [1, FOREVER], "kind": [0, 2]}
    assert found(int, batch, "compiled", window=5) == found(int, batch, "interpreted", window=5)
    arcs = {"value": [1, 0, 1], "le": [1, 3, 4], "kind": [0, 1, 0], "re": [None, None, None], "arc": [0, 0, 0]}
    out = Operator(automaton(int), window=5, engine="compiled").push_many(arcs, arcs=[Arc("a", "b", "value > 0", "(7,)")])
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
    assert found(int, batch, "compiled", key=key) == found(int, batch, "interpreted", key=key)


def test_of_a_slice_only_its_own_keys_count(no_rows: None) -> None:
    """The dictionary is the whole table's."""
    names = pa.array([f"k{i}" for i in range(100)]).dictionary_encode()
    whole = pa.table({"value": list(range(100)), "le": list(range(100)), "at": names})
    op = Keyed(automaton(int), key="at", engine="compiled")
    out = op.push_many(whole.slice(40, 2))
    assert out["at"].to_pylist() == op.keys == ["k40", "k41"]
    assert len(op._core.engine.store.directory) == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("missing", ["in the dictionary", "in the places", "in all", "in none"])
def test_a_key_that_is_missing(missing: str) -> None:
    """It is a key as any other, in whatever form it comes."""
    texts = {"in the dictionary": ["x", None], "in all": [None, None], "in none": ["x", "y"]}.get(missing, ["x", "y"])
    coded = pa.DictionaryArray.from_arrays(pa.array([0, None if missing == "in the places" else 1]), pa.array(texts, pa.string()))
    wanted = [None if missing == "in all" else "x", "y" if missing == "in none" else None]
    for column in (coded, coded.dictionary_decode(), coded.dictionary_decode().to_pylist()):
        for engine in ("compiled", "interpreted"):
            op = Keyed(automaton(int), key="at", engine=engine)
            op.push_many(batch_of(pa.array([1, 2]), at=column))
            assert sorted(op.keys, key=repr) == sorted(set(wanted), key=repr)
            again = Keyed.restore(automaton(int), op.snapshot(), key="at", engine="compiled")
            assert sorted(again.keys, key=repr) == sorted(set(wanted), key=repr)


@pytest.fixture
def no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled engine gets no event of its own from a table."""
    from afa.compiled.compiled_engine import CompiledEngine

    def refused(self: Any, key: Any, changes: Any) -> None:
        raise AssertionError(f"row by row: {changes}")

    monkeypatch.setattr(CompiledEngine, "apply", refused)
