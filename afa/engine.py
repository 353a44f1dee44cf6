"""What an engine is: the operator keeps promises, arcs, keys and output; an engine keeps the state of one key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from afa.arctable import ArcTable
from afa.automaton import Automaton
from afa.change import Change
from afa.errors import AfaError
from afa.journal import Journal
from punctuation.progress import Progress


class KeyState(Protocol):
    """The state of one key: one object that can be saved and restored."""

    key: Any
    delta: dict[Any, int]

    @property
    def empty(self) -> bool:
        """Whether nothing is held."""

    def sizes(self) -> tuple[int, int, int, int, int]:
        """Events, partial matches, intervals, matches and pending retractions held."""


class Engine(Protocol):
    """The protocol between the operator and an engine. Every write leaves its inverse in the journal."""

    name: str

    def new(self, key: Any) -> Any:
        """State with nothing in it."""

    def apply(self, s: Any, changes: Iterable[Change]) -> None:
        """The one batch entry point: event changes of one key, checked and not late, in any order."""

    def overdue(self, s: Any, t: int) -> list[Change]:
        """Take out the retractions that waited in vain once ``t`` is promised on the event input."""

    def swap(self, states: Iterable[Any], table: ArcTable, le: int, re: int) -> None:
        """Put a table in force that differs from the last one in ``[le, re)`` only."""

    def tick(self, s: Any) -> None:
        """Follow the clock: time-outs may fire."""

    def clean(self, s: Any) -> None:
        """Drop what the effective punctuation has made final ([AFA10] App. C.1)."""

    def deadline(self, s: Any) -> int | None:
        """The smallest punctuation for which `overdue`, `tick` or `clean` would do anything."""

    def collect(self, s: Any) -> Sequence[Change]:
        """The minimal difference since the last collect, in no order."""

    def save(self, s: Any) -> list[Any]:
        """The state as plain data."""

    def load(self, data: Any) -> Any:
        """The state from plain data; raises ValueError, TypeError or an AfaError where it does not fit."""

    def check(self, s: Any) -> None:
        """Assert the engine's invariants."""


def make_engine(
    name: str, automaton: Automaton, table: ArcTable, progress: Progress, journal: Journal, sequence: str | None
) -> Engine:
    """The engine of that name.

    Raises
    ------
    AfaError
        There is none. ``"compiled"`` is not part of this version; ``"auto"`` takes the interpreted one.
    """
    from afa.interpreted.engine import InterpretedEngine

    if name in ("auto", "interpreted"):
        return InterpretedEngine(automaton, table, progress, journal, sequence)
    hint = "; this version has no compiled engine yet" if name == "compiled" else ""
    raise AfaError(f'expected engine="auto" or "interpreted" but got engine={name!r}{hint}')
