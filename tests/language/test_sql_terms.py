"""What MEASURES and DEFINE of SQL read of the rows of a match; matches that are empty. Answers by hand, in any order of arrival."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import pytest

import afa
from afa import FOREVER, QueryError, insert, retract


class Tick(NamedTuple):
    k: str
    x: int
    y: float
    z: int | None
    at: afa.Instant | None = None


ROWS = list(zip((3, 1, 4, 5, 2, 6, 7), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0), (None, 3, None, 4, 2, 1, None)))
"""x, y, z of the rows at 0, 1, .. 6."""
RISE = "PATTERN (a b+) DEFINE b AS x > PREV(x)"  # 1 4 5 and 2 6 7


def sql(measures: str, pattern: str = RISE, rows: str = "") -> afa.Query:
    return afa.sql(f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES {measures} {rows} {pattern})", event=Tick)


def told(query: afa.Query, engine: str) -> list[tuple[Any, ...]]:
    """The values of matches by LE; rows come in several orders, some of them for a while only."""
    answers = []
    for seed in range(6):
        random, op, held = Random(seed), query.operator(engine=engine), dict[Any, int]()
        changes = [insert(Tick("k", *row), at) for at, row in enumerate(ROWS)]
        random.shuffle(changes)
        noise = [insert(Tick("k", 5, 0.5, 9), random.choice((0.5, 2, 7)) * 10 + 3) for _ in range(2)]
        noise = [change._replace(le=int(change.le or 0)) for change in noise][: 1 + seed % 2]
        changes += [*noise, *(retract(change.payload, change.le) for change in noise)] if seed else []
        for change in changes:
            for each in op.push(change):
                key = each.le, tuple(each.payload)  # type: ignore[union-attr]
                held[key] = held.get(key, 0) + each.diff  # type: ignore[union-attr]
        answers.append([values for (_, values), n in sorted(held.items(), key=lambda item: item[0][0]) if n])
    assert all(answer == answers[0] for answer in answers), answers
    return answers[0]


TERMS = {
    "FIRST(b.x, 1)": (5, 7),
    "FIRST(x, 1)": (4, 6),
    "FIRST(b.x, 2)": (None, None),
    "FIRST(a.x, 1)": (None, None),
    "LAST(b.x + 1)": (6, 8),
    "LAST(b.x + 1, 1)": (5, 7),
    "SUM(b.x * b.y)": (32.0, 85.0),
    "SUM(CASE WHEN b.x > 4 THEN 1 ELSE 0 END)": (1, 2),
    "MAX(b.x - b.y)": (1.0, 0.0),
    "AVG(x * 2)": (20 / 3, 10.0),
    "COUNT(1)": (3, 3),
    "COUNT()": (3, 3),
    "COUNT(z + 1)": (2, 2),
    "SUM(b.x) FILTER (WHERE b.y > 3)": (5, 13),
    "SUM(b.x) FILTER (WHERE b.z IS NULL)": (4, 7),
    "SUM(b.x) FILTER (WHERE b.z > 99)": (None, None),
    "SUM(b.x) FILTER (WHERE b.z = 4)": (5, None),
    "COUNT(b.x) FILTER (WHERE b.z = 1)": (0, 1),
    "COUNT(b.x) FILTER (WHERE NOT b.z = 1)": (1, 0),
    "COUNT(*) FILTER (WHERE y > 3)": (1, 3),
    "COUNT(b.*) FILTER (WHERE b.x > 4)": (1, 2),
    "COUNT_IF(x > 3)": (2, 2),
    "MAX_BY(x, y)": (5, 7),
    "ARG_MIN(b.x, b.z)": (5, 6),
    "MAX_BY(z, x)": (4, None),
    "MIN_BY(b.y, b.x - 4)": (3.0, 6.0),
    "ANY_VALUE(z)": (3, 2),
    "CLASSIFIER(a)": ("a", "a"),
    "FIRST(CLASSIFIER())": ("a", "a"),
    "LAST(CLASSIFIER(), 1)": ("b", "b"),
    "LAST(CLASSIFIER(), 2)": ("a", "a"),
    "COUNT(*) FILTER (WHERE CLASSIFIER() = 'b')": (2, 2),
}


@pytest.mark.parametrize("term", TERMS)
def test_what_a_measure_reads(term: str, engine: str) -> None:
    assert told(sql(f"{term} AS v"), engine) == [(value,) for value in TERMS[term]]


def test_a_measure_names_an_earlier_one(engine: str) -> None:
    assert told(sql("SUM(b.x) AS s, s * 2 AS t, t + x AS u"), engine) == [(9, 18, 23), (13, 26, 33)]


def test_all_rows_read_what_is_taken_so_far(engine: str) -> None:
    query = sql("FIRST(x, 1) AS f, SUM(b.x * 2) AS s, FINAL SUM(b.x * 2) AS t, CLASSIFIER(b) AS c", rows="ALL ROWS PER MATCH")
    assert [row[1:5] for row in told(query, engine)] == [
        (None, None, 18, None), (4, 8, 18, "b"), (4, 18, 18, "b"), (None, None, 26, None), (6, 12, 26, "b"), (6, 26, 26, "b"),
    ]  # fmt: skip


DEFINED = (
    "b AS x > FIRST(a.x) + 3",
    "b AS SUM(x * 2) < 20",
    "b AS COUNT(*) FILTER (WHERE y > 3) <= 1 AND x > 3",
    "b AS FIRST(x, 1) = x",
    "b AS x = FIRST(b.x, 1) OR COUNT(b.*) = 1",
    "b AS LAST(CLASSIFIER(), 1) = 'a'",
)


@pytest.mark.parametrize("define", DEFINED)
def test_conditions_read_them_too(define: str, engine: str) -> None:
    query = sql("a.x AS a, LAST(b.x) AS b", f"PATTERN (a b+) DEFINE {define}")
    assert told(query, engine) == told_by_hand(define)


def told_by_hand(define: str) -> list[tuple[int, int]]:
    """The matches of ``a b+``, by a scan."""
    xs, ys = [row[0] for row in ROWS], [row[1] for row in ROWS]
    holds: dict[str, Any] = {
        "b AS x > FIRST(a.x) + 3": lambda s, i: xs[i] > xs[s] + 3,
        "b AS SUM(x * 2) < 20": lambda s, i: sum(xs[s : i + 1]) * 2 < 20,
        "b AS COUNT(*) FILTER (WHERE y > 3) <= 1 AND x > 3": lambda s, i: sum(y > 3 for y in ys[s : i + 1]) <= 1 and xs[i] > 3,
        "b AS FIRST(x, 1) = x": lambda s, i: xs[s + 1] == xs[i],
        "b AS x = FIRST(b.x, 1) OR COUNT(b.*) = 1": lambda s, i: i == s + 1 or xs[i] == xs[s + 2],
        "b AS LAST(CLASSIFIER(), 1) = 'a'": lambda s, i: i == s + 1,
    }
    found, start = [], 0
    while start < len(xs):
        end = start + 1
        while end < len(xs) and holds[define](start, end):
            end += 1
        found += [(xs[start], xs[end - 1])] if end > start + 1 else []
        start = end if end > start + 1 else start + 1
    return found


NONE = (0, None, None)
EMPTY = {  # COUNT(*), CLASSIFIER(), LAST(x)
    ("a*", "a AS x > 3"): [NONE, NONE, (2, "a", 5), NONE, (2, "a", 7)],
    ("a*?", "a AS x > 3"): [NONE] * 7,
    ("a? b?", "a AS x > 3, b AS x > 4"): [NONE, NONE, (2, "b", 5), NONE, (2, "b", 7)],
    ("a | ()", "a AS x > 5"): [NONE] * 5 + [(1, "a", 6), (1, "a", 7)],
    ("() | a", "a AS x > 5"): [NONE] * 7,
    ("a | () | b", "a AS x > 5, b AS x > 3"): [NONE] * 5 + [(1, "a", 6), (1, "a", 7)],
    ("(a b)*", "a AS x < 4, b AS x > 3"): [NONE, (2, "b", 4), NONE, (2, "b", 6), NONE],
    ("a{,}", "a AS x > 3"): [NONE, NONE, (2, "a", 5), NONE, (2, "a", 7)],
    ("a{0,1} ()", "a AS x > 3"): [NONE, NONE, (1, "a", 4), (1, "a", 5), NONE, (1, "a", 6), (1, "a", 7)],
    ("()", ""): [NONE] * 7,
}


@pytest.mark.parametrize(("pattern", "define"), EMPTY)
def test_matches_that_are_empty(pattern: str, define: str, engine: str) -> None:
    text = f"PATTERN ({pattern}){' DEFINE ' * bool(define)}{define}"
    assert told(sql("COUNT(*) AS c, CLASSIFIER() AS w, LAST(x) AS l", text), engine) == EMPTY[pattern, define]


ROWS_SHOWN = {
    "ALL ROWS PER MATCH": [(0, 3), (0, 1), (1, 4), (2, 5), (0, 2), (1, 6), (2, 7)],
    "ALL ROWS PER MATCH SHOW EMPTY MATCHES": [(0, 3), (0, 1), (1, 4), (2, 5), (0, 2), (1, 6), (2, 7)],
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES": [(1, 4), (2, 5), (1, 6), (2, 7)],
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS": [(0, 3), (0, 1), (1, 4), (2, 5), (0, 2), (1, 6), (2, 7)],
}


@pytest.mark.parametrize("rows", ROWS_SHOWN)
def test_the_rows_of_matches_that_are_empty(rows: str, engine: str) -> None:
    query = sql("COUNT(*) AS c", "PATTERN (a*) DEFINE a AS x > 3", rows)
    assert [(c, x) for _, c, x, *_ in told(query, engine)] == ROWS_SHOWN[rows]


def test_rows_that_no_match_holds(engine: str) -> None:
    query = sql(
        "COUNT(*) AS c, CLASSIFIER() AS w", "PATTERN (a b) DEFINE b AS x > PREV(x) + 2", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"
    )
    assert [row[1:4] for row in told(query, engine)] == [
        (None, None, 3), (1, "a", 1), (2, "b", 4), (None, None, 5), (1, "a", 2), (2, "b", 6), (None, None, 7),
    ]  # fmt: skip


def test_a_variable_that_has_taken_no_row_yet_counts_none_of_them(engine: Any) -> None:
    query = sql("COUNT(b.z) AS n", "PATTERN (a b) DEFINE b AS x > PREV(x) + 2", "ALL ROWS PER MATCH WITH UNMATCHED ROWS")
    assert [row[1] for row in told(query, engine)] == [None, 0, 0, None, 0, 1, None]


def test_what_a_mean_says_of_the_first_row_it_says_of_no_other(engine: Any) -> None:
    query = sql("LAST(a.z - a.x, 1) AS v, LAST(a.z) + 1 AS w", "PATTERN (a+) DEFINE a AS AVG(a.z - a.x) < 4")
    assert told(query, engine) == [(-5, None)]


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("SUM(a.x * b.x)", "expected columns of one variable but got 'a.x \\* b.x', of a and b; write them alike"),
        ("SUM(LAST(b.x))", "expected columns of one row in 'LAST\\(b.x\\)' but got"),
        ("LAST(SUM(x))", "expected columns of one row in"),
        ("SUM(*)", "expected a column but got"),
        ("MAX_BY(a.x, b.x)", "expected columns of one variable"),
        ("CLASSIFIER(c)", "expected a variable of the pattern but got 'c'"),
        ("ANY_VALUE(x) FILTER (WHERE y > 1)", "expected FILTER behind SUM, AVG, MIN, MAX or COUNT"),
        ("APPROX_COUNT_DISTINCT(x)", "expected an expression over rows but got"),
    ],
)
def test_what_is_refused(measure: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        sql(f"{measure} AS v")


@pytest.mark.parametrize("more", ["AFTER MATCH SKIP TO NEXT ROW PATTERN (a b)", "PATTERN (a {- b -})"])
def test_unmatched_rows_need_matches_that_do_not_overlap(more: str) -> None:
    with pytest.raises(QueryError, match="expected WITH UNMATCHED ROWS of matches that do not overlap"):
        sql("COUNT(*) AS c", more, "ALL ROWS PER MATCH WITH UNMATCHED ROWS")


def test_the_row_of_an_empty_match_is_a_member_of_it(engine: str) -> None:
    op = sql("COUNT(*) AS c", "PATTERN (a*) DEFINE a AS x > 3").operator(engine=engine, members=True)
    (change,) = op.push(insert(Tick("k", 3, 1.0, None), 5))
    assert change.re == FOREVER  # type: ignore[union-attr]
    assert {name: len(rows) for name, rows in change.members.items()} == {"a": 0, "(empty match)": 1}  # type: ignore[union-attr]
