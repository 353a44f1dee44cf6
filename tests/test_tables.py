"""Batches: Arrow, pandas and columns, arcs and punctuations in between; what goes in comes out in the same shape."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from afa import FOREVER, Arc, Automaton, ChangeError, Keyed, Operator, Punctuation, insert, retract
from speculation import consolidate


class E(NamedTuple):
    tail: str
    delay: int
    note: float | None = None


class R(NamedTuple):
    first: int = 0
    share: float = 0.0
    gate: str | None = None
    far: bool = False


close = Arc("a", "b", lambda e, r: e.delay < 0, lambda e, r: R(r.first, e.delay / 2, e.tail, e.delay < -5), name="close")
automaton = Automaton(
    start="s",
    final={"b"},
    register=R(),
    event=E,
    arcs=[Arc("s", "a", lambda e, r: e.delay > 0, lambda e, r: R(e.delay)), Arc("a", "a", lambda e, r: e.delay == 0), close],
)
columns = {"tail": ["x", "x", "y", "x"], "delay": [5, 0, 7, -9], "note": [None, 1.5, None, float("nan")], "le": [1, 2, 2, 3]}


def shapes() -> list[Any]:
    return [
        pytest.param(lambda c: c, id="lists"),
        pytest.param(lambda c: {name: np.array(column, dtype=object) for name, column in c.items()}, id="objects"),
        pytest.param(lambda c: {**c, "le": np.array(c["le"]), "delay": np.array(c["delay"], np.int32)}, id="numpy"),
        pytest.param(pd.DataFrame, id="pandas"),
        pytest.param(pa.table, id="arrow"),
        pytest.param(lambda c: pa.table(c).to_batches()[0], id="record batch"),
    ]


def rows(table: Any) -> list[tuple[Any, ...]]:
    names = table.column_names if isinstance(table, pa.Table) else list(table)
    return list(zip(*(list(table[name].to_pylist() if isinstance(table, pa.Table) else table[name]) for name in names)))


@pytest.mark.parametrize("shape", shapes())
def test_every_shape_goes_in_and_comes_out(shape: Any) -> None:
    out = Operator(automaton, window=10).push_many(shape({name: column[:2] + column[3:] for name, column in columns.items()}))
    assert rows(out) == [(5, -4.5, "x", True, 3, 11, 1)]
    assert (list(out) if not isinstance(out, pa.Table) else out.column_names) == [
        "first",
        "share",
        "gate",
        "far",
        "le",
        "re",
        "diff",
    ]


@pytest.mark.parametrize("shape", shapes())
def test_keyed_output_begins_with_the_key(shape: Any) -> None:
    out = Keyed(automaton, key="tail", window=10).push_many(shape(columns))
    assert rows(out) == [("x", 5, -4.5, "x", True, 3, 11, 1)]


@pytest.mark.parametrize("shape", shapes())
def test_an_empty_result_has_its_columns_and_types(shape: Any) -> None:
    out = Operator(automaton, window=10).push_many(shape({name: column[:1] for name, column in columns.items()}))
    assert len(rows(out)) == 0
    if isinstance(out, pa.Table):
        assert out.schema.types == [pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.int64(), pa.int64(), pa.int64()]
    else:
        assert [str(out[name].dtype) for name in ("first", "share", "far", "le")] == ["int64", "float64", "bool", "int64"]


def test_lifetimes_and_retractions_in_columns() -> None:
    op = Operator(automaton)
    op.push_many({"tail": ["x", "x"], "delay": [5, -9], "note": [None, None], "le": [1, 3], "re": [9, None]})
    out = op.push_many({"tail": ["x"], "delay": [-9], "note": [None], "le": [3], "re": [None], "diff": [-1]})
    assert rows(out) == [(5, -4.5, "x", True, 3, 9, -1)]
    assert op.statistics.events == 1


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]", "float64", object])
def test_pandas_says_missing_in_many_ways(kind: Any) -> None:
    class Optional(NamedTuple):
        n: int | None
        word: str | None = None

    seen: list[Any] = []
    op = Operator(Automaton(start="s", final={"a"}, event=Optional, arcs=[Arc("s", "a", lambda e, r: bool(seen.append(e)))]))
    missing = None if kind != "float64" else float("nan")
    frame = pd.DataFrame({"n": pd.Series([1, missing], dtype=kind), "word": pd.Series([None, "x"], dtype="string"), "le": [1, 2]})
    frame["re"] = pd.Series([missing, 9], dtype=kind)
    op.push_many(frame)
    assert set(seen) == {Optional(1, None), Optional(None, "x")}
    op.push_many([retract(Optional(1), 1), retract(Optional(None, "x"), 2, 9)])
    assert op.statistics.state_size == 0


def test_net_output_is_the_difference_over_the_batch_and_without_net_the_single_steps() -> None:
    batch = {"tail": ["x"] * 3, "delay": [5, -9, 3], "note": [None] * 3, "le": [1, 3, 2]}
    net = Operator(automaton, window=10).push_many(batch)
    single = Operator(automaton, window=10).push_many(batch, net=False)
    assert [row[-3:] for row in rows(net)] == [(3, 12, 1)]
    assert [row[-3:] for row in rows(single)] == [(3, 11, 1), (3, 11, -1), (3, 12, 1)]


def test_arcs_and_punctuations_in_between() -> None:
    def parts() -> list[Any]:
        return [
            {name: column[:2] for name, column in columns.items()},
            retract(close),
            insert(Arc("a", "b", lambda e, r: e.delay < 0, lambda e, r: r._replace(gate="new"), name="new")),
            Punctuation(2),
            {name: column[3:] for name, column in columns.items()},
        ]

    batch, single = Operator(automaton, window=10), Operator(automaton, window=10)
    out = batch.push_many(parts())
    assert [rows(part) if isinstance(part, dict) else part for part in out] == [[(5, 0.0, "new", False, 3, 11, 1)], Punctuation(2)]
    steps = single.push_many(parts(), net=False)
    assert [rows(part) if isinstance(part, dict) else part for part in steps] == [
        Punctuation(2),
        [(5, 0.0, "new", False, 3, 11, 1)],
    ]
    assert batch.statistics == single.statistics


def test_a_list_of_changes_gives_changes() -> None:
    out = Operator(automaton, window=10).push_many([insert(E("x", 5), 1), insert(E("x", -9), 3), Punctuation(3)])
    assert [type(item).__name__ for item in out] == ["Change", "Punctuation"]
    assert Operator(automaton, window=10).push_many([]) == []
    empty = Operator(automaton, window=10).push_many([{name: [] for name in columns}])
    assert [rows(part) for part in empty] == [[]]
    quiet = Operator(automaton, window=10).push_many([{name: [] for name in columns}, Punctuation(3)])
    assert [rows(part) if isinstance(part, dict) else part for part in quiet] == [[], Punctuation(3)]


def test_any_payload_travels_in_a_column_of_its_own() -> None:
    op = Operator(Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: e == (1, "x"))]))
    out = op.push_many({"payload": [(1, "x"), "y"], "le": [1, 2]})
    assert rows(out) == [(1, FOREVER, 1)]


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"tail": ["x"], "le": [1]}, r"expected a column 'delay' but got the columns tail, le"),
        ({**columns, "le": [1, 2, 3]}, r"columns of one length but got 4 in 'tail', 3 in 'le'"),
        ({**columns, "le": [1, 2, None, 3]}, r"int ticks in column 'le' but got None in row 2"),
        ({**columns, "le": [1.0, 2.0, 2.0, 3.0]}, r"int ticks in column 'le' but got 1.0 in row 0 \(column of float\)"),
        (pd.DataFrame({**columns, "le": pd.to_datetime([1, 2, 2, 3])}), r"in column 'le' but got a column of datetime64"),
        (pa.table({**columns, "le": ["a", "b", "c", "d"]}), r"in column 'le' but got 'a' in row 0 \(column of string\)"),
        ({**columns, "diff": [1, 1, 0, 1]}, r"diff=1 or -1 but got diff=0 for E\(tail='y'"),
        ({**columns, "delay": [5, 0, "late", -9]}, r"delay: int but got delay='late' in E"),
        ({**columns, "tail": ["x", None, "y", "x"]}, r"tail: str but got tail=None in E"),
        ({**columns, "le": np.array([1, 2, 2, 3], "datetime64[ns]")}, r"in column 'le' but got a column of datetime64"),
        (pd.DataFrame([["x", "y", 1, 2]], columns=["tail", "tail", "delay", "le"]), r"one column 'tail' but got 2 among"),
        (pa.Table.from_arrays([pa.array([1])] * 2, names=["le", "le"]), r"one column 'le' but got 2 among the columns le, le"),
        ({"tail": "x", "delay": 1, "note": None, "le": 10}, r"a column of values but got tail='x'"),
        (5, r"an Arrow table, a pandas frame, a dict of columns or a list but got <class 'int'>"),
        ([columns, "row"], r"a change \(insert, retract\) or a Punctuation but got 'row'"),
    ],
)
def test_wrong_batches_are_refused_whole(batch: Any, message: str) -> None:
    op = Operator(automaton, window=10)
    with pytest.raises(ChangeError, match=message):
        op.push_many(batch)
    assert op.statistics.state_size == 0


def test_keys_of_columns_and_functions() -> None:
    extra = {**columns, "hub": [1, 1, 1, 1]}
    both = Keyed(automaton, key=["hub", "tail"], window=10)
    assert rows(both.push_many(extra)) == [(1, "x", 5, -4.5, "x", True, 3, 11, 1)]
    assert both.keys == [(1, "x"), (1, "y")]
    both.push(insert(E("x", -2), 4), key=(1, "x"))
    with pytest.raises(ChangeError, match=r"an event with the key's fields \('hub', 'tail'\)"):
        both.push(insert(E("x", -2), 4))
    by = Keyed(automaton, key=lambda e: e.tail.upper(), window=10)
    assert rows(by.push_many(columns)) == [("X", 5, -4.5, "x", True, 3, 11, 1)]
    with pytest.raises(ChangeError, match=r"expected a column 'hub'"):
        both.push_many(columns)
    with pytest.raises(ChangeError, match=r"a hashable key but got key=\[1\]"):
        both.push(insert(E("x", 1), 5), key=[1])
    of_none = Keyed(automaton, key="hub")
    of_none.push_many({**extra, "hub": [1, None, 1, 1]})
    assert {*of_none.keys} == {None, 1}


@pytest.mark.parametrize(
    ("early", "later"),
    [
        (pa.array(["long key"]), pa.array(["x"])),
        (pa.array(["long key"]).dictionary_encode(), pa.array(["x"]).dictionary_encode()),
        (pa.array([300], pa.int64()), pa.array([1], pa.int8())),
        (pa.array([2**63], pa.uint64()), pa.array([1], pa.uint8())),
        (pa.array(["long key"]), pa.array([1])),
        (np.array(["long key"]), np.array(["x"])),
        (np.array([300]), np.array([1], np.int8)),
        (np.array(["long key"]), np.array([True])),
        (pd.Series(["long key"]), pd.Series([1])),
        (pd.Series(["long key"], dtype="string"), pd.Series(["x"], dtype="string")),
        (pd.Series([300]), pd.Series([1], dtype="Int8")),
    ],
)
def test_a_key_of_an_earlier_wider_batch_comes_out_whole(early: Any, later: Any) -> None:
    waits = Automaton(
        start="a",
        final={"c"},
        event=NamedTuple("V", [("v", int)]),
        arcs=[Arc("a", "b", lambda e, r: True), Arc.timeout("b", "c", lambda r: 5)],
    )
    shape = {"pandas": pd.DataFrame, "numpy": dict, "pyarrow": pa.table}[type(early).__module__.partition(".")[0]]
    keyed = Keyed(waits, key="hub", window=50)
    keyed.push_many(shape({"v": [1], "le": [1], "hub": early}))
    out = keyed.push_many([shape({"v": [1], "le": [2], "hub": later}), Punctuation(9)])[0]["hub"]
    got = out.to_pylist() if isinstance(out, pa.ChunkedArray) else out.tolist()
    assert sorted(map(str, got)) == sorted(map(str, [*early.tolist(), *later.tolist()]))


@pytest.mark.parametrize("hub", [["a", "b", "c", "d"], [1, 2, 3, 4]])
@pytest.mark.parametrize("shape", [pa.table, pd.DataFrame, lambda c: {**c, "hub": np.array(c["hub"])}])
def test_a_key_s_column_keeps_its_type(hub: list[Any], shape: Any) -> None:
    keyed = Keyed(automaton, key="hub", window=10)
    batch = shape({**columns, "hub": hub})
    quiet = keyed.push_many(batch)["hub"]
    found = keyed.push_many(shape({"tail": ["x"], "delay": [-1], "note": [None], "le": [9], "hub": hub[:1]}))["hub"]
    assert (len(quiet), len(found)) == (0, 1)
    came, *kinds = (getattr(column, "type", None) or getattr(column, "dtype", None) for column in (batch["hub"], quiet, found))
    came = np.dtype(object) if getattr(came, "kind", "") == "U" else came  # numpy's strings have a width that would cut longer keys
    assert set(kinds) == {came}


def test_a_field_that_meets_another_column_is_refused() -> None:
    class Clash(NamedTuple):
        tail: str = ""

    twice = Automaton(start="s", final={"a"}, register=Clash(), event=E, arcs=[Arc("s", "a", lambda e, r: True)])
    with pytest.raises(ChangeError, match=r"different names in the output but got 'tail' twice"):
        Keyed(twice, key="tail", window=10).push_many(columns)


def test_fields_that_arrow_can_not_hold_are_refused_before_anything_is_applied() -> None:
    class Bag(NamedTuple):
        items: Any = ()

    op = Operator(Automaton(start="s", final={"a"}, register=Bag(), event=E, arcs=[Arc("s", "a", lambda e, r: True)]), window=9)
    with pytest.raises(ChangeError, match=r"scalar fields for an Arrow output but got Bag\(items: Any\): push columns instead"):
        op.push_many(pa.table(columns))
    assert op.statistics.state_size == 0
    assert rows(op.push_many({name: column[:1] for name, column in columns.items()})) == [((), 1, 10, 1)]


def test_a_key_that_a_function_makes_is_text_in_arrow() -> None:
    by = Keyed(automaton, key=lambda e: (e.tail, 1), window=10)
    assert by.push_many(pa.table(columns))["key"].to_pylist() == ["('x', 1)"]


def test_operators_chain_through_tables() -> None:
    class Sum(NamedTuple):
        n: int = 0

    first = Operator(automaton, window=10)
    second = Operator(
        Automaton(
            start="s", final={"t"}, register=Sum(), event=R, arcs=[Arc("s", "t", lambda e, r: e.far, lambda e, r: Sum(e.first))]
        )
    )
    out = second.push_many(first.push_many(pa.table({name: column[:2] + column[3:] for name, column in columns.items()})))
    assert rows(out) == [(5, 3, 11, 1)]


def test_consolidate_merges_by_key_payload_and_lifetime() -> None:
    a, b = insert(E("x", 1), 1, 9), insert(E("x", 1), 1, 8)
    assert consolidate([a, b, Punctuation(1), a, a._replace(diff=-1, key=1), b._replace(diff=-1)]) == [
        a._replace(diff=2),
        a._replace(diff=-1, key=1),
    ]
