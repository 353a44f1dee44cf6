"""What is known of each id: its state, up to when it is remembered, its version. A line of words an id, which a kernel writes.

ids       -> numbers    `afa.compiled.key_numbers`
numbers   -> lines      `speculation.id_layout.IdEntry`, in ``r``
lines     -> contents   by place, in `speculation.id_rows`
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from afa.compiled.kernel_arrays import native_main
from afa.compiled.key_numbers import KeyNumbers
from afa.journal import Journal
from punctuation.time import BEGINNING
from speculation import id_kernel
from speculation import id_layout as k

FEW = 1024
"""Below so many ids nobody looks for those that are forgotten."""


@functools.cache
def main() -> Callable[[Any, int, int], int]:
    """Return the kernel: ``main(memory, 0, n)``, of n messages."""
    return native_main(id_kernel.main, "speculation.id_kernel", "speculation.id_layout")


class Judged(NamedTuple):
    """What messages do: `id_layout.NEW` and so on; and the places of the contents that they take out or are compared with."""

    verdicts: Any
    old: Any


class IdEntries:
    """The entries of ids. A call's writes leave their inverses in the journal; `mark` and `back` undo the rest.

    ``texts``: whether versions are texts.

    >>> entries = IdEntries(False, Journal())
    >>> numbers = entries.numbers.numbers_of([np.array([7, 8, 7])], True, 3)
    >>> entries.judge(numbers, np.array([1, 1, -1]), np.array([5, 6, 9]), None).verdicts.tolist() == [k.NEW, k.NEW, k.GONE]
    True
    """

    arrays = ("m", "c", "r")

    def __init__(self, versioned: bool, journal: Journal) -> None:
        self.numbers = KeyNumbers()
        self.m, self._one = np.zeros(k.IdCall.SIZE, np.int64), np.zeros((1, k.IdMessage.SIZE), np.int64)
        self.m[k.IdCall.versioned] = versioned
        self.m[[k.IdCall.promise, k.IdCall.horizon]] = BEGINNING
        self.r = np.zeros((64, k.IdEntry.SIZE if versioned else k.IdEntry.version), np.int64)
        self.texts: list[str] = []  # versions that are texts: a line has the place of its own
        self._journal = journal
        self._most = FEW  # beyond so many ids, those are looked for that are forgotten

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def nbytes(self) -> int:
        """How many bytes ids and their lines take."""
        return int(self.numbers.arrays.nbytes + 8 * self.numbers.top * self.r.shape[1])

    @property
    def waiting(self) -> int:
        """How many retractions wait."""
        return int(self.m[k.IdCall.waiting])

    @property
    def next(self) -> int:
        """The place of the next content that is kept."""
        return int(self.m[k.IdCall.next])

    # -- messages --------------------------------------------------------------------------------------------------------------

    def judge(self, numbers: Any, sign: Any, le: Any, version: Any) -> Judged:
        """Take messages in order of arrival. ``version``: words, or texts (a list); None: there are none."""
        c = np.empty((len(numbers), k.IdMessage.SIZE), np.int64)
        of = k.IdMessage
        c[:, of.number], c[:, of.sign], c[:, of.le], c[:, of.old] = numbers, sign, le, -1
        self._reach(self.numbers.top)
        self._journal.note(self._put, numbers, self.r[numbers])
        texts = isinstance(version, list)
        if version is not None:
            c[:, of.version] = self._ranks(numbers, version) if texts else version
        self._call(c)
        if texts:
            self.r[numbers, k.IdEntry.version] += self._base
        return Judged(c[:, of.verdict], c[:, of.old])

    def judge_one(self, number: int, sign: int, le: int, version: Any) -> tuple[int, int]:
        """Take one message. Returns what it does, and the place of the content that it takes out or is compared with."""
        if isinstance(version, str):
            found = self.judge(np.array([number]), sign, le, [version])
            return int(found.verdicts[0]), int(found.old[0])
        self._reach(number + 1)
        self._journal.note(self._put, number, self.r[number].copy())
        self._one[0] = number, sign, le, version or 0, 0, -1
        self._call(self._one)
        return int(self._one[0, k.IdMessage.verdict]), int(self._one[0, k.IdMessage.old])

    def _call(self, c: Any) -> None:
        m, r = self.m, self.r
        self.c = c
        self.addresses = (m.ctypes.data, 0, c.ctypes.data, c.shape[1], r.ctypes.data, r.shape[1])
        main()(self, 0, len(c))
        del self.c

    def _ranks(self, numbers: Any, versions: list[str]) -> Any:
        """Return the ranks of texts among these and those of the ids' lines, where ranks take their places until the call is over.

        In `texts` all of them stand in order from ``_base`` on.
        """
        column = self.r[numbers, k.IdEntry.version]
        known = (self.r[numbers, k.IdEntry.held] & k.STATE) != k.ABSENT
        before = [self.texts[i] if there else "" for i, there in zip(column.tolist(), known.tolist())]
        found, ranks = np.unique(np.array([*before, *versions], object), return_inverse=True)
        self._base = len(self.texts)
        self.texts += found.tolist()
        self.r[numbers, k.IdEntry.version] = ranks[: len(numbers)]
        return ranks[len(numbers) :]

    def _reach(self, numbers: int) -> None:
        """Make room for the lines of so many numbers."""
        if numbers > len(self.r):
            more = np.zeros((max(numbers, 2 * len(self.r)), self.r.shape[1]), np.int64)
            more[: len(self.r)] = self.r
            self.r = more

    def _put(self, numbers: Any, lines: Any) -> None:
        self.r[numbers] = lines

    # -- promises --------------------------------------------------------------------------------------------------------------

    def promised(self, t: int, horizon: int) -> Iterator[tuple[Any, int]]:
        """Take a promise; yield the numbers of retractions that have waited in vain, and up to when."""
        self.m[k.IdCall.promise], self.m[k.IdCall.horizon] = t, horizon
        if not self.waiting:
            return
        live = self.numbers.live()
        lines = self.r[live[live < len(self.r)]]
        over = live[: len(lines)][((lines[:, k.IdEntry.held] & k.STATE) == k.WAITING) & (lines[:, k.IdEntry.until] < horizon)]
        if not len(over):
            return
        self._journal.note(self._put, over, self.r[over])
        until = self.r[over, k.IdEntry.until]
        self.r[over] = 0
        self.m[k.IdCall.waiting] -= len(over)
        yield from zip(over.tolist(), until.tolist())

    # -- between calls ---------------------------------------------------------------------------------------------------------

    def known(self) -> Any:
        """Return the numbers of the ids that are remembered."""
        live = self.numbers.live()
        live = live[live < len(self.r)]
        held, until = self.r[live, k.IdEntry.held], self.r[live, k.IdEntry.until]
        return live[((held & k.STATE) != k.ABSENT) & (until >= self.m[k.IdCall.horizon])]

    def tidy(self, whole: bool = False) -> bool:
        """Forget ids, where it is time to; ``whole``: in any case. Returns whether it was. No call is under way."""
        if len(self.numbers) <= self._most and not whole:
            return False
        known, live = self.known(), self.numbers.live()
        there = np.zeros(self.numbers.top, np.bool_)
        there[known] = True
        gone = live[~there[live]]
        self.r[gone[gone < len(self.r)]] = 0
        self.numbers.gone(gone)
        self.numbers.given()  # nobody here asks for it
        self._most = max(FEW, 2 * len(self.numbers))
        if self.texts:
            used, places = np.unique(self.r[known, k.IdEntry.version], return_inverse=True)
            r = self.r.copy()
            r[known, k.IdEntry.version] = places
            vars(self).update(r=r, texts=[self.texts[i] for i in used.tolist()])
        return True

    def places(self) -> tuple[Any, Any]:
        """Return the numbers whose contents are held, and the places of these, in order."""
        known = self.known()
        held = self.r[known, k.IdEntry.held]
        state = held & k.STATE
        kept = state == k.IN_FORCE if self.m[k.IdCall.versioned] else (state == k.IN_FORCE) | (state == k.RETRACTED)
        order = np.argsort(held[kept], kind="stable")
        return known[kept][order], (held[kept] >> 2)[order]

    def moved(self, numbers: Any) -> Any:
        """Return the words ``m`` and ``r`` once the contents of these numbers have the first places, in this order."""
        m, r = self.m.copy(), self.r.copy()
        r[numbers, k.IdEntry.held] = (r[numbers, k.IdEntry.held] & k.STATE) | np.arange(len(numbers)) << 2
        m[k.IdCall.next] = len(numbers)
        return {"m": m, "r": r}

    def in_force(self, number: int) -> int | None:
        """Return the place of the event in force that a number names; None: there is none, or it is forgotten."""
        if number >= len(self.r):
            return None
        held = int(self.r[number, k.IdEntry.held])
        there = held & k.STATE == k.IN_FORCE and self.r[number, k.IdEntry.until] >= self.m[k.IdCall.horizon]
        return held >> 2 if there else None

    def take(self, numbers: Any, lines: Any, waiting: int, contents: int) -> None:
        """Set the lines of a snapshot."""
        self._reach(self.numbers.top)
        self.r[numbers] = lines
        self.m[[k.IdCall.waiting, k.IdCall.next]] = waiting, contents

    # -- calls -----------------------------------------------------------------------------------------------------------------

    def mark(self) -> Any:
        """Return what `back` takes."""
        return self.m.copy(), len(self.texts)

    def back(self, mark: Any) -> None:
        """Restore the words of the entries as a whole; the journal has restored the lines."""
        self.m = mark[0].copy()
        del self.texts[mark[1] :]
