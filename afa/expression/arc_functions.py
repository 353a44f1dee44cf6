"""Find the functions of an arc, and the expressions that they mean; text means something once the schemas are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from afa.errors import AutomatonError
from afa.expression.evaluation import callable_of
from afa.expression.from_functions import read
from afa.expression.from_text import LONGEST, parse
from afa.expression.kinds import AT, EPSILON_FENCE, EPSILON_TRANSFER, FENCE, TRANSFER, FunctionKind
from afa.expression.nodes import Binary, Expr, walk
from afa.expression.text import text_of_expr
from afa.expression.types import types_of
from afa.schema import Schema

KINDS: dict[str, tuple[FunctionKind, ...]] = {
    "consume": (FENCE, TRANSFER),
    "skip": (FENCE, TRANSFER),
    "epsilon": (EPSILON_FENCE, EPSILON_TRANSFER),
    "timeout": (AT,),
}
"""Which functions each kind of arc has."""


class ArcLike(Protocol):
    """The part of an arc that is read here: its kind, its ends, its functions by role (`afa.model.arc.Arc`)."""

    src: str
    dst: str
    kind: str
    name: str | None
    final: bool
    select: str | None


class Schemas(Protocol):
    """The part of an automaton that is read here."""

    @property
    def event_schema(self) -> Schema | None:
        """The event's schema, if there is one."""

    @property
    def register_schema(self) -> Schema:
        """The register's schema."""


def functions_of(arc: ArcLike) -> list[tuple[FunctionKind, Any]]:
    """Return the functions that an arc has, each with its kind."""
    return [(kind, getattr(arc, kind.role)) for kind in KINDS[arc.kind] if getattr(arc, kind.role) is not None]


def expression_of(function: Any, kind: FunctionKind, event_schema: Schema | None, register_schema: Schema) -> Expr:
    """Return the expression of a function, of text, or of a callable that knows its own expression.

    `Unreadable`: the function can't be taken apart. `ExpressionError`: the text means nothing under these schemas.
    """
    if isinstance(function, Readable):
        return function.expression(event_schema, register_schema)
    return read(function, kind, event_schema, register_schema)


class Derived(str):
    """Text of a function that nobody wrote by hand: made of a query, or come as JSON. It may be a fence that no event satisfies."""

    __slots__ = ()


class SkipText(Derived):
    """Text of a fence by which events are skipped; ``bars``: its conjuncts that negations have made, each with the negation."""

    __slots__ = ("bars",)
    bars: tuple[tuple[str, str], ...]

    def __new__(cls, text: str, bars: tuple[tuple[str, str], ...]) -> SkipText:
        found = super().__new__(cls, text)
        found.bars = bars
        return found

    def __getnewargs__(self) -> Any:
        return str(self), self.bars


def by_hand(function: Any) -> bool:
    """Return whether somebody has written a function where it stands: as Python or as text."""
    if isinstance(function, WrittenFunction | GivenExpression):
        return function.text is not None and not isinstance(function.text, Derived)
    return not isinstance(function, Readable)


class Readable:
    """A callable that knows its own expression, so that no source needs to be read."""

    __slots__ = ()

    def expression(self, event_schema: Schema | None, register_schema: Schema) -> Expr:
        """Return its expression under these schemas, or refuse it (`ExpressionError`, `Unreadable`)."""
        raise NotImplementedError


class GivenExpression(Readable):
    """A function that is given as its expression, under one register schema; ``text``: how it was said, if in other words."""

    __slots__ = ("_expr", "_function", "_kind", "_schema", "text")

    def __init__(self, expr: Expr, kind: FunctionKind, register_schema: Schema, text: str | None = None) -> None:
        self._expr, self._kind, self._schema, self.text = expr, kind, register_schema, text
        self._function = callable_of(expr, kind, register_schema)

    def expression(self, event_schema: Schema | None, register_schema: Schema) -> Expr:
        return self._expr

    def __call__(self, *values: Any) -> Any:
        return self._function(*values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GivenExpression) and (self._expr, self._kind, self._schema) == (
            other._expr,
            other._kind,
            other._schema,
        )

    def __hash__(self) -> int:
        return hash((self._expr, self._kind))

    def __reduce__(self) -> tuple[Any, ...]:
        return GivenExpression, (self._expr, self._kind, self._schema, self.text)

    def __repr__(self) -> str:
        return repr(self.text or text_of_expr(self._expr, self._schema))


class WrittenFunction(Readable):
    """A fence, transfer or ``at`` that an arc was given as text.

    The text is not read before the schemas are known: an arc belongs to no automaton, and the automaton decides what a name means.
    So one arc can serve several automata. An automaton reads the text when it is built, a running operator when the arc is
    pushed; a call in the interpreted engine takes the schemas from its arguments, once for each pair of classes.

    >>> from typing import NamedTuple
    >>> from afa.expression import FENCE
    >>> class Tick(NamedTuple):
    ...     change: float
    >>> class R(NamedTuple):
    ...     n: int = 0
    >>> fence = WrittenFunction("change < 0 and r.n < 3", FENCE)
    >>> fence(Tick(-0.5), R(2)), fence(Tick(-0.5), R(3))
    (True, False)
    """

    __slots__ = ("_functions", "kind", "text")

    def __init__(self, text: str, kind: FunctionKind) -> None:
        self.text = text
        self.kind = kind
        self._functions: dict[tuple[type, type], Callable[..., Any]] = {}

    def expression(self, event_schema: Schema | None, register_schema: Schema) -> Expr:
        return parse(self.text, self.kind, event_schema, register_schema)

    def __call__(self, *values: Any) -> Any:
        classes = type(values[0]), type(values[-1])
        function = self._functions.get(classes)
        if function is None:
            event = _event_schema(classes[0]) if self.kind.sees_event else None
            register = Schema.of(classes[1], "register")
            expr = self.expression(event, register)
            function = callable_of(expr, self.kind, register)
            if any(isinstance(node, Binary) and str in types_of(node, event, register) for node in walk(expr)):
                function = _of_bounded_length(function)
            self._functions[classes] = function
        return function(*values)

    def __reduce__(self) -> tuple[Any, ...]:
        return WrittenFunction, (self.text, self.kind)

    def __repr__(self) -> str:
        return repr(self.text)


def _of_bounded_length(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that refuses to return a register with a very long str: one that is added to itself doubles."""

    def bounded(*values: Any) -> Any:
        found = function(*values)
        for item in found if isinstance(found, tuple) else ():
            if isinstance(item, str) and len(item) > LONGEST:
                raise ValueError(f"expected a str of at most {LONGEST} characters in a register made by text but got {len(item)}")
        return found

    return bounded


def _event_schema(cls: type) -> Schema | None:
    """Return the schema of an event's class. None: the automaton has no event schema."""
    try:
        return Schema.of(cls, "event")
    except AutomatonError:
        return None
