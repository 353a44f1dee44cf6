"""Collapsed output: in place of matches one record of each payload and LE, with aggregates over all paths of all its matches.

A record is told again, by a retraction and an insertion, whenever it changes: also where matches stay and only their paths change.
Nothing is held from call to call: the records that a change may touch are derived before it is taken, and again behind it. These
are those of its key with an LE from the change's LE on; with time-outs from the step before it on, as a retraction of the last
event takes the clock back to there; of an arc those of all keys. So output is exact by its definition.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

from afa.change import Change, put_in_order
from afa.engine import Logged
from afa.errors import AfaError
from afa.lineage.aggregates import Aggregates, reader
from afa.lineage.components import component_of
from afa.lineage.match_ends import Held, aggregated, matches_from
from afa.model.automaton import Automaton
from afa.schema import Field, Schema, any_payload
from punctuation.time import BEGINNING, FOREVER

PATHS = "*"
"""Paths are counted, no more."""


class Collapsing:
    """What the calls of an operator tell in place of matches. It stands where `afa.operator.announced.Announcing` does.

    Parameters
    ----------
    held : callable
        Returns what lineages are derived from, at present.
    automaton : Automaton
    event : Schema or None
        Of the events that come.
    asked : str or True
        The field whose values are taken together, with the component before a dot or without; True or "*": paths are counted, no
        more.

    Raises
    ------
    AfaError
        It is none of these, or a match has a field of the name of an aggregate.
    """

    members = None
    again = True

    def __init__(self, held: Callable[[], Held], automaton: Automaton, event: Schema | None, asked: Any) -> None:
        asked = PATHS if asked is True else asked
        if not isinstance(asked, str) or not asked:
            raise AfaError(f'expected True or a field of the event, "price" or "b.price", but got collapse={asked!r}')
        self._held, self._asked = held, asked
        component, _, field = ("", "", "") if asked == PATHS else asked.rpartition(".")
        self._component, self._field = component or None, field or None
        components = {name for arc in automaton.arcs if (name := component_of(arc))}
        if self._component is not None and components and self._component not in components:
            names = ", ".join(map(repr, sorted(components)))
            raise AfaError(f"expected one of the components {names} before the dot but got collapse={asked!r}")
        self.inner = automaton.match_schema
        self.shown = _shown(self.inner, event, self._field, asked)
        self._from: dict[Hashable, int] = {}
        self._before: dict[Any, Change | None] = {}

    @property
    def options(self) -> list[list[Any]]:
        """The options that it was made by, by name."""
        return [["collapse", self._asked]]

    # -- before a change is taken ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a part of a call, whose output is one difference."""
        self._from, self._before = {}, {}

    def touch(self, key: Hashable, le: int) -> None:
        """Derive the records of a key that a change at ``le`` may touch. O(what is held of the key from there on), once a call."""
        held = self._held()
        if held.table.timeouts:
            le = min([le, *(y.le for y in held.engine.steps(key, le, le, ()))])
        read = self._from.get(key, FOREVER)
        if le >= read:
            return
        names = {_name(match): None for match in matches_from(held, key, le) if match.le < read}  # type: ignore[operator]
        self._before |= {name: self._record(held, name) for name in names}
        self._from[key] = le

    def touch_all(self, le: int) -> None:
        """Derive the records of all keys that a change of an arc may touch."""
        for key in self._held().engine.known_keys():
            self.touch(key, le)

    def touch_rows(self, rows: Any) -> None:
        """Derive the records of all keys that events in an engine's own form may touch, whichever keys they have."""
        self.touch_all(BEGINNING if rows.kind is not None or not len(rows.le) else int(rows.le.min()))

    # -- behind it -------------------------------------------------------------------------------------------------------------

    def told(self, changes: Iterable[Change]) -> list[Change]:
        """Return how the records have changed in a part of a call, in order; ``changes``: of matches."""
        held = self._held()
        found: list[Change] = []
        for name in dict.fromkeys((*self._before, *map(_name, changes))):
            old, new = self._before.get(name), self._record(held, name)
            if old is None or new is None or any_payload(old) != any_payload(new):
                found += [old._replace(diff=-1)] if old is not None else []
                found += [new] if new is not None else []
        if len(found) > 1:
            put_in_order(found)
        return found

    def told_rows(self, rows: Logged, schema: Schema) -> Logged:
        """Return how the records have changed as columns; ``schema``: of matches."""
        return Logged.of(self.told(rows.changes(schema)), self.shown)

    def _record(self, held: Held, name: Any) -> Change | None:
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

    Examples
    --------
    >>> real(3), real(10**400), real(None)
    (3.0, inf, None)
    """
    try:
        return None if value is None else float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")  # type: ignore[operator]


def _name(match: Change) -> Any:
    """Return what tells records apart."""
    return any_payload(match.payload), match.le, match.key


def _shown(inner: Schema, event: Schema | None, field: str | None, asked: Any) -> Schema:
    """Return the schema of records."""
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
