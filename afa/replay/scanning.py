"""Scan columns where they may hold: the candidates of all witnesses that these columns decide.

Witnesses at exact distances are asked together: behind a row of the first one, so many steps of its key further on, stands a row of
the next one, or the row group has ended, and nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.io.frame import Frame
from afa.replay.chains import Candidates, joined_candidates
from afa.replay.group_rows import RowsOfGroups
from afa.replay.key_spans import Lookup, Spans, different, later
from afa.replay.question import Question, in_groups
from afa.replay.seen_keys import SeenKeys
from afa.replay.stored import together
from afa.replay.witness.witnesses import Witness

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
