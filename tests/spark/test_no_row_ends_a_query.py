"""Rows that can't be taken, in buckets: told with key and reason, all else goes on; or the query stops, with both."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
import pyarrow as pa
import pytest

from afa import AfaError, Arc, Automaton, BudgetError, LateEventError, SnapshotError
from afa.engine.budget import BytesError
from afa.model.raised import text_of
from afa.operator.options import Options
from afa.situations import Situation, TemporalPattern
from afa.spark import shared
from afa.spark.bucket import FORMAT, OLDEST, Bucket
from afa.spark.job import Job
from afa.spark.moved import joined
from afa.spark.packed_rows import BadRow, packer, read_parts, why, written
from afa.spark.pattern_said import said_of
from afa.spark.stages import Stages
from punctuation.time import BEGINNING, FOREVER
from tests.spark.buckets import Row, Sum, job_of
from tests.strategies import Seeded


class Reading(NamedTuple):
    who: int
    n: int


class UntoldError(Exception):
    """Its text raises."""

    def __str__(self) -> str:
        raise ValueError


WRONG = 13


def job(*arcs: Arc, on_fault: str = "report", window: int = 9, buckets: int = 1, **more: Any) -> Job:
    arcs = arcs or (Arc("a", "c", "True", "Sum(e.n)"),)
    automaton = Automaton(start="a", final={"c"}, register=Sum(), event=Row, arcs=arcs)
    return job_of(automaton, "who", timedelta(microseconds=window), None, buckets, on_fault, [pa.int64()], **more)


def raising(error: BaseException) -> Callable[..., Job]:
    def fence(e: Any, r: Any) -> bool:
        if e.n == WRONG:
            raise error
        return True

    return lambda **more: job(Arc("a", "c", fence, "Sum(e.n)", name="x"), **more)


def endless(e: Any, r: Any) -> Any:
    return e.n != WRONG or endless(e, r)


def situations(returns: Any = None, on_fault: str = "report") -> Job:
    found = {"a": Situation("n > 0"), "b": Situation("n < 0")}
    pattern = TemporalPattern(event=Reading, within=100, key="who", where="a before b", returns=returns or {}, **found)
    automaton, said, asked, _ = said_of(pattern, Options())
    return job_of(automaton, said.key, said.window, said.order_by, 1, on_fault, [pa.int64()], asked=asked)


def doubling(partial_matches: int | None, **more: Any) -> Job:
    """Of n events of a key that differ there are 2^n partial matches."""
    arcs = [Arc("a", "b", "n > 0", "Sum(e.n)"), Arc("b", "b", "n > 0", "Sum(r.n + e.n)"), Arc.skip("b", "True")]
    return job(*arcs, Arc("b", "c", "n == 0"), window=1000, partial_matches=partial_matches, **more)


def rows(*found: tuple[int, ...]) -> list[dict[str, int]]:
    """Rows of (key, n, le), or (key, n, le, diff)."""
    return [{"who": who, "n": n, "le": le, "diff": diff[0] if diff else 1} for who, n, le, *diff in found]


def run(here: Job, bucket: Bucket, some: list[dict[str, int]], promised: int = BEGINNING) -> list[dict[str, Any]]:
    table = pa.Table.from_pylist([{name: row[name] for name in here.schema.names} for row in some], here.schema) if some else None
    return written(here, bucket.run(table, [], promised), []).to_pylist()


SITUATIONS = rows((2, 5, 1), (2, 0, 2), (2, -1, 3))
KINDS: dict[str, tuple[Callable[..., Job], list[dict[str, int]], str]] = {
    "an end of time": (job, rows((1, 1, FOREVER)), "expected le < "),
    "a lifetime beyond int64": (job, rows((1, 1, FOREVER - 3)), r"expected an int64 \(ticks\) but got le \+ window"),
    "an error": (raising(ZeroDivisionError("by 0")), rows((1, WRONG, 5)), "ZeroDivisionError: by 0 in the fence of arc 'x'"),
    "no text": (raising(UntoldError()), rows((1, WRONG, 5)), r"UntoldError: \(its text can't be told: ValueError\) in the fence"),
    "text that no UTF-8 holds": (raising(ValueError("\ud800")), rows((1, WRONG, 5)), r"ValueError: \\ud800 in the fence"),
    "memory for a function": (raising(MemoryError()), rows((1, WRONG, 5)), "MemoryError: ; in the fence of arc 'x'"),
    "no file for a function": (raising(OSError(2, "none")), rows((1, WRONG, 5)), "none in the fence of arc 'x'"),
    "recursion": (lambda **more: job(Arc("a", "c", endless, name="x"), **more), rows((1, WRONG, 5)), "RecursionError: maximum"),
    "int64": (lambda **more: job(Arc("a", "c", "True", "Sum(e.n * 4)"), **more), rows((1, 2**62, 5)), "expected an int64 but got"),
    "a closure": (
        lambda **more: job(Arc("a", "b", "True", "Sum(e.n)"), Arc.epsilon("b", "b", f"r.n >= {WRONG}", "Sum(r.n + 1)"),
                           Arc.epsilon("b", "c"), **more),
        rows((1, WRONG, 5)),
        "10000 steps",
    ),
    "partial matches": (
        lambda **more: doubling(6, **more), rows((1, 1, 1), (1, 2, 2), (1, 4, 3)), "expected at most 6 partial matches of one key"
    ),
    "two readings at once": (situations, rows((1, 1, 5), (1, 2, 5)), "expected one reading of a key at a time but got "),
    "a sum of readings": (
        lambda **more: situations({"s": "sum(a.n)"}, **more), rows((1, 2**62, 5), (1, 2**62, 6)), "expected a sum within int64"
    ),
    "a retraction of nothing": (job, rows((1, 1, 5, -1)), r"expected the insertion of Row\(n=1\).* but got its retraction only"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_told_and_all_else_goes_on(kind: str) -> None:
    make, wrong, reason = KINDS[kind]
    here, is_readings, late = make(), make in (situations, KINDS["a sum of readings"][0]), rows((1, 0, 90), (3, 5, 91))
    bucket = Bucket(here, 0)
    first = SITUATIONS if is_readings else rows((2, 1, 5), (2, 0, 6))
    out = run(here, bucket, [*wrong, *first])
    bucket = Bucket(here, 0, [bucket.save(False)])
    more = [*late, *rows((1, 7, 92), (1, 0, 93), (1, -1, 94))] if is_readings else [*late, *rows((1, 1, 92), (1, 0, 93))]
    out += run(here, bucket, more, 50)
    out += run(here, Bucket(here, 0, [bucket.save(False)]), [], 5000)
    faults = [row for row in out if row["kind"] == "fault"]
    assert {row["who"] for row in faults} == {1}
    assert all(row["le"] is not None for row in faults)
    text = " | ".join(row["reason"] for row in faults)
    assert re.search(reason, text), text
    found = {row["who"] for row in out if row["kind"] == "match" and row["le"] < 50}
    assert 2 in found
    assert 1 in {row["who"] for row in out if row["kind"] == "match" and row["le"] > 90}
    stops = make(on_fault="raise")
    bucket = Bucket(stops, 0)
    with pytest.raises(Exception) as stopped:  # noqa: PT011  (the text of one raises)
        [run(stops, bucket, some, promised) for some, promised in (([*wrong, *first], BEGINNING), ([], 50))]
    assert "of key 1" in text_of(stopped.value)


TOO_MANY = "expected at most 16,777,215 partial matches of one key at an instant but got more"


@pytest.mark.parametrize(
    "error",
    [
        BudgetError("expected at most 5 partial matches"), MemoryError(TOO_MANY), pa.ArrowInvalid("odd"), OverflowError("large"),
        RecursionError("deep"), KeyError("x"), AfaError("no"), UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"), AssertionError(),
    ],
)  # fmt: skip
def test_whatever_a_call_raises_just_the_rows_to_blame_are_left_out(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    take = Stages.take

    def taken(self: Any, some: Any, *more: Any) -> None:
        take(self, some, *more)  # so that there is something to take back
        if some is not None and WRONG in some["n"].to_pylist():
            raise error

    monkeypatch.setattr(Stages, "take", taken)
    some = [row for who in range(5) for at in range(8) for row in rows((who, WRONG if (who, at) in ((1, 3), (4, 7)) else at, at))]
    here = job()
    out = run(here, Bucket(here, 0), some)
    assert {(row["who"], row["le"]) for row in out if row["kind"] == "fault"} == {(1, 3), (4, 7)}
    assert all("; left out: {'who': " in row["reason"] for row in out if row["kind"] == "fault")
    matches = [(row["who"], row["le"]) for row in out if row["kind"] == "match"]
    assert sorted(matches) == sorted((row["who"], row["le"]) for row in some if row["n"] != WRONG)
    assert {row["diff"] for row in out if row["kind"] == "match"} == {1}
    with pytest.raises(type(error)) as stopped:
        run(job(on_fault="raise"), Bucket(job(on_fault="raise"), 0), some)
    assert "of key 1 at 1970-01-01 00:00:00.000003, row {'who': 1, 'n': 13" in text_of(stopped.value)


@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left"), MemoryError("expected memory for the columns of a batch but the system has no more"),
     BytesError("expected at most 5 bytes of state"), SnapshotError("torn"), KeyboardInterrupt()],
)  # fmt: skip
def test_what_a_machine_lacks_is_no_fault_of_a_row(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(*_: Any) -> None:
        raise error

    monkeypatch.setattr(Stages, "take", taken)
    with pytest.raises(type(error)):
        run(job(), Bucket(job(), 0), rows((1, 1, 1), (2, 2, 2)))


@pytest.mark.parametrize("number", range(8))
def test_random_worlds_under_a_bound(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The net output is that of the rows that were taken: those inserted and not told as left out, less those retracted since."""
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    choose = Seeded(f"bounded/{number}")
    bound = choose.number(4, 12)
    here, free = doubling(bound), doubling(None)
    bucket, net, force, gone, refused = Bucket(here, 0), Counter[Any](), set[Any](), set[Any](), 0
    for step in range(12):
        batch: dict[int, dict[str, int]] = {}
        for le in range(6 * step, 6 * step + choose.number(1, 6)):
            if (force or gone) and choose.chance(35):
                who, n, le = choose.one(sorted(force if force and choose.chance(70) else force | gone))
                batch[le] = rows((who, n, le, -1))[0]
            else:
                batch[le] = rows((choose.number(0, 2), choose.one([0, 1, 2, 4, 8]), le))[0]
        out = run(here, bucket, list(batch.values()))
        said = {row["le"]: row["reason"] for row in out if row["kind"] == "fault"}
        for le, row in batch.items():
            its, reason = (row["who"], row["n"], le), said.get(le, "")
            if row["diff"] > 0:
                (gone if "left out" in reason else force).add(its)
                refused += "left out" in reason
            else:
                assert ("one that was refused" in reason) == (its in gone)
                gone.discard(its)
                force.discard(its)
        for row in out:
            if row["kind"] == "match":
                net[row["who"], row["n"], row["le"]] += row["diff"]
        expected = Counter((row["who"], row["n"], row["le"]) for row in run(free, Bucket(free, 0), rows(*sorted(force))))
        assert {match: n for match, n in net.items() if n} == expected
        bucket.check()
        blob = bucket.save(False)
        if choose.chance(30):
            two = doubling(bound, buckets=2)
            parts = [joined(two, number, [part], BEGINNING)[0] for number, part in enumerate(bucket.split(2))]
            bucket, _ = joined(here, 0, [next(part.split(1)) for part in parts], BEGINNING)
        elif choose.chance(50):
            bucket.leave(b"%d" % step)
            bucket = Bucket(here, 0, image=shared.take(b"%d" % step))
        else:
            bucket = Bucket(here, 0, [blob])
    assert refused


