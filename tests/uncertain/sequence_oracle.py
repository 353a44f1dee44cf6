"""Enumerate all possible worlds of a few events, and count in which of them each match of a sequence is: slow, obvious, exact.

A world gives each event one time. Its weight is a product of whole numbers, so that a confidence is a fraction.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np


class Known(NamedTuple):
    """An event in force: its component, its times, how much each instant of them weighs, and what constraints read."""

    ident: Any
    component: int
    lower: int
    weights: tuple[int, ...]
    payload: Any = None


class Part(NamedTuple):
    """A component; ``kleene``: None, "set" or "chain"."""

    name: str
    kleene: str | None = None


class Told(NamedTuple):
    confidence: Fraction
    first: int
    last: int
    le: int
    """The latest possible time of the last event under skip till any."""
    latest: int
    """The latest possible time of the first event under skip till any."""


Fits = Callable[[int, Any, int, Any], bool]
"""Whether an event of the one component goes with one of a later component."""
Follows = Callable[[int, Any, Any], bool]
"""Whether an event of a chain goes behind another one."""


def worlds(events: Sequence[Known]) -> tuple[Any, Any]:
    """Return the time of each event in each world, and the weight of each world."""
    grids = np.meshgrid(*[np.arange(len(e.weights)) + e.lower for e in events], indexing="ij")
    weights = np.meshgrid(*[np.array(e.weights, np.int64) for e in events], indexing="ij")
    return [grid.ravel() for grid in grids], np.prod([weight.ravel() for weight in weights], axis=0)


def choices(part: Part, number: int, events: Sequence[Known], follows: Follows) -> Iterator[tuple[int, ...]]:
    """Yield what may stand for a component: places of events."""
    of = [place for place, event in enumerate(events) if event.component == number]
    if part.kleene is None:
        yield from ((place,) for place in of)
        return
    for n in range(1, len(of) + 1):
        if part.kleene == "set":
            yield from itertools.combinations(of, n)
        else:
            for chain in itertools.permutations(of, n):
                if all(follows(number, events[a].payload, events[b].payload) for a, b in itertools.pairwise(chain)):
                    yield chain


def enumerated(
    events: Sequence[Known],
    parts: Sequence[Part],
    window: int,
    strategy: str,
    fits: Fits = lambda *_: True,
    follows: Follows = lambda *_: True,
) -> dict[tuple[Any, ...], Told]:
    """Return each match that some world has: the identities by component (of a set: frozen), and what is told of it."""
    if not events:
        return {}
    at, weight = worlds(events)
    total = int(weight.sum())
    found = {}
    for chosen in itertools.product(*[list(choices(part, i, events, follows)) for i, part in enumerate(parts)]):
        if not all(
            fits(i, events[x].payload, j, events[y].payload)
            for i, j in itertools.combinations(range(len(parts)), 2)
            for x in chosen[i]
            for y in chosen[j]
        ):
            continue
        begin = np.min([at[x] for x in chosen[0]], axis=0)
        end = np.max([at[x] for x in chosen[-1]], axis=0)
        there = (weight > 0) & (end - begin < window)
        for part, group in zip(parts, chosen):
            if part.kleene == "chain":
                for x, y in itertools.pairwise(group):
                    there &= at[x] < at[y]
        free = there.copy()
        for j in range(1, len(parts)):
            before, after = np.max([at[x] for x in chosen[j - 1]], axis=0), np.min([at[x] for x in chosen[j]], axis=0)
            there, free = there & (before < after), free & (before < after)
            if strategy == "skip_till_next" and parts[j].kleene is None:
                for x, event in enumerate(events):
                    earlier = [(i, y) for i in range(j) for y in chosen[i]]
                    if (
                        event.component == j
                        and x not in chosen[j]
                        and all(fits(i, events[y].payload, j, event.payload) for i, y in earlier)
                    ):
                        there &= ~((before < at[x]) & (at[x] < after))
        if there.any():
            name = tuple(
                frozenset(events[x].ident for x in group)
                if part.kleene == "set"
                else tuple(events[x].ident for x in group)
                if part.kleene
                else events[group[0]].ident
                for part, group in zip(parts, chosen)
            )
            found[name] = Told(
                Fraction(int(weight[there].sum()), total),
                int(begin[there].min()),
                int(end[there].max()),
                int(end[free].max()),
                int(begin[free].max()),
            )
    return found
