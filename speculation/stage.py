"""The base of all stages: changes that come and wait, all-or-nothing calls, numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, TypeVar

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.journal import Journal
from afa.model.arc import Arc
from afa.model.copies import as_diff
from afa.operator.plain_data import reading
from afa.schema import any_payload, as_ticks
from afa.state.sound import short, wanted
from punctuation.calls import Calls, Member, whole
from punctuation.durations import has_unit, nanoseconds_of, ticks_of_duration, unit_of
from punctuation.promise import Punctuation
from punctuation.time import FOREVER, end_of_time
from speculation import stage_state as saved
from speculation.waiting import Changes, Waiting

S = TypeVar("S", bound="Stage")
Output = list["Change | Punctuation"]
STAGES: dict[str, Any] = {}
"""The stages by their names in a snapshot; each registers itself, as it is defined above the code that restores it."""


class Stage(Member):
    """A stage over a stream of changes and punctuations."""

    def __init_subclass__(cls) -> None:
        STAGES[cls.__name__] = cls

    needs_all = False
    """Whether a stage behind an operator must see all matches, and not the longest ones only."""
    looks_back = False
    """Whether what it makes of an event, or behind an operator of a match, depends on others of its key."""
    foremost = False
    """Whether no other stage stands in front of it."""
    draws = False
    """Whether the end of a step draws what leaves: then each item of a call is a step of its own where the call is not ``net``."""
    no_reasons: str | None = None
    """The error of a `Reasons` around it, where no change of the input is the reason of a match."""
    by_keys = False
    """Whether it says what it holds of some keys, and takes it back: ``keys``, `numbers`, ``part`` and ``load``."""
    faults: Any = None
    """Who is told of what it leaves out; None: nobody, it is refused."""
    _numbers: tuple[str, ...] = ()
    """The attributes that are no part of what waits."""

    def __init__(self, tick: str | None = None) -> None:
        self.tick = None if tick is None else unit_of(tick, AfaError, "tick=")
        """What one int of LE counts: as said, or the operator's."""
        self._durations: dict[str, Any] = {}  # what waits for a tick, by the name of its attribute
        self._journal = Journal()
        self._waiting = Waiting(self._journal)
        self._before: Callable[[Any], tuple[Any, ...]] = self._all_numbers()
        self._calls = Calls(self)

    def _all_numbers(self) -> Callable[[Any], tuple[Any, ...]]:
        return attrgetter("_waiting.copies", "_waiting.tables", *self._numbers)

    def ticks(self, name: str, value: Any, otherwise: Any) -> Any:
        """Return a duration in ticks; one with units waits for the operator's tick, and until then stands ``otherwise``."""
        if self.tick is None and has_unit(value):
            nanoseconds_of(value, name)  # refuses what is none
            self.wait(name, value)
            return otherwise
        return ticks_of_duration(value, self.tick, name) if has_unit(value) else value

    def wait(self, name: str, value: Any) -> None:
        """Let a parameter wait for a tick; until there is one, calls are refused."""
        self._durations[name] = value
        self._before = _without_tick

    def _window(self, window: Any) -> int | None:
        """Return a window in ticks."""
        window = self.ticks("window", window, 1)
        if window is not None and (isinstance(window, bool) or not isinstance(window, int) or window <= 0):
            raise AfaError(f"expected a number of ticks above 0 but got window={window!r}")
        if window is not None and window > FOREVER:
            raise AfaError(f"expected an int64 (ticks) but got window={window!r}")
        return window

    def stand(self, tick: str | None) -> None:
        """Take over the tick of the operator at which the stage stands.

        Raises `AfaError` where a duration waits for a tick, and there is none; or where the stage has another one.
        """
        if self.tick is not None and tick is not None and self.tick != tick:
            raise AfaError(f"expected a {type(self).__name__} with the operator's tick={tick!r} but got tick={self.tick!r}")
        if self._durations and tick is None:
            _without_tick(self)
        self.tick, durations, self._durations = tick or self.tick, self._durations, {}
        if durations:
            self._before = self._all_numbers()
            for name, value in durations.items():
                self.settle_duration(name, value)

    def settle_duration(self, name: str, value: Any) -> None:
        """Take what has waited for a tick, of which there is one now."""
        setattr(self, name, self._window(value) if name == "window" else ticks_of_duration(value, self.tick, name))

    def join(self, calls: Calls, changes_of: Changes | None) -> None:
        """Make this stage part of an operator's calls; ``changes_of`` makes changes of rows of its events."""
        calls.join(self)
        self._calls = calls
        if changes_of is not None:
            self._waiting.changes_of = changes_of

    # At the input of an operator; see `speculation.before_after.Before`, for which ``passes`` and ``punctuate`` are, too.

    takes_singles = False
    """Whether a single event may be a call of its own, of which nothing leaves at its end."""
    listens = False
    """Whether the stage wants to know what the operator behind it says: `answered`."""

    def begin(self, promised: int) -> None:
        """Begin at an operator's watermark."""

    def answered(self, out: Iterable[Any]) -> None:
        """Take note of what the operator behind this stage has returned."""

    def takes_rows(self, table: Any) -> bool:
        """Return whether rows of a table can be taken as rows."""
        return False

    def left(self) -> Iterable[Change]:
        """Return the changes that leave at the end of a call."""
        return ()

    def clean(self) -> None:
        """Forget all that is final, where not each promise does."""

    def __copy__(self) -> Any:
        return copy.deepcopy(self)

    def push(self, item: Change | Punctuation) -> Output:
        """Take one change or punctuation. Returns what leaves.

        Raises
        ------
        ChangeError
            The item is neither, or has no time. The stage is unchanged.
        """
        return self.push_many([item])

    @whole
    def push_many(self, items: Iterable[Change | Punctuation]) -> Output:
        """Take several items as one call, all or nothing. Returns what leaves."""
        return self.push_fitting(item if isinstance(item, Punctuation) else checked(item) for item in items)

    def push_fitting(self, items: Iterable[Change | Punctuation]) -> Output:
        """Do what `push_many` does with an operator's output, within a call."""
        out: Output = []
        for item in items:
            self.take(item, out)
        self.end(out)
        return out

    def take(self, item: Change | Punctuation, out: Output) -> None:
        """Take a checked item, within a call, and append what leaves to ``out``."""
        raise NotImplementedError

    def end(self, out: Output) -> None:
        """End a call: append to ``out`` what leaves with it."""

    # -- snapshots ---------------------------------------------------------------------------------------------------------

    @whole
    def snapshot(self) -> bytes:
        """Return the stage as bytes: plain data.

        Raises
        ------
        SnapshotError
            A payload or key is no plain data.
        """
        return saved.seal(type(self).__name__, None, self.numbers(), self.waiting())

    @classmethod
    def restore(cls: type[S], blob: bytes, *, payload: type | None = None) -> S:
        """Make the stage that `snapshot` saved.

        Parameters
        ----------
        blob : bytes
        payload : NamedTuple class, optional
            The class of the payloads, if they are NamedTuples.

        Raises
        ------
        SnapshotError
            The bytes are no snapshot of such a stage, or damaged, or the payloads are of another class.
        """
        found = saved.unseal(blob, cls.__name__)
        return cls.of(found.numbers, found.waiting, saved.take_as(payload))

    def numbers(self) -> list[Any]:
        """Return all but what waits, as plain data."""
        raise NotImplementedError

    def waiting(self) -> list[Change]:
        """Return what waits, as changes: in order of arrival; rows of tables by LE."""
        return self._waiting.all

    @classmethod
    def of(cls: type[S], numbers: list[Any], waiting: Any, take: saved.Take, rows: Any = None) -> S:
        """Make the stage of a snapshot."""
        with reading(f"the numbers of a {cls.__name__}", short(numbers)):
            stage = cls._made(numbers)
            for change in saved.changes(waiting, take):
                stage._wait(checked(change))
            if rows is not None:
                wanted("changes or rows that wait", stage._waiting.takes_rows(rows), "both, or too many")
                stage._waiting.add_rows(rows)
            stage._check_waiting()
        stage._journal.commit()
        return stage

    @classmethod
    def _made(cls: type[S], numbers: list[Any]) -> S:
        """Make the stage of `numbers`, in which nothing waits. May raise anything."""
        raise NotImplementedError

    def _wait(self, change: Change) -> None:
        """Let a change of a snapshot wait."""
        self._waiting.add(change)

    def _check_waiting(self) -> None:
        """Refuse what can't wait in this stage, with a `SnapshotError`."""

    # -- calls: see `punctuation.calls.Member` ---------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        """Return all state of the stage but the changes that wait, which the journal restores."""
        return self._before(self)

    def call_failed(self, before: Any) -> None:
        self._journal.rollback()
        self._waiting.copies, self._waiting.tables, *numbers = before
        for name, value in zip(self._numbers, numbers):
            setattr(self, name, value)

    def call_worked(self) -> None:
        self._journal.commit()


