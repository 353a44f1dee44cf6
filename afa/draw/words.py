"""Describe an arc in words, for pictures and tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from afa.draw.arc_source import text_of
from afa.model.arc import CONSUME, EPSILON, SKIP, TIMEOUT, Arc, always
from afa.model.automaton import Automaton

KINDS = {CONSUME: "consume", SKIP: "skip", EPSILON: "epsilon", TIMEOUT: "time-out"}


def kind_of(arc: Arc) -> str:
    """Return ``consume``, ``ignorable``, ``skip``, ``epsilon`` or ``time-out``."""
    return "ignorable" if arc.ignorable and arc.kind == CONSUME else KINDS[arc.kind]


def fence_of(arc: Arc) -> str:
    """Return the fence as text; of a time-out its instant; empty where an epsilon arc states none."""
    if arc.kind == TIMEOUT:
        return f"at {function_text(arc.at)}"
    return "" if arc.fence is always else function_text(arc.fence)


def function_text(function: Callable[..., Any]) -> str:
    """Return the text of a function, or its name where there is no source."""
    name = getattr(function, "__name__", None)
    return text_of(function) or (name if isinstance(name, str) else type(function).__name__)


def final_states(automaton: Automaton) -> frozenset[str]:
    """Return the final states, those that an arc brings by ``final=True`` among them."""
    return automaton.final.union(arc.dst for arc in automaton.arcs if arc.final)
