"""What a restart may change, in buckets without Spark: what is carried over holds from the present on, all else is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgpack
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from afa import AfaError, Arc, Automaton, SnapshotError
from afa.operator.statistics import statistics_of
from afa.spark import moved
from afa.spark.bucket import Bucket
from afa.spark.hashing import bucket_numbers
from afa.spark.held import Windows, stream_of, table_of
from afa.spark.job import BucketAnswer, Job
from afa.spark.moved import Moved, arrived, check_token, joined, splitter
from afa.spark.packed_rows import written
from afa.spark.processor import Head, head_of
from punctuation.time import BEGINNING, FOREVER
from tests import oracle
from tests.spark.buckets import Row, Sum, job_of, net
from tests.strategies import Choices, Seeded

FENCES = ("e.n > 1", "e.n % 3 == r.n % 3", "e.n < 4", "True", "e.n != r.n", "r.n > 2")
DELAY = 2
"""Milliseconds; all times here are multiples of one, as Spark's watermark is."""
MS = 1000


def arcs_of(choose: Choices, names: list[str]) -> list[Arc]:
    """An arc that begins, one that ends, and some others."""
    found = [Arc("a", "b", "True", "Sum(e.n)", name="in"), Arc("b", "c", "e.n > 2", name="out")]
    for name in names:
        if choose.chance(20):
            found.append(Arc.timeout("b", "c", at=f"r.n * {choose.number(1, 9) * 1000} + 9000", name=name))
            continue
        src, dst = choose.one(["a", "b"]), choose.one(["b", "c"])
        found.append(Arc(src, dst, choose.one(FENCES), choose.one(["Sum(r.n + e.n)", "Sum(e.n)"]), name=name))
    return found


def job(
    arcs: list[Arc], window: int | None, buckets: int, lifetimes: bool = False, delay: int = DELAY, ahead: int | None = None
) -> Job:
    automaton = Automaton(start="a", final={"c"}, register=Sum(), event=Row, arcs=arcs)
    width = None if window is None else f"{window} milliseconds"
    options = {"lifetimes": lifetimes, "delay": delay, "speculation": None if ahead is None else f"{ahead} milliseconds"}
    return job_of(automaton, "who", width, None, buckets, "report", [pa.int64()], **options)


