"""Work out the versions of arcs that a set of arc log lines means. This module knows nothing of operators.

    lines of a name, in their order  -> `Replay` ->  versions in force, retractions that end nothing
    batches of lines, and promises   -> `Versions`   the same, from what the last promise has left and the lines that are not final

An insertion begins a version ``[at, until)``; a retraction ends, at its instant, the version in force there that began last. So the
outcome depends on the set of lines alone: see "Arc logs" in SEMANTICS.md.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from punctuation.time import BEGINNING, FOREVER

END, RETRACT, INSERT = range(3)
"""The operations of a line. END retracts the very arc that the code had."""


class LogLine(NamedTuple):
    """A line of an arc log; lines of a name are gone through in the order of their first five fields."""

    at: int
    sequence: int
    op: int  # END, RETRACT or INSERT
    identity: bytes  # by which it is known
    content: bytes  # by which two lines of one identity are told apart, and by which END finds its arc
    name: str  # of the arc
    until: int = FOREVER  # of an insertion: where it ends
    arc: Any = None  # what an insertion brings; not looked at here
    source: Any = None  # what is kept of a line; not looked at here


class LineVersion(NamedTuple):
    """An insertion, and the lifetime that the other lines have left of it."""

    line: LogLine
    le: int
    re: int


class Replay:
    """Lines of one name gone through in their order, from the versions that earlier lines have begun. O(1) a line, but for END."""

    def __init__(self, begun: Sequence[LineVersion] = ()) -> None:
        self._versions = list(begun)
        self._open = list(range(len(begun)))  # places of those that may still be in force
        self.idle: list[LogLine] = []

    def feed(self, line: LogLine) -> LineVersion | None:
        """Take the next line; return the version that it ends, as it was before, if it ends one."""
        if line.op == INSERT:
            self._open.append(len(self._versions))
            self._versions.append(LineVersion(line, line.at, line.until))
            return None
        place = self._last(line)
        if place is not None:
            before = self._versions[place]
            self._versions[place] = before._replace(re=line.at)
            return before
        if line.op == RETRACT:
            self.idle.append(line)
        return None

    def _last(self, line: LogLine) -> int | None:
        """Return the place of the version that a retraction ends; it is open no more."""
        versions, places = self._versions, self._open
        while places and versions[places[-1]].re <= line.at:
            places.pop()  # it has ended for all lines to come
        if line.op == RETRACT:
            return places.pop() if places else None
        for i in reversed(range(len(places))):
            found = versions[places[i]]
            if found.line.content == line.content and found.re > line.at:
                return places.pop(i)
        return None

    def versions(self, since: int) -> list[LineVersion]:
        """Return the versions whose lifetime goes beyond an instant, in the order in which they began."""
        return [version for version in self._versions if version.re > since and version.re > version.le]


class LineOutcome(NamedTuple):
    """What became of lines: the versions before of each name that they concern; who came; who is late; who has another's id."""

    before: dict[str, list[LineVersion]]
    kept: list[LogLine]
    late: list[LogLine]
    clashes: list[LogLine]


