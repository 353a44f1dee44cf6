"""Messages of Postgres' output plugin wal2json, of both formats: a line a change, or a line a transaction.

    {"action": "U", "schema": "public", "table": "orders", "lsn": "0/16D5A58",
     "columns": [{"name": "id", "type": "integer", "value": 7}, ..], "identity": [..]}
    {"nextlsn": "0/16D5B40", "change": [{"kind": "update", "table": "orders", "columnnames": ["id", ..], "columnvalues": [7, ..],
     "oldkeys": {"keynames": ["id"], "keyvalues": [7]}}, ..]}

The plugin has to be told ``include-lsn``. Its lists hold values of many types, so that each line is rewritten in Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import numpy as np

from afa.feeds.debezium import Debezium
from afa.feeds.json_reader import NumberedLines, strict

ACTIONS = {"I": "c", "U": "u", "D": "d", "T": "t", "M": "m", "B": "m", "C": "m"}
KINDS = {"insert": "c", "update": "u", "delete": "d", "truncate": "t", "message": "m"}


class Wal2Json(Debezium):
    """The decoder of wal2json's messages: as Debezium's."""

    def lines(self, given: NumberedLines) -> NumberedLines:
        lines, numbers = [], []
        for line, number in zip(given.lines, given.numbers.tolist()):
            if not line.strip():
                continue
            try:
                found = [text for each in _messages(strict(line)) if self._asked.wants(text := json.dumps(each).encode())]
            except ValueError as error:
                self._told(number, str(error))
            except (KeyError, TypeError, AttributeError):
                self._told(number, "expected a message of wal2json, with include-lsn, but got other fields")
            else:
                lines += found
                numbers += [number] * len(found)
        return NumberedLines(lines, np.array(numbers, np.int64))


def _messages(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what a line says, as Debezium does."""
    if "change" not in line:
        op = ACTIONS.get(line["action"], line["action"])
        if op != "m":
            after = {each["name"]: each["value"] for each in line.get("columns", ())} or None
            before = {each["name"]: each["value"] for each in line.get("identity", ())} or None
            yield _message(line, line, op, before, after, {"lsn": _lsn(line["lsn"])})
        return
    for i, change in enumerate(line["change"]):
        op = KINDS.get(change["kind"], change["kind"])
        if op != "m":
            old = change.get("oldkeys", {})
            after = dict(zip(change.get("columnnames", ()), change.get("columnvalues", ()))) or None
            before = dict(zip(old.get("keynames", ()), old.get("keyvalues", ()))) or None
            yield _message(line, change, op, before, after, {"nextlsn": _lsn(line["nextlsn"]), "index": i})


def _message(
    line: dict[str, Any], change: dict[str, Any], op: str, before: Any, after: Any, order: dict[str, int]
) -> dict[str, Any]:
    source = order | {"schema": change.get("schema"), "table": change["table"], "ts_ms": _milliseconds(line.get("timestamp"))}
    return {"op": op, "before": before, "after": after, "source": source}


def _lsn(text: str) -> int:
    """Return a position in Postgres' log as an int.

    >>> _lsn("1/10")
    4294967312
    """
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)


def _milliseconds(text: str | None) -> int | None:
    if text is None:
        return None
    found = datetime.fromisoformat(re.sub(r"([+-]\d\d)$", r"\1:00", text))
    found = found if found.tzinfo else found.replace(tzinfo=timezone.utc)
    return int(found.timestamp() * 1000)
