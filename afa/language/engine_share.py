"""What afa does not read of a clause, the engine around it computes: of each row in front of the matches, and of each match.

    PARTITION BY upper(sensor)                    in front: upper(sensor) AS afa_by_..         PARTITION BY afa_by_..
    DEFINE night AS strftime(at, '%H') < '06'     in front: strftime(at, '%H') < '06' AS ..    DEFINE night AS afa_by_..
    MEASURES printf('%d', LAST(x)) AS said        afa: LAST(x) AS afa_of_..                    behind: printf('%d', afa_of_..)

In front of MEASURES only what stands in navigation or an aggregate is computed, so that each value there is one of a row. Names
hold a digest of what they stand for: a running query with other texts is another one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from sqlglot import exp

from afa.language import sql_times
from afa.language.sase_grammar import RefusedError
from afa.language.sql_nodes import below
from afa.language.sql_statement import Named, RowPatternMatch, Word
from afa.language.sql_text import SqlText, plain

OF_ROWS = ("PREV", "NEXT", "CLASSIFIER", "MATCH_NUMBER", "MATCH_SEQUENCE_NUMBER", "FINAL")
"""Functions of rows that sqlglot has no nodes for."""
NAVIGATION = (exp.First, exp.Last, exp.Lag, exp.Lead)
MOVED = (*NAVIGATION, exp.Min, exp.Max, exp.AnyValue, exp.ArgMax, exp.ArgMin, exp.IgnoreNulls, exp.Filter, exp.Paren)
"""What has the type of its argument."""
CASTS = (*sql_times.INTS, *sql_times.FLOATS, *sql_times.TEXTS, "DATE")
TIMES = ("date", "timestamp", "timestamptz", "timestampntz", "datetime", "interval")
SETS = (
    "UNNEST", "EXPLODE", "EXPLODE_OUTER", "POSEXPLODE", "POSEXPLODE_OUTER", "INLINE", "INLINE_OUTER", "STACK", "JSON_TUPLE",
    "COLUMNS", "GENERATE_SUBSCRIPTS", "REGEXP_SPLIT_TO_TABLE",
)  # fmt: skip
"""Functions that return several rows, or none: an expression has one value."""
MOST = 3_000
"""How many nodes MEASURES may have once earlier ones are written out in those that name them."""
OURS = ("afa_by_", "afa_of_")


class RowKinds(NamedTuple):
    """What is known of the columns in front, by their names in small letters."""

    columns: frozenset[str] = frozenset()
    times: frozenset[str] = frozenset()  # MEASURES calculated of them are the engine's, which says their types
    unread: frozenset[str] = frozenset()  # those whose values no field holds as they are: lists, a DECIMAL
    decimals: frozenset[str] = frozenset()  # of these the DECIMALs, which afa counts and sums


class EngineShare(NamedTuple):
    """A MATCH_RECOGNIZE that afa reads, and what the engine computes for it."""

    match: RowPatternMatch
    front: Mapping[str, Any]  # columns of the rows in front: sqlglot's nodes, over those that are there
    behind: Mapping[str, Any]  # measures: nodes over those of ``match``; None: it is one of them


UNKNOWN = RowKinds()


def engine_share(match: RowPatternMatch, text: SqlText, kinds: RowKinds = UNKNOWN, of_lists: str = "") -> EngineShare:
    """Divide the work between afa and the engine; ``of_lists``: its function of a list and the name of an aggregate."""
    return _Division(match, text, kinds, of_lists).divided()


class _Division:
    def __init__(self, match: RowPatternMatch, text: SqlText, kinds: RowKinds, of_lists: str) -> None:
        self._match, self._text, self._kinds, self._of_lists = match, text, kinds, of_lists
        words = " ".join([match.pattern.said if match.pattern else "", *(name.said for name, _ in match.subsets)])
        names = re.findall(r'"(?:[^"]|"")+"|`(?:[^`]|``)+`|\w+', words)
        self._variables = {plain(name).lower() for name in names}
        self._tables = {match.relation.alias_or_name.lower(), match.relation.name.lower(), "", *self._variables}
        self._front, self._decimals = dict[str, Any](), set(kinds.decimals)
        self._hidden = list[Named]()
        self._unread = set[int]()  # the ids of nodes; those are held, so that no id stands for two
        self._held = list[Any]()
        self._digest = ""
        self._here = ""  # the variable whose condition it is: columns of no name are of its row

    def divided(self) -> EngineShare:
        match = self._match
        for node, _ in match.nodes():
            self._check(node)
        partition = tuple(self._key(node) for node in match.partition)
        order = tuple(each.copy() for each in match.order)
        for each in order:
            each.set("this", self._key(each.this))
        defines = list[Named]()
        for each in match.defines:
            self._here = plain(each.name.said).lower()
            defines.append(each._replace(value=self._in_front(self._marked(each.value.copy(), False), None, False)))
        measures, behind = self._measures()
        match = replace(match, partition=partition, order=order, defines=tuple(defines), measures=(*measures, *self._hidden))
        return EngineShare(match, self._front, behind if any(node is not None for node in behind.values()) else {})

    def _measures(self) -> tuple[list[Named], dict[str, Any]]:
        match, size = self._match, 0
        found, behind, made = list[Named](), dict[str, Any](), dict[str, Any]()
        for each in match.measures:
            name = plain(each.name.said)
            value = put(each.value.copy(), made)
            size += sum(1 for _ in value.walk())
            if size > MOST and made:
                raise self._refused(
                    each.value, f"expected MEASURES of at most {MOST:,} parts, with those that they name, but got more"
                )
            value = self._in_rows(self._marked(value, True), None, False).transform(self._listed)
            self._marked(value, True)
            if each.final or id(value) not in self._unread or not self._is_divided(value):
                found.append(each._replace(value=value))
                behind[name] = None
                continue
            if name.lower() not in self._kinds.columns:
                made[name.lower()] = exp.paren(put(each.value.copy(), made))
            self._digest = _digest(value)
            behind[name] = self._behind(value, each.place, None)
        if any(node is not None for node in behind.values()):
            self._check_names()
        if match.rows is not None and "UNMATCHED" in match.rows.said.upper():
            self._null_where_unmatched(behind)
        if behind and not found and not self._hidden:  # constants of the engine: a match has a column of which it knows
            self._hide(exp.Count(this=exp.Star()), match.place)
        return found, behind

    def _null_where_unmatched(self, behind: dict[str, Any]) -> None:
        """Let every measure be NULL in a row of no match."""
        for name, node in behind.items():
            if node is not None:
                self._digest = _digest(node)
                there = self._hide(exp.Count(this=exp.Star()), self._match.place)
                behind[name] = exp.Case(ifs=[exp.If(this=there.is_(exp.null()), true=exp.null())], default=node)

    # -- what is refused -------------------------------------------------------------------------------------------------------

    def _refused(self, node: Any, message: str) -> RefusedError:
        return RefusedError(message, self._text.place(node))

    def _check(self, node: Any) -> None:
        """Refuse what an engine would take for something else."""
        for each in node.walk():
            if isinstance(each, exp.MatchRecognize):
                raise self._refused(node, "expected no MATCH_RECOGNIZE within a clause of another but got one; let a CTE hold it")
            called = str(each.this).upper() if isinstance(each, exp.Anonymous) else each.key.upper()
            if called in SETS or isinstance(each, exp.UDTF):
                raise self._refused(
                    each, f"expected one value but got {self._text.quoted(each)}, of several rows; unnest it around"
                )
            inner = isinstance(each, exp.Query) and each.find_ancestor(exp.Query) is None
            if inner or (isinstance(each, exp.Lambda) and each.find_ancestor(exp.Query) is None):
                self._check_inner(each)

    def _check_inner(self, node: Any) -> None:
        """Refuse a subquery, or a function within an expression, that names a variable of the pattern."""
        own = {table.alias_or_name.lower() for table in node.find_all(exp.Table, exp.Subquery)}
        for column in node.find_all(exp.Column):
            first = column.parts[0].name.lower()
            if len(column.parts) > 1 and first in self._variables and first not in own:
                said = self._text.quoted(column)
                raise self._refused(column, f"expected what needs no row of a variable within a subquery or x -> .. but got {said}")

    def _check_names(self) -> None:
        """Refuse names that two columns would have."""
        match, taken = self._match, {node.name.lower() for node in self._match.partition}
        taken |= self._kinds.columns if match.rows is not None and match.rows.said.upper().startswith("ALL") else set()
        for each in match.measures:
            name = plain(each.name.said)
            if name.lower() in taken or name.lower().startswith(OURS):
                raise RefusedError(f"expected a name that no column has in MEASURES but got {name!r}", each.name.place)
            taken.add(name.lower())
        ours = next((name for name in sorted(self._kinds.columns) if name.startswith(OURS)), None)
        if ours is not None:
            raise RefusedError(f"expected columns whose names do not begin with {' or '.join(OURS)} but got {ours!r}", match.place)

    # -- what afa reads --------------------------------------------------------------------------------------------------------

    def _marked(self, value: Any, measure: bool) -> Any:
        """Take note of what afa does not read in a value, with all around it; return the value."""
        self._unread.clear()
        waiting = [(value, "value")]
        while waiting:
            node, place = waiting.pop()
            try:
                inner, known = list(below(node, place, self._text)), self._knows(node)
            except RefusedError:
                inner, known = [(each, "value") for each in node.iter_expressions()], False
            if not known:
                self._mark(node)
            if measure and self._is_time(node):
                self._mark_calculated(node)
            if not isinstance(node, exp.Query | exp.Lambda):
                waiting += inner
        for each in _columns(value):
            decimal = each.name.lower() in self._decimals
            if decimal or each.name.lower() in self._kinds.unread:  # it may be shown as it is, and no more
                kept = (*NAVIGATION, exp.ArgMax, exp.ArgMin, *((exp.Max, exp.Min, exp.Sum, exp.Filter) if decimal else ()))
                while isinstance(each.parent, kept) or _is_of_rows(each.parent):
                    each = each.parent
                if not (decimal and isinstance(each.parent, exp.AggFunc | exp.Distinct)):  # of which afa has the aggregate
                    self._mark(each.parent)
        return value

    def _knows(self, node: Any) -> bool:
        if isinstance(node, exp.Anonymous):
            return _is_of_rows(node)
        if isinstance(node, exp.Cast):
            to = str(getattr(node.to.this, "name", node.to.this))
            return to in sql_times.TIMES or (to in CASTS and not node.to.expressions)
        return not isinstance(node, exp.Column) or (node.table.lower() in self._tables and not node.db)

    def _mark(self, node: Any) -> None:
        while node is not None and id(node) not in self._unread:
            self._unread.add(id(node))
            self._held.append(node)
            node = node.parent

    def _is_time(self, node: Any) -> bool:
        if isinstance(node, exp.Column):
            return node.name.lower() in self._kinds.times and not _is_variable(node)
        return isinstance(node, exp.Cast) and node.is_type(*TIMES) and bool(self._kinds.columns)

    def _mark_calculated(self, node: Any) -> None:
        """Mark what is calculated of a time, of which afa would show an int."""
        if isinstance(node, exp.Cast):
            return self._mark(node)
        above = node.parent
        while isinstance(above, MOVED) or _is_of_rows(above):
            if isinstance(above, exp.ArgMax | exp.ArgMin) and above.this is not node:
                return None
            node, above = above, above.parent
        if above is not None and not isinstance(above, exp.AggFunc):
            self._mark(above)
        return None

    # -- in front --------------------------------------------------------------------------------------------------------------

    def _key(self, node: Any) -> Any:
        """Return a column for a key, or what orders rows."""
        plainly = isinstance(node, exp.Column) and not node.db and node.table.lower() in self._tables
        return node if plainly or node.find(exp.Column) is None else self._column(node.copy(), None)

    def _in_front(self, node: Any, parent: Any, inside: bool) -> Any:
        """Return a condition with columns in front for those of its parts that afa does not read, each of one row."""
        if _is_value(node, parent):
            if id(node) not in self._unread:
                return node
            of = self._row_of(node, "" if inside else self._here)
            if of == "" or (inside and of is not None):
                return self._column(node, of)
            if of is not None:  # of no row it is what it is of NULL
                nothing = exp.paren(node.copy(), copy=False)  # so that a column alone can be replaced
                for each in list(_columns(nothing)):
                    each.replace(exp.Case(ifs=[exp.If(this=exp.false(), true=each.copy())]))
                nulls, found = self._column(nothing, ""), self._column(node, of)
                rows = exp.Count(this=exp.Column(this=exp.Star(), table=exp.to_identifier(of, quoted=True)))
                return exp.Case(ifs=[exp.If(this=exp.EQ(this=rows, expression=exp.Literal.number(0)), true=nulls)], default=found)
        return _changed(node, lambda each, over: self._in_front(each, over, inside or _reads_rows(node)))

    def _in_rows(self, node: Any, parent: Any, inside: bool) -> Any:
        """Return a measure with columns in front for what afa does not read within its navigation and aggregates."""
        field = isinstance(node, exp.Column) and id(node) in self._unread and self._row_of(node) is not None
        if field or (inside and _is_value(node, parent) and id(node) in self._unread):
            of = self._row_of(node)
            if of is not None:
                return self._column(node, of)
        return _changed(node, lambda each, over: self._in_rows(each, over, inside or _reads_rows(node)))

    def _row_of(self, node: Any, here: str = "") -> str | None:
        """Return the variable whose row a value is of ("": none is named, or the one ``here``); None: it is of several rows."""
        named = set[str]()
        for each in node.walk(prune=lambda one: isinstance(one, exp.Query)):
            if isinstance(each, (exp.AggFunc, exp.Window, *NAVIGATION)):
                return None
            if _is_of_rows(each):
                return None
            if isinstance(each, exp.Column):
                of = self._variable_of(each)
                named.add("" if of.lower() == here else of)
        return None if len(named) > 1 else next(iter(named), "")

    def _variable_of(self, column: Any) -> str:
        first = column.parts[0].name
        return str(first) if len(column.parts) > 1 and first.lower() in self._variables else ""

    def _column(self, node: Any, of: str | None) -> Any:
        """Return the column in front that has a value; ``of``: the variable whose row it is of, None: of a key."""
        columns = list(_columns(node))
        if of is not None:
            node = exp.paren(node, copy=False) if isinstance(node, exp.Column) else node  # so that it can be replaced
            for each in columns:
                if self._variable_of(each):
                    each.replace(_field(each.parts[1:]))
        name = f"afa_by_{_digest(node)}"
        if not isinstance(node, exp.Predicate | exp.Connector | exp.Not):
            self._decimals.update([name] if any(each.name.lower() in self._decimals for each in columns) else [])
        found = exp.column(name, table=exp.to_identifier(of, quoted=True) if of else None, quoted=True)
        found.this.meta.update(columns[0].this.meta if columns else node.meta)
        self._front[name] = node
        return found

    # -- behind ----------------------------------------------------------------------------------------------------------------

    def _listed(self, node: Any) -> Any:
        """Return an aggregate that afa does not know as one of the engine's over the list of all values."""
        of = node.this if isinstance(node, exp.Filter) else node
        more = isinstance(of, exp.AggFunc) and any(value for name, value in of.args.items() if name != "this")
        if not self._of_lists or not isinstance(of, exp.AggFunc) or more or self._knows_kind(of):
            return node
        values: Any = exp.ArrayAgg(this=of.this.copy())
        if of is not node:
            values = exp.Filter(this=values, expression=node.expression.copy())
        called = exp.Literal.string(of.sql(dialect="duckdb").partition("(")[0].lower())
        return exp.Anonymous(this=self._of_lists, expressions=[values, called])

    def _knows_kind(self, node: Any) -> bool:
        try:
            list(below(node, "value", self._text))
        except RefusedError:
            return False
        return True

    def _is_divided(self, value: Any) -> bool:
        """Return whether a measure can be the engine's: what is of several rows afa must read."""
        over_rows = (exp.AggFunc, exp.Window, *NAVIGATION)
        for each in value.walk(prune=lambda one: isinstance(one, exp.Query)):
            if (_is_of_rows(each) or isinstance(each, over_rows)) and id(each) in self._unread:
                return False
        return True

    def _behind(self, node: Any, place: int, parent: Any) -> Any:
        """Return a value over measures, which are what afa reads of it."""
        if _is_value(node, parent) and id(node) not in self._unread:
            constant = node.find(exp.Column, exp.Anonymous, exp.Star) is None
            return node if constant else self._hide(node, place)
        return _changed(node, lambda each, over: self._behind(each, place, over))

    def _hide(self, node: Any, place: int) -> Any:
        name = f"afa_of_{self._digest}_{len(self._hidden)}"
        self._hidden.append(Named(Word(name, place), node.copy(), place))
        return exp.column(name, quoted=True)


