"""The funnel of a pattern: what was asked, what was true, where partial matches ended, and why there is no match."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from afa.explain.funnel.labels import as_date, event_in_words, ticks_in_words
from afa.html_tables import escaped, grid


class PartCount(NamedTuple):
    """One conjunct of a fence, as text, and how often it was the first one that was false."""

    text: str
    stopped: int


class ArcCount(NamedTuple):
    """What was counted of one arc.

    Parameters
    ----------
    arc, src, dst, kind : str
        ``kind``: "consume", "skip", "epsilon" or "timeout".
    lifetimes : list of (int, int)
        In which it is, or was, in force.
    asked : int
        How often its fence was asked: of each event at a step, once for each partial match that stands there in ``src`` and lives;
        from the start state, once for each event. A skip once for a step, an epsilon arc for each step at which one stands in
        ``src``, a time-out for each step behind which one waits there.
    true : int
        How often the fence was true, or the time-out fired.
    last : int or None
        The LE at which it was true last.
    parts : list of PartCount
        The conjuncts of the fence, in order: ``asked = true + raised + all that they stopped``. For a time-out there are none.
    raised : int
        How often it raised, and so did not serve; ``error``: what, the first time.
    past : int
        Of a time-out: for how many partial matches it would fire past the end of their lifetime.
    """

    arc: str
    src: str
    dst: str
    kind: str
    lifetimes: list[tuple[int, int]]
    asked: int
    true: int
    last: int | None
    parts: list[PartCount]
    raised: int = 0
    error: str | None = None
    past: int = 0

    @property
    def stopped_most(self) -> PartCount | None:
        """The conjunct that stopped most; None: none stopped anything."""
        found = max(self.parts, key=lambda part: part.stopped, default=None)
        return found if found is not None and found.stopped else None


class StateCount(NamedTuple):
    """What became of the partial matches that stood in one state.

    ``entered + before = went_on + by_match + by_window + by_no_arc + open``.

    Parameters
    ----------
    state : str
    entered : int
        Partial matches that came to stand there.
    before : int
        Those that stood there already where the count begins, as a promise has dropped what came before.
    matched : int
        Those that were matches, at some step.
    went_on : int
        Of which something else has come, and that were no match.
    by_match, by_window, by_no_arc, open : int
        Those that nothing has come of: that were matches; whose lifetime was over; of which the next event of the key took no arc;
        that still wait.
    """

    state: str
    entered: int
    before: int
    matched: int
    went_on: int
    by_match: int
    by_window: int
    by_no_arc: int
    open: int


class Miss(NamedTuple):
    """An event that an arc was asked of and did not take, and what waited for it.

    ``events``: those that the partial match had taken, each with its LE; None: they are not held, or can't be told quickly.
    """

    arc: str
    part: str
    key: Hashable
    le: int
    event: Any
    register: Any
    events: list[tuple[Any, int]] | None


ARC_COLUMNS = ("arc", "asked", "true", "last true", "stopped most by", "times")
STATE_COLUMNS = ("state", "entered", "went on", "matched", "by window", "by no arc", "open")


@dataclass(frozen=True)
class Funnel:
    """What an operator holds, or what an input has brought, as counts: see `ArcCount` and `StateCount`.

    Counts are a function of the set of events and arcs, never of the order of arrival.

    Attributes
    ----------
    why : str
        One sentence: why there is no match; where there are some, how many.
    cause : str
        The kind of reason: "value", "limit", "none", "raised", "key", "gap", "waits", "past", "order", "window", "unit", "between",
        "register", "never", "stopped", "late", "empty", "apart" or "matched" (`afa.explain.funnel.causes`).
    arcs : list of ArcCount
    states : list of StateCount
    misses : list of Miss
        The nearest ones of the arcs that lead on from the furthest state that was reached; nearest first.
    keys, events, began, matches : int
        Keys and events that were counted (equal events count once), beginnings, and matches in force.
    all_keys : int
        How many keys there are: more than ``keys``, where there was too much to count.
    late : int
        Changes that were dropped as late.
    share : int
        One key of so many was counted, as there was too much to keep.
    cut : bool
        Whether the first events only were counted, for the same reason, where there are no keys.
    since, until : int or None
        From which LE, and up to which, was counted; None: all. What a promise has dropped is not counted.
    window : int or None
    tick : str or None
    dated : bool
        Whether LEs are shown as times since 1970: all of them lie in our days, by this tick. As data they are ints.
    """

    why: str
    cause: str
    arcs: list[ArcCount]
    states: list[StateCount]
    misses: list[Miss]
    keys: int
    events: int
    began: int
    matches: int
    all_keys: int
    late: int = 0
    share: int = 1
    cut: bool = False
    since: int | None = None
    until: int | None = None
    window: int | None = None
    tick: str | None = None
    dated: bool = False

    def when(self, le: int) -> str:
        """Return an LE as it is shown."""
        return as_date(le, self.tick) if self.dated and self.tick is not None else f"{le}"

    @property
    def part(self) -> bool:
        """Whether only a part of the events was counted."""
        return self.share > 1 or self.cut or self.keys < self.all_keys or self.until is not None

    @property
    def scope(self) -> str:
        """What was counted, in words."""
        keys = (
            f"{self.keys:,} of {self.all_keys:,} keys"
            if self.keys < self.all_keys
            else f"{self.keys:,} key{'s' * (self.keys != 1)}"
        )
        text = f"{self.events:,} events of {keys}"
        if self.share > 1:
            text += f" (one key of {self.share:,}: there was too much to keep)"
        if self.cut:
            text += " (the first ones: there was too much to keep)"
        if self.since is not None:
            text += f", since the promise of {self.when(self.since)} (what it has dropped is not counted)"
        if self.until is not None:
            text += f", up to {self.when(self.until)}: there was too much to count"
        if self.late:
            text += f"; {self.late:,} changes were dropped as late"
        return text if self.window is None else f"{text}; window {ticks_in_words(self.window, self.tick)}"

    def rows_of_arcs(self) -> list[tuple[str, ...]]:
        """Return the counts of arcs as text, under `ARC_COLUMNS`."""
        found: list[tuple[str, ...]] = []
        for arc in self.arcs:
            most = arc.stopped_most
            why = f"{most.text}" if most else ""
            if arc.raised > (most.stopped if most else 0):
                why, times = f"raised {arc.error}", f"{arc.raised:,}"
            else:
                times = f"{most.stopped:,}" if most else ""
            if arc.past:
                why, times = "past the window", f"{arc.past:,}"
            ends = f"{arc.src} -> {arc.dst}"
            name = arc.arc if ends in arc.arc else f"{arc.arc}: {ends}"
            found.append((name, f"{arc.asked:,}", f"{arc.true:,}", "" if arc.last is None else self.when(arc.last), why, times))
        return found

    def rows_of_states(self) -> list[tuple[str, ...]]:
        """Return the counts of states as text, under `STATE_COLUMNS`."""
        return [
            (s.state, *(f"{n:,}" for n in (s.entered + s.before, s.went_on, s.matched, s.by_window, s.by_no_arc, s.open)))
            for s in self.states
        ]

    def misses_in_words(self) -> list[str]:
        """Return each nearest miss in one line."""
        return [_in_words(miss, self.when) for miss in self.misses]

    def table(self, of: str = "arcs") -> Any:
        """Return the counts as an Arrow table.

        Parameters
        ----------
        of : "arcs" or "states"
            One row for each; ``parts`` is a list of structs.
        """
        import pyarrow as pa

        if of not in ("arcs", "states"):
            raise ValueError(f'expected of="arcs" or "states" but got of={of!r}')
        return pa.Table.from_pylist(self.to_json()[of])

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data for ``json.dumps``."""
        found = asdict(self)
        found["arcs"] = [arc._asdict() | {"parts": [part._asdict() for part in arc.parts]} for arc in self.arcs]
        found["states"] = [state._asdict() for state in self.states]
        found["misses"] = [_plain(miss) for miss in self.misses]
        return found

    def __str__(self) -> str:
        parts = [self.why, self.scope, _aligned(ARC_COLUMNS, self.rows_of_arcs()), _aligned(STATE_COLUMNS, self.rows_of_states())]
        if self.misses:
            parts.append("\n".join(["nearest misses", *(f"  {line}" for line in self.misses_in_words())]))
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        misses = "".join(f"<li>{escaped(line)}</li>" for line in self.misses_in_words())
        return (
            f'<div class="afa-funnel"><p><strong>{escaped(self.why)}</strong></p><p>{escaped(self.scope)}</p>'
            f"{grid(ARC_COLUMNS, self.rows_of_arcs())}{grid(STATE_COLUMNS, self.rows_of_states())}"
            + (f"<p>nearest misses</p><ul>{misses}</ul>" if misses else "")
            + "</div>"
        )


