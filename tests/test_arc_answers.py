"""What a job writes back of the lines that it has read, and what `afa arcs FOLDER list` makes of it."""

from __future__ import annotations

import copy
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from afa import ArcLog, Keyed, Operator, Punctuation
from afa.arclog import answers as answers_of
from afa.arclog.answers import AnswerFile, JobAnswers, LineAnswer, answered, digest_of
from afa.arclog.arc_log import OPERATORS, Poll
from afa.arclog.log_folder import Raw
from afa.errors import ChangeError
from speculation import Cleanse
from tests.cli import call
from tests.test_arclog import PAYMENTS, ended, inserted, pay, swapped, write
from tests.test_cli_arcs import PAY


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    (tmp_path / "pay.py").write_text(PAY)
    (tmp_path / "arcs").mkdir()
    return tmp_path / "arcs"


def said(folder: Path) -> dict[str, list[LineAnswer]]:
    return {job.job: list(job.answers.values()) for job in answered(folder)[0]}


def listed(*options: str) -> list[list[str]]:
    """The first three columns, without the head of a table; and the names of jobs."""
    rows = call("arcs", "arcs", "list", "--pattern", "pay.py:large", *options).stdout.splitlines()
    cells = [[cell.strip() for cell in row.split("  ") if cell.strip()] for row in rows]
    return [[*row[:3], *row[4:5]] if len(row) > 1 else row for row in cells if row and row[0] != "name"]


def begun(job: str = "job", **options: Any) -> tuple[ArcLog, Any]:
    return ArcLog("arcs", PAYMENTS, job=job), Operator(PAYMENTS, window=10, **options)


def test_since_when_a_line_holds_and_why_one_was_refused(folder: Path, engine: str) -> None:
    log, op = begun(engine=engine)
    assert log.poll(op) == []
    assert said(folder) == {"job": []}, "it runs"
    op.push(pay(400, 5))
    op.push_many([Punctuation(4)])
    write(folder, "a", swapped(300, "now", id=1), "{}", ended(3, id=2), swapped(900, 2))
    log.poll(op)
    assert len(log.told) == 3, "a swap that is late is told once"
    found = said(folder)["job"]
    assert found[0] == LineAnswer(None, log.told[0].reason)
    assert found[1:] == [LineAnswer(6), LineAnswer(None, log.told[1].reason), LineAnswer(None, log.told[2].reason)]
    rows = [row for row in listed() if row[0] == "above 500"]
    assert rows == [["above 500", "the beginning", "6", "amount > 500"], ["above 500", "6", "forever", "amount > 300"]]
    err = call("arcs", "arcs", "list", "--pattern", "pay.py:large").stderr
    assert "expected at >= the promise but got at=2 for 'above 500' (a, line 4)" in err
    assert "no job runs" not in err


def test_a_line_that_no_job_has_read(folder: Path) -> None:
    log, op = begun()
    log.poll(op)
    new = {"op": "insert", "arc": {"src": "a", "dst": "b", "fence": "amount > 7", "name": "new"}, "at": 7, "until": 9}
    write(folder, "a", swapped(200, "now"), new)
    op.push(pay(400, 5))
    assert [row[:3] for row in listed()] == [
        ["above 500", "the beginning", "when it is read"],
        ["above 500", "when it is read", "forever"],
        ["in vain", "the beginning", "forever"],
        ["new", "7 (not read yet)", "9"],
        ["small", "the beginning", "forever"],
    ]
    log.poll(op)
    assert [row[:3] for row in listed()] == [
        ["above 500", "the beginning", "6"],
        ["above 500", "6", "forever"],
        ["in vain", "the beginning", "forever"],
        ["new", "7", "9"],
        ["small", "the beginning", "forever"],
    ]


def test_an_end_that_no_job_has_read(folder: Path) -> None:
    """The job has the arc in force until it reads the line, at whatever instant that will be."""
    log, op = begun()
    op.push(pay(400, 5))
    arc = {"src": "a", "dst": "b", "fence": "amount > 3", "name": "b"}
    write(folder, "a", {"op": "insert", "arc": arc, "at": "now", "sequence": 1})
    log.poll(op)
    write(folder, "b", {"op": "retract", "arc": {"name": "b"}, "at": "now", "sequence": 2})
    write(folder, "c", ended(9, sequence=3))
    assert [row[:3] for row in listed()] == [
        ["above 500", "the beginning", "9 (not read yet)"],
        ["b", "6", "when it is read"],
        ["in vain", "the beginning", "forever"],
        ["small", "the beginning", "forever"],
    ]
    there = log.listing()
    assert there.one("b", 8) == there.last("b")
    with pytest.raises(ChangeError, match=r"'b' from now on but got none; the last: arc 'b': a -> b in \[6, when it is read\)$"):
        there.one("b", None)
    op.push(pay(400, 7))
    log.poll(op)
    assert ["b", "6", "8"] in [row[:3] for row in listed()]


