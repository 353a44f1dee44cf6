"""A sample of random stored histories; the long run is marked stress."""

from __future__ import annotations

import pytest

from tests.replay.history_worlds import WORLDS


@pytest.mark.parametrize("part", range(4))
def test_replay_and_amend_beside_full_runs(part: int) -> None:
    WORLDS.run("0", range(part * 1000, part * 1000 + 25), more_than={"part": 5, "matches": 200, "amended": 10})


@pytest.mark.stress
@pytest.mark.parametrize("part", range(10))
def test_many_stored_histories(part: int) -> None:
    WORLDS.run("0", range(100_000 + part * 1000, 101_000 + part * 1000))
