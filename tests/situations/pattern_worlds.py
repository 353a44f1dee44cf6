"""Random temporal patterns over random readings, against brute force after every step.

A world is a pattern and a stream of readings of one key, in any order, some of them retracted; what it tells the operator are the
instants that come and go with each step. So it holds the automaton alone, without the stage that derives instants.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

from afa import Operator, insert, retract
from afa.compiled.machine.native import Effort, native
from afa.errors import QueryError
from afa.situations import Situation, TemporalPattern
from tests.situations.oracle import RELATIONS, Asked, matches, stretches, told_at
from tests.worlds.kind import Seen, Worlds

REFUSED = ("at most 500 states", "hold together", "within= above")
"""Why a random pattern may be refused; the last two are checked against brute force."""
FUNCTIONS = ("first", "last", "count", "sum", "avg", "min", "max", "readings")


class Reading(NamedTuple):
    """What definitions are on, and a value."""

    a: bool
    b: bool
    c: bool
    d: bool
    v: int | None


class World(NamedTuple):
    """A pattern as the oracle is asked for it, and readings (time, what is on, value, diff) in the order in which they come."""

    asked: Asked
    steps: tuple[tuple[int, tuple[bool, ...], int | None, int], ...]
    clock: int
    seed: int


def world(seed: int) -> World:
    """Draw a world."""
    rng = random.Random(seed)
    count = rng.choice([1, 2, 2, 3, 3, 3, 4])
    lasting = [_lasting(rng) for _ in range(count)]
    constraints = []
    for j in range(1, count):
        others = {rng.randrange(j), *(i for i in range(j) if rng.random() < 0.4)}
        constraints += [_constraint(rng, i, j) for i in sorted(others)]
    if count == 4 and rng.random() < 0.1:
        constraints = [_constraint(rng, 0, 1), _constraint(rng, 2, 3)]
    told = [(rng.choice(FUNCTIONS), rng.randrange(count)) for _ in range(rng.choice([0, 0, 1, 3]))]
    asked = Asked(lasting, constraints, rng.choice([5, 12, 40]), told)
    n, stay = (13 if count < 4 else 10), rng.choice([0.5, 0.65])
    on = tuple(rng.random() < 0.5 for _ in range(count))
    readings, at = [], 0
    for _ in range(n):
        at += rng.choice([1, 1, 1, 2, 5]) if lasting else 1
        on = tuple(each if rng.random() < stay else not each for each in on)
        readings.append((at, on, rng.choice([None, *range(-3, 4)]), 1))
    gone = [(t, on, v, -1) for t, on, v, _ in rng.sample(readings, n // 4)]
    if rng.random() < 0.8:
        rng.shuffle(readings)
    return World(asked, tuple(readings + gone), at + rng.choice([0, 3, 10]), seed)


def pattern_of(asked: Asked, event: Any = Reading, key: str | None = None) -> TemporalPattern:
    """Make the pattern. Raises `QueryError` where no situations can satisfy it."""
    names = "abcd"[: len(asked.lasting)]
    where = " and ".join(f"{names[i]} {'|'.join(sorted(allowed))} {names[j]}" for i, j, allowed in asked.constraints)
    returns = {
        f"told{i}": f"count({names[k]})" if function == "readings" else f"{function}({names[k]}.v)"
        for i, (function, k) in enumerate(asked.told)
    }
    definitions = {name: Situation(name, at_least=low, at_most=high) for name, (low, high) in zip(names, asked.lasting)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TemporalPattern(event=event, key=key, within=asked.within, where=where or None, returns=returns, **definitions)


@contextmanager
def compiling(seed: int) -> Iterator[None]:
    """Compile arcs, of which each world has dozens of its own, for the world alone: most worlds with the least effort."""
    effort, function = Effort("none", 2 if seed % 4 == 0 else 0, kept=False), native.function
    with mock.patch.object(native, "function", lambda key, make_ir, own=effort: function(key, make_ir, own)):
        yield


def run(found: World, engine: str) -> Seen:
    """Run a world; return how many steps it had, and how many matches were checked."""
    with compiling(found.seed):
        return _run(found, engine)


def _run(found: World, engine: str) -> Seen:
    """Run a world.

    A pattern that nothing can satisfy is refused, and then brute force finds nothing, too; one of too many states is left out.
    """
    try:
        pattern = pattern_of(found.asked)
    except QueryError as error:
        if not any(reason in str(error) for reason in REFUSED):
            raise
        if REFUSED[0] in str(error):
            return Seen()
        pattern = None
    operator: Any = None if pattern is None else Operator(pattern.automaton, window=found.asked.within, engine=engine)  # type: ignore[arg-type]
    on: dict[int, tuple[bool, ...]] = {}
    values: dict[int, int | None] = {}
    held: set[Any] = set()
    net: Counter[Any] = Counter()
    checked = 0
    for i, (t, flags, value, diff) in enumerate([*found.steps, (0, (), None, 0)]):
        if diff > 0:
            on[t], values[t] = flags, value
        elif diff < 0:
            del on[t], values[t]
        clock = max(on, default=0) if diff else found.clock  # the last step: a promise moves the clock
        situations = [stretches(on, values, k) for k in range(len(found.asked.lasting))]
        wanted = matches(found.asked, situations, clock)
        if pattern is None:
            assert not wanted, f"refused, but step {i} has {wanted}"
            continue
        now = instants(pattern, found.asked, situations, clock)
        changes = [retract(each, le=each.at) for each in held - now] + [insert(each, le=each.at) for each in now - held]
        held = now
        for change in operator.push_many(changes):
            net[tuple(change.payload), change.le, change.re] += change.diff
        net = +net
        assert set(net) == wanted, f"step {i}: {set(net) - wanted} too many, {wanted - set(net)} missing"
        assert all(copies == 1 for copies in net.values())
        checked += len(wanted)
    if pattern is not None:
        _shuffled(pattern, held, set(net), found.seed, engine)
    return Seen(steps=len(found.steps) + 1, matches=checked)


def instants(pattern: TemporalPattern, asked: Asked, situations: Any, clock: int) -> set[Any]:
    """The events that the pattern's automaton is given."""
    found = set()
    order = [
        (k, aggregate)
        for k, each in enumerate(pattern.definitions)
        for aggregate in pattern.aggregates
        if aggregate.definition == each.name
    ]
    told = [(("readings" if aggregate.field is None else aggregate.function), k) for k, aggregate in order]
    for t, (flags, values) in told_at(asked._replace(told=told), situations, clock).items():
        marks = [flag[name] for flag, each in zip(flags, pattern.definitions) for name in _flags(each)]
        found.add(pattern.instants(*marks, *values, t))
    return found


