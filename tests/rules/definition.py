"""What a set of rules should hold, by SEMANTICS.md, Rules: what an operator of each rule says of the events of its lifetime.

It knows events as they came, rules with lifetimes, watermarks; nothing of how a set works. Each operator is made anew for each
question, on the plain engine, and takes all of its events in the order of time, then the watermark.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from afa import AfaError, Change, Operator, Punctuation
from afa.language.query import Query
from afa.schema import Schema
from punctuation.time import BEGINNING, FOREVER
from tests.rules.patterns import Row, What, read

FIELDS = {field.name: field for field in Schema.of(Row, "event").fields}
FLOATS = [(name, Row._fields.index(name)) for name in ("y", "z")]
Event = tuple[Any, int, int | None]
"""Values, LE, and RE where one is given."""


class Ways(NamedTuple):
    """The options of a set that reach its rules."""

    key: Any = None
    window: int | None = None
    order_by: str | None = None
    longest: bool = False
    partial_matches: int | None = None
    lossy: bool = False
    """Whether tables leave of kinds that have one value for null and NaN."""


class Answer(NamedTuple):
    """The matches of one rule, as rows of a table without nulls; the watermark of its output; what its functions raised."""

    rows: Counter[Any]
    watermark: int
    raised: str | None = None


@dataclass
class Entry:
    """A rule with its lifetime; ``final``: what it has told, where nothing changes that any more."""

    name: str
    what: What
    le: int
    re: int
    final: Counter[Any] | None = None
    shown: Counter[Any] = field(default_factory=Counter)
    watermark: int = BEGINNING


def options_of(what: What, ways: Ways) -> dict[str, Any]:
    """What an operator of one rule is told, beside what it says itself."""
    made, found = read(what), {}
    if made_key(made) is None and ways.key is not None:
        found["key"] = ways.key
    if not isinstance(made, Query):
        found |= {"window": ways.window} if ways.window is not None and getattr(made, "window", None) is None else {}
        found |= {"order_by": ways.order_by} if ways.order_by is not None and getattr(made, "ordered_by", None) is None else {}
    if getattr(made, "tick", None) is None:
        found["tick"] = "s"
    found |= {"longest": True} if ways.longest else {}
    return found | ({"partial_matches": ways.partial_matches} if ways.partial_matches is not None else {})


def made_key(made: Any) -> Any:
    return getattr(made, "key", None)


def labels_of(what: What, ways: Ways) -> tuple[str, ...]:
    """The columns of a rule's key."""
    key = made_key(read(what))
    key = ways.key if key is None else key
    return () if key is None else (key,) if isinstance(key, str) else tuple(key)


@functools.lru_cache(4096)
def columns_of(what: What, ways: Ways) -> dict[str, str] | None:
    """The columns of a rule by name, with their types; None: no operator can be made of it."""
    try:
        made: Any = Operator(read(what), engine="interpreted", **options_of(what, ways))
    except AfaError:
        return None
    shown = made._core.shown
    found = {each.name: str(each.type) + ("t" if each.name in shown.times else "") for each in shown.fields}
    return found | {name: str(FIELDS[name].type) for name in labels_of(what, ways) if name in FIELDS}


def row_of(what: What, ways: Ways, change: Any) -> Any:
    """A match as the values of its columns that are not null, with its lifetime."""
    labels = labels_of(what, ways)
    parts = () if not labels else (change.key,) if len(labels) == 1 else tuple(change.key)
    values = {**dict(zip(labels, parts)), **dict(zip(change.payload._fields, change.payload))}
    return told(values, ways.lossy), change.le, change.re


def told(values: dict[str, Any], lossy: bool = False) -> Any:
    """The values of columns, without those that are null; NaN is equal to itself, and bools are no ints."""
    found = []
    for name, value in values.items():
        if value is None:
            continue
        if isinstance(value, float):
            if lossy and math.isnan(value):
                continue
            value = "nan" if math.isnan(value) else value + 0.0
        elif isinstance(value, list):
            value = tuple(value)
        found.append((name, type(value).__name__, value))
    return tuple(sorted(found, key=lambda each: each[0]))


def decoded(values: Any) -> Row:
    """An event of plain data: floats that Python's text does not have are text."""
    row = Row(*values)
    return row._replace(**{name: float(row[i]) for name, i in FLOATS if isinstance(row[i], str)})


@functools.lru_cache(20_000)
def answer(what: What, ways: Ways, events: tuple[tuple[Event, int], ...], promised: int) -> Answer:
    """What an operator of its own has found."""
    op: Any = Operator(read(what), engine="interpreted", late="drop", **options_of(what, ways))
    items: list[Any] = [Change(decoded(values), le, re, n) for (values, le, re), n in events]
    items += [Punctuation(promised)] if promised > BEGINNING else []
    found, watermark = Counter[Any](), BEGINNING
    try:
        out = op.push_many(items)
    except Exception as error:  # of any kind: users' functions raise what they like
        return Answer(Counter(), BEGINNING, f"{type(error).__name__}: {error}")
    for item in out:
        if isinstance(item, Punctuation):
            watermark = max(watermark, item.t)
        else:
            found[row_of(what, ways, item)] += item.diff
    return Answer(found, watermark)


