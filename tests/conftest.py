"""What all tests share: the engines."""

from __future__ import annotations

import gc
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest
from hypothesis import settings

from tests import nojit

if nojit.DISABLED:
    nojit.install()

ENGINES = ("interpreted", "compiled")
"""Each meaning is tested on each of them."""

SLOW = (  # beginnings of names, below this folder
    "spark/",  # the bucket is in the cases
    "test_bench",
    # processes, threads, signals, files of megabytes
    *("compiled/test_beside", "test_cli.py", "test_cli_streams", "test_docs", "test_examples", "test_flights", "test_threads"),
    *("test_damage", "test_incremental", "test_interrupts", "test_sizes_of_keys", "uncertain/test_hadoop"),
    # seconds of compilation
    *("compiled/test_code", "compiled/test_lengths", "compiled/test_memory", "compiled/test_steps", "compiled/test_translate"),
    # random runs, beside those that stay: of each kind of thing the cases and a sample of the worlds
    *(
        "test_cleanse_around.py::test_worlds",
        "test_cleanse_auto",
        "test_functions_that_raise",
        "test_promised_tables",
        "test_promises_with_conditions",
    ),
    *("test_small_worlds", "test_state_machine", "test_stress_sample.py::test_long", "test_stress_sample.py::test_worlds_"),
    *("test_engines_agree.py::test_a_fault", "test_engines_agree.py::test_many", "test_faults.py::test_faults_at_random"),
)
"""What `make fast` leaves out: more than a second of CPU each, and seldom the first to fail."""

SEEDS = ("seed", "number", "part")
"""What a property is parametrized by that has many: a third of these, no fewer than two, runs by default, the rest are stress."""


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors, but one: PySpark 4.0 and 4.1 leave the sockets of `collect` to the garbage collector. No deadlines."""
    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")
    try:
        spark = version("pyspark")
    except PackageNotFoundError:
        return
    if spark.startswith(("4.0.", "4.1.")):
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow: ``pytest -m "not slow"``; and the seeds of a property that are for the long runs: ``-m stress``."""
    for item in items:
        if is_further(item):
            item.add_marker("stress")
        if item.nodeid.removeprefix("tests/").startswith(SLOW):
            item.add_marker("slow")


def is_further(item: pytest.Item) -> bool:
    """Return whether a test is a property with one seed of many, and not one of the first."""
    for marker in item.iter_markers("parametrize"):
        if marker.args[0] in SEEDS and (index := item.callspec.indices[marker.args[0]]) >= 2:  # type: ignore[attr-defined]
            return bool(3 * index >= len(marker.args[1]))
    return False


@pytest.fixture(autouse=True, scope="module")
def kept() -> None:
    """Let what the files before have left be collected no more: it made each full collection a quarter of a second long."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let all go: DuckDB tells at the end of the process of each of its objects that is left."""
    gc.unfreeze()
    gc.collect()


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
