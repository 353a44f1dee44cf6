"""The Spark side of the benchmark beside Flink finds what the interpreted engine finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.flink.ticks import write
from tests.test_bench_flink import answer

ours = pytest.importorskip("bench.flink.ours", reason='pyspark is not installed: pip install "afa[spark]"')


def test_matches_are_counted(spark: Any, tmp_path: Path) -> None:
    window = 4  # so short that it ends some
    files = write(tmp_path, 900, keys=30, batch=450)
    wanted = answer(files, window)
    assert answer(files)[0] > wanted[0] > 20
    assert ours.at_once(spark, files.folder, "csv", "match", window)[1] == wanted
    assert ours.streamed(spark, files.folder, "parquet", "match", window)[1] == wanted


def test_rows_are_counted(spark: Any, tmp_path: Path) -> None:
    files = write(tmp_path, 900, keys=30, batch=450)
    wanted = [900, 30 * sum(range(30))]
    assert ours.at_once(spark, files.folder, "parquet", "read", 1)[1] == wanted
    assert ours.streamed(spark, files.folder, "csv", "read", 1)[1] == wanted
    assert ours.streamed(spark, files.folder, ours.ARROW, "read", 1)[1] == wanted
