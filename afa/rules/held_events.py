"""The events of a set, each once for all rules, from which a rule may still begin in the past: columns, in order of LE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from afa.change import Change
from afa.model.copies import added
from afa.rules.event_rows import EventRows, joined
from punctuation.time import BEGINNING, FOREVER

MANY = 1 << 40
"""More copies in one change than these are counted."""
TOGETHER, FEW = 1 << 14, 32
"""Blocks of fewer rows are joined to one as they grow, so that there are few; so many small ones, of fewer rows than that, wait."""


class HeldEvents:
    """Changes as they came, but for those below what is held. ``state``: all of it, never changed in place: blocks of rows; up to
    where retractions in vain were told; whether there are so many copies of some event that they must be counted; how
    many of the last blocks are small.

    >>> from typing import NamedTuple
    >>> from afa.schema import Schema
    >>> class Pay(NamedTuple):
    ...     amount: int
    >>> held, schema = HeldEvents(), Schema.of(Pay, "event")
    >>> held.add(EventRows.of(schema, [Change(Pay(1), 3, None, 1), Change(Pay(2), 5, None, -1)]))
    >>> [change.payload for change in held.between(4, 9)[0].changes()], held.vain(9)
    ([Pay(amount=2)], [Change(payload=Pay(amount=2), le=5, re=None, diff=-1, key=None)])
    >>> held.vain(9), [[change.payload.amount for change in rows.changes()] for rows in held.in_force(0)]
    ([], [[1]])
    """

    def __init__(self) -> None:
        self.state: tuple[tuple[EventRows, ...], int, bool, int] = ((), BEGINNING, False, 0)

    def __len__(self) -> int:
        return sum(map(len, self.state[0]))

    def add(self, rows: EventRows) -> None:
        """Take changes of events. Raises `ChangeError` where there are more copies of one than int64 counts."""
        if not len(rows):
            return
        blocks, sought, many, small = self.state
        many = many or bool(((rows.diff > MANY) | (rows.diff < -MANY)).any())
        if many:
            self._count(rows)
        if len(rows) < FEW and small < FEW:
            self.state = (*blocks, _sorted([rows])), sought, many, small + 1
            return
        parts = [*blocks[: len(blocks) - small], *([_sorted(blocks[-small:])] if small else []), _sorted([rows])]
        while len(parts) > 1 and len(parts[-2]) <= min(2 * len(parts[-1]), TOGETHER):
            parts[-2:] = [_sorted(parts[-2:])]
        self.state = tuple(parts), sought, many, 0

    def _count(self, rows: EventRows) -> None:
        """Add up the copies of events, after each change."""
        known = {(change.payload, change.le, change.re): change.diff for change in _netted(list(self.state[0]))}
        for change in rows.changes():
            event = change.payload, change.le, change.re
            known[event] = added(known.get(event, 0), change.diff, change.payload, change.le)

    def between(self, le: int, re: int = FOREVER) -> list[EventRows]:
        """Return what is held of the events with an LE in ``[le, re)``."""
        found = []
        for block in self.state[0]:
            low, high = np.searchsorted(block.le, (le, re)).tolist()
            if low < high:
                found.append(block if high - low == len(block) else block.at(slice(low, high)))
        return found

    def in_force(self, le: int, re: int = FOREVER) -> list[EventRows]:
        """Return what is held of them, less the events that are retracted."""
        rest, met = _parted(self.between(le, re))
        return [*rest, *([EventRows.of(self.state[0][0].schema, met)] if met else [])]

    def vain(self, t: int) -> list[Change]:
        """Return the retractions below a watermark that have waited in vain, and take them out."""
        blocks, sought, many, small = self.state
        self.state = blocks, max(sought, t), many, small
        _, met = _parted(self.between(sought, t))
        found = [change for change in met if change.diff < 0]
        if found:
            self.add(EventRows.of(blocks[0].schema, [change._replace(diff=-change.diff) for change in found]))
        return sorted(found, key=lambda change: (change.le, repr(change.payload)))

    def drop(self, t: int) -> None:
        """Drop all events with an LE below ``t``."""
        self.state = tuple(self.between(t)), max(self.state[1], t), self.state[2], 0

    def saved(self) -> list[Any]:
        """Return what is held as plain data, for `EventRows.of_saved`; nothing: there are none."""
        if not self.state[0]:
            return []
        return _sorted(self.state[0]).saved()


def _sorted(parts: Sequence[EventRows]) -> EventRows:
    """Return some rows as one block, in order of LE."""
    rows = joined(parts)
    ascends = len(rows) == 1 or bool((rows.le[1:] >= rows.le[:-1]).all())
    return rows if ascends else rows.at(np.argsort(rows.le, kind="stable"))


def _parted(parts: list[EventRows]) -> tuple[list[EventRows], list[Change]]:
    """Return the events of which there is no retraction; and what remains of all others, with the retractions that wait."""
    negative = [rows.digests()[rows.diff < 0] for rows in parts if (rows.diff < 0).any()]
    if not negative:
        return parts, []
    gone = np.unique(np.concatenate(negative))
    alike = [np.isin(rows.digests(), gone) for rows in parts]
    rest = [rows.at(np.flatnonzero(~met)) for rows, met in zip(parts, alike)]
    met = _netted([rows.at(np.flatnonzero(met)) for rows, met in zip(parts, alike)])
    return [rows for rows in rest if len(rows)], sorted(met, key=lambda change: change.le or 0)


def _netted(parts: list[EventRows]) -> list[Change]:
    found: Counter[Any] = Counter()
    for rows in parts:
        for change in rows.changes():
            found[change[:3]] += change.diff
    return [Change(payload, le, re, count) for (payload, le, re), count in found.items() if count]
