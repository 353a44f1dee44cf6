"""The rows of a frame in the order in which they are taken, cut into slices with a promise each.

rows by time (sorted once, if they are not)
  -> groups of KEYS keys each, where there are more: an operator for each group, whose state stays in the cache
       -> slices: long enough for its keys to have some rows in each, short enough that what is held stays in the cache
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.errors import ChangeError
from afa.frames.asked import OperatorPlan
from afa.frames.frame_reading import FrameReading
from afa.frames.result_order import coded_once
from afa.io.frame import Frame, field_column
from afa.io.listed_columns import picked
from afa.model.event_order import EventOrder
from afa.schema import Schema
from afa.state.plain import Unfit, check_digits, field_columns
from punctuation.time import BEGINNING

KEYS = 2048
"""How many keys an operator gets. Of 100,000 keys in 1 M rows: 0.25 s in groups, 0.55 s in one call, 1.3 s in slices of time."""
SLICE, MOST = 1 << 14, 1 << 18
"""The least and the most rows of a slice."""
ROWS_OF_KEY = 128
"""How many rows a slice has for each key, as far as MOST allows."""
SAMPLE = 1 << 16
"""How many rows are looked at first to see whether there are many keys."""


class SortedRows(NamedTuple):
    """A frame's rows by time, in the columns that `push_many` takes."""

    columns: dict[str, Any]  # arrays, and columns of Arrow; ``le``, perhaps ``re`` and ``diff``
    groups: list[tuple[int, int]]  # the rows that operators of their own take: where they begin and end
    latest: int  # the largest LE
    size: int  # how many rows a slice has

    def part(self, low: int, high: int) -> dict[str, Any]:
        """Return some rows as a table."""
        return {name: column[low:high] for name, column in self.columns.items()}


def columns_of(frame: Frame, asked: OperatorPlan, reading: FrameReading) -> dict[str, Any]:
    """Return the columns that the operators of a pattern take, in the order of the frame."""
    le = frame.ticks(reading.time, asked.tick, "time")
    found = {**fields_of(frame, asked, le), "le": le}
    if reading.until is not None:
        found["re"] = frame.ticks(reading.until, asked.tick, "until", optional=True)
    if reading.diff is not None:
        found["diff"] = frame.counts(reading.diff)
    return found


def fields_of(frame: Frame, asked: OperatorPlan, le: Any = None) -> dict[str, Any]:
    """Return the columns of events and keys, in the order of the frame; ``le``: the event's instant, if it has one."""
    found = {field.name: frame.field(field, asked.came, asked.tick) for field in asked.fields}
    for name in asked.keys:
        if name in found:
            check_digits(frame.raw(name, "key"), name)
        elif name != asked.events.instant and name not in asked.made:
            found[name] = frame.key(name)
    if (computed := asked.computed) is not None:
        given = {**found, str(asked.events.instant): le}

        def columns() -> dict[str, Any]:
            values = computed.of_columns(given.__getitem__)
            return {field.name: picked(field_column(each, field), places) for field, (each, places) in values.items()}

        found |= frame.once((asked.form, id(le)), columns)
    return found


def ranks_of(columns: dict[str, Any], events: Schema, said: str) -> Any:
    """Return the rank of each row in a list (`EventOrder`), equal where rows are equal in it."""
    order = EventOrder.of(said, events)
    given = [columns[field.name] for field in events.fields]
    try:
        decoded = field_columns(given, events.fields, len(given[0]))
    except Unfit:
        raise ChangeError(f"expected columns that Arrow holds beside ORDER BY {said} but got text that is none") from None
    if order.has_nan(decoded):
        raise ChangeError(f"expected numbers that have a place in ORDER BY {said} but got nan; leave such rows out")
    return pc.rank(pa.array(order.texts(decoded), pa.large_string()), tiebreaker="dense").to_numpy().astype(np.int64)


