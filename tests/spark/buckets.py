"""Buckets without Spark: jobs, rows as a bucket takes them, what it has found."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa

from afa.spark.job import Job
from afa.spark.packed_rows import changes_schema
from tests.spark.jobs import job_of
from tests.spark.streams import SECOND
from tests.streams import Setting

TYPES = {"who": pa.int64(), "name": pa.string()}


class Row(NamedTuple):
    """An event."""

    n: int


class Sum(NamedTuple):
    """A register."""

    n: int = 0


def job(here: Setting, window: int = 25, **more: Any) -> Job:
    options = {"order_by": None, "buckets": 1, "on_fault": "report", **more}
    return job_of(here.automaton, here.keys, f"{window} seconds", key_types=[TYPES[name] for name in here.keys], **options)


def ticks(moment: datetime) -> int:
    return int(moment.timestamp()) * SECOND


def table(here: Job, some: list[dict[str, Any]]) -> pa.Table:
    """Rows as a bucket takes them."""
    found = [{**row, "le": ticks(row["at"]), "re": ticks(row.get("until") or row["at"] + timedelta(seconds=25))} for row in some]
    return pa.Table.from_pylist([{name: row[name] for name in here.schema.names} for row in found], here.schema)


def net(here: Job, tables: list[pa.Table]) -> set[Any]:
    counts: Counter[Any] = Counter()
    names = [name for name in changes_schema(here).names if name not in ("diff", "kind", "reason")]
    for one in tables:
        for row in one.to_pylist():
            if row["kind"] == "match":
                match = tuple(row[name] for name in names)
                counts[(*match[:-1], 2**63 - 1 if match[-1] is None else match[-1])] += row["diff"]
    assert set(counts.values()) <= {0, 1}
    return {match for match, count in counts.items() if count}
