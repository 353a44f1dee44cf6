"""One line of an arc log: an arc that comes, goes, or takes another one's place, at an instant of application time.

    {"op": "insert", "arc": {"src": "a", "dst": "b", "fence": "e.delay > 45", "name": "late"}, "at": 1372636800000000}
    {"op": "retract", "arc": {"name": "late"}, "at": "2013-07-01T00:00:00+00:00", "sequence": 1}
    {"op": "swap", "name": "late", "arc": {"src": "a", "dst": "b", "fence": "e.delay > 30"}, "at": "now"}

    op         "insert", "retract"; "swap": a retraction of ``name`` and an insertion of the arc, at one instant
    name       of a swap: the name that is retracted; the arc keeps it where it has none
    arc        as `afa.expression.wire` has it, with a name; a retraction needs no more than the name
    at         the application time from which on it holds, for all keys alike: an int, ISO 8601 text (UTC if unsaid), or "now":
               the present of the operator when it reads the line (not on Spark, where each bucket has its own)
    until      of an insertion or a swap: where the arc ends; left out or null: it does not
    tick       the unit of its ints, "us", "ms" ..; left out: microseconds on Spark, elsewhere what one int of LE counts
    sequence   int: the order of lines of one instant; 0 if left out
    id         str or int: by which the line is known, however often it is written; left out: by what it says

A log is a set of lines; what it means stands in SEMANTICS.md. Nothing in a line is run: functions are text over an allow-list.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from afa.arclog.versions import INSERT, RETRACT, LogLine
from afa.errors import AfaError, AutomatonError
from afa.expression.wire import LONGEST_JSON
from afa.model.arc import Arc
from afa.model.instant_texts import instant
from punctuation.time import FOREVER, as_time


class LineKind(NamedTuple):
    """What the lines of a log bring: arcs, or what has a name, too, under another key (``word``); ``read`` makes it of JSON."""

    word: str
    log: str
    read: Callable[[Any], Any]


ARC = LineKind("arc", "an arc log", Arc.from_json)
OPS = ("insert", "retract", "swap")
KEYS = ("op", "name", "at", "until", "tick", "sequence", "id")
NOW = "now"
LONGEST = 2 * LONGEST_JSON
"""The most characters of a line."""


def read_lines(
    raw: str | bytes | None, tick: str | None = "us", now: int | None = None, kind: LineKind = ARC
) -> tuple[LogLine, ...]:
    """Read a line into two of a swap, its retraction first; else into one. Raises `AutomatonError`, which says what was expected.

    With ``tick=None`` nobody knows what one int of LE counts, so that no text and no unit says an instant. ``now`` is the present;
    None: there is none that all readers share. ``kind``: what it brings.

    >>> [line.name for line in read_lines('{"op": "retract", "arc": {"name": "late"}, "at": 7}')]
    ['late']
    """
    text, word = _text(raw, kind), kind.word
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AutomatonError(f"expected a line of {kind.log} (JSON) but got {text[:100]!r}: {error}") from None
    if not isinstance(data, Mapping) or word not in data or "at" not in data or data.get("op") not in OPS:
        raise AutomatonError(f'expected {{"op": "insert" or "retract" or "swap", "{word}": {{..}}, "at": ..}} but got {text[:200]}')
    keys = (*KEYS[:2], word, *KEYS[2:])
    unknown = [key for key in data if key not in keys or (key == "name" and data["op"] != "swap")]
    if unknown:
        raise AutomatonError(f"expected the keys {', '.join(keys)} but got {unknown[0][:80]!r} in a line of {kind.log}")
    _check_text(data, kind)
    return _lines(data, text, tick, now, kind)


def object_in(text: str | bytes) -> dict[str, Any] | None:
    """Return the JSON object that a text is; None: it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _lines(data: Mapping[str, Any], text: str, tick: str | None, now: int | None, kind: LineKind) -> tuple[LogLine, ...]:
    op, given, gone = data["op"], data[kind.word], data.get("name")
    if op == "swap" and not isinstance(gone, str):
        raise AutomatonError(f'expected a swap with the "name" of the {kind.word} that goes but got {text[:200]}')
    if op == "swap" and isinstance(given, Mapping) and given.get("name") is None:
        given = {**given, "name": gone}
    name = given.get("name") if isinstance(given, Mapping) else None
    if not isinstance(name, str):
        raise AutomatonError(f"expected {'an' if kind is ARC else 'a'} {kind.word} with a name but got {text[:200]}")
    arc = None if op == "retract" else kind.read(given)
    at = _now(now) if data["at"] == NOW else instant(data["at"], "at", tick, data.get("tick"))
    until = FOREVER
    if data.get("until") is not None and arc is not None:
        until = instant(data["until"], "until", tick, data.get("tick"))
    if until <= at:
        raise AutomatonError(f"expected until > at but got at={at}, until={until} for {arc!r}")
    try:
        sequence = as_time(data.get("sequence", 0), "sequence")
    except AfaError as error:
        raise AutomatonError(str(error)) from None
    said = NOW if data["at"] == NOW else at
    content = digest(["retract" if arc is None else "insert", name, said, until, sequence, arc and given])
    identity = content if data.get("id") is None else digest(_id(data["id"]))
    last = LogLine(at, sequence, RETRACT if arc is None else INSERT, identity, content, name, until, arc, text)
    if op != "swap":
        return (last,)
    assert isinstance(gone, str)
    content = digest(["swap", gone, content.hex()])  # of both, so that of two swaps of one id both parts of one count
    first = LogLine(at, sequence, RETRACT, digest(["swap", identity.hex()]), content, gone, FOREVER, None, text)
    return first, last if data.get("id") is None else last._replace(content=content)


def _now(now: int | None) -> int:
    if now is None:
        raise AutomatonError('expected the instant from which on a line holds but got at="now": the readers share no present')
    return now


def _text(raw: str | bytes | None, kind: LineKind) -> str:
    if raw is None:
        raise AutomatonError(f"expected a line of {kind.log} (JSON) but got no value")
    if len(raw) > LONGEST:
        raise AutomatonError(f"expected a line of at most {LONGEST} characters but got {len(raw)}")
    if isinstance(raw, str):
        return raw
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise AutomatonError(f"expected a line of {kind.log} (JSON in UTF-8) but got other bytes: {error}") from None


def _check_text(data: Any, kind: LineKind) -> None:
    """Refuse strings that no output and no state can hold: JSON may write half a character."""
    text = json.dumps(data, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = text[error.start : error.end]
        raise AutomatonError(f"expected text that UTF-8 can hold but got {found!r} in a line of {kind.log}") from None


def shown(raw: Any) -> str:
    """Return the first 200 characters of a line, of whatever bytes.

    >>> len(shown("x" * 3_000_000)), shown(b"a" + bytes([255])) == "a�"
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

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    return hashlib.blake2b(json.dumps(data, sort_keys=True).encode(), digest_size=16).digest()