def test_a_row_that_has_waited_may_be_refused() -> None:
    """Its retraction in the batch that lets it through finds that out; nothing is told that is withdrawn at once."""
    here = doubling(6, speculation="0 seconds")
    bucket = Bucket(here, 0)
    assert run(here, bucket, rows((1, 1, 1), (1, 2, 2), (1, 4, 3), (2, 1, 1), (2, 0, 3))) == []
    out = run(here, Bucket(here, 0, [bucket.save(False)]), [], 10)
    assert [(row["kind"], row["who"], row["le"]) for row in out] == [("match", 2, 3), ("fault", 1, 3)]


def test_a_refused_row_may_come_again_and_its_retraction_is_told() -> None:
    here = doubling(6)
    bucket = Bucket(here, 0)
    out = run(here, bucket, rows((1, 1, 1), (1, 2, 2), (1, 4, 3)))
    assert [(row["kind"], row["le"]) for row in out] == [("fault", 3)]
    bucket = Bucket(here, 0, [bucket.save(False)])
    (told,) = run(here, bucket, rows((1, 4, 3, -1)))
    assert told["kind"] == "fault"
    assert told["reason"].startswith("expected the retraction of a row in force but got that of one that was refused: {'who': 1")
    assert run(here, bucket, rows((1, 2, 2, -1), (1, 4, 3))) == []
    found = run(here, bucket, rows((1, 0, 9)))
    assert sorted(row["n"] for row in found) == [1, 4, 5]
    stops = doubling(6, on_fault="raise")
    with pytest.raises(BudgetError, match="expected at most 6 partial matches of one key") as stopped:
        run(stops, Bucket(stops, 0), rows((1, 1, 1), (1, 2, 2), (1, 4, 3)))
    assert "of key 1 at 1970-01-01 00:00:00.000003" in text_of(stopped.value)


