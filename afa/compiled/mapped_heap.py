"""A heap in a file that is mapped, not read, so that the next process pays only for the pages that it touches.

The room is asked of the file system before it is mapped, so that a full one says so here and does not kill the process later.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np

WORD = 8
MADV_POPULATE_READ = 22
ROOM = 2
"""How many times the needed addresses are mapped: to map a heap again with each growth took a third of a batch's time."""


class FileHeap:
    """The words of a file, open for reading and writing; it is closed, and goes, with this object. ``path`` None: it stays."""

    def __init__(self, fd: int, path: Path) -> None:
        self.fd = fd
        self.path: Path | None = path
        self._held = os.fstat(fd).st_size  # bytes for which there is memory
        self._map: mmap.mmap | None = None
        self._there = 0  # bytes of it that were populated

    def __del__(self) -> None:
        os.close(self.fd)
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def mapped(self, n: int) -> Any:
        """Return the first ``n`` words as an array. One that was mapped before stays valid, and shows the same words.

        Raises OSError where the file system has no room.
        """
        size = n * WORD
        if size > self._held:
            os.posix_fallocate(self.fd, self._held, size - self._held)
        if self._map is None or size > len(self._map):
            os.ftruncate(self.fd, ROOM * size)  # addresses, no memory: in them the heap grows where it stands
            self._map, self._there = mmap.mmap(self.fd, ROOM * size, flags=mmap.MAP_SHARED), 0
        if size > self._there:
            self._populate(size)
        self._held = max(self._held, size)
        return np.frombuffer(self._map, np.int64, n)

    def _populate(self, size: int) -> None:
        """A fault for each page made a batch of Q1 (62,500 rows) 33 ms long instead of 21.

        For reading, which maps 16 pages at a time, and for writing too: 35 MB take 4 ms, and 14 with MADV_POPULATE_WRITE.
        """
        assert self._map is not None
        begin = self._there // mmap.PAGESIZE * mmap.PAGESIZE
        with contextlib.suppress(OSError):  # Linux before 5.14
            self._map.madvise(MADV_POPULATE_READ, begin, size - begin)
        self._there = size

    def cut(self, size: int) -> None:
        """Cut the file to so many bytes."""
        os.ftruncate(self.fd, size)
        self._held = min(self._held, size)
