"""One corpus, every way in: each case of `cases/` through each of `tests.ways`, on each engine, and against the oracle."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import afa
from afa import AfaError
from punctuation.time import FOREVER
from tests.corpus import PATHS, Case, emitted, is_arc, read
from tests.model import ERROR, LATE, OK, Blocks, Model
from tests.ways import WAYS, Way

IDS = [path.stem for path in PATHS]


def goes(way: type[Way], path: Path) -> bool:
    """Whether any arrival of a case goes a way."""
    return way.reach(read(path)).arrivals > 0


RUNS = [
    pytest.param(way, engine, path, id=f"{way.__name__}-{engine}-{path.stem}")
    for way in WAYS
    for engine in way.engines
    for path in PATHS
    if goes(way, path)
]


@pytest.mark.parametrize(("way", "engine", "path"), RUNS)
def test_each_way(way: type[Way], engine: str, path: Path) -> None:
    """The case emits what it says, arrival by arrival, whichever way it comes in."""
    case = Case(path)
    reach, here = way.reach(case), way(case, engine)
    for number, arrival in enumerate(here.case.arrivals[: reach.arrivals]):
        where = f"{path.name}, arrival {number}: {arrival.text}"
        if arrival.error:
            with pytest.raises(getattr(afa, arrival.error)):
                here.push(arrival)
        else:
            assert emitted(here.push(arrival)) == arrival.expected, where
        here.check()
    if not reach.why:
        assert here.late == case.late
    elif way.raises:
        with pytest.raises(AfaError):
            here.push(here.case.arrivals[reach.arrivals])


@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_oracle(path: Path) -> None:
    """The case's expectations are what the contract's text gives by brute force."""
    case = Case(path)
    model = model_of(case)
    held, final = in_force(case, model), model.effective
    for number, arrival in enumerate(case.arrivals):
        where = f"{path.name}, arrival {number}: {arrival.text}"
        trial = model.fork()
        outcomes = [trial.push_arc(item) if arrival.on_arcs or is_arc(item) else trial.push(item) for item in arrival.items]
        wanted = LATE if arrival.error == "LateEventError" else ERROR if arrival.error else OK
        assert max(outcomes, key=(OK, LATE, ERROR).index) == wanted, where
        if wanted != OK:
            continue
        model, before = trial, held
        held = in_force(case, model)
        expected = Counter(("+", *match) for match in held - before) + Counter(("-", *match) for match in before - held)
        if model.effective > final:
            expected["punctuation", final := model.effective] += 1
        assert expected == arrival.expected, where
    assert len(model.dropped) == case.late


def model_of(case: Case) -> Model:
    """What the contract says of the case's operator."""
    options = dict(case.options)
    if "gapless" not in options:
        return Model(case.automaton, **options)
    number = options.pop("gapless")
    return Blocks(case.automaton, order_by=number, join=options.pop("gaps", "break") == "join", **options)


def in_force(case: Case, model: Model) -> set[Any]:
    """The matches in force; with a stage, those of the events, or those matches, that it has let go."""
    if case.stage is None:
        return model.matches()
    before, sigma = case.stage["place"] == "before", case.stage["cleanse"]
    bound = min((model.event_promise if before else model.effective) + sigma, FOREVER)
    if not before:
        return {match for match in model.matches() if match[1] < bound}
    released = model.fork()
    for event in [event for event in released.copies if event[1] >= bound]:
        del released.copies[event]
    return released.matches()


def test_there_are_cases() -> None:
    """An empty folder would pass everything above."""
    assert len(PATHS) >= 45
    assert PATHS[0].stem == "01_worked_example"


LEAST = {"Push": 0.98, "PayloadFree": 0.3, "CleanseBefore": 0.8, "CleanseAfter": 0.8, "Numbered": 0.05, "SparkBucket": 0.55}
"""Which share of all arrivals goes a way, at least; of a way that is not here, all."""
REASONS = {
    "Push": {"a batch is refused as a whole"},
    "PayloadFree": {
        "AFA+O keeps payloads",
        "an arc does not split",
        "an event is retracted",
        "an arc changes before the present",
        "arcs make promises of their own",
    },
    "CleanseBefore": {"it has a stage"},
    "CleanseAfter": {"it has a stage"},
    "Numbered": {"events have no numbers"},
    "SparkBucket": {
        "match() has no such option",
        "rows wait before the operator only",
        "a batch is refused as a whole",
        "a line ends an arc, and never takes it out",
    },
}
"""Why the others do not."""


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_goes_no_way(way: type[Way]) -> None:
    """What a way can't take is counted, and each reason is one that is known."""
    cases = [Case(path) for path in PATHS]
    reaches = [way.reach(case) for case in cases]
    share = sum(reach.arrivals for reach in reaches) / sum(len(case.arrivals) for case in cases)
    assert share >= LEAST.get(way.__name__, 1.0)
    assert {reach.why for reach in reaches if reach.why} == REASONS.get(way.__name__, set())
