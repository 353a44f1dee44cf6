"""The work of one bucket, without Spark: saved and lost after each batch."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgpack
import pytest

from afa import AfaError, Arc, Automaton, AutomatonError, LateEventError, SnapshotError
from afa.operator import snapshot
from afa.spark import shared
from afa.spark.bucket import Bucket
from afa.spark.held import stream_of, table_of
from afa.spark.job import Job
from afa.spark.packed_rows import written
from punctuation.time import BEGINNING, FOREVER
from tests.spark.buckets import Buckets, job, net, table, ticks
from tests.spark.streams import SECOND, ZERO, arc_lines, of_program, plain, rows, when
from tests.strategies import Seeded
from tests.streams import Quote, Setting, Tally


@pytest.mark.parametrize("program", ["runs", "branches", "words"])
@pytest.mark.parametrize("number", range(3))
def test_a_bucket_that_is_lost_after_each_batch(program: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    choose = Seeded(f"bucket/{program}/{number}")
    setting = of_program(program, choose.one([("who",), ("name", "who")]))
    here = job(setting)
    stream, lines = rows(choose, 250, choose.one([2, 20])), arc_lines(choose, setting, choose.number(0, 6), 90)
    buckets, tables, at, given = Buckets(here, choose), [], 0, 0
    while at < len(stream):
        batch = stream[at : at + choose.number(1, 60)]
        at += len(batch)
        arcs = lines[given : given + choose.number(0, 3)] if at < len(stream) else lines[given:]
        given += len(arcs)
        (answer,) = buckets.run(table(here, batch), arcs)
        assert (answer.late, answer.faults) == ([], [])
        tables.append(table_of(stream_of(written(here, answer, []))))
    assert buckets.taken > 0
    assert net(here, tables) == plain(setting, 25, stream, lines)


@pytest.mark.parametrize("ahead", [0, 38, 1000, None])
@pytest.mark.parametrize("number", range(3))
def test_rows_wait_for_the_watermark(ahead: int | None, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    choose = Seeded(f"held/{ahead}/{number}")
    setting = of_program("branches", ("who",))
    lateness = 40
    lifetimes = choose.chance(50)
    stream, lines = rows(choose, 250, 4, lifetimes), arc_lines(choose, setting, 3, 90)
    buckets = Buckets(job(setting), choose)
    tables, at, latest, withdrawn, waited = [], 0, ZERO, 0, 0
    while at <= len(stream):
        batch = stream[at : at + choose.number(1, 60)]
        some = ahead if ahead is not None else choose.one([0, 5, 38, None])  # it changes from start to start
        buckets.job = here = job(setting, speculation=None if some is None else f"{some} seconds", lifetimes=lifetimes)
        promised = max(ZERO, latest - lateness * SECOND) if batch else ZERO + 10_000 * SECOND
        (last,) = buckets.run(table(here, batch), () if tables else lines, promised)
        assert (last.late, last.faults) == ([], [])
        tables.append(table_of(stream_of(written(here, last, []))))
        withdrawn += sum(row["diff"] < 0 for row in tables[-1].to_pylist())
        bucket = buckets.restored(0)
        held = bucket.numbers(False)["held"] or 0
        waited += held
        wakes = bucket.wakes(promised // 1000)
        assert not held or (wakes is not None and promised // 1000 < wakes)
        if not batch:
            break
        at += len(batch)
        latest = max([latest, *(int(row["at"].timestamp()) * SECOND for row in batch)])
    assert held == 0
    assert net(here, tables) == plain(setting, 25, stream, lines)
    assert bool(waited) == (ahead != 1000)
    assert ahead is None or bool(withdrawn) == (ahead > 0)


def test_a_bucket_is_asked_again_when_the_last_lifetime_ends() -> None:
    setting = of_program("runs", ("who",))
    here = job(setting, lifetimes=True)
    stream = rows(Seeded("ends"), 20, 2)
    bucket = Bucket(here, 0)
    bucket.run(table(here, [{**row, "until": when(100 + i)} for i, row in enumerate(stream)]), [], BEGINNING)
    last = (ZERO + 119 * SECOND) // 1000
    assert Bucket(here, 0, [bucket.save(False)]).wakes(0) == bucket.wakes(0) == last + 1
    bucket.run(None, [], (last + 1) * 1000)
    assert bucket.wakes(last + 1) is None
    assert bucket.numbers(False)["keys"] == 0


def test_speculation_may_change_between_two_starts() -> None:
    setting = of_program("runs", ("who",))
    stream = rows(Seeded("change"), 60, 2)
    first = Bucket(job(setting, speculation="0 seconds"), 0)
    tables = [written(job(setting), first.run(table(job(setting), stream), [], ZERO), [])]
    assert tables[0].num_rows == 0
    assert first.numbers(False)["held"] == 60
    second = Bucket(job(setting), 0, [first.save(False)])
    tables.append(written(job(setting), second.run(None, [], ZERO), []))
    assert second.numbers(False)["held"] == 0
    assert net(job(setting), tables) == plain(setting, 25, stream, [])


def test_what_is_behind_the_watermark_is_told(engine: str) -> None:
    setting = of_program("runs", ("who",))
    here = job(setting)
    stream = rows(Seeded("late"), 40, 2)
    bucket = Bucket(here, 0)
    answer = bucket.run(table(here, stream), [], ZERO + 3600 * SECOND)
    assert len(answer.late) == 40
    told = written(here, answer, []).to_pylist()
    assert {row["kind"] for row in told} == {"late"}
    assert told[0]["who"] == stream[0]["who"]
    assert "behind the watermark: Quote(" in told[0]["reason"]
    with pytest.raises(LateEventError, match=r"expected nothing behind the watermark .* but got 40 late"):
        Bucket(job(setting, late="raise"), 0).run(table(here, stream), [], ZERO + 3600 * SECOND)


def dividing() -> Setting:
    arcs = [Arc("a", "c", lambda e, r: 12 // e.sort > 2, name="ac")]
    automaton = Automaton(start="a", final={"c"}, register=Tally(), event=Quote, arcs=arcs)
    return Setting(automaton, arcs, {}, ("who",))


def test_a_row_that_a_function_can_t_take_harms_no_other() -> None:
    here = job(dividing())
    stream = [{**row, "diff": 1, "sort": 0 if i in (3, 17) else 1} for i, row in enumerate(rows(Seeded("faults"), 40, 4))]
    answer = Bucket(here, 3).run(table(here, stream), [], BEGINNING)
    assert len(answer.faults) == 2
    told = [row for row in written(here, answer, []).to_pylist() if row["kind"] == "fault"]
    assert sorted((row["who"], row["le"]) for row in told) == sorted((stream[i]["who"], ticks(stream[i]["at"])) for i in (3, 17))
    assert "ZeroDivisionError" in told[0]["reason"]
    assert "fence of arc 'ac'" in told[0]["reason"]
    assert told[0]["reason"].endswith("(in bucket 3)")
    with pytest.raises(ZeroDivisionError):
        Bucket(job(dividing(), on_fault="raise"), 0).run(table(here, stream), [], BEGINNING)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "expected a line of an arc log"),
        ("[]", 'expected {"op": "insert" or "retract"'),
        ('{"op": "insert", "arc": {}, "at": 1}', "expected an arc with a name"),
        ('{"op": "insert", "arc": {"name": "x", "src": "a", "dst": "c", "fence": "e.nothing"}, "at": 1}', "nothing"),
        ('{"op": "insert", "arc": {"name": "x", "src": "a", "dst": "c", "fence": "__import__(1)"}, "at": 1}', "__import__"),
        ('{"op": "insert", "arc": {"name": "x", "src": "a", "dst": "c", "fence": "True"}, "at": "noon"}', "expected an instant"),
        ('{"op": "insert", "arc": {"name": "x", "src": "a", "dst": "c", "fence": "True"}, "at": 1.5}', "at=1.5"),
        ('{"op": "retract", "arc": {"name": "ac"}, "at": 1, "why": 2}', "expected the keys"),
    ],
)
def test_a_bad_line_comes_out_once(line: str, message: str) -> None:
    here = job(dividing(), buckets=2)
    first, other = (Bucket(here, number).run(None, [line], BEGINNING) for number in range(2))
    assert other.faults == []
    assert len(first.faults) == 1
    assert message in first.faults[0].reason
    with pytest.raises(AfaError):
        Bucket(job(dividing(), on_fault="raise"), 0).run(None, [line], BEGINNING)


def test_foreign_state_is_refused() -> None:
    here = job(dividing())
    for blob in (b"", b"x", Bucket(here, 0).save(False)[:-1]):
        with pytest.raises(SnapshotError):
            Bucket(here, 0, [blob])


def test_damaged_state_is_refused() -> None:
    here = job(of_program("runs", ("who",)), speculation="0 seconds")
    bucket = Bucket(here, 0)
    bucket.run(table(here, rows(Seeded("damage"), 40, 2)), [], BEGINNING)
    blob = bucket.save(False)
    assert Bucket(here, 0, [blob]).numbers(False) == bucket.numbers(False)
    body = msgpack.unpackb(blob)
    for place, wrong in [
        (1, ["{}"]),
        (1, [3]),
        (1, None),
        (2, None),
        (2, [1, 2]),
        (3, b"AFAS"),
        (4, b"rows"),
        (4, None),
        (5, "x"),
        (6, 2**63),
    ]:
        torn = msgpack.packb([*body[:place], wrong, *body[place + 1 :]])
        with pytest.raises(SnapshotError):
            Bucket(here, 0, [torn])
    unnamed = {**body[2][0], "arcs": [{**arc, "name": 3} for arc in body[2][0]["arcs"]]}
    for place, wrong, said in [
        (2, [body[2][0], unnamed], "expected the name of an arc but got {.*'name': 3"),
        (1, [msgpack.packb([[], ["{}"]]), body[1][1]], "expected the state of a bucket but got something else: expected "),
    ]:
        with pytest.raises(SnapshotError, match=said):
            Bucket(here, 0, [msgpack.packb([*body[:place], wrong, *body[place + 1 :]])])
    choose = Seeded("torn")
    for _ in range(400):
        i = choose.number(0, len(blob) - 1)
        with contextlib.suppress(SnapshotError):
            Bucket(here, 0, [blob[:i] + bytes([blob[i] ^ 1 << choose.number(0, 7)]) + blob[i + 1 :]])


def grown(*names: str) -> Job:
    """A job over some arcs: each takes events of one sort from the start to the end."""
    arcs = [Arc("a", "c", f"e.sort == {name}", name=f"sort {name}") for name in names]
    automaton = Automaton(start="a", final={"c"}, register=Tally(), event=Quote, arcs=arcs)
    return job(Setting(automaton, arcs, {}, ("who",)), delay=3_600_000)


def found(here: Job, bucket: Bucket, sorts: list[int], second: int, latest: int = 0) -> list[int]:
    """At which seconds matches are found of one event of each sort, where the watermark has seen events up to a second."""
    template = rows(Seeded("one"), 1, 1)[0]
    stream = [{**template, "sort": sort, "at": when(second + i), "diff": 1} for i, sort in enumerate(sorts)]
    answer = bucket.run(table(here, stream), [], ZERO + (latest - 3600) * SECOND)
    assert answer.faults == []
    return sorted((row["le"] - ZERO) // SECOND for row in written(here, answer, []).to_pylist() if row["kind"] == "match")


def test_a_changed_automaton_goes_on_from_the_present(caplog: pytest.LogCaptureFixture) -> None:
    one, other = grown("0", "1"), grown("1", "2")
    bucket = Bucket(one, 0)
    assert found(one, bucket, [0, 1, 2], 10) == [10, 11]
    blobs = [bucket.save(False)]
    moved = Bucket(other, 0, blobs)
    assert moved.moved
    answer = moved.run(None, [], ZERO + (12 - 3600) * SECOND)
    (told,) = written(other, answer, []).to_pylist()
    assert told["kind"] == "code"
    assert f"from {ZERO + 12 * SECOND + 1000} on arcs" in told["reason"]
    assert "arcs that go: 'sort 0'; arcs that come: 'sort 2'" in told["reason"]
    assert found(other, moved, [0, 1, 2], 20) == [21, 22]
    assert "arcs that go: 'sort 0'; arcs that come: 'sort 2'" in caplog.text
    assert found(other, moved, [0, 2], 8) == [8], "what lies before the present keeps its arcs"
    blobs = [moved.save(False)]
    same = Bucket(other, 0, blobs)
    assert not same.moved
    assert found(other, same, [0, 1, 2], 30) == [31, 32]
    back = Bucket(one, 0, [same.save(False)])
    assert found(one, back, [0, 1, 2], 40, 39) == [40, 41]


def test_an_arc_that_the_log_has_taken_out_stays_out() -> None:
    here = grown("0", "1")
    bucket = Bucket(here, 0)
    line = json.dumps({"op": "retract", "arc": {"name": "sort 0"}, "at": ZERO})
    bucket.run(None, [line], BEGINNING)
    again = Bucket(grown("0", "1"), 0, [bucket.save(False)])
    assert found(here, again, [0, 1], 10) == [11]


class Tag(NamedTuple):
    tag: str = ""


LONE = Arc("a", "c", "e.sort == 1", "Tag('\\ud800')", name="lone")


def tagged(*arcs: Arc, tag: str = "") -> Job:
    automaton = Automaton(start="a", final={"c"}, register=Tag(tag), event=Quote, arcs=arcs)
    return job(Setting(automaton, list(arcs), {}, ("who",)), buckets=2)


def test_an_arc_with_text_that_can_t_be_written_is_refused_where_it_is_read() -> None:
    """In all buckets alike, whatever events they have."""
    here, message = (
        tagged(Arc("a", "c", "e.sort == 3", name="first")),
        r"expected text that UTF-8 can hold but got '\\ud800' in the",
    )
    line = json.dumps({"op": "insert", "arc": LONE.to_json(here.automaton), "at": ZERO})
    told = []
    for number in range(2):
        bucket, template = Bucket(here, number), rows(Seeded("one"), 1, 1)[0]
        bucket.run(table(here, [{**template, "sort": 1, "at": when(5), "diff": 1}] * (1 - number)), [], BEGINNING)
        before = snapshot.save(bucket._core)
        told += bucket.run(None, [line], BEGINNING).faults
        assert snapshot.save(bucket._core) == before
    assert re.match(f"{message} transfer of arc 'lone'", told[0].reason)
    assert len(told) == 1
    with pytest.raises(AutomatonError, match=f"{message} transfer of arc 'lone'"):
        tagged(LONE)
    with pytest.raises(AutomatonError, match=f"{message} register"):
        tagged(Arc("a", "c", "True"), tag="\ud800")


def test_text_of_a_function_that_can_t_be_written_is_a_fault() -> None:
    here = tagged(Arc("a", "c", lambda e, r: True, lambda e, r: Tag(chr(0xD7FF + e.sort)), name="lone"))
    stream = [{**row, "diff": 1, "sort": i % 2} for i, row in enumerate(rows(Seeded("text"), 10, 1))]
    answer = Bucket(here, 0).run(table(here, stream), [], BEGINNING)
    told = written(here, answer, []).to_pylist()
    assert Counter(row["kind"] for row in told) == {"match": len({row["at"] for row in stream if not row["sort"]}), "fault": 5}


def test_another_register_is_refused() -> None:
    here = grown("0")
    blobs = [Bucket(here, 0).save(False)]
    arcs = list(here.automaton.arcs)
    other = job(Setting(Automaton(start="a", final={"c"}, register=Tally(7), event=Quote, arcs=arcs), arcs, {}, ("who",)))
    with pytest.raises(SnapshotError, match=r"expected the register that the checkpoint was made with, .*begin anew with another"):
        Bucket(other, 0, blobs)


def test_an_image_of_other_code_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    setting = of_program("runs", ("who",))
    bucket = Bucket(job(setting), 0)
    bucket.run(table(job(setting), rows(Seeded("code"), 40, 2)), [], BEGINNING)
    bucket.save(False)
    bucket.leave(b"ab")
    image = shared.take(b"ab")
    with pytest.raises(SnapshotError, match="of other code"):
        Bucket(job(of_program("branches", ("who",))), 0, image=image)


@pytest.mark.parametrize("ahead", [None, "5 seconds"])
def test_a_bucket_is_restored_after_the_end_of_time(ahead: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arcs that last for ever end there, too."""
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    here = job(of_program("runs", ("who",)), speculation=ahead)
    stream = table(here, rows(Seeded("for ever"), 20, 2))
    bucket, arc = Bucket(here, 0), {"src": "a", "dst": "b", "name": "x"}
    bucket.run(stream, [json.dumps({"op": "insert", "arc": arc, "at": ZERO})], BEGINNING)
    bucket.run(None, [], FOREVER)
    blobs = [bucket.save(False)]
    bucket.leave(b"end")
    for again in (Bucket(here, 0, blobs), Bucket(here, 0, image=shared.take(b"end"))):
        again.check()
        assert len(again.run(stream, [], FOREVER).late) == len(stream)
        assert again.save(False)
