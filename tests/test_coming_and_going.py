"""Keys that come and go in flat memory; the long run: ``python -m tests.stress.coming_and_going --keys 100000000``."""

from __future__ import annotations

import pytest

from tests.stress import coming_and_going
from tests.stress.coming_and_going import Held, flat, main


@pytest.mark.parametrize("text", [False, True])
def test_memory_is_flat_while_keys_come_and_go(text: bool) -> None:
    held = coming_and_going.run(keys=150_000, rows=4_000, text=text)
    assert len(held) > 40


def test_memory_that_grows_is_told() -> None:
    with pytest.raises(AssertionError, match="words: 200, and 100 after 24 batches"):
        flat([Held(i, 100 if i < 30 else 200, 1.0) for i in range(40)])


@pytest.mark.stress
def test_ten_million_keys() -> None:
    assert main(["--keys", "10000000", "--rows", "500000"]) == 0
