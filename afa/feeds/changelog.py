"""Rows with a column that says what became of them: changes of Delta, Iceberg and Hudi, Flink's kinds of rows.

    id  amount  _change_type      _commit_version
    7   12.5    update_preimage   4                      Delta; with _change_ordinal Iceberg; _hoodie_operation: Hudi
    7   20.0    update_postimage  4                      +I -U +U -D in op: Flink; __op: Debezium's ExtractNewRecordState

With a key and a column that orders, the latest of each key counts, and what comes twice counts once. Without these it is a bag of
signed rows: each is taken as it comes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.errors import AfaError
from afa.feeds.decoder import Decoder
from afa.feeds.json_reader import OnFault
from afa.feeds.messages import FeedOptions, Messages, missing, version_of
from punctuation.door import one_array

WORDS = dict.fromkeys(("insert", "update_postimage", "update_after", "+i", "+u", "i", "u", "c", "r"), 1)
WORDS |= dict.fromkeys(("delete", "update_preimage", "update_before", "-u", "-d", "d"), -1)
KIND_COLUMNS = ("_change_type", "_hoodie_operation", "__op", "row_kind", "op")
VERSIONS = ("_commit_version", "_change_ordinal", "_hoodie_commit_time", "__source_lsn", "__lsn", "__source_ts_ms", "__ts_ms")
HOUSEKEEPING: tuple[str, ...] = (
    "_commit_timestamp",
    "_commit_snapshot_id",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
)
HOUSEKEEPING += ("_hoodie_file_name", "__deleted", "__table", "__db", "__schema")


class Changelog(Decoder):
    """The decoder of rows with a column of kinds."""

    def __init__(self, asked: FeedOptions, told: OnFault) -> None:
        super().__init__(asked, told)
        self._kind: str | None = None
        self._order = asked.version

    @property
    def exact(self) -> tuple[str, ...]:
        return (*self._maker.key, *self._order, *VERSIONS)

    def messages(self, table: pa.Table, numbers: Any) -> Messages:
        names = table.column_names
        self._kind = self._kind or next((name for name in KIND_COLUMNS if name in names), None)
        if self._kind is None:
            raise AfaError(f"expected a column of changes, one of {', '.join(KIND_COLUMNS)}, but got {', '.join(names) or 'none'}")
        self._order = self._order or tuple(name for name in VERSIONS if name in names)[:1]
        words = one_array(table[self._kind]) if self._kind in names else pa.nulls(len(table))
        at = pc.index_in(pc.utf8_lower(words.cast(pa.string())), pa.array(WORDS))
        wrong = missing(at)
        for i in np.flatnonzero(wrong).tolist():
            said = words[i].as_py()
            got = "none" if said is None else repr(said)
            self._told(int(numbers[i]), f"expected a kind of change ({self._kind}) as insert, update_postimage, +I but got {got}")
        sign = np.array([*WORDS.values()], np.int8)[at.fill_null(0).to_numpy()]
        version = None
        if self._order and self.key:
            columns = [one_array(table[name]) if name in names else pa.nulls(len(table), pa.string()) for name in self._order]
            version = version_of(columns, (sign > 0).astype(np.int64))  # of one version the row as it is counts
            wrong |= self._missing(columns[0], self._order[0], numbers, wrong)
        elif self.key:
            raise AfaError(
                f"key={', '.join(self.key)} wants version=, a column that orders the changes of a row, but there is none"
            )
        for name in self.key:
            if name not in names:
                raise AfaError(f"expected a column {name!r} of the key but got {', '.join(names)}")
            wrong |= self._missing(one_array(table[name]), name, numbers, wrong)
        kept = {*self._asked.times, *self.key}
        rows = table.drop_columns([name for name in {self._kind, *self._order, *VERSIONS, *HOUSEKEEPING} - kept if name in names])
        time = table["_commit_timestamp"] if version is not None and "_commit_timestamp" in names else None
        return self._maker.timed(Messages(rows, sign, version, numbers), wrong, time, {})

    def _missing(self, column: pa.Array, name: str, numbers: Any, wrong: Any) -> Any:
        none = missing(column)
        self._maker.tell(numbers[none & ~wrong], f"expected a value of {name!r} but got none")
        return none
