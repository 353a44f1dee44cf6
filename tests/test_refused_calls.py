"""A call that is refused when all of its work is done leaves nothing: two operators, of which one gets such calls in between."""

from __future__ import annotations

from typing import Any

import pytest

from afa import Arc, Automaton, Change, LateEventError, Operator, Punctuation, insert, retract
from afa.compiled.kernel import layout as k
from punctuation.time import FOREVER
from tests.lanes import sample
from tests.strategies import Seeded
from tests.stress import tables
from tests.stress.generate import World, fits_table, pieces, push, world
from tests.stress.run import call, counters, make
from tests.text import E


class RefusalError(Exception):
    """What the callback for late changes raises."""


class Side:
    """A policy for late changes that keeps them, and can be told to refuse."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.refuses = False

    def __call__(self, change: Change) -> None:
        if self.refuses:
            raise RefusalError
        self.kept.append(change)


def refused_call(choose: Seeded, here: World, operator: Any, side: Side) -> None:
    """Some changes, the promise that makes late what waits, and a change behind it: of all of them nothing stays."""
    t = max(here.model.event_promise, 0) + choose.number(1, 9)
    waiting = [op for op in here.model.copies.items() if op[1] < 0]
    ops: list[Any] = [op for _ in range(3) for op in pieces(choose, here) if op[0] != "punctuate_arcs"]
    ops = [op for op in ops if op[0] != "arc-copy" and not (op[0] == "arc-" and op[2] is None)]  # which may be none in force
    ops += [("copies", tuple(event[0]), event[1], event[2], -n) for event, n in waiting if choose.chance(70)]
    ops += [("punctuate", t), ("insert", (0, 0), t - 1, None)]
    trial = here.model.fork()
    if any(push(trial, op, here.item(op)) == "error" for op in ops):
        return
    items = [here.item(op) for op in ops]
    side.refuses = True
    before = counters(operator), waiting_blocks(operator)
    net, table = choose.chance(70), bool(here.automaton.event) and fits_table(ops, here) and choose.chance(50)
    with pytest.raises(RefusalError):
        tables.push(here, operator, items, net) if table else operator.push_many(items, net=net)
    side.refuses = False
    assert (counters(operator), waiting_blocks(operator)) == before
    operator._check()


def waiting_blocks(operator: Any) -> int:
    """What the kernels know of retractions that wait: the one of their words that lasts from call to call and is no measure."""
    engine = operator._core.engine
    return int(engine.store.memory.m[k.Memory.waiting]) if engine.name == "compiled" else 0


def carried_out(here: World, operator: Any, op: Any) -> Any:
    """What one operation of a world gives: its output, in an order in which nothing ties, and how it ended."""
    out, end = call(here, operator, op, here.items(op))
    return (out if op[0] in ("batch", "insert", "retract") else sorted(out, key=repr)), end


def twins(seed: int, engine: str) -> int:
    """A world on two operators, of which the second one gets calls that are refused; how many changes were late in the end."""
    spec = world(Seeded(f"refused/{seed}"))
    spec["options"]["late"] = "callback"
    here, choose, sides = World(spec), Seeded(f"refusals/{seed}"), (Side(), Side())
    plain, other = (make(here, engine, side) for side in sides)
    for op in [op for op in spec["ops"] if op[0] != "save" and op != ("punctuate", FOREVER)] + [("punctuate", 40)]:
        _, trial, end = here.tried(op)
        if end != "ok":
            continue
        refused_call(choose, here, other, sides[1])
        here.model = trial
        assert carried_out(here, other, op) == carried_out(here, plain, op), f"seed {seed}, {op}"
        assert counters(other) == counters(plain), f"seed {seed}, {op}"
        assert sides[1].kept == sides[0].kept, f"seed {seed}, {op}"
    return len(sides[0].kept)


@sample(30, 3000)
def test_worlds(engine: str, numbers: range) -> None:
    assert sum(twins(seed, engine) for seed in numbers) > len(numbers) // 3


two = Automaton(start="a", final={"c"}, event=E, arcs=[Arc("a", "b", "e.kind == 1"), Arc("b", "c", "e.kind == 2")])


def test_a_waiting_retraction_outlives_a_refused_call(engine: str) -> None:
    """Its insertion came, and the promise that would have made it late, in a call that was refused."""
    handed: list[Any] = []
    op = Operator(two, window=10, engine=engine, late=handed.append)
    strict = Operator(two, window=10, engine=engine)
    for each in (op, strict):
        each.push(retract(E(1), le=5))
        with pytest.raises(Exception, match="diff=0"):
            each.push_many([insert(E(1), le=5), Punctuation(3), Change(E(2), 9, None, 0)])
        assert each.statistics.pending == 1
    op.push(Punctuation(7))
    assert handed == [Change(E(1), 5, 15, -1)]
    for _ in range(2):
        with pytest.raises(LateEventError, match=r"expected the insertion of E\(kind=1, seq=0\) at le=5 before 7"):
            strict.push(Punctuation(7))
