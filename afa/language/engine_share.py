"""What afa does not read of a clause, the engine around it computes: of each row in front of the matches, and of each match.

PARTITION BY upper(sensor)                    in front: upper(sensor) AS afa_by_0          PARTITION BY afa_by_0
DEFINE night AS strftime(at, '%H') < '06'     in front: strftime(at, '%H') < '06' AS ..    DEFINE night AS afa_by_1
MEASURES printf('%d', LAST(x)) AS said        afa: LAST(x) AS afa_of_0                     behind: printf('%d', afa_of_0) AS said
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from sqlglot import exp

from afa.language.sase_grammar import RefusedError
from afa.language.sql_nodes import check
from afa.language.sql_statement import Named, RowPatternMatch, Word
from afa.language.sql_text import SqlText, plain

TIMES = ("date", "timestamp", "timestamptz", "timestampntz", "datetime", "interval")
PLAIN = (exp.Column, exp.AggFunc, exp.First, exp.Last, exp.Lag, exp.Lead, exp.Filter, exp.IgnoreNulls, exp.Anonymous)
"""What has the type of a column: of values calculated of times the engine says it."""
OF_ROWS = ("PREV", "NEXT", "CLASSIFIER", "MATCH_NUMBER", "MATCH_SEQUENCE_NUMBER", "FINAL")
"""Functions of rows that sqlglot has no nodes for."""


class EngineShare(NamedTuple):
    """A MATCH_RECOGNIZE that afa reads, and what the engine computes for it."""

    match: RowPatternMatch
    front: Mapping[str, Any]  # columns of the rows in front: sqlglot's nodes, over those that are there
    behind: Mapping[str, Any]  # measures: nodes over those of ``match``; None: it is one of them


def engine_share(
    match: RowPatternMatch, text: SqlText, times: Collection[str] = (), unread: Collection[str] = (), of_lists: str = ""
) -> EngineShare:
    """Divide the work between afa and the engine.

    ``times``: columns of times, in small letters; MEASURES calculated of them are the engine's, which says their types.
    ``unread``: those of types that no field has. ``of_lists``: the engine's function of a list and the name of an aggregate.
    """
    return _Division(match, text, frozenset(unread), of_lists).divided(frozenset(times))


class _Division:
    def __init__(self, match: RowPatternMatch, text: SqlText, unread: frozenset[str], of_lists: str) -> None:
        self._match, self._text, self._unread, self._of_lists = match, text, unread, of_lists
        self._times = frozenset[str]()
        words = [match.pattern.said if match.pattern else "", *(name.said for name, _ in match.subsets)]
        self._variables = {name.lower() for name in re.findall(r"\w+", " ".join(words))}
        self._tables = {match.relation.alias_or_name.lower(), match.relation.name.lower(), "", *self._variables}
        self._front = dict[str, Any]()
        self._hidden = list[Named]()
        self._measured = set[str]()
        self._here = ""  # the variable whose condition it is: columns of no name are of its row

    def divided(self, times: frozenset[str]) -> EngineShare:
        match = self._match
        partition = tuple(self._key(node) for node in match.partition)
        order = tuple(each.copy() for each in match.order)
        for each in order:
            each.set("this", self._key(each.this))
        defines = list[Named]()
        for each in match.defines:
            self._here = plain(each.name.said).lower()
            defines.append(each._replace(value=self._in_front(each.value.copy())))
        self._here, self._times = "", times
        found, behind, made = list[Named](), dict[str, Any](), dict[str, Any]()
        for each in match.measures:
            name = plain(each.name.said)
            value = self._in_front(each.value.copy().transform(put(made))).transform(self._listed)
            over_rows = value.find_all(exp.AggFunc, exp.Window)  # of which the engine can do none in front, and none behind
            if each.final or self._reads(value) or not all(map(self._reads, over_rows)):
                found.append(each._replace(value=value))
                behind[name] = None
            else:
                made[name.lower()] = exp.paren(value.copy())
                behind[name] = self._behind(value, each.place)
            self._measured.add(name.lower())
        if match.rows is not None and "UNMATCHED" in match.rows.said.upper() and any(behind.values()):
            there = self._behind(exp.Count(this=exp.Star()), match.place)  # of a row of no match every measure is NULL
            for name, node in behind.items():
                behind[name] = node and exp.Case(ifs=[exp.If(this=there.is_(exp.null()), true=exp.null())], default=node)
        match = replace(match, partition=partition, order=order, defines=tuple(defines), measures=(*found, *self._hidden))
        return EngineShare(match, self._front, behind if any(node is not None for node in behind.values()) else {})

    def _reads(self, node: Any) -> bool:
        """Return whether afa reads a value, as far as its nodes tell."""
        try:
            check(node, self._text, "value")
        except RefusedError:
            return False
        named = all(str(each.this).upper() in OF_ROWS for each in node.find_all(exp.Anonymous))
        own = all(each.table.lower() in self._tables and not each.db for each in node.find_all(exp.Column))
        beyond = (each for each in node.find_all(exp.Column) if each.name.lower() in self._unread)
        alone = all(each is navigated(node) for each in beyond)
        return named and own and alone and not any(map(self._of_times, node.walk()))

    def _of_times(self, node: Any) -> bool:
        """Return whether a value is calculated of times, so that afa would show an int."""
        if not self._times or not isinstance(node, exp.Condition) or isinstance(node, (PLAIN, exp.Literal)):
            return False
        if isinstance(node, exp.Paren):
            return self._of_times(node.this)
        return any(
            each.name.lower() in self._times
            if isinstance(each, exp.Column)
            else isinstance(each, exp.Cast) and each.is_type(*TIMES)
            for each in node.walk()
        )

    def _key(self, node: Any) -> Any:
        """Return a column for a key, or what orders rows."""
        return node if isinstance(node, exp.Column) or node.find(exp.Column) is None else self._column(node, "")

    def _in_front(self, node: Any, parent: Any = None) -> Any:
        """Return a value with columns in front for those of its parts that afa does not read, each of one row."""
        if _is_value(node, parent):
            if self._reads(node):
                return node
            of = self._row_of(node)
            if of is not None:
                return self._column(node, of)
        return _changed(node, self._in_front)

    def _listed(self, node: Any) -> Any:
        """Return an aggregate that afa does not know as one of the engine's over the list of all values."""
        of = node.this if isinstance(node, exp.Filter) else node
        more = isinstance(of, exp.AggFunc) and any(value for name, value in of.args.items() if name != "this")
        if not self._of_lists or not isinstance(of, exp.AggFunc) or more or self._reads(of):
            return node
        values: Any = exp.ArrayAgg(this=of.this.copy())
        if of is not node:
            values = exp.Filter(this=values, expression=node.expression.copy())
        called = exp.Literal.string(of.sql(dialect="duckdb").partition("(")[0].lower())
        return exp.Anonymous(this=self._of_lists, expressions=[values, called])

    def _row_of(self, node: Any) -> str | None:
        """Return the variable whose row a value is of ("": none is named); None: it is of several rows."""
        named = set[str]()
        for each in node.walk(prune=lambda one: isinstance(one, exp.Query)):
            if isinstance(each, exp.AggFunc | exp.Window | exp.First | exp.Last | exp.Lag | exp.Lead):
                return None
            if isinstance(each, exp.Anonymous) and str(each.this).upper() in OF_ROWS:
                return None
            if isinstance(each, exp.Column):
                if not each.table and each.name.lower() in self._measured:
                    return None
                of = next((part.name for part in each.parts[:-1] if part.name.lower() in self._variables), "")
                named.add("" if of.lower() == self._here else of)
        return None if len(named) > 1 else next(iter(named), "")

    def _column(self, node: Any, of: str) -> Any:
        """Return the column in front that has a value."""
        name, columns = f"afa_by_{len(self._front)}", [*node.find_all(exp.Column)]
        found = exp.column(name, table=of or None, quoted=True)
        found.this.meta.update(columns[0].this.meta if columns else node.meta)
        for each in columns:
            for part in ("db", "table"):
                if each.text(part).lower() in self._variables:
                    each.set(part, None)
        self._front[name] = node
        return found

    def _behind(self, node: Any, place: int, parent: Any = None) -> Any:
        """Return a value over measures, which are what afa reads of it."""
        if _is_value(node, parent) and self._reads(node):
            if node.find(exp.Column, exp.Anonymous, exp.Star) is None:
                return node
            name = f"afa_of_{len(self._hidden)}"
            self._hidden.append(Named(Word(name, place), node.copy(), place))
            return exp.column(name, quoted=True)
        return _changed(node, lambda each, over: self._behind(each, place, over))


