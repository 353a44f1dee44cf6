"""No clause of SQL is dropped in silence: what is not read is refused by name, in the words of whoever wrote it."""

from __future__ import annotations

import logging
import re
from typing import NamedTuple

import pytest

import afa
from afa.errors import QueryError
from afa.language.sql_reader import _tell, read
from afa.language.terms import Classifier


class Row(NamedTuple):
    s: str
    p: int
    f: float
    flag: bool
    note: str | None = None
    at: afa.Instant | None = None


def sql(define: str = "", *, measures: str = "", pattern: str = "a b", order: str = "at", head: str = "SELECT *", **at: str) -> str:
    """Return a statement; ``of``, ``rows``, ``rest``, ``tail``: what stands in FROM, and at three other places."""
    measures = f"MEASURES {measures}" if measures else ""
    define = f"DEFINE {define}" if define else ""
    inner = (
        f"{at.get('key', '')} ORDER BY {order} {measures} {at.get('rows', '')} PATTERN ({pattern}) {at.get('rest', '')} {define}"
    )
    return f"{head} FROM {at.get('of', 't')} MATCH_RECOGNIZE ({inner}) {at.get('tail', '')}"


INNER = "t MATCH_RECOGNIZE (ORDER BY at MEASURES a.p AS p PATTERN (a))"
REFUSED = {
    # 2.1: what is in FROM
    "values": (sql(of="(VALUES (1, 2)) AS x(s, p)"), "but got VALUES; that takes a relational engine"),
    "union": (sql(of="(SELECT * FROM t UNION SELECT * FROM u)"), "but got UNION; that takes a relational engine"),
    "function": (sql(of="TABLE(f(1))"), "but got TABLE (..); that takes a relational engine"),
    "lateral": (sql(of="LATERAL t"), "the name of a table in FROM but got "),
    "names": (sql(of="t AS x(a, b)"), "a name alone but got columns beside it: 'x(a, b)'"),
    "pivot": (sql(of="t PIVOT(SUM(p) FOR s IN ('x'))"), "but got PIVOT; that takes a relational engine"),
    "at": (sql(of="t AT(TIMESTAMP => 'x')"), "but got AT; that takes a relational engine"),
    "sample": (sql(of="t TABLESAMPLE (10)"), "but got TABLESAMPLE; that takes a relational engine"),
    "join": (sql(of="t, u"), "but got JOIN; that takes a relational engine"),
    # 2.2: what stands around an inner SELECT
    "where inside": (f"SELECT * FROM (SELECT * FROM {INNER} WHERE nope > 2)", "a column of the answer but got 'nope'"),
    "list inside": (f"SELECT q + 1 FROM (SELECT p + 1 AS q FROM {INNER})", "a name of what SELECT shows but got"),
    "in a join": (f"SELECT * FROM t JOIN (SELECT * FROM {INNER}) ON true", "but got JOIN; that takes a relational engine"),
    "none": ("SELECT p FROM t", "one MATCH_RECOGNIZE but got none"),
    "two": (f"SELECT * FROM {INNER} MATCH_RECOGNIZE (ORDER BY at PATTERN (a))", "a column of the table in ORDER BY but got 'at'"),
    # 2.3: beside the list, beside the statement
    "exclude": (sql(head="SELECT * EXCLUDE (s)"), "* alone but got EXCLUDE beside it: '* EXCLUDE (s)'"),
    "replace": (sql(head="SELECT * REPLACE (p + 1 AS p)"), "* alone but got REPLACE beside it"),
    "rename": (sql(head="SELECT * RENAME (p AS q)"), "* alone but got RENAME beside it"),
    "offset": (sql(tail="OFFSET 1"), "but got OFFSET; that takes a relational engine"),
    "limit": (sql(tail="LIMIT 1"), "but got LIMIT; that takes a relational engine"),
    "top": (sql(head="SELECT TOP 1 *"), "but got LIMIT; that takes a relational engine"),
    "distinct on": (sql(head="SELECT DISTINCT ON (p) *"), "DISTINCT alone but got ON beside it"),
    "qualify": (sql(tail="QUALIFY p > 1"), "but got QUALIFY; that takes a relational engine"),
    "names of it": (sql(tail="AS m(x, y)"), "a name alone but got columns beside it: 'm(x, y)'"),
    "whose column": (sql(head="SELECT z.x", measures="a.p AS x", tail="AS m"), "a column of m or t in SELECT but got 'z.x'"),
    # 2.5, F5: which columns
    "constant key": (sql(key="PARTITION BY 1"), "a column but got '1'"),
    "whose key": (sql(key="PARTITION BY u.s"), "a column of t but got 'u.s'"),
    "order": (sql(order="nosuch"), "a field of Row but got 'nosuch'; its fields: "),
    "whose part": (sql(key="PARTITION BY UPPER(u.s)"), "a column of t but got 'u.s'"),
    "no such part": (sql(key="PARTITION BY UPPER(nosuch)"), "a field of Row but got 'nosuch'; its fields: "),
    "rows in a key": (sql(key="PARTITION BY PREV(p)"), "columns of one row in 'PREV(p)' but got PREV or NEXT"),
    "matches in a key": (
        sql(key="PARTITION BY MATCH_NUMBER() + p"),
        "columns of one row in 'MATCH_NUMBER() + p' but got what only a",
    ),
    "variables in a key": (
        sql(key="PARTITION BY CLASSIFIER() || s"),
        "columns of one row in 'CLASSIFIER() || s' but got what only a",
    ),
    "functions in a key": (sql(key="PARTITION BY SOUNDEX(s)"), "an expression over rows but got 'SOUNDEX(s)'"),
    "null order": (sql(order="at, note DESC"), "NULLS FIRST or NULLS LAST behind note DESC, as note may be NULL"),
    # 2.6 to 2.9: within expressions
    "max": (sql("b AS MAX(p, 9) > 1"), "one column in MAX but got 'MAX(p, 9)'"),
    "min": (sql(measures="MIN(p, 9) AS x"), "one column in MIN but got 'MIN(p, 9)'"),
    "count": (sql(measures="COUNT(a.p, b.p) AS x"), "one column in COUNT but got 'COUNT(a.p, b.p)'"),
    "final max": (sql(measures="FINAL MAX(p, 9) AS x"), "one column in MAX but got 'MAX(p, 9)'"),
    "final of nothing": (
        sql(measures="FINAL MAX() AS x"),
        "SQL but got what can't be read at ')'; write what the function is of in its parentheses",
    ),
    "a name like that": (sql(measures="final_price(p) AS x"), "an expression over rows but got 'final_price(p)'; functions"),
    "decimals of a floor": (sql("b AS FLOOR(f, 1) > 2"), "FLOOR alone but got DECIMALS beside it: 'FLOOR(f, 1)'"),
    "an int": (sql("a AS p"), "a condition but got 'p', an int; write a comparison"),
    "a number": (sql("a AS 123"), "a condition but got '123', an int"),
    "a text": (sql("a AS 'text'"), "a condition but got \"'text'\", a text"),
    "an int and": (sql("a AS p AND p > 1"), "a condition but got 'p', an int"),
    "not an int": (sql("a AS NOT p"), "a condition but got 'p', an int"),
    "when an int": (sql("a AS CASE WHEN p THEN 1 ELSE 2 END = 1"), "a condition but got 'p', an int"),
    "is true": (sql("a AS (p IS TRUE)"), "a condition but got 'p', an int"),
    "chain": (sql("a AS 1 < p < 3"), "values that can be compared but got '1 < p < 3', of a condition and an int"),
    "text of an int": (sql("b AS p > 'x'"), "values that can be compared but got \"p > 'x'\", of an int and a text"),
    "between texts": (sql("b AS p BETWEEN 1 AND 'x'"), "values that can be compared but got "),
    "in texts": (sql("b AS p IN (1, 'x')"), "values that can be compared but got "),
    "case of both": (sql("b AS CASE p WHEN 'x' THEN 1 END = 1"), "values that can be compared but got "),
    "like an int": (sql("b AS p LIKE 'x%'"), "a text before LIKE but got 'p', an int"),
    "a text plus": (sql("b AS s + 1 > 2"), "numbers but got 's + 1', of a text and an int"),
    "minus a text": (sql("b AS -s > 2"), "a number but got 's', a text"),
    "abs of a text": (sql("b AS ABS(s) > 2"), "a number but got 's', a text"),
    "two kinds": (
        sql(measures="COALESCE(a.p, 'x') AS x"),
        "values of one type but got \"COALESCE(a.p, 'x')\", of an int and a text",
    ),
    "plain decimal": (
        sql("b AS CAST(2.7 AS NUMERIC) = 3"),
        "DECIMAL(p, s) of at most 15 digits, which floats tell apart, but got 'CAST(2.7 AS NUMERIC)'",
    ),
    "to a text": (
        sql("b AS CAST(p AS VARCHAR(1)) = '3'"),
        "CAST to INT, DOUBLE, DECIMAL(p, s), VARCHAR, DATE or TIMESTAMP but got 'CAST(p AS VARCHAR(1))'",
    ),
    # 2.11, F6, F8: names
    "two of a case": (sql(pattern='"a" A'), "variables that differ by more than case but got a and A, two in SQL"),
    "twice": (sql(measures="1 AS n, 2 AS n"), "a name once in MEASURES but got 'n' a second time"),
    "twice in a case": (sql(measures="1 AS n, 2 AS N"), "a name once in MEASURES but got 'N' a second time"),
    "selected twice": (sql(head="SELECT *, m.x", measures="a.p AS x", tail="m"), "a name once in SELECT but got 'x' a second time"),
    "le": (sql(measures="a.p AS le"), "a name beside those of each match in SELECT but got 'le'"),
    "re": (sql(measures="a.p AS re"), "a name beside those of each match in SELECT but got 're'"),
    "diff": (
        sql(head="SELECT m.x AS diff", measures="a.p AS x", tail="m"),
        "a name beside those of each match in SELECT but got 'diff'",
    ),
    "key": (sql(key="PARTITION BY s", measures="a.p AS s"), "a name beside those of each match in SELECT but got 's'"),
    "no condition": (sql("b"), "v AS condition in DEFINE but got 'b'"),
    "auto": (sql("AUTO, b AS p > 1"), "v AS condition in DEFINE but got 'AUTO'"),
    "quoted": (sql(pattern='"up down"+'), 'a variable of letters, digits and _ (not the first) but got "up down"'),
    "blank": (sql(pattern="_a"), "a variable of letters, digits and _ (not the first) but got _a"),
    "subset of a subset": (sql(rest="SUBSET u = (a), w = (u)"), "variables of the pattern in SUBSET but got 'u'"),
    "define a subset": (sql("u AS p > 1", rest="SUBSET u = (a)"), "a variable of the pattern in DEFINE but got 'u'"),
    # words that help
    "xor": (sql("b AS flag XOR p > 1"), "write (x OR y) AND NOT (x AND y) for x XOR y"),
    "running": (sql("b AS RUNNING p > 1"), "got what can't be read at 'p'; RUNNING and FINAL stand before"),
    "no name": (sql(measures="a.p"), "value AS name in MEASURES but got 'a.p'; give each value of MEASURES a name, AS name"),
    "no name before rows": (sql(measures="a.p", rows="ONE ROW PER MATCH"), "give each value of MEASURES a name, AS name"),
    "order of clauses": (
        "SELECT * FROM t MATCH_RECOGNIZE (MEASURES a.p AS x ORDER BY at PATTERN (a))",
        "the clauses come in this order",
    ),
    "two of a clause": (
        sql(rows="ONE ROW PER MATCH ALL ROWS PER MATCH"),
        "the clauses come in this order, each once: PARTITION BY",
    ),
    "other row": (
        sql(rows="AFTER MATCH SKIP TO OTHER ROW"),
        "TO FIRST v, TO LAST v or TO v but got 'AFTER MATCH SKIP TO OTHER ROW'",
    ),
    "group_concat": (sql(measures="XMLAGG(p) AS x"), "got 'XMLAGG(p)'; functions: SUM AVG"),
    "soundex": (sql("b AS SOUNDEX(s) = 'A'"), "got 'SOUNDEX(s)'; functions"),
    "a clause in a function": (sql("b AS IFF(p > 1, FROM t, flag)"), "got "),
    "decode": (sql("b AS DECODE(p, 1, flag, flag)"), "got 'DECODE(p, 1, flag, flag)'; functions"),
    "lag": (sql("b AS LAG(p, 1, 0) > 1"), "LAG alone but got DEFAULT beside it: 'LAG(p, 1, 0)'; COALESCE says what stands"),
    "nulls": (sql(measures="LAST(p) IGNORE NULLS AS x"), "ANY_VALUE(x) or ARRAY_AGG(x) before IGNORE NULLS but got 'LAST(p)'"),
    "the list": (sql("b AS REVERSE(s) = 'A'"), "MIN_BY FIRST LAST PREV NEXT CLASSIFIER ABS MOD COALESCE LIKE CASE CAST"),
    "no AS": (sql("b p > 1"), "v AS condition in DEFINE but got 'b p > 1'; a condition is v AS .., of comparisons, AND, OR, NOT"),
    "never ends": (sql("b AS s = 'x"), "SQL but got a text, a name or a comment that does not end"),
    "window of words": (sql(rest="WITHIN 10 SECONDS"), "WITHIN INTERVAL 'n' UNIT or WITHIN n but got 'WITHIN 10 SECONDS'"),
    "outer order": (sql(tail="ORDER BY nosuch", measures="a.p AS x"), "a column of the answer in ORDER BY but got 'nosuch'"),
    "outer order of another": (sql(tail="m ORDER BY z.x", measures="a.p AS x"), "a column of m or t in ORDER BY but got 'z.x'"),
    "outer order of a value": (sql(tail="ORDER BY x + 1", measures="a.p AS x"), "columns in ORDER BY but got 'x + 1'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_is_refused_by_name(name: str) -> None:
    text, message = REFUSED[name]
    with pytest.raises(QueryError, match=r"line \d+, column \d+: expected .*" + re.escape(message)):
        afa.sql(text, event=Row, tick="s")


def test_words_within_a_literal_a_name_or_a_comment_are_no_clauses() -> None:
    plain = afa.sql(sql("b AS s = 'WITHIN 1'"), event=Row)
    assert plain.window is None
    assert "WITHIN 1" in str(plain.tree.pattern)
    for remark in ("-- no WITHIN 1 here\n", "/* WITHIN 1 SUBSET u = (a) */"):
        assert afa.sql(sql("b AS s = 'WITHIN 1'", rest=remark), event=Row) == plain
    of = afa.sql(sql("b AS s = 'WITHIN 1'", rest="// SUBSET u = (a)\n"), event=Row, dialect="snowflake")
    assert of == afa.sql(sql("b AS s = 'WITHIN 1'"), event=Row, dialect="snowflake")
    assert afa.sql(sql(pattern="a /* then */ b -- the end\n"), event=Row) == afa.sql(sql(), event=Row)
    quoted = afa.sql(sql("b AS s = ' SUBSET u = (a) '", measures='"u".p AS x', rest='SUBSET "u" = ("a", b) WITHIN 7'), event=Row)
    assert (quoted.tree.subsets, quoted.window) == ((("u", ("a", "b")),), 7)


def test_skip_to_a_variable_is_skip_to_its_last_row() -> None:
    for skip in ("TO b", "TO LAST b", 'TO "b"'):
        assert afa.sql(sql(rows=f"AFTER MATCH SKIP {skip}"), event=Row).tree.skip == "to last b"


def test_the_classifier_tells_the_name_as_the_pattern_writes_it_first() -> None:
    tree = read(sql("B AS p > 1", pattern="a B b*", measures="CLASSIFIER() AS c, LAST(b.p) AS x"), Row)
    assert tree.returns[0] == ("c", Classifier())
    assert afa.sql(sql(pattern="a B b*"), event=Row).components == ("a", "B")


@pytest.mark.parametrize("dialect", ["trino", "oracle", "snowflake", "duckdb", None])
def test_a_name_without_quotes_is_one_in_capitals_where_the_dialect_has_it_so(dialect: str | None) -> None:
    text = sql("b AS p > 1 AND LAST(CLASSIFIER(), 1) = 'A'", pattern='a "b"', measures="CLASSIFIER(a) AS c, CLASSIFIER() AS d")
    query = afa.sql(text, event=Row, dialect=dialect, tick="s")
    assert query.components == (("a" if dialect in ("duckdb", None) else "A"), "b")
    rows = [afa.insert(Row("x", p, 0.0, True), p) for p in (1, 2)]
    found = [tuple(change.payload) for change in query.operator().push_many(rows)]
    assert found == ([] if dialect in ("duckdb", None) else [("A", "b")])


def test_an_order_of_the_answer_is_taken_with_a_note(caplog: pytest.LogCaptureFixture) -> None:
    plain = sql(measures="a.p AS x", key="PARTITION BY s", tail="AS m")
    _tell.cache_clear()
    with caplog.at_level(logging.WARNING, "afa.language"):
        found, again = (afa.sql(plain + " ORDER BY m.s, x DESC, le, 1;", event=Row) for _ in range(2))
    assert found == again == afa.sql(plain, event=Row)
    note = "ORDER BY behind MATCH_RECOGNIZE is not applied: matches leave in the order of the times at which they are complete"
    assert [each.name for each in caplog.records] == ["afa.language"]
    assert note in caplog.text
    assert note in str(found.explain())
    assert note not in str(afa.sql(plain, event=Row).explain())


class Bare(NamedTuple):
    k: int
    v: int
    s: str = ""


def test_times_are_of_the_column_that_order_by_names() -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY {} MEASURES a.v AS x, b.v AS y PATTERN (a b) WITHIN 10 DEFINE b AS v > a.v)"
    frame = {"k": [3, 2, 1], "v": [0, 1, 2], "at": [1, 2, 3], "s": ["", "", ""]}
    assert list(afa.find(afa.sql(text.format("k"), event=Bare), frame, time="k")["x"]) == []
    assert list(afa.find(afa.sql(text.format("t.AT"), event=Bare), frame, time="at")["x"]) == [0]
    for order, time in (("k", "at"), ("at", "k")):
        with pytest.raises(QueryError, match=f"expected time='{order}', the column of ORDER BY, but got time='{time}'"):
            afa.find(afa.sql(text.format(order), event=Bare), frame, time=time)
    for time in ("le", "the_time"):  # LE, and a name that no column has but the times
        assert list(afa.find(afa.sql(text.format(time), event=Bare), frame, time="at")["x"]) == [0]
    assert list(afa.find(afa.sql(text.format("k"), event=Bare), {**frame, "le": [1, 2, 3]})["x"]) == []  # it is named
    with pytest.raises(QueryError, match="expected no WITHIN where rows are not ordered by a time"):
        afa.sql(text.format("s"), event=Bare)
    with pytest.raises(QueryError, match="expected a column but got '1'"):
        afa.sql(text.format("1"), event=Bare)
