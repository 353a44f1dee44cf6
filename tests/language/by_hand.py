"""Trees as the notations make them, written out: queries of the papers; and the net output of an operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from afa import Keyed, Operator, Punctuation
from afa.expression.nodes import Binary, Compare, Const, Expr, FieldRead
from afa.language.pattern import Component, Gap, Pattern, Repeat, Seq, Tree
from afa.language.terms import Aggregate, Ref


class Stock(NamedTuple):
    symbol: int
    price: int
    volume: int


class Item(NamedTuple):
    type: str
    tag: int
    place: int
    to: int = 0


class Task(NamedTuple):
    type: str
    job: int
    val: float


def e(name: str) -> Expr:
    return FieldRead("e", name)


def a(name: str, which: str = "last", component: str = "a") -> Ref:
    return Ref(component, which, name)


def compare(left: Expr, op: str, right: Any) -> Expr:
    return Compare(op, left, right if isinstance(right, Expr) else Const(right))


def times(n: int, x: Expr) -> Expr:
    return Binary("*", Const(n), x)


def many(gap: Gap, name: str, type: str | None = None, **predicates: Any) -> Repeat:
    return Repeat(Component(name, type, **predicates), 1, None, Gap(gap.strategy))


def in_order(gap: Gap, *items: Pattern) -> Seq:
    """One after the other; what is absent is so in the first gap."""
    return Seq(items, (gap, *[Gap(gap.strategy)] * (len(items) - 2)))


def rising(strategy: str, p: str) -> Tree:
    """The template of 2008: an even price, then whatever (p1), rising (p2), above the lowest (p3); in the end a small volume."""
    gap = Gap(strategy)
    above = {"p1": None, "p2": a("price"), "p3": Aggregate("a", "min", "price")}[p]
    rest = () if above is None else (compare(e("price"), ">", above),)
    even = compare(Binary("%", e("price"), Const(2)), "==", 0)
    pattern = in_order(gap, many(gap, "a", first=(even,), rest=rest), Component("b", where=(compare(e("volume"), "<", 3),)))
    returns = (("first", a("price", "first")), ("n", Aggregate("a", "count")))
    return Tree(pattern, Stock, key=("symbol",), window=20, returns=returns)


def theft(strategy: str) -> Tree:
    """Q1 of 2008."""
    gap = Gap(strategy, (Component("n", "register"),))
    pattern = in_order(gap, Component("a", "shelf"), Component("c", "exit"))
    return Tree(pattern, Item, "type", key=("tag",), window=20, returns=(("place", a("place", "one")),))


def thefts(strategy: str) -> Tree:
    """Negation behind a repetition: no register of the last place between the last shelf and the exit."""
    gap = Gap(strategy, (Component("n", "register", where=(compare(e("place"), "==", a("place")),)),))
    pattern = in_order(gap, many(gap, "a", "shelf"), Component("c", "exit"))
    returns = (("place", a("place")), ("n", Aggregate("a", "count")))
    return Tree(pattern, Item, "type", key=("tag",), window=20, returns=returns)


def mappers(strategy: str) -> Tree:
    """Q1 and Q2 of 2014."""
    gap = Gap(strategy)
    pattern = in_order(gap, Component("a", "start"), many(gap, "b", "map"), Component("c", "end"))
    returns = (("mean", Aggregate("b", "avg", "val")), ("top", Aggregate("b", "max", "val")))
    return Tree(pattern, Task, "type", key=("job",), window=20, returns=returns)


def pulls(strategy: str) -> Tree:
    """Q3 of 2014: each prefix whose last value is large is a match."""
    gap = Gap(strategy)
    large = compare(times(2, a("val", component="b")), ">", times(3, Aggregate("b", "avg", "val")))
    pattern = in_order(gap, Component("a", "start"), many(gap, "b", "map", done=(large,)))
    return Tree(pattern, Task, "type", key=("job",), window=20, returns=(("n", Aggregate("b", "count")),))


def stages(strategy: str) -> Tree:
    """Q5 of 2014: five components, here of three types."""
    types = ["start", "map", "map", "end", "map"]
    pattern = in_order(Gap(strategy), *[Component(f"c{i}", name) for i, name in enumerate(types)])
    return Tree(pattern, Task, "type", key=("job",), window=30)


def imbalance(strategy: str) -> Tree:
    """Q6 of 2014."""
    gap = Gap(strategy)
    grows = (compare(e("val"), ">=", a("val", component="b")),)
    pattern = in_order(gap, Component("a", "start"), many(gap, "b", "map", rest=grows), Component("c", "end"))
    return Tree(pattern, Task, "type", key=("job",), window=20, returns=(("top", a("val", component="b")),))


def net(op: Operator | Keyed, arrivals: Iterable[Any]) -> Counter[Any]:
    """The net output: ``((key, payload), le, re)``, or ``(payload, le, re)`` without keys, with payloads as plain tuples."""
    held: Counter[Any] = Counter()
    for change in arrivals:
        for out in op.push(change):
            if isinstance(out, Punctuation):
                continue
            payload: Any = tuple(out.payload)
            held[payload if isinstance(op, Operator) else (out.key, payload), out.le, out.re] += out.diff
    assert not [n for n in held.values() if n not in (0, 1)]
    return +held
