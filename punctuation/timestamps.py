"""Times as ticks since 1970, exactly, and ticks as times again: of columns of timestamps or dates, and of single datetimes.

    Arrow timestamp and date, numpy datetime64, pandas with and without zones, lists of datetimes
        -> `times_of`: the type that the column has          -> `ticks_in`: int64, or Arrow's int64 where some are missing
        <- `Times.of_ticks`: a column of that type; FOREVER and BEGINNING, which no such type holds, are missing in it

Times without a zone are UTC. Nothing is rounded: a time that is no whole number of ticks is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from punctuation.base_errors import AfaError
from punctuation.door import Table, is_arrow, is_pandas, one_array
from punctuation.durations import NANOSECONDS, unit_of
from punctuation.time import BEGINNING, FOREVER

EPOCH, EPOCH_UTC, MICROSECOND = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=timezone.utc), timedelta(microseconds=1)
_UNITS = {
    "W": Fraction(NANOSECONDS["w"]), "D": Fraction(NANOSECONDS["d"]), "h": Fraction(NANOSECONDS["h"]),
    "m": Fraction(NANOSECONDS["min"]), "s": Fraction(10**9), "ms": Fraction(10**6), "us": Fraction(1000), "ns": Fraction(1),
    "ps": Fraction(1, 1000), "fs": Fraction(1, 10**6), "as": Fraction(1, 10**9),
}  # fmt: skip
"""Nanoseconds of numpy's units."""
WITHOUT_TICK = '; for times say what one int of LE counts, with tick="ms", say'
"""The hint for a time where nothing says what one tick is."""


class Times(NamedTuple):
    """The type of a column of times.

    kind     "arrow", "pandas", "numpy", or "objects": a list, or an array of objects
    type     the library's type; of objects the first one that is there
    """

    kind: str
    type: Any

    @property
    def unit(self) -> Fraction:
        """How many nanoseconds one int of the column is."""
        if self.kind == "numpy":
            return _unit_of_numpy(self.type)
        if self.kind == "objects":
            if isinstance(self.type, np.datetime64):
                return _unit_of_numpy(self.type.dtype)
            if hasattr(self.type, "to_datetime64"):  # of pandas
                return Fraction(1)
            return Fraction(1000 if isinstance(self.type, datetime) else NANOSECONDS["d"])
        kind = self.type if self.kind == "arrow" else self.type.pyarrow_dtype if hasattr(self.type, "pyarrow_dtype") else None
        if kind is None:  # of pandas, with a zone
            return Fraction(NANOSECONDS[self.type.unit])
        name = str(kind)
        return Fraction(NANOSECONDS["d" if name.startswith("date32") else "ms" if name.startswith("date64") else kind.unit])

    def of_ticks(self, ticks: Any, tick: str, name: str) -> Any:
        """Returns ticks, an array of int64, as a column of this type; refuses one that the type does not hold."""
        missing = (ticks == FOREVER) | (ticks == BEGINNING)
        found, wrong = _scaled(np.where(missing, 0, ticks), _ratios(self, tick)[1])
        made = None if wrong.any() else self._made(found, missing)
        if made is None:
            i = int(np.argmax(wrong if wrong.any() else np.abs(found)))
            raise AfaError(
                f"expected times that {self.said} holds, as le came, but got {name}={int(ticks[i])} (tick={tick!r}); "
                f"cast le to timestamps of a finer or wider unit, or choose a tick= and durations that it holds"
            )
        return made

    @property
    def said(self) -> str:
        return type(self.type).__name__ if self.kind == "objects" else str(self.type)

    def _made(self, values: Any, missing: Any) -> Any:
        """Return a column of ints in the column's unit as one of this type; None: it does not hold them."""
        if self.kind == "objects":
            return _objects(values, missing, self.type)
        if self.kind == "numpy":
            return np.where(missing, BEGINNING, values).view(_regular(self.type))
        if self.kind == "arrow":
            return _in_arrow(values, missing, self.type)
        import pandas as pd

        if hasattr(self.type, "pyarrow_dtype"):
            found = _in_arrow(values, missing, self.type.pyarrow_dtype)
            return None if found is None else pd.array(found, dtype=self.type)
        stamps = np.where(missing, BEGINNING, values).view(f"M8[{self.type.unit}]")
        try:
            return pd.DatetimeIndex(stamps).tz_localize("UTC").tz_convert(self.type.tz)
        except (OverflowError, ValueError):
            return None


