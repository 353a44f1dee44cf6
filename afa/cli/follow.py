"""Follow an arc log, or a log of rules, while ``afa run`` runs: one poll with each batch, before its rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from afa.arclog.about import put_about
from afa.arclog.arc_log import ArcLog, Poll
from afa.arclog.lines import ARC, LineKind
from afa.arclog.log_folder import Raw, place_of
from afa.cli.fault import tell
from afa.cli.rule_output import RuleOutput
from afa.errors import QueryError
from afa.io.text_files import in_one_line
from afa.model.automaton import Automaton
from afa.operator.contract import Pattern
from afa.rules.rule_lines import RULE
from afa.rules.rule_log import RuleLog
from afa.rules.rules import Rules

L = TypeVar("L")


def opened_log(folder: str | Path, make: Callable[[], L], kind: LineKind = ARC) -> L:
    """Return what ``make`` makes of a folder; say so where it was not there before."""
    there = Path(folder).is_dir()
    with in_one_line(str(folder)):
        found = make()
    if not there:
        tell(f"{folder}: an empty {kind.log.partition(' ')[2]} was made there", f"{kind.word}s", "info")
    return found


def make_log(folder: str, pattern: Pattern | None, tick: str | None) -> None:
    """Make the folder before the first row has come, so that others can list and write its lines.

    It says what the arcs are, too, if ``pattern`` has them; the file of a query has none before its columns are known.
    """
    make_folder(folder, ARC)
    automaton = automaton_of(pattern)
    if automaton is not None:
        with in_one_line(folder):
            put_about(Path(folder), automaton, tick)


def make_folder(folder: str, kind: LineKind) -> None:
    """Make the folder of a log, if it is not there."""
    opened_log(folder, lambda: Path(folder).mkdir(parents=True, exist_ok=True), kind)


def automaton_of(pattern: Pattern | None) -> Automaton | None:
    """Return the automaton of a pattern; None: it is known with the columns of the input only."""
    with contextlib.suppress(QueryError):  # words without an event class
        return None if pattern is None else pattern.automaton
    return None


class RuleFollow:
    """The folder of ``--rules``, which is made if it is not there; ``form`` makes tables of what its lines bring."""

    def __init__(self, folder: str, rules: Rules, operator: Any, form: RuleOutput, tick: str | None, job: str) -> None:
        self._log = opened_log(folder, lambda: RuleLog(folder, rules, operator, tick=tick, job=job, check=form.check), RULE)
        self._folder, self._form = folder, form

    def brought(self) -> list[Any]:
        """Carry out what was written since; return the changes as tables."""
        steps = self._log.poll()
        while self._log.told:
            tell(f"{self._folder}: {self._log.told.pop(0)}", "rules")
        return [self._form.of_changes(*step) for step in steps if step.changes]

    def finish(self) -> None:
        """Say which lines were never whole."""
        _tell_open(self._folder, self._log.folder.open, "rules")


def _tell_open(folder: str, lines: Iterable[Raw], event: str) -> None:
    for raw in lines:
        tell(f"{folder}: {place_of(raw)}: expected a whole line but got one that no newline ends", event)


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
        _tell_open(self._folder, self._log.folder.open, "arcs")
