"""A folder of machine code on disk: the user's own, limited in size; its files are trusted only if checksums agree."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover (Windows)
    fcntl = None  # type: ignore[assignment]

MAGIC = b"afa object 1\n"
CHECK = 32
"""The bytes of the checksum, which follows the magic."""
FILES, BYTES = 4096, 64 << 20
"""The oldest files of code beyond these go."""
EVERY = 64
"""How many files are written between two looks at the size of the folder."""
NAME = "afa"
SUFFIX, LAST = ".afa", ".last.afa"
"""The ending of a file; that of a file that outlasts the others."""
DRAFT = ".afa-draft"
"""The ending of an unfinished file."""
_OURS = re.compile(r"[0-9a-f]{40}(\.last)?\.afa|tmp[a-z0-9_]{8}\.afa-draft")
"""The names of the files that may be deleted: those of `Native`'s code, and of `tempfile`."""
LASTING = 8
"""How many such lasting files there may be."""
PATIENCE = 60.0
"""The most seconds to wait for another process."""
HOUR, DAY = 3_600, 86_400


class Folder:
    """A folder of blobs by name, on disk.

    No method raises on what the disk refuses: ``failures`` counts the refusals, ``reason`` is the last one. A folder that is a
    symlink, another user's, or writable by others is not used: anyone may have put code there.

    >>> with tempfile.TemporaryDirectory() as path:
    ...     folder = Folder(Path(path) / "cache")
    ...     folder.put("name", b"code")
    ...     folder.get("name"), folder.get("other")
    (b'code', None)
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._ready: bool | None = None
        self._written = os.getpid() % EVERY  # so that short processes also prune, now and then
        self.failures = 0
        self.reason = ""

    @property
    def path(self) -> Path:
        return self._path if self._path is not None else default_path()

    def get(self, name: str) -> bytes | None:
        """Return the blob of that name; None if there is none, or a damaged one."""
        try:
            if not self._usable():
                return None
            with open(self._opened(name), "rb") as file:
                status = os.fstat(file.fileno())
                if not _ours(status):
                    self._failed(f"expected a file that only its owner writes to but got {name}{SUFFIX}")
                    return None
                content = file.read()
                if status.st_mtime < time.time() - HOUR:
                    os.utime(file.fileno())
        except FileNotFoundError:
            return None
        except OSError as error:
            self._failed(str(error))
            return None
        head = len(MAGIC) + CHECK
        blob = content[head:]
        if content[:head] != MAGIC + _check(name, blob):
            self._failed(f"expected code with its checksum but {name}{SUFFIX} is damaged")
            return None
        return blob

    def _opened(self, name: str) -> int:
        for suffix in (SUFFIX, LAST):
            with contextlib.suppress(FileNotFoundError):
                return os.open(self.path / (name + suffix), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        raise FileNotFoundError

    def put(self, name: str, blob: bytes, lasting: bool = False) -> None:
        """Write a blob, whole or not at all. ``lasting``: it is deleted after all others, as it takes long to make."""
        try:
            if not self._usable():
                return
            handle, temporary = tempfile.mkstemp(DRAFT, dir=self.path)
            try:
                with open(handle, "wb") as file:
                    file.write(MAGIC + _check(name, blob) + blob)
                os.replace(temporary, self.path / (name + (LAST if lasting else SUFFIX)))
            except BaseException:
                os.unlink(temporary)
                raise
            self._written += 1
            if self._written % EVERY == 0:
                self._prune()
        except OSError as error:
            self._failed(str(error))

    def lock(self) -> int | None:
        """Return the folder's lock as an open file, held until all that inherit it have closed it. None: there is no lock.

        Raises BlockingIOError where another process holds it.
        """
        if fcntl is None:
            return None
        try:
            if not self._usable():
                return None
            file = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            self._failed(str(error))
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            raise
        except OSError as error:  # a file system without locks
            os.close(file)
            self._failed(str(error))
            return None
        return file

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock; after PATIENCE go on without it."""
        end, lock = time.monotonic() + PATIENCE, None
        while time.monotonic() < end:
            try:
                lock = self.lock()
                break
            except BlockingIOError:
                time.sleep(0.05)
        try:
            yield
        finally:
            if lock is not None:
                os.close(lock)

    def _failed(self, reason: str) -> None:
        self.failures += 1
        self.reason = reason

    def _usable(self) -> bool:
        """Return whether the folder is there and only its owner writes to it; checked once."""
        if self._ready is None:
            self._ready = False
            path = self.path
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = os.lstat(path)
            if stat.S_ISDIR(status.st_mode) and _ours(status):
                self._ready = True
            else:
                self._failed(f"expected a folder that only its owner writes to but got path={str(path)!r}")
        return self._ready

    def _prune(self) -> None:
        """Delete unfinished files, and the oldest ones down to three quarters of the bounds; LASTING of the lasting ones go last.

        Only files of our own, by name and kind, are counted and deleted. The lock stays: else two processes could hold it.
        """
        found: list[tuple[float, int, str]] = []
        with os.scandir(self.path) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # another process has just finished it
                    status = entry.stat(follow_symlinks=False)
                    if not _OURS.fullmatch(entry.name) or not stat.S_ISREG(status.st_mode):
                        continue
                    found.append((status.st_mtime, status.st_size, entry.path))
        found.sort()
        lasting = {path for *_, path in [entry for entry in found if entry[2].endswith(LAST)][-LASTING:]}
        found.sort(key=lambda entry: entry[2] in lasting)
        count, size = len(found), sum(length for _, length, _ in found)
        over = count > FILES or size > BYTES
        for modified, length, path in found:
            left = path.endswith(DRAFT) and modified < time.time() - DAY
            if left or (over and (count > FILES * 3 // 4 or size > BYTES * 3 // 4)):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
                count, size = count - 1, size - length


def default_path() -> Path:
    """Return the folder ``afa`` in the folder of caches that the environment names."""
    caches = os.environ.get("AFA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path(os.path.expanduser("~")) / ".cache") / NAME


def in_environment(folder: Folder) -> dict[str, str]:
    """Return variables by which another process finds a folder that is named as `default_path` names it."""
    return {"AFA_CACHE_DIR": os.path.abspath(folder.path.parent)} if folder.path.name == NAME else {}


def _ours(status: os.stat_result) -> bool:
    """Return whether only this user can have written a file or folder."""
    if not hasattr(os, "getuid"):  # pragma: no cover (Windows: profiles are the user's)
        return True
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _check(name: str, blob: bytes) -> bytes:
    return hashlib.blake2b(blob, digest_size=CHECK, key=name.encode()[:64]).digest()
