"""Find the functions of an arc, and the expressions that they mean."""

from __future__ import annotations

from typing import Any, Protocol

from afa.expression.from_functions import read
from afa.expression.kinds import AT, EPSILON_FENCE, EPSILON_TRANSFER, FENCE, TRANSFER, Kind
from afa.expression.nodes import Expr
from afa.expression.written import Readable
from afa.schema import Schema

KINDS: dict[str, tuple[Kind, ...]] = {
    "consume": (FENCE, TRANSFER),
    "skip": (FENCE,),
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


def functions_of(arc: ArcLike) -> list[tuple[Kind, Any]]:
    """Return the functions that an arc has, each with its kind."""
    return [(kind, getattr(arc, kind.role)) for kind in KINDS[arc.kind] if getattr(arc, kind.role) is not None]


def expression_of(function: Any, kind: Kind, event_schema: Schema | None, register_schema: Schema) -> Expr:
    """Return the expression of a function, of text, or of a callable that knows its own expression.

    Raises
    ------
    Unreadable
        The function can't be taken apart.
    ExpressionError
        The text means nothing under these schemas.
    """
    if isinstance(function, Readable):
        return function.expression(event_schema, register_schema)
    return read(function, kind, event_schema, register_schema)


def same_meaning(a: ArcLike, b: ArcLike, automaton: Schemas) -> bool:
    """Return whether two arcs do the same by the same expressions. Names don't count.

    Raises
    ------
    Unreadable, ExpressionError

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton
    >>> class Tick(NamedTuple):
    ...     x: int
    >>> written, read = Arc("a", "b", "0 < x < 3"), Arc("a", "b", lambda e, r: 0 < e.x and e.x < 3)
    >>> same_meaning(written, read, Automaton(start="a", final={"b"}, arcs=[written], event=Tick))
    True
    """
    if (a.kind, a.src, a.dst, a.final) != (b.kind, b.src, b.dst, b.final):
        return False
    schemas = automaton.event_schema, automaton.register_schema
    return [(kind, expression_of(function, kind, *schemas)) for kind, function in functions_of(a)] == [
        (kind, expression_of(function, kind, *schemas)) for kind, function in functions_of(b)
    ]