def test_ends_that_no_job_has_read_of_arcs_that_begin_when_they_end(folder: Path) -> None:
    """Of two arcs of a name the one that began last ends; one that would begin and end when lines are read is not listed."""
    log, op = begun()
    op.push(pay(400, 5))
    write(folder, "a", inserted(200, 6, sequence=1))
    log.poll(op)
    write(folder, "b", ended(6, sequence=2), swapped(100, "now", sequence=3), swapped(50, "now", sequence=4))
    write(folder, "c", ended(9, sequence=5))
    assert [row for row in listed() if row[0] == "above 500"] == [
        ["above 500", "the beginning", "when it is read", "amount > 500"],
        ["above 500", "6", "6 (not read yet)", "amount > 200"],
        ["above 500", "when it is read", "9 (not read yet)", "amount > 50"],
    ]
    assert log.listing().one("above 500", 8).name == "above 500", "the last one, in whose place another swap may stand"


def test_times_are_told_as_times(folder: Path) -> None:
    log, op = begun(tick="s", late="drop")
    op.push_many([Punctuation(1_772_355_600)])
    write(folder, "a", swapped(900, "2026-03-01T08:00:00"))
    log.poll(op)
    assert [str(told) for told in log.told] == [
        "expected at >= the promise but got at=1772352000 (2026-03-01T08:00:00) for 'above 500' (a, line 1)"
    ]


def test_a_retraction_that_waits_is_refused_later(folder: Path) -> None:
    log, op = begun()
    write(folder, "a", {"op": "retract", "arc": {"name": "none"}, "at": 3})
    log.poll(op)
    assert said(folder) == {"job": [LineAnswer(3)]}
    op.push_many([Punctuation(4)])
    log.poll(op)
    (found,) = said(folder)["job"]
    assert found.refused.startswith("expected an arc in force but got 'none'")


def test_each_job_answers_for_itself(folder: Path) -> None:
    """They differ, so that each has a table; what one of them has taken is in force for who writes the next line."""
    (one, early), (two, late) = begun("one"), begun("two")
    late.push_many([Punctuation(9)])
    write(folder, "a", swapped(300, 5))
    one.poll(early), two.poll(late)
    rows = listed()
    assert [row for row in rows if len(row) == 1 or row[0] == "above 500"] == [
        ["one:"],
        ["above 500", "the beginning", "5", "amount > 500"],
        ["above 500", "5", "forever", "amount > 300"],
        ["two:"],
        ["above 500", "the beginning", "forever", "amount > 500"],
    ]
    assert one.listing().last("above 500").name == "above 500"
    assert len(one.listing().versions.of("above 500")) == 2
    del one, early
    assert len(two.listing().versions.of("above 500")) == 1, "all that run have refused it"
    assert [row[0] for row in listed()] == ["above 500", "in vain", "small"]


def test_operators_of_one_log_and_jobs_of_one_name(folder: Path) -> None:
    log, op = begun()
    log.poll(op)
    others = [Keyed(PAYMENTS, key="who") for _ in range(12)]
    for other in others:
        log.poll(other)
    assert len(said(folder)) == 8, "so many at a time, and no file more"
    another = ArcLog("arcs", PAYMENTS, job="job")
    another.poll(Operator(PAYMENTS))
    assert sum(job.job == "job" for job in answered(folder)[0]) == 2


def test_more_operators_than_names_are_told_once_and_take_no_name(folder: Path) -> None:
    """A name is an operator's as long as it lives: no other one answers under it, or takes over what was answered under it."""
    log, op = begun()
    many = [op, *(Operator(PAYMENTS, window=10) for _ in range(OPERATORS - 1))]
    for n, each in enumerate(many):
        each.push(pay(400, n))
        log.poll(each)
    write(folder, "a", swapped(300, "now"))
    for each in many:
        log.poll(each)
        assert log.told == []
    one_more, before = Operator.restore(PAYMENTS, op.snapshot()), said(folder)
    log.poll(one_more)
    assert [str(told) for told in log.told] == [
        "since when each line holds is written for 8 operators of an ArcLog at a time, but there is one more; "
        "`afa arcs arcs list` does not tell it"
    ]
    for each in (one_more, *many, Operator(PAYMENTS)):
        log.poll(each)
        assert log.told == []
    assert said(folder) == before == {"job": [LineAnswer(1)], **{f"job ({n})": [LineAnswer(n)] for n in range(2, 9)}}
    del many[3], each
    log.poll(one_more)
    log.poll(Operator(PAYMENTS))
    assert [job.job for job in answered(folder)[0] if not job.runs] == ["job (4)"], "what came when there was no name has none"


