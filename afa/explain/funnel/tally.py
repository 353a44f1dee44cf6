"""What is counted of an automaton: of each arc, of each state, and of the events and keys as such."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from afa.engine import Step
from afa.explain.funnel.fence_parts import CountedFence
from afa.explain.funnel.near_misses import Misses
from afa.explain.funnel.standing import ACCEPTED, LED, Gone, StandingMatches, StateEnds
from afa.expression.nodes import FieldRead, walk
from afa.model.arc import EPSILON, Arc
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.pmatch import PMatch, le_of
from afa.model.raised import Faults
from afa.model.transitions import Transitions
from punctuation.time import BEGINNING, FOREVER

MOST = 1000
"""How many values of a field are kept."""


class FieldValues:
    """The values of one field.

    >>> seen = FieldValues()
    >>> for value in (3, None, 1, 3):
    ...     seen.look(value)
    >>> seen.low, seen.high, seen.none, seen.common(2)
    (1, 3, 1, [3, 1])
    """

    def __init__(self) -> None:
        self.low: Any = None
        self.high: Any = None
        self.none = self.events = 0
        self.counts: Counter[Any] | None = Counter()  # None: there are too many

    def look(self, value: Any) -> None:
        """Look at the value of one event."""
        self.events += 1
        if value is None:
            self.none += 1
            return
        try:
            if value != value:  # NaN is neither the least nor the largest
                return
            if self.low is None or value < self.low:
                self.low = value
            if self.high is None or value > self.high:
                self.high = value
        except TypeError:  # values of several kinds
            pass
        if self.counts is not None:
            self.counts[value] += 1
            if len(self.counts) > MOST:
                self.counts = None

    def common(self, most: int) -> list[Any]:
        """Return the values that come most often, of equally many the smaller by its text."""
        return sorted(self.counts or (), key=lambda value: (-(self.counts or {})[value], str(value)))[:most]


TRIED = 10
"""So many later events are tried for a partial match that has ended."""


def distances(automaton: Automaton, table: ArcTable) -> dict[str, int]:
    """Return how many arcs each state is from a final one at least; without those from which none leads there."""
    far = dict.fromkeys(automaton.final.union(table.marks), 0)
    ahead = deque(far)
    while ahead:
        state = ahead.popleft()
        for arc in table.arcs:
            if arc.dst == state and arc.src not in far:
                far[arc.src] = far[state] + 1
                ahead.append(arc.src)
    return far


class NegationCount(NamedTuple):
    """What a negation has ended in a state: how many partial matches, and the first event that did."""

    state: str
    negation: str
    ended: int
    le: int
    key: Hashable
    payload: Any


class Tally:
    """The counts of an automaton under a table of arcs, over the keys that are taken.

    clock    up to where time-outs fire behind the last event of a key
    since    the promise that has dropped what came before it; BEGINNING: none has
    longest  whether of the partial matches of a state and register only the one with the largest ``m`` stands
    most     after so many functions asked the count ends; None: it does not
    """

    def __init__(
        self,
        automaton: Automaton,
        table: ArcTable,
        clock: int,
        since: int = BEGINNING,
        longest: bool = False,
        most: int | None = None,
    ) -> None:
        self.automaton, self.table, self.clock, self.longest, self.most = automaton, table, clock, longest, most
        self.since = since
        self.far = distances(automaton, table)
        self.transitions = Transitions(automaton, table, Faults())
        self.asked: dict[int, CountedFence] = {}
        for arc, le, re in table.events:
            known = self.asked.setdefault(id(arc), CountedFence(arc, automaton, self._nearer(arc)))
            known.lifetimes.append((le, re))
        self.ended: dict[str, StateEnds] = defaultdict(StateEnds)  # also of states that arcs led to which are gone
        for state in (*automaton.states, *table.states):
            self.ended[state]
        self.events = self.steps = self.keys = self.single = self.cost = self.began = self.matches = 0
        self.ties = 0  # how often a partial match came to stand where another event of that very instant would have led it on
        self.alike = 0  # events that share key and time with another
        self.cuts: dict[tuple[str, str], NegationCount] = {}  # by state and negation
        self.until: int | None = None  # where the count ended within a key, as it had asked enough
        self.low, self.high = FOREVER, BEGINNING
        self.gaps: list[int] = []
        self.misses = Misses(automaton)
        self._by_state: dict[tuple[str, str], list[CountedFence]] = {}
        for asked in self.asked.values():
            self._by_state.setdefault((asked.arc.kind, asked.arc.src), []).append(asked)
        self._static = all((le, re) == (BEGINNING, FOREVER) for _, le, re in table.events)
        self.epsilon = sorted({asked.arc.src for asked in self.asked.values() if asked.arc.kind == EPSILON})
        readers = [asked for asked in self.asked.values() if asked.far and asked.arc.reads_event]
        self.could = {id(asked): 0 for asked in readers}  # by arc: how many events satisfy all that it asks of them alone
        self.values = {name: FieldValues() for asked in readers for name in _fields(asked)}
        self._wide: set[tuple[str, Any]] = set()
        self._ahead = {
            state: [asked for asked in self.asked.values() if asked.arc.src == state and asked.far and asked.arc.reads_event]
            for state in self.ended
        }

    def _nearer(self, arc: Arc) -> bool:
        return arc.dst in self.far and self.far[arc.dst] < self.far.get(arc.src, 1 << 30)

    @property
    def enough(self) -> bool:
        """Whether as many functions were asked as may be."""
        return self.most is not None and self.cost >= self.most

    def in_force(self, kind: str, state: str, le: int) -> Sequence[CountedFence]:
        """Return the arcs of a kind that leave a state and are in force at an instant."""
        found = self._by_state.get((kind, state), ())
        return found if self._static or not found else [asked for asked in found if asked.serves(le)]

    # -- events -------------------------------------------------------------------------------------------------

    def look(self, steps: Sequence[Step]) -> None:
        """Look at all events of a key: how far they are apart, and which of them an arc could take as far as they alone tell."""
        told = [y for y in steps if y.events]
        self.steps += len(told)
        self.single += len(told) <= 1
        self.gaps += [z.le - y.le for y, z in pairwise(told)]
        self._could: dict[int, list[tuple[int, Any]]] = {place: [] for place in self.could}
        some = [asked for asked in self.asked.values() if id(asked) in self.could]
        for y in told:
            self.events += len(y.events)
            self.alike += len(y.events) if len(y.events) > 1 else 0
            self.low, self.high = min(self.low, y.le), max(self.high, y.le)
            for name, values in self.values.items():
                for payload, _ in y.events:
                    values.look(getattr(payload, name))
            for asked in some:
                found = [payload for payload, _ in y.events if asked.could(payload)]
                if found and asked.serves(y.le):
                    self.could[id(asked)] += len(found)
                    self._could[id(asked)] += [(y.le, payload) for payload in found]
        self.cost += len(told) * len(some)

    def could_go_on(self, p: PMatch, events: Sequence[Any]) -> bool:
        """Return whether another event of the instant at which a partial match came to stand would have led it on."""
        into = [asked for asked in self.asked.values() if asked.arc.dst == p.state and asked.arc.reads_event]
        for asked in self._ahead.get(p.state, ()):
            found = [payload for payload in events if asked.would(payload, p.register)]
            self.cost += len(events)
            if len(found) > 1 or (found and not any(each.could_alone(found[0]) for each in into)):
                return True
        return False

    # -- what ends -----------------------------------------------------------------------------------------------

    def leave(self, standing: StandingMatches, at_gap: bool = False) -> None:
        """Count what still stands as open; ``at_gap``: the next number is missing."""
        for gone in standing.gone():
            ended = self.ended[gone.state]
            if gone.marks & ACCEPTED:
                ended.by_match += 1
            elif gone.marks & LED:
                ended.went_on += 1
            else:
                ended.open += 1
                ended.at_gap += at_gap

    def over(self, gone: Gone, le: int, went: bool, by_window: bool) -> None:
        """Count a partial match that stands no more, at a step or by the clock at ``le``."""
        ended = self.ended[gone.state]
        if gone.marks & ACCEPTED:
            ended.by_match += 1
        elif went or gone.marks & LED:
            ended.went_on += 1
        elif by_window:
            ended.by_window += 1
            found = self._next(gone, bisect_left, le)
            if found is not None:
                ended.could_wide.append(found - le_of(gone.start))
        else:
            ended.by_no_arc += 1
            found = self._next(gone, bisect_right, le)
            ended.could_later += found is not None and found < gone.m

    def cut(self, state: str, negation: str, payload: Any, le: int) -> None:
        """Count a partial match that an event has ended which a negation forbids."""
        before = self.cuts.get((state, negation))
        new = NegationCount(state, negation, 1, le, self.transitions.key, payload)
        if before is not None:
            new = (min(before, new, key=lambda cut: (cut.le, repr(cut.payload))))._replace(ended=before.ended + 1)
        self.cuts[state, negation] = new

    def _next(self, gone: Gone, side: Any, le: int) -> int | None:
        """Return the next event from ``le`` on that an arc towards a final state would have taken, among the next few."""
        found: int | None = None
        for asked in self._ahead.get(gone.state, ()):
            places = self._could[id(asked)]
            i = side(places, le, key=_first)
            for at, payload in places[i : i + TRIED]:
                if found is not None and at >= found:
                    break
                if asked.whole or asked.would(payload, gone.register):
                    found = at
            self.cost += 0 if asked.whole else TRIED
        return found


def _first(place: tuple[int, Any]) -> int:
    return place[0]


def _fields(asked: CountedFence) -> list[str]:
    """Return the fields of the event that a fence reads."""
    found = [
        node.name
        for part in asked.parts
        if part.expr is not None
        for node in walk(part.expr)
        if isinstance(node, FieldRead) and node.side == "e"
    ]
    return list(dict.fromkeys(found))
