"""A sample of the random queries x streams, in the normal suite; the long run: ``python -m tests.worlds queries``."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from afa.errors import AutomatonError
from afa.language.pattern import Component, Either, Gap, Pattern, Repeat, Seq
from afa.language.positions import Positions
from tests.language import worlds
from tests.language.oracle import enter, leave
from tests.language.trees import Maker
from tests.language.worlds import WORLDS
from tests.strategies import Seeded


def test_queries(turns: str) -> None:
    seen = WORLDS.run("sample of all", range(64), turns, more_than={"matches": 66, "retractions": 33}, family=1)
    assert seen["declined"] < 4, seen


def test_the_longest(turns: str) -> None:
    seen = WORLDS.run("longest", range(20), turns, longest=True, more_than={"matches": 33})
    assert seen["declined"] < 4, seen  # it chooses


def test_a_planted_fault_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    right = worlds.counted

    def forgetful(*arguments: Any) -> Any:
        return Counter({match: n for match, n in right(*arguments).items() if match[1] % 3})

    monkeypatch.setattr(worlds, "counted", forgetful)
    numbered = (WORLDS.generate("planted", i, kind="plain") for i in range(12))
    found = [here for here in numbered if WORLDS.failure(here, "interpreted")]
    assert found
    assert len(WORLDS.shrunk(found[0], "interpreted").ops) <= 2


def test_positions_follow_each_other_as_the_oracle_goes() -> None:
    """Which components a match can take one after the other, over which gaps: up to three of each pattern."""
    for number in range(200):
        make = Maker(Seeded(f"positions {number}"), "mixed", True, True)
        make.negations = 60
        pattern = make.row([make.component(), make.grouped(3), make.component()])
        assert by_positions(pattern) == by_oracle(pattern), (number, pattern)


def test_alternatives_that_take_nothing_do_not_multiply_without_end() -> None:
    def left_out(i: int) -> Pattern:
        def side(name: str) -> Pattern:
            parts = [Repeat(Component(f"{name}{place}{i}"), 0, 1) for place in "pq"]
            return Seq((parts[0], parts[1]), (Gap("any", (Component(f"no {name}{i}"),)),))

        return Either((side("x"), side("y")))

    def row(n: int) -> Pattern:
        return Seq((Component("a"), *map(left_out, range(n)), Component("z")), (Gap("any"),) * (n + 1))

    assert by_positions(row(3)) == by_oracle(row(3))
    with pytest.raises(AutomatonError, match="at most 16 different negations side by side but got 32 ways to leave them out"):
        Positions.of(row(70))


def by_positions(pattern: Pattern) -> set[tuple[Any, ...]]:
    positions, found = Positions.of(pattern), set[tuple[Any, ...]]()
    ahead = {((positions.components[p].name,), p) for p in positions.first}
    for _ in range(3):
        found |= {way for way, _ in ahead} | {(*way, None) for way, p in ahead if p in positions.last}
        ahead = {
            ((*way, asked((edge.gap,)), positions.components[edge.to].name), edge.to)
            for way, p in ahead
            for edge in positions.edges[p]
        }
    return found


def by_oracle(pattern: Pattern) -> set[tuple[Any, ...]]:
    found = set[tuple[Any, ...]]()
    ahead = {((slot.component.name,), slot.frames) for slot in enter(pattern, (), ()) if slot is not None}
    for _ in range(3):
        ways = [(way, slot) for way, frames in ahead for slot in leave(frames, ())]
        found |= {way for way, _ in ahead} | {(*way, None) for way, slot in ways if slot is None}
        ahead = {((*way, asked(slot.gaps), slot.component.name), slot.frames) for way, slot in ways if slot is not None}
    return found


def asked(gaps: tuple[Gap, ...]) -> tuple[str, frozenset[str]]:
    """What gaps crossed between two neighbours ask: the strategy of the last, and all that is absent in them."""
    return gaps[-1].strategy, frozenset(absent.name for gap in gaps for absent in gap.absent)
