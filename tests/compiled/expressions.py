"""Random typed expressions over an event and a register, and records to evaluate them on."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from afa.compiled.code.payload_layout import Layout
from afa.expression.functions import FUNCTIONS, NUMBER
from afa.expression.nodes import (
    And,
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
    Or,
    Text,
    Unary,
)
from afa.schema import NAN, Schema


class E(NamedTuple):
    f: float = 0.0
    i: int = 0
    b: bool = False
    s: str = ""
    of: float | None = None
    oi: int | None = None
    ob: bool | None = None
    os: str | None = None


class R(E):
    """The same fields, of a register."""

    __slots__ = ()


EVENT, REGISTER = Layout.of(Schema.of(E, "event")), Layout.of(Schema.of(R, "register"))
INTS = (0, 1, -1, 2, 3, -7, 10, 100, 2**31, 2**53, 2**53 + 1, -(2**53), 2**62, 2**63 - 1, -(2**63))
FLOATS = (
    0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    1.5,
    3.0,
    -7.0,
    0.1,
    1e-300,
    5e-324,
    1e16,
    2.0**53,
    2.0**63,
    -(2.0**63),
    1e300,
    *map(float, ("inf", "-inf")),
    NAN,
)
STRS = ("", "a", "b", "ab", "abc", "ba")
VALUES: dict[str, tuple[Any, ...]] = {"i": INTS, "f": FLOATS, "b": (False, True), "s": STRS}


def pick(rng: random.Random, kind: str) -> Any:
    """A value; small ones mostly, so that not everything overflows."""
    if kind in "if" and rng.random() < 0.6:
        return rng.randint(-4, 4) if kind == "i" else rng.randint(-8, 8) / 2
    return rng.choice(VALUES[kind])


def record(rng: random.Random, cls: type) -> Any:
    """A record in its schema's form."""
    values = [None if len(name) == 2 and rng.random() < 0.25 else pick(rng, name[-1]) for name in cls._fields]  # type: ignore[attr-defined]
    return Schema.of(cls, "event").take(cls(*values))


def expression(rng: random.Random, kind: str, depth: int) -> Expr:
    """An expression that is mostly of the kind i, f, b or s."""
    if kind in "if" and rng.random() < 0.2:
        kind = "f" if kind == "i" else "i"
    if depth == 0 or rng.random() < 0.15:
        return leaf(rng, kind)
    x = lambda k=kind: expression(rng, k, depth - 1)  # noqa: E731
    if rng.random() < 0.12:
        return If(x("b"), x(), x())
    if rng.random() < 0.08:
        return (And if rng.random() < 0.5 else Or)((x(), x(), *([x()] if rng.random() < 0.3 else [])))
    return {"i": number, "f": number, "b": truth, "s": text}[kind](rng, kind, x)


def leaf(rng: random.Random, kind: str) -> Expr:
    """A field or a constant."""
    if rng.random() < 0.35:
        return Const(None if rng.random() < 0.03 else pick(rng, kind))
    return FieldRead(rng.choice("er"), kind if rng.random() < 0.8 else f"o{kind}")


def number(rng: random.Random, kind: str, x: Any) -> Expr:
    """Arithmetic."""
    one = rng.random()
    if one < 0.1:
        return Unary(rng.choice("-+" if kind == "f" else "-+~"), x())
    if one < 0.2:
        return (
            Call(rng.choice(("abs", "abs", "round", "int")), (x(),)) if kind == "i" else Call(rng.choice(("abs", "float")), (x(),))
        )
    if one < 0.25:
        return Call("round", (x(), Const(0)))
    if one < 0.33:
        return library(rng, kind, x)
    if one < 0.4:
        return Call(rng.choice(("min", "max")), tuple(x() for _ in range(rng.choice((2, 2, 3)))))
    if one < 0.45:
        return Binary("**", x(), Const(rng.choice((0, 1, 2, 3, 5) if kind == "i" else (0.5, 2, -1.0, 3.0, 0))))
    if kind == "i" and one < 0.55:
        return Binary(rng.choice("&|^"), x(), x())
    return Binary(rng.choice(("+", "-", "*", "+", "-", "*", "//", "%", "/")), x(), x())


def library(rng: random.Random, kind: str, x: Any) -> Expr:
    """A function of the table."""
    known = [name for name, function in FUNCTIONS.items() if function.of == NUMBER and (function.result is int) == (kind == "i")]
    name = rng.choice(known)
    return Call(name, tuple(x() for _ in range(FUNCTIONS[name].most)))


