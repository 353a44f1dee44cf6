"""Whole statements: MATCH_RECOGNIZE is afa's, and what stands around it a relational engine's.

    WITH big AS (SELECT * FROM ticks WHERE size > 9) SELECT s.name, m.low FROM big MATCH_RECOGNIZE (..) m JOIN stocks s ON ..
    1. the engine   WITH big AS (..) SELECT * FROM big
    2. afa          MATCH_RECOGNIZE (..) over these rows
    3. the engine   WITH big AS (..) SELECT s.name, m.low FROM afa_matches_.. m JOIN stocks s ON ..

Inner ones come first, so that the rows in front of one may hold the answer of another. An engine is told tables that are its user's
by their names, and answers of ours by names that nobody has.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import Dialect, ErrorLevel, exp

from afa.errors import AfaError, QueryError
from afa.language.engine_share import OURS, RowKinds, engine_share
from afa.language.engine_words import in_engine_words
from afa.language.query import Query, over_events
from afa.language.sase_grammar import RefusedError
from afa.language.shown_columns import (
    ROW,
    UNITS,
    ShownColumn,
    by_rows,
    fields_of,
    numbers_of,
    renamed_columns,
    shown_columns,
    shows_rows,
    with_units,
)
from afa.language.sql_order import RANKED
from afa.language.sql_reader import read, reading
from afa.language.sql_statement import Named, RowPatternMatch, Statement, Word
from afa.language.sql_text import DIALECTS, plain
from afa.schema import HIDDEN


class RelationalEngine(ABC):
    """An engine, as whole statements ask for it."""

    name: str
    dialect: str
    of_lists = ""  # the function of a list, and of the name of an aggregate, that aggregates it

    @abstractmethod
    def answer(self, statement: str, views: Mapping[str, Any]) -> Any:
        """Return what a statement answers; ``views``: answers of ours, by the names that they have in it."""

    @abstractmethod
    def rows(self, statement: str, views: Mapping[str, Any]) -> Any:
        """Return what a statement answers, to be matched."""

    @abstractmethod
    def columns(self, rows: Any) -> Sequence[str]:
        """Return the names of the columns of rows."""

    @abstractmethod
    def renamed(self, rows: Any, names: Sequence[str]) -> Any:
        """Return rows with other names of their columns."""

    @abstractmethod
    def events(self, rows: Any) -> Any:
        """Return the columns of events, as an Arrow schema; with `ROW`, the numbers of rows, where these bring back the input."""

    @abstractmethod
    def has_null(self, rows: Any, column: str) -> bool:
        """Return whether it is known that a value of a column is missing."""

    @abstractmethod
    def matches(self, query: Query, rows: Any, shown: Sequence[ShownColumn], numbers: Mapping[str, str]) -> Any:
        """Return the matches of a query in rows, with these columns.

        ``numbers``: by columns of PARTITION BY whose values no field holds as they are the fields with the numbers of their values.
        """

    def beside(self, rows: Any) -> Sequence[str]:
        """Return the columns of matches in such rows that come behind SQL's."""
        return ()

    def rewritten(self, statement: Statement, name: str, rows: Any) -> bool:
        """Return whether the tree of a statement was changed for what is matched; `RefusedError`: it can't stand round it."""
        return False


def whole(engine: RelationalEngine, text: str, dialect: str | None, tick: str | None, ties: str | None) -> Any:
    """Return what a statement answers, as the engine does. A `QueryError` says where the text can't be read."""
    if ties not in (None, "value"):
        raise AfaError(f'expected "value" or None but got ties={ties!r}')

    def answered(statement: Statement) -> Any:
        work = _StatementWork(engine, statement, dialect, tick, ties)
        for name in statement.matches:
            work.match(name)
        return work.rest()

    return reading(text, dialect, answered)


