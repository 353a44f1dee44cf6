"""Random rows of two keys, for stages and queries that ask nothing else of them: late ones, some taken back, promises."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from afa import Punctuation, insert, retract


def stream(random: Random, row: Callable[[str], Any], n: int = 40, taken_back: float = 0.3) -> list[Any]:
    """Changes and promises; no two rows of a key, which ``row`` makes with a field k, share an instant."""
    found, force, promised = list[Any](), list[Any](), 0
    for _ in range(n):
        taken = {(change.payload.k, change.le) for change in force}
        free = [(k, le) for k in "ab" for le in range(promised, promised + 12) if (k, le) not in taken]
        late = [change for change in force if change.le >= promised]
        if late and random.random() < taken_back:
            change = random.choice(late)
            force.remove(change)
            found.append(retract(change.payload, change.le))
        elif random.random() < 0.1:
            promised += random.randrange(4)
            found.append(Punctuation(promised))
        elif free:
            k, le = random.choice(free)
            force.append(insert(row(k), le))
            found.append(force[-1])
    return found
