"""What an arc log says of each arc, without an operator: which versions its lines come to, and what is wrong with them.

A line that holds from when it is read ("now") holds from the instant that a job has answered. Where none has, it counts as read
when it was written, at the largest instant of the lines before it. What all jobs that are asked have refused is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from afa.arclog.answers import JobAnswers
from afa.arclog.lines import ISO, NOW, as_iso, digest, instant, read_lines
from afa.arclog.log_folder import LogFolder, Raw
from afa.arclog.versions import INSERT, Line, Version, Versions
from afa.errors import AfaError, ChangeError, did_you_mean
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from punctuation.time import BEGINNING, FOREVER


class Listed(NamedTuple):
    """An arc, and from when until when it is in force; ``now``: from when its line is read; ``unread``: no job has read it yet."""

    arc: Arc
    le: int
    re: int
    now: bool = False
    unread: bool = False


class Listing(NamedTuple):
    """What stands in a folder."""

    versions: Versions
    faults: list[tuple[Raw, str]]
    tick: str | None
    unread: frozenset[bytes] = frozenset()  # lines that no job has answered; without jobs those that hold from when they are read

    @classmethod
    def of(cls, path: Path, automaton: Automaton | None, tick: str | None, jobs: Sequence[JobAnswers] = ()) -> Listing:
        """Read a folder.

        Parameters
        ----------
        automaton : Automaton, optional
            Whose arcs these are, if that is known.
        tick : str, optional
            What an int is that does not say it.
        jobs : sequence of JobAnswers
            Whose answers count.
        """
        faults, lines, present, unread = list[tuple[Raw, str]](), list[Line](), BEGINNING, set[bytes]()
        reading = LogFolder(path).read({})
        for raw in sorted(reading.lines, key=_sequence):
            answers = [(job, answer) for job in jobs if (answer := job.of(raw.text)) is not None]
            if answers and len(answers) == len(jobs) and all(answer.since is None for _, answer in answers):
                faults.append((raw, answers[0][1].refused))
                continue
            took = (answer.since for job, answer in answers if answer.since is not None and job.tick == tick)
            since = next(took, present)
            try:
                found = read_lines(raw.text, tick or "us", since)
                for line in found:
                    if line.arc is not None and automaton is not None:
                        automaton.check_arc(line.arc)
            except AfaError as error:
                faults.append((raw, str(error)))
                continue
            lines += found
            if not answers:
                unread.update(line.identity for line in found if jobs or _is_now(line))
            present = max(present, found[-1].at)
        faults += [(Raw(b"", name, 0), reason) for name, reason in reading.faults]
        faults += [(raw, "expected a whole line but got one that no newline ends yet") for raw in reading.open]
        versions = Versions(Version(line, BEGINNING, FOREVER) for line in ([] if automaton is None else _own(automaton)))
        versions.take(lines)
        return cls(versions, faults, tick, frozenset(unread))

    def all(self) -> list[Listed]:
        """Return all versions, by name and beginning."""
        there = [(v, v.line.identity in self.unread) for v in self.versions.all()]
        return [Listed(v.line.arc, v.le, v.re, unread and _is_now(v.line), unread) for v, unread in there]

    def one(self, name: str, at: int | str | None) -> Arc:
        """Return the only arc of a name that is in force at an instant and beyond; None: when a line is read that is written now.

        Raises
        ------
        ChangeError
            No arc has this name, or not then; or more than one will.
        """
        self.last(name)
        found = self.versions.of(name)
        lasting = [v for v in found if v.re == FOREVER] if at is None else []
        if at is not None:
            t = instant(at, "at", self.tick or "us")
            lasting = [v for v in found if v.re > t]
        if len(lasting) == 1 and (at is None or lasting[0].le <= t):
            arc: Arc = lasting[0].line.arc
            return arc
        there = ", ".join(f"{v.line.arc!r} in [{_said(v.le, self.tick)}, {_said(v.re, self.tick)})" for v in lasting or found[-1:])
        when = "from now on" if at is None else f"from {at} on"
        raise ChangeError(f"expected one arc named {name!r} {when} but got {there if lasting else f'none; the last: {there}'}")

    def last(self, name: str) -> Arc:
        """Return the arc of a name that began last; `ChangeError` if no arc has it."""
        found = self.versions.of(name)
        if not found:
            known = sorted(self.versions.names)
            there = ", ".join(map(repr, known)) or "none has a name"
            raise ChangeError(f"expected the name of an arc but got {name!r}{did_you_mean(name, known)}; there are: {there}")
        arc: Arc = found[-1].line.arc
        return arc


def _said(t: int, tick: str | None) -> str:
    return {BEGINNING: "the beginning", FOREVER: "forever"}.get(t) or (as_iso(t, tick) if tick in ISO else str(t))


def _own(automaton: Automaton) -> Iterable[Line]:
    for place, arc in enumerate(automaton.arcs):
        if arc.name is not None:
            identity = digest(["own", place])
            yield Line(BEGINNING, BEGINNING, INSERT, identity, identity, arc.name, FOREVER, arc)


def _sequence(raw: Raw) -> int:
    try:
        found = json.loads(raw.text).get("sequence", 0)
    except (ValueError, RecursionError, AttributeError):
        return 0
    return found if type(found) is int else 0


def _is_now(line: Line) -> bool:
    return line.source is not None and json.loads(line.source)["at"] == NOW
