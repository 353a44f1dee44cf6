"""A sample of the worlds in which keys grow and shrink through every size (`tests.stress.sizes`).

The long run: ``pytest -m stress``, ``python -m tests.stress.sizes --worlds 200000``.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.stress.sizes.__main__ import main, spec_of
from tests.stress.sizes.run import Running, Seen, Side, failure, report, run, smaller

SAMPLE = 100


def test_worlds() -> None:
    seen = Seen()
    for number in range(SAMPLE):
        spec = spec_of("sample", number, 10)
        try:
            seen = seen.plus(run(spec))
        except AssertionError:
            pytest.fail(f"world sample/{number}: {report(spec)}")
    assert min(seen.up[1:]) > 10, f"up past each size: {seen}"
    assert min(seen.down[:9]) > 5, f"down past each size: {seen}"
    assert min(seen.refused, seen.interrupted, seen.restored, seen.asked) > 20, seen


class Forgetful:
    """A planted fault: the second retraction of a match is not passed on."""

    def __init__(self, operator: Any) -> None:
        self._operator, self._left = operator, 2

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operator, name)

    def push_many(self, batch: Any, **more: Any) -> Any:
        out = self._operator.push_many(batch, **more)
        for change in out if isinstance(out, list) else []:
            if getattr(change, "diff", 0) == -1:
                self._left -= 1
                if not self._left:
                    return [other for other in out if other is not change]
        return out


def test_a_planted_fault_is_found_and_made_small() -> None:
    def faulty(here: Running, engine: str) -> Side:
        side = Side(here, engine)
        side.operator = Forgetful(side.operator)
        return side

    for number in range(200):
        spec = spec_of("planted", number, 10)
        if any(op[0] == "save" for op in spec["ops"]) or failure(spec, faulty) is None:
            continue
        small = smaller(spec, lambda candidate: failure(candidate, faulty) is not None, tries=150)
        assert "missing" in str(failure(small, faulty))
        assert len(repr(small)) < len(repr(spec))
        return
    pytest.fail("no world has found it")


@pytest.mark.stress
def test_many_worlds() -> None:
    assert main(["--worlds", "20000", "--seed", "1"]) == 0
