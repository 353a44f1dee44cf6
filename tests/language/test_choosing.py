"""AFTER MATCH SKIP: to a match's own first event, long runs of many choices, what is refused, what `explain` says.

Random ones: `sql_worlds`.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

import afa
from afa import AfaError, Arc, AutomatonError, ChangeError, insert, retract
from afa.language.pattern import STRICT, Component, Gap, Pattern, Repeat, Seq, Tree
from afa.language.terms import Ref
from tests.language.oracle import Event
from tests.language.trees import Tick
from tests.language.worlds import World, run

A, B = Component("a", "a"), Component("b", "b")


@pytest.mark.parametrize("pattern", [A, Seq((Repeat(A, 0, 1), B), (Gap(STRICT),))])
@pytest.mark.parametrize("window", [None, 5])
def test_the_next_match_begins_behind_a_match_s_own_first_event(pattern: Pattern, window: int | None, engine: str) -> None:
    returns = (("first", Ref("", "first", "at")), ("last", Ref("", "last", "at")))
    tree = Tree(pattern, Tick, "type", window=window, returns=returns, time="at", skip="to first a", ties=False)
    found = 0
    for seed in range(4):
        rng = random.Random(seed)
        events = [Event(Tick(rng.choice("aabbc"), 0, 0, 0.0, "", 0, le), le) for le in rng.sample(range(9), 8)]
        ops: list[Any] = [("+", event) for event in events]
        ops += [("-", event) for event in rng.sample(events, 3)]
        found += run(World(tree, tuple(ops)), engine)["matches"]
    assert found


class Row(NamedTuple):
    x: int
    at: afa.Instant | None = None


SQL = """SELECT * FROM rows MATCH_RECOGNIZE (ORDER BY at MEASURES FIRST(a.x) AS x PATTERN (a+ b) {within}
DEFINE a AS x < 5, b AS x >= 5)"""


def test_rows_of_sql_have_no_lifetime_of_their_own(engine: str) -> None:
    """Where a match begins is told by its RE, which a row that ends sooner would shorten."""
    query = afa.sql(SQL.format(within="WITHIN INTERVAL '10' SECOND"), event=Row, tick="s")
    op = query.operator(engine=engine)
    message = r"expected rows that last as long as WITHIN says, 10 ticks, but got le=1, re=5 for Row\(x=1"
    with pytest.raises(ChangeError, match=message):
        op.push(insert(Row(1), 1, 5))
    with pytest.raises(ChangeError, match=message):
        op.push_many({"x": np.array([2, 1]), "le": np.array([0, 1]), "re": np.array([10, 5])})
    out = op.push_many({"x": np.array([1, 2, 7]), "le": np.array([1, 2, 3]), "re": np.array([11, 12, 13])})
    assert np.asarray(out["x"]).tolist() == [1]
    assert op.push(insert(Row(3), 4, 14)) == []
    free = afa.sql(SQL.format(within=""), event=Row, tick="s")
    assert free.operator(engine=engine).push_many([insert(Row(1), 1, 5), insert(Row(7), 2, 9)])[0].re == 5
    assert "without WITHIN a match never expires: an attempt lies open as long as" in str(free.explain())
    assert "(a may take any number), and from its first row on all are held; no match is final before the last" in str(
        free.explain()
    )


@pytest.mark.parametrize("rows", ["ONE ROW", "ALL ROWS"])
def test_measures_that_raise(rows: str, engine: str) -> None:
    """The call is refused, and says in which match of which key; nothing of it stays."""
    text = f"""SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES 6.0 / (LAST(b.k) + COUNT(*) - 9) AS odd
        {rows} PER MATCH PATTERN (a b+) WITHIN 9 DEFINE b AS kind = 'b')"""
    op = afa.sql(text, event=Letter).operator(engine=engine)
    assert op.push_many([insert(Letter(kind, 6), le) for le, kind in enumerate("ab")])
    before = op.snapshot()
    with pytest.raises(ZeroDivisionError, match=r"(?s)MEASURES, in the match from 0 to 2.{1,2}of key 6"):
        op.push(insert(Letter("b", 6), 2))
    assert op.snapshot() == before
    assert op.push(insert(Letter("a", 6), 2)) == []


def test_the_automaton_alone(engine: str) -> None:
    """It chooses wherever it serves; what contradicts that is refused."""
    query = afa.sql(SQL.format(within="WITHIN INTERVAL '10' SECOND"), event=Row, tick="s")
    op = afa.Operator(query.automaton, window="10 s", tick="s", engine=engine)
    assert [c.payload.x for c in op.push_many([insert(Row(x), le) for le, x in enumerate((1, 2, 7))])] == [1]
    with pytest.raises(AfaError, match="expected window=10, as the automaton chooses among matches WITHIN that, but got 9"):
        afa.Operator(query.automaton, window=9)
    for option in ({"longest": True}, {"gapless": "x"}, {"having": "sum(x) > 1"}, {"collapse": "x"}):
        with pytest.raises(AfaError, match="can't be combined with AFTER MATCH SKIP because"):
            afa.Operator(query.automaton, window=10, **option)


class Letter(NamedTuple):
    kind: str
    k: int
    at: afa.Instant | None = None


MANY = """SELECT * FROM rows MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES COUNT(*) AS n {rows} PER MATCH PATTERN ({pattern})
WITHIN 200 DEFINE {define})"""


def many_choices(pattern: str, rows: str = "ONE ROW") -> Any:
    define = ", ".join(f"{name} AS kind = '{name}'" for name in "abcd" if name in pattern)
    return afa.sql(MANY.format(rows=rows, pattern=pattern, define=define), event=Letter)


@pytest.mark.parametrize("rows", ["ONE ROW", "ALL ROWS"])
@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        ("(a | b)+", "ab" * 30),
        ("((a | b)+ a?)", "ab" * 30),
        ("(a b)+ c", "ab" * 80 + "c"),
        ("a b*? d b?", "a" + "b" * 66 + "d"),
        ("a (b*? c?)? d", "a" + "b" * 66 + "d"),
        (f"({' | '.join(['a b'] * 34)}) ({' | '.join(['a b'] * 34)})", "abab"),
    ],
)
def test_a_match_may_have_any_number_of_choices(pattern: str, letters: str, rows: str, engine: str) -> None:
    """Groups that repeat, variables at many places: each choice once, by one call or many, whatever row comes last."""
    query = many_choices(pattern, rows)
    come = [insert(Letter(kind, 7), le) for le, kind in enumerate(letters)]
    wanted = set(range(1, len(letters) + 1)) if rows == "ALL ROWS" else {len(letters)}
    whole, late = query.operator(engine=engine), query.operator(engine=engine)
    assert {change.payload.n for change in whole.push_many(come)} == wanted
    net = Counter[int]()
    for change in (*come[:2], *come[3:], come[2]):
        for each in late.push(change):
            net[each.payload.n] += each.diff
    assert {n for n, copies in net.items() if copies} == wanted
    assert late.statistics.matches == whole.statistics.matches == len(wanted)


def test_an_arc_in_the_place_of_another_writes_the_same_register(engine: str) -> None:
    """Where the register is the row before, the compiled engine holds none."""
    query = afa.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES COUNT(*) AS n AFTER MATCH SKIP PAST LAST ROW PATTERN (a b+) "
        "DEFINE b AS y < PREV(y))",
        event=Tick,
    )
    own = next(arc for arc in query.automaton.arcs if arc.dst == "b+")
    operator = query.operator(engine=engine)
    with pytest.raises(AutomatonError, match=r"expected a transfer that writes e\.y, as the register is that of the row before"):
        operator.push_many([insert(Arc(own.src, own.dst, fence="True", transfer=lambda e, r: r, select="b", name="mine"), 5)])
    operator.push_many([insert(Arc(own.src, own.dst, fence="True", transfer=own.transfer, select="b", name="mine"), 5)])


def test_permuted_parts_that_may_be_missing(engine: str) -> None:
    op = many_choices("(PERMUTE(a?, b?, c?, d?) a)", "ALL ROWS").operator(engine=engine)
    for k, (letters, counts) in enumerate({"a": [1], "ba": [1, 2], "dbca": [1, 2, 3, 4], "adcba": [1, 1, 2, 3, 4]}.items()):
        found = op.push_many([insert(Letter(kind, k), le) for le, kind in enumerate(letters)])
        assert [c.payload.n for c in found] == counts


@pytest.mark.parametrize(
    ("pattern", "each"), [("(a | b)+ d", 2), ("a+ b+ c+ d", 3), ("a+ a+ a+ d", 3), ("a (b* c)? d?", 5), ("((a | b)+ c?)* d", 4)]
)
def test_conditions_that_overlap_cost_a_row_what_the_pattern_has_places(pattern: str, each: int, engine: str) -> None:
    """All rows are of all variables but the last one. Not one partial match for each way through the pattern."""
    text = MANY.format(rows="ONE ROW", pattern=pattern, define="d AS kind = 'd'").replace("200", "99999")
    query, n = afa.sql(text, event=Letter), 150
    op = query.operator(engine=engine, partial_matches=2 * n)
    assert [c.payload.n for c in op.push_many([insert(Letter("a", 0), le) for le in range(n)])] == (
        [n] if "?" in pattern[:9] else []
    )
    assert op.statistics.partial_matches < each * each * n
    (change, *_) = op.push(insert(Letter("d", 0), n))[::-1]
    assert change.payload.n == n + 1
    op.push(retract(Letter("a", 0), n // 2))
    (change,) = op.push_many([insert(Letter("a", 0), n // 2), insert(Letter("a", 0), -1)])[-1:]
    assert change.payload.n == n + 2


def test_islands_hold_a_row_once(engine: str) -> None:
    """Each row of an island may begin a match: one is shown, and one is held."""
    query = afa.sql(
        """SELECT * FROM rows MATCH_RECOGNIZE (ORDER BY at MEASURES FIRST(at) AS first, COUNT(*) AS n AFTER MATCH SKIP PAST LAST ROW
        PATTERN (a b*) WITHIN 100000 DEFINE b AS at - PREV(at) <= 2)""",
        event=Row,
    )
    op = query.operator(engine=engine)
    found = op.push_many([insert(Row(1), le) for le in range(3000) if le % 1000])
    assert [(c.payload.first, c.payload.n, c.le) for c in found] == [(1, 2997, 2999)]
    assert op.statistics[:4] == (2997, 2 * 2997 - 1, 0, 1)  # attempts that have begun before are one
    found = op.push_many([retract(Row(1), 1500), retract(Row(1), 1501)])
    assert [(c.diff, c.payload.first, c.payload.n) for c in found] == [(-1, 1, 2997), (1, 1, 1498), (1, 1502, 1497)]


def test_explain_says_what_runs_cost() -> None:
    def said(pattern: str, within: str = "WITHIN 200") -> str:
        define = ", ".join(f"{name} AS kind = '{name}'" for name in "abcd" if name in pattern)
        return str(
            afa.sql(
                MANY.format(rows="ONE ROW", pattern=pattern, define=define).replace("WITHIN 200", within), event=Letter
            ).explain()
        )

    for pattern in ("a b*", "(a b)+", "a{2,}", "(a b{3,})?  a"):
        assert "cost" not in said(pattern)
        assert "field n: int, shown" in said(pattern)
        assert "warning" not in said(pattern)
        assert "may take any number), and from its first row on all are held" in said(pattern, "")
    assert "as long as each row that comes is one that it can take, and from its" in said("a b{1,4}", "")
    rising = afa.sql(SQL.format(within="").replace("a AS x < 5", "a AS x < 2 * FIRST(a.x)"), event=Row).explain()
    assert "cost of a: one partial match for each value that open attempts hold, as read by e.x < 2 * r.a_first_x" in str(rising)
