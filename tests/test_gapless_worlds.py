"""AFA+O in random worlds (`tests.numbered`): within blocks of adjacent numbers the oracle, across gaps nothing, nothing withdrawn.

Both names of it: `gapless=` of an `Operator` and a `Keyed`, and `speculation.Ordered`.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import pytest

from afa import AfaError, Gapless, Keyed, Operator, Punctuation
from afa.compiled import choices
from punctuation.time import FOREVER
from speculation import Ordered
from tests import oracle
from tests.conftest import ENGINES
from tests.numbered import World, carried_out, model_of
from tests.strategies import Seeded
from tests.text import E

WORLDS: dict[Any, int] = {Operator: 60, Ordered: 50}
FIELD = {Operator: "gapless", Ordered: "number"}


def numbers(kind: Any, **policies: Any) -> dict[str, Any]:
    """The options that say how events are numbered."""
    return {"gapless": Gapless("seq", **policies)} if kind is Operator else {"number": "seq", **policies}


BOTH = pytest.mark.parametrize("kind", WORLDS, ids=["gapless", "ordered"])


@BOTH
@pytest.mark.parametrize("gaps", ["break", "join"])
def test_after_each_step_it_is_the_oracle_within_blocks(engine: str, gaps: Any, kind: Any) -> None:
    twice = {"repeated": "drop"} if kind is Operator else {}  # numbers that come once more: left out, or refused
    for seed in range(WORLDS[kind]):
        world = World(f"{FIELD[kind].replace('number', 'ordered')} {gaps} {seed}")
        model = model_of(world, join=gaps == "join", **twice)
        op = kind(world.automaton, engine=engine, **numbers(kind, gaps=gaps, **twice), **world.options())
        _followed(op, model, world, f"seed {seed}", more=bool(twice))


def _followed(op: Any, model: Any, world: World, name: str, more: bool) -> set[Any]:
    """What is in force at the end, as it was the model's after each step; ``more``: numbers come once more."""
    held: set[Any] = set()
    for i, step in enumerate([*world.steps, [("event", Punctuation(FOREVER))]]):  # joined, it ends as the plain operator does
        if world.choose.chance(12):
            op = _again(op, world)
        if more and world.choose.chance(15):
            step = [*step, *_once_more(world.choose, step)]
        out = carried_out(op, model, step)
        if out is not None:
            held = oracle.net(out, held)
            assert held == model.matches(), f"{name}, step {i}: {step}"
            op._check()
    return held


@pytest.mark.parametrize("gaps", ["break", "join"])
def test_the_longest_within_blocks(engine: str, gaps: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "WARM", 0)
    fewer = 0
    for seed in range(WORLDS[Operator]):
        world = World(f"longest {gaps} {seed}")
        model = model_of(world, join=gaps == "join", repeated="drop", longest=True)
        numbers = Gapless("seq", gaps=gaps, repeated="drop")
        op = Operator(world.automaton, engine=engine, gapless=numbers, longest=True, **world.options())
        held = _followed(op, model, world, f"seed {seed}", more=False)
        model.longest = False
        fewer += model.matches() > held
    assert fewer > 5


def _once_more(choose: Any, step: list[Any]) -> list[Any]:
    """An event of a step again, or another one of its number."""
    events = [item for port, item in step if port == "event" and not isinstance(item, Punctuation) and item.diff > 0]
    return [("event", event._replace(payload=E(choose.number(0, 2), event.payload.seq))) for event in events[:1]]


def _again(op: Any, world: World) -> Any:
    """The same operator from a snapshot, on either engine, from a copy."""
    if world.choose.chance(25):
        return copy.deepcopy(op)
    return type(op).restore(world.automaton, op.snapshot(), arcs=world.pool, engine=world.choose.one(ENGINES))


def test_insertions_never_withdraw_anything(engine: str) -> None:
    found = fired = 0
    for seed in range(2 * WORLDS[Ordered]):
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


