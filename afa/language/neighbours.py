"""Neighbours in the builder: ``prev(e.price)``, ``next_(m.a.price, 2)``, of the event so many steps before, or behind, among all
of the key, also before a match begins and behind its end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from afa.errors import QueryError
from afa.expression.nodes import Expr, FieldRead, changed
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


def beside(function: Any, given: list[Any], named: dict[str, Any]) -> Expr | None:
    """Return the term that a call of `prev` or `next_` stands for; None: of other things than a field and a number of steps."""
    value, k = (*given, *([named.get("k")] if "k" in named else [] if len(given) == 2 else [1]), None, None)[:2]
    steps = getattr(k, "value", k)
    fits = isinstance(value, FieldRead | Ref) and type(steps) is int and 0 < steps <= FARTHEST and len(given) + len(named) <= 2
    return Beside(value, WAYS[function] * steps) if fits else None


def with_neighbours(tree: Tree) -> Tree:
    """Return a tree with fields of neighbours in the place of terms that ask for them."""
    fields, found = tree.event._fields, dict[str, tuple[str, int]]()  # type: ignore[attr-defined]

    def change(node: Expr) -> Expr | None:
        if not isinstance(node, Beside):
            return None
        own = str(getattr(node.x, "name", getattr(node.x, "field", "")))
        name = neighbour_name(own, node.offset, fields)
        found[name] = own, node.offset
        return replace(node.x, **{"name" if isinstance(node.x, FieldRead) else "field": name})  # type: ignore[type-var]

    def asked(each: Component) -> Component:
        slots = {slot: tuple(changed(expr, change) for expr in getattr(each, slot)) for slot in ("where", "first", "rest", "done")}
        return replace(each, **slots)  # type: ignore[arg-type]

    pattern = rebuilt(tree.pattern, asked, lambda gap: Gap(gap.strategy, tuple(map(asked, gap.absent))))
    returns = None if tree.returns is None else tuple((label, changed(value, change)) for label, value in tree.returns)
    before, after = (tuple(map(asked, absent)) for absent in (tree.before, tree.after))
    if not found:
        return tree
    beside = tuple((name, *found[name]) for name in sorted(found))
    return replace(tree, pattern=pattern, returns=returns, before=before, after=after, neighbours=beside)
