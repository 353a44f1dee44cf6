"""AFTER MATCH SKIP: to a match's own first event, how many choices a match may have, what is refused. Random ones: `sql_worlds`."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
import pytest

import afa
from afa import BudgetError, ChangeError, insert, retract
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
    tree = Tree(pattern, Tick, "type", window=window, returns=returns, time="at", skip="to first a")
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
    assert "without WITHIN a match never expires" in str(free.explain())
    assert "what is chosen is never final" in str(free.explain())


class Letter(NamedTuple):
    kind: str
    k: int
    at: afa.Instant | None = None


MANY = """SELECT * FROM rows MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES COUNT(*) AS n {rows} PER MATCH PATTERN ({pattern})
WITHIN 200 DEFINE {define})"""


def many_choices(pattern: str, rows: str = "ONE ROW") -> Any:
    define = ", ".join(f"{name} AS kind = '{name}'" for name in "abcd" if name in pattern)
    return afa.sql(MANY.format(rows=rows, pattern=pattern, define=define), event=Letter)


@pytest.mark.parametrize(
    ("pattern", "rows", "said"),
    [
        ("(a | b)+", "ONE ROW", "the group of a, b repeats"),
        ("((a | b)+ a?)", "ALL ROWS", "the group of a, b repeats, a stands at 2 places"),
        ("a b*? d b?", "ONE ROW", "b stands at 2 places"),
        ("a (b*? c?)? d", "ONE ROW", "an optional group of it may take nothing before it takes rows"),
    ],
)
def test_a_match_of_too_many_choices_is_refused(pattern: str, rows: str, said: str, engine: str) -> None:
    """Its row is not taken, by one call or many at once; another key goes on, and so does this one where the match is shorter."""
    query = many_choices(pattern, rows)
    letters = "ab" * 21 if "|" in pattern else "a" + "b" * 66 + "d"
    come = [insert(Letter(kind, 7, None), le) for le, kind in enumerate(letters)]
    whole, op = query.operator(engine=engine), query.operator(engine=engine)
    most = "expected a match of at most 62 choices of its pattern but got one of more"
    message = rf"{most}, ((?!choose\d).)* at le=\d+ of key 7: {said}\. Write one .* by a Derive"
    empty = whole.snapshot()
    with pytest.raises(BudgetError, match=message):
        whole.push_many(come)
    assert whole.snapshot() == empty
    for change in come:
        before = op.snapshot() if change.le > 38 else b""
        try:
            op.push(change)
        except BudgetError:
            break
    assert op.snapshot() == before
    assert change.le > 38
    op = query.restore(before, engine=engine)
    with pytest.raises(BudgetError, match=message):
        op.push(change)
    assert op.push(insert(Letter("a", 8), 0)) or "|" not in pattern
    taken = op.statistics.events
    gone = come[10:35] if "|" in pattern else come[10:50]
    op.push_many([retract(each.payload, each.le) for each in gone])
    op.push(change)
    assert op.statistics.events == taken + 1 - len(gone)


def test_a_group_repeats_as_often_as_an_int_holds_its_choices(engine: str) -> None:
    query = many_choices("(a b)+ c")
    assert "a group repeats, or a name stands at several places" in str(query.explain())
    op, end = query.operator(engine=engine), Letter("c", 0)
    op.push_many([insert(Letter(kind, 0), le) for le, kind in enumerate("ab" * 62)])
    assert [change.payload.n for change in op.push(insert(end, 180))] == [125]
    op.push_many([retract(end, 180), insert(Letter("a", 0), 124), insert(Letter("b", 0), 125)])
    with pytest.raises(
        BudgetError, match=r"expected a match of at most 62 choices of its pattern but got one .* group of a, b repeats"
    ):
        op.push(insert(end, 180))
    assert op.statistics.events == 126


def test_one_choice_among_more_ways_than_an_int_has_bits(engine: str) -> None:
    """Ones would not say it: numbers do. Not so among a few less, twice."""
    op = many_choices("(PERMUTE(a?, b?, c?, d?) a)", "ALL ROWS").operator(engine=engine)
    for k, (letters, counts) in enumerate({"a": [1], "ba": [1, 2], "dbca": [1, 2, 3, 4], "adcba": [1, 1, 2, 3, 4]}.items()):
        found = op.push_many([insert(Letter(kind, k), le) for le, kind in enumerate(letters)])
        assert [c.payload.n for c in found] == counts
    choices = f"({' | '.join(['a b'] * 34)})"
    op = many_choices(f"({choices} {choices})").operator(engine=engine)
    with pytest.raises(
        BudgetError, match=r"expected a match of at most 62 choices .*: a stands at 68 places, b stands at 68 places"
    ):
        op.push_many([insert(Letter(kind, 0), le) for le, kind in enumerate("abab")])


def test_explain_says_what_runs_cost() -> None:
    def said(pattern: str) -> str:
        return str(many_choices(pattern).explain())

    for pattern in ("a b*", "(a b)+", "a{2,}", "(a b{3,})?  a"):
        assert "n * (n + 1) / 2 partial matches are made to show one" in said(pattern)
        assert "cost less as a Derive" in said(pattern)
    assert "Derive" not in said("a b{1,4}")
    assert "a call that makes one of more is refused (afa.BudgetError)" in said("(a b)+")
