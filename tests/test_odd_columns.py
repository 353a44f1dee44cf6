"""Tables with columns of every odd type, length and value: taken, or refused in words and without a trace."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from afa import AfaError, Arc, Automaton, ChangeError, Int64Error, Keyed, Operator, Punctuation
from punctuation import BoundedDisorder
from speculation import Cleanse, Consolidate, Ordered
from tests.automata import Number
from tests.lanes import sample
from tests.strategies import Seeded

LARGE = 2**62


class E(NamedTuple):
    sort: int
    share: float
    name: str
    note: str | None = None
    n: int | None = None
    far: bool | None = None


class A(NamedTuple):
    sort: Any
    name: Any


class R(NamedTuple):
    name: str = ""
    note: str | None = None


class S(NamedTuple):
    name: Any = None


typed = Automaton(start="a", final={"b"}, event=E, register=R(), arcs=[Arc("a", "b", "sort == 1", "R(name, note)")])
untyped = Automaton(start="a", final={"b"}, event=A, register=S(), arcs=[Arc("a", "b", lambda e, r: True, lambda e, r: S(e.name))])


def instants(kind: Any, value: int) -> Callable[[int], Any]:
    """A column of instants that may be beyond what Python holds."""
    width = np.int32 if kind.bit_width == 32 else np.int64
    return lambda n: pa.Array.from_buffers(kind, n, [None, pa.py_buffer(np.full(n, value, width))])


def arrow(kind: Any, value: Any) -> Callable[[int], Any]:
    return lambda n: pa.array([value] * n, kind)


COLUMNS: list[Callable[[int], Any]] = [
    lambda n: [1] * n,
    lambda n: list(range(n)),
    lambda n: np.ones(n, np.int32),
    lambda n: np.full(n, 2**63, np.uint64),
    lambda n: np.full(n, np.nan),
    lambda n: np.array([None] * n, object),
    lambda n: np.array([pd.NA] * n, object),
    lambda n: np.array([b"x"] * n),
    lambda n: np.array(["x"] * n),
    lambda n: np.ones((n, 2)),
    lambda n: np.ones(n, bool),
    lambda n: np.array(["2020"] * n, "M8[s]"),
    lambda n: np.array(["NaT"] * n, "M8[ns]"),
    lambda n: np.array(["2020-01-01"] * n, "M8[ns]"),
    lambda n: np.array(["2020-01-01"] * n, "M8[ps]"),
    lambda n: np.array([1] * n, "m8[ns]"),
    lambda n: np.array([1] * n, "m8[s]"),
    lambda n: np.ones(n, complex),
    lambda n: np.ones(n, np.float16),
    lambda n: [1] * (n - 1),
    lambda n: [1] * (n + 1),
    lambda n: "abc",
    lambda n: 5,
    lambda n: None,
    lambda n: (i for i in range(n)),
    lambda n: [[1]] * n,
    lambda n: [pd.NA] * n,
    lambda n: [1.5] * n,
    lambda n: ["\ud800"] * n,
    lambda n: [None] * n,
    lambda n: [2**70] * n,
    lambda n: [float("nan")] * n,
    lambda n: [np.int64(3)] * n,
    lambda n: [True] * n,
    lambda n: [object()] * n,
    lambda n: [np.array([1, 2])] * n,
    lambda n: [datetime.datetime(2020, 1, 1)] * n,
    lambda n: pd.Series([pd.NA] * n, dtype="Int64"),
    lambda n: pd.Series(["x"] * n, dtype="string"),
    lambda n: pd.Series(["x"] * n, dtype="category"),
    lambda n: pd.Series([pd.NaT] * n),
    lambda n: pd.Series([1] * n, index=[5] * n),
    lambda n: pd.Series(["x"] * n, dtype="string[pyarrow]"),
    lambda n: pd.Series([1] * n, dtype="int64[pyarrow]"),
    lambda n: pd.Series([None] * n, dtype="timestamp[ns][pyarrow]"),
    lambda n: pd.Series(pd.date_range("2020", periods=n, tz="UTC")),
    lambda n: pd.array([1] * n),
    lambda n: pa.array(["x"] * n).dictionary_encode(),
    lambda n: pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array(["x"], pa.string_view())),
    lambda n: pa.RunEndEncodedArray.from_arrays([n], ["x"]) if n else [],
    *(arrow(kind, "x") for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *(arrow(kind, b"x") for kind in (pa.binary(), pa.binary_view())),
    *(arrow(kind, None) for kind in (pa.string(), pa.int64(), pa.decimal128(20, 2), pa.null(), pa.month_day_nano_interval())),
    *(arrow(kind, 1) for kind in (pa.int8(), pa.uint8(), pa.date32(), pa.duration("ns"))),
    *(arrow(pa.uint64(), value) for value in (1, 2**63)),
    arrow(pa.int64(), LARGE),
    arrow(pa.bool_(), True),
    arrow(pa.float32(), 1.0),
    arrow(pa.list_(pa.int64()), [1]),
    arrow(pa.list_view(pa.int64()), [1]),
    arrow(pa.struct([("a", pa.int64())]), {"a": 1}),
    *(instants(pa.time64(unit), value) for unit in ("us", "ns") for value in (-5, LARGE)),
    *(instants(pa.timestamp(unit), value) for unit in ("s", "ms", "us", "ns") for value in (-LARGE, LARGE)),
    *(instants(pa.timestamp("us", zone), LARGE) for zone in ("UTC", "Europe/Berlin")),
    instants(pa.time32("s"), 100_000),
    instants(pa.duration("s"), LARGE),
    instants(pa.date32(), 2**30),
    instants(pa.date64(), 86_400_000 * 2**33),
]


def operator_of(choose: Seeded, engine: str) -> Any:
    """An operator of any kind, with or without a stage."""
    engine, automaton = (engine, typed) if choose.chance(70) else ("interpreted", untyped)
    key: Any = choose.one([None, None, "name", "who", ["who", "name"], ["who", "sort"]])
    if automaton is typed and choose.chance(15):
        return Ordered(automaton, number="sort", key=key, window=10, engine=engine)
    options: dict[str, Any] = {"window": 10, "engine": engine}
    op: Any = Operator(automaton, **options) if key is None else Keyed(automaton, key=key, **options)
    around = choose.one([None, None, None, Cleanse(0), Cleanse(), "after", "consolidated"])
    if around == "after":
        return Cleanse(0).after(op)
    if around == "consolidated":
        return Consolidate(per="call").after(op)
    return op if around is None else around.before(op)


def columns_of(choose: Seeded, automaton: Any) -> tuple[dict[str, Any], list[str]]:
    """A good table of which one or two columns are odd, and how they came about."""
    n = choose.one([0, 1, 3, 3])
    batch: dict[str, Any] = {"sort": [1] * n, "name": ["x"] * n, "le": list(range(n)), "who": ["k"] * n}
    if automaton.event is E:
        batch |= {"share": [0.5] * n, "note": ["y"] * n, "n": [1] * n, "far": [True] * n}
    if choose.chance(50):
        batch |= {"kind": [0] * n, "arc": [0] * n}
    names = choose.one([["re"], ["diff"], ["kind"], ["le"], [*batch], [*batch], [*batch]])
    what = []
    for _ in range(choose.one([1, 1, 2])):
        name, number = choose.one(names), choose.number(0, len(COLUMNS) - 1)
        batch[name] = COLUMNS[number](n)
        what.append(f"{name}: {number}")
    return batch, what


SHAPES: list[Callable[[dict[str, Any]], Any]] = [
    dict,
    dict,
    pa.table,
    pa.table,
    lambda batch: pa.table(batch).to_batches()[0],
    pd.DataFrame,
    lambda batch: {name: np.array(column) for name, column in batch.items()},
]


def attempt(seed: str, engine: str) -> str:
    """Push one odd table; whether it was taken."""
    choose = Seeded(seed)
    op = operator_of(choose, engine)
    batch, what = columns_of(choose, op.automaton)
    shape = choose.number(0, len(SHAPES) - 1)
    try:
        made = SHAPES[shape](batch)
    except Exception:
        return "no table"
    before = op.statistics
    try:
        op.push_many([made, Punctuation(1)] if choose.chance(30) else made, arcs=list(op.automaton.arcs))
    except (ChangeError, Int64Error):
        assert op.statistics == before, f"{seed}, {what}: a trace"
        return "refused"
    except Exception as error:
        raise AssertionError(f"{seed}, {what}, shape {shape}, {op}: {type(error).__name__}: {error}") from error
    op._check()
    return "taken"


@sample(500, 50_000)
def test_odd_columns(engine: str, numbers: range) -> None:
    ends = [attempt(f"odd/{number}", engine) for number in numbers]
    assert min(ends.count(end) for end in ("taken", "refused")) > 0.12 * len(numbers)


@pytest.mark.parametrize("seed", range(400))
def test_sources_and_stages_that_take_tables(seed: int) -> None:
    choose = Seeded(f"sources/{seed}")
    batch, what = columns_of(choose, typed)
    batch.setdefault("diff", [1] * 3)
    try:
        made = choose.one(SHAPES)(batch)
    except Exception:
        return
    for stage in (BoundedDisorder(3, kinds=choose.one([True, False, None])), Consolidate(per="call")):
        try:
            stage.push_many(made)
        except AfaError:
            continue
        except Exception as error:
            raise AssertionError(f"{stage}, {what}: {type(error).__name__}: {error}") from error


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"re": [9], "kind": [0, 2], "le": [1, 2]}, r"columns of one length but got 1 in 're', 2 in 'le'"),
        ({"kind": [0, 0, 2], "le": [1, 2]}, r"columns of one length but got 3 in 'kind', 2 in 'le'"),
        (
            {"kind": [0, pd.NA], "le": [1, 2]},
            r"kind 0 \(event\), 1 \(arc\) or 2 \(punctuation\) but got kind=<NA> in row 1",
        ),
        ({"kind": [0, True], "le": [1, 2]}, r"kind 0 \(event\), .* but got kind=True in row 1"),
        ({"kind": [0, "1"], "le": [1, 2]}, r"kind 0 \(event\), .* but got kind='1' in row 1"),
        ({"kind": [2, 0], "le": [1, 2.5]}, r"expected int ticks in column 'le' but got 2.5 in row 1"),
    ],
)
def test_what_is_wrong_beside_kinds_is_said(engine: str, batch: dict[str, Any], message: str) -> None:
    whole = {"sort": [1, 1], "share": [0.5] * 2, "name": ["x"] * 2, "note": ["x"] * 2, "n": [1] * 2, "far": [True] * 2, **batch}
    with pytest.raises(ChangeError, match=message):
        Operator(typed, window=9, engine=engine).push_many(whole)


@pytest.mark.parametrize("name", ["le", "sort", "n", "who"])
@pytest.mark.parametrize("make", [instants(pa.time64("us"), LARGE), instants(pa.timestamp("us"), LARGE)])
def test_instants_beyond_python_are_refused(engine: str, name: str, make: Any) -> None:
    batch = {"sort": [1], "share": [0.5], "name": ["x"], "note": ["x"], "n": [1], "far": [True], "le": [1], "who": ["k"]}
    with pytest.raises(ChangeError, match=rf"expected values that Python holds in column '{name}' of (time64|timestamp)\[us\] but"):
        Keyed(typed, key="who", window=9, engine=engine).push_many(pa.table({**batch, name: make(1)}))


numbered = Automaton(start="a", final={"b"}, event=Number, arcs=[Arc("a", "b", "n == 1")])


@pytest.mark.parametrize("unit", ["M8[ns]", "M8[us]", "M8[D]", "M8[ps]", "m8[ns]", "m8[s]"])
def test_instants_are_no_ints_on_any_way_in(engine: str, unit: str) -> None:
    column = np.array([0, 1], unit)
    with pytest.raises(ChangeError, match="expected n: int but got n="):
        Operator(numbered, window=9, engine=engine).push_many({"n": column, "le": [1, 2]})
    columns = [column] if "ps" in unit else [column, pa.array(column)]
    found = [keys_of(engine, "at", {"at": each}) for each in columns]
    assert found[1:] == found[:-1]
    assert not any(isinstance(key, int) for key in found[0])


@pytest.mark.parametrize("column", [pd.Series([1, None], dtype="Int64"), pd.Series(["x", None], dtype="string")])
def test_what_pandas_lacks_is_none_in_a_key_of_several(engine: str, column: Any) -> None:
    wanted = {(column[0], 1), (None, 1)}
    for table in ({"at": column}, pd.DataFrame({"at": column}), {"at": [column[0], None]}):
        assert keys_of(engine, ("at", "n"), table) == wanted


def keys_of(engine: str, key: Any, table: Any) -> set[Any]:
    """The keys that two rows with this column leave."""
    keyed = Keyed(numbered, key=key, window=9, engine=engine)
    rest = {"n": [1, 1], "le": [1, 2]}
    keyed.push_many({**table, **rest} if isinstance(table, dict) else table.assign(**rest))
    return set(keyed.keys)


def test_views_of_strings_beside_kinds(engine: str) -> None:
    batch = {"sort": [1, 0], "share": [0.5] * 2, "note": ["x"] * 2, "n": [1] * 2, "far": [True] * 2, "le": [1, 2], "kind": [0, 2]}
    out = Operator(typed, window=9, engine=engine).push_many(pa.table({**batch, "name": pa.array(["x", ""], pa.string_view())}))
    assert out.to_pylist()[0] == {"name": "x", "note": "x", "le": 1, "re": 10, "diff": 1, "kind": 0}
