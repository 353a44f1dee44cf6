"""Random expressions, events and registers, for the property tests; all from a seed."""

from __future__ import annotations

import math
import random
from typing import Any, NamedTuple

from afa.expression.functions import FUNCTIONS, NUMBER
from afa.expression.nodes import (
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    FieldRead,
    If,
    In,
    IsNone,
    Make,
    Not,
    Text,
    Unary,
    conjunction,
    disjunction,
    minus,
    walk,
)
from afa.schema import Schema


class E(NamedTuple):
    """The event."""

    i: int
    x: float
    b: bool
    s: str
    oi: int | None = None
    ox: float | None = None
    os: str | None = None


class R(NamedTuple):
    """The register."""

    n: int = 0
    t: float = 0.0
    f: bool = False
    w: str = ""
    on: int | None = None


EVENT, REGISTER = Schema.of(E, "event"), Schema.of(R, "register")
SCHEMAS = (EVENT, REGISTER)
INTS = [0, 1, -1, 2, 3, 7, -5, 10, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]
FLOATS = [0.0, 0.5, -0.25, 1.0, 3.0, -7.5, 1e300, -1e300, 1e-300, math.inf, -math.inf, math.nan, 2.0**53]
STRS = ["", "a", "ab", "b", "abc", "it's", 'q"', "é∞", "new\nline", "\\"]
NUMBERS, ANY = ("int", "float", "bool"), ("int", "float", "bool", "str")
FIELDS = {
    "int": [("e", "i"), ("e", "oi"), ("r", "n"), ("r", "on")],
    "float": [("e", "x"), ("e", "ox"), ("r", "t")],
    "bool": [("e", "b"), ("r", "f")],
    "str": [("e", "s"), ("e", "os"), ("r", "w")],
}
SAFE = [("e", "i"), ("e", "x"), ("e", "b"), ("e", "s"), ("r", "n"), ("r", "t"), ("r", "f"), ("r", "w")]


def event(rng: random.Random) -> E:
    """A random event."""
    maybe = lambda items: rng.choice([None, *items])  # noqa: E731
    return E(rng.choice(INTS), rng.choice(FLOATS), rng.random() < 0.5, rng.choice(STRS), maybe(INTS), maybe(FLOATS), maybe(STRS))


def register(rng: random.Random) -> R:
    """A random register."""
    return R(rng.choice(INTS), rng.choice(FLOATS), rng.random() < 0.5, rng.choice(STRS), rng.choice([None, *INTS]))


def const(rng: random.Random, kind: str) -> Const:
    """A constant of a type."""
    values: dict[str, list[Any]] = {"int": INTS, "float": FLOATS, "bool": [True, False], "str": STRS}
    return Const(rng.choice(values[kind]))


def expression(rng: random.Random, kind: str = "bool", depth: int = 4, optional: float = 0.1) -> Expr:
    """A random expression whose value is mostly of a type; `optional`: how often a field may be None."""

    def make(kind: str) -> Expr:
        return expression(rng, kind, depth - 1, optional)

    if depth <= 0 or rng.random() < 0.15:
        if rng.random() < 0.35:
            return const(rng, kind)
        safe = [field for field in FIELDS[kind] if field in SAFE or rng.random() < optional]
        return FieldRead(*rng.choice(safe))
    if rng.random() < 0.1:
        return If(make("bool"), make(kind), make(kind))
    if kind == "bool":
        return _truth(rng, make)
    if kind == "str":
        way = rng.randrange(7)
        if way < 2:
            return Binary("+", make("str"), make("str"))
        if way == 6:
            more = (Const(rng.randint(-3, 3)), Const(rng.randint(0, 2)))
            return Call("substr", (make("str"), *more)) if rng.random() < 0.5 else Call("lstrip", (make("str"), Const("ab")))
        if way < 4:
            return Call(rng.choice(["upper", "lower"]), (make("str"),)) if way == 2 else Call("str", (make("int"),))
        return rng.choice([conjunction, disjunction])([make("str"), make("str")])
    return _number(rng, kind, make)