def test_refused_rows_are_kept_in_one_piece_and_only_where_retractions_may_come() -> None:
    """Each of many refused rows was a batch of its own in the state; without ``diff=`` none can be retracted."""
    here, doubled = doubling(6), rows(*((1, 1 << at % 3, at) for at in range(100)))
    bucket = Bucket(here, 0)
    refused = [row for row in run(here, bucket, doubled) if row["kind"] == "fault"]
    assert len(refused) > 90
    kept = bucket._refused.rows
    assert (len(kept), kept["le"].num_chunks) == (len(refused), 1)
    assert len(bucket._refused.save()) < 40 * len(kept)
    plain = here._replace(retracts=False)
    bucket = Bucket(plain, 0)
    again = [row for row in run(plain, bucket, doubled) if row["kind"] == "fault"]
    assert len(again) == len(refused)
    assert not len(bucket._refused.rows)


def test_a_bound_may_change_from_start_to_start() -> None:
    blobs: list[bytes] = []
    for bound, refused in ((6, True), (None, False), (50, False)):
        here = doubling(bound)
        bucket = Bucket(here, 0, blobs)
        out = run(here, bucket, rows((1, 1, 1), (1, 2, 2), (1, 4, 3)) if not blobs else rows((1, 4, 3 + len(blobs))))
        assert bool(out) == refused
        blobs.append(bucket.save(bool(blobs)))
    with pytest.raises(AfaError, match="expected partial_matches of at least 1, or None, but got partial_matches=0"):
        doubling(0)


