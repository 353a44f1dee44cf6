"""What a source reads of what passes through it: the LE of each event, and the promises that stand in the input.

Nothing here knows `afa`: an event change is what has a number ``le``, an arc's change what has a payload with a ``fence``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from punctuation.errors import AfaError
from punctuation.promise import Punctuation
from punctuation.time import FOREVER, as_time


class Part(NamedTuple):
    """Items that follow on each other without a punctuation between them.

    Parameters
    ----------
    items : list
        As they came: tables, changes of events and arcs.
    le : numpy.ndarray
        int64, the LE of each event among them, in order of arrival.
    """

    items: list[Any]
    le: Any


def le_of(item: Any) -> int | None:
    """The LE of an event change; None for an arc's, which belongs to the other input and moves no promise of this one.

    Raises
    ------
    AfaError
        It has no time.

    Examples
    --------
    >>> le_of("a tick")
    Traceback (most recent call last):
    punctuation.errors.AfaError: expected an item with a time (le) but got 'a tick'
    """
    payload = getattr(item, "payload", None)
    if not isinstance(payload, tuple) and hasattr(payload, "fence"):
        return None
    le = getattr(item, "le", None)
    if le is None:
        raise AfaError(f"expected an item with a time (le) but got {item!r}")
    return as_time(le, "le")


def is_table(batch: Any) -> bool:
    """Whether it is a dict of columns, an Arrow table or a pandas frame."""
    if isinstance(batch, Mapping):
        return True
    module = type(batch).__module__.partition(".")[0]
    return (module == "pyarrow" and hasattr(batch, "to_pydict")) or (module == "pandas" and hasattr(batch, "columns"))


def read(batch: Any) -> list[Part | Punctuation]:
    """A batch in parts, cut at its punctuations. Everything is checked here, so that what follows can't fail halfway.

    Raises
    ------
    AfaError
        It is no batch, a table has no column ``le`` of ticks, or an item no time.
    """
    if is_table(batch):
        return [Part([batch], ticks_of(batch))]
    if not isinstance(batch, (list, tuple)) or hasattr(batch, "_fields"):
        raise AfaError(f"expected an Arrow table, a pandas frame, a dict of columns or a list but got {type(batch)!r}")
    parts: list[Part | Punctuation] = []
    items: list[Any] = []
    found: list[Any] = []
    for item in batch:
        if isinstance(item, Punctuation):
            parts += [_part(items, found), item._replace(t=as_time(item.t, "t"))]
            items, found = [], []
        elif is_table(item):
            items.append(item)
            found.append(ticks_of(item))
        else:
            le = le_of(item)
            items.append(item)
            if le is not None:
                found.append(le)
    return [*parts, _part(items, found)]


def ticks_of(table: Any) -> Any:
    """The column ``le`` of a table as int64.

    Raises
    ------
    AfaError
        There is none, or something in it is no int64.
    """
    names = [str(name) for name in (table.schema.names if hasattr(table, "schema") else table)]
    if names.count("le") != 1:
        raise AfaError(f"expected one column 'le' but got the columns {', '.join(names) or 'none'}")
    column = table.column("le") if hasattr(table, "schema") else table["le"]
    plain = column if isinstance(column, np.ndarray) else np.asarray(column) if hasattr(column, "__array__") else None
    if plain is not None and (plain.ndim != 1 or plain.dtype.kind in "Mm"):
        raise AfaError(f"expected int ticks in column 'le' but got a column of {plain.dtype}, shape {plain.shape}")
    if plain is not None and plain.dtype.kind in "iu" and not (plain.dtype == np.uint64 and np.any(plain > np.uint64(FOREVER))):
        return plain.astype(np.int64)
    if getattr(column, "null_count", 0):  # Arrow: in an array its nulls are NaN, and all ints floats
        return _checked(column.to_pylist())
    if hasattr(column, "isna") and column.isna().any():  # pandas: so are they here
        return _checked(column.astype(object).tolist())
    if plain is not None:
        return _checked(plain.tolist())
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise AfaError(f"expected a column of values but got le={column!r}")
    return _checked(column)


def _checked(values: Iterable[Any]) -> Any:
    ticks = []
    for i, value in enumerate(values):
        try:
            ticks.append(as_time(value, "le"))
        except AfaError as error:
            raise AfaError(f"{error} in row {i} of column 'le'") from None
    return np.array(ticks, np.int64)


def _part(items: list[Any], found: list[Any]) -> Part:
    """``found``: ticks and arrays of ticks."""
    if len(found) == 1 and isinstance(found[0], np.ndarray):
        return Part(items, found[0])
    if any(isinstance(le, np.ndarray) for le in found):
        return Part(items, np.concatenate([np.atleast_1d(np.asarray(le, np.int64)) for le in found]))
    return Part(items, np.array(found, np.int64))
