"""Neighbouring events of a host, of different attempts, within a second: which of the two came first?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import afa
from afa.uncertain import Clock, Sequence, Worlds
from examples.hadoop.events import CLOCK, Table, ends, starts
from examples.hadoop.trace import ATTEMPTS, Trace

NEAR = 1_000


class Side(NamedTuple):
    """One event of two."""

    type: str  # which of them it is, as they are recorded
    host: str
    pair: int


IN_ORDER = afa.query(
    "PATTERN SEQ(Earlier a, Later b) WHERE skip_till_next_match(a, b) { [pair] } WITHIN 10 seconds RETURN a.host AS host",
    event=Side,
    tick="ms",
)


class Neighbours(NamedTuple):
    """Pairs of events of a host that are recorded one after the other.

    Parameters
    ----------
    all : int
        How many pairs there are.
    at_once : int
        How many of those that are near are recorded at the same millisecond.
    near : dict of columns
        The events of pairs of different attempts, recorded within a second.
    """

    all: int
    at_once: int
    near: Table

    @property
    def pairs(self) -> int:
        """How many are near."""
        return len(self.near["pair"]) // 2

    def each_on_its_own(self) -> Any:
        """Return the confidence that they came as recorded, if each event is off by up to 0.5 s on its own: exactly."""
        components = {"a": "type == 'Earlier'", "b": "type == 'Later'"}
        le = self.near["le"]
        table = {name: self.near[name] for name in Side._fields} | {"lower": le - CLOCK, "upper": le + CLOCK}
        return self._by_pair(Sequence(components, window=10_000, event=Side, key="pair").push_many(table))

    def all_alike(self, worlds: int) -> Any:
        """Return the same if all events of a host are off alike: in possible worlds, as `Sequence` knows no clocks."""
        clock = Clock(by="host", skew=CLOCK)
        operator = Worlds(IN_ORDER.automaton, worlds, key=IN_ORDER.key, window=IN_ORDER.window, clock=clock, tick="ms")
        return self._by_pair(operator.push_many(self.near))

    def _by_pair(self, out: Table) -> Any:
        found = np.zeros(self.pairs)
        found[np.asarray(out["pair"])] = out["confidence"]
        return found


def neighbours(trace: Trace) -> Neighbours:
    """Find the neighbouring events of each host."""
    parts = [part for kind in ATTEMPTS for part in (starts(trace.of(kind), f"{kind}Start"), ends(trace.of(kind), f"{kind}End"))]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in ("type", "host", "attempt", "le")}
    order = np.lexsort([whole["attempt"].astype(str), whole["type"].astype(str), whole["le"], whole["host"].astype(str)])
    host, attempt, le = (whole[name][order] for name in ("host", "attempt", "le"))
    same, gap = host[1:] == host[:-1], np.diff(le)
    near = np.flatnonzero(same & (attempt[1:] != attempt[:-1]) & (gap <= NEAR))
    rows = np.stack([near, near + 1], axis=1).ravel()
    sides = np.tile(np.array(["Earlier", "Later"], object), len(near))
    table = {"type": sides, "host": host[rows], "pair": np.repeat(np.arange(len(near)), 2), "le": le[rows]}
    return Neighbours(int(same.sum()), int((gap[near] == 0).sum()), table)
