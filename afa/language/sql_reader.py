"""SQL's MATCH_RECOGNIZE -> tree. `sql_statement` takes the statement apart, `row_pattern` reads the PATTERN.

    SELECT * FROM ticks MATCH_RECOGNIZE (
      PARTITION BY symbol ORDER BY at
      MEASURES FIRST(down.price) AS top, LAST(down.price) AS low
      AFTER MATCH SKIP PAST LAST ROW
      PATTERN (start down+) WITHIN INTERVAL '1' HOUR
      DEFINE down AS price < PREV(price))

Untrusted text: its length is bounded, nothing in it is evaluated. Source: ISO/IEC TR 19075-5; manuals of Flink, Oracle, Trino.
"""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeVar

from sqlglot import exp

from afa.errors import QueryError, did_you_mean
from afa.expression.nodes import Compare, Const, Expr, FieldRead, IsNone, Ticks, conjunction, conjuncts_of
from afa.language.bare_numbers import nodes_of
from afa.language.computed import ComputedKeys
from afa.language.first_row import at_first, positive, reads_before, with_last
from afa.language.pattern import EMPTY_MATCH, UNMATCHED, Component, Computed, Either, Pattern, Tree, neighbour_name, rebuilt
from afa.language.row_pattern import Anchors, read_pattern
from afa.language.row_places import counts_of, least_of, places_of
from afa.language.sase_grammar import RefusedError, query_error
from afa.language.sql_decimals import POWERS
from afa.language.sql_expressions import MOST_PARTS, Scope, SqlExpressionReader, Variable
from afa.language.sql_layers import Layers, check_table, layers_of, merged, tables_of
from afa.language.sql_nodes import check
from afa.language.sql_order import OrderReader, RowsOrdered
from afa.language.sql_select import AnswerReader
from afa.language.sql_statement import FORM, Named, RowPatternMatch, Statement, Word, statement_of
from afa.language.sql_text import DIALECTS, plain
from afa.language.sql_views import InputView
from afa.language.terms import OF_ROW, Aggregate, MatchNumber, OfMatch, Ref
from afa.language.three_values import FALSE, TRUE
from afa.schema import DECIMALS, LEFT_OUT, Schema
from punctuation.durations import ticks

R = TypeVar("R")
LOGGER = logging.getLogger("afa.language")
RELATIONAL = "that takes a relational engine: afa.duckdb.sql(con, text), or afa.spark.sql(spark, text), runs the whole statement"
ROWS_SHOWN = {
    "ONE ROW PER MATCH": (EMPTY_MATCH,),
    "ALL ROWS PER MATCH": (EMPTY_MATCH,),
    "ALL ROWS PER MATCH SHOW EMPTY MATCHES": (EMPTY_MATCH,),
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES": (),
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS": (EMPTY_MATCH, UNMATCHED),
}
"""What rows no variable takes are shown."""
FOLDED = ("trino", "oracle", "snowflake")
"""Dialects to which a name without quotes is one in capitals, also as a value of CLASSIFIER()."""
SORTED = (
    "ORDER BY behind MATCH_RECOGNIZE is not applied: matches leave in the order of the times at which they are complete; sort what "
    "comes out"
)
SOME_ROW = Compare(">", Aggregate("", "count"), Const(0))
"""That a match is not empty."""


def read(
    text: str | Statement,
    event: type,
    *,
    dialect: str | None = None,
    tick: str | None = None,
    order: str | None = None,
    ties: str | None = None,
    part: Layers | None = None,
    columns: Sequence[str] | None = None,
) -> Tree:
    """Read a query in SQL; `afa.language.query.sql` says what each of these means.

    Names are compared without case, if they are not quoted; ``tick`` is needed where the text has an INTERVAL. A QueryError has
    line, column, what was expected, what came, and a way out.

    ``part``: of several MATCH_RECOGNIZE over one another the one that is read, of `parts_of`; None: the innermost. ``columns``: the
    fields of the event that it can name; None: all.

    >>> from typing import NamedTuple
    >>> class Tick(NamedTuple):
    ...     price: float
    >>> tree = read('''SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY at MEASURES LAST(down.price) AS low
    ...     PATTERN (top down+) WITHIN 10 DEFINE down AS price < top.price)''', Tick)
    >>> tree.window, tree.skip, tree.returns
    (10, 'past last row', (('low', Ref(component='down', which='last', field='price', back=0)),))
    """

    def tree(found: Statement) -> Tree:
        of = part or _layers(found).parts[0]
        return _SqlText(found, of, columns, Schema.of(event, "event"), dialect, tick, order, ties).tree()

    return reading(text, dialect, tree)