def _shuffled(pattern: TemporalPattern, held: set[Any], wanted: set[Any], seed: int, engine: str) -> None:
    """The same instants in any order, with some that come and go."""
    rng = random.Random(seed)
    operator = Operator(pattern.automaton, window=pattern.window, engine=engine)  # type: ignore[arg-type]
    events = sorted(held, key=lambda each: int(each.at))
    todo = [insert(each, le=each.at) for each in events]
    extra = rng.sample(events, len(events) // 3)
    todo += [insert(each, le=each.at) for each in extra] + [retract(each, le=each.at) for each in extra]
    rng.shuffle(todo)
    net: Counter[Any] = Counter()
    for change in todo:
        for out in operator.push(change):
            net[tuple(out.payload), out.le, out.re] += out.diff
    assert +net == Counter(wanted), f"shuffled: {+net} but {wanted}"


def smaller(found: World) -> Iterator[World]:
    """Worlds with a reading less, or a constraint, or an aggregate."""
    for i, (t, *_, diff) in enumerate(found.steps):
        gone = diff > 0 and any(each[0] == t and each[-1] < 0 for each in found.steps)
        if not gone:
            yield found._replace(steps=found.steps[:i] + found.steps[i + 1 :])
    for name in ("constraints", "told"):
        parts = getattr(found.asked, name)
        for i in range(len(parts)):
            yield found._replace(asked=found.asked._replace(**{name: parts[:i] + parts[i + 1 :]}))


def _flags(each: Any) -> list[str]:
    return [
        "begins",
        "ends",
        *["lasts"] * (each.at_least is not None),
        *["fails"] * (each.at_least is not None or each.at_most is not None),
    ]


def _lasting(rng: random.Random) -> tuple[int | None, int | None]:
    if rng.random() < 0.5:
        return None, None
    low = rng.choice([None, 1, 2, 3, 5])
    return low, rng.choice([None, None, 4, 6, 9]) if low is None or low < 4 else rng.choice([None, 5, 9])


def _constraint(rng: random.Random, i: int, j: int) -> tuple[int, int, frozenset[str]]:
    names = frozenset(rng.sample(sorted(RELATIONS), rng.randint(1, 9)))
    return (i, j, names) if rng.random() < 0.7 else (j, i, names)


WORLDS = Worlds("patterns", lambda seed, number: world(int(seed) * 1_000_000 + number), run, smaller)
