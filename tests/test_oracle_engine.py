"""The protocol of engines is all that an operator asks for: with the oracle as its engine it does what the cases say."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from afa import AfaError, Arc, Automaton, Operator, insert
from afa import engines as known
from afa.engine import ByRows, Engine, Setup
from afa.operator import call
from tests.conftest import ENGINES
from tests.corpus import PATHS, Case, emitted, read
from tests.oracle_engine import OracleEngine
from tests.stress import run as stress
from tests.stress.worlds import WORLDS
from tests.text import E
from tests.ways import Arrow, CleanseBefore, Columns, Listed, OneKey, PayloadFree, Push, Way


@pytest.fixture(autouse=True)
def third(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every operator have it."""

    def make(name: str, setup: Setup) -> Engine:
        return OracleEngine(setup)

    monkeypatch.setattr(call, "make_engine", make)
    monkeypatch.setattr(known, "make_engine", make)


RUNS = [
    pytest.param(way, path, id=f"{way.__name__}-{path.stem}")
    for way in (Push, Listed, Arrow, Columns, OneKey, PayloadFree, CleanseBefore)
    for path in PATHS
    if "gapless" not in read(path).options and way.reach(read(path)).arrivals
]


@pytest.mark.parametrize(("way", "path"), RUNS)
def test_each_case(way: type[Way], path: Path) -> None:
    case = Case(path)
    reach, here = way.reach(case), way(case, ENGINES[0])
    assert here.operator.statistics.matches == 0
    for number, arrival in enumerate(here.case.arrivals[: reach.arrivals]):
        where = f"{path.name}, arrival {number}: {arrival.text}"
        if arrival.error:
            with pytest.raises(AfaError):
                here.push(arrival)
        else:
            assert emitted(here.push(arrival)) == arrival.expected, where
    if not reach.why:
        assert here.late == case.late


def test_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stress, "saved", lambda _, op: op._core.engine.all_of_it())  # of which a refused change leaves no trace

    def without_saves(seed: str, number: int) -> dict[str, Any]:
        spec = WORLDS.generate(seed, number)
        return {**spec, "ops": [op for op in spec["ops"] if op[0] != "save"]}

    seen = replace(WORLDS, generate=without_saves).run("oracle engine", range(200), ENGINES[0])
    assert seen["matches"] > 1000, seen
    assert seen["retractions"] > 200, seen
    assert seen["rejected"] > 20, seen


def test_it_is_what_serves() -> None:
    op = Operator(Automaton(start="a", final={"b"}, event=E, arcs=[Arc("a", "b", "kind == 1")]), window=5)
    assert op._core.engine.name == "oracle"
    assert len(op.push(insert(E(1), 3))) == 1
    with pytest.raises(AfaError, match="expected an engine that has partial matches for a snapshot but got the oracle"):
        op.snapshot()


def test_an_engine_that_takes_rows_is_given_no_other_engine_s_columns() -> None:
    host: Any = None
    with pytest.raises(AfaError, match="expected a batch that this engine has encoded but got 7"):
        ByRows().run_columns(7, host)


def test_the_oracle_has_all_that_the_protocol_names() -> None:
    """What `test_each_case` would find, in the lane that runs after each edit."""
    asked = {name for name, value in vars(Engine).items() if inspect.isfunction(value) and not name.startswith("_")}
    assert {"by_key", "save", "collect"} <= asked <= set(dir(OracleEngine))
