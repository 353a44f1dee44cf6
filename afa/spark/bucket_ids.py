"""The messages of a bucket: what comes twice, late, in any order, as versions, becomes changes, each once.

    rows as they come -> `speculation.Ids` -> rows with their sign, as all else of a bucket takes them

It stands in front of all else. An id belongs to its key, so that the bucket of a key knows all messages of its ids. The state is
what is remembered as a whole, then the messages of each save since, which are taken again: what they lead to was told before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.change import Change
from afa.operator.plain_data import plain, unplain
from afa.spark.held import fitting, table_of
from afa.spark.job import Job
from afa.state.sound import wanted
from punctuation.late import Late
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER, as_time
from speculation.id_saved import columns_of, fill, joined, no_changes, numbers_of, part_of, stage_of
from speculation.ids import Ids
from speculation.stage_state import rows_of, stream_of

UNKNOWN = FOREVER - 1
"""The time of a retraction that says none, before there is a watermark."""


class Told(Late):
    """A policy that keeps what it is told, with the reason."""

    def __init__(self) -> None:
        super().__init__("drop")
        self.told: list[tuple[Change, str]] = []

    def take(self, change: Any, reason: str) -> None:
        """Keep a change and the reason why it is told."""
        self.told.append((change, reason))


class BucketIds:
    """The ids of a bucket. ``blobs`` is what `save` gave since the last whole state. Late messages and faults: `told`."""

    def __init__(self, job: Job, blobs: Sequence[bytes] = ()) -> None:
        assert job.messages is not None
        self._job, self._schema, (ids, version, remember, _) = job, job.rows, job.messages
        names = tuple(dict.fromkeys((*job.keys, *ids)))
        self._stand(Ids(names, on_repeat=None if version is None else "update", version=version, remember=remember))
        self._fresh: list[list[Any]] = []  # what has come since the last save: a promise, and rows as an Arrow stream
        for number, blob in enumerate(blobs):
            whole, parts = unplain(blob)
            wanted("a whole state, then messages", whole == (number == 0), whole)
            self._restore(parts) if whole else self._again(parts)
        self._stage.late, self._stage.faults = Told(), Told()  # what was told is not told again

    def take(self, rows: pa.Table | None, promised: int, present: int) -> pa.Table | None:
        """Take a promise and the messages behind it; return the changes. Late messages and faults are told.

        ``present``: the time of retractions that say none, the same in all buckets; `UNKNOWN` before there is a watermark.
        """
        if rows is not None:
            rows = fitting(rows, self._schema)
            rows = rows.set_column(rows.column_names.index("le"), self._schema.field("le"), pc.fill_null(rows["le"], present))
        stream = b"" if rows is None or not rows.num_rows else stream_of(rows)
        if stream or promised > self._stage.promise:
            self._fresh.append([promised, present, stream])
        return self._taken(rows, promised, present)

    def told(self) -> Iterator[tuple[bool, Change, str]]:
        """Yield what was told since the last time: whether it is late, and no fault; the message with its key; why."""
        for late, policy in ((True, self._stage.late), (False, self._stage.faults)):
            assert isinstance(policy, Told)
            found, policy.told = policy.told, []
            for change, reason in found:
                if change.diff < 0 and not late and self._stage.version is not None and reason.endswith("its retraction only"):
                    continue  # with versions a deletion needs no event
                key = tuple(change.payload[name] for name in self._job.keys)
                payload = {name: value for name, value in change.payload.items() if name not in ("le", "re", "diff")}
                yield late, change._replace(payload=payload, key=key if len(key) > 1 else key[0]), reason

    @property
    def numbers(self) -> dict[str, int]:
        """What is remembered, and what has been left out so far."""
        found = self._stage.statistics
        return {"ids": found.ids, "id_bytes": found.id_bytes, "repeats": found.repeats, "superseded": found.superseded}

    @property
    def next(self) -> int | None:
        """Which promise lets the last id be forgotten, less one; None: none is remembered."""
        last = self._stage.last_remembered
        return None if last is None else last + self._stage.remember

    def clean(self) -> None:
        """Forget all that is final."""
        self._stage.tidy(True)

    def _stand(self, stage: Ids) -> None:
        """Let a stage be this bucket's."""
        stage.compared = [name for name in self._job.schema.names if name != "diff"]
        stage.late, stage.faults = Told(), Told()
        self._stage = stage

    def _taken(self, rows: pa.Table | None, promised: int, present: int) -> pa.Table | None:
        if promised > BEGINNING:
            if self._stage.promise == BEGINNING:  # now there is a time for retractions that said none
                self._stage.set_until(UNKNOWN, present)
            self._stage.push_many([Punctuation(promised)])
        if rows is None or not rows.num_rows:
            return rows
        return self._stage.push_many(rows).select(self._job.schema.names)

    # -- state -----------------------------------------------------------------------------------------------------------------

    def save(self, incremental: bool) -> bytes:
        """Return what is remembered, or the messages that have come since the last time."""
        fresh, self._fresh = self._fresh, []
        return plain([False, fresh] if incremental else [True, self._stage.numbers()])

    def split(self, numbers_of_keys: Callable[[Sequence[Any]], Any]) -> Callable[[int], bytes]:
        """Return the function that gives the state of a new bucket, by its number."""
        self._stage.tidy(True)
        ids = columns_of(self._stage).ids
        keys = type(ids)(len(self._job.keys) if len(self._job.keys) > 1 else 0, ids.columns[: len(self._job.keys)])
        of = numbers_of_keys(keys) if len(ids) else np.zeros(0, np.int64)
        return lambda number: plain([True, numbers_of(part_of(self._stage, np.flatnonzero(of == number)))])

    def join(self, others: Sequence[BucketIds]) -> None:
        """Take the ids of buckets that have followed the same watermark; to be saved as a whole."""
        stages = [self._stage, *(other._stage for other in others)]
        for stage in stages:
            stage.tidy(True)
        self._stand(joined(stages))

    def _restore(self, numbers: Any) -> None:
        stage, asked = stage_of(numbers, Ids), self._stage
        same = (stage.names, stage.version, stage.remember) == (asked.names, asked.version, asked.remember)
        wanted("the ids of this job", same, numbers[:3])
        fill(stage, numbers, self._contents, no_changes)
        self._stand(stage)

    def _contents(self, stream: Any) -> pa.Table:
        wished = self._schema.remove(self._schema.get_field_index("diff"))
        return rows_of(stream, lambda table: table.columns if table is not None and table.columns.schema == wished else None)

    def _again(self, parts: Any) -> None:
        for promised, present, stream in parts:
            rows = table_of(stream) if stream else None
            if rows is not None:
                rows.validate(full=True)
                wanted("messages of this job", rows.schema == self._schema, rows.schema)
            self._taken(rows, as_time(promised, "promised"), as_time(present, "present"))
