"""Sums over all paths in machine code: the same as over the graph of paths, exactly, for numbers of any size."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest

from afa import Arc, Automaton, Change, Keyed, Operator, Punctuation, insert, query
from afa.compiled import path_table
from afa.compiled.kernel import path_sums
from afa.engine import SoughtMatch
from afa.lineage.aggregates import Aggregates, aggregates_of
from afa.lineage.graph import Graph
from afa.lineage.match_ends import _walked, matches_from
from tests.automata import Count
from tests.oracle import one_nan
from tests.strategies import Seeded

WORDS = (0, 1, -1, 7, -12345, 2**31, 2**62, -(2**62), 2**63 - 1, -(2**63))
REALS = (0.0, -0.0, 0.1, -0.1, 101.37, 1e15, -3.0, 2.0**-40, 0.3, 12.5)
FAR = (5e-324, 1e300, -1e308, 2.0**-1074)


class Ev(NamedTuple):
    kind: str
    word: int = 0
    real: float = 0.0
    flag: bool = False
    some: int | None = None


def any_b(condition: str, strategy: str = "skip_till_any_match", **options: Any) -> Any:
    text = f"PATTERN SEQ(A a, B+ b[], C c) WHERE {strategy}(a, b[], c) {{ {condition} }} WITHIN 200 RETURN a.flag"
    return query(text, event=Ev, type="kind").operator(engine="compiled", **options)


def two_ways(**options: Any) -> Any:
    """Two computations for each b: paths are fewer."""
    arcs = [
        Arc("0", "1", "kind == 'A'"),
        Arc("1", "1", "kind == 'B'", "(r.n + 1,)", select="b", name="one"),
        Arc("1", "1", "kind == 'B'", "(r.n + 2,)", select="b", name="two"),
        Arc("1", "2", "kind == 'C'", "(0,)"),
    ]
    both = Automaton(start="0", final={"2"}, arcs=arcs, register=Count(), event=Ev)
    return Operator(both, window=40, engine="compiled", **options)


def passing(**options: Any) -> Any:
    """A b that rests, and goes on without being picked."""
    arcs = [
        Arc("0", "1", "kind == 'A'"),
        Arc("1", "1", "True"),
        Arc("1", "2", "kind == 'B'", select=""),
        Arc("1", "2", "kind == 'B'", select="b", name="picked"),
        Arc("2", "2", "kind != 'C'"),
        Arc("2", "3", "kind == 'C'"),
    ]
    return Operator(Automaton(start="0", final={"3"}, arcs=arcs, event=Ev), window=40, engine="compiled", **options)


def stream(choose: Seeded, n: int, reals: tuple[float, ...] = REALS) -> list[Any]:
    found = []
    for le in range(n):
        some = choose.one((None, *WORDS))
        event = Ev(choose.one("ABBBX"), choose.one(WORDS), choose.one(reals), choose.chance(50), some)
        found.append(insert(event, le if choose.chance(80) else choose.number(0, le)))
    return [*found, insert(Ev("C"), n)]


def records(op: Any, rows: Any) -> list[tuple[Change, Any, Any]]:
    """Of each collapsed match and form of question: what the kernels say, and what the graph says."""
    core, found = op._core, []
    matches = {(change.payload, change.le): change for change in op.push_many(rows) if change.diff > 0}
    held = core.held()
    for match in matches.values():
        walked = _walked(held, match, None, match.le + 1, None)
        assert walked is not None
        graph, sought = Graph(walked), SoughtMatch(match.le, None, [tuple(match.payload)], 0, match.le + 1)
        names = walked.components()
        for field in (None, "word", "real", "flag", "some"):
            for component in (None, *sorted(names)):
                told = core.engine.totals(match.key, sought, field, component)
                wanted = aggregates_of(graph, field, component, held.event)
                assert told is None or told.re == walked.re
                found.append((match, told and Aggregates(*told[1:]), wanted))
    return found


def same(told: Aggregates, wanted: Aggregates) -> bool:
    """Also of what type they are."""
    return repr(one_nan(told)).replace("-0.0", "0.0") == repr(one_nan(wanted)).replace("-0.0", "0.0")


@pytest.mark.parametrize("longest", [False, True])
@pytest.mark.parametrize("condition", ["a.word = a.word", "b[i].word >= b[i-1].word", "b[i].flag = a.flag"])
def test_sums_are_those_of_the_graph(condition: str, longest: bool) -> None:
    choose = Seeded(f"totals {condition} {longest}")
    for n in (20, 60, 150):
        found = records(any_b(condition, longest=longest), stream(choose, n))
        assert found
        assert all(told is not None and same(told, wanted) for _, told, wanted in found), found
    assert max(wanted.paths for *_, wanted in found) > (2**64 if "word = " in condition else 1000)


def test_next_and_contiguous() -> None:
    for strategy in ("skip_till_next_match", "strict_contiguity"):
        rows = stream(Seeded(strategy), 80) + [insert(Ev(kind, 3, 0.5), 100 + le) for le, kind in enumerate("XABBCABC")]
        found = records(any_b("b[i].word < 9223372036854775807", strategy), rows)
        assert len(found) > 20
        assert all(told is not None and same(told, wanted) for _, told, wanted in found), found


def test_what_is_left_to_the_graph() -> None:
    """Computations that are more than paths; floats that are infinite, NaN, or too far from each other."""
    for make in (two_ways, passing):
        found = records(make(), stream(Seeded("graph"), 20))
        assert found
        assert all(told is None or same(told, wanted) for _, told, wanted in found)
        assert any(told is None for _, told, _ in found)
    for reals in ((0.5, math.inf), (0.5, math.nan), FAR):
        found = records(any_b("a.word = a.word"), stream(Seeded("far"), 30, reals))
        assert all(told is None or same(told, wanted) for _, told, wanted in found)
        assert any(told is None for _, told, _ in found)
        assert any(told is not None for _, told, _ in found), "counts"


def test_limbs_and_columns_that_are_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_table, "COLUMNS", 8)
    monkeypatch.setattr(path_table, "LIMBS", 1)
    op = any_b("a.word = a.word")
    rows = [insert(Ev("A" if le == 0 else "B", -(2**63), 0.1), le) for le in range(130)]
    found = records(op, [*rows, insert(Ev("C"), 130)])
    assert all(told is not None and same(told, wanted) for _, told, wanted in found)
    assert found[0][2].paths == 2**129 - 1
    assert op._core.engine.store.path_table.limbs == 8
    assert path_sums.MOST_LIMBS * path_sums.BITS > 1024, "what a float holds"


def test_no_match_is_told_from_one_that_the_kernels_leave() -> None:
    op = any_b("a.word = a.word", lineage=True)
    op.push_many([insert(Ev(kind, 1, flag=False), le) for le, kind in enumerate("ABC")])
    engine = op._core.engine
    (none,) = {
        engine.totals(None, SoughtMatch(at, None, [(flag,)], 0, at + 1), "word", None) for at, flag in ((2, True), (1, False))
    }
    assert none.paths == 0
    assert engine.totals(None, SoughtMatch(2, None, [(False,)], 1, 3), "word", None) is None, "it began before what is held"


@pytest.mark.parametrize("longest", [False, True])
def test_matches_that_are_held(longest: bool) -> None:
    """Those that are not final, of a key, from an LE on: with time-outs, ties, keys at rest and beyond a promise."""
    choose = Seeded("held")
    waits = Automaton(
        start="0", final={"2", "3"}, event=Ev, register=Count(),
        arcs=[
            Arc("0", "1", "kind == 'A'", "(word,)"), Arc("1", "1", "True"), Arc("1", "2", "kind == 'B'"),
            Arc.timeout("1", "3", "3 + 0 * r.n"),
        ],
    )  # fmt: skip
    ops = [Keyed(waits, key="flag", window=30, engine=engine, longest=longest) for engine in ("compiled", "interpreted")]
    promised, seen = 0, 0
    for _ in range(15):
        rows = [row._replace(payload=row.payload._replace(word=choose.number(0, 3))) for row in stream(choose, 30)]
        rows = [row for row in rows if row.le >= promised]
        promised += choose.one((0, 0, 2, 5))
        low = choose.number(0, 30)
        told = []
        for op in ops:
            op.push_many([*rows, Punctuation(promised)])
            told.append([sorted(map(repr, matches_from(op._core.held(), key, low))) for key in (False, True)])
        assert told[0] == told[1]
        seen += len(told[0][0])
    assert seen > 50
