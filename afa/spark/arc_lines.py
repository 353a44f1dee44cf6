"""Arcs as a second stream: one JSON object a line, in files of a folder or in the values of a topic.

    {"op": "insert", "arc": {"src": "a", "dst": "b", "fence": "e.delay > 45", "name": "late"}, "at": 1372636800000000}
    {"op": "retract", "arc": {"name": "late"}, "at": "2013-07-01T00:00:00+00:00", "sequence": 1}

    op         "insert", "retract"
    arc        as `afa.expression.wire` has it, with a name; a retraction needs no more than the name
    at         the application time from which on it holds, for all keys alike: microseconds since 1970, or ISO 8601 (UTC if unsaid)
    until      of an insertion: where it ends; left out or null: it does not
    sequence   int: the order of lines of one instant; 0 if left out
    id         str or int: by which the line is known, however often it is written; left out: by what it says

A log is a set of lines; what it means stands in SEMANTICS.md. Nothing in a line is run: functions are text over an allow-list.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import uuid
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from afa.errors import AfaError, AutomatonError
from afa.expression.from_text import KEPT
from afa.expression.wire import LONGEST_JSON
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.spark.job import Job
from afa.spark.versions import INSERT, RETRACT, Line
from punctuation.time import FOREVER, as_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEYS = ("op", "arc", "at", "until", "sequence", "id")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
LONGEST = 2 * LONGEST_JSON
"""The most characters of a line."""
SHORT = 2000
"""The most characters of a line that a worker keeps as it was read."""


def read_line(raw: str | bytes | None) -> Line:
    """Read a line. Raises AutomatonError if it is none, with what was expected.

    Examples
    --------
    >>> read_line('{"op": "retract", "arc": {"name": "late"}, "at": 7}').name
    'late'
    """
    text = _text(raw)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AutomatonError(f"expected a line of an arc log (JSON) but got {text[:100]!r}: {error}") from None
    if not isinstance(data, Mapping) or "arc" not in data or "at" not in data or data.get("op") not in ("insert", "retract"):
        raise AutomatonError(f'expected {{"op": "insert" or "retract", "arc": {{..}}, "at": ..}} but got {text[:200]}')
    unknown = [key for key in data if key not in KEYS]
    if unknown:
        raise AutomatonError(f"expected the keys {', '.join(KEYS)} but got {unknown[0][:80]!r} in a line of an arc log")
    name = data["arc"].get("name") if isinstance(data["arc"], Mapping) else None
    if not isinstance(name, str):
        raise AutomatonError(f"expected an arc with a name but got {text[:200]}")
    _check_text(data)
    arc = Arc.from_json(data["arc"]) if data["op"] == "insert" else None
    at = instant(data["at"], "at")
    until = FOREVER if data.get("until") is None or arc is None else instant(data["until"], "until")
    if until <= at:
        raise AutomatonError(f"expected until > at but got at={at}, until={until} for {arc!r}")
    try:
        sequence = as_time(data.get("sequence", 0), "sequence")
    except AfaError as error:
        raise AutomatonError(str(error)) from None
    content = digest([data["op"], name, at, until, sequence, arc and data["arc"]])
    identity = content if data.get("id") is None else digest(_id(data["id"]))
    return Line(at, sequence, RETRACT if arc is None else INSERT, identity, content, name, until, arc, text)


def _text(raw: str | bytes | None) -> str:
    if raw is None:
        raise AutomatonError("expected a line of an arc log (JSON) but got no value")
    if len(raw) > LONGEST:
        raise AutomatonError(f"expected a line of at most {LONGEST} characters but got {len(raw)}")
    if isinstance(raw, str):
        return raw
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise AutomatonError(f"expected a line of an arc log (JSON in UTF-8) but got other bytes: {error}") from None


def _check_text(data: Any) -> None:
    """Refuse strings that no output and no state can hold: JSON may write half a character."""
    text = json.dumps(data, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = text[error.start : error.end]
        raise AutomatonError(f"expected text that UTF-8 can hold but got {found!r} in a line of an arc log") from None


class Fits:
    """What a job asks of a line, for `fitting_line`: two jobs with equal schemas ask the same."""

    def __init__(self, job: Job) -> None:
        self.fitting = job.fitting_arc
        event, register = job.automaton.event_schema, job.automaton.register_schema
        self._schemas = event and event.describe(), register.describe()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fits) and self._schemas == other._schemas

    def __hash__(self) -> int:
        return hash(self._schemas)


def fitting_line(raw: str | bytes | None, fits: Fits) -> Line:
    """Read a line, and refuse an arc that can't be in force here. The buckets of a worker read the same ones, batch by batch."""
    return known_line(raw, fits) if len(raw or "") <= SHORT else _fitting_line(raw, fits)


def _fitting_line(raw: str | bytes | None, fits: Fits) -> Line:
    line = read_line(raw)
    return line if line.arc is None else line._replace(arc=fits.fitting(line.arc))


