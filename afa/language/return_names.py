"""Names of what RETURN shows, where none is given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from afa.expression.nodes import Expr
from afa.language.pattern import neighbour_name
from afa.language.terms import Aggregate, Beside, Ref


def named(values: Iterable[tuple[str | None, Expr]]) -> list[tuple[str, Expr]]:
    """Return each value with a name: the one given, else one made of its term, else value1, value2 ..

    >>> [name for name, _ in named([(None, Ref("a", "first", "x")), (None, Aggregate("b", "count")), ("n", Ref("a", "one", "x"))])]
    ['a_first_x', 'b_count', 'n']
    >>> default_name(Beside(Ref("a", "one", "x"), -2))
    'a_x_prev_2'
    """
    found: list[tuple[str, Expr]] = []
    others = 0
    for name, expr in values:
        name = name or default_name(expr)
        if name is None:
            others += 1
            name = f"value{others}"
        found.append((name, expr))
    return found


def default_name(expr: Expr) -> str | None:
    """Return the name of a single term; None: of any other value."""
    match expr:
        case Ref(component, "one", field):
            return f"{component}_{field}"
        case Ref(component, which, field, 0):
            return f"{component}_{which}_{field}"
        case Beside(Ref(field=field) as x, offset):
            return default_name(replace(x, field=neighbour_name(field, offset, ())))
        case Aggregate(component, function, None):
            return f"{component}_{function}"
        case Aggregate(component, function, field):
            return f"{component}_{function}_{field}"
    return None
