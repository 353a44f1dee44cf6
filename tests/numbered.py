"""Random streams of events that are numbered without gaps, and the model of what they mean (`tests.model.Blocks`)."""

from __future__ import annotations

from typing import Any

from afa import Arc, Automaton, Change, Punctuation, insert, retract
from tests import strategies
from tests.model import ERROR, Blocks, Model
from tests.strategies import Choices, Seeded
from tests.text import E, arc_of, automaton_of

FALLS = Automaton(start="a", final={"c"}, event=E, arcs=[Arc("a", "b", "kind == 0"), Arc("b", "c", "kind == 1")])
"""An event of kind 0, and right after it one of kind 1."""


def event(number: int, le: int, kind: int = 0) -> Change:
    """The event of a number."""
    return insert(E(kind, number), le)


def spans(out: list[Any]) -> list[Any]:
    """LE and sign of changes, and promises."""
    return [item.t if isinstance(item, Punctuation) else (item.le, item.diff) for item in out]


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
    return Blocks(world.automaton, order_by="seq", **world.options(), **options)


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
