"""All that the page of a run shows, as plain data: columns of events, matches with their events and reasons, spans, promises.

Times are offsets from ``base``, an int as text, so that a script holds them exactly; None: FOREVER.
"""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

from afa.change import Change
from afa.explain.reasons.because import Because
from afa.explain.reasons.telling import SentenceWords, plain, short, zone_of
from afa.explain.reasons.why_changed import arc_change, is_arc
from afa.explain.tracing.held_spans import threads_of
from afa.explain.tracing.passed_states import PassedStates
from afa.operator.told_anew import match_name
from punctuation.durations import NANOSECONDS
from punctuation.time import BEGINNING, FOREVER


class TracedChange(NamedTuple):
    """A change of an event as it came: the how many-th of all items it was, and whether it was late and left out."""

    change: Change
    arrival: int
    late: bool


@dataclass(slots=True)
class Announcement:
    """A match from its announcement to its withdrawal, if it was withdrawn.

    ``at`` and ``gone_at`` are the arrivals of the items that announced and withdrew it; ``path`` has the events of its first path
    when it was announced, at most 200, with their components; ``more``: it has further paths.
    """

    change: Change
    at: int
    because: Because
    path: list[tuple[str, Change]]
    more: bool
    gone_at: int | None = None
    gone_because: Because | None = None


def key_text(key: Hashable) -> str:
    """Return a key as the page shows it."""
    return short(" · ".join(map(str, key)) if isinstance(key, tuple) else str(key))


def page_data(trace: Any, title: str, why: str = "") -> dict[str, Any]:
    """Return what the page of a trace shows. O(what the trace keeps, and the partial matches held)."""
    core = trace._core
    return core.calls.call(_page_data, trace, title, why)  # type: ignore[no-any-return]


def _page_data(trace: Any, title: str, why: str) -> dict[str, Any]:
    core, words = trace._core, trace._words
    les: list[Any] = [seen.change.le for seen in trace.events] + [each.change.le for each in trace.announcements]
    table = EventTable(words, min(les, default=0), trace)
    matches = [table.match(each) for each in trace.announcements]
    spans = _spans(trace, table, core)
    return {
        "title": title,
        "why": why,
        "counts": _counts(trace, table),
        "time": _time(words, table.base),
        "keyed": bool(core.keyed),
        "states": list(trace.automaton.states),
        "events": table.columns(),
        "matches": matches,
        "promises": _promises(trace, table),
        "arcs": [{"arrival": at, "text": arc_change(change, words, BEGINNING)} for change, at in trace.arcs],
        "threads": spans,
        "final": table.time(trace.final) if trace.final not in (BEGINNING, FOREVER) else None,
        "ended": trace.final == FOREVER,
    }


def _counts(trace: Any, table: EventTable) -> dict[str, int]:
    """Return the numbers of the whole run, whatever of it is shown."""
    final = sum(each.gone_at is None and each.change.le < trace.final for each in trace.announcements)
    return {
        "events": trace.changes,
        "shown": len(trace.events),
        "late": trace.late,
        "announced": trace.announced,
        "withdrawn": trace.withdrawn,
        "final": final,
        "kept": len(trace.announcements),
        "arrived": trace.arrived,
        "keys": len(table.keys),
    }


def _time(words: SentenceWords, base: int) -> dict[str, Any]:
    """Return how the page tells times: ``ms``, what a tick is; ``zone``, and how far it is ahead of UTC where the run begins."""
    if not words.times or words.tick is None:
        return {"base": str(base), "ms": None, "baseMs": 0, "zone": "", "ahead": 0}
    nanoseconds = NANOSECONDS[words.tick]
    moment = words._moment(base)
    ahead = moment[0].astimezone(zone_of(words.zone)).utcoffset() if moment is not None else None
    return {
        "base": str(base),
        "ms": nanoseconds / 1e6,
        "baseMs": base * nanoseconds / 1e6,
        "zone": words.zone or "UTC",
        "ahead": 0 if ahead is None else ahead.total_seconds() * 1000,
    }