def navigated(value: Any) -> Any:
    """Return the column whose value in one of the rows a value is; None: it is no such value."""
    node = value.unnest()
    while not isinstance(node, exp.Column):
        if isinstance(node, exp.Anonymous) and str(node.this).upper() in ("PREV", "NEXT", "FINAL") and node.expressions:
            node = node.expressions[0]
        elif isinstance(node, (*NAVIGATION, exp.ArgMax, exp.ArgMin)):
            node = node.this
        else:
            return None
    return node


def put(node: Any, made: Mapping[str, Any]) -> Any:
    """Return a node with values in the place of the measures that it names, not within subqueries."""
    if isinstance(node, exp.Column):
        named = not node.table and not _is_variable(node) and node.name.lower() in made
        return made[node.name.lower()].copy() if named else node
    return _changed(node, lambda each, over: put(each, made))


def _digest(node: Any) -> str:
    return hashlib.blake2b(node.sql().encode(), digest_size=5).hexdigest()


def _field(parts: list[Any]) -> Any:
    """Return a column, or what lies in it, as nothing that a table of its name could be meant by."""
    found: Any = exp.Column(this=parts[0].copy())
    for part in parts[1:]:
        found = exp.Dot(this=exp.paren(found, copy=False), expression=part.copy())
    return found


