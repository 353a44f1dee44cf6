"""Changes of numbered events, row by row: what the operator beneath gets for them.

It gets the events, and the barriers that go with them: one behind each number in force whose successor is not there, but for the
largest of the key. All that is written is noted in the operator's journal, in its transaction: a call that fails leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from typing import Any

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.operator.call import Core
from afa.schema import as_ticks
from punctuation.calls import Member
from punctuation.deadlines import Deadlines
from punctuation.promise import Punctuation
from punctuation.time import FOREVER
from speculation.barrier import Derived
from speculation.numbers import Entry, Gap, Numbers

Item = tuple[str, Any, Hashable]
Repeated = str | Callable[[Change], Any]
OnGap = Callable[[Hashable, int, int], Any]


class Sequences(Member):
    """The numbers in force of all keys.

    Parameters
    ----------
    core : Core
        Of the operator beneath.
    derived : Derived
        Its automaton.
    repeated : "raise" or "drop" or callable
    gaps : "break" or "join"
    on_gap : callable or None

    Raises
    ------
    AfaError
        A policy is none of these.
    """

    def __init__(self, core: Core, derived: Derived, repeated: Repeated, gaps: str, on_gap: OnGap | None) -> None:
        if repeated not in ("raise", "drop") and not callable(repeated):
            raise AfaError(f'expected repeated="raise", "drop" or a callable but got repeated={repeated!r}')
        if gaps not in ("break", "join"):
            raise AfaError(f'expected gaps="break" or "join" but got gaps={gaps!r}')
        if on_gap is not None and not callable(on_gap):
            raise AfaError(f"expected a callable on_gap(key, first, last) but got on_gap={on_gap!r}")
        self.core, self.derived = core, derived
        self.repeated, self.gaps, self.on_gap = repeated, gaps, on_gap
        self.keys: dict[Hashable, Numbers] = {}
        self.deadlines = Deadlines()
        self.changes = self.gap_count = self.missing = self.repeats = 0
        self._told: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self._moved: dict[Hashable, dict[tuple[int, int], int]] = {}  # by key, barriers that come and go: (number, LE) -> copies
        self._touched: dict[Hashable, dict[int, None]] = {}
        self._promising = False  # whether this call has taken deadlines out
        core.calls.join(self)

    ends = True

    # -- calls -------------------------------------------------------------------------------------------------------------

    def run(self, items: Iterable[Item]) -> list[Any]:
        """Carry out what one call brings, as `Core.run` with ``net``."""
        return self.core.run(self._translated(items), net=True)

    def call_begins(self) -> Any:
        """What is counted. See `punctuation.calls.Member`."""
        return self.counters()

    def call_ends(self) -> None:
        """The end of a call: callbacks get what it has gathered, and what they raise rejects it."""
        told, self._told = self._told, []
        for function, arguments in told:
            function(*arguments)

    def call_failed(self, before: Any) -> None:
        """Be as before a call; all else is in the operator's journal."""
        self.changes, self.gap_count, self.missing, self.repeats = before
        self._told, self._moved, self._touched = [], {}, {}
        if self._promising or not self.deadlines.whole:
            self.deadlines = Deadlines()
            for key in self.keys:
                self.refresh(key)
        self._promising = False

    def call_worked(self) -> None:
        """A call has worked."""
        self._promising = False

    def counters(self) -> tuple[int, int, int, int]:
        """What is counted."""
        return self.changes, self.gap_count, self.missing, self.repeats

    def next_in_order(self, change: Any, key: Hashable) -> list[Any] | None:
        """Carry out, as a call, an event that follows the last number of its key; None: it is none, or goes another way."""
        numbers = self.keys.get(key)
        if numbers is None or type(change) is not Change or change.diff != 1 or type(change.le) is not int or numbers.waiting:
            return None
        payload, blocks = self.derived.event(change.payload), numbers.blocks
        number, last = payload[self.derived.place], blocks[-1]
        if number != last.last + 1 or change.le < last.ends or change.le < self.core.progress.events:
            return None
        core = self.core
        if not core.takes_alone(change):
            return None
        checked = core.typed(change._replace(payload=payload), key)
        le, re = checked.le, checked.re
        assert le is not None
        assert re is not None
        core.begin_alone(self)
        self.note_deadline(key)
        numbers.follow(number, Entry(le, re, payload))
        self.changes += 1
        self.refresh(key)
        out = core.push_alone(checked)
        core.end_alone(self, out)
        return out

    # -- changes -----------------------------------------------------------------------------------------------------------

    def _translated(self, items: Iterable[Item]) -> Iterator[Item]:
        """What the operator beneath gets; taken one by one, as promises are looked at that it has made so far."""
        for port, item, key in items:
            if port == "event" and isinstance(item, Change):
                yield from self._event(item, key)
            elif port == "event" and isinstance(item, Punctuation):
                yield from self._settled()
                yield from self.promise(as_ticks(item.t, "t"))
                yield port, item, key
            else:
                yield from self._settled()
                if port == "arc" and isinstance(item, Change):
                    self.derived.original.check_arc(item.payload)  # messages speak of the user's schemas
                    item = item._replace(payload=self.derived.arc(item.payload))
                yield port, item, key
        yield from self._settled()

    def _event(self, item: Change, key: Hashable) -> Iterator[Item]:
        change = self.core.typed(item._replace(payload=self.derived.event(item.payload)), key)
        le, re, left = change.le, change.re, change.diff
        assert le is not None
        assert re is not None
        if le < self.core.progress.events:
            yield "event", change, key
            return
        numbers, number, entry = self._of(key), change.payload[self.derived.place], Entry(le, re, change.payload)
        self.changes += abs(left)
        taken = 0
        if left > 0:
            taken = min(left, numbers.waiting.get(entry, 0))
            if taken:
                numbers.wait(entry, -taken)
            if taken < left and number not in numbers:
                self._add(key, numbers, number, entry)
                taken += 1
            if taken < left:
                self._repeat(change._replace(diff=left - taken), number, numbers)
                self.changes -= left - taken
        else:
            taken = left
            if numbers.entries.get(number) == entry:
                self._remove(key, numbers, number)
                left += 1
            if left:
                numbers.wait(entry, -left)
        self._touched.setdefault(key, {})[number] = None
        if taken:
            yield "event", change._replace(diff=taken), key

    def _of(self, key: Hashable) -> Numbers:
        """The numbers of a key, all of them in the hash table."""
        numbers = self.keys.get(key)
        if numbers is None:
            numbers = self.made(key)
        if key not in self._touched:
            self.note_deadline(key)
        if numbers.tails:
            numbers.settle(self.derived.event)
        return numbers

    def made(self, key: Hashable) -> Numbers:
        """The numbers of a key that had none."""
        numbers = Numbers(self.core.journal, lasting=key is None)
        self.core.journal.put(self.keys, key, numbers)
        return numbers

    def _add(self, key: Hashable, numbers: Numbers, number: int, entry: Entry) -> None:
        before, after = numbers.beside(number)
        if before is None and numbers.cover is not None:
            raise self._against(number, entry.le, numbers.cover.number, numbers.cover.le, key)
        self._move(key, numbers.gap(before, after), -1)
        numbers.add(number, entry)
        self._move(key, numbers.gap(before, number), 1)
        self._move(key, numbers.gap(number, after), 1)

    def _remove(self, key: Hashable, numbers: Numbers, number: int) -> None:
        before, after = numbers.beside(number)
        self._move(key, numbers.gap(before, number), -1)
        self._move(key, numbers.gap(number, after), -1)
        numbers.remove(number)
        self._move(key, numbers.gap(before, after), 1)

    def _repeat(self, change: Change, number: int, numbers: Numbers) -> None:
        if self.repeated == "raise":
            le, at = numbers.le(number), _of_key(change.key)
            name = self.derived.number
            raise ChangeError(
                f"expected each number once but got {name}={number} again at le={change.le}{at}: it is in force at le={le}; "
                f'retract that first, or make the operator with repeated="drop"'
            )
        self.repeats += change.diff
        if callable(self.repeated):
            self._told.append((self.repeated, (self.derived.users(change),)))

    def _against(self, number: int, le: int, other: int, other_le: int, key: Hashable) -> ChangeError:
        name, at = self.derived.number, _of_key(key)
        return ChangeError(
            f"expected times that follow the numbers but got {name}={number} at le={le} and {name}={other} at le={other_le}{at}"
        )

    # -- barriers ----------------------------------------------------------------------------------------------------------

    def re(self, le: int) -> int:
        """Where the lifetime of a barrier ends; no run goes past it, so that nothing is the shorter for it."""
        return FOREVER if self.core.window is None else min(le + self.core.window, FOREVER)

    def barrier(self, key: Hashable, number: int, le: int, diff: int) -> Change:
        """A change of a barrier."""
        return Change(self.derived.barrier(key, number), le, self.re(le), diff, key)

    def _move(self, key: Hashable, gap: Gap | None, diff: int, promised: int | None = None) -> None:
        """Note that the barrier of a gap comes, or goes."""
        if gap is not None:
            place = gap.barrier(self.core.progress.events if promised is None else promised)
            moved = self._moved.setdefault(key, {})
            moved[place] = moved.get(place, 0) + diff

    def _settled(self, promised: int | None = None) -> Iterator[Item]:
        """The barriers that have come and gone; what was touched is seen to first."""
        for key, touched in self._touched.items():
            numbers = self.keys[key]
            self._check_times(key, numbers, touched)
            numbers.move_to(
                None, self.core.progress.events if promised is None else promised
            )  # a retraction may leave what is over
            if numbers.empty:
                self.core.journal.drop(self.keys, key)
            self.refresh(key, promised)
        self._touched.clear()
        moved, self._moved = self._moved, {}
        for key, barriers in moved.items():
            for (number, le), diff in sorted(barriers.items(), key=lambda item: item[1]):
                if diff:
                    yield "event", self.barrier(key, number, le, diff), key

    def _check_times(self, key: Hashable, numbers: Numbers, touched: Iterable[int]) -> None:
        """Refuse numbers that stand against their times: once all of a call's changes are there, as revisions move both."""
        for number in touched:
            if number in numbers:
                le = numbers.le(number)
                before, after = numbers.beside(number)
                if before is not None and numbers.le(before) > le:
                    raise self._against(number, le, before, numbers.le(before), key)
                if after is not None and numbers.le(after) < le:
                    raise self._against(number, le, after, numbers.le(after), key)

    # -- promises ----------------------------------------------------------------------------------------------------------

    def promise(self, t: int, apart: Container[Hashable] = ()) -> Iterator[Item]:
        """Follow a promise: barriers go with it, gaps that can't close any more are told, what is final is forgotten.

        ``apart``: keys that another sees to.
        """
        promised = self.core.progress.events
        if t <= promised:
            return
        self._promising = True
        due = self.deadlines.due(t)
        for key in due:
            self.note_deadline(key)
        for key in due:
            if key in apart:
                continue
            numbers = self.keys[key]
            for gap in self.passed(numbers, t):
                self._move(key, gap, -1, promised)
                if self.stays(key, gap, t):
                    self._move(key, gap, 1, t)
            numbers.forget(t)
            self._touched[key] = {}
        yield from self._settled(t)

    def stays(self, key: Hashable, gap: Gap, promised: int) -> bool:
        """Whether a gap has a barrier under a promise; one that can't close any more is told."""
        if gap.before >= promised:
            return True
        self.report(key, gap)
        return self.gaps == "break"

    @staticmethod
    def passed(numbers: Numbers, t: int) -> list[Gap]:
        """The gaps that a promise comes to, from those that are open."""
        found = []
        for before, after in zip(numbers.blocks, numbers.blocks[1:]):
            if before.ends >= t:
                break
            found.append(Gap(before.last + 1, after.first - 1, before.ends, after.begins))
        return found

    def report(self, key: Hashable, gap: Gap) -> None:
        """Tell a gap whose numbers can't come any more."""
        self.gap_count += 1
        self.missing += gap.last - gap.first + 1
        if self.on_gap is not None:
            self._told.append((self.on_gap, (key, gap.first, gap.last)))

    def note_deadline(self, key: Hashable) -> None:
        """Note the deadline to come back; played last, when the key's numbers are as they were, but not yet the promise."""
        self.core.journal.note(self.refresh, key, self.core.progress.events)

    def refresh(self, key: Hashable, promised: int | None = None) -> None:
        """Note the smallest punctuation that concerns a key."""
        numbers = self.keys.get(key)
        at = self.core.progress.events if promised is None else promised
        self.deadlines.set(key, None if numbers is None else numbers.deadline(at))

    # -- for tests ---------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Assert the invariants of all keys."""
        assert not self._told
        assert not self._moved
        assert not self._touched
        for key, numbers in self.keys.items():
            numbers.check(self.core.progress.events)
            deadline = numbers.deadline(self.core.progress.events)
            assert deadline is None or deadline > self.core.progress.events, f"key {key!r} was not seen to"


def _of_key(key: Hashable) -> str:
    return "" if key is None else f" of key {key!r}"
