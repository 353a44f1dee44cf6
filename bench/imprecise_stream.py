"""Events that come one a tick, each at one of the instants around it: the stream of a paper on imprecise timestamps (PVLDB 2010).

Values go from 1 to 1000 and begin again; a component takes those that leave a remainder. An event at t may have happened at any of
the instants from t - d to t + d.
"""

from __future__ import annotations

from collections.abc import Sequence as ListOf
from typing import Any, NamedTuple

import numpy as np

from afa import Arc, Automaton
from afa.uncertain import Sequence

Column = np.ndarray[Any, Any]
ANY, NEXT = "skip_till_any", "skip_till_next"
TENTHS = ((10, 0), (10, 3), (10, 7))
"""What a value is divided by, and the remainder, for each component."""
NAMES = "abcdef"


class Reported(NamedTuple):
    """Which component an event fits, and its number."""

    kind: int
    id: int


class Placed(NamedTuple):
    """The same, with its place among events of one instant."""

    kind: int
    id: int
    rank: int


class Stream(NamedTuple):
    """Events: which component each fits (one above the last: none), and the ends of their intervals."""

    kind: Column
    id: Column
    lower: Column
    upper: Column

    def part(self, start: int, stop: int) -> Stream:
        """Return the events from one to before another."""
        return Stream(*(column[start:stop] for column in self))

    def table(self) -> dict[str, Column]:
        """Return the events as a table."""
        return self._asdict()


def stream(n: int, half: int, components: ListOf[tuple[int, int]] = TENTHS) -> Stream:
    """Return n events with half an interval of ``half`` ticks on each side."""
    value, t = np.arange(n) % 1000 + 1, np.arange(n)
    kind = np.full(n, len(components))
    for number, (divisor, remainder) in enumerate(components):
        fits = value % divisor == remainder
        assert (kind[fits] == len(components)).all(), f"expected components that exclude each other but got {components}"
        kind[fits] = number
    return Stream(kind, t, t - half, t + half)


def automaton(strategy: str, length: int = 3, event: type = Reported) -> Automaton:
    """Return what possible worlds match: the components one after the other; a match shows the numbers of its events."""
    names = NAMES[:length]
    register: Any = NamedTuple("Numbers", [(name, int) for name in names])  # type: ignore[misc]  # one field a component
    arcs = []
    for number, name in enumerate(names):
        here, there = str(number), str(number + 1)
        if number:
            arcs.append(Arc(here, here, "True" if strategy == ANY else f"kind != {number}", name=f"skip {here}"))
        arcs.append(Arc(here, there, f"kind == {number}", f"r._replace({name}=e.id)", name=name))
    return Automaton(start="0", final={str(length)}, event=event, register=register(*[-1] * length), arcs=arcs)


def sequence(strategy: str, window: int, length: int = 3, **options: Any) -> Sequence:
    """Return the same as a sequence."""
    components = {name: f"kind == {number}" for number, name in enumerate(NAMES[:length])}
    return Sequence(components, event=Reported, strategy=strategy, window=window, identity="id", **options)


__all__ = ["ANY", "NAMES", "NEXT", "TENTHS", "Placed", "Reported", "Stream", "automaton", "sequence", "stream"]
