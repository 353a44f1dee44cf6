"""Change feeds: each format by hand, random histories of all, malformed lines of every kind, what goes out."""

from __future__ import annotations

import json
import random
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from afa import feeds
from afa.errors import AfaError, ChangeError
from afa.feeds.messages import version_of
from tests.feeds import histories
from tests.feeds.worlds import WORLDS

GOOD = '{"op":"c","after":{"id":%d,"at":%d,"p":1.5,"n":"x"},"source":{"lsn":%d}}'
MALFORMED = [  # a line, and what is said of it
    ('{"after":{"id":1}}', "expected an operation .* but got none"),
    ('{"op":"x","after":{"id":1,"at":1},"source":{"lsn":1}}', "expected an operation .* of c, r, u, d, t but got 'x'"),
    ('{"op":"c","after":null,"source":{"lsn":1}}', "expected a row in 'after' but got none"),
    ('{"op":"c","after":{"at":1},"source":{"lsn":5}}', "expected a value of the key 'id' but got none"),
    ('{"op":"c","after":{"id":1.5,"at":1},"source":{"lsn":5}}', "expected an int, a bool or text in 'id' but got a float"),
    ('{"op":"c","after":{"id":"7","at":1},"source":{"lsn":5}}', "expected int64 in 'after.id' but got string"),
    ('{"op":"c","after":{"id":9223372036854775808,"at":1},"source":{"lsn":5}}', "expected an int64 but got 9223372036854775808"),
    ('{"op":"c","after":{"id":1,"at":1}}', r"expected an order \(source.lsn\) but got none"),
    ('{"op":"c","after":{"id":1,"at":1},"source":{"lsn":"x"}}', "expected int64 in 'source.lsn' but got string"),
    ('{"op":"d","before":{"id":"x"},"source":{"lsn":5}}', "expected int64 in the key 'id' but got string"),
    ('{"op":"d","before":null,"source":{"lsn":5}}', "expected a value of the key 'id' but got none"),
    ('{"op":"c","after":{"id":1,"at":"yesterday"},"source":{"lsn":5}}', "expected int64 in 'after.at' but got string"),
    ('{"op":"c","after":{"id":1,"at":1.5},"source":{"lsn":5}}', "expected a time in 'at' but got 1.5"),
    ('{"op":"c","after":{"id":1,"at":[1]},"source":{"lsn":5}}', "expected int64 in 'after.at' but got a list"),
    ('{"op":"c","after":[1],"source":{"lsn":5}}', "expected an object in 'after' but got a list"),
    ('{"op":"c","after":{"id":3,"le":5,"at":5},"source":{"lsn":5}}', "expected no 'le' in a row"),
    ('{"op":7,"after":{"id":1,"at":1},"source":{"lsn":5}}', "expected string in 'op' but got int64"),
    ('{"op":"c","after":{"id":1,"at":1,"at":2},"source":{"lsn":5}}', "expected each name once but got 'at' twice"),
    ('{"op":"c","after":{"id":3,"at":1,"p":1e999},"source":{"lsn":5}}', "expected a number but got 1e999"),
    ('{"op":"c","after":{"id":3,"at":1,"p":NaN},"source":{"lsn":5}}', "expected a number but got NaN"),
    ('{"op":"c","after":{"id":3,"at":1,"n":"\\ud800"},"source":{"lsn":5}}', "expected text in UTF-8"),
    ('{"op":"c","after":{"id":1,"at":1},"source":7}', "expected an object in 'source' but got int64"),
    ('{"op":"c","after":{"id":3,"at":1},"source":{"lsn":1.5}}', "expected an int, a bool or text in 'lsn' but got a float"),
    ('{"op":"c","after":{"id":3,"at":1,"l":[18446744073709551616]},"source":{"lsn":5}}', "expected an int64 but got 1844674407"),
    ("[]", r"expected a JSON object a line but got '\[\]'"),
    ('"c"', "expected a JSON object a line"),
    ("tru", "expected a JSON object a line"),
    ('{"op":"c"}{"op":"c"}', "expected a JSON object a line"),
    ('{"op":"c"} null', "expected a JSON object a line"),
    ('{"payload":7}', "expected an operation"),
    ('{"schema":5,"payload":5}', "expected an operation"),
    ('{"a":' * 3000 + "1" + "}" * 3000, "expected at most 64 levels"),
    ("[" * 100_000, "expected at most 64 levels"),
]
BESIDE = {"connector": "postgresql", "schema": "public", "table": "orders"}