def parts_of(text: str | Statement, dialect: str | None = None) -> tuple[Statement, list[Layers]]:
    """Return a statement, and its MATCH_RECOGNIZE from the innermost one outwards, each with the SELECTs around it."""
    return reading(text, dialect, lambda found: (found, _layers(found).parts))


def time_in(text: str | Statement, dialect: str | None = None) -> str | None:
    """Return the column of the table by which a statement orders rows first, ascending; None: an expression, or none."""
    return reading(text, dialect, _time_in)


def _layers(statement: Statement) -> Layers:
    """Return how rows flow through a statement, if they flow through one MATCH_RECOGNIZE at least, and from one table."""
    if not statement.matches:
        raise RefusedError(f"expected one MATCH_RECOGNIZE but got none; {FORM}", 0)
    layers = layers_of(statement)
    if layers.relational is not None:
        said, place = layers.relational
        raise RefusedError(f"expected SELECT, WHERE and MATCH_RECOGNIZE over one table but got {said}; {RELATIONAL}", place)
    return layers


def _time_in(statement: Statement) -> str | None:
    steps = _layers(statement).steps
    views = list(itertools.takewhile(lambda step: not isinstance(step, RowPatternMatch), steps))
    order = steps[len(views)].order
    first: dict[str, Any] = order[0].args if order else {"desc": True}
    node: Any = None if first.get("desc") or first.get("nulls_first") is not None else first["this"]
    for view in reversed(views):
        named = {each.alias_or_name.lower(): each.unalias() for each in view.expressions}
        node = None if node is None else named.get(node.name.lower(), node)
    return str(node.name) if type(node).__name__ == "Column" else None


def reading(text: str | Statement, dialect: str | None, reader: Callable[[Statement], R]) -> R:
    """Return what a reader makes of a statement; a QueryError says where it can't be read."""
    written = text.text.text if isinstance(text, Statement) else text
    if not isinstance(written, str):
        raise QueryError(f"expected a query as text (str) but got {text!r}")
    if dialect is not None and dialect not in DIALECTS:
        raise QueryError(f"expected dialect= as one of {', '.join(sorted(DIALECTS))} but got dialect={dialect!r}")
    try:
        return reader(text if isinstance(text, Statement) else statement_of(text, dialect))
    except RefusedError as refused:
        raise query_error(written, refused) from None
    except RecursionError:
        deep = RefusedError("expected less nesting; split the condition over several variables", deepest(written))
        raise query_error(written, deep) from None


def deepest(text: str) -> int:
    """Return where the most parentheses are open."""
    opened = list(itertools.accumulate({"(": 1, ")": -1}.get(sign, 0) for sign in text))
    return opened.index(max(opened))


