"""Messages of a database as columns of Spark: net of the rows is the final table, in each format."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import afa
from afa import AfaError
from speculation import Ids
from tests.feeds import histories
from tests.feeds.worlds import MALFORMED, told, wanted_of

afa_spark = pytest.importorskip("afa.spark", reason='pyspark is not installed: pip install "afa[spark]"')

FORMATS = ("debezium", "wal2json", "maxwell", "changelog")
FACTS = {"placed": "created_at", "paid": "paid_at"}
NAMES = ("world", "region", "id", "amount", "note", "good", "created_at", "paid_at")


class Written(NamedTuple):
    """A history's messages, in any order and some of them twice; histories that are read by equal options go together."""

    asked: tuple[Any, ...]  # format, version, whether times are text, whether rows are events by facts, the columns of kinds
    key: tuple[str, ...]
    messages: list[Any]
    malformed: int
    final: list[dict[str, Any]]


def written(format: str, world: int, choose: random.Random) -> Written:
    of = histories.history(choose, False, within=format != "changelog")
    mine = {"world": world}
    entries = [e._replace(before=e.before and mine | e.before, after=e.after and mine | e.after) for e in of.entries]
    of = of._replace(key=("world", *of.key), entries=entries, final=[mine | row for row in of.final])
    messages: list[Any] = getattr(histories, format)(of, choose)
    while format == "changelog" and any("op" in row for row in messages):
        messages = histories.changelog(of, choose)
    version: Any = ()
    if format == "debezium":
        messages = [_value(line) for line in messages]
        sources = [line.get("payload", line)["source"] for line in map(json.loads, messages) if line]
        source = sources[0] if sources else {}
        ordered = any(json.loads(line) and json.loads(line).get("payload", json.loads(line))["transaction"] for line in messages)
        version = ("source.file", "source.pos", "source.row") if "file" in source else () if "lsn" in source else ("source.ts_ms",)
        version = ("source.ts_ms", "transaction.total_order") if ordered else version
    kinds = tuple(sorted({name for row in messages for name in row if name.startswith("_")})) if format == "changelog" else ()
    messages += choose.choices(messages, k=choose.randrange(len(messages) + 1)) if messages else []
    choose.shuffle(messages)
    malformed = 0 if format == "changelog" else choose.randrange(3)
    messages += choose.choices(MALFORMED, k=malformed)
    return Written((format, version, of.text_times, choose.random() < 0.5, kinds), of.key, messages, malformed, of.final)


def _value(line: str) -> str:
    """The value of a message of Kafka; a deletion says its key."""
    found = json.loads(line)
    if not found or "value" not in found:
        return line
    value, key = found["value"], found["key"]
    if value is not None:
        body = value.get("payload", value)
        if body["op"] == "d" and body["before"] is None:
            body["before"] = (key or {}).get("payload", key)
    return json.dumps(value)


def rows_of(spark: Any, all_: list[Written]) -> Any:
    """What Spark makes of the messages of histories that are read by the same options."""
    (format, version, text_times, facts, kinds), key, _, _, _ = all_[0]
    time = "timestamp" if text_times and format != "changelog" else "string" if text_times else "bigint"
    types = ["bigint", "string", "string", "double", "string", "boolean", time, time]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(NAMES, types))
    asked: dict[str, Any] = {"facts": FACTS} if facts else {"time": "created_at"}
    asked |= {"tick": None if text_times else "ms", "version": version or None, "key": key}
    if format == "changelog":
        more = [
            (name, "string" if name in ("_change_type", "_hoodie_operation", "_hoodie_commit_time") else "bigint") for name in kinds
        ]
        columns += "".join(f", {name} {kind}" for name, kind in more)
        lines = [(json.dumps(row),) for each in all_ for row in each.messages]
        frame = spark.createDataFrame(lines, "value string").selectExpr(f"from_json(value, '{columns}') as row").select("row.*")
        return frame.transform(afa_spark.feed("changelog", **asked))
    lines = [(line,) for each in all_ for line in each.messages]
    return spark.createDataFrame(lines, "value string").transform(afa_spark.feed(format, columns=columns, **asked))


def check(spark: Any, all_: list[Written]) -> Counter[str]:
    """The rows in force are those of the final tables, and malformed messages are told."""
    (format, _, _, facts, _), key, _, _, _ = all_[0]
    found = rows_of(spark, all_).toArrow()
    ids = (*key, *(["type"] if facts else []))
    faults = [row for row in found.to_pylist() if row["fault"] is not None]
    assert len(faults) == sum(each.malformed for each in all_), faults[:5]
    assert all(row["diff"] is None and row["fault"].startswith("expected ") for row in faults)
    net = Counter[Any]()
    for row in changes(found, ids).to_pylist():
        del row["version"]
        net[_told(row)] += row["diff"]
    wanted = Counter[Any]()
    for each in all_:
        for row in each.final:
            for event in wanted_of(row, None if facts else "created_at", FACTS):
                wanted[_told(dict(event) | {"le": dict(event)["le"] * 1000})] += 1
    assert +net == wanted, (list((+net - wanted).items())[:3], list((wanted - +net).items())[:3])
    assert min(net.values(), default=0) >= 0
    return Counter({format: len(all_), "rows": len(found), "events": sum(wanted.values()), "malformed": len(faults)})


