"""Run a world on an operator and compare it with the oracle after every step; worlds that are smaller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from afa import AfaError, Keyed, LateEventError, Operator, Punctuation
from punctuation.time import FOREVER
from tests import oracle
from tests.model import ERROR, LATE, OK
from tests.stress import tables
from tests.stress.generate import BATCHES, Op, World, parts, push
from tests.worlds.kind import RefusedError, Seen, TooManyError

Make = Callable[[World, str, Any], Any]
BOTH, EACH = "both", "each"
"""Names of engines: a run that goes on, after each save, with the other one; two of those side by side, that change over."""
EVERY = 1
"""After so many steps `operator._check()` must hold."""


class Expected(NamedTuple):
    """What the model says of an operation: how it may end, the matches and promises between its changes, and the model after it."""

    items: list[tuple[Any, bool]]
    outcomes: set[str]  # one; several where more than one item of a net batch is refused: which of them is told is not promised
    trail: list[tuple[set[Any], int]]
    model: Any


def make(here: World, engine: str, late: Any, **more: Any) -> Any:
    """The operator of a world, with more options."""
    options = {name: here.options[name] for name in ("window", "order_by", "arc_punctuation")}
    options["longest"] = here.longest
    options |= {name: here.options[name] for name in ("lineage",) if name in here.options} | more
    engine = engine if here.automaton.event else "interpreted"  # which alone takes any payload
    engine = "compiled" if engine == BOTH else engine
    if here.options["key"]:
        return Keyed(here.automaton, key=here.options["key"], engine=engine, late=late, **options)
    return Operator(here.automaton, engine=engine, late=late, **options)


class Side:
    """An operator at work, and what it handed to its policy."""

    def __init__(self, here: World, engine: str, make: Make) -> None:
        self.handed: list[Any] = []
        self.change_over = engine == BOTH
        self.operator = make(here, engine, self.late(here))

    def late(self, here: World) -> Any:
        """The policy for late changes."""
        return self.handed.append if here.options["late"] == "callback" else here.options["late"]

    def restore(self, here: World) -> None:
        """Go on with what a snapshot says."""
        engine = self.operator._core.engine.name
        if self.change_over:
            engine = "compiled" if engine == "interpreted" else "interpreted"
        self.operator = restored(here, self.operator, self.late(here), engine)

    def check(self, here: World, held: set[Any], all_of_it: bool) -> None:
        """What statistics and policy say, and the invariants of the state."""
        check_late(here, self.operator, self.handed)
        if all_of_it:
            check_statistics(here, self.operator, held)
            self.operator._check()


def sides_of(here: World, engine: str, make: Make) -> list[Side]:
    """The operators of a run."""
    sides = [Side(here, name, make) for name in (["interpreted", BOTH] if engine == EACH else [engine])]
    for side in sides:
        side.change_over = engine in (BOTH, EACH)
    return sides


def made(spec: dict[str, Any]) -> World:
    """The world of a spec; `RefusedError` where its automaton is none."""
    try:
        return World(spec)
    except AfaError as error:
        raise RefusedError(str(error)) from None


def followed(spec: dict[str, Any], engine: str, look: Callable[[World, Any, int, int], Seen], make: Make = make) -> Seen:
    """Carry out a world's operations; after each ``look(here, operator, number, final)`` says what it has met.

    ``final`` is what was final before the operation. A look that raises is the fault of its step.
    """
    here, seen = made(spec), Seen()
    side = Side(here, engine, make)
    for number, op in enumerate(spec["ops"]):
        final = here.model.effective
        try:
            if op[0] == "save":
                side.restore(here)
            else:
                items, trial, end = here.tried(op)
                call(here, side.operator, op, items)
                here.model = trial if end == OK else here.model
            seen.update(look(here, side.operator, number, final))
        except TooManyError:
            return seen + Seen(given_up=1)
        except Exception as error:
            raise AssertionError(f"step {number}, {op} ({engine}): {type(error).__name__}: {error}") from error
    return seen


def run(spec: dict[str, Any], engine: str = "interpreted", make: Make = make) -> Seen:
    """Run a world; the invariants are checked after `EVERY` steps, and after the last.

    An `AssertionError` tells the first step after which operator and oracle differ; what the operator raises unasked is passed on.
    """
    here = made(spec)
    sides = sides_of(here, engine, make)
    held: set[Any] = set()
    seen = Seen()
    for number, op in enumerate(spec["ops"]):
        side = sides[0]
        try:
            if op[0] == "save":
                for side in sides:
                    side.restore(here)
                    side.operator._check()
                continue
            expected = meant(here, op, held)
            for side in sides:
                out = take(here, side.operator, op, expected)
            if OK in expected.outcomes:
                here.model = expected.model
            after = expected.trail[-1][0] if OK in expected.outcomes else held
            for side in sides:
                side.check(here, after, all_of_it=number % EVERY == 0 or number + 1 == len(spec["ops"]))
        except Exception as error:
            where = f" ({side.operator._core.engine.name})" if len(sides) > 1 else ""
            raise AssertionError(f"step {number}, {op}{where}: {type(error).__name__}: {error}") from error
        retracted = sum(change.diff < 0 for change in out if not isinstance(change, Punctuation))
        seen.update(steps=1, matches=len(after - held), retractions=retracted, rejected=int(out is REJECTED))
        held = after
    return seen


REJECTED: list[Any] = []


def check_late(here: World, operator: Any, handed: list[Any]) -> None:
    """All that came too late was counted, and handed to the callback if there is one."""
    dropped = here.model.dropped
    assert operator.statistics.late == len(dropped), f"statistics.late: {operator.statistics.late}, expected {dropped}"
    expected = Counter(dropped if here.options["late"] == "callback" else [])
    got = Counter((change.payload, change.le, change.diff) for change in handed)
    assert got == expected, f"handed to the callback: {handed}, expected {expected}"


def check_statistics(here: World, operator: Any, held: set[Any]) -> None:
    """What the operator says that it holds is what the contract leaves it to hold: nothing final, no events below the promise."""
    copies, final, statistics = here.model.copies, here.model.effective, operator.statistics
    expected = {
        "events": sum(n for (_, le, _), n in copies.items() if n > 0 and le >= final),
        "pending": sum(-n for n in copies.values() if n < 0) + len(here.model.waiting),
        "matches": sum(le >= final for _, le, _ in held),
    }
    got = {name: getattr(statistics, name) for name in expected}
    assert got == expected, f"{statistics}, expected {expected}"


def step(here: World, operator: Any, op: Op, held: set[Any]) -> tuple[set[Any], list[Any]]:
    """One operation on operator and model alike; what is in force after it, and what was emitted."""
    expected = meant(here, op, held)
    out = take(here, operator, op, expected)
    if OK not in expected.outcomes:
        return held, REJECTED
    here.model = expected.model
    return expected.trail[-1][0], out


def meant(here: World, op: Op, held: set[Any]) -> Expected:
    """What the model and the oracle say of an operation, where ``held`` is in force before it."""
    items = here.items(op)
    trial, trail = here.model.fork(), [(held, here.model.effective)]
    refused: set[str] = set()
    for each, (item, _) in zip(parts(op), items):
        refused |= {push(trial, each, item)} - {OK}
        if refused and not (op[0] in BATCHES and op[2]):
            break
        if op[0] in BATCHES and not op[2]:
            trail.append((trial.matches(), trial.effective))
    if not refused and len(trail) == 1:
        trail.append((trial.matches(), trial.effective))
    return Expected(items, refused or {OK}, trail, trial)


def take(here: World, operator: Any, op: Op, expected: Expected) -> list[Any]:
    """One operation on an operator, held against what the model says of it; what was emitted."""
    before = (counters(operator), saved(here, operator)) if OK not in expected.outcomes else None
    out, raised = call(here, operator, op, expected.items)
    assert raised in expected.outcomes, f"expected {expected.outcomes} but it ended {raised}"
    if OK not in expected.outcomes:
        assert (counters(operator), saved(here, operator)) == before, "a rejected change left a trace"
        return REJECTED
    check_output(out, expected.trail, table=op[0] == "table")
    if expected.model.effective == FOREVER:
        assert operator.statistics.state_size == 0, f"the stream has ended, but {operator.statistics} is held"
    return out


def saved(here: World, operator: Any) -> bytes:
    """The state as bytes; none where it can't be saved."""
    return operator.snapshot() if here.automaton.event else b""


