"""The job without Spark: feeds the stream hour by hour, swaps one arc in the middle of the year, keeps every change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from afa import FOREVER, Punctuation, Query
from examples.flights.pattern import AFTER, BEFORE, Story, pattern
from examples.flights.stream import SLOT, Stream, slots


def minutes(year: int, month: int, day: int) -> int:
    """Midnight UTC in minutes since 1970."""
    return int(datetime(year, month, day, tzinfo=timezone.utc).timestamp()) // 60


def quarter(end: int) -> tuple[int, int]:
    """The year and the quarter, from 0, of the minute before ``end``."""
    instant = datetime.fromtimestamp((end - 1) * 60, tz=timezone.utc)
    return instant.year, (instant.month - 1) // 3


SWAP = minutes(2013, 7, 1)  # arrival time


# Every change of the output, as it leaves the operator, and when: at the end of the slot in which it arrived.
COLUMNS = pa.schema(
    [
        ("tail", pa.string()),
        *((name, pa.string() if isinstance(value, str) else pa.int64()) for name, value in Story()._asdict().items()),
        *((name, pa.int64()) for name in ("le", "re", "diff", "arrived")),
    ]
)
Match = tuple[str, Story, int, int]  # tail, register, LE, RE


class Sample(NamedTuple):
    """How far the job is, and what the operator held after a slot; on Spark, what lay in the state store."""

    end: int
    messages: int
    matches: int  # in force
    events: int | None = None
    state: int | None = None
    stored: int | None = None  # bytes


class Run(NamedTuple):
    """What a run leaves behind."""

    changes: pa.Table  # see COLUMNS
    samples: list[Sample]
    left: Sample  # after the end of the stream
    swapped: int | None  # the first LE that the new arc serves
    refused: Sequence[tuple[str, str]] = ()  # messages that came too late or could not be taken: the kind, and why

    def final(self) -> set[Match]:
        """The net output: (tail, register, LE, RE) of all matches in force at the end."""
        net: Counter[Match] = Counter()
        rows = zip(*(self.changes[name].to_pylist() for name in ("tail", "le", "re", "diff", *Story._fields)))
        for tail, le, re, diff, *fields in rows:
            net[tail, Story(*fields), le, re] += diff
        assert set(net.values()) <= {0, 1}, "a match was inserted twice, or retracted without being there"
        return {match for match, copies in net.items() if copies}


def feed(
    stream: Stream,
    progress: Callable[[Sample], None] = lambda sample: None,
    shuffle: np.random.Generator | None = None,
    query: Callable[[int], Query] = pattern,
) -> Run:
    """Run the whole stream.

    Parameters
    ----------
    progress : callable
        Called after each slot.
    shuffle : numpy.random.Generator, optional
        Mixes the arrivals within each slot; the watermarks allow any order there.
    query : callable, optional
        Makes the query of a threshold.
    """
    keyed: Any = query(BEFORE).operator()
    outputs = [COLUMNS.empty_table()]
    samples: list[Sample] = []
    largest, swapped, messages, matches = 0, None, 0, 0
    for slot in slots(stream):
        if slot.end - SLOT == SWAP:
            keyed.push_many([*query(BEFORE).changes_to(query(AFTER)).arcs])
            swapped = largest + 1  # the default mode: one tick past the largest LE seen
        if len(slot.rows):
            largest = max(largest, int(slot.rows["le"].to_numpy().max()))
        rows = slot.rows if shuffle is None else slot.rows.take(pa.array(shuffle.permutation(len(slot.rows))))
        for output in keyed.push_many([rows, Punctuation(slot.promise)]):
            if isinstance(output, pa.Table) and len(output):
                outputs.append(output.append_column("arrived", pa.array(np.full(len(output), slot.end))))
                matches += int(output["diff"].to_numpy().sum())
        messages += len(slot.rows)
        samples.append(sample(keyed, slot.end, messages, matches))
        progress(samples[-1])
    keyed.push(Punctuation(FOREVER))
    left = sample(keyed, samples[-1].end, messages, matches)
    return Run(pa.concat_tables(outputs), samples, left, swapped)


def sample(keyed: Any, end: int, messages: int, matches: int) -> Sample:
    """Read off what the operator holds."""
    statistics = keyed.statistics
    return Sample(end, messages, matches, statistics.events, statistics.state_size)


def write(changes: pa.Table, path: Path) -> None:
    """Write all changes to Parquet; instants become UTC timestamps there."""
    for name in ("arrived", "le", "re"):
        instants = pc.multiply(changes[name], 60_000).cast(pa.timestamp("ms", tz="UTC"))
        changes = changes.set_column(changes.column_names.index(name), name, instants)
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(changes, path)
