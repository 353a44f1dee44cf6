"""What a match of a scan is made of, as an engine tells it: `afa.engine.Ways` and `Picks`. A match has one path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.engine import Picks, Ways
from afa.model.choice import Choice


class RowTaken(NamedTuple):
    """A row of a match: where it stands in the order of its key, the event, and which place of the pattern took it."""

    at: Any
    le: int
    payload: Any
    re: int
    place: int


def ways_of(choice: Choice, matches: Sequence[Sequence[RowTaken]], re: int) -> Ways | None:
    """Return all that leads to some matches; ``re``: the largest of them. None: there are none."""
    if not matches:
        return None
    rows = {row.at: row for match in matches for row in match}
    step = {at: i for i, at in enumerate(sorted(rows))}
    held = [rows[at] for at in step]
    found: list[tuple[int, int, int, int]] = []  # step, partial match, place, the partial match before
    ends: list[list[int]] = [[], []]
    number = 1
    for match in matches:
        for i, row in enumerate(match):
            number += 1
            found.append((step[row.at], number, row.place, number - 1 if i else 0))
        ends[0].append(step[match[-1].at])
        ends[1].append(number)
    found.sort()
    steps, numbers, places, before = (list(column) for column in zip(*found))
    edges = np.array([range(len(found)), before])
    events = [(tuple(row.payload), row.re) for row in held]
    names = tuple(dict.fromkeys(choice.components))  # one may stand at several places
    groups = [steps, numbers, steps, [names.index(choice.components[place]) for place in places]]
    return Ways([row.le for row in held], groups, edges, ends, events, type(held[0].payload), names, number + 1, re)


def picks_of(choice: Choice, found: Sequence[Sequence[Sequence[RowTaken]]]) -> Picks:
    """Return the events behind some matches, of which each may be several alike."""
    rows = {row.at: row for matches in found for match in matches for row in match}
    numbers = {at: i for i, at in enumerate(rows)}
    told: list[list[tuple[str, int]] | None] = []
    for matches in found:
        took = {(row.at, choice.components[row.place]) for match in matches for row in match}
        told.append([(name, numbers[at]) for at, name in sorted(took)] if matches else None)
    return Picks(told, [(row.payload, row.le, row.re) for row in rows.values()])
