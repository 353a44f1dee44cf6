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
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from afa.errors import AfaError, AutomatonError
from afa.expression.from_text import KEPT
from afa.expression.wire import LONGEST_JSON
from afa.model.arc import Arc
from afa.spark.job import Job
from afa.spark.versions import INSERT, RETRACT, Line
from punctuation.time import FOREVER, as_time

KEYS = ("op", "arc", "at", "until", "sequence", "id")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
LONGEST = 2 * LONGEST_JSON
"""The most characters of a line."""
SHORT = 2000
"""The most characters of a line that a worker keeps as it was read."""


def read_line(raw: str | bytes | None) -> Line:
    """Read a line.

    Raises
    ------
    AutomatonError
        It is none; the message says what was expected.

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
    """Return a line as text.

    Raises
    ------
    AutomatonError
        It is none, or too long.
    """
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
    """Refuse strings that no output and no state can hold: JSON may write half a character.

    Raises
    ------
    AutomatonError
    """
    text = json.dumps(data, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = text[error.start : error.end]
        raise AutomatonError(f"expected text that UTF-8 can hold but got {found!r} in a line of an arc log") from None


class Fits:
    """What is asked of a line here, for `fitting_line`: two jobs with equal schemas ask the same.

    Parameters
    ----------
    job : Job
    """

    def __init__(self, job: Job) -> None:
        self.check = job.check_arc
        event, register = job.automaton.event_schema, job.automaton.register_schema
        self._schemas = event and event.describe(), register.describe()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fits) and self._schemas == other._schemas

    def __hash__(self) -> int:
        return hash(self._schemas)


def fitting_line(raw: str | bytes | None, fits: Fits) -> Line:
    """Read a line, and refuse an arc that can't be in force here. The buckets of a worker read the same ones, batch by batch.

    Raises
    ------
    AutomatonError
    """
    return known_line(raw, fits) if len(raw or "") <= SHORT else _fitting_line(raw, fits)


def _fitting_line(raw: str | bytes | None, fits: Fits) -> Line:
    line = read_line(raw)
    if line.arc is not None:
        fits.check(line.arc)
    return line


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
