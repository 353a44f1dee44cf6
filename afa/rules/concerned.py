"""Which events a rule must see: those by which a match may begin, and from there on those that may move one on.

rows -> pairs of a row and a rule of which some bit is true (`RuleIndex`); of a whole rule each row
     -> begins                    are sent, and widen what the store has of their unit, a rule and a key (`Units`)
        all others                are sent where the store has their instant of the unit
     -> events that came before   are sent now where what the store has was widened to their instant: a begin that comes late
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.errors import AfaError
from afa.rules.event_rows import EventRows, digests
from afa.rules.index import RuleIndex
from afa.rules.index_kernel import ALL, BEGINS, SENT
from afa.rules.shape import RuleParts
from afa.rules.units import Units
from afa.schema import Schema
from punctuation.time import FOREVER

BEGIN, WINDOW, KEY, CLOCK = range(4)
KEY_BITS = (1 << 39) - 1
MOST = 1 << 23
"""So many rules a set has had at most: a unit's name holds the number of its rule."""


class Pairs(NamedTuple):
    """Pairs of an event and a rule: the place of the event in ``rows``, the rule's number, its bits, the end of the event."""

    rows: EventRows
    row: Any
    rule: Any
    bits: Any
    end: Any

    def at(self, kept: Any) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.rows, self.row[kept], self.rule[kept], self.bits[kept], self.end[kept])


class EventsBefore(NamedTuple):
    """What is held of the events that came before others. ``last``: no LE of them is larger."""

    blocks: Sequence[EventRows]
    last: int = FOREVER


class Concerned:
    """The rules of a store, and what it has of each of their keys."""

    def __init__(self, event: Schema) -> None:
        self.units = Units()
        self.index = RuleIndex(event, self.units)
        self._of = np.zeros((64, 4), np.int64)  # by number
        self._keys: dict[tuple[str, ...], int] = {}
        self._clocks = False  # whether a rule has time-outs

    def add(self, number: int, parts: RuleParts, le: int, re: int) -> None:
        """Take a rule that serves events with LEs in ``[le, re)``."""
        if number >= MOST:
            raise AfaError(
                f"expected a set that has had at most {MOST} rules but got one more: restore it with the rules that stand"
            )
        if number >= len(self._of):
            self._of = np.concatenate([self._of, np.zeros((max(len(self._of), number + 1), 4), np.int64)])
        shape = parts.shape
        key = self._keys.setdefault(shape.key, len(self._keys))
        self._of[number] = shape.begins, FOREVER if parts.window is None else parts.window, key, shape.clock
        self._clocks = self._clocks or shape.clock
        self.index.add(number, parts.bits, le, re, shape.whole, shape.begins, key)

    def pairs(self, rows: EventRows, before: EventsBefore, only: Collection[int] | None) -> list[Pairs]:
        """Return the pairs that the store is sent, for some rows, and events that came before them."""
        words = self._words(rows)
        self.index.read(rows.columns(), rows.le, words)
        begins = self._met(rows, only, BEGINS)
        if len(begins.row):
            names, high = _names(begins, words, self._of), np.where(self._of[begins.rule, CLOCK] != 0, FOREVER, begins.end)
            since, was = self.units.begin(names, rows.le[begins.row], high, begins.end)
        found = self._met(rows, only, SENT)
        self._move(found, words)
        late = self._late(before, begins.rule, names, since, was) if len(begins.row) else []
        return [*late, found] if len(found.row) else late

    def _move(self, found: Pairs, words: Any) -> None:
        """Let events move the clocks of their units."""
        clocked = np.flatnonzero(self._of[found.rule, CLOCK]) if self._clocks else ()
        if len(clocked):
            pairs = found.at(clocked)
            self.units.moved(_names(pairs, words, self._of), pairs.rows.le[pairs.row])

    def _words(self, rows: EventRows) -> Any:
        """Return for each key that rules have a word of each row."""
        columns = rows.columns()
        found = np.empty((len(self._keys), len(rows)), np.int64)
        for fields, key in self._keys.items():
            found[key] = digests([columns[name] for name in fields], len(rows)) & KEY_BITS
        return found

    def _met(self, rows: EventRows, only: Collection[int] | None, which: int) -> Pairs:
        """Return pairs of the rows that the index has read."""
        row, rule, bits = self.index.pairs(rows.columns(), which)
        if not len(row):
            return Pairs(rows, row, rule, bits, row)
        if only is not None:
            kept = np.flatnonzero(np.isin(rule, list(only)))
            row, rule, bits = row[kept], rule[kept], bits[kept]
        le, window = rows.le[row], self._of[rule, WINDOW]
        end = np.where(window == FOREVER, FOREVER, np.minimum(le, FOREVER - window) + window)
        if rows.re is not None:
            there = True if rows.re.present is None else rows.re.present[row]
            end = np.where(there, rows.re.values[row], end)
        return Pairs(rows, row, rule, bits, end)

    def _late(self, before: EventsBefore, rule: Any, names: Any, since: Any, was: Any) -> list[Pairs]:
        """Return the pairs of earlier events that are sent now, as begins have widened what the store has of their units."""
        wider = since <= before.last
        if not before.blocks or not wider.any():
            return []
        units, first = np.unique(names, return_index=True)
        wanted = np.unique(names[wider])
        rules, since = np.unique(rule[wider]).tolist(), int(since[wider].min())
        found = []
        for rows in before.blocks:
            some, words = self._of_keys(rows.within(since, FOREVER), wanted)
            self.index.read(some.columns(), some.le, words)
            pairs = self._met(some, rules, ALL)
            pairs = pairs.at(np.flatnonzero((pairs.bits & self._of[pairs.rule, BEGIN]) == 0))
            those, le = _names(pairs, words, self._of), some.le[pairs.row]
            place = np.minimum(np.searchsorted(units, those), len(units) - 1)
            new = np.flatnonzero((units[place] == those) & ~self.units.was_sent(was[:, first[place]], le))
            new = new[self.units.sent(those[new], le[new])]
            found.append(pairs.at(new))
            self._move(found[-1], words)
        return [pairs for pairs in found if len(pairs.row)]

    def _of_keys(self, rows: EventRows, wanted: Any) -> tuple[EventRows, Any]:
        """Return the rows whose key may be that of one of these units, and their words."""
        keys, words = np.unique(wanted >> 24), self._words(rows)
        met = np.flatnonzero((keys[np.minimum(np.searchsorted(keys, words), len(keys) - 1)] == words).any(axis=0))
        return rows.at(met), words[:, met]


def _names(pairs: Pairs, words: Any, of: Any) -> Any:
    """Return the unit of each pair: a word of the rule's number and of what its key says of the event."""
    return (words[of[pairs.rule, KEY], pairs.row] << 24) | (pairs.rule << 1) | 1
