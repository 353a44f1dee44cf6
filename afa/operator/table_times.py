"""Times of tables: read as ticks where a table comes in, and given back in the type that ``le`` came in where one leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from afa.errors import AfaError, ChangeError
from afa.operator.call import Core
from afa.schema import Field
from punctuation.door import Table
from punctuation.reading import ARC, PUNCTUATION
from punctuation.time import BEGINNING, FOREVER
from punctuation.timestamps import Timed, in_ticks


def with_ticks(table: Table, tick: str, names: Sequence[str], mixed: bool) -> Table:
    """Return a table in which timestamps and dates are ticks. ``mixed``: with a column ``kind``, see `afa.operator.tables`.

    Raises
    ------
    ChangeError
        A time is no whole number of ticks, or no int64 of them.
    """
    try:
        found = in_ticks(table, tick, names)
    except AfaError as error:
        raise ChangeError(str(error)) from None
    if mixed and isinstance(found, Timed) and found.times is not None:
        _fill_ends(found)
    return found


def with_le(table: Table, name: str) -> Table:
    """Return a table whose column ``le`` is the one of that name; the table itself, if it has none such, or more than one."""
    return Timed(table, {"le": table.column(name)}) if table.names.count(name) == 1 else table


def _fill_ends(table: Timed) -> None:
    """Let a missing ``le`` be FOREVER in the row of a punctuation, BEGINNING in that of an arc: no type of times holds them."""
    le = table.read["le"]
    if isinstance(le, np.ndarray):
        return
    kinds, ends = table.column("kind"), {ARC: BEGINNING, PUNCTUATION: FOREVER}
    kinds = kinds.to_pylist() if hasattr(kinds, "to_pylist") else list(kinds)
    if len(kinds) == len(le):
        table.read["le"] = [ends.get(kind) if time is None else time for kind, time in zip(kinds, le.to_pylist())]


def as_came(columns: Sequence[Any], fields: Sequence[Field], like: Table, core: Core) -> dict[str, Any]:
    """Return the output's times in the type that the input's ``le`` has: ``le``, ``re``, what a match shows of LEs.

    Nothing, if the input's ``le`` has ints.

    Raises
    ------
    ChangeError
        The type does not hold one of them.
    """
    if not isinstance(like, Timed) or like.times is None or core.tick is None:
        return {}
    times, names = like.times, {"le", "re", *core.shown.times}
    try:
        return {
            field.name: times.of_ticks(_ticks(column), core.tick, field.name)
            for column, field in zip(columns, fields)
            if field.name in names
        }
    except AfaError as error:
        raise ChangeError(str(error)) from None


def times_as_came(like: Table, core: Core) -> Callable[[Any, str], Any] | None:
    """Return what makes a column of ticks one of times in the type that the input's ``le`` has. None: it has ints."""
    if not isinstance(like, Timed) or like.times is None or core.tick is None:
        return None
    times, tick = like.times, core.tick

    def made(column: Any, name: str) -> Any:
        try:
            return times.of_ticks(_ticks(column), tick, name)
        except AfaError as error:
            raise ChangeError(str(error)) from None

    return made


def _ticks(column: Any) -> Any:
    """Return a column as int64, FOREVER for what is missing."""
    if isinstance(column, np.ndarray) and column.dtype == np.int64:
        return column
    return np.array([FOREVER if tick is None else tick for tick in column], np.int64)
