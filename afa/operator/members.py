"""What ``members=`` asks of the events behind a match: a field of each, their LEs, or all of them; in changes and in columns.

Where the automaton says for which component an arc takes its event (``Arc(select=..)``, every query does), members are by
component; else all are in one tuple. This is settled when the operator is made, so that later arcs don't change the form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from afa.change import Change
from afa.errors import AfaError
from afa.lineage.components import Pick, component_of, in_order
from afa.model.arc import CONSUME, Arc
from afa.model.automaton import Automaton
from afa.model.event_order import placing
from afa.schema import Field, Schema

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
