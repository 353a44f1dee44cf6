"""What ``members=`` asks of the events behind a match: a field of each, their LEs, or all of them; in changes and in columns.

Where the automaton says for which component an arc takes its event (``Arc(select=..)``, every query does), members are by
component; else all are in one tuple. This is settled when the operator is made, so that later arcs don't change the form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.io.table_times import TimeType
from afa.lineage.components import Pick, component_of, in_order
from afa.model.arc import CONSUME, Arc
from afa.model.automaton import Automaton
from afa.model.event_order import placing
from afa.schema import ODD, Field, Schema
from punctuation.door import arrow_type

Events = Mapping[str, Sequence[Change]]
"""The events behind a match by component, each in order."""

WHOLE = "*"
"""The events themselves, as ``members=True``."""


class Members:
    """The members of a match: what is told of the events behind it.

    ``asked`` is a field of the event; ``"le"``, where it has none of this name: its LE; True or ``"*"``: the event as a change.
    Anything else is an `AfaError`. ``sequence`` is the field that orders events of one LE.

    >>> from typing import NamedTuple
    >>> class Pay(NamedTuple):
    ...     id: int
    ...     amount: int
    >>> two = Automaton(start="0", final={"big"}, event=Pay, arcs=[
    ...     Arc("0", "small", "amount < 10"), Arc("small", "big", "amount > 500", select="big"),
    ... ])
    >>> found = {"small": [Change(Pay(7, 1), 1, 61)], "big": [Change(Pay(3, 900), 4, 64)]}
    >>> Members(two, two.event_schema, None, "id").of(found)
    {'small': (7,), 'big': (3,)}
    """

    def __init__(self, automaton: Automaton, event: Schema | None, sequence: str | None, asked: Any) -> None:
        names = [] if event is None else [field.name for field in event.fields]
        if asked is True:
            asked = WHOLE
        if not isinstance(asked, str) or asked not in (*names, "le", WHOLE):
            fields = ", ".join(names) if names else "none, as the automaton has no event="
            raise AfaError(
                f'expected a field of the event, "le" or True (the events themselves) but got members={asked!r}; fields: {fields}'
            )
        self.asked: str = asked
        self.event = event
        self._components = _components(automaton.arcs)
        self.named = any(arc.select for arc in automaton.arcs)
        """Whether members are by component."""
        self._place = names.index(asked) if asked in names else None
        self._order = None if sequence is None or event is None else placing(sequence, event)

    def tell(self, event: Schema) -> None:
        """Tell of events with these fields only, the first ones."""
        if self._place is not None and self._place >= len(event.fields):
            raise AfaError(f"expected members=<a field of {event.describe()}> but got members={self.asked!r}")
        self.event = event

    def of(self, events: Events) -> Any:
        """Return the members of a match: a tuple; or by component, where the automaton has components."""
        if not self.named:
            return tuple(map(self._value, self._merged(events)))
        return {name: tuple(map(self._value, events.get(name, ()))) for name in dict.fromkeys((*self._components, *events))}

    def components(self, arcs: Iterable[Arc]) -> list[str]:
        """Return the components of a column, in order: the automaton's, then those of arcs in force."""
        return list(dict.fromkeys((*self._components, *_components(arcs))))

    @property
    def field(self) -> Field | None:
        """The field that is told. None: LEs, or the events themselves."""
        return None if self._place is None or self.event is None else self.event.fields[self._place]

    @property
    def whole(self) -> bool:
        """Whether events are told, with all that they are."""
        return self._place is None and self.asked == WHOLE

    @property
    def times(self) -> bool:
        field = self.field
        return self.asked == "le" if field is None else self.event is not None and field.name in self.event.times

    def _value(self, change: Change) -> Any:
        if self._place is not None:
            return change.payload[self._place]
        return change.le if self.asked == "le" else change

    def _merged(self, events: Events) -> list[Change]:
        """Return the events of all components in order, each once."""
        if len(events) == 1:
            return list(*events.values())
        return sorted(dict.fromkeys(change for each in events.values() for change in each), key=self._rank)

    def _rank(self, change: Change) -> Any:
        order = 0 if self._order is None else self._order(change.payload)
        return change.le, order, in_order(Pick("", change.payload, change.re))  # type: ignore[arg-type]


def _components(arcs: Iterable[Arc]) -> list[str]:
    return list(dict.fromkeys(name for arc in arcs if arc.kind == CONSUME and (name := component_of(arc))))


MEMBERS = "members"
"""The name of the column."""


def in_arrow(column: Sequence[Any], members: Members, arcs: Iterable[Arc], times: TimeType | None) -> Any:
    """Return members as an Arrow array: of each row a tuple, a dict of tuples by component, or None.

    ``arcs`` are those in force: the struct has the components for which they take events, whether one was taken or not. ``times``
    is the type in which times leave; None: ticks stay. Raises `ChangeError` where Arrow does not hold a value.
    """
    import pyarrow as pa

    if not members.named:
        return _lists(column, members, times)
    names = members.components(arcs)
    names += sorted({name for row in column if row is not None for name in row} - set(names))
    missing = pa.array([row is None for row in column], pa.bool_())
    parts = [_lists([None if row is None else row.get(name, ()) for row in column], members, times) for name in names]
    return pa.StructArray.from_arrays(parts, names, mask=missing)


def _lists(column: Sequence[Any], members: Members, times: TimeType | None) -> Any:
    import pyarrow as pa

    flat = [value for row in column for value in row or ()]
    ends = list(accumulate((len(row or ()) for row in column), initial=0))
    offsets = pa.array([None if row is None else end for row, end in zip([*column, ()], ends)], pa.int32())
    return pa.ListArray.from_arrays(offsets, _values(flat, members, times))


def _values(flat: list[Any], members: Members, times: TimeType | None) -> Any:
    import pyarrow as pa

    if members.times and times is not None:
        found = times.column(flat, MEMBERS)
        return found if isinstance(found, pa.Array) else pa.array(found)
    try:
        return pa.array([_plain(value) for value in flat] if members.whole else flat, value_type(members))
    except (pa.ArrowException, *ODD) as error:
        raise ChangeError(f"expected values that Arrow holds in the output's column {MEMBERS!r} but got {error}") from error


def value_type(members: Members, times: TimeType | None = None) -> Any:
    """Return the Arrow type of one member; of whole events a struct of their fields, ``le`` and ``re``."""
    import pyarrow as pa

    if members.times and times is not None:
        return times.times.type
    if not members.whole:
        return arrow_type(int if members.field is None else members.field.type or str)
    fields = [] if members.event is None else [(field.name, arrow_type(field.type or str)) for field in members.event.fields]
    return pa.struct([*fields, ("le", pa.int64()), ("re", pa.int64())])


def column_type(members: Members, arcs: Iterable[Arc] = (), times: TimeType | None = None) -> Any:
    """Return the Arrow type of the column; ``times``: that of Arrow in which times leave."""
    import pyarrow as pa

    each = pa.list_(value_type(members, times))
    return pa.struct([(name, each) for name in members.components(arcs)]) if members.named else each


def _plain(change: Change) -> dict[str, Any]:
    return {**change.payload._asdict(), "le": change.le, "re": change.re}
