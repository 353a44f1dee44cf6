"""What an event alone decides: which states it leaves as they are, whatever the register."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from afa import Arc
from afa.compiled.code.arc_code import words
from afa.compiled.code.native_arc import compiled_arc
from afa.compiled.code.payload_layout import Layout
from afa.compiled.code.step_function import SlotClass, unchanged_ir, unchanged_key
from afa.compiled.code.strings import Strings
from afa.compiled.kernel.layout import STATES
from afa.compiled.machine.native import native
from afa.schema import Schema
from tests.strategies import Seeded


class Tick(NamedTuple):
    kind: int
    x: int


class Low(NamedTuple):
    n: int = 0
    low: int | None = None


EVENT, REGISTER = Layout.of(Schema.of(Tick, "event")), Layout.of(Schema.of(Low, "register"))
EVENTS = [Tick(kind, x) for kind in range(3) for x in range(3)]
REGISTERS = [Low(n, low) for n in range(3) for low in (None, 0, 2)]


def passes(*arcs: Arc) -> Iterator[bool]:
    """Whether each of the events leaves a state with these arcs as it is."""
    codes = [compiled_arc(arc, EVENT, REGISTER).code for arc in arcs]
    classes = [SlotClass(1, code, arc.may_stay, arc.kind == "skip") for arc, code in zip(arcs, codes) if code is not None]
    assert len(classes) == len(arcs)
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(
        native.function(unchanged_key(classes), lambda: unchanged_ir(classes))
    )
    params = [words(c.code.params, Strings()) or [0] for c in classes]
    held = [(ctypes.c_int64 * len(found))(*found) for found in params]
    slots = (ctypes.c_int64 * (2 * len(held)))(*(w for here in held for w in (1, ctypes.addressof(here))))
    for event in EVENTS:
        bits = function(ctypes.addressof((ctypes.c_int64 * 2)(*event)), ctypes.addressof(slots))
        assert bits >> STATES & 1  # nothing begins: there is no arc from the start
        yield bool(bits & 2)


@pytest.mark.parametrize(
    ("arcs", "kinds"),
    [
        ([Arc.skip("a", "not (e.kind == 2 and e.x > r.n)")], {0, 1}),
        ([Arc.skip("a", "not (e.x > r.n and e.kind == 2)")], {0, 1}),
        ([Arc.skip("a", "not (e.kind == 2 and r.low is not None and e.x > r.low)")], {0, 1}),
        ([Arc.skip("a", "not (1 // r.n > 0 and e.kind == 2)")], set()),  # it may raise before the kind is asked
        ([Arc.skip("a", "not (e.kind == 2 and e.x > r.n) and not (e.kind == 1 and e.x < r.n)")], {0}),
        ([Arc.skip("a", "(e.kind != 2 or e.x > r.n) if e.kind != 1 else r.n > 1")], {0}),
        ([Arc.skip("a", "e.kind != 2"), Arc("a", "b", "e.x > r.n and e.kind == 2")], {0, 1}),
        ([Arc.skip("a", "e.kind != 2"), Arc("a", "b", "e.x > r.n")], set()),
        ([Arc("a", "a", "e.kind != 2 or r.n > 1"), Arc("a", "b", "e.kind == 2")], {0, 1}),
        ([Arc.skip("a", "e.kind != 2", "(r.n, e.x if e.kind == 1 and (r.low is None or e.x > r.low) else r.low)")], {0}),
        ([Arc.skip("a", "e.kind != 2", "(r.n, e.x)")], set()),
        ([Arc.skip("a", "e.kind != 2", "r if e.kind == 0 else (e.x, None)")], {0}),
        ([Arc.skip("a", "e.kind != 2", "(r.low or 0, r.low)")], set()),
    ],
)
def test_which_events_leave_a_state_as_it_is(arcs: list[Arc], kinds: set[int]) -> None:
    assert {event.kind for event, stays in zip(EVENTS, passes(*arcs)) if stays} == kinds


def test_random_arcs_pass_what_they_are_said_to_pass() -> None:
    found = 0
    for seed in range(150):
        choose = Seeded(f"by event {seed}")
        arcs = [Arc.skip("a", truth(choose, 3), transfer(choose)), Arc("a", "b", truth(choose, 1))]
        for event, stays in zip(EVENTS, passes(*arcs)):
            for register in REGISTERS if stays else ():
                found += 1
                assert holds(arcs[0].fence, event, register), arcs
                assert arcs[0].transfer is None or Low(*arcs[0].transfer(event, register)) == register, arcs
                assert not holds(arcs[1].fence, event, register), arcs
    assert found > 300


def holds(fence: Any, event: Tick, register: Low) -> bool:
    return bool(fence(event, register))


def truth(choose: Any, deep: int) -> str:
    """A condition over event and register that never raises."""
    kind = choose.number(0, 9) if deep else choose.number(7, 9)
    if kind < 5:
        return f"({truth(choose, deep - 1)} {choose.one(['and', 'or'])} {truth(choose, deep - 1)})"
    if kind == 5:
        return f"(not {truth(choose, deep - 1)})"
    if kind == 6:
        return f"({truth(choose, deep - 1)} if {truth(choose, deep - 1)} else {truth(choose, deep - 1)})"
    if kind == 7:
        return str(choose.one(["e.x > r.n", "r.low is None", "r.n == 1"]))
    return str(choose.one([f"e.kind == {choose.number(0, 2)}", f"e.x < {choose.number(0, 3)}"]))


def transfer(choose: Any) -> str | None:
    kept = f"e.x if {truth(choose, 2)} else r.n"
    return choose.one(
        [None, f"({kept}, r.low)", f"({kept}, e.x if {truth(choose, 1)} else r.low)", f"r if {truth(choose, 1)} else (0, 1)"]
    )
