"""Messages that come twice, in any order, as versions, through Spark's `match`."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from afa import AfaError, Arc, Automaton, Keyed, insert
from tests.ids_oracle import Message, in_force
from tests.spark.test_stream import Files, matches, read, run
from tests.strategies import Seeded

afa_spark = pytest.importorskip("afa.spark", reason='pyspark is not installed: pip install "afa[spark]"')

SCHEMA = "user string, payment string, lsn double, amount int, at timestamp, diff int"
BEGIN = datetime(2026, 3, 2, tzinfo=timezone.utc)
ASKED: dict[str, Any] = {"key": "user", "time": "at", "window": "40 seconds", "diff": "diff", "lateness": "1 hour", "buckets": 2}
ASKED |= {"id": "payment", "on_repeat": "update", "version": "lsn"}


class Payment(NamedTuple):
    amount: int


class First(NamedTuple):
    first: int = 0
    total: int = 0


PAIR = Automaton(
    start="0",
    final={"2"},
    event=Payment,
    register=First(),
    arcs=[
        Arc("0", "1", "amount % 3 == 0", "(e.amount, e.amount)", name="a"),
        Arc("1", "2", "amount % 3 == 1", "(r.first, r.total + e.amount)", name="b"),
        Arc.skip("1", "amount % 3 == 2", name="skip"),
    ],
)


def message(choose: Any) -> Message:
    name, version, le = (choose.one("uvw"), f"p{choose.number(0, 9)}"), choose.number(0, 7) / 4, choose.number(0, 60)
    content = None if choose.chance(20) else (choose.number(0, 8), le)
    return Message(name, version, content, None if content is None and choose.chance(60) else le)


def as_json(m: Message) -> str:
    """A message as a row; a retraction names its event alone."""
    row: dict[str, Any] = {"user": m.id[0], "payment": m.id[1], "lsn": m.version, "diff": -1 if m.content is None else 1}
    if m.le is not None:
        row["at"] = (BEGIN + timedelta(seconds=m.le)).isoformat()
    return json.dumps(row | ({} if m.content is None else {"amount": m.content[0]}))


def expected(messages: list[Message]) -> set[Any]:
    plain, seconds = Keyed(PAIR, key=lambda _: None, window=40), round(BEGIN.timestamp())
    found = []
    for m in sorted(in_force(messages, True), key=lambda m: m.content[1]):
        found += plain.push(insert(Payment(m.content[0]), m.content[1]), key=m.id[0])
    moments = {(c.key, *c.payload, (seconds + c.le) * 1_000_000, (seconds + c.re) * 1_000_000) for c in found}
    assert len(moments) == len(found)
    return moments


def test_messages_come_twice_and_in_any_order(spark: Any, tmp_path: Path) -> None:
    choose, events = Seeded("spark/ids"), Files(tmp_path / "in")
    told: dict[Any, Message] = {}
    stream = []
    for _ in range(160):
        m = message(choose)
        stream.append(told.setdefault((m.id, m.version), m))  # what an id and version says is always the same
    for part in range(2):  # stopped and started again in between
        for at in range(80 * part, 80 * part + 80, 40):
            events.put(list(map(as_json, stream[at : at + 40])))
        changes = read(spark, events, SCHEMA).transform(afa_spark.match(PAIR, name="pay", metrics=True, **ASKED))
        query = run(changes, tmp_path)
    wished = expected(list(told.values()))
    assert len(wished) > 3
    found = spark.read.parquet(str(tmp_path / "changes"))
    assert {row["kind"] for row in found.select("kind").distinct().collect()} == {"match", "metrics"}
    assert found.where("kind = 'match' and diff < 0").count() > 0
    assert matches(afa_spark.current(found.where("kind = 'match'"))) == wished
    last = afa_spark.metrics(found).orderBy("batch").collect()[-2:]
    assert sum(row["ids"] for row in last) == len({m.id for m in told.values()})
    assert sum(row["repeats"] for row in last) > 0
    observed = [progress.observedMetrics["afa pay"]["ids"] for progress in query.recentProgress if progress.observedMetrics]
    assert sum(row["ids"] for row in last) in observed
    history = spark.read.schema(SCHEMA).json(str(events.path)).transform(afa_spark.match(PAIR, **ASKED))
    assert {m.id for m in told.values()} > {m.id for m in told.values() if m.content is not None}
    assert history.where("kind = 'fault'").count() == 0  # with versions a deletion needs no event
    assert matches(history.where("kind = 'match'").drop("diff", "kind", "reason")) == wished
    events.put([as_json(stream[0])])
    other = afa_spark.match(PAIR, name="pay", metrics=True, **ASKED | {"remember": "1 day"})
    with pytest.raises(Exception, match=r"expected the ids \(id=, on_repeat=, version=, remember=\) that the checkpoint was made"):
        run(read(spark, events, SCHEMA).transform(other), tmp_path)


def test_what_is_no_message_is_told(spark: Any) -> None:
    rows = [
        ("u", "p1", 1.0, 3, BEGIN, 1),
        ("u", "p1", 1.0, 6, BEGIN, 1),  # another content
        ("u", None, 1.0, 3, BEGIN, 1),
        (None, "p1", 1.0, None, None, -1),
        ("u", "p2", None, 3, BEGIN, 1),
        ("u", "p2", float("nan"), 3, BEGIN, 1),
        ("u", "p2", 1.0, None, BEGIN, 1),  # an insertion says all
        ("u", "p9", 1.0, None, None, -1),  # its event never comes: no fault, as it has a version
        ("u", "p3", 1.0, 4, BEGIN + timedelta(seconds=9), 1),
    ]
    found = spark.createDataFrame(rows, SCHEMA).coalesce(1).transform(afa_spark.match(PAIR, **ASKED)).collect()
    assert [(row["first"], row["total"]) for row in found if row["kind"] == "match"] == [(3, 7)]
    reasons = sorted(row["reason"] for row in found if row["kind"] == "fault")
    assert len(reasons) == 6
    assert sum("expected one content for user='u', payment='p1' but got another" in reason for reason in reasons) == 1
    assert sum(reason.startswith("expected a key, an id, a version, a time and amount: int but got") for reason in reasons) == 5


def test_without_versions_a_retraction_alone_is_told(spark: Any) -> None:
    rows = [("u", "p1", 3, BEGIN, 1), ("u", "p9", None, None, -1)]
    asked = {name: value for name, value in ASKED.items() if name not in ("on_repeat", "version")}
    found = spark.createDataFrame(rows, "user string, payment string, amount int, at timestamp, diff int")
    (fault,) = found.coalesce(1).transform(afa_spark.match(PAIR, **asked)).where("kind = 'fault'").collect()
    assert "expected an event with user='u', payment='p9'" in fault["reason"]
    assert "got its retraction only" in fault["reason"]


def test_rows_that_are_never_retracted_may_come_twice(spark: Any) -> None:
    rows = [("u", "p1", 3, BEGIN), ("u", "p2", 4, BEGIN + timedelta(seconds=9)), ("u", "p1", 3, BEGIN), ("u", "p1", 6, BEGIN)]
    asked = {name: value for name, value in ASKED.items() if name not in ("diff", "on_repeat", "version")}
    table = spark.createDataFrame(rows, "user string, payment string, amount int, at timestamp").coalesce(1)
    found = table.transform(afa_spark.match(PAIR, **asked)).collect()
    assert [(row["kind"], row["first"], row["total"]) for row in found if row["kind"] == "match"] == [("match", 3, 7)]
    assert [row["kind"] for row in found] == ["match", "fault"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"id": "nothing"}, r"expected a column 'nothing', which id= names, but got the columns user, payment"),
        ({"id": "at"}, r"expected as an id a column of tinyint, .*, string, boolean but got at timestamp: cast it"),
        ({"version": "flag"}, r"expected as a version a column of tinyint, .* but got flag boolean: cast it"),
        ({"version": "nothing"}, r"expected a column 'nothing', which version= names"),
        ({"on_repeat": None}, r"on_repeat="),
        ({"id": None}, r"id="),
        ({"remember": 5}, r"expected a duration such as \"1 day\" but got remember=5"),
    ],
)
def test_columns_that_name_no_event_are_refused(spark: Any, options: dict[str, Any], message: str) -> None:
    rows = spark.createDataFrame([], f"{SCHEMA}, flag boolean")
    with pytest.raises(AfaError, match=message):
        rows.transform(afa_spark.match(PAIR, **ASKED | options))