def changes(found: pa.Table, ids: tuple[str, ...]) -> pa.Table:
    """What the rows of a feed change."""
    sound = found.filter(pa.compute.is_null(found["fault"])).drop_columns(["fault"])
    at = sound["le"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    sound = sound.set_column(sound.column_names.index("le"), "le", at)
    return Ids(ids, on_repeat="update", version="version").push_many(sound)


def _told(row: dict[str, Any]) -> Any:
    return told({name: str(value) if name == "id" else value for name, value in row.items()} | {"diff": 0})


def groups(format: str, numbers: range) -> list[list[Written]]:
    found = defaultdict(list)
    for number in numbers:
        each = written(format, number, random.Random(f"{format} {number}"))
        found[each.asked, each.key].append(each)
    return list(found.values())


@pytest.mark.parametrize("format", FORMATS)
def test_histories_of_a_table(spark: Any, format: str) -> None:
    seen = Counter[str]()
    for all_ in groups(format, range(24))[:2]:
        seen += check(spark, all_)
    assert seen["events"] > 3


ORDERS = "id bigint, card string, total double, placed_at timestamp, paid_at timestamp"
QUICK = (
    "PATTERN SEQ(placed a, paid b) WHERE skip_till_next_match(a, b) { [card] AND a.id = b.id } WITHIN 1 hour RETURN a.id, b.total"
)


def order(op: str, lsn: Any, before: Any = None, **after: Any) -> dict[str, Any]:
    def row(said: Any) -> Any:
        return said and {"total": 40.0, "placed_at": "2026-03-02T10:00:00Z", "paid_at": None, **said}

    return {"op": op, "before": row(before), "after": row(after or None), "source": {"lsn": lsn, "table": "orders", "ts_ms": 5}}


HISTORY = [
    order("u", 150, {"id": 7, "card": "a"}, id=7, card="a", paid_at="2026-03-02T10:20:00Z"),
    order("r", None, id=7, card="a"),  # of a snapshot
    order("u", 170, {"id": 8, "card": "a"}, id=8, card="b", paid_at="2026-03-02T10:30:00Z"),  # to another card
    order("c", 160, id=8, card="a"),
    order("c", 180, id=9, card="b", paid_at="2026-03-02T10:40:00Z"),
    order("d", 190, {"id": 9, "card": "b", "paid_at": "2026-03-02T10:40:00Z"}),
    order("u", 150, {"id": 7, "card": "a"}, id=7, card="a", paid_at="2026-03-02T10:20:00Z"),
]
WRONG = [
    (order("q", 200, id=1, card="a"), "expected an operation of c, r, u, d but got q"),
    (order("t", 200), "expected changes of rows but got a truncation (t)"),
    (order("c", None, id=1, card="a"), "expected an order (of the format) but got none"),
    (order("c", 200), "expected a row in 'after' but got none"),
    (order("c", 200, id=None, card="a"), "expected a value of the key 'id' but got none"),
    (order("c", 200, id="x", card="a"), "expected bigint in 'id' but got another value"),
    (order("c", 200, id=1.5, card="a"), "expected bigint in 'id' but got another value"),
    (order("c", 200, id=1, card="a", paid_at=17), "expected timestamp in 'paid_at' but got another value"),
    (order("c", 200, id=1, card="a", paid_at="soon"), "expected timestamp in 'paid_at' but got another value"),
]


def test_orders_of_a_database_are_matched(spark: Any) -> None:
    lines = [json.dumps(each) for each in HISTORY] + ["nonsense", "null", ""] + [json.dumps(each) for each, _ in WRONG]
    facts = {"placed": "placed_at", "paid": "paid_at"}
    rows = spark.createDataFrame([(line,) for line in lines], "value string").transform(
        afa_spark.feed("debezium", columns=ORDERS, key=("card", "id"), facts=facts)
    )
    event = pa.schema([("type", pa.string()), ("id", pa.int64()), ("card", pa.string()), ("total", pa.float64())])
    query = afa.query(QUICK, event=event, tick="us")
    asked = {"time": "le", "diff": "diff", "id": ("id", "type"), "on_repeat": "update", "version": "version"}
    found = rows.transform(afa_spark.match(query, **asked)).collect()
    assert sorted((row["card"], row["a_id"], row["b_total"]) for row in found if row["kind"] == "match") == [
        ("a", 7, 40.0),
        ("b", 8, 40.0),
    ]
    reasons = [row["reason"] for row in found if row["kind"] == "fault"]
    assert len(reasons) == len(WRONG) + 1
    for text in ("expected a message in JSON but got another text: nonsense", *(text for _, text in WRONG)):
        assert any(reason.startswith(text) for reason in reasons), (text, reasons)


def test_columns_of_debezium_are_read_as_they_are(spark: Any) -> None:
    row = f"struct<{ORDERS}>"
    kind = f"op string, before {row}, after {row}, source struct<lsn bigint, `table` string, ts_ms bigint>"
    lines = spark.createDataFrame([(json.dumps(each),) for each in HISTORY], "value string")
    frame = lines.selectExpr(f"from_json(value, '{kind}') as row").select("row.*")
    asked: dict[str, Any] = {"key": ("card", "id"), "time": "placed_at"}
    one = lines.transform(afa_spark.feed("debezium", columns=ORDERS, **asked)).collect()
    assert frame.transform(afa_spark.feed("debezium", **asked)).collect() == one
    texts = frame.transform(afa_spark.feed("debezium", version=("source.ts_ms", "source.lsn"), **asked)).select("version").collect()
    assert [each["version"].split() for each in texts][:2] == [["5", "150"], ["5"]]
    assert lines.transform(afa_spark.feed("debezium", columns=ORDERS, table="others", **asked)).collect() == []
    assert len(lines.transform(afa_spark.feed("debezium", columns=ORDERS, table="orders", **asked)).collect()) == len(one)


@pytest.mark.parametrize(("tick", "said"), [("s", 1_790_000_000), ("ms", 1_790_000_000_123), ("ns", 1_790_000_000_123_456_789)])
def test_ints_are_times_by_their_tick(spark: Any, tick: str, said: int) -> None:
    lines = spark.createDataFrame([(json.dumps(order("c", 5, id=1, placed_at=said)),)], "value string")
    asked: dict[str, Any] = {"columns": "id int, placed_at bigint", "key": "id", "time": "placed_at", "tick": tick}
    [(micros,)] = lines.transform(afa_spark.feed("debezium", **asked)).selectExpr("unix_micros(le)").collect()
    assert micros == said * {"s": 10**6, "ms": 10**3, "ns": 1}[tick] // {"s": 1, "ms": 1, "ns": 1000}[tick]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "debezum"}, r"expected a format of debezium, .* but got 'debezum'; did you mean 'debezium'"),
        ({"facts": {"paid": "paid_at"}}, r"time='placed_at' can't be combined with facts="),
        ({"tick": "min"}, r"expected tick= as one of s, ms, us, ns but got 'min'"),
        ({"columns": "id"}, r"expected columns="),
        ({"columns": None}, r"expected columns=\"id bigint, ..\", those of a row and their types"),
        ({"columns": "id array<int>, card string, placed_at timestamp"}, r"expected columns of .* but got id array<int>"),
        (
            {"columns": "id int, card string, placed_at timestamp, diff int"},
            r"expected a row without a column 'diff', which is made",
        ),
        ({"columns": "id int, card string, placed_at bigint"}, r"expected tick=\"ms\", what an int counts"),
        ({"key": "number"}, r"key= names no column 'number' among id, card"),
        ({"time": "at"}, r"time= names no column 'at' among id, card"),
        ({"format": "delta"}, r"expected a column of changes, one of _change_type"),
    ],
)
def test_a_feed_that_can_not_be_read_is_refused(spark: Any, options: dict[str, Any], message: str) -> None:
    asked: dict[str, Any] = {"format": "debezium", "columns": ORDERS, "key": ("card", "id"), "time": "placed_at", **options}
    if "key" in options or "columns" in options:
        asked["key"] = options.get("key", "id")
    with pytest.raises(AfaError, match=message):
        spark.createDataFrame([], "value string").transform(afa_spark.feed(asked.pop("format"), **asked))


