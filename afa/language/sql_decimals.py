"""DECIMAL in SQL: a float that stands for the decimal next to it, and is rounded to its scale after each step.

    B.price = A.price + 0.1     ->     e.price == sql_decimal(a.price + 0.1, 100.0)      price of DECIMAL(10, 2)
    SUM(price)                  ->     sum of sql_round(e.price * 100.0), / 100.0

A float tells all decimals of 15 digits apart, and of one that stands for such a decimal, or is the sum or product of two, the
decimal can be told. So what has at most 15 digits in the scale of the result is exact; beyond, the result is that of floats.
Rejected: ints of the last digit. They hold 18 digits, but products overflow (of two DECIMAL(18, 8) above 922), and 5 in an event
would be 0.05.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from afa.expression.nodes import Binary, Call, Const, Digits, Expr, FieldRead, If, Unary
from afa.language.sql_kinds import Kind
from afa.language.sql_text import SqlText
from afa.language.sql_values import SqlValues
from afa.language.terms import Aggregate, Final, ListAggregate, OfMatch, Ref
from afa.schema import DIGITS

POWERS = tuple(10.0**scale for scale in range(DIGITS + 1))
"""By scale."""
WHOLE = ("sql_floor", "sql_ceil", "sql_trunc", "sql_round")


def decimal_of(number: float, scale: int = DIGITS + 1) -> Const:
    """Return a number that is written with so many digits behind its point.

    Of more than floats tell apart zeros at the end do not count; where there are more still it is a float.
    """
    if scale > DIGITS:
        scale = max(-int(Decimal(repr(number)).normalize().as_tuple().exponent), 0)
    return Digits(number, scale) if scale <= DIGITS else Const(number)


class SqlDecimals(SqlValues):
    """Calculates with DECIMAL. ``scales``: how many digits a field of that type has behind the point."""

    def __init__(
        self, kinds: Mapping[str, Kind], scales: Mapping[str, int], text: SqlText, tick: str | None, dialect: str | None
    ) -> None:
        super().__init__(kinds, text, tick, dialect)
        self._scales = scales

    def decimals(self, shown: Iterable[tuple[str, Expr]]) -> tuple[tuple[str, int], ...]:
        """Return which values leave as floats, or arrays of them, that stand for DECIMALs, by their names with their scales."""
        found = ((name, self._scale(value)) for name, value in shown if self._kind(value) in (float, list))
        return tuple((name, scale) for name, scale in found if scale is not None)

    def _scale(self, expr: Expr) -> int | None:
        """Return how many digits a DECIMAL has behind the point; of a number that is written with one, and of an int, too."""
        match expr:
            case Digits(_, scale):
                return scale
            case Const(None):
                return 0
            case Call("sql_decimal" | "sql_cast", (_, Const(power), *_)):
                return POWERS.index(float(str(power)))
            case (
                FieldRead(_, name) | Ref(_, _, name) | Aggregate(_, "sum" | "min" | "max" | "any" | "max_by" | "min_by", str(name))
            ):
                return self._scales.get(name, self._of_int(expr))
            case ListAggregate(_, "array", name):
                return self._scales.get(name)  # of each item
            case Unary(_, x) | Final(x) | OfMatch(x) | Call("abs", (x,)):
                return self._scale(x)
            case Call(name, (x,)) if name in WHOLE:
                return None if self._scale(x) is None else 0
            case If(_, one, other):
                return self._common(one, other)
            case Call("min" | "max", items):
                return self._common(*items)
        return self._of_int(expr)

    def _of_int(self, expr: Expr) -> int | None:
        return 0 if self._kind(expr) is int else None

    def _common(self, *values: Expr, op: Callable[[list[int]], int] = max) -> int | None:
        """Return the scale of what is one of several values, or made of them; None: they are no DECIMALs."""
        found = [scale for each in values if (scale := self._scale(each)) is not None]
        return op(found) if len(found) == len(values) else None

    def _calculated(self, op: str, left: Expr, right: Expr) -> Expr:
        """Return a sum, a difference or a product; of DECIMALs a DECIMAL."""
        found, scale = Binary(op, left, right), self._common(left, right, op=sum if op == "*" else max)
        if scale is None or self._kind(found) is int or self._is_timely(left) or self._is_timely(right):
            return found
        return self._rounded(found, scale)

    def _rounded(self, expr: Expr, scale: int) -> Expr:
        """Return a DECIMAL that a float is next to; of more digits than a float tells apart the float."""
        return Call("sql_decimal", (expr, Const(POWERS[scale]))) if scale < len(POWERS) else expr

    def _to_scale(self, expr: Expr, scale: int) -> Expr:
        """Return a number whose digits end at a scale; of two that are as near the one further from zero."""
        known = self._scale(expr)
        if known is not None and known <= scale:
            return expr
        if known is None or known >= len(POWERS):
            return self._rounded(expr, scale)
        whole = Call("sql_round", (Binary("/", self._units(expr, known), Const(POWERS[known - scale])),))
        return self._rounded(Binary("/", whole, Const(POWERS[scale])), scale)

    def _is_timely(self, expr: Expr) -> bool:
        """Return whether a value is an instant, or the time between two. Abstract."""
        raise NotImplementedError

    def _units(self, expr: Expr, scale: int) -> Expr:
        """Return a DECIMAL in units of its last digit: a float without a fraction."""
        return Call("sql_round", (Binary("*", expr, Const(POWERS[scale])),))
