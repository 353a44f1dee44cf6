"""The trace: which attempt of which job ran on which host, from when until when.

`trace.parquet` is what `runs` makes of the 26,127 events of the CSV: an attempt or a job a row. An attempt's times are taken for
those of its host's clock, a job's for those of the job tracker. They are milliseconds, all of 21 April 2009.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

EMBEDDED = Path(__file__).with_name("trace.parquet")
ATTEMPTS = ("Map", "Reduce", "Other")
TRACKER = "job tracker"
"""The host of what a job says of itself."""


class Trace(NamedTuple):
    """Runs of jobs and of attempts as columns of one length, by start."""

    kind: Any  # "Job", or one of `ATTEMPTS`
    job: Any  # "0002"
    name: Any  # of an attempt "0002_m_000010_0", of a job its number
    host: Any
    start: Any  # ms
    end: Any  # ms; of one attempt before its start, as the trace has it

    def where(self, chosen: Any) -> Trace:
        """Return the runs for which an array of bools says so."""
        return Trace(*(column[chosen] for column in self))

    def of(self, *kinds: str) -> Trace:
        """Return the runs of some kinds."""
        return self.where(np.isin(self.kind.astype(str), kinds))

    def of_jobs(self, jobs: Iterable[str]) -> Trace:
        """Return the runs of some jobs."""
        return self.where(np.isin(self.job.astype(str), list(jobs)))

    @property
    def jobs(self) -> list[str]:
        """The jobs, by start."""
        found: list[str] = self.of("Job").job.tolist()
        return found

    @property
    def length(self) -> Any:
        """How long each took, in ms."""
        return self.end - self.start


def read(path: Path | None = None) -> Trace:
    """Read the trace that comes with the example, or that of a path: a CSV of events, or a Parquet file of runs."""
    path = EMBEDDED if path is None else path
    table = parquet.read_table(path) if path.suffix == ".parquet" else runs(csv.read_csv(path))
    return Trace(*(table[name].to_numpy() for name in Trace._fields))


def runs(events: pa.Table) -> pa.Table:
    """Make runs out of the events of the CSV: start and end of each, joined by name."""
    kind = pc.replace_substring_regex(events["type"], "(Start|End|Submit)$", "")
    what = pc.replace_substring_regex(events["type"], "^(Job|Map|Reduce|Other)", "")
    name = pc.replace_substring_regex(pc.coalesce(_full(events["attempt"]), events["job"]), r"^(attempt|job)_\d+_", "")
    host = pc.replace_substring_regex(pc.coalesce(_full(events["host"]), pa.scalar(TRACKER)), r"^.*/(\w+)\\?\..*$", r"\1")
    job = pc.replace_substring_regex(events["job"], r"^job_\d+_", "")
    all_ = pa.table({"kind": kind, "job": job, "name": name, "host": host, "what": what, "at": events["event_ms"]})
    start, end = (all_.filter(pc.equal(all_["what"], each)).drop_columns("what") for each in ("Start", "End"))
    end = end.select(["name", "kind", "at"]).rename_columns({"at": "end"})
    both = start.rename_columns({"at": "start"}).join(end, ["name", "kind"], join_type="inner")
    return both.select(list(Trace._fields)).sort_by([("start", "ascending"), ("name", "ascending")])


def _full(column: Any) -> Any:
    """Return a column of strings with nulls where it is empty."""
    return pc.if_else(pc.equal(column, ""), None, column)