def in_force(spark: Any, messages: list[Any], ids: tuple[str, ...] = ("id",), format: str = "debezium", **asked: Any) -> list[Any]:
    """What the messages leave in force: ids and, where there is one, x; and the faults."""
    lines = [(json.dumps(each),) for each in messages]
    found = spark.createDataFrame(lines, "value string").transform(afa_spark.feed(format, **asked)).toArrow()
    net = Counter[Any]()
    for row in changes(found, ids).to_pylist():
        net[tuple(row.get(name) for name in (*ids, "x") if name in row)] += row["diff"]
    return [*sorted(+net, key=repr), *(row["fault"] for row in found.to_pylist() if row["fault"] is not None)]


T, P = "2026-03-02T10:00:00Z", "2026-03-02T10:20:00Z"


def deb(op: str, version: Any, before: Any, after: Any) -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "source": version if isinstance(version, dict) else {"lsn": version}}


def test_what_a_message_does_not_say_may_have_been_there(spark: Any) -> None:
    """A row before that says some columns only; rows without one; snapshots; keys that change."""
    asked = {"key": "id", "time": "at", "columns": "id bigint, region string, at timestamp"}
    insert = {"id": 1, "region": "eu", "at": T}
    assert in_force(spark, [deb("c", 1, None, insert), deb("d", 2, {"id": 1, "region": "eu"}, None)], **asked) == []
    assert in_force(spark, [deb("c", 1, None, insert), deb("u", 2, None, insert | {"at": None})], **asked) == []
    facts: dict[str, Any] = {"key": ("card", "id"), "facts": {"placed": "placed_at", "paid": "paid_at"}}
    facts["columns"] = "id bigint, card string, placed_at timestamp, paid_at timestamp"
    row = {"id": 7, "card": "a", "placed_at": T, "paid_at": None}
    ids = ("card", "id", "type")
    paid = deb("u", 150, None, row | {"paid_at": P})
    assert in_force(spark, [paid, deb("r", 200, None, row)], ids, **facts) == [("a", 7, "placed")]
    moved = [deb("c", 100, None, row | {"paid_at": P}), deb("u", 150, row | {"paid_at": P}, row | {"card": "b"})]
    assert in_force(spark, moved, ids, **facts) == [("b", 7, "placed")]
    kinds = "op string, v bigint, id bigint, at timestamp"
    lines = spark.createDataFrame([("+I", 1, 7, None)], kinds).selectExpr("op", "v", "id", f"timestamp '{T}' as at")
    lines = lines.union(spark.createDataFrame([("+U", 2, 7, None)], kinds))
    found = lines.transform(afa_spark.feed("flink", key="id", time="at", version="v")).toArrow()
    assert [row["diff"] for row in changes(found, ("id",)).to_pylist()] == [1, -1]