def test_a_state_from_before_rows_were_refused_goes_on() -> None:
    bucket = Bucket(job(), 0)
    run(job(), bucket, rows((1, 1, 5)))
    state = msgpack.unpackb(bucket.save(False))
    for version in range(OLDEST, FORMAT):  # each has a part more than the one before
        again = Bucket(job(), 0, [msgpack.packb([version, *state[1 : version - FORMAT]])])
        (gone,) = run(job(), again, rows((1, 1, 5, -1)))
        assert (gone["kind"], gone["diff"]) == ("match", -1)


# -- two readings of a key and time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
def test_of_two_readings_at_once_neither_holds(order: list[int]) -> None:
    """Whichever came first, in one batch or in several; as soon as one of them is retracted, the other one holds."""
    here = situations()
    bucket, net, told = Bucket(here, 0), Counter[Any](), []
    come = [rows((1, 5, 10)), rows((1, 6, 10)), rows((1, 0, 20), (1, -1, 30))]
    for which in order:
        out = run(here, bucket, come[which])
        told += [row["reason"] for row in out if row["kind"] == "fault"]
        for row in out:
            if row["kind"] == "match":
                net[row["a_ts"], row["b_ts"]] += row["diff"]
        bucket = Bucket(here, 0, [bucket.save(False)])
    assert not +net
    assert len(told) == 1
    assert told[0].startswith(
        "expected one reading of a key at a time but got Reading(who=1, n=5) and Reading(who=1, n=6) at le=10"
    )
    assert "neither holds while both are there" in told[0]
    out = run(here, bucket, rows((1, 6, 10, -1)))
    assert [(row["kind"], row["a_ts"], row["b_ts"]) for row in out] == [("match", 10, 30)]
    stops = situations(on_fault="raise")
    again = Bucket(stops, 0, [bucket.save(False)])  # what was told does not stop it
    with pytest.raises(AfaError, match="expected one reading of a key at a time"):
        run(stops, again, rows((1, 7, 10)))


