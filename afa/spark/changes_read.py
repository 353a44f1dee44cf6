"""How a statement reads the changes that a MATCH_RECOGNIZE in a stream answers, wherever they go.

Each SELECT that they pass through, also by the name of a CTE, gets ``le``, ``re`` and ``diff`` unless it says ``diff`` itself. What
would take several changes for as many rows is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from afa.language.sase_grammar import RefusedError
from afa.language.sql_statement import Statement
from afa.language.whole_statement import match_over, place_of, trees_of, views_at

CHANGE = ("le", "re", "diff")
"""The columns of a change beside the row that comes or goes."""
KINDS = (exp.Group, exp.AggFunc, exp.Window)
"""What reads several rows: of changes it counts those that take back, too, but where it names ``diff``."""
MANY = ("distinct", "limit", "offset", "sample")
"""What reads several rows whatever it names."""
RELATIONS = (exp.From, exp.Join, exp.Table)
"""Where rows stay rows of a relation."""


class ChangesRead:
    """Follows changes through one statement, whose tree it completes."""

    def __init__(self) -> None:
        self._taken: dict[int, tuple[Any, str | None]] = {}  # by the id of a SELECT: what stands in its FROM, and its name

    def follow(self, statement: Statement, name: str) -> None:
        """Follow those of one MATCH_RECOGNIZE to the end. `RefusedError`: something reads them as rows."""
        table, match = place_of(name, statement), statement.matches[name]
        waiting = [(table, table.alias or match.relation.alias_or_name or None)]
        for source, of in waiting:
            cte = self._out(statement, source, of)
            if cte is not None:
                tables = (table for tree in trees_of(statement) for table in tree.find_all(exp.Table))
                waiting += [(each, each.alias_or_name) for each in tables if _cte_of(each, statement) is cte]

    def _out(self, statement: Statement, node: Any, of: str | None) -> Any:
        """Follow changes outwards, from a table of them; return the CTE that holds them, if one does."""
        source, child = node, None
        while node is not None:
            self._check(statement, node, child)
            if isinstance(node, exp.CTE):
                return node
            if isinstance(node, exp.Select):
                if id(node) in self._taken and self._taken[id(node)][0] is source:
                    return None
                if not self._read(statement, node, source, of):
                    return None
            if isinstance(node, exp.Query):
                of, source = node.alias or None if isinstance(node, exp.Subquery) else None, node
            if node.parent is None and (over := match_over(node, statement)) is not None:
                raise RefusedError(
                    "expected one MATCH_RECOGNIZE in a stream but got another one over its answer; afa.spark.match(query, time=..) "
                    "takes a statement of these alone, afa.sql(text, event=..)",
                    statement.matches[over].place,
                )
            node, child = node.parent, node
        return None

    def _check(self, statement: Statement, node: Any, child: Any) -> None:
        """Refuse what reads several changes, but a SELECT; ``child``: through what they come."""
        args = node.args
        if isinstance(node, exp.Select) and not isinstance(child, RELATIONS):
            raise _many(statement.text.quoted(child), statement, child)
        if not isinstance(node, (*RELATIONS, exp.Query, exp.CTE)):
            raise _many("EXISTS" if isinstance(node, exp.Exists) else statement.text.quoted(node), statement, node)
        pivots = [each for each in args.get("pivots") or () if not each.args.get("unpivot")]
        many = next((each for each in (*map(args.get, MANY), *pivots) if isinstance(each, exp.Expression)), None)
        if isinstance(node, exp.SetOperation) and (args.get("distinct") or not isinstance(node, exp.Union)):
            many = node
        if many is not None:
            raise _many(many.key.upper(), statement, node)

    def _read(self, statement: Statement, select: Any, source: Any, of: str | None) -> bool:
        """Complete a SELECT over changes; return whether what it answers are changes."""
        before = self._taken.setdefault(id(select), (source, of))
        if before[0] is not source and not all(_names_diff(select, each, True) for each in (before[1], of)):
            raise RefusedError(
                "expected one MATCH_RECOGNIZE of a stream in a join but got two: multiply their changes, a.diff * b.diff AS diff",
                statement.text.place(select),
            )
        said = _names_diff(select, of)
        parts = [each for name in ("expressions", "group", "having", "qualify") for each in _own(select.args.get(name))]
        many = next((each for each in parts if isinstance(each, KINDS)), None)
        if many is not None and not said:
            raise _many(statement.text.quoted(many), statement, many)
        shown = set[str]()
        for each in select.expressions:
            star, name, own = each if isinstance(each, exp.Star) else each.this, each.alias_or_name.lower(), _is_of(each, of)
            if isinstance(star, exp.Star):
                left = {left.name.lower() for left in star.args.get("except_") or ()}
                shown |= {*CHANGE} - left if own else set()
            elif name in CHANGE:
                if not (own or (said and (name != "diff" or any(_is_diff(part, of) for part in _own(each))))):
                    wrong = f"expected another name than {name} in a stream, whose changes have it, but got"
                    raise RefusedError(f"{wrong} {statement.text.quoted(each)}; write AS", statement.text.place(each))
                shown.add(name)
        for name in () if said else CHANGE:
            if name not in shown:
                select.append("expressions", exp.column(name, table=of, quoted=True))
                _name(select.parent, name)
        return not said or "diff" in shown


def _name(view: Any, column: str) -> None:
    """Name a column that is added to a CTE or a subquery which names all of its columns."""
    names = view.args.get("alias") if isinstance(view, (exp.CTE, exp.Subquery)) else None
    if names is not None and names.columns:
        names.append("columns", exp.to_identifier(column, quoted=True))


def _many(said: str, statement: Statement, node: Any) -> RefusedError:
    return RefusedError(
        f"expected what reads the changes of a stream one by one but got {said}: a change takes a row back where diff is -1; "
        f"write SUM(diff) for COUNT(*), SUM(x * diff) for SUM(x), or group what afa.spark.keep_current keeps",
        statement.text.place(node),
    )


def _own(part: Any) -> Iterator[Any]:
    """Yield the nodes of a part of a SELECT, but those of subqueries, and what stars leave out."""
    for each in part if isinstance(part, list) else [part] * (part is not None):
        yield from each.walk(prune=lambda node: isinstance(node, (exp.Query, exp.Star)))


def _names_diff(select: Any, of: str | None, strictly: bool = False) -> bool:
    """Return whether a SELECT reads the diff of these changes where it says what it shows."""
    parts = [each for name in ("expressions", "group", "having", "qualify") for each in _own(select.args.get(name))]
    return any(_is_diff(each, of) and (each.table or not strictly) for each in parts)


def _is_diff(node: Any, of: str | None) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() == "diff" and _is_of(node, of)


def _is_of(node: Any, of: str | None) -> bool:
    """Return whether a column, or a star, may be of the changes that go by this name."""
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and node.table.lower() in ("", (of or "").lower()))


def _cte_of(table: Any, statement: Statement) -> Any:
    """Return the CTE that a table is; None: it is none."""
    known = (cte for _, ctes in views_at(table, statement) for cte in reversed(ctes) if not table.db)
    return next((cte for cte in known if cte.alias.lower() == table.name.lower()), None)
