"""A sample of the random queries x streams, in the normal suite; the long run: ``python -m tests.language.worlds``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.language import worlds
from tests.language.worlds import RefusedError, Seen, failure, main, numbered, report, run, smaller


def test_queries(engine: str) -> None:
    seen = Seen()
    for number in range(96):
        here = numbered("sample of all", number)
        try:
            seen = seen.plus(run(here, engine))
        except RefusedError:
            seen = seen.plus(Seen(refused=1))
        except AssertionError:
            pytest.fail(f"world sample of all/{number}: {report(here, engine)}")
    assert seen.matches > 200, seen
    assert seen.retractions > 100, seen
    assert seen.refused < 12, seen


def test_the_longest(engine: str) -> None:
    seen = Seen()
    for number in range(60):
        here = replace(numbered("longest", number), longest=True)
        try:
            seen = seen.plus(run(here, engine))
        except RefusedError:  # it chooses
            seen = seen.plus(Seen(refused=1))
        except AssertionError:
            pytest.fail(f"world longest/{number}: {report(here, engine)}")
    assert seen.matches > 100, seen
    assert seen.refused < 10, seen


def test_a_planted_fault_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    right = worlds.matches

    def forgetful(*arguments: Any) -> set[Any]:
        return {match for match in right(*arguments) if match[1] % 3}

    monkeypatch.setattr(worlds, "matches", forgetful)
    found = [here for here in (numbered("planted", i, kind="plain") for i in range(12)) if failure(here, "interpreted")]
    assert found
    small = smaller(found[0], lambda candidate: failure(candidate, "interpreted") is not None)
    assert len(small.ops) <= 2


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--worlds", "2", "--no-ties", "--engine", "interpreted", "--seed", "line"]) == 0
    assert "worlds 2, failed 0" in capsys.readouterr().out
