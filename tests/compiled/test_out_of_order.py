"""Batches that are out of order in part, in order in part, with promises, ties and arcs among the rows, cut into small chunks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import Arc, Automaton, Operator
from afa.compiled import batches, choices
from tests.automata import Count


class Move(NamedTuple):
    step: int
    weight: float | None = None


def arcs() -> list[Arc]:
    return [
        Arc("low", "up", lambda e, r: e.step == 2),
        Arc("up", "up", lambda e, r: e.step == 0, name="rest"),
        Arc("up", "up", lambda e, r: e.step == 1, lambda e, r: Count(r.n + 1), name="climb"),
        Arc("up", "top", lambda e, r: e.step == -1 and e.weight is not None and e.weight > 0, name="end"),
    ]


def stream(rng: Any, n: int, ties: float, tick: int) -> dict[str, Any]:
    """Rows of which some parts come in order, others late; now and then a promise that is true, an arc.

    ``ties``: of the late rows, how many have the LE of another one; ``tick``: between two of them.
    """
    late = np.repeat(rng.random(n // 50 + 1) < 0.5, 50)[:n] & (rng.random(n) < 0.2)
    by = 40 * rng.integers(0, 30, n) + np.where(rng.random(n) < ties, 0, rng.integers(1, 40, n))
    le = tick * (40 * np.arange(n) - late * by)
    kind = rng.choice([0, 2], n, p=[0.98, 0.02]).astype(np.int8)
    least = np.minimum.accumulate(le[::-1])[::-1]
    le = np.where(kind == 2, least, le)
    arc = np.zeros(n, np.int64)
    if rng.random() < 0.5:
        kind[rng.integers(0, n)], arc[:] = 1, rng.integers(0, 4)
        le = np.where(kind == 1, -(2**63), le)
    return {
        "step": rng.choice([2, 1, 0, -1], n, p=[0.2, 0.3, 0.3, 0.2]),
        "weight": [None if x < 0.1 else float(x) for x in rng.random(n)],
        "le": le,
        "re": np.maximum(le, 0) + 40 * tick * rng.choice([5, 12, 40] if rng.random() < 0.5 else [40], n),
        "kind": kind,
        "arc": arc,
    }


@pytest.mark.parametrize("seed", range(24))
def test_both_engines_give_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ticks so far apart that LE and row do not fit a word side by side, too."""
    monkeypatch.setattr(batches, "CHUNK", 16)
    monkeypatch.setattr(batches, "SPREAD", 4)
    monkeypatch.setattr(choices, "LEAST", 2)
    monkeypatch.setattr(choices, "LONG", 0)
    in_parts, parts = batches.Batches._in_parts, []
    monkeypatch.setattr(batches.Batches, "_in_parts", lambda *a: parts.append(len(a[3])) or in_parts(*a))
    rng = np.random.default_rng(seed)
    tick, ties = (1 << 36 if seed % 3 == 0 else 1), (0.0, 0.02, 0.5)[seed % 4 % 3]
    rows, pool, outs = stream(rng, 800, ties, tick), arcs(), []
    cuts = [0, *sorted(rng.integers(0, 800, 3).tolist()), 800]
    for engine in ("interpreted", "compiled"):
        automaton = Automaton(start="low", final={"top"}, register=Count(), event=Move, arcs=pool)
        side = Operator(automaton, window=1600 * tick, late="drop", engine=engine)
        found = []
        for begin, end in pairwise(cuts):
            out = side.push_many({name: column[begin:end] for name, column in rows.items()}, arcs=pool)
            found.append(sorted(zip(*(out[name].tolist() for name in ("n", "le", "re", "diff")))))
            side._check()
        outs.append((found, side.statistics.late, side.statistics.changes))
    assert outs[0] == outs[1]
    assert sum(map(len, outs[0][0])) > 50
    assert sum(parts) > (200 if ties < 0.1 else 0)
