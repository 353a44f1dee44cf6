"""Configurations: where a match of a temporal pattern stands between two instants, and by which instants it goes on.

A configuration says of each definition whether the chosen situation has begun, goes on or has ended, and of each pair in a
constraint which relations are still possible. From one to the next lead *steps*: all that happens to the chosen situations at one
instant. What goes on must take what happens to it; whether a situation that begins is chosen is free. A step decides the match when
all have begun, nothing that is possible breaks a constraint, and each duration is known to be allowed.

Source: the earliest instant of detection in a doctoral thesis (Marburg 2021, Sec. 5.5.3), there by power sets of what has begun.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from afa.errors import QueryError
from afa.extra.situations.consistency import network_of
from afa.extra.situations.relations import ALL, inverted, narrowed, set_of
from afa.extra.situations.situation import Definition
from afa.extra.situations.where_text import RelationConstraint

UNBEGUN, YOUNG, ON, ENDED = range(4)
"""Of a definition: no situation is chosen yet; it goes on, and is to last longer before the match can be decided; it goes on; it
has ended as it should."""
STAYS, BEGINS, LASTS, ENDS = range(4)
"""What happens to a definition at an instant."""
MOST, MOST_STEPS = 500, 10_000
"""How many configurations, and how many steps, a pattern may have."""
SHOWN = 6
"""How many constraints a message shows."""
_ENDPOINTS = {UNBEGUN: 0, YOUNG: 1, ON: 1, ENDED: 2}


class Configuration(NamedTuple):
    """The status of each definition, and of each pair the relations that are still possible, as sets."""

    statuses: tuple[int, ...]
    possible: tuple[int, ...]


class ConfigurationStep(NamedTuple):
    """What happens to each definition at an instant; ``after`` None: it decides the match."""

    before: Configuration
    happens: tuple[int, ...]
    after: Configuration | None

    def goes_on(self, k: int) -> bool:
        """Return whether the situation of a definition goes on behind the instant."""
        return self.happens[k] in (BEGINS, LASTS) or (self.happens[k] == STAYS and self.before.statuses[k] in (YOUNG, ON))


class Pair(NamedTuple):
    """A pair in a constraint, by the places of its definitions, first < second; what is allowed, and what all constraints leave."""

    first: int
    second: int
    allowed: int
    left: int


class PatternPlan(NamedTuple):
    """A pattern as configurations and steps, without those that lead to no match. The first configuration is the start.

    ``waits``: the definitions of which a match waits for `at_least`, as one of them may go on when it is decided. Of all others the
    end tells whether it has lasted as it should, and it comes before the decision.
    """

    definitions: tuple[Definition, ...]
    waits: tuple[bool, ...]
    pairs: tuple[Pair, ...]
    configurations: tuple[Configuration, ...]
    steps: tuple[ConfigurationStep, ...]


def plan_of(definitions: Sequence[Definition], constraints: Sequence[RelationConstraint]) -> PatternPlan:
    """Return the configurations that a match can go through, and the steps between them.

    QueryError: the constraints contradict one another, or there are too many configurations. It ends early then: no more than
    `MOST` are looked at.
    """
    pairs = _pairs([each.name for each in definitions], constraints)
    waits = (False,) * len(definitions)
    steps = _explored(definitions, pairs, waits, constraints)
    waits = tuple(
        each.lasts and any(step.after is None and step.goes_on(k) for step in steps) for k, each in enumerate(definitions)
    )
    steps = _explored(definitions, pairs, waits, constraints) if any(waits) else steps
    order = tuple(dict.fromkeys(step.before for step in steps))
    return PatternPlan(tuple(definitions), waits, pairs, order, tuple(steps))


def _explored(
    definitions: Sequence[Definition], pairs: Sequence[Pair], waits: Sequence[bool], constraints: Sequence[RelationConstraint]
) -> list[ConfigurationStep]:
    """Return the steps that lead to a match, from the start on."""
    begun = Configuration((UNBEGUN,) * len(definitions), (ALL,) * len(pairs))
    found, todo, steps = {begun}, deque([begun]), []
    moves = _Moves(definitions, pairs, waits)
    while todo:
        for step in moves.steps(todo.popleft()):
            steps.append(step)
            if step.after is not None and step.after not in found:
                found.add(step.after)
                todo.append(step.after)
            if len(found) > MOST or len(steps) > MOST_STEPS:
                raise _too_many(len(found), len(steps), constraints)
    kept = _leading(steps)
    if begun not in kept:
        said = ", ".join(f"'{each}'" for each in constraints)
        raise QueryError(f"expected constraints that can hold together but no situations satisfy all of {said}")
    return [step for step in steps if step.before in kept and (step.after is None or step.after in kept)]


def _pairs(names: Sequence[str], constraints: Sequence[RelationConstraint]) -> tuple[Pair, ...]:
    network = network_of(names, constraints)
    found = []
    for each in constraints:
        first, second, allowed = names.index(each.first), names.index(each.second), set_of(each.relations)
        if first > second:
            first, second, allowed = second, first, inverted(allowed)
        found.append(Pair(first, second, allowed, network[names[first], names[second]]))
    return tuple(sorted(found))


class _Moves:
    """The steps out of a configuration, found one definition after the other, so that what can't be is left early."""

    def __init__(self, definitions: Sequence[Definition], pairs: Sequence[Pair], waits: Sequence[bool]) -> None:
        self.definitions, self.pairs, self.waits = definitions, pairs, waits
        self.order = _connected_order(len(definitions), pairs)
        rank = {k: i for i, k in enumerate(self.order)}
        self.closed = [
            [i for i, p in enumerate(pairs) if max(rank[p.first], rank[p.second]) == at] for at in range(len(self.order))
        ]

    def steps(self, now: Configuration) -> Iterator[ConfigurationStep]:
        """Return all steps by which something happens."""
        for happens, possible in self._chosen(now, 0, [STAYS] * len(self.order), list(now.possible)):
            if any(happens):
                yield self._step(now, happens, possible)

    def _chosen(
        self, now: Configuration, at: int, happens: list[int], possible: list[int]
    ) -> Iterator[tuple[list[int], list[int]]]:
        if at == len(self.order):
            yield happens, possible
            return
        k = self.order[at]
        for what in _OUTCOMES[now.statuses[k]]:
            happens[k] = what
            if all(self._narrow(now, i, happens, possible) for i in self.closed[at]):
                yield from self._chosen(now, at + 1, happens, possible)

    def _narrow(self, now: Configuration, i: int, happens: list[int], possible: list[int]) -> bool:
        """Set what is still possible of a pair, and return whether any of it is allowed."""
        pair = self.pairs[i]
        a, b = now.statuses[pair.first], now.statuses[pair.second]
        a_now, b_now = (happens[k] in (BEGINS, ENDS) for k in (pair.first, pair.second))
        possible[i] = narrowed(now.possible[i], _ENDPOINTS[a], _ENDPOINTS[b], a_now, b_now)
        return bool(possible[i] & pair.left)

    def _step(self, now: Configuration, happens: list[int], possible: list[int]) -> ConfigurationStep:
        statuses = tuple(
            status if what == STAYS else ENDED if what == ENDS else YOUNG if what == BEGINS and waits else ON
            for waits, status, what in zip(self.waits, now.statuses, happens)
        )
        after = Configuration(statuses, tuple(possible))
        return ConfigurationStep(now, tuple(happens), None if self._decided(after) else after)

    def _decided(self, there: Configuration) -> bool:
        """Return whether each continuation satisfies all constraints and durations.

        Notes
        -----
        Open ends may come in any order, so that each pair, by itself, can come to each of its possible relations.
        """
        for each, status in zip(self.definitions, there.statuses):
            if status in (UNBEGUN, YOUNG) or (each.at_most is not None and status != ENDED):
                return False
        return all(not relations & ~pair.allowed for relations, pair in zip(there.possible, self.pairs))