def test_versions_of_messages(spark: Any) -> None:
    """Long texts, what is no int, what is too large."""
    asked: dict[str, Any] = {"key": "id", "time": "at", "columns": "id bigint, x bigint, at timestamp"}

    def two(one: Any, other: Any, **more: Any) -> list[Any]:
        rows = [deb("c", one, None, {"id": 1, "x": 5, "at": T}), deb("u", other, None, {"id": 1, "x": 7, "at": T})]
        return in_force(spark, rows, **asked, **more)

    g = "3E11FA47-71CA-11E1-9E33-C80AA9429562:"
    assert two({"gtid": f"{g}12345"}, {"gtid": f"{g}12346"}, version="source.gtid") == [(1, 7)]
    assert two({"at": "2026-03-02T10:00:00.500Z"}, {"at": "2026-03-02T10:00:01Z"}, version="source.at") == [(1, 7)]
    for bad in (9.53, -10, True, [1]):
        assert two({"n": 10}, {"n": bad}, version="source.n")[0] == (1, 5)
        assert "expected an order (source.n) but got none" in two({"n": 10}, {"n": bad}, version="source.n")[1]
    assert "expected an order (of the format) but got none" in two({"lsn": 1}, {"lsn": 5.7})[1]
    large = [deb("c", {"lsn": 1, "ts_ms": 2**62}, None, {"id": 1, "x": 5, "at": T})]
    [fault] = in_force(spark, large, key="id", columns="id bigint, x bigint")
    assert fault.startswith("expected the time of the message but got none")


def test_names_and_values_that_are_not_plain(spark: Any) -> None:
    for name in ("it's", "b\\s", 'a"b', "a.b"):
        asked: dict[str, Any] = {"key": name, "time": "at", "columns": f"`{name}` bigint, at timestamp"}
        assert in_force(spark, [deb("c", 1, None, {name: 1, "at": T})], (name,), **asked) == [(1,)]

    def found(kind: str, value: Any) -> Any:
        columns = f"id int, x {kind}, at timestamp"
        [one] = in_force(spark, [deb("c", 1, None, {"id": 1, "x": value, "at": T})], key="id", time="at", columns=columns)
        return one

    for kind, bad in (("decimal(10,2)", 12.345), ("double", 2**53 + 1), ("date", "2026-03-02T23:00:00Z"), ("timestamp", "10:00")):
        assert found(kind, bad).startswith(f"expected {kind} in 'x' but got another value")
    for kind, good in (("decimal(10,2)", 12.34), ("double", 2.5), ("double", 7), ("date", "2026-03-02"), ("string", "q")):
        assert found(kind, good)[0] == 1
