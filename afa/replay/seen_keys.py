"""The keys that candidates have, as numbers; other keys have none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from afa.frames.asked import OperatorPlan
from afa.frames.slicing import numbered
from afa.io.frame import Frame
from afa.io.listed_columns import listed
from afa.replay.question import Question, in_groups
from afa.replay.stored import together

FEW = 256
"""The keys of so many rows are looked up one by one: a tenth less for a scan that meets few."""


class SeenKeys:
    """Numbers of keys, from 0, in the order in which they are seen, and their values; without a key there is one."""

    def __init__(self, asking: Question) -> None:
        self._asking = asking
        self._numbers: dict[tuple[Any, ...], int] = {}
        self.values: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self.values)

    def see(self, groups: Sequence[int]) -> None:
        """Give each key of some row groups a number."""
        asking = self._asking

        def seen(table: pa.Table) -> None:
            le = Frame(table).ticks(asking.reading.time, asking.plan.tick, "time")
            self.numbers_of(Frame(table), np.arange(len(le)), le, new=True)

        for several in together(groups, asking.stored.rows):
            in_groups(asking.stored, several, seen, asking.about_names)

    def numbers_of(self, frame: Frame, rows: Any, le: Any, new: bool) -> Any:
        """Return the number of the key of some rows of a frame with these LEs; ``new``: whether keys may come, else it is -1."""
        names = self._asking.plan.keys
        if not names:
            if not self.values and new:
                self._add(())
            return np.zeros(len(rows), np.int64) if self.values else np.full(len(rows), -1, np.int64)
        instant = self._asking.plan.events.instant

        def values(seen: Any) -> Iterable[tuple[Any, ...]]:
            return zip(*(le[seen].tolist() if name == instant else listed(frame.raw(name, "key").take(seen)) for name in names))

        if len(rows) <= FEW:
            return np.array([self._number(each, new) for each in values(rows)], np.int64)
        some = Frame(frame.given.select(self._asking.key_names).take(pa.array(rows)))
        codes, many = numbered([key_column(self._asking.plan, some, name, le[rows]) for name in names])
        first = np.full(many, -1, np.int64)
        first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
        used = np.flatnonzero(first >= 0)
        of_code = np.full(many, -1, np.int64)
        for code, each in zip(used.tolist(), values(rows[first[used]])):
            of_code[code] = self._number(each, new)
        return of_code[codes]

    def _number(self, values: tuple[Any, ...], new: bool) -> int:
        number = self._numbers.get(tuple(map(_same, values)))
        return self._add(values) if number is None and new else -1 if number is None else number

    def _add(self, values: tuple[Any, ...]) -> int:
        number = len(self.values)
        self._numbers[tuple(map(_same, values))] = number
        self.values.append(values)
        return number


def key_column(plan: OperatorPlan, frame: Frame, name: str, le: Any) -> Any:
    """Return a column of the key of a frame with these LEs."""
    if name == plan.events.instant:
        return le
    field = next((field for field in plan.fields if field.name == name), None)
    return frame.key(name) if field is None else frame.field(field, plan.events, plan.tick)


def _same(value: Any) -> Any:
    """Return one value for all values that are one key: NaN equals itself, 0.0 is -0.0."""
    return "NaN" if value != value else value + 0.0 if isinstance(value, float) else value
