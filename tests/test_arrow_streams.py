"""Whatever speaks Arrow comes in as a table: polars, DuckDB, streams of record batches; and what comes out of which kind."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from afa import AfaError, Arc, Automaton, ChangeError, Keyed, Operator, Punctuation
from punctuation import BoundedDisorder
from punctuation.door import is_table, table_of
from speculation import Cleanse, Consolidate

pl = pytest.importorskip("polars")


class Tick(NamedTuple):
    word: str
    price: float
    size: int | None


class Sum(NamedTuple):
    word: str = ""
    size: int | None = None


AUTOMATON = Automaton(
    start="0",
    final={"2"},
    event=Tick,
    register=Sum(),
    arcs=[Arc("0", "1", "e.price < 2", "(e.word, e.size)"), Arc("1", "2", "e.price >= 2", "(r.word, r.size)")],
)
LOOSE = Automaton(
    start="0", final={"1"}, event=NamedTuple("Any3", [("size", Any)]), arcs=[Arc("0", "1", lambda e, r: e.size is not None)]
)
N = 60
COLUMNS: dict[str, Any] = {
    "word": [f"w{i % 3}" for i in range(N)],
    "price": [float(i % 4) for i in range(N)],
    "size": [None if i % 5 == 0 else i for i in range(N)],
    "le": [i * 7 % 50 for i in range(N)],
    "sym": ["a" if i % 2 else "b" for i in range(N)],
}
SCHEMA = pa.schema({"word": pa.string(), "price": pa.float64(), "size": pa.int64(), "le": pa.int64(), "sym": pa.string()})
TABLE = pa.table(COLUMNS, SCHEMA)


class Foreign:
    """A library of which nothing is known but that it speaks Arrow."""

    def __init__(self, of: Any) -> None:
        self._of = of

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._of.__arrow_c_stream__(requested_schema)


def of_duckdb(table: pa.Table) -> Any:
    duckdb = pytest.importorskip("duckdb")  # here: what keeps a module makes it tell of leaks at the end
    return duckdb.connect().from_arrow(table)


WAYS = {
    "polars": pl.from_arrow,
    "categories": lambda table: pl.from_arrow(table).with_columns(pl.col("word", "sym").cast(pl.Categorical)),
    "duckdb": of_duckdb,
    "reader": lambda table: table.to_reader(7),
    "batch": lambda table: table.combine_chunks().to_batches()[0],
    "foreign": Foreign,
}


def plain(found: Any) -> list[dict[str, Any]]:
    """A table as sorted rows."""
    rows = found.to_dicts() if isinstance(found, pl.DataFrame) else found.to_pylist()
    return sorted(rows, key=repr)


@pytest.mark.parametrize("engine", ["auto", "interpreted"])
@pytest.mark.parametrize("way", WAYS)
def test_answers_are_those_of_an_arrow_table(way: str, engine: Any) -> None:
    for make in (
        lambda: Operator(AUTOMATON, window=20, engine=engine),
        lambda: Keyed(AUTOMATON, key="sym", window=20, engine=engine),
        lambda: Cleanse(15).before(Keyed(AUTOMATON, key="sym", window=20, engine=engine)),
        lambda: Consolidate(per="call").after(Operator(AUTOMATON, window=20, engine=engine)),
    ):
        expected, found = make().push_many(TABLE), make().push_many(WAYS[way](TABLE))
        assert type(found) is (pl.DataFrame if way in ("polars", "categories") else pa.Table)
        assert plain(found) == plain(expected)
        assert len(expected) or "Before" in repr(make())
        listed = make().push_many([WAYS[way](TABLE), Punctuation(20)])
        assert [type(part) for part in listed] == [type(found), Punctuation]
        assert plain(listed[0]) == plain(make().push_many([TABLE, Punctuation(20)])[0])


def test_polars_comes_back_as_polars_with_its_punctuation() -> None:
    mixed = pl.DataFrame(
        {"word": ["a", "b", ""], "price": [1.0, 3.0, 0.0], "size": [1, 2, None], "le": [1, 2, 9], "kind": [0, 0, 2]}
    )
    found = Operator(AUTOMATON, window=20).push_many(mixed)
    assert found.to_dicts() == [
        {"word": "a", "size": 1, "le": 2, "re": 21, "diff": 1, "kind": 0},
        {"word": "", "size": None, "le": 9, "re": 9, "diff": 0, "kind": 2},
    ]
    assert found.schema["size"] == pl.Int64


@pytest.mark.parametrize("way", ["polars", "duckdb", "reader", "foreign"])
def test_sources_take_them(way: str) -> None:
    op, expected = Operator(AUTOMATON, window=20), Operator(AUTOMATON, window=20)
    found = op.push_many(BoundedDisorder(50).push_many(WAYS[way](TABLE)))
    wanted = expected.push_many(BoundedDisorder(50).push_many(TABLE))
    assert plain(found[0]) == plain(wanted[0])
    assert found[1:] == wanted[1:]


def test_columns_of_a_library_in_a_dict() -> None:
    frame = pl.from_arrow(TABLE)
    found = Operator(AUTOMATON, window=20).push_many({name: frame[name] for name in frame.columns})
    expected = Operator(AUTOMATON, window=20).push_many({name: np.array(COLUMNS[name]) for name in COLUMNS})
    assert {name: column.tolist() for name, column in found.items()} == {name: column.tolist() for name, column in expected.items()}


def test_consolidate_gives_back_what_came() -> None:
    changes = pl.DataFrame({"x": ["a", "b", "a"], "le": [1, 2, 1], "re": [5, 5, 5], "diff": [1, 1, -1]})
    left = Consolidate(per="call").push_many(changes)
    assert isinstance(left, pl.DataFrame)
    assert left.to_dicts() == [{"x": "b", "le": 2, "re": 5, "diff": 1}]
    assert Consolidate(per="call").push_many(of_duckdb(changes.to_arrow())).to_pylist() == left.to_dicts()


def test_what_is_no_stream_of_record_batches_is_refused() -> None:
    op = Operator(AUTOMATON, window=20)
    with pytest.raises(AfaError, match=r"expected record batches from the Arrow stream of a <class '.*Series'> but got: "):
        op.push_many(pl.Series([1, 2]))
    with pytest.raises(AfaError, match=r"expected record batches from the Arrow stream of a .* but got: .*no_such"):
        op.push_many([duckdb_that_fails()])
    with pytest.raises(ChangeError, match=r"expected an Arrow table, a pandas frame, a dict of columns or a list but got"):
        op.push_many(TABLE["le"])
    with pytest.raises(ChangeError, match=r"expected a column 'size' but got the columns word, price, le, sym"):
        op.push_many(pl.from_arrow(TABLE).drop("size"))
    assert op.statistics.changes == 0


def duckdb_that_fails() -> Any:
    return Foreign(Raising())


class Raising:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise ValueError("no_such table")


def test_a_table_is_told_without_being_read() -> None:
    reader = TABLE.to_reader()
    assert is_table(reader)
    assert not is_table([TABLE])
    assert not is_table(TABLE["le"])
    opened = table_of(reader)
    assert opened is not None
    assert opened.given == TABLE
    assert table_of(opened) is opened


def test_an_enum_of_polars_is_ordered_and_taken() -> None:
    frame = pl.DataFrame(COLUMNS).with_columns(pl.col("word").cast(pl.Enum(["w0", "w1", "w2"])))
    plain, coded = (Operator(AUTOMATON, window=5).push_many(table) for table in (pl.DataFrame(COLUMNS), frame))
    assert coded.rows() == plain.rows()


def test_masked_values_are_missing_and_iterators_are_read_once(engine: Any) -> None:
    size = np.ma.masked_array(np.arange(N), mask=np.arange(N) % 5 == 0)
    odd = {**COLUMNS, "size": size, "price": iter(COLUMNS["price"])}
    even = {**COLUMNS, "size": [None if i % 5 == 0 else i for i in range(N)]}
    found, wanted = (Operator(AUTOMATON, window=5, engine=engine).push_many(table) for table in (odd, even))
    assert {name: list(column) for name, column in found.items()} == {name: list(column) for name, column in wanted.items()}


FOREIGN = [
    pl.Series([1] * N).cast(kind)
    for kind in (getattr(pl, "Int128", pl.Object), getattr(pl, "UInt128", pl.Object), pl.Object)
    if kind is not pl.Object
] + [pl.Series([object()] * N, dtype=pl.Object)]
OPERATORS: dict[str, Any] = {
    "typed": lambda: Operator(AUTOMATON, window=20),
    "any": lambda: Operator(LOOSE, window=20),
    "keyed by sym": lambda: Keyed(AUTOMATON, key="sym", window=20),
    "keyed": lambda: Keyed(AUTOMATON, key=lambda event: event.word, window=20),
    "cleanse before, sym": lambda: Cleanse(15).before(Keyed(AUTOMATON, key="sym", window=20)),
    "cleanse after": lambda: Cleanse(15).after(Operator(AUTOMATON, window=20)),
    "consolidate after": lambda: Consolidate(per="call").after(Operator(AUTOMATON, window=20)),
}


@pytest.mark.parametrize("way", OPERATORS)
@pytest.mark.parametrize("column", FOREIGN, ids=lambda column: str(column.dtype))
@pytest.mark.parametrize("name", ["size", "le", "sym"])
def test_a_column_that_arrow_cannot_hold_is_refused_on_every_way_in(column: Any, name: str, way: str) -> None:
    frame = pl.DataFrame(COLUMNS).with_columns(column.alias(name))
    refused = rf"expected a column that Arrow holds but got column '{name}' of {column.dtype}; cast it, to Int64 or String for"
    for batch in (frame, [frame, Punctuation(5)], {name: frame[name] for name in frame.columns}):
        op = OPERATORS[way]()
        if name == "sym" and "sym" not in way:  # nobody asks for it
            op.push_many(batch)
            continue
        before = op.statistics
        with pytest.raises(AfaError, match=refused):
            op.push_many(batch)
        assert op.statistics == before
        op._check()


@pytest.mark.parametrize("column", FOREIGN, ids=lambda column: str(column.dtype))
def test_a_source_refuses_such_times(column: Any) -> None:
    frame = pl.DataFrame(COLUMNS).with_columns(column.alias("le"))
    for batch in (frame, [frame], {name: frame[name] for name in frame.columns}):
        with pytest.raises(AfaError, match=rf"column 'le' of {column.dtype}; cast it"):
            BoundedDisorder(3).push_many(batch)
    with pytest.raises(AfaError, match=r"^expected "):  # a stream has no column's name for what Arrow can't read
        Operator(AUTOMATON, window=20).push_many(Foreign(frame))


@pytest.mark.parametrize("text", ["Object", "Int128"])
def test_a_text_that_is_called_like_such_a_type_is_none(text: str) -> None:
    columns = {**COLUMNS, "word": [text] * N}
    wanted = Operator(AUTOMATON, window=20).push_many(columns)
    enum = pl.Series([text] * N, dtype=pl.Enum([text, "b"]))
    for batch in (pl.DataFrame(columns).with_columns(enum.alias("word")), {**columns, "word": enum}):
        assert len(Operator(AUTOMATON, window=20).push_many(batch)["le"]) == len(wanted["le"])
    held = pl.DataFrame({**columns, "word": [{text: 1}] * N})
    with pytest.raises(AfaError, match="expected word: str but got word="):
        Operator(AUTOMATON, window=20).push_many(held)


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="this polars has no integers of 128 bits")
def test_a_list_of_such_a_type_is_refused() -> None:
    lists = pl.Series("word", [[1]] * N, dtype=pl.List(pl.Int128))
    for batch in (pl.DataFrame(COLUMNS).with_columns(lists), {**COLUMNS, "word": lists}):
        with pytest.raises(AfaError, match=r"column 'word' of List\(Int128\); cast it"):
            Operator(AUTOMATON, window=20).push_many(batch)


def test_a_column_of_no_library_is_refused() -> None:
    with pytest.raises(AfaError, match=r"expected a column that Arrow holds but got column 'size' of a .*Foreign'>: no_such"):
        Operator(AUTOMATON, window=20).push_many({**COLUMNS, "size": duckdb_that_fails()})


@pytest.mark.parametrize("name", ["size", "count", "le"])
def test_floats_are_no_ints_on_any_way_in(name: str, engine: Any) -> None:
    """Only numpy has no ints with missing values: there a pandas frame makes floats of them, which are ints again here."""

    class Item(NamedTuple):
        count: int
        size: int | None

    op = Operator(Automaton(start="0", final={"1"}, event=Item, arcs=[Arc("0", "1", "count > 0")]), window=5, engine=engine)
    columns = {"count": pa.array([1, 2]), "size": pa.array([1, 2]), "le": pa.array([1, 2])}
    floats = {**columns, name: pa.array([1.0, 2.0])}
    frames = [pd.DataFrame({key: pd.array(column, pd.ArrowDtype(column.type)) for key, column in floats.items()})]
    frames += [
        pd.DataFrame({key: pd.array(column.to_pylist(), "Float64" if key == name else "Int64") for key, column in floats.items()})
    ]
    for batch in (pa.table(floats), floats, pl.from_arrow(pa.table(floats)), *frames):
        with pytest.raises(ChangeError, match=r"expected (size: int|count: int|int ticks in column 'le'|le)"):
            op.push_many(batch)
    missing = pd.DataFrame({"count": [1, 2], "size": [1, None], "le": [1, 2]})
    assert missing["size"].dtype == float
    assert len(op.push_many(missing)) == 2
