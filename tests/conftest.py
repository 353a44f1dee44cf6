"""What all tests share: the engines."""

from __future__ import annotations

import pytest

ENGINES = ("interpreted",)
"""Each meaning is tested on each of them."""


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """One engine after the other."""
    return str(request.param)
