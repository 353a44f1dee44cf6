"""A driver of random worlds for lineages: ``python -m tests.lineage.worlds --worlds 10000 --seed 1``.

Worlds are those of `tests.stress.generate`: automata with ignorable arcs, skips, epsilon arcs and time-outs, arcs that come and
go, ties, disorder, retractions, promises, keys, snapshots. After *every* step the lineage of every match in force must be the paths
that brute force finds; of one that began before the promise it must be refused, as that of a match that is not there.
With `kept` (``--kept``) operators have ``lineage=True``: then no match is refused that is in force, or was announced by the step.
"""

from __future__ import annotations

import argparse
import pprint
import sys
import time
from typing import Any, NamedTuple
from unittest import mock

from afa import AfaError, Change, ChangeError
from afa.compiled import inforce
from afa.operator import kept_lineage
from punctuation.time import BEGINNING, FOREVER
from tests.lineage.brute_force import Behind, TooManyError, behind
from tests.lineage.checks import check_lineage, either_way, refusal
from tests.strategies import Seeded
from tests.stress import run as stress
from tests.stress.generate import World, world
from tests.stress.mixes import mix

ENGINES = ("interpreted", "compiled")


class Seen(NamedTuple):
    """What runs have met."""

    steps: int = 0
    matches: int = 0
    paths: int = 0
    refused: int = 0
    early: int = 0  # began before the promise
    given_up: int = 0  # worlds from the step on at which there was too much for brute force

    def plus(self, other: Seen) -> Seen:
        return Seen(*(a + b for a, b in zip(self, other)))


def run(spec: dict[str, Any], engine: str) -> Seen:
    """Run a world; an AssertionError tells the first step at which a lineage is wrong."""
    with mock.patch.object(kept_lineage, "FEW", spec["options"].get("few", kept_lineage.FEW)):
        return _run(spec, engine)


def _run(spec: dict[str, Any], engine: str) -> Seen:
    here, seen = World(spec), Seen()
    side = stress.Side(here, engine, stress.make)
    known: dict[Any, Any] = {}
    for number, op in enumerate(spec["ops"]):
        final = here.model.effective
        try:
            if op[0] == "save":
                side.restore(here)
            else:
                trial = here.model.fork()
                ops = op[1] if op[0] in stress.BATCHES else [op]
                items = [(here.item(each), stress.on_arcs(each)) for each in ops]
                refused = any(stress.push(trial, each, item) != stress.OK for each, (item, _) in zip(ops, items))
                stress.call(here, side.operator, op, items)
                here.model = here.model if refused else trial
            with either_way(number):
                if spec["options"].get("lineage"):
                    seen = seen.plus(check_kept(here, side.operator, known, final))
                else:
                    seen = seen.plus(check(here, side.operator, known))
        except TooManyError:
            return seen.plus(Seen(given_up=1))
        except Exception as error:
            raise AssertionError(f"step {number}, {op} ({engine}): {type(error).__name__}: {error}") from error
    return seen


def expected(here: World, known: dict[Any, Any]) -> dict[Any, dict[Any, Behind]]:
    """By key, what stands behind each match."""
    model = here.model
    changes = [(*event, n) for event, n in model.copies.items()]
    keys = [None] if model.key is None else {getattr(payload, model.key) for payload, *_ in changes}
    found = {}
    for key in keys:
        own = [change for change in changes if model.key is None or getattr(change[0], model.key) == key]
        events = frozenset(change[:3] for change in own if change[3] > 0)
        case = events, tuple((id(arc), le, re) for arc, le, re in model.arcs), model.event_promise
        if case not in known:
            arcs = list(model.arcs)  # held, so that an id stands for one arc
            known[case] = arcs, behind(here.automaton, own, arcs, model.event_promise, model.sequence)
        found[key] = known[case][1]
    return found


def check(here: World, operator: Any, known: dict[Any, Any]) -> Seen:
    """Ask for every lineage."""
    seen, final = Seen(1), here.model.effective
    for key, matches in expected(here, known).items():
        for (register, le, re), (paths, first) in matches.items():
            match = Change(register, le, re, 1, key)
            if le < final or first < final:
                assert "promise" in refusal(operator, match, AfaError)
                seen = seen.plus(Seen(refused=1))
                continue
            check_lineage(operator.lineage(match), paths, key, here.model.sequence, here.automaton.event is not None)
            seen = seen.plus(Seen(0, 1, len(paths)))
            if (register, le, re + 1) not in matches and re < FOREVER:
                assert "near it" in refusal(operator, match._replace(re=re + 1), ChangeError)
    return seen


def check_kept(here: World, operator: Any, known: dict[Any, Any], final: int) -> Seen:
    """Ask an operator with ``lineage=True`` for every lineage; ``final``: what was so before the last call."""
    seen, core = Seen(1), operator._core
    operator._check()
    check_statistics(here, operator)
    for key, matches in expected(here, known).items():
        for (register, le, re), (paths, first) in matches.items():
            match = Change(register, le, re, 1, key)
            if le < core.progress.answers <= final:
                assert "it is final" in refusal(operator, match, ChangeError)
                seen = seen.plus(Seen(refused=1))
                continue
            check_lineage(operator.lineage(match), paths, key, here.model.sequence, here.automaton.event is not None)
            seen = seen.plus(Seen(0, 1, len(paths), early=first < here.model.effective))
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


def failure(spec: dict[str, Any], engine: str) -> str | None:
    """Why a world fails; None if it does not, or can't be built."""
    try:
        World(spec)
    except AfaError:
        return None
    try:
        run(spec, engine)
    except Exception as error:
        return str(error)
    return None


def report(spec: dict[str, Any], engine: str) -> str:
    """The smallest world found that fails, as text to paste."""
    small = stress.smaller(spec, lambda candidate: failure(candidate, engine) is not None)
    return f"{failure(small, engine)}\n\nrun({pprint.pformat(small, width=120, sort_dicts=False)}, {engine!r})"


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


def main(arguments: list[str] | None = None) -> int:
    """Run the worlds; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="number of the first world; with --worlds 1: just that one")
    parser.add_argument("--kept", action="store_true", help="operators with lineage=True")
    parser.add_argument("--failures", type=int, default=1, help="stop after so many")
    parser.add_argument("--warm", type=int, default=inforce.WARM, help="steps arc by arc before machine code of all arcs is made")
    options = parser.parse_args(arguments)
    inforce.WARM = options.warm
    seen, failed, begin, number = Seen(), 0, time.perf_counter(), options.first
    for number in range(options.first, options.first + options.worlds):
        spec = numbered(options.seed, number, options.kept)
        for engine in (*ENGINES, stress.BOTH) if options.kept else ENGINES:
            try:
                seen = seen.plus(run(spec, engine))
            except AssertionError:
                failed += 1
                print(f"seed {options.seed}, world {number} fails: {report(spec, engine)}\n", flush=True)
                break
        if failed >= options.failures:
            break
    print(f"seed {options.seed}, worlds {number + 1 - options.first}, failed {failed}, {seen}, {time.perf_counter() - begin:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
