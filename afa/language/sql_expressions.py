"""SQL expressions, as sqlglot reads them -> the expression nodes of predicates and values.

A row is asked as the last one of the match so far (running semantics): a bare column, and a column of the variable that is
defined, are those of the row at hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from afa.expression.nodes import (
    Binary,
    Compare,
    Const,
    Expr,
    FieldRead,
    If,
    IsNone,
    Not,
    Unary,
    changed,
    conjunction,
    disjunction,
    walk,
)  # fmt: skip
from afa.expression.text import text_of_expr
from afa.language.sase_grammar import RefusedError
from afa.language.sql_decimals import POWERS, decimal_of
from afa.language.sql_functions import NUMERIC
from afa.language.sql_kinds import NULL
from afa.language.sql_nodes import FUNCTIONS, ROWS
from afa.language.sql_text import SqlText
from afa.language.sql_times import SqlTimes
from afa.language.terms import NAMED, Aggregate, Classifier, Final, ListAggregate, MatchNumber, Ref

COMPARE = {"EQ": "==", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
BESIDE = {"PREV": -1, "NEXT": 1, "LAG": -1, "LEAD": 1}
"""Functions that navigate from a row to one of its neighbours, whatever the match has taken; and in which direction."""
OVER = {"Sum": "sum", "Avg": "avg", "Min": "min", "Max": "max", "Count": "count", "AnyValue": "any"}
OVER |= {"ArgMax": "max_by", "ArgMin": "min_by"}
MOST_PARTS, MOST_WORK = 10_000, 150_000
"""How many nodes an expression may have, and how many those of a query together, each counted again in what it is a part of."""
GATHERS = {"Distinct": "distinct", "ArrayAgg": "array", "GroupConcat": "text"}
LISTED = {"": "trino oracle snowflake spark databricks", ",": "flink duckdb bigquery"}
"""What separates the texts of a LISTAGG that does not say it."""
SKIPS = ("snowflake", "oracle", "spark", "databricks")
"""Dialects whose ARRAY_AGG leaves NULL out; in the standard's it is kept."""
EMPTY = {"array": ("snowflake", "spark", "databricks"), "text": ("snowflake",)}
"""Dialects in which an ARRAY_AGG, or LISTAGG, of no value is empty, and not NULL."""
MOST_DIGITS = 400
"""The most characters of a number: no float, and no int64, has more before its point."""


class Variable(NamedTuple):
    """What is known of a variable, or of a subset."""

    members: frozenset[str]  # the variable itself; of a subset its variables
    one: bool  # whether it takes at most one row of a match
    least: int  # how many rows of the match lie before its first one, at least
    most: int | None  # at most; None: no bound is known


class Scope(NamedTuple):
    """Where an expression stands."""

    variables: Mapping[str, Variable]
    named: Callable[[str], str | None]  # from a variable as it is written to its name
    column: Callable[[Any], str]  # from a column to the event's field
    kinds: dict[str, type | None]
    scales: dict[str, int]  # of fields of DECIMAL: how many digits behind the point; a reader adds virtual ones
    tick: str | None
    defines: str | None  # the variable whose condition it is; None: MEASURES
    text: SqlText  # for the words, and the places, of what is refused
    every: bool  # whether each row of a match shows the MEASURES
    virtual: dict[str, Expr]  # fields that are expressions over one row; a reader adds those that it needs
    measures: Mapping[str, Expr]  # those before it, which a measure may name
    required: frozenset[str]  # the fields that are never NULL
    times: set[str]  # those that are instants; a reader adds virtual ones
    work: list[int]  # how many parts were counted so far
    neighbour: Callable[[str, int], str]  # from a field, and how far away, to the event's field for it
    dialect: str | None = None  # the dialect that the statement is said to be in
    order: tuple[Any, ...] = ()  # of ORDER BY, by which the rows of a match stand


