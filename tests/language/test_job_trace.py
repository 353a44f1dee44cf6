"""SASE++ Q1 and Q2 on a trace of 19 Hadoop jobs: half of its rows are out of order, 860 instants of a job hold several events.

Of $AFA_BENCH_DATA (bench/data.py), skipped where it is not there; ``test_sase_matches.py`` has the same on jobs that are made up.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv

import afa
from afa import FOREVER, Punctuation
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


@pytest.mark.parametrize(("query", "of", "jobs"), [("Q1", "MapEnd", 19), ("Q2", "ReduceEnd", 16)])
def test_each_job_once(trace: pa.Table, query: str, of: str, jobs: int) -> None:
    """Its mean and its largest period, as an aggregate over the rows gives them."""
    text = SASE_PLUS_PLUS[query].replace("Mapper", of).replace("Reducer", of)
    operator: Any = afa.query(text, event=Attempt, tick="ms", order="attempt").operator()
    found: dict[str, tuple[float, ...]] = {}
    for start in range(0, len(trace), 1000):
        for part in operator.push_many([trace.slice(start, 1000)]):
            for row in part.to_pylist():
                job, *values, _, _, diff = row.values()
                assert found.pop(job) == tuple(values) if diff < 0 else job not in found
                if diff > 0:
                    found[job] = tuple(values)
    operator.push(Punctuation(FOREVER))
    rows = trace.filter(pc.equal(trace["type"], of)).group_by("job_id").aggregate([("period", "mean"), ("period", "max")])
    want = {job: values for job, *values in zip(*(rows[name].to_pylist() for name in rows.column_names))}
    print(found, want)
    assert len(found) == jobs
