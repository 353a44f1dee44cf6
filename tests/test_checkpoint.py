"""`afa.Checkpoint`: damage, other jobs, two at once, a disk that is full; what is none of ours is left as it is."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

import afa
from afa import AfaError, Checkpoint, SnapshotError
from punctuation.sealed import seal

JOB = {"query": "rise", "tick": "s"}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with Checkpoint(tmp_path / "state", JOB) as made:
        assert made.last is None
        made.commit(b"one", input=1, output={"bytes": 2})
        assert made.commit(b"the snapshot", input={"line": 7}, output={"bytes": 2048}) == made.last
    return tmp_path / "state"


def refused(state: Path, job: dict[str, Any] | None = None) -> str:
    """The words of a refusal, behind which all is as it was."""
    before = {name: (state / name).read_bytes() for name in os.listdir(state)}
    with pytest.raises(AfaError) as error:
        Checkpoint(state, JOB if job is None else job)
    assert {name: (state / name).read_bytes() for name in os.listdir(state)} == before
    return str(error.value)


def test_the_last_commit_is_there_again(state: Path) -> None:
    assert os.listdir(state) == ["state"]
    with Checkpoint(state, JOB) as again:
        assert again.last == afa.operator.checkpoint.Commit(2, b"the snapshot", {"line": 7}, {"bytes": 2048})


def test_damage_of_every_byte_is_refused(state: Path) -> None:
    blob = (state / "state").read_bytes()
    for at in range(len(blob)):
        for bit in (1, 128):
            (state / "state").write_bytes(blob[:at] + bytes([blob[at] ^ bit]) + blob[at + 1 :])
            assert "expected" in refused(state)
        (state / "state").write_bytes(blob[:at])
        assert "expected" in refused(state)
    assert refused(state).endswith("the state is left as it is: another folder begins anew")


WHOLE = {"job": JOB, "number": 1, "input": 1, "output": 2}


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"[1",
        b"[" * 100_000,
        b"\xff",
        *(
            json.dumps(each).encode()
            for each in (None, [], {}, WHOLE | {"more": 1}, WHOLE | {"number": 0}, WHOLE | {"number": True})
        ),
        json.dumps({**WHOLE, "job": []}).encode(),
        json.dumps({name: WHOLE[name] for name in ("job", "number", "input")}).encode(),
    ],
)
def test_another_head_is_refused(state: Path, head: bytes) -> None:
    (state / "state").write_bytes(seal(b"AFAJ", 1, head + b"\nsnapshot"))
    assert "expected a line of JSON with job, number, input, output but got" in refused(state)


def test_another_job_is_refused_by_name(state: Path) -> None:
    assert "with query='fall' but got that of one with query='rise'" in refused(state, {**JOB, "query": "fall"})
    assert "with no tick but got that of one with tick='s'" in refused(state, {"query": "rise"})
    assert "with key='a' but got that of one with no key" in refused(state, {**JOB, "key": "a"})


def test_two_at_once_are_refused(state: Path) -> None:
    with Checkpoint(state, JOB):
        assert refused(state).endswith("but got one that another process has open")
    Checkpoint(state, JOB).close()


def test_other_files_are_refused(state: Path) -> None:
    (state / "notes.txt").write_text("x")
    assert refused(state).endswith("expected a folder for the state alone but got one with notes.txt")
    (state / "notes.txt").unlink()
    (state / "state.new").write_text("not ours")
    assert "state.new: expected the draft of a state but got another file" in refused(state)
    for cut in (b"", b"AF", b"AFAJ\x01rest"):
        (state / "state.new").write_bytes(cut)
        Checkpoint(state, JOB).close()
        assert os.listdir(state) == ["state"]
    (state.parent / "file").write_text("x")
    with pytest.raises(AfaError, match=r"can't open .*file: Not a directory"):
        Checkpoint(state.parent / "file")


def test_a_folder_that_was_made_in_vain_goes_again(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "a" / "state").close()
    assert os.listdir(tmp_path / "a") == []


@pytest.mark.parametrize("name", ["open", "write", "fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES])
def test_an_error_leaves_the_commit_of_before(state: Path, name: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    blob = (state / "state").read_bytes()

    def fails(*_: Any, **__: Any) -> None:
        raise OSError(code, os.strerror(code))

    with Checkpoint(state, JOB) as job:
        with monkeypatch.context() as patched:
            patched.setattr(os, name, fails)
            with pytest.raises(AfaError, match=rf"can't write .*state: {os.strerror(code)}"):
                job.commit(b"more", input=2, output=3)
        assert job.last is not None
        assert (job.last.number, os.listdir(state), (state / "state").read_bytes()) == (2, ["state"], blob)
        assert job.commit(b"more", input=2, output=3).number == 3


def test_what_is_no_plain_json_is_refused(state: Path) -> None:
    with Checkpoint(state, JOB) as job:
        for wrong in ({1}, float("nan"), b"x"):
            with pytest.raises(AfaError, match="expected plain JSON as output= but got"):
                job.commit(b"", input=1, output=wrong)
        with pytest.raises(AfaError, match="expected the bytes of a snapshot but got str"):
            job.commit("x", input=1, output=1)  # type: ignore[arg-type]
    with pytest.raises(AfaError, match=r"expected an open checkpoint but got .*state, which is closed"):
        job.commit(b"", input=1, output=1)
    with pytest.raises(AfaError, match="expected plain JSON as job= but got"):
        Checkpoint(state, {"query": object()})


def test_errors_are_of_snapshots_where_the_state_is_wrong(state: Path) -> None:
    with pytest.raises(SnapshotError):
        Checkpoint(state)
