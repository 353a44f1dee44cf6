"""Find the values of each event field for which a fence can be true. The answer is never too small; in doubt it is all values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from afa.expression.nodes import (
    FLIPPED,
    ORDER,
    And,
    Call,
    Compare,
    Const,
    Expr,
    FieldRead,
    If,
    In,
    IsNone,
    Not,
    Or,
    Text,
    conjunction,
    conjuncts_of,
    renamed,
    walk,
)
from afa.schema import Schema

NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


class ValueRange(NamedTuple):
    """A set of values of one field.

    None is in it if ``none`` is set, NaN if ``nan`` is set. Any other value is in it if it lies within the bounds (numbers only)
    and, if there are ``values``, equals one of them.

    >>> above = ValueRange(low=0, low_open=True, nan=False)
    >>> above.contains(0), ValueRange().contains(None), ValueRange(values=(1, 2)).contains(2.0)
    (False, True, True)
    """

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    values: tuple[Any, ...] | None = None
    nan: bool = True
    none: bool = True

    def contains(self, value: Any) -> bool:
        """Return whether a value is in the range."""
        if value is None:
            return self.none
        if value != value:
            return self.nan
        return self._within(value) and (self.values is None or value in self.values)

    def _within(self, value: Any) -> bool:
        if isinstance(value, (int, float)):
            low = self.low < value if self.low_open else self.low <= value
            return low and (value < self.high if self.high_open else value <= self.high)
        return True

    @property
    def empty(self) -> bool:
        """Whether the range holds no value."""
        if self.none or self.nan:
            return False
        gap = self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))
        return self.values == () or (gap and self.values is None)

    def text(self, has_nan: bool = True, has_none: bool = True) -> str:
        """Return the range of a field in a few words: ``> 0 and <= 5``, ``1 or 2``, ``not None``, ``anything``."""
        if self.empty:
            return "never"
        others = [(name, held) for name, can, held in (("NaN", has_nan, self.nan), ("None", has_none, self.none)) if can]
        if self.values is not None:
            words = [repr(value) for value in self.values]
        else:
            low = f">{'' if self.low_open else '='} {self.low!r}" if self.low > -math.inf else ""
            high = f"<{'' if self.high_open else '='} {self.high!r}" if self.high < math.inf else ""
            words = [" and ".join(bound for bound in (low, high) if bound)]
        if words == [""]:
            return " and ".join(f"not {name}" for name, held in others if not held) or "anything"
        return " or ".join([*words, *(name for name, held in others if held)])

    def meet(self, other: ValueRange) -> ValueRange:
        """Return the intersection of two ranges."""
        low, low_open = max((self.low, self.low_open), (other.low, other.low_open))
        high, closed = min((self.high, not self.high_open), (other.high, not other.high_open))
        both = ValueRange(low, high, low_open, not closed, None, self.nan and other.nan, self.none and other.none)
        given = self.values if self.values is not None else other.values
        if given is None:
            return both
        kept = tuple(v for v in given if both._within(v) and (other.values is None or v in other.values))
        return both._replace(values=kept)

    def join(self, other: ValueRange) -> ValueRange:
        """Return a range that holds the union of two ranges, and perhaps more."""
        if self.empty or other.empty:
            return other if self.empty else self
        low, low_open = min((self.low, self.low_open), (other.low, other.low_open))
        high, closed = max((self.high, not self.high_open), (other.high, not other.high_open))
        either = ValueRange(low, high, low_open, not closed, None, self.nan or other.nan, self.none or other.none)
        if self.values is None or other.values is None:
            return either
        return either._replace(values=tuple(dict.fromkeys([*self.values, *other.values])))


EVERYTHING, NOTHING = ValueRange(), ValueRange(values=(), nan=False, none=False)
VALUE = ValueRange(none=False)
"""All values but None."""
Ranges = dict[str, ValueRange]
"""The range of each field. A field that is missing here can have any value."""


def ranges(fence: Expr, event_schema: Schema) -> Ranges:
    """Return for each field of the event which values it can have where the fence is true; a fence that can't be has empty ranges.

    O(nodes * fields). Only comparisons of a field (or its ``abs``) with a constant tell anything.

    >>> from typing import NamedTuple
    >>> from afa.expression import FENCE, parse
    >>> class E(NamedTuple):
    ...     x: float
    ...     kind: str | None = None
    >>> class R(NamedTuple):
    ...     n: int = 0
    >>> schemas = Schema.of(E, "event"), Schema.of(R, "register")
    >>> found = ranges(parse("0 < x <= 5 and kind in ('a', 'b') and r.n < x", FENCE, *schemas), schemas[0])
    >>> found["x"]
    ValueRange(low=0, high=5, low_open=True, high_open=False, values=None, nan=False, none=False)
    >>> found["kind"].values
    ('a', 'b')
    """
    found = _Allowed(frozenset()).where(fence, True) if event_schema.scalar else {}  # objects may compare as they like
    names = [field.name for field in event_schema.fields]
    return {name: NOTHING if found is None else found.get(name, EVERYTHING) for name in names}


def contradiction(fence: Expr, schema: Schema, side: str) -> tuple[str, tuple[Expr, ...]] | None:
    """Return a field that has no value for which a fence is true, with the conditions on it; None: none is known.

    ``side``: whether the fields of ``schema`` are those of the event ("e") or of the register ("r"). Between two adjacent ints
    there is no int. O(nodes * fields).

    >>> from typing import NamedTuple
    >>> class E(NamedTuple):
    ...     n: int
    >>> n = FieldRead("e", "n")
    >>> fence = And((Compare(">", n, Const(3)), Compare("<", n, Const(4))))
    >>> contradiction(fence, Schema.of(E, "event"), "e") == ("n", fence.items)
    True
    """
    read = Counter(node.name for node in walk(fence) if isinstance(node, FieldRead) and node.side == side)
    twice = [field for field in schema.fields if read[field.name] > 1]  # what is said once excludes nothing
    if not schema.scalar or not twice:
        return None
    mine = renamed(fence, lambda field: FieldRead("r" if field.side == "e" else "e", field.name)) if side == "r" else fence
    pairs = list(zip(conjuncts_of(fence), conjuncts_of(mine)))
    for field in twice:
        here = [(said, meant) for said, meant in pairs if FieldRead("e", field.name) in walk(meant)]
        allowed = _Allowed(frozenset({field.name}) if field.type in (int, bool) else frozenset())
        if here and allowed.where(conjunction([meant for _, meant in here]), True) is None:
            return field.name, tuple(said for said, _ in here)
    return None


def whole(found: ValueRange) -> ValueRange:
    """Return the range of an int field, between ints."""
    low, high = found.low, found.high
    if abs(low) < math.inf:
        low = math.floor(low) + 1 if found.low_open else math.ceil(low)
    if abs(high) < math.inf:
        high = math.ceil(high) - 1 if found.high_open else math.floor(high)
    return found._replace(low=low, high=high, low_open=False, high_open=False, nan=False)


class _Allowed:
    """The ranges of an expression's parts, each worked out once: a test is asked for both of its outcomes.

    ``whole``: the fields that hold ints.
    """

    def __init__(self, whole: frozenset[str]) -> None:
        self._whole = whole
        self._known: dict[tuple[int, bool], Ranges | None] = {}

    def where(self, expr: Expr, truth: bool) -> Ranges | None:
        """Return the ranges in which ``expr`` has this truth value. None: there are none."""
        key = id(expr), truth
        if key not in self._known:
            found = self._found(expr, truth)
            if found is not None and self._whole:
                found = {name: whole(held) if name in self._whole else held for name, held in found.items()}
                found = None if any(held.empty for held in found.values()) else found
            self._known[key] = found
        return self._known[key]

    def _found(self, expr: Expr, truth: bool) -> Ranges | None:
        match expr:
            case Const(value):
                return {} if bool(value) is truth else None
            case Not(x):
                return self.where(x, not truth)
            case And(items) | Or(items):
                parts = [self.where(item, truth) for item in items]
                return _meet(parts) if isinstance(expr, And) is truth else _join(parts)
            case If(test, then, other):
                return _join(_meet([self.where(test, way), self.where(x, truth)]) for way, x in ((True, then), (False, other)))
            case Call("bool", (x,)):
                return self.where(x, truth)
        return _of_field(expr, truth)


def _of_field(expr: Expr, truth: bool) -> Ranges | None:
    """Return the ranges in which a test of one field has this truth value."""
    match expr:
        case FieldRead("e", name):
            return _nonempty(name, VALUE if truth else ValueRange(values=(0, ""), nan=False))
        case IsNone(FieldRead("e", name)):
            return _nonempty(name, ValueRange(values=(), nan=False) if truth else VALUE)
        case In(FieldRead("e", name), items) if truth:
            return _nonempty(name, _one_of([item.value for item in items]))
        case Text(_, FieldRead("e", name), _):
            return _nonempty(name, VALUE)  # of None there is no method
        case Compare(op, left, right):
            return _compared(op if truth else NEGATED[op], left, right, truth)
    return {}


def _compared(op: str, left: Expr, right: Expr, truth: bool) -> Ranges | None:
    """Return the ranges in which a comparison has this truth value. A comparison with NaN is false, so NaN passes a negated one."""
    if isinstance(left, Const) and not isinstance(right, Const):
        left, right, op = right, left, FLIPPED[op]
    match left:
        case FieldRead("e", name):
            return _nonempty(name, _side(op, right, truth))
        case Call("abs", (FieldRead("e", name),)):
            one = _side(op, right, truth)
            if one.values is None and op in ("<", "<="):
                return _nonempty(name, one._replace(low=-one.high, low_open=one.high_open))
            return _nonempty(name, VALUE)
    if isinstance(right, FieldRead) and right.side == "e" and op in ORDER:
        return _nonempty(right.name, ValueRange(none=False, nan=not truth))
    return {}


def _side(op: str, right: Expr, truth: bool) -> ValueRange:
    """Return the values of the left side for which ``left op right`` holds."""
    ordered = op in ORDER
    if not isinstance(right, Const):
        return ValueRange(none=False, nan=not truth) if ordered else EVERYTHING
    const = right.value
    if not ordered:
        return _one_of([const]) if op == "==" else EVERYTHING
    if isinstance(const, str) or const is None:
        return ValueRange(none=False, nan=False)
    if const != const:
        return VALUE if not truth else ValueRange(values=(), nan=False, none=False)
    if op in ("<", "<="):
        return ValueRange(high=const, high_open=op == "<", nan=not truth, none=False)
    return ValueRange(low=const, low_open=op == ">", nan=not truth, none=False)


def _one_of(values: list[Any]) -> ValueRange:
    kept = tuple(dict.fromkeys(value for value in values if value is not None and value == value))
    numbers = [value for value in kept if not isinstance(value, str)]
    low, high = (min(numbers), max(numbers)) if numbers and len(numbers) == len(kept) else (-math.inf, math.inf)
    return ValueRange(low, high, values=kept, nan=False, none=None in values)


def _nonempty(name: str, found: ValueRange) -> Ranges | None:
    return None if found.empty else {name: found}


def _meet(parts: Iterable[Ranges | None]) -> Ranges | None:
    """Return the values that all of the ranges allow."""
    met: Ranges = {}
    for part in parts:
        if part is None:
            return None
        for name, found in part.items():
            met[name] = met.get(name, EVERYTHING).meet(found)
            if met[name].empty:
                return None
    return met


def _join(parts: Iterable[Ranges | None]) -> Ranges | None:
    """Return the values that any of the ranges allows."""
    joined: Ranges | None = None
    for part in parts:
        if part is None:
            continue
        joined = part if joined is None else {name: joined[name].join(part[name]) for name in joined.keys() & part.keys()}
    return joined
