"""Snapshots with a right checksum and something wrong in them.

Each ends in an `AfaError`, or an operator whose ``_check()`` holds, which takes what comes after, and whose next snapshot is good;
within seconds of CPU time, in bounded memory. A process that takes longer, or dies, is a finding as any other exception is.
"""

from __future__ import annotations

import contextlib
import os
import traceback
from functools import lru_cache
from typing import Any
from unittest import mock

from afa import AfaError
from afa.compiled import choices
from afa.operator import snapshot
from tests.strategies import Seeded
from tests.stress.mutate import mutated, opened, packed, sealed
from tests.stress.specimens import Specimen, specimen
from tests.worlds.apart import Apart
from tests.worlds.kind import ENGINES, Seen, Worlds

EACH = 100
"""Mutants of one specimen."""


def mutant(seed: str, number: int, found: Specimen) -> tuple[list[bytes], str]:
    """The blobs of a mutant, and what was done."""
    choose = Seeded(f"{seed}/{number}")
    blobs = list(found.blobs)
    at = choose.number(0, len(blobs) - 1)
    blobs[at], said = mutated(choose, blobs[at])
    for i in range(at + 1, len(blobs)):  # those that follow are still what follows
        body = opened(blobs[i])
        if isinstance(body, list) and len(body) > 7:
            body[7] = snapshot._digest(blobs[i - 1])
            blobs[i] = sealed(blobs[i], packed(body))
    return blobs, said


def judge(found: Specimen, blobs: list[bytes], engine: str) -> str:
    """How a mutant ends: "refused" or "taken". Raises what must not be."""
    try:
        made = found.restore(blobs, engine)
    except AfaError:
        return "refused"
    check(made)
    for step in found.more:
        with contextlib.suppress(AfaError):
            step(made)
        check(made)
    try:
        blob = made.snapshot()
    except AfaError:
        return "taken"
    again = found.restore([blob], engine)
    check(again)
    assert again.snapshot() == blob, "restored, it is another"
    return "taken"


def check(made: Any) -> None:
    """Its invariants, where it has any."""
    if hasattr(made, "_check"):
        made._check()


def numbered(seed: str, number: int) -> tuple[str, int]:
    """The mutant of a number; its snapshots are made where it is judged."""
    return seed, number


def run(world: tuple[str, int], engine: None) -> Seen:
    """Judge a mutant, each second one on the other engine; how it ended."""
    seed, number = world
    found = of_seed(f"{seed}/{number // EACH}")
    blobs, said = mutant(seed, number, found)
    engine_ = ENGINES[number % 2]
    try:
        with mock.patch.object(choices, "WARM", 1 << 60):  # a step function for each would be most of the time
            return Seen({judge(found, blobs, engine_): 1})
    except BaseException as error:
        raise AssertionError(f"{found.kind} ({engine_}), {said}: {told(error)}") from error


of_seed = lru_cache(1)(specimen)


def told(error: BaseException) -> str:
    """An exception in one line, with where it came from."""
    frames = [f"{os.path.basename(f.filename)}:{f.lineno}:{f.name}" for f in traceback.extract_tb(error.__traceback__)]
    return f"{type(error).__name__}: {str(error)[:150]!r} in {' > '.join(frames[-4:])}"


WORLDS = Worlds("damage", numbered, run, engines=(None,), apart=Apart(seconds=5.0, memory=3 << 30))
