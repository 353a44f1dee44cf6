"""The readings of one key in order, and what was told of them: a change touches only what lies around it.

    readings       10: on      14: off     20: on                 cover: how it stands below the promise
    told           at 10       at 14       at 20      tail: what the clock has brought behind the last reading

Each reading keeps what is told between the one before it and itself, and how it stands behind it. Where a change leads to the same
standing behind a reading as before, all that follows is as it was.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from afa.errors import ChangeError
from afa.journal import Journal
from afa.model.copies import added
from afa.situations.key_standing import Going, Happens, Kind, LastingSituations, Reading, due, nothing, passed, taken
from punctuation.time import FOREVER

Place = tuple[Any, ...]
"""LE, and the order at one LE."""
Told = tuple[Any, ...]
Read = Callable[[Any, "int | None", int], Reading]
Contested = Callable[[str, int], None]
STEPS = 4096
"""So many steps are known at most."""


class Form(NamedTuple):
    """How readings are told of.

    Parameters
    ----------
    kinds : sequence of Kind
    happens : callable
        What is told at an instant.
    open : callable
        What is told of a standing with no reading behind it.
    time : callable
        Below which promise one of these is final not yet.
    ordered : bool
        Whether readings of one LE have an order; else all of them stand at (LE, 0).
    waits : bool
        Whether something may happen between readings that have no end.
    steps : dict, optional
        Where all definitions are plain: what happens at a reading, and how it stands behind it, by what goes on and what it
        satisfies. Filled as they occur.
    """

    kinds: Sequence[Kind]
    happens: Callable[[Happens], Iterable[Any]]
    open: Callable[[LastingSituations], Iterable[Any]]
    time: Callable[[Any], int]
    ordered: bool = True
    waits: bool = True
    steps: dict[tuple[Any, int], tuple[Happens, tuple[Going | None, ...]]] | None = None


class ReadingEntry(NamedTuple):
    """What was told between the reading before and this one, how it stands behind it, and what it says."""

    told: Told
    standing: LastingSituations
    reading: Reading


class AwaitedReading(NamedTuple):
    """A retraction whose reading has not come: of which payload, at which LE, how many."""

    payload: Any
    le: int
    re: int | None
    diff: int


class Readings:
    """The readings of one key.

    Parameters
    ----------
    journal : Journal
        Takes the inverse of every write.
    form : Form
    """

    __slots__ = ("_form", "_journal", "cover", "entries", "places", "tail")

    def __init__(self, journal: Journal, form: Form) -> None:
        self._journal, self._form = journal, form
        self.places: SortedDict[Place, dict[tuple[Any, int | None], int]] = SortedDict()  # copies of each, of each place
        self.entries: SortedDict[int, ReadingEntry] = SortedDict()
        self.cover = nothing(form.kinds)
        self.tail: Told = ()

    # -- what comes ------------------------------------------------------------------------------------------------------------

    def change(self, place: Place, payload: Any, re: int | None, diff: int) -> None:
        """Take a change of a reading. O(log n)."""
        bucket = self.places.get(place)
        if bucket is None:
            bucket = {}
            self._journal.put(self.places, place, bucket)
        copies = added(bucket.get((payload, re), 0), diff, payload, place[0])
        if copies:
            self._journal.put(bucket, (payload, re), copies)
        else:
            self._journal.drop(bucket, (payload, re))
            if not bucket:
                self._journal.drop(self.places, place)

    def revised(self, touched: Iterable[int], clock: int, read: Read, contested: Contested | None = None) -> Counter[Any]:
        """Work out what the readings at some LEs, the clock's way to a time and the cover lead to.

        Parameters
        ----------
        contested : callable, optional
            Told of two different readings at one place, of which neither holds then. None: they are refused.

        Returns
        -------
        Counter
            What is told now (above 0), and no longer (below).

        Notes
        -----
        O(log n) for each reading between a change and where it stands as before; at most to the end of the situations there.
        """
        difference: Counter[Any] = Counter()
        order = deque(sorted(set(touched)))
        while order:
            self._go_on(order, difference, read, contested)
        self._draw_tail(clock, difference)
        return difference

    def _go_on(self, order: deque[int], difference: Counter[Any], read: Read, contested: Contested | None) -> None:
        """Draw anew from the first of some LEs on, until it stands as before. Takes away the LEs that this comes by."""
        le: int | None = order[0]
        before = next(self.entries.irange(None, le, inclusive=(True, False), reverse=True), None)
        standing = self.cover if before is None else self.entries[before].standing
        as_before = True  # how it stands in front of le
        while le is not None:
            old, reading = self.entries.get(le), None
            if order and order[0] == le:
                order.popleft()
                reading = self._reading(le, read, contested)
            elif old is not None:
                reading = old.reading
            if reading is not None:
                told, standing = self._told_to(standing, le, reading)
                now = ReadingEntry(told, standing, reading)
                if now != old:
                    if told:
                        difference.update(told)
                    if old is not None and old.told:
                        difference.subtract(old.told)
                    self._journal.put(self.entries, le, now)
                if old is not None and old.standing == standing:
                    return
                as_before = False
            elif old is not None:
                difference.subtract(old.told)
                self._journal.drop(self.entries, le)
                as_before = False
            elif as_before:
                return
            following = next(self.entries.irange(le, inclusive=(False, True)), None)
            le = order[0] if order and (following is None or order[0] < following) else following

    def _told_to(self, standing: LastingSituations, le: int, reading: Reading) -> tuple[Told, LastingSituations]:
        found, standing = self._passed(standing, le)
        happens, standing = self._taken(standing, le, reading)
        return (*found, *self._form.happens(happens)) if any(happens.marks) else tuple(found), standing

    def _taken(self, standing: LastingSituations, le: int, reading: Reading) -> tuple[Happens, LastingSituations]:
        """Return what happens at a reading, and how it stands behind it."""
        steps = self._form.steps
        if steps is None:
            return taken(self._form.kinds, standing, le, reading)
        step = standing.going, reading.bits
        known = steps.get(step)
        if known is None:
            happens, behind = taken(self._form.kinds, standing, le, reading)
            if len(steps) < STEPS:
                steps[step] = happens, behind.going
            return happens, behind
        (_, marks, of), going = known
        return Happens(le, marks, of), LastingSituations(reading.until if reading.bits else FOREVER, going)

    def _passed(self, standing: LastingSituations, until: int) -> tuple[Sequence[Any], LastingSituations]:
        """Return what is told before a time, if no reading comes until then, and how it stands there."""
        if standing.until >= until and not self._form.waits:
            return (), standing
        found: list[Any] = []
        for happens, behind in passed(self._form.kinds, standing, until):
            found += self._form.happens(happens)
            standing = behind
        return found, standing

    def _draw_tail(self, clock: int, difference: Counter[Any]) -> None:
        """Tell what lies behind the last reading: what the clock brings, and what is open."""
        found, standing = self._passed(self.last, min(clock + 1, FOREVER))
        tail = (*found, *self._form.open(standing))
        if tail != self.tail:
            difference.subtract(self.tail)
            difference.update(tail)
            self._journal.set(self, "tail", tail)

    @property
    def last(self) -> LastingSituations:
        """How it stands behind the last reading."""
        return self.entries.peekitem(-1)[1].standing if self.entries else self.cover

    def _reading(self, le: int, read: Read, contested: Contested | None) -> Reading | None:
        """Return the reading that holds from an LE on: the last one there; None: there is none, or there are two at its place."""
        alone: Any = [(le, 0)] if (le, 0) in self.places else []
        for place in self.places.irange((le,), (le + 1,), inclusive=(True, False), reverse=True) if self._form.ordered else alone:
            there = [each for each, copies in self.places[place].items() if copies > 0]
            if len(there) > 1:
                (one, _), (other, _), *_ = sorted(there, key=repr)
                error = (
                    f"expected one reading of a key at a time but got {one!r} and {other!r} at le={le}; order_by= names the field "
                    f"that orders readings of one time, of which the last one holds"
                )
                if contested is None:
                    raise ChangeError(error)
                contested(error, le)
            elif there:
                payload, re = there[0]
                return read(payload, re, le)
        return None

    # -- what is final -----------------------------------------------------------------------------------------------------------

    def settle(self, t: int) -> Iterator[AwaitedReading]:
        """Forget what lies below a promise. Yields the retractions that have waited in vain."""
        for place in list(self.places.irange(None, (t,), inclusive=(True, False))):
            for (payload, re), copies in self.places[place].items():
                if copies < 0:
                    yield AwaitedReading(payload, place[0], re, copies)
            self._journal.drop(self.places, place)
        cover = self.cover
        for le in list(self.entries.irange(None, t, inclusive=(True, False))):
            cover = self.entries[le].standing
            self._journal.drop(self.entries, le)
        _, cover = self._passed(cover, t)  # which is final, and told
        if cover != self.cover:
            self._journal.set(self, "cover", cover)
        self._forget_below(t)

    def _forget_below(self, t: int) -> None:
        """Forget what was told of times below a promise, behind the cover."""
        if self.entries:
            le, entry = self.entries.peekitem(0)
            kept = tuple([each for each in entry.told if self._form.time(each) >= t])
            if kept != entry.told:
                self._journal.put(self.entries, le, entry._replace(told=kept))
        else:
            kept = tuple([each for each in self.tail if self._form.time(each) >= t])
            if kept != self.tail:
                self._journal.set(self, "tail", kept)

    @property
    def due(self) -> int:
        """The smallest promise at which something is told or forgotten; FOREVER: none."""
        first = self.places.peekitem(0)[0][0] + 1 if self.places else FOREVER
        return min(first, due(self._form.kinds, self.last), due(self._form.kinds, self.cover))

    @property
    def empty(self) -> bool:
        """Whether nothing is held."""
        return not self.places and self.cover.idle
