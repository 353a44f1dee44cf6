"""A sample of the random patterns over readings; `python -m tests.worlds readings` runs more."""

from __future__ import annotations

import pytest

from tests.situations.reading_worlds import WORLDS


@pytest.mark.parametrize("block", range(2))
def test_worlds(engine: str, block: int) -> None:
    """After every step the matches in force are those of the readings in force."""
    first = 100 * block
    seen = WORLDS.run("77", range(first, first + (3 if engine == "compiled" else 8)), engine)
    assert seen["steps"] > 10
    assert seen["matches"] > 0
