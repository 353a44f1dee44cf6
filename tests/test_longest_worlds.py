"""A sample of the random worlds with ``longest=True``, in the normal suite, and faults that they find.

The long runs: ``python -m tests.worlds stress --longest``, ``--longest --mixes``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from afa.compiled import choices
from afa.interpreted import interpreted_engine
from afa.interpreted.longest import Longest
from tests.strategies import Seeded
from tests.stress import generate
from tests.stress.generate import World, as_longest
from tests.stress.mixes import mix
from tests.stress.run import EACH
from tests.stress.worlds import WORLDS


def numbered(seed: str, number: int) -> dict[str, Any]:
    """The world of a number: every other one a mix."""
    choose = Seeded(f"{seed}/{number}")
    return as_longest(choose, mix(choose, 40) if number % 2 else generate.world(choose))


LONGEST = replace(WORLDS, generate=numbered)


def test_worlds() -> None:
    LONGEST.run("longest", range(100), "interpreted", more_than={"matches": 500, "retractions": 166, "rejected": 10})
    assert sum(plain(numbered("longest", number)) for number in range(100)) > 13, "worlds in which a longer match hides one"


@pytest.mark.parametrize("engine", ["compiled", EACH])
def test_worlds_of_both_engines(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "WARM", 0)
    monkeypatch.setattr(choices, "SAMPLE", 4)
    monkeypatch.setattr(choices, "SOON", 1)
    LONGEST.run(engine, range(20), engine)


def plain(spec: dict[str, Any]) -> bool:
    """Whether a world, without promises, ends with matches that longer ones hide."""
    here = World(spec)
    for op in spec["ops"]:
        if op[0] != "save" and "punctuate" not in op[0]:
            for each in op[1] if op[0] in generate.BATCHES else [op]:
                if "punctuate" not in each[0]:
                    generate.push(here.model, each, here.item(each))
    found = here.model.matches()
    here.model.longest = False
    return found != here.model.matches()


def first_of(self: Longest, found: Any) -> Any:
    """Of each state and register the one that began first."""
    best: dict[Any, Any] = {}
    for p in sorted(found):
        best.setdefault((p.state, p.register), p)
    return dict.fromkeys(best.values(), 1)


def all_of(self: Longest, found: Any) -> Any:
    return dict.fromkeys(sorted(found), 1)


def one_step(right: Any) -> Callable[..., None]:
    """A walk that ends behind the changed step."""
    return lambda self, s, steps: right(self, s, list(steps)[:1])


def unnetted(s: Any, shown: Any) -> Any:
    """The output of the plain operator."""
    for (le, re, register), old in s.delta.items():
        now = s.count(le, re, register)
        if (now > 0) != (old > 0):
            yield interpreted_engine.Change(shown(register), le, re, 1 if now else -1, s.key)


def by_register(s: Any, shown: Any) -> Any:
    """Output that nets whole registers."""
    return (change._replace(payload=shown(change.payload)) for change in right_changes(s, lambda register: register))


right_changes = interpreted_engine.longest_changes

PLANTED: dict[str, tuple[Any, str, Any]] = {
    "the first is held": (Longest, "kept", first_of),
    "all are held": (Longest, "kept", all_of),
    "the walk ends too early": (Longest, "_derive_on", one_step(Longest._derive_on)),
    "nothing is netted": (interpreted_engine, "longest_changes", unnetted),
    "registers are netted, not what is told": (interpreted_engine, "longest_changes", by_register),
}
"""Faults. That all are held is one of snapshots only."""


@pytest.mark.parametrize("fault", list(PLANTED))
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, wrong = PLANTED[fault]
    monkeypatch.setattr(owner, name, wrong)
    assert any(LONGEST.failure(numbered("longest", number), "interpreted") for number in range(60)), fault
