"""What all tests share: the engines."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Workers take file after file; one of them takes all that names Spark, so that there is one Spark."""
    from xdist.scheduler import LoadScopeScheduling

    class OneSpark(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if "spark" in nodeid else nodeid if "test_bench" in nodeid else nodeid.partition("::")[0]

    return OneSpark(config, log)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """One engine after the other."""
    return str(request.param)
