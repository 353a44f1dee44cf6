"""Inline views and CTEs in front of MATCH_RECOGNIZE: the query gives what it gives over the view's rows, made by hand."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import pytest

import afa
from afa import AfaError, Change, Punctuation, QueryError, SnapshotError
from tests.keyed_rows import stream


class Tick(NamedTuple):
    k: str
    x: int
    z: int | None
    at: afa.Instant | None = None


class Seen(NamedTuple):
    k: str
    w: int | None
    at: afa.Instant | None = None


MATCH = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES a.w AS low, LAST(b.w) AS top, SUM(w + 1) AS s, COUNT(w) AS n
    {rows} AFTER MATCH SKIP TO NEXT ROW PATTERN (a b+) WITHIN 9 DEFINE b AS w > PREV(w))"""
VIEWS = {
    "SELECT * FROM (SELECT k, at, x * 2 AS w FROM t WHERE z > 1) {}": lambda r: r.z is not None and r.z > 1 and r.x * 2,
    "WITH v AS (SELECT * FROM t WHERE z IS NULL OR x > 2), u AS (SELECT at, k, x - 1 AS w FROM v) SELECT * FROM u {}": (
        lambda r: (r.z is None or r.x > 2) and r.x - 1
    ),
    "SELECT * FROM (SELECT *, x + z AS w FROM (SELECT k, at, x, z FROM t AS s WHERE s.x <> 4) WHERE x + z < 9) {}": (
        lambda r: r.x != 4 and r.z is not None and r.x + r.z < 9 and r.x + r.z
    ),
    "SELECT * FROM (SELECT k, at, CASE WHEN x > 5 THEN z ELSE x END AS w FROM t) AS m {}": lambda r: r.z if r.x > 5 else r.x,
    "SELECT low, top, s, n FROM (SELECT low, top, s, n FROM (SELECT k, at, z AS w FROM t) {}) AS q": lambda r: r.z,
    "SELECT * FROM (SELECT k, z + 1, at FROM t) AS v(k, w, at) {}": lambda r: None if r.z is None else r.z + 1,
    "WITH v(at, k, w) AS (SELECT at, k, x FROM t) SELECT * FROM v AS m {}": lambda r: r.x,
    "WITH v(at, x, z) AS (SELECT at, k, z FROM t) SELECT * FROM v AS m(at, k, w) {}": lambda r: r.z,
}
"""Statements, and w of a row; False: the row is none of the view."""


def made(random: Random) -> Callable[[str], Tick]:
    return lambda k: Tick(k, random.randrange(9), random.choice((None, 0, 1, 2, 3)))


def by_hand(item: Any, value: Any) -> Any:
    """A change of the view's row; None: there is none."""
    if not isinstance(item, Change):
        return item
    w = value(item.payload)
    return None if w is False else item._replace(payload=Seen(item.payload.k, w))


