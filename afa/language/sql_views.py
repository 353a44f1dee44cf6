"""Inline views and CTEs in front of MATCH_RECOGNIZE, of WHERE and projections: their columns as expressions over one event.

    SELECT * FROM (SELECT symbol, at, price * 2 AS twice FROM ticks WHERE price > 0) MATCH_RECOGNIZE (..)
    columns: symbol, at, twice -> e.price * 2      rows: those of which e.price > 0 is true

So a view is no stage: its columns are virtual fields (`Tree.virtual`), and a filter stands in front of the operator
(`Tree.where`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from afa.expression.nodes import Expr, FieldRead, conjunction
from afa.language.sase_grammar import RefusedError

Refused = Callable[[Any, str], RefusedError]


class InputView(NamedTuple):
    """The rows that come out of a table, or of a SELECT over one."""

    columns: Mapping[str, Expr]  # by name, in their order; fields are those of the table
    where: tuple[Expr, ...] = ()  # conditions that are all true of each row
    open: bool = True  # whether the table may have more columns than the event has fields: one that orders rows

    def named(self, written: str) -> tuple[str, Expr] | None:
        """Return the column that a name means, as it is or without case; None: there is none such, or several are."""
        if written in self.columns:
            return written, self.columns[written]
        found = [name for name in self.columns if name.lower().rstrip("_") == written.lower()]
        if len(found) == 1:
            return found[0], self.columns[found[0]]
        return (written, FieldRead("e", written)) if self.open and not found else None

    def selected(self, select: Any, value: Callable[[Any], Expr], condition: Callable[[Any], Expr], refused: Refused) -> InputView:
        """Return the rows that a SELECT over these makes of them. ``value`` and ``condition`` read expressions over one row."""
        columns: dict[str, Expr] = {}
        has_all = False
        for each in select.expressions:
            if each.is_star:
                columns |= self.columns
                has_all = True
                continue
            node = each.this if type(each).__name__ == "Alias" else each
            name = each.alias_or_name
            if not name:
                raise refused(each, "expected a name for a column of an inline view but got none; say AS name")
            if name.lower() in {other.lower() for other in columns}:
                raise refused(each, f"expected a name once in SELECT but got {name!r} a second time; say AS another")
            plain = self.named(node.name) if type(node).__name__ == "Column" else None
            columns[name] = value(node) if plain is None else plain[1]
        where = select.args.get("where")
        more = () if where is None else (condition(where.this),)
        return InputView(columns, (*self.where, *more), self.open and has_all)

    @property
    def condition(self) -> Expr | None:
        """What is true of each row; None: nothing is asked."""
        return conjunction(list(self.where)) if self.where else None
