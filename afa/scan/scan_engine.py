"""The engine of automata that choose: a scan over the rows of each key, interpreted."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import Any

from afa.change import Change
from afa.conditions.promised import PromisesByKey
from afa.engine import Ends, Living, Picks, Setup, SoughtMatch, Step, Ways
from afa.interpreted import interpreted_states as saved
from afa.interpreted.interpreted_engine import InterpretedEngine
from afa.interpreted.state import State
from afa.model.choice import PAST
from afa.scan.attempts import derive
from afa.scan.orbits import RowScan, ScanMatch, ScanState
from afa.scan.told import RowTaken, picks_of, ways_of
from afa.state.states import States
from punctuation.time import FOREVER


class ScanEngine(InterpretedEngine):
    """One `ScanState` a key. All that it holds follows from its rows and the arcs, so that a snapshot is the rows."""

    _algorithm: RowScan

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        assert setup.automaton.choice is not None
        self._choice = setup.automaton.choice
        self._algorithm = RowScan(self._transitions, setup.progress, self._choice)

    def _made(self, key: Hashable) -> State:
        return ScanState(key, self._journal, self._sequence is not None)

    def _changes(self, s: Any) -> Iterator[Change]:
        return (Change(record, le, re, diff, s.key) for (le, re, record), diff in s.delta.items() if diff)

    def _clean(self, s: State) -> None:
        self._on(s)
        self._algorithm.forget(s, self._progress.floor)

    def prune(self, promises: PromisesByKey, arcs: int, changes: int) -> None:
        """Drop nothing: what lies before a promise of some events only is held."""

    def _deadlines_of(self, s: State) -> tuple[int | None, int | None]:
        shrinks = self._algorithm.shrinks(s) if s.index else None
        return min((le + 1 for _, le, _ in s.pending), default=None), shrinks

    def rollback(self) -> None:
        touched: list[Any] = [*self._touched.values(), *self._due]
        super().rollback()
        for s in touched:
            s.mend()

    # -- what is held --------------------------------------------------------------------------------------------------------------

    def steps(self, key: Hashable, low: int, high: int, starts: Collection[Any] | None = None) -> list[Step]:
        s = self.states.get(key)
        if s is None:
            return []
        first = max(s.index.bisect_left(s.place(low)) - 1, 0)
        rows = s.index.values()[first : s.index.bisect_left(s.place(high + 1)) + 1]
        return [Step(row.key, row.le, True, dict(row.events), []) for row in rows]

    def ways(self, key: Hashable, sought: SoughtMatch) -> Ways | None:
        found = self._found(key, sought)
        return ways_of(self._choice, [self._rows(key, match) for match in found], max((match.re for match in found), default=0))

    def picks(self, key: Hashable, soughts: Sequence[SoughtMatch]) -> Picks:
        return picks_of(self._choice, [[self._rows(key, match) for match in self._found(key, sought)] for sought in soughts])

    def _rows(self, key: Hashable, match: ScanMatch) -> list[RowTaken]:
        rows = (self.states[key].index[at] for at in match.rows)
        return [RowTaken(row.key, row.le, row.payload, row.re, place) for row, place in zip(rows, match.took)]

    def matches(self, key: Hashable, low: int) -> list[tuple[Any, int, int]]:
        s: Any = self.states.get(key)
        shown = (each for match in s.shown.values() for each in match.shown) if s is not None else ()
        return [(record, le, re) for le, re, record in shown if le >= low]

    def living(self, t: int) -> Living:
        begun, rows = FOREVER, 0
        for s in self.states.values():
            place: Any = self._algorithm.resumes(s, t)
            if place in s.index:
                begun, rows = min(begun, s.index[place].le), rows + 1
        return Living(begun, rows, len(self.states))

    def begins(self) -> int:
        return min((s.index.peekitem(0)[1].le for s in self.states.values() if s.index), default=FOREVER)

    def by_state(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for s in self.states.values():
            for row in s.index.values():
                for state, _ in (thread for threads in row.nodes for thread in threads):
                    found[state] = found.get(state, 0) + 1
        return found

    def ends(self) -> Ends:
        return Ends()

    def _found(self, key: Hashable, sought: SoughtMatch) -> list[ScanMatch]:
        """Return the matches that show what is sought. O(matches near it; without WITHIN all before it, if they may overlap)."""
        s: Any = self.states.get(key)
        found: list[ScanMatch] = []
        if s is None:
            return found
        for start in s.shown.irange(None, s.place(sought.le + 1), inclusive=(True, False), reverse=True):
            match, window = s.shown[start], self._choice.window
            over = self._choice.skip == PAST and match.rows[-1] < s.place(sought.le)  # so are those before it
            if over or (window is not None and s.index[start].le <= sought.le - window):
                break
            if sought.is_among(match.shown):
                found.append(match)
        return found[::-1]

    # -- snapshots -----------------------------------------------------------------------------------------------------------------

    def load(self, states: States) -> None:
        for key, cover, changes, pruned in saved.load(self.automaton, states):
            if cover is not None or pruned is not None:
                raise ValueError("expected rows of a scan but got partial matches")
            self.apply(key, [Change(payload, le, re, n, key) for payload, le, re, n in changes])
            s = self.states.get(key)
            if s is not None:
                self._clean(s)
                list(self._changes(s))
                s.delta.clear()
            self._saved.add(key)
            self._changed.pop(key, None)
        self.check_ties()
        self._touched.clear()

    def _check(self, s: Any) -> None:
        """Assert that all follows from the rows."""
        self._on(s)
        fresh: Any = self._made(s.key)
        before: Any = {}
        for place, row in s.index.items():
            links, nodes = row.links, row.nodes
            derive(row, before, self._transitions, self._algorithm.ordered)
            assert (links, nodes) == (row.links, row.nodes), f"links at {place}"
            before = row.nodes
            fresh.index[place] = row
        seen = {match.rows[0]: match for match in self._algorithm.all_shown(fresh)}
        assert seen == dict(s.shown), f"shown: {seen} against {dict(s.shown)}"
        assert not s.delta, "a difference was left behind"
        assert all(count > 0 for count in s.pending.values()), "pending counts"
