"""A sample of random stored histories; the long run is marked stress."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.replay.history_worlds import check


@pytest.mark.parametrize("part", range(4))
def test_replay_and_amend_beside_full_runs(part: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(25):
        seen.update(check(part * 1000 + seed))
    assert seen["part"] > 5
    assert seen["matches"] > 200
    assert seen["amended"] > 10


@pytest.mark.stress
@pytest.mark.parametrize("part", range(10))
def test_many_stored_histories(part: int) -> None:
    for seed in range(1000):
        check(100_000 + part * 1000 + seed)