def _truth(rng: random.Random, make: Any) -> Expr:
    number = rng.choice(NUMBERS)
    way = rng.randrange(12)
    if way < 4:
        other = rng.choice(NUMBERS)
        return Compare(rng.choice(["<", "<=", ">", ">=", "==", "!="]), make(number), make(other))
    if way < 6:
        items = [make("bool") for _ in range(rng.randint(2, 3))]
        return rng.choice([conjunction, disjunction])(items)
    if way == 6:
        return Not(make(rng.choice(ANY)))
    if way == 7:
        kind = rng.choice(ANY)
        items = [const(rng, kind) for _ in range(rng.randint(0, 3))]
        return In(make(kind), tuple(item for item in items if item.value == item.value))
    if way == 8:
        return IsNone(FieldRead(*rng.choice([("e", "oi"), ("e", "os"), ("r", "on"), ("e", "i")])))
    if way == 9:
        return Compare(rng.choice(["<", "==", "!=", ">="]), make("str"), make("str"))
    if way == 10 and rng.random() < 0.3:
        return Call("contains", (Call("upper", (make("str"),)), FieldRead(*rng.choice([("e", "s"), ("r", "w")]))))
    if way == 10 and rng.random() < 0.3:
        consts = (Const(rng.choice(["a%", "%b_", "_", "%", "a%b%c", "ab"])),)
        return Call(rng.choice(["like", "regexp_like"]), (make("str"), *consts))
    if way == 10:
        method = rng.choice(["startswith", "endswith", "contains"])
        count = 1 if method == "contains" else rng.randint(0, 2)
        return Text(method, make("str"), tuple(const(rng, "str") for _ in range(count)))
    return rng.choice([lambda: Call("bool", (make(number),)), lambda: Binary(rng.choice("&|^"), make("bool"), make("bool"))])()


def _number(rng: random.Random, kind: str, make: Any) -> Expr:
    way = rng.randrange(11)
    if way == 10:
        known = {name: it for name, it in FUNCTIONS.items() if it.of == NUMBER and it.result.__name__ == kind}
        name = rng.choice(list(known))
        return Call(name, tuple(make(rng.choice(NUMBERS)) for _ in range(known[name].most)))
    if way < 4:
        return Binary(
            rng.choice(["+", "-", "*", "//", "%"] + (["/"] if kind == "float" else [])), make(kind), make(rng.choice(NUMBERS))
        )
    if way == 4:
        return minus(make(kind)) if rng.random() < 0.5 else Unary("+", make(kind))
    if way == 5:
        return Call(rng.choice(["min", "max"]), tuple(make(rng.choice(NUMBERS)) for _ in range(rng.randint(2, 3))))
    if way == 6:
        return Call("abs", (make(kind),))
    if way == 7:
        return Call("round", (make("float"), Const(rng.randint(-2, 3)))) if kind == "float" else Call("round", (make("float"),))
    if way == 8:
        base, exponent = make(kind), Const(rng.choice([0, 1, 2, 3, -1]))
        huge = any(isinstance(node, Binary) and node.op == "**" for node in walk(base))  # a power of one may be refused
        return base if huge else Binary("**", base, exponent)
    return Call("float", (make("int"),)) if kind == "float" else rng.choice(
        [lambda: Call("int", (make("float"),)), lambda: Call("len", (make("str"),)), lambda: Unary("~", make("int")),
         lambda: Binary(rng.choice("&|^"), make("int"), make("int"))]
    )()  # fmt: skip


def clauses(rng: random.Random, depth: int = 3) -> Expr:
    """A random fence of comparisons between a field of the event and a constant: what ranges can tell something about."""
    if depth and rng.random() < 0.7:
        items = [clauses(rng, depth - 1) for _ in range(2)]
        test = clauses(rng, depth - 1) if rng.random() < 0.5 else expression(rng, depth=1)
        return rng.choice([conjunction(items), disjunction(items), Not(items[0]), If(test, *items)])
    kind = rng.choice(ANY)
    field = FieldRead(*rng.choice([(side, name) for side, name in FIELDS[kind] if side == "e"]))
    value, number = const(rng, kind), const(rng, rng.choice(NUMBERS))
    op = rng.choice(["<", "<=", ">", ">=", "==", "!="])
    items = (value,) if value.value == value.value else ()
    return rng.choice(
        [field, IsNone(field), In(field, (*items, Const(None))), In(field, items), Compare(op, field, value),
         Compare(op, value, field),
         Compare(op, Call("abs", (field,)), number), Compare(op, field, number), Compare(op, number, field),
         Compare(op, field, FieldRead("e", "x")), Text("startswith", field, (Const("a"),)), Call("bool", (field,))]
    )  # fmt: skip


def transfer(rng: random.Random) -> Make:
    """A random register, one expression a field."""
    return Make(tuple(expression(rng, kind, 3) for kind in ("int", "float", "bool", "str", "int")))


def outcome(function: Any, *arguments: Any) -> Any:
    """The value with its type, or the type of what was raised; NaN equals itself."""
    try:
        value = function(*arguments)
    except Exception as error:
        return type(error)
    return type(value), repr(value)
