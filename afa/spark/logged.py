"""The arcs of a bucket: what the lines of the arc log, and a changed code, have made of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence

from afa.arc import Arc
from afa.core import Core
from afa.errors import AutomatonError
from afa.spark.answer import Fault
from afa.spark.arcs import ArcLine, carried_out
from afa.spark.job import Job
from afa.spark.recipe import Difference, arc_text, said

Take = Callable[..., None]
"""``take(what, le, work, *args)`` carries out ``work(*args)`` as one call; what it raises is a fault of ``what`` at ``le``."""
log = logging.getLogger("afa.spark")


class Logged:
    """The lines of the arc log whose arcs may be in force.

    Parameters
    ----------
    job : Job
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._lines: dict[str, Arc] = {}  # insertions

    def read(self, lines: Sequence[str]) -> list[Arc]:
        """Be what the state says; the arcs of these lines."""
        self._lines = {line: arc for line in lines if (arc := ArcLine.parse(line).arc) is not None}
        return list(self._lines.values())

    def lines(self, core: Core) -> list[str]:
        """The lines that the state needs."""
        kept = {id(event.arc) for event in core.arcs.table.events}
        self._lines = {line: arc for line, arc in self._lines.items() if id(arc) in kept}
        return list(self._lines)

    def follow_code(self, core: Core, found: Difference, take: Take) -> tuple[list[str], str]:
        """Let the arcs that the code has no more end at the present; lines of those that come, and what is to be told."""
        present = max(core.progress.now, core.progress.events)
        told = f"the code has changed since the checkpoint; from {present} on {said(found)}"
        log.warning("%s", told)
        for text in found.gone:
            own = [e.arc for e in core.arcs.table.events if e.re > present and arc_text(e.arc, core.automaton) == text]
            if own:
                take(text, present, core.end_arc_within, own[-1], present)
        return [json.dumps({**line, "at": present}) for line in found.new], told

    def take(self, core: Core, lines: Iterable[str], faults: list[Fault], take: Take) -> None:
        """Carry out lines of the arc log, in any order; those that are bad are told."""
        for line, found in self._parsed(lines, faults):
            take(line, found.at, carried_out, core, found)
            if found.arc is not None:
                self._lines[line] = found.arc

    def _parsed(self, lines: Iterable[str], faults: list[Fault]) -> list[tuple[str, ArcLine]]:
        """The lines that are arcs, in order."""
        found: list[tuple[str, ArcLine]] = []
        for line in dict.fromkeys(lines):
            try:
                parsed = ArcLine.parse(line)
                if parsed.arc is not None:
                    self._job.check_arc(parsed.arc)
                found.append((line, parsed))
            except AutomatonError as error:
                if self._job.stop_on_fault:
                    raise
                faults.append(Fault(str(error), line))
        return sorted(found, key=lambda item: (item[1].at, item[1].sequence, item[0]))
