"""What a `Sequence` of plain components holds as columns, while tables of insertions and promises come: frozen.

    components   for each the events in force, by key, interval, kind; each with a serial number
    matches      those in force behind anchors that something may still concern: serial numbers by component, what is told

Keys lie one behind another on one axis of time, further apart than anything that belongs together: so all keys are one problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.extra.uncertain.distributions import Distribution
from afa.extra.uncertain.instant_tables import Events, Kinds
from afa.extra.uncertain.plain_signatures import AnchoredMatches, PlainSearch
from afa.extra.uncertain.sequence_pattern import SequencePattern

ROOM = 1 << 61


class ComponentEvents(NamedTuple):
    """Events of one component; arrays of int64, shape (n,)."""

    key: Any  # the numbers of their keys
    low: Any  # their first possible instants
    high: Any  # their last ones
    kind: Any  # the numbers of the kinds of their intervals
    serial: Any
    fields: Sequence[Any]  # arrays: those of the event

    def at(self, places: Any) -> ComponentEvents:
        return ComponentEvents._make([*(each[places] for each in self[:-1]), [each[places] for each in self.fields]])

    def with_more(self, more: ComponentEvents, ranks: Any) -> ComponentEvents:
        """Returns these and more, in order; ``ranks``: of the kinds."""
        if not len(self.key):
            joined = more
        else:
            parts = [np.concatenate(pair) for pair in zip(self[:-1], more[:-1])]
            joined = ComponentEvents._make([*parts, [np.concatenate(pair) for pair in zip(self.fields, more.fields)]])
        order = np.lexsort((ranks[joined.kind], joined.high, joined.low, joined.key))
        return joined.at(order)


class SequenceColumns(NamedTuple):
    """All that is held."""

    blocks: Sequence[ComponentEvents]
    told: AnchoredMatches
    serial: int  # the next serial number
    kinds: Kinds  # those of the events, by number; others that events have had until a new one comes

    @property
    def held(self) -> int:
        return sum(len(block.key) for block in self.blocks)

    def with_kinds(self, wanted: Sequence[tuple[Distribution, int]]) -> SequenceColumns:
        """Returns the same with more kinds, if one is new, without unused ones. ChangeError: they have too many instants."""
        if all(each in self.kinds.numbers for each in wanted):
            return self
        used = np.unique(np.concatenate([block.kind for block in self.blocks]))
        number = np.zeros(len(self.kinds.instants), np.int64)
        number[used] = np.arange(len(used))
        blocks = [block._replace(kind=number[block.kind]) for block in self.blocks]
        return self._replace(blocks=blocks, kinds=self.kinds.changed(used.tolist(), wanted))

    def matched(self, pattern: SequencePattern, promised: int) -> SequenceColumns | None:
        """Returns the same with the matches that follow from its events. None: times lie too far apart."""
        none = self._replace(blocks=[block.at(slice(0)) for block in self.blocks], serial=0)
        found = none.taken(pattern, self.blocks, promised)
        return found and found[0]

    def taken(
        self, pattern: SequencePattern, come: Sequence[ComponentEvents], promised: int
    ) -> tuple[SequenceColumns, AnchoredMatches, AnchoredMatches, int] | None:
        """Take new events, of kinds that are there.

        Returns the new state, what goes and what comes, and how many lists were ended early. None: times lie too far apart.
        """
        ranks = self.kinds.ranks
        blocks = [block.with_more(more, ranks) if len(more.key) else block for block, more in zip(self.blocks, come)]
        axis = _Axis.of(blocks, pattern.window)
        if axis is None:
            return None
        anchors = blocks[0]
        starts = axis.moved(anchors.key, anchors.low)
        concerned = anchors.serial >= self.serial
        begin, end = axis.spans(come[1:], pattern.window)
        if len(begin):
            at = np.searchsorted(begin, axis.moved(anchors.key, anchors.high), side="right") - 1
            concerned |= (at >= 0) & (end[np.maximum(at, 0)] >= starts)
        concerned &= anchors.high > promised - pattern.window
        places = np.flatnonzero(concerned)
        held = self._replace(blocks=blocks, serial=self.serial + sum(len(more.key) for more in come))
        if not len(places):
            return held, AnchoredMatches.empty(len(blocks)), AnchoredMatches.empty(len(blocks)), 0
        events = [Events(axis.moved(each.key, each.low), axis.moved(each.key, each.high), each.kind) for each in blocks]
        search = PlainSearch(self.kinds, events, pattern.window, pattern.next, pattern.threshold)
        found = search.matches(places)
        back = axis.offsets[anchors.key[found.places[0]]]
        serials = np.stack([block.serial[at] for block, at in zip(blocks, found.places)])
        new = AnchoredMatches(serials, found.confidence, *(each - back for each in found[2:]))
        known = np.isin(self.told.places[0], anchors.serial[places])
        gone, come_now = _difference(self.told.at(known), new)
        kept = self.told.at(~known) if known.any() else self.told
        return held._replace(told=kept.with_more(new)), gone, come_now, search.pruned

    def forgotten(self, pattern: SequencePattern, t: int) -> SequenceColumns:
        """Returns what is still held behind a promise."""
        window, anchors = pattern.window, self.blocks[0]
        alive = anchors.high > t - window
        keys = 1 + max((int(block.key.max()) for block in self.blocks if len(block.key)), default=-1)
        needed = np.full(keys, t)
        np.minimum.at(needed, anchors.key[alive], anchors.low[alive])
        blocks = [anchors if alive.all() else anchors.at(alive)]
        for block in self.blocks[1:]:
            kept = block.high >= needed[block.key]
            blocks.append(block if kept.all() else block.at(kept))
        if len(blocks[0].key) == len(anchors.key):
            return self._replace(blocks=blocks)
        return self._replace(blocks=blocks, told=self.told.at(np.isin(self.told.places[0], blocks[0].serial)))


class _Axis(NamedTuple):
    """Where on one axis the time 0 of each key lies."""

    offsets: Any

    @classmethod
    def of(cls, blocks: Sequence[ComponentEvents], window: int) -> _Axis | None:
        """Returns the axis of events; None: it would be longer than times can say."""
        there = [block for block in blocks if len(block.key)]
        keys = 1 + max((int(block.key.max()) for block in there), default=0)
        low = min((int(block.low.min()) for block in there), default=0)
        high = max((int(block.high.max()) for block in there), default=0)
        stride = high - low + window + 2
        if keys * stride >= ROOM or abs(low) >= ROOM:
            return None
        return cls(np.arange(keys) * stride - low)

    def moved(self, key: Any, time: Any) -> Any:
        return time + self.offsets[key]

    def spans(self, blocks: Sequence[ComponentEvents], window: int) -> tuple[Any, Any]:
        """Returns the merged spans of the anchors that new events of later components concern."""
        low = np.concatenate([self.moved(block.key, block.low) - (window - 1) for block in blocks] or [np.zeros(0, np.int64)])
        high = np.concatenate([self.moved(block.key, block.high) for block in blocks] or [np.zeros(0, np.int64)])
        order = np.argsort(low, kind="stable")
        low, reach = low[order], np.maximum.accumulate(high[order])
        new = np.ones(len(low), np.bool_)
        new[1:] = low[1:] > reach[:-1]
        starts = np.flatnonzero(new)
        return low[starts], reach[np.append(starts[1:], len(low)) - 1] if len(low) else reach


def _difference(old: AnchoredMatches, new: AnchoredMatches) -> tuple[AnchoredMatches, AnchoredMatches]:
    """Returns what of the old is not in the new, and what of the new is not in the old."""
    if not len(old.confidence):
        return old, new
    anchors = np.unique(old.places[0])
    near = np.flatnonzero(np.isin(new.places[0], anchors))
    both = old.with_more(new.at(near))
    n = len(old.confidence)
    side = np.zeros(len(both.confidence), np.int64)
    side[n:] = 1
    columns = [*both.places, *both[1:]]
    order = np.lexsort((side, *columns))
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    for column in columns:
        ordered = column[order]
        same &= ordered[1:] == ordered[:-1]
    stays = np.zeros(len(order), np.bool_)
    stays[order[:-1][same]] = stays[order[1:][same]] = True
    comes = np.ones(len(new.confidence), np.bool_)
    comes[near] = ~stays[n:]
    return old.at(~stays[:n]), new.at(comes)
