"""The code of an arc is as long as its text, and no longer than a bound, whatever the text says."""

from __future__ import annotations

import logging
import random
import resource
import subprocess
import sys
from typing import Any

import pytest

from afa import Arc, Automaton, Operator, insert, retract
from afa.compiled.code.native_arc import compiled_arc
from afa.errors import AutomatonError
from tests.compiled.lengths import EVENT, REGISTER, E, R

MANY = " and ".join(["a // b < r.n"] * 300)
"""More than an arc's code may have."""


def limited(seconds: int, *arguments: str) -> str:
    """What a program prints that is ended after so many seconds of CPU."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    command = [sys.executable, *arguments]
    done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:] or f"ended by the limit of {seconds} s of CPU"
    return done.stdout


@pytest.mark.parametrize("pairs", [5, pytest.param(-1, marks=pytest.mark.stress)])
def test_every_construct_nested_costs_as_much_as_its_text_is_long(pairs: int) -> None:
    print(limited(60 if pairs > 0 else 3_000, "-m", "tests.compiled.lengths", "--pairs", str(pairs)))


@pytest.mark.parametrize(
    ("template", "depth"),
    [
        ("min({}, a, b)", 95),
        ("min({}, {}, b)", 8),
        ("(({} if g else 0) or a)", 45),
        ("(({} or 0) < 1 < a)", 20),
        ("(a if {} else b)", 60),
    ],
)
def test_operands_are_computed_once(template: str, depth: int) -> None:
    text = "a"
    for _ in range(depth):
        text = template.replace("{}", text)
    code = compiled_arc(Arc("a", "b", text), EVENT, REGISTER).code
    assert code is not None
    assert code.lines < 60 + 2 * len(text)


def test_many_arguments_of_min_are_one_operation() -> None:
    code = compiled_arc(Arc("a", "b", f"min({', '.join(['a', 'b'] * 50)}) < 3"), EVENT, REGISTER).code
    assert code is not None
    assert code.lines < 250


def automaton(*arcs: Arc) -> Automaton:
    return Automaton(start="s", final={"f"}, arcs=[Arc("s", "m", "a > 0", "(a, 0, 0.0)"), *arcs], register=R(), event=E)


def a_tick(rng: random.Random) -> E:
    return E(rng.randint(-3, 9), rng.choice((1, 2, -1)), 0.5, True, False, "")


def test_what_is_longer_than_an_arc_may_be_runs_in_python(caplog: pytest.LogCaptureFixture) -> None:
    why = r"fence: its machine code has \d+ lines, more than 4000; split it over several arcs"
    for refused in (Arc("m", "f", MANY), Arc.from_json({"src": "m", "dst": "f", "fence": MANY})):
        with pytest.raises(AutomatonError, match=f'expected arcs that compile for engine="compiled" but got .*{why}'):
            Operator(automaton(refused), engine="compiled")
        op = Operator(automaton(Arc("m", "f", "a > 5")), engine="compiled")
        with pytest.raises(AutomatonError, match=why):
            op.push_arc(insert(refused))
    rng, ops = random.Random(3), [Operator(automaton(Arc("m", "f", MANY)), window=9, engine=e) for e in ("auto", "interpreted")]
    with caplog.at_level(logging.WARNING, "afa"):
        for le in range(60):
            event = a_tick(rng)
            one, other = (op.push(insert(event, le=le)) for op in ops)
            assert one == other
    assert "more than 4000; split it over several arcs" in caplog.text
    assert "lines, more than 4000" in str(automaton(Arc("m", "f", MANY)).explain())


def test_fence_and_transfer_count_together() -> None:
    half = " and ".join(["a // b < r.n"] * 150)
    found = compiled_arc(Arc("a", "b", half, f"({'a // b + ' * 90}1, {'a // b + ' * 90}1, 0.0)"), EVENT, REGISTER)
    assert found.code is None
    assert found.role == "transfer"


def test_arcs_beyond_the_longest_step_function_are_served_one_by_one() -> None:
    arcs = [Arc("m", "f", f"a == {i} and b > r.n and a // b == {i}", "(r.n + a, r.m, r.t)", name=str(i)) for i in range(900)]
    ops: list[Any] = [Operator(automaton(*arcs), window=12, engine=e) for e in ("compiled", "interpreted")]
    rng = random.Random(5)
    for le in range(400):
        event = a_tick(rng)
        one, other = (op.push(insert(event, le=le)) for op in ops)
        assert one == other
        if le == 300:
            for op in ops:
                op.push_arc(retract(arcs[3]))
                op.push_arc(insert(Arc("m", "f", "a == 5", name="3")))
    found = ops[0]._core.engine.store.arcs
    assert found._slots is None
    assert not found.lacking
    assert ops[0].push_many([insert(a_tick(rng), le=le) for le in range(400, 900)]) is not None
    ops[0]._check()
