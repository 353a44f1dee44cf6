"""How much of a `Sequence` with a Kleene closure its confidences take: the functions that compute them are timed for a while."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from afa.extra.uncertain import signatures
from afa.extra.uncertain.chain_confidence import GrowingClosure

TIMED: tuple[tuple[Any, str], ...] = (
    *((signatures, name) for name in ("begin", "extend", "confidence")),
    *((GrowingClosure, name) for name in ("of", "with_more", "mass")),
)


class Spent:
    """The seconds of process CPU time so far."""

    seconds = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that adds what it takes."""

        def call(*arguments: Any, **options: Any) -> Any:
            begin = time.process_time_ns()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds += (time.process_time_ns() - begin) / 1e9

        return call


@contextlib.contextmanager
def confidence_time() -> Iterator[Spent]:
    """Time confidences of lists of events within the block."""
    spent, before = Spent(), [(owner, name, vars(owner)[name]) for owner, name in TIMED]
    try:
        for owner, name, function in before:
            of_class = isinstance(function, classmethod)
            timed = spent.timed(function.__func__ if of_class else function)
            setattr(owner, name, classmethod(timed) if of_class else timed)
        yield spent
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)
