"""Convert between kinds of values as Python does: which conversions are exact, which ask, which are impossible."""

from __future__ import annotations

import math

from afa.compiled.code.term import BOOL, FLOAT, INT, NONE, NUM, STR, Param, Term, ValueKind, term
from afa.expression import nodes
from afa.schema import Field
from punctuation.time import BEGINNING, FOREVER

NUMBERS = ("int", "float", "bool", "num")


class NotCompilable(Exception):  # noqa: N818  (no error: such an arc runs in Python)
    """An expression without a native form: the reason, and a hint how to write it (or "")."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(f"{reason}; {hint}" if hint else reason)
        self.reason = reason
        self.hint = hint


def param(value: nodes.Scalar) -> Term:
    if value is None:
        return term("none", NONE)
    if isinstance(value, bool):
        return term("param", BOOL, data=Param("bool", value))
    if isinstance(value, str):
        return term("param", STR, data=Param("str", value))
    if isinstance(value, float):
        return term("param", FLOAT, data=Param("float", value))
    if not BEGINNING <= value <= FOREVER:
        raise NotCompilable(f"the constant {value} is no int64", "write it as a float" if _as_float(value) is not None else "")
    return term("param", INT, data=Param("int", value))


def need(x: Term) -> Term:
    if x.kind.base == "none":
        raise NotCompilable("None where a value is needed always raises")
    return term("need", ValueKind(x.kind.base), x) if x.kind.optional else x


def number(x: Term, what: str) -> Term:
    """Return the operand of arithmetic: a bool as an int, an optional one if it is there."""
    if x.kind.base not in NUMBERS:
        raise NotCompilable(f"{what} of {x.kind} has no native form")
    return bit(need(x))


def bit(x: Term) -> Term:
    return term("bit", ValueKind("int", x.kind.optional), x) if x.kind.base == "bool" else x


def whole(x: Term, what: str) -> Term:
    """Return the operand of bit operations."""
    if x.kind.base != "int":
        raise NotCompilable(f"{what} of {x.kind} has no native form", "make it an int(..) first")
    return x


def rounded(x: Term) -> Term:
    """Return an int as the float next to it, as arithmetic with floats takes it."""
    if x.kind.base == "float":
        return x
    if x.op == "param":
        return param(float(x.data.value))
    return term("float", ValueKind("float", x.kind.optional), x)


def exact(x: Term) -> Term:
    """Return an int as the float that equals it, as comparisons with floats take it."""
    if x.kind.base != "int":
        return x
    if x.op == "param" and _as_float(x.data.value) is not None:
        return term("param", NUM, data=Param("float", float(x.data.value)))
    return term("exact", ValueKind("num", x.kind.optional), x)


def _as_float(value: int) -> float | None:
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if found == value else None


def one_base(left: Term, right: Term) -> tuple[Term, Term]:
    return (left, right) if left.kind.base == right.kind.base else (exact(left), exact(right))


def power(left: Term, right: Term) -> Term:
    """Return ``left ** right``: an int to a constant int that is not negative, or a power with a float in it."""
    if "float" in (left.kind.base, right.kind.base):
        return term("pow", FLOAT, rounded(left), rounded(right))
    if left.kind.base != "int" or right.op != "param" or right.data.value < 0:
        raise NotCompilable("** by what is not a constant int >= 0 has no native form", "make one side a float(..)")
    return term("pow", INT, left, right)


def rounded_to(x: Term, digits: nodes.Expr) -> Term:
    """Return ``round(x, digits)``, for no digits."""
    if digits == nodes.Const(None):
        return x if x.kind.base == "int" else term("even", INT, x)
    if digits != nodes.Const(0):
        raise NotCompilable("round() to digits has no native form", "round(x) and round(x, 0) have")
    return x if x.kind.base == "int" else term("near", x.kind, x)


def truth(x: Term) -> Term:
    if x.kind == BOOL:
        return x
    return term("truth", BOOL, x, *([param("")] if x.kind.base == "str" else []))


def equal(left: Term, right: Term) -> Term:
    """Return ``left == right``. Of different types only numbers can be equal, and None equals None."""
    for one, other in ((left, right), (right, left)):
        if one.op == "none":
            return term("isnone", BOOL, other)
    if left.kind.base in NUMBERS and right.kind.base in NUMBERS:
        left, right = one_base(bit(left), bit(right))
    return term("eq", BOOL, left, right)


def union(kinds: list[ValueKind], what: str) -> ValueKind:
    """Return the kind of a value that is now of one kind, now of another."""
    bases = {kind.base for kind in kinds if kind.base != "none"}
    optional = any(kind.optional or kind.base == "none" for kind in kinds)
    if len(bases) <= 1:
        return ValueKind(bases.pop(), optional) if bases else NONE
    if "str" in bases:
        raise NotCompilable(f"{what} gives now a str, now a number")
    return ValueKind("int" if bases <= {"int", "bool"} else "num", optional)


def cast(x: Term, kind: ValueKind) -> Term:
    """Return a value as one of the kinds of a `union`."""
    if x.kind.base == "none":
        return term("none", ValueKind(kind.base, True))
    if x.kind.base == kind.base:
        return x
    x = bit(x)
    if kind.base == "int":
        return x
    return exact(x) if x.kind.base == "int" else term("as", ValueKind("num", x.kind.optional), x)


def alike(value: nodes.Scalar, base: str) -> nodes.Scalar:
    """Return the constant of the given base that equals ``value``; None if there is none, or if only identity would tell (NaN)."""
    if base == "str" or isinstance(value, str):
        return value if base == "str" and isinstance(value, str) else None
    if value is None or base == "none" or value != value:
        return None
    if base in ("float", "num"):
        return value if isinstance(value, float) else _as_float(int(value))
    if isinstance(value, float) and not (math.isfinite(value) and value == int(value)):
        return None
    return int(value) if BEGINNING <= value <= FOREVER else None


def stored(x: Term, field: Field) -> Term:
    """Return a value in the form of a field of the register, as `Schema.take` brings it there."""
    kind = ValueKind("none" if field.type is None else field.type.__name__, field.optional)
    base = x.kind.base
    if base == "none":
        return term("none", kind) if field.optional else term("never", kind)
    if not field.optional:
        x = need(x)
    if field.type is None or (base == "str") != (kind.base == "str") or (kind.base == "int" and base in ("float", "num")):
        hint = f"make it {kind.base}(..)" if field.type in (int, float, bool) else ""
        raise NotCompilable(f"{x.kind} for the register's {field.name}: {kind}", hint)
    if kind.base == "bool" and base != "bool":
        return term("never", kind)
    if kind.base == "int":
        return bit(x)
    if kind.base != "float":
        return x
    x = exact(bit(x))
    return x if x.op in ("exact", "param", "field") else term("canon", x.kind, x)


def instant(x: Term) -> Term:
    """Return the instant at which a time-out is due: an int, no bool."""
    if x.kind.base != "int" or x.op == "bit":
        raise NotCompilable(f"a time-out at {x.kind} always raises", "make it an int (ticks)")
    return need(x)