class Versions:
    """The versions of all names over a stream of lines and promises, from what is in force, as `begun` gave it.

    >>> x = LogLine(0, 0, INSERT, b"1", b"", "x")
    >>> versions = Versions()
    >>> list(versions.take([x._replace(at=100, identity=b"2"), x, LogLine(50, 0, RETRACT, b"3", b"", "x")]).before)
    ['x']
    >>> [(version.le, version.re) for version in versions.of("x")]
    [(0, 50), (100, 9223372036854775807)]
    """

    def __init__(self, begun: Iterable[LineVersion] = (), promised: int = BEGINNING, keep: int = 0) -> None:
        self.promised = promised
        self._for = keep  # for so long a version is left that has ended, as the promise before tells time: lineages need it
        self._begun: dict[str, list[LineVersion]] = {}  # what the promise has left
        self._lines: dict[str, list[LogLine]] = {}  # that are not final, in their order
        self._replays: dict[str, Replay] = {}  # of these lines; made when asked for
        self._known: dict[bytes, LogLine] = {}  # by identity: lines that are not final, and those of versions in force
        self._due: list[tuple[int, str]] = []  # when a promise changes what is kept of a name: a heap
        self._noted: set[tuple[int, str]] = set()  # what is in it
        for version in begun:
            self._begun.setdefault(version.line.name, []).append(version)
            self._keep(version)

    def take(self, lines: Iterable[LogLine]) -> LineOutcome:
        """Put lines, which come in any order, into the order of their names; what became of each."""
        taken = LineOutcome({}, [], [], [])
        for line in lines:
            known = self._known.get(line.identity)
            if known is not None and known[:5] == line[:5]:
                continue
            if line.at < self.promised:
                taken.late.append(line)
                continue
            if known is not None:
                first, other = sorted([known, line], key=_order)
                taken.clashes.append(other)
                if first is known:
                    continue
                taken.before.setdefault(known.name, self.of(known.name))
                self._drop(known)
            taken.before.setdefault(line.name, self.of(line.name))
            taken.kept.append(line)
            self._put(line)
        return taken

    def promise(self, t: int) -> list[LogLine]:
        """Take no line before an instant from now on; the retractions before it that have ended nothing, and never will."""
        idle: list[LogLine] = []
        since = max(self.promised - self._for, BEGINNING) if self._for else t
        self.promised = t
        names = dict[str, None]()
        while self._due and self._due[0][0] < self.promised:
            self._noted.remove(due := heapq.heappop(self._due))
            names[due[1]] = None
        for name in names:
            lines = self._lines.pop(name, [])
            n = bisect_left(lines, (self.promised,))
            before = self._begun.pop(name, [])
            replay = _replay(before, lines[:n])
            for line in [*(version.line for version in before), *lines[:n]]:
                self._known.pop(line.identity, None)
            self._replays.pop(name, None)
            idle += replay.idle
            if lines[n:]:
                self._lines[name] = lines[n:]
            if begun := replay.versions(since):
                self._begun[name] = begun
                for version in begun:
                    self._keep(version)
        return sorted(idle, key=_order)

    def of(self, name: str) -> list[LineVersion]:
        """Return the versions of a name, but those that an earlier promise has passed, in the order in which they began."""
        return self._replay(name).versions(BEGINNING)

    def ended(self, name: str) -> list[tuple[LineVersion, LogLine]]:
        """Return the versions of a name that lines which are not final end, each as it was before, with its line. O(lines)."""
        replay = Replay(self._begun.get(name, ()))
        found = [(replay.feed(line), line) for line in self._lines.get(name, ())]
        return [(version, line) for version, line in found if version is not None]

    def all(self) -> list[LineVersion]:
        return [version for name in sorted(self.names) for version in self.of(name)]

    @property
    def names(self) -> set[str]:
        return {*self._begun, *self._lines}

    def begun(self) -> list[LineVersion]:
        """Return what the promise has left; with `lines` all that there is to be kept."""
        return [version for _, versions in sorted(self._begun.items()) for version in versions]

    def lines(self) -> list[LogLine]:
        """Return the lines that are not final."""
        return [line for _, lines in sorted(self._lines.items()) for line in lines]

    @property
    def waits(self) -> int | None:
        """The earliest instant of a retraction that has ended nothing yet; None if there is none. O(lines that are not final)."""
        return min((line.at for name in self._lines for line in self._replay(name).idle), default=None)

    def _replay(self, name: str) -> Replay:
        if name not in self._replays:
            self._replays[name] = _replay(self._begun.get(name, ()), self._lines.get(name, ()))
        return self._replays[name]

    def _put(self, line: LogLine) -> None:
        lines, replay = self._lines.setdefault(line.name, []), self._replays.get(line.name)
        if replay is not None and (not lines or _order(lines[-1]) < _order(line)):
            replay.feed(line)
        else:
            self._replays.pop(line.name, None)
        insort(lines, line, key=_order)
        self._known[line.identity] = line
        self._note(line.at, line.name)

    def _drop(self, line: LogLine) -> None:
        """Take out a line that is not final; its `at` stays due, which does no harm."""
        lines = self._lines[line.name]
        lines.remove(line)
        self._replays.pop(line.name, None)

    def _keep(self, version: LineVersion) -> None:
        self._known[version.line.identity] = version.line
        if version.re < FOREVER:
            self._note(min(version.re - 1 + self._for, FOREVER), version.line.name)  # at a promise of re it is gone

    def _note(self, at: int, name: str) -> None:
        if (at, name) not in self._noted:
            self._noted.add((at, name))
            heapq.heappush(self._due, (at, name))


def _replay(begun: Sequence[LineVersion], lines: Iterable[LogLine]) -> Replay:
    replay = Replay(begun)
    for line in lines:
        replay.feed(line)
    return replay


def _order(line: LogLine) -> tuple[Any, ...]:
    return line[:5]
