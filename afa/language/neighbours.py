"""Neighbours in text, ``prev(a.price)``, ``next(a.price, 2)``, and in the builder, ``prev(e.price)``, ``next_(m.a.price, 2)``: of
the event so many steps before, or behind, among all of the key, also before a match begins and behind its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from afa.errors import QueryError
from afa.expression.nodes import Call, Const, Expr, FieldRead, changed
from afa.language.conjuncts import SLOTS, FieldTerm
from afa.language.pattern import Component, Gap, Tree, neighbour_name, rebuilt
from afa.language.terms import Beside, Ref
from speculation.last_before import FARTHEST


def prev(value: Any, k: int = 1) -> Any:
    """Ask for a field of the event k steps before, ``one("a", lambda e: e.price < prev(e.price))``; None: there is none."""
    raise QueryError("expected prev(..) in a function of a query but got a call of it")


def next_(value: Any, k: int = 1) -> Any:
    """Ask for a field of the event k steps behind. It is None until that comes, which revises what was told; see `prev`."""
    raise QueryError("expected next_(..) in a function of a query but got a call of it")


WAYS: dict[Any, int] = {prev: -1, next_: 1}


def beside(way: int, given: list[Any], named: dict[str, Any]) -> Beside | None:
    """Return the term that a call of `prev` or `next_` stands for; None: of other things than a field and a number of steps."""
    value, k = (*given, *([named.get("k")] if "k" in named else [] if len(given) == 2 else [1]), None, None)[:2]
    steps = getattr(k, "value", k)
    fits = isinstance(value, FieldRead | Ref | FieldTerm) and type(steps) is int and 0 < steps <= FARTHEST
    return Beside(value, way * steps) if fits and len(given) + len(named) <= 2 else None


def as_call(term: Beside, behind: str, change: Callable[[Expr], Expr | None]) -> Call:
    """Return a term as the call that it is written as, of a changed field; ``behind`` is the word for what comes behind."""
    steps = (Const(abs(term.offset)),) if abs(term.offset) > 1 else ()
    return Call("prev" if term.offset < 0 else behind, (changed(term.x, change), *steps))


def with_neighbours(tree: Tree) -> Tree:
    """Return a tree with fields of neighbours in the place of terms that ask for them."""
    fields, found = tree.event._fields, dict[str, tuple[str, int]]()  # type: ignore[attr-defined]

    def change(node: Expr) -> Expr | None:
        if not isinstance(node, Beside):
            return None
        own = str(getattr(node.x, "name", getattr(node.x, "field", "")))
        name = neighbour_name(own, node.offset, fields)
        found[name] = own, node.offset
        return _of_field(node.x, name)

    made = changed_in(tree, change)
    return replace(made, neighbours=tuple((name, *found[name]) for name in sorted(found))) if found else tree


def with_terms(tree: Tree) -> Tree:
    """Return a tree with terms that ask for neighbours in the place of their fields: what `with_neighbours` was given."""
    asked = {name: (own, offset) for name, own, offset in tree.neighbours}

    def change(node: Expr) -> Expr | None:
        name = node.name if isinstance(node, FieldRead) else node.field if isinstance(node, Ref) else None
        if name not in asked:
            return None
        own, offset = asked[name]
        return Beside(_of_field(node, own), offset)

    return replace(changed_in(tree, change), neighbours=()) if asked else tree


def _of_field(term: Any, name: str) -> Expr:
    """Return a term of another field."""
    found: Expr = replace(term, **{"name" if isinstance(term, FieldRead) else "field": name})
    return found


def changed_in(tree: Tree, change: Callable[[Expr], Expr | None]) -> Tree:
    """Return a tree with nodes replaced in its conditions and in RETURN, as `changed` does it."""

    def asked(each: Component) -> Component:
        slots = {slot: tuple(changed(expr, change) for expr in getattr(each, slot)) for slot in SLOTS}
        return replace(each, **slots)  # type: ignore[arg-type]

    pattern = rebuilt(tree.pattern, asked, lambda gap: Gap(gap.strategy, tuple(map(asked, gap.absent))))
    returns = None if tree.returns is None else tuple((label, changed(value, change)) for label, value in tree.returns)
    before, after = (tuple(map(asked, absent)) for absent in (tree.before, tree.after))
    return replace(tree, pattern=pattern, returns=returns, before=before, after=after)
