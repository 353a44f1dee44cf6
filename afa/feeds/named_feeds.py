"""A function for each format: messages, all at once, as changes of rows. Options are those of `ChangeFeed`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from afa.feeds.feed import ChangeFeed


def debezium(given: Any, **options: Any) -> pa.Table:
    """Return the changes that Debezium's messages make: lines, a table with columns ``op``, ``before``, ``after``, or a file.

    >>> lines = ['{"op": "c", "after": {"id": 7, "at": "2024-03-31T10:00:00Z"}, "source": {"lsn": 1}}']
    >>> debezium(lines, key="id", time="at").select(["id", "diff"]).to_pylist()
    [{'id': 7, 'diff': 1}]
    """
    return ChangeFeed("debezium", **options).push(given)


def wal2json(given: Any, **options: Any) -> pa.Table:
    """Return the changes that messages of Postgres' wal2json make, of both formats, with ``include-lsn``."""
    return ChangeFeed("wal2json", **options).push(given)


def maxwell(given: Any, **options: Any) -> pa.Table:
    """Return the changes that messages of Maxwell make."""
    return ChangeFeed("maxwell", **options).push(given)


def changelog(given: Any, **options: Any) -> pa.Table:
    """Return the changes that rows with a column of kinds make: insert, update_postimage, -U, D and others.

    With ``key`` and a column that orders them, the latest row of each key counts; without, each row as it comes.

    >>> rows = {"id": [7, 7, 7], "at": [5, 5, 6], "op": ["+I", "-U", "+U"]}
    >>> changelog(rows, time="at").to_pylist()[1:]
    [{'id': 7, 'at': 5, 'le': 5, 'diff': -1}, {'id': 7, 'at': 6, 'le': 6, 'diff': 1}]
    """
    return ChangeFeed("changelog", **options).push(given)


def delta(given: Any, **options: Any) -> pa.Table:
    """Return the changes of Delta's change data feed: ``_change_type``, ``_commit_version``."""
    return ChangeFeed("delta", **options).push(given)


def iceberg(given: Any, **options: Any) -> pa.Table:
    """Return the changes of Iceberg's changelog: ``_change_type``, ``_change_ordinal``."""
    return ChangeFeed("iceberg", **options).push(given)


def hudi(given: Any, **options: Any) -> pa.Table:
    """Return the changes of Hudi's rows: ``_hoodie_operation``, ``_hoodie_commit_time``."""
    return ChangeFeed("hudi", **options).push(given)


def flink(given: Any, **options: Any) -> pa.Table:
    """Return the changes of Flink's rows, with their kinds (+I, -U, +U, -D) in a column ``op`` or ``row_kind``."""
    return ChangeFeed("flink", **options).push(given)
