"""Patterns of Apache Flink's tests (``tests/cases/flink.json``): events, conditions, and how a query of one runs.

A match is told by its events: for each stage the sum of 2 ** event, which says which events it took. The queries themselves:
`tests.language.flink_trees`.
"""

from __future__ import annotations

import ast
import json
import math
import random
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import afa
from afa import Punctuation, insert, retract
from afa.expression.nodes import (
    And,
    Binary,
    Compare,
    Const,
    Expr,
    FieldRead,
    If,
    IsNone,
    Not,
    Text,
    changed,
    conjunction,
    disjunction,
    walk,
)
from afa.language.pattern import Component, Either, Pattern, Repeat, Seq, Tree
from afa.language.query import Query
from afa.language.terms import Aggregate, Ref
from punctuation.time import FOREVER
from speculation.choose import Choose

_READ = json.loads((Path(__file__).parents[1] / "cases" / "flink.json").read_text())
CASES: dict[str, dict[str, Any]] = {case["name"]: case for case in _READ["cases"]}
STREAMS: dict[str, dict[str, Any]] = {case["name"]: case for case in _READ["streams"]}
COMPARES = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
Match = frozenset[tuple[str, int]]


class Item(NamedTuple):
    """An event of a case; ``bit`` is 2 ** its number."""

    number: int
    bit: int
    name: str
    price: float
    kind: str
    volume: float | None
    at: afa.Instant
    id: int = 0


def items(case: dict[str, Any]) -> list[Item]:
    """The events. If their times do not grow, their places are their times: Flink takes events as they come."""
    rows = case["events"]
    grows = all(a[0] <= b[0] for a, b in pairwise(rows))
    return [
        Item(i, 2**i, name, price, "SubEvent" if volume else "Event", *(volume or [None]), at if grows else i)
        for i, (at, name, price, *volume) in enumerate(rows)
    ]


def stream(case: dict[str, Any]) -> list[Item | Punctuation]:
    """What arrives, out of order. An event at a watermark is late there: so much is promised here."""
    found: list[Item | Punctuation] = []
    number = 0
    for row in case["arrivals"]:
        if not isinstance(row, list):
            found.append(Punctuation(FOREVER if row == "end" else row + 1))
            continue
        at, name, price, key, *volume = row
        found.append(Item(number, 2**number, name, price, "SubEvent" if volume else "Event", *(volume or [None]), at, key))
        number += 1
    return found


def expected(case: dict[str, Any]) -> set[Match]:
    """The matches that Flink gives."""
    return {
        frozenset((identifier(stage), sum(2**i for i in events)) for stage, events in match.items() if events)
        for match in case["matches"]
    }


# -- terms -----------------------------------------------------------------------------------------------------------------------


def term(text: str) -> Expr:
    """A condition of Flink's as a term. A sum of nothing is 0 there."""
    return _term(ast.parse(text.replace("true", "True"), mode="eval").body)


def _term(node: ast.expr) -> Expr:
    match node:
        case ast.Constant(value):
            return Const(value)
        case ast.Name(name):
            return FieldRead("e", "kind" if name == "type" else name)
        case ast.BoolOp(ast.And(), values):
            return conjunction([_term(value) for value in values])
        case ast.BoolOp(ast.Or(), values):
            return disjunction([_term(value) for value in values])
        case ast.Compare(left, [op], [right]):
            return Compare(COMPARES[type(op)], _term(left), _term(right))
        case ast.BinOp(left, ast.Add(), right):
            return Binary("+", _term(left), _term(right))
        case ast.Call(ast.Name("contains" | "startswith" as method), [x, text]):
            return Text(method, _term(x), (_term(text),))
        case ast.Call(ast.Name("sum"), [ast.Constant(stage), ast.Constant(field)]):
            total = Aggregate(identifier(stage), "sum", field)
            return If(IsNone(total), Const(0.0), total)
        case ast.Call(ast.Name("first"), [ast.Constant(stage), ast.Constant(field)]):
            return Ref(identifier(stage), "one", field)
        case ast.Call(ast.Name("count"), [ast.Constant(stage)]):
            return Aggregate(identifier(stage), "count")
    raise AssertionError(ast.dump(node))


def identifier(stage: str) -> str:
    """A stage's name as the name of a component."""
    return re.sub(r"\W", "_", stage)


def fails(condition: Expr) -> Expr:
    """That a condition does not hold, be it false or unknown."""
    if isinstance(condition, Compare) and "volume" not in repr(condition):
        return Not(condition)
    return If(condition, Const(False), Const(True))


