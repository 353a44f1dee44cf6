"""Read what passes through a source: the LE of each event, and the watermarks in the input.

This module does not import `afa`: any item with an int ``le`` counts as an event change, and as an arc's change if its payload
has a ``fence``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from punctuation.base_errors import AfaError
from punctuation.door import Table, is_row, is_table, table_of, type_of
from punctuation.promise import Punctuation
from punctuation.time import FOREVER, as_time, end_of_time
from punctuation.timestamps import WITHOUT_TICK, is_time, ticks_in, ticks_of_time, times_of

EVENT, ARC, PUNCTUATION = 0, 1, 2
"""The kinds of a table's rows, in its column ``kind``."""


class TableWatermark(NamedTuple):
    """A watermark that stands in a row of a table, and is passed on with the table."""

    t: int


class Part(NamedTuple):
    """Consecutive items without a watermark between them."""

    items: list[Any]  # as they came: tables, changes of events and arcs
    le: Any  # an array of int64, the LE of each event among them, in order of arrival


def le_of(item: Any, tick: str | None = None) -> int | None:
    """Return the LE of an event change; None for an arc's change, as arcs do not move the watermark of the event input.

    ``tick`` is what one int of LE counts, for LEs that are datetimes.

    >>> le_of("a tick")
    Traceback (most recent call last):
    punctuation.base_errors.AfaError: expected an item with a time (le) but got 'a tick'
    """
    payload = getattr(item, "payload", None)
    if not isinstance(payload, tuple) and hasattr(payload, "fence"):
        return None
    le = item.get("le") if isinstance(item, Mapping) else getattr(item, "le", None)
    if le is None:
        raise AfaError(f"expected an item with a time (le) but got {item!r}")
    if le == FOREVER:
        raise AfaError(f"{end_of_time(FOREVER)} for {payload!r}")
    return _time(le, "le", tick)


def _time(value: Any, name: str, tick: str | None) -> int:
    return ticks_of_time(value, tick, name) if is_time(value) else as_time(value, name)


def read(batch: Any, kinds: bool | None = None, tick: str | None = None) -> list[Part | Punctuation | TableWatermark]:
    """Return a batch as parts, cut at its watermarks. Checks all of it, so that later steps can't fail halfway.

    ``kinds``, ``tick``: as of `punctuation.source.Source`.
    """
    single = is_table(batch)
    if single:
        batch = [batch]
    if not isinstance(batch, (list, tuple)) or hasattr(batch, "_fields"):
        raise AfaError(f"expected an Arrow table, a pandas frame, a dict of columns or a list but got {type(batch)!r}")
    parts: list[Part | Punctuation | TableWatermark] = []
    items: list[Any] = []
    found: list[Any] = []
    for item in batch:
        if isinstance(item, Punctuation):
            parts += [_part(items, found), item._replace(t=_time(item.t, "t", tick))]
            items, found = [], []
        elif (single or not is_row(item)) and (table := table_of(item)) is not None:
            items.append(table.given)
            first, *rest = _cut(table, kinds, tick)
            found.append(first)
            for told, le in rest:
                parts += [_part(items, found), told]
                items, found = [], [le]
        else:
            le = le_of(item, tick)
            items.append(item)
            if le is not None:
                found.append(le)
    return [*parts, _part(items, found)]


def _cut(table: Table, kinds: bool | None, tick: str | None) -> list[Any]:
    """Yield the LEs of a table's events up to its first watermark, then each watermark and the LEs up to the next one."""
    le, kind = _les_of(table, tick), _kinds_of(table, kinds)
    if kind is None:
        return [_before_the_end(le)]
    if len(kind) != len(le):
        raise AfaError(f"expected columns of one length but got {len(kind)} in 'kind', {len(le)} in 'le'")
    at = np.flatnonzero(kind == PUNCTUATION)
    events = [_before_the_end(le[a:b][kind[a:b] == EVENT]) for a, b in zip([0, *(at + 1)], [*at, len(le)])]
    return [events[0], *zip(map(TableWatermark, le[at].tolist()), events[1:])]