def times_of(column: Any) -> Times | None:
    """Return the type of a column of timestamps or dates; None: it is none. O(1), but for what is missing at the head of a list.

    >>> times_of(np.array(["2024-01-01"], "M8[D]"))
    Times(kind='numpy', type=dtype('<M8[D]'))
    >>> times_of([7, 8])
    """
    if isinstance(column, np.ndarray):
        kind = column.dtype.kind
        if kind == "M":
            return None if np.datetime_data(column.dtype)[0] == "generic" else Times("numpy", column.dtype)
        return _of_objects(column) if kind == "O" and column.ndim == 1 else None
    if isinstance(column, (list, tuple)):
        return _of_objects(column)
    if is_arrow(column):
        kind = column.type
        return Times("arrow", getattr(kind, "value_type", kind)) if kind.id in _arrow_ids() and _is_time(kind) else None
    if not is_pandas(column):
        return None
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return Times("numpy", dtype) if dtype.kind == "M" else _of_objects(column.to_numpy()) if dtype.kind == "O" else None
    if hasattr(dtype, "pyarrow_dtype"):
        return Times("pandas", dtype) if _is_time(dtype.pyarrow_dtype) else None
    return Times("pandas", dtype) if dtype.kind == "M" and hasattr(dtype, "tz") else None


@functools.cache
def _arrow_ids() -> frozenset[int]:
    """Return the numbers of the Arrow types that may hold times: to ask by name costs ten times as much."""
    from pyarrow import lib

    return frozenset((lib.Type_TIMESTAMP, lib.Type_DATE32, lib.Type_DATE64, lib.Type_DICTIONARY))


def ticks_in(column: Any, times: Times, tick: str, name: str) -> Any:
    """Returns a column of times as ticks: an array of int64; where some are missing Arrow's.

    Refuses a time that is no whole number of ticks, or no int64 of them, and names the first such row.
    """
    if times.kind == "objects":
        items = [None if _is_missing(item) else _ticks_at(item, tick, name, i) for i, item in enumerate(column)]
        missing = np.array([item is None for item in items], np.bool_)
        ticks = np.array([0 if item is None else item for item in items], np.int64)
    else:
        ticks, missing, wrong = counted(column, times, tick)
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise AfaError(_no_ticks(_value(column, i), tick, name, f" in row {i}"))
    if not missing.any():
        return ticks
    import pyarrow as pa

    return pa.array(ticks, pa.int64(), mask=missing)


def counted(column: Any, times: Times, tick: str) -> tuple[Any, Any, Any]:
    """Return a column of times of a type as ticks, which of them are missing, and which are no whole number of ticks, an int64."""
    values, missing = _ints(column, times)
    ticks, wrong = _scaled(np.where(missing, 0, values), _ratios(times, tick)[0])
    return ticks, missing, wrong


class Timed(Table):
    """A table with some columns, ``read``, in another form: times as ticks. One that the table itself does not have is one more.

    ``times`` is the type of its ``le``; None: ints.
    """

    __slots__ = ("read", "times")

    def __init__(self, table: Table, read: Mapping[str, Any], times: Times | None = None) -> None:
        super().__init__(table.kind, table.given, table.columns, table.foreign)
        self.read: dict[str, Any] = {**table.read, **read} if isinstance(table, Timed) else {**read}
        self.names += [name for name in self.read if name not in self.names]
        self.times = times

    def column(self, name: str) -> Any:
        found = self.read.get(name)
        return super().column(name) if found is None else found


