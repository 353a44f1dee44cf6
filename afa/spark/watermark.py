"""Set or find the watermark of a stream, which is the operator's punctuation.

Spark takes one watermark between a source and a stateful operator. It keeps a watermark's delay in the column's metadata, from
where a later operator of the same query knows the column again: so ``le`` of the changes of a stream is marked, and a window
aggregate, or another `match`, may follow in that query. An operator that announces matches below the watermark, at time-outs or
because events have waited for it, can't be followed by a `match`: for it they were late.

Spark's watermark is never before 1970. For a stream that may begin earlier it is on a column of ours, whose times are shifted by as
much (`match(since=)`); ``le`` of the changes can't follow it then.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

from afa.errors import AfaError
from afa.model.instant_texts import instant
from afa.spark.job import delay
from afa.spark.typed import SHIFTED, column, micros, quoted

DELAY = "spark.watermarkDelayMs"
"""Where Spark keeps the delay of a watermark, in a column's metadata."""
BEHIND = "afa.behind"
"""Where we keep that changes may come behind the watermark."""


def watermarked(events: DataFrame, time: str, lateness: str | timedelta | None, since: int = 0) -> tuple[DataFrame, str]:
    """Return a stream with a watermark on its time column, a timestamp: its own, or else ours; and on which column it is.

    A stream's own on another column is refused (AfaError), and so are ``lateness`` and ``since`` beside its own.
    """
    marks = {field.name: field.metadata for field in events.schema if DELAY in field.metadata}
    if not _has_watermark(events):
        column_of_it = time
        if since:
            events, column_of_it = events.withColumn(SHIFTED, F.timestamp_micros(micros(column(time)) - since)), SHIFTED
        try:
            return events.withWatermark(quoted(column_of_it), delay("0 seconds" if lateness is None else lateness)), column_of_it
        except PySparkException as error:  # it reads durations in words of its own
            if "INTERVAL" not in str(error).upper():
                raise
            raise AfaError(f'expected a duration such as "30 minutes" but got lateness={lateness!r}') from error
    if time not in marks:
        raise AfaError(
            f"expected a watermark on {time!r} but got one on {', '.join(marks) or 'a column that is gone'}: Spark takes one a "
            f'stream; leave it out, match(lateness="30 minutes") makes it, or write the stream and match in a second query'
        )
    if lateness is not None or since:
        given = f"lateness={lateness!r}" if lateness is not None else "since="
        raise AfaError(
            f"expected {given.partition('=')[0]}=None, as the stream has a watermark on {time!r} already, of "
            f"{marks[time][DELAY]} milliseconds, but got {given}: Spark takes one a stream"
        )
    if marks[time].get(BEHIND):
        raise AfaError(
            "expected matches that come ahead of the watermark but got those of a match with time-outs or speculation=, which come "
            "when the watermark has passed them: write them, and match what is written in a second query"
        )
    return events, time


def beginning(since: datetime | str | int | None) -> int:
    """Return from when on a stream may have rows, in ticks of whole milliseconds: 1970, or the earlier instant that is given.

    >>> beginning(None), beginning("1969-12-31T23:59:59.9999")
    (0, -1000)
    """
    found = 0 if since is None else instant(since, "since") // 1000 * 1000
    if found >= 0 and since is not None:
        raise AfaError(f"expected an instant before 1970, where Spark's watermark begins by itself, but got since={since!r}")
    return found


def marked(le: Any, delay_ms: int, behind: bool) -> Any:
    """Return the time of changes as the column of the watermark that they follow."""
    return le.alias("le", metadata={DELAY: delay_ms, **({BEHIND: True} if behind else {})})


def delay_of(events: DataFrame, time: str) -> int:
    return int(events.schema[time].metadata[DELAY])


def _has_watermark(events: DataFrame) -> bool:
    """Return whether a stream has a watermark. Marks alone do not say it: Parquet files keep them."""
    there: Any = events
    if hasattr(type(there), "_explain_string"):  # under Spark Connect
        return "EventTimeWatermark" in there._explain_string(extended=True)
    return "EventTimeWatermark" in there._jdf.queryExecution().analyzed().toString()
