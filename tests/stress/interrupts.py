"""Random worlds whose calls are interrupted at random lines, or with ``--instants`` at random instants.

With stages and without: the state after each is that before it or that after it, and the operator goes on as its twin, which was
left alone. ``--until interrupted=10000`` runs worlds until so many calls of each engine were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from speculation import Cleanse, Consolidate
from tests import interrupts
from tests.around import Wrap
from tests.strategies import Seeded
from tests.stress.generate import world
from tests.worlds.kind import Seen, Worlds

WRAPS: tuple[Wrap | None, ...] = (
    None,
    None,
    None,
    lambda operator: Cleanse(3).before(operator),
    lambda operator: Cleanse(3).after(operator),
    lambda operator: Cleanse.auto(max_chattiness=1.2).before(operator),
    lambda operator: Cleanse.auto(max_chattiness=1.2).after(operator),
    lambda operator: Cleanse.auto(max_delay=3).after(operator),
    lambda operator: Consolidate().after(operator),
    lambda operator: Consolidate("call").after(Cleanse(2).before(operator)),
)
TRIES = 8


def run(seed: Any, number: int, engine: str, interrupt: Callable[..., Any]) -> int:
    """Run one world; how many calls were interrupted."""
    choose = Seeded(f"{seed}/{number}/{engine}/{interrupt.__name__}")
    return interrupts.run(world(Seeded(f"{seed}/{number}")), engine, choose, interrupt, TRIES, choose.one(WRAPS))


def numbered(seed: str, number: int, *, instants: bool = False) -> tuple[str, int, str]:
    """The world of a number, and how it is interrupted: by a function of `tests.interrupts`."""
    return seed, number, "sometime" if instants else "somewhere"


def check(world: tuple[str, int, str], engine: str) -> Seen:
    """Run a world."""
    seed, number, how = world
    return Seen(interrupted=run(seed, number, engine, getattr(interrupts, how)))


WORLDS = Worlds("interrupts", numbered, check)
