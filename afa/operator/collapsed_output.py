"""Collapsed output: in place of matches one record of each payload and LE, with aggregates over all paths of all its matches.

A record is told again, by a retraction and an insertion, whenever it changes: also where matches stay and only their paths change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa.change import Change
from afa.errors import AfaError
from afa.lineage.aggregates import Aggregates, reader
from afa.lineage.components import component_of
from afa.lineage.match_ends import LineageSource, aggregated
from afa.model.automaton import Automaton
from afa.operator.told_anew import ToldAnew
from afa.schema import Field, Schema, any_payload

PATHS = "*"
"""Paths are counted, no more."""


class Collapsing(ToldAnew):
    """Records in place of matches.

    ``asked`` is the field whose values are taken together, with the component before a dot or without; True or "*": paths are
    counted, no more. Raises `AfaError` where it is none of these, or where a match has a field of the name of an aggregate.
    """

    def __init__(self, automaton: Automaton, event: Schema | None, asked: Any) -> None:
        asked = PATHS if asked is True else asked
        if not isinstance(asked, str) or "" in asked.split("."):
            raise AfaError(f'expected True or a field of the event, "price" or "b.price", but got collapse={asked!r}')
        component, _, field = ("", "", "") if asked == PATHS else asked.rpartition(".")
        self._component, self._field = component or None, field or None
        components = {name for arc in automaton.arcs if (name := component_of(arc))}
        if self._component is not None and components and self._component not in components:
            names = ", ".join(map(repr, sorted(components)))
            raise AfaError(f"expected one of the components {names} before the dot but got collapse={asked!r}")
        inner = automaton.match_schema
        super().__init__(inner, _shown(inner, event, self._field, asked))
        self.options = [["collapse", asked]]

    def name(self, match: Change) -> Any:
        return any_payload(match.payload), match.le, match.key

    def derive(self, held: LineageSource, name: Any) -> Change | None:
        """Return the record of a payload, an LE and a key. None: no match is in force there."""
        payload, le, key = name
        found = aggregated(held, Change(payload, le, None, 1, key), self._field, self._component)
        if found is None:
            return None
        re, values = found
        return Change(self.shown.cls(*payload, *self._columns(values)), le, re, 1, key)

    def _columns(self, values: Aggregates) -> tuple[Any, ...]:
        paths, count, total, least, most = values
        return (real(paths),) if self._field is None else (real(paths), real(count), real(total), least, most)


def real(value: float | None) -> float | None:
    """Return a number as a float, correctly rounded; infinite, where it is beyond all floats.

    >>> real(3), real(10**400), real(None)
    (3.0, inf, None)
    """
    try:
        return None if value is None else float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")  # type: ignore[operator]


def _shown(inner: Schema, event: Schema | None, field: str | None, asked: Any) -> Schema:
    added = [Field("paths", float, False)]
    if field is not None:
        if event is None:
            raise AfaError(f"expected an automaton with event= for the field of collapse={asked!r} but got one without")
        reader(field, event)  # which refuses what is none
        kind = next(each.type for each in event.fields if each.name == field)
        added += [Field("count", float, False), Field("sum", float, True), Field("min", kind, True), Field("max", kind, True)]
    clash = [each.name for each in added if each.name in {other.name for other in inner.fields}]
    if clash:
        raise AfaError(
            f"expected matches without a field {clash[0]!r}, which collapse={asked!r} adds, but got {inner.describe()}: rename it"
        )
    fields = (*inner.fields, *added)
    make: Any = NamedTuple  # its fields are known at run time only
    cls = make("Collapsed", [(each.name, Any) for each in fields])
    return inner._replace(cls=cls, fields=fields)
