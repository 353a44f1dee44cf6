"""The Hadoop study: what it prints, and its numbers beside plain Python over the runs of the trace."""

from __future__ import annotations

import gzip
import math
import re
import sys
from bisect import bisect_left
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:  # the examples are not installed
    sys.path.insert(0, str(ROOT))

import examples.hadoop  # noqa: E402 (the path comes first)
from examples.hadoop.__main__ import main  # noqa: E402
from examples.hadoop.load import EVERY, Load, load_of  # noqa: E402
from examples.hadoop.neighbours import neighbours  # noqa: E402
from examples.hadoop.queries import STUDIES, Study  # noqa: E402
from examples.hadoop.study import Comparison, exactly, in_tenths, in_worlds  # noqa: E402
from examples.hadoop.trace import Trace, read  # noqa: E402

STUDY = {study.name: study for study in STUDIES}
ROW = re.compile(r"^(Q\d|Query 1) +([\d,]+) +([\d,]+) +([\d,]+)( \(\d+ %\))? +([\d,]+)", re.MULTILINE)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return read()


@pytest.fixture(scope="module")
def load(trace: Trace) -> Load:
    return load_of(trace)


def rows(text: str) -> dict[str, list[int]]:
    """The table: by query events, reported, doubtful, missed."""
    return {name: [int(n.replace(",", "")) for n in (*of, missed)] for name, *of, _, missed in ROW.findall(text)}


def test_it_prints_what_it_promises(capsys: pytest.CaptureFixture[str]) -> None:
    """With fewer worlds than the docstring tells of: what does not depend on them to the word, the rest by and large."""
    main(["--worlds", "50"])
    told = capsys.readouterr().out
    lines = [line.strip() for line in (examples.hadoop.__doc__ or "").partition("It prints:")[2].splitlines()]
    begins = [line for line in lines if line and not re.match(r"200 possible|Q\d |Query 1 {2}|Q\d, |perhaps", line)]
    assert len(begins) >= 20
    assert [line for line in begins if line not in told] == []
    expected, found = rows("\n".join(lines)), rows(told)
    assert list(found) == list(expected) == ["Q1", "Q2", "Q3", "Q4", "Q6", "Query 1"]
    for name, (events, reported, doubtful, missed) in expected.items():
        assert found[name][:2] == [events, reported]
        assert found[name][2] == pytest.approx(doubtful, abs=0.05 * reported + 1)
        assert found[name][3] == pytest.approx(missed, rel=0.4, abs=4)
    readme = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert rows(readme) == expected


def test_a_trace_of_events(tmp_path: Path) -> None:
    rows = [
        "arrive_ms,event_ms,type,job,user,task,attempt,host,result,duration_ms",
        "5,5,JobSubmit,job_2009_0002,u,,,,,",
        "6,6,JobStart,job_2009_0002,u,,,,,",
        r"9,7,MapStart,job_2009_0002,u,t,attempt_2009_0002_m_000010_0,/192\.30/node1396\.megatron\.com,,",
        r"9,9,MapEnd,job_2009_0002,u,t,attempt_2009_0002_m_000010_0,/192\.30/node1396\.megatron\.com,SUCCESS,2",
        "12,12,JobEnd,job_2009_0002,u,,,,SUCCESS,",
    ]
    path = tmp_path / "events.csv.gz"
    path.write_bytes(gzip.compress("\n".join(rows).encode()))
    assert list(zip(*(column.tolist() for column in read(path)))) == [
        ("Job", "0002", "0002", "job tracker", 6, 12),
        ("Map", "0002", "0002_m_000010_0", "node1396", 7, 9),
    ]


def test_the_load_of_a_host(trace: Trace, load: Load) -> None:
    for host in ("node1396", "node3108", "node1551"):
        attempts = trace.where((trace.host == host) & (trace.kind != "Job"))
        pairs = list(zip(attempts.start.tolist(), attempts.end.tolist()))
        running = [sum(start <= t < end for start, end in pairs) for t in load.at.tolist()]
        assert load.running[load.hosts[host]].tolist() == running
        assert sum(running) > 0


