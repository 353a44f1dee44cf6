"""Sizes of row patterns: how many rows a pattern takes, and how many lie before a variable."""

from __future__ import annotations

from dataclasses import replace

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


def times_of(pattern: Pattern, name: str) -> int | None:
    """Return how often a match takes a variable at most. None: no bound is known."""
    match pattern:
        case Component():
            return int(pattern.name == name)
        case Seq(items):
            times = [times_of(item, name) for item in items]
            return None if None in times else sum(n or 0 for n in times)
        case Either(items):
            times = [times_of(item, name) for item in items]
            return None if None in times else max(n or 0 for n in times)
    inner = times_of(pattern.item, name)
    if inner == 0:
        return 0
    return None if inner is None or pattern.high is None else inner * pattern.high


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


def with_components(pattern: Pattern, slots: dict[str, Component]) -> Pattern:
    """Return a pattern with these components in the place of those of their names."""
    if isinstance(pattern, Component):
        return slots.get(pattern.name, pattern)
    if isinstance(pattern, Repeat):
        return replace(pattern, item=with_components(pattern.item, slots))
    return replace(pattern, items=tuple(with_components(item, slots) for item in pattern.items))
