"""Times of tables: read as ticks where a table comes in, and given back in the type that they came in where one leaves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from afa.errors import AfaError, ChangeError
from afa.schema import Schema
from punctuation.door import Table, is_arrow
from punctuation.durations import NANOSECONDS
from punctuation.reading import ARC, PUNCTUATION
from punctuation.time import BEGINNING, FOREVER
from punctuation.timestamps import Timed, Times, in_ticks, is_time_type


class TimeType(NamedTuple):
    """The type in which times leave, and what one tick is."""

    times: Times
    tick: str

    @classmethod
    def of(cls, like: Table, tick: str | None) -> TimeType | None:
        """Return the type that the times of a table came in; None: they are ints.

        >>> from punctuation.door import table_of
        >>> TimeType.of(in_ticks(table_of({"le": np.array(["2024-01-01"], "M8[s]")}), "s", ["le"]), "s").tick
        's'
        """
        times = like.times if isinstance(like, Timed) else None
        return None if times is None or tick is None else cls(times, tick)

    @classmethod
    def of_arrow(cls, kind: Any, tick: str) -> TimeType | None:
        """Return the type in which times leave that came in an Arrow column; None: as ints.

        That is the type itself; for one that does not hold each tick, as dates for milliseconds, timestamps of the tick.
        """
        import pyarrow as pa

        if not is_time_type(kind):
            return None
        if Times("arrow", kind).unit > NANOSECONDS[tick]:
            kind = pa.timestamp(tick, getattr(kind, "tz", None))
        return cls(Times("arrow", kind), tick)

    @classmethod
    def of_dates(cls, kind: str, tick: str) -> TimeType:
        """Return the type in which dates leave, in a table of a kind."""
        if kind == "pandas":
            return cls(Times("objects", date(1970, 1, 1)), tick)
        if kind == "dict":
            return cls(Times("numpy", np.dtype("M8[D]")), tick)
        import pyarrow as pa

        return cls(Times("arrow", pa.date32()), tick)

    def column(self, ticks: Any, name: str) -> Any:
        """Return a column of ticks, some of which may be missing, as one of this type; errors say ``name``."""
        if not isinstance(ticks, np.ndarray) or ticks.dtype != np.int64:
            if is_arrow(ticks):
                ticks = ticks.fill_null(FOREVER).to_numpy()
            else:
                ticks = np.array([FOREVER if each is None else each for each in ticks], np.int64)
        try:
            return self.times.of_ticks(ticks, self.tick, name)
        except AfaError as error:
            raise ChangeError(str(error)) from None


def leaving(
    times: TimeType | None, kind: str, shown: Schema, taken: Schema | None = None, keys: Collection[str] = ()
) -> dict[str, TimeType]:
    """Return the types in which columns leave a table of a kind: LE and RE, times of what is shown and of keys.

    ``times``: that in which LE came; None: as ints. ``taken``: the events, of which ``keys`` may be fields.
    """
    timed, dates = ([name for name in keys if name in names] for names in ((taken.times, taken.dates) if taken else ((), ())))
    if times is None:
        return {}
    found, dates = dict.fromkeys(("le", "re", *shown.times, *timed), times), [*shown.dates, *dates]
    return found | dict.fromkeys(dates, TimeType.of_dates(kind, times.tick)) if dates else found


def as_times(table: Any, times: Mapping[str, TimeType]) -> Any:
    """Return an Arrow table in which some columns of ticks are times."""
    for i, name in enumerate(table.column_names):
        if name in times:
            table = table.set_column(i, name, times[name].column(table.column(i), name))
    return table


def with_ticks(table: Table, tick: str, names: Sequence[str], mixed: bool) -> Table:
    """Return a table in which timestamps and dates are ticks. ``mixed``: with a column ``kind``, see `afa.operator.tables`."""
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
