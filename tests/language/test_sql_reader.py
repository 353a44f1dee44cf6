"""MATCH_RECOGNIZE is read into the pattern tree, or refused with a place and a way out."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

import afa
from afa.errors import QueryError
from afa.expression.nodes import Compare, Const, FieldRead, Or
from afa.language.pattern import PARTITION, Component, Either, Gap, Repeat, Seq
from afa.language.sql_reader import read
from afa.language.terms import Aggregate, Classifier, Ref


class Tick(NamedTuple):
    symbol: str
    price: float
    volume: int
    at: int
    type: str
    note: str | None = None


STRICT = Gap(PARTITION)
PRICE = FieldRead("e", "price")


def sql(define: str = "", pattern: str = "a b", measures: str = "", more: str = "", order: str = "at", rest: str = "") -> str:
    measures = f"MEASURES {measures}" if measures else ""
    define = f"DEFINE {define}" if define else ""
    return f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY {order} {measures} {more} PATTERN ({pattern}) {rest} {define})"


FORMS = {
    "flink: what went down": """SELECT * FROM Ticker MATCH_RECOGNIZE (
        PARTITION BY symbol ORDER BY at
        MEASURES START_ROW.at AS start_at, LAST(PRICE_DOWN.at) AS bottom_at, LAST(PRICE_UP.at) AS end_at
        ONE ROW PER MATCH AFTER MATCH SKIP TO LAST PRICE_UP PATTERN (START_ROW PRICE_DOWN+ PRICE_UP)
        DEFINE PRICE_DOWN AS (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price)
            OR PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1), PRICE_UP AS PRICE_UP.price > LAST(PRICE_DOWN.price, 1)) MR""",
    "flink: averages": """SELECT * FROM Ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at
        MEASURES FIRST(A.at) AS start_at, LAST(A.at) AS end_at, AVG(A.price) AS avgPrice ONE ROW PER MATCH
        AFTER MATCH SKIP PAST LAST ROW PATTERN (A+ B) DEFINE A AS AVG(A.price) < 15) MR""",
    "flink: reluctant": """SELECT * FROM Ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at MEASURES C.price AS lastPrice
        ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B*? C)
        DEFINE A AS A.price > 10, B AS B.price < 15, C AS C.price > 12)""",
    "flink: time": """SELECT * FROM Ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at
        MEASURES C.at AS dropTime, A.price - C.price AS dropDiff ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B* C) WITHIN INTERVAL '1' HOUR DEFINE B AS B.price > A.price - 10, C AS C.price < A.price - 10)""",
    "oracle: v": """SELECT * FROM Ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at
        MEASURES STRT.at AS start_at, FINAL LAST(DOWN.at) AS bottom, FINAL LAST(UP.at) AS end_at
        ONE ROW PER MATCH AFTER MATCH SKIP TO LAST UP PATTERN (STRT DOWN+ UP+)
        DEFINE DOWN AS DOWN.price < PREV(DOWN.price), UP AS UP.price > PREV(UP.price)) MR""",
    "oracle: subset": """SELECT * FROM Ticker MATCH_RECOGNIZE (ORDER BY at MEASURES AVG(STDN.price) AS mean, COUNT(*) AS n
        AFTER MATCH SKIP TO NEXT ROW PATTERN (STRT DOWN{2,3} UP?) SUBSET STDN = (STRT, DOWN)
        DEFINE DOWN AS price < 5, UP AS volume BETWEEN 1 AND 3)""",
    "trino: alternatives": """SELECT m.who, m.mean AS average FROM Ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at, volume
        MEASURES CLASSIFIER() AS who, AVG(B.price) AS mean PATTERN ((A | B) {- C -} PERMUTE(D, E))
        DEFINE A AS price > 1, B AS note IS NOT NULL, C AS type IN ('x', 'y'), D AS note LIKE 'a%', E AS NOT volume = 2) m""",
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_the_manuals_are_read(name: str) -> None:
    tree = read(FORMS[name], Tick, tick="s")
    assert tree.skip
    assert tree.returns


def test_what_was_down_asks_two_things() -> None:
    tree = read(FORMS["flink: what went down"], Tick)
    start, down, up = tree.pattern.items  # type: ignore[union-attr]
    assert start == Component("START_ROW")
    assert down.item.first == (Compare("<", PRICE, Ref("START_ROW", "one", "price")),)
    assert down.item.rest == (Compare("<", PRICE, Ref("PRICE_DOWN", "last", "price")),)
    assert up.where == (Compare(">", PRICE, Ref("PRICE_DOWN", "last", "price", 1)),)
    assert (tree.key, tree.skip, tree.window) == (("symbol",), "to last PRICE_UP", None)


def test_times_alternatives_and_what_is_shown() -> None:
    tree = read(FORMS["trino: alternatives"], Tick)
    assert tree.returns == (("who", Classifier()), ("average", Aggregate("B", "avg", "price")))
    assert tree.order == "volume"
    assert read(sql(pattern="a+? (b | c){2,} d{,3} e{2}"), Tick).pattern == Seq(
        (
            Repeat(Component("a"), 1, None, STRICT, greedy=False),
            Repeat(Either((Component("b"), Component("c"))), 2, None, STRICT),
            Repeat(Component("d"), 0, 3, STRICT),
            Repeat(Component("e"), 2, 2, STRICT),
        ),
        (STRICT, STRICT, STRICT),
    )
    assert read(sql(pattern="a b? c??"), Tick).pattern.items[1:] == (  # type: ignore[union-attr]
        Repeat(Component("b"), 0, 1, Gap()),
        Repeat(Component("c"), 0, 1, Gap(), greedy=False),
    )


def test_running_aggregates_count_the_row_at_hand() -> None:
    tree = read(sql("b AS avg(b.price) < 3 AND sum(a.volume) > 2 OR count(*) = 2", "a b+"), Tick)
    assert tree.pattern.items[1].item.where == (  # type: ignore[union-attr]
        Or(
            (
                tree.pattern.items[1].item.where[0].items[0],  # type: ignore[union-attr]
                Compare("==", Aggregate("", "count", None, now=True), Const(2)),
            )
        ),
    )
    assert tree.pattern.items[1].item.where[0].items[0].items == (  # type: ignore[union-attr]
        Compare("<", Aggregate("b", "avg", "price", now=True), Const(3)),
        Compare(">", Aggregate("a", "sum", "volume"), Const(2)),
    )


def test_what_can_never_begin_is_kept_as_false() -> None:
    tree = read(sql("b AS price < LAST(b.price, 1)", "a b+"), Tick)
    assert tree.pattern.items[1].item.first == (Const(False),)  # type: ignore[union-attr]


REFUSED = [
    (sql("b AS MATCH_NUMBER() > 1"), "but got 'MATCH_NUMBER()'; a match has its number once it is chosen"),
    (sql(measures="MATCH_NUMBER(1) AS n"), "but got 'MATCH_NUMBER(1)'; a match has its number"),
    (sql("b AS price > NEXT(SUM(price))"), "of one row in NEXT, or FIRST or LAST of them, but got 'NEXT(SUM(price))'"),
    (sql("b AS price > PREV(a.price - b.price)"), "of one row in PREV, or FIRST or LAST of them, but got 'PREV(a.price"),
    (sql("b AS price > PREV(NEXT(price))"), "of one row in PREV, or FIRST or LAST of them, but got 'PREV(NEXT(price))'"),
    (sql("b AS price > LAG(LEAD(price))"), "of one row in PREV, or FIRST or LAST of them, but got 'LAG(LEAD(price))'"),
    (sql("b AS price > PREV(LAST(price) + LAST(price, 1))"), "of one row in PREV, or FIRST or LAST of them, but got"),
    (sql("b AS price > PREV(1)"), "of one row in PREV, or FIRST or LAST of them, but got 'PREV(1)'"),
    (sql("b AS price > PREV(price, 65)"), "expected an offset from 0 to 64 but got '65'"),
    (sql(measures="PREV(CLASSIFIER(a)) AS c"), "of one row in PREV, or FIRST or LAST of them, but got"),
    (sql("b AS price > PREV()"), "expected PREV(x) or PREV(x, k) but got 'PREV()'"),
    (sql(pattern=""), "expected a row pattern but got the end"),
    (sql(pattern="a ^"), "got ^ where it can't be asked of a row; ^ stands before a variable"),
    (sql(pattern="$ a"), "expected variables but got $ where it can't be asked of a row; $ stands behind a variable"),
    (sql(pattern="a ^+ b"), "got ^ where it can't be asked of a row; no anchor repeats"),
    (sql(pattern="^ a*"), "got ^ where it can't be asked of a row; the pattern beside it may take no row"),
    (sql(pattern="^ $"), "got ^ where it can't be asked of a row; a match has at least one row"),
    (sql(pattern="(^ a+) b"), "got ^ where it can't be asked of a row; it stands around the whole pattern, or"),
    (sql(pattern="a{3,2}"), "expected a number of times that can be but got 3 to 2"),
    (sql(pattern="PERMUTE(a, b, c, d, e)"), "expected at most 4 items in PERMUTE but got 5"),
    (sql(pattern="a | | b"), "expected a row pattern but got '|'"),
    (sql("c AS price > 1"), "expected a variable of the pattern in DEFINE but got 'c'; they are: a, b"),
    (sql("a AS price > 1, a AS price > 2"), "expected one condition of a variable"),
    (sql("a AS prize > 1"), "expected a field of Tick but got 'prize'; its fields: symbol, price"),
    (sql("a AS rowtime > 1", order="rowtime"), "but got 'rowtime'; a field rowtime of Tick, annotated afa.Instant"),
    (sql("a AS c.price > 1"), "expected a variable of the pattern but got 'c'"),
    (sql("a AS price / 2 > 1 and volume / 2 > 1"), "expected a division of floats but got one of ints"),
    (sql("a AS volume % type > 1"), "expected numbers but got 'volume % type', of an int and a text"),
    (sql("a AS SUM(type) > 1"), "expected numbers in SUM"),
    (sql("a AS COUNT(DISTINCT price) > 1"), "expected another aggregate in DEFINE but got 'COUNT(DISTINCT price)'"),
    (sql("a AS type LIKE type"), "expected a text behind LIKE but got 'type'"),
    (sql("a AS type IN (price, 1)"), "expected values that can be compared but got 'type IN (price, 1)', of a text and a float"),
    (sql("b AS LAST(a.price, 65) > 1"), "expected an offset from 0 to 64"),
    (sql("b AS at - a.at < INTERVAL '1' HOUR"), "expected tick=, what one int of LE counts"),
    (sql(rest="WITHIN INTERVAL '2' MOONS"), "expected a unit of time but got 'MOONS'"),
    (sql(rest="SUBSET s = (a, z)"), "expected variables of the pattern in SUBSET but got 'z'"),
    (sql("a AS price > 1", rest="SUBSET s = (a, z)"), "expected variables of the pattern in SUBSET but got 'z'"),
    (sql("a AS price > 1", rest="SUBSET b = (a)"), "expected a new name for a SUBSET but got 'b'"),
    (sql(order="at, nobody, price"), "expected a field of Tick but got 'nobody'"),
    (sql(order="at, lower(price)"), "expected a text but got 'price', a float"),
    (sql(more="AFTER MATCH SKIP TO LAST z"), "expected a variable of the pattern in AFTER MATCH SKIP but got 'z'"),
    (sql(more="AFTER MATCH SKIP TO FIRST a"), "the same match would be found for ever"),
    ("SELECT price FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES a.price AS p PATTERN (a))", "expected * or names of MEASURES"),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at PATTERN (a)) WHERE price > 1",
        "expected a column of the answer but got 'price'",
    ),
    ("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at)", "expected PATTERN (..) but got none"),
    ("DELETE FROM t", "expected one SELECT"),
    ("garbage (", "expected SQL but got what can't be read"),
    ("x" * 10_001, "expected at most 10000 characters but got 10001"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[message[:40] or text[-30:] for text, message in REFUSED])
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=r"line \d+, column \d+: .*" + re.escape(message)) as caught:
        read(text, Tick)
    assert str(caught.value).endswith("^")


def test_the_place_is_that_of_the_word() -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (\n  ORDER BY at\n  PATTERN (a b)\n  DEFINE b AS prize > 1)"
    with pytest.raises(QueryError, match=r"line 4, column 15: expected a field of Tick but got 'prize'"):
        read(text, Tick)
    with pytest.raises(QueryError, match="expected a query as text"):
        read(3, Tick)  # type: ignore[arg-type]


CUT_OUT = ("SUBSET s = (a)", "AFTER MATCH", "WITHIN INTERVAL '5'", "WITHIN INTERVAL", "WITHIN 5", "SUBSET s = (")


@pytest.mark.parametrize("clause", CUT_OUT)
@pytest.mark.parametrize("blanks", [0, 1, 9, 400, 9_000])
@pytest.mark.parametrize("word", ["PATTERN", "PATTER"])
def test_a_clause_said_over_and_over_with_many_blanks(clause: str, blanks: int, word: str) -> None:
    """Its words are looked for in time that grows with the length: in more than its square this would not end."""
    many = (clause + " " * blanks) * max(1, 9_000 // (len(clause) + blanks))
    for text in (f"{many} {word} (A B)", f"{word} (A B) {many} oops", f"{word} (A B) {many}!"):
        with pytest.raises(QueryError):
            read(f"SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY at {text} DEFINE B AS price > 1)", Tick)


@pytest.mark.parametrize("depth", [7, 12, 18])
def test_case_in_the_test_of_case_is_bounded(depth: int) -> None:
    """Each level multiplies what NULL may mean by three: refused before it is written out."""

    class Reading(NamedTuple):
        at: int
        y: float | None

    condition = "CASE WHEN (" * depth + "PREV(y) > 1" + ") THEN y ELSE a.y END > 1" * depth
    with pytest.raises(QueryError, match=r"at most 10,000 parts once NULL is told apart .* define a variable for the inner one"):
        afa.sql(sql(f"b AS {condition}"), event=Reading)
