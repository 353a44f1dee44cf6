"""The rows of some row groups: which may be a witness, in which step of its key each stands. Worked out when it is asked for."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.frames.slicing import numbered, sortable
from afa.io.frame import Frame
from afa.replay.holding import compared, rows_in
from afa.replay.question import Question, ends_of
from afa.replay.seen_keys import SeenKeys, key_column
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
