"""The white list of SQL against the installed sqlglot: each of its nodes is read or refused; what is on the list is read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from sqlglot import exp

from afa.language import sql_reader
from afa.language.pattern import Tree
from afa.language.sase_grammar import RefusedError
from afa.language.sql_layers import layers_of
from afa.language.sql_nodes import READ, check, read_of
from afa.language.sql_reader import read
from afa.language.sql_statement import Statement, statement_of
from afa.language.sql_text import SqlText
from tests.language.test_sql_clauses import Row


def classes(of: Any = exp.Expression) -> Iterator[Any]:
    for each in of.__subclasses__():
        yield each
        yield from classes(each)


NODES = list(dict.fromkeys(classes()))


def test_sqlglot_has_nodes_and_the_list_names_some_of_them() -> None:
    assert len(NODES) > 500
    names = {each.__name__: set(each.arg_types) for each in NODES}
    for place in READ:
        for kind, args in read_of(place).items():
            assert set(args) <= names[kind], f"{place}: {kind} has no {set(args) - names[kind]}"


@pytest.mark.parametrize("place", READ)
def test_each_node_and_each_argument_is_on_the_list_or_refused(place: str) -> None:
    text = SqlText("SELECT 1")
    for kind in NODES:
        known = read_of(place).get(kind.__name__)
        if known is None:
            with pytest.raises(RefusedError, match=r"^expected .* but got "):
                check(kind(), text, place)
            continue
        check(kind(), text, place)
        for name in {"strange", *kind.arg_types} - set(known):
            for value in (True, "x", exp.Null(), [exp.Null()], 0, 1):
                with pytest.raises(RefusedError, match=r"^expected .* but got "):
                    check(kind(**{name: value}), text, place)
        for name, at in known.items():  # a node where a word is read, a word where a node is
            with pytest.raises(RefusedError, match=r"^expected .* but got "):
                check(kind(**{name: "x" if at else exp.Null()}), text, place)


CORPUS = [
    """SELECT MR."pp", mr."pp" AS q, n, k, l, c FROM c.d.t AS m MATCH_RECOGNIZE (PARTITION BY m.s, flag
        ORDER BY m.at, note DESC NULLS FIRST
        MEASURES RUNNING a.p AS pp, COUNT(*) AS n, COUNT("b".*) AS k, COUNT(b.p) AS l, CLASSIFIER() AS c
        ALL ROWS PER MATCH PATTERN (a b+) DEFINE b AS b.p = a.p) AS MR ORDER BY MR.q DESC NULLS FIRST, 1""",
    """SELECT "MR".* FROM t MATCH_RECOGNIZE (ORDER BY at
        MEASURES FIRST(p, 0) AS x, LAST(a.p, 1) AS y, SUM(p) AS t, AVG(p) AS u, MIN(p) AS v, MAX(p) AS w, -a.p AS z, ABS(a.p) AS d,
        COALESCE(a.note, s, 'x') AS e, a.f / 2 AS g, MOD(a.p, 3) AS h, (a.p + 1) * 2 - 4 AS i, CAST(a.p AS DOUBLE) AS j,
        CASE a.p WHEN 1 THEN TRUE ELSE FALSE END AS o, NULL AS r,
        ANY_VALUE(a.p) IGNORE NULLS AS av, ANY_VALUE(s) AS aw, MAX_BY(p, f) AS mb, MIN_BY(a.p + 1, a.f) AS mc,
        COUNT_IF(p > 1) AS ci, COUNT(DISTINCT a.p) AS cd, ARRAY_AGG(a.p) AS aa, ARRAY_AGG(a.p) IGNORE NULLS AS ai,
        ARRAY_AGG(a.p ORDER BY at) AS ao,
        ARRAY_AGG(a.p) WITHIN GROUP (ORDER BY at) AS ag, LISTAGG(a.s, ',') WITHIN GROUP (ORDER BY at) AS ls,
        SUM(a.p) FILTER (WHERE a.f > 2) AS fs, COUNT(a.p) FILTER (WHERE a.f > 2) AS fc, FIRST(a.p, 2) AS f2 PATTERN (a b+)) mr""",
    """SELECT DISTINCT x - 1 AS y FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES a.p AS x PATTERN (a b+)) WHERE x > 1""",
    """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES a.p AS x PATTERN (a b+)
        DEFINE b AS (p <> 1 OR p < 2) AND p <= 3 AND p > 4 AND p >= 5 AND NOT p = 6 AND p IS NULL AND s LIKE 'x%'
        AND p BETWEEN 1 AND 9 AND p IN (1, 2) AND f / 2 > 1 AND at - a.at < INTERVAL 1 HOUR AND p > PREV(p, 1)
        AND LAG(p, 2) > 1 AND LEAD(p, 3) > 1)""",
    """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at
        MEASURES SQRT(a.f) + EXP(a.f) + LN(a.f) + SIN(a.f) + COS(a.f) + TAN(a.f) AS x,
        ASIN(a.f) + ACOS(a.f) + ATAN(a.f) + PI() AS q,
        POWER(a.f, 2) + ATAN2(a.f, 3) + DEGREES(a.f) + RADIANS(a.f) + SIGN(a.f) AS y, p DIV 2 AS z,
        ROUND(a.f, 2) + FLOOR(a.f) + CEIL(a.f) + TRUNC(a.f) + GREATEST(a.f, 1) + LEAST(a.f, 2, 3) + NULLIF(a.f, 1) AS t,
        IFF(a.p > 1, a.p, 2) + NVL2(a.note, 1, 2) + LENGTH(a.s) AS u, LOWER(a.s) || UPPER(a.s) AS v, CONCAT(a.s, 'x') AS w,
        SUBSTR(a.s, 2, 3) AS d, LTRIM(a.s, 'x') AS e,
        YEAR(at) + MONTH(at) + DAY(at) + DAYOFMONTH(at) + DAYOFYEAR(at) + QUARTER(at) + HOUR(at) + MINUTE(at) + SECOND(at) AS g,
        EXTRACT(YEAR FROM at) + DATE_PART('hour', at) AS h,
        DATE_TRUNC('hour', at) AS i, DATEADD(hour, 2, at) AS j, DATEDIFF(second, a.at, b.at) AS o, DATE(at) AS k
        PATTERN (a b+)
        DEFINE b AS p BETWEEN SYMMETRIC 9 AND 1 AND s NOT LIKE 'a!%' ESCAPE '!' AND s ILIKE '_b' AND REGEXP_LIKE(s, '^a.*$', 'i')
        AND STARTSWITH(s, 'a') AND ENDSWITH(s, 'b') AND CONTAINS(s, 'c') AND p IS DISTINCT FROM 3 AND p IS NOT DISTINCT FROM 4
        AND at < TIMESTAMP '2024-01-01 10:00:00' AND at - a.at < INTERVAL '3:10' MINUTE TO SECOND)""",
]
CORPUS.append("""SELECT * FROM (SELECT s, t.p, u.*, p + 1 AS q FROM t AS u WHERE p > 1)
        MATCH_RECOGNIZE (PARTITION BY UPPER(s) ORDER BY at, p + 1 DESC, note || 'x' DESC NULLS FIRST
        MEASURES SUM(q) AS x PATTERN (a))""")
FLAGS = [
    ("Greatest", "ignore_nulls"), ("Least", "ignore_nulls"), ("TimestampTrunc", "input_type_preserved"),
    ("Trunc", "fractions_supported"), ("DateDiff", "date_part_boundary"), ("Round", "casts_non_integer_decimals"),
    ("Length", "binary"), ("Substring", "zero_start"), ("DPipe", "safe"), ("Concat", "safe"), ("Concat", "coalesce"),
    ("RegexpLike", "full_match"), ("Div", "typed"), ("Div", "safe"), ("Mod", "safe"), ("Coalesce", "is_nvl"),
]  # fmt: skip
OF_OTHERS = {
    *(("value", kind, name) for kind, name in [*FLAGS, ("Date", "this"), ("Like", "negate"), ("ILike", "negate")]),
    *(("value", kind, name) for kind in ("TryCast", "DateTrunc", "StrToTime") for name in ("this", "to", "unit", "format")),
    *(("value", "StrToDate", name) for name in ("this", "format")), ("value", "DateStrToDate", "this"),
    ("value", "Log", "this"), ("value", "Log", "expression"),
    *(("value", "TimestampDiff", name) for name in ("this", "expression", "unit")),
    ("type", "DataType", "expressions"), ("size", "DataTypeParam", "this"), ("size", "Literal", "this"),
}  # fmt: skip
"""What sqlglot makes of other dialects only, or what takes one."""
LEFT = {  # what may go without the query becoming another one
    ("Count", "big_int"): "how wide a number is in sqlglot",
    ("Identifier", "quoted"): "names are compared without case",
    ("Table", "this"): "where the rows come from is said elsewhere",
    ("Table", "db"): "so",
    ("Table", "catalog"): "so",
    ("Table", "alias"): "so",
    ("Column", "table"): "so, but of rows of a variable",
    ("First", "expression"): "0 says nothing",
    ("Count", "this"): "COUNT() is COUNT(*)",
    ("Div", "typed"): "what sqlglot knows of the dialect",
    ("Div", "safe"): "so",
    ("CountIf", "zero_on_all_null"): "what it is of no rows",
    ("IgnoreNulls", "this"): "taken with what it stands behind",
    ("ArrayAgg", "nulls_excluded"): "what sqlglot's dialect means",
    ("Order", "expressions"): "the order in which the rows stand",
    ("WithinGroup", "expression"): "so",
    ("AnyValue", "this"): "so",
    ("Select", "order"): "taken with a note",
    **dict.fromkeys(FLAGS, "what sqlglot's dialect means, which dialect= says here"),
}  # fmt: skip


def below(node: Any, place: str = "statement", left: bool = False) -> Iterator[tuple[Any, str, str, bool]]:
    """Return each argument of a tree, and whether it may go, or is in what may."""
    for name, value in node.args.items():
        parts = value if isinstance(value, list) else [value]
        goes = left or (type(node).__name__, name) in LEFT
        if any(each is not None and each is not False for each in parts):
            yield node, name, place, goes
        for each in parts:
            if isinstance(each, exp.Expression):
                yield from below(each, read_of(place)[type(node).__name__][name], goes)


def arguments(statement: Statement) -> Iterator[tuple[Any, str, str, bool]]:
    """Return each argument of a statement, as `below` does."""
    layers = layers_of(statement)
    yield from below(layers.steps[-1])
    yield from below(layers.table, "relation")
    for view in layers.steps[:-2]:
        for name, value in view.args.items():
            for each in value if isinstance(value, list) else [value]:
                if name in read_of("view")["Select"]:
                    yield view, name, "view", False
                    yield from below(each, read_of("view")["Select"][name])
    for match in statement.matches.values():
        for node, place in match.nodes():
            yield from below(node, place)


def test_the_corpus_has_all_that_is_on_the_list() -> None:
    of_rows = [text for text in CORPUS if "SQRT" not in text]
    said = [*itertools.product(of_rows, (None, "duckdb", "trino")), *((text, None) for text in CORPUS), (CORPUS[3], "spark")]
    each = (argument for text, dialect in said for argument in arguments(statement_of(text, dialect)))
    found = {(place, type(node).__name__, name) for node, name, place, _ in each}
    listed = {(place, kind, name) for place in READ for kind in read_of(place) for name in read_of(place)[kind]}
    assert listed - found - OF_OTHERS == set()


@pytest.mark.parametrize("text", CORPUS)
def test_what_is_on_the_list_is_read(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = read(text, Row, tick="s")
    for i, (node, name, place, goes) in enumerate(list(arguments(statement_of(text)))):
        if goes or (
            name == "is_string" and isinstance(node.parent, exp.Interval | exp.Extract)
        ):  # INTERVAL 1 HOUR is INTERVAL '1' HOUR
            continue
        statement = statement_of(text)
        list(arguments(statement))[i][0].set(name, None)
        assert without(text, statement, monkeypatch) != plain, f"{place}: {name} of {type(node).__name__} is not read"


def without(text: str, statement: Statement, monkeypatch: pytest.MonkeyPatch) -> Tree | None:
    """Return what is read of a statement from which an argument is taken; None: nothing, it is no statement any more."""
    with monkeypatch.context() as patch:
        patch.setattr(sql_reader, "statement_of", lambda *_: statement)
        try:
            return read(text, Row, tick="s")
        except Exception:  # a tree that sqlglot does not make may fail anyhow
            return None
