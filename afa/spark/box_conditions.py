"""Boxes of witnesses, and stretches of time, as conditions of Spark, so that its readers leave out files and row groups by them.

A condition compares a column as it stands with a constant, as Parquet, Delta and Iceberg push it down, wherever the column's type
loses no value as the event's field; else the column in the type of the field, as an operator takes it. In doubt it is true.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)
from pyspark.sql.types import StructType

from afa.expression.intervals import ValueRange, whole
from afa.replay.key_spans import Spans
from afa.replay.witness.boxes import Box
from afa.schema import Field
from afa.spark.job import Job
from afa.spark.typed import SAFE, WHOLE, column, taken
from punctuation.time import BEGINNING, FOREVER

STRETCHES = 32
"""In so many stretches of time, at most, rows are looked for: a condition of more of them costs each row."""
FEW_KEYS = 64
"""So many values of a key column, at most, are a condition."""
DAY = 86_400_000_000
HUGE = 1e308
"""Floats from here on are not compared: what is rounded to infinity is beyond none."""


class Asker(NamedTuple):
    """The columns that conditions are about: a table's, its column of LEs, and the event's fields."""

    schema: StructType
    time: str
    job: Job

    def may_be(self, boxes: Sequence[Box]) -> Any:
        """Return the condition that every row in one of the boxes satisfies."""
        return _any(self.within(box) for box in boxes)

    def within(self, box: Box) -> Any:
        """Return the condition that every row in a box satisfies."""
        fields = {field.name: field for field in self.job.fields}
        parts = [self._allowed(fields[name], allowed) for name, allowed in box.fields]
        lived = ValueRange(box.since, box.until, high_open=True, nan=False, none=False)
        if box.since > BEGINNING or box.until < FOREVER:
            parts.append(_whole(column(self.time), lived, _moment))
        return reduce(and_, parts, F.lit(True))

    def _allowed(self, field: Field, allowed: ValueRange) -> Any:
        if field.name == self.job.instant:
            return _whole(column(self.time), allowed, _moment)
        kind, target = self.schema[field.name].dataType.simpleString(), field.type
        assert target is not None
        given = column(field.name)
        if kind == "timestamp" and target in (int, float):
            found = _whole(given, allowed, _moment)
        elif kind not in SAFE[target] and field.name in self.job.keys:  # a key is taken as it stands
            return F.lit(True)
        else:
            there = given if kind in SAFE[target] else taken(field.name, kind, target).column
            found = _VALUES[target](there, allowed)
            if allowed.nan and target is float and kind not in WHOLE:
                found = found | F.isnan(there)
        return found | given.isNull() if allowed.none else found


def _any(conditions: Iterable[Any]) -> Any:
    several = list(conditions)
    return reduce(or_, several) if several else F.lit(False)


def _moment(ticks: int) -> Any:
    return F.timestamp_micros(F.lit(ticks))


def _whole(given: Any, allowed: ValueRange, constant: Callable[[int], Any] = F.lit) -> Any:
    """Return the condition that whole numbers, or the moments that these are, lie in a range."""
    if allowed.values is not None:
        numbers = [value for value in allowed.values if isinstance(value, (int, float))]
        same = [int(value) for value in numbers if abs(value) <= FOREVER and value == math.floor(value)]
        return given.isin([constant(value) for value in same]) if same else F.lit(False)
    low, high, *_ = whole(allowed)
    if low > FOREVER or high < BEGINNING:
        return F.lit(False)
    found = given >= constant(int(low)) if low > BEGINNING else given.isNotNull()
    return found & (given <= constant(int(high))) if high < FOREVER else found


def _float(given: Any, allowed: ValueRange) -> Any:
    """Return the condition that floats lie in a range, but for NaN.

    Readers take -0.0 for less than 0.0 (Spark itself for the same), so that a bound at 0 is the one beyond which nothing lies.
    """
    if allowed.values is not None:
        numbers = [value for value in allowed.values if isinstance(value, (int, float))]
        if any(abs(value) >= HUGE for value in numbers):
            return given.isNotNull()
        exact = [float(value) for value in numbers if float(value) == value]
        zero = [given.between(-0.0, 0.0)] if 0.0 in exact else []
        others = [value for value in exact if value != 0.0]
        return _any([*zero, *([given.isin(others)] if others else [])])
    low, high, low_open, high_open, *_ = allowed
    found = given >= (_bound(low, low_open, math.inf) or -0.0) if -HUGE < low < HUGE else given.isNotNull()
    return found & (given <= (_bound(high, high_open, -math.inf) or 0.0)) if -HUGE < high < HUGE else found


def _bound(bound: float, is_open: bool, inwards: float) -> float:
    """Return the last float within an open bound, else the bound; the next one outside, where it is an int that is no float."""
    found = float(bound)
    if found != bound:
        return math.nextafter(found, -inwards)
    return math.nextafter(found, inwards) if is_open else found


def _bool(given: Any, allowed: ValueRange) -> Any:
    some = [value for value in (False, True) if allowed.contains(value)]
    return given.isNotNull() if len(some) == 2 else _any(given == F.lit(value) for value in some)


def _text(given: Any, allowed: ValueRange) -> Any:
    if allowed.values is None:
        return given.isNotNull()
    texts = [value for value in allowed.values if isinstance(value, str) and _is_sound(value)]
    return given.isin(texts) if texts else F.lit(False)


def _is_sound(text: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in text)  # of which no column has any


_VALUES: dict[type, Callable[[Any, ValueRange], Any]] = {int: _whole, float: _float, bool: _bool, str: _text}


# -- times -----------------------------------------------------------------------------------------------------------------------


def stretches(spans: Spans, many: int = STRETCHES) -> list[tuple[int, int]]:
    """Return at most so many stretches of time, ``[low, high)``, which hold all spans: the widest gaps stay gaps.

    >>> of = np.array([0, 10, 90]), np.array([5, 12, 95])
    >>> stretches(Spans(np.array([0, 0, 1]), *of), 2), stretches(Spans(np.array([0, 0, 1]), *of))
    ([(0, 12), (90, 95)], [(0, 5), (10, 12), (90, 95)])
    """
    times = spans.joined
    if not len(times):
        return []
    low, high = times.low, times.high
    gaps = (low[1:].astype(object) - high[:-1].astype(object)).astype(float)
    kept = np.sort(np.argsort(-gaps, kind="stable")[: many - 1])
    return list(zip(low[np.append(0, kept + 1)].tolist(), high[np.append(kept, len(high) - 1)].tolist()))


def rows_within(events: DataFrame, time: str, times: Sequence[tuple[int, int]]) -> DataFrame:
    """Return the rows of some stretches of time, and perhaps more: of a column that names no zone those of a day around."""
    if not times:
        return events.where(F.lit(False))
    given = column(time)
    zoned = events.schema[time].dataType.simpleString() == "timestamp"
    around = 0 if zoned else DAY

    def bound(ticks: int) -> Any:
        return _moment(ticks) if zoned else _moment(ticks).cast("timestamp_ntz")

    def of(some: Sequence[tuple[int, int]]) -> Any:
        """Halve them: a reader decodes a dictionary of times for each bound that it tries. 32 side by side: 6.7 s, not 3.2."""
        if len(some) > 1:
            before, behind = some[: len(some) // 2], some[len(some) // 2 :]
            low, high = behind[0][0] - around, before[-1][1] + around
            return ((given < bound(high)) & of(before)) | ((given >= bound(low)) & of(behind))
        ((low, high),) = some
        part = given.isNotNull()
        if low > BEGINNING + around:
            part = given >= bound(low - around)
        return part & (given < bound(high + around)) if high < FOREVER - around else part

    return events.where(of(times))
