"""Names of states and arcs: what they mean, told by the configuration alone, so that patterns that share one name it alike.

    accelerating                       goes on, and nothing else has begun
    speeding?    speeding!             goes on; the match waits until it has lasted; it has
    accelerating.                      has ended
    accelerating < speeding            both go on; accelerating has begun first (= together, > later)
    accelerating. overlaps speeding    a relation that is certain
    a. before b < c (a meets c)        a relation to another one than the neighbour in the text, unless it follows

An arc is named by its two states, ``accelerating -> accelerating < speeding``: between them the same happens in every pattern. One
that decides the match is named by its state and by what happens: ``accelerating < speeding: accelerating ends, decided``.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import pairwise

from afa.extra.situations.configurations import (
    BEGINS,
    ENDED,
    ENDS,
    LASTS,
    ON,
    STAYS,
    UNBEGUN,
    YOUNG,
    Configuration,
    ConfigurationStep,
    PatternPlan,
)
from afa.extra.situations.relations import ALL, composed, inverted, names_of, set_of

START, DECIDED = "not begun", "all decided"
"""The first and the last state; no definition's name has a space in it."""
BOTH_ON = {
    set_of(["overlaps", "contains", "finished_by"]): "<",
    set_of(["starts", "equals", "started_by"]): "=",
    set_of(["during", "finishes", "overlapped_by"]): ">",
}
_ON_AND_ENDED = set_of(["after", "met_by", "overlapped_by", "started_by", "contains"])
_SEEN = {
    (False, False): functools.reduce(int.__or__, BOTH_ON),
    (False, True): _ON_AND_ENDED,
    (True, False): inverted(_ON_AND_ENDED),
    (True, True): ALL,
}
"""What two situations that have begun can still be to each other, by whether each has ended."""
HAPPENS = {BEGINS: "begins", LASTS: "has lasted", ENDS: "ends"}


def state_name(plan: PatternPlan, there: Configuration) -> str:
    """Return the name of a configuration."""
    begun = [k for k, status in enumerate(there.statuses) if status != UNBEGUN]
    if not begun:
        return START
    names = {k: f"{plan.definitions[k].name}{_mark(there.statuses[k], plan.waits[k])}" for k in begun}
    related = {
        (pair.first, pair.second): relations
        for pair, relations in zip(plan.pairs, there.possible)
        if pair.first in names and pair.second in names
    }
    near = {pair: related.pop(pair) for pair in pairwise(begun) if pair in related}
    text = names[begun[0]]
    for pair in pairwise(begun):
        text += f" {_relation(near[pair])} {names[pair[1]]}" if pair in near else f", {names[pair[1]]}"
    others = [
        f"{plan.definitions[one].name} {_relation(related[one, other])} {plan.definitions[other].name}"
        for one, other in _beyond(near, related, there.statuses)
    ]
    return f"{text} ({', '.join(others)})" if others else text


def _beyond(
    near: dict[tuple[int, int], int], related: dict[tuple[int, int], int], statuses: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the pairs whose relation does not follow from those that are told, by one definition in between."""
    known = dict(near) | {(b, a): inverted(relations) for (a, b), relations in near.items()}
    found = []
    for (one, other), relations in related.items():
        seen = _SEEN[statuses[one] == ENDED, statuses[other] == ENDED]
        ways = (composed(known[one, k], known[k, other]) for k in range(len(statuses)) if (one, k) in known and (k, other) in known)
        if all(follows & seen & ~relations for follows in ways):
            found.append((one, other))
        known |= {(one, other): relations, (other, one): inverted(relations)}
    return found


def arc_name(before: str, after: str, plan: PatternPlan, step: ConfigurationStep) -> str:
    """Return the name of an arc between two states.

    Notes
    -----
    State and happening alone would not do: with a constraint more the same happening leads to another state.
    """
    return f"{before}: {happens_in_words(plan, step)}, decided" if step.after is None else f"{before} -> {after}"


def loop_name(state: str) -> str:
    """Return the name of the arc by which a match waits in a state."""
    return f"{state}: goes on"


def happens_in_words(plan: PatternPlan, step: ConfigurationStep) -> str:
    """Return what happens to the chosen situations: ``accelerating ends, speeding begins``."""
    return ", ".join(f"{each.name} {HAPPENS[what]}" for each, what in zip(plan.definitions, step.happens) if what != STAYS)


def _mark(status: int, waits: bool) -> str:
    return {YOUNG: "?", ON: "!" if waits else "", ENDED: "."}[status]


def _relation(relations: int) -> str:
    names: Sequence[str] = names_of(relations)
    return names[0] if len(names) == 1 else BOTH_ON[relations]
