"""The events of a query as a table: what is recorded, and the interval in which it may have happened."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from examples.hadoop.load import EVERY, Load
from examples.hadoop.trace import Trace

CLOCK = 500
"""Hadoop's times are off by up to so many ms, as in the papers."""
SAMPLE = EVERY // 2
"""A sample of every 15 s tells of half as much before it and behind it."""
Table = dict[str, Any]


class Event(NamedTuple):
    """What queries see."""

    type: str
    job: str
    attempt: str  # that it is about; a sample: the one whose events it is put among
    host: str
    value: float  # of a run's end: how long it took, ms; of a sample: the load
    id: int  # numbers the events of a table by their recorded times


def table(parts: list[Table]) -> Table:
    """Put events together, by recorded time, and number them; ends before starts where both are recorded at one ms."""
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((whole["attempt"].astype(str), whole["type"].astype(str), whole["le"]))
    whole = {name: column[order] for name, column in whole.items()}
    half = whole.pop("half")
    return whole | {"id": np.arange(len(order)), "lower": whole["le"] - half, "upper": whole["le"] + half}


def starts(runs: Trace, type_: str, value: Any = 0.0) -> Table:
    """Return the starts of runs."""
    return _recorded(runs, type_, value, runs.start, CLOCK)


def ends(runs: Trace, type_: str, value: Any = None) -> Table:
    """Return the ends of runs, each with how long it took."""
    return _recorded(runs, type_, runs.length if value is None else value, runs.end, CLOCK)


def samples(runs: Trace, type_: str, load: Load, span: int, share: float = 1.0, of_cluster: bool = False) -> Table:
    """Return for each run the samples that may lie within ``span`` behind its start, of its host, or of the whole cluster.

    So each run is a key of its own, and a sample is there for each run that it may concern.
    """
    first = np.searchsorted(load.at, runs.start - SAMPLE - CLOCK)
    last = np.searchsorted(load.at, runs.start + span + SAMPLE + CLOCK)
    of = np.repeat(np.arange(len(first)), last - first)
    sample = np.arange(len(of)) - np.repeat(np.cumsum(last - first) - last, last - first)
    host = np.array([load.hosts[name] for name in runs.host.tolist()], np.int64)[of]
    value = load.spread[sample] if of_cluster else load.running[host, sample] * share
    return _recorded(runs.where(of), type_, value, load.at[sample], SAMPLE)


def _recorded(runs: Trace, type_: str, value: Any, at: Any, half: int) -> Table:
    n = len(at)
    return {
        "type": np.full(n, type_, object), "job": runs.job, "attempt": runs.name, "host": runs.host,
        "value": np.broadcast_to(np.asarray(value, np.float64), n), "le": at, "half": np.full(n, half),
    }  # fmt: skip
