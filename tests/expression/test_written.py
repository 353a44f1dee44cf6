"""Arcs whose functions are text: they run, are refused early, and stay the objects that they are."""

from __future__ import annotations

import copy
import linecache
import pickle
from typing import Any, NamedTuple

import pytest

from afa import Arc, Automaton, AutomatonError, ExpressionError, Keyed, NoRegister, Operator, insert, retract
from afa.explain.draw.drawing import mermaid
from afa.explain.draw.words import fence_of
from tests.text import same_meaning
from tests.two_vees import Vees


class Tick(NamedTuple):
    change: float
    kind: str | None = None


TEXT = [
    Arc("start", "fall", "change < -0.25", "Vees(1, 0)"),
    Arc("fall", "fall", "change < 0 and r.balance < 3", "r._replace(balance=r.balance + 1)", name="more"),
    Arc("fall", "fall", "-0.01 < change < 0.01", name="noise"),
    Arc("fall", "rise", "change > 0.25 and kind != 'test'", "(r.balance - 1, r.patterns + 1)"),
    Arc.epsilon("rise", "done", "balance < 2"),
    Arc.timeout("rise", "late", "balance * 10 + 5"),
]  # fmt: skip
PYTHON = [
    Arc("start", "fall", lambda e, r: e.change < -0.25, lambda e, r: Vees(1, 0)),
    Arc("fall", "fall", lambda e, r: e.change < 0 and r.balance < 3, lambda e, r: Vees(r.balance + 1, r.patterns), name="more"),
    Arc("fall", "fall", lambda e, r: -0.01 < e.change < 0.01, name="noise"),
    Arc("fall", "rise", lambda e, r: e.change > 0.25 and e.kind != "test", lambda e, r: Vees(r.balance - 1, r.patterns + 1)),
    Arc.epsilon("rise", "done", lambda r: r.balance < 2),
    Arc.timeout("rise", "late", lambda r: r.balance * 10 + 5),
]


class R(NamedTuple):
    """No schema: its field is no scalar."""

    items: tuple[int, ...]


def automaton(arcs: list[Arc]) -> Automaton:
    return Automaton(start="start", final={"done", "late"}, arcs=arcs, event=Tick, register=Vees())


def test_text_and_functions_give_the_same(engine: Any) -> None:
    written, read = Operator(automaton(TEXT), engine=engine, window=50), Operator(automaton(PYTHON), engine=engine, window=50)
    changes = [-0.5, -0.1, 0.0, 0.5, -1.0, -1.0, -1.0, -1.0, 0.3, 0.005, -1.0, 0.9]
    outputs = [[op.push(insert(Tick(change), le)) for le, change in enumerate(changes)] for op in (written, read)]
    assert outputs[0] == outputs[1]
    assert sum(len(out) for out in outputs[0]) > 3
    assert all(same_meaning(a, b, automaton(TEXT)) for a, b in zip(TEXT, PYTHON))
    assert not same_meaning(TEXT[0], PYTHON[1], automaton(TEXT))
    assert not same_meaning(TEXT[1], PYTHON[2], automaton(TEXT))


def test_an_arc_given_as_text_is_the_object_that_it_is(engine: Any) -> None:
    op = Operator(automaton(TEXT), engine=engine, window=50)
    extra, equal = Arc("start", "done", "change > 9"), Arc("start", "done", "change > 9")
    assert extra != equal
    op.push_arc(insert(extra))
    assert op.push(insert(Tick(10.0), 5)) != []
    with pytest.raises(Exception, match="expected an arc in force"):
        op.push_arc(retract(equal))
    op.push_arc(retract(extra))
    assert op.push(insert(Tick(10.0), 7)) == []
    op.push_arc(retract(TEXT[0]))
    assert copy.deepcopy(extra) is extra


def test_one_arc_serves_several_schemas(engine: Any) -> None:
    class Other(NamedTuple):
        kind: str
        change: int

    arc = Arc("start", "done", "change > 1")
    for event, cls in ((Tick(2.0), Tick), (Other("x", 2), Other)):
        op = Operator(Automaton(start="start", final={"done"}, arcs=[arc], event=cls), engine=engine, window=5)
        assert len(op.push(insert(event, 1))) == 1


def test_a_pickled_arc_means_the_same() -> None:
    arc = pickle.loads(pickle.dumps(TEXT[1]))
    assert arc == TEXT[1]
    assert arc.fence(Tick(-1.0), Vees(2)) is True
    assert arc.transfer(Tick(-1.0), Vees(2)) == Vees(3)


@pytest.mark.parametrize(
    ("arc", "message"),
    [
        (Arc("start", "done", "chnge < 1"), r"chnge is no field of Tick[^§]*in arc start -> done$"),
        (Arc("start", "done", "change < 1", "r._replace(n=1)", name="x"), r"transfer\(e, r\) .*\n[^§]*in arc 'x': start -> done$"),
        (Arc.timeout("start", "done", "change"), r"expected at\(r\) .*change is no field of Vees"),
        (Arc.epsilon("start", "done", "e.change < 1"), r"expected fence\(r\) .*e is no field of Vees"),
        (Arc.epsilon("done", "done", " True ", "(1, 1)"), r"a self-loop: .* can never end \(its fence is always true\)"),
    ],
)  # fmt: skip
def test_text_that_means_nothing_is_refused_when_it_is_built_or_pushed(engine: Any, arc: Arc, message: str) -> None:
    with pytest.raises(AutomatonError, match=message):
        automaton([*TEXT, arc])
    op = Operator(automaton(TEXT), engine=engine, window=50)
    op.push(insert(Tick(-1.0), 1))
    with pytest.raises(AutomatonError, match=message):
        op.push_arc(insert(arc))
    keyed = Keyed(automaton(TEXT), key="kind", engine=engine, window=50)
    with pytest.raises(AutomatonError, match=message):
        keyed.push_arc(insert(arc))


def test_text_over_events_needs_a_schema() -> None:
    with pytest.raises(ExpressionError, match=r"give the Automaton event="):
        Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", "change < 1")])
    anything = Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", "True")])
    op = Operator(anything, engine="interpreted", window=5)
    assert [out.payload for payload in ("x", (1, [])[:1], R("x")) for out in op.push(insert(payload, 1))] == [NoRegister()]


def test_what_text_raises_names_the_arc(engine: Any) -> None:
    op = Operator(automaton([*TEXT, Arc("start", "done", "1 / change > 0", name="bad")]), engine=engine, window=5)
    with pytest.raises(ZeroDivisionError) as caught:
        op.push(insert(Tick(0.0), 1))
    assert "arc 'bad'" in str(getattr(caught.value, "__notes__", caught.value.args))


def test_pictures_show_the_text() -> None:
    assert fence_of(TEXT[0]) == "change < -0.25"
    assert fence_of(TEXT[5]) == "at balance * 10 + 5"
    assert "change #lt; #45;0#46;25" in mermaid(automaton(TEXT)) or "change #lt; -0.25" in mermaid(automaton(TEXT))


def test_a_function_of_text_has_no_source_of_its_own() -> None:
    fence: Any = TEXT[0].fence
    assert repr(fence) == "'change < -0.25'"
    assert not linecache.getlines(fence.text)
