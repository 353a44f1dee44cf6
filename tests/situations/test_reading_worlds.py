"""A sample of the random patterns over readings; `python -m tests.situations.reading_worlds` runs more."""

from __future__ import annotations

import pytest

from tests.situations.reading_worlds import run


@pytest.mark.parametrize("block", range(2))
def test_worlds(engine: str, block: int) -> None:
    """After every step the matches in force are those of the readings in force."""
    steps = checked = 0
    for i in range(3 if engine == "compiled" else 8):
        done = run(77_000_000 + 100 * block + i, engine)
        steps, checked = steps + done[0], checked + done[1]
    assert steps > 10
    assert checked > 0