@pytest.mark.parametrize("rows", ["", "ALL ROWS PER MATCH"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_what_its_rows_are(view: str, rows: str, engine: Any) -> None:
    query = afa.sql(view.format(MATCH.format(rows=rows)), event=Tick)
    plain = afa.sql(f"SELECT low, top, s, n FROM t {MATCH.format(rows=rows)}", event=Seen)
    for seed in range(4):
        random = Random(seed)
        op, wanted = query.operator(engine=engine), plain.operator(engine=engine)
        for item in stream(random, made(random), 50):
            row = by_hand(item, VIEWS[view])
            out = [] if row is None else wanted.push(row)
            assert [shown(change) for change in op.push(item)] == [shown(change) for change in out]
            if random.random() < 0.1:
                op = query.restore(op.snapshot(), engine=engine)


def shown(change: Any) -> Any:
    if isinstance(change, Punctuation):
        return change
    return tuple(getattr(change.payload, name) for name in ("low", "top", "s", "n")), change[1:]


def test_the_columns_of_a_view_are_those_of_all_rows(engine: Any) -> None:
    text = "SELECT * FROM (SELECT k, at, x * 2 AS w FROM t WHERE z > 1) " + MATCH.format(rows="ALL ROWS PER MATCH")
    found = afa.find(afa.sql(text, event=Tick), {"k": ["a"] * 3, "x": [1, 2, 3], "z": [2, 2, 3], "at": [1, 2, 3]}, engine=engine)
    assert [*found] == ["k", "at", "low", "top", "s", "n", "w", "le", "re"]
    assert found["w"].tolist() == [2, 4, 4, 6, 6] or found["w"].tolist() == [2, 4, 6, 4, 6]


def test_a_running_operator_keeps_its_rows() -> None:
    text = "SELECT * FROM (SELECT k, at, x AS w FROM t WHERE z > {}) " + MATCH.format(rows="")
    one, other = (afa.sql(text.format(n), event=Tick) for n in (1, 2))
    with pytest.raises(AfaError, match="expected a query of the same events"):
        one.changes_to(other)
    with pytest.raises(SnapshotError, match="expected a snapshot of a query with WHERE"):
        other.restore(one.operator().snapshot())


PLAIN = MATCH.format(rows="").replace("w", "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * FROM (SELECT k, x FROM t) {}", "expected a column of the table in ORDER BY but got 'at'"),
        ("SELECT * FROM (SELECT at, x FROM t) {}", "expected a field of Tick but got 'k'; its fields: at, x"),
        ("SELECT * FROM (SELECT k, at, x + 1 FROM t) {}", "expected * or value AS name in an inline view but got 'x + 1'"),
        ("SELECT * FROM (SELECT k, at, x, z AS x FROM t) {}", "expected a name once in SELECT but got 'x' a second time"),
        ("SELECT * FROM (SELECT k, at, LAST(x) AS x FROM t) {}", "but got LAST(x); that takes"),
        ("SELECT * FROM (SELECT k, at, x FROM t WHERE y > 1) {}", "expected a field of Tick but got 'y'; its fields: k, x, z, at"),
        ("SELECT * FROM (SELECT k, at, x FROM t WHERE x) {}", "expected a condition but got"),
        (
            "SELECT * FROM (SELECT k, at, SUM(x) AS x FROM t GROUP BY k, at) {}",
            "GROUP BY; that takes a relational engine: afa.duckdb.sql",
        ),
        ("SELECT * FROM (SELECT DISTINCT k, at, x FROM t) {}", "got DISTINCT; that takes a relational engine"),
        (
            "SELECT * FROM (SELECT * FROM t {}) MATCH_RECOGNIZE (ORDER BY low PATTERN (a))",
            "expected a column of the table in ORDER BY but got 'low'",
        ),
        ("SELECT * FROM (SELECT * FROM t) AS v(k, at, x, z) {}", "but got names of columns, (k, at, x, z), which are not listed"),
        ("SELECT * FROM (SELECT k, at, x FROM t) AS v(k, at) {}", "but got names of columns, (k, at), which are not listed"),
        ("WITH v(k, at) AS (SELECT * FROM t) SELECT * FROM v {}", "but got names of columns, (k, at), which are not listed"),
        ("WITH v AS (SELECT * FROM t) SELECT * FROM v TABLESAMPLE (9) {}", "but got TABLESAMPLE; that takes a relational engine"),
        ("SELECT * FROM (SELECT * FROM t) TABLESAMPLE (9) {}", "but got TABLESAMPLE; that takes a relational engine"),
        ("WITH v AS (SELECT * FROM t) SELECT * FROM v WITH ORDINALITY {}", "but got ORDINALITY; that takes a relational engine"),
        ("SELECT * FROM (SELECT k, at, tt.x FROM t) {}", "expected a column of t but got 'tt.x'"),
        ("SELECT * FROM (SELECT k, at, x FROM t WHERE zz.x > 1) {}", "expected a column of t but got 'zz.x'"),
        ("SELECT * FROM (SELECT tick.x, at, k FROM t AS ticks) {}", "of t or ticks but got 'tick.x'; did you mean 'ticks'?"),
        ("SELECT y.s FROM (SELECT s FROM t {}) q", "expected a column of q but got 'y.s'"),
        ("SELECT y.s FROM (SELECT s FROM t {})", "expected a column without the name of a table but got 'y.s'"),
        ("SELECT y.* FROM (SELECT s FROM t {}) q", "expected a column of q but got 'y.*'"),
        ("SELECT s FROM (SELECT s FROM t {}) q WHERE y.s > 1", "expected a column of q but got 'y.s'"),
        ("SELECT * EXCLUDE (s) FROM (SELECT s, top FROM t {})", "expected * alone but got EXCLUDE beside it"),
        ("SELECT q.* REPLACE (1 AS s) FROM (SELECT s, top FROM t {}) q", "but got REPLACE beside it"),
        ("SELECT * RENAME (s AS x) FROM (SELECT s, top FROM t {})", "expected * alone but got RENAME beside it"),
        ("SELECT s FROM (SELECT s, top AS s FROM t {})", "expected a name once in SELECT but got 's' a second time"),
        ("SELECT low FROM (SELECT s FROM t {}) q", "expected a column of the SELECT in FROM but got 'low'; they are: s"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError) as error:
        afa.sql(text.format(PLAIN), event=Tick)
    assert message in str(error.value)


def test_a_select_over_the_answer_calls_its_columns_as_it_says() -> None:
    text = f"SELECT b, u.s FROM (SELECT s, top FROM t {PLAIN}) AS u(b, s)"
    rows = {"k": ["a"] * 2, "x": [1, 2], "z": [2, 2], "at": [1, 2]}
    found = afa.find(afa.sql(text, event=Tick), rows)
    assert (found["b"].tolist(), found["s"].tolist()) == ([5], [2])
