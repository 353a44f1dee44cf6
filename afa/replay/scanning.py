"""Scan columns where they may hold: the candidates of all witnesses that these columns decide.

Witnesses at exact distances are asked together: behind a row of the first one, so many steps of its key further on, stands a row of
the next one, or the row group has ended, and nobody knows.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.frames.slicing import numbered, sortable
from afa.io.frame import Frame
from afa.replay.holding import compared, rows_in
from afa.replay.key_spans import Candidates, Lookup, Spans, different, joined_candidates, later
from afa.replay.question import Question, ends_of, in_groups
from afa.replay.seen_keys import SeenKeys, key_column
from afa.replay.stored import together
from afa.replay.witness.witnesses import Witness
from afa.state.plain import stable_order


class Steps(NamedTuple):
    """The steps of each key of each row group, one after the other: its rows of one LE (and sequence) are a step."""

    of_row: Any  # the step of each row
    row: Any  # a row of each step
    part: Any  # the row group and key of each step, as a number that counts here only
    # first, last: the first and the last step of each of them
    first: Any
    last: Any
    torn: Any  # bool: whether another row group may have rows of the step
    # order, begins: the rows by step, and where each step begins among them; None: each row is a step
    order: Any
    begins: Any


class RowsOfGroups:
    """The rows of some row groups, one behind the other. Columns that the frame does not have are read when they are asked for."""

    def __init__(self, asking: Question, keys: SeenKeys, groups: Sequence[int], frame: Frame) -> None:
        self._asking, self._keys, self._frame = asking, keys, frame
        self._groups = np.asarray(groups)
        self._home = np.repeat(np.arange(len(groups)), asking.stored.rows[self._groups])  # in which of the row groups each row is
        self._masks: dict[Witness, Any] = {}

    @functools.cached_property
    def _about(self) -> Frame:
        """The columns of times and keys."""
        return self._with(self._asking.about_names)

    def _with(self, names: Sequence[str]) -> Frame:
        """Return a frame that has some columns: this one, or what is read."""
        here = all(name in self._frame.names for name in names)
        return self._frame if here else Frame(self._asking.stored.read_several(self._groups.tolist(), names))

    def keep(self) -> None:
        """Keep what has been read for the operator, which is likely to want it: there are candidates."""
        stored, groups = self._asking.stored, self._groups.tolist()
        if self._about is not self._frame:
            stored.keep(groups, self._about.given)
        stored.keep(groups, self._frame.given)

    @functools.cached_property
    def le(self) -> Any:
        """The LE of each row."""
        return self._about.ticks(self._asking.reading.time, self._asking.plan.tick, "time")

    def about(self, rows: Any) -> tuple[Any, Any, Any]:
        """Return LE, number of the key, and RE of some rows."""
        le, key = self.le[rows], self._keys.numbers_of(self._about, rows, self.le, new=True)
        if self._asking.reading.until is None:
            return le, key, ends_of(self._about, self._asking, le)
        return le, key, ends_of(self._about, self._asking, self.le)[rows]

    def rows_of(self, witness: Witness) -> Any:
        """Return the rows that may be a witness."""
        return np.flatnonzero(self._mask(witness))

    def _mask(self, witness: Witness) -> Any:
        if witness not in self._masks:
            self._masks[witness] = rows_in(witness.boxes, self._columns(witness), self._times(witness), self._asking.plan.events)
        return self._masks[witness]

    def _times(self, witness: Witness) -> Any:
        """Return LEs, or, where a witness asks for none, what has their length."""
        plan = self._asking.plan
        timed = plan.events.instant in witness.fields or any(box.timed for box in witness.boxes)
        return self.le if timed else self._home

    def _columns(self, witness: Witness) -> dict[str, Any]:
        events, tick = self._asking.plan.events, self._asking.plan.tick
        return {name: compared(self._frame, name, events, tick) for name in witness.fields if name != events.instant}

    def steps_hold(self, witness: Witness, steps: Any) -> Any:
        """Return which steps have a row that may be a witness."""
        mask, found = self._mask(witness), self.steps
        held = mask[found.row] if found.begins is None else np.logical_or.reduceat(mask[found.order], found.begins)
        return held[steps]

    @functools.cached_property
    def steps(self) -> Steps:
        """The steps of each key."""
        plan, le, home = self._asking.plan, self.le, self._home
        parts, n = home, len(home)
        if plan.keys:
            codes, many = numbered([key_column(plan, self._about, name, le) for name in plan.keys])
            parts = home * (many + 1) + codes
        by: list[Any] = [parts, le]
        if plan.order_by is not None:
            by.append(sortable(compared(self._with([plan.order_by]), plan.order_by, plan.events, plan.tick)))
        same = home[1:] == home[:-1]
        rising = bool((le[1:] >= le[:-1])[same].all())
        alone = not plan.keys and len(by) == 2
        plain = alone and rising and bool((le[1:] > le[:-1])[same].all())
        order = np.arange(n) if plain else stable_order(parts) if rising and len(by) == 2 else np.lexsort(by[::-1])
        sorted_by = [column[order] for column in by]
        new = np.ones(n, bool)
        if not plain:
            new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in sorted_by])
        begins = np.flatnonzero(new)
        of_row = np.empty(n, np.int64)
        of_row[order] = np.cumsum(new) - 1
        row, key = order[begins], sorted_by[0][begins]
        part = np.zeros(len(begins), np.int64)
        part[1:] = np.cumsum(key[1:] != key[:-1])
        first = np.flatnonzero(np.append(True, part[1:] != part[:-1]))
        last = np.append(first[1:] - 1, len(part) - 1)
        whole = len(begins) == n
        return Steps(of_row, row, part, first, last, self._torn(row), None if whole else order, None if whole else begins)

    def _torn(self, rows: Any) -> Any:
        """Return whether another row group may have rows of the same instant, for each row."""
        extents, groups, le = self._asking.extents, self._groups, self.le[rows]
        home = self._home[rows]
        torn = np.zeros(len(rows), bool)
        for there, other, ends in ((groups > 0, groups - 1, True), (groups + 1 < len(extents.least), groups + 1, False)):
            other = np.where(there, other, 0)
            near = extents.latest[other] >= extents.least[groups] if ends else extents.least[other] <= extents.latest[groups]
            beyond = le <= extents.latest[other][home] if ends else le >= extents.least[other][home]
            torn |= (there & near)[home] & beyond
        return torn


DENSE = 0.3
"""From so many candidates a row group on, their times and keys are read with the column, not behind it."""


class WitnessBlock(NamedTuple):
    """Witnesses at exact distances, by their places among all of them; and how many steps each is behind the first one."""

    places: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def place(self) -> tuple[int, int]:
        """The place of the first witness, and of the last one."""
        return self.places[0], self.places[-1]


class Scan(NamedTuple):
    """What is scanned."""

    columns: tuple[str, ...]  # the event's fields that are read
    blocks: tuple[WitnessBlock, ...]  # what they decide


def blocks_of(witnesses: Sequence[Witness], places: Sequence[int], exact: bool) -> tuple[WitnessBlock, ...]:
    """Return some of the witnesses in blocks; ``exact``: whether steps can be counted at all."""
    found: list[WitnessBlock] = []
    for place in places:
        last = found[-1] if found else None
        between = [witnesses[i].distance for i in range(last.places[-1] + 1, place + 1)] if last is not None else [None]
        if last is not None and exact and None not in between:
            steps = last.steps[-1] + sum(between)  # type: ignore[arg-type]
            found[-1] = WitnessBlock((*last.places, place), (*last.steps, steps))
        else:
            found.append(WitnessBlock((place,), (0,)))
    return tuple(found)


class Scanner:
    """Scans the row groups of a stored table; ``keys`` takes the keys of candidates.

    ``shares``: returns the share of rows that a witness allows, by its place: the rarest one of a block is asked first.
    """

    def __init__(self, asking: Question, witnesses: Sequence[Witness], keys: SeenKeys, longest: int, shares: Any) -> None:
        self._asking, self._witnesses, self._keys, self._longest, self._shares = asking, witnesses, keys, longest, shares

    def candidates(self, scan: Scan, groups: Sequence[int], within: Spans | None) -> Iterator[tuple[int, list[Candidates]]]:
        """Yield how many row groups are done, and the candidates of each block in them; small row groups are read together.

        ``within``: the spans in which candidates count; None: all do.
        """
        lookup = None if within is None else Lookup(within)
        done = 0
        for several in together(groups, self._asking.stored.rows):
            done += len(several)
            yield done, self._of_groups(scan, several, lookup)

    def _of_groups(self, scan: Scan, groups: Sequence[int], within: Lookup | None) -> list[Candidates]:
        asking, stored = self._asking, self._asking.stored
        rows = int(stored.rows[groups].mean())
        stepped = any(len(block.places) > 1 for block in scan.blocks)
        likely = max((min(self._shares(place) for place in block.places) for block in scan.blocks), default=0.0)
        about = asking.about_names
        timed = any(box.timed for block in scan.blocks for place in block.places for box in self._witnesses[place].boxes)
        all_at_once = stepped or timed or likely * rows >= DENSE or not set(scan.columns) - set(about)
        names = list(dict.fromkeys([*scan.columns, *(about if all_at_once else [])]))
        names = [name for name in names if name != asking.plan.events.instant]

        def found(table: Any) -> list[Candidates]:
            part = RowsOfGroups(asking, self._keys, groups, Frame(table))
            rarest = [self._rows_of_rarest(block, part) for block in scan.blocks]
            several = [self._of_block(block, part, rows, within) for block, rows in zip(scan.blocks, rarest)]
            if all(len(each.key) for each in several):
                part.keep()
            return several

        return in_groups(stored, groups, found, names)  # type: ignore[no-any-return]

    def _rows_of_rarest(self, block: WitnessBlock, part: RowsOfGroups) -> Any:
        return part.rows_of(self._witnesses[block.places[self._rarest(block)]])

    def _rarest(self, block: WitnessBlock) -> int:
        return min(range(len(block.places)), key=lambda i: self._shares(block.places[i]))

    def _of_block(self, block: WitnessBlock, part: RowsOfGroups, rows: Any, within: Lookup | None) -> Candidates:
        if len(block.places) == 1:
            return self._plain(block, part, rows, within)
        steps, off = part.steps, block.steps[self._rarest(block)]
        begin = np.concatenate([steps.of_row[rows], np.flatnonzero(steps.torn)]) - off
        begin = begin[begin >= 0]
        begin = begin[steps.part[begin] == steps.part[begin + off]]
        tails = (steps.last[:, None] - np.arange(off)).ravel()  # from where the rarest one stands behind the row group
        tails = tails[tails >= np.repeat(steps.first, off)]
        begin = different(np.concatenate([begin, tails]))
        for place, far in zip(block.places, block.steps):
            here = begin + far
            there = here < len(steps.part)
            there[there] = steps.part[here[there]] == steps.part[begin[there]]
            there[there] &= ~steps.torn[here[there]]
            kept = np.ones(len(begin), bool)
            kept[there] = part.steps_hold(self._witnesses[place], here[there])
            begin = begin[kept]
        return self._stepped(block, part, begin, within)

    def _plain(self, block: WitnessBlock, part: RowsOfGroups, rows: Any, within: Lookup | None) -> Candidates:
        if not len(rows):
            return joined_candidates(block.place, [])
        le, key, re = part.about(rows)
        kept = np.ones(len(rows), bool) if within is None else within.holds(key, le)
        le, key, re = le[kept], key[kept], re[kept]
        return Candidates(block.place, key, le, le, re, np.ones(len(le), bool))

    def _stepped(self, block: WitnessBlock, part: RowsOfGroups, begin: Any, within: Lookup | None) -> Candidates:
        if not len(begin):
            return joined_candidates(block.place, [])
        steps = part.steps
        le, key, _ = part.about(steps.row[begin])
        end = np.minimum(begin + block.steps[-1], len(steps.part) - 1)
        known = steps.part[end] == steps.part[begin]
        known &= end == begin + block.steps[-1]
        last = np.where(known, end, steps.last[steps.part[begin]])
        ends, re = part.le[steps.row[last]], later(le, self._longest)
        kept = ends < re
        kept &= True if within is None else within.holds(key, le)
        return Candidates(block.place, key[kept], le[kept], ends[kept], re[kept], known[kept])
