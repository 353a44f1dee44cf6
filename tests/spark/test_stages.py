"""A bucket that is lost after each batch: AFTER MATCH SKIP, and the stage of a negation at the start.

After each batch the net output of all buckets is what the oracle of queries says of the rows in force.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
import pyarrow as pa
import pytest

import afa
from afa import AfaError, ChangeError, SnapshotError
from afa.language.query import Query
from afa.operator.snapshot import plain, unplain
from afa.spark import shared
from afa.spark.bucket import Bucket, BucketState
from afa.spark.job import BucketAnswer, Job
from afa.spark.pattern_said import _asked
from punctuation.time import BEGINNING
from tests.language.oracle import Event, matches
from tests.language.trees import Allowed, tree
from tests.language.worlds import Stream
from tests.spark.buckets import Buckets, job_of
from tests.strategies import Choices, Seeded

Match = tuple[Any, int, int]


def job(query: Query, buckets: int = 1, ahead: int | None = None, **more: Any) -> Job:
    window = None if query.window is None else timedelta(microseconds=query.window)
    assert query.key is not None
    types = [pa.int64() if name == "key" else pa.string() for name in query.tree.key]
    given = {"on_fault": "report", "key_types": types, "asked": _asked(query), **more}
    speculation = None if ahead is None else timedelta(microseconds=ahead)
    return job_of(query.automaton, query.key, window, query.tree.order, buckets, speculation=speculation, **given)


def rows_of(here: Job, changes: list[tuple[Event, int]]) -> pa.Table:
    rows = [{**event.payload._asdict(), "at": event.le, "le": event.le, "diff": diff} for event, diff in changes]
    return pa.Table.from_pylist([{name: row[name] for name in here.schema.names} for row in rows], here.schema)


class QueryBuckets(Buckets):
    """The buckets of a query, and the matches in force by what they say."""

    choose: Choices

    def __init__(self, query: Query, choose: Choices) -> None:
        self.query, self.ahead = query, choose.one([None, None, 0, 3])
        super().__init__(job(query, choose.number(1, 3), self.ahead), choose)
        self.held: set[Match] = set()
        self.late, self.promised = 0, BEGINNING

    def batch(self, changes: list[tuple[Event, int]], promised: int) -> None:
        """One batch of all buckets, whose keys may move then."""
        self.promised = max(self.promised, promised)
        for answer in self.run(rows_of(self.job, changes), (), self.promised):
            self.take(answer)
        if self.choose.chance(15):
            for answer in self.move(job(self.query, self.choose.number(1, 4), self.ahead), self.promised):
                self.take(answer)

    def take(self, answer: BucketAnswer) -> None:
        assert answer.faults == []
        self.late += len(answer.late)
        for table in answer.changes:
            names = [name for name in table.schema.names if name not in ("le", "re", "diff")]
            assert names == [*self.job.keys, *(field.name for field in self.query.shown.fields)]
            n = len(self.job.keys)
            for row in table.to_pylist():
                values = [row[name] for name in names]
                key = values[0] if n == 1 else tuple(values[:n])
                match = (key, tuple(values[n:])), row["le"], row["re"]
                assert (match in self.held) is (row["diff"] < 0), (match, row["diff"])
                self.held ^= {match}


KINDS = {
    "skip": Allowed(names=True, skip=True, ties=False),
    "start": Allowed(start=True, end=True),
    "both": Allowed(start=True, skip=True, ties=False),
}


def asking(choose: Choices, allowed: Allowed, kind: str) -> Query:
    """A random query with a key that chooses, or asks for a stage."""
    while True:
        found = tree(choose, allowed)
        stages = (found.skip is not None or kind == "start") and (bool(found.before) or kind == "skip")
        if not found.key or not stages:
            continue
        try:
            return Query(found)
        except AfaError:
            continue


def in_force(copies: Counter[Event], here: QueryBuckets) -> list[Event]:
    bound = None if here.ahead is None or here.promised == BEGINNING else here.promised + here.ahead
    if here.ahead is not None and bound is None:
        return []
    return [event for event, n in copies.items() if n > 0 and (bound is None or event.le < bound)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", range(8))
def test_random_worlds(kind: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    choose, allowed = Seeded(f"stages/{kind}/{number}"), KINDS[kind]
    query = asking(choose, allowed, kind)
    here, copies = QueryBuckets(query, choose), Counter[Event]()
    stream = Stream(choose, query.tree, allowed, choose.number(6, 14), 9)
    stream.allowed = Allowed(ties=allowed.ties)
    late = 0
    for _ in range(choose.number(5, 14)):
        promised = stream.promise()[1] if choose.chance(40) else stream.promised
        changes = []
        for _ in range(choose.number(0, 5)):
            op = stream.change()
            if op and op[1].re is None:
                changes.append((op[1], 1 if op[0] == "+" else -1))
            elif op:  # a lifetime of its own, which Spark's rows have with until= only
                (stream.force if op[0] == "+" else stream.owed).remove(op[1])
        for event, diff in changes:
            copies[event] += diff
        stale = stream.event() if promised > 1 and choose.chance(20) else None
        if stale is not None:
            le = choose.number(0, promised - 1)
            changes.append((Event(stale.payload._replace(at=le), le), 1))
            late += 1
        here.batch(changes, promised)
        want = matches(query.tree, in_force(copies, here), here.promised)
        assert here.held == want, f"missing {want - here.held}, too much {here.held - want}"
        assert here.late == late


class Row(NamedTuple):
    key: int
    sort: str
    at: afa.Instant | None = None


def sql(pattern: str = "a b+", skip: str = "PAST LAST ROW", within: int = 10, more: str = "") -> Query:
    return afa.sql(
        f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY key ORDER BY at MEASURES COUNT(*) AS n AFTER MATCH SKIP {skip} "
        f"PATTERN ({pattern}) WITHIN {within} DEFINE a AS sort = 'a', b AS sort = 'b'{more})",
        event=Row,
    )


def letters(here: Job, text: str, begin: int = 0, key: int = 0) -> pa.Table:
    """A row for each letter, a tick after the other."""
    return rows_of(here, [(Event(Row(key, sort), begin + i), 1) for i, sort in enumerate(text)])


def found(answer: Any) -> list[tuple[int, int, int]]:
    """How many events each change shows, where it ends, and its diff."""
    return [(row["n"], row["le"], row["diff"]) for table in answer.changes for row in table.to_pylist()]


def test_a_late_row_draws_the_chain_anew_after_a_restart() -> None:
    here = job(sql())
    bucket = Bucket(here, 0)
    assert found(bucket.run(letters(here, "abab", 1), [], BEGINNING)) == [(2, 2, 1), (2, 4, 1)]
    blobs = [bucket.save(False)]
    bucket = Bucket(here, 0, blobs)
    assert found(bucket.run(rows_of(here, [(Event(Row(0, "a"), 3), -1)]), [], BEGINNING)) == [(2, 2, -1), (2, 4, -1), (3, 4, 1)]
    bucket = Bucket(here, 0, [*blobs, bucket.save(True)])
    assert found(bucket.run(rows_of(here, [(Event(Row(0, "a"), 3), 1)]), [], BEGINNING)) == [(3, 4, -1), (2, 2, 1), (2, 4, 1)]
    assert bucket.numbers(True)["candidates"] == 2
    assert bucket.numbers(False)["candidates"] is None


def test_rows_of_one_instant_are_told_where_nothing_orders_them() -> None:
    here = job(sql())
    bucket = Bucket(here, 0)
    answer = bucket.run(pa.concat_tables([letters(here, "ab", 1), letters(here, "a", 2), letters(here, "ab", 1, 7)]), [], BEGINNING)
    assert found(answer) == [(2, 2, 1)]  # of the other key: no match takes one of two rows, while both are there
    (fault,) = answer.faults
    said = r"expected rows of one key that ORDER BY tells apart but got Row\(.*'a'.* and Row\(.*'b'.* at le=2 of key 0, which are"
    assert re.match(said, fault.reason)
    assert (fault.key, fault.le) == ((0,), 2)
    assert bucket.numbers(True)["ties"] == 1
    again = Bucket(here, 0, [bucket.save(False)])
    assert again.run(letters(here, "b", 5), [], BEGINNING).faults == []
    assert found(again.run(letters(here, "b", 3, 7), [], BEGINNING)) == [(2, 2, -1), (3, 3, 1)]
    stopping = job(sql(), on_fault="raise")
    with pytest.raises(ChangeError, match="expected rows of one key that ORDER BY tells apart"):
        Bucket(stopping, 0).run(pa.concat_tables([letters(stopping, "ab", 1), letters(stopping, "a", 2)]), [], BEGINNING)


def test_a_match_of_many_choices() -> None:
    here = job(sql("a (b | c)* d", within=99, more=", c AS sort = 'c', d AS sort = 'd'"))
    text = "a" + "bc" * 40 + "d"
    answer = Bucket(here, 0).run(pa.concat_tables([letters(here, text, 1), letters(here, "abcd", 1, 5)]), [], BEGINNING)
    assert (sorted(found(answer)), answer.faults) == ([(4, 4, 1), (82, 82, 1)], [])


def test_measures_that_raise_are_told_and_left_out() -> None:
    """Its match shows nothing; the scan goes on behind it."""
    query = afa.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY key ORDER BY at MEASURES 6.0 / (COUNT(*) - 3) AS n PATTERN (a b+) WITHIN 10 "
        "DEFINE a AS sort = 'a', b AS sort = 'b')",
        event=Row,
    )
    here = job(query)
    answer = Bucket(here, 0).run(letters(here, "abbab", 1), [], BEGINNING)
    assert [(row["n"], row["le"], row["diff"]) for table in answer.changes for row in table.to_pylist()] == [(-6.0, 5, 1)]
    (fault,) = answer.faults
    assert (fault.key, fault.le) == ((0,), 3)
    assert re.search("ZeroDivisionError.* in MEASURES, in the match from 1 to 3: it is left out", fault.reason)


def beside(view: str = "sort <> 'z'", where: str = "n > 1", within: int = 10) -> Query:
    """A query with stages on all sides of its operator."""
    return afa.sql(
        f"SELECT * FROM (SELECT * FROM t WHERE {view}) MATCH_RECOGNIZE (PARTITION BY key ORDER BY at "
        f"MEASURES COUNT(*) AS n, MATCH_NUMBER() AS number, NEXT(at) AS behind PATTERN (a b+) WITHIN {within} "
        f"DEFINE a AS sort = 'a', b AS sort = 'b') WHERE {where}",
        event=Row,
    )


CALM = "PATTERN SEQ(~(N n), A a, B b) WHERE skip_till_next_match(a, b) {{ [key]{} }} WITHIN {} RETURN b.at - a.at AS n"


def calm(more: str = "", within: int = 10) -> Query:
    return afa.query(CALM.format(more, within), event=Row, type="sort")


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (
            sql(),
            sql(skip="TO NEXT ROW"),
            r"another one \(AFTER MATCH SKIP past last row and to next row\)",
        ),
        (sql(), sql(within=11), r"another one \(WITHIN 10 and 11\): begin anew"),
        (sql(), sql("a b+?"), r"expected a query that chooses and shows as that of the checkpoint .* \(other PATTERN\)"),
        (calm(), calm(" and n.at > 5"), "expected the negation at the start .* but got .*begin anew with another checkpoint"),
        (calm(), calm(within=11), "expected the negation at the start"),
        (beside(), beside("sort <> 'y'"), "expected the WHERE of an inline view .* but got .*begin anew with another checkpoint"),
        (beside(), beside(where="number > 1"), r"another one \(.*SELECT or WHERE .* and .*\): begin anew"),
        (sql(), beside(), "another one .*SELECT or WHERE None and"),
    ],
)
def test_what_a_restart_may_not_change(one: Query, other: Query, said: str) -> None:
    bucket = Bucket(job(one), 0)
    bucket.run(None, [], BEGINNING)
    with pytest.raises(SnapshotError, match=said):
        Bucket(job(other), 0, [bucket.save(False)])


def test_lifetimes_of_their_own_are_refused_where_an_end_tells_the_start() -> None:
    with pytest.raises(AfaError, match="expected no until= beside AFTER MATCH SKIP"):
        job(sql(), lifetimes=True)
    job(calm(), lifetimes=True)


@pytest.mark.parametrize(
    "query",
    [sql(within=5000), calm(within=5000), beside(within=5000)],
    ids=["chosen matches", "negation at the start", "stages on all sides"],
)
def test_a_bucket_is_woken_until_its_stages_hold_nothing(query: Query) -> None:
    here = job(query)
    bucket = Bucket(here, 0)
    bucket.run(letters(here, "nababab".upper() if query.tree.before else "ababab", 3_000), [], BEGINNING)
    watermark, rounds = 0, 0
    while (wakes := bucket.wakes(watermark)) is not None:
        assert wakes > watermark
        watermark, rounds = wakes, rounds + 1
        bucket.run(None, [], watermark * 1000)
        bucket = Bucket(here, 0, [bucket.save(False)])
    assert 0 < rounds < 9
    assert not any(stage.ages for stage in bucket._stages._looking)
    assert not any(stage.waiting() for stage in bucket._stages._behind)
    assert bucket.numbers(True)["keys"] == 0


@pytest.mark.parametrize(("query", "stages"), [(calm(), 1), (beside(), 2)], ids=["negation at the start", "stages on all sides"])
def test_damaged_states_of_stages_are_refused(query: Query, stages: int) -> None:
    here = job(query)
    bucket = Bucket(here, 0)
    bucket.run(letters(here, "NABANNABababbab"), [], 2)
    blob = bucket.save(False)
    body = msgpack.unpackb(blob)
    place = 1 + BucketState._fields.index("stages")
    assert len(unplain(body[place][0])) == stages
    for wrong in (
        None,
        3,
        [3],
        [b""],
        [plain([None, None])],
        [plain([3, 4])],
        [plain([])],
        [plain([[[], None, []]] * 2)],
        [body[place][0]] * 2,
    ):
        with pytest.raises(SnapshotError):
            Bucket(here, 0, [msgpack.packb([*body[:place], wrong, *body[place + 1 :]])])
    choose = Seeded("torn stages")
    for _ in range(300):
        torn = bytearray(body[place][0])
        torn[choose.number(0, len(torn) - 1)] ^= 1 << choose.number(0, 7)
        with contextlib.suppress(SnapshotError):
            Bucket(here, 0, [msgpack.packb([*body[:place], [bytes(torn)], *body[place + 1 :]])])


THREE = "PATTERN SEQ(a a, b b, c c) WHERE skip_till_next_match(a, b, c) {{ [key] and {} }} WITHIN 20 RETURN b.at AS n, c.at AS c"
CHOSEN = (
    "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY key ORDER BY at MEASURES b.at AS n, c.at AS c PATTERN (a b c) WITHIN 20 "
    "DEFINE a AS sort = 'a', b AS sort = 'b' AND {}, c AS sort = 'c' AND {})"
)


@pytest.mark.parametrize("choosing", [False, True])
def test_a_job_goes_on_with_another_query(choosing: bool) -> None:
    """By `changes_to`; as it is its states are taken for those of the one before, which hold other values, and refused."""
    if choosing:
        one, other = (
            afa.sql(CHOSEN.format(*each), event=Row) for each in (("at < a.at + 3", "at > 0"), ("at > 0", "at > a.at + 1"))
        )
    else:
        one, other = (afa.query(THREE.format(each), event=Row, type="sort") for each in ("b.at < a.at + 3", "c.at > a.at + 2"))
    here = job(one)
    bucket, op = Bucket(here, 0), one.operator()
    net: Counter[Any] = Counter()

    def follow(changes: Any, answer: Any) -> None:
        for change in op.push_many(changes):
            net[tuple(change.payload), change.le] += change.diff
        for table in answer.changes:
            for row in table.to_pylist():
                net[(row["n"], row["c"]), row["le"]] -= row["diff"]
        assert not any(net.values())

    events = [afa.insert(Row(0, sort), 1 + i) for i, sort in enumerate("abab")]
    follow(events, bucket.run(letters(here, "abab", 1), [], BEGINNING))
    blob = bucket.save(False)
    with pytest.raises(SnapshotError, match=r"expected states that hold .* others in 'b', .* before.changes_to\(query\).query"):
        Bucket(job(other), 0, [blob])
    there = job(one.changes_to(other).query)
    bucket = Bucket(there, 0, [blob])
    changed = bucket.run(None, [], BEGINNING)
    assert "arcs that go" in str(changed.code)
    present = there.delay * 1000 + 1000  # as `Bucket.run` has it: no row has come from there on
    for arc, _, _, diff, _ in one.changes_to(other).arcs:
        if diff > 0:
            op.push_arc(afa.insert(arc, present, afa.FOREVER))
        else:
            op.push_arc(afa.retract(arc, afa.BEGINNING, afa.FOREVER))
            op.push_arc(afa.insert(arc, afa.BEGINNING, present))
    for begin, text in ((5, "cabc"), (present, "abbc"), (present + 4, "abc"), (present - 2, "ab")):  # the last one late
        answer = bucket.run(letters(there, text, begin), [], BEGINNING)
        assert answer.faults == []
        follow([afa.insert(Row(0, sort), begin + i) for i, sort in enumerate(text)], answer)
        bucket = Bucket(there, 0, [bucket.save(False)])
    assert len(net) > 2
