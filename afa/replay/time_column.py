"""The column of times of a stored table, as ints of its unit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyarrow import types

from afa.errors import ChangeError
from afa.io.listed_columns import missing
from afa.replay.column_totals import plain
from afa.replay.stored import Stored
from punctuation.time import FOREVER


def check_time(stored: Stored, time: str) -> pa.DataType:
    """Return the type of the column of times; refuse a column that has none."""
    if not isinstance(time, str):
        raise ChangeError(f"expected the name of a column but got time={time!r}")
    if stored.schema.names.count(time) != 1:
        raise missing(time, stored.schema.names, "time")
    kind = stored.kind(time)
    if not holds_times(kind):
        raise ChangeError(f"expected ints, timestamps or dates in column {time!r} (time) but got {kind}")
    return kind


def holds_times(kind: pa.DataType) -> bool:
    """Return whether a column of this type may hold times."""
    return bool(types.is_integer(kind) or types.is_timestamp(kind) or types.is_date(kind))


def times_in(table: pa.Table, time: str, where: Callable[[], str]) -> np.ndarray:
    """Return a column of times as ints of its unit; ``where``: tells the place, for a message."""
    values, valid = plain(table[time])
    if valid is not None:
        raise ChangeError(
            f"expected a value in every row of column {time!r} (time) but got {int((~valid).sum())} without in {where()}"
        )
    if values.dtype == np.uint64 and len(values) and int(values.max()) > FOREVER:
        raise ChangeError(f"expected an int64 in column {time!r} (time) but got {int(values.max())} in {where()}")
    return values.astype(np.int64, copy=False)