def debezium(op: str, lsn: int, before: Any = None, after: Any = None) -> str:
    return json.dumps({"op": op, "before": before, "after": after, "source": BESIDE | {"lsn": lsn}})


def net(*tables: pa.Table) -> list[tuple[Any, ...]]:
    """What is left of changes, as values without ``diff``, sorted."""
    found: dict[tuple[Any, ...], int] = {}
    for row in (row for table in tables for row in table.to_pylist()):
        diff = row.pop("diff")
        found[tuple(row.values())] = found.get(tuple(row.values()), 0) + diff
    assert min(found.values(), default=0) >= 0
    return sorted((row for row, n in found.items() for _ in range(n)), key=repr)


def test_random_histories() -> None:
    WORLDS.run("1", range(60), more_than={"calls": 80, "malformed": 10, "matches": 20} | dict.fromkeys(("debezium", "maxwell"), 14))


@pytest.mark.stress
def test_many_random_histories() -> None:
    WORLDS.run("2", range(1000))


@pytest.mark.parametrize(("line", "said"), MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_line_is_told_by_its_number_and_the_others_count(line: str, said: str) -> None:
    lines = [GOOD % (2, 6, 10), line, GOOD % (3, 7, 11)]
    with pytest.raises(ChangeError, match=f"line 2: {said}"):
        feeds.debezium(lines, key="id", time="at")
    told: list[str] = []
    feed = feeds.ChangeFeed("debezium", key="id", time="at", on_fault=told.append)
    found = [feed.push(lines), feed.push([GOOD % (4, 8, 12)])]
    assert [row[0] for row in net(*found)] == [2, 3, 4]
    assert feed.faults == len(told) == 1
    assert told[0].startswith("line 2: ")
    dropping = feeds.ChangeFeed("debezium", key="id", time="at", on_fault="drop")
    dropping.push(lines)
    assert dropping.faults == 1


def test_bytes_that_an_enemy_has_turned_end_no_feed() -> None:
    random_ = random.Random(7)
    faults = 0
    for number in range(80):
        name = ("debezium", "maxwell", "wal2json")[number % 3]
        of, messages = next(histories.of_format(name, random_))
        lines = [bytearray(line.encode()) for line in messages]
        for line in random_.choices(lines, k=3) if lines else ():
            at = random_.randrange(len(line))
            line[at : at + random_.randrange(3)] = random_.choice([b"", b"null", b"{", b'"', b"1", b"\xff", b"[]", b" ", b"}"])
        facts = {"placed": "created_at", "paid": "paid_at"}
        feed = feeds.ChangeFeed(name, key=of.key, facts=facts, on_fault="drop")
        feed.push([b"null", *map(bytes, lines)])
        faults += feed.faults
    assert faults > 80


def test_a_refused_call_leaves_a_feed_as_it_was() -> None:
    feed = feeds.ChangeFeed("debezium", key="id", time="at")
    with pytest.raises(ChangeError, match="line 2"):
        feed.push([GOOD % (1, 5, 1), "{"])
    assert net(feed.push([GOOD % (1, 5, 1)])) == [(1, 5, 1.5, "x", 5)]
    with pytest.raises(ChangeError, match="line 2"):
        feed.push(["{"])


def test_a_refused_call_teaches_no_types() -> None:
    other = {"id": "a", "at": "2026-01-01T10:00:00", "p": "x", "more": True}
    lines = [debezium("c", 1, None, other | {"id": 1}), debezium("c", 1, None, other | {"id": 1, "p": "y"})]
    for refused in ([debezium("c", 1, None, other), "{"], lines, [debezium("c", 1, None, other) + "}"]):
        feed = feeds.ChangeFeed("debezium", key="id", time="at")
        for held in (0, 1):
            if held:
                assert feed.push([GOOD % (8, 5, 1)]).column_names == ["id", "at", "p", "n", "le", "diff"]
            with pytest.raises(ChangeError):
                feed.push(refused)
            found = feed.push([GOOD % (9, 5, 1)])
            assert found.column_names == ["id", "at", "p", "n", "le", "diff"]
            feed = feeds.ChangeFeed("debezium", key="id", time="at")


def test_what_one_key_and_version_say_twice_must_agree() -> None:
    lines = [GOOD % (1, 5, 1), GOOD % (1, 6, 1)]
    with pytest.raises(ChangeError, match="line 2: expected one content for id=1"):
        feeds.debezium(lines, key="id", time="at")
    told: list[str] = []
    feed = feeds.ChangeFeed("debezium", key="id", time="at", on_fault=told.append)
    assert len(feed.push(lines)) == 1
    assert len(told) == 1
    assert told[0].startswith("line 2: expected one content for id=1 but got another, {")


def test_deletes_before_inserts_tombstones_and_truncations() -> None:
    old, new = {"id": 1, "at": 5}, {"id": 1, "at": 6}
    feed = feeds.ChangeFeed("debezium", key="id", time="at")
    assert net(feed.push([debezium("d", 2, old), "null", debezium("c", 1, None, old)])) == []
    found = feed.push([debezium("r", 3, None, new), debezium("c", 4, None, {"id": 2, "at": 7})])
    assert net(found) == [(1, 6, 6), (2, 7, 7)]
    emptied = feed.push([debezium("t", 5), debezium("c", 6, None, {"id": 3, "at": 8})])
    assert net(found, emptied) == [(3, 8, 8)]
    assert net(feed.push([debezium("u", 4, None, {"id": 9, "at": 9})])) == []  # from before it


def test_a_change_of_key_takes_the_old_row_out() -> None:
    moved = debezium("u", 2, {"id": 1, "at": 5}, {"id": 7, "at": 5})
    for lines in ([debezium("c", 1, None, {"id": 1, "at": 5}), moved], [moved, debezium("c", 1, None, {"id": 1, "at": 5})]):
        assert net(feeds.debezium(lines, key="id", time="at")) == [(7, 5, 5)]


def test_keys_and_values_as_kafka_has_them() -> None:
    pairs = [(b'{"id": 1}', b'{"op": "c", "after": {"id": 1, "at": 5}, "source": {"lsn": 1}}'), (b'{"id": 1}', None)]
    pairs += [(b'{"id": 2}', b'{"op": "d", "before": null, "source": {"lsn": 3}}')]
    pairs += [(b'{"id": 2}', b'{"op": "c", "after": {"id": 2, "at": 5}, "source": {"lsn": 2}}')]
    assert net(feeds.debezium(pairs, time="at")) == [(1, 5, 5)]  # the key is the message's
    frame = pd.DataFrame(pairs, columns=["key", "value"])
    assert net(feeds.debezium(frame, time="at")) == [(1, 5, 5)]
    with pytest.raises(AfaError, match="expected key="):
        feeds.debezium([GOOD % (1, 5, 1)], time="at")


def test_types_are_those_of_the_schema() -> None:
    names = {"day": "Date", "ms": "Timestamp", "us": "MicroTimestamp", "zoned": "ZonedTimestamp"}
    fields = [
        {"field": name, "type": "string" if name == "zoned" else "int64", "name": f"io.debezium.time.{kind}"}
        for name, kind in names.items()
    ]
    decimal = {"field": "price", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    row = [{"field": "id", "type": "int32"}, {"field": "x", "type": "double"}, decimal, *fields]
    schema = {"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": row}]}
    after = {"id": 1, "x": 3, "price": "BNI=", "day": 1, "ms": 2, "us": 3, "zoned": "2024-03-31T10:00:00+02:00"}
    body = {"op": "c", "after": after, "source": {"lsn": 1}}
    table = feeds.debezium([json.dumps({"schema": schema, "payload": body})], key="id", time="zoned")
    assert [str(table.schema.field(name).type) for name in names] == [
        "date32[day]",
        "timestamp[ms]",
        "timestamp[us]",
        "timestamp[ns, tz=UTC]",
    ]
    found = table.to_pylist()[0]
    assert (found["price"], found["x"], found["le"]) == (Decimal("12.34"), 3.0, datetime(2024, 3, 31, 8, tzinfo=timezone.utc))


