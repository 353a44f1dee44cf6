"""Random worlds on an operator, against the oracle after every step.

The net output must equal the oracle, the emitted difference must be minimal, a rejected change must leave no trace, and
``operator._check()`` must hold. ``--about waits`` has worlds of that kind only, ``--mixes`` long mixes of ignorable arcs over few
instants, of which ``--family`` share an automaton, ``--longest`` operators with ``longest=True``. ``--engine both`` changes over to
the other engine with each save, ``each`` has two side by side that do.
"""

from __future__ import annotations

from typing import Any

from tests.strategies import Seeded
from tests.stress import run
from tests.stress.generate import as_longest, world
from tests.stress.mixes import mix
from tests.worlds.kind import Worlds


def numbered(
    seed: str, number: int, *, steps: int = 0, about: str = "", mixes: bool = False, longest: bool = False, family: int = 8
) -> dict[str, Any]:
    """The world of a number; of so many steps, or as many as it chooses."""
    choose, of_family = Seeded(f"{seed}/{number}"), Seeded(f"{seed}/family {number // family}") if family else None
    spec = mix(choose, steps, of_family) if mixes else world(choose, steps or None, about)
    return as_longest(of_family or choose, spec) if longest else spec


WORLDS = Worlds("stress", numbered, run.run, run.smaller, engines=("interpreted",))