def _in_words(miss: Miss, when: Callable[[int], str]) -> str:
    of = "" if miss.key is None else f"key {miss.key!r}: "
    behind = ""
    if miss.events:
        behind = f" behind {', '.join(f'{event_in_words(event, when)} at {when(le)}' for event, le in miss.events[-3:])}"
        behind += f" ({len(miss.events) - 3} more before)" if len(miss.events) > 3 else ""
    return f"{of}{event_in_words(miss.event, when)} at {when(miss.le)}{behind} did not take `{miss.arc}`: `{miss.part}` was false"


def _plain(miss: Miss) -> dict[str, Any]:
    found = miss._asdict()
    found["key"] = miss.key if isinstance(miss.key, (int, float, str, type(None))) else repr(miss.key)
    found["event"], found["register"] = _fields(miss.event), _fields(miss.register)
    found["events"] = None if miss.events is None else [{"le": le, "event": _fields(event)} for event, le in miss.events]
    return found


def _fields(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _fields(field) for name, field in value._asdict().items()}
    return value if isinstance(value, (int, float, str, type(None))) else repr(value)


def _aligned(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    numbers = [
        i > 0 and all(row[i].replace(",", "").lstrip("-").isdecimal() or not row[i] for row in rows) for i in range(len(columns))
    ]
    return "\n".join(
        "  ".join(cell.rjust(width) if number else cell.ljust(width) for cell, width, number in zip(row, widths, numbers)).rstrip()
        for row in [columns, *rows]
    )


def as_json(funnel: Funnel) -> str:
    """Return a funnel as JSON text."""
    return json.dumps(funnel.to_json(), indent=2, ensure_ascii=False)
