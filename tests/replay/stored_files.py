"""Small stored tables for tests: written in many row groups, replayed with scans that are forced, beside `afa.find` on the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import afa
from afa.operator.options import Options
from afa.replay.question import Question, question
from afa.replay.replaying import answers, located
from afa.replay.scan_plan import ReplayPlan

Order = Sequence[tuple[str, ...]]


def saved(table: pa.Table, path: Path, rows: int = 3, **options: Any) -> str:
    """Write a table in row groups of a few rows."""
    pq.write_table(table, path, row_group_size=rows, **options)
    return str(path)


def asking_of(pattern: Any, source: Any, **said: Any) -> Question:
    """Open a source; ``said``: as of `afa.replay.replay`."""
    times = (said.pop("time", "at"), said.pop("until", None), said.pop("diff", None), said.pop("end", "latest"))
    arcs = said.pop("arcs", ())
    return question(pattern, source, Options(**said), times, arcs)


def forced(pattern: Any, source: Any, order: Order | None = None, **said: Any) -> tuple[pa.Table, ReplayPlan]:
    """Replay with these scans, whatever they cost; None: of the columns of each witness. Full only where nothing else would do."""
    asking = asking_of(pattern, source, **said)
    if order is None:
        order = [witness.fields for witness in asking.necessary().witnesses]
    found, plan = located(asking, order=order)
    return answers([asking], found, plan)[0], plan


def agree(pattern: Any, table: Any, source: Any, **said: Any) -> ReplayPlan:
    """Check that a replay by statistics, and one by scans, find what `afa.find` does; return the plan of the scans."""
    said = {"time": "at", "window": 10, **said}
    want = afa.find(pattern, table, **said)
    by_statistics, _ = forced(pattern, source, [], **said)
    by_scans, plan = forced(pattern, source, **said)
    same(by_statistics, want)
    same(by_scans, want)
    return plan


def same(got: pa.Table, want: pa.Table) -> None:
    """Check that two tables have equal types of columns and equal rows, in any order."""
    assert got.schema.names == want.schema.names
    assert got.schema.types == want.schema.types
    assert counted(got) == counted(want)


def counted(table: pa.Table) -> Counter[Any]:
    """Return rows with how often they are there; NaN equals itself."""
    return Counter(tuple(map(plain, row.values())) for row in table.to_pylist())


def plain(value: Any) -> Any:
    """Return a value that equals itself and can be counted."""
    if isinstance(value, list):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return tuple((name, plain(each)) for name, each in value.items())
    return "NaN" if value != value else value
