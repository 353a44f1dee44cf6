"""SQL's matches against a backtracking matcher, as the standard words it: from each start the preferred match, then SKIP.

Rows come in any order, are taken back and revised; after each step what is in force is what the matcher finds in the rows in force.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from afa import BudgetError, Change, Punctuation, insert, retract
from afa.language.query import Query
from afa.language.sql_reader import read

Row = dict[str, Any]


class Tick(NamedTuple):
    """A row."""

    symbol: str
    at: int
    seq: int
    price: float
    kind: str


class Case(NamedTuple):
    """A query, and what it means by hand: the pattern as nested tuples, conditions over the row and the rows so far."""

    pattern: str
    define: str
    measures: str
    skip: str
    tree: Any
    conditions: dict[str, Callable[[Tick, list[tuple[str, Tick]]], bool]]
    shown: Callable[[list[tuple[str, Tick]]], tuple[Any, ...]]


def of(rows: list[tuple[str, Tick]], *names: str) -> list[Tick]:
    return [row for name, row in rows if name in names]


CASES = [
    Case(
        "s d+ u+", "d AS price < PREV(price), u AS price > PREV(price)", "s.at AS a, LAST(d.at) AS b, LAST(u.at) AS c",
        "PAST LAST ROW", ("seq", "s", ("+", "d"), ("+", "u")),
        {"d": lambda e, m: e.price < m[-1][1].price, "u": lambda e, m: e.price > m[-1][1].price},
        lambda m: (m[0][1].at, of(m, "d")[-1].at, m[-1][1].at),
    ),
    Case(
        "a b*? c", "a AS kind = 'x', c AS price > a.price", "a.at AS a, c.at AS c, COUNT(b.at) AS n", "TO NEXT ROW",
        ("seq", "a", ("*?", "b"), "c"),
        {"a": lambda e, m: e.kind == "x", "c": lambda e, m: e.price > m[0][1].price},
        lambda m: (m[0][1].at, m[-1][1].at, len(of(m, "b"))),
    ),
    Case(
        "a+ b", "a AS AVG(a.price) < 3", "FIRST(a.at) AS a, b.at AS b, SUM(a.price) AS s", "PAST LAST ROW",
        ("seq", ("+", "a"), "b"),
        {"a": lambda e, m: (sum(x.price for x in of(m, "a")) + e.price) / (len(of(m, "a")) + 1) < 3},
        lambda m: (m[0][1].at, m[-1][1].at, sum(x.price for x in of(m, "a"))),
    ),
    Case(
        "a (b | c d?) e{1,2}", "a AS price > 1, b AS kind = 'x', c AS kind <> 'y', d AS price < 3, e AS price > FIRST(a.price)",
        "a.at AS a, LAST(e.at) AS e, COUNT(*) AS n, CLASSIFIER() AS who, b.at AS b", "TO FIRST e",
        ("seq", "a", ("|", "b", ("seq", "c", ("?", "d"))), ("{1,2}", "e")),
        {
            "a": lambda e, m: e.price > 1, "b": lambda e, m: e.kind == "x", "c": lambda e, m: e.kind != "y",
            "d": lambda e, m: e.price < 3,
            "e": lambda e, m: e.price > m[0][1].price,
        },
        lambda m: (m[0][1].at, m[-1][1].at, len(m), m[-1][0], of(m, "b")[0].at if of(m, "b") else None),
    ),
    Case(
        "PERMUTE(a, b) c??", "a AS kind = 'x', b AS price > 2, c AS price < LAST(a.price)", "a.at AS a, b.at AS b, c.at AS c",
        "PAST LAST ROW", ("seq", ("|", ("seq", "a", "b"), ("seq", "b", "a")), ("??", "c")),
        {"a": lambda e, m: e.kind == "x", "b": lambda e, m: e.price > 2, "c": lambda e, m: e.price < of(m, "a")[-1].price},
        lambda m: (of(m, "a")[0].at, of(m, "b")[0].at, of(m, "c")[0].at if of(m, "c") else None),
    ),
    Case(
        "s d{2,} u?", "d AS price <= AVG(z.price), u AS kind IN ('x', 'y') AND NOT price = 2",
        "s.at AS a, MIN(z.price) AS low, u.at AS u",
        "TO LAST d", ("seq", "s", ("{2,}", "d"), ("?", "u")),
        {
            "d": lambda e, m: e.price <= (sum(x.price for x in of(m, "s", "d")) + e.price) / (len(of(m, "s", "d")) + 1),
            "u": lambda e, m: e.kind in "xy" and e.price != 2,
        },
        lambda m: (m[0][1].at, min(x.price for x in of(m, "s", "d")), of(m, "u")[0].at if of(m, "u") else None),
    ),
    Case(
        "(a b)+ c", "a AS price > 1, b AS kind <> 'z', c AS price > 2",
        "FIRST(a.at) AS a, LAST(b.at) AS b, c.at AS c, COUNT(*) AS n",
        "PAST LAST ROW", ("seq", ("+", ("seq", "a", "b")), "c"),
        {"a": lambda e, m: e.price > 1, "b": lambda e, m: e.kind != "z", "c": lambda e, m: e.price > 2},
        lambda m: (m[0][1].at, of(m, "b")[-1].at, m[-1][1].at, len(m)),
    ),
    Case(
        "(a | b){2,} d??", "a AS price > 1, b AS kind = 'z', d AS kind = 'x'",
        "FIRST(at) AS a, COUNT(a.at) AS n, LAST(b.at) AS b, d.at AS d, COUNT(*) AS m",
        "TO NEXT ROW", ("seq", ("{2,}", ("|", "a", "b")), ("??", "d")),
        {"a": lambda e, m: e.price > 1, "b": lambda e, m: e.kind == "z", "d": lambda e, m: e.kind == "x"},
        lambda m: (
            m[0][1].at, len(of(m, "a")), of(m, "b")[-1].at if of(m, "b") else None,
            of(m, "d")[0].at if of(m, "d") else None, len(m),
        ),
    ),
    Case(
        "a (a b?)*? c", "a AS price > 1, b AS price <= 1, c AS kind <> 'y'", "FIRST(a.at) AS a, COUNT(b.at) AS n, c.at AS c",
        "TO LAST a", ("seq", "a", ("*?", ("seq", "a", ("?", "b"))), "c"),
        {"a": lambda e, m: e.price > 1, "b": lambda e, m: e.price <= 1, "c": lambda e, m: e.kind != "y"},
        lambda m: (m[0][1].at, len(of(m, "b")), m[-1][1].at),
    ),
]  # fmt: skip


def text(case: Case, window: int | None) -> str:
    within = "" if window is None else f"WITHIN {window}"
    subset = "SUBSET z = (s, d)" if "z." in case.define else ""
    return (
        f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at, seq MEASURES {case.measures} ONE ROW PER MATCH "
        f"AFTER MATCH SKIP {case.skip} PATTERN ({case.pattern}) {within} {subset} DEFINE {case.define})"
    )


class Matcher:
    """Backtracking: yields matches from a start in the order of preference."""

    def __init__(self, case: Case, rows: list[Tick], window: int | None) -> None:
        self.case, self.rows, self.window = case, rows, window

    def match(self, tree: Any, i: int, sofar: list[tuple[str, Tick]]) -> Iterator[tuple[int, list[tuple[str, Tick]]]]:
        if isinstance(tree, str):
            if i < len(self.rows):
                row = self.rows[i]
                first = sofar[0][1].at if sofar else row.at
                inside = self.window is None or row.at < first + self.window
                if inside and self.case.conditions.get(tree, lambda e, m: True)(row, sofar):
                    yield i + 1, [*sofar, (tree, row)]
            return
        kind, *items = tree
        if kind == "seq":
            yield from self.sequence(items, i, sofar)
        elif kind == "|":
            for item in items:
                yield from self.match(item, i, sofar)
        else:
            low, high = {"+": (1, 99), "*?": (0, 99), "?": (0, 1), "??": (0, 1), "{1,2}": (1, 2), "{2,}": (2, 99)}[kind]
            yield from self.times(items[0], low, high, not kind.endswith("?") or kind == "?", i, sofar)

    def sequence(self, items: list[Any], i: int, sofar: list[tuple[str, Tick]]) -> Iterator[Any]:
        if not items:
            yield i, sofar
            return
        for j, found in self.match(items[0], i, sofar):
            yield from self.sequence(items[1:], j, found)

    def times(self, item: Any, low: int, high: int, greedy: bool, i: int, sofar: list[tuple[str, Tick]]) -> Iterator[Any]:
        def more() -> Iterator[Any]:
            if high > 0:
                for j, found in self.match(item, i, sofar):
                    yield from self.times(item, max(low - 1, 0), high - 1, greedy, j, found)

        if greedy:
            yield from more()
        if low == 0:
            yield i, sofar
        if not greedy:
            yield from more()

    def chosen(self) -> list[list[tuple[str, Tick]]]:
        found, i = [], 0
        while i < len(self.rows):
            best = next(self.match(self.case.tree, i, []), None)
            if best is None:
                i += 1
                continue
            end, rows = best
            found.append(rows)
            skip = self.case.skip.split()
            if skip[0] == "PAST":
                i = end
            elif skip[1] == "NEXT":
                i += 1
            else:
                taken = [j for j, (name, _) in enumerate(rows) if name == skip[2]]
                i += max(1, taken[0 if skip[1] == "FIRST" else -1]) if taken else 1
        return found


def expected(case: Case, rows: list[Tick], window: int | None) -> set[Any]:
    found = set()
    for symbol in {row.symbol for row in rows}:
        of_key = sorted((row for row in rows if row.symbol == symbol), key=lambda row: (row.at, row.seq))
        for match in Matcher(case, of_key, window).chosen():
            end = 2**63 - 1 if window is None else match[0][1].at + window
            found.add((symbol, case.shown(match), match[-1][1].at, end))
    return found


@pytest.mark.parametrize("case", CASES, ids=[case.pattern for case in CASES])
def test_chosen_matches_are_those_of_backtracking(case: Case, engine: str) -> None:
    matches = 0
    for seed in range(6):
        choose = random.Random(f"{case.pattern} {seed}")
        window = choose.choice([None, 6, 12])
        op = Query(read(text(case, window), Tick)).operator(engine=engine)
        rows: list[Tick] = []
        held: set[Any] = set()
        promised = 0
        for step in range(40):
            revised = [row for row in rows if row.at >= promised]
            if revised and choose.random() < 0.3:
                row = choose.choice(revised)
                rows.remove(row)
                out = op.push(retract(row, row.at))
            elif choose.random() < 0.08:
                promised = max(promised, step // 3)
                out = op.push(Punctuation(promised))
            else:
                row = Tick(
                    choose.choice("AB"), max(promised, choose.randint(0, 14)), 0, float(choose.randint(0, 5)), choose.choice("xyz")
                )
                row = row._replace(
                    seq=choose.choice([n for n in range(60) if not any((r.at, r.seq) == (row.at, n) for r in rows)][:3])
                )
                rows.append(row)
                out = op.push(insert(row, row.at))
            for change in out:
                if isinstance(change, Change):
                    match = (change.key, tuple(change.payload), change.le, change.re)
                    assert (match in held) is (change.diff < 0)
                    held ^= {match}
            assert held == expected(case, rows, window), (seed, step)
        matches += len(held)
    assert matches > 5


def test_a_group_repeats_as_often_as_an_int_holds_its_choices(engine: Any) -> None:
    case = CASES[6]
    query = Query(read(text(case, None), Tick))
    assert "a group repeats, or a name stands at several places" in str(query.explain())
    op = query.operator(engine=engine)
    rows = [Tick("A", i, 0, 2.0, "x") for i in range(124)]
    end = Tick("A", 200, 0, 3.0, "x")
    op.push_many([insert(row, row.at) for row in rows])
    assert [c.payload[:3] for c in op.push(insert(end, 200))] == [(0, 123, 200)]
    op.push_many([retract(end, 200), *(insert(Tick("A", i, 0, 2.0, "x"), i) for i in (124, 125))])
    with pytest.raises(
        BudgetError,
        match=r"expected a match of at most 62 choices of its pattern but got one .* group of a, b repeats",
    ):
        op.push(insert(end, 200))
    assert op.statistics.events == 126
