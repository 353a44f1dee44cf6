"""Units, pairs of a rule and a key: which events the store has of each; a table that a kernel reads and writes."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from afa.compiled.kernel_arrays import native_main
from afa.errors import SnapshotError
from afa.rules import unit_kernel
from afa.rules import unit_layout as k
from punctuation.time import BEGINNING, FOREVER

FEW, FULL = 64, 0.6
"""How many slots there are at least, and how full they are at most."""


@functools.cache
def main() -> Callable[[Any, int, int], int]:
    """Return the kernel: ``main(memory, what, n)``."""
    return native_main(unit_kernel.main, "afa.rules.unit_kernel", "afa.rules.unit_layout")


class Units:
    """What is known of units: words, not 0.

    >>> units, some = Units(), np.array([7, 7, 9])
    >>> before = units.begin(some[:2], np.array([5, 3]), np.array([15, 13]), np.array([15, 13]))
    >>> units.sent(some, np.array([14, 15, 14])).tolist()
    [True, False, False]
    >>> units.back(), units.sent(some, np.array([14, 15, 14])).tolist()
    (None, [False, False, False])
    """

    arrays = ("m", "c", "t", "o", "y")

    def __init__(self) -> None:
        self.m = np.zeros(k.UnitCall.SIZE, np.int64)
        self.t, self.y = (np.zeros((FEW, kind.SIZE), np.int64) for kind in (k.Unit, k.KeyUnits))
        self.m[k.UnitCall.promise] = BEGINNING
        self._begun: list[Any] = []  # within the call under way
        self._kept = BEGINNING  # the promise before it

    def __len__(self) -> int:
        return int(np.count_nonzero(self._known()))

    @property
    def promise(self) -> int:
        """Units that are over by then are forgotten."""
        return int(self.m[k.UnitCall.promise])

    @promise.setter
    def promise(self, t: int) -> None:
        self.m[k.UnitCall.promise] = t

    def begin(self, names: Any, le: Any, high: Any, over: Any) -> tuple[Any, Any]:
        """Let matches begin. Returns `UnitPair.since`, and what was known of each unit before it: for `was_sent`."""
        self._reach(len(names))
        c = self._done(k.BEGIN, names, le, high, over)
        return c[k.UnitPair.since], c[k.UnitPair.low :]

    def moved(self, names: Any, le: Any) -> None:
        """Take note of events that move clocks: till then no unit of them is forgotten."""
        self._done(k.MOVE, names, le, BEGINNING, le + 1)

    def _done(self, what: int, names: Any, le: Any, high: Any, over: Any) -> Any:
        c = np.empty((k.UnitPair.SIZE, len(names)), np.int64)
        c[k.UnitPair.name], c[k.UnitPair.le], c[k.UnitPair.high], c[k.UnitPair.over] = names, le, high, over
        c[k.UnitPair.low], c[k.UnitPair.end], c[k.UnitPair.low2], c[k.UnitPair.end2] = FOREVER, BEGINNING, FOREVER, BEGINNING
        c[k.UnitPair.was_over] = BEGINNING
        main()  # before anything must be undone by it
        self._begun.append(c)
        self._call(what, c)
        return c

    def was_sent(self, before: Any, le: Any) -> Any:
        """Return whether events were sent, by what was known of their units, one each."""
        low, end, low2, end2, over = before
        return (over > self.promise) & (((low <= le) & (le < end)) | ((low2 <= le) & (le < end2)))

    def sent(self, names: Any, le: Any) -> Any:
        """Return which events that begin nothing are to be sent."""
        c = np.empty((k.UnitPair.SIZE, len(names)), np.int64)
        c[k.UnitPair.name], c[k.UnitPair.le] = names, le
        self._call(k.ASK, c)
        return c[k.UnitPair.since] != 0

    def _call(self, what: int, c: Any = None, o: Any = None) -> None:
        m, t, y = self.m, self.t, self.y
        m[k.UnitCall.t_at], m[k.UnitCall.slots], m[k.UnitCall.keys] = t.ctypes.data, len(t), len(y)
        n = (0 if o is None else len(o)) if c is None else c.shape[1]
        self.c, self.o = c, o
        pairs = (0, 0) if c is None else (c.ctypes.data, c.shape[1])
        width = t.shape[1]
        keys = y.ctypes.data, k.KeyUnits.SIZE
        self.addresses = (m.ctypes.data, 0, *pairs, t.ctypes.data, width, 0 if o is None else o.ctypes.data, width, *keys)
        main()(self, what, n)
        self.c = self.o = None

    def _known(self) -> Any:
        return (self.t[:, k.Unit.name] != 0) & (self.t[:, k.Unit.over] > self.promise)

    def _reach(self, n: int) -> None:
        """Make room for so many units more; a table that is made anew has none that is forgotten."""
        if self.m[k.UnitCall.used] + n > FULL * len(self.t):
            self._refill(self.t, 2 * len(self) + 3 * n)

    def _refill(self, old: Any, room: int) -> None:
        new = copy.copy(self)
        new.m = self.m.copy()
        new.t, new.y = (np.zeros((max(FEW, int(room / FULL)), kind.SIZE), np.int64) for kind in (k.Unit, k.KeyUnits))
        new.promise = self._kept  # what this call lets be forgotten comes back if it fails
        new._call(k.REFILL, o=old)
        new.promise = self.promise
        vars(self).update(m=new.m, t=new.t, y=new.y)  # in one step, which nothing can interrupt

    # -- all or nothing --------------------------------------------------------------------------------------------------------

    def back(self) -> None:
        """Take back what the call under way has done. Can be repeated."""
        self.promise = self._kept
        for c in reversed(self._begun):
            self._call(k.UNDO, c)
        self._begun.clear()

    def worked(self) -> None:
        """Forget how to take it back."""
        self._kept = self.promise
        self._begun.clear()

    # -- snapshots -------------------------------------------------------------------------------------------------------------

    def saved(self) -> bytes:
        """Return the units that are not forgotten, in the order of their names."""
        lines = self.t[self._known(), : k.Unit.next]
        found: bytes = lines[np.argsort(lines[:, k.Unit.name])].astype("<i8").tobytes()
        return found

    def take(self, blob: Any) -> None:
        """Set what `saved` has returned."""
        if not isinstance(blob, bytes) or len(blob) % (8 * k.Unit.next):
            raise SnapshotError(f"expected units of rules and keys but got {str(blob)[:40]}")
        lines = np.frombuffer(blob, "<i8").astype(np.int64).reshape(-1, k.Unit.next)
        names = lines[:, k.Unit.name]
        if not (names != 0).all() or len(np.unique(names)) != len(names):
            raise SnapshotError("expected units of rules and keys, each once, but got others")
        self._refill(np.pad(lines, ((0, 0), (0, 1))), len(lines) + 1)
