"""SELECT and WHERE around MATCH_RECOGNIZE: expressions over the columns of its answer, read as values of a match or of its row.

    MEASURES FIRST(x) AS top, LAST(x) AS low    ->   top: FIRST(x), low: LAST(x)
    SELECT (top - low) / top AS fall            ->   fall: (FIRST(x) - LAST(x)) / FIRST(x)

So no stage behind the operator computes them: a match shows them as it shows MEASURES.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from afa.expression.nodes import Expr
from afa.language.sql_expressions import Scope, SqlExpressionReader

OVER_ROWS = (
    "Sum",
    "Avg",
    "Min",
    "Max",
    "Count",
    "First",
    "Last",
    "AnyValue",
    "ArgMax",
    "ArgMin",
    "CountIf",
    "Filter",
    "ArrayAgg",
    "GroupConcat",
    "WithinGroup",
    "IgnoreNulls",
    "Lag",
    "Lead",
)
"""What reads several rows of a match: MEASURES have it."""
OF_MATCHES = ("CLASSIFIER", "MATCH_NUMBER", "PREV", "NEXT", "LISTAGG")


class AnswerReader(SqlExpressionReader):
    """Reads expressions over the columns of an answer, each of which is a value.

    ``columns``: by their names in small letters; ``own``: refuses a column of another table.
    """

    def __init__(self, scope: Scope, columns: Mapping[str, Expr], own: Callable[[Any], None]) -> None:
        super().__init__(scope)
        self._columns, self._own = columns, own

    def value(self, node: Any) -> Expr:
        """Return the expression of a node over columns. Raises `RefusedError`."""
        name = str(node.this).upper() if type(node).__name__ == "Anonymous" else ""
        if type(node).__name__ in OVER_ROWS or name in OF_MATCHES or name.startswith("FINAL_"):
            raise self._refused(
                node, f"expected an expression over columns of the answer but got {self._said(node)}; name it in MEASURES, AS name"
            )
        return super().value(node)

    def _column(self, node: Any) -> Expr:
        self._own(node)
        found = self._columns.get(node.name.lower())
        if found is None:
            known = ", ".join(self._columns) or "none"
            raise self._refused(node, f"expected a column of the answer but got {self._said(node)}; they are: {known}")
        return found
