"""A statement taken apart: each MATCH_RECOGNIZE with its clauses, wherever it stands, and how rows flow through it."""

from __future__ import annotations

import contextlib
import cProfile
import re
import time
from typing import Any, NamedTuple

import pytest

import afa
from afa.errors import AfaError, QueryError
from afa.language.pattern import Repeat
from afa.language.sql_layers import layers_of
from afa.language.sql_reader import FOLDED
from afa.language.sql_statement import RowPatternMatch, statement_of
from afa.language.sql_text import DIALECTS
from afa.language.terms import Aggregate, Classifier, Final, Ref


class Row(NamedTuple):
    s: str
    p: int
    f: float
    at: afa.Instant | None = None


WHOLE = """SELECT m.x, n FROM c.t AS i MATCH_RECOGNIZE (
    PARTITION BY i.s ORDER BY i.at, t.p MEASURES FINAL LAST(a.p) AS x, RUNNING COUNT(b.*) n, CLASSIFIER() AS c, i.f AS f0
    ALL ROWS PER MATCH SHOW EMPTY MATCHES AFTER MATCH SKIP TO LAST b
    PATTERN (s (a | b)+? {- c -} PERMUTE(d, e){2,3} (f g)?? h{,}) WITHIN INTERVAL '1' HOUR SUBSET u = (a, b)
    DEFINE b AS b.p > PREV(b.p) AND i.f < 2.5 AND t.f > u.f) AS m"""


@pytest.mark.parametrize("dialect", [None, *DIALECTS])
def test_a_whole_clause_is_the_same_in_each_dialect(dialect: str | None) -> None:
    a, b = "AB" if dialect in FOLDED else "ab"
    tree, other = (afa.sql(WHOLE, event=Row, tick="s", dialect=each).tree for each in (dialect, None))
    assert tree == other or (dialect in FOLDED and repr(tree).lower() == repr(other).lower())
    assert (tree.key, tree.order, tree.skip, tree.window) == (("s",), "p", f"to last {b}", 3600)
    assert tree.rows == (3,)
    assert tree.returns == (("x", Final(Ref(a, "last", "p"))), ("n", Aggregate(b, "count", None)))


SAID = """SELECT x, y FROM t MATCH_RECOGNIZE (PARTITION BY s ORDER BY at
    MEASURES LAST(b.p, 1) AS x, FIRST(b.p + 1) / 2.5 AS y, ANY_VALUE(f) AS z PATTERN (a b+)
    DEFINE b AS (LAST(b.p, 1) IS NULL AND b.p < a.p) OR b.p < LAST(b.p, 1) AND f / 2 > 1 OR MOD(p, 3) = 1)"""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_one_dialect_reads_as_another_function_is_that_of_rows(dialect: str) -> None:
    tree, other = (afa.sql(SAID, event=Row, dialect=each).tree for each in (dialect, None))
    assert tree == other or (dialect in FOLDED and repr(tree).lower() == repr(other).lower())
    assert tree.returns is not None
    assert tree.returns[0] == ("x", Ref("B" if dialect in FOLDED else "b", "last", "p", 1))


def test_a_dialect_is_one_of_those_that_are_known() -> None:
    with pytest.raises(QueryError, match=r"expected dialect= as one of bigquery, .*, trino but got dialect='nosuch'"):
        afa.sql(WHOLE, event=Row, dialect="nosuch")


def tree_of(pattern: str = "a b", define: str = "", measures: str = "a.p AS x", of: str = "t", tail: str = "", **say: Any) -> Any:
    define = define and f"DEFINE {define}"
    text = f"SELECT * FROM {of} MATCH_RECOGNIZE (ORDER BY at MEASURES {measures} PATTERN ({pattern}) {define}) {tail}"
    return afa.sql(text, event=Row, tick="s", **say).tree


