"""Functions that raise where the operator goes on: an arc does not serve where one of its functions raises."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from afa import Arc, Automaton, Keyed, Operator, Punctuation, insert
from afa.model.raised import Faults
from afa.operator.call import Core
from afa.operator.options import Options
from tests.automata import Number
from tests.lanes import sample
from tests.raising import go_on, made_to_raise
from tests.strategies import Seeded
from tests.stress import generate
from tests.stress.mixes import mix
from tests.stress.run import BOTH
from tests.stress.worlds import WORLDS


@pytest.mark.parametrize("engine", ["interpreted", "compiled", BOTH])
@sample(50, 5000)
def test_worlds_whose_functions_raise(engine: str, numbers: range, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = go_on(monkeypatch)
    raised = matches = 0
    for number in numbers:
        choose = Seeded(f"raising/{number}")
        spec = mix(choose) if number % 10 == 9 else generate.world(choose)
        made_to_raise(choose, spec)
        try:
            matches += WORLDS.check(spec, engine)["matches"]
        except AssertionError:
            pytest.fail(f"world raising/{number}: {WORLDS.report(spec, engine)}")
        raised += len(faults.taken())
    assert matches > 3 * len(numbers)
    assert raised > 3 * len(numbers)


class R(NamedTuple):
    n: int = 0
    tag: str = ""


def told(faults: Faults) -> list[tuple[Any, ...]]:
    return sorted((f.key, f.le, f.payload, f.arc, f.role, f.error) for f in faults.taken())


def keyed(faults: Faults | None, engine: str, *arcs: Arc, final: str = "c") -> Keyed:
    automaton = Automaton(start="a", final={final}, register=R(), event=Number, arcs=arcs)
    core = Core(automaton, Options(window=9, engine=engine.replace("compiled", "auto")), keyed=True, faults=faults)  # type: ignore[arg-type]
    return Keyed._of(core, lambda e: e.n % 2)


def test_each_fault_is_told_once_with_key_event_and_arc(engine: str) -> None:
    faults = Faults()
    divide = Arc("a", "c", lambda e, r: 10 // e.n > 2, name="divide")
    op = keyed(faults, engine, divide)
    out = op.push_many([insert(Number(n), le=le) for n, le in [(0, 1), (1, 2), (2, 3), (0, 4), (3, 5), (0, 4)]])
    assert [(change.key, change.le) for change in out] == [(1, 2), (0, 3), (1, 5)]
    text = "ZeroDivisionError: integer division or modulo by zero"
    assert [(f[0], f[1], f[2], f[4]) for f in told(faults)] == [(0, 1, Number(0), "fence"), (0, 4, Number(0), "fence")]
    op.push_arc(insert(Arc("a", "c", lambda e, r: True, lambda e, r: R(10 // e.n, ""), name="past"), 0, 5))
    (first, *_) = found = told(faults)
    assert {fault[4:] for fault in found} <= {("transfer", text), ("fence", text), ("fence", text.replace("integer ", ""))}
    assert first[0] == 0
    op._check()


def test_a_time_out_whose_at_raises_never_fires(engine: str) -> None:
    faults = Faults()
    op = keyed(faults, engine, Arc("a", "b", "True", "R(e.n, '')"), Arc.timeout("b", "c", at=lambda r: 12 // r.n, name="wait"))
    assert op.push_many([insert(Number(0), le=1), insert(Number(2), le=1), insert(Number(3), le=2)]) == []
    out = op.push(Punctuation(20))
    assert [(change.key, change.le) for change in out[:-1]] == [(1, 4), (0, 6)]
    assert {fault[0:1] + fault[3:5] for fault in told(faults)} == {(0, "arc 'wait': b -> c (timeout)", "at")}


def test_text_that_is_none_is_a_fault(engine: str) -> None:
    faults = Faults()
    op = keyed(faults, engine, Arc("a", "c", lambda e, r: True, lambda e, r: R(e.n, chr(0xD7FF + e.n)), name="lone"))
    out = op.push_many([insert(Number(0), le=1), insert(Number(1), le=2)])
    assert [change.payload.tag for change in out] == ["\ud7ff"]
    ((key, le, _, _, role, error),) = told(faults)
    assert (key, le, role) == (1, 2, "transfer")
    assert error.startswith("UnicodeEncodeError: 'utf-8' codec can't encode character")


def test_a_closure_without_end_serves_nobody(engine: str) -> None:
    faults = Faults()
    arcs = [
        Arc("a", "b", "True", "R(e.n, '')"),
        Arc.epsilon("b", "b", "r.n > 0", "R(r.n + 1, '')", name="on"),
        Arc.epsilon("b", "c", name="end"),
    ]
    op = keyed(faults, engine, *arcs)
    out = op.push_many([insert(Number(0), le=1), insert(Number(1), le=2), insert(Number(-2), le=3)])
    assert [(change.key, change.le) for change in out] == [(0, 1), (0, 3)]
    ((key, le, _, _, role, error),) = told(faults)
    assert (key, le, role) == (1, 2, "closure")
    assert "expected a closure of at most 10000 steps but got one that goes on, at le=2 through the states b, c" in error
    op._check()
    assert keyed(None, engine, *arcs).push(insert(Number(0), le=1))[0].le == 1


def test_time_outs_without_end_fire_none(engine: str) -> None:
    faults = Faults()
    arcs = [Arc("a", "b", "True"), Arc.timeout("b", "c", at="0"), Arc.timeout("c", "c", at="0"), Arc("a", "c", "e.n == 2")]
    waits = [*arcs[:2], Arc.timeout("c", "b", at="0"), Arc.epsilon("c", "c", "r.n >= 0", "R(r.n + 1, '')", name="up")]
    op = keyed(faults, engine, *waits)
    op.push_many([insert(Number(1), le=1), insert(Number(2), le=2)])
    assert {fault[4] for fault in told(faults)} == {"closure"}
    op._check()


def test_memory_that_is_out_is_raised(engine: str) -> None:
    def out_of_memory(e: Number, r: R) -> bool:
        raise MemoryError("no more")

    faults = Faults()
    op = keyed(faults, engine, Arc("a", "c", out_of_memory))
    with pytest.raises(MemoryError, match="no more"):
        op.push(insert(Number(1), le=1))
    assert not faults.taken()


def test_without_it_a_call_is_refused(engine: str) -> None:
    automaton = Automaton(start="a", final={"c"}, register=R(), event=Number, arcs=[Arc("a", "c", "10 // e.n > 2")])
    with pytest.raises(ZeroDivisionError):
        Operator(automaton, window=9, engine=engine).push(insert(Number(0), le=1))