class _SqlText:
    """One query."""

    def __init__(
        self,
        statement: Statement,
        part: Layers,
        columns: Sequence[str] | None,
        schema: Schema,
        dialect: str | None,
        tick: str | None,
        order: str | None,
        ties: str | None,
    ) -> None:
        self._part, self._dialect = part, dialect
        self._tick, self._order, self._ties = tick, order, ties
        self._text = statement.text
        self._typed = dict[str, Any]()
        self._know_fields(schema)
        self._tables: set[str] = set()
        self._le = ""
        self._time: str | None = None
        self._quoted: dict[str, str] = {}
        self._ordered_by: tuple[str, ...] = ()
        self._order_by: tuple[Any, ...] = ()
        self._names: dict[str, str] = {}
        self._variables: dict[str, Variable] = {}
        self._virtual: dict[str, Expr] = {}
        self._view = InputView(
            {name: FieldRead("e", name) for name in (self._kinds if columns is None else columns)}, open=columns is None
        )
        self._key_shown: tuple[str, ...] = ()
        self._computed: Computed | None = None
        self._hidden_key: frozenset[str] = frozenset()
        self._key_values = dict[str, Expr]()
        self._no_row: tuple[str, ...] = ()
        self._shows_no_row = self._of_none = False
        self._asked: Expr | None = None
        self._scales = {name: scale for name, (_, scale) in getattr(schema.cls, DECIMALS, {}).items() if scale < len(POWERS)}
        self._neighbours: dict[str, tuple[str, int]] = {}
        self._work = [0]
        ints = tick is None and hasattr(schema.cls, LEFT_OUT)  # of a table without timestamps
        self._times = set() if ints else set(schema.times)
        self._anchors = Anchors(lambda offset: IsNone(FieldRead("e", self._neighbour("", offset))))

    def _know_fields(self, schema: Schema) -> None:
        self._schema = schema
        self._kinds = {field.name: field.type for field in schema.fields}
        self._typed |= self._kinds
        self._required = frozenset(field.name for field in schema.fields if not field.optional)

    def tree(self) -> Tree:
        """Return the tree."""
        select, match = self._parsed()
        match = self._with_computed(match)
        key = tuple(dict.fromkeys(self._of_table(each) for each in match.partition))
        ordered = self._ordered(match)
        self._ordered_by, self._order_by = ordered.shown, match.order
        every = self._every_row(match.rows)
        hidden: list[int] = []
        pattern = self._pattern(match, hidden)
        pattern = self._with_no_row(pattern, bool(hidden), self._know(pattern), match)
        window = self._within(match.within)
        subsets = tuple(self._subset(*each) for each in match.subsets)
        pattern = self._defined(pattern, match.defines)
        measures = self._measures(match.measures, every)
        returns = self._returns(select, measures, key, every)
        notes = self._noted(select.args.get("order"), {*dict(returns), *measures, *key, "le", self._le})
        if sum(1 for _ in islice(nodes_of((pattern, returns, self._asked, self._view.where), ""), MOST_PARTS + 1)) > MOST_PARTS:
            raise self._refused(
                select,
                f"expected conditions and values of at most {MOST_PARTS:,} parts together but got more where each is written out; "
                f"show less, or leave it to who reads the matches",
            )
        return Tree(
            pattern,
            self._schema.cls,
            None,
            key,
            ordered.order,
            window,
            returns=returns or None,
            payload="Row" if every else "Match",
            subsets=subsets,
            time=self._time,
            skip=self._skip(match.skip),
            neighbours=tuple((name, *self._neighbours[name]) for name in sorted(self._neighbours)),
            begins=self._anchors.begins,
            ends=self._anchors.ends,
            rows=tuple(hidden) if every else None,
            bare=type(match.within).__name__ != "Interval",
            ties=False,
            ordered=self._le,
            rank=ordered.rank,
            notes=notes,
            asked=self._asked,
            distinct=bool(select.args.get("distinct")),
            columns=(*self._key_shown, *dict(returns)),
            decimals=self._scope(None).decimals(returns),
            virtual=tuple(sorted(self._virtual.items(), key=lambda each: each[0])),
            where=self._view.condition,
            computed=self._computed,
        )

    def _every_row(self, clause: Word | None) -> bool:
        """Return whether each row of a match is shown."""
        rows = " ".join(clause.said.upper().split()) if clause is not None else "ONE ROW PER MATCH"
        if rows not in ROWS_SHOWN:
            raise RefusedError(f"expected {', '.join(ROWS_SHOWN)} but got {rows}", clause.place if clause else 0)
        self._no_row = ROWS_SHOWN[rows]
        if not self._no_row and "match_number" in self._text.text.lower():
            self._no_row, self._asked = (EMPTY_MATCH,), SOME_ROW  # what is omitted has a number
        return rows.startswith("ALL")

    # -- the frame -------------------------------------------------------------------------------------------------------------

    def _parsed(self) -> tuple[Any, RowPatternMatch]:
        """Return the SELECT, and its MATCH_RECOGNIZE. Takes note of the rows that this stands over."""
        steps = self._part.steps
        place = next(i for i, step in enumerate(steps) if isinstance(step, RowPatternMatch))
        views, match, selects = steps[:place], steps[place], steps[place + 1 :]
        if self._part.table is not None:
            check(self._part.table, self._text, "relation")
        for view in views:
            self._view = self._selected(view)
        self._tables = tables_of(match.relation)
        select = merged(selects, self._text)
        check(select, self._text)
        for node, at in match.nodes():
            check(node, self._text, at)
        return select, match

    def _selected(self, select: Any) -> InputView:
        """Return the rows of an inline view."""
        bare = select.copy()
        for name in ("from_", "with_", "order"):
            bare.set(name, None)
        check(bare, self._text, "view")
        self._tables = tables_of(select.args["from_"].this)
        for column in bare.find_all(exp.Column):
            self._of_input(column)

        def condition(node: Any) -> Expr:
            return self._scope(None, row=node).condition(node)

        return self._view.selected(select, self._of_row, condition, self._refused)

    def _of_row(self, node: Any) -> Expr:
        """Return a value of one row."""
        return self._scope(None, row=node).value(node)

    def _with_computed(self, match: RowPatternMatch) -> RowPatternMatch:
        """Return the clauses with fields where PARTITION BY and ORDER BY have expressions, or columns that a view makes."""
        keys = ComputedKeys(self._text, self._schema, self._view, self._of_row, self._of_input)
        found = keys.fields_in(match)
        if keys.values:
            reader = self._scope(None)
            times = {name for name, value in keys.values.items() if reader._is_time(value)}
            scales = {name: scale for name, value in keys.values.items() if (scale := reader._scale(value)) is not None}
            cls, self._computed = keys.computed(times, match.place)
            self._know_fields(Schema.of(cls, "event"))
            self._times |= times
            self._scales |= {name: scale for name, scale in scales.items() if self._kinds[name] is float}
            self._hidden_key, self._key_values = frozenset(keys.hidden), keys.called
        return found

    def _within(self, node: Any) -> int | None:
        """Return the window in ticks."""
        if node is None:
            return None
        try:
            if type(node).__name__ == "Literal":
                return ticks([(str(node.this), None)], self._tick, QueryError)
            found = self._scope(None).value(node)
            return found.value if isinstance(found, Ticks) and isinstance(found.value, int) else None
        except QueryError as error:
            raise self._refused(node, str(error)) from None

    def _ordered(self, match: RowPatternMatch) -> RowsOrdered:
        """Return what ORDER BY says; take note of the column of LE."""
        first = ""
        if match.order and self._computed is not None and match.order[0].this.name in dict(self._computed.values):
            first = match.order[0].this.name.lower()
        elif match.order:
            for each in match.order:
                self._of_input(each.this)
            named = self._view.named(match.order[0].this.name)
            if named is None or not isinstance(named[1], FieldRead):
                raise self._refused(
                    match.order[0], f"expected a column of the table in ORDER BY but got {self._said(match.order[0])}"
                )
            first = named[1].name.lower()
        reader = OrderReader(self._text, self._schema, self._of_table, self._refused, self._dialect)
        found = reader.read(match.order, first, match.place, self._order, self._ties)
        if found.rank is not None and match.within is not None:
            raise self._refused(
                match.within,
                "expected no WITHIN where rows are not ordered by a time, as what it counts is no time, but got one; leave it out, "
                "or order by the time first, ascending",
            )
        self._le, self._time = found.le, found.time
        self._times |= {found.time} if found.time is not None and self._tick is not None else set()
        return found

    def _of_input(self, column: Any, where: str = "") -> None:
        """Refuse a column of another table."""
        check_table(column, self._tables, self._text, where)

    def _of_table(self, column: Any) -> str:
        """Return the field that a column of the table means."""
        if self._computed is not None and column.name in dict(self._computed.values):
            return str(column.name)
        self._of_input(column)
        return self._column(column)

    def _column(self, column: Any) -> str:
        """Return the field that a column means."""
        written, found = column.name, self._view.named(column.name)
        if found is not None and isinstance(found[1], FieldRead) and found[1].name in self._kinds:
            return found[1].name
        if found is not None and not isinstance(found[1], FieldRead):
            return self._virtually(found[1])
        if written.lower() == self._le:
            way = f"a field {written} of {self._schema.cls.__name__}, annotated afa.Instant, makes the time a value"
        else:
            named = next((name for name in self._schema.left_out if name.lower() == written.lower()), None)
            columns = self._view.columns
            way = f"its fields: {', '.join(columns)}{did_you_mean(written, columns)}" if named is None else self._schema.hint(named)
        raise self._refused(column, f"expected a field of {self._schema.cls.__name__} but got {written!r}; {way}")

    def _virtually(self, value: Expr) -> str:
        """Return the name of the virtual field that has a value."""
        return self._scope(None)._virtually(value)

    def _refused(self, node: Any, message: str) -> RefusedError:
        return RefusedError(message, self._text.place(node))

    def _said(self, node: Any) -> str:
        return repr(self._text.quoted(node))

    # -- the pattern -----------------------------------------------------------------------------------------------------------

    def _pattern(self, match: RowPatternMatch, hidden: list[int]) -> Pattern:
        if match.pattern is None:
            raise RefusedError("expected PATTERN (..) but got none", match.place)
        text, place = match.pattern
        try:
            return read_pattern(text, self._name, hidden, self._anchors)
        except RefusedError as refused:
            raise RefusedError(refused.message, place + refused.position) from None

    def _name(self, written: str) -> str:
        """Return the name of a variable: as it is written first, or in capitals, as the dialect has it."""
        name = plain(written)
        if not name.isidentifier() or name.startswith("_"):
            raise RefusedError(f"expected a variable of letters, digits and _ (not the first) but got {written}", 0)
        in_sql = f'"{name}"' if written[0] in '"`' else f'"{written.upper()}"'  # what a quoted name is compared with
        if self._quoted.setdefault(name.lower(), in_sql) != in_sql:
            raise RefusedError(
                f"expected variables that differ by more than case but got {self._names[name.lower()]} and {written}, two in SQL; "
                f"quote it everywhere or nowhere",
                0,
            )
        folded = self._dialect in FOLDED and written[0] not in '"`'
        return self._names.setdefault(name.lower(), name.upper() if folded else name)

    def _know(self, pattern: Pattern) -> bool:
        """Take note of the variables. Returns whether a match may be empty."""
        counts = counts_of(pattern)
        for name, (least, most) in places_of(pattern).items():
            self._variables[name] = Variable(frozenset([name]), counts[name][1] == 1, least, most)
        return least_of(pattern) == 0 or EMPTY_MATCH in counts

    def _with_no_row(self, pattern: Pattern, hides: bool, empty: bool, match: RowPatternMatch) -> Pattern:
        """Return the pattern with what shows rows that no variable takes: of empty matches, or of none."""
        shown = EMPTY_MATCH if empty else UNMATCHED
        if UNMATCHED in self._no_row and (hides or self._skip(match.skip) != "past last row"):
            raise RefusedError(
                "expected WITH UNMATCHED ROWS of matches that do not overlap, without {- -}, but got "
                + ("{- -}" if hides or match.skip is None else f"AFTER MATCH SKIP {match.skip[0].said}"),
                match.skip[0].place if match.skip else match.place,
            )
        self._shows_no_row = shown in self._no_row
        self._of_none = self._shows_no_row and not empty
        return Either((pattern, Component(shown))) if self._shows_no_row else pattern

    def _subset(self, subset: Word, members: tuple[Word, ...]) -> tuple[str, tuple[str, ...]]:
        written, place = subset
        known = [self._names.get(plain(member).lower()) for member, _ in members]
        for (member, at), name in zip(members, known):
            if name is None or self._variables[name].members != {name}:
                raise RefusedError(f"expected variables of the pattern in SUBSET but got {member!r}", at)
        if plain(written).lower() in self._names:
            raise RefusedError(f"expected a new name for a SUBSET but got {written!r}, which is a variable", place)
        name, names = self._name(written), tuple(name for name in known if name is not None)
        self._variables[name] = Variable(frozenset(names), False, 0, None)
        return name, names

    def _scope(
        self, defines: str | None, every: bool = False, measures: Mapping[str, Expr] = MappingProxyType({}), row: Any = None
    ) -> SqlExpressionReader:
        def named(written: str) -> str | None:
            found = self._names.get(written.lower())
            return found if found in self._variables else "" if written.lower() in self._tables else None

        of = (
            self._variables,
            named,
            self._column,
            self._typed,
            self._scales,
            self._tick,
            defines,
            self._text,
            every,
            self._virtual,
            measures,
        )
        return SqlExpressionReader(
            Scope(*of, self._required, self._times, self._work, self._neighbour, self._dialect, self._order_by), row
        )

    def _neighbour(self, field: str, offset: int) -> str:
        """Return the name of the field of a neighbour, of which the stage in front is asked."""
        name = neighbour_name(field, offset, self._kinds)
        self._neighbours[name], self._typed[name] = (field, offset), self._kinds[field] if field else int
        self._times |= {name} if field in self._times else set()
        self._scales |= {name: self._scales[field]} if field in self._scales else {}
        return name

    def _defined(self, pattern: Pattern, clauses: tuple[Named, ...]) -> Pattern:
        slots: dict[str, Component] = {}
        for each in clauses:
            written, place = each.name
            name = self._names.get(plain(written).lower())
            if name is None and self._dialect == "snowflake":
                continue  # it takes conditions of variables that no pattern has
            if name is None or self._variables[name].members != {name}:
                known = ", ".join(n for n, v in self._variables.items() if v.members == {n})
                raise RefusedError(f"expected a variable of the pattern in DEFINE but got {written!r}; they are: {known}", place)
            if name in slots:
                raise RefusedError(f"expected one condition of a variable but got a second one of {written!r}; write AND", place)
            try:
                slots[name] = self._component(name, self._scope(name).condition(each.value))
            except QueryError as error:
                raise self._refused(each.value, str(error)) from None

        def defined(component: Component) -> Component:
            found = slots.get(component.name, component)
            return found if found is component else replace(found, where=(*component.where, *found.where))

        return rebuilt(pattern, defined)

    def _component(self, name: str, condition: Expr) -> Component:
        where: list[Expr] = []
        first: list[Expr] = []
        rest: list[Expr] = []
        for each in conjuncts_of(condition):
            if not reads_before(each, name):
                where.append(each)
                continue
            start = positive(at_first(each, name))
            into = where if self._variables[name].one else first
            if start != TRUE:
                into += list(conjuncts_of(start))
            if not self._variables[name].one:
                rest += conjuncts_of(positive(with_last(each, name, self._required)))
        if FALSE in (*where, *first):
            never: list[Expr] = [FALSE]
            where, first = (never, first) if FALSE in where else (where, never)
        return Component(name, None, tuple(where), tuple(first), tuple(rest))

    # -- what is shown ---------------------------------------------------------------------------------------------------------

    def _measures(self, clauses: tuple[Named, ...], every: bool) -> dict[str, Expr]:
        found, known = dict[str, Expr](), dict[str, Expr]()
        reader = self._scope(None, every, known)
        columns = {name.lower() for name in self._kinds} if every else set()
        for each in clauses:
            try:
                value = reader.value(each.value)
            except QueryError as error:
                raise self._refused(each.value, str(error)) from None
            if every and each.final:
                said = f"FINAL {self._text.quoted(each.value)}"
                raise RefusedError(f"expected FINAL before FIRST, LAST or an aggregate but got {said}", each.place)
            name = plain(each.name.said)
            if name.lower() in columns:
                raise RefusedError(f"expected a name that no column has in MEASURES but got {name!r}", each.name.place)
            if name.lower() in {other.lower() for other in found}:
                raise RefusedError(f"expected a name once in MEASURES but got {name!r} a second time", each.name.place)
            found[name] = known[name.lower()] = value
        return found

    def _returns(self, select: Any, measures: dict[str, Expr], key: tuple[str, ...], every: bool) -> tuple[tuple[str, Expr], ...]:
        """Returns the values of SELECT; of each row the columns, too, in SQL's order: that of ORDER BY, measures, all others."""
        first, rest = self._columns(key) if every else (self._shown_keys(), {})
        self._tables |= {select.args["from_"].this.alias.lower()} - {""}
        if self._of_none:
            measures = {name: value if value == MatchNumber() else OfMatch(value) for name, value in measures.items()}
        found = {**first, **measures, **rest}
        shown: list[tuple[str, Expr]] = []
        lower = {name.lower(): name for name in found}
        reader, of_key = self._answer_reader(found, key, every), set[str]()
        for each in select.expressions:
            column = each.this if type(each).__name__ == "Alias" else each
            self._of_input(column, " in SELECT")
            if each.is_star:
                shown += found.items()
                of_key |= set(key) - self._hidden_key
                continue
            asked, name = column.name.lower() if type(column).__name__ == "Column" else None, each.alias_or_name
            if asked in lower:
                shown.append((name, found[lower[asked]]))
            elif not name:
                raise self._refused(each, f"expected a name of what SELECT shows but got {self._said(each)}; give it one, AS name")
            elif asked is None or (asked in {field.lower() for field in key} and name.lower() != asked):
                shown.append((name, reader.value(column)))
            elif asked not in {field.lower() for field in key} and not (every and asked == self._le):  # which come with each match
                raise self._refused(
                    each,
                    f"expected * or names of MEASURES{' and columns' * every} in SELECT but got {self._said(each)}; they are: "
                    f"{', '.join(found) or 'none'}",
                )
            else:
                of_key |= {field for field in key if field.lower() == asked}
        self._key_shown = tuple(field for field in key if field in of_key)
        where = select.args.get("where")
        asked = [] if where is None else [reader.condition(where.this)]
        asked += [self._asked] if self._asked is not None and self._shows_no_row else []
        self._asked = conjunction(asked) if asked else None
        taken = {"le", "re", "diff", *(name.lower() for name in key)}
        names = [name.lower() for name, _ in shown]
        for name, _ in shown:
            if names.count(name.lower()) > 1:
                raise self._refused(select, f"expected a name once in SELECT but got {name!r} a second time; say AS another")
            if name.lower() in taken:
                raise self._refused(
                    select,
                    f"expected a name beside those of each match in SELECT but got {name!r}; they are: {', '.join(sorted(taken))}",
                )
        return tuple(shown)

    def _answer_reader(self, found: dict[str, Expr], key: tuple[str, ...], every: bool) -> AnswerReader:
        """Return the reader of expressions over the columns of the answer."""
        at_hand = OF_ROW if self._shows_no_row else ""
        columns: dict[str, Expr] = {name.lower(): Ref(at_hand, "last", name) for name in key}
        columns |= {name.lower(): value for name, value in found.items()}
        return AnswerReader(self._scope(None, every)._scope, columns, self._of_input)

    def _noted(self, order: Any, known: set[str]) -> tuple[str, ...]:
        """Returns the note on an order of the answer, which is a set."""
        if order is None:
            return ()
        columns = {name.lower() for name in known}
        for each in order.expressions:
            self._of_input(each.this, " in ORDER BY")
            if type(each.this).__name__ == "Column" and each.this.name.lower() not in columns:
                raise self._refused(each, f"expected a column of the answer in ORDER BY but got {self._said(each)}")
        _tell(self._text.text, SORTED)
        return (SORTED,)

    def _columns(self, key: tuple[str, ...]) -> tuple[dict[str, Expr], dict[str, Expr]]:
        """Return the columns of ORDER BY, and all others but the key, which comes with each row."""
        of = {
            name: value.name if isinstance(value, FieldRead) else self._virtually(value)
            for name, value in self._view.columns.items()
        }
        names = [name for name, field in of.items() if field not in key and name not in key and (field in self._typed)]
        values = {name: Ref(OF_ROW if self._shows_no_row else "", "last", of[name]) for name in names}
        ordered = [name for field in self._ordered_by for name in names if field in (name, of[name])]
        return {name: values[name] for name in ordered}, {n: v for n, v in values.items() if n not in ordered}

    def _shown_keys(self) -> dict[str, Expr]:
        """Return the columns of a view in PARTITION BY that are called as another field is, as values of a match."""
        at_hand = OF_ROW if self._shows_no_row else ""
        return {name: Ref(at_hand, "last", self._virtually(value)) for name, value in self._key_values.items()}

    def _skip(self, clause: tuple[Word, Word | None] | None) -> str:
        if clause is None or clause[1] is None:
            return clause[0].said.lower() if clause else "past last row"
        which, (written, place) = clause[0].said.lower().removeprefix("to "), clause[1]
        name = self._names.get(plain(written).lower())
        if name is None:
            raise RefusedError(f"expected a variable of the pattern in AFTER MATCH SKIP but got {written!r}", place)
        if all(self._variables[each].least == 0 for each in self._variables[name].members) and (
            which == "first" or self._variables[name].one
        ):
            raise RefusedError(
                f"expected a variable that does not begin the match in AFTER MATCH SKIP but got {written!r}: the same match would "
                f"be found for ever; write SKIP TO NEXT ROW",
                place,
            )
        return f"to {which} {name}"


@functools.lru_cache(64)
def _tell(text: str, note: str) -> None:
    """Log a note on a query: once, though `afa run` reads it more than once."""
    LOGGER.warning(note)
