"""Explain a temporal pattern: states and arcs, at which instant each relation is decided, what durations and free choices cost."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from afa.extra.situations.configuration_names import DECIDED, START, arc_name, happens_in_words, state_name
from afa.extra.situations.configurations import ENDED, ON, UNBEGUN, YOUNG, PatternPlan
from afa.extra.situations.consistency import parts_of
from afa.extra.situations.relations import ALL, ORDERS, narrowed, set_of
from afa.extra.situations.situation import Definition
from afa.extra.situations.where_text import RelationConstraint


class PatternState(NamedTuple):
    """Where a match stands between two instants: the definitions whose situation goes on, has ended, or is still to begin."""

    name: str
    goes_on: tuple[str, ...]
    ended: tuple[str, ...]
    to_come: tuple[str, ...]

    def __str__(self) -> str:
        said = [("goes on", self.goes_on), ("has ended", self.ended), ("to come", self.to_come)]
        return f"state {self.name}: " + "; ".join(f"{word}: {', '.join(names)}" for word, names in said if names)


class PatternArc(NamedTuple):
    """What leads from one state to another."""

    name: str
    src: str
    dst: str
    happens: str

    def __str__(self) -> str:
        return f"arc {self.src} -> {self.dst}: {self.happens}"


class Decision(NamedTuple):
    """The instant from which on no continuation breaks a constraint, for some of its relations."""

    first: str
    second: str
    relations: tuple[str, ...]
    when: str

    def __str__(self) -> str:
        return f"{self.first} {'|'.join(self.relations)} {self.second}: {self.when}"


class PatternExplanation(NamedTuple):
    """What became of a temporal pattern; ``print`` shows it."""

    states: tuple[PatternState, ...]
    arcs: tuple[PatternArc, ...]
    decided: tuple[Decision, ...]
    durations: tuple[str, ...]
    costs: tuple[str, ...]
    readings: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"decided {each}" for each in self.decided]
        lines += [f"duration of {each}" for each in self.durations]
        lines += [f"cost: {each}" for each in self.costs]
        lines += [f"readings: {each}" for each in self.readings]
        return "\n".join([*lines, *map(str, self.states), *map(str, self.arcs)])


def explained(plan: PatternPlan, constraints: Sequence[RelationConstraint], within: Any) -> PatternExplanation:
    """Explain a plan."""
    names = [each.name for each in plan.definitions]
    state = {there: state_name(plan, there) for there in plan.configurations}
    states = []
    for there, name in state.items():
        kinds = [{UNBEGUN: 2, YOUNG: 0, ON: 0, ENDED: 1}[status] for status in there.statuses]
        parts = [tuple(each for each, kind in zip(names, kinds) if kind == wanted) for wanted in range(3)]
        states.append(PatternState(name, *parts))
    arcs = []
    for step in plan.steps:
        before, after = state[step.before], DECIDED if step.after is None else state[step.after]
        arcs.append(PatternArc(arc_name(before, after, plan, step), before, after, happens_in_words(plan, step)))
    decided = [found for each in constraints for found in decisions(each)]
    return PatternExplanation(
        tuple(states), tuple(arcs), tuple(decided), tuple(_durations(plan)), tuple(_costs(plan, constraints, within)), _apart(plan)
    )


def _apart(plan: PatternPlan) -> tuple[str, ...]:
    """Return what to say of definitions that read different fields which may be missing, as in rows of two sources."""
    found = []
    for each, other in itertools.combinations(plan.definitions, 2):
        read = [one.condition.fields for one in (each, other)]
        optional = {field.name for field in each.condition.event_schema.fields if field.optional}
        if all(read) and not read[0] & read[1] and (read[0] | read[1]) <= optional:
            found.append(
                f"{each.name} reads {', '.join(sorted(read[0]))}, {other.name} reads {', '.join(sorted(read[1]))}: a row without a "
                "value there satisfies no condition, so that a row of one source ends the situation of the other; join them first, "
                "each row with the last value of the other"
            )
    return tuple(found)


def decisions(constraint: RelationConstraint) -> list[Decision]:
    """Return at which instant each relation that is allowed is decided; those of one instant together.

    >>> print(*decisions(RelationConstraint("a", "b", ("meets", "overlaps"))), sep="; ")
    a meets b: when a ends and b begins; a overlaps b: when a ends
    >>> print(*decisions(RelationConstraint("a", "b", ("overlaps", "contains", "finished_by"))))
    a overlaps|contains|finished_by b: when b begins
    """
    found: dict[str, list[str]] = {}
    for name in constraint.relations:
        found.setdefault(_when(name, constraint), []).append(name)
    return [Decision(constraint.first, constraint.second, tuple(names), when) for when, names in found.items()]


def _when(relation: str, constraint: RelationConstraint) -> str:
    """Go through the endpoints in the order of the relation, until nothing that is possible is forbidden."""
    order, allowed = ORDERS[relation], set_of(constraint.relations)
    possible, seen = ALL, [0, 0]
    for place in sorted(set(order)):
        now = [place in order[0:2], place in order[2:4]]
        possible = narrowed(possible, seen[0], seen[1], now[0], now[1])
        ends = [bool(seen[i]) for i in range(2)]
        seen = [count + here for count, here in zip(seen, now)]
        if all(seen) and not possible & ~allowed:
            break
    said = [(name, ends[i]) for i, name in enumerate(constraint[:2]) if now[i]]
    if len(said) == 2 and said[0][1] == said[1][1]:
        return f"when {said[0][0]} and {said[1][0]} {'end' if said[0][1] else 'begin'}"
    return f"when {' and '.join(f'{name} ends' if end else f'{name} begins' for name, end in said)}"


def _durations(plan: PatternPlan) -> list[str]:
    return [_duration(each, waits) for each, waits in zip(plan.definitions, plan.waits) if each.fails]


def _duration(each: Definition, waits: bool) -> str:
    bounds = (("at least", each.at_least), ("at most", each.at_most))
    said = " and ".join(f"{word} {value}" for word, value in bounds if value is not None)
    if each.at_most is not None:
        return f"{each.name}, {said}: the match waits for its end"
    if waits:
        return f"{each.name}, {said}: the match waits until it has lasted so long, or ends then"
    return f"{each.name}, {said}: told by its end, which comes before the match is decided"


def _costs(plan: PatternPlan, constraints: Sequence[RelationConstraint], within: Any) -> list[str]:
    found = [f"{len(plan.configurations)} states and {len(plan.steps)} arcs, and one that waits in each state but {START!r}"]
    parts = parts_of([each.name for each in plan.definitions], constraints)
    if len(parts) > 1:
        found.append(not_connected(parts, within))
    waiting = [each.name for each, waits in zip(plan.definitions, plan.waits) if waits]
    if waiting:
        found.append(f"one more instant for each situation of {', '.join(waiting)}, where it has lasted long enough")
    return found


def not_connected(parts: Sequence[Sequence[str]], within: Any) -> str:
    """Return what it costs that no constraint connects some definitions."""
    groups = " and ".join(f"({', '.join(part)})" for part in parts)
    return (
        f"no constraint connects {groups}: each match of one part within {within} goes with each match of the other, so that their "
        f"numbers multiply"
    )
