"""Write and read an arc log in a folder; see `afa.spark.arc_lines` for its lines."""

from __future__ import annotations

import json
import os
import uuid
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from afa.errors import AfaError
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.spark.arc_lines import instant, read_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class ArcLog:
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
    >>> class Tick(NamedTuple):
    ...     change: float
    >>> down = Automaton(start="a", final={"b"}, event=Tick, arcs=[Arc("a", "b", lambda e, r: e.change < 0, name="down")])
    >>> log = ArcLog(tempfile.mkdtemp(), down)
    >>> log.insert(Arc("a", "b", lambda e, r: e.change < -2, name="far down"), at="2026-01-01T00:00:00")
    >>> log.retract("down", at="2026-01-01T00:00:00")
    """

    def __init__(self, path: str | Path, automaton: Automaton) -> None:
        self.path = Path(path).resolve()
        self._automaton = automaton
        self._last = 0  # the sequence of the last line
        self.path.mkdir(parents=True, exist_ok=True)

    def insert(
        self,
        arc: Arc,
        *,
        at: datetime | str | int | None = None,
        until: datetime | str | int | None = None,
        id: str | int | None = None,
    ) -> None:
        """Write a line that puts an arc in force.

        Parameters
        ----------
        arc : Arc
            It has a name, and functions that can be written as text.
        at : datetime, str (ISO 8601) or int (microseconds), optional
            The event time from which on the arc serves. None: the time of the clock.
        until : the same, optional
        id : str or int, optional
            Identifies the line, so that a program which runs twice writes it once. None: each call writes another line.

        Raises
        ------
        AfaError
            The arc has no name, or can't be written as text.
        """
        if arc.name is None:
            raise AfaError(f"expected an arc with a name but got {arc!r}")
        self._automaton.check_arc(arc)
        self._write("insert", arc.to_json(self._automaton), at, until, id)

    def retract(
        self,
        name: str,
        *,
        at: datetime | str | int | None = None,
        id: str | int | None = None,
    ) -> None:
        """Write a line that ends, at an event time, the arc of that name that came into force last. Parameters as of `insert`."""
        if not isinstance(name, str):
            raise AfaError(f"expected the name of an arc but got {name!r}")
        self._write("retract", {"name": name}, at, None, id)

    def read(self, spark: SparkSession) -> DataFrame:
        """Return the log as a stream, for ``match(arcs=...)``."""
        return spark.readStream.schema("value string").text(str(self.path))

    def _write(self, op: str, arc: Any, at: Any, until: Any, known: Any) -> None:
        now = datetime.now(timezone.utc)
        line = {"op": op, "arc": arc, "at": instant(now if at is None else at, "at")}
        if until is not None:
            line["until"] = instant(until, "until")
        line["sequence"] = self._last = max(instant(now, "now"), self._last + 1)
        line["id"] = uuid.uuid4().hex if known is None else known
        text = json.dumps(line)
        read_line(text)  # which refuses what no stream would take
        name = f"{line['sequence']}-{uuid.uuid4().hex}.json"
        hidden = self.path / f".{name}"  # which no reader takes
        hidden.write_text(f"{text}\n", encoding="utf-8")
        os.replace(hidden, self.path / name)
