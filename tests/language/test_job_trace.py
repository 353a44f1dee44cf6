"""SASE++ Q1 and Q2 on a trace of 19 Hadoop jobs: half of its rows are out of order, 860 instants of a job hold several events.

Of $AFA_BENCH_DATA (bench/data.py), skipped where it is not there; ``test_sase_matches.py`` has the same on jobs that are made up.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyarrow import csv

import afa
from bench import data
from tests.language.test_sase_papers import SASE_PLUS_PLUS


class Attempt(NamedTuple):
    type: str | None
    job_id: str
    attempt: str
    period: int | None


@pytest.fixture(scope="module")
def trace() -> pa.Table:
    """The rows by arrival, under the names of the papers' queries."""
    reason = data.missing(data.HADOOP)
    if reason is not None:
        pytest.skip(reason)
    table = csv.read_csv(
        Path(os.environ[data.FOLDER]) / data.HADOOP, convert_options=csv.ConvertOptions(column_types={"attempt": pa.string()})
    )
    table = table.select(["type", "job", "attempt", "duration_ms", "event_ms"])
    return table.rename_columns(["type", "job_id", "attempt", "period", "le"])


def by_loop(trace: pa.Table, of: str) -> dict[str, tuple[float, int]]:
    """The mean and the largest period of each job's attempts that end between its start and its end."""
    rows = sorted((row for row in trace.to_pylist()), key=lambda row: (row["le"], row["attempt"]))
    open_jobs: dict[str, list[int]] = {}
    ended: dict[str, tuple[float, int]] = {}
    for row in rows:
        job = row["job_id"]
        if row["type"] == "JobStart":
            open_jobs[job] = []
        elif row["type"] == "JobEnd" and (periods := open_jobs.pop(job)):
            ended[job] = sum(periods) / len(periods), max(periods)
        elif row["type"] == of and job in open_jobs:
            open_jobs[job].append(row["period"])
    return ended


@pytest.mark.parametrize(("query", "of", "jobs"), [("Q1", "MapEnd", 19), ("Q2", "ReduceEnd", 16)])
def test_each_job_once(trace: pa.Table, query: str, of: str, jobs: int) -> None:
    text = SASE_PLUS_PLUS[query].replace("Mapper", of).replace("Reducer", of)
    text = text.replace("a.job_id = b[i].job_id ∧ a.job_id=c.job_id", "[job_id]")
    operator: Any = afa.query(text, event=Attempt, tick="ms", order_by="attempt").operator()
    net: Counter[tuple[Any, ...]] = Counter()
    for start in range(0, len(trace), 1000):
        for part in operator.push_many([trace.slice(start, 1000)]):
            for job, mean, top, _, _, diff in (row.values() for row in part.to_pylist()):
                net[job, mean, top] += diff
    assert {job: (mean, top) for job, mean, top in +net} == by_loop(trace, of)
    assert len(+net) == jobs
