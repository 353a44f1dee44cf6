"""Conditions over events: what a predicate punctuation ([AFA10] App. F.2) promises something about.

Such a punctuation says that no event that makes the condition true arrives any more with a timestamp before ``t``. An event on
which the condition raises does not make it true: nothing is said of it, it is not late, and nothing that it could touch is dropped.

conditions   a condition: out of text or a lambda, as text again, true or not of an event
implied      what promises for conditions say about all events that make a fence true
promises     what they say about arcs, states and events of an automaton
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from afa.errors import AutomatonError
from afa.expression import CONDITION, Unreadable, callable_of, parse, read, text_of_expr
from afa.expression.nodes import Expr, Field, walk
from afa.model.automaton import NoRegister
from afa.schema import Schema

NO_REGISTER = Schema.of(NoRegister, "register")
"""What stands for the register, where there is none."""


class Condition:
    """A condition over the fields of an event.

    Parameters
    ----------
    source : str or callable
        ``"floor <= 3"``, a Python expression in which a bare name is a field of the event, within `afa.expression.from_text`; or
        ``lambda e: e.floor <= 3``, one that can be taken apart.
    event_schema : Schema or None
        None: of an automaton without ``event=``, which has no conditions.

    Attributes
    ----------
    expr : Expr
    fields : frozenset of str
        That it names.
    text : str
        Under the same schema it makes an equal condition; ``holds`` is the same for both.

    Raises
    ------
    AutomatonError
        It names what is no field of the event, or the register; a function that can't be taken apart; no event schema.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Reading(NamedTuple):
    ...     floor: int
    >>> low = Condition(lambda e: e.floor <= 3, Schema.of(Reading, "event"))
    >>> low, low.holds(Reading(3)), low.holds(Reading(4))
    (Condition('e.floor <= 3'), True, False)
    >>> low == Condition("floor <= 3", low.event_schema)
    True
    >>> Condition("flor <= 3", low.event_schema)
    Traceback (most recent call last):
    afa.errors.ExpressionError: expected condition(e) as text but flor is no field of Reading; its fields: floor
        flor <= 3
        ^
    """

    __slots__ = ("_function", "_hash", "event_schema", "expr", "fields", "text")

    def __init__(self, source: str | Callable[[Any], Any], event_schema: Schema | None) -> None:
        if event_schema is None:
            raise AutomatonError("expected an automaton with event=, whose fields a condition names, but got event=None")
        text = source if isinstance(source, str) else _text_of(source, event_schema)
        self.event_schema = event_schema
        self.expr: Expr = parse(text, CONDITION, event_schema, NO_REGISTER)  # of a function, too: what its text means counts
        self.text: str = text_of_expr(self.expr)
        self._function = callable_of(self.expr, CONDITION, NO_REGISTER)
        self.fields = frozenset(node.name for node in walk(self.expr) if isinstance(node, Field))
        self._hash = hash((self.expr, self.event_schema))  # of trees, which take long

    def holds(self, payload: Any) -> bool:
        """Whether it is true of an event, given in the form of the schema (`Schema.take`).

        An event on which it raises does not satisfy it: a promise says nothing of such events, neither here nor in
        `afa.conditions.implied`.
        """
        try:
            return bool(self._function(payload, None))
        except Exception:  # whatever Python's operators raise
            return False

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
    """The text of a function."""
    if not callable(function):
        raise AutomatonError(f"expected a str or a callable condition(e) but got condition={function!r}")
    try:
        return text_of_expr(read(function, CONDITION, event_schema, NO_REGISTER))
    except Unreadable as error:
        name = getattr(function, "__name__", type(function).__name__)
        message = f"expected a condition(e) that can be taken apart but got condition={name}: {error.reason}; {error.hint}"
        raise AutomatonError(message) from None


def condition_of(source: str | Callable[[Any], Any], event_schema: Schema | None) -> Condition:
    """A `Condition`; of a text that was read before the same one."""
    return _of_text(source, event_schema) if isinstance(source, str) else Condition(source, event_schema)


@functools.lru_cache(maxsize=1024)
def _of_text(text: str, event_schema: Schema | None) -> Condition:
    return Condition(text, event_schema)
