"""Trees with one thing less, to find the smallest that fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from afa.expression.nodes import And, Compare, Const, Expr, Or, children
from afa.language.pattern import Component, Either, Gap, Pattern, Repeat, Seq, Tree


def smaller_trees(tree: Tree) -> Iterator[Tree]:
    """Yield trees that are smaller by one thing: a part of the pattern, a predicate, a value of RETURN."""
    for pattern in _patterns(tree.pattern):
        yield replace(tree, pattern=pattern)
    for name in ("before", "after"):
        if getattr(tree, name):
            yield replace(tree, **{name: ()})
    for i in range(len(tree.returns)):
        if len(tree.returns) > 1:
            yield replace(tree, returns=tree.returns[:i] + tree.returns[i + 1 :])
    for i, (name, expr) in enumerate(tree.returns):
        for less in _values(expr):
            yield replace(tree, returns=(*tree.returns[:i], (name, less), *tree.returns[i + 1 :]))
    if tree.key:
        yield replace(tree, key=())
    for name, none in (("order", None), ("skip", None), ("subsets", ())):
        if getattr(tree, name) != none:
            yield replace(tree, **{name: none})


def _patterns(pattern: Pattern) -> Iterator[Pattern]:
    match pattern:
        case Component():
            yield from _components(pattern)
        case Seq(items, gaps):
            yield from items
            if len(items) > 2:
                yield replace(pattern, items=items[1:], gaps=gaps[1:])
                yield replace(pattern, items=items[:-1], gaps=gaps[:-1])
            for i, item in enumerate(items):
                for less in _patterns(item):
                    yield replace(pattern, items=(*items[:i], less, *items[i + 1 :]))
            for i, gap in enumerate(gaps):
                for thin in _gaps(gap):
                    yield replace(pattern, gaps=(*gaps[:i], thin, *gaps[i + 1 :]))
        case Either(items):
            yield from items
            for i, item in enumerate(items):
                for less in _patterns(item):
                    yield replace(pattern, items=(*items[:i], less, *items[i + 1 :]))
        case Repeat(item):
            yield item
            for less in _patterns(item):
                yield replace(pattern, item=less)
            for thin in _gaps(pattern.gap):
                yield replace(pattern, gap=thin)


def _gaps(gap: Gap) -> Iterator[Gap]:
    if gap.absent:
        yield replace(gap, absent=())
    for i, absent in enumerate(gap.absent):
        for less in _components(absent):
            yield replace(gap, absent=(*gap.absent[:i], less, *gap.absent[i + 1 :]))


def _components(component: Component) -> Iterator[Component]:
    for name in ("where", "first", "rest", "done"):
        asked: tuple[Expr, ...] = getattr(component, name)
        for i, expr in enumerate(asked):
            yield replace(component, **{name: asked[:i] + asked[i + 1 :]})
            for less in _predicates(expr):
                yield replace(component, **{name: (*asked[:i], less, *asked[i + 1 :])})
    if component.type is not None:
        yield replace(component, type=None)


def _predicates(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, And | Or):
        yield from expr.items
    if isinstance(expr, Compare):
        for less in _values(expr.left):
            yield replace(expr, left=less)
        for less in _values(expr.right):
            yield replace(expr, right=less)
        return
    for name, value in ((each.name, getattr(expr, each.name)) for each in _fields(expr)):
        if isinstance(value, Expr):
            for less in _predicates(value):
                yield replace(expr, **{name: less})  # type: ignore[type-var]
        elif isinstance(value, tuple) and isinstance(expr, And | Or):
            for i, item in enumerate(value):
                for less in _predicates(item):
                    yield replace(expr, items=(*value[:i], less, *value[i + 1 :]))


def _values(expr: Expr) -> Iterator[Expr]:
    if not isinstance(expr, Const):
        yield from (child for child in children(expr) if not isinstance(child, Compare))


def _fields(expr: Expr) -> tuple[Any, ...]:
    return fields(expr)  # type: ignore[arg-type]
