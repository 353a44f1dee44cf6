"""Random worlds through a stage and an operator together; what the stage's invariant says after every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from afa import Punctuation
from punctuation.time import FOREVER
from speculation import After, Before, Cleanse
from tests import oracle
from tests.model import ERROR, LATE, OK, Model
from tests.stress.generate import BATCHES, Op, World
from tests.stress.run import call, check_late, make, match_of

Wrap = Callable[[Any], Any]


class Ran(NamedTuple):
    """What a run has met, and what is in force at its end."""

    held: set[Any]
    out: list[Any]
    steps: int
    waited: int


def before(sigma: Any) -> Wrap:
    """A fresh `Cleanse` before an operator."""
    return lambda operator: Cleanse(sigma).before(operator)


def after(sigma: Any) -> Wrap:
    """A fresh `Cleanse` after an operator."""
    return lambda operator: Cleanse(sigma).after(operator)


def run(spec: dict[str, Any], engine: str, wrap: Wrap, expected: Callable[[World, Any, Model], set[Any]]) -> Ran:
    """Run a world, end it by a punctuation, and compare what is in force with what is expected after every step."""
    here, handed, out = World(spec), [], []
    late = handed.append if here.options["late"] == "callback" else here.options["late"]
    around, held, waited = wrap(make(here, engine, late)), set[Any](), 0
    ops: list[Op] = [*spec["ops"], ("punctuate", FOREVER), ("punctuate_arcs", FOREVER)]
    for number, op in enumerate(ops):
        if op[0] == "save":
            around = again(here, around, handed, engine)
            continue
        came = step(here, around, op)
        out += came
        changes = [change._replace(payload=match_of(change)[0]) for change in came if not isinstance(change, Punctuation)]
        held = oracle.net(changes, held)
        check_late(here, around, handed)
        around._check()
        wanted = expected(here, around, here.model)
        assert held == wanted, f"step {number}, {op}: missing {wanted - held}, too much {held - wanted}"
        waited = max(waited, around.stage.statistics.held)
    return Ran(held, out, len(ops), waited)


def step(here: World, around: Any, op: Op) -> list[Any]:
    """One operation on model and stage alike: both take it, or neither."""
    items, trial, outcome = here.tried(op)
    before = state(here, around) if outcome != OK else None
    came, raised = call(here, around, op, items)
    assert raised == outcome, f"{op}: expected {outcome} but it ended {raised}"
    if outcome in (LATE, ERROR):
        assert state(here, around) == before, f"{op}: a rejected call left a trace"
        return []
    here.model = trial
    return came


def state(here: World, around: Any) -> Any:
    """All that a call that is rejected must leave as it was."""
    saved = around.snapshot() if here.automaton.event else None
    return saved, around.statistics, around.stage.statistics, around.stage.waiting()


def again(here: World, around: Any, handed: list[Any], engine: str) -> Any:
    """Stage and operator after a snapshot and a restore."""

    options: dict[str, Any] = {"arcs": here.pool[len(here.automaton.arcs) :], "engine": engine}
    options["late"] = handed.append if here.options["late"] == "callback" else here.options["late"]
    if here.options["key"]:
        options["key"] = here.options["key"]
    found = type(around).restore(here.automaton, around.snapshot(), **options)
    assert found.stage.statistics == around.stage.statistics
    assert found.stage.waiting() == around.stage.waiting()
    assert found.snapshot() == around.snapshot()
    return found


def matches_below(here: World, around: After, model: Model) -> set[Any]:
    """What has left a Cleanse after an operator: the matches below its bound."""
    return {match for match in model.matches() if match[1] < around.stage.statistics.bound}


def matches_of_released(here: World, around: Before, model: Model) -> set[Any]:
    """What an operator after a Cleanse knows: the matches of the events below the bound."""
    released = model.fork()
    bound = around.stage.statistics.bound
    for event in [event for event in released.copies if event[1] >= bound]:
        del released.copies[event]
    return released.matches()


def past_arcs(spec: dict[str, Any]) -> bool:
    """Whether a world changes arcs with a lifetime of their own, which may withdraw what is not final."""
    ops = [each for op in spec["ops"] for each in (op[1] if op[0] in BATCHES else [op])]
    return any(op[0].startswith("arc") and op[2] is not None for op in ops)


def retractions(out: list[Any]) -> int:
    """How many changes withdraw something."""
    return sum(not isinstance(change, Punctuation) and change.diff < 0 for change in out)