def call(here: World, operator: Any, op: Op, items: list[tuple[Any, bool]]) -> tuple[list[Any], str]:
    """Push an operation; what was emitted, and how it ended."""
    try:
        if op[0] == "batch":
            return operator.push_many([item for item, _ in items], net=op[2]), OK
        if op[0] == "table":
            return tables.push(here, operator, [item for item, _ in items], net=op[2]), OK
        if op[0] == "list":
            return tables.push_list(here, operator, [item for item, _ in items], net=op[2]), OK
        ((item, arcs),) = items
        return (operator.push_arc(item) if arcs else operator.push(item)), OK
    except LateEventError:
        return [], LATE
    except AfaError:
        return [], ERROR


def check_output(out: list[Any], trail: list[tuple[set[Any], int]], table: bool = False) -> None:
    """The minimal difference between each two neighbours of the trail, in the promised order, then the punctuation.

    A table has one row for punctuations, the last one: it says the last of them, and is there only if the batch had rows of kinds.
    An `AssertionError` tells what is missing, or too much, or was already final.
    """
    expected: Counter[Any] = Counter()
    for (before, final), (after, _) in pairwise(trail):
        expected.update((-1, *match) for match in before - after)
        expected.update((1, *match) for match in after - before)
        changed = before ^ after
        assert all(le >= final for _, le, _ in changed), f"the contract itself changed what was final at {final}: {changed}"
    changes = [change for change in out if not isinstance(change, Punctuation)]
    got = Counter((change.diff, *match_of(change)) for change in changes)
    assert got == expected, f"missing {dict(expected - got)}, too much {dict(got - expected)}"
    advanced = sorted({final for _, final in trail} - {trail[0][1]})
    advanced = advanced[-1:] if table else advanced
    assert [item.t for item in out if isinstance(item, Punctuation)] == advanced, f"punctuations: {out}, expected {advanced}"
    if len(trail) == 2:
        order = [(change.diff, change.le) for change in changes]
        assert order == sorted(order), f"order: retractions first, then insertions, each by LE: {out}"
        assert not advanced or isinstance(out[-1], Punctuation), f"order: the punctuation is last: {out}"


