"""Aggregates over all paths by going through them, value by value; shares no code with `afa.lineage`."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Any

from afa.lineage import Lineage
from tests.lineage.brute_force import Path


def numbers(paths: Collection[Path]) -> list[str]:
    """The fields that hold a number in some event."""
    payloads = [event.payload for path in paths for _, event in path]
    names = dict.fromkeys(name for payload in payloads for name in getattr(payload, "_fields", ()))
    return [name for name in names if any(isinstance(getattr(payload, name), (int, float)) for payload in payloads)]


def aggregated(paths: Collection[Path], field: str | None, component: str | None) -> tuple[Any, ...]:
    """Number of paths, then count, sum, min and max over all their events."""
    events = [event for path in paths for name, event in path if component in (None, name)]
    if field is None:
        return len(paths), len(events), None, None, None
    values = [getattr(event.payload, field) for event in events]
    values = [value for value in values if value is not None]
    if not values:
        return len(paths), 0, None, None, None
    if any(value != value for value in values):
        return len(paths), len(values), *[float("nan")] * 3
    if all(isinstance(value, int) for value in values):
        return len(paths), len(values), sum(values), min(values), max(values)
    infinite = {value for value in values if value in (float("inf"), float("-inf"))}
    total = sum(infinite) if infinite else float(sum(map(Fraction, values)))
    return len(paths), len(values), total, min(values), max(values)


def check_aggregates(found: Lineage, paths: Collection[Path]) -> None:
    """Assert that a lineage tells the aggregates of these paths: of each field of numbers, over each component and over all."""
    components = {name for path in paths for name, _ in path}
    for field in (None, *numbers(paths)):
        for component in (None, *sorted(components)):
            told, wanted = found.aggregate(field, component), aggregated(paths, field, component)
            same = all(a == b or (a != a and b != b) for a, b in zip(told, wanted))
            assert same, f"{field} of {component}: {told}, in paths {wanted}"
