"""The event before: ``m.prev`` and ``PREV`` said as an event of a component, where one component alone can have taken it.

one("a").next(many("d", where=lambda e, m: e.price < m.prev.price))
one("a").next(many("d", first=lambda e, m: e.price < m.a.price, rest=lambda e, m: e.price < m.d.last.price))      the same tree
"""

from __future__ import annotations

from dataclasses import replace

from afa.expression.nodes import Expr, changed, walk
from afa.language.conjuncts import PatternPlace, places
from afa.language.pattern import Component, Either, Pattern, Seq, components_of, rebuilt
from afa.language.terms import Ref


def with_known_previous(pattern: Pattern) -> Pattern:
    """Return a pattern in which no ``where`` asks for the event before if it is known which component took it.

    >>> from afa.expression.nodes import Compare, FieldRead
    >>> falls = Compare("<", FieldRead("e", "price"), Ref("", "last", "price"))
    >>> from afa.language.pattern import Repeat
    >>> with_known_previous(Repeat(Component("a", where=(falls,)))).item.rest
    (Compare(op='<', left=FieldRead(side='e', name='price'), right=Ref(component='a', which='last', field='price', back=0)),)
    """
    names = [component.name for component in components_of(pattern)]
    if len(set(names)) < len(names):  # of a name at several places it depends on the place
        return pattern
    before: dict[str, set[str | None]] = {}
    _note(pattern, {None}, before)
    where = places(pattern)
    return rebuilt(pattern, lambda component: _settled(component, before[component.name], where))


def _settled(component: Component, before: set[str | None], where: dict[str, PatternPlace]) -> Component:
    """Return a component with its conjuncts on the event before taken apart, if they can be."""
    name, here = component.name, where[component.name]
    other = next(iter(before)) if len(before) == 1 else None
    if (other is None and before != {None}) or (here.many and not here.alone) or (other is None and not here.many):
        return component
    slots: dict[str, list[Expr]] = {"where": [], "first": list(component.first), "rest": list(component.rest)}
    for expr in component.where:
        backs = [node.back for node in walk(expr) if isinstance(node, Ref) and not node.component and node.which == "last"]
        if not backs or any(backs):
            slots["where"].append(expr)
            continue
        if other is not None:
            term = Ref(other, "last" if where[other].many else "one", "")
            slots["first" if here.many else "where"].append(_with(expr, term))
        if here.many:
            slots["rest"].append(_with(expr, Ref(name, "last", "")))
    return replace(component, where=tuple(slots["where"]), first=tuple(slots["first"]), rest=tuple(slots["rest"]))


def _with(expr: Expr, term: Ref) -> Expr:
    """Return a conjunct with the event before said as an event of a component."""

    def change(node: Expr) -> Expr | None:
        is_previous = isinstance(node, Ref) and not node.component and node.which == "last"
        return replace(term, field=node.field) if is_previous and isinstance(node, Ref) else None

    return changed(expr, change)


def _note(pattern: Pattern, before: set[str | None], found: dict[str, set[str | None]]) -> set[str | None]:
    """Note for each component which may take the event before it (None: it may be the first), but for its own repetition.

    Returns what may come before that which follows the pattern.
    """
    match pattern:
        case Component(name):
            found.setdefault(name, set()).update(before)
            return {name}
        case Seq(items):
            for item in items:
                before = _note(item, before, found)
            return before
        case Either(items):
            return set().union(*(_note(item, before, found) for item in items))
    behind = _note(pattern.item, before, found)
    if pattern.high != 1 and not isinstance(pattern.item, Component):
        _note(pattern.item, behind, found)
    return behind | before if pattern.low == 0 else behind
