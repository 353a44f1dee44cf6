"""Sets of rules beside operators of their own, made anew after every call: random worlds, and that they meet what they are for."""

from __future__ import annotations

import pytest

from tests.rules.set_worlds import WORLDS

RARE = ("put aside", "added in the past, with matches", "removed in the past, with matches", "restored: dropped")
OFTEN = ("matches", "withdrawn", "ended rule changed", "add", "remove", "replace", "restored: went on", "late", "watermarks")


def test_random_sets() -> None:
    WORLDS.run("1", range(2), more_than={"matches": 10, "list": 3})


def test_more_random_sets() -> None:
    WORLDS.run("2", range(12), more_than={"matches": 100, "withdrawn": 8, "add": 3, "remove": 3, "replace": 3, "watermarks": 5})


@pytest.mark.stress
@pytest.mark.parametrize("part", range(4))
def test_many_random_sets(part: int) -> None:
    """In one world of four at least late rows change what a rule has told that has ended."""
    n = 100
    seen = WORLDS.run("3", range(part * n, part * n + n), more_than={**dict.fromkeys(RARE, 5), **dict.fromkeys(OFTEN, n)})
    changed = seen["worlds with late rows that change ended rules"]
    assert changed > 2 * n / 4, seen