@pytest.mark.parametrize("number", range(6))
def test_random_readings_some_at_once(number: int) -> None:
    """After each batch the matches are those of the readings that are alone at their time, in whatever order all came and went."""
    choose, here, there, net, told = Seeded(f"at once/{number}"), situations(), set[tuple[int, int, int]](), Counter[Any](), 0
    bucket, names = Bucket(here, 0), ("who", "a_ts", "a_te", "b_ts", "le")
    for _ in range(10):
        batch = set[tuple[int, int, int]]()
        for _ in range(choose.number(1, 5)):
            batch.add((choose.number(1, 2), choose.number(-1, 2), choose.number(0, 9)))
        out = run(here, bucket, rows(*((*each, -1 if each in there else 1) for each in sorted(batch))))
        there ^= batch
        for row in out:
            told += row["kind"] == "fault"
            if row["kind"] == "match":
                net[tuple(row[name] for name in names)] += row["diff"]
        at = Counter((who, le) for who, _, le in there)
        alone = rows(*sorted(each for each in there if at[each[0], each[2]] == 1))
        whole = run(here, Bucket(here, 0), alone)
        assert {match for match, n in net.items() if n} == {tuple(row[name] for name in names) for row in whole}
        assert all(row["kind"] == "match" for row in whole)
        bucket.check()
        bucket = Bucket(here, 0, [bucket.save(False)]) if choose.chance(50) else bucket
    assert told


# -- rows that can't be read, and retractions of none ------------------------------------------------------------------------


def packed(here: Job, **columns: Any) -> list[dict[str, Any]]:
    batch = pa.RecordBatch.from_pydict(columns)
    found = [pair for out in packer(here, "at")([batch]) for pair in zip(out["part"].to_pylist(), out["rows"].to_pylist())]
    parts = read_parts(found)
    return written(here, Bucket(here, 0).run(parts.events, [], BEGINNING), parts.bad).to_pylist()


def test_text_that_is_no_utf_8_is_a_bad_row() -> None:
    class Text(NamedTuple):
        t: str

    automaton = Automaton(start="a", final={"c"}, event=Text, arcs=[Arc("a", "c", "t != 'x'")])
    here = job_of(automaton, "who", "1 second", None, 1, "report", [pa.string()])
    ends, raw = pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xffz")
    torn, sound = pa.Array.from_buffers(pa.string(), 2, [None, ends, raw]), pa.array(["u", "v"])
    for who, t in ((torn, sound), (sound, torn)):
        out = packed(here, who=who, t=t, le=pa.array([1_000_000, 2]))
        assert [row["kind"] for row in out] == ["match", "fault"]
        assert "\\\\xff" in out[1]["reason"]
        assert (out[1]["le"], out[1]["who"]) == (1_000_000, "\\xff" if who is torn else "u")


def test_a_bad_row_is_told_with_its_time_and_what_is_wrong() -> None:
    for diff in (0, 2, None):
        (fault,) = packed(job(), who=pa.array([1]), n=pa.array([1]), le=pa.array([1_500_000]), diff=pa.array([diff], pa.int64()))
        assert (fault["who"], fault["le"]) == (1, 1_500_000)
        assert f"-1 (a retraction) in the column that diff= names but got diff={diff} in " in fault["reason"]
        assert "'at': '1970-01-01 00:00:01.500000'" in fault["reason"]
    bad = BadRow({"who": 1, "n": None}, 7)
    assert why(job(), bad) == "expected a key, a time and n: int but got {'who': 1, 'n': None}"
    with pytest.raises(AfaError, match="expected a key, a time and n: int but got"):
        written(job(on_fault="raise"), Bucket(job(), 0).run(None, [], BEGINNING), [bad])


def test_a_retraction_of_nothing_is_told_when_its_row_can_t_come_any_more() -> None:
    for here, some in ((job(), rows((1, 1, 5, -1))), (situations(), rows((1, 1, 5, -1)))):
        bucket = Bucket(here, 0)
        assert run(here, bucket, some) == []
        bucket = Bucket(here, 0, [bucket.save(False)])
        ((fault),) = run(here, bucket, [], 60)
        assert (fault["kind"], fault["who"], fault["le"], fault["diff"]) == ("fault", 1, 5, None)
        assert "before 1970-01-01 00:00:00.000060 (promised) but got its retraction only" in fault["reason"]
        whole = Bucket(here, 0)
        assert run(here, whole, some) == []
        (last,) = whole.rest()  # of a static table, behind which nothing comes
        assert (last.key, last.le) == ((1,), 5)
        assert "but got its retraction only" in last.reason
    late = Bucket(job(late="raise"), 0)
    run(job(late="raise"), late, rows((1, 1, 5, -1)))
    with pytest.raises(LateEventError, match="but got its retraction only of key 1"):
        run(job(late="raise"), late, [], 60)
