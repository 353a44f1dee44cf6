"""Stages around an operator: that of its option ``speculation=``, a `speculation.Cleanse` in front of it, and those in a snapshot.

The package `speculation` stands above this one, so it is `afa` that says who makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from afa.operator.options import Options

MAGIC = b"AFAC"
"""How a snapshot of an operator with stages begins."""


class StageMaker:
    """Who makes and restores an operator with stages around it: functions of `speculation.layers`, by `afa.METHODS`."""

    before: Callable[[Any, Any], Any]
    restore: Callable[..., Any]


def speculating(make: Callable[..., Any], automaton: Any, options: dict[str, Any]) -> Any:
    """Return the operator with its stage, where ``speculation=`` is said; None: it stands alone."""
    sigma = options.pop("speculation", None)
    if sigma is None:
        return None
    Options(speculation=sigma)  # which checks it
    return StageMaker.before(sigma, make(automaton, **options))


def restored(blob: Any, said: dict[str, Any], alone: Callable[[Any], Any], stages: Iterable[Any] = ()) -> Any:
    """Return the operator that a blob holds, with its stages or ``alone``; see `speculation.layers.restore`."""
    sigma = said.pop("speculation", None)
    (only,) = blob if isinstance(blob, (list, tuple)) and len(blob) == 1 else (blob,)
    there = isinstance(only, (bytes, bytearray, memoryview)) and bytes(only[: len(MAGIC)]) == MAGIC
    if there or sigma is not None or stages != ():
        return StageMaker.restore(blob, alone, (), stages, sigma)
    return alone(blob)
