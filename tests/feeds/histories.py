"""Random histories of a table, and what each format writes of them: one list of messages, in the order of the database."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Row = dict[str, Any]
Key = tuple[Any, ...]
BEGIN = 1_700_000_000_000


class LogEntry(NamedTuple):
    """What a database writes of one change: both rows, its place, its transaction."""

    op: str  # c u d r t
    before: Row | None
    after: Row | None
    lsn: int
    transaction: int
    place: int  # in the transaction
    last: bool  # of the transaction


class History(NamedTuple):
    """A history: the columns of the key, the entries, and the rows at the end."""

    key: tuple[str, ...]
    entries: list[LogEntry]
    final: list[Row]
    text_times: bool
    text_ids: bool


def history(random_: random.Random, truncates: bool, within: bool = True) -> History:
    """A random history; ``within``: a transaction may change a row several times."""
    key = random_.choice([("id",), ("id",), ("region", "id")])
    text_ids, text_times = random_.random() < 0.4, random_.random() < 0.5
    rows: dict[Key, Row] = {}
    entries: list[LogEntry] = []
    lsn = random_.randrange(1, 1 << 40)

    def time(n: int) -> Any:
        return f"2023-11-14T22:{n // 60 % 60:02}:{n % 60:02}Z" if text_times else BEGIN + 1000 * n

    def new_key() -> Row:
        number = random_.randrange(5)
        return {"region": random_.choice(["eu", "us"]), "id": f"o{number}" if text_ids else number}

    def key_of(row: Row) -> Key:
        return tuple(row[name] for name in key)

    def values(row: Row, *names: str) -> Row:
        made: dict[str, Callable[[], Any]] = {
            "amount": lambda: random_.choice([None, 3, 12, 12.5, 0.1]),
            "note": lambda: random_.choice([None, "", 'ä "x" {\'', "2024-01-01 10:00:00", "]}", "null"]),
            "good": lambda: random_.choice([True, False, None]),
            "created_at": lambda: random_.choice([None, *map(time, range(0, 240, 20))]) if random_.random() < 0.5 else time(7),
            "paid_at": lambda: random_.choice([None, *map(time, range(0, 240, 20))]),
        }
        return row | {name: made[name]() for name in names}

    columns = ("amount", "note", "good", "created_at", "paid_at")
    for _ in range(random_.randrange(4)):
        row = values(new_key(), *columns)
        rows[key_of(row)] = row
    entries += [LogEntry("r", None, row, lsn, 0, i, False) for i, row in enumerate(rows.values())]
    for transaction in range(1, random_.randrange(2, 9)):
        changed: set[Key] = set()
        mine: list[LogEntry] = []

        def write(op: str, before: Row | None, after: Row | None) -> None:
            nonlocal lsn
            lsn += random_.randrange(1, 50)
            mine.append(LogEntry(op, before, after, lsn, transaction, len(mine), False))  # noqa: B023

        for _ in range(random_.randrange(1, 5)):
            row = values(new_key(), *columns)
            at = key_of(row)
            if not within and at in changed:
                continue
            changed.add(at)
            old = rows.get(at)
            if old is None:
                rows[at] = row
                write("c", None, row)
                continue
            what = random_.random()
            if what < 0.25:
                del rows[at]
                write("d", old, None)
            elif what < 0.45:
                moved = values(old | new_key(), *random_.sample(columns, random_.randrange(3)))
                if key_of(moved) not in rows and (within or key_of(moved) not in changed):
                    changed.add(key_of(moved))
                    del rows[at]
                    rows[key_of(moved)] = moved
                    write("u", old, moved)
            else:
                rows[at] = old | {name: row[name] for name in random_.sample(columns, random_.randrange(1, 4))}
                write("u", old, rows[at])
        if truncates and random_.random() < 0.1:
            rows.clear()
            write("t", None, None)
        elif random_.random() < 0.1:  # a snapshot while it runs
            lsn += 1
            mine += [LogEntry("r", None, row, lsn, transaction, len(mine) + i, False) for i, row in enumerate(rows.values())]
        lsn += 1
        entries += [each._replace(last=i == len(mine) - 1) for i, each in enumerate(mine)]
    return History(key, entries, list(rows.values()), text_times, text_ids)


def _key(row: Row, names: tuple[str, ...]) -> Row:
    return {name: row[name] for name in names}


def debezium(of: History, random_: random.Random) -> list[str]:
    """Debezium's messages: with or without schemas, keys and whole rows before; ordered in one of four ways."""
    order = random_.choice(["lsn", "pos", "total_order", "ts_ms"])
    schemas, keys, full, own_ids = (random_.random() < 0.5 for _ in range(4))

    def source(entry: LogEntry) -> dict[str, Any]:
        found = {"connector": "x", "db": "shop", "schema": "public", "table": "orders", "snapshot": str(entry.op == "r").lower()}
        if order == "lsn":
            return found | {"lsn": entry.lsn, "ts_ms": BEGIN + entry.transaction}
        if order == "pos":
            place = {"file": f"binlog.{9 + entry.transaction // 3}", "pos": entry.transaction * 1000, "row": entry.place}
            return found | place | {"ts_ms": BEGIN}
        return found | {"ts_ms": BEGIN + (entry.transaction * 5 if order == "total_order" else entry.lsn)}

    def message(entry: LogEntry, op: str, before: Row | None, after: Row | None, place: int) -> str:
        body = {"before": before, "after": after, "source": source(entry), "op": op, "ts_ms": BEGIN + entry.lsn}
        body["transaction"] = {"id": str(entry.transaction), "total_order": place} if order == "total_order" else None
        value = {"schema": _schema(of), "payload": body} if schemas else body
        row = after or before or entry.before
        if not keys:
            return json.dumps(value)
        key: Any = row and _key(row, of.key)
        return json.dumps({"key": {"schema": {"type": "struct"}, "payload": key} if schemas else key, "value": value})

    lines = []
    for entry in of.entries:
        before, after = entry.before, entry.after
        moved = before and after and _key(before, of.key) != _key(after, of.key)
        shown = before if full else None
        if entry.op == "d" or (moved and own_ids):
            assert before is not None
            lines.append(message(entry, "d", before if full or not keys else None, None, entry.place))
            lines.append(json.dumps({"key": _key(before, of.key), "value": None}) if keys else "null")
        if moved and own_ids:
            lines.append(message(entry, "c", None, after, entry.place))
        elif entry.op != "d":
            lines.append(message(entry, entry.op, before if moved else shown, after, entry.place))
    return lines


