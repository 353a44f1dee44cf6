"""The benchmarks on Spark, as far as they time nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from bench.workloads import keyed

streams = pytest.importorskip("bench.spark.streams", reason='pyspark is not installed: pip install "afa[spark]"')


def test_files_hold_the_rows_in_the_order_of_arrival(tmp_path: Path) -> None:
    stream = keyed(1000, 10)
    late = streams.disordered(stream, 0.05, 100)
    assert np.array_equal(np.sort(late["le"]), stream["le"])
    behind = np.maximum.accumulate(late["le"]) - late["le"]
    assert 20 < np.count_nonzero(behind) < 80
    assert behind.max() <= 100
    folder = streams.write(tmp_path / "in", late, [400, 1000])
    tables = [parquet.read_table(path) for path in sorted(folder.iterdir())]
    assert [table.num_rows for table in tables] == [400, 600]
    keys = np.concatenate([table["key"].to_numpy() for table in tables])
    assert np.array_equal(keys, late["key"])


def test_the_model_of_a_batch_is_found_again() -> None:
    from bench.spark import model

    true = {"fixed": 0.4, "row": 3e-6, "key": 8e-6, "bucket": 0.0, "partition": 0.2}
    rows = [case._asdict() for case in model.CASES]
    for row in rows:
        row["s a batch"] = model.seconds(true, 1, row)
    found = model.fitted(rows)
    assert found == pytest.approx(true, abs=1e-9)
    for case in model.CASES:
        drawn = model._drawn(case)
        assert drawn * (1 - (1 - 1 / drawn) ** case.rows) == pytest.approx(case.touched, rel=0.1) or drawn == case.keys
    many = model.grown({**found, "driver": 0.001, "bytes a row": 50.0}, 100, 20.0)
    assert many["least batch, s"] == pytest.approx(0.4 + 0.2 + 0.2)
    assert many["M rows a batch"] == pytest.approx((20 - 0.8) * 100 / (3e-6 + 8e-8) / 1e6)


def test_the_operator_by_hand_finds_what_afa_finds() -> None:
    from afa import Operator
    from bench.spark import byhand

    stream = {name: column for name, column in keyed(500, 1).items() if name != "key"}
    ticks = pd.DataFrame(stream)
    op = Operator(byhand.many(), window=5)
    wanted = [(row.le, row.total) for row in op.push_many(ticks).itertuples()]
    falls, found = byhand.follow([], ticks[:200], 5)
    _, more = byhand.follow(falls, ticks[200:], 5)
    assert 100 < len(wanted) < 200
    assert np.array(sorted(found + more)) == pytest.approx(np.array(sorted(wanted)))


@pytest.mark.stress
def test_each_part_at_tiny_scale(spark: Any, tmp_path: Path) -> None:
    from bench.measure import Options
    from bench.spark.__main__ import PARTS, measure

    found = measure(spark, tmp_path, Options(scale="tiny"), PARTS)
    assert set(found) == set(PARTS)
    assert all(row["matches"] for row in found["state"])
    tenth, whole, _ = found["state"]
    assert 5 * tenth["MB written"] < whole["MB written"]
    assert tenth["MB read"] == 0.0
