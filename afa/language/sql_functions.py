"""SQL's functions and operators -> nodes of expressions; the functions themselves are those of `afa.expression.functions`.

NULL where an argument is NULL, if nothing else is said: `afa.language.three_values` sees to that.
"""

from __future__ import annotations

import math
from typing import Any

from afa.expression.functions import unfit
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
    Not,
    Text,
    Unary,
    conjunction,
    disjunction,
    walk,
)
from afa.language.sql_decimals import POWERS, SqlDecimals
from afa.language.sql_values import SPARK
from afa.language.terms import Aggregate, Ref

NUMERIC = {
    "Sqrt": "sqrt", "Exp": "exp", "Ln": "log", "Sin": "sin", "Cos": "cos", "Tan": "tan", "Asin": "asin", "Acos": "acos",
    "Atan": "atan", "Atan2": "atan2", "Pow": "pow", "Degrees": "degrees", "Radians": "radians",
}  # fmt: skip
"""sqlglot's nodes of functions of numbers, and ours."""
WITH_NAN = ("trino", "flink", *SPARK)
"""Dialects in which SQRT(-1) is NaN; in all others it is an error, and so it is here without a dialect."""
QUOTIENTS = {"cut off": "risingwave trino flink", "float": "snowflake oracle duckdb bigquery spark databricks"}
"""What `/` of ints is."""
GREATEST = {"null": "snowflake oracle trino bigquery flink", "skip": "duckdb risingwave spark databricks"}
"""What NULL does in GREATEST and LEAST."""
FROM_0 = {"one": "oracle snowflake spark databricks bigquery", "before": "duckdb risingwave", "none": "trino"}
"""Where SUBSTR(x, 0, ..) begins: where SUBSTR(x, 1, ..) does, one character before it, or nowhere: it is empty."""
SHOWS_NO_LIKE_ESCAPE = "oracle snowflake trino flink duckdb"
ZERO, ONE, MINUS = Const(0), Const(1), Const(-1)


