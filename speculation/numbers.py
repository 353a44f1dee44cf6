"""Which numbers of one key are in force: a hash table on numbers, and over it the blocks of adjacent ones.

entries   number -> event      those that can still change (LE >= the promise)
tails     columns of events    the same, as they came in a table; `settle` brings them into the hash table
cover     number, LE, RE       the last event below the promise, for what comes next to it
blocks    first, last, their LEs; in order. Where one ends and the next begins there is a gap
waiting   event -> copies      retractions whose insertion has not come
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from typing import Any, NamedTuple

from afa.journal import Journal
from afa.model.copies import added


class Entry(NamedTuple):
    """An event in force, but for its number."""

    le: int
    re: int
    payload: Any


class Cover(NamedTuple):
    """The last event that is final."""

    number: int
    le: int
    re: int


class Block(NamedTuple):
    """A run of adjacent numbers, with the LEs of its ends."""

    first: int
    last: int
    begins: int
    ends: int


class Gap(NamedTuple):
    """What lies between two blocks: the missing numbers, the LEs of the events beside them."""

    first: int
    last: int
    after: int
    before: int

    def barrier(self, promised: int) -> tuple[int, int]:
        """Number and LE of the barrier of a gap.

        It lies right behind the last event before the gap, or where the promise has come to, as far as there is no event: what
        happens up to there is known. So time-outs fire up to there, and what a barrier stands for can still change.
        """
        return self.first, min(max(self.after, promised), self.before)


class Tail(NamedTuple):
    """Events of a table, by number: rows ``low`` to ``high`` of columns that several keys share."""

    numbers: Any
    le: Any
    re: Any
    fields: list[Any]
    low: int
    high: int

    def place(self, number: int) -> int:
        """The row of a number, or of the next one."""
        return self.low + int(self.numbers[self.low : self.high].searchsorted(number))

    def above(self, number: int) -> Tail | None:
        """What is left of it above a number."""
        low = self.place(number + 1)
        return self._replace(low=low) if low < self.high else None


class Numbers:
    """The numbers of one key.

    Parameters
    ----------
    journal : Journal
        Takes back what a call that fails has written.
    lasting : bool
        Whether the cover is kept when its lifetime is over, so that a gap after it is told: of many keys it is not.
    """

    __slots__ = ("blocks", "cover", "entries", "journal", "lasting", "tails", "waiting")

    def __init__(self, journal: Journal, lasting: bool) -> None:
        self.journal, self.lasting = journal, lasting
        self.entries: dict[int, Entry] = {}
        self.tails: list[Tail] = []
        self.cover: Cover | None = None
        self.blocks: list[Block] = []
        self.waiting: dict[Entry, int] = {}

    # -- what is there -----------------------------------------------------------------------------------------------------

    @property
    def empty(self) -> bool:
        """Whether there is nothing to remember."""
        return not self.blocks and not self.waiting

    def at(self, number: int) -> int:
        """The place of the last block that begins at or before a number; -1: none."""
        return bisect_right(self.blocks, (number, math.inf)) - 1

    def __contains__(self, number: int) -> bool:
        i = self.at(number)
        return i >= 0 and number <= self.blocks[i].last

    def le(self, number: int) -> int:
        """The LE of a number in force."""
        return self.times(number)[0]

    def times(self, number: int) -> tuple[int, int]:
        """LE and RE of a number in force. O(1); O(log) in a table's columns."""
        entry = self.entries.get(number)
        if entry is not None:
            return entry.le, entry.re
        for tail in self.tails:
            i = tail.place(number)
            if i < tail.high and tail.numbers[i] == number:
                return int(tail.le[i]), int(tail.re[i])
        assert self.cover is not None
        assert self.cover.number == number, f"number {number} is in no table"
        return self.cover.le, self.cover.re

    def beside(self, number: int) -> tuple[int | None, int | None]:
        """The numbers in force next to a number, which need not be in force itself."""
        i = self.at(number)
        block = self.blocks[i] if i >= 0 else None
        after = self.blocks[i + 1].first if i + 1 < len(self.blocks) else None
        if block is None or number > block.last:
            return block.last if block else None, after
        before = number - 1 if number > block.first else self.blocks[i - 1].last if i > 0 else None
        return before, number + 1 if number < block.last else after

    def gap(self, a: int | None, b: int | None) -> Gap | None:
        """The gap between two numbers in force that follow each other; None: there is none."""
        if a is None or b is None or b == a + 1:
            return None
        return Gap(a + 1, b - 1, self.le(a), self.le(b))

    def deadline(self, promised: int) -> int | None:
        """The smallest punctuation that changes something here; None: none does."""
        found = [le + 1 for le in (min((entry.le for entry in self.waiting), default=None),) if le is not None]
        if self.blocks:
            first = self.blocks[0]
            if self.cover is None:
                found.append(first.begins + 1)
            elif first.last > first.first:
                found.append(self.le(first.first + 1) + 1)
            elif len(self.blocks) > 1:
                found.append(promised + 1)  # the barrier of the first gap goes with the promise
            elif not self.lasting:
                found.append(self.cover.re)
        return min(found, default=None)

    # -- changes -----------------------------------------------------------------------------------------------------------

    def settle(self, payload: Callable[[Any], Any]) -> None:
        """Bring what came in tables into the hash table; nothing is another for it."""
        for tail in self.tails:
            rows = slice(tail.low, tail.high)
            columns = [tail.numbers, tail.le, tail.re, *tail.fields]
            for number, le, re, *fields in zip(*(column[rows].tolist() for column in columns)):
                self.entries[number] = Entry(le, re, payload(tuple(fields)))
        self.tails = []

    def add(self, number: int, entry: Entry) -> None:
        """Let a number be in force that is not. O(blocks) to move them, a few nanoseconds each."""
        self.journal.put(self.entries, number, entry)
        i = self.at(number)
        low, high, new = i + 1, i + 1, Block(number, number, entry.le, entry.le)
        if i >= 0 and self.blocks[i].last == number - 1:
            low, new = i, Block(self.blocks[i].first, number, self.blocks[i].begins, entry.le)
        if high < len(self.blocks) and self.blocks[high].first == number + 1:
            new = Block(new.first, self.blocks[high].last, new.begins, self.blocks[high].ends)
            high += 1
        self._splice(low, high, [new])

    def follow(self, number: int, entry: Entry) -> None:
        """`add` of the number right behind the last one."""
        self.journal.put(self.entries, number, entry)
        last = self.blocks[-1]
        self.journal.note(self._put_last, last)
        self.blocks[-1] = last._replace(last=number, ends=entry.le)

    def _put_last(self, last: Block) -> None:
        self.blocks[-1] = last

    def remove(self, number: int) -> None:
        """Let a number be no more in force that can change."""
        self.journal.drop(self.entries, number)
        i = self.at(number)
        first, last, begins, ends = self.blocks[i]
        new = [Block(first, number - 1, begins, self.le(number - 1))] if first < number else []
        new += [Block(number + 1, last, self.le(number + 1), ends)] if number < last else []
        self._splice(i, i + 1, new)

    def _splice(self, low: int, high: int, new: list[Block]) -> None:
        after = len(self.blocks) - (high - low) + len(new)
        self.journal.note(self._put_blocks, low, new, self.blocks[low:high], after)
        self.blocks[low:high] = new

    def _put_blocks(self, low: int, new: list[Block], old: list[Block], after: int) -> None:
        """Undo `_splice`, if it was done: then there are ``after`` blocks."""
        if len(self.blocks) == after and self.blocks[low : low + len(new)] == new:
            self.blocks[low : low + len(new)] = old

    def wait(self, entry: Entry, copies: int) -> None:
        """Let more retractions of an event wait, or fewer."""
        left = -added(-self.waiting.get(entry, 0), -copies, entry.payload, entry.le)
        if left:
            self.journal.put(self.waiting, entry, left)
        else:
            self.journal.drop(self.waiting, entry)

    # -- promises ----------------------------------------------------------------------------------------------------------

    def forget(self, promised: int) -> None:
        """Forget what lies below a promise, but for the cover; of many keys that too, if nothing follows and it is over."""
        for entry in [entry for entry in self.waiting if entry.le < promised]:
            self.journal.drop(self.waiting, entry)
        self.move_to(self.below(promised), promised)

    def below(self, promised: int) -> Cover | None:
        """The last event below a promise; None: no other than the cover."""
        number = self._last_below(promised)
        return None if number is None else Cover(number, *self.times(number))

    def move_to(self, cover: Cover | None, promised: int) -> None:
        """Let an event be the cover, or the one that there is; what is before it is forgotten."""
        if cover is not None:
            self.note()
            self._drop_entries(self.blocks[0].first, cover.number)
            rest = [block for block in self.blocks if block.last >= cover.number]
            self.blocks = [rest[0]._replace(first=cover.number, begins=cover.le), *rest[1:]]
            self.tails = [left for tail in self.tails if (left := tail.above(cover.number)) is not None]
            self.cover = cover
        over = not self.lasting and self.cover is not None and self.cover.re <= promised
        if over and self.blocks[-1].last == self.blocks[0].first:
            self.note()
            self.cover, self.blocks = None, []

    def _last_below(self, promised: int) -> int | None:
        """The last number whose LE is below a promise, if it is another than the cover. O(blocks passed + log)."""
        passed = 0
        while passed < len(self.blocks) and self.blocks[passed].ends < promised:
            passed += 1
        found = self.blocks[passed - 1].last if passed else None
        if passed < len(self.blocks) and self.blocks[passed].begins < promised:
            low, high = self.blocks[passed].first, self.blocks[passed].last
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self.le(middle) < promised else (low, middle)
            found = low
        return None if self.cover is not None and found == self.cover.number else found

    def _drop_entries(self, first: int, last: int) -> None:
        """Drop a range of numbers from the hash table, in the shorter way of two."""
        few = last - first < len(self.entries)
        for number in range(first, last + 1) if few else [n for n in self.entries if n <= last]:
            if number in self.entries:
                self.journal.drop(self.entries, number)

    def note(self) -> None:
        """Note blocks, tails and cover to come back."""
        self.journal.note(self.put, self.cover, [*self.blocks], [*self.tails])

    def put_cover(self, cover: Cover) -> None:
        """Begin with a cover, where there is nothing yet."""
        self.cover = cover
        self.blocks.append(Block(cover.number, cover.number, cover.le, cover.le))

    def put(self, cover: Cover | None, blocks: list[Block], tails: list[Tail]) -> None:
        """Let this be what is there, beside the hash table."""
        self.cover, self.blocks, self.tails = cover, blocks, tails

    # -- for tests ---------------------------------------------------------------------------------------------------------

    def check(self, promised: int) -> None:
        """Assert that blocks are what the tables say, and that what is final is forgotten."""
        held = {number: entry.le for number, entry in self.entries.items()}
        for tail in self.tails:
            held.update(zip(tail.numbers[tail.low : tail.high].tolist(), tail.le[tail.low : tail.high].tolist()))
        assert all(le >= promised for le in held.values()), "Cleanup: an event below the promise"
        if self.cover is not None:
            assert self.cover.le < promised, "a cover that is not final"
            held[self.cover.number] = self.cover.le
        assert [n for block in self.blocks for n in range(block.first, block.last + 1)] == sorted(held)
        assert all((block.begins, block.ends) == (held[block.first], held[block.last]) for block in self.blocks)
        assert all(a.last + 1 < b.first and a.ends <= b.begins for a, b in zip(self.blocks, self.blocks[1:]))
        assert all(entry.le >= promised for entry in self.waiting), "a retraction that waited in vain"
        assert not self.empty, "a key that holds nothing"
