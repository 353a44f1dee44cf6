"""The events of a set, each once for all rules, from which a rule may still begin in the past."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afa.change import Change
from punctuation.time import FOREVER


class HeldEvents:
    """Copies in force, and retractions that wait (below 0), by LE, payload and the RE that was given (None: each rule's window).

    >>> held = HeldEvents()
    >>> held.add(Change("a", 3, None, 1)), held.add(Change("b", 5, None, -1))
    (None, None)
    >>> [change.payload for change in held.between(4, 9)], [change.payload for change in held.vain(9)]
    (['b'], ['b'])
    >>> held.back(), len(held)
    (None, 0)
    """

    def __init__(self) -> None:
        self._by_le: dict[int, dict[tuple[Any, int | None], int]] = {}
        self._writes: list[tuple[int, tuple[Any, int | None], int]] = []  # of the call under way: which counts were others

    def __len__(self) -> int:
        return sum(map(len, self._by_le.values()))

    def add(self, change: Change) -> None:
        """Take a change of an event."""
        assert change.le is not None
        event, there = (change.payload, change.re), self._by_le.get(change.le, {})
        self._put(change.le, event, there.get(event, 0) + change.diff)

    def _put(self, le: int, event: tuple[Any, int | None], count: int) -> None:
        self._writes.append((le, event, self._by_le.get(le, {}).get(event, 0)))
        self._write(le, event, count)

    def _write(self, le: int, event: tuple[Any, int | None], count: int) -> None:
        there = self._by_le.setdefault(le, {})
        if count:
            there[event] = count
        else:
            there.pop(event, None)
            if not there:
                del self._by_le[le]

    def between(self, le: int, re: int = FOREVER) -> Iterator[Change]:
        """Return what is held of the events with an LE in ``[le, re)``, by LE."""
        for at in sorted(at for at in self._by_le if le <= at < re):
            for (payload, end), count in self._by_le[at].items():
                yield Change(payload, at, end, count)

    def vain(self, t: int) -> list[Change]:
        """Return the retractions below a watermark that have waited in vain, and take them out."""
        found = [change for at in [at for at in self._by_le if at < t] for change in self.between(at, at + 1) if change.diff < 0]
        for change in found:
            assert change.le is not None
            self._put(change.le, (change.payload, change.re), 0)
        return sorted(found, key=lambda change: (change.le, repr(change.payload)))

    def drop(self, t: int) -> None:
        """Drop all events with an LE below ``t``."""
        for change in [change for at in [at for at in self._by_le if at < t] for change in self.between(at, at + 1)]:
            assert change.le is not None
            self._put(change.le, (change.payload, change.re), 0)

    def back(self) -> None:
        """Take back what the call under way has written. Can be repeated from the start: it writes counts, not differences."""
        for le, event, count in reversed(self._writes):
            self._write(le, event, count)
        self._writes.clear()

    def keep(self) -> None:
        """Let what the call under way has written stay."""
        self._writes.clear()