_OUTCOMES = {UNBEGUN: (STAYS, BEGINS), YOUNG: (STAYS, LASTS, ENDS), ON: (STAYS, ENDS), ENDED: (STAYS,)}


def _connected_order(count: int, pairs: Sequence[Pair]) -> list[int]:
    """Return the definitions in an order in which each one, where possible, is in a constraint with an earlier one."""
    near: list[list[int]] = [[] for _ in range(count)]
    for pair in pairs:
        near[pair.first].append(pair.second)
        near[pair.second].append(pair.first)
    found: list[int] = []
    for start in range(count):
        todo = [start]
        while todo:
            k = todo.pop(0)
            if k not in found:
                found.append(k)
                todo.extend(near[k])
    return found


def _leading(steps: Sequence[ConfigurationStep]) -> set[Configuration]:
    """Return the configurations from which a match can be reached."""
    into: dict[Configuration | None, list[Configuration]] = {}
    for step in steps:
        into.setdefault(step.after, []).append(step.before)
    kept: set[Configuration] = set()
    todo: list[Configuration | None] = [None]
    while todo:
        for before in into.get(todo.pop(), ()):
            if before not in kept:
                kept.add(before)
                todo.append(before)
    return kept


def _too_many(configurations: int, steps: int, constraints: Sequence[RelationConstraint]) -> QueryError:
    """Name the definition with the most constraints, and the way out."""
    stars: dict[str, list[str]] = {}
    for each in constraints:
        stars.setdefault(each.first, []).append(each.second)
        stars.setdefault(each.second, []).append(each.first)
    centre, others = max(stars.items(), key=lambda item: len(item[1]))
    if len(others) > 2:
        said = [str(each) for each in constraints if centre in (each.first, each.second)]
        why = f"in which order the {len(others)} neighbours of {centre!r} begin and end"
        alone = [centre, *others[: len(others) // 2]]
    else:
        said, why = [str(each) for each in constraints], f"in which order the {len(stars)} situations begin and end"
        alone = [*stars][: len(stars) // 2 or 1]
    shown = ", ".join([*(f"'{each}'" for each in said[:SHOWN]), *[".."] * (len(said) > SHOWN)])
    return QueryError(
        f"expected a pattern of at most {MOST} states but reached {configurations:,} states and {steps:,} arcs and stopped; they "
        f"tell apart {why} ({shown}). Split it: a pattern of {', '.join(alone)} alone, and behind it, by a Chain, one that relates "
        f"its matches to the others"
    )
