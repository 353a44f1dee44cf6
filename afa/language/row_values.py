"""What the rows of a match show (ALL ROWS PER MATCH): values as of each row, with what the match has taken up to there.

    FIRST(a.x)     of what a has taken so far; SUM(a.x), COUNT(*), LAST(a.x) likewise; x alone is the row's
    FINAL SUM(x)   as it is at the end of the match

Source: ISO/IEC 19075-5, 4.4 (running and final semantics). What is not there yet is None, as in all values of a query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from afa.expression import EPSILON_TRANSFER
from afa.expression.evaluation import callable_of
from afa.expression.nodes import Binary, Expr, FieldRead, changed, walk
from afa.expression.types import types_of
from afa.language.items import Item, begin_of, step_of, value_of
from afa.language.lowering import is_time
from afa.language.payload_classes import made
from afa.language.registers import of_one_type
from afa.language.terms import Aggregate, Classifier, Final, Ref
from afa.language.three_values import missing, nullable
from afa.schema import Schema

Picked = tuple[str, Any]
"""A component, and the payload of the row that it took."""
Told = Callable[[Any], Any]


class RowValues:
    """The values of the rows of a match; ``groups`` is that of `ItemReader`, ``name`` and ``shown`` are of the class of a row.

    >>> from typing import NamedTuple
    >>> class Tick(NamedTuple):
    ...     x: int
    >>> total = Aggregate("", "sum", "x")
    >>> values = RowValues([("x", Ref("", "last", "x")), ("so_far", total), ("all", Final(total)), ("a", Ref("a", "first", "x"))],
    ...                    Schema.of(Tick, "event"), {"": {"a", "b"}, "a": {"a"}, "b": {"b"}}, "Row")
    >>> list(values.rows_of([("b", Tick(3)), ("a", Tick(4))]))
    [Row(x=3, so_far=3, all=7, a=None), Row(x=4, so_far=7, all=7, a=4)]
    """

    def __init__(self, returns: Sequence[tuple[str, Expr]], event: Schema, groups: Mapping[str, frozenset[str]], name: str) -> None:
        self._made_of = returns, event, groups, name
        values = [(label, changed(value, _divided)) for label, value in returns]
        self._kinds = {field.name: field for field in event.fields}
        terms = dict.fromkeys(node for _, value in values for node in walk(value) if _is_term(node))
        self._final = [term.x for term in terms if isinstance(term, Final)]
        self._running = [term for term in terms if not isinstance(term, Final)]
        self._items = [_item(term) for term in (*self._running, *self._final)]
        self._groups = [groups[""] if item is None else groups[item.component] for item in self._items]
        self._steps = [None if item is None else step_of(item) for item in self._items]
        held = [*self._running, *map(Final, self._final)]
        types = tuple((f"t{i}", self._type_of(term), self._absent(term)) for i, term in enumerate(held))
        self._terms: Any = made("Terms", types)
        schema, fields = Schema.of(self._terms, "register"), {term: FieldRead("r", f"t{i}") for i, term in enumerate(held)}
        self._values, shown = [], []
        for label, value in values:
            value = changed(value, fields.get)
            kind, value = of_one_type(value, types_of(value, None, schema))
            absent = {field for term, field in fields.items() if self._absent(term)}.__contains__
            self._values.append(callable_of(nullable(value, absent), EPSILON_TRANSFER, schema))
            shown.append((label, kind, missing(value, absent) is not None))
        times = tuple(label for label, value in returns if is_time(value.x if isinstance(value, Final) else value, event.instant))
        self.shown = made(name, tuple(shown), times)
        self.schema = Schema.of(self.shown, "row")

    def __reduce__(self) -> tuple[Any, ...]:
        return RowValues, self._made_of

    def rows_of(self, picks: Sequence[Picked]) -> Iterator[Any]:
        """Yields the record that each row shows. O(rows * values).

        Raises Int64Error where an int is beyond int64, and ArithmeticError as Python does: a division by zero, beyond all floats.
        """
        size = len(self._running)
        final: list[Any] = []
        if self._final:
            *_, last = self._term_values(picks)
            final = last[size:]
        for told in self._term_values(picks):
            terms = self._terms(*told[:size], *final)
            yield self.schema.take(self.shown(*(value(terms) for value in self._values)))

    def _term_values(self, picks: Sequence[Picked]) -> Iterator[list[Any]]:
        """Yield the values of all terms as of each row."""
        items, steps = self._items, list(zip(self._steps, self._groups))
        parts = [None if item is None else begin_of(item) for item in items]
        for component, payload in picks:
            for i, (step, group) in enumerate(steps):
                if component in group:
                    parts[i] = component if step is None else step(parts[i], payload)
            yield [part if item is None else value_of(item, part) for item, part in zip(items, parts)]

    def _type_of(self, term: Expr) -> type | None:
        match term:
            case Final(x):
                return self._type_of(x)
            case Classifier():
                return str
            case Aggregate(_, "count"):
                return int
            case Aggregate(_, "sum", str(field)) if self._kinds[field].type is bool:
                return int
        return self._kinds[term.field].type  # type: ignore[attr-defined]

    def _absent(self, term: Expr) -> bool:
        """Return whether a term may be None in some row."""
        match term:
            case Final(x):
                return self._absent(x)
            case Classifier() | Aggregate(_, "count"):
                return False
            case Ref("", _, field, 0) | Aggregate("", _, str(field)):
                return self._kinds[field].optional
        return True


def _is_term(node: Expr) -> bool:
    return isinstance(node, Ref | Aggregate | Classifier | Final)


def _divided(expr: Expr) -> Expr | None:
    """Return an average as a quotient."""
    inner = expr.x if isinstance(expr, Final) else expr
    if not isinstance(inner, Aggregate) or inner.function != "avg":
        return None
    parts = [Aggregate(inner.component, function, inner.field) for function in ("sum", "count")]
    return Binary("/", *(Final(part) if isinstance(expr, Final) else part for part in parts))


def _item(term: Expr) -> Item | None:
    """Returns the item whose values a term has; None: the component that took the row."""
    match term:
        case Ref(component, which, field, back):
            return Item(component, "first" if which == "first" else "last", field, back)
        case Aggregate(component, function, field):
            return Item(component, function, field)
    return None
