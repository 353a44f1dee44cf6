"""Take a sample of events through an automaton, in order and slowly, and count what became of each partial match, by state.

For the line with which ``afa run`` ends where nothing has matched: what is counted here is never output.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from afa.model.arc import TIMEOUT, Arc
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.pmatch import PMatch, Rest
from afa.model.transitions import Transitions
from punctuation.time import FOREVER

MOST = 300_000
"""How often arcs are asked before the trace ends: about a second."""


class Event(NamedTuple):
    """An event of the sample; ``place``: its LE and sequence."""

    key: Hashable
    place: Any
    le: int
    re: int
    payload: Any


class Asked(Transitions):
    """Transitions that count how often the fence of each arc was asked, and how often the arc served."""

    def __init__(self, automaton: Automaton) -> None:
        super().__init__(automaton, ArcTable.of(automaton.arcs))
        self.asked: Counter[Arc] = Counter()
        self.served: Counter[Arc] = Counter()

    def consume(self, arc: Arc, payload: Any, register: Any, le: int) -> Any:
        found = super().consume(arc, payload, register, le)
        self.asked[arc] += 1
        self.served[arc] += found is not None
        return found


class Trace:
    """What became of the partial matches of a sample.

    Attributes
    ----------
    by_window, by_no_arc, open : Counter
        By state: partial matches whose lifetime was over at the next event of the key; of which the next event took no arc; which
        still wait at the end.
    past : Counter
        By time-out: partial matches that it would have taken at or past the end of their lifetime.
    """

    def __init__(self, automaton: Automaton, events: Iterable[Event]) -> None:
        self.began = 0
        self.events = 0
        self.by_window: Counter[str] = Counter()
        self.by_no_arc: Counter[str] = Counter()
        self.open: Counter[str] = Counter()
        self.past: Counter[Arc] = Counter()
        self.reached: Counter[str] = Counter()
        self.gaps: list[int] = []
        self._of = Asked(automaton)
        keys: dict[Hashable, list[Event]] = defaultdict(list)
        for event in events:
            keys[event.key].append(event)
        for held in keys.values():
            if sum(self._of.asked.values()) > MOST:
                break
            self._take(sorted(held, key=lambda event: event.place))

    @property
    def asked(self) -> Mapping[Arc, int]:
        """How often each arc's fence was asked of an event."""
        return self._of.asked

    @property
    def served(self) -> Mapping[Arc, int]:
        """How often each arc served."""
        return self._of.served

    def _take(self, events: list[Event]) -> None:
        """Take the events of one key, in order."""
        steps: dict[Any, dict[tuple[Any, int], int]] = {}
        for event in events:
            steps.setdefault(event.place, {})[event.payload, event.re] = 1
        rows: list[PMatch] = []
        before: int | None = None
        for place, alternatives in steps.items():
            le = place[0]
            if before is not None:
                self.gaps.append(le - before)
            new: list[PMatch] = []
            for p in rows:
                found, stays = self._of.derive(p, Rest(before or le, before or le), le, alternatives)
                ended = self.by_window if p.re <= le else self.by_no_arc if not (found or stays) else None
                if ended is not None:
                    ended[p.state] += 1
                new += found + [p] * stays
            begun = self._of.begin(place, le, alternatives)
            self.began += bool(begun)
            rows, before = list(dict.fromkeys(new + begun)), le
            self.events += len(alternatives)
            self._look(rows, le)
            if sum(self._of.asked.values()) > MOST:
                break
        self.open.update(p.state for p in rows)

    def _look(self, rows: list[PMatch], le: int) -> None:
        """Note where a step's partial matches are, and which of their time-outs come too late."""
        self.reached.update({p.state for p in rows})
        table = self._of.table
        for p in rows if table.timeouts else ():
            for arc, begin, end in table.timeouts.get(p.state, ()):
                assert arc.kind == TIMEOUT
                at = self._of.instant(arc, p.register, le)
                if p.re <= at < FOREVER and begin <= at < end:
                    self.past[arc] += 1
