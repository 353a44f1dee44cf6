"""The lists of ``longest=True``: of the partial matches of one state and register only the one that lasts longest.

    step       1           2                  3
    event      a           a                  b
    plain      (1, 61)     (1, 61), (2, 62)   matches [3, 61) and [3, 62)
    longest    (1, 61)              (2, 62)   match            [3, 62)      (start, m) of one state, one register

Fences and transfers see no ``m``, and min and max commute: what another one of the same state and register outlives leads to
nothing that this one does not lead to for longer. So a list is a function of the list before it still. It is derived whole, without
counts and without ignorable runs, from the changed step on until a list is what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from afa.change import Change
from afa.interpreted.algorithm import Algorithm
from afa.interpreted.state import Entry, State, by_start
from afa.model.pmatch import PMatch, Rest


class Longest(Algorithm):
    """Insertion and deletion of events in the state of one key, with one partial match of each state and register."""

    __slots__ = ()

    def kept(self, found: Iterable[PMatch]) -> dict[PMatch, int]:
        """Return of each state and register the one with the largest ``m``, of these the one that began last; by start."""
        best: dict[tuple[str, Any], PMatch] = {}
        for p in found:
            known = best.setdefault((p.state, p.register), p)
            if (p.re, p.start) > (known.re, known.start):
                best[p.state, p.register] = p
        return dict.fromkeys(sorted(best.values(), key=by_start), 1)

    def _make_transitions(self, source: Mapping[PMatch, Any], rest: Rest, y: Entry) -> tuple[dict[PMatch, int], dict[PMatch, int]]:
        """Return the list of ``y``; nothing is covered."""
        nodes: dict[PMatch, int] = {}
        stays: dict[PMatch, int] = {}
        self._derive_all(source, rest, y, 1, nodes, stays)
        return self.kept([*nodes, *stays, *self.transitions.begin(y.key, y.le, y.events)]), {}

    def _propagate(self, s: State, y: Entry, gone: list[PMatch], gone_rest: Rest, new: list[PMatch], new_rest: Rest) -> None:
        """Derive the lists behind ``y`` anew, until one is what it was."""
        if gone or new:
            self._derive_on(s, s.steps(y.key, inclusive=False))

    def derive_from_cover(self, s: State, z: Entry) -> None:
        """Derive the lists from the one behind cover on: by what time-outs have made, others may count as begun last."""
        self._derive_on(s, s.steps(z.key))

    def _derive_on(self, s: State, steps: Iterable[Entry]) -> None:
        for z in steps:
            old = z.nodes
            self.derive_again(s, z)
            gone, new = [p for p in old if p not in z.nodes], [p for p in z.nodes if p not in old]
            for p in gone:
                self.emit(s, z, p, -1)
            for p in new:
                self.emit(s, z, p, 1)
            if not (gone or new):
                break


def longest_changes(s: State, shown: Callable[[Any], Any]) -> Iterator[Change]:
    """Yield what a call has changed of the longest matches, one of each payload and LE. O(matches at the LEs that it touched).

    ``shown`` returns what a match with a register shows: of registers that show the same only one match is in force.
    """
    touched: dict[int, dict[tuple[Any, int], int]] = {}
    for (le, re, register), old in s.delta.items():
        touched.setdefault(le, {})[register, re] = old
    for le, before in touched.items():
        now = s.matches.get(le, {})
        was, found = _ends({**now, **before}, shown), _ends(now, shown)
        for payload in {**was, **found}:
            old_end, end = was.get(payload), found.get(payload)
            if old_end != end:
                if old_end is not None:
                    yield Change(payload, le, old_end, -1, s.key)
                if end is not None:
                    yield Change(payload, le, end, 1, s.key)


def _ends(counts: Mapping[tuple[Any, int], int], shown: Callable[[Any], Any]) -> dict[Any, int]:
    """Return of each payload the largest RE."""
    found: dict[Any, int] = {}
    for (register, re), count in counts.items():
        if count > 0:
            payload = shown(register)
            found[payload] = max(re, found.get(payload, re))
    return found
