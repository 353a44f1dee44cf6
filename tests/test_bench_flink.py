"""The benchmark beside Flink, as far as it needs neither Flink nor Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest

from afa import Keyed
from bench.flink import __main__ as bench
from bench.flink import flink, job
from bench.flink.ticks import COLUMNS, HALVES, SECOND, Files, read, write
from bench.queries import q1

WINDOW = 20
ROOT = Path(__file__).parents[1]
STUB = """
import json, sys
print(json.dumps({"version": "0"}), flush=True)
for line in sys.stdin:
    task = json.loads(line)
    if task["what"] == "fall":
        sys.exit("no such job")
    print(json.dumps({"seconds": task["window"], "answer": [len(task["folder"])]}), flush=True)
"""


def answer(files: Files, window: int = WINDOW) -> list[int]:
    """What each way must find, by the interpreted engine: matches, and sums of their keys, beginnings and ends."""
    ticks = read(files)
    events = {"key": ticks["key"], "le": ticks["at"], "price": ticks["price"], "change": ticks["change"]}
    found = Keyed(q1(1), key="key", window=window * SECOND, engine="interpreted").push_many(events)
    keys, le, re = (np.asarray(found[name]) for name in ("key", "le", "re"))
    return [len(le), *(int(column.sum()) for column in (keys, re - window * SECOND, le))]


def test_both_get_the_same_ticks(tmp_path: Path) -> None:
    files = write(tmp_path, 2050, keys=50, batch=1000)
    ticks = read(files)
    options = pyarrow.csv.ReadOptions(column_names=COLUMNS)
    batches = sorted((tmp_path / "csv").iterdir())
    assert [path.stat().st_mtime - 1.7e9 for path in batches] == list(range(6)), "Spark takes them in this order, two at a time"
    tables = [pyarrow.csv.read_csv(path, options) for path in batches]
    assert [table.num_rows for table in tables] == [500, 500, 500, 500, 25, 25]
    for name in COLUMNS:
        assert np.array_equal(np.concatenate([np.asarray(table[name]) for table in tables]), ticks[name])
    assert all((np.asarray(table["key"]) % 2 == i % 2).all() for i, table in enumerate(tables))
    for remainder, name in enumerate(HALVES):
        half = pyarrow.csv.read_csv(tmp_path / name, options)
        chosen = ticks["key"] % 2 == remainder
        for column in COLUMNS:
            assert np.array_equal(np.asarray(half[column]), ticks[column][chosen])
        assert (np.diff(np.asarray(half["at"])) >= 0).all(), "nothing is late"
    assert np.array_equal(np.bincount(ticks["key"]), np.full(50, 41))
    assert (ticks["change"][-50:] == 0).all()
    assert (ticks["change"][:-50] != 0).all()


def test_the_job_is_sql_over_both_files_and_needs_this_file_only() -> None:
    declared, query = job.statements("t", "/ticks", "match", 500)
    whole = "\n".join([*declared, query])
    assert [name for name in HALVES if f"'file:///ticks/{name}'" in whole] == list(HALVES)
    assert "WITHIN INTERVAL '500' SECOND(3)" in whole
    assert "AFTER MATCH SKIP TO NEXT ROW" in whole
    tables, reading = job.statements("t", "/ticks", "read", 500)
    assert "MATCH_RECOGNIZE" not in "\n".join([*tables, reading])
    done = subprocess.run([sys.executable, "-I", "-c", f"import runpy; runpy.run_path({str(flink.JOB)!r})"], check=False, cwd="/")
    assert done.returncode == 0


def test_a_task_goes_to_the_process_and_its_end_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = tmp_path / "stub.py"
    stub.write_text(STUB, encoding="utf-8")
    monkeypatch.setattr(flink, "JOB", stub)
    with flink.Flink(Path(sys.executable)) as process:
        assert process.version == "0"
        assert process.run(Path("/abc"), "match", 3) == (3, [4])
        assert process.run(Path("/abcd"), "read", 5) == (5, [5])
        with pytest.raises(RuntimeError, match="expected an answer of Flink but its process ended:\nno such job"):
            process.run(Path("/abc"), "fall", 3)


def test_rates_are_kept_beside_each_other_and_answers_must_agree(tmp_path: Path) -> None:
    def way(seconds: float, more: int = 0) -> bench.Run:
        def run(folder: Path, what: str) -> tuple[float, list[int]]:
            files = Files(folder, len(read(Files(folder, 0))["at"]))
            found = answer(files) if what == bench.MATCH else [files.rows]
            return files.rows * seconds + 1.0, [found[0] + more, *found[1:]]

        return run

    ways = {bench.FLINK: way(4e-3), bench.STREAM: way(1e-3)}
    flink_row, ours, *reading = bench.measure(ways, tmp_path / "1", 600, 20, 200, rounds=1)
    assert (flink_row["way"], ours["way"]) == (bench.FLINK, bench.STREAM)
    assert ours["times Flink"]["median"] == pytest.approx(4)
    assert ours["with start-up, times Flink"]["median"] == pytest.approx(3.4 / 1.6)
    assert ours["start-up, s"] == pytest.approx(1.04)
    assert ours["matches"] > 20
    assert [row["way"] for row in reading] == [f"{name}, reading alone" for name in ways]
    with pytest.raises(AssertionError, match="expected one answer but got"):
        bench.measure({bench.FLINK: way(1e-3), bench.STREAM: way(1e-3, more=1)}, tmp_path / "2", 600, 20, 200, rounds=1)


def test_a_job_that_is_all_start_up_says_nothing() -> None:
    outcome: Any = bench.once(lambda folder, what: (1.0, [5, 6]), bench.MATCH, Files(ROOT, 100))
    assert bench.less(outcome, 0.5, 20).rate == pytest.approx(80 / 0.5 / 1e6)
    with pytest.raises(ValueError, match=r"expected a job longer than its start-up of 2\.00 s but got 1\.00 s: more --rows"):
        bench.less(outcome, 2.0, 20)
