"""The nearest misses: which partial matches, with which events, came closest to an arc towards a final state.

A miss is nearer if more conjuncts of the fence were true before one stopped it; of those that the same conjunct stopped, the one in
which both sides of its comparison were closest to each other, in proportion; then the earlier one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from afa.engine import Step
from afa.explain.funnel.fence_parts import CountedFence
from afa.explain.funnel.standing import StandingMatches
from afa.expression.evaluation import callable_of
from afa.expression.kinds import FENCE
from afa.expression.nodes import Compare
from afa.lineage.derivation import begun, derived
from afa.model.automaton import Automaton
from afa.model.pmatch import PMatch
from afa.model.transitions import Transitions

KEPT = 3
"""How many misses are kept of each arc."""
LOOKED = 10_000
"""After so many partial matches it is not looked further for the events behind a miss."""


class Missed(NamedTuple):
    """A miss as it is found: what orders it; then the event, and the partial match that waited for it (None: none had begun)."""

    rank: tuple[int, float]
    le: int
    number: int  # of the key
    order: tuple[Any, ...]
    key: Hashable
    payload: Any
    register: Any
    state: str
    p: PMatch | None
    part: int


class Misses:
    """The nearest misses of each arc of an automaton. ``key``, ``number``: of the events that are looked at."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self.key: Hashable = None
        self.number = 0
        self._sides: dict[tuple[int, int], tuple[Callable[..., Any], Callable[..., Any]] | None] = {}

    def look(self, asked: CountedFence, part: int, payload: Any, y: Step, standing: StandingMatches, state: str) -> None:
        """Look at an event that stopped at a conjunct for all that stands in a state."""
        if asked.far and not asked.true and self._may_count(asked, rank := self._rank(asked, part, payload, None)):
            groups = standing.groups[state]
            start, m = min(member for members in groups.values() for member in members)
            register = min((register for register, members in groups.items() if (start, m) in members), key=repr)
            self._put(asked, rank, part, payload, y, PMatch(start, m, state, register), register)

    def look_at(self, asked: CountedFence, part: int, payload: Any, y: Step, of: tuple[Any, Any] | None) -> None:
        """The same of one register; ``of``: it, with the partial matches that have it. None: none had begun."""
        if not asked.far or asked.true:
            return
        register, members = of or (self._automaton.register, ())
        rank = self._rank(asked, part, payload, register)
        if self._may_count(asked, rank):
            start, m = min(members) if members else (None, 0)
            p = PMatch(start, m, asked.arc.src, register) if members else None
            self._put(asked, rank, part, payload, y, p, register)

    def _rank(self, asked: CountedFence, part: int, payload: Any, register: Any) -> tuple[int, float]:
        worst = asked.misses[-1].rank[0] if len(asked.misses) == KEPT else None
        if worst is not None and -part > worst:
            return -part, math.inf
        place = id(asked), part
        if place not in self._sides:
            expr = asked.parts[part].expr
            schema = self._automaton.register_schema
            compared = isinstance(expr, Compare) and expr.op != "!="
            self._sides[place] = tuple(callable_of(side, FENCE, schema) for side in (expr.left, expr.right)) if compared else None  # type: ignore[assignment,union-attr]
        return -part, _apart(self._sides[place], payload, register)

    def _may_count(self, asked: CountedFence, rank: tuple[int, float]) -> bool:
        return len(asked.misses) < KEPT or rank <= asked.misses[-1].rank

    def _put(
        self, asked: CountedFence, rank: tuple[int, float], part: int, payload: Any, y: Step, p: PMatch | None, register: Any
    ) -> None:
        order = (() if p is None else (p.start, p.re), repr((payload, register)))
        missed = Missed(rank, y.le, self.number, order, self.key, payload, register, asked.arc.src, p, part)
        asked.misses = sorted([*asked.misses, missed], key=lambda miss: miss[:4])[:KEPT]


def _apart(both: tuple[Callable[..., Any], Callable[..., Any]] | None, payload: Any, register: Any) -> float:
    """Return how far the sides of a comparison are apart, in proportion; inf: they are no numbers."""
    if both is None:
        return math.inf
    try:
        left, right = (side(payload, register) for side in both)
        found = abs(left - right) / max(abs(left), abs(right))
        return math.inf if math.isnan(found) else float(found)
    except Exception:
        return math.inf


def events_behind(transitions: Transitions, steps: Sequence[Step], missed: Missed) -> list[tuple[Any, int]] | None:
    """Return the events, each with its LE, that a partial match took; None: they are not held, or too many ways lead there."""
    if missed.p is None:
        return []
    layer: dict[PMatch, list[tuple[Any, int]]] = {}
    looked, since, last = 0, 0, None
    for y in steps:
        if y.le >= missed.le:
            break
        if y.start == missed.p.start and y.events:
            layer = {p: [] if pick is None else [(pick.payload, y.le)] for pick, p in reversed(list(begun(transitions, y)))}
        elif layer:
            found: dict[PMatch, list[tuple[Any, int]]] = {}
            for q, path in layer.items():
                for pick, p in derived(transitions, q, since, y):
                    found.setdefault(p, path if pick is None else [*path, (pick.payload, y.le)])
            layer = found
        looked += len(layer)
        if looked > LOOKED:
            return None
        last = layer.get(missed.p, last)
        since = y.le
    return last
