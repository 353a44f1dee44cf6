"""A sample of the long random runs, in the normal suite; the long ones: ``python -m tests.stress.worlds``, ``pytest -m stress``."""

from __future__ import annotations

from typing import Any

import pytest

from afa import Punctuation
from afa.compiled import inforce, memory, reserve
from tests.conftest import ENGINES
from tests.strategies import Seeded
from tests.stress import generate
from tests.stress.generate import World
from tests.stress.mixes import mix
from tests.stress.run import BOTH, EACH, Seen, failure, make, report, run, smaller
from tests.stress.worlds import main


def test_worlds(engine: str) -> None:
    seen = Seen()
    for number in range(400):
        spec = generate.world(Seeded(f"sample/{number}"))
        try:
            seen = seen.plus(run(spec, engine))
        except AssertionError:
            pytest.fail(f"world sample/{number}: {report(spec, engine)}")
    assert seen.matches > 2000, seen
    assert seen.retractions > 500, seen
    assert seen.rejected > 60, seen


class Forgetful:
    """A planted fault: the third retraction that a match suffers is not passed on."""

    def __init__(self, operator: Any) -> None:
        self._operator, self._left = operator, 3

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operator, name)

    def push(self, item: Any) -> list[Any]:
        out = self._operator.push(item)
        for change in out:
            if not isinstance(change, Punctuation) and change.diff < 0:
                self._left -= 1
                if not self._left:
                    return [other for other in out if other is not change]
        return out


def test_a_planted_fault_is_found_and_shrunk(engine: str) -> None:
    def faulty(here: World, engine: str, late: Any) -> Forgetful:
        return Forgetful(make(here, engine, late))

    for number in range(200):
        spec = generate.world(Seeded(f"sample/{number}"))
        if any(op[0] in ("save", "batch") for op in spec["ops"]) or failure(spec, engine, faulty) is None:
            continue
        small = smaller(spec, lambda candidate: failure(candidate, engine, faulty) is not None)
        assert str(failure(small, engine, faulty)).endswith("too much {}"), "something was missing, and nothing else wrong"
        assert len(small["ops"]) < len(spec["ops"])
        assert "run({" in report(small, engine, faulty)
        return
    pytest.fail("no world has found it")


def test_worlds_that_change_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each snapshot is restored into the other engine; step functions from the first event on."""
    monkeypatch.setattr(inforce, "WARM", 0)
    seen = Seen()
    for number in range(66):
        spec = generate.world(Seeded(f"both/{number}"), 40)
        try:
            seen = seen.plus(run(spec, BOTH))
        except AssertionError:
            pytest.fail(f"world both/{number}: {report(spec, BOTH)}")
    assert seen.matches > 1000, seen


@pytest.mark.parametrize(("first", "warm"), [(100, inforce.WARM), (250, 0)])
def test_long_mixes(first: int, warm: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both engines side by side, in long mixes of changes over few instants; with step functions from the first event on or not."""
    monkeypatch.setattr(inforce, "WARM", warm)
    seen = Seen()
    for number in range(first, first + 80):
        spec = mix(Seeded(f"mixes/{number}"), 30)
        try:
            seen = seen.plus(run(spec, EACH))
        except AssertionError:
            pytest.fail(f"world mixes/{number}: {report(spec, EACH)}")
    assert seen.matches > 400, seen
    assert seen.retractions > 250, seen


@pytest.mark.parametrize("roomy", [False, True])
def test_worlds_whose_memory_is_small(monkeypatch: pytest.MonkeyPatch, roomy: bool) -> None:
    """Arrays that are moved to larger ones again and again: where address space is scarce, and where it is outgrown."""
    monkeypatch.setattr(reserve, "roomy", lambda: roomy)
    monkeypatch.setattr(memory, "HEAP", 1 << 9)
    monkeypatch.setattr(memory, "RESERVED", 1 << 10)
    monkeypatch.setattr(memory, "AHEAD", 2)
    for name in ("SIZES", "ROOMS", "LASTING"):
        monkeypatch.setattr(memory, name, {what: 4 if what == "rows" else 16 for what in getattr(memory, name)})
    seen = Seen()
    for number in range(40):
        spec = generate.world(Seeded(f"small/{number}"), 40)
        try:
            seen = seen.plus(run(spec, "compiled"))
        except AssertionError:
            pytest.fail(f"world small/{number}: {report(spec, 'compiled')}")
    assert seen.matches > 300, seen


@pytest.mark.stress
@pytest.mark.parametrize("warm", ["0", str(inforce.WARM)])
@pytest.mark.parametrize("sample", ["4", "64"])
def test_many_long_mixes(warm: str, sample: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((inforce, "WARM"), (memory, "SAMPLE")):
        monkeypatch.setattr(module, name, getattr(module, name))  # what the driver sets ends with the test
    arguments = ["--mixes", "--worlds", "5000", "--seed", "1", "--engine", EACH, "--warm", warm, "--sample", sample]
    assert main(arguments) == 0


@pytest.mark.stress
@pytest.mark.parametrize("name", [*ENGINES, BOTH])
def test_many_worlds(name: str) -> None:
    assert main(["--worlds", "20000", "--seed", "1", "--engine", name]) == 0
