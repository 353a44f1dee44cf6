"""Arcs as a second stream: one JSON object a line, in files of a folder or in the values of a topic.

    {"op": "insert", "arc": {"src": "a", "dst": "b", "fence": "e.delay > 45", "name": "late"}, "at": 1372636800000000}
    {"op": "retract", "arc": {"name": "late"}, "at": "2013-07-01T00:00:00+00:00", "sequence": 1}

    op         "insert", "retract"
    arc        as `afa.expression.wire` has it, with a name; a retraction needs no more than the name
    at         the application time from which on it holds, for all keys alike: microseconds since 1970, or ISO 8601 (UTC if unsaid)
    until      of an insertion: where it ends; left out or null: it does not
    sequence   int: the order of lines of one instant; 0 if left out

Nothing in a line is run: functions are text over an allow-list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from afa.arc import Arc
from afa.change import insert
from afa.core import Core
from afa.errors import AfaError, AutomatonError
from afa.keyed import Keyed
from punctuation.time import FOREVER, as_time

KEYS = ("op", "arc", "at", "until", "sequence")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class ArcLine(NamedTuple):
    """A line of an arc log.

    Parameters
    ----------
    at, sequence : int
        In that order lines are carried out.
    name : str
    arc : Arc or None
        That comes; None: the one of that name goes.
    until : int
    """

    at: int
    sequence: int
    name: str
    arc: Arc | None
    until: int

    @classmethod
    def parse(cls, text: str) -> ArcLine:
        """Read a line.

        Raises
        ------
        AutomatonError
            It is none; the message says what was expected.
        """
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
        arc = Arc.from_json(data["arc"]) if data["op"] == "insert" else None
        until = FOREVER if data.get("until") is None else instant(data["until"], "until")
        try:
            sequence = as_time(data.get("sequence", 0), "sequence")
        except AfaError as error:
            raise AutomatonError(str(error)) from None
        return cls(instant(data["at"], "at"), sequence, name, arc, until)


def instant(value: Any, what: str) -> int:
    """Microseconds since 1970.

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


def carry_out(operator: Keyed, line: ArcLine) -> list[Any]:
    """Put an arc in force, or end it; what changes."""
    return operator._core.calls.call(carried_out, operator._core, line)


def carried_out(core: Core, line: ArcLine) -> list[Any]:
    """`carry_out`, within a call."""
    if line.arc is not None:
        return core.run([("arc", insert(line.arc, line.at, line.until), None)], net=True)
    found = [event.arc for event in core.arcs.table.events if event.arc.name == line.name and event.re > line.at]
    if not found:
        known = ", ".join(str(event.arc.name) for event in core.arcs.table.events if event.re > line.at) or "none"
        raise AutomatonError(f"expected an arc in force but got {line.name!r}; in force: {known}")
    return core.end_arc_within(found[-1], line.at)
