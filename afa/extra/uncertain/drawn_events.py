"""Events on their way to the operator of the worlds: without those that are late, or can change nothing; then in every world.

rows -> in time -> known by identity -> those that can change anything -> worlds x rows, as columns
                                        the others are kept: an arc may come that takes them
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from afa.change import Change
from afa.engine import GivenColumns
from afa.extra.uncertain.bounded_automaton import LATEST, Bounded
from afa.extra.uncertain.known_events import KnownEvents
from afa.extra.uncertain.relevance import LeftOut, relevance
from afa.extra.uncertain.uncertain_rows import EventReader, UncertainEvents, spread, spread_key
from afa.io.listed_columns import picked
from afa.operator.call import Core
from afa.state.plain import Unfit
from punctuation.time import BEGINNING, FOREVER

LOGGER = logging.getLogger("afa")
CHUNK = 1 << 20
"""So many rows go to the operator of the worlds at a time."""


class Drawing:
    """The way of events to the operator of the worlds (``core``), within its calls; ``bounded``: what it matches."""

    def __init__(
        self, core: Core, bounded: Bounded, reading: EventReader, events: KnownEvents, left_out: LeftOut, worlds: int
    ) -> None:
        self._core, self._bounded, self._reading = core, bounded, reading
        self._events, self._left_out, self._worlds = events, left_out, worlds
        self._relevant: tuple[Any, Any] = None, None  # a table of arcs, and which events can change anything under it
        self._said = False

    def steps(self, parts: Iterable[Any]) -> Iterator[Any]:
        """Yields what reaches the operator of the worlds, as `Core.take` takes it."""
        for part in parts:
            if isinstance(part, UncertainEvents):
                rows = self._in_time(part)
                self._tell_of_long(rows)
                self._know(rows)
                yield from self._drawn(self._without_rest(rows))
            elif part[0] == "arc":  # which may take what was left out
                for rows in self._left_out.all():
                    yield from self._drawn(rows, self._core.progress.events)
                yield part
            else:
                yield part

    def _in_time(self, rows: UncertainEvents) -> UncertainEvents:
        """Returns events without those that are late, which go to the policy."""
        core = self._core
        promised = core.progress.events
        if promised == BEGINNING or not len(rows.lower) or int(rows.lower.min()) >= promised:
            return rows
        late = rows.lower < promised
        schema, part = self._reading.event, rows.at(np.flatnonzero(late))
        columns = {name: each.items(self._reading._of_name[name]) for name, each in part.fields.items()}
        for i, (lower, upper, diff) in enumerate(zip(part.lower.tolist(), part.upper.tolist(), part.diff.tolist())):
            given = {name: each[i] for name, each in columns.items()}
            payload = schema.cls(**given, **({} if schema.instant is None else {schema.instant: lower}))
            said = f"expected lower >= {promised} (promised) but got [{lower}, {upper}] for {payload!r}"
            core.late.take(Change(payload, lower, None, diff), said)
        return rows.at(np.flatnonzero(~late))

    def _tell_of_long(self, rows: UncertainEvents) -> None:
        """Say once that an interval is longer than the window, which is mostly a mistake."""
        window = self._core.window
        if self._said or window is None or not len(rows.lower):
            return
        lengths = rows.upper - rows.lower
        longest = int(np.argmax(lengths))
        if int(lengths[longest]) >= window:
            self._said = True
            LOGGER.warning(
                "an event may have happened within [%d, %d], which is longer than the window of %d ticks; that is taken as it is",
                rows.lower[longest],
                rows.upper[longest],
                window,
            )

    def _know(self, rows: UncertainEvents) -> None:
        identities = self._reading.identities(rows)
        if identities is not None and len(rows.lower):
            lower, upper = rows.lower.tolist(), rows.upper.tolist()
            contents = self._reading.contents(rows)
            self._events.take(identities, contents, lower, upper, rows.shape, rows.diff.tolist())

    def _without_rest(self, rows: UncertainEvents) -> UncertainEvents:
        """Returns events without those that can't change anything, which are kept."""
        table = self._core.arcs.table
        if self._relevant[0] is not table:
            bounded = self._bounded
            found = relevance(table.events, bounded.automaton.start, bounded.event, bounded.register, rows.fields)
            self._relevant = table, found
        if self._relevant[1] is None:
            return rows
        there = np.broadcast_to(self._relevant[1](rows.fields), (len(rows.lower),))
        if there.all():
            return rows
        self._left_out.take(rows.at(np.flatnonzero(~there)))
        if len(rows.upper):
            self._core.progress.see(min(int(rows.upper.max()), FOREVER - 1))
        return rows.at(np.flatnonzero(there))

    def _drawn(self, rows: UncertainEvents, since: int = BEGINNING) -> Iterator[Any]:
        """Yields events in all worlds, so many at a time; ``since``: below it they are final, and left out."""
        n, core, reading = len(rows.lower), self._core, self._reading
        if not n:
            return
        words = reading.words(rows)
        worlds = self._worlds
        size = max(CHUNK // worlds, 1)
        for low in range(0, n, size):
            part = rows.at(slice(low, low + size))
            le = np.ascontiguousarray(reading.draw(part, words[low : low + size])).ravel()
            columns: dict[str, Any] = {name: spread(column, worlds) for name, column in part.fields.items()}
            if reading.event.instant is not None:
                columns[reading.event.instant] = le
            columns[LATEST] = np.tile(part.upper, worlds)
            columns = {field.name: columns[field.name] for field in self._bounded.event.fields}
            of_keys: list[Any] = [np.repeat(np.arange(worlds), len(part.lower)), *(spread_key(key, worlds) for key in part.keys)]
            times_ = {"le": le, "diff": np.tile(part.diff, worlds)}
            if since > BEGINNING and not (there := le >= since).all():
                places = np.flatnonzero(there)
                columns, times_ = ({name: picked(each, places) for name, each in of.items()} for of in (columns, times_))
                of_keys = [picked(each, places) for each in of_keys]
            try:
                yield core.engine.encode(GivenColumns(columns, times_, core.window, of_keys, False))
            except Unfit:  # the engine in Python takes no columns
                yield [item for item in self._one_by_one(part, le) if item[1].le >= since]  # type: ignore[operator]  # ticks
        core.progress.see(min(int(rows.upper.max()), FOREVER - 1))

    def _one_by_one(self, rows: UncertainEvents, le: Any) -> Iterator[tuple[str, Change, Hashable]]:
        """Yields events in all worlds as items; ``le``: their times, world after world."""
        bounded, n = self._bounded, len(rows.lower)
        columns = {name: each.items(self._reading._of_name[name]) for name, each in rows.fields.items()}
        columns[LATEST] = rows.upper.tolist()
        keys = list(zip(*([values[i] for i in places.tolist()] for places, values in rows.keys))) or [()] * n
        diff, instant = rows.diff.tolist(), self._reading.event.instant
        for place, t in enumerate(le.tolist()):
            world, i = divmod(place, n)
            values = (t if field.name == instant else columns[field.name][i] for field in bounded.event.fields)
            yield "event", Change(bounded.event.cls(*values), t, None, diff[i]), (world, *keys[i])
