"""AFTER MATCH SKIP of a query: what the stage `speculation.choose.Choose` asks of a match, as values beside those of RETURN.

Of the matches with one start the preferred one is the first in the order of the choices that the pattern makes from left to right:
one more iteration before none (greedy) or the reverse (reluctant), the left alternative before the right one. Where no group
repeats, and no component stands at several places, these choices are counts of what components have taken, and a match tells them
all. Else the match carries them as bits (`terms.Choices`), at most 62 of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from afa.errors import QueryError
from afa.expression.nodes import And, Binary, Compare, Const, Expr, If, Or, Unary
from afa.language.lowering import Lowered
from afa.language.pattern import Component, Either, Pattern, Repeat, Seq, Tree, components_of, parts_of
from afa.language.row_places import least_of
from afa.language.terms import Aggregate, Choices, Ref
from speculation.choose import SKIPS

NONE: Expr = Const(0)


class _Untold(Exception):  # noqa: N818  (no error: choices that are told otherwise)
    """Raised where counts do not tell the choices."""


def choosing(tree: Tree) -> tuple[Tree, dict[str, Any]]:
    """Returns a tree that returns what choosing asks as well, and the options of `Choose` but ``shown``."""
    values: list[tuple[str, Expr]] = []
    returns = () if tree.rows is not None else tree.returns or Lowered(tree).returns
    taken = {name for name, _ in returns}

    def field(value: Expr) -> str:
        name = next(name for name in (f"choose{i}" for i in range(1, len(taken) + 2)) if name not in taken)
        taken.add(name)
        values.append((name, value))
        return name

    def position(of: str, which: str, whole: bool) -> list[str]:
        """The fields that say where an event stands."""
        times = [tree.time] if whole else []
        if None in times:
            raise QueryError(
                f"expected a time of each event for {tree.skip!r} but {tree.event.__name__} has no field that holds it; "
                f"name it in ORDER BY, or annotate one afa.Instant"
                + ("" if of else "; or say WITHIN, from which the start is known")
            )
        return [field(Ref(of, which, name)) for name in (*times, tree.order) if name is not None]

    start = position("", "first", tree.window is None)
    options: dict[str, Any] = {"window": tree.window, "start": start, "end": position("", "last", False)}
    try:
        options["prefer"] = [field(value) for value in list(_choices(tree.pattern, tree))]
    except _Untold:
        options["prefer"] = [f":{field(Choices())}"]
    if tree.skip in SKIPS:
        options["skip"] = tree.skip
    else:
        which, name = str(tree.skip).split(" ", 2)[1:]
        options["to"] = position(name, which, True)
    return replace(tree, returns=(*returns, *values)), options


def choices_of(pattern: Pattern) -> str:
    """Return in words what of a pattern makes that a match carries its choices."""
    names = _names(pattern)
    repeats = [part for part in parts_of(pattern) if isinstance(part, Repeat) and part.high != 1]
    groups = [_names(repeat.item) for repeat in repeats if not isinstance(repeat.item, Component)]
    found = [f"the group of {', '.join(dict.fromkeys(group))} repeats" for group in groups]
    found += [f"{name} stands at {names.count(name)} places" for name in dict.fromkeys(names) if names.count(name) > 1]
    return ", ".join(found) or "an optional group of it may take nothing before it takes rows"


def _choices(pattern: Pattern, tree: Tree) -> Iterator[Expr]:
    """Yield the choices from left to right, as numbers of which the smaller one is preferred."""
    match pattern:
        case Component():
            return
        case Seq(items):
            for item in items:
                yield from _choices(item, tree)
        case Either(items):
            yield _alternative(items, tree)
            for item in items:
                yield from _choices(item, tree)
        case Repeat(Component(name), low, high, _, greedy):
            if low != high:
                _only_here(tree, [name])
                yield Unary("-", Aggregate(name, "count")) if greedy else Aggregate(name, "count")
        case Repeat(item, low, high, _, greedy):
            if high == 1 and greedy and not _empty_last(item):
                raise _Untold
            if high == 1:
                there = _taken(item, tree)
                yield If(there, NONE, Const(1)) if greedy else If(there, Const(1), NONE)
                yield from _choices(item, tree)
            elif low != high or any(True for _ in _choices(item, tree)):
                raise _Untold


def _alternative(items: Sequence[Pattern], tree: Tree) -> Expr:
    """Return the number of the alternative that was taken; where nothing was, of the first one that may be empty."""
    names = [_names(item) for item in items]
    if all(set(names[0]) == set(other) for other in names):
        _only_here(tree, names[0], len(items))
        tests = [_in_order(item, tree) for item in items]
    else:
        tests = [_taken(item, tree) for item in items]
    empty = [i for i, item in enumerate(items) if least_of(item) == 0]
    found: Expr = Const(empty[0] if empty else len(items) - 1)
    for i in reversed(range(len(items) if empty else len(items) - 1)):
        found = If(tests[i], Const(i), found)
    return found


def _empty_last(pattern: Pattern) -> bool:
    """Return whether a part that takes nothing is what its pattern prefers least, or can't be."""
    match pattern:
        case Component():
            return True
        case Seq(items):
            return least_of(pattern) > 0 or all(map(_empty_last, items))
        case Repeat(item, low, _, _, greedy):
            return (greedy or low > 0) and _empty_last(item)
    empty = [item for item in pattern.items if least_of(item) == 0]
    return not empty or (empty[0] is pattern.items[-1] and _empty_last(empty[0]))


def _taken(item: Pattern, tree: Tree) -> Expr:
    """Return whether a part of the pattern has taken an event."""
    names = list(dict.fromkeys(_names(item)))
    _only_here(tree, _names(item))
    total: Expr = Aggregate(names[0], "count")
    for name in names[1:]:
        total = Binary("+", total, Aggregate(name, "count"))
    return Compare(">", total, NONE)


def _in_order(item: Pattern, tree: Tree) -> Expr:
    """Return whether the components of a sequence have taken their events in its order: of one of PERMUTE."""
    names = _names(item)
    if not isinstance(item, Seq) or not all(isinstance(each, Component) for each in item.items) or tree.time is None:
        raise _Untold
    tests = [_before(a, b, tree) for a, b in pairwise(names)]
    return tests[0] if len(tests) == 1 else And(tuple(tests))


def _before(a: str, b: str, tree: Tree) -> Expr:
    assert tree.time is not None
    times = Ref(a, "last", tree.time), Ref(b, "last", tree.time)
    if tree.order is None:
        return Compare("<", *times)
    order = Compare("<", Ref(a, "last", tree.order), Ref(b, "last", tree.order))
    return Or((Compare("<", *times), And((Compare("==", *times), order))))


def _only_here(tree: Tree, names: Sequence[str], places: int = 1) -> None:
    """Refuse a component that stands elsewhere, too: then what it has taken does not tell this choice."""
    everywhere = _names(tree.pattern)
    if any(everywhere.count(name) != places for name in names):
        raise _Untold


def _names(pattern: Pattern) -> list[str]:
    """Returns the names of a pattern's components, from left to right."""
    return [component.name for component in components_of(pattern)]