def _is_of_rows(node: Any) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).upper() in OF_ROWS


def _reads_rows(node: Any) -> bool:
    """Return whether what stands in a node is asked of other rows than the node."""
    moves = isinstance(node, exp.Anonymous) and str(node.this).upper() in ("PREV", "NEXT")
    return moves or isinstance(node, (exp.AggFunc, exp.Where, *NAVIGATION))


def _columns(node: Any) -> Iterator[Any]:
    """Yield the columns in a value that are those of rows, not those of its subqueries."""
    for each in node.walk(prune=lambda one: isinstance(one, exp.Query)):
        if isinstance(each, exp.Column) and not _is_variable(each):
            yield each


def _is_variable(column: Any) -> bool:
    """Return whether it is the variable that CLASSIFIER is asked of, which a column may be called like."""
    around = column.parent
    return isinstance(around, exp.Anonymous) and str(around.this).upper() == "CLASSIFIER"


def _is_value(node: Any, parent: Any) -> bool:
    """Return whether a node is a value by itself: no WHEN of CASE, and nothing that stands in IN or EXISTS."""
    if isinstance(node, exp.Subquery):
        return not isinstance(parent, exp.In | exp.Exists)
    values = exp.Condition | exp.Filter | exp.IgnoreNulls | exp.WithinGroup
    return isinstance(node, values) and not (isinstance(node, exp.If) and isinstance(parent, exp.Case))


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
