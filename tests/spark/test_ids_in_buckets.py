"""Messages in buckets, without Spark: repeated, late, in any order, as versions; saved and lost after each batch, moved."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
import pyarrow as pa
import pytest

from afa import Arc, Automaton, Keyed, Punctuation, SnapshotError, insert
from afa.spark import shared
from afa.spark.bucket import Bucket
from afa.spark.held import stream_of, table_of
from afa.spark.job import Job
from afa.spark.message_options import MessageOptions
from afa.spark.packed_rows import written
from punctuation.time import BEGINNING, FOREVER
from tests.ids_oracle import IdsOracle, Message, Promise
from tests.spark.buckets import Buckets, job_of, net
from tests.strategies import Choices, Seeded

SECOND = 1_000_000
WINDOW = 40 * SECOND
DELAY = 3000  # ms
KINDS: dict[str, tuple[type, Any]] = {"int": (int, int), "float": (float, lambda n: n / 4), "text": (str, str)}


class Order(NamedTuple):
    id: int
    amount: int


class First(NamedTuple):
    first: int = 0
    total: int = 0


ARCS = [
    Arc("0", "1", "amount % 3 == 0", "(e.id, e.amount)", name="a"),
    Arc("1", "2", "amount % 3 == 1", "(r.first, r.total + e.amount)", name="b"),
    Arc.skip("1", "amount % 3 == 2", name="skip"),
]
PAIR = Automaton(start="0", final={"2"}, event=Order, register=First(), arcs=ARCS)


@dataclasses.dataclass
class MessageWorld:
    """Batches of messages, by choice, and the options of their job."""

    choose: Choices
    kind: str | None  # of versions
    rude: bool  # whether messages may be late, and differ where they should not
    remember: int
    beside: bool  # whether the id is a column beside the event's

    def job(self, buckets: int, **more: Any) -> Job:
        asked = {name: kind for name, kind in (("name", str),) if self.beside}
        version = None if self.kind is None else "lsn"
        beside = asked | ({} if self.kind is None else {"lsn": KINDS[self.kind][0]})
        messages = MessageOptions(("name",) if self.beside else ("id",), version, self.remember, beside)
        types = [pa.string(), pa.int64()]
        made = job_of(
            PAIR, ("user", "place"), "40 seconds", key_types=types, buckets=buckets, messages=messages, lifetimes=True, **more
        )
        return made._replace(delay=DELAY)

    def batches(self) -> list[tuple[int, list[Message]]]:
        """Promises, each with the messages behind it."""
        choose, found, came = self.choose, list[tuple[int, list[Message]]](), list[Message]()
        promised = BEGINNING
        for _ in range(choose.number(2, 25)):
            if choose.chance(60):
                promised = max(promised, 0) + choose.number(0, 15) * SECOND
            batch = []
            for _ in range(choose.number(0, 12)):
                batch.append(choose.one(came) if came and choose.chance(30) else self._message(max(promised, 0), came))
                came.append(batch[-1])
            found.append((promised, batch))
        return found

    def _message(self, promised: int, came: list[Message]) -> Message:
        choose = self.choose
        name = (choose.one(["u", "v", "w"]), choose.number(0, 1), choose.number(0, 7))
        version = None if self.kind is None else KINDS[self.kind][1](choose.number(0, 7))
        le = promised + choose.number(-6 if self.rude else 0, 30) * SECOND
        if choose.chance(25):
            return Message(name, version, None, choose.one([None, None, le]))
        re = le + choose.number(1, 50) * SECOND if choose.chance(30) else None
        message = Message(name, version, (choose.number(0, 8), le, re), le)
        if self.rude:
            return message
        same = [m for m in came if (m.id, m.version) == (name, version)]
        if same and self.kind is not None:
            return same[0]
        return next((m for m in same if m.content is not None), message)

    def table(self, batch: list[Message], job: Job) -> pa.Table:
        rows = []
        for m in batch:
            user, place, name = m.id
            row = {"user": user, "place": place, "id": name, "name": f"order {name}", "lsn": m.version, "le": m.le, "re": None}
            row |= {"diff": -1, "amount": None} if m.content is None else {"diff": 1, "amount": m.content[0], "re": m.content[2]}
            if m.content is None and self.beside:
                row["id"] = None
            rows.append(row)
        return pa.Table.from_pylist([{name: row[name] for name in job.rows.names} for row in rows], job.rows)


@pytest.mark.parametrize("number", range(12))
def test_messages_in_buckets(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    choose = Seeded(f"ids/{number}")
    kind = choose.one([None, "int", "float", "text"])
    world = MessageWorld(choose, kind, choose.chance(50), choose.one([0, 0, 7 * SECOND, 10**12]), choose.chance(50))
    buckets = Buckets(world.job(choose.number(1, 3)), choose)
    oracle, plain = IdsOracle(kind is not None, world.remember), Keyed(PAIR, key=lambda _: None, window=WINDOW)
    seen = Counter[str]()
    tables, expected = list[Any](), Counter[Any]()
    for promised, batch in world.batches():
        if choose.chance(10):
            moved = world.job(choose.number(1, 3))
            tables += [table_of(stream_of(written(moved, answer, []))) for answer in buckets.move(moved, oracle.promise)]
        told = len(oracle.told)
        present = FOREVER - 1 if promised == BEGINNING else promised + 1000 * (DELAY + 1)
        if promised > BEGINNING == oracle.promise:  # now there is a time for retractions that said none
            for entry in oracle.known.values():
                entry.until = present if entry.until == FOREVER - 1 else entry.until
        changes = oracle.take(Promise(promised))
        for message in batch:
            changes += oracle.take(message._replace(le=present) if message.le is None else message)
        for message, sign in changes:
            user, place, name = message.id
            amount, le, re = message.content
            event = insert(Order(name, amount), le, re)._replace(diff=sign)
            for found in plain.push(event, key=(user, place)):
                expected[(user, place, *found.payload, found.le, found.re)] += found.diff
        if promised > BEGINNING:
            for found in plain.push(Punctuation(promised)):
                assert isinstance(found, Punctuation)
        answers = buckets.run(world.table(batch, buckets.job), (), promised)
        tables += [table_of(stream_of(written(buckets.job, answer, []))) for answer in answers]
        aside = sum(len(answer.late) + len(answer.faults) for answer in answers)
        wanted = [m for m in oracle.told[told:] if kind is None or m.version is not None]  # with versions a deletion needs no event
        assert aside == len(wanted), (answers, wanted)
        assert net(buckets.job, tables) == {match for match, count in expected.items() if count}
        numbers = [buckets.restored(n).numbers(False) for n in range(buckets.job.buckets)]
        counted = {name: sum(each[name] or 0 for each in numbers) for name in ("ids", "repeats", "superseded")}
        assert counted == {"ids": len(oracle.known), "repeats": oracle.repeats, "superseded": oracle.superseded}
        seen.update(aside=aside, repeats=oracle.repeats, matches=len(+expected))
    assert seen["matches"] or seen["aside"] or seen["repeats"]


def test_damaged_ids_are_refused() -> None:
    choose = Seeded("damaged ids")
    world = MessageWorld(choose, "text", False, 0, True)
    job = world.job(1)
    bucket = Bucket(job, 0)
    rows = world.table([message for _, batch in world.batches() for message in batch], job)
    bucket.run(rows, [], BEGINNING)
    blobs = [bucket.save(False)]
    bucket.run(rows.slice(0, 5), [], 5 * SECOND)
    blobs.append(bucket.save(True))
    assert Bucket(job, 0, blobs).numbers(False) == bucket.numbers(False)
    with pytest.raises(SnapshotError, match="expected the ids"):
        Bucket(job._replace(messages=None, recipe={**job.recipe, "ids": None}), 0, blobs)
    for which, place in ((0, -1), (1, -1), (0, 2)):
        body = msgpack.unpackb(blobs[which])
        for wrong in (b"", b"x", None, blobs[1 - which]):
            torn = [*blobs]
            torn[which] = msgpack.packb([*body[: place % len(body)], wrong, *body[place % len(body) + 1 :]])
            with pytest.raises(SnapshotError):
                Bucket(job, 0, torn)
    for _ in range(400):
        which = choose.number(0, 1)
        blob, torn = blobs[which], [*blobs]
        i = choose.number(0, len(blob) - 1)
        torn[which] = blob[:i] + bytes([blob[i] ^ 1 << choose.number(0, 7)]) + blob[i + 1 :]
        with contextlib.suppress(SnapshotError):
            Bucket(job, 0, torn)
