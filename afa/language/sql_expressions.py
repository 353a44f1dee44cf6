"""SQL expressions, as sqlglot reads them -> the expression nodes of predicates and values.

A row is asked as the last one of the match so far (running semantics): a bare column, and a column of the variable that is
defined, are those of the row at hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from afa.errors import QueryError
from afa.expression.nodes import (
    And,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    Field,
    If,
    In,
    IsNone,
    Not,
    Text,
    Unary,
    conjunction,
    disjunction,
)  # fmt: skip
from afa.language.sase_grammar import RefusedError
from afa.language.terms import Aggregate, Classifier, Final, Ref
from punctuation.durations import ticks

COMPARE = {"EQ": "==", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
ARITHMETIC = {"Add": "+", "Sub": "-", "Mul": "*"}
OVER = {"Sum": "sum", "Avg": "avg", "Min": "min", "Max": "max", "Count": "count"}
MOST_DIGITS = 400
"""The most characters of a number: no float, and no int64, has more before its point."""
FLOATS = ("FLOAT", "DOUBLE", "REAL", "DECIMAL", "NUMERIC")
INTS = ("INT", "BIGINT", "SMALLINT", "TINYINT")
FUNCTIONS = "functions: SUM AVG MIN MAX COUNT FIRST LAST PREV CLASSIFIER ABS COALESCE CASE CAST"


class Variable(NamedTuple):
    """What is known of a variable, or of a subset.

    Attributes
    ----------
    members : frozenset of str
        The variable itself; of a subset its variables.
    one : bool
        Whether it takes at most one row of a match.
    least : int
        How many rows of the match lie before its first one, at least.
    most : int or None
        At most; None: no bound is known.
    """

    members: frozenset[str]
    one: bool
    least: int
    most: int | None


class Scope(NamedTuple):
    """Where an expression stands.

    Attributes
    ----------
    variables : mapping of str to Variable
        By name.
    named : callable
        From a variable as it is written to its name, or None.
    column : callable
        From a column as it is written, and its place, to the event's field.
    kinds : mapping of str to type
        Of the event's fields.
    tick : str or None
    defines : str or None
        The variable whose condition it is; None: MEASURES.
    every : bool
        Whether each row of a match shows the MEASURES.
    """

    variables: Mapping[str, Variable]
    named: Callable[[str], str | None]
    column: Callable[[str, int], str]
    kinds: Mapping[str, type | None]
    tick: str | None
    defines: str | None
    every: bool = False


FINALS = re.compile(
    r"('(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*)|\b(FINAL|RUNNING)(\s+)(LAST|FIRST|SUM|AVG|MIN|MAX|COUNT)(\s*\()", re.IGNORECASE
)


def with_finals(text: str) -> str:
    """Return a query with ``FINAL LAST(..)`` as one name, which sqlglot reads as a function; each character stays at its place.

    Examples
    --------
    >>> with_finals("x - FINAL  LAST(x), RUNNING SUM(x), 'FINAL MAX('")
    "x - FINAL_LAST (x),         SUM(x), 'FINAL MAX('"
    """

    def one(found: re.Match[str]) -> str:
        said, word, blanks, name, opens = found.groups()
        if said is not None:
            return str(said)
        if word.upper() == "RUNNING":
            return " " * len(word) + blanks + name + opens
        return f"{word}_{name}" + blanks[1:] + opens

    return FINALS.sub(one, text)


def place_of(node: Any) -> int:
    """Return where a node begins in the text; the least place of what is below it."""
    return min((each.meta["start"] for each in node.walk() if "start" in each.meta), default=0)


class Reader:
    """Reads the expressions of one scope."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def value(self, node: Any) -> Expr:
        """Return the expression of a node. Raises `RefusedError`."""
        kind = type(node).__name__
        found = getattr(self, f"_{kind.lower()}", None)
        if found is not None:
            result: Expr = found(node)
            return result
        if kind in COMPARE:
            return Compare(COMPARE[kind], self.value(node.this), self.value(node.expression))
        if kind in ARITHMETIC:
            return Binary(ARITHMETIC[kind], self.value(node.this), self.value(node.expression))
        if kind in OVER:
            return self._aggregate(node, OVER[kind])
        raise self._refused(node, f"expected an expression over rows but got {node.sql()!r}; {FUNCTIONS}")

    # -- plain values ----------------------------------------------------------------------------------------------------------

    def _paren(self, node: Any) -> Expr:
        return self.value(node.this)

    def _literal(self, node: Any) -> Expr:
        if node.is_string:
            return Const(node.this)
        text = str(node.this)
        if len(text) > MOST_DIGITS:
            raise self._refused(node, f"expected a number of at most {MOST_DIGITS} characters but got one of {len(text)}")
        return Const(int(text)) if text.isdecimal() else Const(float(text))

    def _null(self, node: Any) -> Expr:
        return Const(None)

    def _boolean(self, node: Any) -> Expr:
        return Const(bool(node.this))

    def _neg(self, node: Any) -> Expr:
        inner = self.value(node.this)
        if isinstance(inner, Const) and isinstance(inner.value, int | float) and not isinstance(inner.value, bool):
            return Const(-inner.value)
        return Unary("-", inner)

    def _and(self, node: Any) -> Expr:
        return conjunction([self.value(each) for each in (node.this, node.expression)])

    def _or(self, node: Any) -> Expr:
        return disjunction([self.value(each) for each in (node.this, node.expression)])

    def _not(self, node: Any) -> Expr:
        return Not(self.value(node.this))

    def _is(self, node: Any) -> Expr:
        right = type(node.expression).__name__
        if right == "Null":
            return IsNone(self.value(node.this))
        if right == "Boolean":
            truth = self.value(node.this)
            other = truth if node.expression.this else Not(truth)
            return If(other, Const(True), Const(False))
        raise self._refused(node, f"expected IS NULL, IS TRUE or IS FALSE but got {node.sql()!r}")

    def _between(self, node: Any) -> Expr:
        x = self.value(node.this)
        return conjunction([Compare(">=", x, self.value(node.args["low"])), Compare("<=", x, self.value(node.args["high"]))])

    def _in(self, node: Any) -> Expr:
        items = [self.value(each) for each in node.expressions]
        if not items or not all(isinstance(each, Const) and each.value is not None for each in items):
            raise self._refused(node, f"expected constants behind IN but got {node.sql()!r}; write x = .. OR x = ..")
        return In(self.value(node.this), tuple(each for each in items if isinstance(each, Const)))

    def _like(self, node: Any) -> Expr:
        pattern = node.expression
        if type(pattern).__name__ != "Literal" or not pattern.is_string:
            raise self._refused(node, f"expected a text behind LIKE but got {pattern.sql()!r}")
        text, x = str(pattern.this), self.value(node.this)
        inner = text.strip("%")
        if "%" in inner or "_" in text or not inner:
            raise self._refused(node, f"expected 'text%', '%text', '%text%' or 'text' behind LIKE but got {text!r}")
        if text == inner:
            return Compare("==", x, Const(inner))
        method = "contains" if text.startswith("%") and text.endswith("%") else "endswith" if text.startswith("%") else "startswith"
        return Text(method, x, (Const(inner),))

    def _div(self, node: Any) -> Expr:
        left, right = self.value(node.this), self.value(node.expression)
        if self._whole(left) and self._whole(right):
            raise self._refused(
                node,
                f"expected a division of floats but got one of ints, which SQL cuts off: {node.sql()!r}; write one as 2.0, or CAST",
            )
        return Binary("/", left, right)

    def _mod(self, node: Any) -> Expr:
        left, right = self.value(node.this), self.value(node.expression)
        if not (isinstance(right, Const) and isinstance(right.value, int) and right.value > 0):
            raise self._refused(node, f"expected a modulus that is a whole number above 0 but got {node.expression.sql()!r}")
        below = Unary("-", Binary("%", Unary("-", left), right))  # SQL's sign is that of the dividend
        return If(Compare("<", left, Const(0)), below, Binary("%", left, right))

    def _abs(self, node: Any) -> Expr:
        return Call("abs", (self.value(node.this),))

    def _coalesce(self, node: Any) -> Expr:
        *before, last = [self.value(each) for each in (node.this, *node.expressions)]
        for each in reversed(before):
            last = If(IsNone(each), last, each)
        return last

    def _case(self, node: Any) -> Expr:
        found: Expr = Const(None) if node.args.get("default") is None else self.value(node.args["default"])
        for each in reversed(node.args["ifs"]):
            test = self.value(each.this)
            if node.this is not None:
                test = Compare("==", self.value(node.this), test)
            found = If(test, self.value(each.args["true"]), found)
        return found

    def _cast(self, node: Any) -> Expr:
        kind = node.to.this.name if hasattr(node.to.this, "name") else str(node.to.this)
        if kind in FLOATS or kind in INTS:
            return Call("float" if kind in FLOATS else "int", (self.value(node.this),))
        raise self._refused(node, f"expected CAST to a number but got {node.sql()!r}; text and times are compared as they are")

    def _interval(self, node: Any) -> Expr:
        number = str(node.this.this) if node.this is not None else ""
        unit = None if node.args.get("unit") is None else str(node.args["unit"].name)
        parts = number.split()
        if unit is None and len(parts) == 2:
            number, unit = parts
        if unit is None:
            raise self._refused(node, f"expected INTERVAL 'n' UNIT but got {node.sql()!r}")
        return Const(ticks([(number, unit)], self._scope.tick, QueryError))

    # -- rows ------------------------------------------------------------------------------------------------------------------

    def _column(self, node: Any) -> Expr:
        return self._last(node)

    def _last(self, node: Any) -> Expr:
        column, back = self._navigated(node)
        variable, field = self._parts(column)
        own = self._scope.defines is not None and (not variable or self._scope.defines in self._variable(variable, node).members)
        if own and back == 0:
            return Field("e", field)
        if own:
            return Ref(variable, "last", field, back - 1)
        if variable and self._variable(variable, node).one:
            return Ref(variable, "one", field) if back == 0 else Const(None)
        return Ref(variable, "last", field, back)

    def _first(self, node: Any) -> Expr:
        column, back = self._navigated(node)
        if back:
            raise self._refused(
                node, f"expected FIRST(x) but got {node.sql()!r}: of the rows behind the first only LAST counts back"
            )
        variable, field = self._parts(column)
        if self._scope.defines is None:
            one = variable and self._variable(variable, node).one
            return Ref(variable, "one" if one else "first", field)
        known = self._variable(variable, node) if variable else None
        first = Ref(variable, "first", field)
        if known is not None and self._scope.defines not in known.members:
            return Ref(variable, "one", field) if known.one else first
        if known is None:  # the first row of the match
            here = self._scope.variables[self._scope.defines]
            if here.least:
                return first
            if here.one and here.most == 0:
                return Field("e", field)
        return If(Compare("==", Aggregate(variable, "count"), Const(0)), Field("e", field), first)

    def _anonymous(self, node: Any) -> Expr:
        name = str(node.this).upper()
        if name in ("PREV", "LAG") and self._scope.defines is not None:
            return self._previous(node)
        if name.startswith("FINAL_"):
            return self._finally(node, name.removeprefix("FINAL_"))
        if name == "CLASSIFIER" and not node.expressions:
            return Classifier() if self._scope.defines is None else Const(self._scope.defines)
        if name in ("LAST", "FIRST"):
            raise self._refused(node, f"expected a column in {name} but got {node.sql()!r}")
        why = {
            "NEXT": "what comes next is not known when a row comes; define the next variable instead",
            "MATCH_NUMBER": "a late row would number all later matches anew; number them where you read them",
            "PREV": "in MEASURES write LAST(V.x, k)",
        }.get(name, FUNCTIONS)
        raise self._refused(node, f"expected an expression over rows but got {node.sql()!r}; {why}")

    def _finally(self, node: Any, name: str) -> Expr:
        """Return a value as it is at the end of the match: in one row per match all are."""
        from sqlglot import exp

        if self._scope.defines is not None:
            raise self._refused(node, f"expected what is known when a row comes in DEFINE but got {node.sql()!r}")
        first, *offset = node.expressions or [None]
        if first is None or offset[1:] or (offset and name not in ("FIRST", "LAST")):
            raise self._refused(node, f"expected one column in {name} but got {node.sql()!r}")
        found = self.value(getattr(exp, name.title())(this=first, **({"expression": offset[0]} if offset else {})))
        return Final(found) if self._scope.every and not isinstance(found, Const) else found

    def _previous(self, node: Any) -> Expr:
        if not 1 <= len(node.expressions) <= 2:
            raise self._refused(node, f"expected PREV(x) or PREV(x, k) but got {node.sql()!r}")
        column, *offset = node.expressions
        back = self._offset(offset[0]) if offset else 1
        variable, field = self._parts(column)
        here = self._scope.defines
        assert here is not None
        if variable and self._variable(variable, node).members != {here}:
            raise self._refused(node, f"expected PREV of the row at hand but got {node.sql()!r}; write LAST({column.sql()})")
        if back == 0:
            return Field("e", field)
        if self._scope.variables[here].least < back:
            raise self._refused(
                node,
                f"expected {here} to be preceded by {back} row{'s' * (back > 1)} of the match but got {node.sql()!r}: a match does "
                f"not see the rows before it; let the pattern begin with a variable without DEFINE",
            )
        return Ref("", "last", field, back - 1)

    def _aggregate(self, node: Any, function: str) -> Expr:
        if type(node.this).__name__ == "Star" and function == "count":
            return Aggregate("", "count", None, self._scope.defines is not None)
        if type(node.this).__name__ == "Distinct":
            raise self._refused(node, f"expected an aggregate of all rows but got {node.sql()!r}; DISTINCT needs all of them kept")
        if type(node.this).__name__ != "Column":
            raise self._refused(
                node, f"expected a column in {function.upper()} but got {node.sql()!r}; add a field to the event for it"
            )
        if type(node.this.this).__name__ == "Star":
            variable = self._name(node.this.table, node)
            return Aggregate(variable, "count", None, self._counts_now(variable, node))
        variable, field = self._parts(node.this)
        if function != "count" and self._scope.kinds[field] not in (int, float):
            raise self._refused(node, f"expected a field of numbers in {function.upper()} but got {node.sql()!r}")
        return Aggregate(variable, function, field, self._counts_now(variable, node))

    def _counts_now(self, variable: str, node: Any) -> bool:
        here = self._scope.defines
        return here is not None and (not variable or here in self._variable(variable, node).members)

    # -- names -----------------------------------------------------------------------------------------------------------------

    def _navigated(self, node: Any) -> tuple[Any, int]:
        """Return the column in LAST or FIRST, or one without; and the offset."""
        if type(node).__name__ == "Column":
            return node, 0
        if type(node.this).__name__ != "Column":
            raise self._refused(node, f"expected a column in {type(node).__name__.upper()} but got {node.sql()!r}")
        offset = node.args.get("expression")
        return node.this, 0 if offset is None else self._offset(offset)

    def _offset(self, node: Any) -> int:
        if type(node).__name__ != "Literal" or not re.fullmatch("[0-9]{1,9}", str(node.this)) or int(node.this) > 64:
            raise self._refused(node, f"expected an offset from 0 to 64 but got {node.sql()!r}")
        return int(node.this)

    def _parts(self, column: Any) -> tuple[str, str]:
        """Return variable ("": none is named) and field of a column."""
        if type(column).__name__ != "Column" or column.args.get("db") is not None:
            raise self._refused(column, f"expected a column, x or V.x, but got {column.sql()!r}")
        variable = self._name(column.table, column) if column.table else ""
        return variable, self._scope.column(column.name, place_of(column))

    def _name(self, written: str, node: Any) -> str:
        found = self._scope.named(written)
        if found is None:
            known = ", ".join(self._scope.variables)
            raise self._refused(node, f"expected a variable of the pattern but got {written!r}; they are: {known}")
        return found

    def _variable(self, name: str, node: Any) -> Variable:
        return self._scope.variables[name]

    def _whole(self, expr: Expr) -> bool:
        """Return whether a value is an int."""
        match expr:
            case Const(value):
                return isinstance(value, int) and not isinstance(value, bool)
            case Field(_, name) | Ref(_, _, name):
                return self._scope.kinds.get(name) is int
            case Aggregate(_, function, field):
                return function == "count" or (function != "avg" and field is not None and self._scope.kinds.get(field) is int)
            case Binary(op, left, right):
                return op != "/" and self._whole(left) and self._whole(right)
            case Unary(_, x):
                return self._whole(x)
            case If(_, then, other):
                return self._whole(then) and self._whole(other)
            case Call(name, items):
                return name in ("int", "len") or (name == "abs" and self._whole(items[0]))
        return False

    def _refused(self, node: Any, message: str) -> RefusedError:
        return RefusedError(message, place_of(node))


def conjuncts_of(expr: Expr) -> tuple[Expr, ...]:
    """Return what stands between the ANDs at the top."""
    return expr.items if isinstance(expr, And) else (expr,)
