"""Where a job is, on disk: its snapshot, and how far its input is read and its output written, as one file.

    FOLDER/state        a blob of `punctuation.sealed` with the magic b"AFAJ": a line of JSON, `FIELDS`, then the snapshot
    FOLDER/state.new    the next one, while it is written; what a kill leaves of it is dropped by the next job

Nothing in a state is run or unpickled.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from afa.errors import AfaError, SnapshotError
from afa.io.text_files import in_one_line
from afa.io.whole_file import sync, write_all
from punctuation.sealed import seal, unseal

MAGIC, VERSION = b"AFAJ", 1
STATE, DRAFT = "state", "state.new"
FIELDS = ["job", "number", "input", "output"]


class Commit(NamedTuple):
    """What a job had come to: the snapshot, and plain JSON that says where it was in its input and output."""

    number: int  # from 1
    snapshot: bytes
    input: Any
    output: Any


class Checkpoint:
    """The state of a job in a folder of its own, so that it goes on after a kill without a lost or doubled change.

    The job appends to its output, and now and then calls `commit`: with the snapshot of its operator, its place in the input, and
    the length of its output (which is on disk by then: `os.fsync`). When it begins it restores the snapshot of ``last``, cuts its
    output to that length, and reads on at that place. ``last`` is the last `Commit`; None: there is none yet.

    Parameters
    ----------
    folder : str or Path
        Made where it is not there. One with other files in it is refused. One job has it at a time: a lock that ends with its
        process.
    job : dict, optional
        Plain JSON by which another job is known: the text of its query, its options. A state with another one is refused.

    Raises
    ------
    SnapshotError
        The state is damaged, or of another job. It is left as it is.
    AfaError
        Another process has the folder, there are other files in it, or it can't be read.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with Checkpoint(folder, {"query": "rise"}) as state:
    ...     state.commit(b"of the operator", input={"line": 100}, output={"bytes": 2048}).number
    1
    >>> with Checkpoint(folder, {"query": "rise"}) as state:
    ...     state.last
    Commit(number=1, snapshot=b'of the operator', input={'line': 100}, output={'bytes': 2048})
    >>> Checkpoint(folder, {"query": "fall"}).last  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    afa.errors.SnapshotError: .../state: expected the state of a job with query='fall' but got that of one with query='rise'; ...
    """

    def __init__(self, folder: str | os.PathLike[str], job: Mapping[str, Any] | None = None) -> None:
        self.folder = Path(folder)
        self._job = _as_json("job", dict(job or {}))
        self._handle: int | None = None
        self._made, self.last = False, None  # type: bool, Commit | None
        try:
            with in_one_line(f"can't open {self.folder}"):
                if not self.folder.exists():
                    self.folder.mkdir(parents=True)
                    self._made = True
                    sync(self.folder.parent)
                other = sorted({*os.listdir(self.folder)} - {STATE, DRAFT})
                if other:
                    raise AfaError(f"{self.folder}: expected a folder for the state alone but got one with {', '.join(other[:3])}")
                self._handle = os.open(self.folder, os.O_RDONLY)
                self._lock()
                self.last = self._read()
                self._drop_draft()
        except BaseException:
            self.close()
            raise

    def commit(self, snapshot: bytes, *, input: Any, output: Any) -> Commit:
        """Put this in the place of the last commit, in one step, and wait until it is on disk; ``input``, ``output``: plain JSON.

        Raises `AfaError` where that fails, a full disk, say: then the last commit stays, and nothing else is there.
        """
        if self._handle is None:
            raise AfaError(f"expected an open checkpoint but got {self.folder}, which is closed")
        if not isinstance(snapshot, bytes):
            raise AfaError(f"expected the bytes of a snapshot but got {type(snapshot).__name__}")
        number = 1 if self.last is None else self.last.number + 1
        new = Commit(number, snapshot, _as_json("input", input), _as_json("output", output))
        head = json.dumps(dict(zip(FIELDS, (self._job, number, new.input, new.output)))).encode()
        blob, draft, place = seal(MAGIC, VERSION, head + b"\n" + snapshot), self.folder / DRAFT, self.folder / STATE
        with in_one_line(f"can't write {place}"):
            file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            try:
                try:
                    write_all(file, blob)
                    os.fsync(file)
                finally:
                    os.close(file)
                os.replace(draft, place)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(draft)
                raise
            self.last = new
            os.fsync(self._handle)  # where this fails, the new commit stands there all the same, and its output was on disk before
        return new

    def close(self) -> None:
        """Let another job have the folder. One that was made here, and holds nothing, is removed."""
        if self._handle is not None:
            os.close(self._handle)
        self._handle = None
        if self._made and self.last is None:
            with contextlib.suppress(OSError):
                os.rmdir(self.folder)

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _lock(self) -> None:
        assert self._handle is not None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AfaError(f"{self.folder}: expected a folder of one job but got one that another process has open") from None

    def _drop_draft(self) -> None:
        """Remove the draft of a commit that a kill has cut off; what is none of ours is refused."""
        draft = self.folder / DRAFT
        if draft.exists():
            with open(draft, "rb") as file:
                if not MAGIC.startswith(file.read(len(MAGIC))):
                    raise AfaError(f"{draft}: expected the draft of a state but got another file; move it elsewhere")
            os.unlink(draft)

    def _read(self) -> Commit | None:
        place = self.folder / STATE
        if not place.exists():
            return None
        try:
            packed = unseal(MAGIC, VERSION, place.read_bytes(), bytes, "the state of a job", SnapshotError)
            head, _, snapshot = packed.partition(b"\n")
            found = _fields(head)
            self._check_job(found["job"])
        except SnapshotError as error:
            raise SnapshotError(f"{place}: {error}; the state is left as it is: another folder begins anew") from None
        return Commit(found["number"], snapshot, found["input"], found["output"])

    def _check_job(self, job: dict[str, Any]) -> None:
        for name in sorted({*job, *self._job}):
            ours, its = (f"{name}={each[name]!r}" if name in each else f"no {name}" for each in (self._job, job))
            if ours != its:
                raise SnapshotError(f"expected the state of a job with {ours} but got that of one with {its}")


def _fields(head: bytes) -> dict[str, Any]:
    found: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(head)
    fields = isinstance(found, dict) and list(found) == FIELDS and isinstance(found["job"], dict)
    if not (fields and type(found["number"]) is int and found["number"] > 0):
        raise SnapshotError(f"expected a line of JSON with {', '.join(FIELDS)} but got {head[:80]!r}")
    return dict(found)


def _as_json(name: str, value: Any) -> Any:
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise AfaError(f"expected plain JSON as {name}= but got {value!r}: {error}") from None
