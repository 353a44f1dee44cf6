"""Sigma that moves itself: the bound holds, the output stays what it is, what another sigma would have cost is known."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import BEGINNING, FOREVER, AfaError, Arc, Automaton, Change, Operator, Punctuation, SnapshotError, insert
from speculation import Cleanse, consolidate, tradeoff
from speculation.control import LEAST, Chattiness, Delay, Feedback, Spending


class Quote(NamedTuple):
    up: bool


def falls() -> Automaton:
    """A quote up right after one down."""
    return Automaton(
        start="a", final={"c"}, event=Quote, arcs=[Arc("a", "b", lambda e, r: not e.up), Arc("b", "c", lambda e, r: e.up)]
    )


def stream(n: int, late: float = 0.2, by: int = 60, seed: int = 1, every: int = 20) -> list[Any]:
    """Quotes of which some come late, with a punctuation that is true after each ``every`` of them."""
    chance = random.Random(seed)
    places = sorted(range(n), key=lambda i: i + (chance.randint(1, by) if chance.random() < late else 0))
    earliest, items = [*places, n], []
    for i in range(n - 1, -1, -1):
        earliest[i] = min(places[i], earliest[i + 1])
    for i, le in enumerate(places):
        if i % every == 0:
            items.append(Punctuation(earliest[i]))
        items.append(insert(Quote(chance.random() < 0.5), le))
    return [*items, Punctuation(n)]


def net(out: list[Any]) -> list[Change]:
    return consolidate(change for change in out if isinstance(change, Change))


def run(op: Any, items: list[Any]) -> list[Any]:
    return [out for item in items for out in op.push(item)]


def records(out: list[Any]) -> int:
    return sum(isinstance(change, Change) for change in out)


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("bound", [1.0, 1.1, 1.25, 3.0])
def test_chattiness_stays_within_its_bound(place: str, bound: float) -> None:
    items = stream(6000)
    plain = run(Operator(falls(), window=9), items)
    stage = Cleanse.auto(max_chattiness=bound, memory=300)
    out = run(getattr(stage, place)(Operator(falls(), window=9)), items)
    assert net(out) == net(plain)
    loudest = records(plain) / len(net(plain))
    assert loudest > 1.35
    found = records(out) / len(net(out))
    assert found <= bound
    assert bound > loudest or bound == 1.0 or place == "before" or found > 1 + 0.6 * (bound - 1), "it speculates as far as it may"


def test_what_a_sigma_would_have_cost_is_what_it_costs() -> None:
    items = stream(3000)
    answers = run(Operator(falls(), window=9), items)
    control, promised = Chattiness(1.0, memory=10_000), -(2**63)
    for item in answers:
        if isinstance(item, Punctuation):
            promised = item.t
        elif promised > -(2**63):
            control.came(item.le, item.diff, promised)
    for sigma in (1, 5, 20, 50, 100):
        cleanse = Cleanse(sigma)
        out = [change for item in answers for change in cleanse.push(item)]
        withdrawn = sum(isinstance(change, Change) and change.diff < 0 for change in out)
        assert withdrawn == sum(n for ahead, n in control._seen.counts.items() if ahead < sigma)


@pytest.mark.parametrize("bound", ["1.1", "1.2", "1.3", "2.2"])
def test_what_is_spent_is_exact(bound: str) -> None:
    """In floats (1.1 - 1) / 2 of 20 is more than 1, and one match too many was seen to be withdrawn."""
    for finals in range(0, 2000, 20):
        control = Spending(float(bound))
        control.in_force(0, finals)
        control.settle(promised=1)
        may = (Fraction(bound) - 1) / 2 * finals
        control.withdraw(-math.ceil(may))
        assert control.spent
        assert control.budget == may - math.ceil(may)


def test_the_share_that_may_wait_is_exact() -> None:
    control = Delay(1, share=0.29, memory=100)
    for t in range(100):
        control.came(t + t, 1, promised=t)
    assert control.sigma(100) == 70, "29 of 100 may wait longer; in floats 0.29 of 100 is less than 29"


def test_delay_stays_within_its_bound() -> None:
    stage = Cleanse.auto(max_delay=30, share=0.1, memory=300)
    op, raw = stage.after(Operator(falls(), window=9)), Operator(falls(), window=9)
    came: dict[Any, int] = {}
    waits: list[int] = []
    promised = 0
    for item in stream(6000):
        promised = item.t if isinstance(item, Punctuation) else promised
        came |= {change[:3]: promised for change in raw.push(item) if isinstance(change, Change) and change.diff > 0}
        waits += [promised - came[change[:3]] for change in op.push(item) if isinstance(change, Change) and change.diff > 0]
    late = sum(wait > 30 + 20 for wait in waits)  # the promise moves in steps of about 20
    assert late <= 0.15 * len(waits)
    assert max(waits) > 10
    assert 0 < (stage.sigma or 0) < 200


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("options", [{"max_chattiness": 1.2, "memory": 50}, {"max_delay": 10, "memory": 50}])
def test_a_snapshot_in_the_middle_changes_nothing(place: str, options: dict[str, Any]) -> None:
    items = stream(900)
    whole = getattr(Cleanse.auto(**options), place)(Operator(falls(), window=9))
    parts = getattr(Cleanse.auto(**options), place)(Operator(falls(), window=9))
    for i, item in enumerate(items):
        assert parts.push(item) == whole.push(item)
        if i % 97 == 0:
            parts = Operator.restore(falls(), parts.snapshot())
    assert parts.stage.sigma == whole.stage.sigma


@pytest.mark.parametrize("place", ["alone", "before", "after"])
@pytest.mark.parametrize("options", [{"max_chattiness": 1.2, "memory": 50}, {"max_delay": 10, "memory": 50}])
def test_a_call_that_is_refused_is_not_counted(place: str, options: dict[str, Any]) -> None:
    """Each batch comes with something late or wrong first; then it comes again, whole."""
    items, wrong = stream(900), Change(Quote(True), None)
    sides = [Cleanse.auto(**options) for _ in range(2)]
    if place != "alone":
        sides = [getattr(side, place)(Operator(falls(), window=9)) for side in sides]
    elif options.get("max_chattiness"):
        items = run(Operator(falls(), window=9), items)
    for i in range(0, len(items), 37):
        batch, before = items[i : i + 37], sides[0].snapshot()
        with pytest.raises(AfaError, match="expected an event with a time"):
            sides[0].push_many([*batch, wrong])
        assert sides[0].snapshot() == before
        assert sides[0].push_many(batch) == sides[1].push_many(batch)
    assert sides[0].snapshot() == sides[1].snapshot()
    stage = sides[0] if place == "alone" else sides[0].stage
    assert (stage.sigma or 0) > 0


@pytest.mark.parametrize("options", [{"max_chattiness": 3.0, "memory": 50}, {"max_delay": 10, "memory": 50}])
@pytest.mark.parametrize("place", ["before", "after"])
def test_a_snapshot_holds_the_ends_of_time(place: str, options: dict[str, Any]) -> None:
    """What is ahead of a promise by more than an int64 could be saved, and not restored."""
    side = getattr(Cleanse.auto(**options), place)(Operator(falls(), window=9, late="drop"))
    side.push(Punctuation(BEGINNING + 1))
    for t in range(60):
        side.push_many(
            [insert(Quote(False), FOREVER - 90 + t), insert(Quote(True), FOREVER - 70 + t), Punctuation(BEGINNING + 2 + t)]
        )
    assert Operator.restore(falls(), side.snapshot()).snapshot() == side.snapshot()


def test_what_is_ahead_is_an_int64() -> None:
    for control in (Feedback(3.0), Delay(5), Chattiness(3.0)):
        for le, promised in ((FOREVER - 1, BEGINNING + 1), (BEGINNING, 9)):
            control.came(le, -1, promised)
            control.came(le, 1, promised)
        assert type(control).of(control.state()).state() == control.state()
    control = Feedback(3.0)
    for t in range(2000):
        control.came(FOREVER - 1, 1, promised=t - 2000)
        control.answered([(t - 2001, 1)])
        control.sigma(t - 2000)
    assert Feedback.of(control.state()).state() == control.state()


def test_bounds_may_be_floats_of_numpy() -> None:
    for options in ({"max_chattiness": np.float64(1.2)}, {"max_delay": 3, "share": np.float64(0.1)}):
        stage = Cleanse.auto(**options)  # type: ignore[arg-type]
        assert Cleanse.restore(stage.snapshot()).snapshot() == stage.snapshot()


def test_tables_are_steered_as_items_are() -> None:
    items = stream(600, every=50)
    one, many = (Cleanse.auto(max_delay=10).before(Operator(falls(), window=9)) for _ in range(2))
    rows: list[Change] = []
    for item in items:
        if isinstance(item, Change):
            rows.append(item)
            continue
        if rows:
            many.push_many([{"up": [c.payload.up for c in rows], "le": [c.le for c in rows]}])
        rows = []
        many.push_many([item])
    run(one, items)
    assert many.stage.sigma == one.stage.sigma > 0
    assert many.stage.statistics == one.stage.statistics


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "expected one bound but got max_chattiness=None, max_delay=None"),
        ({"max_chattiness": 1.2, "max_delay": 3}, "expected one bound"),
        ({"max_chattiness": 0.9}, "expected at least 1 record for each final match but got max_chattiness=0.9"),
        ({"max_chattiness": True}, "expected at least 1 record for each final match but got max_chattiness=True"),
        ({"max_chattiness": "1"}, "expected at least 1 record for each final match but got max_chattiness='1'"),
        ({"max_chattiness": float("inf")}, "expected at least 1 record for each final match but got max_chattiness=inf"),
        ({"max_delay": -1}, "expected a delay of 0 ticks or more but got max_delay=-1"),
        ({"max_delay": 1.5}, "expected a delay of 0 ticks or more but got max_delay=1.5"),
        ({"max_delay": 1, "share": 1.0}, "expected a share of 0 or more and below 1 but got share=1.0"),
        ({"max_delay": 1, "share": "x"}, "expected a share of 0 or more and below 1 but got share='x'"),
        ({"max_delay": 1, "memory": 3}, f"expected a memory of at least {LEAST} changes but got memory=3"),
        ({"max_chattiness": 2, "memory": 3}, f"expected a memory of at least {LEAST} matches but got memory=3"),
    ],
)
def test_bounds_that_are_none_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(AfaError, match=message):
        Cleanse.auto(**options)


def test_a_foreign_controller_is_refused() -> None:
    cleanse = Cleanse(3)
    for control in (["Oracle", []], ["Delay", [3]], ["Chattiness", [1.5, 100, 0, 0, [["le", 1]], []]]):
        with pytest.raises(SnapshotError, match="expected the numbers of a Cleanse"):
            Cleanse.of([*cleanse.numbers()[:-1], control], [], lambda payload: payload)


def test_records_are_those_of_matches_that_are_final() -> None:
    """What lies at or behind the last promise may still change: neither its records nor its matches count."""
    timed = list(enumerate([Punctuation(0), *ups(1, 3), *ups(5, 6), Punctuation(6), *ups(7, 8), insert(Quote(False), 9)]))
    for at in ("input", "output"):
        (one,) = tradeoff(timed, lambda: Operator(falls(), window=9), [None], at=at)  # type: ignore[arg-type]
        assert (one.records, one.finals, one.chattiness) == (1, 1, 1.0)
        (two,) = tradeoff([*timed, (99, Punctuation(7))], lambda: Operator(falls(), window=9), [None], at=at)  # type: ignore[arg-type]
        assert (two.records, two.finals, two.chattiness) == (2, 2, 1.0)
        late = [*timed[:3], (3, insert(Quote(True), 2)), *timed[3:]]
        (three,) = tradeoff(late, lambda: Operator(falls(), window=9), [None], at=at)  # type: ignore[arg-type]
        assert (three.records, three.finals, three.chattiness) == (3, 1, 3.0), "announced at 3, withdrawn, announced at 2"
    (none,) = tradeoff(timed[1:3], lambda: Operator(falls(), window=9), [None])
    assert (none.records, none.finals) == (0, 0)
    assert math.isnan(none.chattiness)


def ups(down: int, up: int) -> list[Change]:
    """A quote down and one up: a match at the second."""
    return [insert(Quote(False), down), insert(Quote(True), up)]


def test_the_curve_over_sigma() -> None:
    timed = [(i, item) for i, item in enumerate(stream(2000))]
    for at in ("input", "output"):
        points = tradeoff(timed, lambda: Operator(falls(), window=9), [0, 10, 40, FOREVER], at=at)  # type: ignore[arg-type]
        assert len({point.finals for point in points}) == 1
        assert points[0].chattiness == 1
        assert [point.records for point in points] == sorted(point.records for point in points)
        assert [point.first for point in points] == sorted((point.first for point in points), reverse=True)
        assert points[0].held > points[-1].held
    with pytest.raises(AfaError, match='expected at="input" or "output" but got at=\'middle\''):
        tradeoff(timed, lambda: Operator(falls()), [0], at="middle")  # type: ignore[arg-type]
