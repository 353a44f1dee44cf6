"""Patterns that are no automaton, and make the operator that matches them: with stages around one of an automaton."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple


class Spanned(NamedTuple):
    """How long matches last at most, in ticks, and the fields of which the least is where one begins."""

    within: int
    starts: Sequence[str]


def makes_operators(pattern: Any) -> bool:
    """Return whether a pattern makes an operator of itself, by ``as_operator(key, options)``; a `TemporalPattern` does."""
    return hasattr(type(pattern), "as_operator")


def signed(cls: Any) -> Any:
    """Let the signature of a class of operators be that of its ``__init__``, though other patterns come first to ``__new__``."""
    _, *parameters = inspect.signature(cls.__init__).parameters.values()
    cls.__signature__ = inspect.Signature(parameters)
    return cls