def put(made: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return what puts measures that the engine computes in the place of their names."""
    return lambda node: (
        made[node.name.lower()].copy() if isinstance(node, exp.Column) and not node.table and node.name.lower() in made else node
    )


def _is_value(node: Any, parent: Any) -> bool:
    """Return whether a node is a value by itself: no WHEN of CASE, and nothing that stands in IN or EXISTS."""
    if isinstance(node, exp.Subquery):
        return not isinstance(parent, exp.In | exp.Exists)
    return isinstance(node, exp.Condition | exp.Filter | exp.IgnoreNulls | exp.WithinGroup) and not (
        isinstance(node, exp.If) and isinstance(parent, exp.Case)
    )


def _changed(node: Any, change: Callable[[Any, Any], Any]) -> Any:
    """Return a node with other parts; ``change`` takes each, and the node."""
    if isinstance(node, exp.Query | exp.Lambda):
        return node
    for name, value in list(node.args.items()):
        if isinstance(value, list):
            node.set(name, [change(each, node) if isinstance(each, exp.Expression) else each for each in value])
        elif isinstance(value, exp.Expression):
            node.set(name, change(value, node))
    return node


def navigated(value: Any) -> Any:
    """Return the column whose value in one of the rows a value is; None: it is no such value."""
    node = value.unnest()
    while not isinstance(node, exp.Column):
        if isinstance(node, exp.Anonymous) and str(node.this).upper() in ("PREV", "NEXT", "FINAL") and node.expressions:
            node = node.expressions[0]
        elif isinstance(node, exp.First | exp.Last | exp.Lag | exp.Lead | exp.ArgMax | exp.ArgMin):
            node = node.this
        else:
            return None
    return node
