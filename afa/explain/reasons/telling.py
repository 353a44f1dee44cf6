"""Events, instants and arcs as a sentence has them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from afa.change import Change
from afa.schema import Schema
from punctuation.durations import NANOSECONDS
from punctuation.time import BEGINNING, FOREVER

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
LONG = 80
"""So many letters of an event, or of a key, are told."""


class SentenceWords(NamedTuple):
    """What sentences need to know."""

    schema: Schema | None  # of the events that come
    keys: tuple[str, ...] = ()  # fields that make the key: they are left out, unless nothing else is there
    tick: str | None = None
    times: bool = False  # whether instants are told as times of day; else as ticks
    zone: str | None = None  # of those times; None: UTC

    def event(self, change: Change, near: int) -> str:
        """Return an event in quotes: its fields, and when it was. ``near``: an instant; a time of that day needs no date.

        >>> class Pay(NamedTuple):
        ...     card: str
        ...     kind: str
        >>> SentenceWords(Schema.of(Pay, "event"), ("card",)).event(Change(Pay("c1", "declined"), 3), 0)
        "'declined, 3'"
        """
        text = self.payload(change.payload)
        when = [] if change.le is None else [self.time(change.le, near)]
        return "'" + ", ".join([part for part in (text, *when) if part]) + "'"

    def payload(self, payload: Any) -> str:
        """Return the fields of an event, those of the key only if there are no others."""
        schema = self.schema
        if schema is None:
            values = [payload]
        else:
            named = [(f.name, v) for f, v in zip(schema.fields, payload) if f.name != schema.instant]
            values = [v for name, v in named if name not in self.keys] or [v for _, v in named]
        text = ", ".join([plain(str(value)) for value in values])
        return short(text)

    def time(self, t: int, near: int | None = None) -> str:
        """Return an instant, without its date if it is of the day of another one.

        >>> words = SentenceWords(None, (), "ms", True)
        >>> words.time(50_603_500, 0), words.time(50_603_500), SentenceWords(None).time(7)
        ('14:03:23.5', '1970-01-01 14:03:23.5', '7')
        """
        if t in (BEGINNING, FOREVER):
            return "forever" if t == FOREVER else "the beginning"
        moment = self._moment(t)
        if moment is None:
            return str(t)
        seconds, nanoseconds = moment
        fraction = f".{nanoseconds:09}".rstrip("0") if nanoseconds else ""
        beside = None if near is None or near in (BEGINNING, FOREVER) else self._moment(near)
        same = beside is not None and beside[0].date() == seconds.date()
        return seconds.strftime("%H:%M:%S" if same else "%Y-%m-%d %H:%M:%S") + fraction

    def _moment(self, t: int) -> tuple[datetime, int] | None:
        """Return an instant as a date and time, and nanoseconds; None: it is told in ticks."""
        if not self.times or self.tick is None:
            return None
        seconds, nanoseconds = divmod(t * NANOSECONDS[self.tick], 1_000_000_000)
        try:
            return (EPOCH + timedelta(seconds=seconds)).astimezone(zone_of(self.zone)), nanoseconds
        except (OverflowError, ValueError):
            return None


def zone_of(name: str | None) -> tzinfo:
    """Return the zone of a name, or of an offset such as +01:00. One that is not known: UTC."""
    return known_zone(name) or timezone.utc


def known_zone(name: str | None) -> tzinfo | None:
    """Return the zone of a name, or of an offset; None: there is no such zone."""
    if name is None:
        return timezone.utc
    try:
        if name[:1] in ("+", "-"):
            hours, _, minutes = name[1:].partition(":")
            offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
            return timezone(-offset if name[0] == "-" else offset)
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return None


def short(text: str) -> str:
    """Return the first letters of a text, if it is long."""
    return text if len(text) <= LONG else f"{text[: LONG - 2]} .."


def plain(text: str) -> str:
    """Return text with what does not print escaped, so that a value of the input can't feign a line."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def arc_words(arc: Any) -> str:
    """Return an arc by its name, or by its states."""
    return plain(f"the arc {arc.name!r}" if getattr(arc, "name", None) else str(arc))
