"""A temporal pattern in two phases: situations are derived and waited for until they end, then joined by their relations.

Situations of one definition are disjoint, so that an index into them sorted by beginnings is one into them sorted by ends. A
relation to a known situation then is a range of that index: each comparison of endpoints is one binary search. Joins go by columns,
one definition after another. In order only, without keys; nothing is revised or saved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from afa.situations import TemporalPattern

Column = np.ndarray[Any, Any]
COMPARISONS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "before": (("ts", ">", "te"),),
    "meets": (("ts", "=", "te"),),
    "overlaps": (("ts", ">", "ts"), ("ts", "<", "te"), ("te", ">", "te")),
    "starts": (("ts", "=", "ts"), ("te", ">", "te")),
    "during": (("ts", "<", "ts"), ("te", ">", "te")),
    "finishes": (("ts", "<", "ts"), ("te", "=", "te")),
    "equals": (("ts", "=", "ts"), ("te", "=", "te")),
    "after": (("te", "<", "ts"),),
    "met_by": (("te", "=", "ts"),),
    "overlapped_by": (("ts", "<", "ts"), ("te", ">", "ts"), ("te", "<", "te")),
    "started_by": (("ts", "=", "ts"), ("te", "<", "te")),
    "contains": (("ts", ">", "ts"), ("te", "<", "te")),
    "finished_by": (("ts", ">", "ts"), ("te", "=", "te")),
}
"""What ``a RELATION b`` asks of b: an endpoint of b, how it compares, with which endpoint of a."""


class Joined:
    """Choices of situations, one of each definition so far, by columns: an index into the situations of each, by its name."""

    def __init__(self, held: Mapping[str, tuple[Column, Column]]) -> None:
        self.held = held
        self.chosen: dict[str, Column] = {}

    def times(self, name: str) -> tuple[Column, Column]:
        """Return where the chosen situations of a definition begin, and where they end."""
        ts, te = self.held[name]
        return ts[self.chosen[name]], te[self.chosen[name]]

    def bounds(self) -> tuple[Column, Column]:
        """Return the first beginning and the last end of each choice."""
        times = [self.times(name) for name in self.chosen]
        return np.min([ts for ts, _ in times], axis=0), np.max([te for _, te in times], axis=0)

    def range_of(self, name: str, relation: str, known: str, within: int) -> tuple[Column, Column]:
        """Return which situations of a definition have a relation to the known ones: from, up to. O(n log n)."""
        ends, of = dict(zip(("ts", "te"), self.held[name])), dict(zip(("ts", "te"), self.times(known)))
        first, last = self.bounds()
        low = np.searchsorted(ends["ts"], last - within, "right")
        high = np.searchsorted(ends["te"], first + within, "left")
        for mine, sign, other in COMPARISONS[relation]:
            if sign in ">=":
                low = np.maximum(low, np.searchsorted(ends[mine], of[other], "left" if sign == "=" else "right"))
            if sign in "<=":
                high = np.minimum(high, np.searchsorted(ends[mine], of[other], "right" if sign == "=" else "left"))
        return low, np.maximum(low, high)

    def join(self, name: str, relations: Sequence[str], known: str, within: int) -> None:
        """Add a situation of another definition to each choice, in all ways that one of the relations allows."""
        old, new = [], []
        for relation in relations:
            low, high = self.range_of(name, relation, known, within)
            counts = high - low
            at = np.repeat(np.arange(len(counts)), counts)
            old.append(at)
            new.append(np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts) + low[at])
        self.keep(np.concatenate(old))
        self.chosen[name] = np.concatenate(new)

    def check(self, first: str, relations: Sequence[str], second: str) -> None:
        """Keep the choices whose two situations have one of the relations."""
        a, b = dict(zip(("ts", "te"), self.times(first))), dict(zip(("ts", "te"), self.times(second)))
        compare = {">": np.greater, "<": np.less, "=": np.equal}
        holds = [
            np.logical_and.reduce([compare[sign](b[mine], a[other]) for mine, sign, other in COMPARISONS[relation]])
            for relation in relations
        ]
        self.keep(np.flatnonzero(np.logical_or.reduce(holds)))

    def keep(self, rows: Column) -> None:
        """Keep these choices."""
        self.chosen = {name: of[rows] for name, of in self.chosen.items()}


class TwoPhase:
    """A matcher that waits for the ends of all situations; batches of readings in order go in, matches come out.

    A match is told in the batch in which the last of its ends is seen; it lasts less than ``within`` from its first beginning to
    its last end. The pattern is connected, without durations and aggregates; each condition is a column of booleans.
    """

    def __init__(self, pattern: TemporalPattern) -> None:
        self.names = [each.name for each in pattern.definitions]
        self.within = int(pattern.window)  # type: ignore[arg-type]  # ticks
        self.held = {name: (np.empty(0, np.int64), np.empty(0, np.int64)) for name in self.names}
        self.going = dict[str, Column]((name, np.empty(0, np.int64)) for name in self.names)  # where one began that goes on
        self.seen = -1
        pairs = [(each.first, each.relations, each.second) for each in pattern.constraints]
        pairs += [(each.first, each.relations, each.second) for each in (each.turned() for each in pattern.constraints)]
        self.joins = list[tuple[str, tuple[str, ...], str]]()  # a known definition, its relations, the next one
        self.checks = list[tuple[str, tuple[str, ...], str]]()
        known = [self.names[0]]
        while len(known) < len(self.names):
            found = next(pair for pair in pairs if pair[0] in known and pair[2] not in known)
            self.joins.append(found)
            known.append(found[2])
        used = {frozenset((a, b)) for a, _, b in self.joins}
        self.checks = [pair for pair in pairs[: len(pairs) // 2] if frozenset((pair[0], pair[2])) not in used]

    def push(self, table: Mapping[str, Column]) -> dict[str, Column]:
        """Take a batch. Returns where the situations of new matches begin, by definition."""
        le = table["le"]
        for name in self.names:
            self._derive(name, table[name], le)
        joined = Joined(self.held)
        first = self.names[0]
        joined.chosen[first] = np.arange(len(self.held[first][0]))
        for known, relations, name in self.joins:
            joined.join(name, relations, known, self.within)
            for a, asked, b in self.checks:
                if name in (a, b) and a in joined.chosen and b in joined.chosen:
                    joined.check(a, asked, b)
        joined.keep(np.flatnonzero(joined.bounds()[1] > self.seen))
        self.seen = int(le[-1])
        return {name: joined.times(name)[0] for name in self.names}

    def _derive(self, name: str, holds: Column, le: Column) -> None:
        """Append the situations that end in a batch; forget those that lie further back than the window."""
        going, (ts, te) = self.going[name], self.held[name]
        turns = le[np.flatnonzero(np.diff(holds, prepend=len(going) > 0))]
        turns = np.concatenate([going, turns])
        ended = len(turns) // 2 * 2
        self.going[name] = turns[ended:]
        since = int(np.searchsorted(te, self.seen - self.within))
        self.held[name] = np.concatenate([ts[since:], turns[0:ended:2]]), np.concatenate([te[since:], turns[1:ended:2]])


__all__ = ["Joined", "TwoPhase"]
