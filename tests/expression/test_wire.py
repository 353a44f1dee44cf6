"""Arcs as JSON: there and back, and nothing that is not an arc."""

from __future__ import annotations

import json
from typing import Any

import pytest

from afa import Arc, Automaton, AutomatonError, Operator, insert, retract
from tests.expression.test_written import PYTHON, TEXT, Tick, Vees, automaton
from tests.text import same_meaning

ARCS = [*TEXT, *PYTHON, Arc("start", "done", lambda e, r: True, final=True), Arc.epsilon("start", "done", final=True, name="é")]


@pytest.mark.parametrize("arc", ARCS, ids=repr)
def test_there_and_back(arc: Arc) -> None:
    program = automaton(TEXT)
    data = json.dumps(arc.to_json(program))
    for back in (Arc.from_json(data), Arc.from_json(json.loads(data))):
        assert (back.name, back.final, back.kind, back.ignorable) == (arc.name, arc.final, arc.kind, arc.ignorable)
        assert same_meaning(arc, back, program)
        assert back.to_json(program) == arc.to_json(program)


def test_what_it_looks_like() -> None:
    program = automaton(TEXT)
    assert PYTHON[1].to_json(program) == {
        "src": "fall",
        "dst": "fall",
        "kind": "consume",
        "fence": "e.change < 0 and r.balance < 3",
        "transfer": "r._replace(balance=r.balance + 1)",
        "name": "more",
    }
    assert TEXT[0].to_json(program)["transfer"] == "(1, 0)"
    assert PYTHON[5].to_json(program) == {"src": "rise", "dst": "late", "kind": "timeout", "at": "r.balance * 10 + 5"}
    assert Arc.epsilon("a", "b").to_json(program) == {"src": "a", "dst": "b", "kind": "epsilon"}


def test_the_class_of_the_register_may_be_another_on_the_other_side(engine: Any) -> None:
    class Other(Vees):
        pass

    data = PYTHON[0].to_json(automaton(TEXT))
    program = Automaton(start="start", final={"fall"}, arcs=[Arc.from_json(data)], event=Tick, register=Other())
    op = Operator(program, engine=engine, window=5)
    assert op.push(insert(Tick(-1.0), 1))[0].payload == Other(1, 0)


def test_an_arc_of_a_name_retracts_its_like(engine: Any) -> None:
    op = Operator(automaton(TEXT), engine=engine, window=50)
    noise = Arc.from_json(TEXT[2].to_json(op.automaton))
    op.push_arc(retract(noise))
    with pytest.raises(Exception, match="expected an arc in force"):
        op.push_arc(retract(noise))


def test_a_function_without_an_expression_has_no_json() -> None:
    with pytest.raises(AutomatonError, match=r"can be written as text but print\(...\) is called in arc a -> b; call only"):
        Arc("a", "b", lambda e, r: print(e)).to_json(automaton(TEXT))


def test_limits_of_text_hold_for_functions_too() -> None:
    with pytest.raises(AutomatonError, match=r"\* of something that could be a str[^§]*in arc a -> b"):
        Arc("a", "b", lambda e, r: e.kind * 2 == "axax").to_json(automaton(TEXT))


GOOD = {"src": "a", "dst": "b", "fence": "True"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{", r"expected the JSON of an arc but got '\{'"),
        ("[1]", r"expected a JSON object for an arc but got \[1\]"),
        ("null", r"expected a JSON object .* but got None"),
        (5, r"expected a JSON object for an arc but got 5"),
        (b"{}", r"expected a JSON object for an arc but got b'\{\}'"),
        ("[" * 90_000, r"expected the JSON of an arc"),
        (" " * 100_001, r"expected at most 100000 characters but got 100001"),
        ('{"src": "a", "src": "b", "dst": "b", "fence": "True"}', "expected each name once but got 'src' twice"),
        ({**GOOD, "priority": 1}, r"expected the keys src, dst, .* but got 'priority'"),
        ({**GOOD, 5: 1}, r"expected the keys src, dst, .* but got 5"),
        ({**GOOD, "kind": "loop"}, r"expected one of consume, skip, epsilon, timeout but got kind='loop'"),
        ({**GOOD, "kind": ["consume"]}, r"but got kind=\['consume'\]"),
        ({**GOOD, "kind": None}, r"but got kind=None"),
        ({**GOOD, "at": "5"}, r"expected fence and transfer .* but got at='5'"),
        ({**GOOD, "kind": "timeout"}, r"expected at .* but got fence='True'"),
        ({"src": "a", "dst": "b", "kind": "timeout"}, r"expected at but got none .* 'timeout'"),
        ({"src": "a", "dst": "b"}, r"expected fence but got none .* 'consume'"),
        ({"src": "a", "fence": "True"}, r"expected dst but got none"),
        ({**GOOD, "src": ""}, r"expected a str of at most 1000 characters but got src=''"),
        ({**GOOD, "src": 5}, r"but got src=5"),
        ({**GOOD, "dst": None}, r"but got dst=None"),
        ({**GOOD, "fence": None}, r"but got fence=None"),
        ({**GOOD, "fence": True}, r"but got fence=True"),
        ({**GOOD, "fence": "x" * 10_001}, r"at most 10000 characters but got fence='xxx"),
        ({**GOOD, "transfer": {}}, r"but got transfer=\{\}"),
        ({**GOOD, "name": 5}, r"but got name=5"),
        ({**GOOD, "name": "n" * 1001}, r"at most 1000 characters but got name='nnn"),
        ({**GOOD, "final": 1}, r"expected true or false but got final=1"),
        ({**GOOD, "final": None}, r"expected true or false but got final=None"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_no_arc(data: Any, message: str) -> None:
    with pytest.raises(AutomatonError, match=message) as caught:
        Arc.from_json(data)
    assert len(str(caught.value)) < 400


def test_what_may_be_null() -> None:
    arc = Arc.from_json({**GOOD, "transfer": None, "name": None})
    assert (arc.transfer, arc.name) == (None, None)