class Buckets:
    """All buckets of a job, each called in each batch and lost after it."""

    def __init__(self, job: Job) -> None:
        self.job, self.told, self.code = job, [], []  # type: ignore[var-annotated]
        self.states: list[list[bytes]] = [[] for _ in range(job.buckets)]
        self.latest, self.watermark, self.followed = 0, 0, b""
        self.timers: dict[int, int | None] = {}

    def run(self, rows: list[dict[str, Any]], promised: int | None = None) -> None:
        """A batch. A bucket without rows is called where the job has changed, or its time has come."""
        table = pa.Table.from_pylist(rows, self.job.schema)
        numbers = bucket_numbers([table["who"]], self.job.buckets)
        t = self.watermark if promised is None else promised
        followed, self.followed = self.followed, self.job.digest
        before, self.states = self.states, [[] for _ in range(self.job.buckets)]
        parts = self._split(before) if len(before) != self.job.buckets else None
        for number in range(self.job.buckets):
            mine = table.filter(pa.array(numbers == number))
            if not len(mine) and followed == self.job.digest and (self.timers[number] or FOREVER) > t // 1000:
                self.states[number] = before[number]
                continue
            told = BucketAnswer([], [], [])
            if parts is None:
                bucket = Bucket(self.job, number, before[number])
            else:
                bucket, told = joined(self.job, number, [of[number] for of in parts], t if t > 0 else BEGINNING)
            whole = parts is not None or bucket.moved or not before[number]
            answer = told.then(bucket.run(mine, [], t if t > 0 else BEGINNING))
            assert (answer.late, answer.faults) == ([], [])
            self.told.append(table_of(stream_of(written(self.job, answer, []))))
            self.code += [answer.code] if answer.code else []
            self.states[number] = [bucket.save(False)] if whole else [*before[number], bucket.save(True)]
            self.timers[number] = bucket.wakes(max(t, 0) // 1000)
            bucket.check()
        self.latest = max([self.latest, *(row["le"] for row in rows)])
        self.watermark = max(self.watermark, self.latest - self.job.delay * MS, t)

    def _split(self, states: list[list[bytes]]) -> list[list[bytes]]:
        """What each of the new buckets gets of each old one."""
        split, found = splitter(self.job, len(states)), []
        for number, blobs in enumerate(states):
            log = pa.table({"bucket": [number] * len(blobs), "n": range(len(blobs)), "state": blobs})
            parts = split(log.take(list(range(len(blobs)))[::-1]))
            assert parts["bucket"].to_pylist() == list(range(self.job.buckets))
            assert set(parts["old"].to_pylist()) == {number}
            found.append(parts["state"].to_pylist())
        return found

    @property
    def present(self) -> int:
        """From which on a change holds that the next batch brings."""
        return max(self.watermark, 0) + (self.job.delay + 1) * MS


def said(arc: Arc) -> Any:
    """What an arc does."""
    return arc.kind, str(arc.fence), str(arc.transfer), str(arc.at), arc.src, arc.dst, arc.name


class Expected:
    """What is in force: arcs by name with their lifetimes, and how long events live."""

    def __init__(self, arcs: list[Arc], window: int | None) -> None:
        self.arcs = [(arc, BEGINNING, FOREVER) for arc in arcs]
        self.windows = [(BEGINNING, window)]

    def change(self, arcs: list[Arc], window: int | None, present: int) -> None:
        same = {said(arc) for arc in arcs}
        there = [(arc, le, re) for arc, le, re in self.arcs if re == FOREVER]
        known = {said(arc) for arc, _, _ in there}
        self.arcs = [(arc, le, re) for arc, le, re in self.arcs if re < FOREVER]
        for arc, le, _ in there:
            self.arcs.append((arc, le, FOREVER if said(arc) in same else present))
        self.arcs += [(arc, present, FOREVER) for arc in arcs if said(arc) not in known]
        self.windows.append((present, window))

    def re(self, row: dict[str, Any]) -> int:
        if row.get("re") is not None:
            return int(row["re"])
        window = [window for begin, window in self.windows if begin <= row["le"]][-1]
        return FOREVER if window is None else row["le"] + window * MS

    def matches(self, automaton: Automaton, rows: list[dict[str, Any]], promised: int) -> set[Any]:
        found = set()
        for who in {row["who"] for row in rows}:
            events = [(Row(row["n"]), row["le"], self.re(row), row["diff"]) for row in rows if row["who"] == who]
            found |= {(who, *z, le, re) for z, le, re in oracle.matches(automaton, events, self.arcs, promised)}
        return found


def some_rows(choose: Choices, n: int, low: int, clock: int, before: list[dict[str, Any]], lifetimes: bool) -> list[dict[str, Any]]:
    """Rows that are not late, and retractions of such."""
    rows: list[dict[str, Any]] = []
    for _ in range(n):
        kept = [row for row in before + rows if row["diff"] > 0 and row["le"] >= low and {**row, "diff": -1} not in before + rows]
        if kept and choose.chance(20):
            rows.append({**choose.one(kept), "diff": -1})
            continue
        le = max(low, (clock + choose.number(-DELAY, 3)) * MS)
        rows.append({"who": choose.number(0, 9), "n": choose.number(0, 5), "le": le, "diff": 1})
        if lifetimes:
            rows[-1]["re"] = choose.one([None, le + choose.number(1, 9) * MS])
    return rows


@pytest.mark.parametrize("worlds", [16, pytest.param(600, marks=pytest.mark.stress)])
def test_random_changes_at_restarts(worlds: int) -> None:
    """Other arcs, other windows, other numbers of buckets: each holds from one present on, for all keys."""
    found = changes = 0
    for number in range(worlds):
        choose = Seeded(f"restarts/{number}")
        lifetimes, buckets = choose.chance(30), choose.number(1, 5)
        arcs, window, clock = arcs_of(choose, ["x0", "x1"]), choose.one([2, 5, 9, None]), 10
        ahead = choose.one([None, None, 0, 2])
        all_of = Buckets(job(arcs, window, buckets, lifetimes, ahead=ahead))
        expected, rows = Expected(arcs, window), []
        for _ in range(choose.number(2, 7)):
            batch = some_rows(choose, choose.number(0, 12), all_of.watermark, clock, rows, lifetimes)
            all_of.run(batch)
            rows += batch
            clock += choose.number(0, 4)
            if choose.chance(50):
                if choose.chance(60):
                    arcs = arcs_of(choose, ["x0", "x1", "x2"][: choose.number(0, 3)])
                if choose.chance(60):
                    window = choose.one([2, 5, 9, None])
                if choose.chance(50):
                    buckets = choose.number(1, 7)
                ahead = choose.one([ahead, ahead, None, 1])
                changes += 1
                expected.change(arcs, window, all_of.present)
                all_of.job = job(arcs, window, buckets, lifetimes, ahead=ahead)
        last = max(all_of.watermark, choose.number(0, 60) * MS, 0 if ahead is None else all_of.latest + MS)
        all_of.run([])  # the present is the one of the batch that brings the change
        all_of.run([], last)
        matches = expected.matches(all_of.job.automaton, rows, last)
        assert net(all_of.job, all_of.told) == matches, f"world {number}"
        found += len(matches)
    assert found > 6 * worlds
    assert changes > worlds


def test_the_present_is_the_same_whichever_rows_a_bucket_has() -> None:
    arcs = [Arc("a", "c", "e.n > 2", name="big")]
    for keys in ([1], [1, 2, 3, 4, 5, 6, 7, 8]):
        all_of = Buckets(job(arcs, 5, 4))
        all_of.run([{"who": who, "n": 0, "le": 20 * MS, "diff": 1} for who in keys])
        all_of.job = job([*arcs, Arc("a", "c", "e.n == 1", name="one")], 5, 4)
        all_of.run([])
        all_of.run([{"who": who, "n": 1, "le": le * MS, "diff": 1} for who in range(1, 9) for le in (19, 21)])
        assert {(who, le) for who, *_, le, _ in net(all_of.job, all_of.told)} == {(who, 21 * MS) for who in range(1, 9)}
        assert len(all_of.code) == 4
        assert all(f"from {21 * MS} on arcs that go: none; arcs that come: 'one'" in told for told in all_of.code)


def test_a_shorter_delay_does_not_bring_the_present_back() -> None:
    """It is known from the longest delay that the watermark ever had."""
    arcs = [Arc("a", "b", "True", name="in"), Arc("b", "c", "True", name="out")]
    all_of = Buckets(job(arcs, 50, 2, delay=100))
    rows = [{"who": who, "n": 0, "le": 200 * MS, "diff": 1} for who in range(4)]
    all_of.run(rows)
    all_of.job = job(arcs, 1, 2, delay=1)
    all_of.run([])
    all_of.run([{**row, "diff": -1} for row in rows])
    assert [statistics_of(bucket._core).pending for bucket in restored(all_of)] == [0, 0]
    assert [statistics_of(bucket._core).events for bucket in restored(all_of)] == [0, 0]


def restored(all_of: Buckets) -> list[Bucket]:
    return [Bucket(all_of.job, number, state) for number, state in enumerate(all_of.states)]


def test_the_window_is_told_and_forgotten() -> None:
    arcs = [Arc("a", "c", "True", name="all")]
    all_of = Buckets(job(arcs, 60, 1))
    all_of.run([{"who": 1, "n": 0, "le": 10 * MS, "diff": 1}])
    all_of.job = job(arcs, None, 1)
    all_of.run([])
    assert all_of.code[0].endswith("arcs that come: none; the window was 60000 microseconds, is for ever")
    assert restored(all_of)[0]._windows.spans == [(BEGINNING, 60 * MS), (11 * MS, None)]
    all_of.run([{"who": 2, "n": 0, "le": 12 * MS, "diff": 1}], 11 * MS)
    assert restored(all_of)[0]._windows.spans == [(BEGINNING, None)]
    assert {row[-2:] for row in net(all_of.job, all_of.told)} == {(10 * MS, 70 * MS), (12 * MS, FOREVER)}


def test_a_row_that_waits_while_the_window_changes_twice_lives_by_its_own() -> None:
    arcs = [Arc("a", "c", "True", name="all")]
    all_of = Buckets(job(arcs, 60, 1, ahead=0))
    all_of.run([{"who": 1, "n": 0, "le": 10 * MS, "diff": 1}])
    all_of.job = job(arcs, 30, 1, ahead=0)
    all_of.run([], 11 * MS)
    all_of.run([{"who": 2, "n": 0, "le": 17 * MS, "diff": 1}], 15 * MS)  # from here on the first window is forgotten
    all_of.job = job(arcs, 9, 1, ahead=0)
    all_of.run([], 18 * MS)
    assert {row[-2:] for row in net(all_of.job, all_of.told)} == {(10 * MS, 70 * MS), (17 * MS, 47 * MS)}


@pytest.mark.parametrize("ahead", [None, 0])
def test_another_window_waits_until_the_watermark_is_not_held_back(ahead: int | None) -> None:
    """By another stream of the query: rows past the present have come, and their retractions are to find them."""
    arcs = [Arc("a", "c", "True", name="all")]
    here, other = (job(arcs, window, 1, delay=5, ahead=ahead) for window in (60, 30))
    row = {"who": 1, "n": 0, "le": 90 * MS, "diff": 1}
    bucket = Bucket(here, 0)
    bucket.run(pa.Table.from_pylist([row], here.schema), [], 20 * MS)
    state = [bucket.save(False)]
    message = f"expected all rows so far before {26 * MS}, .* but got one at {90 * MS}: a stream of this query is behind"
    with pytest.raises(SnapshotError, match=message):
        Bucket(other, 0, state).run(None, [], 20 * MS)
    assert Bucket(here, 0, state).run(None, [], 20 * MS).code is None
    later = Bucket(other, 0, state)
    assert "is 30000 microseconds" in (later.run(None, [], 85 * MS).code or "")
    later.run(pa.Table.from_pylist([{**row, "diff": -1}], other.schema), [], 85 * MS)
    assert len(later._held.rows) == (0 if ahead is None else 2)
    later.run(None, [], 95 * MS)
    assert (statistics_of(later._core).events, statistics_of(later._core).pending) == (0, 0)


def test_windows_by_time() -> None:
    windows = Windows([(BEGINNING, 5)])
    windows.change(10, 2)
    windows.change(20, None)
    rows = pa.table({"le": [-3, 9, 10, 19, 20, FOREVER - 1]})
    assert windows.lived(rows)["re"].to_pylist() == [2, 14, 12, 21, FOREVER, FOREVER]
    own = rows.append_column("re", pa.array([None, 99, None, 98, 97, None], pa.int64()))
    assert windows.lived(own)["re"].to_pylist() == [2, 99, 12, 98, 97, FOREVER]
    assert windows.longest is None
    late = pa.table({"le": [FOREVER - 3, -(2**63)]})
    assert Windows([(BEGINNING, 5), (3, 9)]).lived(late)["re"].to_pylist() == [FOREVER, -(2**63) + 5]
    windows.change(15, 7)
    assert windows.spans == [(BEGINNING, 5), (10, 2), (15, 7)]
    for wrong in ([], [(3, 5)], [(BEGINNING, 5), (4, 1), (4, 2)], [(BEGINNING, 0)]):
        with pytest.raises(SnapshotError, match="expected windows in order"):
            Windows(wrong)


def test_a_damaged_head_is_refused() -> None:
    row = [b"token", 1, 2, 3, 4, b"job", msgpack.packb({"keys": 4, "partial_matches": None})]
    assert head_of(row) == Head(b"token", 1, 2, 3, 4, b"job", {"keys": 4, "partial_matches": None})
    for wrong in (row[1:], [*row[:-1], b"x"], [*row[:-1], msgpack.packb(3)], [*row[:-1], msgpack.packb({"keys": "4"})]):
        with pytest.raises(SnapshotError, match="expected the head of a bucket"):
            head_of(wrong)


def test_states_that_are_not_those_that_were_split_are_refused(tmp_path: Path) -> None:
    def lies(number: int, rows: list[tuple[int, bytes]]) -> str:
        path = tmp_path / f"bucket={number}.parquet"
        pq.write_table(pa.table({"old": [old for old, _ in rows], "state": [state for _, state in rows]}), path)
        return path.as_uri()

    addresses = {
        0: [lies(0, [(1, b"one")]), lies(1, [(0, b"zero")])],
        1: [lies(2, [(0, b"zero")])],
        2: [lies(3, [(0, b""), (2, b"")])],
    }
    here = job([Arc("a", "c", "e.n > 2", name="x")], 5000, 4)._replace(moved=Moved({0: b"a", 1: b"b"}, addresses))
    assert arrived(here, 0) == [b"zero", b"one"]
    for number in (1, 2):
        with pytest.raises(SnapshotError, match=f"expected what bucket {number} gets of 2 others but got "):
            arrived(here, number)
    for number, token in ((0, b"a"), (1, b"b"), (2, None)):
        check_token(here, number, token)
    for number, wrong in ((0, b"b"), (1, None), (2, b"a")):
        with pytest.raises(
            SnapshotError, match=rf"expected in bucket {number} the state that match\(checkpoint=..\) has read but got an"
        ):
            check_token(here, number, wrong)


def test_parts_lie_where_workers_can_read_them(tmp_path: Path) -> None:
    pq.write_table(pa.table({"old": [3], "state": [b"x"]}), tmp_path / "a b.parquet")
    assert list(moved._rows((tmp_path / "a b.parquet").as_uri())) == [(3, b"x")]
    with pytest.raises(AfaError, match="expected a checkpoint in a file system that pyarrow knows but got 's3a://b/x'"):
        list(moved._rows("s3a://b/x"))


def test_of_several_matches_in_a_checkpoint_none_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moved, "_places", lambda spark, checkpoint: [0, 1])
    monkeypatch.setattr(moved, "_heads", lambda spark, checkpoint, place: dict.fromkeys(range(4), b""))
    assert moved.moved(None, "cp", job([], 5, 4)) is None  # type: ignore[arg-type]
    with pytest.raises(AfaError, match="expected a checkpoint with one match but got 2 in 'cp': keep the buckets of each"):
        moved.moved(None, "cp", job([], 5, 8))  # type: ignore[arg-type]


