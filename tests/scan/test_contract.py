"""AFTER MATCH SKIP: the sentences on the scan in ``SEMANTICS.md``, a table of cases for each, in every order of arrival."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations
from typing import Any, NamedTuple

import pytest

import afa
from afa import FOREVER, Change, Punctuation, insert, retract


class Row(NamedTuple):
    a: int
    b: int
    c: int
    at: afa.Instant | None = None


def row(variables: str) -> Row:
    """A row that these variables may take."""
    return Row(*(int(name in variables) for name in "abc"))


class Case(NamedTuple):
    """What a pattern shows of rows.

    rows    at instants 1, 2, .. the variables that may take the row; with ``-4`` behind them the row ends at 4
    shown   of each match its first instant, and the variables that take its rows, one a row: ``2 ABB``
    ends    where matches end; None: as WITHIN says, or FOREVER
    """

    pattern: str
    rows: str
    shown: tuple[str, ...]
    skip: str = "PAST LAST ROW"
    within: int | None = None
    ends: tuple[int, ...] | None = None

    def query(self, rows: str = "ONE ROW") -> afa.Query:
        within = "" if self.within is None else f"WITHIN {self.within}"
        define = ", ".join(f"{name} AS {name} = 1" for name in "ABC" if re.search(rf"\b{name}\b", self.pattern))
        begins = "SKIP TO NEXT ROW" if self.skip == "TO LAST A" else f"SKIP {self.skip}"  # which the text of a query may not say
        found = afa.sql(
            f"""SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES FIRST(at) AS first, CLASSIFIER() AS took, COUNT(*) AS n
            {rows} PER MATCH AFTER MATCH {begins} PATTERN ({self.pattern}) {within}
            DEFINE {define})""",
            event=Row,
        )
        return found if self.skip in begins else afa.Query(replace(found.tree, skip="to last A"))

    def events(self) -> list[Change]:
        found = []
        for le, said in enumerate(self.rows.split(), 1):
            variables, _, end = said.partition("-")
            if variables != ".":
                found.append(insert(row(variables), le, int(end) if end else None))
        return found

    def wanted(self) -> set[Any]:
        """Of each row of each match: first instant, variable, how many rows up to it, LE, RE."""
        found: set[Any] = set()
        for i, match in enumerate(self.shown):
            first, took = match.split()
            begin, held = int(first), [change.le for change in self.events()]
            les = [le for le in held if le is not None and le >= begin][: len(took)]
            ends = begin + self.within if self.within is not None else FOREVER if self.ends is None else self.ends[i]
            found |= {(begin, name, n, le, ends, n == len(took)) for n, (name, le) in enumerate(zip(took, les), 1)}
        return found


CASES = {
    "each row begins an attempt": Case("A B", "a a b", ("2 AB",)),
    "each row begins an attempt, also one within a match that is none yet": Case("A A B", "a a a b", ("2 AAB",)),
    "a match takes each row from its first to its last": Case("A B", "a c b", ()),
    "one more iteration before none": Case("A B*", "a b b", ("1 ABB",)),
    "reluctant: none before one": Case("A B*?", "a b b", ("1 A",)),
    "reluctant: as few as lead to the end": Case("A B*? C", "a b bc c", ("1 ABC",)),
    "the left alternative before the right one": Case("A (B | C)", "a bc", ("1 AB",)),
    "the left alternative, though the right one takes more": Case("A (B | B C)", "a b c", ("1 AB",)),
    "the right alternative, where the left one leads nowhere": Case("A (B | C) A", "a bc c", ()),
    "decided from left to right": Case("A+ B* C", "ab ab abc", ("1 AAC",)),
    "PERMUTE: the orders as they are written": Case("PERMUTE(A, B)", "ab ab", ("1 AB",)),
    "an iteration that takes nothing is the last one": Case("A (B??)* C?", "a bc", ("1 AC",)),
    "an iteration that takes nothing, at the end": Case("A (B*?)+", "a b b", ("1 A",)),
    "an iteration that takes nothing, where more are demanded": Case("A (B??){2} C?", "a bc bc", ("1 AC",)),
    "the last end of an attempt": Case("A (B C)*", "a b c b c", ("1 ABCBC",)),
    "the last end, though what was hoped for did not come": Case("A (B C)*", "a b c b a", ("1 ABC", "5 A")),
    "the last end before the bound": Case("A B+", "a b b b", ("1 ABB",), within=3),
    "the preferred end lies behind the bound": Case("(A B+ C) | A", "a b b c", ("1 A",), within=3),
    "the preferred end lies within the bound": Case("(A B+ C) | A", "a b b c", ("1 ABBC",), within=4),
    "a bound by the RE of a row": Case("A B+", "a b-3 b", ("1 AB",), ends=(3,)),
    "a bound by the RE of a row that another attempt does not take": Case("A B+", "a-2 ab b", ("2 AB",)),
    "PAST LAST ROW: behind its last row": Case("A B", "ab ab ab ab", ("1 AB", "3 AB")),
    "PAST LAST ROW: no row is in two matches": Case("A B B", "ab ab ab ab", ("1 ABB",)),
    "TO NEXT ROW: behind its first row": Case("A B B", "ab ab ab ab", ("1 ABB", "2 ABB"), "TO NEXT ROW"),
    "TO FIRST: at the first row of a variable": Case("A A B B", "ab ab ab ab ab", ("1 AABB",), "TO FIRST B"),
    "TO FIRST: where that row begins a match": Case("A B B", "ab ab ab ab", ("1 ABB", "2 ABB"), "TO FIRST B"),
    "TO LAST: at the last row of a variable": Case("A B B", "ab ab ab ab ab", ("1 ABB", "3 ABB"), "TO LAST B"),
    "TO FIRST of a variable that is not in the match: as TO NEXT ROW": Case("A C? B", "ab ab ab", ("1 AB", "2 AB"), "TO FIRST C"),
    "TO LAST of the match's own first row: as TO NEXT ROW": Case("A B", "ab ab ab", ("1 AB", "2 AB"), "TO LAST A"),
    "a match is shown from its last row on": Case("A B?", "a b", ("1 AB",), within=9),
    "no row between, though instants are": Case("A B", "a . . b", ("1 AB",), within=9),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_shown_whatever_comes_first(name: str, engine: str) -> None:
    case = CASES[name]
    one, each = case.query(), case.query("ALL ROWS")
    rows = {told[:5] for told in case.wanted()}
    matches = {told[:5] for told in case.wanted() if told[5]}
    for order in permutations(case.events()):
        for query, wanted in ((one, matches), (each, rows)):
            op, held = query.operator(engine=engine), set[Any]()
            for change in order:
                for told in op.push(change):
                    payload: Any = told.payload
                    shown = payload.first, payload.took, payload.n, told.le, told.re  # type: ignore[union-attr]
                    assert (shown in held) is (told.diff < 0), (order, told)  # type: ignore[union-attr]
                    held ^= {shown}
            assert held == wanted, order


@pytest.mark.parametrize(("condition", "shown"), [("LAST(a, 1) = 0", [(0, 2)]), ("LAST(a, 1) IS NULL", [(0, 1), (1, 1)])])
def test_before_the_first_row_of_a_match_there_is_none(condition: str, shown: list[tuple[int, int]], engine: str) -> None:
    """``LAST(a, 1)`` is None there, whatever the row before is."""
    query = afa.sql(
        f"""SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES FIRST(at) AS first, COUNT(*) AS n
        AFTER MATCH SKIP TO NEXT ROW PATTERN (B? A) WITHIN 9 DEFINE B AS c = 1, A AS {condition})""",
        event=Row,
    )
    out = query.operator(engine=engine).push_many([insert(row("c"), 0), insert(row(""), 1)])
    assert [tuple(change.payload) for change in out if isinstance(change, Change)] == shown


def test_the_output_is_a_bag(engine: str) -> None:
    """Two attempts that end at one row show the same: two rows, told by one change, withdrawn each with its match."""
    query = afa.sql(
        """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES LAST(at) AS last AFTER MATCH SKIP TO NEXT ROW PATTERN (A+ B)
        DEFINE A AS a = 1, B AS b = 1)""",
        event=Row,
    )
    op = query.operator(engine=engine)
    assert [change.diff for change in op.push_many([insert(row(name), le) for le, name in enumerate("aab", 1)])] == [2]
    assert op.statistics.matches == op.statistics.outputs == 2
    assert [change.diff for change in op.push(retract(row("a"), 1))] == [-1]
    assert [change.diff for change in op.push_many([insert(row("a"), 0), insert(row("a"), 1)])] == [2]
    assert op.push_many([retract(row("a"), 2), insert(row("ac"), 2)]) == []  # one goes, and one that shows the same comes
    assert [change.diff for change in op.push(retract(row("b"), 3))] == [-3]
    assert op.statistics.retractions == op.statistics.outputs == 4


def test_what_is_final_does_not_hide_its_equal(engine: str) -> None:
    """A row of a final match may stand in another one that shows it likewise; matches may be equal where two rows share an LE."""
    rises = afa.sql(
        """SELECT a FROM t MATCH_RECOGNIZE (ORDER BY at ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (X Y)
        DEFINE Y AS a > PREV(a))""",
        event=Row,
    )
    op = rises.operator(engine=engine)
    assert len(op.push_many([insert(Row(a, 0, 0), a) for a in (1, 2)])) == 2
    op.push(Punctuation(9))
    assert [(told.diff, told.le) for told in op.push(insert(Row(3, 0, 0), 9)) if isinstance(told, Change)] == [(1, 2), (1, 9)]
    alone = afa.sql(
        """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at, b MEASURES MAX(Y.c) AS most AFTER MATCH SKIP PAST LAST ROW PATTERN (X Y?)
        WITHIN 6 DEFINE Y AS a = 1)""",
        event=Row,
    )
    op = alone.operator(engine=engine)
    assert len(op.push_many([insert(Row(a, b, 7), le) for a, b, le in ((0, 0, 5), (0, 1, 5), (1, 0, 6))])) == 2
    op.push(Punctuation(6))
    told = op.push(retract(Row(1, 0, 7), 6))
    assert [(change.diff, change.payload.most) for change in told] == [(-1, 7), (1, None)]  # type: ignore[union-attr]


# -- what is final ---------------------------------------------------------------------------------------------------------------

PROMISED = [
    Case("A B*", "ab ab b c ab", (), skip, within)
    for skip in ("PAST LAST ROW", "TO NEXT ROW", "TO FIRST B", "TO LAST B")
    for within in (3, None)
]


@pytest.mark.parametrize("case", PROMISED, ids=lambda case: f"{case.skip}, {case.within}")
def test_a_promise_makes_final_what_can_not_change(case: Case, engine: str) -> None:
    """Promised t: whatever comes at or behind t changes nothing below t - W + 1, which is what is promised of the output."""
    query = case.query()
    for t in range(1, 8):
        op = query.operator(engine=engine)
        op.push_many(case.events())
        out = op.push(Punctuation(t))
        snapshot = op.snapshot()
        final = -FOREVER if case.within is None else t - case.within + 1
        assert out == ([] if case.within is None else [Punctuation(final)])
        for le in range(t, 8):
            for come in [row(name) for name in ("a", "b", "c", "ab")]:
                again = query.restore(snapshot, engine=engine)
                again._check()
                told = again.push_many([retract(old.payload, le) for old in case.events() if old.le == le] + [insert(come, le)])
                assert all(change.le >= final for change in told if isinstance(change, Change))
                again._check()
        assert op.push(Punctuation(FOREVER)) == [Punctuation(FOREVER)]
        assert op.statistics.state_size == 0


@pytest.mark.parametrize(
    ("case", "promised", "held"),
    [
        (Case("A B", "a b a", ()), 4, [3]),  # the attempt of the last row is open
        (Case("A B", "a b c", ()), 4, []),  # the scan goes on behind the match; no attempt is open
        (Case("A B*", "a b c a b", ()), 6, [4, 5]),  # open from its first row on
        (Case("A B*", "a b b b b", ()), 6, [1, 2, 3, 4, 5]),  # for ever, where nothing ends it
        (Case("A B*", "a b b b b", (), within=3), 4, [4, 5]),  # the match of 1 is final, and lands at 4
        (Case("A B*", "a b b b b", (), within=3), 3, [1, 2, 3, 4, 5]),
        (Case("A B C", "ab ab ab", (), within=9), 4, [2, 3]),  # the first attempt is over
        (Case("A B B", "ab ab ab ab", (), "TO NEXT ROW"), 5, [3, 4]),
        (Case("A B B", "ab ab ab ab", (), "TO LAST B"), 5, [3, 4]),
    ],
)  # fmt: skip
def test_what_is_held_behind_a_promise(case: Case, promised: int, held: list[int], engine: str) -> None:
    """The rows from the first start whose match may change, or from where the last match that is final lands."""
    op = case.query().operator(engine=engine)
    op.push_many(case.events())
    op.push(Punctuation(promised))
    assert [step.le for step in op._core.engine.steps(None, -1, 99)] == held
    assert op.statistics.events == len(held)