def _schema(of: History) -> dict[str, Any]:
    zoned = {"type": "string", "name": "io.debezium.time.ZonedTimestamp"}
    time = zoned if of.text_times else {"type": "int64", "name": "io.debezium.time.Timestamp"}
    kind = "string" if of.text_ids else "int32"
    types: dict[str, dict[str, Any]] = {"region": {"type": "string"}, "id": {"type": kind}, "amount": {"type": "double"}}
    types |= {"note": {"type": "string"}, "good": {"type": "boolean"}, "created_at": time, "paid_at": time}
    row = [{"field": name, "optional": True, **kind} for name, kind in types.items()]
    return {
        "type": "struct",
        "fields": [{"type": "struct", "fields": row, "field": name} for name in ("before", "after")]
        + [{"type": "struct", "fields": [{"type": "string", "default": 5}, {"default": "x"}], "field": "source"}],
    }


def wal2json(of: History, random_: random.Random) -> list[str]:
    """A line a change."""

    def pairs(row: Row) -> list[dict[str, Any]]:
        return [{"name": name, "type": "text", "value": value} for name, value in row.items()]

    lines = ['{"action":"B"}', '{"action":"C"}']
    for entry in of.entries:
        at = f"{entry.lsn >> 32:X}/{entry.lsn & 0xFFFFFFFF:X}"
        action = {"c": "I", "r": "I", "u": "U", "d": "D", "t": "T"}[entry.op]
        line: dict[str, Any] = {"action": action, "lsn": at, "schema": "public", "table": "orders"}
        line["timestamp"] = "2023-11-14 22:58:28.988414-03"
        if entry.after:
            line["columns"] = pairs(entry.after)
        if entry.before:
            line["identity"] = pairs(_key(entry.before, of.key) if random_.random() < 0.5 else entry.before)
        lines.append(json.dumps(line))
    return lines