def test_faults_are_not_told_again_where_keys_move() -> None:
    arcs = [Arc("a", "b", "10 // n > 2", "Sum(e.n)", name="in"), Arc("b", "c", "True", name="out")]
    here, there = job(arcs, None, 1), job(arcs, None, 2)
    bucket = Bucket(here, 0)
    rows = pa.Table.from_pylist([{"who": who, "n": who % 2, "le": 1000, "diff": 1} for who in range(8)], here.schema)
    assert len(bucket.run(rows, [], BEGINNING).faults) == 4
    for number, state in enumerate(bucket.split(2)):
        one, told = joined(there, number, [state], BEGINNING)
        assert told.then(one.run(None, [], BEGINNING)).faults == []


def test_a_fault_that_was_told_does_not_stop_the_job_that_is_to_stop_on_faults() -> None:
    """Its state was refused: "expected a snapshot's fields but got something else: integer division or modulo by zero"."""
    arcs = [Arc("a", "b", "10 // n > 2", "Sum(e.n)", name="in"), Arc("b", "c", "True", name="out")]
    here = job(arcs, None, 1)
    stops = here._replace(on_fault="raise")

    def rows(*pairs: tuple[int, int]) -> pa.Table:
        return pa.Table.from_pylist([{"who": 1, "n": n, "le": le, "diff": 1} for n, le in pairs], here.schema)

    bucket = Bucket(here, 0)
    assert len(bucket.run(rows((1, 1000), (0, 2000), (3, 3000)), [], BEGINNING).faults) == 1
    state = bucket.save(False)
    for blobs in ([state], list(Bucket(stops, 0, [state]).split(1))):
        bucket = Bucket(stops, 0, blobs)
        assert bucket.run(rows((2, 4000)), [], BEGINNING).faults == []
        with pytest.raises(ZeroDivisionError, match=r"in the fence of arc 'in': a -> b on event Row.n=0. at le=5000"):
            bucket.run(rows((0, 5000)), [], BEGINNING)
    one, told = joined(stops, 0, [state], BEGINNING)
    assert told.faults == []
    with pytest.raises(ZeroDivisionError, match="at le=5000"):
        one.run(rows((0, 5000)), [], BEGINNING)


