"""The base of all stages: changes that come and wait, all-or-nothing calls, numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from afa.change import Change
from afa.errors import ChangeError
from afa.journal import Journal
from afa.model.arc import Arc
from afa.model.copies import as_diff
from afa.schema import any_payload, as_ticks
from punctuation.calls import Calls, Member
from punctuation.promise import Punctuation
from punctuation.time import FOREVER, end_of_time
from speculation.waiting import Waiting

Output = list["Change | Punctuation"]
STAGES: dict[str, Any] = {}
"""The stages by their names in a snapshot; each registers itself, as it is defined above the code that restores it."""


class Stage(Member):
    """A stage over a stream of changes and punctuations."""

    def __init_subclass__(cls) -> None:
        STAGES[cls.__name__] = cls

    _numbers: tuple[str, ...] = ()
    """The attributes that are no part of what waits."""

    def __init__(self) -> None:
        self._journal = Journal()
        self._waiting = Waiting(self._journal)
        self._before: Callable[[Any], tuple[Any, ...]] = attrgetter("_waiting.arrivals", "_waiting.copies", *self._numbers)
        self._calls = Calls(self)

    def join(self, calls: Calls) -> None:
        """Make this stage part of an operator's calls."""
        calls.join(self)
        self._calls = calls

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

    def push_many(self, items: Iterable[Change | Punctuation]) -> Output:
        """Take several items as one call, all or nothing. Returns what leaves."""
        return self._calls.call(self._push_many, items)

    def _push_many(self, items: Iterable[Change | Punctuation]) -> Output:
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

    # -- calls: see `punctuation.calls.Member` ---------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        """Return all state of the stage but the changes that wait, which the journal restores."""
        return self._before(self)

    def call_failed(self, before: Any) -> None:
        """Restore the state from before a call."""
        self._journal.rollback()
        self._waiting.arrivals, self._waiting.copies, *numbers = before
        for name, value in zip(self._numbers, numbers):
            setattr(self, name, value)

    def call_worked(self) -> None:
        """Commit the call in the journal."""
        self._journal.commit()


def checked(change: Any) -> Change:
    """Return a change of an event or of a match in its normal form.

    Raises
    ------
    ChangeError
    """
    if not isinstance(change, Change) or isinstance(change.payload, Arc):
        raise ChangeError(f"expected a change of an event or match, or a Punctuation, but got {change!r}")
    payload = any_payload(change.payload)
    if change.le is None:
        raise ChangeError(f"expected an event with a time but got le=None for {payload!r}")
    if change.le == FOREVER:
        raise ChangeError(f"{end_of_time(FOREVER)} for {payload!r}")
    le, re = as_ticks(change.le, "le"), None if change.re is None else as_ticks(change.re, "re")
    if re is not None and re <= le:
        raise ChangeError(f"expected re > le but got le={le}, re={re} for {payload!r}")
    return Change(payload, le, re, as_diff(change.diff, payload), None if change.key is None else any_payload(change.key))
