"""A sample of random statements x streams; the long run: ``python -m tests.worlds sql-whole --worlds 20000``."""

from __future__ import annotations

from typing import Any

import pytest

from tests.language import whole_worlds
from tests.language.row_matcher import Clauses
from tests.language.whole_queries import features
from tests.language.whole_worlds import WORLDS


def test_statements(turns: str) -> None:
    seen = WORLDS.run("sample", range(40), turns, more_than={"shown": 500, "retractions": 150, "snapshots": 20}, family=1)
    assert seen["compared"] > 20 * seen["not compared"]
    assert seen["declined"] < 4, seen
    assert seen["refused statements"] < 90, seen  # most of them: SKIP TO a variable that may begin the match


def test_what_the_library_has_shows() -> None:
    """Some of what is asked for has been there from the first day."""
    assert {"INTERVAL", "qualified"} <= features()


def test_a_planted_fault_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Clauses.answer

    def forgetful(*arguments: Any) -> Any:
        found = right(*arguments)
        return type(found)({each: n for each, n in found.items() if each[2] % 3})

    monkeypatch.setattr(whole_worlds.Statement, "answer", lambda self, *rest: forgetful(self.clauses, *rest))
    numbered = (WORLDS.generate("planted", i, family=1) for i in range(12))
    found = [here for here in numbered if WORLDS.failure(here, "interpreted")]
    assert found
    small = WORLDS.shrunk(found[0], "interpreted", tries=300)
    assert len(small.steps) < len(found[0].steps)
    assert "SELECT" in WORLDS.words(small)
