"""Names of states and arcs: what they mean, told by the configuration alone, so that patterns that share one name it alike.

    accelerating                       goes on, and nothing else has begun
    speeding?    speeding!             goes on; the match waits until it has lasted; it has
    accelerating.                      has ended
    accelerating < speeding            both go on; accelerating has begun first (= together, > later)
    accelerating. overlaps speeding    a relation that is certain
    a. before b. before c (a before c) relations to others than the neighbour in the text stand behind

An arc is named by its state and by what happens: ``accelerating: speeding begins``. One that decides the match says so: another
pattern may have a state there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from afa.situations.configurations import BEGINS, ENDED, ENDS, LASTS, ON, STAYS, UNBEGUN, YOUNG, Configuration, Plan, Step
from afa.situations.relations import names_of, set_of

START, DECIDED = "not begun", "all decided"
"""The first and the last state; no definition's name has a space in it."""
BOTH_ON = {
    set_of(["overlaps", "contains", "finished_by"]): "<",
    set_of(["starts", "equals", "started_by"]): "=",
    set_of(["during", "finishes", "overlapped_by"]): ">",
}
HAPPENS = {BEGINS: "begins", LASTS: "has lasted", ENDS: "ends"}


def state_name(plan: Plan, there: Configuration) -> str:
    """Return the name of a configuration."""
    begun = [k for k, status in enumerate(there.statuses) if status != UNBEGUN]
    if not begun:
        return START
    marks = {k: _mark(there.statuses[k], plan.waits[k]) for k in begun}
    related = {
        (pair.first, pair.second): _relation(relations)
        for pair, relations in zip(plan.pairs, there.possible)
        if pair.first in marks and pair.second in marks
    }
    text = f"{plan.definitions[begun[0]].name}{marks[begun[0]]}"
    for one, other in pairwise(begun):
        relation = related.pop((one, other), None)
        text += f"{', ' if relation is None else f' {relation} '}{plan.definitions[other].name}{marks[other]}"
    names = [each.name for each in plan.definitions]
    others = [f"{names[one]} {relation} {names[other]}" for (one, other), relation in related.items()]
    return f"{text} ({', '.join(others)})" if others else text


def arc_name(state: str, plan: Plan, step: Step) -> str:
    """Return the name of an arc out of a state."""
    return f"{state}: {happens_in_words(plan, step)}{', decided' if step.after is None else ''}"


def loop_name(state: str) -> str:
    """Return the name of the arc by which a match waits in a state."""
    return f"{state}: goes on"


def happens_in_words(plan: Plan, step: Step) -> str:
    """Return what happens to the chosen situations: ``accelerating ends, speeding begins``."""
    return ", ".join(f"{each.name} {HAPPENS[what]}" for each, what in zip(plan.definitions, step.happens) if what != STAYS)


def _mark(status: int, waits: bool) -> str:
    return {YOUNG: "?", ON: "!" if waits else "", ENDED: "."}[status]


def _relation(relations: int) -> str:
    names: Sequence[str] = names_of(relations)
    return names[0] if len(names) == 1 else BOTH_ON[relations]