class Definition:
    """Events, rules and watermarks, as they are."""

    def __init__(self, ways: Ways, reach: int, rules: dict[str, What]) -> None:
        self.ways, self.reach = ways, reach
        self.entries = [Entry(name, what, BEGINNING, FOREVER) for name, what in rules.items()]
        self.ended: list[tuple[str, Counter[Any]]] = []
        """What rules have told that are no rules any more."""
        self.events: Counter[Event] = Counter()
        self.promised = self.now = self.watermark = BEGINNING
        self.late: list[tuple[Any, int, int]] = []

    # -- events ----------------------------------------------------------------------------------------------------------------

    def take(self, item: tuple[Any, ...]) -> None:
        """Take ("e", values, le, re, diff) or ("t", t)."""
        if item[0] == "t":
            if item[1] <= self.promised:
                return
            self.promised = item[1]
            self.now = max(self.now, min(item[1], FOREVER - 1) + 1)
            for event, n in list(self.events.items()):
                if n < 0 and event[1] < self.promised:
                    self.late.append((event[0], event[1], n))
                    del self.events[event]
            return
        _, values, le, re, diff = item
        if le < self.promised:
            self.late.append((values, le, diff))
            return
        self.events[values, le, re] += diff
        if not self.events[values, le, re]:
            del self.events[values, le, re]
        self.now = max(self.now, le + 1)

    def answer(self, entry: Entry) -> Answer:
        """What a rule has found among the events of its lifetime, of its matches those with an LE within it."""
        mine = sorted(
            ((event, n) for event, n in self.events.items() if entry.le <= event[1] < entry.re),
            key=lambda each: (each[0][1], repr(each)),
        )
        found = answer(entry.what, self.ways, tuple(mine), self.promised)
        return found._replace(rows=Counter({row: n for row, n in found.rows.items() if row[1] < entry.re and n}))

    def rows(self) -> dict[str, Counter[Any]]:
        """What all rules have told, by name, as it was last asked."""
        found: dict[str, Counter[Any]] = {}
        parts = [(entry.name, entry.shown) for entry in self.entries] + self.ended
        for name, rows in parts:
            found.setdefault(name, Counter()).update(rows)
        return found

    def lowest(self) -> int:
        """How far all is final: of each rule that still runs, and of what is held for rules that come."""
        t = self.promised
        found = t if t == FOREVER else max(t - self.reach, BEGINNING)
        for entry in self.entries:
            if entry.final is None and entry.watermark < entry.re:
                found = min(found, max(entry.watermark, entry.le))
        return found

    # -- rules -----------------------------------------------------------------------------------------------------------------

    def why_not_add(self, name: str, what: What, le: int | None, re: int | None) -> str | None:
        """Why a rule can't be added; None: it can."""
        le, re = self.now if le is None else le, FOREVER if re is None else re
        if le >= re:
            return "it has no lifetime"
        if self.promised > BEGINNING and le < self.promised - self.reach:
            return "events before are not held"
        if any(each.name == name and each.le < re and le < each.re for each in self.entries):
            return "there is one of its name"
        mine = columns_of(what, self.ways)
        if mine is None:
            return "no operator can be made of it"
        if self.answer(Entry(name, what, le, re)).raised:
            return "it raises"
        return None

    def add(self, name: str, what: What, le: int | None, re: int | None) -> None:
        self.entries.append(Entry(name, what, self.now if le is None else le, FOREVER if re is None else re))

    def why_not_end(self, name: str, at: int | None) -> str | None:
        """Why a rule can't end at an instant."""
        if at is not None and at <= self.promised and self.promised > BEGINNING:
            return "it is final"
        at = self.now if at is None else at
        return None if any(each.name == name and at < each.re for each in self.entries) else "there is none"

    def end(self, name: str, at: int | None) -> int:
        """End the rules of a name that last beyond an instant; those that begin there, or later, were never there."""
        at = self.now if at is None else at
        for entry in list(self.entries):
            if entry.name == name and at < entry.re:
                if entry.le < at:
                    entry.re = at
                else:
                    self.entries.remove(entry)
                    self.ended += [(name, entry.final)] if entry.final else []
        return at

    def restored(self, given: dict[str, What]) -> Counter[str]:
        """Give rules to a snapshot in place of those that were; return how many went on, came, went, were dropped."""
        met, now = Counter[str](), self.now
        last = {each.name: each.what for each in sorted(self.entries, key=lambda each: each.le) if each.re > now}
        for entry in list(self.entries):
            new = given.get(entry.name)
            text = isinstance(entry.what, str)
            if not text and new != entry.what:  # it can't go on, as nobody says its pattern
                met["dropped"] += 1
                self.entries.remove(entry)
                self.ended.append((entry.name, entry.shown))
            elif entry.re > now and new != last[entry.name]:  # where the last one of a name is given, all of its name stay
                met["gone"] += 1
                self._end_entry(entry, now)
            else:
                met["went on"] += 1
        there = {entry.name for entry in self.entries if entry.re > now}
        for name, what in given.items():
            if name not in there:
                met["came"] += 1
                self.entries.append(Entry(name, what, now, FOREVER))
        return met

    def _end_entry(self, entry: Entry, at: int) -> None:
        if entry.le < at:
            entry.re = at
        else:
            self.entries.remove(entry)
            self.ended += [(entry.name, entry.final)] if entry.final else []