def text(rng: random.Random, kind: str, x: Any) -> Expr:
    """What makes a str."""
    one = rng.random()
    if one < 0.25:
        return Call(rng.choice(("upper", "lower")), (x("s"),))
    if one < 0.5:
        return Binary("+", x("s"), x("s"))
    return Call("str", (x(rng.choice("ib")),)) if one < 0.6 else leaf(rng, "s")


def truth(rng: random.Random, kind: str, x: Any) -> Expr:
    """Comparisons and what is made of them."""
    one = rng.random()
    if one < 0.35:
        k = rng.choice("iff")
        return Compare(rng.choice(("<", "<=", ">", ">=", "==", "!=")), x(k), x(k))
    if one < 0.42:
        return Compare(rng.choice(("==", "!=")), x(rng.choice("ifbs")), x(rng.choice("ifbs")))
    if one < 0.5:
        return IsNone(x(rng.choice("ifbs")))
    if one < 0.6:
        k = rng.choice("ifbs")
        items = [Const(pick(rng, rng.choice((k, k, k, "i", "f", "b", "s")))) for _ in range(rng.choice((1, 2, 3, 20)))]
        return In(x(k), (*items, *([Const(None)] if rng.random() < 0.2 else [])))
    if one < 0.62:
        return rng.choice(
            [
                lambda: Call("contains", (x("s"), x("s"))),
                lambda: Compare(rng.choice(("<", "<=", ">", ">=", "==")), text(rng, "s", x), Const(rng.choice(STRS))),
                lambda: In(Call("upper", (leaf(rng, "s"),)), (Const("A"), Const("AB"))),
                lambda: Compare(">", Call("len", (leaf(rng, "s"),)), Const(1)),
            ]
        )()
    if one < 0.65:
        method = rng.choice(("startswith", "endswith", "contains"))
        return Text(
            method, x("s"), tuple(Const(rng.choice(STRS)) for _ in range(1 if method == "contains" else rng.choice((1, 2))))
        )
    if one < 0.72:
        return Not(x(rng.choice("ifbs")))
    if one < 0.76:
        return Call("bool", (x(rng.choice("ifbs")),))
    if one < 0.8:
        return Binary(rng.choice("&|^"), x(), x())
    return (And if one < 0.9 else Or)(tuple(x() for _ in range(rng.choice((2, 3)))))


def transfer(rng: random.Random, depth: int) -> Expr:
    """A register."""
    if rng.random() < 0.15:
        return If(expression(rng, "b", 2), transfer(rng, depth), transfer(rng, depth))
    items = []
    for name in R._fields:
        if rng.random() < 0.5:
            items.append(FieldRead("r", name))
        elif name == "oi" and rng.random() < 0.2:
            items.append(Const(None))
        else:
            items.append(expression(rng, name[-1], depth))
    return Make(tuple(items))


def nested(rng: random.Random, depth: int) -> Expr:
    """A truth in which each operation stands in an operand of the one around it, and is used twice there in one way or another."""
    x: Expr = leaf(rng, rng.choice("ifb"))
    twice = 0
    for _ in range(depth):
        other = lambda kinds="iifb": leaf(rng, rng.choice(kinds))  # noqa: E731
        way = rng.randrange(11 if twice < 5 else 9)  # written out, what stands twice doubles
        if way < 3:
            items = [x, *(other() for _ in range(rng.choice((1, 1, 2, 3))))]
            rng.shuffle(items)
            x = Call(rng.choice(("min", "max")), tuple(items))
        elif way < 5:
            items = [x, *(other("iifbb") for _ in range(rng.choice((1, 1, 2))))]
            rng.shuffle(items)
            x = rng.choice((And, Or))(tuple(items))
        elif way == 5:
            items = [x, other(), other()]
            rng.shuffle(items)
            x = If(*items)
        elif way == 6:
            x = rng.choice((Not(x), IsNone(x), Call("abs", (x,)), Unary("-", x), Call("bool", (x,)), In(x, (Const(1), Const(2.5)))))
        elif way == 7:
            x = Binary(rng.choice("+-*&|^"), x, other("iib"))
        elif way == 8:
            pair = (x, other()) if rng.random() < 0.5 else (other(), x)
            x = Compare(rng.choice(("<", "<=", ">", ">=", "==", "!=")), *pair)
        elif way == 9:  # a chain
            twice += 1
            x = And((Compare(rng.choice(("<", "<=", "!=")), other(), x), Compare(rng.choice(("<", ">=", "==")), x, other())))
        else:
            twice += 1
            x = If(other("b"), Binary("+", x, other("i")), rng.choice((x, Unary("-", x), Call("min", (x, other())))))
    return x
