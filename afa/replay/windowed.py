"""Windowed aggregates of a stored table: counts, sums, averages and bounds, of windows of time or of rows.

windows  ->  slices (`afa.replay.slices`), from blocks of an index or from rows (`afa.replay.slice_work`)  ->  a table
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pyarrow import types

from afa.errors import AfaError, Int64Error, did_you_mean
from afa.io.frame import unit_of_times
from afa.replay.column_totals import BOUNDS, SUMS, can_be_added, in_arrow, plain_type, whole_sums
from afa.replay.slice_work import Wanted, Way, slices_of
from afa.replay.slices import OverSlices, Slices, WindowCut, check_many
from afa.replay.stored import Stored
from punctuation.durations import NANOSECONDS, has_unit, ticks_of_duration
from punctuation.time import as_time
from punctuation.timestamps import Times, is_time, ticks_of_time

AGGREGATES = ("count", "sum", "avg", "min", "max")
ROWS = "*"
DAY = 86_400_000


def windows(
    source: Any,
    aggregates: Mapping[str, str | Sequence[str]],
    *,
    time: str,
    size: int | str | timedelta,
    slide: int | str | timedelta | None = None,
    by: Literal["time", "rows"] = "time",
    origin: int | str | timedelta | date = 0,
    tick: str | None = None,
    way: Way = "auto",
) -> pa.Table:
    """Aggregate columns of a stored table over sliding windows of time, or of rows, and read only what no index tells.

    Parameters
    ----------
    source : str, Path, list of these, or pyarrow.dataset.Dataset
        A Parquet file, a folder of them, or what else pyarrow reads. Its rows may stand in any order.
    aggregates : mapping of str to str or sequence of str
        For each column which of ``"count"``, ``"sum"``, ``"avg"``, ``"min"``, ``"max"``. ``{"*": "count"}`` counts rows.
    time : str
        The column that says when each row happened: ints, timestamps or dates.
    size, slide : int, str or timedelta
        How long a window is, and how far from one to the next: ticks, ``"1 day"``; of rows so many. No slide: as long as the
        size. A slide longer than the size leaves gaps.
    by : "time" or "rows"
        Windows of rows count them in the order of time, rows of one time in the order in which they stand in the source.
    origin : int, str, timedelta or datetime
        A time at which a window begins, or how long that is after 1970, from which windows are counted by default.
    tick : "ns", "us", "ms", "s", "min", "h" or "d", optional
        What an int of size, slide and origin counts. None: the unit of the column of times; ints have none.
    way : "auto", "index" or "read"
        For tests: from blocks wherever they are known, from all rows, or what reads less. The answer is the same.

    Returns
    -------
    pyarrow.Table
        A row for each window ``[le, re)`` that holds rows, in order: ``le``, ``re``, in the type of the column of times (ints:
        int64), then ``{column}_{aggregate}`` as asked; ``count`` for ``"*"``. Of rows, in place of le and re: ``row``, the place
        of the window's first row, ``first`` and ``last``, the times of its first and last row; the last windows may hold fewer.

    Raises
    ------
    AfaError
        A column is missing, or of a type that has no such aggregate; an unknown aggregate; a time is missing; a size below 1; a sum
        that no int64 holds; more than 100 million windows; a damaged file, or one that changes meanwhile; an index of another file.

    Notes
    -----
    Windows begin at whole multiples of the slide from the origin, 1970 in UTC, as Spark's and Flink's do. Nulls are left out, as
    in SQL: ``count`` counts values, the others are null where there are none. NaN counts in sums and averages; it is no bound,
    unless nothing else is there. -0.0 is told as 0.0. Sums of ints and truth are exact; sums of floats are right to rounding, which
    depends on the order of additions. Nothing else of the answer depends on row groups, files, statistics or an index.

    O(blocks + rows read + slices + windows). `afa.replay.index` makes the blocks; without it, row groups are blocks for count, min
    and max. A block is read if a window begins or ends in it, so all are where a slide is shorter than a block. Of windows of rows,
    blocks that overlap in time are sorted together in memory. Source: the thesis, Sec. 3.3. Departs: `afa.replay.slices`.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> path = f"{tempfile.mkdtemp()}/sales.parquet"
    >>> pq.write_table(pa.table({"at": [0, 3, 4, 11], "price": [2.0, None, 5.0, 1.0]}), path)
    >>> windows(
    ...     path, {"price": ["sum", "count"], "*": "count"}, time="at", size=6, slide=4
    ... ).to_pylist()[:2]  # doctest: +NORMALIZE_WHITESPACE
    [{'le': -4, 're': 2, 'price_sum': 2.0, 'price_count': 1, 'count': 1},
     {'le': 0, 're': 6, 'price_sum': 7.0, 'price_count': 2, 'count': 3}]
    >>> windows(path, {"price": "max"}, time="at", size=2, by="rows").to_pylist()
    [{'row': 0, 'first': 0, 'last': 3, 'price_max': 2.0}, {'row': 2, 'first': 4, 'last': 11, 'price_max': 5.0}]
    """
    if by not in ("time", "rows"):
        raise AfaError(f'expected "time" or "rows" but got by={by!r}')
    if way not in ("auto", "index", "read"):
        raise AfaError(f'expected "auto", "index" or "read" but got way={way!r}')
    stored = Stored(source)
    kind = stored.kind_of_times(time)
    asked = _asked(stored, aggregates)
    wanted = {name: {*words} for name, words in asked.items() if name != ROWS}
    slide = size if slide is None else slide
    cut = _of_rows(size, slide, origin, tick) if by == "rows" else _of_time((size, slide, origin), kind, tick, time)
    if by == "time":
        check_many(cut.size / cut.slide)
    else:
        cut = cut._replace(size=min(cut.size, max(stored.total, 1)))
        wanted.setdefault(time, set()).update(BOUNDS)
    found = slices_of(stored, Wanted(time, cut, by == "rows", wanted), way).slices
    stored.check_unchanged()
    return _table(found, asked, stored, (time, kind), cut, by == "rows")


def _asked(stored: Stored, aggregates: Any) -> dict[str, list[str]]:
    """Return the aggregates of each column; refuse unknown ones, and those that its type does not have."""
    if not isinstance(aggregates, Mapping) or not aggregates:
        raise AfaError(f'expected aggregates of columns, {{"column": ["sum"]}}, but got {aggregates!r}')
    found: dict[str, list[str]] = {}
    for name, said in aggregates.items():
        words = [said] if isinstance(said, str) else said
        if not isinstance(words, Sequence) or not words:
            raise AfaError(f"expected some of {', '.join(AGGREGATES)} but got {said!r} for column {name!r}")
        for word in words:
            if word not in AGGREGATES:
                hint = "; avg is the mean" if word == "mean" else did_you_mean(str(word), AGGREGATES)
                raise AfaError(f"expected some of {', '.join(AGGREGATES)} but got {word!r} for column {name!r}{hint}")
        found[name] = list(dict.fromkeys(words))
        if name == ROWS:
            if found[name] != ["count"]:
                raise AfaError(f'expected "count" of all rows but got {said!r} for "*"')
            continue
        stored.check_column(name, "aggregates")
        _check_type(name, stored.schema.field(name).type, found[name])
    return found


def _check_type(name: str, kind: pa.DataType, words: list[str]) -> None:
    for word in words:
        if word in SUMS and not can_be_added(kind):
            raise AfaError(f"expected a column of ints, floats or truth for {word} but got {name!r} of {kind}")
        if word in BOUNDS and plain_type(kind) is None:
            raise AfaError(f"expected a column of numbers or times for {word} but got {name!r} of {kind}; count takes it")


def _of_rows(size: Any, slide: Any, origin: Any, tick: Any) -> WindowCut:
    if origin != 0 or tick is not None:
        raise AfaError(f"expected neither origin= nor tick= beside by='rows' but got origin={origin!r}, tick={tick!r}")
    for name, value in (("size", size), ("slide", slide)):
        if has_unit(value):
            raise AfaError(f"expected a number of rows beside by='rows' but got {name}={value!r}")
    return _cut([as_time(size, "size"), as_time(slide, "slide"), 0], "row")


def _of_time(said: tuple[Any, Any, Any], kind: pa.DataType, tick: str | None, time: str) -> WindowCut:
    times = None if types.is_integer(kind) else Times("arrow", kind)
    unit = tick or unit_of_times(times, time)
    names = ("size", "slide", "origin")
    ticks = [
        ticks_of_time(value, unit, name) if is_time(value) else ticks_of_duration(value, unit, name)
        for name, value in zip(names, said)
    ]
    if times is None:
        return _cut(ticks, "tick")
    ratio = NANOSECONDS[str(unit)] / times.unit
    step = DAY if types.is_date64(kind) else 1
    for name, value, given in zip(names, ticks, said):
        if (value * ratio / step).denominator != 1:
            whole = "days" if types.is_date(kind) else f"whole {kind.unit}"
            raise AfaError(f"expected {name} in {whole}, as the times of column {time!r} ({kind}) are, but got {name}={given!r}")
    return _cut([int(value * ratio) for value in ticks], "tick")


def _cut(said: Sequence[int], what: str) -> WindowCut:
    size, slide, origin = said
    for name, value in (("size", size), ("slide", slide)):
        if value < 1:
            raise AfaError(f"expected at least 1 {what} but got {name}={value}")
    return WindowCut(size, slide, origin)


def _table(
    slices: Slices, asked: dict[str, list[str]], stored: Stored, timed: tuple[str, pa.DataType], cut: WindowCut, of_rows: bool
) -> pa.Table:
    """Return the answer: windows out of slices."""
    time, kind = timed
    numbers = cut.windows(slices.ids, 0 if of_rows else None)
    over = OverSlices(slices.ids, cut, numbers)
    le = numbers * cut.slide + cut.origin
    if of_rows:
        first, last = (over.of(part, slices.totals[time, part]) for part in BOUNDS)
        found = {"row": pa.array(le), "first": _times(first, kind), "last": _times(last, kind)}
    else:
        found = {"le": _times(le, kind), "re": _times(le + cut.size, kind)}
    rows = over.of("count", slices.rows)
    for name, words in asked.items():
        if name == ROWS:
            found["count"] = pa.array(rows)
        else:
            parts = {part: over.of(part, values) for (column, part), values in slices.totals.items() if column == name}
            of_words = _of_column(name, stored.kind(name), parts, parts.get("count", rows))
            found |= {f"{name}_{word}": of_words[word] for word in words}
    return pa.table(found)


def _of_column(name: str, kind: pa.DataType, parts: dict[str, np.ndarray], present: Any) -> dict[str, pa.Array]:
    """Return the aggregates of a column, as far as there are parts of them; null where no value is there, but for the count."""
    none = present == 0
    found: dict[str, Any] = {"count": pa.array(present)}
    sums = parts["sum"] + 0.0 if "sum" in parts else None
    if "upper" in parts:
        sums, fits = whole_sums(parts["upper"], parts["lower"])
        if not fits.all():
            wrong = [(int(upper) << 32) + int(lower) for upper, lower in zip(parts["upper"][~fits], parts["lower"][~fits])]
            raise Int64Error(
                f"expected sums that an int64 holds but got {max(wrong, key=abs)} in column {name!r}; cast it to floats"
            )
    if sums is not None:
        found["sum"] = pa.array(sums, mask=none)
        found["avg"] = pa.array(sums / np.maximum(present, 1), mask=none)
    for word in BOUNDS:
        if word in parts:
            found[word] = in_arrow(parts[word] + parts[word].dtype.type(0), none, kind)  # -0.0 is told as 0.0
    return found


def _times(values: np.ndarray, kind: pa.DataType) -> pa.Array:
    if not types.is_date32(kind):
        return pa.array(values.astype(np.int64), pa.int64()).cast(pa.int64() if types.is_integer(kind) else kind)
    try:
        return pa.array(values, pa.int32()).cast(kind)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise AfaError(f"expected windows whose days {kind} holds but got some beyond: {error}") from error