def test_an_operator_that_is_restored_in_the_same_process_keeps_name_and_answers(folder: Path) -> None:
    write(folder, "a", swapped(300, 5))
    log, op = begun()
    log.poll(op)
    op = Operator.restore(PAYMENTS, op.snapshot())
    assert [job.runs for job in answered(folder)[0]] == [False], "the file of an operator that is gone is not held"
    log.poll(op)
    assert [(job.job, job.runs, [*job.answers.values()]) for job in answered(folder)[0]] == [("job", True, [LineAnswer(5)])]


def test_an_operator_that_is_gone_before_it_is_answered(folder: Path) -> None:
    """Its arcs are in no cycle of references, so that its name is free at once."""
    log = ArcLog("arcs", PAYMENTS, job="job")
    for make in (lambda: Cleanse(0).before(Keyed(PAYMENTS, key="who")), lambda: Operator(PAYMENTS, engine="interpreted")):
        make().push_many([poll := Poll(log)])
        log.answer(poll)
        assert (said(folder), len(poll.reached)) == ({}, 1)


def test_a_copy_of_a_log_answers_for_itself(folder: Path) -> None:
    log, op = begun()
    log.poll(op)
    write(folder, "a", swapped(300, 5))
    for make in (copy.deepcopy, lambda log: pickle.loads(pickle.dumps(log))):
        other, follower = make(log), Operator(PAYMENTS)
        other.poll(follower)
        assert sorted(map(len, [job.answers for job in answered(folder)[0] if job.runs])) == [0, 1]
        del other, follower


def test_a_restart_answers_anew_and_one_that_is_restored_goes_on(folder: Path) -> None:
    write(folder, "a", swapped(300, 5), "{}")
    log, op = begun()
    log.poll(op)
    before, blob = said(folder), op.snapshot()
    del log, op
    err = call("arcs", "arcs", "list", "--pattern", "pay.py:large").stderr
    assert "no job runs that follows it; so it was for the last one, job" in err
    log = ArcLog("arcs", PAYMENTS, job="job")
    restored = Operator.restore(PAYMENTS, blob)
    log.poll(restored)
    assert said(folder) == before
    write(folder, "b", swapped(400, 7))
    log.poll(restored)
    assert len(said(folder)["job"]) == 3
    del log
    log, op = begun()
    op.push_many([Punctuation(6)])
    log.poll(op)
    assert [answer.since for answer in said(folder)["job"]] == [None, None, 7]


def test_a_folder_that_can_not_be_written_is_said_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    write(folder, "a", swapped(300, 5))
    monkeypatch.setattr(answers_of.os, "open", refused)
    log, op = begun()
    log.poll(op)
    assert [str(told) for told in log.told] == [
        f"since when each line holds can't be written into {folder}: Permission denied; `afa arcs arcs list` does not tell it"
    ]
    log.poll(op)
    assert log.told == []
    assert op.push(pay(400, 6)), "it goes on"
    monkeypatch.undo()
    assert [path.name for path in folder.iterdir()] == ["a"]


HOSTILE: list[Any] = [
    b"", b"\n", b"[" * 100_000 + b"\n", b"7\n", b'{"job": 7, "tick": null}\n', b'{"job": "x", "tick": "moon"}\n', b"\xff\n",
    b'{"job": "x", "tick": null}\n{"line": 7, "since": 1}\n', b'{"job": "x", "tick": null}\n{"line": "a"}\n',
    b'{"job": "x", "tick": null}\n{"line": "a", "since": 1e999}\n',
    b'{"job": "x", "tick": null}\n{"line": "a", "since": 1' + b"0" * 5000 + b"}\n",
    b'{"job": "x", "tick": null}\n{"line": "a", "since": 1, "refused": "b"}\n', b'{"job": "x", "tick": null}\n[]\n',
]  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE)
def test_what_is_none_of_ours_is_told_and_nothing_else(data: bytes, folder: Path) -> None:
    (folder / ".answers-x.jsonl").write_bytes(data)
    log, op = begun()
    log.poll(op)
    assert list(said(folder)) == ["job"]
    (fault,) = answered(folder)[1]
    assert fault[0] == ".answers-x.jsonl"
    err = call("arcs", "arcs", "list", "--pattern", "pay.py:large").stderr
    assert "afa: arcs: expected the answers of a job but got" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "expected the name of a job in the first line but got an empty file"),
        (b'{"job": "x", "tick": null}', "expected the name of a job in the first line but got one that no newline ends yet"),
        (b"7\n", "expected the name of a job in the first line but got b'7'"),
    ],
)
def test_a_file_without_a_first_line(data: bytes, text: str, folder: Path) -> None:
    (folder / ".answers-x.jsonl").write_bytes(data)
    assert answered(folder) == ([], [(".answers-x.jsonl", f"expected the answers of a job but got something else: {text}")])


