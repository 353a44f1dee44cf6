"""Random automata: the lineage of every match in force must be the paths that brute force finds, after every step.

Worlds are those of `tests.stress.generate`: automata with ignorable arcs, skips, epsilon arcs and time-outs, arcs that come and
go, ties, disorder, retractions, promises, keys, snapshots. The lineage of a match that began before the promise must be refused, as
that of a match that is not there. Those of `KEPT` have ``lineage=True``: then no match is refused that is in force, or
was announced by the step.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

from afa import AfaError, Change, ChangeError
from afa.operator import kept_lineage
from punctuation.time import BEGINNING, FOREVER
from tests.lineage.brute_force import Behind, behind
from tests.lineage.checks import check_lineage, either_way, refusal
from tests.strategies import Seeded
from tests.stress import run as stress
from tests.stress.generate import World, world
from tests.stress.mixes import mix
from tests.worlds.kind import ENGINES, Seen, Worlds


def run(spec: dict[str, Any], engine: str) -> Seen:
    """Run a world; an AssertionError tells the first step at which a lineage is wrong."""
    known: dict[Any, Any] = {}

    def look(here: World, operator: Any, number: int, final: int) -> Seen:
        with either_way(number):
            return check_kept(here, operator, known, final) if here.options.get("lineage") else check(here, operator, known)

    with mock.patch.object(kept_lineage, "FEW", spec["options"].get("few", kept_lineage.FEW)):
        return stress.followed(spec, engine, look)


def expected(model: Any, automaton: Any, known: dict[Any, Any]) -> dict[Any, dict[Any, Behind]]:
    """By key, what stands behind each match in force; ``known``: what was said of the same before."""
    changes = [(*event, n) for event, n in model.copies.items()]
    keys = [None] if model.key is None else {getattr(payload, model.key) for payload, *_ in changes}
    found = {}
    for key in keys:
        own = [change for change in changes if model.key is None or getattr(change[0], model.key) == key]
        events = frozenset(change[:3] for change in own if change[3] > 0)
        case = events, tuple((id(arc), le, re) for arc, le, re in model.arcs), model.event_promise
        if case not in known:
            arcs = list(model.arcs)  # held, so that an id stands for one arc
            known[case] = arcs, behind(automaton, own, arcs, model.event_promise, model.sequence)
        found[key] = known[case][1]
    return found


def check(here: World, operator: Any, known: dict[Any, Any]) -> Seen:
    """Ask for every lineage."""
    seen, final = Seen(steps=1), here.model.effective
    for key, matches in expected(here.model, here.automaton, known).items():
        for (register, le, re), (paths, first) in matches.items():
            match = Change(register, le, re, 1, key)
            if le < final or first < final:
                assert "promise" in refusal(operator.lineage, match, AfaError)
                seen["refused"] += 1
                continue
            check_lineage(operator.lineage(match), paths, key, here.model.sequence, here.automaton.event is not None)
            seen.update(matches=1, paths=len(paths))
            if (register, le, re + 1) not in matches and re < FOREVER:
                assert "near it" in refusal(operator.lineage, match._replace(re=re + 1), ChangeError)
    return seen


def check_kept(here: World, operator: Any, known: dict[Any, Any], final: int) -> Seen:
    """Ask an operator with ``lineage=True`` for every lineage; ``final``: what was so before the last call."""
    seen, core = Seen(steps=1), operator._core
    operator._check()
    check_statistics(here, operator)
    for key, matches in expected(here.model, here.automaton, known).items():
        for (register, le, re), (paths, first) in matches.items():
            match = Change(register, le, re, 1, key)
            if le < core.progress.answers <= final:
                assert "it is final" in refusal(operator.lineage, match, ChangeError)
                seen["refused"] += 1
                continue
            check_lineage(operator.lineage(match), paths, key, here.model.sequence, here.automaton.event is not None)
            seen.update(matches=1, paths=len(paths), early=first < here.model.effective)
        for step in core.engine.steps(key, BEGINNING, FOREVER - 1):
            assert not step.events or step.le >= core.progress.floor, f"{step} below {core.progress.floor}"
    return seen


def check_statistics(here: World, operator: Any) -> None:
    """What is held is what must be: all events from the floor on, those that are final told apart."""
    copies, final, floor = here.model.copies, here.model.effective, operator._core.progress.floor
    held = {place: n for place, n in copies.items() if n > 0 and place[1] >= floor}
    kept = {place: n for place, n in held.items() if place[1] < final}
    step = [*(here.model.key,) * bool(here.model.key), *(here.model.sequence,) * bool(here.model.sequence)]
    steps = {(le, *(getattr(payload, name) for name in step)) for payload, le, _ in kept}
    found = operator.statistics
    told = found.events, found.kept_events, found.kept_steps
    assert told == (sum(held.values()), sum(kept.values()), len(steps)), f"{found}, expected {held}, kept {kept}"


def numbered(seed: str, number: int, kept: bool = False) -> dict[str, Any]:
    """The world of a number: every third one a mix, of few instants and many changes. ``kept``: with ``lineage=True``."""
    choose, family = Seeded(f"{seed}/{number}"), Seeded(f"{seed}/family {number // 8}")
    spec = mix(choose, 40, family) if number % 3 == 2 else world(choose)
    for arc in [*spec["automaton"]["arcs"], *spec["extra"]]:
        if "kind" not in arc and choose.chance(40):
            arc["select"] = choose.one(("u", "v", ""))
    if kept:
        spec["options"] |= {"lineage": True, "window": choose.one((2, 3, 5, 9, 9, None)), "few": choose.one((0, 4))}
        for at in range(len(spec["ops"]), 0, -choose.number(3, 12)):  # more promises: most of them new ones
            spec["ops"].insert(at, ("punctuate", at * spec["options"]["horizon"] // len(spec["ops"])))
    return spec


WORLDS = Worlds("lineage", numbered, run, stress.smaller)
KEPT = Worlds(
    "kept-lineage",
    lambda seed, number: numbered(seed, number, kept=True),
    run,
    stress.smaller,
    engines=(*ENGINES, stress.BOTH),
)