def test_tables_of_columns_and_files(tmp_path: Path) -> None:
    row = {"id": 1, "at": 5}
    structs = pa.table(
        {"op": ["c"], "before": pa.array([None], pa.struct([("id", pa.int64())])), "after": [row], "source": [{"lsn": 1}]}
    )
    texts = pd.DataFrame({"op": ["c"], "after": [json.dumps(row)], "source": ['{"lsn": 1}']})
    (tmp_path / "orders.jsonl").write_text(debezium("c", 1, None, row) + "\n\n" + debezium("u", 2, None, row | {"at": 6}) + "\n")
    for given in (structs, texts, debezium("c", 1, None, row).encode(), [json.loads(debezium("c", 1, None, row))]):
        assert net(feeds.debezium(given, key="id", time="at")) == [(1, 5, 5)]
    assert net(feeds.debezium(tmp_path / "orders.jsonl", key="id", time="at")) == [(1, 6, 6)]
    with pytest.raises(ChangeError, match="expected lines, a table or the path of a file"):
        feeds.debezium("no such file", key="id")


def test_times_and_facts() -> None:
    lines = [
        debezium("c", 1, None, {"id": 1, "placed": "2024-03-31T10:00:00", "paid": None}),
        debezium("u", 2, None, {"id": 1, "placed": "2024-03-31T10:00:00", "paid": "2024-03-31T11:00:00"}),
    ]
    feed = feeds.ChangeFeed("debezium", key="id", facts={"order": "placed", "payment": "paid"})
    first, second = feed.push(lines[:1]), feed.push(lines[1:])
    assert [(row["type"], row["le"].hour, row["diff"]) for row in first.to_pylist()] == [("order", 10, 1)]
    assert [(row["type"], row["diff"]) for row in second.to_pylist()] == [("order", -1), ("order", 1), ("payment", 1)]
    assert len(feeds.debezium(lines[:1], key="id", time="paid")) == 0  # it has no time yet
    with pytest.raises(AfaError, match="facts= names no column 'x'"):
        feeds.facts(first, {"a": "x"})
    with pytest.raises(AfaError, match="can't be combined with facts="):
        feeds.ChangeFeed("debezium", time="placed", facts={"order": "placed"})
    stamped = feeds.debezium([json.dumps(json.loads(lines[0]) | {"ts_ms": 1000})], key="id")
    assert stamped["le"].to_pylist() == [datetime(1970, 1, 1, 0, 0, 1)]


