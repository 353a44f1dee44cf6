"""The partial matches of one key that stand at a step, by state and register, and what of them has ended.

    groups    state -> register -> {(start, m): marks}
    marks     ACCEPTED: it was a match somewhere; LED: something else has come of it

Fences and transfers see neither ``start`` nor ``m``: they are asked once for each group, and count for all in it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from afa.model.pmatch import PMatch
from punctuation.time import FOREVER

ACCEPTED, LED = 1, 2
Members = dict[tuple[Any, int], int]
Groups = dict[str, dict[Any, Members]]


@dataclass(slots=True)
class StateEnds:
    """What has become of the partial matches that stood in one state: see `afa.explain.funnel.funnel.StateCount`."""

    entered: int = 0
    before: int = 0
    matched: int = 0
    went_on: int = 0
    by_match: int = 0
    by_window: int = 0
    by_no_arc: int = 0
    open: int = 0
    at_gap: int = 0  # of those open: how many stand in front of a gap
    could_later: int = 0  # ended by no arc, and an event that an arc could take came within the lifetime
    could_wide: list[int] = field(default_factory=list)  # ended by the window: how far from its start the next such event is


class Gone(NamedTuple):
    """A partial match that stands no more."""

    state: str
    register: Any
    start: Any
    m: int
    marks: int


class StandingMatches:
    """The partial matches of one key that stand."""

    def __init__(self) -> None:
        self.groups: Groups = {}
        self.count: dict[str, int] = {}
        self.top: dict[str, int] = {}  # no ``m`` in the state is above it
        self._ends: list[tuple[int, int, str, Any, Any]] = []
        self._number = 0

    def add(self, p: PMatch) -> bool:
        """Let a partial match stand; whether it did not before."""
        members = self.groups.setdefault(p.state, {}).setdefault(p.register, {})
        if (p.start, p.re) in members:
            return False
        members[p.start, p.re] = 0
        self.count[p.state] = self.count.get(p.state, 0) + 1
        if p.re > self.top.get(p.state, p.re - 1):
            self.top[p.state] = p.re
        if p.re < FOREVER:
            self._number += 1
            heapq.heappush(self._ends, (p.re, self._number, p.state, p.register, p.start))
        return True

    def drop(self, state: str, register: Any, start: Any, m: int) -> Gone | None:
        """Take a partial match away; None: it is not there."""
        by_register = self.groups.get(state, {})
        members = by_register.get(register)
        if members is None or (start, m) not in members:
            return None
        gone = Gone(state, register, start, m, members.pop((start, m)))
        self.count[state] -= 1
        if not members:
            del by_register[register]
        return gone

    def expired(self, le: int) -> Iterator[Gone]:
        """Take away all whose lifetime is over at an instant."""
        while self._ends and self._ends[0][0] <= le:
            m, _, state, register, start = heapq.heappop(self._ends)
            gone = self.drop(state, register, start, m)
            if gone is not None:
                yield gone

    def mark(self, p: PMatch, mark: int) -> bool:
        """Mark a partial match that stands; whether it was not marked so before."""
        members = self.groups[p.state][p.register]
        before = members[p.start, p.re]
        members[p.start, p.re] = before | mark
        return not before & mark

    def holds(self, state: str) -> bool:
        """Return whether anything stands in a state."""
        return bool(self.count.get(state))

    def all(self) -> Iterator[PMatch]:
        """Yield what stands."""
        for state in self.groups:
            yield from self.in_state(state)

    def in_state(self, state: str) -> Iterator[PMatch]:
        """Yield what stands in a state."""
        for register, members in self.groups[state].items():
            for start, m in members:
                yield PMatch(start, m, state, register)

    def gone(self) -> Iterator[Gone]:
        """Yield what stands as if it were gone."""
        for state, by_register in self.groups.items():
            for register, members in by_register.items():
                for (start, m), marks in members.items():
                    yield Gone(state, register, start, m, marks)
