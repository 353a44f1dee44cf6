"""What all tests share: the engines."""

from __future__ import annotations

import pytest

from tests import nojit

if nojit.DISABLED:
    nojit.install()

ENGINES = ("interpreted", "compiled")
"""Each meaning is tested on each of them."""


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """One engine after the other."""
    return str(request.param)
