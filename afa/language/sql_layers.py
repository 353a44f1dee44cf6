"""How rows flow through a statement in SQL: from one table through SELECTs and MATCH_RECOGNIZE, each over the one before it.

    SELECT low FROM (SELECT * FROM ticks WHERE price > 0) MATCH_RECOGNIZE (..) WHERE low < 5
    `table`: ticks      `steps`: SELECT * .. WHERE price > 0, MATCH_RECOGNIZE, SELECT low .. WHERE low < 5

A SELECT of a step is a projection, with WHERE or without: it says of each row alone what comes of it. Only the last one may have
DISTINCT. A statement in which rows take another way, or need others to be read, is one for a relational engine.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlglot import exp

from afa.errors import did_you_mean
from afa.language.sase_grammar import RefusedError
from afa.language.sql_nodes import CALLED, check
from afa.language.sql_statement import RowPatternMatch, Statement, Word
from afa.language.sql_text import SqlText

MOST_PARTS = 10_000
"""How many nodes may come of writing out SELECTs in one another."""
STATELESS = {"expressions", "from_", "where", "with_", "order"}
"""The arguments of a SELECT that reads each row alone; ORDER BY orders nothing that is read again."""


@dataclass(frozen=True)
class Layers:
    """The steps of a statement, from the table to the answer: sqlglot's SELECTs, and `RowPatternMatch`."""

    table: Any = None  # sqlglot's node
    steps: tuple[Any, ...] = ()
    relational: Word | None = None  # what only a relational engine does, the outermost of it; then there are no steps

    @property
    def plain(self) -> bool:
        """Whether it is one MATCH_RECOGNIZE over a table, and the SELECT of what it answers."""
        return len(self.steps) == 2 and isinstance(self.steps[0], RowPatternMatch)

    @property
    def parts(self) -> list[Layers]:
        """Each MATCH_RECOGNIZE with the SELECTs in front of the first one, and with those of what it answers."""
        places = [i for i, step in enumerate(self.steps) if isinstance(step, RowPatternMatch)]
        every = exp.select("*").from_(exp.Table(this=exp.to_identifier("#", quoted=True)))
        found = list[Layers]()
        for begin, end in itertools.pairwise([0, *places[1:], len(self.steps)]):
            steps = self.steps[begin:end]
            found.append(Layers(None if found else self.table, steps if isinstance(steps[-1], exp.Select) else (*steps, every)))
        return found


def layers_of(statement: Statement) -> Layers:
    """Return how rows flow through a statement.

    >>> from afa.language.sql_statement import statement_of
    >>> found = layers_of(statement_of("WITH t AS (SELECT a FROM t WHERE a > 0) SELECT x FROM t MATCH_RECOGNIZE (PATTERN (B))"))
    >>> found.table.sql(), [type(step).__name__ for step in found.steps], found.plain
    ('t', ['Select', 'RowPatternMatch', 'Select'], False)
    >>> layers_of(statement_of("SELECT x FROM u JOIN t MATCH_RECOGNIZE (PATTERN (B)) ON true")).relational
    Word(said='JOIN', place=21)
    """

    node, steps, views = statement.tree, list[Any](), dict[str, tuple[Any, dict[str, Any]]]()
    called: list[str] = []  # the names that a view gives its columns, the outermost that does
    while True:
        if isinstance(node, exp.Select):
            named = _named(node, called) if called else node
            beyond = _beyond(node, statement, last=not steps)
            if beyond or named is None:
                return Layers(relational=beyond or _unknown(called, node, statement))
            for view in node.args["with_"].expressions if node.args.get("with_") else ():
                views = {**views, view.alias.lower(): (view, views)}  # a view sees those before it, and itself as a table
            steps.append(named)
            called, node = [], node.args["from_"].this
        elif isinstance(node, exp.Subquery | exp.CTE) and not _others(node, {"this", "alias", "materialized"}):
            called, node = called or node.alias_column_names, node.this
        elif isinstance(node, exp.Table) and not _others(node, {"this", "alias"}) and node.name.lower() in views:
            called = called or node.alias_column_names
            node, views = views[node.name.lower()]
        elif called:  # what is in front of MATCH_RECOGNIZE, or a table, names its columns itself
            return Layers(relational=_unknown(called, node, statement))
        elif isinstance(node, exp.Table) and node.name in statement.matches:
            match = statement.matches[node.name]
            steps.append(match)
            node = match.relation
        elif isinstance(node.this, exp.Identifier) and not _others(node, {"this", "db", "catalog", "alias"}):
            return Layers(node, tuple(reversed(steps)))
        else:
            more = _others(node, {"this", "db", "catalog", "alias"}) if isinstance(node, exp.Table | exp.Subquery) else {}
            kind = next(iter(more), type(node).__name__)
            return Layers(relational=Word(CALLED.get(kind, kind.upper()), statement.text.place(node)))


