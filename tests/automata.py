"""Automata that cases and tests name: `two_vees`, and small ones over `E` (see `tests.text`).

Each arc of the small ones is named ``src-dst``; kinds of events stand for letters: 0 opens, 1 closes, 2 is noise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa import Automaton
from tests.text import automaton_of
from tests.two_vees import Tick, Vees, two_vees

__all__ = ["Tick", "Vees", "two_vees"]


class Log(NamedTuple):
    """An event of a log."""

    kind: str
    id: int


class Number(NamedTuple):
    """An event of one number."""

    n: int


class Count(NamedTuple):
    """A register that counts."""

    n: int = 0


class Total(NamedTuple):
    """A register that adds up."""

    total: int = 0


def small(start: str, final: str, *arcs: dict[str, Any], register: str | None = None, event: str | None = "E") -> Automaton:
    """An automaton from one-letter states: ``small("a", "c", arc("a", "b", "e.kind == 0"), ...)``."""
    return automaton_of({"start": start, "final": list(final), "arcs": arcs, "register": register, "event": event})


def arc(src: str, dst: str, fence: str = "True", transfer: str | None = None, **more: Any) -> dict[str, Any]:
    """The spec of an arc, named ``src-dst`` unless told otherwise."""
    return {"src": src, "dst": dst, "fence": fence, "transfer": transfer, "name": f"{src}-{dst}", **more}


opens = arc("a", "b", "e.kind == 0")
closes = arc("b", "c", "e.kind == 1")

pair = small("a", "c", opens, closes)
"""An opening event and right after it a closing one."""

skipping_pair = small("a", "c", opens, arc("b", "b", "e.kind == 2"), closes)
"""The same with noise between them: an ignorable arc."""

tagged_pair = small("a", "c", arc("a", "b", "e.kind == 0", "R1(e.seq)"), closes, register="R1()")
"""The pair, its match carries the opening event's ``seq``."""

triple = small("a", "d", opens, closes, arc("c", "d", "e.kind == 2"))
"""0, 1, 2, one right after the other."""

counting = small("a", "b", arc("a", "b", "e.kind == 0", "R1(1)"), arc("b", "b", "e.kind == 0", "R1(r.x + 1)"), register="R1()")
"""Runs of opening events; each match carries how many."""

silence = small("a", "c", opens, arc("b", "c", kind="timeout", at="5"))
"""An opening event, then nothing until 5 ([AFA10] App. E)."""
