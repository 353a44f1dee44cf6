"""Write lines of an arc log into a folder: checked before anything is written, each a file that gets its name when it is whole."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from afa.arclog.answers import answered
from afa.arclog.lines import ARC, NOW, LineKind, read_lines
from afa.arclog.listing import Listing
from afa.change import Change
from afa.errors import AfaError
from afa.io.whole_file import write_text
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.model.instant_texts import instant

Instant = datetime | str | int | None


class LineWriter:
    """Lines of a log in a folder, which is made if it does not exist; any number of processes may write it."""

    _unit: str | None = None
    """What an int is."""
    _kind: LineKind = ARC

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).resolve()
        self._last = 0  # the sequence of the last line
        self._file: Path | None = None  # what was written last
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:  # a file of that name or above it, or no permission
            raise AfaError(f"expected the folder of {self._kind.log} but {self.path} can't be one: {error.strerror}") from error

    @property
    def file(self) -> str:
        """The name of the file that was written last, and not taken back."""
        return "" if self._file is None else self._file.name

    def _write(self, line: dict[str, Any], at: Instant, until: Instant, known: Any) -> None:
        self._put(*self._line(line, at, until, known))

    def _line(self, line: dict[str, Any], at: Instant, until: Instant, known: Any) -> tuple[str, int]:
        """Return a line as text, checked, and its sequence."""
        now = instant(datetime.now(timezone.utc), "now")
        line["at"] = self._instant(at, "at", now)
        if until is not None:
            line["until"] = self._instant(until, "until", now)
        if self._unit is not None and int in (type(line["at"]), type(line.get("until"))):
            line["tick"] = self._unit
        sequence = line["sequence"] = max(now, self._last + 1)
        line["id"] = uuid.uuid4().hex if known is None else known
        text = json.dumps(line)
        self._check(text)
        return text, sequence

    def _instant(self, at: Instant, what: str, now: int) -> Any:
        """Return an instant as a line has it; ``now``: the clock, in microseconds."""
        if at is None:
            return NOW
        return at.isoformat() if isinstance(at, datetime) else at

    def _check(self, text: str) -> None:
        """Refuse what no reader would take."""
        for line in read_lines(text, "ns" if self._unit == "ns" else "us", 0, self._kind):
            if line.arc is not None:
                self._check_brought(line.arc)

    def _check_brought(self, brought: Any) -> None:
        """Refuse what the operators can't take, as far as that is known."""

    def _put(self, text: str, sequence: int) -> None:
        name = f"{sequence}-{uuid.uuid4().hex}.json"
        try:
            write_text(self.path / name, f"{text}\n")  # at first in a hidden file, which no reader takes
        except OSError as error:  # it is full, say, or nobody may write there
            raise AfaError(
                f"expected the folder of {self._kind.log}, to write a line, but got {self.path}: {error.strerror}"
            ) from error
        self._last, self._file = sequence, self.path / name

    def take_back(self) -> None:
        """Remove what was written last, once; for a line that the operator it was meant for has refused.

        Raises
        ------
        AfaError
            The file can't be removed.
        """
        file, self._file = self._file, None
        try:
            if file is not None:
                file.unlink(missing_ok=True)
        except OSError as error:
            raise AfaError(f"expected to take a line back but {file} can't be removed: {error.strerror}") from error


