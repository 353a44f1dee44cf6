"""A change that the page has sent: read, checked, and written to the arc log that the job reads.

    {"do": "swap", "name": "turn", "fence": "change > 1", "transfer": null, "at": null}
    {"do": "insert", "arc": {"src": "a", "dst": "b", "fence": "change > 1", "name": "new"}, "at": "2024-01-01T12:00:00"}
    {"do": "end", "name": "turn", "at": null}
    {"do": "query", "text": "PATTERN SEQ(..)"}
    {"do": "sigma", "value": "10s"}     {"do": "speed", "value": "500"}
    {"do": "try", "constant": 1, "written": "-2", "values": "-5:-1"}      which changes nothing: `afa.extra.live.trials`

Functions are text over the allow-list of `afa.expression`; nothing of it is run. What is refused is not written.
"""

from __future__ import annotations

import re
from typing import Any

from afa.arclog.log_writer import LogWriter
from afa.change import Change, insert, retract
from afa.errors import AfaError, ChangeError, did_you_mean
from afa.language.query import Query
from afa.language.query_text import another
from afa.model.arc import Arc
from punctuation.time import FOREVER

ARC_CHANGES = ("swap", "insert", "end", "query")


class Steering:
    """What writes the changes of a job's arcs into its log; ``text`` is the text of its query as it is now, None: it has none."""

    def __init__(self, log: LogWriter, query: Query | None = None, text: str | None = None) -> None:
        self.log, self.query, self.text = log, query, text

    def write(self, data: dict[str, Any], at: int | str | None) -> str:
        """Write a change of arcs that holds from ``at`` on (None: from when it is read); return what was done, in words.

        Refused (`AfaError`), nothing is written.
        """
        do = data.get("do")
        if do == "swap":
            name = _text(data, "name")
            fence, transfer = _part(data, "fence"), _part(data, "transfer")
            self.log.listing().one(name, at)
            if fence is None and transfer is None:
                raise AfaError(f"expected another fence or transfer of the arc {name!r} but got none")
            self.log.swap(name, fence=fence, transfer=transfer, at=at)
            return f"swapped {name!r}"
        if do == "end":
            name = _text(data, "name")
            self.log.listing().one(name, at)
            self.log.retract(name, at=at)
            return f"ended {name!r}"
        if do == "insert":
            return self._insert(data.get("arc"), at)
        if do == "query":
            return self._query(_text(data, "text"), at)
        raise AfaError(f"expected a change, one of {', '.join(ARC_CHANGES)}, but got do={do!r}{did_you_mean(str(do), ARC_CHANGES)}")

    def _insert(self, given: Any, at: int | str | None) -> str:
        if not isinstance(given, dict):
            raise AfaError(f"expected an arc, a JSON object, but got arc={given!r}")
        arc = Arc.from_json({key: value for key, value in given.items() if value not in (None, "")})
        if arc.name is None:
            raise AfaError("expected an arc with a name, by which it can be changed again, but got none")
        if any(version.re == FOREVER for version in self.log.listing().versions.of(arc.name)):
            raise ChangeError(f"expected another name, as an arc has this one, but got name={arc.name!r}; swap it instead")
        self.log.insert(arc, at=at)
        return f"inserted {arc.name!r}"

    def _query(self, text: str, at: int | str | None) -> str:
        if self.query is None or self.text is None:
            raise AfaError("expected a job whose query is text, to swap its text, but got one without")
        changes = self.query.changes_to(another(self.query, text))
        arcs = self._difference(changes.query)
        for arc in [change.payload for change in arcs if change.diff < 0 and at is not None]:
            self.log.listing().one(arc.name, at)  # no other one of its name comes later
        self.log.write(arcs, at=at)
        self.query, self.text = changes.query, text
        return str(changes._replace(arcs=tuple(arcs))) if arcs else "the query says the same: no arc has changed"

    def _difference(self, query: Query) -> list[Change]:
        """Return what leads from the arcs in force to those of a query, arcs that were changed one by one among them."""
        automaton, versions = query.automaton, self.log.listing().versions.all()
        now = {str(v.line.arc.name): v.line.arc for v in versions if v.re == FOREVER}
        then = {str(arc.name): arc for arc in automaton.arcs}
        stay = {name for name in now.keys() & then.keys() if now[name].to_json(automaton) == then[name].to_json(automaton)}
        gone = [retract(arc) for name, arc in now.items() if name not in stay]
        return gone + [insert(arc) for name, arc in then.items() if name not in stay]


def instant_of(data: dict[str, Any]) -> int | str | None:
    """Return from when on a change holds: ticks, ISO 8601 text, or None: from when it is read.

    >>> instant_of({"at": "17"}), instant_of({"at": " "}), instant_of({"at": "2024-01-01T12:00"})
    (17, None, '2024-01-01T12:00')
    """
    at = data.get("at")
    if at is None or (isinstance(at, str) and not at.strip()):
        return None
    if type(at) is int:
        return at
    if not isinstance(at, str):
        raise AfaError(f"expected a timestamp, a number of ticks or ISO 8601 text, but got at={at!r}")
    found: int | str = ticks_or_text(at.strip())
    return found


def ticks_or_text(text: Any) -> Any:
    """Return text that is a number of ticks as an int, all else as it is.

    >>> [ticks_or_text(text) for text in ("-17", "5 seconds", "\u00b2", None)]
    [-17, '5 seconds', '\u00b2', None]
    """
    return int(text) if isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,30}", text) else text


def _text(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value.strip():
        raise AfaError(f"expected text but got {name}={value!r}")
    return value


def _part(data: dict[str, Any], name: str) -> str | None:
    """Return the text of a function; None: it stays as it is."""
    value = data.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise AfaError(f"expected text but got {name}={value!r}")
    return value
