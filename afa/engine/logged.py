"""The output of an engine as columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.change import Announced, Change
from afa.schema import Schema, any_payload
from afa.state.key_columns import keys_at


class Cuts:
    """The ends of the changes' outputs in the engine's output log, and the promises between them.

    Parameters
    ----------
    final : int
        The promise before the call.

    Examples
    --------
    >>> cuts = Cuts(final=0)
    >>> cuts.each(np.array([2, 2, 3]))  # the first change gave two entries, the second none, the third one
    >>> cuts.after(3, final=7)          # then a punctuation
    >>> cuts.each(np.array([5]))
    >>> cuts.change_of(5).tolist()
    [0, 0, 2, 4, 4]
    >>> cuts.keep(np.array([0, 2, 4, 3]))  # entry 1 cancelled another one
    >>> cuts.promises
    [(2, 7)]
    """

    def __init__(self, final: int) -> None:
        self._final = final
        self._ends: list[Any] = []
        self._told: list[tuple[int, int]] = []
        self.promises: list[tuple[int, int]] = []

    def each(self, ends: Any) -> None:
        """Take note of where the log ended after each of several changes."""
        self._ends.append(ends)

    def after(self, end: int, final: int) -> None:
        """Take note of where the log ends after one item, and of the promise then."""
        self._ends.append(np.array([end]))
        if final > self._final:
            self._final = final
            self._told.append((end, final))

    def change_of(self, n: int) -> Any:
        """Return, for each of the log's ``n`` entries, the number of its change."""
        ends = np.concatenate(self._ends) if self._ends else np.empty(0, np.int64)
        return np.searchsorted(ends, np.arange(n), "right")

    def keep(self, entries: Any) -> None:
        """Set ``promises``: the punctuations, each with the number of kept entries before it."""
        places = np.sort(entries)
        self.promises = [(int(np.searchsorted(places, end)), t) for end, t in self._told]


class Logged(NamedTuple):
    """The output of an engine as columns, in its order."""

    fields: list[Any]  # columns of what matches show
    le: Any
    re: Any
    diff: Any
    keys: Sequence[Hashable]  # of each row; columns (`afa.state.key_columns`) where there are many, empty without keys
    members: list[Any] | None = None  # of each row what is told of the events behind the match; None: nothing is

    @classmethod
    def of(cls, changes: Sequence[Change], shown: Schema) -> Logged:
        """Make it of changes, which are in order, and show these fields."""
        le, re, diff = (np.array([change[i] for change in changes], np.int64) for i in (1, 2, 3))
        fields = list(map(list, zip(*(change.payload for change in changes)))) or [[] for _ in shown.fields]
        members = [change.members for change in changes] if any(isinstance(change, Announced) for change in changes) else None
        return cls(fields, le, re, diff, [change.key for change in changes], members)

    def part(self, low: int, high: int) -> Logged:
        """Return some of the rows."""
        here = slice(low, high)
        members = None if self.members is None else self.members[here]
        return Logged(
            [field[here] for field in self.fields], self.le[here], self.re[here], self.diff[here], self.keys[here], members
        )

    def at(self, places: Any) -> Logged:
        """Return the rows at some places."""
        fields = [field[places] if isinstance(field, np.ndarray) else [field[i] for i in places] for field in self.fields]
        keys = keys_at(self.keys, places) if len(self.keys) else self.keys
        members = None if self.members is None else [self.members[i] for i in places]
        return Logged(fields, self.le[places], self.re[places], self.diff[places], keys, members)

    def changes(self, shown: Schema) -> list[Change]:
        """Return the rows as changes of payloads, in their form, that show these fields."""
        columns = [_payloads(column, field.type) for column, field in zip(self.fields, shown.fields)]
        records = zip(*columns) if columns else [()] * len(self.le)
        keys = self.keys if len(self.keys) else [None] * len(self.le)
        times = (column.tolist() for column in (self.le, self.re, self.diff))
        found = [Change(shown.cls._make(record), *rest) for record, *rest in zip(records, *times, keys)]  # type: ignore[attr-defined]
        return found if self.members is None else [Announced.of(*each) for each in zip(found, self.members)]


def _payloads(column: Any, kind: Any) -> Any:
    """Return the items of a column, every NaN as the one NaN."""
    items = column.tolist() if isinstance(column, np.ndarray) else column
    return items if kind in (int, str, bool) else list(map(any_payload, items))
