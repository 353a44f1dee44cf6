"""A sample of the worlds in which keys grow and shrink through every size (`tests.stress.sizes`).

The long run: ``pytest -m stress``, ``python -m tests.worlds sizes --worlds 200000``.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.stress.sizes.run import Running, Side, run
from tests.stress.sizes.seen import passed
from tests.stress.sizes.worlds import WORLDS
from tests.test_stress_sample import Forgetful
from tests.worlds.__main__ import main


def test_worlds() -> None:
    seen = replace(WORLDS, apart=None).run("sample", range(70), family=10)
    assert min(passed(seen, "up")[1:]) > 3, f"up past each size: {seen}"
    assert min(passed(seen, "down")[:9]) > 1, f"down past each size: {seen}"
    assert min(seen[name] for name in ("refused", "interrupted", "restored", "asked")) > 7, seen
    assert min(seen[name] for name in ("grown", "shrunk", "to a block", "to rest", "collisions", "NEED_HEAP")) > 3, seen


def test_a_key_that_goes_to_rest_where_the_heap_ends() -> None:
    """Three calls in one on a block that came to be in it: what can't be laid to rest stays, and nothing is done again."""
    loop = {"src": "a", "dst": "a"}
    arcs = [
        {**loop, "name": "own0", "fence": "e.kind != 1"},
        {**loop, "name": "own1", "fence": "e.kind != r.x or r.x == 0", "transfer": "R2((r.x + 1) % 3, r.y)"},
        {**loop, "name": "own2", "fence": "r.x < 2", "kind": "skip"},
        {**loop, "name": "own3", "fence": "e.kind == 0"},
        {**loop, "name": "own4", "fence": "r.x < 2"},
        {**loop, "name": "poison", "fence": "6 // (e.kind - 9) > 99"},
    ]
    spec = WORLDS.generate("rest", 0, family=1)
    spec["family"] = {"extra": [], "event": "Thin", "poison": False}
    spec["family"]["automaton"] = {"start": "a", "final": ["a"], "arcs": arcs, "register": "R2(0, 1)", "event": "E"}
    spec["options"] |= {"window": 9, "order_by": "who", "late": "raise", "retractions": True, "gapless": None, "key": ("who",)}
    spec["options"] |= {"threads": 1, "keys": 12, "arc_punctuation": True}
    spec["limits"] = {"scratch": False, "used": False, "roomy": True, "tight": 200, "warm": None}
    first = [("e", 1, (0, 1), 1, 2, 1), ("e", 1, (1, 1), 3, 4, 1), ("e", 1, (2, 1), 0, None, 1)]
    more = [("e", 1, (0, 1), le, None, 1) for le in (3, 5)] + [("e", 1, (0, 1), 0, None, -1)]
    last = [("e", 1, (0, 1), 3, None, -1), ("e", 1, (1, 1), 3, 4, -1), ("e", 1, (2, 1), 0, None, -1)]
    for tight in (0, 40, 100, 150, 200, 250, 300):
        calls = [first, *([item] for item in more)]
        spec["limits"]["tight"] = tight
        spec["ops"] = [("push", "list", True, items, None, 1) for items in calls]
        spec["ops"] += [("push", "list", False, last, None, 1), ("check",)]
        run(spec)


def test_a_planted_fault_is_found_and_made_small() -> None:
    def faulty(here: Running, engine: str) -> Side:
        side = Side(here, engine)
        side.operator = Forgetful(side.operator, 2)
        return side

    worlds = replace(WORLDS, check=lambda spec, engine: run(spec, faulty))
    for number in range(200):
        spec = worlds.generate("planted", number, family=10)
        spec["options"]["threads"] = 1  # the engines are compared first then
        if any(op[0] == "save" for op in spec["ops"]) or worlds.failure(spec, None) is None:
            continue
        small = worlds.shrunk(spec, None, tries=150)
        assert "missing" in str(worlds.failure(small, None))
        assert len(repr(small)) < len(repr(spec))
        return
    pytest.fail("no world has found it")


@pytest.mark.stress
def test_many_worlds() -> None:
    assert main(["sizes", "--worlds", "20000", "--seed", "1"]) == 0
