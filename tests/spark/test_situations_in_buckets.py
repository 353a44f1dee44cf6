"""A temporal pattern in buckets that are lost after each batch: the net output is what one operator of the pattern says."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
import pyarrow as pa
import pytest

from afa import FOREVER, AfaError, Instant, Punctuation, SnapshotError
from afa.change import Change
from afa.operator.options import Options
from afa.operator.snapshot import plain, unplain
from afa.situations import Derive, Situation, TemporalPattern
from afa.spark import shared
from afa.spark.bucket import Bucket, BucketState
from afa.spark.job import BucketAnswer, Job
from afa.spark.pattern_said import said_of
from punctuation.time import BEGINNING
from tests.spark.buckets import Buckets, job_of
from tests.strategies import Choices, Seeded

KEYS = 3


class Reading(NamedTuple):
    who: int
    speed: int
    wet: bool
    x: float | None
    at: Instant | None = None


CONDITIONS = ("speed > 3", "wet", "speed > 1 and not wet", "x is not None and x > 0.5")
RELATIONS = ("before|meets|overlaps|during|starts|after|contains", "overlaps|overlapped_by|during|starts|contains|finishes|met_by")


def pattern_of(choose: Choices, conditions: list[str] | None = None) -> TemporalPattern:
    names = ["a", "b", "c"][: choose.one([2, 2, 3])]
    first = choose.number(0, 3)
    conditions = [CONDITIONS[(first + i) % 4] for i in range(3)] if conditions is None else conditions
    situations: dict[str, Any] = {}
    for name, condition in zip(names, conditions):
        bounds: dict[str, Any] = {}
        if choose.chance(50):
            bounds["at_least"] = choose.number(1, 3)
        if choose.chance(20):
            bounds["at_most"] = choose.number(4, 9)
        situations[name] = Situation(condition, **bounds)
    where = " and ".join(f"{one} {choose.one(RELATIONS)} {other}" for one, other in pairwise(names))
    returns = {"n": "count(a)", "top": "max(b.speed)", "mean": "avg(a.x)"} if choose.chance(50) else {}
    return TemporalPattern(event=Reading, within=choose.number(15, 40), key="who", where=where, returns=returns, **situations)


def job(pattern: TemporalPattern, buckets: int = 1, order_by: str | None = None, ahead: int | None = None, **more: Any) -> Job:
    automaton, said, asked, _ = said_of(pattern, Options(order_by=order_by))
    speculation = None if ahead is None else timedelta(microseconds=ahead)
    options = {"on_fault": "report", "asked": asked, "speculation": speculation, **more}
    return job_of(automaton, said.key, said.window, said.order_by, buckets, key_types=[pa.int64()], **options)


def rows_of(here: Job, changes: list[Change]) -> pa.Table:
    rows = [{**c.payload._asdict(), "at": c.le, "le": c.le, "re": c.re, "diff": c.diff} for c in changes]
    return pa.Table.from_pylist([{name: row[name] for name in here.schema.names} for row in rows], here.schema)


class PatternBuckets(Buckets):
    """The buckets of a temporal pattern, and the net output by what they say."""

    choose: Choices

    def __init__(self, pattern: TemporalPattern, choose: Choices, lifetimes: bool) -> None:
        self.pattern, self.lifetimes, self.ahead = pattern, lifetimes, choose.one([None, None, 0, 3])
        super().__init__(self.job_of(choose.number(1, 3)), choose)
        self.net: Counter[Any] = Counter()
        self.late, self.promised = 0, BEGINNING
        self.told: list[str] = []

    def job_of(self, buckets: int) -> Job:
        return job(self.pattern, buckets, ahead=self.ahead, lifetimes=self.lifetimes)

    def batch(self, changes: list[Change], promised: int) -> None:
        """One batch of all buckets, whose keys may move then."""
        self.promised = max(self.promised, promised)
        for answer in self.run(rows_of(self.job, changes), (), self.promised):
            self.take(answer)
        if self.choose.chance(15):
            for answer in self.move(self.job_of(self.choose.number(1, 4)), self.promised):
                self.take(answer)

    def take(self, answer: BucketAnswer) -> None:
        assert answer.faults == []
        self.late += len(answer.late)
        self.told += [] if answer.code is None else [answer.code]
        for table in answer.changes:
            for row in table.to_pylist():
                key, le, re, diff = (row.pop(name) for name in ("who", "le", "re", "diff"))
                self.net[key, tuple(row.values()), le, re] += diff
        assert set(self.net.values()) <= {0, 1}


class Stream:
    """Readings late and retracted, one of a key and time; promises."""

    def __init__(self, choose: Choices, lifetimes: bool) -> None:
        self.choose, self.lifetimes = choose, lifetimes
        self.there: dict[tuple[int, int], Change] = {}
        self.promised, self.clock = BEGINNING, 0

    def changes(self) -> list[Change]:
        found = []
        for _ in range(self.choose.number(0, 16)):
            low = max(self.promised, 0)
            if self.there and self.choose.chance(20):
                place = self.choose.one(sorted(self.there))
                if place[1] >= low:
                    found.append(self.there.pop(place)._replace(diff=-1))
                continue
            self.clock = max(self.clock + self.choose.chance(70), low)
            key, le = self.choose.number(1, KEYS), max(low, self.clock - self.choose.one([0, 0, 0, 2, 5]))
            if (key, le) not in self.there:
                found.append(self.reading(key, le))
                self.there[key, le] = found[-1]
        return found

    def reading(self, key: int, le: int) -> Change:
        payload = Reading(key, self.choose.number(0, 5), self.choose.chance(50), self.choose.one([None, 0.25, 0.75, 1.5]), le)
        re = le + self.choose.number(1, 6) if self.lifetimes and self.choose.chance(40) else None
        return Change(payload, le, re, 1)

    def promise(self) -> int:
        if self.choose.chance(40):
            self.promised = max(self.promised, self.clock - self.choose.number(0, 6))
        return self.promised


def in_force(net: Counter[Any]) -> set[Any]:
    return {match for match, copies in net.items() if copies}


def take(op: Any, items: list[Any], net: Counter[Any]) -> None:
    for change in op.push_many(items):
        if isinstance(change, Change):
            net[change.key, tuple(change.payload), change.le, change.re] += change.diff


@pytest.mark.parametrize("lifetimes", [False, True])
@pytest.mark.parametrize("number", range(6))
def test_random_worlds(number: int, lifetimes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    choose = Seeded(f"situations in buckets {number} {lifetimes}")
    pattern = pattern_of(choose)
    here, stream = PatternBuckets(pattern, choose, lifetimes), Stream(choose, lifetimes)
    op, net, waiting, late = pattern.operator(), Counter[Any](), list[Change](), 0
    for _ in range(choose.number(10, 18)):
        promised, changes = stream.promise(), stream.changes()
        stale = [stream.reading(1, promised - 1)] if promised > 1 and choose.chance(20) else []
        late += len(stale)
        here.batch([*changes, *stale], promised)
        waiting += changes
        bound = FOREVER if here.ahead is None else max(promised, BEGINNING + 1) + here.ahead
        due = [change for change in waiting if change.le < bound]
        waiting = [change for change in waiting if change.le >= bound]
        below = [change for change in due if change.le < promised]
        rest = [change for change in due if change.le >= promised]
        take(op, [*below, *([Punctuation(promised)] if promised > BEGINNING else []), *rest], net)
        assert in_force(here.net) == in_force(net)
        assert here.late == late


@pytest.mark.parametrize("number", range(4))
def test_a_condition_changes_in_the_running_job(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds from the present on, as `redefine` puts it in force; and so does the next one, and the first one again."""
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    choose = Seeded(f"a condition changes {number}")
    seed = choose.number(0, 1000)

    def pattern(condition: str) -> TemporalPattern:
        return pattern_of(Seeded(f"{seed}"), [condition, "wet", "speed > 2"])

    here, stream = PatternBuckets(pattern("speed > 3"), choose, False), Stream(choose, False)
    here.ahead = None
    here.job = here.job_of(2)
    op, net = here.pattern.operator(), Counter[Any]()
    for condition in ("speed > 3", "speed > 1", "speed > 1", "not wet", "speed > 3"):
        before, here.pattern = here.pattern, pattern(condition)
        changed = here.pattern != before
        here.job = here.job_of(here.job.buckets)._replace(delay=1)
        here.tokens.clear()  # images are of the code before
        for step in range(5):
            promised, changes = stream.promise(), stream.changes()
            here.batch(changes, promised)
            if promised > BEGINNING:
                take(op, [Punctuation(promised)], net)
            if changed and not step:  # the watermark is behind by a millisecond: all that has come lies below the present
                for change in op.redefine("a", condition, le=max(promised, here.job.since) + 2000):
                    net[change.key, tuple(change.payload), change.le, change.re] += change.diff
            take(op, changes, net)
            assert in_force(here.net) == in_force(net)
        stream.clock += 3000  # past the present
    told = [text.partition("the condition of 'a' is ")[2] for text in here.told if "condition" in text]
    assert list(dict.fromkeys(told)) == ["'e.speed > 1'", "'not e.wet'", "'e.speed > 3'"]
    assert len(told) <= 3 * 4


