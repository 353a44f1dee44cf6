"""Rows through operators: those of spans, with the number of a span as the key, so that spans never touch; or all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from afa.frames.found import Columns
from afa.frames.frame_reading import FrameReading
from afa.frames.slicing import by_time, columns_of
from afa.frames.through import through
from afa.io.frame import Frame
from afa.io.listed_columns import picked
from afa.replay.key_spans import Spans, held, ranges_of
from afa.replay.question import Question, in_groups, named
from afa.replay.seen_keys import SeenKeys
from afa.replay.stored import together
from afa.state.plain import stable_order
from punctuation.promise import Punctuation
from punctuation.time import FOREVER


class RowsOfSpans:
    """Reads the rows that lie in spans; ``keys``: what their keys are, no other key is looked at."""

    def __init__(self, asking: Question, spans: Spans, keys: SeenKeys) -> None:
        self._asking, self._spans, self._keys = asking, spans, keys
        self._times = spans.joined

    def of_groups(self, groups: Sequence[int]) -> Columns | None:
        """Return the rows of some row groups that lie in spans, by span, then by time; None: there are none."""

        def found(table: pa.Table) -> Columns | None:
            rows, span = self._places(Frame(table))
            if not len(rows):
                return None
            return {**operator_columns(self._asking, Frame(table.take(pa.array(rows)))), self._asking.span: span}

        return in_groups(self._asking.stored, groups, found, self._asking.names)  # type: ignore[no-any-return]

    def _places(self, frame: Frame) -> tuple[Any, Any]:
        """Return which rows lie in a span, and the number of it: by span, then by time."""
        le, spans = frame.ticks(self._asking.reading.time, self._asking.plan.tick, "time"), self._spans
        rows = self._in_time(le)
        key = self._keys.numbers_of(frame, rows, le, new=False)
        if not (key >= 0).all():
            rows, key = rows[key >= 0], key[key >= 0]
        times = le[rows]
        if not bool((times[1:] >= times[:-1]).all()):
            order = np.argsort(times, kind="stable")
            rows, times, key = rows[order], times[order], key[order]
        order = stable_order(key)
        # a row's place: by key, then by its place in time; a span's ends: by key, then by how many rows are before them
        n = len(rows) + 1
        places = key[order] * n + order
        low, high = (np.searchsorted(places, spans.key * n + np.searchsorted(times, ends)) for ends in (spans.low, spans.high))
        return rows[order[ranges_of(low, high)]], np.repeat(np.arange(len(spans)), high - low)

    def _in_time(self, le: Any) -> Any:
        """Return the rows that lie in the time of any span."""
        times = self._times
        if bool((le[1:] >= le[:-1]).all()):
            low, high = np.searchsorted(le, times.low), np.searchsorted(le, times.high)
            return ranges_of(low, high)
        return np.flatnonzero(held(times, le))


def operator_columns(asking: Question, frame: Frame, reading: FrameReading | None = None) -> Columns:
    """Return the columns that an operator takes which has the number of the span as its key, or, if none has, the key's own."""
    columns = columns_of(frame, asking.plan, reading or asking.reading)
    names = {field.name for field in asking.plan.fields} | {"le", "re", "diff"}
    return {name: column for name, column in columns.items() if name in names or asking.by_span is None}


def no_rows(asking: Question) -> Columns:
    """Return no rows, in the columns that an operator takes."""
    return {**operator_columns(asking, asking.head), asking.span: np.zeros(0, np.int64)}


BATCH = 1 << 16
"""How many rows are looked up at least, as long as there are some, before an operator is given them."""
PIECE = 1 << 15
"""How many rows an operator is given at once. Of 400,000 rows of a query of two events: 66 ms in pieces, 90 ms in one table."""
Told = Callable[[int], None]
"""Is told how many row groups are done."""


def all_rows(asking: Question, told: Told) -> list[Columns]:
    """Push all rows into the pattern's operator, row group by row group, each with the promise that no later one goes behind.

    What a later row group may go behind waits for it. Nothing is cut off before some row group has ended: where all overlap, they
    are taken as one.
    """
    stored, plan, reading, extents = asking.stored, asking.plan, asking.reading, asking.extents
    order = np.argsort(extents.least, kind="stable").tolist()
    op, held = asking.operator(plan), [asking.head.given.select(asking.names)]
    ends: list[int] = []
    found: list[Columns] = []
    for n, then in enumerate([*extents.least[order[1:]].tolist(), None]):
        if order:
            held.append(stored.read(order[n], asking.names))
            ends.append(int(extents.latest[order[n]]))
            told(n + 1)
        if then is not None and min(ends) >= then:
            continue
        frame = Frame(held[0] if len(held) == 1 else pa.concat_tables(held))
        held, ends = [], []
        with named(f" ({stored.where(order[n])})" if order else ""):
            if then is not None:
                le = frame.ticks(reading.time, plan.tick, "time")
                early = le < then
                if not early.all():
                    held, ends = [frame.given.filter(pa.array(~early))], [int(le.max())]
                    frame = Frame(frame.given.filter(pa.array(early)))
            columns = columns_of(frame, plan, reading)
        rows = by_time(columns, plan, grouped=False)
        found += through(op, rows, rows.groups[0], asking.last if then is None else then)
    return found