def test_several_tables_in_one_stream() -> None:
    said = {"database": "shop", "type": "insert", "ts": 1, "xid": 1}
    names = enumerate(["orders", "users", "orders"])
    lines = [json.dumps(said | {"table": name, "xoffset": i, "data": {"id": i, "at": 5}}) for i, name in names]
    assert net(feeds.maxwell(lines, key="id", time="at", table="orders")) == [(0, 5, 5), (2, 5, 5)]
    assert net(feeds.maxwell(lines, key="id", time="at", table="shop.users")) == [(1, 5, 5)]
    with pytest.raises(ChangeError, match=r"line 2: expected table=, as messages are of 'shop.orders' and 'shop.users'"):
        feeds.maxwell(lines, key="id", time="at")


def test_of_other_tables_no_column_is_read() -> None:
    schema = {"type": "struct", "fields": [{"field": "after", "fields": [{"field": "at", "type": "int64"}]}]}
    schema["fields"][0]["fields"][0]["name"] = "io.debezium.time.Timestamp"
    other = {"op": "c", "after": {"id": "x", "at": 5, "p": [1]}, "source": {"table": "users", "lsn": 1}}
    ours = json.loads(GOOD % (1, 5, 2)) | {"source": {"table": "orders", "schema": "public", "lsn": 2}}
    lines = [json.dumps(each) for each in ({"schema": schema, "payload": other}, {"payload": ours})]
    for table in ("orders", "public.orders"):
        assert net(feeds.debezium(lines, key="id", time="at", table=table)) == [(1, 5, 1.5, "x", 5)]
    change = {"kind": "insert", "table": "orders", "columnnames": ["id", "at"], "columnvalues": [1, 5]}
    other = {"kind": "insert", "table": "users", "columnnames": ["id", "at"], "columnvalues": ["x", [5]]}
    line = json.dumps({"nextlsn": "0/1", "change": [other, change]})
    assert net(feeds.wal2json([line], key="id", time="at", table="orders")) == [(1, 5, 5)]


