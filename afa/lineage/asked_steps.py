"""Which steps can lead to a partial match otherwise than by leaving it as it is, as far as its state and the events alone tell.

While a partial match rests in its state, all other steps are passed over at once. A fence's event part (`afa.expression.splitting`)
decides about an event, once for each arc; where a function can't be taken apart, every event may satisfy it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from afa.engine import Step
from afa.errors import AfaError
from afa.expression import FENCE, Unreadable, callable_of, split
from afa.expression.arc_functions import expression_of
from afa.lineage.components import component_of
from afa.model.arc import EPSILON, SKIP, TIMEOUT, Arc
from afa.model.arctable import ArcEvent, ArcTable
from afa.model.automaton import Automaton
from punctuation.time import BEGINNING


class StepIndex:
    """The steps that are asked, by state."""

    def __init__(self, automaton: Automaton, table: ArcTable, steps: Sequence[Step]) -> None:
        self._automaton, self._steps = automaton, steps
        self._into: dict[str, list[ArcEvent]] = {}
        for event in table.events:
            self._into.setdefault(event.arc.dst, []).append(event)
        self._places: dict[str, Sequence[int]] = {}
        self._shortened = _shortened(steps)

    def last(self, state: str, i: int) -> int:
        """Return the last step up to ``i`` that is asked for partial matches in a state; -1: there is none. O(log steps)."""
        places = self._places.get(state)
        if places is None:
            places = self._places[state] = self._asked(self._into.get(state, ()))
        found = bisect_right(places, i)
        return places[found - 1] if found else -1

    def _asked(self, arcs: Sequence[ArcEvent]) -> Sequence[int]:
        """Return the steps that arcs into one state can lead to it. O(steps * arcs)."""
        if any(arc.kind in (EPSILON, TIMEOUT) for arc, _, _ in arcs):
            return range(len(self._steps))  # what comes there has been elsewhere within the step
        found: set[int] = set()
        for arc, le, re in arcs:
            if arc.ignorable and component_of(arc) is None:
                found |= set() if arc.kind == SKIP else self._shortened
                continue
            test = self._test(arc)
            found |= {i for i, y in enumerate(self._steps) if le <= y.le < re and any(test(payload) for payload, _ in y.events)}
        return sorted(found)

    def _test(self, arc: Arc) -> Callable[[Any], bool]:
        """Return a function of an event: whether it may satisfy the fence of an arc."""
        schemas = self._automaton.event_schema, self._automaton.register_schema
        try:
            part = split(expression_of(arc.fence, FENCE, *schemas), *schemas).event
        except (Unreadable, AfaError):
            part = None
        if part is None:
            return _any
        function = callable_of(part, FENCE, self._automaton.register_schema)

        def test(payload: Any) -> bool:
            try:
                return bool(function(payload, None))
            except Exception:  # whatever it is: the fence itself may be false before it comes to that
                return True

        return test


def _any(payload: Any) -> bool:
    return True


def _shortened(steps: Sequence[Step]) -> set[int]:
    """Return the steps at which an event consumed on an ignorable arc may make another partial match, of a smaller ``m``."""
    found: set[int] = set()
    largest = BEGINNING
    for i, y in enumerate(steps):
        ends = [re for _, re in y.events]
        if ends and min(ends) < largest:
            found.add(i)
        largest = max([largest, *ends])
    return found
