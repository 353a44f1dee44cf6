"""What the stages share: changes that come and wait, all-or-nothing calls, numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from afa.arc import Arc
from afa.change import Change
from afa.copies import as_diff
from afa.errors import ChangeError
from afa.journal import Journal
from afa.schema import any_payload
from punctuation.promise import Punctuation
from punctuation.time import as_time
from speculation.waiting import Waiting

Output = list["Change | Punctuation"]


class Stage:
    """A stage over a stream of changes and punctuations."""

    _numbers: tuple[str, ...] = ()
    """The attributes that are no part of what waits."""

    def __init__(self) -> None:
        self._journal = Journal()
        self._waiting = Waiting(self._journal)

    def push(self, item: Change | Punctuation) -> Output:
        """Take one change or punctuation; what leaves.

        Raises
        ------
        ChangeError
            It is neither, or has no time; the stage is as it was.
        """
        return self.push_many([item])

    def push_many(self, items: Iterable[Change | Punctuation]) -> Output:
        """Take several, as one call: all of it or nothing; what leaves."""
        return self.push_fitting(item if isinstance(item, Punctuation) else checked(item) for item in items)

    def push_fitting(self, items: Iterable[Change | Punctuation]) -> Output:
        """`push_many` of what an operator gave."""
        out: Output = []
        with self.transaction():
            for item in items:
                self.take(item, out)
            self.end(out)
        return out

    def take(self, item: Change | Punctuation, out: Output) -> None:
        """Take an item that fits, within a transaction, and append to ``out`` what leaves."""
        raise NotImplementedError

    def end(self, out: Output) -> None:
        """The end of a call, within its transaction."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        before, waiting = [getattr(self, name) for name in self._numbers], self._waiting
        arrivals, copies = waiting.arrivals, waiting.copies
        try:
            yield
        except BaseException:
            self._journal.rollback()
            waiting.arrivals, waiting.copies = arrivals, copies
            for name, value in zip(self._numbers, before):
                setattr(self, name, value)
            raise
        self._journal.commit()


def checked(change: Any) -> Change:
    """A change of an event or of a match in its form.

    Raises
    ------
    ChangeError
    """
    if not isinstance(change, Change) or isinstance(change.payload, Arc):
        raise ChangeError(f"expected a change of an event or match, or a Punctuation, but got {change!r}")
    payload = any_payload(change.payload)
    if change.le is None:
        raise ChangeError(f"expected an event with a time but got le=None for {payload!r}")
    le, re = as_time(change.le, "le"), None if change.re is None else as_time(change.re, "re")
    if re is not None and re <= le:
        raise ChangeError(f"expected re > le but got le={le}, re={re} for {payload!r}")
    return Change(payload, le, re, as_diff(change.diff, payload), None if change.key is None else any_payload(change.key))