def rows_of_spans(asking: Question, spans: Spans, keys: SeenKeys, groups: Any, told: Told) -> Iterator[tuple[Columns, int]]:
    """Yield the rows of spans, and the least LE that any later ones have; groups by their least LE."""
    least = asking.extents.least[groups] if len(groups) else np.zeros(0, np.int64)
    order = np.argsort(least, kind="stable")
    then = np.append(np.minimum.accumulate(least[order][::-1])[::-1][1:], FOREVER)
    reader, waits, held = RowsOfSpans(asking, spans, keys), [], 0
    done = 0
    for several in together(np.asarray(groups)[order].tolist(), asking.stored.rows):
        rows = reader.of_groups(several)
        done += len(several)
        told(done)
        if rows is not None:
            waits.append(rows)
            held += len(rows["le"])
        if held >= BATCH or (waits and done == len(order)):
            yield joined_rows(waits, asking.span), int(then[done - 1])
            waits, held = [], 0


def joined_rows(parts: Sequence[Columns], span: str) -> Columns:
    """Return several parts as one table, by span."""
    if len(parts) == 1:
        return parts[0]
    columns = {name: _concatenated([part[name] for part in parts]) for name in parts[0]}
    number = columns[span]
    if (number[1:] >= number[:-1]).all():
        return columns
    order = stable_order(number)
    return {name: picked(column, order) for name, column in columns.items()}


def _concatenated(columns: Sequence[Any]) -> Any:
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(columns)
    arrays = [pa.array(column) if isinstance(column, np.ndarray) else column for column in columns]
    plain = [array.dictionary_decode() if pa.types.is_dictionary(array.type) else array for array in arrays]
    found = pa.chunked_array(plain).combine_chunks()
    return found.dictionary_encode() if any(pa.types.is_dictionary(array.type) for array in arrays) else found


def through_spans(askings: Sequence[Question], parts: Iterable[tuple[Columns, int]]) -> list[list[Columns]]:
    """Push the rows of spans into an operator of each pattern, with the number of the span as the key.

    ``parts``: rows, which all of them take, and the least LE that any later ones have.
    """
    operators = [asking.operator(asking.by_span) for asking in askings if asking.by_span is not None]
    found: list[list[Columns]] = [[] for _ in operators]
    for columns, then in parts:
        for op, tables in zip(operators, found):
            tables += pushed(op, [*pieces(columns), *([Punctuation(then)] if then < FOREVER else [])])
    for op, tables, asking in zip(operators, found, askings):
        waits = asking.plan.waits or asking.reading.diff is not None
        tables += pushed(op, [no_rows(asking), *([Punctuation(asking.last)] if waits else [])])
    return found


def pieces(columns: Columns) -> list[Columns]:
    """Return rows in pieces that stay in the cache while an operator works on them."""
    many = len(columns["le"])
    return [{name: column[low : low + PIECE] for name, column in columns.items()} for low in range(0, many, PIECE)] or [columns]


def pushed(op: Any, items: list[Any]) -> list[Columns]:
    """Return the tables that a call gives."""
    return [part for part in op.push_many(items) if not isinstance(part, Punctuation)]


def by_key(tables: Sequence[Columns], asking: Question, spans: Spans, keys: SeenKeys) -> list[Columns]:
    """Return the operators' tables with the values of each key in place of the number of a span."""
    found = []
    for table in tables:
        if asking.span not in table:  # which has its key
            found.append(table)
            continue
        number = spans.key[np.asarray(table[asking.span], np.int64)]
        columns: Columns = {}
        for i, name in enumerate(asking.plan.keys):
            values = np.empty(len(keys), object)
            values[:] = [each[i] for each in keys.values]
            columns[name] = values[number]
        found.append({**columns, **{name: column for name, column in table.items() if name != asking.span}})
    return found
