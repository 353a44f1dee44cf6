"""Patterns that are no automaton, and make the operator that matches them: with stages around one of an automaton."""

from __future__ import annotations

from typing import Any


def makes_operators(pattern: Any) -> bool:
    """Return whether a pattern makes an operator of itself, by ``as_operator(key, options)``; a `TemporalPattern` does."""
    return hasattr(type(pattern), "as_operator")
