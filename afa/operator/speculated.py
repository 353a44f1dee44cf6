"""How far an operator speculates, said as its option: a stage in front of it holds back what is too far ahead.

The stage is a `speculation.Cleanse`. The package `speculation` stands above this one, so it is `afa` that says who makes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from afa.errors import SnapshotError
from afa.operator.options import Options

MAGIC = b"AFAC"
"""How a snapshot of an operator with a stage begins."""


class StageMaker:
    """Who makes and restores an operator with a stage in front of it."""

    before: Callable[[Any, Any], Any]
    restored: Callable[[bytes, Callable[[bytes], Any]], Any]


def speculating(make: Callable[..., Any], automaton: Any, options: dict[str, Any]) -> Any:
    """Return the operator with its stage, where ``speculation=`` is said; None: it stands alone."""
    sigma = options.pop("speculation", None)
    if sigma is None:
        return None
    Options(speculation=sigma)  # which checks it
    return StageMaker.before(sigma, make(automaton, **options))


def restored(blob: Any, said: dict[str, Any], alone: Callable[[Any], Any]) -> Any:
    """Return the operator that a blob holds, with a stage or ``alone``.

    Raises
    ------
    SnapshotError
        ``speculation=`` is said, and the operator had no stage.
    """
    sigma = said.pop("speculation", None)
    if isinstance(blob, (bytes, bytearray, memoryview)) and bytes(blob[: len(MAGIC)]) == MAGIC:
        found = StageMaker.restored(bytes(blob), alone)
        if sigma is not None:
            found.stage.sigma = sigma
        return found
    if sigma is not None:
        raise SnapshotError(f"expected a snapshot of an operator with speculation= but got one without, and speculation={sigma!r}")
    return alone(blob)
