"""Streams of rare a, b and c, each at one of ten instants: `SEQ(A, B+, C)` as in an evaluation of closures (SIGMOD 2014, 6.3).

The gap between two events of a component is so many ticks in the mean; all other events of the stream fit none, and
are left out before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from afa.uncertain import Sequence
from bench.baselines.closure_runs import Valued
from bench.baselines.valid_intervals import Known

Column = np.ndarray[Any, Any]
INSTANTS = 10


class Measured(NamedTuple):
    """What came, its number and its value."""

    kind: str
    id: int
    value: int


class Rare(NamedTuple):
    """An event a tick: its kind (3: none of a pattern), value, and time."""

    kind: Column
    value: Column
    le: Column

    def table(self) -> dict[str, Any]:
        """Return the events of the pattern as a table."""
        there = np.flatnonzero(self.kind < 3)
        le = self.le[there]
        kind = np.array(list("abc"))[self.kind[there]]
        return {"kind": kind, "id": le, "value": self.value[there], "lower": le, "upper": le + (INSTANTS - 1)}

    def known(self) -> list[Valued]:
        """Return the events of the pattern as runs take them."""
        there = np.flatnonzero(self.kind < 3)
        rows = zip(self.kind[there].tolist(), self.le[there].tolist(), self.value[there].tolist())
        return [Valued(Known(kind, t, t, t + INSTANTS - 1), value) for kind, t, value in rows]


def rare(n: int, gap: int, seed: int = 1) -> Rare:
    """Return n events; of each component one in ``gap``."""
    rng = np.random.default_rng(seed)
    kind = np.minimum(rng.integers(0, gap, n), 3) if gap > 3 else rng.integers(0, 3, n)
    return Rare(kind, rng.integers(0, 1_000_000, n), np.arange(n))


def closure(window: int, chain: bool, **options: Any) -> Sequence:
    """Return a before any choice of b's, or a chain of them with rising values, before c."""
    where = "b[i].value > b[i-1].value" if chain else ()
    return Sequence(["a", "b+", "c"], of="kind", event=Measured, identity="id", window=window, where=where, **options)


__all__ = ["INSTANTS", "Measured", "Rare", "closure", "rare"]
