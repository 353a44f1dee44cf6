"""A folder of lines of an arc log as a stream. The lines: `afa.arclog.lines`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from afa.arclog.log_writer import LogWriter
from afa.model.instant_texts import instant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