known_line = functools.lru_cache(maxsize=KEPT)(_fitting_line)


def shown(raw: Any) -> str:
    """Return the first 200 characters of a line, of whatever bytes.

    Examples
    --------
    >>> len(shown("x" * 3_000_000)), shown(b"a" + bytes([255])) == "a\N{REPLACEMENT CHARACTER}"
    (203, True)
    """
    text = raw[:900].decode(errors="replace") if isinstance(raw, bytes) else str(raw)
    text = text[:200].encode(errors="replace").decode()
    return text if len(raw or "") <= len(text) else f"{text}..."


def _id(value: Any) -> Any:
    if type(value) not in (str, int):
        raise AutomatonError(f"expected a str or an int but got id={repr(value)[:80]} in a line of an arc log")
    return ["id", value]


def digest(data: Any) -> bytes:
    """Return a digest of plain data: 16 bytes, in which the order of keys does not count.

    Examples
    --------
    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    return hashlib.blake2b(json.dumps(data, sort_keys=True).encode(), digest_size=16).digest()


def instant(value: Any, what: str) -> int:
    """Return an instant in microseconds since 1970.

    Examples
    --------
    >>> instant("2013-07-01T00:00:00", "at")
    1372636800000000
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise AutomatonError(f"expected an instant (microseconds or ISO 8601) but got {what}={value[:80]!r}: {error}") from None
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        delta = moment - EPOCH
        return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    try:
        return as_time(value, what)
    except AfaError as error:
        raise AutomatonError(str(error)) from None


class ArcLog:
    """An arc log in a folder: one line in each file. Any number of processes may write it, any number of streams read it.

    Parameters
    ----------
    path : str or Path
        A folder; it is made if it does not exist.
    automaton : Automaton
        The automaton for whose schemas the arcs' functions are written.

    Examples
    --------
    >>> import tempfile
    >>> from typing import NamedTuple
    >>> class Tick(NamedTuple):
    ...     change: float
    >>> down = Automaton(start="a", final={"b"}, event=Tick, arcs=[Arc("a", "b", lambda e, r: e.change < 0, name="down")])
    >>> log = ArcLog(tempfile.mkdtemp(), down)
    >>> log.insert(Arc("a", "b", lambda e, r: e.change < -2, name="far down"), at="2026-01-01T00:00:00")
    >>> log.retract("down", at="2026-01-01T00:00:00")
    """

    def __init__(self, path: str | Path, automaton: Automaton) -> None:
        self.path = Path(path).resolve()
        self._automaton = automaton
        self._last = 0  # the sequence of the last line
        self.path.mkdir(parents=True, exist_ok=True)

    def insert(
        self,
        arc: Arc,
        *,
        at: datetime | str | int | None = None,
        until: datetime | str | int | None = None,
        id: str | int | None = None,
    ) -> None:
        """Write a line that puts an arc in force.

        Parameters
        ----------
        arc : Arc
            It has a name, and functions that can be written as text.
        at : datetime, str (ISO 8601) or int (microseconds), optional
            The event time from which on the arc serves. None: the time of the clock.
        until : the same, optional
        id : str or int, optional
            Identifies the line, so that a program which runs twice writes it once. None: each call writes another line.

        Raises
        ------
        AfaError
            The arc has no name, or can't be written as text.
        """
        if arc.name is None:
            raise AfaError(f"expected an arc with a name but got {arc!r}")
        self._automaton.check_arc(arc)
        self._write("insert", arc.to_json(self._automaton), at, until, id)

    def retract(self, name: str, *, at: datetime | str | int | None = None, id: str | int | None = None) -> None:
        """Write a line that ends, at an event time, the arc of that name that came into force last. Parameters as of `insert`."""
        if not isinstance(name, str):
            raise AfaError(f"expected the name of an arc but got {name!r}")
        self._write("retract", {"name": name}, at, None, id)

    def read(self, spark: SparkSession) -> DataFrame:
        """Return the log as a stream, for ``match(arcs=...)``."""
        return spark.readStream.schema("value string").text(str(self.path))

    def _write(self, op: str, arc: Any, at: Any, until: Any, known: Any) -> None:
        now = datetime.now(timezone.utc)
        line = {"op": op, "arc": arc, "at": instant(now if at is None else at, "at")}
        if until is not None:
            line["until"] = instant(until, "until")
        line["sequence"] = self._last = max(instant(now, "now"), self._last + 1)
        line["id"] = uuid.uuid4().hex if known is None else known
        text = json.dumps(line)
        read_line(text)  # which refuses what no stream would take
        name = f"{line['sequence']}-{uuid.uuid4().hex}.json"
        hidden = self.path / f".{name}"  # which no reader takes
        hidden.write_text(f"{text}\n", encoding="utf-8")
        os.replace(hidden, self.path / name)
