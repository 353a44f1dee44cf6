"""Keep a keyed operator's memory as a file, for the next process of this machine that goes on with it.

A snapshot is the state, portable and checked. An image is a shortcut beside one, good for the same version, automaton and machine
only: its words are mapped where a snapshot's are derived anew, so that what it costs follows the keys that are touched. It holds
plain data and words, and reading one runs no code of it; but its words are believed, so it lies where none but this user can write.

    words         the memory
    head          msgpack: [version, head of a snapshot, digest of the last snapshot, names, a note of the caller's]
    bytes -16..   how many words, how many bytes of head
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from afa import __version__
from afa.compiled import image
from afa.compiled.compiled_engine import CompiledEngine
from afa.compiled.mapped_heap import WORD, FileHeap
from afa.compiled.store import Store
from afa.engine import Engine
from afa.errors import AfaError, SnapshotError
from afa.model.arc import Arc
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.raised import Faults
from afa.operator import snapshot
from afa.operator.call import Core
from afa.state.sound import wanted
from punctuation.late import Policy

TAIL = struct.Struct("<QQ")
ENDING, CLAIMED = ".afa-image", ".claimed"


def publish(core: Core, path: Path, note: Any) -> None:
    """Leave a keyed operator to whoever takes it next: `Image`. It is spent: its memory may be another's from now on.

    Its engine is the compiled one, and its last call was a snapshot; the file is not there yet; ``note`` is plain data: what else
    its taker wants to know. An operator that came from an image costs its names, O(keys); any other one is copied, O(state).
    """
    store = store_of(core.engine)
    words = image.words(store)
    head = snapshot.plain([_version(), snapshot.head(core), core.saved, image.names(store), note])
    file = store.memory.file
    claimed = path.with_name(path.name + CLAIMED)
    if file is None:
        file = FileHeap(_opened(claimed, os.O_CREAT | os.O_EXCL), claimed)
        file.mapped(len(words))[:] = words
    elif file.path is not None:
        os.rename(file.path, claimed)
        file.path = claimed
    size = len(words) * WORD
    os.pwrite(file.fd, head + TAIL.pack(len(words), len(head)), size)
    file.cut(size + len(head) + TAIL.size)
    fcntl.flock(file.fd, fcntl.LOCK_UN)
    os.rename(claimed, path)
    file.path = None


def store_of(engine: Engine) -> Store:
    """Return what a compiled engine holds."""
    assert isinstance(engine, CompiledEngine)
    assert len(engine.store.stores) == 1, "buckets are work of one thread each"
    return engine.store


class Image:
    """An image that was published under a path; nobody else can take it any more. ``note`` is the publisher's.

    Raises FileNotFoundError if none is there, or it was taken; SnapshotError if it is of another version, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + CLAIMED)
        os.rename(path, self._path)
        fd = _opened(self._path)
        self._file = FileHeap(fd, self._path)
        with _damage():
            end = os.fstat(fd).st_size - TAIL.size
            self._top, n = TAIL.unpack(os.pread(fd, TAIL.size, max(end, 0)))
            wanted("a whole image", self._top * WORD + n == end, [self._top, n, end])
            version, *rest = snapshot.unplain(os.pread(fd, n, end - n))
            if version != _version():
                raise SnapshotError(f"expected an image of version {_version()!r} but got {version!r}")
            self._head, self._digest, self._names, self.note = rest
            wanted("as many words as are in use", self._names[0] == self._top, self._top)

    def core(
        self,
        automaton: Automaton,
        *,
        arcs: Iterable[Arc] = (),
        late: Policy | None = None,
        faults: Faults | None = None,
        table: Callable[[int], ArcTable] | None = None,
    ) -> Core:
        """Return the operator, as `snapshot.load`. O(keys): a dictionary of their names is made."""
        if self._head[1] != snapshot.fingerprint(automaton):
            raise SnapshotError(f"expected an image of {automaton!r} but got one of another automaton")
        with _damage():
            core, in_force = snapshot.without_states(automaton, self._head, list(arcs), {"late": late}, faults, table)
            store = store_of(core.engine)
            image.take_names(store, self._names)
            core.put_table(in_force)
            self._file.cut(self._top * WORD)
            image.take_words(store, self._names, self._file)
        core.call_worked()
        core.saved = self._digest
        return core


@contextmanager
def _damage() -> Iterator[None]:
    """Raise a `SnapshotError` for all that is wrong with an image; want of room or of memory stays what it is."""
    try:
        yield
    except (AfaError, OSError, MemoryError):
        raise
    except Exception as error:
        raise SnapshotError(f"expected an image but got something else: {error}") from error


def _opened(path: Path, flags: int = 0) -> int:
    """Return the file, locked as long as this process has it open: by that an orphan is known (`is_orphan`)."""
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | flags, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return fd


def is_orphan(path: Path) -> bool:
    """Return whether a claimed image's process is gone."""
    try:
        os.close(_opened(path))
    except OSError:
        return False
    return path.name.endswith(CLAIMED)


def _version() -> str:
    """Return the versions of library and kernels, which decide how the words are laid out."""
    from afa.compiled.machine.kernels import key

    return f"{__version__} {key()}"
