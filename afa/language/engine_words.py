"""What one dialect means by a word and the engine by another: a tree whose meaning the engine's words keep.

sqlglot brings names and forms over, and no meaning that hangs on values: whether ``/`` of ints is cut off, whether NULL is left
out, what a difference of times counts. The tables here are those by which afa reads its own clauses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import Dialect, exp

from afa.errors import QueryError
from afa.language.sql_functions import FROM_0, GREATEST, QUOTIENTS
from afa.language.sql_statement import of_a_list
from afa.language.sql_times import COUNTS, ROUNDED

INTS = {
    "duckdb": ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"],
    "spark": ("TINYINT", "SMALLINT", "INT", "BIGINT"),
}
"""What engines call their types of ints. ``typeof`` is known when a statement is bound: no row asks for it."""
TO_INTS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "INT128")
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Mod)
WORD = re.compile(r"[A-Za-z_]\w*")
SUNDAY_IS_1 = ("spark", "databricks", "bigquery", "flink")
"""Where days of the week are counted from Sunday, 1; elsewhere it is 0."""
TIME_FORMAT = re.compile(r"(?:YYYY|YY|MM|DD|HH24|MI|SS|[-/.,:; ])+", re.IGNORECASE)
"""The formats of TO_CHAR that are of times, and have no names of months or days; those of numbers have 0, 9 and others."""
INT_OF = "afa_int"
MOST = 20_000
"""How many nodes may be made: a division of divisions names each of its parts several times."""


def in_engine_words(tree: Any, dialect: str, engine: str) -> Any:
    """Return a tree of one dialect, which is changed, so that it means the same in an engine's. Raises `QueryError`."""
    words, size = _EngineWords(dialect, engine), 0
    named = [
        (select, i, each.sql(dialect=engine))
        for select in tree.find_all(exp.Select)
        for i, each in enumerate(select.expressions)
        if not isinstance(each, exp.Alias | exp.Column) and not each.is_star
    ]
    for node in reversed(list(tree.walk(bfs=False))):  # what stands in a node comes before it
        change: Callable[[Any], Any] | None = getattr(words, f"_{type(node).__name__.lower()}", None)
        made = node if change is None else change(node)
        if made is not node:
            size += 0 if made is None else sum(1 for _ in made.walk())
            if size > MOST:
                raise QueryError(
                    f"expected a statement of fewer divisions and CASTs within each other in the words of {engine} but got more"
                )
            tree = made if node is tree else tree
            node.replace(made)
    for select, i, name in named:  # an engine calls what has no name by its text
        if select.expressions[i].sql(dialect=engine) != name:
            select.expressions[i].replace(exp.alias_(select.expressions[i].copy(), name, quoted=True))
    return tree


