"""A sample of the long random runs, in the normal suite; the long ones: ``python -m tests.worlds stress``, ``pytest -m stress``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from afa.compiled import choices, memory, reserve
from tests.conftest import ENGINES
from tests.stress.generate import World
from tests.stress.run import BOTH, EACH, make, run
from tests.stress.worlds import WORLDS
from tests.worlds.__main__ import main


def test_worlds(turns: str) -> None:
    WORLDS.run("sample", range(130), turns, more_than={"matches": 650, "retractions": 160, "rejected": 20})


class Forgetful:
    """A planted fault: of the retractions of matches that an operator tells, one, by its number, is not passed on."""

    def __init__(self, operator: Any, number: int) -> None:
        self._operator, self._left = operator, number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operator, name)

    def push(self, item: Any, **more: Any) -> Any:
        return self._without(self._operator.push(item, **more))

    def push_many(self, batch: Any, **more: Any) -> Any:
        return self._without(self._operator.push_many(batch, **more))

    def _without(self, out: Any) -> Any:
        for change in out if isinstance(out, list) else []:
            if getattr(change, "diff", 0) < 0:
                self._left -= 1
                if not self._left:
                    return [other for other in out if other is not change]
        return out


def test_a_planted_fault_is_found_and_shrunk(engine: str) -> None:
    def faulty(here: World, engine: str, late: Any) -> Forgetful:
        return Forgetful(make(here, engine, late), 3)

    worlds = replace(WORLDS, check=lambda spec, engine: run(spec, engine, faulty))
    for number in range(200):
        spec = worlds.generate("sample", number)
        if any(op[0] in ("save", "batch") for op in spec["ops"]) or worlds.failure(spec, engine) is None:
            continue
        small = worlds.shrunk(spec, engine)
        assert str(worlds.failure(small, engine)).endswith("too much {}"), "something was missing, and nothing else wrong"
        assert len(small["ops"]) < len(spec["ops"])
        assert "{'automaton': {" in worlds.report(small, engine)
        return
    pytest.fail("no world has found it")


def test_worlds_that_change_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each snapshot is restored into the other engine; step functions from the first event on."""
    monkeypatch.setattr(choices, "WARM", 0)
    WORLDS.run("both", range(22), BOTH, steps=40, more_than={"matches": 333})


@pytest.mark.parametrize(("first", "warm"), [(100, choices.WARM), (250, 0)])
def test_long_mixes(first: int, warm: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both engines side by side, in long mixes of changes over few instants; with step functions from the first event on or not."""
    monkeypatch.setattr(choices, "WARM", warm)
    WORLDS.run(
        "mixes", range(first, first + 27), EACH, mixes=True, steps=30, family=0, more_than={"matches": 133, "retractions": 83}
    )


@pytest.mark.parametrize("roomy", [False, True])
def test_worlds_whose_memory_is_small(monkeypatch: pytest.MonkeyPatch, roomy: bool) -> None:
    """Arrays that are moved to larger ones again and again: where address space is scarce, and where it is outgrown."""
    monkeypatch.setattr(reserve, "roomy", lambda: roomy)
    monkeypatch.setattr(memory, "HEAP", 1 << 9)
    monkeypatch.setattr(memory, "RESERVED", 1 << 10)
    monkeypatch.setattr(memory, "AHEAD", 2)
    for name in ("SIZES", "ROOMS", "LASTING"):
        monkeypatch.setattr(memory, name, {what: 4 if what == "rows" else 16 for what in getattr(memory, name)})
    WORLDS.run("small", range(14), "compiled", steps=40, more_than={"matches": 105})


@pytest.mark.stress
@pytest.mark.parametrize("warm", ["0", str(choices.WARM)])
@pytest.mark.parametrize("sample", ["4", "64"])
def test_many_long_mixes(warm: str, sample: str) -> None:
    settings = ["--set", f"afa.compiled.choices.WARM={warm}", "--set", f"afa.compiled.choices.SAMPLE={sample}"]
    assert main(["stress", "--mixes", "--worlds", "5000", "--seed", "1", "--engine", EACH, *settings]) == 0


@pytest.mark.stress
@pytest.mark.parametrize("name", [*ENGINES, BOTH])
def test_many_worlds(name: str) -> None:
    assert main(["stress", "--worlds", "20000", "--seed", "1", "--engine", name]) == 0