def _without_tick(stage: Stage) -> Any:
    """Refuse a call of a stage whose durations have no tick yet."""
    name, value = next(iter(stage._durations.items()))
    raise AfaError(
        f"expected tick=, what one int of LE counts, beside {name}={value!r} but got none; give the {type(stage).__name__} "
        f'tick="ms", say, or stand it at an operator that has a tick'
    )


def checked(change: Any) -> Change:
    """Return a change of an event or of a match in its normal form."""
    if not isinstance(change, Change) or isinstance(change.payload, Arc):
        raise ChangeError(f"expected a change of an event or match, or a Punctuation, but got {change!r}")
    payload = any_payload(change.payload)
    if change.rule is not None:
        raise ChangeError(
            f"expected changes of one pattern, or tables of a set of rules with their column 'rule', but got a change of the rule "
            f"{change.rule!r}: {change!r}"
        )
    if change.le is None:
        raise ChangeError(f"expected an event with a time but got le=None for {payload!r}")
    if change.le == FOREVER:
        raise ChangeError(f"{end_of_time(FOREVER)} for {payload!r}")
    le, re = as_ticks(change.le, "le"), None if change.re is None else as_ticks(change.re, "re")
    if re is not None and re <= le:
        raise ChangeError(f"expected re > le but got le={le}, re={re} for {payload!r}")
    return Change(payload, le, re, as_diff(change.diff, payload), None if change.key is None else any_payload(change.key))
