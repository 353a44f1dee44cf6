"""The expressions of an arc."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from afa.expression.kinds import AT, EPSILON_FENCE, EPSILON_TRANSFER, FENCE, TRANSFER, Kind
from afa.expression.nodes import Expr
from afa.expression.reading import read
from afa.expression.written import Readable
from afa.schema import Schema

if TYPE_CHECKING:  # an arc holds what is defined here
    from afa.arc import Arc
    from afa.automaton import Automaton

KINDS: dict[str, tuple[Kind, ...]] = {"consume": (FENCE, TRANSFER), "epsilon": (EPSILON_FENCE, EPSILON_TRANSFER), "timeout": (AT,)}
"""The functions of each kind of arc."""


def functions_of(arc: Arc) -> list[tuple[Kind, Any]]:
    """The functions that an arc has, with what each is."""
    return [(kind, getattr(arc, kind.role)) for kind in KINDS[arc.kind] if getattr(arc, kind.role) is not None]


def expression_of(function: Any, kind: Kind, event_schema: Schema | None, register_schema: Schema) -> Expr:
    """The expression of a function, of text, or of a callable that knows its own.

    Raises
    ------
    Unreadable
        A function that can't be taken apart.
    ExpressionError
        Text that means nothing under these schemas.
    """
    if isinstance(function, Readable):
        return function.expression(event_schema, register_schema)
    return read(function, kind, event_schema, register_schema)


def same_meaning(a: Arc, b: Arc, automaton: Automaton) -> bool:
    """Whether two arcs do the same by the same expressions; names don't count.

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
