"""Report each bucket's numbers for each batch: one row among the changes, ``kind = metrics``, as JSON in ``reason``.

A stateful operator in Python has no metrics of its own in Spark, so they travel as rows; `observed` sums them up for the query's
progress and its listeners, `metrics` reads them as a table. Each `match` of a query has a name there, which begins with "afa".
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

from afa.errors import AfaError
from afa.spark.job import Job
from afa.spark.packed_rows import FAULT, LATE, MATCH, METRICS, STATE
from afa.spark.session import is_first

log = logging.getLogger("afa.spark")
NAME = "afa"
"""The beginning of the names of observed metrics."""
FIELDS = {
    "batch": "bigint",
    "bucket": "int",
    "events": "bigint",  # rows that came, bad ones too
    "keys": "bigint",  # that hold anything
    "partial_matches": "bigint",  # null unless match(metrics=True): counting them visits all keys
    "ties": "bigint",  # events beyond the first of their key and instant; null as above
    "candidates": "bigint",  # matches that AFTER MATCH SKIP shows, and may show otherwise yet; null as above
    "held": "bigint",  # rows that wait for the watermark, with match(speculation=)
    "memory_bytes": "bigint",  # of the operator
    "ids": "bigint",  # that are remembered, with match(id=); null without
    "id_bytes": "bigint",  # that they take, beside the columns of their events
    "repeats": "bigint",  # messages so far that had come before
    "superseded": "bigint",  # messages so far of which a newer version had come
    "stored_bytes": "bigint",  # in the state store: a snapshot, and what has changed since
    "read_bytes": "bigint",  # of that, in this batch; 0 where the operator was found in shared memory
    "written_bytes": "bigint",
    "operator_ms": "double",  # in the operator
    "state_ms": "double",  # with its state: store, shared memory, timers
    "watermark": "timestamp",
    "rule": "string",  # of a set, in rows of its rules, which have `partial_matches` and `matches` only; null in those of buckets
    "matches": "bigint",  # of a rule, that are not final yet
}
MOST_STATES = 100
"""Of so many states the partial matches are among the observed metrics."""
COUNTED = ("matches", "withdrawn", "late", "faults")
WATCHED = (
    ("late", "rows came behind the watermark and were not taken: kind = late", "lateness= says how late rows may come"),
    ("faults", "rows, or functions over them, went wrong: kind = fault", "reason says what was expected"),
)
"""Of which numbers the first is told in the log, in which words."""
OF_IDS = ("ids", "id_bytes", "repeats", "superseded")
SUMMED: tuple[str, ...] = (
    "events",
    "keys",
    "held",
    "memory_bytes",
    *OF_IDS,
    "stored_bytes",
    "read_bytes",
    "written_bytes",
    "operator_ms",
    "state_ms",
)


def metrics(changes: DataFrame) -> DataFrame:
    """Return the metrics among changes: a row for each bucket and batch.

    Parameters
    ----------
    changes : DataFrame
        The output of ``match(..., metrics=True)``: a stream, or the table that it has written.

    Returns
    -------
    DataFrame
        batch, bucket, events, keys, partial_matches, ties (events beyond the first of their key and instant), candidates (matches
        that AFTER MATCH SKIP may show otherwise yet), held (rows that wait for the watermark); memory_bytes (of the operator), ids,
        id_bytes, repeats, superseded (as of `speculation.IdsStatistics`; null without ``id=``),
        stored_bytes (in the state store), read_bytes, written_bytes (of these, in this batch); operator_ms, state_ms (time spent in
        each); watermark. Of a set of rules also a row for each rule that holds something: batch, bucket, rule, partial_matches,
        matches (that are not final yet); in the rows of buckets rule is null.
    """
    return changes.where(F.col("kind") == METRICS).select(_parsed().alias("m")).select("m.*")


def name_of(job: Job, name: str | None) -> str:
    """Return the name of a `match`'s observed metrics: the given one, or one that differs for other patterns and keys."""
    if name is None:
        told = json.dumps([job.recipe, job.keys, job.window, job.order_by, job.speculation, str(job.schema)], sort_keys=True)
        finals = ", ".join(map(str, sorted(job.automaton.final, key=str)))
        return f"{NAME} {finals[:40]} {hashlib.blake2b(told.encode(), digest_size=3).hexdigest()}"
    if not isinstance(name, str) or not name:
        raise AfaError(f"expected a name for the metrics, text, but got name={name!r}")
    return name if name.startswith(NAME) else f"{NAME} {name}"


