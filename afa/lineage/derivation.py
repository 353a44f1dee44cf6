"""Backward derivation: which sets of partial matches, one step earlier, lead to a set of them, and by which picks.

A set is an int, with a bit for each partial match that was met; two more stand for what is no partial match:

    BEGIN   before the first event of a run: what was begun there has no past
    MATCH   the match itself; at each step at which it ends, the partial matches that stand for it come into the set
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from afa.change import Change
from afa.engine import Step
from afa.errors import AfaError
from afa.lineage.asked_steps import StepIndex
from afa.lineage.components import Pick, components_in, in_order
from afa.lineage.steps_taken import Taken, begun, derived
from afa.model.automaton import Automaton
from afa.model.pmatch import PMatch
from afa.model.transitions import Transitions

BEGIN, MATCH = 1, 2


class Sources(NamedTuple):
    """What leads to a partial match at a step: by each pick a set; by none a set, itself in it where it rests."""

    picked: dict[Pick, int]
    passed: int


class Derivation:
    """The partial matches of some starts over a span of steps, backward.

    ``steps`` are all steps from the first start to the match, with the partial matches of these starts; ``ends`` the partial
    matches that stand for the match, by the number of their step; ``shown`` reduces an event's payload to the fields that are
    told.
    """

    _least: int | None = None

    def __init__(
        self,
        automaton: Automaton,
        transitions: Transitions,
        steps: Sequence[Step],
        ends: Mapping[int, Sequence[PMatch]],
        shown: Callable[[Any], Any],
    ) -> None:
        self.steps, self.size = steps, len(steps)
        self._shown = shown
        self._told: dict[tuple[int, Pick], tuple[str, Change]] = {}
        self._transitions = transitions
        self._asked = StepIndex(automaton, transitions.table, steps)
        self._numbers: dict[PMatch, int] = {}
        self._all: list[Any] = [None, None]  # BEGIN and MATCH
        self._starts: dict[Any, list[int]] = {p.start: [] for found in ends.values() for p in found}
        for i, y in enumerate(steps):
            if y.start in self._starts:
                self._starts[y.start].append(i)
        self._sources: dict[int, dict[int, Sources]] = {}
        self._resting: dict[int, int] = {}  # by step: of what is derived there, all that nothing leads to but itself
        self._needs: dict[int, tuple[list[list[int]], list[str]]] = {}
        self._ends = {i: self._set_of(found) for i, found in ends.items()}
        self._places = sorted(ends)

    def components(self) -> set[str]:
        """Return the names that arcs in force take events for."""
        return components_in(self._transitions.table)

    def _set_of(self, found: Sequence[PMatch]) -> int:
        return sum({1 << self._number(p) for p in found})

    def _number(self, p: PMatch) -> int:
        number = self._numbers.get(p)
        if number is None:
            number = self._numbers[p] = len(self._all)
            self._all.append(p)
        return number

    # -- one step back -------------------------------------------------------------------------------------------------------

    def last(self, i: int, held: int) -> int:
        """Return the last step up to ``i`` at which something may lead to a set otherwise than by leaving it as it is."""
        found = [_last(self._places, i)] if held & MATCH else []
        held &= ~(BEGIN | MATCH)
        need = self._needs.get(held)
        if need is None:
            members = [self._all[number] for number in _numbers_in(held)]
            starts, states = dict.fromkeys(p.start for p in members), dict.fromkeys(p.state for p in members)
            need = self._needs[held] = [self._starts[start] for start in starts], list(states)
        found += [_last(places, i) for places in need[0]]
        return max(max(found), *(self._asked.last(state, i) for state in need[1]), -1)

    def back(self, i: int, held: int) -> tuple[dict[Pick, int], int]:
        """Return what leads to a set at step ``i``: by each pick, in order, a set at the step before; and by none."""
        passed = held & BEGIN
        if held & MATCH:
            passed |= MATCH if i > self._places[0] else 0
            held |= self._ends.get(i, 0)
        held &= ~(BEGIN | MATCH)
        sources = self._sources.get(i)
        if sources is None:
            sources = self._sources[i] = self._derive(i)
        passed |= held & self._resting[i]
        picked: dict[Pick, int] = {}
        for number in _numbers_in(held & ~self._resting[i]):
            found = sources.get(number)
            if found is None:
                raise self._impure(i, self._all[number])
            passed |= found.passed
            for pick, of in found.picked.items():
                picked[pick] = picked.get(pick, 0) | of
        if len(picked) > 1:
            picked = {pick: picked[pick] for pick in sorted(picked, key=in_order)}
        return picked, passed

    def _derive(self, i: int) -> dict[int, Sources]:
        """Derive the list of a step from the one before it."""
        y, transitions = self.steps[i], self._transitions
        found: dict[int, Sources] = {}
        if y.start in self._starts:
            self._note(found, begun(transitions, y, self._least), BEGIN)
        if i and y.follows:
            x = self.steps[i - 1]
            for q in x.partial:
                self._note(found, derived(transitions, q, x.le, y, self._least), 1 << self._number(q))
        self._resting[i] = sum(1 << p for p, (picked, passed) in found.items() if not picked and passed == 1 << p)
        return found

    def _note(self, found: dict[int, Sources], taken: Iterable[Taken], source: int) -> None:
        for pick, p in taken:
            number = self._number(p)
            picked, passed = found.get(number, (None, 0))
            if picked is None:
                picked = {}
            if pick is None:
                passed |= source
            else:
                picked[pick] = picked.get(pick, 0) | source
            found[number] = Sources(picked, passed)

    # -- picks ---------------------------------------------------------------------------------------------------------------

    def told(self, step: int, pick: Pick) -> tuple[str, Change]:
        """Return a pick as it is told: one object, however many paths have it."""
        found = self._told.get((step, pick))
        if found is None:
            component, payload, re = pick
            change = Change(self._shown(payload), self.steps[step].le, re, 1, self._transitions.key)
            found = self._told[step, pick] = component, change
        return found

    def picks(self) -> Iterator[tuple[str, Change]]:
        """Yield each pick that is in some path, in order: over sets of all that a step has, one a step."""
        found: list[tuple[str, Change]] = []
        i, held = self.size - 1, MATCH
        while held not in (0, BEGIN):
            i = self.last(i, held)
            picked, passed = self.back(i, held)
            found += (self.told(i, pick) for pick in reversed(picked))
            held = passed
            for of in picked.values():
                held |= of
            i -= 1
        found.reverse()
        return iter(found)

    def _impure(self, i: int, p: PMatch) -> AfaError:
        return AfaError(
            f"expected functions that say today of le={self.steps[i].le} what they said when its events came but got no way "
            f"to state {p.state!r} with register {p.register!r}; fences, transfers and at must be pure"
        )


def _last(places: Sequence[int], i: int) -> int:
    found = bisect_right(places, i)
    return places[found - 1] if found else -1


def _numbers_in(held: int) -> list[int]:
    """Return the numbers of the bits that are set."""
    found = []
    while held:
        low = held & -held
        found.append(low.bit_length() - 1)
        held ^= low
    return found
