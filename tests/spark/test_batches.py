"""What a batch costs beside its work: columns that leave as they are, no collection over imports, no process for a file."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
settled = pytest.importorskip("afa.spark.packed_rows", reason='pyspark is not installed: pip install "afa[spark]"')


def test_columns_leave_the_operator_as_they_are() -> None:
    from pyspark.sql.types import StructType

    from afa.spark.packed_rows import frame_of

    conversion = pytest.importorskip("pyspark.sql.conversion")
    if not hasattr(conversion, "PandasToArrowConversion"):
        pytest.skip("what a worker of this PySpark does with a frame has no name of its own")
    table = pa.table(
        {
            "key": pa.array([2**63 - 1, -(2**63), None, 2**53 + 1]),
            "small": pa.array([1, None, -1, 127], pa.int8()),
            "flag": pa.array([True, None, False, True]),
            "total": pa.array([0.1, float("nan"), None, float("-inf")]),
            "reason": pa.array(["Übel", "", None, "x"]),
            "nothing": pa.nulls(4, pa.string()),
        }
    )
    table = pa.concat_tables([table.slice(0, 1), table.slice(1)])  # in chunks
    columns = StructType()
    for name, kind in zip(table.schema.names, ("long", "byte", "boolean", "double", "string", "string")):
        columns = columns.add(name, kind)
    schema = StructType().add("_0", columns)
    found = conversion.PandasToArrowConversion.convert(
        [frame_of(table)], schema, timezone="UTC", arrow_cast=True, assign_cols_by_name=True
    )
    told = pa.Table.from_batches([pa.RecordBatch.from_struct_array(found.column(0))])
    assert told.schema.types == table.schema.types
    assert repr(told.to_pydict()) == repr(table.to_pydict())  # by text: a NaN is not equal to itself
    assert frame_of(table.slice(0, 0)).shape == (0, 6)


def test_what_lasts_through_a_task_is_collected_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(settled, "_begun", Counter())
    monkeypatch.setattr(gc, "freeze", lambda: calls.append("freeze"))
    settled.settle("pack")
    settled.settle("pack")
    assert calls == []  # this process is no worker

    class Context:
        @staticmethod
        def get() -> Any:
            return object()

    monkeypatch.setattr(settled, "TaskContext", Context)
    for kind, so_far in (("pack", 0), ("match", 0), ("pack", 1), ("pack", 1), ("match", 2), ("match", 2)):
        settled.settle(kind)
        assert len(calls) == so_far


def test_checkpoints_of_a_local_session_need_no_processes(spark: Any) -> None:
    from afa.spark.session import FILES

    assert spark.conf.get(FILES).endswith(".FileSystemBasedCheckpointFileManager")


def test_buckets_are_dealt_out_to_partitions_in_turn(spark: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

    from afa.spark.hashing import bucket_of, label_of

    labels = [(number, label_of(number)) for number in (*range(40), 70_000, 2**31 - 1)]
    assert all(bucket_of(label) == number for number, label in labels)
    table = spark.createDataFrame(labels, "number bigint, label bigint")
    assert table.where("hash(label) != number").count() == 0
    for partitions in (2, 3, 16):
        where = table.where("number < 40").repartition(partitions, "label").withColumn("place", F.spark_partition_id())
        assert where.where(F.col("place") != F.col("number") % partitions).count() == 0
