"""What all tests share: the engines."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from tests import lanes, nojit, quick_code
from tests.worlds.kind import ENGINES, IN_TURN

if nojit.DISABLED:
    nojit.install()

# Hundreds of processes that tests start import the library, each worker of Spark another time: half of that is compiling it.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

SEEDS = ("seed", "number", "part")
"""What a property is parametrized by that has many: a sixth of these, no fewer than two, runs by default, the rest are stress."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--lanes", action="store_true", help="measure each test, and write down those that are slow: tests/slow.txt")


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors, but one: PySpark 4.0 and 4.1 leave the sockets of `collect` to the garbage collector. No deadlines."""
    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")
    config.pluginmanager.register(Examples())
    if config.option.lanes and not hasattr(config, "workerinput"):
        config.pluginmanager.register(lanes.Record())
    if not (nojit.DISABLED or "stress" in config.option.markexpr.replace("not stress", "")):
        quick_code.install()
    if "not slow" in config.option.markexpr:
        config.pluginmanager.register(lanes.Watch())
    try:
        spark = version("pyspark")
    except PackageNotFoundError:
        return
    if spark.startswith(("4.0.", "4.1.")):
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


class Examples:
    """A plugin that looks for examples only where a file has one: most of the tree has none, and each file took a millisecond."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Iterator[None]:
        collectors: Any = yield
        if file_path.suffix == ".py" and b">>>" not in file_path.read_bytes():
            return [collector for collector in collectors if not isinstance(collector, DoctestModule)]
        return collectors


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Nothing of what is collected is garbage: to look for some took a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow: ``pytest -m "not slow"``; and the seeds of a property that are for the long runs: ``-m stress``.

    Workers side by side begin with what takes longest, so that they end together.
    """
    slow = lanes.slow()
    for item in items:
        if is_further(item):
            item.add_marker("stress")
        if lanes.function_of(item.nodeid) in slow:
            item.add_marker("slow")
    if "PYTEST_XDIST_WORKER" in os.environ:
        lanes.slowest_first(items, scope_of)


def scope_of(nodeid: str) -> str:
    """What one worker takes at once: a file; all that names Spark, so that there is one Spark; one benchmark."""
    return "spark" if "spark" in nodeid else nodeid if "test_bench" in nodeid else nodeid.partition("::")[0]


def is_further(item: pytest.Item) -> bool:
    """Return whether a test is a property with one seed of many, and not one of those that run by default."""
    return any(
        marker.args[0] in SEEDS and item.callspec.indices[marker.args[0]] not in drawn(len(marker.args[1]))  # type: ignore[attr-defined]
        for marker in item.iter_markers("parametrize")
    )


@cache
def drawn(seeds: int) -> frozenset[int]:
    """The places of the seeds that run by default: spread by the golden ratio, as some tests take turns by ``seed % 2`` or 3.

    Examples
    --------
    >>> [sorted(drawn(n)) for n in (2, 8, 24)], len(drawn(300))
    ([[0, 1], [0, 5], [0, 5, 13, 18]], 50)
    """
    return frozenset(sorted(range(seeds), key=lambda place: place * 0.6180339887 % 1)[: max(2, -(-seeds // 6))])


@pytest.fixture(autouse=True, scope="module")
def kept() -> None:
    """Let what the files before have left be collected no more: it made each full collection a quarter of a second long."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let all go: DuckDB tells at the end of the process of each of its objects that is left. What pytest collects has no more."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Workers take scope after scope, in the order of tests."""
    from xdist.scheduler import LoadScopeScheduling

    class Scopes(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    config.option.loadscopereorder = False
    return Scopes(config, log)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let step functions and loops be compiled for the first event, not for the hundredth."""
    for name in ("WARM", "LONG"):
        monkeypatch.setattr(f"afa.compiled.choices.{name}", 0)


@pytest.fixture(params=[IN_TURN, *(pytest.param(engine, marks=pytest.mark.stress) for engine in ENGINES)])
def turns(request: pytest.FixtureRequest) -> str:
    """An engine for random worlds: each runs on one of them, beside what shares no code with both; all on each are a long run."""
    return str(request.param)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """One engine after the other."""
    return str(request.param)
