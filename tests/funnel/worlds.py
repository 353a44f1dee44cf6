"""A driver of random worlds for funnels: ``python -m tests.funnel.worlds --worlds 2000 --seed 1``.

Worlds are those of `tests.stress.generate`: automata with ignorable arcs, skips, epsilon arcs and time-outs, arcs that come and
go, ties, disorder, retractions, promises, keys, snapshots. After *every* step the counts must be those that brute force finds.
"""

from __future__ import annotations

import argparse
import pprint
import sys
import time
from collections import Counter
from typing import Any

from afa import AfaError
from punctuation.time import BEGINNING
from tests.funnel.brute_force import Counts, counts
from tests.strategies import Seeded
from tests.stress import run as stress
from tests.stress.generate import World, as_longest, world
from tests.stress.mixes import mix

ENGINES = ("interpreted", "compiled")
HOW = ("entered", "before", "matched", "went_on", "by_match", "by_window", "by_no_arc", "open")


def expected(here: World, operator: Any) -> Counts:
    """What is to be counted, over all keys."""
    model, floor = here.model, max(operator._core.progress.floor, BEGINNING)
    changes = [(*event, n) for event, n in model.copies.items()]
    keys = [None] if model.key is None else {getattr(payload, model.key) for payload, *_ in changes}
    arcs = list(model.arcs)
    found = [
        counts(
            here.automaton,
            [change for change in changes if model.key is None or getattr(change[0], model.key) == key],
            arcs,
            model.event_promise,
            model.sequence,
            here.longest,
            floor,
        )
        for key in keys
    ]
    whole = Counts(Counter(), Counter(), 0, 0, 0)
    for one in found:
        whole = Counts(*(a + b for a, b in zip(whole, one)))  # type: ignore[operator]
    return whole


def check(here: World, operator: Any) -> int:
    """Compare; returns how often arcs were asked."""
    funnel, wanted = operator.funnel(most=None), expected(here, operator)
    events = operator._core.arcs.table.events
    ids = list(dict.fromkeys(id(event.arc) for event in events))
    assert len(ids) == len(funnel.arcs)
    promised = operator._core.progress.floor > BEGINNING
    asked = {(i, "asked"): arc.asked for i, arc in zip(ids, funnel.arcs)} | {
        (i, "true"): arc.true for i, arc in zip(ids, funnel.arcs)
    }
    for event in events:  # after a snapshot arcs of one name may be other objects
        assert any(event.arc == arc for arc, _, _ in here.model.arcs)
    if {id(arc) for arc, _, _ in here.model.arcs} >= set(ids):
        for place, n in asked.items():
            assert n == wanted.arcs[place], f"{place}, {[e.arc for e in events]}: {n}, expected {wanted.arcs[place]}; {funnel}"
    for state in funnel.states:
        for how in HOW:
            n = getattr(state, how)
            assert n == wanted.states[state.state, how], (
                f"{state.state} {how}: {n}, expected {wanted.states[state.state, how]}; {funnel}"
            )
        ends = state.went_on + state.by_match + state.by_window + state.by_no_arc + state.open
        assert state.entered + state.before == ends
    for arc in funnel.arcs:
        if arc.kind != "timeout":
            assert arc.asked == arc.true + arc.raised + sum(part.stopped for part in arc.parts)
    assert funnel.began == wanted.began
    assert funnel.events == wanted.events
    assert promised or funnel.matches == wanted.matches, f"{funnel.matches}, expected {wanted.matches}"
    return sum(arc.asked for arc in funnel.arcs)


def run(spec: dict[str, Any], engine: str) -> int:
    """Run a world; an AssertionError tells the first step at which a count is wrong."""
    here = World(spec)
    side = stress.Side(here, engine, stress.make)
    asked = 0
    for number, op in enumerate(spec["ops"]):
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
            asked += check(here, side.operator)
        except Exception as error:
            raise AssertionError(f"step {number}, {op} ({engine}): {type(error).__name__}: {error}") from error
    return asked


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


def numbered(seed: str, number: int) -> dict[str, Any]:
    """The world of a number: every third one a mix, of few instants and many changes; every fourth one with ``longest=True``."""
    choose, family = Seeded(f"{seed}/{number}"), Seeded(f"{seed}/family {number // 8}")
    spec = mix(choose, 30, family) if number % 3 == 2 else world(choose)
    return as_longest(choose, spec) if number % 4 == 3 else spec


def main(arguments: list[str] | None = None) -> int:
    """Run the worlds; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="number of the first world; with --worlds 1: just that one")
    options = parser.parse_args(arguments)
    begin, asked = time.perf_counter(), 0
    for number in range(options.first, options.first + options.worlds):
        spec = numbered(options.seed, number)
        for engine in ENGINES:
            try:
                asked += run(spec, engine)
            except AssertionError:
                print(f"seed {options.seed}, world {number} fails: {report(spec, engine)}\n", flush=True)
                return 1
    print(f"seed {options.seed}, worlds {options.worlds}, asked {asked:,}, {time.perf_counter() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
