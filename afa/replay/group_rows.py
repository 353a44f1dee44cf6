"""The rows of one row group: which may be a witness, in which step of its key each stands. Worked out when it is asked for."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from afa.frames.decoded import Frame
from afa.frames.slicing import numbered, sortable
from afa.replay.holding import compared, rows_in
from afa.replay.key_spans import later
from afa.replay.question import Question, ends_of
from afa.replay.seen_keys import SeenKeys
from afa.replay.witness.witnesses import Witness
from punctuation.time import BEGINNING, FOREVER


class Steps(NamedTuple):
    """The steps of each key, one after the other: its rows of one LE (and sequence) are a step.

    Attributes
    ----------
    of_row : numpy.ndarray
        The step of each row.
    row : numpy.ndarray
        A row of each step.
    part : numpy.ndarray
        The key of each step, as a number that counts here only.
    first, last : numpy.ndarray
        The first and the last step of each key.
    torn : numpy.ndarray of bool
        Whether another row group may have rows of the step.
    order, begins : numpy.ndarray or None
        The rows by step, and where each step begins among them; None: each row is a step.
    """

    of_row: Any
    row: Any
    part: Any
    first: Any
    last: Any
    torn: Any
    order: Any
    begins: Any


class RowsOfGroup:
    """The rows of a row group.

    Parameters
    ----------
    asking : Question
    keys : SeenKeys
    group : int
    frame : Frame
        Columns of it. Others are read when they are asked for.
    """

    def __init__(self, asking: Question, keys: SeenKeys, group: int, frame: Frame | None) -> None:
        self._asking, self._keys = asking, keys
        self._frame = Frame(asking.head.given) if frame is None else frame
        self.group = group
        self._masks: dict[Witness, Any] = {}

    @functools.cached_property
    def _about(self) -> Frame:
        """The columns of times and keys."""
        reading = self._asking.reading
        names = [reading.time, *self._asking.key_names, *([reading.until] if reading.until else [])]
        if len(self._frame.given) and all(name in self._frame.names for name in names):
            return self._frame
        return Frame(self._asking.stored.read(self.group, names))

    def keep(self) -> None:
        """Keep what has been read for the operator, which is likely to want it: there are candidates."""
        for frame in (self._frame, self._about):
            self._asking.stored.keep(self.group, frame.given)

    @functools.cached_property
    def le(self) -> Any:
        """The LE of each row."""
        return self._about.ticks(self._asking.reading.time, self._asking.plan.tick, "time")

    @functools.cached_property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self._asking.stored.rows[self.group])

    def about(self, rows: Any) -> tuple[Any, Any, Any]:
        """Return LE, number of the key, and RE of some rows."""
        le = self.le[rows]
        key = self._keys.numbers(self._about, rows, le, new=True)
        if self._asking.reading.until is None:
            return le, key, later(le, FOREVER if self._asking.plan.window is None else self._asking.plan.window)
        return le, key, ends_of(self._about, self._asking, self.le)[rows]

    def see_keys(self) -> None:
        """Give each key of the row group a number."""
        if self._asking.plan.keys:
            self.about(np.arange(self.rows))
        else:
            self._keys.numbers(self._frame, np.zeros(1, np.int64), np.zeros(1, np.int64), new=True)

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
        timed = plan.events.instant in witness.fields or not all(
            box == box._replace(since=BEGINNING, until=FOREVER) for box in witness.boxes
        )
        return self.le if timed else np.empty(self.rows, np.int8)

    def _columns(self, witness: Witness) -> dict[str, Any]:
        plan = self._asking.plan
        fields = {field.name: field for field in plan.events.fields}
        return {
            name: compared(self._frame, fields[name], plan.events, plan.tick)
            for name in witness.fields
            if name != plan.events.instant
        }

    def steps_hold(self, witness: Witness, steps: Any) -> Any:
        """Return which steps have a row that may be a witness."""
        found = self.steps
        if found.begins is not None:
            held = np.logical_or.reduceat(self._mask(witness)[found.order], found.begins)
            return held[steps]
        if witness in self._masks:
            return self._masks[witness][found.row[steps]]
        rows = found.row[steps]
        columns = {
            name: column[rows] if isinstance(column, np.ndarray) else column.take(rows)
            for name, column in self._columns(witness).items()
        }
        return rows_in(witness.boxes, columns, self._times(witness)[rows], self._asking.plan.events)

    @functools.cached_property
    def steps(self) -> Steps:
        """The steps of each key."""
        asking, le = self._asking, self.le
        plan, extents, n = asking.plan, asking.extents, len(self.le)
        by: list[Any] = [le]
        if plan.keys:
            keys = [self._key(name) for name in plan.keys]
            by.insert(0, numbered(keys)[0])
        if plan.sequence is not None:
            field = next(field for field in plan.events.fields if field.name == plan.sequence)
            by.append(sortable(self._about_field(field)))
        plain = len(by) == 1 and bool((le[1:] > le[:-1]).all())
        order = np.arange(n) if plain else np.lexsort(by[::-1])
        sorted_by = [column[order] for column in by]
        new = np.ones(n, bool)
        if not plain:
            new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in sorted_by])
        begins = np.flatnonzero(new)
        of_row = np.empty(n, np.int64)
        of_row[order] = np.cumsum(new) - 1
        row = order[begins]
        part = np.zeros(len(begins), np.int64)
        if plan.keys:
            key = sorted_by[0][begins]
            part[1:] = np.cumsum(key[1:] != key[:-1])
        first = np.flatnonzero(np.append(True, part[1:] != part[:-1]))
        last = np.append(first[1:] - 1, len(part) - 1)
        torn = np.zeros(len(begins), bool)
        group = self.group
        if group and extents.latest[group - 1] >= extents.least[group]:
            torn |= le[row] <= extents.latest[group - 1]
        if group + 1 < len(extents.least) and extents.least[group + 1] <= extents.latest[group]:
            torn |= le[row] >= extents.least[group + 1]
        whole = len(begins) == n
        return Steps(of_row, row, part, first, last, torn, None if whole else order, None if whole else begins)

    def _key(self, name: str) -> Any:
        plan = self._asking.plan
        if name == plan.events.instant:
            return self.le
        field = next((field for field in plan.fields if field.name == name), None)
        return self._about.key(name) if field is None else self._about.field(field, plan.events, plan.tick)

    def _about_field(self, field: Any) -> Any:
        plan = self._asking.plan
        frame = self._frame if field.name in self._frame.names else Frame(self._asking.stored.read(self.group, [field.name]))
        return frame.field(field, plan.events, plan.tick)
