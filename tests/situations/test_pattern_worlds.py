"""A sample of random temporal patterns; more: python -m tests.worlds patterns --worlds 10000 --seed 1."""

from __future__ import annotations

from typing import Any

import pytest

from tests.situations.pattern_worlds import WORLDS


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_sample(first: int) -> None:
    assert WORLDS.run("5", range(first, first + 25), "interpreted")["matches"] > 25


def test_sample_compiled() -> None:
    assert WORLDS.run("6", range(20), "compiled")["matches"] > 20


@pytest.mark.stress
def test_more(engine: Any) -> None:
    assert WORLDS.run("7", range(2000), engine)["matches"] > 2000
