"""Random temporal patterns over readings of several keys, against brute force after every step.

Readings come late and are retracted, some with an end of their own; one by one, in batches and in tables; promises, snapshots and
restores lie between. What is in force is what brute force finds in the readings in force.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from afa import Punctuation, insert, retract
from afa.errors import QueryError
from afa.situations import TemporalPattern
from tests.situations import pattern_worlds
from tests.situations.derived import situations
from tests.situations.oracle import Asked, Stretch, matches
from tests.worlds.kind import Seen, Worlds

KEYS = "xy"
SPAN = 16
"""Instants ahead of the promise over which readings are spread, so that neighbours are dense."""


class Keyed(NamedTuple):
    """A reading with its key."""

    key: str
    a: bool
    b: bool
    c: bool
    d: bool
    v: int | None


class Held(NamedTuple):
    """What is in force: readings and their ends, by key and LE; and what was promised."""

    readings: dict[tuple[str, int], tuple[Keyed, int | None]]
    promised: int


def run(seed: int, engine: str) -> Seen:
    """Run a world; return how many steps it had, and how many matches were checked."""
    with pattern_worlds.compiling(seed):
        return _run(seed, engine)


def _run(seed: int, engine: str) -> Seen:
    asked = pattern_worlds.world(seed).asked
    try:
        pattern = pattern_worlds.pattern_of(asked, Keyed, "key")
    except QueryError:
        return Seen()  # `pattern_worlds` holds it
    rng = random.Random(f"readings {seed}")
    keys = KEYS[: rng.choice([1, 1, 2])]
    options: dict[str, Any] = {"engine": engine}
    op, net, steps, checked = pattern.operator(**options), Counter[Any](), 0, 0
    held = Held({}, 0)
    for _ in range(rng.choice([10, 24]) if len(asked.lasting) < 4 else 8):
        step = rng.random()
        if step < 0.08:
            op = pattern.restore(op.snapshot(), engine=engine)  # type: ignore[arg-type]
            continue
        changes, promised = _changes(rng, held, keys, step)
        promise = [] if promised is None else [Punctuation(promised)]
        out: list[Any] = []
        if changes and all(diff > 0 and re is None for _, _, re, diff in changes) and rng.random() < 0.5:
            out = [part for part in op.push_many([_table(changes), *promise]) if not isinstance(part, Punctuation)]
        elif rng.random() < 0.5:
            pushed = [insert(row, le, re) if diff > 0 else retract(row, le, re) for row, le, re, diff in changes]
            out = [op.push_many([*pushed, *promise])]
        else:
            out = [op.push(insert(row, le, re) if diff > 0 else retract(row, le, re)) for row, le, re, diff in changes]
            out += [op.push(each) for each in promise]
        for part in out:
            _count(net, part, pattern)
        net = +net
        held = held if promised is None else held._replace(promised=promised)
        wanted = _wanted(asked, held, keys)
        there = set(net)
        assert there == wanted, f"step {steps}: {there - wanted} too many, {wanted - there} missing"
        assert all(copies == 1 for copies in net.values())
        steps, checked = steps + 1, checked + len(wanted)
    op.push(Punctuation(2**63 - 1))
    assert op.stage.statistics[0] == 0
    return Seen(steps=steps, matches=checked)


def _changes(rng: random.Random, held: Held, keys: str, step: float) -> tuple[list[tuple[Keyed, int, int | None, int]], int | None]:
    """Draw the changes of a step, and put them in force; and perhaps a promise."""
    found: list[tuple[Keyed, int, int | None, int]] = []
    if step < 0.75:
        for _ in range(rng.choice([1, 1, 3, 8])):
            key, le = rng.choice(keys), held.promised + rng.randrange(SPAN)
            if (key, le) not in held.readings:
                row = Keyed(key, *(rng.random() < 0.55 for _ in range(4)), rng.choice([None, *range(-3, 4)]))
                re = le + rng.randint(1, 6) if rng.random() < 0.1 else None
                held.readings[key, le] = row, re
                found.append((row, le, re, 1))
    there = [place for place in held.readings if place[1] >= held.promised and all(place != (row.key, le) for row, le, *_ in found)]
    if there and (step >= 0.75 or rng.random() < 0.15):
        for place in rng.sample(there, min(len(there), rng.choice([1, 1, 3]))):
            row, re = held.readings.pop(place)
            found.append((row, place[1], re, -1))
    return found, held.promised + rng.randint(1, 7) if rng.random() < 0.2 else None


def _table(changes: list[tuple[Keyed, int, int | None, int]]) -> dict[str, Any]:
    columns: dict[str, Any] = {name: [getattr(row, name) for row, *_ in changes] for name in Keyed._fields}
    columns |= {name: np.array(columns[name]) for name in "abcd"}
    return columns | {"le": np.array([le for _, le, *_ in changes])}


def _count(net: Counter[Any], part: Any, pattern: TemporalPattern) -> None:
    """Add a table of output, or changes."""
    if isinstance(part, dict):
        names = ["key", *pattern.automaton.match_schema.cls._fields, "le", "re"]
        rows = zip(*(np.asarray(part[name]).tolist() for name in names))
        for row, diff in zip(rows, np.asarray(part["diff"]).tolist()):
            net[row] += diff
        return
    for change in part:
        if not isinstance(change, Punctuation):
            net[(change.key, *change.payload, change.le, change.re)] += change.diff


def _wanted(asked: Asked, held: Held, keys: str) -> set[Any]:
    """Return the matches of the readings in force."""
    found = set()
    for key in keys:
        mine = {
            le: (re, tuple(getattr(row, name) for name in "abcd"), (row.v,) * 4)
            for (of, le), (row, re) in held.readings.items()
            if of == key
        }
        clock = max([held.promised, *mine])
        stretches = [[Stretch(*each) for each in situations(mine, clock, number)] for number in range(len(asked.lasting))]
        found |= {(key, *payload, le, re) for payload, le, re in matches(asked, stretches, clock)}
    return found


WORLDS = Worlds("readings", lambda seed, number: int(seed) * 1_000_000 + number, run)
