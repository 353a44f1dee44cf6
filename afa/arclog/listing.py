"""What an arc log says of each arc, without an operator: which versions its lines come to, and what is wrong with them.

A line that holds from when it is read ("now") holds from the instant that a job has answered. Where none has, it counts as read
when it was written, at the largest instant of the lines before it. What all jobs that are asked have refused is left out.

An arc that only a line ends which no job has read is in force in the jobs that are asked, so it is listed as in force until then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from afa.arclog.answers import JobAnswers
from afa.arclog.lines import ARC, NOW, LineKind, digest, object_in, read_lines
from afa.arclog.log_folder import LogFolder, Raw
from afa.arclog.versions import INSERT, LineVersion, LogLine, Versions
from afa.errors import AfaError, ChangeError, did_you_mean
from afa.model.automaton import Automaton
from afa.model.instant_texts import ISO, as_iso, instant
from punctuation.time import BEGINNING, FOREVER

WHEN_READ = "when it is read"


class Listed(NamedTuple):
    """An arc, and from when until when it is in force; ``now``: from when its line is read; ``unread``: no job has read it yet.

    ``ends_now`` and ``end_unread`` say the same of the line that ends it. ``re`` of what ends when a line is read is as if there
    were no such line.
    """

    arc: Any
    le: int
    re: int
    now: bool = False
    unread: bool = False
    ends_now: bool = False
    end_unread: bool = False


class Listing(NamedTuple):
    """What stands in a folder; ``versions``: what its lines come to once all of them are read."""

    versions: Versions
    faults: list[tuple[Raw, str]]
    tick: str | None
    unread: frozenset[bytes] = frozenset()  # lines that no job has answered; without jobs those that hold from when they are read
    asked: bool = False  # whether there are jobs whose answers count
    kind: LineKind = ARC

    @classmethod
    def of(cls, path: Path, automaton: Automaton | None, tick: str | None, jobs: Sequence[JobAnswers] = ()) -> Listing:
        """Read a folder; ``tick`` is that of ints that do not say it, ``jobs`` are those whose answers count."""
        check, own = (None, ()) if automaton is None else (automaton.check_arc, [(arc.name, arc) for arc in automaton.arcs])
        return cls.of_kind(path, ARC, own, check, tick, jobs)

    @classmethod
    def of_kind(
        cls,
        path: Path,
        kind: LineKind,
        own: Iterable[tuple[str | None, Any]],
        check: Callable[[Any], Any] | None,
        tick: str | None,
        jobs: Sequence[JobAnswers] = (),
    ) -> Listing:
        """Read a folder of lines of a kind; ``own``: by name what a job has from the beginning, ``check`` refuses what can't be."""
        faults, lines, present, unread = list[tuple[Raw, str]](), list[LogLine](), BEGINNING, set[bytes]()
        reading = LogFolder(path).read({})
        for raw in sorted(reading.lines, key=sequence_of):
            answers = [(job, answer) for job in jobs if (answer := job.of(raw.text)) is not None]
            if answers and len(answers) == len(jobs) and all(answer.since is None for _, answer in answers):
                faults.append((raw, answers[0][1].refused))
                continue
            took = (answer.since for job, answer in answers if answer.since is not None and job.tick == tick)
            since = next(took, present)
            try:
                found = read_lines(raw.text, tick or "us", since, kind)
                for line in found:
                    if line.arc is not None and check is not None:
                        check(line.arc)
            except AfaError as error:
                faults.append((raw, str(error)))
                continue
            lines += found
            if not answers:
                unread.update(line.identity for line in found if jobs or _is_now(line))
            present = max(present, found[-1].at)
        faults += [(Raw(b"", name, 0), reason) for name, reason in reading.faults]
        faults += [(raw, "expected a whole line but got one that no newline ends yet") for raw in reading.open]
        versions = Versions(LineVersion(line, BEGINNING, FOREVER) for line in _own(own))
        versions.take(lines)
        return cls(versions, faults, tick, frozenset(unread), bool(jobs), kind)

    def all(self) -> list[Listed]:
        """Return all versions, by name and beginning."""
        return [each for name in sorted(self.versions.names) for each in self.named(name)]

    def named(self, name: str) -> list[Listed]:
        """Return the versions of a name, by beginning: those that begin and end when lines are read are left out."""
        ends = self.versions.ended(name) if self.asked else []
        unread = {version.line.identity: (version, line) for version, line in ends if line.identity in self.unread}
        there = self.versions.of(name)
        known = {version.line.identity for version in there}
        gone = [version for version, _ in unread.values() if version.line.identity not in known]  # once the lines are read
        begun = sorted([*there, *gone], key=lambda version: version.line[:2])
        found = [self._listed(version, unread.get(version.line.identity)) for version in begun]
        return [each for each in found if not (each.now and each.ends_now)]

    def _listed(self, version: LineVersion, end: tuple[LineVersion, LogLine] | None) -> Listed:
        """Return a version as it is listed; ``end``: as it was before a line ended it that no job has read, and this line."""
        unread = version.line.identity in self.unread
        found = Listed(version.line.arc, version.le, version.re, unread and _is_now(version.line), unread)
        if end is None:
            return found
        before, line = end
        now = _is_now(line)
        return found._replace(re=before.re if now else line.at, ends_now=now, end_unread=True)

    def begin_of(self, each: Listed) -> str:
        """Return in words from when on an arc is in force."""
        return WHEN_READ if each.now else f"{_said(each.le, self.tick)}{' (not read yet)' * each.unread}"

    def end_of(self, each: Listed) -> str:
        """Return in words until when an arc is in force."""
        return WHEN_READ if each.ends_now else f"{_said(each.re, self.tick)}{' (not read yet)' * each.end_unread}"

    def one(self, name: str, at: int | str | None) -> Any:
        """Return the only arc of a name that is in force at an instant and beyond, else raise `ChangeError`.

        ``at=None``: when a line is read that is written now.
        """
        self.last(name)
        found = self.named(name)
        lasting = [each for each in found if each.re == FOREVER and not each.ends_now] if at is None else []
        if at is not None:
            t = instant(at, "at", self.tick or "us")
            beyond = [each for each in found if each.re > t]
            lasting = [each for each in beyond if not each.ends_now] or beyond  # in the place of what ends may stand another arc
        if len(lasting) == 1 and (at is None or lasting[0].le <= t):
            return lasting[0].arc
        there = ", ".join(f"{x.arc!r} in [{self.begin_of(x)}, {self.end_of(x)})" for x in lasting or found[-1:])
        when = "from now on" if at is None else f"from {at} on"
        raise ChangeError(
            f"expected one {self.kind.word} named {name!r} {when} but got {there if lasting else f'none; the last: {there}'}"
        )

    def last(self, name: str) -> Any:
        """Return the arc of a name that began last; `ChangeError` if no arc has it."""
        found = self.named(name)
        if not found:
            known = sorted({str(each.arc.name) for each in self.all()})
            there = ", ".join(map(repr, known)) or "none has a name"
            a = "an" if self.kind is ARC else "a"
            hint = did_you_mean(name, known)
            raise ChangeError(f"expected the name of {a} {self.kind.word} but got {name!r}{hint}; there are: {there}")
        return found[-1].arc


def _said(t: int, tick: str | None) -> str:
    return {BEGINNING: "the beginning", FOREVER: "forever"}.get(t) or (as_iso(t, tick) if tick in ISO else str(t))


def _own(own: Iterable[tuple[str | None, Any]]) -> Iterable[LogLine]:
    for place, (name, arc) in enumerate(own):
        if name is not None:
            identity = digest(["own", place])
            yield LogLine(BEGINNING, BEGINNING, INSERT, identity, identity, name, FOREVER, arc)


def sequence_of(raw: Raw) -> int:
    """Return the place of a line in the order in which lines were written."""
    found = (object_in(raw.text) or {}).get("sequence", 0)
    return found if type(found) is int else 0


def _is_now(line: LogLine) -> bool:
    return line.source is not None and json.loads(line.source)["at"] == NOW
