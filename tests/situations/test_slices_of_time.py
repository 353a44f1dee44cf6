"""A frame without keys in slices of time, side by side: the matches of the whole, each once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import afa
from afa.frames import through
from afa.situations import Situation, TemporalPattern


class Reading(NamedTuple):
    a: bool
    x: float


@pytest.mark.parametrize("seed", range(12))
def test_slices(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Situations that go on over a border, matches that do, durations that only the clock tells, readings with an end."""
    rng = np.random.default_rng(seed)
    n = 600
    lasting: Any = [{}, {"at_least": 3}, {"at_least": 2, "at_most": 9}, {"at_most": 7}][seed % 4]
    pattern = TemporalPattern(
        event=Reading,
        within=int(rng.choice([8, 25, 60])),
        a=Situation("a", **lasting),
        b=Situation("x > 0.6"),
        where=["a overlaps|before|meets b", "a during|contains b", "a before|after b"][seed % 3],
        returns={"top": "max(b.x)", "n": "count(a)"},
    )
    times = np.cumsum(rng.integers(1, 4, n))
    frame = {"a": rng.random(n) < 0.5, "x": rng.choice([0.2, 0.7, 0.9], n), "t": times}
    until = {"until": "re"} if seed % 2 else {}
    if until:
        frame["re"] = times + rng.integers(1, 9, n)
    whole = afa.find(pattern, frame, time="t", threads=1, **until)
    monkeypatch.setattr(through, "ROWS", 40)
    for workers in (2, 5):
        found = afa.find(pattern, frame, time="t", threads=workers, **until)
        assert {name: column.tolist() for name, column in _sorted(found).items()} == {
            name: column.tolist() for name, column in _sorted(whole).items()
        }
    assert len(whole["le"]) > 5


def _sorted(found: Any) -> Any:
    order = np.lexsort([np.asarray([-1 if item is None else item for item in column], float) for column in found.values()])
    return {name: column[order] for name, column in found.items()}