class _StatementWork:
    """The work at one statement; ``views``: the answers so far, ``names``: those that they have, by the numbers of the matches."""

    def __init__(
        self, engine: RelationalEngine, statement: Statement, dialect: str | None, tick: str | None, ties: str | None
    ) -> None:
        self._engine, self._statement = engine, statement
        self._dialect, self._tick, self._ties = dialect, tick, ties
        self._own = dialect is not None and DIALECTS[dialect] == engine.dialect
        self._names: dict[str, str] = {}
        self._views: dict[str, Any] = {}

    def match(self, name: str) -> None:
        """Answer one MATCH_RECOGNIZE."""
        engine = self._engine
        from afa.io.event_class import kinds_among, scale_in_units, with_ints  # which loads pyarrow

        kinds = RowKinds(*kinds_among(engine.events(self._rows(name, {}, " WHERE false"))))
        if self._dialect == "oracle":  # what is calculated of times is a number there
            kinds = kinds._replace(times=frozenset())
        match, by, behind = engine_share(self._with_a_column(name), self._statement.text, kinds, engine.of_lists)
        rows, place = self._rows(name, by), self._statement.text.place(match.relation)
        beside = next((each for each in behind if each.lower() in engine.beside(rows)), None)
        if beside is not None:
            raise RefusedError(
                f"expected another name than {beside} in a stream, whose changes have it; write AS in MEASURES", place
            )
        self._own = not engine.rewritten(self._statement, name, rows) and self._own
        columns = list(engine.columns(rows))
        twice = next((one for one in columns if [each.lower() for each in columns].count(one.lower()) > 1), None)
        if twice is not None:
            raise RefusedError(f"expected columns of different names in front of MATCH_RECOGNIZE but got {twice!r} twice", place)
        measures = [plain(each.name.said) for each in match.measures]
        fields = fields_of(columns, measures)
        rows = engine.renamed(rows, [fields[column.lower()] for column in columns])
        events = engine.events(rows)
        time = _time(match)
        time = time and fields.get(time.lower(), time)
        if time is not None and engine.has_null(rows, time):
            match.order[0].meta[RANKED], time = True, None
        match = renamed_columns(match, fields)
        match, of_rows = by_rows(match, events)
        match, scales = with_units(match, events)
        shown = [each for each in shown_columns(match, columns, measures, fields, of_rows, scales) if each.name not in by]
        if not shown and not engine.beside(rows):
            raise RefusedError(
                "expected a column that matches show, in MEASURES, but got none; write COUNT(*) AS n there", match.place
            )
        numbers = numbers_of(match, events)
        units = [f"{UNITS}{column}" for column in events.names if scale_in_units(events, column) is not None]
        units = units if ROW in events.names else []
        query = self._query(name, match, with_ints(events, (*numbers.values(), *units)), time)
        missing = [each.name for each in shown if each.at is not None and each.field not in query.event._fields]  # type: ignore[attr-defined]
        if missing and ROW not in events.names:
            raise RefusedError(
                f"expected columns that an event has, for the rows of matches in a stream, but got {missing[0]!r}; leave it out, "
                f"FROM (SELECT .. FROM ..) MATCH_RECOGNIZE, or cast it",
                place,
            )
        self._names[name] = f"afa_matches_{uuid.uuid4().hex}"
        found = engine.matches(query, rows, shown, numbers)
        self._views[self._names[name]] = self._behind(name, found, shown, behind, engine.beside(rows))

    def _with_a_column(self, name: str) -> RowPatternMatch:
        """Return a MATCH_RECOGNIZE with a column for its matches where it shows none: they can be counted."""
        match = self._statement.matches[name]
        if match.measures or match.partition or shows_rows(match):
            return match
        around = place_of(name, self._statement).find_ancestor(exp.Select)
        if around is None or around.is_star:
            raise RefusedError(
                "expected MEASURES or PARTITION BY, of which SELECT * shows the columns, but got neither", match.place
            )
        return replace(match, measures=(Named(Word("afa_matched", match.place), exp.Count(this=exp.Star()), match.place),))

    def _behind(self, name: str, found: Any, shown: Sequence[ShownColumn], behind: Mapping[str, Any], beside: Sequence[str]) -> Any:
        """Return the matches with the measures that the engine computes of them."""
        if not behind:
            return found
        names = [each.name for each in shown]
        measures = [each.name for each in shown if each.of_match]
        begin = names.index(measures[0]) if measures else len(names)
        kept = [*names[:begin], *behind, *names[begin + len(measures) :], *beside]
        made = ", ".join(f"{self._said(node)} AS {self._quoted(each)}" for each, node in behind.items() if node is not None)
        view = f"afa_found_{uuid.uuid4().hex}"
        over = f"(SELECT *, {made} FROM {self._quoted(view)}) AS afa_rows"  # of which no measure can be an aggregate
        text = self._with_views(f"(SELECT {', '.join(map(self._quoted, kept))} FROM {over}) AS afa_rows", name)
        try:
            return self._engine.answer(f"SELECT * FROM {text}", {**self._views, view: found})
        except AfaError:
            raise
        except Exception as error:
            said = ", ".join(self._statement.text.quoted(each.value) for each in self._statement.matches[name].measures)
            place = self._statement.matches[name].measures[0].place
            raise RefusedError(f"expected MEASURES but got {said}: {_refused(self._engine, error)}", place) from error

    def rest(self) -> Any:
        """Return the answer of the statement."""
        text = self._statement.text.text
        statement = self._written(0, len(text)) if self._own else self._said(self._statement.tree)
        try:
            return self._engine.answer(statement, self._views)
        except AfaError:
            raise
        except Exception as error:
            raise QueryError(f"expected a statement but got {_refused(self._engine, error)}") from error

    def _rows(self, name: str, by: Mapping[str, Any], where: str = "") -> Any:
        """Return the rows in front."""
        try:
            return self._engine.rows(f"{self._front(name, by)}{where}", self._views)
        except AfaError:
            raise
        except Exception as error:  # whatever the engine raises
            made = "".join(f", with {self._statement.text.quoted(node)} in them," for node in by.values())
            said = f"expected rows in front of MATCH_RECOGNIZE{made} but got {_refused(self._engine, error)}"
            raise RefusedError(said, self._statement.text.place(self._statement.matches[name].relation)) from error

    def _front(self, name: str, by: Mapping[str, Any]) -> str:
        """Return the statement of the rows in front, with the views that are known there, each where it hides those around it.

        ``by``: what the engine is to compute of each row, by names of columns.
        """
        found = self._relation(name)
        if by:
            made = "".join(f", {self._said(each)} AS {self._quoted(column)}" for column, each in by.items())
            found = f"(SELECT *{made} FROM {found}) AS afa_rows"
        return f"SELECT * FROM {self._with_views(found, name)}"

    def _with_views(self, found: str, name: str) -> str:
        """Return a relation with the views that are known where a MATCH_RECOGNIZE stands."""
        for views, known in views_at(place_of(name, self._statement), self._statement):
            if known:
                recursive = "RECURSIVE " if views.recursive else ""
                found = f"(WITH {recursive}{', '.join(map(self._said, known))} SELECT * FROM {found}) AS afa_rows"
        return found

    def _relation(self, name: str) -> str:
        """Return what one MATCH_RECOGNIZE stands over, as it is written, if the engine reads this dialect."""
        match = self._statement.matches[name]
        return self._written(self._span(name)[0], match.place) if self._own else self._said(match.relation)

    def _span(self, name: str) -> tuple[int, int]:
        """Return where in the text what one MATCH_RECOGNIZE stands over begins, and where it ends itself."""
        meta = place_of(name, self._statement).this.meta
        return meta["start"], meta["end"] + 1

    def _written(self, begin: int, end: int) -> str:
        """Return a part of the text, with names for answers."""
        found, text = "", self._statement.text.text
        for start, stop, name in sorted(((*self._span(name), name) for name in self._names), key=lambda span: (span[0], -span[1])):
            if begin <= start and stop <= end:  # it lies in no other one
                found, begin = f"{found}{text[begin:start]}{self._named(name)}", stop
        return found + text[begin:end]

    def _named(self, name: str) -> str:
        """Return the name of an answer, with its alias where it has to be added."""
        of = self._alias(name)
        return self._quoted(self._names[name]) + (f" AS {self._quoted(of)}" if of is not None else "")

    def _alias(self, name: str) -> str | None:
        """Return the name of the rows in front, by which the answer is called where it has no other one; None: that is said."""
        over = self._statement.matches[name].relation.alias_or_name
        return over if over and not place_of(name, self._statement).alias and over not in self._statement.matches else None

    def _quoted(self, name: str) -> str:
        return str(exp.to_identifier(name, quoted=True).sql(dialect=self._engine.dialect))

    def _said(self, node: Any) -> str:
        """Return a part of the statement in the engine's dialect, with names for answers."""
        node = node.copy()
        for table in list(node.find_all(exp.Table)):
            if table.name in self._names:
                of = self._alias(table.name)
                if of is not None:
                    table.set("alias", exp.TableAlias(this=exp.to_identifier(of, quoted=True)))
                table.set("this", exp.to_identifier(self._names[table.name], quoted=True))
        if self._dialect is not None and DIALECTS[self._dialect] != self._engine.dialect:
            node = in_engine_words(node, self._dialect, self._engine.dialect)
        writer: Any = Dialect.get_or_raise(self._engine.dialect).generator(unsupported_level=ErrorLevel.RAISE, comments=False)
        writer.EXPRESSIONS_WITHOUT_NESTED_CTES = set()  # else those of Spark move to the top, where they would hide others
        try:
            return str(writer.generate(node, copy=False))
        except Exception as error:  # of nodes that no dialect writes sqlglot makes a TypeError, a ValueError ..
            raise QueryError(f"expected a statement that {self._engine.name} has words for but got one without: {error}") from error

    def _query(self, name: str, match: RowPatternMatch, events: Any, time: str | None) -> Query:
        """Return the query of one MATCH_RECOGNIZE over rows."""
        table, select = exp.Table(this=exp.to_identifier(name, quoted=True)), exp.select("*")
        if shows_rows(match) and ROW in events.names:
            asked = [*(plain(each.name.said) for each in match.measures), ROW]
            select = exp.select(*(exp.column(each, quoted=True) for each in asked))
        over = exp.Table(this=exp.to_identifier(match.relation.alias_or_name or "rows", quoted=True))
        part = Statement(self._statement.text, select.from_(table), {name: replace(match, relation=over)})

        said = {column.name.lower() for node, _ in match.nodes() for column in node.find_all(exp.Column)} | {ROW}

        def made(cls: Any, tick: str | None) -> Query:
            setattr(cls, HIDDEN, tuple(each for each in cls._fields if each.startswith((ROW, *OURS))))
            return Query(replace(read(part, cls, dialect=self._dialect, tick=tick, ties=self._ties), tick=tick))

        from afa.io.event_class import finest_unit  # which loads pyarrow

        first = match.order[0].this.name if match.order else ""
        spans = isinstance(match.within, exp.Interval)  # of the order, which says what one int of it counts
        tick = self._tick if self._tick or spans else finest_unit(events, first)
        return over_events(events, tick, made, time=time, said=said if ROW in events.names else None)