class _EngineWords:
    """Makes a node anew, of which the parts are made."""

    def __init__(self, dialect: str, engine: str) -> None:
        self._dialect, self._engine, self._duckdb = dialect, engine, engine == "duckdb"

    def _way(self, ways: dict[str, str]) -> str:
        return next((way for way, dialects in ways.items() if self._dialect in dialects.split()), "")

    def _hint(self, node: Any) -> None:
        """Leave out a hint, which says how a statement is run and not what it answers."""

    def _identifier(self, node: Any) -> Any:
        node.set("quoted", node.args.get("quoted") or WORD.fullmatch(node.name) is None)
        return node

    def _eq(self, node: Any) -> Any:
        return of_a_list(node)

    _neq = _eq

    # -- numbers ---------------------------------------------------------------------------------------------------------------

    def _div(self, node: Any) -> Any:
        left, right = node.this, node.expression
        if self._way(QUOTIENTS) != "cut off" or any(isinstance(each, exp.Literal) and not each.is_int for each in (left, right)):
            return node
        both = exp.and_(self._is_int(left), self._is_int(right))
        cut = exp.IntDiv(this=self._as_int(left), expression=self._as_int(right))
        made = exp.Case(ifs=[exp.If(this=both, true=cut)], default=exp.Div(this=left.copy(), expression=right.copy()))
        made.meta[INT_OF] = both
        return made

    def _is_int(self, node: Any) -> Any:
        """Return the condition that a value is an int in the dialect, where the engine may have a float of it."""
        if isinstance(node, exp.Paren | exp.Neg):
            return self._is_int(node.this)
        if INT_OF in node.meta:
            return node.meta[INT_OF].copy()
        if isinstance(node, ARITHMETIC):
            return exp.and_(self._is_int(node.this), self._is_int(node.expression))
        return self._is_of(node, INTS[self._engine])

    def _is_of(self, node: Any, kinds: Sequence[str]) -> Any:
        called = exp.Upper(this=exp.Anonymous(this="typeof", expressions=[node.copy()]))
        return exp.In(this=called, expressions=[exp.Literal.string(each) for each in kinds])

    def _as_int(self, node: Any) -> Any:
        return exp.Cast(this=node.copy(), to=exp.DataType.build("INT128" if self._duckdb else "BIGINT"))

    def _cast(self, node: Any) -> Any:
        """Return a CAST to an int, of floats as the dialect makes them whole."""
        way, own = self._way(ROUNDED), "even" if self._duckdb else "cut off"
        if not node.is_type(*TO_INTS) or way in ("", own) or isinstance(node.this, exp.Literal):
            return node
        wide = exp.Cast(this=node.this.copy(), to=exp.DataType.build("DOUBLE"))
        rounded = {"away": exp.Round(this=wide), "cut off": exp.Trunc(this=wide)}
        whole = rounded.get(way, exp.Anonymous(this="rint", expressions=[wide]))
        which = self._is_of(node.this, ("FLOAT", "DOUBLE"))
        if way != ("away" if self._duckdb else "cut off"):  # as the engine makes a DECIMAL whole
            which = exp.or_(which, exp.StartsWith(this=which.this.copy(), expression=exp.Literal.string("DECIMAL")))
        made = type(node)(this=whole, to=node.to.copy())
        return exp.Case(ifs=[exp.If(this=which, true=made)], default=node.copy())

    _trycast = _cast

    # -- NULL ------------------------------------------------------------------------------------------------------------------

    def _greatest(self, node: Any) -> Any:
        if self._way(GREATEST) == "skip" or (node.args.get("ignore_nulls") and self._dialect == "snowflake"):
            node.set("ignore_nulls", True)
            return node
        missing = exp.or_(*(each.copy().is_(exp.null()) for each in (node.this, *node.expressions)))
        node.set("ignore_nulls", True)
        return exp.Case(ifs=[exp.If(this=missing, true=exp.null())], default=node.copy())

    _least = _greatest

    def _dpipe(self, node: Any) -> Any:
        return self._joined(node, [node.this, node.expression])

    def _concat(self, node: Any) -> Any:
        return self._joined(node, node.expressions)

    def _joined(self, node: Any, parts: list[Any]) -> Any:
        """Return texts side by side; to Oracle NULL is the text without characters."""
        if self._dialect != "oracle":
            return node
        empty = exp.Literal.string("")
        joined = exp.Anonymous(this="concat_ws", expressions=[empty.copy(), *(each.copy() for each in parts)])
        return exp.Nullif(this=joined, expression=empty)

    # -- texts and times -------------------------------------------------------------------------------------------------------

    def _substring(self, node: Any) -> Any:
        start, way = node.args.get("start"), self._way(FROM_0)
        if isinstance(start, exp.Literal) and start.name == "0" and way == "one":
            node.set("start", exp.Literal.number(1))
        elif isinstance(start, exp.Literal) and start.name == "0" and way == "none":
            node.set("length", exp.Literal.number(0))
        return node

    def _tochar(self, node: Any) -> Any:
        form = node.args.get("format")
        if form is None or not form.is_string or not TIME_FORMAT.fullmatch(form.name):
            return node
        form = Dialect.get_or_raise("oracle").format_time(form.copy())
        return exp.TimeToStr(this=exp.Cast(this=node.this.copy(), to=exp.DataType.build("TIMESTAMP")), format=form)

    def _datediff(self, node: Any) -> Any:
        unit = node.args.get("unit")
        way = "whole" if isinstance(node, exp.TimestampDiff) else self._way(COUNTS)
        if unit is None or way == ("boundaries" if self._duckdb else "whole"):
            return node
        start, end = node.expression.copy(), node.this.copy()
        if self._duckdb:
            return exp.Anonymous(this="date_sub", expressions=[exp.Literal.string(unit.name.lower()), start, end])
        for name, each in (("this", end), ("expression", start)):
            node.set(name, exp.TimestampTrunc(this=each, unit=unit.copy()))
        return node

    _timestampdiff = _datediff

    def _dayofweek(self, node: Any) -> Any:
        more = (self._dialect in SUNDAY_IS_1) - (not self._duckdb)
        return exp.paren(exp.Add(this=node.copy(), expression=exp.Literal.number(more))) if more else node

    def _extract(self, node: Any) -> Any:
        return self._dayofweek(node) if str(node.this.name).upper() in ("DAYOFWEEK", "DOW") else node
