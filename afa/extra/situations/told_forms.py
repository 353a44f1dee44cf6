"""What is told of situations: an event for each instant at which something happens (of a pattern), or a record for each situation.

instants    t: speeding begins, braking ends      one for each key and time, LE = t
records     speeding [20, 31)                      LE = ts; te is None, while it goes on
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.extra.situations.key_standing import Kind
from afa.extra.situations.reading_layout import LineWords
from punctuation.time import FOREVER

BEGINS, ENDS, LASTS, FAILS = range(LineWords.told + 1, LineWords.told + 5)
"""What an instant is to a definition: in which word of its line. LASTS: it has lasted `at_least`, and goes on; FAILS: it ends, too
early or too late."""
FEW = 64
"""Up to so many lines are put together one by one: columns take longer."""


class Telling(NamedTuple):
    """How a line of output becomes an event; of instants the field that holds LE, how long they live, and those of aggregates.

    ``names``: of records those of the definitions.
    """

    kinds: Sequence[Kind]
    cls: Any
    instant: str | None
    span: int
    aggregates: Sequence[str] = ()
    names: Sequence[str] = ()

    @property
    def flags(self) -> list[tuple[int, int]]:
        """The definition and the word of each flag of an instant."""
        return [(number, mark) for number, kind in enumerate(self.kinds) for _, mark in flag_names([""], [kind])]

    def event(self, line: Sequence[int], flags: Sequence[tuple[int, int]], values: Sequence[Any]) -> tuple[Any, int, int]:
        """Return the payload, LE and RE of what a line tells."""
        t = line[LineWords.told]
        if self.instant is not None:
            told = [line[mark] >> number & 1 == 1 for number, mark in flags]
            return self.cls(*told, *values, t), t, min(t + self.span, FOREVER)
        ts, te = line[LineWords.told + 1 : LineWords.told + 3]
        return self.cls(self.names[t], ts, None if te == FOREVER else te, *values), ts, te


def instants(kinds: Sequence[Kind], cls: Any, span: int) -> Telling:
    """Tell an event for each instant; ``span``: how long it lives."""
    fields = getattr(cls, "_fields", ("at",))
    return Telling(kinds, cls, fields[-1], span, fields[len(fields) - 1 - sum(len(kind.folds) for kind in kinds) : -1])


def records(kinds: Sequence[Kind], names: Sequence[str], cls: Any) -> Telling:
    """Tell a record for each situation."""
    return Telling(kinds, cls, None, 0, names=names)


def flag_names(names: Sequence[str], kinds: Sequence[Kind]) -> Iterator[tuple[str, int]]:
    """Yield the fields that say what an instant is to each definition, with their words, in order."""
    for name, kind in zip(names, kinds):
        yield f"{name}_begins", BEGINS
        yield f"{name}_ends", ENDS
        if kind.at_least is not None:
            yield f"{name}_lasts", LASTS
        if kind.at_least is not None or kind.at_most is not None:
            yield f"{name}_fails", FAILS


def net(lines: Any) -> Any:
    """Return lines without those that are told and taken back."""
    if len(lines) < 2 or lines[:, LineWords.sign].min() > 0:
        return lines
    if len(lines) <= FEW:
        found: Counter[tuple[int, ...]] = Counter()
        for sign, *line in lines.tolist():
            found[tuple(line)] += sign
        return np.array([(sign, *line) for line, sign in found.items() if sign], np.int64).reshape(-1, lines.shape[1])
    near = np.flatnonzero(np.isin(lines[:, LineWords.told], lines[lines[:, LineWords.sign] < 0, LineWords.told]))
    near = near[np.lexsort(lines[near, :0:-1].T)]
    first = np.flatnonzero(np.concatenate([[True], (lines[near[1:], 1:] != lines[near[:-1], 1:]).any(axis=1)]))
    signs = np.add.reduceat(lines[near, LineWords.sign], first)
    stays = np.ones(len(lines), np.bool_)
    stays[near] = False
    stays[near[first]] = signs != 0
    lines[near[first], LineWords.sign] = signs
    return lines[stays]
