"""Split an arc, and rewrite it as one over triggering sets ([AFA10] App. F.1); see `afa.rewrite.triggers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from afa.errors import AfaError, AutomatonError, blame
from afa.expression import FENCE, TRANSFER, FunctionKind, Unreadable, callable_of, split, text_of_expr
from afa.expression.arc_functions import GivenExpression, expression_of
from afa.expression.nodes import Binary, Const, Expr, FieldRead, conjunction, sides
from afa.model.arc import SKIP, Arc
from afa.model.automaton import Automaton, changed
from afa.rewrite.vectors import Vector, vector_of


class ArcParts(NamedTuple):
    """A consuming arc taken apart; ``event`` None: true of every event.

    ``test`` and ``vector`` ask the event part of one event, and of columns, if it can be asked so.
    """

    arc: Arc
    event: Expr | None
    register: Expr | None
    transfer: Expr | None
    test: Callable[[Any, Any], Any]
    vector: Vector | None

    def ask(self, payload: Any, le: int) -> bool:
        """Return whether the event part is true of an event. What the fence raises names the arc and the event."""
        try:
            return bool(self.test(payload, None))
        except Exception as error:
            blame(error, f"in the fence of {self.arc!r} on event {payload!r} at le={le}")
            raise


class Reduction:
    """The rewriting of an automaton with an event schema. Raises AutomatonError where an arc does not split.

    ``sequence`` is the event's field that stays beside the set, which stands in ``field``. The bits of the arcs of ``rewritten``
    are no more than an example: `Triggers.table` has those that are in force.
    """

    def __init__(self, automaton: Automaton, sequence: str | None) -> None:
        assert automaton.event_schema is not None
        self.automaton = automaton
        self.schema = automaton.event_schema
        self.sequence = sequence
        self.field = "triggers" if sequence != "triggers" else "triggering"
        kept = [(field.name, field.type) for field in self.schema.fields if field.name == sequence]
        make: Any = NamedTuple  # its fields are known at run time only
        self.event: Any = make("TriggeringSet", [(self.field, int), *kept])
        arcs = [self.rewrite(arc) for arc in automaton.arcs]
        self.rewritten = changed(automaton, arcs=arcs, event=self.event, ties=True, having=None)

    def parts(self, arc: Arc) -> ArcParts:
        """Return a consuming arc taken apart."""
        registers, transfer = self.automaton.register_schema, None
        fence = split(self._read(arc, "fence", FENCE), self.schema, registers)
        if fence.mixed is not None:
            raise refused(arc, f"fence: {text_of_expr(fence.mixed)} needs the event and the register at once")
        if arc.kind == SKIP and arc.transfer is not None:
            raise refused(arc, "transfer: it takes note of each event, and several may have one triggering set")
        if arc.transfer is not None:
            transfer = self._read(arc, "transfer", TRANSFER)
            if "e" in sides(transfer):
                raise refused(arc, f"transfer: {text_of_expr(transfer)} reads the event")
        event = None if isinstance(fence.event, Const) and fence.event.value else fence.event
        asked = Const(True) if event is None else event
        return ArcParts(
            arc, event, fence.register, transfer, callable_of(asked, FENCE, registers), vector_of(asked, self.schema, registers)
        )

    def rewrite(self, arc: Arc) -> Arc:
        """Return an arc over triggering sets, with the first bit."""
        return arc if not arc.reads_event else self.arc(self.parts(arc), 0)

    def arc(self, parts: ArcParts, bit: int | None) -> Arc:
        arc, registers = parts.arc, self.automaton.register_schema
        clauses: list[Expr] = [] if bit is None else [Binary("&", FieldRead("e", self.field), Const(1 << bit))]
        clauses += [] if parts.register is None else [parts.register]
        fence = GivenExpression(conjunction(clauses) if clauses else Const(True), FENCE, registers)
        if arc.kind == SKIP:
            return Arc.skip(arc.src, fence, name=arc.name)
        transfer = None if parts.transfer is None else GivenExpression(parts.transfer, TRANSFER, registers)
        return Arc(arc.src, arc.dst, fence, transfer, name=arc.name, final=arc.final, select=arc.select)

    def set_of(self, triggers: int, payload: Any) -> Any:
        return self.event(triggers) if self.sequence is None else self.event(triggers, getattr(payload, self.sequence))

    def _read(self, arc: Arc, role: str, kind: FunctionKind) -> Expr:
        try:
            return expression_of(getattr(arc, role), kind, self.schema, self.automaton.register_schema)
        except Unreadable as error:
            raise refused(arc, f"{role}: {error.reason}; {error.hint}") from None


def refused(arc: Arc, why: str, what: str = "arcs that split") -> AutomatonError:
    return AutomatonError(f"expected {what} for keep_payloads=False but got {arc!r}: {why}")


def check_rewritten(automaton: Automaton) -> None:
    """Refuse an automaton whose events have no fields to be rewritten."""
    if automaton.event_schema is None:
        raise AfaError(f"expected an automaton with event= for keep_payloads=False but got {automaton!r}")
