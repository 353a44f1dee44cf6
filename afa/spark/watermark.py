"""A stream's watermark, which is the operator's punctuation: ours on the time column, or the one that the stream has.

Spark takes one watermark between a source and a stateful operator. It keeps a watermark's delay in the column's metadata, from
where a later operator of the same query knows the column again: so ``le`` of the changes of a stream is marked, and a window
aggregate, or another `match`, may follow in that query. An operator that announces matches below the watermark, at time-outs or
because events have waited for it, can't be followed by a `match`: for it they were late.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame

from afa.errors import AfaError
from afa.spark.fields import quoted
from afa.spark.job import delay

DELAY = "spark.watermarkDelayMs"
"""Where Spark keeps the delay of a watermark, in a column's metadata."""
BEHIND = "afa.behind"
"""Where we keep that changes may come behind the watermark."""


def watermarked(events: DataFrame, time: str, lateness: str | timedelta | None) -> DataFrame:
    """A stream with a watermark on its time column, a timestamp: its own, or else ours.

    Raises
    ------
    AfaError
        The stream's own is another, or ``lateness`` asks for one beside it.
    """
    marks = {field.name: field.metadata for field in events.schema if DELAY in field.metadata}
    if not _has_watermark(events):
        return events.withWatermark(quoted(time), delay("0 seconds" if lateness is None else lateness))
    if time not in marks:
        raise AfaError(
            f"expected a watermark on {time!r} but got one on {', '.join(marks) or 'a column that is gone'}: Spark takes one a "
            f'stream; leave it out, match(lateness="30 minutes") makes it, or write the stream and match in a second query'
        )
    if lateness is not None:
        raise AfaError(
            f"expected lateness=None, as the stream has a watermark on {time!r} already, of {marks[time][DELAY]} milliseconds, "
            f"but got lateness={lateness!r}: Spark takes one a stream"
        )
    if marks[time].get(BEHIND):
        raise AfaError(
            "expected matches that come ahead of the watermark but got those of a match with time-outs or speculation=, which come "
            "when the watermark has passed them: write them, and match what is written in a second query"
        )
    return events


def marked(le: Any, delay_ms: int, behind: bool) -> Any:
    """The time of changes as the column of the watermark that they follow."""
    return le.alias("le", metadata={DELAY: delay_ms, **({BEHIND: True} if behind else {})})


def delay_of(events: DataFrame, time: str) -> int:
    """The delay of the watermark on a column, in milliseconds."""
    return int(events.schema[time].metadata[DELAY])


def _has_watermark(events: DataFrame) -> bool:
    """Whether a stream has one; marks alone do not say it: they are written into Parquet files, and read from there."""
    there: Any = events
    if hasattr(type(there), "_explain_string"):  # under Spark Connect
        return "EventTimeWatermark" in there._explain_string(extended=True)
    return "EventTimeWatermark" in there._jdf.queryExecution().analyzed().toString()