def match_of(change: Any) -> tuple[Any, int, int]:
    """The match that an output change is about, as the model has it: with the key, where there is one."""
    register = oracle.one_nan(change.payload)
    return (register if change.key is None else (change.key, register)), change.le, change.re


def counters(operator: Any) -> Any:
    """The statistics as a value."""
    statistics = operator.statistics
    return dict(statistics._asdict()) if hasattr(statistics, "_asdict") else dict(vars(statistics))


def restored(here: World, operator: Any, late: Any, engine: str) -> Any:
    """The operator after a snapshot and a restore into an engine."""
    options = {"arcs": here.pool[len(here.automaton.arcs) :], "late": late, "engine": engine}
    if here.options["key"]:
        options["key"] = here.options["key"]
    return type(operator).restore(here.automaton, operator.snapshot(), **options)


def smaller(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Worlds with one thing less: an operation (the last first), an arc, a final state, a transfer, an option."""
    ops, automaton, extra = spec["ops"], spec["automaton"], spec["extra"]
    for i in reversed(range(len(ops))):
        yield {**spec, "ops": ops[:i] + ops[i + 1 :]}
        if ops[i][0] in BATCHES:
            for k in range(len(ops[i][1])):
                fewer = (ops[i][0], ops[i][1][:k] + ops[i][1][k + 1 :], ops[i][2])
                yield {**spec, "ops": [*ops[:i], fewer, *ops[i + 1 :]]}
            yield {**spec, "ops": ops[:i] + ops[i][1] + ops[i + 1 :]}
    used = {int(op[1]) for batch in ops for op in (batch[1] if batch[0] in BATCHES else [batch]) if op[0] in ARC_OPS}
    if extra and not any(i >= len(automaton["arcs"]) for i in used):
        yield {**spec, "extra": []}
    for i in range(len(automaton["arcs"])):
        if not used:
            yield {**spec, "automaton": {**automaton, "arcs": automaton["arcs"][:i] + automaton["arcs"][i + 1 :]}}
    for name, value in (("key", None), ("order_by", None), ("arc_punctuation", False), ("late", "raise"), ("window", None)):
        if spec["options"][name] != value:
            yield {**spec, "options": {**spec["options"], name: value}}


ARC_OPS = ("arc+", "arc-", "arc-copy")