def test_a_schema_that_says_another_type_of_times_or_decimals_is_told() -> None:
    def line(kind: str | None, scale: str, value: Any, lsn: int) -> str:
        at = {"field": "at", "type": "int64"} | ({} if kind is None else {"name": f"io.debezium.time.{kind}"})
        price = {"field": "p", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": scale}}
        schema = {"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": [at, price]}]}
        after = {"id": lsn, "at": value, "p": "BNI="}
        return json.dumps({"schema": schema, "payload": {"op": "c", "after": after, "source": {"lsn": lsn}}})

    told: list[str] = []
    feed = feeds.ChangeFeed("debezium", key="id", time="at", on_fault=told.append)
    rows = [("Timestamp", "2", 1), ("MicroTimestamp", "2", 2), ("MicroTimestamp", "2", 3), (None, "2", 4), ("Timestamp", "3", 5)]
    found = feed.push([line(kind, scale, 1000, lsn) for kind, scale, lsn in rows])
    assert found["id"].to_pylist() == [1]
    assert [text.partition(":")[0] for text in told] == [f"line {n}" for n in (2, 3, 4, 5)]
    assert "expected io.debezium.time.Timestamp in 'at', as the schemas before have it, but got" in told[0]
    assert feed.push([line("Timestamp", "2", 2000, 6)])["id"].to_pylist() == [6]


def test_decimals_of_which_none_can_be_read_leave_the_type_open() -> None:
    price = {"field": "p", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    schema = {"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": [price]}]}
    told: list[str] = []
    feed = feeds.ChangeFeed("debezium", key="id", time="at", on_fault=told.append)
    for lsn, value in enumerate(("!!", "BNI=")):
        after = {"id": lsn, "at": 5, "p": value}
        found = feed.push([json.dumps({"schema": schema, "payload": {"op": "c", "after": after, "source": {"lsn": lsn}}})])
    assert found["p"].to_pylist() == [Decimal("12.34")]
    assert told == ["line 1: expected decimal128(38, 2) in 'p' but got '!!'"]


def test_versions_that_are_no_ints() -> None:
    rows = pa.table({"id": [1, 1], "at": [1, 2], "op": ["+I", "+U"]})
    later, earlier = "2024-01-01T00:00:01Z", "2024-01-01T00:00:00.5Z"
    for times in ([later, earlier], [later.replace("Z", "+00:00"), later.replace("Z", "+01:00")]):
        found = feeds.changelog(rows.append_column("v", pa.array(times)), key="id", time="at", version="v")
        assert found["at"].to_pylist() == [1]
    with pytest.raises(AfaError, match="expected ints or text as what orders messages but got floats"):
        feeds.changelog(rows.append_column("v", pa.array([9.5, 10.0])), key="id", time="at", version="v")
    found = feeds.changelog(rows.append_column("v", pa.array([2**63 + 1, 9], pa.uint64())), key="id", time="at", version="v")
    assert found["at"].to_pylist() == [1]


def test_versions_order_as_their_parts_do() -> None:
    numbers = [None, -(1 << 63), -(1 << 63) + 1, -10, -9, -1, 0, 1, 9, 10, (1 << 63) - 1]
    for parts in ([numbers, [0] * len(numbers)], [[7] * len(numbers), numbers]):
        found = version_of([pa.array(part, pa.int64()) for part in parts]).to_pylist()
        assert found == sorted(set(found))
    assert (
        version_of([pa.array([(1 << 64) - 1, 0], pa.uint64())]).to_pylist()[1] < version_of([pa.array([1], pa.uint64())])[0].as_py()
    )
    small = [-(1 << 62) + 1, -3, 0, (1 << 62) - 1]
    found = version_of([pa.array(small)], np.array([1, 0, 1, 0])).to_pylist()
    assert found == sorted(found)
    with pytest.raises(
        AfaError, match="expected ints between -4611686018427387904 and 4611686018427387904 as what orders messages"
    ):
        version_of([pa.array([1 << 62])], np.array([1]))