def by_time(columns: dict[str, Any], asked: OperatorPlan, grouped: bool = True) -> SortedRows:
    """Bring rows into the order of time; ``grouped``: with many keys in several groups."""
    le = columns["le"]
    order = order_of([le, *([columns[asked.order_by]] if asked.order_by in columns else [])])
    codes, keys = _codes([columns.get(name, le) for name in asked.keys]) if len(le) else (None, 1)
    starts = [0, len(le)]
    if codes is not None and grouped:
        group = (codes // KEYS).astype(np.uint16 if keys < KEYS << 16 else np.int64)
        group = group if order is None else group[order]
        arranged = np.argsort(group, kind="stable")  # which numpy does by radix
        order = arranged if order is None else order[arranged]
        starts = np.append(0, np.cumsum(np.bincount(group))).tolist()
        keys = KEYS
    if order is not None:
        columns = {name: picked(column, order) for name, column in columns.items()}
        le = columns["le"]
    size = min(max(SLICE, ROWS_OF_KEY * keys), MOST)
    groups = [(low, high) for low, high in pairwise(starts) if low < high]
    return SortedRows(columns, groups or [(0, 0)], int(le.max()) if len(le) else BEGINNING, size)


def order_of(columns: Sequence[Any]) -> Any:
    """Return the order of rows by some columns, the first one above all; None: they are in order."""
    le, *rest = columns
    rising = le[1:] > le[:-1]
    if rising.all():
        return None
    orders = [by for column in rest if (by := sortable(column)) is not None]  # what does not sort the operator brings into order
    if not orders and (le[1:] >= le[:-1]).all():
        return None
    if not orders:
        return np.argsort(le, kind="stable")
    found = np.lexsort([*reversed(orders), le])
    return None if (found[1:] > found[:-1]).all() else found


def sortable(column: Any) -> Any:
    """Return a column of the sequence as an array that sorts alike; None: its values have no such array."""
    if isinstance(column, np.ndarray):
        return None if column.dtype == object else column
    if isinstance(column, pa.DictionaryArray) and not column.null_count:
        ranks = np.empty(len(column.dictionary), np.int64)
        ranks[pc.sort_indices(column.dictionary).to_numpy()] = np.arange(len(column.dictionary))
        return ranks[column.indices.to_numpy()]
    return None


def _codes(keys: Sequence[Any]) -> tuple[Any, int]:
    """Return the number of each row's key, if there are more keys than one group has, else None; and about how many there are."""
    if not keys:
        return None, 1
    if any(isinstance(column, np.ndarray) and column.dtype == object for column in keys):
        return None, KEYS
    n = len(keys[0])
    if n > SAMPLE:
        _, few = numbered([column[:SAMPLE] for column in keys])
        if few <= KEYS // 2:
            return None, few
    codes, many = numbered(keys)
    return (codes if many > KEYS else None), many


def numbered(keys: Sequence[Any]) -> tuple[Any, int]:
    """Return keys as numbers from 0, and how many there are."""
    codes: Any = None
    many = 1
    for column in keys:
        coded = _coded(column)
        found = coded.indices.fill_null(len(coded.dictionary)).to_numpy().astype(np.int64)
        if codes is None:
            codes, many = found, len(coded.dictionary)
        else:
            both = pa.array(codes * (len(coded.dictionary) + 1) + found).dictionary_encode()
            codes, many = both.indices.to_numpy(), len(both.dictionary)
    return codes, many


def _coded(column: Any) -> pa.DictionaryArray:
    """Return a column of a key with its values coded: 0.0 and -0.0 are one key, and so are all NaNs, whose bits may differ."""
    if isinstance(column, pa.DictionaryArray):
        if not pa.types.is_floating(column.type.value_type):
            return coded_once(column)
        column = column.dictionary_decode()
    array = pa.array(column)
    if pa.types.is_floating(array.type):
        values = array.to_numpy(zero_copy_only=False)
        array = pa.array(np.where(np.isnan(values), np.nan, values + 0.0), mask=array.is_null().to_numpy(zero_copy_only=False))
    return array.dictionary_encode("encode")
