"""Values that compare equal are one payload, and none changes on its way in."""

from __future__ import annotations

import copy
import math
import pickle
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import Arc, Automaton, ChangeError, Keyed, Operator, Punctuation, insert, retract


class V(NamedTuple):
    i: int = 0
    f: float = 0.0
    b: bool = False
    s: str = ""


class Colour(str, Enum):
    RED = "red"


def always(e: Any, r: Any) -> bool:
    return True


def taken(value: Any) -> V:
    """The payload as the operator holds it."""
    seen: list[V] = []
    Operator(Automaton(start="a", final={"b"}, event=V, arcs=[Arc("a", "b", lambda e, r: bool(seen.append(e)))])).push(
        insert(value, 1)
    )
    return seen[0]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (V(1, 1.5, True, "x"), V(1, 1.5, True, "x")),
        ((1, 1.5, True, "x"), V(1, 1.5, True, "x")),
        (V(np.int8(3), np.float32(0.5), np.bool_(True), np.str_("x")), V(3, 0.5, True, "x")),  # type: ignore[arg-type]
        (V(True, 2), V(1, 2.0)),
        (V(f=-0.0), V(f=0.0)),
        (V(f=np.float64(7)), V(f=7.0)),
        (V(s=Colour.RED), V(s="red")),
    ],
)
def test_values_are_taken_in_one_form(value: Any, wanted: V) -> None:
    got = taken(value)
    assert got == wanted
    assert [type(item) for item in got] == [int, float, bool, str]
    assert str(got) == str(wanted)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (V(f=2**53 + 1), r"expected a float but got f=9007199254740993 in V, which no float equals"),
        (V(f=10**400), r"which no float equals"),
        (V(i=1.0), r"expected i: int but got i=1.0"),  # type: ignore[arg-type]
        (V(b=1), r"expected b: bool but got b=1"),
        (V(s=b"x"), r"expected s: str but got s=b'x'"),  # type: ignore[arg-type]
        ((1, 1.5), r"expected V\(i: int, f: float, b: bool, s: str\) but got \(1, 1.5\)"),
    ],
)
def test_values_that_would_change_are_refused(value: Any, message: str) -> None:
    with pytest.raises(ChangeError, match=message):
        taken(value)


def test_nan_equals_itself_at_any_depth() -> None:
    op = Operator(Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", always)]))
    op.push(insert((1, (math.nan, np.float64("nan"))), 1))
    assert len(op.push(retract((1, (np.float32("nan"), -math.nan)), 1))) == 1
    assert op.statistics.state_size == 0


def test_numpy_options_and_keys_are_saved() -> None:
    op = Operator(Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", always)]), window=np.int64(5))
    op.push(insert(np.float64(3.0), np.int64(1)))
    assert Operator.restore(op.automaton, op.snapshot()).push(retract(3.0, 1)) == [retract((), 1, 6)]
    keyed = Keyed(op.automaton, key=lambda e: np.int64(e))
    keyed.push(insert(3.0, 1))
    assert Keyed.restore(op.automaton, keyed.snapshot(), key=lambda e: e).keys == [3]


def test_programs_can_be_copied_and_shipped() -> None:
    automaton = Automaton(
        start="a", final={"b"}, register=V(), event=V, arcs=[Arc("a", "b", always, name="x"), Arc.timeout("b", "b2", len)]
    )
    assert copy.deepcopy(automaton) is automaton
    assert copy.copy(automaton.arcs[0]) is automaton.arcs[0]
    shipped = pickle.loads(pickle.dumps(automaton))
    assert (shipped.start, shipped.final, shipped.register, shipped.states) == ("a", {"b"}, V(), automaton.states)
    assert shipped.arcs[0] == automaton.arcs[0]
    assert shipped.arcs[1].at is len
    op = Operator(automaton, window=5)
    op.push(insert(V(1), 1))
    twin = copy.deepcopy(op)
    assert twin.push(retract(V(1), 1)) == op.push(retract(V(1), 1)) != []
    assert twin.push_arc(retract(automaton.arcs[1])) == []


def test_a_heartbeat_of_time_outs_runs_no_code_ahead_of_the_clock() -> None:
    class Beat(NamedTuple):
        t: int = 0

    automaton = Automaton(
        start="a",
        final={"c"},
        event=V,
        register=Beat(),
        arcs=[
            Arc("a", "b", always, lambda e, r: Beat(e.i)),
            Arc.timeout("b", "c", lambda r: r.t + 10),
            Arc.epsilon("c", "b", transfer=lambda r: Beat(r.t + 10)),
        ],
    )
    op = Operator(automaton)
    op.push(insert(V(0), 0))
    beats = [change.le for t in (5, 10, 35, 36) for change in op.push(Punctuation(t)) if not isinstance(change, Punctuation)]
    assert beats == [10, 20, 30]
    op._check()


def test_what_is_gone_is_forgotten() -> None:
    automaton = Automaton(start="a", final={"b"}, event=V, arcs=[Arc("a", "b", always)])
    keyed = Keyed(automaton, key="i", window=5, engine="interpreted")
    for i in range(300):
        keyed.push(insert(V(i), i))
        if i % 2:
            keyed.push(retract(V(i), i))
        else:
            keyed.push(Punctuation(i))
    held: Any = keyed._core.engine
    assert max(len(held.states), len(held._measure), len(held._sizes), len(held._restless)) < 10
    assert keyed.statistics.keys < 10
    keyed._check()


def test_ties_come_out_in_an_order_of_their_own() -> None:
    def out(values: list[int]) -> list[Any]:
        op = Operator(
            Automaton(start="a", final={"b"}, register=V(), event=V, arcs=[Arc("a", "b", always, lambda e, r: e)]), window=5
        )
        return op.push_many([insert(V(i), 1) for i in values])

    assert out([3, 1, 2]) == out([2, 3, 1])
