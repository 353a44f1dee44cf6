"""Under Spark Connect, where the client has no Spark of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.spark.test_stream import matches
from tests.spark.world import LIGHT, ROOT, World


@pytest.mark.stress
def test_a_stream_and_its_history_under_spark_connect(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason='Spark Connect is not installed: pip install "pyspark[connect]"')
    world = World(tmp_path, "branches", 90, 18)
    world.put(0, 90, world.lines)
    command = [sys.executable, "-m", "tests.spark.connected", str(tmp_path), world.program]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | LIGHT, capture_output=True, text=True, check=False)
    if version("pyspark").startswith("4.0."):
        assert "expected PySpark 4.1 or later under Spark Connect" in done.stderr
        return
    assert done.returncode == 0, done.stderr[-3000:]
    latest = max((tmp_path / "now").glob("v=*"), key=lambda path: int(path.name[2:]))
    assert matches(spark.read.parquet(str(latest))) == world.expected
    assert matches(spark.read.parquet(str(tmp_path / "final")).drop("diff", "kind", "reason")) == world.expected
