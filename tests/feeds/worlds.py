"""Random histories of a table in each format, out of order and with repeats: net of the changes is the final table.

A query over the feed finds what it finds over the final table.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

import afa
from afa import feeds
from tests.feeds import histories
from tests.worlds.kind import Worlds

FORMATS = ("debezium", "wal2json", "maxwell", "changelog")
MALFORMED = (
    '{"op":',
    "[1,2]",
    '"x"',
    "nonsense",
    '{"a":1,"a":2}',
    '{"x":' * 5000 + "1" + "}" * 5000,
    '{"n":1e999}',
    "7",
    '{"b":"\\ud800"}',
)
"""Lines that are no message of any format."""


class World(NamedTuple):
    """Messages in the order of arrival, and what they must come to."""

    format: str
    key: tuple[str, ...]
    time: str | None
    messages: list[Any]
    calls: tuple[int, ...]
    malformed: int
    final: list[dict[str, Any]]
    as_table: bool


def generate(seed: str, number: int) -> World:
    random_ = random.Random(f"{seed} {number}")
    name = FORMATS[number % len(FORMATS)]
    of, messages = next(histories.of_format(name, random_))
    bag = name == "changelog" and any("op" in row for row in messages)
    if not bag:
        messages += random_.choices(messages, k=random_.randrange(len(messages) + 1)) if messages else []
    if random_.random() < 0.7:
        random_.shuffle(messages)
    as_table = name == "changelog" and random_.random() < 0.5
    malformed = 0
    if name == "changelog" and not as_table:
        messages = [json.dumps(row) for row in messages]
    if not as_table and random_.random() < 0.3:
        malformed = random_.randrange(4)
        for _ in range(malformed):
            messages.insert(random_.randrange(len(messages) + 1), random_.choice(MALFORMED))
    calls = tuple(sorted(random_.randrange(len(messages) + 1) for _ in range(random_.randrange(3))))
    time = None if random_.random() < 0.5 else "created_at"
    return World(name, () if bag else of.key, time, messages, calls, malformed, of.final, as_table)


def check(world: World, _: Any) -> dict[str, int]:
    facts = {"placed": "created_at", "paid": "paid_at"}
    asked: dict[str, Any] = {"facts": facts} if world.time is None else {"time": world.time}
    faults: list[str] = []
    feed = feeds.ChangeFeed(world.format, key=world.key or None, on_fault=faults.append, **asked)
    changes = []
    for begin, end in zip((0, *world.calls), (*world.calls, len(world.messages))):
        part = world.messages[begin:end]
        changes.append(feed.push(pa.Table.from_pylist(part, schema_of(world)) if world.as_table else part))
    assert feed.faults == world.malformed, (world.malformed, faults)
    net = Counter[Any]()
    for table in changes:
        for row in table.to_pylist():
            net[told(row)] += row["diff"]
    wanted = Counter(each for row in world.final for each in wanted_of(row, world.time, facts))
    assert +net == wanted, (+net - wanted, wanted - +net)
    assert min(net.values(), default=0) >= 0
    return {world.format: 1, "calls": len(changes), "malformed": world.malformed, "matches": _query(world, changes, wanted)}


def _query(world: World, changes: list[pa.Table], wanted: Counter[Any]) -> int:
    """How many matches there are; those of the feed are those of the final table."""
    if world.time is not None:
        return 0

    def events(rows: Any) -> pa.Table:
        columns = [("type", pa.string()), ("id", pa.string()), ("le", pa.int64()), ("diff", pa.int64())]
        return pa.Table.from_pylist([row | {"id": str(row["id"]), "le": ticks(row["le"])} for row in rows], pa.schema(columns))

    query = afa.query(
        "PATTERN SEQ(placed p, paid q) WHERE skip_till_any_match(p, q) { p.id = q.id } WITHIN 100 s RETURN p.id",
        event=events([]).schema,
        tick="ms",
    )
    found = Counter[Any]()
    operator = afa.Operator(query)
    for table in changes:
        for row in operator.push_many(events(table.to_pylist())).to_pylist():
            found[tuple(row[name] for name in row if name != "diff")] += row["diff"]
    final = [dict(row) | {"diff": n} for row, n in wanted.items()]
    there = afa.Operator(query).push_many(events([row for row in final for _ in range(1)])).to_pylist()
    assert +found == Counter(tuple(row[name] for name in row if name != "diff") for row in there)
    return len(there)


def ticks(value: Any) -> Any:
    """A time as milliseconds."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value.replace("Z", "+00:00"))
    return value if value is None or isinstance(value, int) else int(value.timestamp() * 1000)


def told(row: dict[str, Any]) -> Any:
    """A row as a set of its values: times as milliseconds, without what is null."""
    times = ("created_at", "paid_at", "le")
    values = {name: ticks(value) if name in times else value for name, value in row.items()}
    return tuple(sorted((name, value) for name, value in values.items() if name != "diff" and value is not None))


def wanted_of(row: dict[str, Any], time: str | None, facts: dict[str, str]) -> Iterator[Any]:
    """The events that a row of the final table says."""
    if time is not None:
        yield from [] if row[time] is None else [told(row | {"le": row[time]})]
        return
    for name, column in facts.items():
        if row[column] is not None:
            yield told(row | {"type": name, "le": row[column]})


def schema_of(world: World) -> pa.Schema:
    """The schema of a world's rows; a column that is null in each of them has a type, too."""
    first: dict[str, Any] = {name: 0 if name.endswith("_at") else "" for row in world.messages for name in row}
    first |= {name: value for row in world.messages for name, value in row.items() if value is not None}
    return pa.schema([(name, pa.float64() if name == "amount" else pa.array([value]).type) for name, value in first.items()])


def smaller(world: World) -> Iterator[World]:
    for i in range(len(world.calls)):
        yield world._replace(calls=world.calls[:i] + world.calls[i + 1 :])


WORLDS = Worlds("feeds", generate=generate, check=check, smaller=smaller, engines=(None,))
