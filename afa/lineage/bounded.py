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

from collections.abc import Iterable, Mapping, Sequence

from afa.engine import Engine, Step, Ways
from afa.lineage.derivation import derived_ways
from afa.model.pmatch import PMatch
from afa.model.transitions import Transitions


def bounded_ways(
    transitions: Transitions, steps: Sequence[Step], ends: Mapping[int, Sequence[PMatch]], re: int, least: int, since: int | None
) -> Ways | None:
    """Return what `derived_ways` does, by state and register: of no event with an RE below the bound ``least``."""

    def merged(found: Iterable[PMatch]) -> list[PMatch]:
        """Return the states and registers of partial matches, each once, all with one start and the bound as ``m``."""
        of = dict.fromkeys((p.state, p.register) for p in found if p.re >= least)
        return [PMatch(None, least, state, register) for state, register in of]

    steps = [y._replace(start=None, partial=merged(y.partial)) for y in steps]
    return derived_ways(transitions, steps, {i: merged(found) for i, found in ends.items()}, re, least, since)


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
