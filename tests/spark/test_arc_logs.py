"""Random arc logs on buckets without Spark, in batches, over several buckets, saved and lost in between: against one operator."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from afa import Arc, Automaton
from afa.errors import AutomatonError
from afa.spark import shared
from afa.spark.bucket import Bucket
from afa.spark.held import stream_of, table_of
from afa.spark.job import BucketAnswer, Job
from afa.spark.ledger import TABLES
from afa.spark.packed_rows import written
from punctuation.time import BEGINNING
from tests.arclogs import apart, is_late, random_log
from tests.spark.buckets import Buckets, job, net, table, ticks
from tests.spark.streams import SECOND, ZERO, of_program, plain, rows
from tests.strategies import Choices, Seeded
from tests.streams import Quote, Setting, Tally

TOLD = {"expected an arc in force but g", "expected one line of an id but"}
LATENESS = 40 * SECOND


class ShuffledBuckets(Buckets):
    """Lines come in any order; a bucket without rows may not be called, and a task may fail at its end."""

    choose: Choices

    def answer(self, number: int, rows: pa.Table, lines: Sequence[Any], promised: int) -> BucketAnswer:
        """A bucket's part of a batch."""
        if not len(rows) and not lines and self.choose.chance(50):
            return BucketAnswer([], [], [])
        come = sorted(lines, key=lambda line: self.choose.number(0, 10**6))
        if self.choose.chance(15):
            self.restored(number).run(rows, come, promised)
        return super().answer(number, rows, come, promised)