def test_wal2json_without_its_positions_is_told() -> None:
    with pytest.raises(ChangeError, match="line 1: expected a message of wal2json, with include-lsn"):
        feeds.wal2json(['{"action":"I","table":"t","columns":[{"name":"id","type":"int","value":1}]}'], key="id")


def test_rows_with_kinds() -> None:
    delta = pa.table(
        {"id": [7, 7, 7, 8], "at": [5, 5, 6, 9], "_change_type": ["insert", "update_preimage", "update_postimage", "insert"]}
    )
    delta = delta.append_column("_commit_version", pa.array([1, 2, 2, 1]))
    again = pa.concat_tables([delta, delta]).take([6, 1, 3, 0, 2, 5, 4, 7])
    assert net(feeds.delta(again, key="id", time="at")) == [(7, 6, 6), (8, 9, 9)]
    assert net(feeds.delta(delta, time="at")) == [(7, 6, 6), (8, 9, 9)]  # a bag
    flink = pd.DataFrame({"op": ["+I", "-U", "+U"], "id": [1, 1, 1], "at": [5, 5, 6]})
    assert net(feeds.flink(flink, time="at")) == [(1, 6, 6)]
    with pytest.raises(AfaError, match="wants version="):
        feeds.flink(flink, time="at", key="id")
    with pytest.raises(AfaError, match="expected time="):
        feeds.flink(flink)
    with pytest.raises(ChangeError, match=r"line 1: expected a kind of change .* but got 'upsert'"):
        feeds.flink(pd.DataFrame({"op": ["upsert"], "at": [5]}), time="at")
    with pytest.raises(AfaError, match="expected a column of changes, one of _change_type"):
        feeds.changelog(pa.table({"at": [5]}), time="at")


def test_columns_may_come_later_and_ints_become_floats() -> None:
    feed = feeds.ChangeFeed("debezium", key="id", time="at")
    found = [feed.push([debezium("c", 1, None, {"id": 1, "at": 5, "x": 1})])]
    found += [
        feed.push([debezium("u", 2, None, {"id": 1, "at": 5, "x": 1.5, "note": "n"}), debezium("c", 3, None, {"id": 2, "at": 5})])
    ]
    assert [(row["id"], row["x"], row["diff"]) for row in found[1].to_pylist()] == [(1, 1.0, -1), (1, 1.5, 1), (2, None, 1)]


def test_what_goes_out_comes_in_again() -> None:
    changes = pa.table({"card": ["a", "a", "b", "c"], "total": [5, 7, 1, 2], "le": [1, 2, 3, 4], "diff": [-1, 1, 1, -1]})
    out = feeds.to_debezium(changes, id="card")
    assert out["op"].to_pylist() == ["u", "c", "d"]
    assert feeds.to_debezium(changes)["op"].to_pylist() == ["d", "c", "c", "d"]
    assert feeds.upserts(changes, "card").to_pylist() == changes.take([1, 2, 3]).to_pylist()
    for wrong in (changes.to_pandas(), changes.drop_columns(["diff"])):
        with pytest.raises(AfaError, match="expected an Arrow table of changes, with diff, but got"):
            feeds.upserts(wrong, "card")
    for wrong, said in ((changes.to_pandas(), {"paid": "le"}), (changes, {})):
        with pytest.raises(AfaError, match="expected an Arrow table of changes, and facts, but got"):
            feeds.facts(wrong, said)
    for diff, said in (([1, 1, 1, 1], "2 that come, of card='a'"), ([1, -1, -1, -2], "2 that go, of card='c'")):
        for out_of in (feeds.upserts, feeds.to_debezium):
            with pytest.raises(AfaError, match=f"expected one row of an id at a time but got {said}; name more columns"):
                out_of(changes.set_column(3, "diff", pa.array(diff)), "card")
    with pytest.raises(AfaError, match=r"id= names no column 'cart' .* did you mean 'card'"):
        feeds.upserts(changes, "cart")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"format": "debesium"}, "expected a format of debezium, .* did you mean 'debezium'"),
        ({"format": "maxwell", "on_fault": "ignore"}, "expected on_fault="),
    ],
)
def test_what_a_feed_refuses(options: dict[str, Any], said: str) -> None:
    with pytest.raises(AfaError, match=said):
        feeds.ChangeFeed(**options)
    with pytest.raises(AfaError, match="no column 'att' among id, at, p, n; did you mean 'at'"):
        feeds.debezium([GOOD % (1, 5, 1)], key="id", time="att")


