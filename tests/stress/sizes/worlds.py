"""Random worlds of many keys whose states grow and shrink through every size, on both engines and the oracle.

``--family`` worlds share an automaton. They run in processes of their own: one that dies is told with its number.
"""

from __future__ import annotations

from tests.strategies import Seeded
from tests.stress.sizes.generate import Spec, world
from tests.stress.sizes.run import run, smaller
from tests.worlds.apart import Apart
from tests.worlds.kind import Worlds


def numbered(seed: str, number: int, *, family: int = 50) -> Spec:
    """The world with a number."""
    return world(Seeded(f"sizes/{seed}/{number}"), Seeded(f"sizes/{seed}/family {number // family}"))


WORLDS = Worlds("sizes", numbered, lambda spec, engine: run(spec), smaller, engines=(None,), apart=Apart())
