"""Matches as columns (`plain_signatures`) beside the same singly (`signatures`): longer streams than can be enumerated."""

from __future__ import annotations

import random
from typing import Any

import pytest

from afa import Change, insert
from afa.uncertain import Sequence, between, normal, triangular, weights
from tests.uncertain.sequence_worlds import Seen


def told(op: Sequence, items: list[Any]) -> dict[Any, Change]:
    return {(change.payload[:-3], change.key): change for change in op.push_many(items)}


@pytest.mark.parametrize("seed", range(24))
def test_as_columns_and_one_by_one(seed: int) -> None:
    """A constraint that always holds makes the operator look at signatures one by one."""
    rng = random.Random(seed)
    names = "abcd"[: rng.randint(1, 4)]
    length, shapes = rng.choice([1, 6, 30]), ["uniform", triangular(), normal(), weights([0.5, 0, 0.5])]
    options: dict[str, Any] = {
        "of": "kind",
        "event": Seen,
        "identity": "id",
        "strategy": rng.choice(["skip_till_any", "skip_till_next", "skip_till_next"]),
        "window": rng.choice([15, 60, 150]) if len(names) > 2 else 150,
        "threshold": rng.choice([0, 0, 0.2]),
        "key": rng.choice([None, "host"]),
    }
    items = []
    for number in range(70):
        low, n = rng.randint(0, 300), rng.randint(1, length)
        shape = shapes[rng.randrange(4)] if rng.random() < 0.3 else "uniform"
        n = 3 if shape is shapes[3] else n
        span = between(low, low + n - 1, shape) if n > 1 else low
        items.append(insert(Seen(rng.choice(names), number, rng.randrange(2)), span))
    plain, single = Sequence(list(names), **options), Sequence(list(names), where=f"{names[0]}.id >= 0", **options)
    assert plain.pattern.plain
    assert not single.pattern.plain
    got, want = told(plain, items), told(single, items)
    close = {name for name, each in (got | want).items() if abs(each.payload.confidence - options["threshold"]) < 1e-9}
    assert set(got) - close == set(want) - close
    for name in set(got) & set(want):
        assert got[name].payload.confidence == pytest.approx(want[name].payload.confidence, abs=1e-12)
        assert got[name][1:] == want[name][1:]
        assert got[name].payload[-2:] == want[name].payload[-2:]


def test_long_intervals_are_taken() -> None:
    op = Sequence(["a", "b"], of="kind", event=Seen, window=5_000, identity="id", strategy="skip_till_next")
    (found,) = op.push_many([insert(Seen("a", 1), between(0, 999)), insert(Seen("b", 2), between(0, 999))])
    assert found.payload.confidence == pytest.approx((1 - 1 / 1000) / 2)
