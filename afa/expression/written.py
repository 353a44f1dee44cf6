"""Functions given as text: callables whose names get a meaning once the schemas of event and register are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from afa.errors import AutomatonError
from afa.expression.callables import callable_of
from afa.expression.from_text import parse
from afa.expression.kinds import Kind
from afa.expression.nodes import Expr
from afa.schema import Schema


class Readable:
    """A callable that knows its own expression, so that no source needs to be read."""

    __slots__ = ()

    def expression(self, event_schema: Schema | None, register_schema: Schema) -> Expr:
        """Return its expression under these schemas.

        Raises
        ------
        ExpressionError, Unreadable
        """
        raise NotImplementedError


class Written(Readable):
    """A fence, transfer or ``at`` that an arc was given as text.

    Notes
    -----
    The text is not read before the schemas are known: an arc belongs to no automaton, and the automaton decides what a name means.
    So one arc can serve several automata. An automaton reads the text when it is built, a running operator when the arc is
    pushed; a call in the interpreted engine takes the schemas from its arguments, once for each pair of classes.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa.expression import FENCE
    >>> class Tick(NamedTuple):
    ...     change: float
    >>> class R(NamedTuple):
    ...     n: int = 0
    >>> fence = Written("change < 0 and r.n < 3", FENCE)
    >>> fence(Tick(-0.5), R(2)), fence(Tick(-0.5), R(3))
    (True, False)
    """

    __slots__ = ("_functions", "kind", "text")

    def __init__(self, text: str, kind: Kind) -> None:
        self.text = text
        self.kind = kind
        self._functions: dict[tuple[type, type], Callable[..., Any]] = {}

    def expression(self, event_schema: Schema | None, register_schema: Schema) -> Expr:
        """Return the expression that the text means under these schemas.

        Raises
        ------
        ExpressionError
        """
        return parse(self.text, self.kind, event_schema, register_schema)

    def __call__(self, *values: Any) -> Any:
        """Return the value for ``(e, r)`` or ``(r)``."""
        classes = type(values[0]), type(values[-1])
        function = self._functions.get(classes)
        if function is None:
            event = _event_schema(classes[0]) if self.kind.sees_event else None
            register = Schema.of(classes[1], "register")
            function = callable_of(self.expression(event, register), self.kind, register)
            self._functions[classes] = function
        return function(*values)

    def __reduce__(self) -> tuple[Any, ...]:
        return Written, (self.text, self.kind)

    def __repr__(self) -> str:
        return repr(self.text)


def _event_schema(cls: type) -> Schema | None:
    """Return the schema of an event's class. None: the automaton has no event schema."""
    try:
        return Schema.of(cls, "event")
    except AutomatonError:
        return None
