"""ORDER BY and NULL in PARTITION BY: what they mean in operators and in `find`, against rows sorted by hand; what is refused."""

from __future__ import annotations

from collections import Counter
from functools import cmp_to_key
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pytest

import afa
from afa import AfaError, QueryError, insert, retract
from afa.errors import ChangeError
from tests.strategies import Seeded


class Trade(NamedTuple):
    who: str | None
    price: float | None
    venue: str
    id: int


def sql(order: str, key: str = "who", more: str = "", shown: str = "FIRST(a.id) AS x, LAST(b.id) AS y") -> str:
    by = f"PARTITION BY {key}" if key else ""
    return f"SELECT * FROM t MATCH_RECOGNIZE ({by} {order} MEASURES {shown} {more} PATTERN (a b) DEFINE b AS b.id > 0)"


def read(order: str, ties: str | None = None, **more: Any) -> Any:
    return afa.sql(sql(order, **more), event=Trade, ties=ties)


@pytest.mark.parametrize(
    ("order", "ties", "time", "rank"),
    [
        ("ORDER BY at", None, None, None),
        ("ORDER BY at ASC", None, None, None),
        ("ORDER BY at, id", None, "id", None),
        ("ORDER BY at, id DESC", None, "id desc", None),
        ("ORDER BY at, price NULLS FIRST, venue DESC NULLS LAST, id", None, "price asc nulls first, venue desc, id", None),
        ("ORDER BY at, price", None, "price asc nulls last", None),
        ("ORDER BY at, id, id DESC", None, "id", None),
        ("ORDER BY at", "value", "*", None),
        ("ORDER BY at, t.id", "value", "id, *", None),
        ("ORDER BY id", None, None, None),
        ("ORDER BY id, venue", None, "venue", None),
        ("ORDER BY id DESC", None, None, "id desc"),
        ("ORDER BY venue, id", None, None, "venue, id"),
        ("ORDER BY price, id", None, None, "price asc nulls last, id"),
        ("ORDER BY venue", "value", None, "venue, *"),
        ("", "value", None, "*"),
    ],
)
def test_what_an_order_says(order: str, ties: str | None, time: str | None, rank: str | None) -> None:
    tree = read(order, ties).tree
    assert (tree.order, tree.rank) == (time, rank)


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ("", 'expected ORDER BY, which says which row comes first, but got none: .* or say ties="value"'),
        (
            "ORDER BY at, price DESC",
            "expected NULLS FIRST or NULLS LAST behind price DESC, as price may be NULL and dialects differ",
        ),
        ("ORDER BY at, nobody", "expected a field of Trade but got 'nobody'"),
        ("ORDER BY lower(nobody)", "expected a field of Trade but got 'nobody'"),
        ("ORDER BY at, price + 1 DESC", r"behind price \+ 1 DESC, as order_0 may be NULL"),
        ("ORDER BY u.at", "expected a column of t but got 'u.at'"),
        ("ORDER BY at DESC", "expected a field of Trade but got 'at'"),
        ("ORDER BY venue, at", "expected a field of Trade but got 'at'"),
    ],
)
def test_an_order_that_is_refused(order: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        read(order)


def test_what_else_is_refused() -> None:
    with pytest.raises(QueryError, match="expected no WITHIN where rows are not ordered by a time"):
        afa.sql(sql("ORDER BY venue").replace("PATTERN (a b)", "PATTERN (a b) WITHIN 3"), event=Trade)
    with pytest.raises(AfaError, match=r"expected \"value\" or None but got ties='any'"):
        read("ORDER BY at", "any")
    ranked, frame = read("ORDER BY venue DESC"), {"who": ["x"], "price": [1.0], "venue": ["v"], "id": [1], "le": [1]}
    way = r"expected ORDER BY with the time, .* but got ORDER BY venue desc; afa.find\(query, frame\) takes it, of a whole frame"
    for call in (ranked.operator, lambda: ranked.restore(b""), lambda: afa.backtest({"q": ranked}, frame)):
        with pytest.raises(QueryError, match=way):
            call()
    with pytest.raises(QueryError, match=r"but got no ORDER BY; afa\.find"):
        read("", "value").operator()
    for said in ({"time": "le"}, {"until": "le"}, {"end": "forever"}):
        with pytest.raises(AfaError, match="can't be combined with ORDER BY venue desc because rows have no time there"):
            afa.find(ranked, frame, **said)
    nan = pa.table({**frame, "price": [float("nan")]})
    with pytest.raises(ChangeError, match="expected numbers that have a place in ORDER BY price asc nulls last but got nan"):
        afa.find(read("ORDER BY price"), nan)
    with pytest.raises(ChangeError, match="expected columns that Arrow holds beside ORDER BY venue desc but got text that is none"):
        afa.find(ranked, {**frame, "venue": ["\ud800"]})
    tied = {name: values * 2 for name, values in frame.items()} | {"id": [1, 2]}
    with pytest.raises(ChangeError, match=r'expected rows of one key that ORDER BY tells apart .* or say ties="value"'):
        afa.find(ranked, tied)
    with pytest.raises(
        QueryError, match=r"ORDER BY order_0 \(of order_0: e\.venue\.lower\(\)\); afa\.find\(query, frame\) takes it"
    ):
        read("ORDER BY lower(venue)").operator()


@pytest.mark.parametrize("down", [False, True])
def test_where_null_stands_by_dialect(down: bool) -> None:
    """What afa takes where nobody says it is what Trino, DuckDB, Oracle and Snowflake have in common."""

    def first(dialect: str | None) -> bool:
        found = afa.sql(sql(f"ORDER BY at, price{' DESC' * down}"), event=Trade, dialect=dialect).tree.order
        return str(found).endswith("nulls first")

    assert [first(dialect) for dialect in ("trino", "duckdb", "oracle", "snowflake", "risingwave")] == [
        False,
        False,
        down,
        down,
        down,
    ]
    assert {first(dialect) for dialect in ("flink", "bigquery", "databricks", "spark")} == {not down}
    if down:
        with pytest.raises(QueryError, match=r"NULLS FIRST or NULLS LAST .* say it, or dialect="):
            first(None)
    else:
        assert first(None) is False


# -- against rows sorted by hand ---------------------------------------------------------------------------------------------------

ORDERS = {
    "venue DESC, price NULLS FIRST, id": ("-venue", "price^", "id"),
    "price, id DESC": ("price", "-id"),
    "id DESC": ("-id",),
    "price DESC NULLS LAST, venue, id": ("-price", "venue", "id"),
}


def before(one: Trade, other: Trade, said: tuple[str, ...]) -> int:
    """Negative where a row stands before another one: - descends, ^ has NULL first."""
    for part in said:
        x, y = (getattr(row, part.strip("-^")) for row in (one, other))
        if x != y:
            return ((x is None) is part.endswith("^") or -1) * -1 if None in (x, y) else -1 if (x < y) != (part[0] == "-") else 1
    return 0


def by_hand(rows: list[Trade], said: tuple[str, ...]) -> Counter[Any]:
    """The matches of (a b), from the first row of each partition on."""
    found: Counter[Any] = Counter()
    for who in {row.who for row in rows}:
        own = sorted((row for row in rows if row.who == who), key=cmp_to_key(lambda one, other: before(one, other, said)))
        found.update((who, one.id, other.id) for one, other in zip(own[::2], own[1::2]))
    return found


def trades(choose: Any, n: int) -> list[Trade]:
    return [
        Trade(choose.one(("x", "y", None)), choose.one((None, -1.5, 0.0, 2.0)), choose.one(("", "V", "v", "é")), i + 1)
        for i in range(n)
    ]


def frame(rows: list[Trade], kind: str) -> Any:
    columns = {name: [getattr(row, name) for row in rows] for name in Trade._fields}
    return pd.DataFrame(columns) if kind == "pandas" else pa.table(columns)


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
@pytest.mark.parametrize("order", ORDERS)
def test_ranks_in_a_frame(order: str, kind: str) -> None:
    """With NULL as a partition of its own."""
    for world in range(5):
        rows = trades(Seeded(f"ranks/{order}/{world}"), 11)
        found = afa.find(read(f"ORDER BY {order}"), frame(rows, kind))
        assert list(getattr(found, "column_names", found)) == ["who", "x", "y"]
        told = found.to_pylist() if kind == "arrow" else found.to_dict("records")
        assert Counter((row["who"], row["x"], row["y"]) for row in told) == by_hand(rows, ORDERS[order])


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
@pytest.mark.parametrize("order", ORDERS)
def test_ties_in_a_stream(order: str, engine: Any) -> None:
    """All of one instant, one by one in any order, some taken back; saved and restored by the other engine."""
    query = read(f"ORDER BY at, {order}")
    for world in range(4):
        choose = Seeded(f"ties/{order}/{world}")
        rows, op, net = trades(choose, 9), query.operator(engine=engine), Counter[Any]()
        there: list[Trade] = []
        for row in rows:
            changes = [insert(row, 7)]
            there.append(row)
            if choose.chance(30):
                gone = there.pop(choose.number(0, len(there) - 1))
                changes.append(retract(gone, 7))
            for change in op.push_many(changes):
                net[(change.key, *change.payload)] += change.diff
            if choose.chance(30):
                op = query.restore(op.snapshot(), engine=choose.one(("compiled", "interpreted")))
            op._check()
            assert +net == by_hand(there, ORDERS[order])


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
def test_rows_that_tie_by_all_their_values(engine: Any) -> None:
    """Equal rows are copies of one row, which a match takes once."""
    query, rows = read("ORDER BY at", "value"), trades(Seeded("values"), 12)
    wanted = by_hand(rows, ("price", "venue", "id"))
    for turned in (rows, rows[::-1]):
        op, net = query.operator(engine=engine), Counter[Any]()
        for row in (*turned, *turned[:3]):
            for change in op.push(insert(row, 7)):
                net[(change.key, *change.payload)] += change.diff
        assert +net == wanted
    found = afa.find(read("", "value"), frame([*rows, *rows[:3]], "arrow"), engine=engine).to_pylist()
    assert Counter((row["who"], row["x"], row["y"]) for row in found) == wanted


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
def test_rows_that_tie_beside_neighbours(engine: Any) -> None:
    """What a stage in front fills in is no value of a row that comes."""
    text = "MATCH_RECOGNIZE (ORDER BY at MEASURES COUNT(*) AS n PATTERN (A+) WITHIN 9 DEFINE A AS price < NEXT(price))"
    op, rows = afa.sql(f"SELECT * FROM t {text}", event=Trade, ties="value").operator(engine=engine), trades(Seeded("beside"), 6)
    told = [op.push_many([insert(row, le)]) for le, row in enumerate(rows, 1)]
    whole = afa.sql(f"SELECT * FROM t {text}", event=Trade, ties="value").operator(engine=engine)
    net = Counter[Any]()
    for change in (each for out in told for each in out):
        net[change[:3]] += change.diff
    assert +net == Counter(each[:3] for each in whole.push_many([insert(row, le) for le, row in enumerate(rows, 1)]))
    assert +net


def test_distinct_of_a_rank_leaves_each_row_once() -> None:
    """Matches that agree in what they show and in their key, NaN and NULL too: a rank has no lifetimes that tell them apart."""
    prices = [2.0, 1.0, 2.0, 1.0, None, 7.0, float("nan"), 1.0, float("nan"), 1.0]
    rows = [Trade(who, price, "x", 100 * (who is None) - i) for who in ("a", None) for i, price in enumerate(prices)]
    text = sql("ORDER BY id DESC", shown="FIRST(price) AS p, COUNT(*) AS n").replace("id > 0", "id < 200")
    shown = {"SELECT *": ["2.0", "2.0", "None", "nan", "nan"], "SELECT DISTINCT p, n": ["2.0", "None", "nan"]}
    for select, once in shown.items():
        found = afa.find(text.replace("SELECT *", select), frame(rows, "arrow")).to_pylist()
        assert Counter((row["who"], str(row["p"]), row["n"]) for row in found) == Counter(
            (w, p, 2) for w in ("a", None) for p in once
        )
    nothing = text.replace("SELECT *", "SELECT DISTINCT p").replace("id < 200", "id < -200")
    assert len(afa.find(nothing, frame(rows, "arrow"))) == 0


def test_the_time_is_a_value_where_rows_are_ranked() -> None:
    table = pa.table({"at": pa.array([3, 1, 2], pa.timestamp("s")), "n": [1, 2, 3]})
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY {} MEASURES FIRST(a.at) AS begun ALL ROWS PER MATCH PATTERN (a b))"
    for order, wanted in (("at DESC", [3, 2]), ("n DESC, at", [2, 1]), ("at", [1, 2])):
        found = afa.find(afa.sql(text.format(order), event=table), table)
        assert found["at"].type == found["begun"].type == pa.timestamp("s")
        assert [each.timestamp() for each in found["at"].to_pylist()] == wanted
        assert found.column_names[:1] == [order.split()[0]]
        assert ("le" in found.column_names) is (order == "at")


