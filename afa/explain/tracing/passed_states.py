"""The states through which the events of a path lead: of the arcs alone, without the events' values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from afa.lineage.components import component_of
from afa.model.arc import CONSUME, Arc


class PassedStates:
    """Chains of states for sequences of components; each is looked for once.

    >>> one = lambda e, r: True
    >>> arcs = [Arc("s", "a", one), Arc("a", "a", one, select="a"), Arc("a", "b", one)]
    >>> PassedStates("s", {"b"}, arcs).of(("a", "a", "b"))
    ('s', 'a', 'a', 'b')
    """

    def __init__(self, start: str, final: Iterable[str], arcs: Sequence[Arc]) -> None:
        self._start = start
        self._taking: dict[str, list[tuple[str, str]]] = {}
        self._passing: dict[str, list[str]] = {}
        for arc in arcs:
            component = component_of(arc) if arc.kind == CONSUME else None
            if component is None:
                self._passing.setdefault(arc.src, []).append(arc.dst)
            else:
                self._taking.setdefault(arc.src, []).append((component, arc.dst))
        finals = {*final, *(arc.dst for arc in arcs if arc.final)}
        self._leads = {state: self._final(state, finals) for state in {self._start, *(arc.dst for arc in arcs)}}
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}

    def of(self, components: tuple[str, ...]) -> tuple[str, ...]:
        """Return the start state, and the state behind each event, along one way that the arcs have; empty: there is none.

        Behind them a final state, where the last of these is none: a time-out, or an epsilon arc, leads there.
        """
        found = self._known.get(components)
        if found is None:
            found = self._known[components] = self._search(components)
        return found

    def _final(self, state: str, finals: set[str]) -> str | None:
        """Return the state, if it is final, or a final one that is reached without an event; None: there is none."""
        found = sorted(finals & self._closure(state))
        return state if state in finals else found[0] if found else None

    def _closure(self, state: str) -> set[str]:
        """Return what can be reached from a state without an event of a path."""
        reached, todo = {state}, [state]
        while todo:
            for other in self._passing.get(todo.pop(), ()):
                if other not in reached:
                    reached.add(other)
                    todo.append(other)
        return reached

    def _search(self, components: tuple[str, ...]) -> tuple[str, ...]:
        layers: list[dict[str, str]] = []
        here = {self._start: ""}
        for component in components:
            then: dict[str, str] = {}
            for state in here:
                for between in sorted(self._closure(state)):
                    for name, to in self._taking.get(between, ()):
                        if name == component:
                            then.setdefault(to, state)
            layers.append(then)
            here = then
        ends = sorted(state for state in here if self._leads[state] is not None)
        if not ends:
            return ()
        found = [ends[0]]
        for layer in reversed(layers):
            found.append(layer[found[-1]])
        final = self._leads[ends[0]]
        return (*reversed(found), *([] if final is None or final == ends[0] else [final]))
