"""Sizes of patterns: how many events a pattern takes, how many each component, and how many lie before a variable."""

from __future__ import annotations

import math

from afa.language.pattern import Component, Either, Pattern, Repeat, Seq


def least_of(pattern: Pattern) -> int:
    """Return the least number of rows that a pattern takes."""
    return _sizes(pattern)[0]


def _sizes(pattern: Pattern) -> tuple[int, int | None]:
    match pattern:
        case Component():
            return 1, 1
        case Seq(items):
            sizes = [_sizes(item) for item in items]
            most = [size[1] for size in sizes]
            return sum(size[0] for size in sizes), None if None in most else sum(m or 0 for m in most)
        case Either(items):
            sizes = [_sizes(item) for item in items]
            most = [size[1] for size in sizes]
            return min(size[0] for size in sizes), None if None in most else max(m or 0 for m in most)
    least, largest = _sizes(pattern.item)
    return least * pattern.low, None if pattern.high is None or largest is None else largest * pattern.high


def counts_of(pattern: Pattern) -> dict[str, tuple[float, float]]:
    """Returns how many events each component takes at least and at most."""
    match pattern:
        case Component():
            return {pattern.name: (1, 1)}
        case Repeat(item, low, high):
            most = math.inf if high is None else high
            return {name: (few * low, many * most) for name, (few, many) in counts_of(item).items()}
    parts = [counts_of(item) for item in pattern.items]
    found = {name: [part.get(name, (0, 0)) for part in parts] for part in parts for name in part}
    least, largest = (sum, sum) if isinstance(pattern, Seq) else (min, max)
    return {name: (least(few for few, _ in counts), largest(many for _, many in counts)) for name, counts in found.items()}


def places_of(pattern: Pattern) -> dict[str, tuple[int, int | None]]:
    """Return of each variable how many rows lie before its first one, at least and at most."""
    found: dict[str, tuple[int, int | None]] = {}

    def visit(part: Pattern, least: int, most: int | None) -> None:
        match part:
            case Component(name):
                if name in found:
                    old = found[name]
                    least, most = min(least, old[0]), None if most is None or old[1] is None else max(most, old[1])
                found[name] = least, most
            case Seq(items):
                for item in items:
                    visit(item, least, most)
                    low, high = _sizes(item)
                    least, most = least + low, None if most is None or high is None else most + high
            case Either(items):
                for item in items:
                    visit(item, least, most)
            case Repeat(item, _, high):
                visit(item, least, most if high == 1 else None)

    visit(pattern, 0, 0)
    return found