# -- NULL keys ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
def test_null_is_a_partition_of_its_own(engine: Any) -> None:
    """Of one column and of several; pushed, in tables, in frames; saved, taken back, with its lineage and reasons."""
    rows = [Trade("x", None, "v", 1), Trade(None, None, "v", 2), Trade("x", None, "v", 3), Trade(None, None, "v", 4)]
    for key in ("who", "who, venue"):
        query = read("ORDER BY at", key=key)
        keys = ["x", None] if key == "who" else [("x", "v"), (None, "v")]
        op = query.operator(engine=engine)
        out = [change for le, row in enumerate(rows[:3], 1) for change in op.push(insert(row, le))]
        for other in ("compiled", "interpreted", engine):
            op = query.restore(op.snapshot(), engine=other)
        out += op.push(insert(rows[3], 4))
        assert [(change.key, *change.payload) for change in out] == [(keys[0], 1, 3), (keys[1], 2, 4)]
        assert [op.lineage(change).count() for change in out] == [1, 1]
        assert set(op.keys) == set(keys)
        assert [(change.key, change.diff) for change in op.push(retract(rows[1], 2))] == [(keys[1], -1)]
        for kind in ("arrow", "pandas"):
            table = frame(rows, kind)
            table = table.append_column("le", pa.array([1, 2, 3, 4])) if kind == "arrow" else table.assign(le=[1, 2, 3, 4])
            for found in (query.operator(engine=engine).push_many(table), afa.find(query, table, engine=engine)):
                told = found.to_pylist() if kind == "arrow" else found.to_dict("records")
                assert [(row["who"], row["x"], row["y"]) for row in told] == [("x", 1, 3), (None, 2, 4)]
        reasons = afa.Reasons(query.operator(engine=engine))
        told = reasons.push_many([insert(row, le) for le, row in enumerate(rows, 1)])
        assert [(each.change.key if hasattr(each, "change") else each.key) for each in told] == keys