def test_a_refused_call_takes_no_rows_and_no_truncation() -> None:
    feed = feeds.ChangeFeed("debezium", key="id", facts={"placed": "at", "paid": "paid"})
    with pytest.raises(AfaError, match="no column 'paid' among id, at"):
        feed.push([debezium("c", 1, None, {"id": 1, "at": 5})])
    found = feed.push([debezium("c", 1, None, {"id": 1, "at": 5, "paid": None})])
    assert found.select(["id", "type", "diff"]).to_pylist() == [{"id": 1, "type": "placed", "diff": 1}]
    feed = feeds.ChangeFeed("debezium", key="id", time="at")
    two = [debezium("c", 11, None, {"id": 2, "at": at}) for at in (5, 6)]
    with pytest.raises(ChangeError, match="expected one content"):
        feed.push([debezium("t", 10), *two])
    assert len(feed.push([debezium("c", 5, None, {"id": 3, "at": 5})])) == 1


def test_rows_of_a_snapshot_of_sql_server() -> None:
    """They have no place in a transaction; what follows has one, in the same call or the next."""
    first = {"op": "r", "after": {"id": 1, "at": 5}, "source": {"commit_lsn": "0000:01:01", "change_lsn": None, "ts_ms": 7}}
    place = {"commit_lsn": "0000:01:02", "change_lsn": "0000:01:03", "event_serial_no": 2, "ts_ms": 9}
    then = {"op": "u", "before": {"id": 1, "at": 5}, "after": {"id": 1, "at": 6}, "source": place}
    first["source"]["event_serial_no"] = None  # type: ignore[index]
    lines = [json.dumps(line) for line in (first, then)]
    for calls in ([[lines[0]], [lines[1]]], [lines], [[lines[1]], [lines[0]]]):
        feed = feeds.ChangeFeed("debezium", key="id", time="at")
        assert net(*(feed.push(call) for call in calls)) == net(feeds.debezium(lines[1:], key="id", time="at"))


def test_a_column_may_be_time_and_version() -> None:
    rows = pa.table({"id": [1, 1], "updated_at": [6, 5], "op": ["+U", "+I"]})
    found = feeds.changelog(rows, key="id", time="updated_at", version="updated_at")
    assert found.to_pylist() == [{"id": 1, "updated_at": 6, "le": 6, "diff": 1}]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()), "string_view"])
def test_text_in_any_form(kind: Any) -> None:
    if kind == "string_view":
        kind = pa.string_view()
    times = ["2026-01-01T00:00:01Z", "2026-01-01T00:00:00.5Z"]
    columns = {"at": pa.array(times).cast(kind), "at_": pa.array(times).cast(kind), "op": pa.array(["+U", "+I"]).cast(kind)}
    found = feeds.changelog(pa.table({"id": [1, 1], **columns}), key="id", time="at", version="at_")
    assert [row["le"].isoformat() for row in found.to_pylist()] == ["2026-01-01T00:00:01+00:00"]


def test_what_only_tells_of_a_match_goes_nowhere() -> None:
    changes = pa.table({"card": ["a", "b"], "le": [1, 2], "diff": [0, 1]})
    assert feeds.to_debezium(changes, "card")["op"].to_pylist() == ["c"]
    assert feeds.upserts(changes, "card").to_pylist() == [{"card": "b", "le": 2, "diff": 1}]
