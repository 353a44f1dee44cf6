"""AFA+O in random worlds: within each block of adjacent numbers as the oracle says, across gaps nothing, and nothing withdrawn."""

from __future__ import annotations

from typing import Any

import pytest

from afa import (
    Operator,
    Punctuation,
    insert,
    retract,
)
from punctuation.time import FOREVER
from speculation import Ordered
from tests import oracle, strategies
from tests.model import ERROR, Blocks, Model
from tests.strategies import Choices, Seeded
from tests.text import E, arc_of, automaton_of

WORLDS = 50


class World:
    """A random stream of numbered events and what is done to it, as steps: lists of ("event" | "arc", item), each one call."""

    def __init__(self, seed: str, revise: bool = True, waits: bool = True, lose: int = 12, arcs: bool = True) -> None:
        choose: Choices = Seeded(seed)
        self.choose = choose
        self.waits = choose.chance(40) if waits else False
        spec = {**strategies.automaton(choose, waits=self.waits), "event": "E"}
        self.automaton = automaton_of(spec)
        self.width = strategies.width_of(spec)
        self.window = choose.one([None, 3, 6, 20])
        style = choose.one(["window", "mixed"])
        number, le, events = choose.number(-2, 2), choose.number(-2, 2), []
        for _ in range(choose.number(2, 9)):
            re = None if style == "window" or choose.chance(30) else le + choose.one([1, 2, 4, 9, 30])
            events.append(insert(E(choose.number(0, 2), number), le, re))
            number += 1
            le += choose.one([0, 1, 1, 2, 3])
        self.events = [event for event in events if not choose.chance(lose)]
        self.pool = [arc_of(strategies.arc(choose, self.width, strategies.STATES, f"more{i}", waits=self.waits)) for i in range(2)]
        self.steps = self._steps(revise, arcs)

    def _steps(self, revise: bool, arcs: bool) -> list[list[tuple[str, Any]]]:
        choose, steps = self.choose, []
        todo, held = [*self.events], []
        while todo or choose.chance(60):
            kind = choose.number(0, 99)
            if kind < 12 and (held or todo):
                steps.append([("event", Punctuation(choose.one([*held, *todo]).le + choose.number(-1, 2)))])
            elif kind < 20 and arcs:
                steps.append([("arc", self._arc_change())])
            elif kind < 38 and revise and held:
                steps.append(self._revision(held, todo))
            elif todo:
                batch = [todo.pop(choose.number(0, len(todo) - 1)) for _ in range(min(len(todo), choose.one([1, 1, 1, 2, 4])))]
                held += batch
                steps.append([("event", event) for event in batch])
            elif not held:
                break
        return steps

    def _revision(self, held: list[Any], todo: list[Any]) -> list[tuple[str, Any]]:
        choose = self.choose
        old = held.pop(choose.number(0, len(held) - 1))
        new = old._replace(payload=old.payload._replace(kind=choose.number(0, 2)))
        if choose.chance(60):
            held.append(new)
            return [("event", old._replace(diff=-1)), ("event", new)]
        if choose.chance(60):
            todo.append(new)
        return [("event", old._replace(diff=-1))]

    def _arc_change(self) -> Any:
        choose = self.choose
        arc = choose.one([*self.pool, *self.automaton.arcs])
        if choose.chance(60):
            return (insert if choose.chance(50) else retract)(arc)
        le, re = strategies.arc_lifetime(choose)
        return insert(arc, le, re)

    def options(self) -> dict[str, Any]:
        return {"window": self.window, "late": "drop"}


def model_of(world: World, **options: Any) -> Blocks:
    return Blocks(world.automaton, sequence="seq", **world.options(), **options)


def carried_out(operator: Any, model: Model, step: list[tuple[str, Any]]) -> list[Any] | None:
    """A step on both; None where the model refuses it."""
    fork = model.fork()
    if any((fork.push if port == "event" else fork.push_arc)(item) == ERROR for port, item in step):
        return None
    model.__dict__.update(fork.__dict__)
    if len(step) > 1:
        return operator.push_many([item for _, item in step])
    port, item = step[0]
    return operator.push(item) if port == "event" else operator.push_arc(item)


@pytest.mark.parametrize("gaps", ["break", "join"])
def test_after_each_step_it_is_the_oracle_within_blocks(engine: str, gaps: Any) -> None:
    for seed in range(WORLDS):
        world = World(f"ordered {gaps} {seed}")
        model = model_of(world, join=gaps == "join")
        op = Ordered(world.automaton, number="seq", engine=engine, gaps=gaps, **world.options())
        held: set[Any] = set()
        for i, step in enumerate(world.steps):
            if world.choose.chance(12):
                name = world.choose.one(["compiled", "interpreted"])
                op = Ordered.restore(world.automaton, op.snapshot(), arcs=world.pool, engine=name)
            out = carried_out(op, model, step)
            if out is not None:
                held = oracle.net(out, held)
                assert held == model.matches(), f"seed {seed}, step {i}: {step}"
                op._check()


def test_insertions_never_withdraw_anything(engine: str) -> None:
    found = fired = 0
    for seed in range(2 * WORLDS):
        world = World(f"insert only {seed}", revise=False)
        op = Ordered(world.automaton, number="seq", engine=engine, gaps="join" if seed % 2 else "break", **world.options())
        model = model_of(world)
        for step in world.steps:
            if step[0][0] == "arc" and step[0][1].le is not None:
                continue  # a lifetime in the past may withdraw
            out = carried_out(op, model, step) or []
            assert all(change.diff > 0 for change in out if not isinstance(change, Punctuation)), f"seed {seed}: {step}"
            found += len(out)
            fired += world.waits and len(out)
        assert op.statistics.retractions == 0
    assert found > 200
    assert fired > 50


def test_joined_it_ends_as_the_plain_operator_does(engine: str) -> None:
    for seed in range(WORLDS):
        world = World(f"joined {seed}")
        ends = []
        for make in (Operator, Ordered):
            more = {"gaps": "join"} if make is Ordered else {}
            name = "number" if make is Ordered else "sequence"
            op, model, found = make(world.automaton, engine=engine, **{name: "seq"}, **more, **world.options()), model_of(world), []
            for step in [*world.steps, [("event", Punctuation(FOREVER))]]:
                found += carried_out(op, model, step) or []
            ends.append(oracle.net(found))
        assert ends[0] == ends[1], f"seed {seed}"


def test_each_key_has_numbers_of_its_own(engine: str) -> None:
    """Both keys of a world's copy get the same events, one of them a little later; each is as if it were alone."""
    for seed in range(WORLDS // 3):
        world = World(f"keyed {seed}", revise=seed % 2 == 0)
        both = Ordered(world.automaton, number="seq", key=("side",), engine=engine, **world.options())
        alone = {side: Ordered(world.automaton, number="seq", engine=engine, **world.options()) for side in "lr"}
        held: dict[Any, set[Any]] = {"l": set(), "r": set()}
        ours: dict[Any, set[Any]] = {"l": set(), "r": set()}
        for step in world.steps:
            for port, item in step:
                if port == "arc":
                    continue
                late = isinstance(item, Punctuation)
                out = both.push(item) if late else [o for side in "lr" for o in both.push(item, key=(side,))]
                for side in "lr":
                    of = [o._replace(key=None) for o in out if not isinstance(o, Punctuation) and o.key == (side,)]
                    ours[side] = oracle.net(of, ours[side])
                    held[side] = oracle.net(alone[side].push(item), held[side])
                assert ours == held, f"seed {seed}: {item}"
                both._check()