@pytest.mark.parametrize("number", range(30))
def test_random_logs_in_random_batches(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    check_log(Seeded(f"logs/{number}"))


@pytest.mark.stress
@pytest.mark.parametrize("number", range(1000))
def test_many_random_logs_in_random_batches(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    check_log(Seeded(f"more logs/{number}"))


def check_log(choose: Seeded) -> None:
    """One log, one stream, some buckets: the matches are those of one operator that has all from the beginning."""
    setting = of_program(choose.one(["runs", "branches", "words"]), choose.one([("who",), ("name", "who")]))
    here, stream = job(setting, buckets=choose.number(1, 3)), rows(choose, choose.number(40, 200), 4)
    everything, lines = list(stream), log_of(choose, setting, len(stream) // 2)
    buckets, promised = ShuffledBuckets(here, choose), BEGINNING
    taken: list[str] = []
    tables: list[pa.Table] = []
    while stream or lines:
        n, m = choose.number(0, 25), choose.number(0, 4)
        batch, stream, come, lines = stream[:n], stream[n:], lines[:m], lines[m:]
        good = [line for line in come if json.loads(line)["at"] >= promised]
        taken += good
        answers = buckets.run(table(here, batch), [line if choose.chance(50) else line.encode() for line in come], promised)
        tables += [table_of(stream_of(written(here, answer, []))) for answer in answers]
        before = list(map(json.loads, taken))
        late = sum(is_late(part, before, {}, promised) for part in apart(map(json.loads, come)))
        assert [len(answer.late) for answer in answers] == [late] + [0] * (here.buckets - 1)
        assert {fault.reason[:30] for answer in answers for fault in answer.faults} <= TOLD
        if batch:
            promised = max(promised, max(ticks(row["at"]) for row in batch) - LATENESS)
    assert net(here, tables) == plain(setting, 25, everything, taken)


def log_of(choose: Choices, setting: Setting, last: int) -> list[str]:
    """A random log about the arcs of a setting, in the order in which it comes: some lines late, some long before their instant."""
    arcs = [arc.to_json(setting.automaton) for arc in [*setting.automaton.arcs, *setting.pool] if arc.name is not None]
    lines = random_log(choose, arcs, choose.number(2, 16), last, SECOND, ZERO)
    lines += [choose.one(lines) for _ in range(choose.number(0, 3))]
    lines.sort(key=lambda line: json.loads(line)["at"] + choose.number(0, 60) * SECOND)
    return lines[len(lines) // 2 :] + lines[: len(lines) // 2] if choose.chance(20) else lines


def seven(**more: Any) -> dict[str, Any]:
    arc = {"name": "seven", "src": "a", "dst": "c", "fence": "e.sort == 7", **more}
    return {"op": "insert", "arc": arc, "at": ZERO}


def quoting() -> Job:
    arcs = [Arc("a", "c", "e.sort == 1", name="one")]
    return job(Setting(Automaton(start="a", final={"c"}, register=Tally(), event=Quote, arcs=arcs), arcs, {}, ("who",)), buckets=2)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\xff\xfe{", "expected a line of an arc log (JSON in UTF-8) but got other bytes: 'utf-8' codec can't decode byte 0xff"),
        (json.dumps(seven()).encode("utf-16"), "JSON in UTF-8"),
        (b"\x00" * 9, "expected a line of an arc log (JSON) but got"),
        (None, "expected a line of an arc log (JSON) but got no value"),
        (b"[" * 100_000, "expected a line of an arc log (JSON) but got"),
        (b'"' + b"x" * 3_000_000 + b'"', "expected a line of at most 200000 characters but got 3000002"),
        (b"\xff" * 3_000_000, "expected a line of at most 200000 characters but got 3000000"),
        (json.dumps(seven(name="\ud800")), "expected text that UTF-8 can hold but got '\\ud800' in a line of an arc log"),
        (json.dumps({**seven(), "until": ZERO}), "expected until > at but got at=1767225600000000, until=1767225600000000"),
        (json.dumps({**seven(), "id": [1]}), "expected a str or an int but got id=[1] in a line of an arc log"),
        (json.dumps({**seven(), "id": True}), "expected a str or an int but got id=True"),
        (json.dumps({**seven(), "at": 10**400}), "at=1000"),
    ],
)
def test_a_line_of_any_bytes_is_a_fault(raw: Any, message: str) -> None:
    """It is told once, from one bucket, in few words, and what comes beside it is carried out."""
    here = quoting()
    answers = [Bucket(here, number).run(None, [raw, json.dumps(seven())], BEGINNING) for number in range(2)]
    assert [len(answer.faults) for answer in answers] == [1, 0]
    (told,) = written(here, answers[0], []).to_pylist()
    assert message in told["reason"]
    assert len(told["reason"]) < 1000
    with pytest.raises(AutomatonError, match=re.escape(message)):
        Bucket(here._replace(on_fault="raise"), 1).run(None, [raw], BEGINNING)


def test_a_retraction_that_ends_nothing_is_told_when_the_promise_has_passed_it() -> None:
    here, line = quoting(), json.dumps({"op": "retract", "arc": {"name": "unknown"}, "at": ZERO + 5000})
    first, other = Bucket(here, 0), Bucket(here, 1)
    assert [bucket.run(None, [line], ZERO).faults for bucket in (first, other)] == [[], []]
    assert first.wakes(ZERO // 1000) == ZERO // 1000 + 6
    first = Bucket(here, 0, [first.save(False)])
    assert first.run(None, [], ZERO + 5000).faults == []
    (fault,) = first.run(None, [], ZERO + 5001).faults
    assert fault.reason == "expected an arc in force but got 'unknown'; in force: one"
    assert (fault.le, fault.what) == (ZERO + 5000, line)
    assert other.run(None, [], ZERO + 5001).faults == []
    assert first.run(None, [], ZERO + 9000).faults == []
    assert first.wakes(ZERO // 1000) is None
    last = Bucket(here, 0)
    last.run(None, [line], BEGINNING)
    assert [fault.reason[:30] for fault in last.rest()] == ["expected an arc in force but g"]


def test_lines_of_one_id_that_differ_are_told() -> None:
    here = quoting()
    lines = [json.dumps({**seven(), "id": "x", "at": ZERO + at}) for at in (5, 3)]
    (fault,) = Bucket(here, 0).run(None, lines, BEGINNING).faults
    assert "expected one line of an id but got two that differ; the earlier one counts" in fault.reason
    assert fault.what == lines[0]


def test_an_arc_that_leads_nowhere_is_told_once() -> None:
    here = quoting()
    bucket, other = Bucket(here, 0), Bucket(here, 1)

    def told(*lines: dict[str, Any]) -> list[str]:
        texts = [json.dumps(line) for line in lines]
        assert not other.run(None, texts, BEGINNING).notes
        found = written(here, bucket.run(None, texts, BEGINNING), []).to_pylist()
        assert {row["kind"] for row in found} <= {"note"}
        return [row["reason"] for row in found]

    nowhere = "arc 'up': a -> bb leads to no match yet: no arc leaves 'bb', and it is not final"
    assert told(seven(name="up", dst="bb")) == [nowhere]
    assert told(seven(name="up", dst="bb")) == []
    never = "arc 'lost': b -> c serves no event yet: no arc leads from 'a' to 'b'"
    assert told(seven(name="lost", src="b")) == [never]
    assert told(seven(name="end", src="bb")) == []
    assert told({"op": "retract", "arc": {"name": "end"}, "at": ZERO + 1}) == []
    assert told(seven(name="mark", dst="dd", final=True)) == []


def test_buckets_of_a_process_share_what_a_log_comes_to() -> None:
    """One table of arcs for all, whatever the order of lines; and none of it is another job's."""
    here, lines = quoting(), [json.dumps(seven(name=f"arc {i}", fence=f"e.sort == {i}")) for i in range(9)]
    buckets = [Bucket(here, number) for number in range(3)]
    for bucket, some in zip(buckets, (lines, lines[::-1], lines[:8])):
        bucket.run(None, some, BEGINNING)
    one, other, less = (bucket._core.arcs.table for bucket in buckets)
    assert one is other
    assert (len(one.events), len(less.events)) == (10, 9)
    again = Bucket(here, 1, [buckets[1].save(False)])
    assert again._core.arcs.table is one
    buckets[0].run(None, [json.dumps({"op": "retract", "arc": {"name": "arc 3"}, "at": ZERO, "sequence": 1})], BEGINNING)
    assert len(buckets[0]._core.arcs.table.events) == 9
    assert len(Bucket(here, 1, [again.save(False)])._core.arcs.table.events) == 10


def test_tables_of_arcs_that_have_ended_are_forgotten() -> None:
    """Each promise that ends an arc wants another table of the same log."""
    here, lines = quoting(), [json.dumps({**seven(name=f"arc {i}"), "until": ZERO + (i + 1) * SECOND}) for i in range(30)]
    bucket = Bucket(here, 1)
    bucket.run(None, lines, BEGINNING)
    for i in range(30):
        bucket = Bucket(here, 1, [bucket.save(False)])
        bucket.run(None, [], ZERO + (i + 1) * SECOND)
        assert len(bucket._logged.ledger.table(bucket._core.progress.final).events) == 30 - i
    assert len(bucket._logged.ledger._tables) == TABLES + 1


def test_jobs_with_arcs_of_one_name_that_only_python_can_run_share_nothing() -> None:
    def odd(sorts: list[int]) -> Job:
        arcs = [Arc("a", "c", lambda e, r: e.sort in list(sorts), name="python")]
        return job(Setting(Automaton(start="a", final={"c"}, register=Tally(), event=Quote, arcs=arcs), arcs, {}, ("who",)))

    line = json.dumps(seven())
    for sorts in ([1], [2]):
        here = odd(sorts)
        bucket = Bucket(here, 0)
        stream = [{**row, "diff": 1, "sort": i % 3} for i, row in enumerate(rows(Seeded("python"), 9, 1))]
        tables = [written(here, bucket.run(table(here, stream), [line], BEGINNING), [])]
        assert net(here, tables) == plain(Setting(here.automaton, [], {}, ("who",)), 25, stream, [line])


def test_what_is_late_for_one_bucket_is_not_for_another() -> None:
    line = json.dumps(seven())
    answers = [Bucket(quoting(), 0).run(None, [line], promised) for promised in (ZERO + 1, ZERO, ZERO + 1)]
    assert [len(answer.late) for answer in answers] == [1, 0, 1]


def test_an_arc_that_has_ended_is_not_there_after_a_restart() -> None:
    here = quoting()
    bucket = Bucket(here, 0)
    bucket.run(None, [json.dumps({**seven(), "until": ZERO + 100})], BEGINNING)
    bucket.run(None, [], ZERO + 100)
    again = Bucket(here, 0, [bucket.save(False)])
    assert [event.arc.name for event in again._core.arcs.table.events] == ["one"]
