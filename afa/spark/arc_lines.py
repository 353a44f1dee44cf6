"""Lines of an arc log on Spark: what a job asks of them, and a folder of them as a stream. The lines: `afa.arclog.lines`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from afa.arclog.lines import read_lines
from afa.arclog.log_writer import LogWriter
from afa.arclog.versions import LogLine
from afa.expression.from_text import KEPT
from afa.model.instant_texts import instant
from afa.spark.job import Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHORT = 2000
"""The most characters of a line that a worker keeps as it was read."""


class Fits:
    """What a job asks of a line, for `fitting_lines`: two jobs with equal schemas ask the same."""

    def __init__(self, job: Job) -> None:
        self.fitting = job.fitting_arc
        event, register = job.automaton.event_schema, job.automaton.register_schema
        self._schemas = event and event.describe(), register.describe()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fits) and self._schemas == other._schemas

    def __hash__(self) -> int:
        return hash(self._schemas)


def fitting_lines(raw: str | bytes | None, fits: Fits) -> tuple[LogLine, ...]:
    """Read a line, and refuse an arc that can't be in force here. The buckets of a worker read the same ones, batch by batch."""
    return known_lines(raw, fits) if len(raw or "") <= SHORT else _fitting_lines(raw, fits)


def _fitting_lines(raw: str | bytes | None, fits: Fits) -> tuple[LogLine, ...]:
    lines = read_lines(raw)
    return tuple(line if line.arc is None else line._replace(arc=fits.fitting(line.arc)) for line in lines)


known_lines = functools.lru_cache(maxsize=KEPT)(_fitting_lines)


class SparkArcLog(LogWriter):
    """An arc log in a folder: one line in each file. Any number of processes may write it, any number of streams read it.

    Parameters
    ----------
    path : str or Path
        A folder; it is made if it does not exist.
    automaton : Automaton
        The automaton for whose schemas the arcs' functions are written.

    Examples
    --------
    >>> import tempfile
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton
    >>> class Tick(NamedTuple):
    ...     change: float
    >>> down = Automaton(start="a", final={"b"}, event=Tick, arcs=[Arc("a", "b", lambda e, r: e.change < 0, name="down")])
    >>> log = SparkArcLog(tempfile.mkdtemp(), down)
    >>> log.insert(Arc("a", "b", lambda e, r: e.change < -2, name="far down"), at="2026-01-01T00:00:00")
    >>> log.retract("down", at="2026-01-01T00:00:00")
    """

    _unit = "us"

    def read(self, spark: SparkSession) -> DataFrame:
        """Return the log as a stream, for ``match(arcs=...)``."""
        return spark.readStream.schema("value string").text(str(self.path))

    def _instant(self, at: Any, what: str, now: int) -> Any:
        return now if at is None else instant(at, what)