class SqlFunctions(SqlDecimals):
    """Reads functions of numbers, texts and truths."""

    required: frozenset[str] = frozenset()
    """The fields that are never NULL."""

    # -- numbers ---------------------------------------------------------------------------------------------------------------

    def _function(self, node: Any, name: str) -> Expr:
        """Return a function of the table; outside of its domain as the dialect has it."""
        items = (self._number(node.this),) if node.args.get("expression") is None else self._numbers(node)
        x, found = items[0], Call(name, items)
        if name == "log" and self._dialect in SPARK:
            return If(Compare("<=", x, ZERO), Const(None), found)
        if self._dialect not in WITH_NAN:
            return found
        if name == "sqrt":
            return If(Compare("<", x, ZERO), Const(math.nan), found)
        if name == "log":
            return If(Compare(">", x, ZERO), found, If(Compare("==", x, ZERO), Const(-math.inf), Const(math.nan)))
        if name in ("asin", "acos"):
            return If(disjunction([Compare(">", x, ONE), Compare("<", x, MINUS)]), Const(math.nan), found)
        return found

    def _log(self, node: Any) -> Expr:
        """``LOG(base, x)``; ``LOG(x)`` by the dialect's base."""
        if node.expression is None:
            ways = {"log": "bigquery spark databricks flink", "log10": "duckdb risingwave"}
            return Call(
                self._way(node, ways, "its base is 10 in some dialects, e in others; LN(x) says it"),
                (self._number(node.this),),
            )
        if self._dialect is None:
            raise self._refused(
                node,
                f"expected dialect= beside {self._said(node)}: in BigQuery the base comes last, elsewhere first; say it, or "
                f"LN(x) / LN(base)",
            )
        base, x = self._numbers(node)  # sqlglot has turned BigQuery's
        for known, name in ((2, "log2"), (10, "log10")):
            if base == Const(known):
                return Call(name, (x,))
        return Binary("/", Call("log", (x,)), Call("log", (base,)))

    def _pi(self, node: Any) -> Expr:
        return Const(math.pi)

    def _abs(self, node: Any) -> Expr:
        return Call("abs", (self._number(node.this),))

    def _sign(self, node: Any) -> Expr:
        x = self._number(node.this)
        return Call("int", (Binary("-", Compare(">", x, ZERO), Compare("<", x, ZERO)),))

    def _floor(self, node: Any) -> Expr:
        return self._whole(node, "sql_floor")

    def _ceil(self, node: Any) -> Expr:
        return self._whole(node, "sql_ceil")

    def _trunc(self, node: Any) -> Expr:
        return self._whole(node, "sql_trunc")

    def _whole(self, node: Any, name: str) -> Expr:
        """Return a function that makes a float whole; an int is."""
        x = self._no_time(node)
        return x if self._kind(x) is int else Call(name, (x,))

    def _round(self, node: Any) -> Expr:
        """``ROUND(x)``, ``ROUND(x, 2)``: away from zero where two are as near, but in RisingWave, which rounds floats to even."""
        given = node.args.get("decimals")
        digits = ZERO if given is None else self.value(given)
        if not isinstance(digits, Const) or type(digits.value) is not int or abs(digits.value) > 300:
            raise self._refused(node, f"expected a number of digits in ROUND but got {self._said(given)}")
        x = self._no_time(node)
        scale = self._scale(x)
        if scale is not None and digits.value >= scale:
            return x
        if self._dialect == "risingwave" and digits == ZERO and scale is None:
            return Call("round", (x, ZERO))
        if digits == ZERO:
            return Call("sql_round", (x,))
        if scale and digits.value > 0:
            return self._to_scale(x, digits.value)
        more, less = ("*", "/") if digits.value > 0 else ("/", "*")
        power = Const(10.0 ** abs(digits.value))
        found = Binary(less, Call("sql_round", (Binary(more, x, power),)), power)
        return If(Compare("<", Call("abs", (found,)), Const(math.inf)), found, x)  # where x * power is beyond a float

    def _no_time(self, node: Any) -> Expr:
        """Return a number that is to be made whole; of a time dialects make a day. Raises `RefusedError`."""
        found = self._number(node.this)
        if self._is_time(found):
            raise self._refused(node, f"expected a number but got {self._said(node)}, of a time; DATE_TRUNC says the unit")
        return found

    def _is_time(self, expr: Expr) -> bool:
        """Return whether a value is an instant. Abstract."""
        raise NotImplementedError

    def _mul(self, node: Any) -> Expr:
        return self._calculated("*", *self._numbers(node))

    def _div(self, node: Any) -> Expr:
        left, right = self._numbers(node)
        found: Expr = Binary("/", left, right)
        if self._kind(left) is int and self._kind(right) is int:
            if self._dialect is None:
                raise self._refused(
                    node,
                    f"expected a division of floats but got one of ints, which some dialects cut off: {self._said(node)}; write "
                    f"one as 2.0, or CAST, or say dialect=",
                )
            if self._way(node, QUOTIENTS, "some dialects cut it off to an int") == "cut off":
                found = _cut_off(left, right)
        return self._safe(right, found)

    def _safe(self, divisor: Expr, found: Expr) -> Expr:
        """Return a division, which is null by zero in some dialects."""
        by_zero = self._dialect in SPARK and not isinstance(divisor, Const)
        return If(Compare("==", divisor, ZERO), Const(None), found) if by_zero else found

    def _intdiv(self, node: Any) -> Expr:
        left, right = self._numbers(node)
        if self._kind(left) is not int or self._kind(right) is not int:
            raise self._refused(node, f"expected a division of ints but got {self._said(node)}; write FLOOR(x / y)")
        return _cut_off(left, right)

    def _mod(self, node: Any) -> Expr:
        """Return the rest of a division, with the sign of the dividend."""
        left, right = self._numbers(node)
        scale = self._common(left, right)
        if scale:
            rest = self._rest(self._units(left, scale), self._units(right, scale))
            return self._safe(right, self._rounded(Binary("/", rest, Const(POWERS[scale])), scale))
        return self._safe(right, self._rest(left, right))

    def _rest(self, left: Expr, right: Expr) -> Expr:
        if isinstance(right, Const) and isinstance(right.value, int) and right.value > 0:
            below = Unary("-", Binary("%", Unary("-", left), right))
            return If(Compare("<", left, ZERO), below, Binary("%", left, right))
        rest = Binary("%", Call("abs", (left,)), Call("abs", (right,)))
        return If(Compare("<", left, ZERO), Unary("-", rest), rest)

    # -- one of several values -------------------------------------------------------------------------------------------------

    def _greatest(self, node: Any) -> Expr:
        return self._extreme(node, "max")

    def _least(self, node: Any) -> Expr:
        return self._extreme(node, "min")

    def _extreme(self, node: Any, name: str) -> Expr:
        values = [self.value(each) for each in (node.this, *node.expressions)]
        self._either(node, values)
        if len(values) == 1:
            return values[0]
        skips = bool(node.args.get("ignore_nulls")) and self._dialect in (None, "snowflake")  # GREATEST_IGNORE_NULLS
        if not skips and not self._skips_null(node, values, GREATEST):
            return Call(name, tuple(values))
        some = _first_of(values)
        return Call(name, tuple(If(IsNone(each), some, each) for each in values))

    def _skips_null(self, node: Any, values: list[Expr], ways: dict[str, str]) -> bool:
        """Return whether NULL is left out in the dialect; without one the values must be there."""
        asked = [part for each in values for part in walk(each)]
        fields = [
            part.name if isinstance(part, FieldRead) else part.field
            for part in asked
            if isinstance(part, FieldRead | Ref | Aggregate)
        ]
        if Const(None) not in asked and all(field is None or field in self.required for field in fields):
            return False
        return self._way(node, ways, "some dialects leave NULL out, in others all is NULL") == "skip"

    def _coalesce(self, node: Any) -> Expr:
        values = [self.value(each) for each in (node.this, *node.expressions)]
        self._either(node, values)
        return _first_of(values)

    def _nullif(self, node: Any) -> Expr:
        x = self.value(node.this)
        return If(self._compared(node, "==", x, self.value(node.expression)), Const(None), x)

    def _if(self, node: Any) -> Expr:
        other = node.args.get("false")
        ways = [self.value(node.args["true"]), Const(None) if other is None else self.value(other)]
        self._either(node, ways)
        return If(self.condition(node.this), *ways)

    def _nvl2(self, node: Any) -> Expr:
        ways = [self.value(node.args["true"]), self.value(node.args["false"])]
        self._either(node, ways)
        return If(Not(IsNone(self.value(node.this))), *ways)

    def _case(self, node: Any) -> Expr:
        found: Expr = Const(None) if node.args.get("default") is None else self.value(node.args["default"])
        values = [found]
        for each in reversed(node.args["ifs"]):
            if node.this is None:
                test = self.condition(each.this)
            else:
                test = self._compared(node, "==", self.value(node.this), self.value(each.this))
            values.append(self.value(each.args["true"]))
            found = If(test, values[-1], found)
        self._either(node, values)
        return found

    # -- truths ----------------------------------------------------------------------------------------------------------------

    def _between(self, node: Any) -> Expr:
        x = self.value(node.this)
        low, high = self.value(node.args["low"]), self.value(node.args["high"])
        between = [
            conjunction([self._compared(node, ">=", x, one), self._compared(node, "<=", x, other)])
            for one, other in ((low, high), (high, low))
        ]
        return disjunction(between) if node.args.get("symmetric") else between[0]

    def _in(self, node: Any) -> Expr:
        if not node.expressions:
            raise self._refused(node, f"expected values behind IN but got {self._said(node)}")
        x, items = self.value(node.this), [self.value(each) for each in node.expressions]
        for each in items:
            self._alike(node, x, each)
        consts = tuple(each for each in items if isinstance(each, Const) and each.value is not None)
        if len(consts) == len(items):
            return In(x, consts)
        return disjunction(
            [*([In(x, consts)] if consts else []), *(Compare("==", x, each) for each in items if each not in consts)]
        )

    def _nullsafeeq(self, node: Any) -> Expr:
        left, right = self._alike(node, self.value(node.this), self.value(node.expression))
        both = conjunction([IsNone(left), IsNone(right)])
        return If(disjunction([both, Compare("==", left, right)]), Const(True), Const(False))

    def _nullsafeneq(self, node: Any) -> Expr:
        return Not(self._nullsafeeq(node))

    # -- texts -----------------------------------------------------------------------------------------------------------------

    def _lower(self, node: Any) -> Expr:
        return Call("lower", (self._of_text(node.this),))

    def _upper(self, node: Any) -> Expr:
        return Call("upper", (self._of_text(node.this),))

    def _length(self, node: Any) -> Expr:
        return Call("len", (self._of_text(node.this),))

    def _substring(self, node: Any) -> Expr:
        x, start = self._of_text(node.this), self._constant(node.args["start"], int)
        given = node.args.get("length")
        length = None if given is None else self._constant(given, int)
        if start < 0 or (length or 0) < 0:
            raise self._refused(node, f"expected a start from 1 and a length from 0 in SUBSTR but got {self._said(node)}")
        if start == 0:
            way = self._way(node, FROM_0, "what stands at 0 differs; count from 1")
            length = length if way == "one" else 0 if way == "none" else None if length is None else max(length - 1, 0)
        more = () if length is None else (Const(length),)
        return Call("substr", (x, Const(max(start, 1)), *more))

    def _trim(self, node: Any) -> Expr:
        side = {"LEADING": "lstrip", "TRAILING": "rstrip"}.get(str(node.args.get("position") or "").upper(), "strip")
        characters = " " if node.expression is None else self._constant(node.expression, str)
        return Call(side, (self._of_text(node.this), Const(characters)))

    def _dpipe(self, node: Any) -> Expr:
        parts = [self._of_text(node.this), self._of_text(node.expression)]
        return _joined(parts, self._dialect == "oracle")

    def _concat(self, node: Any) -> Expr:
        parts = [self._of_text(each) for each in node.expressions]
        ways = {"null": "snowflake trino spark databricks flink bigquery", "skip": "duckdb risingwave oracle"}
        return _joined(parts, self._skips_null(node, parts, ways))

    def _startswith(self, node: Any) -> Expr:
        return Text("startswith", self._of_text(node.this), (Const(self._constant(node.expression, str)),))

    def _endswith(self, node: Any) -> Expr:
        return Text("endswith", self._of_text(node.this), (Const(self._constant(node.expression, str)),))

    def _contains(self, node: Any) -> Expr:
        return Text("contains", self._of_text(node.this), (Const(self._constant(node.expression, str)),))

    def _like(self, node: Any, escape: str | None = None, folded: bool = False) -> Expr:
        found = self._matched(node, escape, folded)
        return Not(found) if node.args.get("negate") else found

    def _matched(self, node: Any, escape: str | None, folded: bool) -> Expr:
        """Return LIKE, or ILIKE: both sides in small letters."""
        said = type(node).__name__.upper()
        if type(node.expression).__name__ != "Literal" or not node.expression.is_string:
            raise self._refused(node, f"expected a text behind {said} but got {self._said(node.expression)}")
        text, x = str(node.expression.this), self._of_text(node.this, f" before {said}")
        if "\\" in text and escape is None:
            ways = {"as it is": SHOWS_NO_LIKE_ESCAPE, "escape": "risingwave bigquery spark databricks"}
            escape = "\\" if self._way(node, ways, "in some dialects \\ is an ESCAPE; say ESCAPE '!'") == "escape" else None
        if folded:
            text, x = text.lower(), Call("lower", (x,))
        inner = text.strip("%")
        if "%" in inner or "_" in text or not inner or (escape is not None and escape in text):
            return self._checked(node, Call("like", (x, Const(text), *([] if escape is None else [Const(escape)]))))
        if text == inner:
            return Compare("==", x, Const(inner))
        method = "contains" if text.startswith("%") and text.endswith("%") else "endswith" if text.startswith("%") else "startswith"
        return Text(method, x, (Const(inner),))

    def _ilike(self, node: Any) -> Expr:
        return self._like(node, folded=True)

    def _escape(self, node: Any) -> Expr:
        escape, kind = self._constant(node.expression, str), type(node.this).__name__
        if kind not in ("Like", "ILike") or len(escape) != 1:
            raise self._refused(node, f"expected one character in ESCAPE behind LIKE but got {self._said(node)}")
        return self._like(node.this, escape.lower() if kind == "ILike" else escape, kind == "ILike")

    def _regexplike(self, node: Any) -> Expr:
        x, pattern = self._of_text(node.this), self._constant(node.expression, str)
        flags = node.args.get("flag")
        flags = "" if flags is None else self._constant(flags, str)
        if set(flags) - {"i", "c"} or len(flags) > 1:
            raise self._refused(node, f"expected the flag 'i' or 'c' in REGEXP_LIKE but got {flags!r}")
        if not (pattern.startswith("^") and pattern.endswith("$") and "|" not in pattern and not pattern.endswith("\\$")):
            ways = {"whole": "snowflake", "part": "trino oracle duckdb risingwave spark databricks flink bigquery"}
            if self._way(node, ways, "in some dialects the whole text must match; write '^..$'") == "whole":
                pattern = f"^(?:{pattern})$"
        return self._checked(node, Call("regexp_like", (x, Const(f"(?i){pattern}" if flags == "i" else pattern))))

    def _checked(self, node: Any, call: Call) -> Call:
        wrong = unfit(call.name, call.items)
        if wrong is not None:
            raise self._refused(node, f"expected a pattern that can be read but got {self._said(node)}: {wrong}")
        return call

    def _constant(self, node: Any, kind: type) -> Any:
        found = self.value(node)
        if not isinstance(found, Const) or type(found.value) is not kind:
            raise self._refused(node, f"expected a constant {'text' if kind is str else 'whole number'} but got {self._said(node)}")
        return found.value


def _first_of(values: list[Expr]) -> Expr:
    """Return the first of some values that is not NULL."""
    *before, found = values
    for each in reversed(before):
        found = If(IsNone(each), found, each)
    return found


def _cut_off(left: Expr, right: Expr) -> Expr:
    """Return the quotient of two ints without its fraction."""
    found = Binary("//", Call("abs", (left,)), Call("abs", (right,)))
    return If(Compare("!=", Compare("<", left, ZERO), Compare("<", right, ZERO)), Unary("-", found), found)


def _joined(parts: list[Expr], skips: bool) -> Expr:
    first, *others = [If(IsNone(each), Const(""), each) if skips else each for each in parts]
    for each in others:
        first = Binary("+", first, each)
    return first
