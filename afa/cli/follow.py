"""Follow an arc log while ``afa run`` runs: one poll with each batch, before its rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from afa.arclog.about import put_about
from afa.arclog.arc_log import ArcLog, Poll
from afa.arclog.log_folder import place_of
from afa.cli.fault import tell
from afa.errors import QueryError
from afa.io.text_files import in_one_line
from afa.model.automaton import Automaton
from afa.operator.contract import Pattern

L = TypeVar("L")


def opened_log(folder: str | Path, make: Callable[[], L]) -> L:
    """Return what ``make`` makes of a folder; say so where it was not there before."""
    there = Path(folder).is_dir()
    with in_one_line(str(folder)):
        found = make()
    if not there:
        tell(f"{folder}: an empty arc log was made there", "arcs", "info")
    return found


def make_log(folder: str, pattern: Pattern | None, tick: str | None) -> None:
    """Make the folder before the first row has come, so that others can list and write its lines.

    It says what the arcs are, too, if ``pattern`` has them; the file of a query has none before its columns are known.
    """
    opened_log(folder, lambda: Path(folder).mkdir(parents=True, exist_ok=True))
    automaton = automaton_of(pattern)
    if automaton is not None:
        with in_one_line(folder):
            put_about(Path(folder), automaton, tick)


def automaton_of(pattern: Pattern | None) -> Automaton | None:
    """Return the automaton of a pattern; None: it is known with the columns of the input only."""
    with contextlib.suppress(QueryError):  # words without an event class
        return None if pattern is None else pattern.automaton
    return None


class Follow:
    """The folder of ``--arcs``, which is made if it is not there."""

    def __init__(self, folder: str, automaton: Automaton, tick: str | None, job: str) -> None:
        self._log = opened_log(folder, lambda: ArcLog(folder, automaton, job=job))
        with in_one_line(folder):
            put_about(self._log.path, automaton, tick)
        self._folder = folder
        self._last = Poll(self._log)

    def poll(self) -> Poll:
        self._last = Poll(self._log)
        return self._last

    def tell(self) -> None:
        """Write back what has become of the lines of the last poll, and say what it has told."""
        self._log.answer(self._last)
        for told in self._last.told:
            tell(f"{self._folder}: {told}", "arcs")

    def finish(self) -> None:
        """Say which lines were never whole."""
        for raw in self._log.folder.open:
            tell(f"{self._folder}: {place_of(raw)}: expected a whole line but got one that no newline ends", "arcs")
