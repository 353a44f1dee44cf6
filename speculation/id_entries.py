"""What is known of each id: its state, up to when it is remembered, its version: a table that a kernel reads and writes.

ids      -> words      ints are words themselves; of others the numbers of `afa.compiled.key_numbers`
words    -> slots      `speculation.id_layout.IdSlot`, in ``t``
slots    -> contents   by place, in `speculation.id_rows`
"""

from __future__ import annotations

import copy
import functools
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from afa.compiled.kernel_arrays import native_main
from afa.compiled.key_numbers import KeyNumbers
from afa.journal import Journal
from afa.state.plain import ints
from punctuation.time import BEGINNING, FOREVER
from speculation import id_kernel
from speculation import id_layout as k

FEW = 64
"""How many slots there are at least."""
LOAD, FULL = 0.6, 0.75
"""How full a table is when it is made, and when it is made anew."""
SECRET = secrets.randbits(62)
_OF = k.IdMessage


@functools.cache
def main() -> Callable[[Any, int, int], int]:
    """Return the kernel: ``main(memory, what, n)``."""
    return native_main(id_kernel.main, "speculation.id_kernel", "speculation.id_layout")


class IdEntries:
    """The entries of ids. A call's writes leave their inverses in the journal; `mark` and `back` undo the rest.

    >>> entries = IdEntries(False, Journal())
    >>> found = entries.judge(entries.words_of([np.array([7, 8, 7])], True, 3), np.array([1, 1, -1]), np.array([5, 6, 9]), None)
    >>> found[k.IdMessage.verdict].tolist() == [k.NEW, k.NEW, k.GONE]
    True
    """

    arrays = ("m", "c", "t", "o")

    def __init__(self, versioned: bool, journal: Journal) -> None:
        self.numbers: KeyNumbers | None = None  # of ids that are no ints
        self.fixed = False  # whether it is known whether ids are ints
        self.m = np.zeros(k.IdCall.SIZE, np.int64)
        self.t = np.zeros((FEW, k.IdSlot.SIZE if versioned else k.IdSlot.version), np.int64)
        self._buffer, self._at = np.empty(0, np.int64), 0  # of messages, used again in each call
        self._one = np.zeros((_OF.SIZE, 1), np.int64)
        self.versioned = versioned
        self.m[[k.IdCall.versioned, k.IdCall.width, k.IdCall.secret]] = versioned, self.t.shape[1], SECRET
        self.m[[k.IdCall.promise, k.IdCall.horizon, k.IdCall.first_waiting]] = BEGINNING, BEGINNING, FOREVER
        self.texts: list[str] = []  # versions that are texts: a slot has the place of its own
        self._journal = journal
        self._most = 1024  # beyond so many numbers, those are looked for that no slot has

    @property
    def nbytes(self) -> int:
        """How many bytes ids and their slots take; 80 bytes a message of the largest call are beside that."""
        return int(self.t.nbytes + (0 if self.numbers is None else self.numbers.arrays.nbytes))

    @property
    def waiting(self) -> int:
        """How many retractions wait."""
        return int(self.m[k.IdCall.waiting])

    # -- ids -------------------------------------------------------------------------------------------------------------------

    def fix(self, direct: bool) -> bool:
        """Say whether ids are ints; return whether they are, as the first ones have said."""
        if not self.fixed:
            self.fixed, self.numbers = True, None if direct else KeyNumbers()
        return self.numbers is None

    def words_of(self, columns: list[Any], direct: bool, n: int) -> Any:
        """Return the words of ids in columns; ``direct``: there is one column, of ints. Raises `Unfit` where rows go one by one."""
        if self.fix(direct):
            return ints(columns)[0]
        assert self.numbers is not None
        return self.numbers.numbers_of(columns, len(columns) == 1, n)

    def word(self, name: Any) -> int:
        """Return the word of one id."""
        if self.fix(type(name) is int):
            return int(name)
        assert self.numbers is not None
        return self.numbers.code(name)

    def name(self, word: int) -> Any:
        """Return the id of a word."""
        return int(word) if self.numbers is None else self.numbers.name(word)

    def find(self, name: Any) -> int | None:
        """Return the word of an id; None: it has none."""
        if not self.fixed or self.numbers is not None:
            return None if self.numbers is None else self.numbers.find(name)
        return int(name)

    # -- messages --------------------------------------------------------------------------------------------------------------

    def judge(self, words: Any, sign: Any, le: Any, version: Any) -> Any:
        """Take messages in order of arrival; return them as `IdMessage`. ``version``: words, or texts (a list); None: none."""
        c = self._room(len(words))
        c[_OF.name], c[_OF.sign], c[_OF.le] = words, sign, le
        self._reach(len(words))
        if isinstance(version, list):
            self._judge_texts(c, version)
            return c
        if version is not None:
            c[_OF.version] = version
        self._take(c)
        return c

    def judge_one(self, word: int, sign: int, le: int, version: Any) -> tuple[int, int]:
        """Take one message. Returns what it does, and the place of the content that it takes out or is compared with."""
        if isinstance(version, str):
            c = self.judge(np.array([word]), sign, le, [version])
        else:
            self._reach(1)
            c = self._one.copy()
            c[: _OF.verdict, 0] = word, sign, le, version or 0
            self._take(c)
        return int(c[_OF.verdict, 0]), int(c[_OF.old, 0])

    def _room(self, n: int) -> Any:
        """Return room for so many messages, which this call keeps."""
        words = n * _OF.SIZE
        if self._at + words > len(self._buffer):
            self._buffer, self._at = np.empty(words, np.int64), 0
        self._at += words
        return self._buffer[self._at - words : self._at].reshape(_OF.SIZE, n)

    def _take(self, c: Any) -> None:
        n = c.shape[1]
        main()  # before anything must be undone by it
        c[_OF.slot] = -1
        self._journal.note(self._call, k.UNDO, n, c)
        self._call(k.JUDGE, n, c)

    def _call(self, what: int, n: int, c: Any = None, o: Any = None) -> int:
        m, t = self.m, self.t
        at, width = t.ctypes.data, t.shape[1]
        m[k.IdCall.t_at], m[k.IdCall.slots] = at, len(t)
        self.c, self.o = c, o
        messages = (0, 0) if c is None else (c.ctypes.data, c.shape[1])
        self.addresses = (m.ctypes.data, 0, *messages, at, width, 0 if o is None else o.ctypes.data, width)
        found = main()(self, what, n)
        self.c = self.o = None
        return found

    def _judge_texts(self, c: Any, versions: list[str]) -> None:
        """Take messages whose versions are texts: by their ranks among themselves and what their ids have.

        All of these stand in order at the end of `texts`, so that a rank there is the place of its text.
        """
        words = np.unique(c[_OF.name])
        slots = [self.slot(word) for word in words.tolist()]
        held = [slot for slot in slots if slot is not None]
        before = [self.texts[i] for i in self.t[held, k.IdSlot.version].tolist()]
        found = sorted({*before, *versions})
        base, ranks = len(self.texts), {text: i for i, text in enumerate(found)}
        self._journal.note(self._put_versions, held, self.t[held, k.IdSlot.version])
        self.texts += found
        self._put_versions(held, [base + ranks[text] for text in before])
        c[_OF.version] = [base + ranks[text] for text in versions]
        self._take(c)

    def _put_versions(self, slots: Any, versions: Any) -> None:
        self.t[slots, k.IdSlot.version] = versions

    def put_until(self, slots: Any, until: int) -> None:
        """Let ids be remembered until an instant."""
        self.t[slots, k.IdSlot.until] = until
        self.m[k.IdCall.first_waiting] = min(self.m[k.IdCall.first_waiting], until)

    def slot(self, word: int) -> int | None:
        """Return the slot of a word; None: it has none."""
        self._one[_OF.name, 0] = word
        s = self._call(k.FIND, 1, self._one)
        return s if self.t[s, k.IdSlot.held] and self.t[s, k.IdSlot.until] >= self.m[k.IdCall.horizon] else None

    def in_force(self, word: int) -> int | None:
        """Return the place of the event in force of a word; None: there is none, or it is forgotten."""
        s = self.slot(word)
        held = 0 if s is None else int(self.t[s, k.IdSlot.held])
        return held >> 2 if held & k.STATE == k.IN_FORCE else None

    # -- the table -------------------------------------------------------------------------------------------------------------

    def known(self) -> Any:
        """Return the slots of the ids that are remembered."""
        t = self.t
        return np.flatnonzero((t[:, k.IdSlot.held] != 0) & (t[:, k.IdSlot.until] >= self.m[k.IdCall.horizon]))

    def _reach(self, n: int) -> None:
        """Make room for so many ids more; a table that is made anew has none that is forgotten. A call that fails has the old."""
        if self.m[k.IdCall.used] + n <= FULL * len(self.t):
            return
        known = len(self.known())
        self._journal.note(vars(self).update, {"t": self.t, "m": self.m})
        self._refill(known + (n if known > 4 * n else 3 * n))

    def _refill(self, room: int) -> None:
        """Make the table anew, for so many ids, without what is forgotten; an interrupt leaves the old one."""
        new, old = copy.copy(self), self.t
        new.m, new.t = self.m.copy(), np.zeros((max(FEW, int(room / LOAD)), old.shape[1]), np.int64)
        new._call(k.REFILL, len(old), o=old)
        vars(self).update(m=new.m, t=new.t)

    def take(self, words: Any, lines: Any, contents: int) -> None:
        """Set the entries of a snapshot, of different ids: lines of `IdSlot`."""
        self.t = np.ascontiguousarray(lines)
        self.t[:, k.IdSlot.name] = words
        waits = self.t[(self.t[:, k.IdSlot.held] & k.STATE) == k.WAITING, k.IdSlot.until]
        self._refill(len(lines))
        self.m[[k.IdCall.waiting, k.IdCall.next]] = len(waits), contents
        self.m[k.IdCall.first_waiting] = waits.min(initial=FOREVER)

    # -- promises --------------------------------------------------------------------------------------------------------------

    def promised(self, t: int, horizon: int) -> Iterator[tuple[Any, int]]:
        """Take a promise; yield the ids of retractions that have waited in vain, and up to when."""
        m = self.m
        if self.waiting and m[k.IdCall.first_waiting] < horizon:
            waits = np.flatnonzero((self.t[:, k.IdSlot.held] & k.STATE) == k.WAITING)
            until = self.t[waits, k.IdSlot.until]
            there = until >= m[k.IdCall.horizon]
            over = there & (until < horizon)
            m[k.IdCall.waiting] -= int(over.sum())
            m[k.IdCall.first_waiting] = until[there & ~over].min(initial=FOREVER)
            yield from [(self.name(word), at) for word, at in self.t[waits[over]][:, [k.IdSlot.name, k.IdSlot.until]].tolist()]
        m[k.IdCall.promise], m[k.IdCall.horizon] = t, horizon

    # -- between calls ---------------------------------------------------------------------------------------------------------

    def tidy(self, whole: bool) -> None:
        """Forget the numbers and texts that no slot has, where it is time to, or (``whole``) in any case. No call is under way."""
        if self.numbers is not None and (len(self.numbers) > self._most or whole):
            there, given = np.zeros(self.numbers.top, np.bool_), self.numbers.live()
            self._refill(len(self.known()))
            there[self.t[self.known(), k.IdSlot.name]] = True
            self.numbers.gone(given[~there[given]])
            self.numbers.given()  # nobody here asks for it
            self._most = max(1024, 2 * len(self.numbers))
        if len(self.texts) > 1024 + 4 * len(self.t) or (whole and self.texts):
            self._refill(len(self.known()))
            known = self.known()
            used, places = np.unique(self.t[known, k.IdSlot.version], return_inverse=True)
            t = self.t.copy()
            t[known, k.IdSlot.version] = places
            vars(self).update(t=t, texts=[self.texts[i] for i in used.tolist()])

    def contents(self) -> tuple[Any, Any]:
        """Return the slots whose contents are held, and the places of these."""
        known = self.known()
        held = self.t[known, k.IdSlot.held]
        state = held & k.STATE
        kept = state == k.IN_FORCE if self.versioned else (state == k.IN_FORCE) | (state == k.RETRACTED)
        return known[kept], held[kept] >> 2

    def moved(self, slots: Any) -> dict[str, Any]:
        """Return the arrays once the contents of these slots have the first places, in this order."""
        m, t = self.m.copy(), self.t.copy()
        t[slots, k.IdSlot.held] = (t[slots, k.IdSlot.held] & k.STATE) | np.arange(len(slots)) << 2
        m[k.IdCall.next] = len(slots)
        return {"m": m, "t": t}

    # -- calls -----------------------------------------------------------------------------------------------------------------

    def mark(self) -> Any:
        """Return what `back` takes."""
        self._at = 0
        return self.m.copy(), len(self.texts), {"fixed": self.fixed, "numbers": self.numbers}

    def back(self, mark: Any) -> None:
        """Restore the words of the entries as a whole; the journal has restored the table."""
        self.m = mark[0].copy()
        self.m[k.IdCall.used] = np.count_nonzero(self.t[:, k.IdSlot.held])  # a snapshot makes the table anew within its call
        del self.texts[mark[1] :]
        vars(self).update(mark[2])
