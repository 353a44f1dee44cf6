"""The engine of queries of which AFTER MATCH SKIP chooses: a scan over the rows of each key, interpreted."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from afa.change import Change
from afa.engine import Ends, Living, Setup
from afa.interpreted import interpreted_states as saved
from afa.interpreted.interpreted_engine import InterpretedEngine
from afa.interpreted.state import State
from afa.scan.choice import Choice
from afa.scan.scan import Scan, ScanState
from afa.state.states import States


class ScanEngine(InterpretedEngine):
    """One `ScanState` a key: all that it holds follows from its rows and the arcs."""

    def __init__(self, setup: Setup, choice: Choice) -> None:
        super().__init__(setup)
        self._algorithm = Scan(self._transitions, setup.progress, choice)

    def _made(self, key: Hashable) -> State:
        return ScanState(key, self._journal, self._sequence is not None)

    def _changes(self, s: State) -> Iterator[Change]:
        for (le, re, values), old in s.delta.items():
            now = s.count(le, re, values)
            if (now > 0) != (old > 0):
                yield Change(values, le, re, 1 if now else -1, s.key)

    def clean(self) -> None:
        for key in self._cleanings.due(self._progress.floor):
            self._restless[key] = None
        for s in [self.state(key) for key in self._restless if key in self.states]:
            self._algorithm.forget(s, self._progress.floor)

    def _due_of(self, s: State) -> tuple[int | None, int | None]:
        says = [le + 1 for _, le, _ in s.pending]
        shrinks = [s.matches.peekitem(0)[0] + 1] if s.matches else []
        if s.index:
            shrinks.append(self._algorithm.shrinks(s))
        return min(says, default=None), min(shrinks, default=None)

    def rollback(self) -> None:
        touched = [*self._touched.values(), *self._due]
        super().rollback()
        for s in touched:
            s.mend()

    def living(self, t: int) -> Living:
        raise NotImplementedError

    def by_state(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for s in self.states.values():
            for row in s.index.values():
                for state, _ in (thread for threads in row.nodes for thread in threads):
                    found[state] = found.get(state, 0) + 1
        return found

    def ends(self) -> Ends:
        return Ends()

    def load(self, states: States) -> None:
        for key, _, changes, _ in saved.load(self.automaton, states):
            self.apply(key, [Change(payload, le, re, n, key) for payload, le, re, n in changes])
        for s in self._touched.values():
            s.delta.clear()
        self._touched.clear()