def tables_of(relation: Any) -> set[str]:
    """Return the names, in small letters, by which the columns of what stands in FROM may be called."""
    return {name.lower() for name in (relation.name, relation.alias) if name and not name.startswith("#")}


def check_table(column: Any, tables: set[str], text: SqlText, where: str = "") -> None:
    """Refuse a column of another table. Raises `RefusedError`."""
    if isinstance(column, exp.Column) and column.table and column.table.lower() not in tables:
        known = f"a column of {' or '.join(sorted(tables))}" if tables else "a column without the name of a table"
        way = did_you_mean(column.table, tables)
        raise RefusedError(f"expected {known}{where} but got {text.quoted(column)!r}{way}", text.place(column))


def merged(selects: Sequence[Any], text: SqlText) -> Any:
    """Return the one SELECT that does what several over one another do, the first one innermost. Raises `RefusedError`."""
    found, room = selects[0].copy(), MOST_PARTS
    found.set("with_", None)

    def copied(node: Any) -> Any:
        nonlocal room
        room -= sum(1 for _ in islice(node.walk(), room + 1))
        if room < 0:
            wrong = f"expected SELECTs of at most {MOST_PARTS:,} parts but got more where one is written out in the other"
            raise RefusedError(f"{wrong}; name less of it twice", text.place(selects[-1]))
        return node.copy()

    for outer in selects[1:]:
        tables = tables_of(outer.args["from_"].this)
        for part in (*outer.expressions, outer.args.get("where") or exp.Where()):
            for column in part.find_all(exp.Column):
                check_table(column, tables, text)
        columns = dict[str, Any]()
        for each in found.expressions:
            if each.alias_or_name.lower() in columns:
                wrong = f"expected a name once in SELECT but got {each.alias_or_name!r} a second time; say AS another"
                raise RefusedError(wrong, text.place(each))
            columns |= {} if each.is_star else {each.alias_or_name.lower(): each.unalias()}
        has_all = len(columns) < len(found.expressions)

        def inner(node: Any, columns: dict[str, Any] = columns, has_all: bool = has_all) -> Any:
            if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
                return node
            known = columns.get(node.name.lower())
            if known is None and not has_all:
                raise RefusedError(
                    f"expected a column of the SELECT in FROM but got {text.quoted(node)!r}; they are: {', '.join(columns)}",
                    text.place(node),
                )
            return exp.column(node.this.copy()) if known is None else copied(known)

        made, shown = outer.copy(), list[Any]()
        for each in made.expressions:
            if each.is_star:
                check(each, text, "list")
                shown += [copied(one) for one in found.expressions]
            else:
                shown.append(exp.alias_(each.unalias().transform(inner), each.alias_or_name, quoted=True))
        wheres = [copied(each.this) for each in (found.args.get("where"),) if each is not None]
        if made.args.get("where"):
            wheres.append(made.args["where"].this.transform(inner))
        made.set("expressions", shown)
        made.set("where", exp.Where(this=exp.and_(*wheres, copy=False)) if wheres else None)
        made.set("from_", found.args["from_"])
        made.set("with_", None)
        found = made
    return found


def _beyond(select: Any, statement: Statement, last: bool) -> Word | None:
    """Return what of a SELECT needs more than one row."""

    for name, value in _others(select, STATELESS | ({"distinct"} if last else set())).items():
        each = value[0] if isinstance(value, list) else value
        place = statement.text.place(each if isinstance(each, exp.Expression) else select)
        return Word(CALLED.get(name, name.strip("_").upper()), place)
    if not select.args.get("from_"):
        return Word("SELECT without FROM", statement.text.place(select))
    if select.args.get("with_") and select.args["with_"].recursive:
        return Word("WITH RECURSIVE", statement.text.place(select.args["with_"]))
    for part in (*select.expressions, *([select.args["where"]] if select.args.get("where") else [])):
        found = part.find(exp.Window, exp.AggFunc, exp.Query, exp.UDTF)
        if found is not None:
            return Word(statement.text.quoted(found), statement.text.place(found))
    return None


def _unknown(names: Sequence[str], node: Any, statement: Statement) -> Word:
    return Word(f"names of columns, ({', '.join(names)}), which are not listed in a SELECT", statement.text.place(node))


def _named(select: Any, names: Sequence[str]) -> Any:
    """Return a SELECT with other names of its columns; None: these are not known, or not as many."""
    if len(names) != len(select.expressions) or select.is_star:
        return None
    found = select.copy()
    values = [each.unalias() for each in found.expressions]
    found.set("expressions", [exp.alias_(each, name, quoted=True, copy=False) for each, name in zip(values, names)])
    return found


def _others(node: Any, known: set[str]) -> dict[str, Any]:
    """Return the arguments of a node that say something, but those that are known."""
    return {name: value for name, value in node.args.items() if value and name not in known}
