"""Lanes of tests, by measured time: `make lanes` writes `slow.txt`, of which `make fast` runs nothing.

A test function is slow if one of its cases takes longer than CASE, or all of them longer than ALL. One in the fast lane that takes
longer than GROWN there fails: it has outgrown its lane, and belongs in the list.
"""

from __future__ import annotations

from collections.abc import Iterator
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


def slow() -> frozenset[str]:
    """Return the names of the functions that are slow."""
    return frozenset(NAMES.read_text(encoding="utf-8").split()) if NAMES.exists() else frozenset()


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
        found = {name for name, longest in self.longest.items() if longest > CASE or self.all[name] > ALL}
        kept = {name for name in slow() - self.longest.keys() if (ROOT / name.partition("::")[0]).exists()}
        NAMES.write_text("".join(f"{name}\n" for name in sorted(found | kept)), encoding="utf-8")


class Watch:
    """A plugin that fails a test of the fast lane that has outgrown it."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Iterator[None]:
        report: Any = yield
        if call.when == "call" and report.passed and call.duration > GROWN:
            report.outcome = "failed"
            report.longrepr = f"expected a test of the fast lane but got one of {call.duration:.1f} s: run `make lanes`"
        return report
