"""SQL against a matcher with backtracking: a sample of random queries x rows; alternatives and groups that were told wrongly."""

from __future__ import annotations

import re
from itertools import permutations
from typing import Any

import pytest

import afa
from afa import insert
from afa.language.positions import Positions
from afa.language.preference import END, Preference
from afa.language.row_pattern import read_pattern
from tests.language.backtracking import Row, Sql, take, told, written
from tests.language.sql_worlds import WORLDS, made, names, query, rows_of, shortest
from tests.strategies import Seeded
from tests.worlds.__main__ import main


def test_random_queries() -> None:
    seen = WORLDS.run("sample", range(20), more_than={"came": 160})
    assert seen["declined"] < 10, seen


def var(name: str) -> Any:
    return ("var", name)


A, B, C, D = map(var, "abcd")


def times(inner: Any, low: int, high: int | None, greedy: bool = True) -> Any:
    return ("times", inner, low, high, greedy)


def maybe(inner: Any) -> Any:
    return times(inner, 0, 1)


EMPTY_FIRST = [times(B, 0, 1, False), times(B, 0, None, False), times(B, 0, 2, False)]
ANY_LATE = times(D, 0, 1, False)
PATTERNS = [
    ("seq", [("permute", [C, D]), D]),
    ("seq", [("alt", [("seq", [C, D]), ("seq", [D, C])]), D]),
    ("seq", [("permute", [A, C]), A, C]),
    ("permute", [D, ("hide", D)]),
    ("seq", [D, maybe(("permute", [C, D])), C]),
    ("seq", [("alt", [("seq", [C, C, D]), ("seq", [D, C])]), A]),
    *(("seq", [A, maybe(each)]) for each in EMPTY_FIRST),
    *(("seq", [A, maybe(maybe(each)), maybe(C)]) for each in EMPTY_FIRST),
    ("seq", [A, maybe(("seq", [EMPTY_FIRST[0], maybe(C)]))]),
    ("seq", [A, times(ANY_LATE, 0, None), C]),  # an iteration that takes nothing is the last one
    ("seq", [A, times(ANY_LATE, 1, None), maybe(C)]),
    ("seq", [A, times(("alt", [ANY_LATE, C]), 0, 3), C]),
    ("seq", [A, times(("alt", [ANY_LATE, C]), 2, 2), C]),  # unless more are demanded
    ("seq", [("permute", [("seq", [C, times(D, 0, None, False)]), ("seq", [A, times(D, 0, None, False)])]), maybe(D)]),
]
CONDITIONS: dict[str, Any] = {"a": "xy", "b": "yz", "c": "x"}  # d takes any row


@pytest.mark.parametrize("pattern", PATTERNS, ids=written)
def test_alternatives_and_groups(pattern: Any, engine: Any) -> None:
    """All ways to fill four rows with x and y, all rows and one row of a match."""

    def conditioned(name: str) -> Any:
        return lambda picks: picks[-1][1].sort in CONDITIONS[name]

    used = sorted(set(names(pattern)))
    define = {n: (f"sort IN ({', '.join(map(repr, CONDITIONS[n]))})", conditioned(n)) for n in used if n in CONDITIONS}
    last = used[-1]

    def total(picks: Any) -> Any:
        return sum(row.v for row in rows_of(last, picks)) if rows_of(last, picks) else None

    measures = (("CLASSIFIER()", lambda picks: picks[-1][0]), (f"SUM({last}.v)", total), ("COUNT(*)", len))
    for all_rows in (True, False):
        asked = Sql(pattern, define, measures, "TO NEXT ROW", 50, all_rows, False)
        library = afa.sql(asked.text, event=Row)
        for number in range(16):
            rows = [Row(0, "xyz"[number >> i & 1], 2**i, at=i) for i in range(4)]
            found = library.operator(engine=engine).push_many([insert(row._replace(at=None), row.at) for row in rows])
            shown = {(tuple(change.payload._asdict()[f"m{i}"] for i in range(3)), change.le) for change in found}
            assert shown == {(values[0] if all_rows else values, le) for _, values, le, _ in told(asked, rows)}, (asked.text, rows)


def test_the_matcher_itself() -> None:
    """Its order of ways, by hand: x x over (c d | d c) d, a reluctant part before a greedy one, an iteration of nothing."""
    rows = [Row(0, "x", 1, at=i) for i in range(3)]

    def ways(pattern: Any) -> list[str]:
        asked = Sql(pattern, {}, (), "PAST LAST ROW", None, False, False)
        return ["".join(name for name, _, _ in picks) for picks in take(asked, pattern, (), rows)]

    assert ways(("seq", [("alt", [("seq", [C, D]), ("seq", [D, C])]), D])) == ["cdd", "dcd"]
    assert ways(("permute", [A, B, C]))[:3] == ["abc", "acb", "bac"]
    assert ways(("seq", [times(A, 0, 2, False), times(B, 0, 1)])) == ["b", "", "ab", "a", "aab", "aa"]
    assert ways(times(EMPTY_FIRST[0], 0, 2)) == ["", "b", "bb", "b", ""]
    assert ways(times(("alt", [EMPTY_FIRST[0], C]), 2, 2)) == ["", "b", "c", "b", "bb", "bc", "c", "cb", "cc"]


def test_ways_are_edges() -> None:
    """What may follow a position is the same in both files that say so."""
    for number in range(60):
        node = query(Seeded(f"ways {number}")).pattern
        pattern = read_pattern(written(node), str)
        positions, preference = Positions.of(pattern), Preference(pattern)
        assert sorted(preference.ways(-1)) == sorted([*positions.first, *([] if shortest(node) else [END])])
        for i, edges in enumerate(positions.edges):
            assert sorted(preference.ways(i)) == sorted([*{edge.to for edge in edges}, *([END] if i in positions.last else [])])


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("pattern", "match"), [("PERMUTE(c, d) d", (11, 2)), ("PERMUTE(c, d)", (4, 2))])
def test_orders_of_arrival(pattern: str, match: tuple[int, int], tied: bool) -> None:
    """Over x x x, or x x, c d d or c d is preferred, in whatever order they come, at one instant, too."""
    values = (2, 4, 7)[: len(re.findall(r"\w+", pattern)) - 1]
    for order in permutations(range(len(values))):
        text = f"PATTERN ({pattern}) WITHIN 100 DEFINE c AS sort = 'x'"
        op = afa.sql(
            f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at, seq MEASURES SUM(d.v) AS s, c.v AS c {text})", event=Row
        ).operator()
        held: set[Any] = set()
        for i in order:
            for change in op.push(insert(Row(0, "x", values[i], seq=i), 0 if tied else i)):
                held ^= {tuple(change.payload)}
        assert held == {match}


def test_a_fault_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With ways in another order, random worlds fail."""
    right = Preference.ways
    monkeypatch.setattr(Preference, "ways", lambda self, position: right(self, position)[::-1])
    try:
        assert main(["sql", "--worlds", "200", "--seed", "planted"]) == 1
    finally:
        made.cache_clear()
    assert re.search(r"missing .* too much .*\nSELECT", capsys.readouterr().out)
