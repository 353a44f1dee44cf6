"""Long mixes: random worlds of many changes over few instants, of automata that wait along ignorable arcs.

What a change leaves behind may be wrong only under later ones: an insertion ends a run, its retraction lets it go on, another one
takes the run's own event out. So two of five changes take an event back, and a third of these put another one in its place.
"""

from __future__ import annotations

from typing import Any

from punctuation.time import FOREVER
from tests import strategies
from tests.strategies import Choices
from tests.stress.generate import MIXES, World, follow, in_tables, operations

LENGTHS = [(8, 20)] * 10 + [(8, 40)] * 5 + [(8, 60)] * 4
LONG = [(8, 20), (8, 40), (8, 60), (20, 60), (60, 120)]
"""How many operations a world has; those of the second kind where each is one change of an event and no more."""

PLAIN: dict[str, Any] = {"order_by": None, "key": None, "alone": True, "batches": 0, "saves": 0}
"""Where nothing but single changes happens, what one leaves behind stays for the longest time: every other world is such a one."""


def mix(choose: Choices, steps: int | None = None, family: Choices | None = None) -> dict[str, Any]:
    """The spec of a random world; its automaton and its options are what ``family`` chooses, so that several may share them."""
    spec = setting(family or choose)
    here = World(spec)
    length = steps or choose.number(*choose.one(LONG if PLAIN.items() <= spec["options"].items() else LENGTHS))
    while len(spec["ops"]) < length:
        follow(here, operations(choose, here))
    if choose.chance(10):
        spec["ops"].append(("punctuate", FOREVER))
    return spec


def setting(choose: Choices) -> dict[str, Any]:
    """The spec of a world without operations."""
    plain = choose.chance(50)
    about = "mix" if plain else choose.one(list(MIXES))
    automaton = strategies.chain(choose)
    width = strategies.width_of(automaton)
    states = sorted({state for arc in automaton["arcs"] for state in (arc["src"], arc["dst"])})
    extra = [come_and_go(choose, width, states, f"x{i}") for i in range(choose.number(1, 3) if MIXES[about]["arc"] else 0)]
    spec: dict[str, Any] = {"automaton": automaton, "extra": extra, "options": options(choose, about), "ops": []}
    if plain:
        spec["options"] |= PLAIN
    elif choose.chance(50):
        in_tables(spec)
    return spec


def come_and_go(choose: Choices, width: int, states: list[str], name: str) -> dict[str, Any]:
    """The spec of an arc that is not there from the beginning: every other one is ignorable."""
    state = choose.one(states)
    if choose.chance(50):
        loop = strategies.thin({"src": state, "dst": state, "fence": strategies.letter(choose, width), "name": name})
        return strategies.as_skip(choose, loop, width)
    return strategies.arc(choose, width, states, name, final=choose.chance(20))


def options(choose: Choices, about: str) -> dict[str, Any]:
    """The options of an operator, and how its changes come."""
    return {
        "window": choose.one([None, 4, 9, 30]),
        "order_by": choose.one([None] * 9 + ["seq"]),
        "arc_punctuation": about == "mix with all" and choose.chance(50),
        "late": choose.one(["raise", "raise", "drop", "callback"]),
        "key": choose.one([None] * 3 + ["seq"]),
        "horizon": choose.one([5, 7, 8, 10, 12]),
        "style": choose.one(["window", "window", "mixed"]),
        "about": about,
        "alone": choose.chance(60),
        "batches": choose.one([0, 5, 30]),
        "saves": choose.one([0, 2, 6]),
        "sizes": choose.one([3, 3, 8]),
    }
