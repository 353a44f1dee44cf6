"""A sample of random temporal patterns; more: python -m tests.situations.pattern_worlds --worlds 10000 --seed 1."""

from __future__ import annotations

from typing import Any

import pytest

from tests.situations.pattern_worlds import run


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_sample(first: int) -> None:
    checked = sum(run(5_000_000 + i, "interpreted")[1] for i in range(first, first + 25))
    assert checked > 25


def test_sample_compiled() -> None:
    assert sum(run(6_000_000 + i, "compiled")[1] for i in range(20)) > 20


@pytest.mark.stress
def test_more(engine: Any) -> None:
    assert sum(run(7_000_000 + i, engine)[1] for i in range(2000)) > 2000