def test_names_in_quotes_of_both_kinds() -> None:
    plain = tree_of("a b+", "b AS b.p > 1", "LAST(b.p) AS x")
    assert tree_of('"a" b+', '"b" AS b."p" > 1', 'LAST("b".p) AS "x"') == tree_of(
        "`a` b+", "`b` AS b.`p` > 1", "LAST(`b`.p) AS `x`"
    )
    assert tree_of("a `B`+", '"B" AS "B".p > 1', "LAST(b.p) AS x").returns == (("x", Ref("B", "last", "p")),)
    assert tree_of("a b+", "b AS b.p > 1", "LAST(b.p) AS x", of="`t`", tail="AS `m`;") == plain


NAMES = {"one": "on", "two": "drop", "three": "end"}


def test_words_of_sql_are_variables_where_the_pattern_names_them() -> None:
    plain = tree_of("one two three+", "two AS two.p > one.p, three AS p > LAST(two.p)", "COUNT(three.*) AS n, one.p AS x")
    words = tree_of("on drop end+", "drop AS drop.p > on.p, end AS p > LAST(drop.p)", "COUNT(end.*) AS n, on.p AS x")
    assert str(words) == re.sub("'(one|two|three)'", lambda found: f"'{NAMES[found[1]]}'", str(plain)).replace(
        "which='on'", "which='one'"
    )
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at AFTER MATCH SKIP TO FIRST drop PATTERN (on drop+) SUBSET all = (on, drop))"
    tree = afa.sql(text, event=Row).tree
    assert (tree.skip, tree.subsets) == ("to first drop", (("all", ("on", "drop")),))


def test_columns_of_the_input_by_its_name_or_its_alias() -> None:
    plain = tree_of("a b", "b AS p > a.p AND PREV(f) > 1 AND COUNT(*) = 2", "LAST(p) AS x, COUNT(*) AS n", of="t")
    for name in ("ticks", "i"):
        define = f"b AS {name}.p > a.p AND PREV({name}.f) > 1 AND COUNT({name}.*) = 2"
        assert tree_of("a b", define, f"LAST({name}.p) AS x, COUNT({name}.*) AS n", of="c.ticks AS i") == plain
    assert tree_of("t b", "b AS p > t.p", "t.p AS x").returns == (("x", Ref("t", "one", "p")),)  # the variable, not the table
    with pytest.raises(QueryError, match="expected a variable of the pattern but got 'u'; they are: a, b"):
        tree_of(define="b AS u.p > 1")
    with pytest.raises(QueryError, match=r"expected CLASSIFIER\(\) or CLASSIFIER\(v\) but got 'CLASSIFIER\(t\)'"):
        tree_of(measures="CLASSIFIER(t) AS x")


def test_forms_that_are_others() -> None:
    assert tree_of("a{,} b") == tree_of("a* b")
    assert tree_of("a{,}? b").pattern.items[0] == Repeat(tree_of().pattern.items[0], 0, None, tree_of().pattern.gaps[0], False)
    assert tree_of(measures="COUNT() AS x") == tree_of(measures="COUNT(*) AS x")
    assert tree_of(tail="m; -- the end") == tree_of()
    assert tree_of("a /* ) */ b -- DEFINE\n") == tree_of()
    assert tree_of(measures="RUNNING a.p + 1 AS x, FINAL a.p AS y") == tree_of(measures="a.p + 1 AS x, a.p AS y")
    assert tree_of(measures="FINAL CLASSIFIER() AS c").returns == (("c", Classifier()),)


def match(text: str) -> str:
    return f"{text} MATCH_RECOGNIZE (ORDER BY at MEASURES a.p AS x PATTERN (a))"