def wal2json_transactions(of: History, random_: random.Random) -> list[str]:
    """A line a transaction."""
    lines, changes = [], []
    for i, entry in enumerate(of.entries):
        kind = {"c": "insert", "r": "insert", "u": "update", "d": "delete"}[entry.op]
        change: dict[str, Any] = {"kind": kind, "schema": "public", "table": "orders"}
        if entry.after:
            change |= {"columnnames": [*entry.after], "columnvalues": [*entry.after.values()]}
        if entry.before:
            old = _key(entry.before, of.key)
            change["oldkeys"] = {"keynames": [*old], "keyvalues": [*old.values()]}
        changes.append(change)
        if i + 1 == len(of.entries) or of.entries[i + 1].transaction != entry.transaction:
            lsn = of.entries[i].lsn + 1
            lines.append(json.dumps({"xid": 5, "nextlsn": f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}", "change": changes}))
            changes = []
    return lines


def maxwell(of: History, random_: random.Random) -> list[str]:
    lines = [json.dumps({"database": "shop", "table": "orders", "type": "bootstrap-start", "ts": 1, "data": {}})]
    for entry in of.entries:
        kind = {"c": "insert", "r": "bootstrap-insert", "u": "update", "d": "delete"}[entry.op]
        line: dict[str, Any] = {"database": "shop", "table": "orders", "type": kind, "ts": BEGIN // 1000 + entry.transaction // 3}
        line |= {"xid": 100 + entry.transaction, "data": entry.after or entry.before}
        line |= {"commit": True} if entry.last else {"xoffset": entry.place}
        if entry.op == "u":
            assert entry.before
            assert entry.after
            line["old"] = {
                name: value for name, value in entry.before.items() if value != entry.after[name] or random_.random() < 0.1
            }
        lines.append(json.dumps(line))
    return lines


def changelog(of: History, random_: random.Random) -> list[Row]:
    """Rows with the columns of Delta, Iceberg, Hudi or Flink, one after the other in the order of commits."""
    kind, version, words = random_.choice(
        [
            ("_change_type", "_commit_version", ("insert", "update_preimage", "update_postimage", "delete")),
            ("_change_type", "_change_ordinal", ("INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE")),
            ("_hoodie_operation", "_hoodie_commit_time", ("I", "-U", "U", "D")),
            ("op", "", ("+I", "-U", "+U", "-D")),
        ]
    )
    rows, first = [], random_.choice([0, 0, -3, -(1 << 61)])  # a user's own order may begin anywhere
    for entry in of.entries:
        if entry.op == "r" and entry.transaction:
            continue
        at = str(20231114000000 + entry.transaction) if version == "_hoodie_commit_time" else first + entry.transaction
        images = [(entry.before, words[1] if entry.after else words[3]), (entry.after, words[2] if entry.before else words[0])]
        rows += [row | {kind: word} | ({version: at} if version else {}) for row, word in images if row]
    return rows


def of_format(name: str, random_: random.Random) -> Iterator[tuple[History, list[Any]]]:
    """A history and its messages in a format."""
    writers: dict[str, Callable[[History, random.Random], list[Any]]] = {
        "debezium": debezium,
        "maxwell": maxwell,
        "changelog": changelog,
    }
    writers["wal2json"] = random_.choice([wal2json, wal2json_transactions])
    truncates = writers[name] in (debezium, wal2json)
    of = history(random_, truncates, within=name != "changelog")
    yield of, writers[name](of, random_)