def speeding(condition: str = "speed > 3", **more: Any) -> TemporalPattern:
    given: dict[str, Any] = {"event": Reading, "within": 30_000, "key": "who", "where": "a before b", **more}
    return TemporalPattern(a=Situation(condition, at_least=4_000), b=Situation("wet"), **given)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            speeding(within=31_000),
            r"expected the situations .*'within': 30000.*'within': 31000.*: begin anew",
        ),
        (speeding(returns={"n": "count(a)"}), "expected the situations"),
    ],
)
def test_what_a_restart_may_not_change(other: TemporalPattern, said: str) -> None:
    bucket = Bucket(job(speeding()), 0)
    bucket.run(None, [], BEGINNING)
    with pytest.raises(SnapshotError, match=said):
        Bucket(job(other), 0, [bucket.save(False)])


@pytest.mark.parametrize("number", range(4))
def test_the_relations_change_in_the_running_job(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `changes_to` tells: what happens before the present is judged by the arcs before."""
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    choose = Seeded(f"relations change {number}")

    def pattern(where: str) -> TemporalPattern:
        situations = {"a": Situation("speed > 2", at_most=9_000), "b": Situation("wet")}
        return TemporalPattern(event=Reading, within=4_000, key="who", where=where, **situations)

    here, stream = PatternBuckets(pattern("a before|overlaps|during b"), choose, False), Stream(choose, False)
    here.ahead = None
    op, net = here.pattern.operator(), Counter[Any]()
    for where in ("a before|overlaps|during b", "a contains|meets|overlaps|starts b", "a before b"):
        before, here.pattern = here.pattern, pattern(where)
        here.job = here.job_of(here.job.buckets)._replace(delay=1)
        here.tokens.clear()
        if before != here.pattern:
            here.batch([], stream.promised)
            take(op, list(before.changes_to(here.pattern).arcs), net)
            stream.clock += 3000  # past the present, which is less than 2001 ticks behind the promise
        for _ in range(5):
            promised, changes = stream.promise(), stream.changes()
            here.batch(changes, promised)
            take(op, [*([Punctuation(promised)] if promised > BEGINNING else []), *changes], net)
            assert in_force(here.net) == in_force(net)
    assert in_force(net)


def test_a_bucket_is_woken_by_what_becomes_known_without_a_reading() -> None:
    here = job(speeding("speed > 3", where="a overlaps|contains|finished_by b"))
    bucket = Bucket(here, 0)
    rows = [Change(Reading(1, 5, False, None), 1_000, None, 1), Change(Reading(1, 5, True, None), 2_000, None, 1)]
    bucket.run(rows_of(here, rows), [], BEGINNING)
    watermark, rounds, told = 0, 0, []
    while (wakes := bucket.wakes(watermark)) is not None and rounds < 50:
        assert wakes > watermark
        watermark, rounds = wakes, rounds + 1
        answer = bucket.run(None, [], watermark * 1000)
        told += [(watermark, row["le"], row["a_te"]) for table in answer.changes for row in table.to_pylist()]
        bucket = Bucket(here, 0, [bucket.save(False)])
    assert rounds < 50
    assert told == [(5, 5_000, None)]


def test_what_does_not_fit_is_refused() -> None:
    for more, said in (
        ({"window": "1 minute"}, "window='1 minute' can't be combined with a temporal pattern because it says that itself"),
        ({"key": "speed"}, "expected the pattern's own key='who' but got key='speed'"),
        ({"order_by": "wet"}, "expected a field of int, float or str in Reading.* but got order_by='wet'"),
    ):
        with pytest.raises(AfaError, match=said):
            said_of(speeding(), Options(**more))
    with pytest.raises(AfaError, match=r"expected a temporal pattern with tick='us', or with none, .* but got tick='ms'"):
        said_of(speeding(tick="ms"), Options())
    with pytest.raises(AfaError, match="expected the names of key columns but got key=None, and the pattern has no key"):
        said_of(speeding(key=None), Options())
    with pytest.raises(AfaError, match="expected an automaton, a query or a temporal pattern but got Derive"):
        said_of(Derive(Reading, key="who", fast=Situation("speed > 3")), Options(key="who"))
    with pytest.raises(
        AfaError,
        match="members='at' can't be combined with a temporal pattern because the events of its",
    ):
        job(speeding(), members="at")


def test_readings_of_one_time_need_an_order() -> None:
    two = [Change(Reading(1, 5, False, None), 1, None, 1), Change(Reading(1, 2, False, None), 1, None, 1)]
    here = job(speeding(), on_fault="raise")
    with pytest.raises(AfaError, match=r"expected one reading of a key at a time but got .* order_by= names the field"):
        Bucket(here, 0).run(rows_of(here, two), [], BEGINNING)
    ordered = job(speeding(), order_by="speed")
    bucket = Bucket(ordered, 0)
    bucket.run(rows_of(ordered, two), [], BEGINNING)
    again = Bucket(ordered, 0, [bucket.save(False)])
    assert again.run(rows_of(ordered, [two[0]._replace(diff=-1)]), [], BEGINNING).faults == []


def test_damaged_states_are_refused() -> None:
    here = job(speeding())
    bucket = Bucket(here, 0)
    bucket.run(rows_of(here, [Change(Reading(1, 5, True, 0.5), 7, None, 1)]), [], 3)
    body = msgpack.unpackb(bucket.save(False))
    place = 1 + BucketState._fields.index("stages")
    assert len(unplain(body[place][0])) == 1
    for wrong in ([], [3], [b""], [plain([None, None])], [plain([[[], None, []], None])]):
        with pytest.raises(SnapshotError):
            Bucket(here, 0, [msgpack.packb([*body[:place], wrong, *body[place + 1 :]])])
