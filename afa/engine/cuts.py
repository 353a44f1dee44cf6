"""Cut the output log after each change of a call with ``net=False``, whose output is that of the changes one by one."""

from __future__ import annotations

from typing import Any

import numpy as np


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
