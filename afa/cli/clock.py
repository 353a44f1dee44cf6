"""Ticks as Spark's times, which are microseconds (its watermark: milliseconds) of the years 1 to 9999.

What a tick is called is of no matter to a pattern without time-outs: there a tick of seconds or milliseconds is a millisecond, one
of microseconds or nanoseconds a microsecond, and the first time of the input lies in the middle of Spark's years. The instants of
time-outs are ticks: there each tick is a microsecond after 1970, so that what is late is decided to a thousand ticks.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from afa.cli.fault import CommandError
from punctuation.time import FOREVER

SCALES = {"s": 1000, "ms": 1000, "us": 1, "ns": 1}
"""Microseconds that stand for a tick."""
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""Spark's timestamps: years 1 to 9999, in microseconds."""
MIDDLE = 95_617_584_000_000_000
"""The year 5000."""
NEVER = "4000000 days"
"""More than lies between any two of these timestamps: with it no watermark is promised before the input's end."""
BEYOND = 884_541_340_800_000_000
"""Further than that from all of them, the year 30000: the time of the row that closes the input."""
KIND = pa.timestamp("us", tz="UTC")


class Clock:
    """Ticks as Spark's timestamps, and back.

    Parameters
    ----------
    unit : str
        Of `SCALES`.
    first : int or None
        A tick that is to lie in the middle; None: a tick is a microsecond after 1970.

    Examples
    --------
    >>> clock = Clock("us", first=7)
    >>> furthest = pa.chunked_array([[7 - 157_753_180_800_000_000, 7 + 157_753_180_800_000_000]])
    >>> clock.ticks(clock.moments(furthest)).equals(furthest)
    True
    >>> clock.moments(pa.chunked_array([[-(2**59)]]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    afa.cli.fault.CommandError: expected times of -157753180799999993 to 157753180800000007 us with --engine spark but got -57...
    """

    def __init__(self, unit: str, first: int | None) -> None:
        self._unit = unit
        self._first = first
        self.scale = 1 if first is None else SCALES[unit]
        self._shift = 0 if first is None else MIDDLE - first * self.scale

    def moments(self, ticks: Any, reach: int = 0) -> Any:
        """Ticks as timestamps; nulls stay.

        Parameters
        ----------
        ticks : pyarrow.ChunkedArray
        reach : int
            Ticks that are added later.

        Raises
        ------
        CommandError
            They are out of Spark's reach.
        """
        bounds = pc.min_max(ticks).as_py()
        for bound, more in ((bounds["min"], 0), (bounds["max"], reach)):
            if bound is not None and not FIRST <= (bound + more) * self.scale + self._shift <= LAST:
                near = (MIDDLE - FIRST) // self.scale
                there = f"{FIRST} to {LAST}" if self._first is None else f"{self._first - near} to {self._first + near}"
                lives = f", living for {reach}," if more else ""
                raise CommandError(f"expected times of {there} {self._unit} with --engine spark but got {bound}{lives}")
        return pc.add(pc.multiply(ticks, self.scale), self._shift).cast(KIND)

    def ticks(self, moments: Any) -> Any:
        """Timestamps as ticks; null as for ever."""
        micros = moments.cast(KIND).cast(pa.int64())
        return pc.fill_null(pc.divide(pc.subtract(micros, self._shift), self.scale), FOREVER)  # exact: what went in was a multiple

    @property
    def beyond(self) -> Any:
        """One timestamp that is further away than all others."""
        return pa.chunked_array([pa.array([BEYOND]).cast(KIND)])