def in_ticks(table: Table, tick: str, names: Iterable[str]) -> Table:
    """Returns a table in which those of some columns that hold times are ticks (`ticks_in`); the table itself, if none does."""
    if table.in_arrow and _arrow_ids().isdisjoint([kind.id for kind in table.columns.schema.types]):
        return table  # at once: to ask for each column costs 1 us
    found, of_le = {}, None
    for name in names:
        column = table.column(name)
        times = times_of(column)
        if times is not None:
            found[name] = ticks_in(column, times, tick, name)
            of_le = times if name == "le" else of_le
    return Timed(table, found, of_le) if found else table


def is_time(value: Any) -> bool:
    """Return whether a value is a datetime or a date, Python's, numpy's or pandas'.

    >>> is_time(date(2024, 1, 1)), is_time(7)
    (True, False)
    """
    return isinstance(value, (date, np.datetime64)) and not _is_missing(value)


def ticks_of_time(value: Any, tick: str | None, name: str) -> int:
    """Returns a datetime or a date as ticks; one without a zone is UTC.

    Refused without a ``tick``, and where the time is no whole number of ticks, or no int64 of them.

    >>> ticks_of_time(datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "s", "le")
    0
    >>> ticks_of_time(date(1970, 1, 2), "h", "le")
    24
    """
    if tick is None:
        raise AfaError(f"expected an int (ticks) but got {name}={value!r}{WITHOUT_TICK}")
    return _ticks_at(value, tick, name)


