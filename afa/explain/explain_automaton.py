"""Explain an automaton: each arc's text, the parts of its fence, the values that it allows, and how it runs.

Also the events that every match contains, and the states that wait for arcs to come.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from afa.errors import AutomatonError
from afa.expression.arc_functions import WrittenFunction, expression_of, functions_of
from afa.expression.intervals import ranges
from afa.expression.kinds import FunctionKind, Unreadable
from afa.expression.nodes import Const, Expr
from afa.expression.splitting import Split, split
from afa.expression.text import text_of_expr
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.model.binding import bound_arc
from afa.model.reach import Loose, loose

COMPILED, PYTHON, INTERPRETED, REFUSED = "compiled", "Python per partial match", "interpreted engine", "no operator takes it"


class Rung(NamedTuple):
    """How an arc runs: compiled, or in Python. If in Python: why, and how to write the arc so that it compiles."""

    rung: str
    reason: str | None = None
    hint: str | None = None


class ArcExplanation(NamedTuple):
    """The explanation of one arc: the text of each function by role, the fence's parts, the values that each field may have."""

    arc: Arc
    rung: Rung
    texts: dict[str, str]
    split: Split | None
    ranges: dict[str, str]

    def __str__(self) -> str:
        lines = [f"{self.arc!r}: {self.rung.rung}"]
        rows = list(self.texts.items())
        if self.split is not None and sum(part is not None for part in self.split) > 1:
            parts = zip(("event part", "register part", "mixed part"), self.split)
            rows += [(name, text_of_expr(part)) for name, part in parts if part is not None]
        rows += list(self.ranges.items())
        rows += [("because", self.rung.reason)] if self.rung.reason else []
        rows += [("hint", self.rung.hint)] if self.rung.hint else []
        width = max([9, *(len(name) for name, _ in rows)])
        return "\n".join(lines + [f"    {name:{width}} {text}" for name, text in rows])


class Explanation(tuple[ArcExplanation, ...]):
    """The explanations of all arcs. Printed: a block for each arc, the events that every match contains, and loose states.

    Attributes
    ----------
    witnesses : list of str
        The events that every match contains, in the order in which its run meets them, as far as not every event is one.
    states : list of Loose
        The states that only arcs to come can connect.
    no_lanes : str or None
        Why `afa.find` and `afa.backtest` take whole frames through the operator, not in lanes; None: not for the automaton's sake.
    """

    witnesses: list[str]
    states: list[Loose]
    no_lanes: str | None

    def __new__(
        cls, arcs: Iterable[ArcExplanation], witnesses: list[str], states: list[Loose], no_lanes: str | None
    ) -> Explanation:
        self = super().__new__(cls, arcs)
        self.witnesses, self.states, self.no_lanes = witnesses, states, no_lanes
        return self

    def __str__(self) -> str:
        has = ["every match has, in this order:", *(f"    {text}" for text in self.witnesses)] if self.witnesses else []
        slow = self.no_lanes is not None and all(each.rung.rung == COMPILED for each in self)
        lanes = [f"whole frames go through the operator, not in lanes: {self.no_lanes}"] if slow else []
        return "\n".join(map(str, [*self, *has, *self.states, *lanes]))


def explain(self: Automaton) -> Explanation:
    """Explain each arc: its text, the parts of its fence, the values that it allows, and how it runs.

    Behind them come the events that every match contains (``.witnesses``), in the order in which its run meets them:
    `afa.replay` looks for these. The explanation ends with the states that no arc reaches or leaves yet (``.states``); arcs
    that are still to come may.

    Returns
    -------
    afa.explain.Explanation
        One `afa.explain.ArcExplanation` an arc; ``print`` shows them.

    Examples
    --------
    >>> class Tick(NamedTuple):
    ...     change: float
    >>> print(Automaton(start="a", final={"b"}, event=Tick, arcs=[Arc("a", "b", "change < 0")]).explain())
    arc a -> b: compiled
        fence     e.change < 0
        change    < 0
    every match has, in this order:
        change < 0 (a -> b)
    >>> print(Automaton(start="a", final={"b"}, event=Tick, arcs=[]).explain())
    state 'a' (start): no arc leaves it yet
    state 'b' (final): no arc leads to it yet
    """
    from afa.compiled.lane_choice import why_no_lanes
    from afa.replay.witness import necessary

    witnesses = [witness.text(self.event_schema) for witness in necessary(self).witnesses]
    return Explanation((_explained(arc, self) for arc in self.arcs), witnesses, loose(self), why_no_lanes(self))


def rung_of(arc: Arc, automaton: Automaton) -> Rung:
    """Return how ``engine="auto"`` runs an arc; if in Python, with the reason and how to write the arc so that it compiles."""
    from afa.compiled.fit import taken_apart, unfit

    why = unfit(automaton)
    if why is not None:
        return Rung(INTERPRETED, *why)
    found = taken_apart(arc, automaton)
    if found.code is not None:
        return Rung(COMPILED)
    one = len(functions_of(arc)) == 1
    return Rung(PYTHON, found.reason if one else f"{found.role}: {found.reason}", found.hint or None)


def _expression(function: Any, kind: FunctionKind, automaton: Automaton) -> Expr:
    return expression_of(function, kind, automaton.event_schema, automaton.register_schema)


def _explained(arc: Arc, automaton: Automaton) -> ArcExplanation:
    texts: dict[str, str] = {}
    parts, values = None, {}
    for kind, function in functions_of(arc):
        try:
            expr = _expression(function, kind, automaton)
        except Unreadable:
            texts[kind.role] = getattr(function, "__name__", type(function).__name__)
            continue
        if expr != Const(True) or isinstance(function, WrittenFunction) or kind.sees_event:
            texts[kind.role] = text_of_expr(expr, automaton.register_schema)
        if kind.role == "fence" and automaton.event_schema is not None and kind.sees_event:
            parts = split(expr, automaton.event_schema, automaton.register_schema)
            found = ranges(expr, automaton.event_schema)
            said = {f.name: found[f.name].text(f.type in (float, None), f.optional) for f in automaton.event_schema.fields}
            values = {name: text for name, text in said.items() if text != "anything"}
    try:
        rung = rung_of(bound_arc(arc, "ns", automaton), automaton)  # whatever the tick is
    except AutomatonError as error:
        rung = Rung(REFUSED, str(error))
    return ArcExplanation(arc, rung, texts, parts, values)