LAYERS = {
    f"SELECT x FROM {match('t')}": "t match select",
    f"FROM {match('d.t AS y')} m SELECT m.x + 1 WHERE x > 2": "d.t AS y match select",
    f"SELECT DISTINCT x FROM {match('(SELECT p, at FROM t WHERE p > 1) AS v')} ORDER BY x": "t select match select",
    f"WITH v AS (SELECT * FROM t), t AS (SELECT * FROM v WHERE p > 1) SELECT * FROM {match('t')}": "t select select match select",
    f"SELECT * FROM {match(match('t'))}": "t match match select",
    f"WITH m AS (SELECT x AS p, at FROM {match('t')}) SELECT * FROM {match('m')} AS n": "t match select match select",
    f"SELECT * FROM (SELECT * FROM {match('t')}) WHERE x > 1": "t match select select",
    "SELECT p FROM t": "t select",
    # one for a relational engine
    f"SELECT * FROM {match('t')} AS m JOIN u ON m.x = u.x": "JOIN",
    f"SELECT * FROM u, {match('t')}": "JOIN",
    f"SELECT COUNT(*) FROM {match('t')}": "COUNT(*)",
    f"SELECT x FROM {match('t')} GROUP BY x": "GROUP BY",
    f"SELECT x, RANK() OVER (ORDER BY x) AS r FROM {match('t')}": "RANK() OVER (ORDER BY x)",
    f"SELECT x FROM {match('t')} WHERE x IN (SELECT x FROM u)": "(SELECT x FROM u)",
    f"SELECT x FROM {match('t')} LIMIT 3": "LIMIT",
    f"SELECT x FROM {match('(SELECT DISTINCT p, at FROM t)')}": "DISTINCT",
    f"SELECT x FROM {match('(SELECT * FROM t UNION ALL SELECT * FROM u)')}": "UNION",
    f"SELECT x FROM {match('(VALUES (1, 2)) AS v(p, at)')}": "VALUES",
    f"SELECT x FROM {match('t TABLESAMPLE (10)')}": "TABLESAMPLE",
    f"SELECT x FROM {match('TABLE(f(1))')}": "TABLE (..)",
    f"SELECT x FROM {match('t')} UNION SELECT 1": "UNION",
}


@pytest.mark.parametrize("text", LAYERS)
def test_how_rows_flow_through_a_statement(text: str) -> None:
    found = layers_of(statement_of(text))
    if found.relational is not None:
        assert found.relational.said == LAYERS[text]
        assert not found.steps
        return
    kinds = ["match" if isinstance(step, RowPatternMatch) else "select" for step in found.steps]
    assert f"{found.table.sql()} {' '.join(kinds)}" == LAYERS[text]
    assert found.plain == (kinds == ["match", "select"])


def test_each_match_has_a_name_in_the_tree_around_it() -> None:
    inner = match("c.t AS i")
    outer = match(f"(SELECT * FROM {inner} WHERE x > 1) AS v")
    found = statement_of(f"SELECT * FROM u JOIN {outer} AS m ON true", "duckdb")
    assert found.tree.sql() == 'SELECT * FROM u JOIN "#1" AS m ON TRUE'
    assert [each.relation.sql() for each in found.matches.values()] == ["c.t AS i", '(SELECT * FROM "#0" WHERE x > 1) AS v']
    assert [each.place for each in found.matches.values()] == [45, 123]
    with pytest.raises(QueryError, match="expected names that are no number of a MATCH_RECOGNIZE but got #0"):
        afa.sql(f'SELECT "#0" FROM {inner}', event=Row)


