"""Hypothesis drives one operator: after every step net output == oracle, the difference is minimal, and the invariants hold.

What a step is, and how it is checked, is `tests.stress.run.step`; here Hypothesis chooses, and shrinks what fails.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests import strategies
from tests.conftest import ENGINES
from tests.strategies import HORIZON, Drawn
from tests.stress import generate
from tests.stress.generate import World
from tests.stress.run import check_late, make, restored, step

times = st.integers(0, HORIZON)
spans = st.sampled_from([None, 1, 2, 3, 5, 20])
payloads = st.tuples(st.integers(0, strategies.KINDS - 1), st.integers(0, 2))
nth = st.integers(0, 30)


@st.composite
def worlds(draw: Any) -> dict[str, Any]:
    """A world without operations."""
    return generate.world(Drawn(draw), steps=0)


class Machine(RuleBasedStateMachine):
    """One world on one engine."""

    engine = "interpreted"

    @initialize(spec=worlds())
    def begin(self, spec: dict[str, Any]) -> None:
        self.here = World(spec)
        self.handed: list[Any] = []
        self.late = self.handed.append if spec["options"]["late"] == "callback" else spec["options"]["late"]
        self.operator = make(self.here, self.engine, self.late)
        self.held: set[Any] = set()

    def do(self, op: tuple[Any, ...]) -> None:
        self.held, _ = step(self.here, self.operator, op, self.held)

    def in_force(self) -> list[tuple[Any, int, int]]:
        return [event for event, n in self.here.model.copies.items() if n > 0]

    def waiting(self) -> list[tuple[Any, int, int]]:
        return [event for event, n in self.here.model.copies.items() if n < 0]

    # -- events

    @rule(payload=payloads, le=times, span=spans)
    def insert(self, payload: tuple[int, int], le: int, span: int | None) -> None:
        self.do(("insert", payload, le, span and le + span))

    @rule(payload=payloads, after=st.integers(0, 3), span=spans)
    def insert_in_time(self, payload: tuple[int, int], after: int, span: int | None) -> None:
        le = max(self.here.model.event_promise, 0) + after
        self.do(("insert", payload, le, span and le + span))

    @precondition(lambda self: self.in_force())
    @rule(n=nth)
    def retract(self, n: int) -> None:
        events = self.in_force()
        payload, le, re = events[n % len(events)]
        self.do(("retract", tuple(payload), le, re))

    @precondition(lambda self: self.in_force())
    @rule(n=nth, payload=payloads, span=spans, net=st.booleans())
    def revise(self, n: int, payload: tuple[int, int], span: int | None, net: bool) -> None:
        events = self.in_force()
        old, le, re = events[n % len(events)]
        self.do(("batch", [("retract", tuple(old), le, re), ("insert", payload, le, re if span is None else le + span)], net))

    @precondition(lambda self: self.in_force())
    @rule(n=nth)
    def duplicate(self, n: int) -> None:
        events = self.in_force()
        payload, le, re = events[n % len(events)]
        self.do(("insert", tuple(payload), le, re))

    @rule(payload=payloads, le=times, span=spans)
    def retract_before_insertion(self, payload: tuple[int, int], le: int, span: int | None) -> None:
        self.do(("retract", payload, le, span and le + span))

    @precondition(lambda self: self.waiting())
    @rule(n=nth)
    def insert_what_waits(self, n: int) -> None:
        events = self.waiting()
        payload, le, re = events[n % len(events)]
        self.do(("insert", tuple(payload), le, re))

    # -- arcs

    @rule(n=nth, what=st.sampled_from(["arc+", "arc-", "arc-copy"]))
    def arc_from_now_on(self, n: int, what: str) -> None:
        self.do((what, n % len(self.here.pool), None, None))

    @rule(n=nth, le=st.integers(0, HORIZON + 2), span=spans, what=st.sampled_from(["arc+", "arc+", "arc-"]))
    def arc_with_a_lifetime(self, n: int, le: int, span: int | None, what: str) -> None:
        self.do((what, n % len(self.here.pool), le, span and le + span))

    @rule(n=nth, what=st.sampled_from(["arc-", "arc-copy"]))
    def retract_an_arc(self, n: int, what: str) -> None:
        if self.here.model.arcs:
            arc, le, re = self.here.model.arcs[n % len(self.here.model.arcs)]
            self.do((what, next(i for i, known in enumerate(self.here.pool) if known == arc), le, re))

    # -- progress

    @rule(after=st.integers(-1, 3))
    def punctuate(self, after: int) -> None:
        self.do(("punctuate", max(self.here.model.event_promise, 0) + after))

    @rule(after=st.integers(-1, 4))
    def punctuate_arcs(self, after: int) -> None:
        self.do(("punctuate_arcs", max(self.here.model.arc_promise, 0) + after))

    @rule(data=st.data(), net=st.booleans(), size=st.integers(1, 3))
    def push_many(self, data: Any, net: bool, size: int) -> None:
        choose = Drawn(data.draw)
        ops = [piece for _ in range(size) for piece in generate.pieces(choose, self.here) if piece[0] != "punctuate_arcs"]
        self.do(("batch", ops, net))

    @precondition(lambda self: self.here.automaton.event)
    @rule()
    def save_and_restore(self) -> None:
        self.operator = restored(self.here, self.operator, self.late, self.engine)

    # -- always

    @invariant()
    def counts(self) -> None:
        if hasattr(self, "operator"):
            self.operator._check()
            check_late(self.here, self.operator, self.handed)


def case_of(engine: str) -> type:
    """The test case of one engine."""
    machine = type(f"Machine_{engine}", (Machine,), {"engine": engine})
    case = machine.TestCase
    case.settings = settings(
        max_examples=100,
        stateful_step_count=25,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    return case


for _engine in ENGINES:
    globals()[f"TestMachine_{_engine}"] = case_of(_engine)
