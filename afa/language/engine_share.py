"""What afa does not read of a clause, the engine around it computes: of each row in front of the matches, and of each match.

PARTITION BY upper(sensor)                    in front: upper(sensor) AS afa_by_0          PARTITION BY afa_by_0
DEFINE night AS strftime(at, '%H') < '06'     in front: strftime(at, '%H') < '06' AS ..    DEFINE night AS afa_by_1
MEASURES printf('%d', LAST(x)) AS said        afa: LAST(x) AS afa_of_0                     behind: printf('%d', afa_of_0) AS said
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from sqlglot import exp

from afa.language.sase_grammar import RefusedError
from afa.language.sql_nodes import check
from afa.language.sql_statement import Named, RowPatternMatch, Word
from afa.language.sql_text import SqlText, plain

OF_ROWS = ("PREV", "NEXT", "CLASSIFIER", "MATCH_NUMBER", "MATCH_SEQUENCE_NUMBER", "FINAL")
"""Functions of rows that sqlglot has no nodes for."""


class EngineShare(NamedTuple):
    """A MATCH_RECOGNIZE that afa reads, and what the engine computes for it."""

    match: RowPatternMatch
    front: Mapping[str, Any]  # columns of the rows in front: sqlglot's nodes, over those that are there
    behind: Mapping[str, Any]  # measures: nodes over those of ``match``; None: it is one of them


def engine_share(match: RowPatternMatch, text: SqlText) -> EngineShare:
    """Divide the work between afa and the engine."""
    return _Division(match, text).divided()


class _Division:
    def __init__(self, match: RowPatternMatch, text: SqlText) -> None:
        self._match, self._text = match, text
        words = [match.pattern.said if match.pattern else "", *(name.said for name, _ in match.subsets)]
        self._variables = {name.lower() for name in re.findall(r"\w+", " ".join(words))}
        self._tables = {match.relation.alias_or_name.lower(), match.relation.name.lower(), "", *self._variables}
        self._front = dict[str, Any]()
        self._hidden = list[Named]()
        self._measured = set[str]()
        self._here = ""  # the variable whose condition it is: columns of no name are of its row

    def divided(self) -> EngineShare:
        match = self._match
        partition = tuple(self._key(node) for node in match.partition)
        order = tuple(each.copy() for each in match.order)
        for each in order:
            each.set("this", self._key(each.this))
        defines = list[Named]()
        for each in match.defines:
            self._here = plain(each.name.said).lower()
            defines.append(each._replace(value=self._in_front(each.value.copy())))
        self._here = ""
        found, behind, made = list[Named](), dict[str, Any](), dict[str, Any]()
        for each in match.measures:
            name = plain(each.name.said)
            value = self._in_front(each.value.copy().transform(_put(made)))
            alone = next(value.find_all(exp.AggFunc, exp.Window), None)
            if each.final or self._reads(value) or (alone is not None and not self._reads(alone)):
                found.append(each._replace(value=value))
                behind[name] = None
            else:
                made[name.lower()] = exp.paren(value.copy())
                behind[name] = self._behind(value, each.place)
            self._measured.add(name.lower())
        match = replace(match, partition=partition, order=order, defines=tuple(defines), measures=(*found, *self._hidden))
        return EngineShare(match, self._front, behind if any(node is not None for node in behind.values()) else {})

    def _reads(self, node: Any) -> bool:
        """Return whether afa reads a value, as far as its nodes tell."""
        try:
            check(node, self._text, "value")
        except RefusedError:
            return False
        columns = node.find_all(exp.Column)
        return all(str(each.this).upper() in OF_ROWS for each in node.find_all(exp.Anonymous)) and all(
            each.table.lower() in self._tables and not each.db for each in columns
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


def _put(made: Mapping[str, Any]) -> Callable[[Any], Any]:
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
