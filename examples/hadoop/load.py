"""Derived, as the trace has no Ganglia: how many attempts run on each host, looked up every 15 seconds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from examples.hadoop.trace import ATTEMPTS, Trace

EVERY = 15_000
SLOTS = 3
"""A host runs two maps and a reducer at a time; four attempts in 29 of 1.5 million samples. All slots busy: a CPU at 100 %."""


class Load(NamedTuple):
    """Samples of all hosts.

    Parameters
    ----------
    at : array of int64, shape (samples,)
        Their times as recorded, ms, every 15 s.
    hosts : dict of str to int
        The row of each host.
    running : array of int64, shape (hosts, samples)
        Attempts that run on a host at that time.
    """

    at: Any
    hosts: dict[str, int]
    running: Any

    @property
    def spread(self) -> Any:
        """How unevenly the cluster is loaded at each time: the standard deviation over its hosts (the paper's LoadStd)."""
        return self.running.std(axis=0)


def load_of(trace: Trace) -> Load:
    """Derive the load of each host from the attempts that run on it."""
    attempts = trace.of(*ATTEMPTS)
    at = np.arange(trace.start.min() // EVERY + 1, trace.end.max() // EVERY + 2) * EVERY
    names, row = np.unique(attempts.host.astype(str), return_inverse=True)
    change = np.zeros((len(names), len(at)), np.int64)
    begins, ends = (np.searchsorted(at, times) for times in (attempts.start, attempts.end))
    real = ends >= begins
    np.add.at(change, (row[real], begins[real]), 1)
    np.add.at(change, (row[real], ends[real]), -1)
    return Load(at, {name: i for i, name in enumerate(names.tolist())}, change.cumsum(axis=1))