class EventTable:
    """Events of the page, in order of arrival; behind them those that came later, or before the trace, and belong to a match."""

    def __init__(self, words: SentenceWords, base: int, trace: Any) -> None:
        self.words, self.base = words, base
        core = trace._core
        self.keys: dict[Hashable, int] = {}
        self._keyed = core.keyed
        self._times = frozenset(core.shown.times)
        self._texts: dict[str, int] = {}
        self._columns: dict[str, list[Any]] = {name: [] for name in ("le", "re", "key", "diff", "arrival", "text", "late")}
        self._places: dict[Any, list[int]] = {}
        self._by_arrival: dict[int, int] = {}
        self._passed = PassedStates(trace.automaton.start, trace.automaton.final, [e.arc for e in core.arcs.table.events])
        for seen in trace.events:
            self._add(seen.change, seen.arrival, seen.late)
        self.kept = len(trace.events)

    def time(self, t: int | None) -> int | None:
        """Return a time as an offset."""
        return None if t is None or t == FOREVER else t - self.base

    def _add(self, change: Change, arrival: int | None, late: bool = False) -> int:
        place = len(self._columns["le"])
        text = self.words.payload(change.payload)
        values = (
            self.time(change.le),
            self.time(change.re),
            self.keys.setdefault(change.key, len(self.keys)) if self._keyed else 0,
            change.diff,
            arrival,
            self._texts.setdefault(text, len(self._texts)),
            int(late),
        )
        for column, value in zip(self._columns.values(), values):
            column.append(value)
        if change.diff > 0:
            self._places.setdefault(match_name(change), []).append(place)
        if arrival is not None:
            self._by_arrival[arrival] = place
        return place

    def place(self, change: Change, until: int) -> int:
        """Return which event of the page one is; of equal ones the last that had come at an arrival."""
        places = self._places.get(match_name(change), [])
        arrivals = self._columns["arrival"]
        came = [place for place in places if arrivals[place] is None or arrivals[place] <= until]
        return came[-1] if came else self._add(change._replace(diff=1), None)

    def columns(self) -> dict[str, Any]:
        """Return the columns; ``kept``: so many have come within the bounds of the trace."""
        return {**self._columns, "texts": list(self._texts), "keys": [key_text(key) for key in self.keys], "kept": self.kept}

    def match(self, each: Announcement) -> dict[str, Any]:
        """Return an announcement as the page has it."""
        change = each.change
        return {
            "text": self._shown(change),
            "le": self.time(change.le),
            "re": self.time(change.re),
            "key": self.keys.setdefault(change.key, len(self.keys)) if self._keyed else 0,
            "at": each.at,
            "gone": each.gone_at,
            "why": self._reason(each.because, each.at),
            "whyGone": None if each.gone_because is None or each.gone_at is None else self._reason(each.gone_because, each.gone_at),
            "path": [[component, self.place(event, each.at)] for component, event in each.path],
            "more": each.more,
            "states": list(self._passed.of(tuple(component for component, _ in each.path))) if each.path else [],
        }

    def _shown(self, change: Change) -> str:
        """Return the fields of a match, times as times."""
        found = []
        for name, value in zip(type(change.payload)._fields, change.payload):
            time = name in self._times and type(value) is int
            found.append(f"{name}={self.words.time(value, change.le) if time else short(plain(str(value)))}")
        return ", ".join(found)

    def _reason(self, because: Because, at: int) -> dict[str, Any]:
        """Return a reason; its event is the item that came at that arrival."""
        change = because.change
        place = None
        if change.diff and change.le is not None and not is_arc(change):
            place = self._by_arrival.get(at)
            place = self._add(change, at) if place is None else place
        events = [self.place(other, at) for other in because.events]
        return {"kind": because.kind, "text": because.text, "event": place, "diff": change.diff, "events": events}


def _promises(trace: Any, table: EventTable) -> list[dict[str, Any]]:
    """Return the promises of events, each with its cover: the last event before it in force then, of those that are kept."""
    found = []
    there: list[tuple[int, int]] = []
    places: dict[Any, list[int]] = defaultdict(list)
    arrivals: Iterable[Any] = iter([*enumerate(trace.events), (0, None)])
    n, seen = next(iter(arrivals))
    for t, at in trace.promises:
        while seen is not None and seen.arrival < at:
            _take(seen.change, n, there, places)
            n, seen = next(iter(arrivals))
        i = bisect_left(there, (t, -1))
        found.append({"t": table.time(t), "arrival": at, "cover": there[i - 1][1] if i and t != FOREVER else None})
    return found


def _take(change: Change, n: int, there: list[tuple[int, int]], places: dict[Any, list[int]]) -> None:
    """Put the ``n``-th event into the sorted list of those in force, or take it out."""
    le: Any = change.le
    held = places[match_name(change)]
    if change.diff > 0:
        held.append(n)
        insort(there, (le, n))
    elif held:
        del there[bisect_left(there, (le, held.pop()))]


def _spans(trace: Any, table: EventTable, core: Any) -> dict[str, Any]:
    """Return the spans of partial matches, of keys with withdrawn matches first."""
    times: dict[Hashable, set[int]] = defaultdict(set)
    for seen in trace.events:
        times[seen.change.key].add(seen.change.le)
    order = [each.change.key for each in trace.announcements if each.gone_at is not None]
    order += [each.change.key for each in trace.announcements]
    keys = list(dict.fromkeys([*order, *times]))
    found = threads_of(core, keys, {key: sorted(times[key]) for key in keys})
    states = {state: i for i, state in enumerate(trace.automaton.states)}
    rows = [
        [
            table.keys.setdefault(key, len(table.keys)) if table._keyed else 0,
            table.time(span.start),
            states.setdefault(span.state, len(states)),
            table.time(span.low),
            table.time(span.high),
            int(span.goes_on),
        ]
        for key, spans in found.spans.items()
        for span in spans
    ]
    return {"spans": rows, "keys": len(found.spans), "leftOut": found.left_out, "states": list(states)}


# The page of a run as one file: its data, its style and its script in it, nothing loaded from elsewhere.
# d3 (scales with ticks for times, zoom with mouse, touch and keys) stands in it as one minified file, ``page/d3.min.js``; all else
# is drawn on a canvas by ``page/report.js``, as a hundred thousand elements of SVG would be slow, and charts of a library have no
# axis of arrival. ``page/LICENSE.d3`` says where it comes from.
def page_text(data: dict[str, Any], drawing: str) -> str:
    """Return the page of what `page_data` tells; ``drawing``: the automaton as SVG.

    >>> "</script><b>" in page_text({"title": "</script><b>"}, "<svg></svg>")
    False
    """
    parts = {
        "title": escape(data["title"] or "afa").encode("utf-8", "backslashreplace").decode(),  # a file's name may be any bytes
        "style": _file("report.css"),
        "drawing": drawing,
        "data": embedded(data),
        "library": _file("d3.min.js"),
        "script": _file("report.js"),
    }
    text = _file("report.html")
    head, *rest = text.split("{{")
    found = [head]
    for part in rest:
        name, _, tail = part.partition("}}")
        found += [parts[name], tail]
    return "".join(found)


def embedded(data: Any) -> str:
    """Return data as JSON that ends no script element, whatever a value says.

    >>> embedded(["</script>"])
    '["\\\\u003c/script\\\\u003e"]'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _file(name: str) -> str:
    return (files("afa.explain.tracing") / "page" / name).read_text(encoding="utf-8")