def test_neighbours_by_a_formula(trace: Trace) -> None:
    """Two times off by up to 500 ms each: of 1001 x 1001 pairs so many are in order."""
    found = neighbours(trace)
    assert (found.all, found.pairs) == (23_084, 2_391)
    gaps = found.near["le"][1::2] - found.near["le"][::2]
    by = np.arange(-1000, 1001)
    ways = 1001 - abs(by)
    assert found.each_on_its_own() == pytest.approx([ways[by > -gap].sum() / 1001**2 for gap in gaps], abs=1e-9)
    assert sorted(set(found.all_alike(20).tolist())) == [0.0, 1.0]


def test_a_map_that_ends_before_its_job_starts(trace: Trace, load: Load) -> None:
    """So it is recorded of one of the 42 of job 0006, by 147 ms: the confidence of 41 is that of this order."""
    job, maps = (trace.of(kind).of_jobs(["0006"]) for kind in ("Job", "Map"))
    assert [gap for gap in (maps.end - job.start[0]).tolist() if abs(gap) <= 1000] == [-147]
    p = sum(1001 - abs(by) for by in range(-147, 1001)) / 1001**2
    study, events = STUDY["Q1"], STUDY["Q1"].table(trace, load)
    few = {name: column[events["job"] == "0006"] for name, column in events.items()}
    found = Comparison(exactly(study, few), in_worlds(study, few, 400))
    assert [match[:2] for match in found.doubtful] == [("0006", 41)]
    assert found.confidence[found.doubtful[0]] == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 400))


def highs(start: int, end: int, samples: list[tuple[int, float]]) -> int:
    """How many samples reach or pass the highest one so far."""
    count, highest = 0, -1.0
    for at, value in sorted(samples):
        if start < at < end and value >= highest:
            count, highest = count + 1, value
    return count


@pytest.mark.parametrize("name", ["0012_r_000459_0", "0012_r_000164_0"])
def test_the_samples_of_a_reducer(trace: Trace, load: Load, name: str) -> None:
    """Q6 beside 2,000 worlds of one reducer, drawn and followed here."""
    study = STUDY["Q6"]
    events = of_attempt(study, trace, load, name)
    run = trace.where(trace.name == name)
    start, end = int(run.start[0]), int(run.end[0])
    near = range(bisect_left(load.at.tolist(), start - 10_000), bisect_left(load.at.tolist(), end + 10_000))
    rng, n = np.random.default_rng(5), 2000
    begins, ends = (t + rng.integers(-500, 501, n) for t in (start, end))
    times = load.at[list(near)] + rng.integers(-EVERY // 2, EVERY // 2 + 1, (n, len(near)))
    spread = load.spread[list(near)].tolist()
    drawn = [highs(*each, list(zip(of, spread))) for *each, of in zip(begins.tolist(), ends.tolist(), times.tolist())]
    found = in_worlds(study, events, 400)
    assert {number for _, number in found} <= set(drawn)
    for number in set(drawn) - {0}:
        p = drawn.count(number) / n
        assert found.get((name, number), 0.0) == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) * (1 / n + 1 / 400)) + 0.005)
    assert exactly(study, events) == {(name, highs(start, end, list(zip(load.at[list(near)].tolist(), spread))))}


def test_a_task_that_maxes_out_the_cpu(trace: Trace, load: Load) -> None:
    """Query 1: the likeliest match beside 200,000 draws of its four times; `Worlds` beside `Sequence`."""
    study, events = STUDY["Query 1"], STUDY["Query 1"].table(trace, load)
    exact, worlds = in_tenths(events), in_worlds(study, events, 200)
    for match in exact.keys() | worlds.keys():
        p = exact.get(match, 0.0)
        assert worlds.get(match, 0.0) == pytest.approx(p, abs=4.5 * math.sqrt(p * (1 - p) / 200) + 0.02)  # tenths are coarser
    (name, high, low), p = max(exact.items(), key=lambda each: each[1])
    run, at = trace.where(trace.name == name), events["le"]
    rng, n = np.random.default_rng(6), 200_000
    times = zip((run.start[0], at[high], run.end[0], at[low]), (500, 7500, 500, 7500))
    a, b, c, d = (t + rng.integers(-half, half + 1, n) for t, half in times)
    assert ((a < b) & (b < c) & (c < d) & (d - a < 15_000)).mean() == pytest.approx(p, abs=0.015)
    assert exactly(study, events) == set()


def of_attempt(study: Study, trace: Trace, load: Load, name: str) -> dict[str, np.ndarray]:
    events = study.table(trace, load)
    return {column: values[events["attempt"] == name] for column, values in events.items()}
