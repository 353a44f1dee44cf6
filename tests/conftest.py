"""What all tests share: the engines."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pytest

from tests import nojit

if nojit.DISABLED:
    nojit.install()

ENGINES = ("interpreted", "compiled")
"""Each meaning is tested on each of them."""


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors, but one: PySpark 4.0 and 4.1 leave the sockets of `collect` to the garbage collector."""
    try:
        spark = version("pyspark")
    except PackageNotFoundError:
        return
    if spark.startswith(("4.0.", "4.1.")):
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """One engine after the other."""
    return str(request.param)
