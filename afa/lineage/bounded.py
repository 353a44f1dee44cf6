"""Backward derivation with a bound: the computations whose events all have this RE or a larger one, whatever their starts.

It serves where starts and ``m`` do not matter, as only what all their events outlive does:

    longest=True    the paths of a match are those of all computations that give its payload and LE, with no event that ends
                    before the match does; one that ends later can't be there, else the match would last longer: bound RE
    collapsed       those of all computations that give a payload at an LE: what is accepted there lives beyond it: bound LE + 1

A computation is at a state with a register at a step, and has taken no event with an RE below the bound, just if the list there
holds a partial match with this state and register and an ``m`` at or above the bound: ``m`` is the smallest RE taken, and
``longest=True`` keeps the largest ``m`` of each state and register. Such a one came from one like it at the step before, by an
arc whose event has an RE at or above the bound, or began at the step with such an event; fences, transfers and ``at`` see no start
and no ``m``. No lifetime ends on the way, as the bound lies beyond the last LE. So to walk back over states and registers, asking
each event for its RE, is exact, on the lists of either kind of operator, and costs one fence for each state and register, not for
each start. The compiled engine does it in machine code (`Engine.ways` with a bound); this is the plain way, for all else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from afa.engine import Engine, Step
from afa.lineage.components import Pick
from afa.lineage.derivation import BEGIN, MATCH, Derivation
from afa.model.automaton import Automaton
from afa.model.pmatch import PMatch
from afa.model.transitions import Transitions


class SpanMatches(Derivation):
    """The partial matches over a span of steps, by state and register; none has an ``m`` below the bound ``least``."""

    _least: int

    def __init__(
        self,
        automaton: Automaton,
        transitions: Transitions,
        steps: Sequence[Step],
        ends: Mapping[int, Sequence[PMatch]],
        shown: Callable[[Any], Any],
        least: int,
    ) -> None:
        self._least = least
        steps = [y._replace(start=None, partial=self._merged(y.partial)) for y in steps]
        super().__init__(automaton, transitions, steps, {i: self._merged(found) for i, found in ends.items()}, shown)
        begins = range(len(steps)) if _passes_first(automaton, transitions) else ()
        self._starts = {None: list(begins)}  # by an arc into another state: such steps are asked for that one

    def _merged(self, found: Iterable[PMatch]) -> list[PMatch]:
        """Return the states and registers of partial matches, each once, all with one start and the bound as ``m``."""
        merged = {(p.state, p.register): None for p in found if p.re >= self._least}
        return [PMatch(None, self._least, state, register) for state, register in merged]

    def back(self, i: int, held: int) -> tuple[dict[Pick, int], int]:
        """Return what leads to a set at step ``i``. As `Derivation.back`."""
        if i < 0:  # no step can lead to it: see `Derivation`
            raise self._impure(0, next(p for n, p in enumerate(self._all) if p is not None and held >> n & 1))
        return super().back(i, held)

    def reaches(self, before: int) -> bool:
        """Return whether a computation has taken, or passed, a step below an LE. O(derivation), if there is such a step."""
        if not self.steps or self.steps[0].le >= before:
            return False
        i, held = len(self.steps) - 1, MATCH
        while held not in (0, BEGIN):
            i = self.last(i, held)
            if i < 0 or self.steps[i].le < before:
                return True
            picked, held = self.back(i, held)
            for of in picked.values():
                held |= of
            i -= 1
        return False


def _passes_first(automaton: Automaton, transitions: Transitions) -> bool:
    """Return whether a run may begin with an event that is passed over, so that it is then where it began."""
    table = transitions.table
    states, todo = {automaton.start}, [automaton.start]
    while todo:
        for event in table.epsilon.get(todo.pop(), ()):
            if event.arc.dst not in states:
                states.add(event.arc.dst)
                todo.append(event.arc.dst)
    return any(event.arc.ignorable for state in states for event in table.consuming.get(state, ()))


def span_of(engine: Engine, key: object, le: int, least: int, promised: int) -> list[Step]:
    """Return the steps that computations up to an LE may have gone through: from the first event with an RE at or above the bound.

    The last step below a promise comes with them where one may have come through it. O(steps held from the promise on).
    """
    bare = engine.steps(key, promised, le, ())
    first = min((y.le for y in bare if promised <= y.le <= le and any(re >= least for _, re in y.events)), default=le)
    before = [y for y in engine.steps(key, promised, promised) if y.le < promised][-1:]
    if before and any(p.re >= least for p in before[0].partial):
        return [*before, *(y for y in engine.steps(key, promised, le) if promised <= y.le <= le)]
    return [y for y in engine.steps(key, first, le) if first <= y.le <= le]