def _ticks_at(value: Any, tick: str, name: str, row: int | None = None) -> int:
    place = "" if row is None else f" in row {row}"
    if hasattr(value, "to_datetime64"):  # of pandas, which keeps more than Python
        value = value.to_datetime64()
    if not is_time(value):
        raise AfaError(f"expected a datetime or a date but got {name}={value!r}{place}")
    if isinstance(value, np.datetime64):
        value = value.astype(_regular(value.dtype))
        nanoseconds = int(value.astype(np.int64)) * _unit_of_numpy(value.dtype)
    elif isinstance(value, datetime):
        since = value - (EPOCH if value.tzinfo is None or value.utcoffset() is None else EPOCH_UTC)
        nanoseconds = Fraction(since // MICROSECOND * 1000)
    else:
        nanoseconds = Fraction((value.toordinal() - EPOCH.toordinal()) * NANOSECONDS["d"])
    ticks = nanoseconds / NANOSECONDS[unit_of(tick)]
    if ticks.denominator != 1 or not BEGINNING < ticks < FOREVER:
        raise AfaError(_no_ticks(value, tick, name, place))
    return int(ticks)


def _no_ticks(value: Any, tick: str, name: str, place: str = "") -> str:
    return f"expected a whole number of ticks (tick={tick!r}), an int64, but got {name}={value!s}{place}; a finer tick= may hold it"


def _value(column: Any, row: int) -> Any:
    found = column.iloc[row] if hasattr(column, "iloc") else column[row]
    try:
        return found.as_py() if hasattr(found, "as_py") else found
    except (ValueError, OverflowError):  # beyond Python's
        return found


def _scaled(values: Any, ratio: Fraction) -> tuple[Any, Any]:
    """Return ints times a ratio, and which of them that makes no int64."""
    times, by = ratio.numerator, ratio.denominator
    wrong = np.zeros(len(values), np.bool_)
    if times > FOREVER or by > FOREVER:  # a week beside an attosecond
        return values, values != 0
    if times != 1:
        most = (FOREVER - 1) // times
        if len(values) and not -most <= values.min() <= values.max() <= most:
            wrong = (values > most) | (values < -most)
            values = np.where(wrong, 0, values)
        values = values * np.int64(times)
    if by != 1:
        whole, values = values, values // np.int64(by)
        wrong = wrong | (values * np.int64(by) != whole)
    return values, wrong


def _ratios(times: Times, tick: str) -> tuple[Fraction, Fraction]:
    """Return how many ticks one int of a column is, and the other way round."""
    return _found_ratios(times, tick) if times.kind == "objects" else _known_ratios(times, tick)  # an object may have no hash


def _found_ratios(times: Times, tick: str) -> tuple[Fraction, Fraction]:
    ratio = times.unit / NANOSECONDS[unit_of(tick)]
    return ratio, 1 / ratio


_known_ratios = functools.lru_cache(maxsize=64)(_found_ratios)


def _ints(column: Any, times: Times) -> tuple[Any, Any]:
    """Return a column of times as ints of its unit, and which are missing."""
    if times.kind == "numpy":
        found = np.asarray(column)
        values = np.ascontiguousarray(found.astype(_regular(found.dtype), copy=False)).view(np.int64)
        return values, values == BEGINNING
    import pyarrow as pa

    array = one_array(column if times.kind == "arrow" else pa.array(column, from_pandas=True))
    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    array = array.cast(pa.int32()) if pa.types.is_date32(array.type) else array
    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else np.zeros(len(array), np.bool_)
    plain = array.view(pa.int64()) if array.type.bit_width == 64 else array.cast(pa.int64())
    return (plain.fill_null(0) if plain.null_count else plain).to_numpy(zero_copy_only=False), missing


def _in_arrow(values: Any, missing: Any, kind: Any) -> Any:
    import pyarrow as pa

    found = pa.array(values, pa.int64(), mask=missing if missing.any() else None)
    if pa.types.is_timestamp(kind):
        return found.view(kind)
    try:
        return (found.cast(pa.int32()) if pa.types.is_date32(kind) else found).cast(kind)
    except pa.ArrowInvalid:
        return None


def _objects(values: Any, missing: Any, like: Any) -> Any:
    """Return ints as objects of one kind, in the zone of the first that came; None: it does not hold them."""
    if isinstance(like, np.datetime64):
        return np.where(missing, BEGINNING, values).view(_regular(like.dtype))
    found = np.empty(len(values), object)
    try:
        for i in np.flatnonzero(~missing).tolist():
            found[i] = _object(int(values[i]), like)
    except (OverflowError, ValueError):  # beyond Python's years
        return None
    return found


def _object(value: int, like: Any) -> Any:
    if hasattr(like, "to_datetime64"):
        return type(like)(value, tz=like.tzinfo)  # of nanoseconds
    if not isinstance(like, datetime):
        return (EPOCH + timedelta(days=value)).date()
    return EPOCH + value * MICROSECOND if like.tzinfo is None else (EPOCH_UTC + value * MICROSECOND).astimezone(like.tzinfo)


def _of_objects(column: Iterable[Any]) -> Times | None:
    first = next((item for item in column if not _is_missing(item)), None)
    return Times("objects", first) if isinstance(first, (date, np.datetime64)) else None


def _is_missing(item: Any) -> bool:
    return item is None or (isinstance(item, (date, np.datetime64, float)) and item != item)


def _is_time(kind: Any) -> bool:
    from pyarrow import types

    return is_time_type(kind.value_type if types.is_dictionary(kind) else kind)


def is_time_type(kind: Any) -> bool:
    """Return whether the values of an Arrow type are timestamps or dates; not of what a dictionary of it is."""
    from pyarrow import types

    return bool(types.is_timestamp(kind) or types.is_date(kind))


def _unit_of_numpy(dtype: Any) -> Fraction:
    unit, step = np.datetime_data(_regular(dtype))
    return _UNITS[unit] * step


def _regular(dtype: Any) -> Any:
    """Return a type of numpy's, in the machine's byte order; of months or years, which have no fixed length, that of days."""
    return np.dtype("M8[D]") if np.datetime_data(dtype)[0] in "YM" else dtype.newbyteorder("=")