def _les_of(table: Table, tick: str | None) -> Any:
    """Return the LEs of a table's rows as int64. A missing time stands in the row of an arc or of a watermark, and is FOREVER."""
    if tick is None or table.names.count("le") != 1 or (times := times_of(column := table.column("le"))) is None:
        return ticks_of(table)
    found = ticks_in(column, times, tick, "le")
    if isinstance(found, np.ndarray):
        return found
    if "kind" not in table.names:
        raise AfaError(f"expected a time in column 'le' but got none in row {found.is_null().to_pylist().index(True)}")
    return found.fill_null(FOREVER).to_numpy()


def _before_the_end(le: Any) -> Any:
    if len(le) and int(le.max()) == FOREVER:
        raise AfaError(end_of_time(FOREVER))
    return le


def _kinds_of(table: Table, kinds: bool | None) -> Any:
    """Return the kind of each row of a table: an event, an arc or a watermark. None: all are events."""
    if kinds is False or "kind" not in table.names:
        return None
    if kinds is None and table.names.count("kind") == 1 and not _may_be_ints(table.column("kind")):
        return None
    try:
        found = ticks_of(table, "kind")
    except AfaError:
        if kinds or table.names.count("kind") > 1:
            raise
        return None
    strange = np.flatnonzero((found < EVENT) | (found > PUNCTUATION))
    if kinds and len(strange):
        i = int(strange[0])
        raise AfaError(f"expected kind 0 (event), 1 (arc) or 2 (punctuation) but got kind={found[i]} in row {i}")
    if not kinds and not len(strange) and found.any():
        raise AfaError(
            "expected kinds=True (a column 'kind' says of each row: 0 an event, 1 an arc, 2 a punctuation) or kinds=False (it is a "
            f"field of the event) for a source of tables with such a column but got kinds={kinds!r}"
        )
    return found if kinds else None


def _may_be_ints(column: Any) -> bool:
    """Return whether a column may hold ints, by its type alone: to look at many strings would cost time."""
    kind = str(type_of(column) or "object").lower()
    return "int" in kind or kind == "object"


def ticks_of(table: Table, name: str = "le") -> Any:
    """Return a column of a table (``le`` in most calls) as int64."""
    names = table.names
    if names.count(name) != 1:
        raise AfaError(f"expected one column {name!r} but got the columns {', '.join(names) or 'none'}")
    column = table.column(name)
    try:
        return _ticks(column, name)
    except (ValueError, TypeError, OverflowError, NotImplementedError) as error:  # an instant that Python does not hold
        if isinstance(error, AfaError):
            raise
        raise AfaError(f"expected int ticks in column {name!r} but got {error}") from error


def _ticks(column: Any, name: str) -> Any:
    plain = column if isinstance(column, np.ndarray) else np.asarray(column) if hasattr(column, "__array__") else None
    if plain is not None and (plain.ndim != 1 or plain.dtype.kind in "Mm"):
        hint = WITHOUT_TICK if plain.dtype.kind == "M" else ""
        raise AfaError(f"expected int ticks in column {name!r} but got a column of {plain.dtype}, shape {plain.shape}{hint}")
    if plain is not None and plain.dtype.kind in "iu" and not (plain.dtype == np.uint64 and np.any(plain > np.uint64(FOREVER))):
        return plain.astype(np.int64)
    if getattr(column, "null_count", 0):  # Arrow: in an array its nulls are NaN, and all ints floats
        return _checked(column.to_pylist(), name)
    if hasattr(column, "isna") and column.isna().any():  # pandas: so are they here
        return _checked(column.astype(object).tolist(), name)
    if plain is not None:
        return _checked(plain.tolist(), name)
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise AfaError(f"expected a column of values but got {name}={column!r}")
    return _checked(column, name)


def _checked(values: Iterable[Any], name: str) -> Any:
    ticks = []
    for i, value in enumerate(values):
        try:
            ticks.append(as_time(value, name))
        except AfaError as error:
            raise AfaError(f"{error} in row {i} of column {name!r}{WITHOUT_TICK if is_time(value) else ''}") from None
    return np.array(ticks, np.int64)


def _part(items: list[Any], found: list[Any]) -> Part:
    """``found``: ticks and arrays of ticks."""
    if len(found) == 1 and isinstance(found[0], np.ndarray):
        return Part(items, found[0])
    if any(isinstance(le, np.ndarray) for le in found):
        return Part(items, np.concatenate([np.atleast_1d(np.asarray(le, np.int64)) for le in found]))
    return Part(items, np.array(found, np.int64))