class LogWriter(LineWriter):
    """An arc log in a folder, to be written; any number of processes may write it.

    Parameters
    ----------
    path : str or Path
        A folder; it is made if it does not exist.
    automaton : Automaton
        The automaton for whose schemas the arcs' functions are written.
    """

    def __init__(self, path: str | Path, automaton: Automaton) -> None:
        automaton = getattr(automaton, "automaton", automaton)  # of a query
        if not isinstance(automaton, Automaton):
            raise AfaError(f"expected an Automaton but got {automaton!r}")
        self._automaton = automaton
        super().__init__(path)

    def insert(self, arc: Arc, *, at: Instant = None, until: Instant = None, id: str | int | None = None) -> None:
        """Write a line that puts an arc in force.

        Parameters
        ----------
        arc : Arc
            It has a name, and functions that can be written as text.
        at : datetime, str (ISO 8601) or int, optional
            The event time from which on the arc serves. None: see the class.
        until : the same, optional
        id : str or int, optional
            Identifies the line, so that a program which runs twice writes it once. None: each call writes another line.

        Raises
        ------
        AfaError
            The arc has no name, does not fit the automaton, or can't be written as text; or the line could not be read.
        """
        if not isinstance(arc, Arc) or arc.name is None:
            raise AfaError(f"expected an arc with a name but got {arc!r}")
        self._write({"op": "insert", "arc": self._json(arc)}, at, until, id)

    def retract(self, name: str, *, at: Instant = None, id: str | int | None = None) -> None:
        """Write a line that ends, at an event time, the arc of that name that came into force last. Parameters as of `insert`."""
        self._write({"op": "retract", "arc": {"name": _name(name)}}, at, None, id)

    def swap(
        self,
        name: str,
        arc: Arc | None = None,
        *,
        fence: Callable[..., Any] | str | None = None,
        transfer: Callable[..., Any] | str | None = None,
        at: Instant = None,
        id: str | int | None = None,
    ) -> None:
        """Write a line that puts another arc in the place of the one of that name. As `Operator.swap`; rest as of `insert`.

        Raises
        ------
        AfaError
            As `insert`; or neither the automaton nor a line of the folder has an arc of this name.
        """
        old = self.listing().last(_name(name))
        if (arc is None) is (fence is None and transfer is None):
            given = "none of them" if arc is None else "both"
            raise AfaError(f"expected an arc, or fence= and transfer= for the arc {name!r}, but got {given}")
        new = old.changed(fence=fence, transfer=transfer) if arc is None else arc
        if not isinstance(new, Arc):
            raise AfaError(f"expected an Arc but got {new!r}")
        if new.name is None:
            new = new.changed(name=name)
        self._write({"op": "swap", "name": name, "arc": self._json(new)}, at, None, id)

    def write(self, changes: Iterable[Change], *, at: Instant = None) -> None:
        """Write lines for arcs that go and come at one instant, such as ``before.changes_to(after).arcs`` of two queries.

        They are one file: a reader takes all of them, or none yet.

        Parameters
        ----------
        changes : iterable of Change
            ``retract(arc)`` and ``insert(arc)``, each arc with a name.
        at : datetime, str (ISO 8601) or int, optional
            As of `insert`.

        Raises
        ------
        AfaError
            As `insert`; nothing is written then.
        """
        when, lines = self._instant(at, "at", instant(datetime.now(timezone.utc), "now")), list[tuple[str, int]]()
        for change in changes:
            if not isinstance(change.payload, Arc) or change.payload.name is None or change.diff not in (1, -1):
                raise AfaError(f"expected the insertion or the retraction of an arc with a name but got {change!r}")
            arc = self._json(change.payload) if change.diff > 0 else {"name": change.payload.name}
            lines.append(self._line({"op": "insert" if change.diff > 0 else "retract", "arc": arc}, when, None, None))
            self._last = lines[-1][1]
        if lines:
            self._put("\n".join(text for text, _ in lines), lines[-1][1])

    def listing(self) -> Listing:
        """Return what the lines of the folder come to, the automaton's own arcs among them, but what all jobs that run refused."""
        jobs = [job for job in answered(self.path)[0] if job.runs]
        return Listing.of(self.path, self._automaton, self._unit, jobs)

    def append(self, line: str | Mapping[str, Any]) -> None:
        """Write a line as it is, once it is read and its arc fits the automaton."""
        text = line if isinstance(line, str) else json.dumps(dict(line))
        self._check(text)
        self._put(" ".join(text.split("\n")), max(instant(datetime.now(timezone.utc), "now"), self._last + 1))

    def _json(self, arc: Arc) -> dict[str, Any]:
        self._automaton.check_arc(arc)
        return arc.to_json(self._automaton)

    def _check_brought(self, brought: Arc) -> None:
        self._automaton.check_arc(brought)


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise AfaError(f"expected the name of an arc but got {name!r}")
    return name