def place_of(name: str, statement: Statement) -> Any:
    """Return the node that stands for a MATCH_RECOGNIZE."""
    return next(table for tree in trees_of(statement) for table in tree.find_all(exp.Table) if table.name == name)


def trees_of(statement: Statement) -> list[Any]:
    """Return the trees of a statement: its own, and those of the rows in front of each MATCH_RECOGNIZE."""
    return [statement.tree, *(each.relation for each in statement.matches.values())]


def match_over(relation: Any, statement: Statement) -> str | None:
    """Return the name of the MATCH_RECOGNIZE that stands over these rows; None: they are the statement."""
    return next((name for name, each in statement.matches.items() if each.relation.root() is relation), None)


def views_at(node: Any, statement: Statement) -> Iterator[tuple[Any, list[Any]]]:
    """Yield each WITH round a node, from the inner ones on, with those of its CTEs that are known at the node."""
    before, cte = None, None
    while node is not None:
        views = node.args.get("with_") if isinstance(node, exp.Query) else None
        if views is not None:
            known = views.expressions
            yield views, known[: next(i for i, each in enumerate(known) if each is cte)] if before is views else known
        cte = node if isinstance(node, exp.CTE) else cte
        before, over = node, match_over(node, statement) if node.parent is None else None
        node = node.parent if over is None else place_of(over, statement)


def _refused(engine: RelationalEngine, error: Exception) -> str:
    """Return an engine's words in one line, without its picture of a text that nobody has written."""
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return f"what {engine.name} refuses: {line}"


def _time(match: RowPatternMatch) -> str | None:
    """Return the column by which rows are ordered first, ascending; None: an expression, or none."""
    first = match.order[0] if match.order else None
    if first is None or first.args.get("desc") or first.args.get("nulls_first") is not None:
        return None
    return str(first.this.name) if isinstance(first.this, exp.Column) else None
