"""A change feed: messages of a database in some format become changes of rows, or of the events that rows say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from afa.errors import AfaError, ChangeError, did_you_mean
from afa.feeds.changelog import Changelog
from afa.feeds.debezium import Debezium
from afa.feeds.decoder import Decoder
from afa.feeds.facts import facts as facts_of
from afa.feeds.given import blocks_in
from afa.feeds.json_reader import JsonReader, NumberedLines
from afa.feeds.latest_rows import LatestRows
from afa.feeds.maxwell import Maxwell
from afa.feeds.messages import FeedOptions, Messages
from afa.feeds.wal2json import Wal2Json
from afa.io.formats import FEEDS
from afa.model.option_values import names_of

OWN: dict[str, type[Decoder]] = {"debezium": Debezium, "wal2json": Wal2Json, "maxwell": Maxwell}
FORMATS = {name: OWN.get(name, Changelog) for name in FEEDS}
"""The formats, and what decodes each."""
Names = str | Sequence[str]


class ChangeFeed:
    """Messages of a format as they come, call after call, as changes of rows.

    Parameters
    ----------
    format : str
        "debezium", "wal2json", "maxwell", "delta", "iceberg", "hudi", "flink" or "changelog" (any column of kinds of changes).
    key : str, or sequence of str, optional
        The columns that tell one row of the table from another. None: as messages say it; of a changelog: rows are a bag.
    time : str, optional
        The column that is ``le``; a row where it is null is no event yet. None: when the message says that it happened.
    until : str, optional
        The column that is ``re``.
    facts : mapping of str to str, optional
        In place of ``time``: a row becomes an event for each of these columns whose time is there, see `facts`.
    version : str, or sequence of str, optional
        What orders messages, the most significant field first ("source.scn"). None: as the format does it.
    table : str, optional
        The table that is read, where messages are of several: "orders" or "public.orders".
    on_fault : "raise", "drop" or callable
        What becomes of messages that can't be read, and of two that say different things of one key and version. The call is
        refused; they are left out, and counted in ``faults``; or the callable gets the text, too.

    Notes
    -----
    What leaves is net: of each key the row with the largest version is in force, whatever the order and repetition of messages. It
    holds the rows of the table that are in force, and what it knows of others.

    Examples
    --------
    >>> feed = ChangeFeed("debezium", key="id", time="at")
    >>> insert = '{"op": "c", "after": {"id": 7, "at": 5, "amount": 10}, "source": {"lsn": 1}}'
    >>> update = '{"op": "u", "after": {"id": 7, "at": 5, "amount": 30}, "source": {"lsn": 2}}'
    >>> feed.push([update, insert]).to_pylist()
    [{'id': 7, 'at': 5, 'amount': 30, 'le': 5, 'diff': 1}]
    >>> feed.push([update, '{"op": "d", "before": {"id": 7}, "source": {"lsn": 3}}', "null"]).select(["amount", "diff"]).to_pylist()
    [{'amount': 30, 'diff': -1}]
    """

    def __init__(
        self,
        format: str,
        *,
        key: Names | None = None,
        time: str | None = None,
        until: str | None = None,
        facts: Mapping[str, str] | None = None,
        version: Names | None = None,
        table: str | None = None,
        on_fault: str | Callable[[str], Any] = "raise",
    ) -> None:
        if format not in FORMATS:
            raise AfaError(f"expected a format of {', '.join(FORMATS)} but got {format!r}{did_you_mean(str(format), FORMATS)}")
        if on_fault not in ("raise", "drop") and not callable(on_fault):
            raise AfaError(f'expected on_fault="raise", "drop" or a callable but got on_fault={on_fault!r}')
        if facts and time is not None:
            raise AfaError(f"time={time!r} can't be combined with facts= because each fact says its time")
        asked = FeedOptions(names_of(key, "key"), time, until, names_of(version, "version"), table, dict(facts or {}))
        self.faults = 0
        """How many messages were left out."""
        self._facts, self._on_fault, self._rows = asked.facts, on_fault, 1
        self._table, self._wants = table, asked.wants
        self._decoder = FORMATS[format](asked, self._told)
        self._reader = JsonReader(self._decoder.known, self._told)
        self._latest: LatestRows | None = None
        self._none = pa.table({"le": pa.array([], pa.int64()), "diff": pa.array([], pa.int64())})

    def push(self, given: Any) -> pa.Table:
        """Take messages: lines (text, bytes, pairs of key and value), a table, or the path of a file of lines.

        Returns rows with ``le``, perhaps ``re``, and ``diff``: what changes. A call that raises leaves the feed as it was.
        """
        learning = (self, self._reader, *self._decoder.learning)
        before = [
            {name: value.copy() if isinstance(value, (dict, set)) else value for name, value in vars(each).items()}
            for each in learning
        ]
        parts = []
        try:
            for block in blocks_in(given, self._rows):
                found = self._messages(block)
                self._rows += len(block.lines if isinstance(block, NumberedLines) else block[0])
                if len(found.sign):
                    parts.append(found)
            return self._changes(parts)
        except BaseException:
            for each, values in zip(learning, before):
                vars(each).update(values)
            raise

    def keep_types(self, head: ChangeFeed, floats: Collection[str]) -> None:
        """Read as another feed has read the first lines: its types stay, ints are floats in these columns, and no others."""
        self._reader.keep(head._reader.known, floats)

    def _messages(self, block: NumberedLines | tuple[pa.Table, Any]) -> Messages:
        if not isinstance(block, NumberedLines):
            return self._decoder.messages(*block)
        lines = self._decoder.lines(block if self._table is None else block.where([*map(self._wants, block.lines)]))
        self._reader.learn(self._decoder.types())
        self._reader.exact.update(self._decoder.exact)
        table, numbers = self._reader.read(lines)
        found: Messages = self._decoder.messages(table, numbers) if len(table) else NONE
        return found

    def _changes(self, parts: list[Messages]) -> pa.Table:
        if not parts:
            return self._none
        whole = parts[0] if len(parts) == 1 else parts[0].and_then(*parts[1:])
        if whole.version is None:
            changes = whole.rows.append_column("diff", pa.array(whole.sign.astype(np.int64)))
        else:
            if self._latest is None:
                self._latest = LatestRows(self._decoder.key, self._told)
            changes = self._latest.changes(whole)
        if not len(changes) and not set(self._facts.values()) <= {*changes.column_names}:
            return self._none
        changes = facts_of(changes, self._facts) if self._facts else changes
        self._none = changes.schema.empty_table()
        return changes

    def _told(self, number: int, text: str) -> None:
        if self._on_fault == "raise":
            raise ChangeError(f"line {number}: {text}")
        self.faults += 1
        if callable(self._on_fault):
            self._on_fault(f"line {number}: {text}")


NONE = Messages(pa.table({}), np.zeros(0, np.int8), None, np.zeros(0, np.int64))
