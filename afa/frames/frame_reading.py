"""How a frame is read: which columns hold its times and its revisions, and what its end promises."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from afa.errors import AfaError, ChangeError
from afa.frames.asked import OperatorPlan, asked, instant_of
from afa.io.frame import Frame, unit_of_times
from afa.language.bare_numbers import check_units
from afa.language.query import check_order
from afa.operator.contract import Pattern
from afa.operator.options import Options
from afa.schema import Schema
from punctuation.durations import NANOSECONDS
from punctuation.time import FOREVER

End = Literal["latest", "forever"]
PartEnd = End | int
"""An int: of a frame that is a part of another one, the latest time there."""


class FrameReading(NamedTuple):
    """The columns of LE, of RE and of diff, and the promise at the end."""

    time: str
    until: str | None = None
    diff: str | None = None
    end: PartEnd = "latest"

    @classmethod
    def of(cls, frame: Frame, pattern: Any, time: str | None, until: str | None, diff: str | None, end: Any) -> FrameReading:
        """Check what was said, and choose the column of times if none was named."""
        if end not in ("latest", "forever"):
            raise AfaError(f'expected "latest" or "forever" but got end={end!r}')
        for name, column in (("time", time), ("until", until), ("diff", diff)):
            if column is not None and not isinstance(column, str):
                raise ChangeError(f"expected the name of a column but got {name}={column!r}")
        return cls(time or _time_of(frame, pattern), until, diff, end)

    def asked(self, pattern: Any, frame: Frame, options: Options) -> OperatorPlan:
        """Bind a pattern to the tick of the times. Raises `QueryError` where it orders rows by another column."""
        check_order(pattern, self.time, frame.names)
        said, unit = options.tick or getattr(pattern, "tick", None), unit_of_times(frame.times(self.time), self.time)
        if said is None and unit is not None:
            pattern = pattern.with_tick(unit) if isinstance(pattern, Pattern) else pattern
            check_units(pattern, None, frame.columns_of_times)
        return asked(pattern, frame.keyed(pattern, options).but(tick=said or unit))

    @property
    def columns(self) -> list[str]:
        """The columns that are read beside the event's."""
        return [name for name in (self.time, self.until, self.diff) if name is not None]


def last_of(end: PartEnd, latest: int) -> int:
    """Return what the end of rows promises; ``latest``: the largest LE of them."""
    return end if isinstance(end, int) else FOREVER if end == "forever" else latest


def finest_times(frame: Frame, events: Schema) -> str | None:
    """Return the field of times whose column is of the smallest unit, which holds the times of all; None: there are none."""
    units = {name: unit for name in events.times if (unit := unit_of_times(frame.times(name), name)) is not None}
    return min(units, key=lambda name: NANOSECONDS[units[name]], default=None)


def _time_of(frame: Frame, pattern: Any) -> str:
    if (own := getattr(frame, "own_time", None)) is not None:
        return str(own)
    instant = instant_of(pattern)
    ordered = getattr(getattr(pattern, "tree", None), "ordered", None)  # by ORDER BY of SQL
    for name in (next((each for each in frame.names if each.lower() == ordered), None), "le", instant):
        if name in frame.names:
            return str(name)
    times = frame.columns_of_times
    if len(times) != 1:
        raise ChangeError(
            "expected time=, the column that says when each event happened, but got none; "
            f"columns of times: {', '.join(times) or 'none'}; all columns: {', '.join(frame.names) or 'none'}"
        )
    return times[0]