def test_each_key_is_as_if_it_were_alone(engine: Any) -> None:
    for seed in range(WORLDS[Operator] // 2):
        world = World(f"gapless keys {seed}", revise=seed % 2 == 0)
        numbered = partial(Gapless, "seq", repeated="drop", gaps="join" if seed % 3 else "break")
        options: dict[str, Any] = world.options()
        told: dict[Any, list[Any]] = {side: [] for side in "lr"}
        alone = {}
        for side in "lr":
            gapless = numbered(on_gap=lambda *gap, to=told[side]: to.append(gap[1:]))
            alone[side] = Operator(world.automaton, engine=engine, gapless=gapless, **options)
        gaps: Any = []
        both: Any = Keyed(world.automaton, key=("side",), engine=engine, gapless=numbered(on_gap=_noted(gaps)), **options)
        choose = Seeded(f"sides {seed}")
        held: dict[Any, set[Any]] = {"l": set(), "r": set()}
        ours: dict[Any, set[Any]] = {"l": set(), "r": set()}
        for step in world.steps:
            for port, item in step:
                if port == "arc":
                    continue
                sides = "lr" if isinstance(item, Punctuation) else choose.one(["lr", "l", "r"])
                if isinstance(item, Punctuation):
                    out = both.push(item)
                else:
                    out = [change for side in sides for change in both.push(item, key=(side,))]
                for side in sides:
                    of = [
                        change._replace(key=None) for change in out if not isinstance(change, Punctuation) and change.key == (side,)
                    ]
                    ours[side] = oracle.net(of, ours[side])
                    held[side] = oracle.net(alone[side].push(item), held[side])
                assert ours == held, f"seed {seed}: {item}"
                both._check()
            if choose.chance(10):
                both = Keyed.restore(
                    world.automaton,
                    both.snapshot(),
                    key=("side",),
                    gapless=numbered(on_gap=_noted(gaps)),
                    engine=choose.one(ENGINES),
                )
        for side in "lr":  # of a key that was forgotten in between less may be told
            assert {gap[1:] for gap in gaps if gap[0] == (side,)} <= set(told[side]), f"seed {seed}"


def _noted(gaps: list[Any]) -> Any:
    return lambda *gap: gaps.append(gap)


def test_both_engines_say_and_hold_the_same() -> None:
    """Also where the arc input makes promises of its own: statistics, gaps that are told, snapshots to the byte."""
    for seed in range(WORLDS[Operator]):
        world = World(f"agree {seed}", revise=seed % 3 > 0)
        choose = world.choose
        options: dict[str, Any] = world.options()
        numbered = partial(Gapless, "seq", gaps=choose.one(["break", "join"]), repeated="drop")
        options["arc_punctuation"] = choose.chance(50)
        told: list[list[Any]] = [[], []]
        arcs = list({id(item.payload): item.payload for step in world.steps for port, item in step if port == "arc"}.values())
        a, b = (
            Keyed(world.automaton, key=("side",), engine=name, gapless=numbered(on_gap=_noted(gaps)), **options)  # type: ignore[arg-type]
            for name, gaps in zip(["interpreted", "compiled"], told)
        )
        for step in world.steps:
            if options["arc_punctuation"] and choose.chance(25):
                step = [*step, ("arc", Punctuation(choose.number(-2, 12)))]
            for port, item in step:
                sides = [None] if port == "arc" or isinstance(item, Punctuation) else choose.one([["l"], ["r"], ["l", "r"]])
                for side in sides:
                    assert _said(a, port, item, side) == _said(b, port, item, side), f"seed {seed}: {item}"
            assert a.statistics == b.statistics._replace(
                intervals=a.statistics.intervals, partial_matches=a.statistics.partial_matches, state_size=a.statistics.state_size
            )
            assert sorted(map(repr, told[0])) == sorted(map(repr, told[1])), f"seed {seed}"
            if choose.chance(10):
                b = Keyed.restore(
                    world.automaton,
                    b.snapshot(),
                    key=("side",),
                    arcs=arcs,
                    engine="compiled",
                    gapless=numbered(on_gap=_noted(told[1])),
                )
        assert a.snapshot() == b.snapshot(), f"seed {seed}"


def _said(op: Any, port: str, item: Any, side: str | None) -> Any:
    try:
        if side is not None:
            return op.push(item, key=(side,))
        return op.push_arc(item) if port == "arc" else op.push(item)
    except AfaError as error:
        return type(error), str(error)
