"""A fence as its conjuncts: which of them was true of each event by itself, and which one stopped what was asked.

    fence    e.status == 'paid' and e.amount > r.first and e.note is not None
    parts    0: event                1: both                 2: event
    lead     1                       the parts in front that read the event only: an event decides them once for all that asks

Python stops at the first conjunct that is false, and so does the count: one behind it is not asked, and does not raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from afa.errors import AfaError
from afa.expression.arc_functions import SkipText, expression_of
from afa.expression.evaluation import callable_of
from afa.expression.kinds import EPSILON_FENCE, FENCE, Unreadable
from afa.expression.nodes import Const, Expr, sides
from afa.expression.splitting import clauses
from afa.expression.text import text_of_expr
from afa.model.arc import TIMEOUT, Arc
from afa.model.automaton import Automaton

TRUE, RAISED = -1, -2
"""What is answered in place of the number of the conjunct that is false."""


class FenceConjunct(NamedTuple):
    """One conjunct of a fence; ``expr`` None: the whole of a function that can't be taken apart."""

    text: str
    ask: Callable[[Any, Any], Any]
    expr: Expr | None
    of_event: bool


def parts_of(arc: Arc, automaton: Automaton) -> list[FenceConjunct]:
    """Return the conjuncts of a fence, in order; none for a time-out, or where the fence is always true."""
    if arc.kind == TIMEOUT or arc.fence is None:
        return []
    kind = FENCE if arc.reads_event else EPSILON_FENCE
    fence: Any = arc.fence
    try:
        found = clauses(expression_of(fence, kind, automaton.event_schema, automaton.register_schema))
    except (Unreadable, AfaError):
        from afa.explain.draw.words import fence_of  # not at the top: `import afa` loads no picture

        return [FenceConjunct(fence_of(arc), fence if arc.reads_event else lambda e, r: fence(r), None, False)]
    found = [clause for clause in found if not (isinstance(clause, Const) and clause.value)]
    schema = automaton.register_schema
    return [
        FenceConjunct(text_of_expr(clause), callable_of(clause, FENCE, schema), clause, sides(clause) <= {"e"}) for clause in found
    ]


class CountedFence:
    """One arc, and what was counted of it."""

    __slots__ = (
        "arc", "asked", "bars", "broke", "error", "ever", "far", "last", "lead", "lifetimes", "misses", "of_event", "parts", "past",
        "raised", "stopped", "take", "true", "whole",
    )  # fmt: skip

    def __init__(self, arc: Arc, automaton: Automaton, far: bool) -> None:
        self.arc, self.far = arc, far  # far: it leads nearer to a final state
        self.parts = parts_of(arc, automaton)
        text = getattr((arc.origin or arc).fence, "text", None)
        bars = dict(text.bars) if isinstance(text, SkipText) else {}
        self.bars = {i: bars[part.text] for i, part in enumerate(self.parts) if part.text in bars}  # the negations behind conjuncts
        self.lead = next((i for i, part in enumerate(self.parts) if not part.of_event), len(self.parts))
        self.whole = self.lead == len(self.parts)  # the event decides alone
        self.of_event = [i for i, part in enumerate(self.parts) if part.of_event]
        self.take = automaton.register_schema.take
        self.lifetimes: list[tuple[int, int]] = []
        self.asked = self.true = self.raised = self.past = 0
        self.stopped = [0] * len(self.parts)
        self.ever = [0] * len(self.parts)  # of how many events of all a conjunct on the event is true
        self.last: int | None = None
        self.error: str | None = None
        self.broke = len(self.parts)  # the first conjunct that has raised; behind the last one: the transfer
        self.misses: list[Any] = []

    def serves(self, le: int) -> bool:
        """Return whether it is in force at an instant."""
        return any(begin <= le < end for begin, end in self.lifetimes)

    def leading(self, payload: Any) -> int:
        """Return which of the leading conjuncts an event stops at, `TRUE` or `RAISED`."""
        return self._first(0, self.lead, payload, None)

    def outcome(self, payload: Any, register: Any) -> int:
        """Return which conjunct stops an event that has passed the leading ones, `TRUE` or `RAISED`."""
        return self._first(self.lead, len(self.parts), payload, register)

    def _first(self, low: int, high: int, payload: Any, register: Any) -> int:
        i = low
        try:
            for i in range(low, high):
                if not self.parts[i].ask(payload, register):
                    return i
        except Exception as error:
            self.broke = min(self.broke, i)
            self.note(error)
            return RAISED
        return TRUE

    def note(self, error: Exception) -> None:
        """Keep what was raised first."""
        self.error = self.error or f"{type(error).__name__}: {error}"

    def could(self, payload: Any) -> bool:
        """Return whether an event satisfies all that a fence asks of it alone; counts which of these conjuncts are true of it."""
        found = True
        for i in self.of_event:
            try:
                true = bool(self.parts[i].ask(payload, None))
            except Exception:
                true = False
            self.ever[i] += true
            found = found and true
        return found

    def would(self, payload: Any, register: Any) -> bool:
        """Return whether the whole fence is true."""
        return _all(self.parts, payload, register)

    def could_alone(self, payload: Any) -> bool:
        """Return whether an event satisfies all that a fence asks of it alone, without a count."""
        return _all([self.parts[i] for i in self.of_event], payload, None)

    def after(self, payload: Any, register: Any) -> Any:
        """Return the register behind the arc; None: the transfer raised."""
        transfer = self.arc.transfer
        if transfer is None:
            return register
        try:
            return self.take(transfer(payload, register) if self.arc.reads_event else transfer(register))
        except Exception as error:
            self.note(error)
            return None

    def count(self, outcome: int, how_many: int, le: int) -> None:
        """Count how it was answered."""
        self.asked += how_many
        if outcome >= 0:
            self.stopped[outcome] += how_many
        elif outcome == RAISED:
            self.raised += how_many
        else:
            self.true += how_many
            if self.last is None or le > self.last:
                self.last = le


def _all(parts: Iterable[FenceConjunct], payload: Any, register: Any) -> bool:
    """Return whether conjuncts are true; one that raises is not."""
    try:
        return all(part.ask(payload, register) for part in parts)
    except Exception:
        return False
