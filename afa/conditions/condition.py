"""Conditions over events: a predicate punctuation ([AFA10] App. F.2) is a promise about the events that satisfy its condition.

Such a punctuation promises that no event that satisfies the condition arrives any more with a timestamp before ``t``. An event on
which the condition raises does not satisfy it: the promise does not concern it, it is not late, and the state that it could touch
is kept.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from afa.errors import AutomatonError
from afa.expression import CONDITION, Unreadable, callable_of, parse, read, text_of_expr
from afa.expression.nodes import Expr, FieldRead, walk
from afa.expression.spans import in_ticks
from afa.model.automaton import NoRegister
from afa.schema import Schema

NO_REGISTER = Schema.of(NoRegister, "register")
"""The empty register schema under which a condition is read."""


class Condition:
    """A condition over the fields of an event.

    ``source`` is ``"floor <= 3"``, a Python expression in which a bare name is a field of the event, within
    `afa.expression.from_text`; or ``lambda e: e.floor <= 3``, one that can be taken apart. ``tick`` is what one int of LE counts,
    for durations in the condition. ``fields`` are those that the condition names; ``text`` makes a condition of the same meaning
    under the same schema.

    Raises AutomatonError where the condition names something that is no field of the event, or the register; where it is a function
    that can't be taken apart; or without a schema (an automaton without ``event=`` has no conditions).

    >>> from typing import NamedTuple
    >>> class Reading(NamedTuple):
    ...     floor: int
    >>> low = Condition(lambda e: e.floor <= 3, Schema.of(Reading, "event"))
    >>> low, low.holds(Reading(3)), low.holds(Reading(4))
    (Condition('e.floor <= 3'), True, False)
    >>> low == Condition("floor <= 3", low.event_schema)
    True
    >>> Condition("wall <= 3", low.event_schema)
    Traceback (most recent call last):
    afa.errors.ExpressionError: expected condition(e) as text but wall is no field of Reading; its fields: floor
        wall <= 3
        ^
    """

    __slots__ = ("_function", "_hash", "event_schema", "expr", "fields", "text")

    def __init__(self, source: str | Callable[[Any], Any], event_schema: Schema | None, tick: str | None = None) -> None:
        if event_schema is None:
            raise AutomatonError("expected an automaton with event=, whose fields a condition names, but got event=None")
        text = source if isinstance(source, str) else _text_of(source, event_schema)
        self.event_schema = event_schema
        expr = parse(text, CONDITION, event_schema, NO_REGISTER)  # of a function, too: what its text means counts
        self.expr: Expr = in_ticks(expr, tick, f"the condition {text!r}")
        self.text: str = text_of_expr(self.expr)
        self._function = callable_of(self.expr, CONDITION, NO_REGISTER)
        self.fields = frozenset(node.name for node in walk(self.expr) if isinstance(node, FieldRead))
        self._hash = hash((self.expr, self.event_schema))  # of trees, which take long

    def holds(self, payload: Any) -> bool:
        """Return whether an event, in the form of the schema (`Schema.take`), satisfies the condition.

        An event on which the condition raises does not satisfy it: a promise does not concern such events, neither here nor in
        `afa.conditions.implied`.
        """
        try:
            return self.asked(payload)
        except Exception:  # whatever Python's operators raise
            return False

    def asked(self, payload: Any) -> bool:
        """Return whether an event satisfies the condition. Raises what the condition raises."""
        return bool(self._function(payload, None))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Condition) or self._hash != other._hash:
            return False
        return (self.expr, self.event_schema) == (other.expr, other.event_schema)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Condition, (self.text, self.event_schema)

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"


def _text_of(function: Any, event_schema: Schema) -> str:
    """Return a function as text."""
    if not callable(function):
        raise AutomatonError(f"expected a str or a callable condition(e) but got condition={function!r}")
    try:
        return text_of_expr(read(function, CONDITION, event_schema, NO_REGISTER))
    except Unreadable as error:
        name = getattr(function, "__name__", type(function).__name__)
        message = f"expected a condition(e) that can be taken apart but got condition={name}: {error.reason}; {error.hint}"
        raise AutomatonError(message) from None


def condition_of(source: str | Callable[[Any], Any], event_schema: Schema | None, tick: str | None = None) -> Condition:
    """Return a `Condition`. Equal texts share one, which is cached."""
    return _of_text(source, event_schema, tick) if isinstance(source, str) else Condition(source, event_schema, tick)


@functools.lru_cache(maxsize=1024)
def _of_text(text: str, event_schema: Schema | None, tick: str | None) -> Condition:
    return Condition(text, event_schema, tick)
