"""Stages around an operator: those of its options `afa.operator.options.IN_FRONT`, and those in a snapshot.

The package `speculation` stands above this one, so it is `afa` that says who makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from afa.operator.options import IN_FRONT, Options

MAGIC = b"AFAC"
"""How a snapshot of an operator with stages begins."""


class StageMaker:
    """Who makes and restores an operator with stages around it: functions of `speculation.layers`, by `afa.METHODS`."""

    before: Callable[[dict[str, Any], Any], Any]
    restore: Callable[..., Any]


def speculating(make: Callable[..., Any], automaton: Any, options: dict[str, Any]) -> Any:
    """Return the operator with the stages in front of it that options say; None: it stands alone."""
    said = {name: value for name in IN_FRONT if (value := options.get(name)) is not None}
    if not said:
        return None
    Options(**options)  # which checks them
    alone = {name: value for name, value in options.items() if name not in IN_FRONT}
    return StageMaker.before(said, make(automaton, **alone))


def restored(blob: Any, said: dict[str, Any], alone: Callable[[Any], Any], stages: Iterable[Any] = ()) -> Any:
    """Return the operator that a blob holds, with its stages or ``alone``; see `speculation.layers.restore`."""
    front = {name: said.pop(name) for name in IN_FRONT if name in said}
    (only,) = blob if isinstance(blob, (list, tuple)) and len(blob) == 1 else (blob,)
    there = isinstance(only, (bytes, bytearray, memoryview)) and bytes(only[: len(MAGIC)]) == MAGIC
    if there or front or stages != ():
        return StageMaker.restore(blob, alone, (), stages, front)
    made = alone(blob)
    return made if made._core.old_ids is None else StageMaker.restore(blob, lambda _: made)