def test_what_was_counted_stays_so_where_keys_move() -> None:
    arcs = [Arc("a", "b", "True", "Sum(e.n)", name="in"), Arc("b", "c", "e.n > 2", name="out")]
    two, three, one = (job(arcs, None, n) for n in (2, 3, 1))
    rows = [{"who": who, "n": 3, "le": le, "diff": 1} for who in range(12) for le in (1000, 2000)]
    table = pa.Table.from_pylist(rows, two.schema)
    numbers = bucket_numbers([table["who"]], 2)

    def counts(buckets: list[Bucket]) -> Any:
        found = [statistics_of(bucket._core) for bucket in buckets]
        return [sum(each) for each in zip(*((s.changes, s.outputs, s.retractions, s.late) for s in found))]

    buckets = [Bucket(two, number) for number in range(2)]
    for number, bucket in enumerate(buckets):
        bucket.run(table.filter(pa.array(numbers == number)), [], BEGINNING)
    before = counts(buckets)
    assert before[:2] == [24, 12]
    for other in (three, one):
        parts = [list(bucket.split(other.buckets)) for bucket in buckets]
        buckets = [joined(other, number, list(states), BEGINNING)[0] for number, states in enumerate(zip(*parts))]
        assert counts(buckets) == before


def test_rows_wait_where_keys_move_though_another_bucket_was_further_ahead() -> None:
    arcs = [Arc("a", "b", "True", "Sum(e.n)", name="in"), Arc("b", "c", "e.n > 2", name="out")]
    waits, goes = job(arcs, None, 2, ahead=0), job(arcs, None, 2)
    numbers = bucket_numbers([pa.chunked_array([list(range(20))])], 2).tolist()
    states = []
    for number in range(2):
        rows = [{"who": numbers.index(number), "n": 3, "le": le, "diff": 1} for le in (60_000, 99_000)]
        table = pa.Table.from_pylist(rows, waits.schema)
        bucket = Bucket(waits, number)
        bucket.run(table.slice(1) if number == 0 else None, [], 10_000)
        bucket = Bucket(goes, number, [bucket.save(False)])
        bucket.run(None, [], 20_000)  # what has waited is taken
        bucket = Bucket(waits, number, [bucket.save(False)])
        bucket.run(table if number == 1 else None, [], 30_000)
        states.append(next(bucket.split(1)))
    one, told = joined(job(arcs, None, 1, ahead=0), 0, states, 40_000)
    answer = told.then(one.run(None, [], 40_000))
    assert sum(changes.num_rows for changes in answer.changes) == 0
    one = Bucket(job(arcs, None, 1, ahead=0), 0, [one.save(False)])
    assert one.numbers(False)["held"] == 2
    assert sum(changes.num_rows for changes in one.run(None, [], 200_000).changes) == 1
