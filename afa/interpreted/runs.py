"""Ignorable runs as intervals: the itree of [AFA10] App. D.

A partial match that takes an ignorable arc stays as it is. It is stored once, at its anchor; an interval says at which later steps
it stands too. Steps are named by their keys, and an interval ``[begin, end)`` covers the steps whose keys lie in it:

    anchor at step 10, ignorable events at 11, 12, 14        keys    10    11    12    14    15
                                                             stored   p
    interval [after(10), after(14))                          covered        p     p     p

An interval that reaches to ``END`` covers all steps that there are so far, so that a run that grows in order needs no update
(App. D, "Avoiding frequent itree updates"). The code that appends a step ends the runs that do not go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from intervaltree import Interval, IntervalTree

from afa.journal import Journal
from afa.model.pmatch import PMatch
from punctuation.time import FOREVER


class IgnorableRun(Interval):  # type: ignore[misc]  # intervaltree has no types
    """An interval that hashes with its partial match: many runs share both ends, and must not collide in the tree's sets."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash((self.begin, self.end, self.data))


class Runs:
    """The ignorable runs of one key: for each partial match, the steps at which it stands by ignorable arcs alone.

    ``ordered``: whether keys are ``(le, sequence)`` pairs rather than ticks.

    >>> runs = Runs(Journal(), ordered=False)
    >>> p = PMatch(10, 17, "rise", ())
    >>> runs.cover(p, runs.after(10), runs.end)
    >>> runs.uncover(p, runs.after(14), runs.end)
    >>> [key for key in (10, 11, 14, 15) if runs.covers(p, key)]
    [11, 14]
    >>> runs.at(12)
    [PMatch(start=10, re=17, state='rise', register=())]
    """

    __slots__ = ("_journal", "_ordered", "_spans", "_tree", "end")

    def __init__(self, journal: Journal, ordered: bool) -> None:
        self._journal = journal
        self._ordered = ordered
        self._tree: Any = None  # an IntervalTree, made with the first run: most keys of most patterns have none
        self._spans: dict[PMatch, list[Interval]] = {}
        self.end: Any = (FOREVER + 1,) if ordered else FOREVER + 1

    def __len__(self) -> int:
        return len(self._tree) if self._tree else 0

    def __iter__(self) -> Iterator[Any]:
        yield from self._tree or ()

    def after(self, key: Any) -> Any:
        """Return the place just behind a step: before every step that can come after it."""
        return (*key, 0) if self._ordered else key + 1

    def at(self, key: Any) -> list[PMatch]:
        """Return the partial matches that stand at a step by ignorable arcs. O(log n + found)."""
        return [interval.data for interval in self._tree.at(key)] if self._spans else []

    def covers(self, p: PMatch, key: Any) -> bool:
        """Return whether ``p`` stands at a step by ignorable arcs. O(runs of p)."""
        return any(span.begin <= key < span.end for span in self._spans.get(p, ()))

    def cover(self, p: PMatch, begin: Any, end: Any) -> None:
        """Make ``p`` stand at all steps in ``[begin, end)``. Joins the runs that the interval touches."""
        for span in [s for s in self._spans.get(p, ()) if s.begin <= end and begin <= s.end]:
            begin, end = min(begin, span.begin), max(end, span.end)
            self._remove(span)
        self._add(IgnorableRun(begin, end, p))

    def uncover(self, p: PMatch, begin: Any, end: Any) -> None:
        """Make ``p`` stand at no step in ``[begin, end)`` by ignorable arcs. Cuts its runs."""
        for span in [s for s in self._spans.get(p, ()) if s.begin < end and begin < s.end]:
            self._remove(span)
            if span.begin < begin:
                self._add(IgnorableRun(span.begin, begin, p))
            if end < span.end:
                self._add(IgnorableRun(end, span.end, p))

    def trim(self, before: Any, t: int) -> None:
        """Forget all that lies before a place, and all partial matches that end by ``t`` ([AFA10] App. D, cleanup)."""
        for span in [s for s in self if s.end <= before or s.data.re <= t]:
            self._remove(span)

    def _add(self, span: Interval) -> None:
        self._journal.note(self._take_out, span)
        self._journal.write(self, self._insert, span)

    def _remove(self, span: Interval) -> None:
        self._journal.note(self._put_back, span)
        self._journal.write(self, self._delete, span)

    def _take_out(self, span: Interval) -> None:
        if span in self._spans.get(span.data, ()):
            self._journal.write(self, self._delete, span)

    def _put_back(self, span: Interval) -> None:
        if span not in self._spans.get(span.data, ()):
            self._journal.write(self, self._insert, span)

    def _insert(self, span: Interval) -> None:
        if self._tree is None:
            self._tree = IntervalTree()
        _in_tree(self._tree.add, span)
        self._spans.setdefault(span.data, []).append(span)

    def _delete(self, span: Interval) -> None:
        _in_tree(self._tree.remove, span)
        spans = self._spans[span.data]
        spans.remove(span)
        if not spans:
            del self._spans[span.data]

    def mend(self) -> None:
        """Make the tree anew from the spans; see `afa.journal.Mends`."""
        self._spans = {p: spans for p, spans in self._spans.items() if spans}
        self._tree = IntervalTree(span for spans in self._spans.values() for span in spans)


def _in_tree(change: Callable[[Interval], None], span: Interval) -> None:
    """Add to the tree, or remove. Both remove, and then raise a KeyError in place of the exception that interrupted them."""
    try:
        change(span)
    except KeyError as error:
        raise error.__context__ or error from None