def observed(changes: DataFrame, name: str, states: Sequence[str] | None) -> DataFrame:
    """Return changes with the numbers of each batch among the query's observed metrics, under a name.

    ``states``: those of which partial matches are told, each under its name behind `STATE`; None: no partial matches are.
    """
    held = [] if states is None else ["partial_matches", *(f"{STATE}{state}" for state in states[:MOST_STATES])]
    kind, diff, told = F.col("kind"), F.col("diff"), F.when(F.col("kind") == METRICS, _parsed(held[1:]))
    conditions = ((kind == MATCH) & (diff > 0), (kind == MATCH) & (diff < 0), kind == LATE, kind == FAULT)
    return changes.observe(
        name,
        *(F.count(F.when(condition, 1)).alias(name) for name, condition in zip(COUNTED, conditions)),
        *(F.sum(told[name]).alias(name) for name in (*SUMMED, *held)),
    )


def _parsed(more: Sequence[str] = ()) -> Column:
    names = (name.replace("`", "``") for name in more)
    schema = ", ".join([*(f"{name} {kind}" for name, kind in FIELDS.items()), *(f"`{name}` bigint" for name in names)])
    return F.from_json("reason", schema, {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"})


def listener(tell: Callable[[str], None] = print) -> Any:
    """Return a listener that reports each batch in a line for each `match`: ``spark.streams.addListener(afa.spark.listener())``.

    Parameters
    ----------
    tell : callable
        Takes each line; by default it prints the line.
    """

    def progressed(progress: Any) -> None:
        ours = _ours(progress)
        for name, row in ours.items():
            took = progress.durationMs.get("triggerExecution", 0)
            tell(line(progress.batchId, took, row, name if len(ours) > 1 else None))

    return _listening(progressed)


def _ours(progress: Any) -> dict[str, dict[str, Any]]:
    """Return the numbers of each `match` of a query."""
    return {name: row.asDict() for name, row in progress.observedMetrics.items() if name.startswith(NAME)}


def _listening(progressed: Callable[[Any], None]) -> Any:
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Listener(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:  # noqa: N802
            pass

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            progressed(event.progress)

        def onQueryIdle(self, event: Any) -> None:  # noqa: N802
            pass

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
            pass

    return Listener()


class FirstWarnings:
    """Lets the log say when the first late, and the first faulty, rows of a query come, which its matches do not show."""

    def __init__(self) -> None:
        self._told = set[tuple[str, str]]()

    def progressed(self, run: str, query: str, found: Mapping[str, dict[str, Any]]) -> None:
        """Take the numbers of a batch, of each `match` in it."""
        for number, what, advice in WATCHED:
            n = sum(row.get(number) or 0 for row in found.values())
            if n and (run, number) not in self._told:
                self._told.add((run, number))
                log.warning("%s: %s %s; %s. Said at the first ones; afa.spark.listener() counts all", query, f"{n:,}", what, advice)


def watch(session: Any) -> None:
    """Watch all streaming queries of a session, once; under Spark Connect, where a listener is a query of its own, none."""
    if hasattr(session, "_jsparkSession") and is_first(session, "watch"):
        watching = FirstWarnings()
        progressed = lambda p: watching.progressed(str(p.runId), f"query {p.name or p.id}", _ours(p))  # noqa: E731
        session.streams.addListener(_listening(progressed))


def line(batch: int, took_ms: int, found: dict[str, Any], name: str | None = None) -> str:
    """Return a batch's numbers in words, with the name of its `match` if one is given.

    Examples
    --------
    >>> found = {"events": 1000000, "matches": 15000, "keys": 10000, "operator_ms": 640.0, "state_ms": 360.0}
    >>> for part in line(7, 2150, found | {"memory_bytes": 52_000_000, "written_bytes": 20_000_000}).split("; "):
    ...     print(part)
    batch 7: 1,000,000 rows in 2.15 s (0.64 s of operators, 0.36 s of state)
    15,000 matches, 0 withdrawn, 0 late, 0 faults
    10,000 keys in 52.0 MB, 20.0 MB written, 0.0 MB read
    """
    of = f" of {name}" if name else ""
    n = {name: found.get(name) or 0 for name in (*COUNTED, *SUMMED)}
    return (
        f"batch {batch}{of}: {n['events']:,} rows in {took_ms / 1000:.2f} s ({n['operator_ms'] / 1000:.2f} s of operators, "
        f"{n['state_ms'] / 1000:.2f} s of state); {n['matches']:,} matches, {n['withdrawn']:,} withdrawn, {n['late']:,} late, "
        f"{n['faults']:,} faults; {n['keys']:,} keys in {n['memory_bytes'] / 1e6:.1f} MB, "
        f"{n['written_bytes'] / 1e6:.1f} MB written, {n['read_bytes'] / 1e6:.1f} MB read"
    )
