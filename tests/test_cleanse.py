"""Cleanse alone: only what lies below the last punctuation + sigma has left; around an operator: `test_cleanse_around.py`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest

from afa import (
    FOREVER,
    AfaError,
    Change,
    Operator,
    Punctuation,
    SnapshotError,
    insert,
    retract,
)
from afa.schema import NAN
from speculation import Cleanse, Consolidate, consolidate
from tests.automata import pair
from tests.strategies import Choices, Seeded

SIGMAS = (0, 3, 1000, None)


def items(choose: Choices, n: int) -> list[Any]:
    """Insertions, retractions before and after them, several copies, and punctuations, some of them stale."""
    found: list[Any] = []
    for _ in range(n):
        if choose.chance(15):
            found.append(Punctuation(choose.number(0, 12)))
        else:
            payload = choose.one(["a", "b", (1, NAN), (1, float("nan"))])
            le = choose.number(0, 15)
            found.append(
                Change(payload, le, choose.one([None, le + 3]), choose.one([1, 1, 1, -1, -1, 2, -2]), choose.one([None, "k"]))
            )
    return found


@pytest.mark.parametrize("sigma", SIGMAS)
def test_what_has_left_is_the_net_of_what_came_below_the_bound(sigma: int | None) -> None:
    annihilated = 0
    for number in range(12):
        choose = Seeded(f"cleanse/{number}")
        cleanse, came, left, last = Cleanse(sigma), [], [], -1
        for item in items(choose, 60):
            if choose.chance(5):
                cleanse = Cleanse.restore(cleanse.snapshot())
            if choose.chance(4):
                cleanse.sigma = choose.one(SIGMAS)
            before = cleanse.statistics
            out = cleanse.push(item)
            came.append(item)
            left += out
            now = cleanse.statistics
            assert now.bound >= before.bound
            assert all(change.le < now.bound for change in consolidate(left))
            assert normal(left) == {change for change in normal(came) if change.le < now.bound}
            assert now.passed + now.released + now.held + 2 * now.annihilated == sum(
                abs(c.diff) for c in came if isinstance(c, Change)
            )
            assert now.held == sum(abs(change.diff) for change in normal(came) if change.le >= now.bound) <= now.peak_held
            if isinstance(item, Punctuation):
                assert (out[-1:] == [item]) == (item.t > last)
                assert now.stale == before.stale + (item.t <= last)
                released = [change for change in out if isinstance(change, Change)]
                assert released == sorted(released, key=lambda change: (change.le, change.diff > 0))
                last = max(last, item.t)
        cleanse.push(Punctuation(FOREVER))
        assert cleanse.statistics.held == 0
        annihilated += cleanse.statistics.annihilated
    assert annihilated > 0 or sigma is None


def normal(changes: list[Any]) -> set[Change]:
    """The net, with one NaN."""
    return set(consolidate(c._replace(payload=(1, NAN)) if isinstance(c, Change) and c.payload[0] == 1 else c for c in changes))


def test_ties_leave_retractions_first_then_by_arrival() -> None:
    cleanse = Cleanse(0)
    cleanse.push_many([insert("b", 5), insert("a", 5), retract("z", 5), insert("c", 4), insert("b", 5), retract("y", 5)])
    assert cleanse.push(Punctuation(6)) == [
        insert("c", 4),
        retract("z", 5),
        retract("y", 5),
        Change("b", 5, None, 2),
        insert("a", 5),
        Punctuation(6),
    ]


def test_sigma_may_change_and_the_bound_never_goes_back() -> None:
    cleanse = Cleanse(10)
    cleanse.push(Punctuation(5))
    cleanse.sigma = 0
    assert cleanse.push(insert("a", 14)) == [insert("a", 14)], "from the next punctuation on"
    cleanse.push(Punctuation(6))
    assert cleanse.statistics.bound == 15
    assert cleanse.push(retract("a", 14)) == [retract("a", 14)], "it has left: it can't wait"
    cleanse.sigma = math.inf
    assert cleanse.push(insert("b", 15)) == []
    assert cleanse.push(Punctuation(7)) == [insert("b", 15), Punctuation(7)]
    cleanse.sigma = 1
    assert cleanse.push(insert("c", 30)) == [insert("c", 30)]
    cleanse.push(Punctuation(8))
    assert cleanse.statistics.bound == 31, "one past what has left, so that a sigma can act again"
    assert cleanse.push(insert("d", 31)) == []
    cleanse.sigma = FOREVER
    assert cleanse.push(Punctuation(9)) == [insert("d", 31), Punctuation(9)]


@pytest.mark.parametrize("sigma", [-1, 1.5, True, -math.inf, NAN])
def test_a_sigma_is_ticks(sigma: Any) -> None:
    with pytest.raises(AfaError, match=r"expected ticks >= 0, or None for no bound, but got sigma="):
        Cleanse(sigma)
    cleanse = Cleanse(4)
    with pytest.raises(AfaError, match=r"but got sigma="):
        cleanse.sigma = sigma
    assert cleanse.sigma == 4


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ("tick", "expected a change of an event or match, or a Punctuation, but got 'tick'"),
        (insert(pair.arcs[0], 5), "expected a change of an event or match"),
        (insert("a"), "expected an event with a time but got le=None for 'a'"),
        (insert("a", 1.5), r"expected an int \(ticks\) but got le=1.5"),
        (insert("a", 5, 5), "expected re > le but got le=5, re=5 for 'a'"),
        (Change("a", 5, diff=0), "expected diff=1 or -1 but got diff=0 for 'a'"),
        (insert(["a"], 5), r"expected a hashable payload but got \['a'\]"),
        (Punctuation("soon"), r"expected an int \(ticks\) but got t='soon'"),
    ],
)
def test_what_is_no_change_is_refused_with_its_call(item: Any, text: str) -> None:
    cleanse = Cleanse(0)
    cleanse.push(insert("a", 7))
    before = cleanse.snapshot()
    with pytest.raises(AfaError, match=text):
        cleanse.push_many([insert("b", 6), retract("a", 7), insert("c", 3), Punctuation(5), item])
    assert cleanse.snapshot() == before


class Pair(NamedTuple):
    x: float
    y: str | None


def test_a_snapshot_of_records() -> None:
    cleanse = Cleanse(0)
    cleanse.push_many([insert(Pair(NAN, None), 9), insert(Pair(1.0, "y"), 8, 12)._replace(key=("k", 1))])
    found = Cleanse.restore(cleanse.snapshot(), payload=Pair)
    assert found.push(retract(Pair(NAN, None), 9)) == []
    (change, _) = found.push(Punctuation(20))
    assert (change, type(change.payload)) == (Change(Pair(1.0, "y"), 8, 12, 1, ("k", 1)), Pair)


def test_a_snapshot_is_checked() -> None:
    cleanse = Cleanse(5)
    cleanse.push(insert(Pair(1.0, "y"), 9))
    blob = cleanse.snapshot()
    with pytest.raises(SnapshotError, match="expected payload=<NamedTuple of the fields x, y> but got"):
        Cleanse.restore(blob)
    with pytest.raises(SnapshotError, match="expected a whole snapshot but got a damaged one"):
        Cleanse.restore(blob[:-1] + b"?")
    with pytest.raises(SnapshotError, match=r"expected a snapshot \(it begins with b'AFAC'\) but got"):
        Cleanse.restore(Operator(pair).snapshot())
    with pytest.raises(SnapshotError, match="expected a snapshot of an operator but got one of Cleanse alone"):
        Operator.restore(pair, blob)
    with pytest.raises(SnapshotError, match="expected the bytes of a snapshot but got str"):
        Cleanse.restore("blob")  # type: ignore[arg-type]
    cleanse.push(insert(object(), 9))
    with pytest.raises(SnapshotError, match="expected plain data"):
        cleanse.snapshot()


def test_a_promise_with_a_condition_holds_behind_the_stage_as_far_as_nothing_waits() -> None:
    cleanse = Cleanse(3)
    some = Punctuation(9, "weight > 2")
    assert cleanse.push(some) == [some]
    cleanse.push(Punctuation(1))
    assert cleanse.push(insert("a", 5)) == []
    assert cleanse.push(some) == [Punctuation(4, "weight > 2")]
    assert cleanse.statistics.bound == 4
    netting = Consolidate()
    assert netting.push_many([insert("a", 5), some]) == [Punctuation(5, "weight > 2")]
    assert netting.push(Punctuation(1)) == [insert("a", 5), Punctuation(1)]
    assert netting.push(some) == [some]
    assert Consolidate(per="call").push_many([insert("a", 5), some]) == [insert("a", 5), some]


def test_with_a_controller_a_promise_with_a_condition_ends_where_what_waits_may_lie() -> None:
    """While nothing may be withdrawn any more, what is not final waits below the bound, too."""
    cleanse = Cleanse.auto(max_chattiness=1.5, memory=20)
    for t in range(60):
        cleanse.push_many([insert("a", t + 9), Punctuation(t)])
    cleanse.push_many([insert("b", 62)] * 30 + [retract("b", 62)] * 30)
    assert cleanse.push(insert("c", 62)) == []
    assert cleanse.statistics.bound > 62
    assert cleanse.push(Punctuation(100, "weight > 2")) == [Punctuation(59, "weight > 2")]
