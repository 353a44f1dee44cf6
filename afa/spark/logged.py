"""Keep the arcs of a bucket up to date with the arc log and with changed code; each difference is one call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from afa.change import Change
from afa.errors import AutomatonError
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.operator.call import Core
from afa.spark.answer import Fault
from afa.spark.arc_lines import shown
from afa.spark.job import Job
from afa.spark.ledger import Place, Raw
from afa.spark.recipe import Difference, Recipe, said
from afa.spark.versions import INSERT, Line
from afa.state.sound import wanted
from punctuation.time import BEGINNING, FOREVER, as_time

CarryOut = Callable[..., None]
"""``carry_out(work, *args)`` does ``work(*args)`` as one call of the operator."""
log = logging.getLogger("afa.spark")


class Told(NamedTuple):
    """The reports about lines; all buckets find the same."""

    late: list[Change]
    faults: list[Fault]
    notes: list[str]


class Retraction(NamedTuple):
    """The payload of a late retraction."""

    name: str


class Logged:
    """The versions of arcs that lines of the arc log, and the code, have come to.

    Parameters
    ----------
    job : Job
    speaks : bool
        Whether what there is to tell is asked for.
    recipe : Recipe
        That the operator's automaton was made by: its arcs were always in force.
    automaton : Automaton
        The operator's.
    state : list, optional
        What `save` gave last as a whole.
    steps : sequence of list
        What it gave since then.

    Raises
    ------
    SnapshotError, AutomatonError
        They are something else.
    """

    def __init__(
        self,
        job: Job,
        speaks: bool,
        recipe: Recipe,
        automaton: Automaton,
        state: Sequence[Any] | None = None,
        steps: Sequence[Any] = (),
    ) -> None:
        self._job, self._speaks = job, speaks
        self._steps: list[list[Any]] = []  # since the last `save`: [promise, what is kept of lines]
        self._coded = [BEGINNING, 0]  # the last change of the code: when, and how many there were
        if state is None:
            self._place = Place(job, recipe, automaton)
            return
        packed, self._coded = state
        wanted("lines of an arc log", type(packed) is bytes, packed)
        for number in self._coded:
            as_time(number, "change of the code")
        self._place = Place(job, recipe, automaton, packed)
        if steps:
            self._place.replay(steps)

    def run(self, core: Core, lines: Iterable[Raw], promised: int, carry_out: CarryOut, code: Sequence[Any] = ()) -> Told:
        """Let the promise move, and lines come, in any order: those of the log, and those that `of_code` gave."""
        told, lines = Told([], [], []), list(lines)
        if not lines and not code and not (self._speaks and self._overdue(promised)):
            return told  # a promise alone changes nothing until then: so all buckets are at one place in the log
        step = self._place.step(promised, lines, code)
        self._steps.append([promised, step.kept])
        self._tell_idle(step.idle, step.names, told)
        for reason, raw in step.bad:
            self._fault(told, reason, raw)
        for line in step.clashes:
            self._fault(told, "expected one line of an id but got two that differ; the earlier one counts", line.source, line.at)
        told.late.extend(map(_late, step.late))
        told.notes.extend(step.notes)
        if step.gone or step.come:
            carry_out(core.run_arcs, step.gone, step.come, self.table(core.progress.final))
        return told

    def rest(self) -> Told:
        """Return what is to be told where nothing comes any more: retractions that have ended nothing."""
        told, step = Told([], [], []), self._place.step(FOREVER, [])
        self._tell_idle(step.idle, step.names, told)
        return told

    def of_code(self, found: Difference, present: int) -> tuple[list[Any], str]:
        """Return the lines that a changed code comes to, and what is to be told of it."""
        present, n = max(present, self._coded[0]), self._coded[1] + 1
        self._coded = [present, n]
        told = f"the job has changed since the checkpoint; from {present} on {said(found)}"
        log.warning("%s", told)
        return [["end", text, present, n] for text in found.gone] + [["insert", text, present, n] for text in found.new], told

    def _overdue(self, promised: int) -> bool:
        """Return whether there are retractions that have ended nothing and never will."""
        waits = self.waits
        return waits is not None and waits < promised

    @property
    def waits(self) -> int | None:
        """The earliest instant of a retraction that has ended nothing yet: it is told when the promise has passed it."""
        return self._place.ledger.waits

    def table(self, final: int) -> ArcTable:
        """Return what the operator has in force when it has passed on a promise."""
        return self._place.ledger.table(final)

    def save(self, incremental: bool) -> list[Any]:
        """Return all that there is to be kept, as plain data; or what has come since the last time."""
        steps, self._steps = self._steps, []
        return steps if incremental else self.whole()

    def whole(self) -> list[Any]:
        """Return all that there is to be kept, as plain data."""
        return [self._place.ledger.packed, self._coded]

    def _tell_idle(self, lines: Sequence[Line], names: Sequence[str], told: Told) -> None:
        for line in lines:
            there = ", ".join(names) or "none"
            self._fault(told, f"expected an arc in force but got {line.name!r}; in force: {there}", line.source, line.at)

    def _fault(self, told: Told, reason: str, what: Any, le: int | None = None) -> None:
        if self._job.stop_on_fault:
            raise AutomatonError(f"{reason[:2000]} (in {shown(what)})")
        told.faults.append(Fault(reason[:2000], shown(what), None, le))


def _late(line: Line) -> Change:
    """Return a line behind the promise, as a change."""
    if line.op == INSERT:
        return Change(line.arc, line.at, line.until)
    return Change(Retraction(line.name), line.at, None, -1)