WRONG = {  # what is wrong, and where: the text from there on
    "SELECT * MATCH_RECOGNIZE (PATTERN (a))": ("the name of a table in FROM but got none", "MATCH_RECOGNIZE"),
    "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at PATTERN (a)": ("that closes MATCH_RECOGNIZE but got the end", ""),
    "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at PATTERN (a) foo": ("that closes MATCH_RECOGNIZE but got the end", ""),
    "SELECT * FROM t MATCH_RECOGNIZE (foo)": ("a clause but got 'foo'; the clauses come in this order", "foo"),
    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) DEFINES a AS 1)": ("behind PATTERN but got 'DEFINES'", "DEFINES"),
    "SELECT * FROM t MATCH_RECOGNIZE (MEASURES PATTERN (a))": ("behind MEASURES but got nothing", "PATTERN"),
    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) PATTERN (b))": (
        "each clause once, in its place, but got 'PATTERN'",
        "PATTERN (b",
    ),
    "SELECT * FROM t MATCH_RECOGNIZE (MEASURES p AS x, PATTERN (a))": ("value AS name in MEASURES but got none", "PATTERN"),
    "SELECT * FROM t MATCH_RECOGNIZE (MEASURES p + 1 PATTERN (a))": ("value AS name in MEASURES but got 'p + 1'", "p + 1"),
    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS p >)": ("can't be read at ')'; a condition is", ")"),
    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS p > 1 p)": ("can't be read at 'p'; a condition is", "p)"),
    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS ABS() > 1)": ("at ')'; write what the function is of", ") > 1"),
    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) SUBSET u = a)": ("name = (v, ..) in SUBSET but got 'u = a'", "u = a"),
    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) WITHIN INTERVAL)": ("or WITHIN n but got 'WITHIN INTERVAL'", "WITHIN"),
    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) WITHIN '5')": ("INTERVAL 'n' UNIT or WITHIN n but got \"WITHIN '5'\"", "WITHIN"),
    "SELECT * FROM t MATCH_RECOGNIZE (AFTER MATCH SKIP TO PATTERN (a))": ("TO v but got 'AFTER MATCH SKIP TO'", "AFTER"),
    "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY p FROM PATTERN (a))": ("can't be read at 'FROM'; write columns", "FROM PATTERN"),
    "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at PATTERN (a)) WHERE": (
        "at the end; write SELECT .. FROM name MATCH_RECOGNIZE",
        "",
    ),
    "SELECT * FROM t WHERE s = 'x": ("a text, a name or a comment that does not end", "'x"),
    "SELECT * /* b */ FROM t /* a": ("a text, a name or a comment that does not end", "/* a"),
    "SELECT * FROM t; SELECT 1": ("but got another statement", "SELECT 1"),
    "": ("but got another statement", ""),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_shown_at_its_place(text: str) -> None:
    message, at = WRONG[text]
    with pytest.raises(QueryError) as caught:
        afa.sql(text, event=Row)
    said, shown, caret = str(caught.value).split("\n")
    assert message in said
    assert shown[len(caret) - 1 :].startswith(at)
    assert shown.strip() in text
    assert f"column {text.rindex(at) + 1 if at else len(text) + 1}:" in said


DEEP = {
    "parentheses": "(" * 4_900 + "p" + ")" * 4_900 + " > 1",
    "open parentheses": "(" * 9_000,
    "functions": "ABS(" * 2_000 + "p" + ")" * 2_000 + " > 1",
    "cases": "CASE WHEN " * 900,
    "nots": "NOT " * 2_400 + "p > 1",
    "signs": "- " * 4_800 + "p > 1",
    "brackets": "[" * 9_000,
    "braces": "{" * 9_000,
    "selects": "(SELECT " * 1_000,
    "finals": "FINAL LAST(" * 800 + "p" + ")" * 800,
    "commas": "p > 1" + "," * 9_000,
    "line comments": "p > 1 " + "-- x\n" * 1_800,
    "comments": "p > 1 " + "/**/ " * 1_800,
    "open comments": "p > 1 " + "/* " * 3_000,
    "ands": "p > 1 AND " * 900 + "p > 1",
    "ors": "p > 1 OR " * 950 + "p > 1",
    "quotes": "'" * 9_001,
    "double quotes": '"' * 9_001,
    "backticks": "`" * 9_001,
    "dollars": "$" * 9_001,
    "clauses": "p > 1 DEFINE " * 700,
    "matches": "MATCH_RECOGNIZE (" * 550,
}


FINE = ("line comments", "comments", "ands", "ors")


@pytest.mark.parametrize("dialect", [None, "duckdb", "flink"])
@pytest.mark.parametrize("name", DEEP)
def test_hostile_text_is_refused_in_time(name: str, dialect: str | None) -> None:
    begun = time.process_time()
    with contextlib.nullcontext() if name in FINE else pytest.raises(QueryError, match=r"line 1, column \d+: expected "):
        tree_of(define=f"b AS {DEEP[name]}", dialect=dialect)
    assert time.process_time() - begun < 5


