"""What readers of SQL's values share: the types of values, which of them go together, and what dialects do differently."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from afa.expression.nodes import Compare, Expr
from afa.language.sase_grammar import RefusedError
from afa.language.sql_kinds import CALLED, NULL, Kind, alike, is_number, kind_of
from afa.language.sql_text import SqlText

Ways = Mapping[str, str]
"""What a construct may mean, and the dialects in which it means that, with blanks between them."""
SPARK = ("spark", "databricks")


class SqlValues:
    """The types of values, by the fields' ``kinds``; ``dialect``: None where the query names none."""

    def __init__(self, kinds: Mapping[str, type | None], text: SqlText, tick: str | None, dialect: str | None) -> None:
        self._kinds, self._text, self._tick = kinds, text, tick
        self._dialect = dialect

    def value(self, node: Any) -> Expr:
        """Return the expression of a node. Abstract."""
        raise NotImplementedError

    def condition(self, node: Any) -> Expr:
        """Return the expression of a node that is true, false or unknown. Raises `RefusedError`."""
        return self._of_kind(node, lambda kind: kind in (None, NULL, bool), "a condition", "; write a comparison")

    # -- types -----------------------------------------------------------------------------------------------------------------

    def _kind(self, expr: Expr) -> Kind:
        return kind_of(expr, self._kinds)

    def _of_kind(self, node: Any, fits: Callable[[Kind], bool], wanted: str, way: str = "") -> Expr:
        found = self.value(node)
        kind = self._kind(found)
        if kind is not None and not fits(kind):
            raise self._refused(node, f"expected {wanted} but got {self._said(node)}, {CALLED[kind]}{way}")
        return found

    def _number(self, node: Any) -> Expr:
        return self._of_kind(node, is_number, "a number")

    def _of_text(self, node: Any, where: str = "") -> Expr:
        return self._of_kind(node, lambda kind: kind in (NULL, str), f"a text{where}")

    def _numbers(self, node: Any) -> tuple[Expr, Expr]:
        two = self.value(node.this), self.value(node.expression)
        return two if all(is_number(self._kind(each)) for each in two) else self._clash(node, "numbers", *two)

    def _compared(self, node: Any, op: str, left: Expr, right: Expr) -> Expr:
        return Compare(op, *self._alike(node, left, right))

    def _alike(self, node: Any, left: Expr, right: Expr) -> tuple[Expr, Expr]:
        if alike(self._kind(left), self._kind(right)):
            return left, right
        return self._clash(node, "values that can be compared", left, right)

    def _either(self, node: Any, values: list[Expr]) -> None:
        """Refuse values of which one is taken, if their types differ."""
        for left, right in itertools.pairwise(values):
            if not alike(self._kind(left), self._kind(right)):
                self._clash(node, "values of one type", left, right)

    def _clash(self, node: Any, wanted: str, left: Expr, right: Expr) -> NoReturn:
        kinds = [CALLED.get(kind, "a value") if (kind := self._kind(each)) else "a value" for each in (left, right)]
        raise self._refused(node, f"expected {wanted} but got {self._said(node)}, of {kinds[0]} and {kinds[1]}")

    # -- words -----------------------------------------------------------------------------------------------------------------

    def _way(self, node: Any, ways: Ways, what: str) -> str:
        """Return what a construct means in the query's dialect; refuse it where that is not known."""
        for way, dialects in ways.items():
            if self._dialect in dialects.split():
                return way
        raise self._refused(
            node, f"expected dialect= beside {self._said(node)}: {what}; say one of {', '.join(' '.join(ways.values()).split())}"
        )

    def _said(self, node: Any) -> str:
        """Return a node as it was written, in quotes."""
        return repr(self._text.quoted(node))

    def _refused(self, node: Any, message: str) -> RefusedError:
        return RefusedError(message, self._text.place(node))