class RowValue(NamedTuple):
    """An expression over one row, as navigation and aggregates ask it."""

    variable: str  # "": none is named
    field: str  # its name; of what is no column that of a virtual field
    value: Expr  # over the row


class SqlExpressionReader(SqlTimes):
    """Reads the expressions of one scope."""

    def __init__(self, scope: Scope, row: Any = None) -> None:
        super().__init__(scope.kinds, scope.scales, scope.text, scope.tick, scope.dialect)
        self._scope, self.required, self.times = scope, scope.required, scope.times
        self._row = row  # the expression over one row that is read; None: it is over all rows of a match
        self._named: list[str] = []  # the variables that it names

    def value(self, node: Any) -> Expr:
        """Return the expression of a node that `check` has let through. Raises `RefusedError`."""
        kind = type(node).__name__
        if kind in ROWS and node.this is None and kind != "Count":
            raise self._refused(node, f"expected one column in {kind.upper()} but got {self._said(node)}")
        result = self._read_as(node, kind)
        parts = sum(1 for _ in islice(walk(result), MOST_PARTS + 1))
        self._scope.work[0] += parts
        if parts > MOST_PARTS or self._scope.work[0] > MOST_WORK:
            raise self._refused(
                node,
                f"expected expressions of at most {MOST_PARTS:,} parts but got more where {self._said(node)} is written out: "
                f"NULLIF, COALESCE, CASE and names of columns repeat what is in them; split it over several variables",
            )
        return result

    def _read_as(self, node: Any, kind: str) -> Expr:
        """Return what a node of this kind is."""
        found = getattr(self, f"_{kind.lower()}", None)
        if found is not None:
            result: Expr = found(node)
            return result
        if kind in COMPARE:
            return self._compared(node, COMPARE[kind], self.value(node.this), self.value(node.expression))
        if kind in NUMERIC:
            return self._function(node, NUMERIC[kind])
        return self._aggregate(node, OVER[kind])

    # -- plain values ----------------------------------------------------------------------------------------------------------

    def _paren(self, node: Any) -> Expr:
        return self.value(node.this)

    def _literal(self, node: Any) -> Expr:
        if node.is_string:
            return Const(node.this)
        text = str(node.this)
        if len(text) > MOST_DIGITS:
            raise self._refused(node, f"expected a number of at most {MOST_DIGITS} characters but got one of {len(text)}")
        if text.isdecimal():
            return Const(int(text))
        if "e" in text.lower() or self._dialect == "bigquery":
            return Const(float(text))
        return decimal_of(float(text), len(text.partition(".")[2]))

    def _null(self, node: Any) -> Expr:
        return Const(None)

    def _boolean(self, node: Any) -> Expr:
        return Const(bool(node.this))

    def _neg(self, node: Any) -> Expr:
        inner = self._number(node.this)
        if isinstance(inner, Const) and isinstance(inner.value, int | float) and not isinstance(inner.value, bool):
            return replace(inner, value=-inner.value)
        return Unary("-", inner)

    def _and(self, node: Any) -> Expr:
        return conjunction([self.condition(each) for each in node.flatten(unnest=False)])

    def _or(self, node: Any) -> Expr:
        return disjunction([self.condition(each) for each in node.flatten(unnest=False)])

    def _not(self, node: Any) -> Expr:
        return Not(self.condition(node.this))

    def _is(self, node: Any) -> Expr:
        right = type(node.expression).__name__
        if right == "Null":
            return IsNone(self.value(node.this))
        if right == "Boolean":
            truth = self.condition(node.this)
            other = truth if node.expression.this else Not(truth)
            return If(other, Const(True), Const(False))
        raise self._refused(node, f"expected IS NULL, IS TRUE or IS FALSE but got {self._said(node)}")

    # -- rows ------------------------------------------------------------------------------------------------------------------

    def _column(self, node: Any) -> Expr:
        if self._row is None:
            return self._measured(node) or self._last(node)
        variable, field = self._parts(node)
        self._named.append(variable)
        return self._read(field)

    def _read(self, field: str) -> Expr:
        """Return a field of the row at hand; a virtual one as what it is."""
        return self._scope.virtual.get(field, FieldRead("e", field))

    def _measured(self, node: Any) -> Expr | None:
        """Return an earlier measure, if a column is none of a row and names one."""
        if node.table or node.name.lower() not in self._scope.measures:
            return None
        try:
            self._scope.column(node)
        except RefusedError:
            return self._scope.measures[node.name.lower()]
        return None

    def _of_row(self, node: Any, named: Sequence[str] = ()) -> RowValue:
        """Return a value over one row: a column, or an expression over columns of one variable; ``named``: it is one of these."""
        if type(node).__name__ == "Column":
            variable, field = self._parts(node)
            return RowValue(variable, field, self._read(field))
        inner = SqlExpressionReader(self._scope, node)
        value = inner.value(node)
        if MatchNumber() in walk(value):
            said = f"expected values of rows but got {self._said(node)}, of a match; write MATCH_NUMBER() outside of the aggregate"
            raise self._refused(node, said)
        variables = list(dict.fromkeys([*(self._name(each, node) for each in named), *inner._named])) or [""]
        if len(variables) > 1:
            said = " and ".join(each or "of no variable" for each in variables)
            raise self._refused(node, f"expected columns of one variable but got {self._said(node)}, of {said}; write them alike")
        return RowValue(variables[0], self._virtually(value), value)

    def _virtually(self, value: Expr) -> str:
        """Return the name of the virtual field that has a value of one row."""
        name = text_of_expr(changed(value, lambda each: FieldRead("e", NAMED) if isinstance(each, Classifier) else None))
        name = NAMED if isinstance(value, Classifier) else name
        scale = self._scale(value) if self._kind(value) is float else None
        if name in self._scope.virtual and self._scope.scales.get(name) != scale:  # 0.3 and 0.30
            name = f"{name} of scale {scale}"
        self._scope.virtual[name], self._scope.kinds[name] = value, self._kind(value)
        self._scope.times.update([name] if self._is_time(value) else [])
        self._scope.scales.update({} if scale is None else {name: scale})
        return name

    def _at_hand(self, row: RowValue) -> Expr:
        """Return a value over the row whose condition it is."""
        return changed(row.value, lambda each: Const(self._scope.defines) if isinstance(each, Classifier) else None)

    def _within_row(self, node: Any) -> None:
        """Refuse what reads more than one row, within an expression over one."""
        if self._row is not None:
            raise self._refused(
                node, f"expected columns of one row in {self._said(self._row)} but got {self._said(node)}, which reads others"
            )

    def _last(self, node: Any) -> Expr:
        row, back = self._navigated(node)
        variable, field, _ = row
        own = self._scope.defines is not None and (not variable or self._scope.defines in self._scope.variables[variable].members)
        if own and back == 0:
            return self._at_hand(row)
        if own:
            return Ref(variable, "last", field, back - 1)
        if variable and self._scope.variables[variable].one:
            return Ref(variable, "one", field) if back == 0 else Const(None)
        return Ref(variable, "last", field, back)

    def _first(self, node: Any) -> Expr:
        row, behind = self._navigated(node)
        variable, field, _ = row
        known, here = self._scope.variables[variable] if variable else None, self._scope.defines
        if here is None or (known is not None and here not in known.members):
            if known is not None and known.one:
                return Ref(variable, "one", field) if behind == 0 else Const(None)
            return Ref(variable, "first", field, behind)
        first = Ref(variable, "first", field, behind)
        if known is None:  # of all rows of the match
            place = self._scope.variables[here]
            if place.least > behind:
                return first
            if place.one and place.least == place.most == behind:
                return self._at_hand(row)
        return If(Compare("==", Aggregate(variable, "count"), Const(behind)), self._at_hand(row), first)

    def _anonymous(self, node: Any) -> Expr:
        name = str(node.this).upper()
        if name in BESIDE:
            return self._beside(node, BESIDE[name], node.expressions)
        if name == "FINAL" and len(node.expressions) == 1:
            return self._finally(node, node.expressions[0])
        if name == "CLASSIFIER" and len(node.expressions) <= 1:
            return self._classifier(node)
        if name == "LISTAGG" and 1 <= len(node.expressions) <= 2:
            return self._gathered(node)
        if name == "MATCH_NUMBER" and not node.expressions and self._scope.defines is None:
            return MatchNumber()
        if name == "MATCH_SEQUENCE_NUMBER" and not node.expressions:  # Snowflake's
            return Aggregate("", "count", None, self._scope.defines is not None)
        why = {
            "MATCH_NUMBER": "a match has its number once it is chosen; MEASURES may ask for MATCH_NUMBER()",
        }.get(name, FUNCTIONS)
        raise self._refused(node, f"expected an expression over rows but got {self._said(node)}; {why}")

    def _classifier(self, node: Any) -> Expr:
        """CLASSIFIER() is a column that no table has: the name of the variable that has taken a row."""
        variable = ""
        for each in node.expressions:
            variable = "" if type(each).__name__ != "Column" or each.table else self._name(each.name, node)
            if not variable:
                raise self._refused(node, f"expected CLASSIFIER() or CLASSIFIER(v) but got {self._said(node)}")
        if self._row is not None:
            self._named.append(variable)
            return Classifier()
        here = self._scope.defines
        if not variable:
            return Classifier() if here is None else Const(here)
        self._scope.virtual[NAMED], self._scope.kinds[NAMED] = Classifier(), str
        if here is not None and here in self._scope.variables[variable].members:
            return Const(here)
        return Ref(variable, "one" if self._scope.variables[variable].one else "last", NAMED)

    def _finally(self, node: Any, plain: Any) -> Expr:
        """Return a value as it is at the end of the match: in one row per match all are."""
        if self._scope.defines is not None:
            raise self._refused(node, f"expected what is known when a row comes in DEFINE but got {self._said(node)}")
        found = self.value(plain)
        if self._scope.every and not isinstance(found, Ref | Aggregate | ListAggregate | Const):
            said = self._scope.text.quoted(node)
            raise self._refused(node, f"expected FINAL before FIRST, LAST or an aggregate but got {said}")
        return Final(found) if self._scope.every and not isinstance(found, Const) else found

    def _lag(self, node: Any) -> Expr:
        return self._beside(node, -1, [node.this, *filter(None, [node.args.get("offset")])])

    def _lead(self, node: Any) -> Expr:
        return self._beside(node, 1, [node.this, *filter(None, [node.args.get("offset")])])

    def _beside(self, node: Any, direction: int, given: list[Any]) -> Expr:
        """Return a value of the row so many before, or behind, the one that the value itself is of."""
        name = next(name for name, way in BESIDE.items() if way == direction)
        if not 1 <= len(given) <= 2:
            raise self._refused(node, f"expected {name}(x) or {name}(x, k) but got {self._said(node)}")
        inner, offset = given[0].unnest(), self._offset(given[1]) if len(given) == 2 else 1
        if type(inner).__name__ == "Anonymous" and str(inner.this).upper() == "FINAL":
            plain = node.copy()
            next(plain.iter_expressions()).replace(inner.expressions[0].copy())
            return self._finally(node, plain)
        classified = inner.this if type(inner).__name__ == "Last" else inner
        if str(getattr(classified, "this", "")).upper() == "CLASSIFIER" and not classified.expressions:
            own = self._offset(inner.expression) if inner is not classified and inner.expression else 0
            if own < direction * offset:
                return Const(None)
            found = self.value(_last(classified, own - direction * offset))  # the rows of a match stand side by side
            return found if direction < 0 else If(IsNone(self.value(_last(classified, own))), Const(None), found)
        self._check_one_row(node, name, inner)
        if not offset:
            return self.value(inner)
        here, moves = self._scope.defines, type(inner).__name__ in ("First", "Last")
        if here is not None and direction < 0 and not moves and self._row is None and self._scope.variables[here].least >= offset:
            found = self.value(inner)
            if not any(isinstance(x, Ref) for x in walk(found)):  # the match holds it
                return changed(found, lambda x: Ref("", "last", x.name, offset - 1) if isinstance(x, FieldRead) else None)

        def column(each: Any) -> str:
            field = self._scope.column(each)
            if field in self._scope.virtual:
                raise self._refused(each, f"expected a column of the table in {name} but got {self._said(each)}, which is {field}")
            return self._scope.neighbour(field, direction * offset)

        reader = SqlExpressionReader(self._scope._replace(column=column, measures={}), self._row)
        reader._named = self._named
        return reader.value(inner)

    def _check_one_row(self, node: Any, name: str, inner: Any) -> None:
        """Refuse what is of several rows, or of none."""
        kinds = [type(each).__name__ for each in inner.walk()]
        names = {str(each.this).upper() for each in inner.walk() if type(each).__name__ == "Anonymous"}
        columns = [each for each in inner.walk() if type(each).__name__ == "Column"]
        rows = {self._name(each.table, each) if each.table else "" for each in columns}
        moved = sum(kind in ("First", "Last") for kind in kinds) - (kinds[0] in ("First", "Last"))
        if moved or names or len(rows) != 1 or not {"Lag", "Lead", *OVER, *GATHERS}.isdisjoint(kind.title() for kind in kinds):
            raise self._refused(
                node,
                f"expected columns of one row in {name}, or FIRST or LAST of them, but got {self._said(node)}; an aggregate, "
                f"CLASSIFIER and another {name} have no neighbours",
            )

    def _aggregate(self, node: Any, function: str) -> Expr:
        self._within_row(node)
        if function == "count" and node.this is None:  # COUNT()
            return Aggregate("", "count", None, self._scope.defines is not None)
        if function == "count" and "Star" in (type(node.this).__name__, type(node.this.this).__name__):
            variable = self._name(node.this.table, node) if type(node.this).__name__ == "Column" else ""
            return Aggregate(variable, "count", None, self._counts_now(variable))
        row = self._of_row(node.this)
        if function == "count" and isinstance(row.value, Const) and row.value.value is not None:
            return Aggregate(row.variable, "count", None, self._counts_now(row.variable))  # COUNT(1)
        if function not in ("max_by", "min_by"):
            return self._over(node, function, row)
        by = self._of_row(node.expression)
        if by.variable != row.variable:
            raise self._refused(node, f"expected columns of one variable but got {self._said(node)}; write them alike")
        return Aggregate(row.variable, function, row.field, self._counts_now(row.variable), by.field)

    def _over(self, node: Any, function: str, row: RowValue) -> Expr:
        """Return an aggregate of a value of each row."""
        texts = (str,) if function in ("min", "max") else ()
        if function in ("sum", "avg", "min", "max") and self._kind(row.value) not in (int, float, NULL, *texts):
            raise self._refused(node, f"expected numbers in {function.upper()} but got {self._said(node)}")
        now, scale = self._counts_now(row.variable), self._scale(row.value)
        if not scale or function not in ("sum", "avg"):
            return Aggregate(row.variable, function, row.field, now)
        units, power = Aggregate(row.variable, "sum", self._virtually(self._units(row.value, scale)), now), Const(POWERS[scale])
        if function == "sum":
            return self._rounded(Binary("/", units, power), scale)
        return Binary("/", units, Binary("*", Aggregate(row.variable, "count", row.field, now), power))

    def _count(self, node: Any) -> Expr:
        return self._gathered(node) if type(node.this).__name__ == "Distinct" else self._aggregate(node, "count")

    def _arrayagg(self, node: Any) -> Expr:
        return self._gathered(node)

    def _groupconcat(self, node: Any) -> Expr:
        return self._gathered(node)

    def _distinct(self, node: Any) -> Expr:
        raise self._refused(node, f"expected DISTINCT in COUNT(DISTINCT x) alone but got {self._said(node.parent)}")

    def _order(self, node: Any) -> Expr:
        raise self._refused(node, f"expected ORDER BY in ARRAY_AGG and LISTAGG alone but got {self._said(node.parent)}")

    def _withingroup(self, node: Any, condition: Any = None) -> Expr:
        found = self.value(node.this) if condition is None else self._filtered(node, node.this, condition)
        if not isinstance(found, ListAggregate) or found.function == "distinct":
            raise self._refused(node, f"expected WITHIN GROUP behind LISTAGG or ARRAY_AGG but got {self._said(node)}")
        self._check_order(node, node.expression)
        return found

    def _gathered(self, node: Any, condition: Any = None) -> Expr:
        """COUNT(DISTINCT x), ARRAY_AGG(x), LISTAGG(x, separator): of all rows at once, made when the match is chosen."""
        from sqlglot import exp

        self._within_row(node)
        if self._scope.defines is not None:
            way = "its values are gathered once a match is chosen: MEASURES may ask for it"
            raise self._refused(node, f"expected another aggregate in DEFINE but got {self._said(node)}; {way}")
        kind = type(node.this).__name__ if type(node).__name__ == "Count" else type(node).__name__
        over, separator = node.this, node.args.get("separator")
        if kind == "Anonymous":
            kind, (over, separator) = "GroupConcat", (*node.expressions, None)[:2]
        if kind == "Distinct":
            if len(over.expressions) != 1 or over.expressions[0].find(exp.Star):
                raise self._refused(node, f"expected COUNT(DISTINCT x) of one value but got {self._said(node)}")
            over = over.expressions[0]
        if type(over).__name__ == "Order":
            self._check_order(node, over)
            over = over.this
        function, dialect = GATHERS[kind], self._scope.dialect
        if self._scope.text.says(node, "OVERFLOW"):
            raise self._refused(node, f"expected LISTAGG(x, separator) but got {self._said(node)}; a text has no bound here")
        named = [each.table for each in over.find_all(exp.Column) if each.table][:1]
        skips, only = function != "array" or dialect in SKIPS, None
        if condition is not None:
            if not skips:
                only = self._of_row(exp.Case(ifs=[exp.If(this=condition, true=exp.Boolean(this=True))]), named)
            over = exp.Case(ifs=[exp.If(this=condition, true=over)])
        variable, field, value = self._of_row(over, named)
        if function == "text" and self._kind(value) not in (str, None, NULL):
            raise self._refused(node, f"expected a text in LISTAGG but got {self._said(node)}; write CAST(x AS VARCHAR)")
        if function != "text":
            sign = ""
        elif separator is None or not any("start" in each.meta for each in separator.walk()):  # sqlglot has put it there
            sign = self._way(node, LISTED, "what separates texts differs; say it: LISTAGG(x, ',')")
        else:
            sign = self._constant(separator, str)
        empty = dialect in EMPTY.get(function, ())
        return ListAggregate(variable, function, field, skips, only and only.field, sign, empty)

    def _check_order(self, node: Any, order: Any) -> None:
        """Refuse an order of what an aggregate gathers that is not the one in which rows of a match stand."""

        def said(each: Any) -> tuple[Any, ...]:
            nulls = each.args.get("nulls_first") if self._scope.text.says(each, "NULLS") else None
            return each.this.name.lower(), bool(each.args.get("desc")), nulls

        asked, rows = list(map(said, order.expressions)), list(map(said, self._scope.order))
        if asked != rows[: len(asked)]:
            raise self._refused(
                node, f"expected the order of MATCH_RECOGNIZE's ORDER BY, in which rows are gathered, but got {self._said(node)}"
            )

    def _ignorenulls(self, node: Any) -> Expr:
        found = self.value(node.this)  # of others it leaves them out anyway
        return replace(found, skips=True) if isinstance(found, ListAggregate) else found

    def _filter(self, node: Any) -> Expr:
        return self._filtered(node, node.this, node.expression.this)

    def _filtered(self, node: Any, aggregate: Any, condition: Any) -> Expr:
        """AGGREGATE(x) FILTER (WHERE c) is that of x where c holds, and of NULL elsewhere."""
        kind = type(aggregate).__name__
        if kind == "WithinGroup":
            return self._withingroup(aggregate, condition)
        gathers = kind in GATHERS or type(aggregate.this).__name__ == "Distinct" or str(aggregate.this).upper() == "LISTAGG"
        return self._gathered(aggregate, condition) if gathers else self._where(node, aggregate, condition)

    def _countif(self, node: Any) -> Expr:
        return self._where(node, None, node.this)

    def _where(self, node: Any, aggregate: Any, condition: Any) -> Expr:
        from sqlglot import exp

        kind = "Count" if aggregate is None else type(aggregate).__name__
        if kind not in ("Sum", "Avg", "Min", "Max", "Count"):
            raise self._refused(node, f"expected FILTER behind SUM, AVG, MIN, MAX or COUNT but got {self._said(node)}")
        over = None if aggregate is None else aggregate.this
        named = [] if over is None else [each.table for each in over.find_all(exp.Column) if each.table]
        if over is None or isinstance(over, exp.Star) or isinstance(over.this, exp.Star):
            over = exp.Literal.number(1)
        self._within_row(node)
        return self._over(node, OVER[kind], self._of_row(exp.Case(ifs=[exp.If(this=condition, true=over)]), named[:1]))

    def _counts_now(self, variable: str) -> bool:
        here = self._scope.defines
        return here is not None and (not variable or here in self._scope.variables[variable].members)

    # -- names -----------------------------------------------------------------------------------------------------------------

    def _navigated(self, node: Any) -> tuple[RowValue, int]:
        """Return the value of one row that LAST or FIRST asks, or of a column without; and the offset."""
        if type(node).__name__ == "Column":
            return self._of_row(node), 0
        self._within_row(node)
        offset = node.args.get("expression")
        return self._of_row(node.this), 0 if offset is None else self._offset(offset)

    def _offset(self, node: Any) -> int:
        if type(node).__name__ != "Literal" or not re.fullmatch("[0-9]{1,9}", str(node.this)) or int(node.this) > 64:
            raise self._refused(node, f"expected an offset from 0 to 64 but got {self._said(node)}")
        return int(node.this)

    def _star(self, node: Any) -> Expr:
        raise self._refused(node, f"expected a column but got {self._said(node)}, which stands in COUNT(*) and COUNT(v.*) only")

    def _parts(self, column: Any) -> tuple[str, str]:
        """Return variable ("": none is named) and field of a column."""
        if type(column.this).__name__ == "Star":
            self._star(column)
        if type(column).__name__ != "Column":
            raise self._refused(column, f"expected a column, x or V.x, but got {self._said(column)}")
        variable = self._name(column.table, column) if column.table else ""
        return variable, self._scope.column(column)

    def _name(self, written: str, node: Any) -> str:
        found = self._scope.named(written)
        if found is None:
            known = ", ".join(self._scope.variables)
            raise self._refused(node, f"expected a variable of the pattern but got {written!r}; they are: {known}")
        return found


def _last(node: Any, back: int) -> Any:
    """Return LAST(node, back)."""
    from sqlglot import exp

    return exp.Last(this=node.copy(), expression=exp.Literal.number(back))