def exclusive(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    """Whether two conditions ask for different names."""
    match a, b:
        case (Compare("==", FieldRead() as left, Const() as one), *_), (Compare("==", FieldRead() as right, Const() as other), *_):
            return left == right and one != other
    return False


# -- trees -----------------------------------------------------------------------------------------------------------------------


def component(stage: dict[str, Any], case: dict[str, Any], absent: bool = False) -> Component:
    """What takes an event of a stage."""
    where = term(stage["where"])
    conditions = where.items if isinstance(where, And) else () if where == Const(True) else (where,)
    gap = (case.get("within") or {}).get("previous_and_current")
    if gap is not None and not absent and stage["contiguity"] != "begin":
        stages = [each["name"] for each in case["pattern"]]
        before = Ref(identifier(stages[stages.index(stage["name"]) - 1]), "one", "at")
        conditions += (Compare("<", Binary("-", FieldRead("e", "at"), before), Const(gap)),)
    name = identifier(stage["name"])
    if absent or "times" not in stage:
        return Component(("not_" if absent else "") + name, where=conditions)
    return asked_again(Component(name, where=conditions))


def asked_again(of: Component) -> Component:
    """A component that repeats: what reads its own events is asked of the first one with sums and counts of 0."""
    own = tuple(each for each in of.where if any(getattr(node, "component", None) == of.name for node in walk(each)))
    where = tuple(each for each in of.where if each not in own)

    def of_nothing(node: Expr) -> Expr | None:
        match node:
            case If(IsNone(Aggregate(of.name, "sum"))):
                return Const(0.0)
            case Aggregate(of.name, "count"):
                return Const(0)
        return None

    first = tuple(changed(each, of_nothing) for each in own)
    return replace(of, where=where, first=(*of.first, *first), rest=(*of.rest, *own))


def taken_at_most(name: str, pattern: Pattern) -> float:
    """How many events a component takes."""
    match pattern:
        case Component():
            return pattern.name == name
        case Repeat(item, _, high):
            inner = taken_at_most(name, item)
            return inner and inner * (math.inf if high is None else high)
        case Seq(parts):
            return sum(taken_at_most(name, part) for part in parts)
        case Either(parts):
            return max(taken_at_most(name, part) for part in parts)


def query(case: dict[str, Any], pattern: Pattern, absent: tuple[Component, ...] = ()) -> Tree:
    """A pattern with all else that a case says."""
    within = case.get("within") or {}
    window = within.get("first_and_last")
    if absent and window is None:
        window = within["previous_and_current"]
    return Tree(
        pattern,
        Item,
        key=(case["key"],) if "key" in case else (),
        order=case.get("order", "number"),
        window=window,
        after=absent,
        returns=tuple(
            (name, Ref(name, "one", "bit") if taken_at_most(name, pattern) <= 1 else Aggregate(name, "sum", "bit"))
            for name in names(case["pattern"])
        ),
    )


def names(stages: list[dict[str, Any]]) -> list[str]:
    """The components that take events."""
    found = []
    for stage in stages:
        if "group" in stage:
            found += names(stage["group"])
        elif not stage["contiguity"].startswith("not_"):
            found.append(identifier(stage["name"]))
    return found


# -- runs ------------------------------------------------------------------------------------------------------------------------


def arrivals(events: list[Item], seed: str | None) -> list[Any]:
    """The events as they are; with a seed in random order, some of them taken back and inserted again, some that never were."""
    rows = [insert(event, event.at) for event in events]
    if seed is None:
        return rows
    draw = random.Random(seed)
    for event in draw.sample(events, min(2, len(events))):
        rows += [retract(event, event.at), insert(event, event.at)]
        ghost = event._replace(name=draw.choice(events).name, number=len(events))
        rows += [insert(ghost, event.at), retract(ghost, event.at)]
    draw.shuffle(rows)
    return rows


def net(operator: Any, changes: list[Any]) -> set[Match]:
    """The matches in force behind all changes."""
    force: Counter[Any] = Counter()
    for change in changes:
        for match in operator.push(change):
            if isinstance(match, Punctuation):
                continue
            force[match.payload, match.le, match.re] += match.diff
    assert set(force.values()) <= {0, 1}, force
    found = [payload._asdict() for (payload, _, _), n in force.items() if n]
    return {frozenset((name, n) for name, n in payload.items() if n and name not in CHOSEN_BY) for payload in found}


# -- AFTER MATCH SKIP ------------------------------------------------------------------------------------------------------------

SKIPS = {
    "SKIP_PAST_LAST_EVENT": "past last row",
    "SKIP_TO_NEXT": "to next row",
    "SKIP_TO_FIRST": "to first",
    "SKIP_TO_LAST": "to last",
}
CHOSEN_BY = ("first_at", "first_number", "last_number", "taken", "to_at", "to_number")


def skipping(case: dict[str, Any], tree: Tree) -> Tree:
    """The query with the strategy of its case, in SQL's words."""
    if "skip" not in case:
        return tree
    kind, *stage = case["skip"]
    return replace(tree, time="at", skip=" ".join([SKIPS[kind], *map(identifier, stage)]))


def operator(case: dict[str, Any], tree: Tree, engine: Any, **options: Any) -> Any:
    """An operator of a query; where its case skips, behind a stage that chooses as Flink does.

    Of the matches with one first event Flink takes that which is complete first, and of these the one with the most events. SQL's
    words prefer by how often parts of the pattern are repeated.
    """
    if "skip" not in case:
        return Query(tree).operator(engine=engine, **options)
    kind, *stage = case["skip"]
    asked: list[Expr] = [Ref("", "first", "at"), Ref("", "first", "number"), Ref("", "last", "number"), Aggregate("", "count")]
    to = () if not stage else CHOSEN_BY[4:]
    asked += [Ref(identifier(stage[0]), kind.removeprefix("SKIP_TO_").lower(), field) for field in ("at", "number") if stage]
    whole = replace(tree, returns=(*tree.returns, *zip(CHOSEN_BY, asked)))
    choose = Choose(
        "to next row" if kind == "SKIP_TO_NEXT" else "past last row",
        start=CHOSEN_BY[:2],
        end=CHOSEN_BY[2:3],
        prefer=("last_number", "-taken"),
        to=to,
    )
    return choose.after(Query(whole).operator(engine=engine, **options))