class Grown(NamedTuple):
    p: int
    n: int | None
    flag: bool
    note: str | None
    at: afa.Instant | None = None


def nested(form: str, n: int, inner: str = "p") -> str:
    for _ in range(n):
        inner = form.format(inner)
    return inner


def doubled(n: int) -> str:
    return "FIRST(p) AS m0, " + ", ".join(f"m{i} + m{i} AS m{i + 1}" for i in range(n))


def over(measures: str = "LAST(p) AS low", define: str = "b AS p > 1", of: str = "t", pattern: str = "a b+") -> str:
    return f"(SELECT * FROM {of} MATCH_RECOGNIZE (ORDER BY at MEASURES {measures} PATTERN ({pattern}) DEFINE {define}))"


GROWING = {
    **{
        f"{form} {n} times": over(define=f"b AS {nested(form, n)} > 1")
        for form in (
            "NULLIF({}, 1)", "COALESCE({}, 1)", "SQRT({})", "MOD({}, p)", "CASE {} WHEN 1 THEN 2 ELSE 3 END",
            "DATE_TRUNC('year', {})",
            "LEAST({}, n)", "IF({} > 1, 1, 2)", "CAST({} > 1 AS INT)", "DATEDIFF('month', at, {})", "EXTRACT(DOY FROM {})",
        )
        for n in (11, 25)
    },
    "truths": over(define=f"b AS {nested('({}) IS NOT DISTINCT FROM flag', 25, 'flag')}"),
    "between": over(define=f"b AS {nested('({}) BETWEEN flag AND flag', 25, 'flag')}"),
    "greatest": over(define=f"b AS GREATEST({', '.join(['n'] * 900)}) > 1"),
    "concat": over(define=f"b AS CONCAT({', '.join(['note'] * 900)}) = 'x'"),
    "measures": over(doubled(60)),
    "many measures": over(doubled(11) + "".join(f", m11 AS a{i}" for i in range(400))),
    "selected": f"SELECT {', '.join(f'm11 AS b{i}' for i in range(400))} FROM {over(doubled(11))}",
    "computed": f"SELECT {', '.join(f'm11 + {i} AS b{i}' for i in range(400))} FROM {over(doubled(11))}",
    "layers": nested("(SELECT low + low AS low FROM {})", 80, over()),
    "stars": nested("(SELECT *, low AS x FROM (SELECT low + 1 AS low FROM {}))", 40, over()),
    "wheres": nested("(SELECT low FROM {} WHERE low > low + low)", 60, over()),
    "views": over(of=nested("(SELECT at, p + p AS p FROM {})", 80, "t")),
    "columns": over(
        of=f"(SELECT {', '.join(f'p AS p{i}' for i in range(400))}, at FROM {nested('(SELECT at, p + p AS p FROM {})', 12, 't')})",
        measures="LAST(p1) AS low",
        define="b AS p2 > 1",
    ),
    "ctes": "WITH v0 AS (SELECT at, p FROM t), "
    + ", ".join(f"v{i + 1} AS (SELECT at, p * p AS p FROM v{i})" for i in range(150))
    + f" SELECT * FROM {over(of='v150')}",
    "permute": over(pattern=nested("PERMUTE({}, b, c, d)", 60, "a")),
    "permuted": over(pattern="PERMUTE(" * 4 + "a, b, c, d" + "), b, c, d" * 3 + ")"),
    "cases": over(define=f"b AS CASE n {' '.join(f'WHEN n + {i} THEN n' for i in range(300))} END > 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", GROWING)
def test_text_that_grows_when_it_is_written_out_is_bounded(name: str) -> None:
    text = f"SELECT * FROM {GROWING[name]}" if GROWING[name].startswith("(") else GROWING[name]
    assert len(text) <= 10_000
    profile = cProfile.Profile()
    with contextlib.suppress(AfaError):
        profile.runcall(afa.sql, text, event=Grown, dialect="spark" if "SQRT" in name else "duckdb", tick="s")
    calls = sum(each.callcount for each in profile.getstats())
    assert 0 < calls < 4_000_000  # a second or two
