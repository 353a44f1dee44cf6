"""A sample of the random queries x streams, in the normal suite; the long run: ``python -m tests.worlds queries``."""

from __future__ import annotations

from typing import Any

import pytest

from tests.language import worlds
from tests.language.worlds import WORLDS


def test_queries(engine: str) -> None:
    seen = WORLDS.run("sample of all", range(64), engine, more_than={"matches": 66, "retractions": 33}, family=1)
    assert seen["declined"] < 4, seen


def test_the_longest(engine: str) -> None:
    seen = WORLDS.run("longest", range(20), engine, longest=True, more_than={"matches": 33})
    assert seen["declined"] < 4, seen  # it chooses


def test_a_planted_fault_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    right = worlds.matches

    def forgetful(*arguments: Any) -> set[Any]:
        return {match for match in right(*arguments) if match[1] % 3}

    monkeypatch.setattr(worlds, "matches", forgetful)
    numbered = (WORLDS.generate("planted", i, kind="plain") for i in range(12))
    found = [here for here in numbered if WORLDS.failure(here, "interpreted")]
    assert found
    assert len(WORLDS.shrunk(found[0], "interpreted").ops) <= 2
