"""Automata that begin without arcs, or with states that only arcs to come connect; what still helps against typos."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from afa import Arc, Automaton, AutomatonError, Keyed, Operator, Punctuation, insert, retract
from afa.explain.draw.drawing import mermaid
from afa.model.reach import check_whole, loose
from punctuation.time import BEGINNING
from speculation import Cleanse, Ordered, consolidate
from tests.automata import Count
from tests.cli import call, fails, write
from tests.cli import there as there  # a fixture


class E(NamedTuple):
    kind: int
    name: str = "n"


empty = Automaton(start="a", final={"c"}, register=Count(), event=E, arcs=[])
arcs = [
    Arc("a", "b", "kind == 1", "Count(kind)", name="one"),
    Arc("b", "b", "kind == 0", name="stay"),
    Arc("b", "c", "kind == 2", name="two"),
]
whole = Automaton(start="a", final={"c"}, register=Count(), event=E, arcs=arcs)
EVENTS = [(1, 2), (0, 3), (2, 4), (1, 1), (2, 6), (0, 5), (2, 7)]


def events(op: Any) -> list[Any]:
    return [item for kind, le in EVENTS for item in op.push(insert(E(kind), le=le))]


def came(op: Any, pool: list[Arc], le: int | None = BEGINNING) -> list[Any]:
    return [item for arc in pool for item in op.push_arc(insert(arc, le))]


MAKES: dict[str, Any] = {
    "operator": lambda automaton, **options: Operator(automaton, window=9, **options),
    "keyed": lambda automaton, **options: Keyed(automaton, key="name", window=9, **options),
    "cleanse": lambda automaton, **options: Cleanse().before(Operator(automaton, window=9, **options)),
}


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_all_of_a_pattern_may_come_and_go(engine: str, make: Any) -> None:
    expected = consolidate(events(make(whole, engine=engine)))
    op = make(empty, engine=engine)
    assert events(op) == []
    assert consolidate(came(op, arcs[::-1])) == expected
    op._check()
    gone = [item for arc in arcs for item in op.push_arc(retract(arc, BEGINNING))]
    assert {change.diff for change in consolidate(gone)} == {-1}
    assert consolidate([*gone, *expected]) == []
    assert op.push(insert(E(1), le=8)) == []
    assert consolidate(came(op, arcs)) == expected
    op.push(Punctuation(60))
    assert op.statistics.state_size == 0
    assert op.push(insert(E(1), le=70)) == []
    assert [change.le for change in op.push(insert(E(2), le=71))] == [71]


@pytest.mark.parametrize("begins", ["without arcs", "without the first", "without the last"])
def test_what_comes_is_what_was_there(engine: str, begins: str) -> None:
    """In every order of arcs and events; with states that nothing reaches, or leaves, until then."""
    own = {"without arcs": [], "without the first": arcs[1:], "without the last": arcs[:2]}[begins]
    partial = Automaton(start="a", final={"c"}, register=Count(), event=E, arcs=own)
    later = [arc for arc in arcs if arc not in own]
    expected = consolidate(events(Operator(whole, window=9, engine=engine)))
    for before in (0, 3, len(EVENTS)):
        op = Operator(partial, window=9, engine=engine)
        out = [item for kind, le in EVENTS[:before] for item in op.push(insert(E(kind), le=le))]
        out += came(op, later)
        blob = op.snapshot()
        op = Operator.restore(partial, blob, engine=engine, arcs=later)
        assert op.snapshot() == blob
        out += [item for kind, le in EVENTS[before:] for item in op.push(insert(E(kind), le=le))]
        assert consolidate(out) == expected
        op._check()


def test_an_empty_operator_in_a_snapshot(engine: str) -> None:
    op = Operator(empty, window=9, engine=engine)
    events(op)
    again = Operator.restore(empty, op.snapshot(), engine=engine)
    assert consolidate(came(again, arcs)) == consolidate(events(Operator(whole, window=9, engine=engine)))


@pytest.mark.parametrize("make", [MAKES["operator"], MAKES["keyed"]])
@pytest.mark.parametrize("arrow", [False, True])
def test_tables_in_which_the_pattern_comes(engine: str, make: Any, arrow: bool) -> None:
    class S(NamedTuple):
        sort: int
        name: str

    pool = [Arc("a", "b", "sort == 1", name="one"), Arc("b", "c", "sort == 2", name="two")]
    op = make(Automaton(start="a", final={"c"}, event=S, arcs=[]), engine=engine)
    batch: dict[str, Any] = {
        "sort": np.array([1, 2, 0, 0, 1, 2, 0, 0, 1, 2]),
        "le": np.array([1, 2, BEGINNING, BEGINNING, 3, 4, BEGINNING, 5, 6, 7]),
        "kind": np.array([0, 0, 1, 1, 0, 0, 1, 2, 0, 0]),
        "arc": np.array([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
        "diff": np.array([1, 1, 1, 1, 1, 1, -1, 1, 1, 1]),
    }
    names = ["n"] * 10
    out = op.push_many(pa.table({**batch, "name": names}) if arrow else {**batch, "name": np.array(names, object)}, arcs=pool)
    found = pa.table(out) if isinstance(out, pa.Table) else pa.table(dict(out))
    assert found.filter(pa.compute.equal(found["kind"], 0))["le"].to_pylist() == [4]
    op._check()


def test_without_payloads(engine: str) -> None:
    options: dict[str, Any] = {"window": 9, "engine": engine, "retractions": False, "keep_payloads": False}
    op, plain = Operator(empty, **options), Operator(empty, window=9, engine=engine)
    pool = [arcs[1], Arc("a", "b", "kind == 1", name="one"), Arc("b", "c", "kind == 2", name="two")]
    out: list[Any] = []
    expected: list[Any] = []
    for each, found in ((op, out), (plain, expected)):
        found += each.push(insert(E(1), 1))
        found += came(each, pool, None)
        found += events(each) + each.push_many({"kind": [1, 2], "name": ["n"] * 2, "le": [8, 9]})["le"].tolist()
        each._check()
    assert out == expected != []
    again = Operator.restore(empty, op.snapshot(), arcs=pool, engine=engine)
    for kind, le in ((1, 10), (0, 11), (2, 12)):
        last = again.push(insert(E(kind), le))
        assert last == plain.push(insert(E(kind), le))
    assert len(last) == 1


def test_promises_with_conditions(engine: str) -> None:
    """Without arcs no event leads anywhere; those that may still come can."""
    op = Operator(empty, window=90, engine=engine, retractions=False)
    plain = Operator(empty, window=90, engine=engine, retractions=False)
    for i in range(200):
        for each in (op, plain):
            each.push(insert(E(i % 3), 2 * i))
        op.push(Punctuation(2 * i, where="kind != 1"))
    assert op.statistics.events < plain.statistics.events
    assert came(op, arcs, None) == came(plain, arcs, 400)
    for le in (400, 401, 402, 403):
        assert op.push(insert(E(le % 3), le)) == plain.push(insert(E(le % 3), le))
    assert op.statistics.outputs == 1
    op._check()


def test_numbered_events(engine: str) -> None:
    class N(NamedTuple):
        kind: int
        seq: int

    op = Ordered(Automaton(start="a", final={"b"}, event=N, arcs=[]), number="seq", window=9, engine=engine)
    assert op.push_many([insert(N(1, i), 10 * i) for i in range(5)]) == []
    assert len(op.push_arc(insert(Arc("a", "b", "kind == 1", name="x"), BEGINNING))) == 5
    op._check()


def test_time_outs_and_final_marks_that_come(engine: str) -> None:
    pool = [
        Arc.timeout("b", "d", at="r.n + 3", name="w", final=True),
        Arc("b", "b", "kind == 0", name="stay"),
        Arc("a", "b", "kind == 1", "Count(kind)", name="x"),
    ]
    full = Operator(Automaton(start="a", final={"never"}, register=Count(), event=E, arcs=pool), window=90, engine=engine)
    op = Operator(Automaton(start="a", final={"never"}, register=Count(), event=E, arcs=[]), window=90, engine=engine)
    expected = consolidate(events(full))
    assert events(op) == []
    assert consolidate(came(op, pool)) == expected
    assert [change.le for change in expected] == [4]
    op._check()


# -- what helps against typos ------------------------------------------------------------------------------------------------------


def test_what_is_loose_is_told() -> None:
    lost = Arc("c", "d", "kind == 1", name="lost")
    automaton = Automaton(start="a", final={"d", "e"}, event=E, arcs=[Arc("a", "b", "kind == 1"), lost])
    assert automaton.states == ("a", "b", "c", "d", "e")
    assert list(map(str, automaton.explain().states)) == [
        "state 'b': no arc leaves it yet",
        "state 'c': no arc leads to it yet",
        "state 'd' (final): only arc 'lost': c -> d leads to it, from a state that is not reached yet",
        "state 'e' (final): no arc leads to it yet",
    ]
    assert str(automaton.explain()).splitlines()[-1] == "state 'e' (final): no arc leads to it yet"
    assert loose(whole) == whole.explain().states == []
    assert "yet" not in str(whole.explain())
    assert mermaid(automaton).count("(((") == 2


def test_where_no_arc_can_come_it_is_refused() -> None:
    with pytest.raises(AutomatonError, match=r"expected a start state that an arc leaves but got start='a'; arcs leave $"):
        check_whole(empty)
    with pytest.raises(AutomatonError, match=r"expected a start state that an arc leaves but got start='z'; arcs leave a, b$"):
        check_whole(Automaton(start="z", final={"c"}, register=Count(), event=E, arcs=arcs))
    with pytest.raises(AutomatonError, match=r"expected final states that 'a' reaches but got 'z': no arc leads to it$"):
        check_whole(Automaton(start="a", final={"c", "z"}, register=Count(), event=E, arcs=arcs))
    with pytest.raises(AutomatonError, match=r"'c': only arc 'two': b -> c leads to it, from a state that is not reached$"):
        check_whole(Automaton(start="a", final={"c"}, event=E, arcs=[Arc("a", "d", "True"), arcs[2]]))
    check_whole(whole)


PATTERN = """
from typing import NamedTuple
from afa import Arc, Automaton
class E(NamedTuple):
    kind: int
one = Arc("a", "b", "kind == 1")
none = Automaton(start="a", final={"c"}, event=E, arcs=[])
some = Automaton(start="a", final={"c"}, event=E, arcs=[one])
"""


def test_the_command_line(there: Path) -> None:
    write("p.py", PATTERN)
    write("e.csv", "kind,le\n1,1\n")
    assert (
        fails("run", "p.py:none", "e.csv") == "p.py:none: expected a start state that an arc leaves but got start='a'; arcs leave"
    )
    words = "p.py:some: expected final states that 'a' reaches but got 'c': no arc leads to it"
    assert fails("run", "p.py:some", "e.csv") == words
    shown = call("show", "p.py:some").stdout
    assert "state 'b': no arc leaves it yet\nstate 'c' (final): no arc leads to it yet\n" in shown
    assert "state 'a' (start): no arc leaves it yet" in call("show", "p.py:none").stdout
    assert "(((" in call("show", "p.py:none", "--mermaid").stdout
