"""Deriving: what is told after each change is what the set of readings has, by definition."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

from afa import Punctuation
from afa.change import Change
from afa.conditions.condition import Condition
from afa.extra.situations.deriving import Deriving
from afa.extra.situations.judged import Judged
from afa.extra.situations.key_standing import Kind
from afa.extra.situations.told_forms import flag_names, instants, records
from afa.schema import Schema
from punctuation.time import FOREVER
from tests.situations.derived import aggregate, marks, situations

FUNCTIONS = ("first", "last", "count", "sum", "avg", "min", "max")
SPAN = 50


class Reading(NamedTuple):
    a: bool
    b: bool
    x: float | None


def _plan(rng: random.Random) -> list[Kind]:
    kinds = []
    for _ in range(2):
        at_least = rng.choice([None, 1, 2, 3, 6])
        at_most = rng.choice([None, None, 6, 9])
        kinds.append(Kind(at_least, at_most, tuple(rng.sample(FUNCTIONS, rng.choice([0, 1, 3])))))
    return kinds


def _stage(kinds: list[Kind], as_records: bool, cls: Any) -> Deriving:
    schema = Schema.of(Reading, "event")
    fields = [["x"] * len(kind.folds) for kind in kinds]
    telling = records(kinds, "ab", cls) if as_records else instants(kinds, cls, SPAN)
    conditions = [Condition(name, schema) for name in "ab"]
    return Deriving(schema, Judged.of("ab", conditions), fields, telling)


def _pushed(stage: Deriving, batch: list[Any]) -> list[Change]:
    """What the stage tells in a call."""
    stage.call_begins()
    out: list[Change] = []
    for item in batch:
        if isinstance(item, Change):
            stage.see(item)
        else:
            out += [*stage.changes(stage.told()), *stage.changes(stage.brought(item.t))]
            assert not stage.settled(item.t)
    out += stage.changes(stage.told())
    stage.call_worked()
    return out


def _tuple(*items: Any) -> tuple[Any, ...]:
    return items


def _wanted_instants(readings: Any, kinds: list[Kind], promised: int) -> set[Any]:
    clock = max([promised, *readings])
    happens: dict[int, dict[int, str]] = {}
    of: list[list[Any]] = []
    for number, kind in enumerate(kinds):
        of.append(situations(readings, clock, number))
        for lasted in of[-1]:
            for t, what in marks(lasted, kind.at_least, kind.at_most, clock).items():
                happens.setdefault(t, {})[number] = what
    found = set()
    for t, what in happens.items():
        flags = [what.get("ab".index(name[0])) == name[2:] for name, _ in flag_names("ab", kinds)]
        aggregates = []
        for number, kind in enumerate(kinds):
            there = [each for each in of[number] if each.ts <= t and (each.te is None or t <= each.te)]
            there = [each for each in there if each.te != t] or there  # one never begins where another ends
            for function in kind.folds:
                values = [value for le, value in there[0].readings if le <= t] if there else []
                aggregates.append(aggregate(function, values) if there else None)
        found.add(((*flags, *aggregates, t), t, t + SPAN))
    return found


def _wanted_records(readings: Any, kinds: list[Kind], promised: int) -> set[Any]:
    clock, found = max([promised, *readings]), set()
    for number, kind in enumerate(kinds):
        for ts, te, there in situations(readings, clock, number):
            lasted = kind.at_least is None or (clock if te is None else te) - ts >= kind.at_least
            short = kind.at_most is None or (te is not None and te - ts <= kind.at_most)
            if lasted and short:
                parts = [[None] * len(each.folds) for each in kinds]
                parts[number] = [aggregate(function, [value for _, value in there]) for function in kind.folds]
                found.add((("ab"[number], ts, te, *parts[0], *parts[1]), ts, FOREVER if te is None else te))
    return found


@pytest.mark.parametrize("as_records", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_worlds(as_records: bool, seed: int) -> None:
    """Readings late and retracted, with and without RE, promises: after each step what is told is what there is."""
    rng = random.Random(f"{seed} {as_records}")
    kinds = _plan(rng)
    stage = _stage(kinds, as_records, _tuple)
    in_force: dict[int, tuple[Any, Any]] = {}
    net: Counter[Any] = Counter()
    promised = -(2**63)
    for _ in range(40):
        step = rng.random()
        low = max(promised, 0)
        batch: list[Any] = []
        for _ in range(rng.choice([1, 1, 1, 4])):
            there = [le for le in in_force if le >= low]
            if step < 0.65 and (free := [le for le in range(low, low + 30) if le not in in_force]):
                le = rng.choice(free)
                payload = Reading(rng.random() < 0.6, rng.random() < 0.5, rng.choice([None, 0.1, 0.2, 0.7, 1e16, -3.0]))
                re = rng.choice([None, None, None, le + rng.randint(1, 8)])
                in_force[le] = payload, re
                batch.append(Change(payload, le, re, 1))
            elif step < 0.85 and there:
                le = rng.choice(there)
                batch.append(Change(in_force[le][0], le, in_force.pop(le)[1], -1))
        if step >= 0.85:
            promised = low + rng.randint(1, 6)
            batch.append(Punctuation(promised))
        for item in _pushed(stage, batch):
            net[item.payload, item.le, item.re] += item.diff
        assert all(copies in (0, 1) for copies in net.values())
        readings = {le: (re, (payload.a, payload.b), (payload.x, payload.x)) for le, (payload, re) in in_force.items()}
        wanted = _wanted_records if as_records else _wanted_instants
        assert {each for each, copies in net.items() if copies} == wanted(readings, kinds, promised)
    assert stage.statistics.held == sum(le >= promised for le in in_force)
    _pushed(stage, [Punctuation(FOREVER)])
    assert stage.statistics.held == 0
