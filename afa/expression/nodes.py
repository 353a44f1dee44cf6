"""Expressions: the one form of a fence or a transfer; a tree of these nodes, all frozen, compared by structure.

    Const(value)                 int, float, bool, str or None
    Ticks(value)                 a Const that was written with a unit: a `Span` in ticks
    Moment(value)                a Const that was written as a date or a time: ticks since 1970
    Digits(value, scale)         a Const that was written as a DECIMAL, 0.10 of scale 2: the float next to it
    Span(nanoseconds)            a duration: a constant int once the tick is known (`afa.expression.spans`)
    Field("e" | "r", name)       a field of the event, or of the register
    Unary("-" | "+" | "~", x)    Not(x)
    Binary(op, left, right)      + - * / // % ** & | ^
    Compare(op, left, right)     < <= > >= == !=     (a chain is an And of these)
    And(items)  Or(items)        Python's: the value is that of an operand
    If(test, then, other)
    Call(name, items)            min max abs round int float bool len str; of a str upper lower; contains: x in text, both values;
                                 sqrt, like .. (`afa.expression.functions`)
    In(x, items)                 items are constants
    IsNone(x)
    Text(method, x, consts)      startswith endswith contains, of a str by constant strs
    Make(items)                  a register: one expression a field, in the order of its schema

Equality is Python's meaning, not Python's ``==``: ``Const(1)``, ``Const(1.0)`` and ``Const(True)`` differ, as do 0.0 and -0.0, and
NaN equals itself.

What `read` and `parse` make is in one form:

    ints fit int64; the minus of a number is the Const of the negative number
    And and Or have two items or more, none of them of its own kind
    In has no NaN among its constants; contains has one constant
    Make stands at the top only; a conditional register is an If in each field that differs
    IsNone(x) evaluates x, also where x is never None: what Python evaluates and could raise, but does not use, is kept as
    ``value if x is None or True else 0``
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from punctuation.base_errors import AfaError
from punctuation.durations import NANOSECONDS
from punctuation.time import BEGINNING

Scalar = int | float | bool | str | None
LARGEST_FIRST = [(unit, length) for unit, length in reversed(NANOSECONDS.items()) if unit != "w"]
"""Units and their nanoseconds, as a duration is written: in the largest one of which it is a whole number."""


ORDER = ("<", "<=", ">", ">=")
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
"""Each comparison as it is with its sides exchanged."""


class Expr:
    """Base of all nodes."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Const(Expr):
    """A constant; in compiled code a parameter."""

    value: Scalar

    def _key(self) -> tuple[Any, ...]:
        return type(self.value), repr(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class Ticks(Const):
    """The constant that a duration with a unit stands for, equal to the bare number of as many ticks."""

    __slots__ = ("value",)

    def __repr__(self) -> str:
        return f"Const(value={self.value!r})"


class Moment(Const):
    """The constant that a date or a time stands for, equal to the bare number of ticks since 1970."""

    __slots__ = ("value",)

    def __repr__(self) -> str:
        return f"Const(value={self.value!r})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Digits(Const):
    """The constant that a number with a point stands for in SQL, equal to the bare float, however many digits it has behind."""

    scale: int

    def __repr__(self) -> str:
        return f"Const(value={self.value!r})"


@dataclass(frozen=True, slots=True, eq=False)
class Span(Expr):
    """A duration that waits for a tick; what `afa.span` returns."""

    nanoseconds: int

    def _unbound(self, *_: Any) -> Any:
        """Refuse to calculate: without a tick there is no number to calculate with."""
        raise AfaError(
            f"expected a duration in a function that can be taken apart, where its ticks stand for it, but got {self!r} calculated "
            f"with by Python; write the function as one expression, or the duration as an int, a number of ticks"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = _unbound
    __rfloordiv__ = __mod__ = __rmod__ = __neg__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = __int__ = __float__ = _unbound

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (int, float)):
            self._unbound()  # False would be a wrong answer
        return isinstance(other, Span) and self.nanoseconds == other.nanoseconds

    def __hash__(self) -> int:
        return hash((Span, self.nanoseconds))

    def __str__(self) -> str:
        unit = next(unit for unit, length in LARGEST_FIRST if not self.nanoseconds % length)
        return f"span('{self.nanoseconds // NANOSECONDS[unit]} {unit}')"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class FieldRead(Expr):
    side: str
    name: str


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    op: str
    x: Expr


@dataclass(frozen=True, slots=True)
class Not(Expr):
    x: Expr


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class And(Expr):
    """``a and b and c``: the first false operand, or the last."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Or(Expr):
    """``a or b or c``: the first true operand, or the last."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class If(Expr):
    test: Expr
    then: Expr
    other: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    name: str
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class In(Expr):
    """``x in (a, b, c)``, of constants; a set is the tuple of its items in the order of their text."""

    x: Expr
    items: tuple[Const, ...]


@dataclass(frozen=True, slots=True)
class IsNone(Expr):
    x: Expr


@dataclass(frozen=True, slots=True)
class Text(Expr):
    """``x.startswith(consts)``, ``x.endswith(consts)``: by any of them; ``const in x``: exactly one."""

    method: str
    x: Expr
    consts: tuple[Const, ...]


@dataclass(frozen=True, slots=True)
class Make(Expr):
    items: tuple[Expr, ...]


def children(expr: Expr) -> Iterator[Expr]:
    """Yield the nodes directly below, in the order of the node's fields: an If gives test, then, other."""
    names: tuple[str, ...] = type(expr).__slots__
    for name in names:
        value = getattr(expr, name)
        if isinstance(value, Expr):
            yield value
        elif isinstance(value, tuple):
            yield from value


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield all nodes of a tree, a node before those below it, left before right; shared ones as often as they occur."""
    todo = [expr]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed(list(children(node))))


def operands(expr: Expr) -> list[Expr]:
    """Returns the nodes directly below whose values a node takes: all but the constants of an In or a Text."""
    return [expr.x] if isinstance(expr, In | Text) else list(children(expr))


def rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Returns a node with each of those directly below it changed; the very same one where none is another."""
    below = list(children(expr))
    new = [change(child) for child in below]
    if all(map(operator.is_, below, new)):
        return expr
    rest, values = iter(new), []
    names: tuple[str, ...] = type(expr).__slots__
    for name in names:
        value = getattr(expr, name)
        several = isinstance(value, tuple)
        values.append(tuple(islice(rest, len(value))) if several else next(rest) if isinstance(value, Expr) else value)
    return type(expr)(*values)


def changed(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Returns an expression with the nodes replaced for which ``change`` returns one; a node before those below it.

    >>> below = Compare("<", FieldRead("e", "price"), Const(3))
    >>> changed(below, lambda node: FieldRead("r", node.name) if isinstance(node, FieldRead) else None)
    Compare(op='<', left=FieldRead(side='r', name='price'), right=Const(value=3))
    """
    new = change(expr)
    return rebuilt(expr, lambda child: changed(child, change)) if new is None else new


def renamed(expr: Expr, name: Callable[[FieldRead], FieldRead]) -> Expr:
    """Returns an expression with other fields in the place of its own."""
    return changed(expr, lambda node: name(node) if isinstance(node, FieldRead) else None)


def sides(expr: Expr) -> frozenset[str]:
    """Return which of event (``e``) and register (``r``) an expression reads."""
    return frozenset(node.side for node in walk(expr) if isinstance(node, FieldRead))


def conjuncts_of(expr: Expr) -> tuple[Expr, ...]:
    """Returns the operands of an And; of any other expression itself."""
    return expr.items if isinstance(expr, And) else (expr,)


def conjunction(items: list[Expr]) -> Expr:
    """Return ``a and b and c`` as one And."""
    return _flat(And, items)


def disjunction(items: list[Expr]) -> Expr:
    """Return ``a or b or c`` as one Or."""
    return _flat(Or, items)


def _flat(kind: type[And] | type[Or], items: list[Expr]) -> Expr:
    flat = [inner for item in items for inner in (item.items if isinstance(item, kind) else (item,))]
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def minus(x: Expr) -> Expr:
    """Return ``-x``; for a number, the negative number if an int64 holds it."""
    value = x.value if isinstance(x, Const) else None
    if type(value) is float or (type(value) is int and value != BEGINNING):
        return replace(x, value=-value)  # type: ignore[type-var]
    return Unary("-", x)
