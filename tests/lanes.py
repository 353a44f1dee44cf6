"""Lanes of tests, by measured time: `make lanes` writes `slow.txt`, of which `make fast` runs nothing, with its seconds.

A test function is slow if one of its cases takes longer than CASE, or all of them longer than ALL. One in the fast lane that takes
longer than GROWN there fails: it has outgrown its lane, and belongs in the list.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CASE, ALL, GROWN = 0.02, 1.0, 3.0
"""Seconds."""
ROOT = Path(__file__).parents[1]
NAMES = Path(__file__).with_name("slow.txt")


def function_of(nodeid: str) -> str:
    """Return the name of a test without that of its case."""
    return nodeid.partition("[")[0]


def slow() -> dict[str, float]:
    """Return the functions that are slow, with the seconds of all their cases."""
    lines = NAMES.read_text(encoding="utf-8").splitlines() if NAMES.exists() else []
    return {name: float(seconds or 0) for name, _, seconds in (line.partition(" ") for line in lines)}


def slowest_first(items: list[pytest.Item], scope_of: Callable[[str], str]) -> None:
    """Sort tests by how long their scopes take, that of Spark first."""
    known, cases, seconds = slow(), Counter(function_of(item.nodeid) for item in items), defaultdict[str, float](float)
    for item in items:
        name = function_of(item.nodeid)
        seconds[scope_of(item.nodeid)] += known.get(name, 0.0) / cases[name]
    seconds["spark"] = math.inf
    items.sort(key=lambda item: -seconds[scope_of(item.nodeid)])


class Record:
    """A plugin that measures each function, and writes down those that are slow. What was not run keeps its lane."""

    def __init__(self) -> None:
        self.longest: dict[str, float] = {}
        self.all: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = function_of(report.nodeid)
        self.longest[name] = max(self.longest.get(name, 0.0), report.duration)
        self.all[name] = self.all.get(name, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        found = {name: self.all[name] for name, longest in self.longest.items() if longest > CASE or self.all[name] > ALL}
        kept = {name: of for name, of in slow().items() if name not in self.longest and (ROOT / name.partition("::")[0]).exists()}
        lines = (f"{name} {of:.0f}".removesuffix(" 0") + "\n" for name, of in sorted((found | kept).items()))
        NAMES.write_text("".join(lines), encoding="utf-8")


class Watch:
    """A plugin that fails a test of the fast lane that has outgrown it."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Iterator[None]:
        report: Any = yield
        if call.when == "call" and report.passed and call.duration > GROWN:
            report.outcome = "failed"
            report.longrepr = f"expected a test of the fast lane but got one of {call.duration:.1f} s: run `make lanes`"
        return report


def sample(few: int, many: int) -> pytest.MarkDecorator:
    """Give a test the ``numbers`` of a few random worlds, and those of many under ``-m stress``."""
    long = pytest.param(range(many), marks=pytest.mark.stress)
    return pytest.mark.parametrize("numbers", [range(few), long], ids=[str(few), str(many)])
