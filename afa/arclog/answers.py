"""What jobs answer to the lines of a folder: since when each holds, or why it was refused. Only `afa arcs FOLDER list` reads it.

    .answers-5f0c..e1.jsonl     one file a job, which holds a lock on it as long as it runs
    {"job": "theft.sase readings.csv", "tick": "ms"}
    {"line": "9b1f..", "since": 1767276660000}
    {"line": "07aa..", "refused": "expected at >= the promise but got .."}

A line is known by a digest of its text; of two answers the later one counts. No reader of lines looks at such a file. A last line
that is not whole, as where the disk is full or a job was killed, is told; those before it count.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
import uuid
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from afa.arclog.lines import object_in
from afa.arclog.log_folder import Raw
from afa.errors import AfaError
from punctuation.durations import NANOSECONDS
from punctuation.time import as_time

try:
    import fcntl
except ImportError:  # there are no such locks here: each job counts as one that runs
    fcntl = None  # type: ignore[assignment]

BEGIN, END = ".answers-", ".jsonl"
LONGEST = 50_000_000
"""The most bytes of a file."""
WORDS, NAME = 2_000, 200
"""The most characters of a reason, and of the name of a job."""
SAME = 100
"""So many jobs of one name may run beside each other."""


class LineAnswer(NamedTuple):
    """What a job says of a line: the instant from which it holds, in the job's ticks, or why it was refused."""

    since: int | None
    refused: str = ""


class JobAnswers(NamedTuple):
    """What one job has answered."""

    job: str
    tick: str | None
    answers: dict[str, LineAnswer]
    runs: bool
    last: int  # when it wrote last
    torn: int = 0  # the number of the last line, from 1, if it is not whole

    def of(self, text: bytes) -> LineAnswer | None:
        """Return the answer to a line; None: the job has not read it."""
        return self.answers.get(digest_of(text))


def digest_of(text: bytes) -> str:
    """Return by which a line is known to those who answer."""
    return hashlib.blake2b(text.strip(), digest_size=16).hexdigest()


class AnswerFile:
    """The file of a job that runs: made when it begins, in the place of the one that a job of this name has left.

    ``tick``: what one int of its instants counts; ``before``: the answers known from before a restart. `OSError` where the folder
    can't be written.
    """

    def __init__(self, folder: Path, job: str, tick: str | None, before: Mapping[str, LineAnswer]) -> None:
        hidden = folder / f".{uuid.uuid4().hex}"
        self._file = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self._end = weakref.finalize(self, os.close, self._file)
        self._left = b""  # what could not be written: the rest of a line, perhaps
        try:
            if fcntl is not None:
                with contextlib.suppress(OSError):  # of a file system without locks
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._write([{"job": job[:NAME], "tick": tick}, *(_said(line, answer) for line, answer in before.items())])
            os.replace(hidden, _free(folder, job))
        except BaseException:
            self._end()
            hidden.unlink(missing_ok=True)
            raise

    def put(self, answers: Iterable[tuple[Raw, LineAnswer]]) -> None:
        """Add answers, behind those that could not be written before."""
        self._write([_said(digest_of(raw.text), answer) for raw, answer in answers])

    def _write(self, lines: list[dict[str, Any]]) -> None:
        self._left += "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        while self._left:
            n = os.write(self._file, self._left)
            if n == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._left = self._left[n:]


def _said(line: str, answer: LineAnswer) -> dict[str, Any]:
    return {"line": line, **({"refused": answer.refused[:WORDS]} if answer.since is None else {"since": answer.since})}


def _free(folder: Path, job: str) -> Path:
    """Return the first file for a job of this name that no job which runs has."""
    name = hashlib.blake2b(job.encode(errors="replace"), digest_size=8).hexdigest()
    for n in range(SAME):
        place = folder / f"{BEGIN}{name}{f'-{n}' if n else ''}{END}"
        if not _is_locked(place):
            return place
    raise OSError(errno.EBUSY, f"{SAME} jobs of one name run")


def before_restart(folder: Path, job: str) -> dict[str, LineAnswer]:
    """Return what a job of this name that has ended had answered."""
    try:
        return _read(_free(folder, job)).answers
    except Exception:  # there was none, or what is there is none of ours
        return {}


def answered(folder: Path) -> tuple[list[JobAnswers], list[tuple[str, str]]]:
    """Return the answers of all jobs; and the files that can't be read, or the place in one, each with the reason."""
    found, faults = list[JobAnswers](), list[tuple[str, str]]()
    for name in sorted(os.listdir(folder)):
        if name.startswith(BEGIN) and name.endswith(END):
            try:
                found.append(job := _read(folder / name))
                if job.torn:
                    faults.append((f"{name}, line {job.torn}", "expected a whole line but got one that no newline ends yet"))
            except OSError as error:
                faults.append((name, f"expected the answers of a job but got {os.strerror(error.errno or 0)}"))
            except Exception as error:  # what is none of ours may be wrong in any way
                faults.append((name, f"expected the answers of a job but got something else: {str(error)[:200]}"))
    return found, faults


def _read(path: Path) -> JobAnswers:
    """Read a file; a link, a pipe, what is too long or says something else is refused."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(file, "rb") as raw:
        there = os.fstat(file)
        if not stat.S_ISREG(there.st_mode) or there.st_size > LONGEST:
            raise AfaError(f"expected a file of at most {LONGEST} bytes")
        *lines, rest = raw.read(LONGEST).split(b"\n")
    if not lines:
        there_is = "one that no newline ends yet" if rest else "an empty file"
        raise AfaError(f"expected the name of a job in the first line but got {there_is}")
    head, *lines = lines
    try:
        job, tick = _object(head, "job", "tick")
    except ValueError:
        raise AfaError(f"expected the name of a job in the first line but got {head[:80]!r}") from None
    if type(job) is not str or not (tick is None or tick in NANOSECONDS):
        raise AfaError(f"expected the name of a job and its tick but got job={str(job)[:80]!r}, tick={str(tick)[:80]!r}")
    answers = dict[str, LineAnswer]()
    for line in lines:
        known, since, refused = _object(line, "line", "since", "refused")
        if type(known) is not str or (since is None) is (type(refused) is not str):
            raise AfaError(f"expected a line with since or refused but got {line[:80]!r}")
        answers[known[:NAME]] = LineAnswer(None, _plain(refused, WORDS)) if since is None else LineAnswer(as_time(since, "since"))
    torn = len(lines) + 2 if rest else 0
    return JobAnswers(_plain(job, NAME), tick, answers, fcntl is None or _is_locked(path), there.st_mtime_ns, torn)


def _object(line: bytes, *names: str) -> list[Any]:
    found = object_in(line)
    if found is None:
        raise ValueError(f"expected a JSON object but got {line[:80]!r}")
    return [found.get(name) for name in names]


def _plain(text: str, most: int) -> str:
    """Return text as a terminal can show it: on one line, without control characters."""
    return "".join(c if c.isprintable() else " " for c in text[:most])


def _is_locked(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(file)