ROOM: list[Any] = [7, 40, 1_000]


@pytest.mark.parametrize("most", ROOM)
def test_what_is_written_in_parts_is_written_whole(most: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def some(file: int, data: bytes) -> int:
        return written(file, data[:most])

    written = os.write
    write(folder, "a", swapped(300, 5), "{}")
    monkeypatch.setattr(answers_of.os, "write", some)
    log, op = begun()
    log.poll(op)
    assert (len(said(folder)["job"]), answered(folder)[1]) == (2, [])


@pytest.mark.parametrize("none", [True, False], ids=["0", "ENOSPC"])
@pytest.mark.parametrize("room", ROOM)
def test_a_line_that_is_not_whole_is_told_and_those_before_it_count(
    room: int, none: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full after so many bytes; where there is room again the next answer stands behind the rest of the line."""

    def full(file: int, data: bytes) -> int:
        nonlocal room
        n = min(room, len(data))
        if n == 0 and not none:
            raise OSError(28, "No space left on device")
        room -= n
        return written(file, data[:n]) if n else 0

    written, raws = os.write, [Raw(b"%d" % n, "a", n) for n in range(40)]
    file = AnswerFile(folder, "job", None, {})
    monkeypatch.setattr(answers_of.os, "write", full)
    with pytest.raises(OSError, match="No space left on device"):
        file.put([(raw, LineAnswer(raw.number)) for raw in raws[:39]])
    monkeypatch.undo()
    (job,), faults = answered(folder)
    lines = job.answers.values()
    assert list(lines) == [LineAnswer(n) for n in range(len(lines))]
    (path,) = folder.iterdir()
    assert faults == [(f"{path.name}, line {len(lines) + 2}", "expected a whole line but got one that no newline ends yet")]
    file.put([(raws[39], LineAnswer(39))])
    assert said(folder) == {"job": [LineAnswer(n) for n in range(40)]}
    assert answered(folder)[1] == []


def test_a_job_goes_on_behind_a_line_that_is_not_whole(folder: Path) -> None:
    write(folder, "a", swapped(300, 5))
    log, op = begun()
    log.poll(op)
    (ours,) = [path for path in folder.iterdir() if path.name != "a"]
    blob = op.snapshot()
    del log, op
    with ours.open("ab") as file:
        file.write(b'{"line": "9b1f')
    err = call("arcs", "arcs", "list", "--pattern", "pay.py:large").stderr
    assert f"expected a whole line but got one that no newline ends yet ({ours.name}, line 4)" in err
    log, op = ArcLog("arcs", PAYMENTS, job="job"), Operator.restore(PAYMENTS, blob)
    log.poll(op)
    assert (said(folder), answered(folder)[1]) == ({"job": [LineAnswer(5)]}, [])


def test_links_pipes_and_folders_are_not_followed(folder: Path, tmp_path: Path) -> None:
    """Nor is anything written through them, where a file of a job should stand."""
    log, op = begun()
    log.poll(op)
    (ours,) = folder.iterdir()
    del log, op
    precious = tmp_path / "thesis.tex"
    precious.write_text("precious")
    for make in (lambda: ours.symlink_to(precious), lambda: os.mkfifo(ours), ours.mkdir):
        ours.rmdir() if ours.is_dir() and not ours.is_symlink() else ours.unlink()
        make()
        assert len(answered(folder)[1]) == 1
        log, op = begun()
        log.poll(op)
        assert precious.read_text() == "precious"
        assert bool(log.told) is (make == ours.mkdir)
        del log, op
    assert [path.name for path in folder.iterdir()] == [ours.name], "nothing half-made is left"


def test_what_a_job_says_can_not_steer_a_terminal(folder: Path) -> None:
    write(folder, "a", swapped(300, 5))
    AnswerFile(folder, "\x1b[31mred\n" * 99, None, {}).put([])
    (job,) = answered(folder)[0]
    assert (job.job[:9], len(job.job)) == (" [31mred ", 200)
    line = {"line": digest_of((folder / "a").read_bytes()), "refused": "\x1b]0;x\x07" * 999}
    (folder / ".answers-x.jsonl").write_text(f'{{"job": "x", "tick": null}}\n{json.dumps(line)}\n{{"half')
    (job,) = [job for job in answered(folder)[0] if job.job == "x"]
    (found,) = job.answers.values()
    assert (found.refused.isprintable(), len(found.refused)) == (True, 2_000)


def test_readers_of_lines_do_not_look_at_answers(folder: Path) -> None:
    log, op = begun()
    write(folder, "a", swapped(300, 5))
    log.poll(op)
    assert set(log.folder.read({}).marks) == {"a"}
    assert JobAnswers("x", None, {}, True, 0).of(b"{}") is None
