"""Cleanse: only what lies below the last punctuation + sigma has left; alone, before an operator, after one."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from afa import (
    FOREVER,
    AfaError,
    Arc,
    Automaton,
    Change,
    ChangeError,
    Keyed,
    LateEventError,
    Operator,
    Punctuation,
    SnapshotError,
    insert,
    retract,
    snapshot,
)
from afa.schema import NAN
from punctuation import sealed
from speculation import Before, Cleanse, Consolidate, consolidate, saved
from tests import around, oracle
from tests.automata import arc, pair, silence, small
from tests.strategies import Choices, Seeded
from tests.streams import PROGRAMS, Mix, Quote, Setting, Tick, as_match, recomputed, rows, setting, stream, table
from tests.stress import generate
from tests.stress.tables import is_arc
from tests.text import E, T

SIGMAS = (0, 3, 1000, None)
wide_pair = small("a", "c", arc("a", "b", "e.sort == 0"), arc("b", "c", "e.sort == 1"), event="T")
"""`pair` over an event in a table of which a column ``kind`` can stand."""


# -- alone -------------------------------------------------------------------------------------------------------------------------


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


def test_copies_annihilate_one_by_one() -> None:
    cleanse = Cleanse(0)
    cleanse.push_many([Change("a", 5, diff=-3), Change("a", 5, diff=2), insert("a", 5), insert("a", 5)])
    assert cleanse.statistics[:5] == (1, 3, 0, 0, 3)
    assert cleanse.push(Punctuation(9)) == [insert("a", 5), Punctuation(9)]


def test_nan_annihilates_nan() -> None:
    cleanse = Cleanse(0)
    cleanse.push_many([insert((1, float("nan")), 5), retract((1, float("nan")), 5)])
    assert cleanse.statistics.held == 0


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


def test_what_is_late_passes() -> None:
    cleanse = Cleanse(0)
    cleanse.push(Punctuation(5))
    assert cleanse.push(retract("a", 4)) == [retract("a", 4)]


@pytest.mark.parametrize("sigma", [-1, 1.5, True, "1", -math.inf, NAN])
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
    with pytest.raises(SnapshotError, match="expected a snapshot of Cleanse before an operator but got one of Cleanse alone"):
        Before.restore(blob, lambda inner: Operator.restore(pair, inner))
    with pytest.raises(SnapshotError, match="expected the bytes of a snapshot but got str"):
        Cleanse.restore("blob")  # type: ignore[arg-type]
    cleanse.push(insert(object(), 9))
    with pytest.raises(SnapshotError, match="expected plain data"):
        cleanse.snapshot()


# -- around an operator ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("place", ["before", "after"])
def test_worlds(place: str, sigma: int | None, engine: str) -> None:
    wrap = getattr(around, place)(sigma)
    expected = around.matches_of_released if place == "before" else around.matches_below
    matches = withdrawn = waited = 0
    for number in range(20):
        spec = generate.world(Seeded(f"cleanse/{number}"))
        try:
            ran = around.run(spec, engine, wrap, expected)
        except AssertionError as error:
            raise AssertionError(f"world cleanse/{number}: {error}") from error
        withdrawn += around.retractions(ran.out)
        matches, waited = matches + len(ran.held), waited + (ran.waited > 0)
        if sigma == 0 and (place == "after" or not around.past_arcs(spec)):
            assert not around.retractions(ran.out), f"world cleanse/{number}"
    assert matches > 30
    assert waited > 8 or sigma in (1000, None)
    assert withdrawn > 5 or sigma in (0, 3)


def test_an_event_that_waits_has_been_seen(engine: str) -> None:
    """An arc in default mode begins after it, wherever it stands in its call; a call that fails has seen nothing."""
    loud = Arc("a", "c", lambda e, r: e.kind == 0, name="loud")
    for sigma in SIGMAS:
        before = Cleanse(sigma).before(Operator(pair, window=9, engine=engine))
        before.push(Punctuation(0))
        before.push(insert(E(0), 7))
        before.push_arc(insert(loud))
        assert before.operator._core.arcs.table.events[-1].le == 8
        before.push_many([insert(E(2), 12), insert(loud), insert(E(2), 30)])
        assert [event.le for event in before.operator._core.arcs.table.events[-2:]] == [8, 13]
        with pytest.raises(LateEventError, match="expected le >= 0"):
            before.push_many([insert(E(0), 99), insert(E(0), -1)])
        assert before.operator._core.progress.now == 31
        out = [before.push(item) for item in (insert(E(0), 40), Punctuation(FOREVER))]
        assert {change.le for part in out for change in part if isinstance(change, Change) and change.diff > 0} == {40}


def test_a_call_that_fails_leaves_stage_and_operator_as_they_were(engine: str) -> None:
    def boom(e: E, r: Any) -> bool:
        return 1 // (e.seq - 5) < 9 and e.kind == 0

    automaton = Automaton(start="a", final={"c"}, event=E, arcs=[Arc("a", "c", boom)])
    before = Cleanse(0).before(Operator(automaton, window=9, engine=engine))
    before.push_many([insert(E(0, 1), 3), insert(E(0, 5), 4), insert(E(0, 2), 9)])
    blob, statistics = before.snapshot(), before.stage.statistics
    for call in (lambda: before.push(Punctuation(6)), lambda: before.push_many([insert(E(0), 1), Punctuation(6)])):
        with pytest.raises(ZeroDivisionError):
            call()
        assert (before.snapshot(), before.stage.statistics) == (blob, statistics)
    before.push(retract(E(0, 5), 4))
    assert [change.le for change in before.push(Punctuation(6))[:-1]] == [3]


def test_the_lifetime_of_the_operator_is_known(engine: str) -> None:
    before = Cleanse(0).before(Operator(pair, window=9, engine=engine))
    before.push_many([insert(E(0), 3), retract(E(0), 3, 12)])
    assert before.stage.statistics[:5] == (0, 1, 0, 0, 1)
    with pytest.raises(ChangeError, match="expected re > le but got le=3, re=2"):
        before.push(insert(E(0), 3, 2))
    with pytest.raises(ChangeError, match="expected E"):
        before.push(insert("no event", 3))


def test_a_key_that_is_given_by_hand_is_kept(engine: str) -> None:
    before = Cleanse(0).before(Keyed(pair, key="who", window=9, engine=engine))
    for key in ("ann", "bob"):
        before.push(insert(E(0), 1), key=key)
    before.push(insert(E(1), 3), key="bob")
    before = Before.restore(before.snapshot(), lambda inner: Keyed.restore(pair, inner, key="who", engine=engine))
    assert [change.key for change in before.push(Punctuation(9))[:-1]] == ["bob"]
    with pytest.raises(ChangeError, match="expected an event with the key's fields"):
        before.push(insert(E(1), 30))
    with pytest.raises(ChangeError, match="expected a key for a Keyed only but got key='ann' for an Operator"):
        Cleanse(0).before(Operator(pair, engine=engine)).push(insert(E(0), 1), key="ann")


def test_a_time_out_fires_once_the_clock_has_reached_it(engine: str) -> None:
    """The clock of an operator behind the stage: the events that it has, and the punctuation."""
    before, after = (getattr(Cleanse(0), place)(Operator(silence, window=9, engine=engine)) for place in ("before", "after"))
    for composed in (before, after):
        composed.push_many([insert(E(0), 1), insert(E(2), 7), insert(E(2), 4)])
        assert composed.push(retract(E(2), 4)) == []
    assert before.push(Punctuation(5))[0].le == 5, "nothing can end the wait any more"
    assert after.push(Punctuation(5)) == [Punctuation(5)], "at the bound it still waits"
    assert after.push(Punctuation(6))[0].le == 5


@pytest.mark.parametrize("operator", [None, "operator", Cleanse(0)])
def test_a_stage_stands_at_an_operator(operator: Any) -> None:
    with pytest.raises(AfaError, match="expected an Operator or a Keyed"):
        Cleanse(0).before(operator)
    with pytest.raises(AfaError, match="expected an Operator or a Keyed, perhaps with a stage, but got"):
        Cleanse(0).after(operator)


# -- tables ------------------------------------------------------------------------------------------------------------------------


def parts(items: list[Any]) -> list[Any]:
    """Items with the events that follow on each other as lists of their own."""
    found: list[Any] = []
    for item in items:
        if isinstance(item, Punctuation) or is_arc(item):
            found.append(item)
        elif found and isinstance(found[-1], list) and len(found[-1]) < 8:
            found[-1].append(item)
        else:
            found.append([item])
    return found


def fed(composed: Any, part: Any, here: Setting, shape: str, promise: list[Any]) -> list[Any]:
    """What comes out of a part, which may go as a table."""
    if not isinstance(part, list):
        return composed.push_arc(part) if is_arc(part) else composed.push(part)
    if shape == "items":
        return composed.push_many([*part, *promise])
    event: Any = here.automaton.event_schema.cls  # type: ignore[union-attr]
    batch, _ = table(part, event, here.options["window"], shape)
    if not promise:
        return rows(composed.push_many(batch), here)
    out, *rest = composed.push_many([batch, *promise])
    return [*rows(out, here), *rest]


@pytest.mark.parametrize("shape", ["dict", "arrow", "pandas"])
@pytest.mark.parametrize("place", ["before", "after"])
def test_tables_are_items(shape: str, place: str, engine: str) -> None:
    rows_waited = 0
    for number, sigma in enumerate((0, 15, 40, None)):
        choose = Seeded(f"tables/{number}")
        here = setting(
            list(PROGRAMS)[number],
            (Tick, Tick, Quote, Quote)[number],
            choose.one([(), ("who",), ("who", "sort")]),
            window=choose.one([9, None]),
        )
        mix = Mix(retract=choose.one([0, 12]), duplicate=3, early=choose.one([0, 3]), arcs=1, promise=4, shift=12)
        stream_of_items, model = stream(choose, here, 50, mix, keys=3)
        sides = [getattr(Cleanse(sigma), place)(here.make(engine)) for _ in range(2)]
        held: list[Any] = [set(), set()]
        todo = [*parts(stream_of_items), Punctuation(FOREVER)]
        while todo:
            part = todo.pop(0)
            promise = [todo.pop(0)] if isinstance(part, list) and isinstance(todo[0], Punctuation) and choose.chance(40) else []
            if choose.chance(15):
                sides[1] = type(sides[1]).restore(sides[1].snapshot(), restoring(here, sides[1].operator, engine))
            for i, side in enumerate(sides):
                alone = choose.chance(10) and i
                out = fed(side, part, here, "items" if alone or not i else shape, promise)
                held[i] = oracle.net([as_match(change) for change in out if isinstance(change, Change)], held[i])
                side._check()
            assert held[0] == held[1]
            one, two = (side.stage.statistics._replace(peak_held=0) for side in sides)
            assert one == two
            rows_waited += place == "before" and sides[1].stage.rows.copies > 0
        model.push(Punctuation(FOREVER))
        assert held[0] == recomputed(here, model, engine)
    assert rows_waited > 2 or place == "after"


def test_rows_of_a_snapshot_are_checked() -> None:
    before = Cleanse(0).before(Operator(pair, window=9))
    before.push_many(pa.table({"kind": [0, 1], "seq": [0, 0], "le": [1, 3]}))
    assert before.stage.rows.copies == 0, "a field called kind leaves no room for that column: they wait as changes"
    wide = Cleanse(0).before(Operator(wide_pair, window=9))
    assert wide.push_many(pa.table({"sort": [0, 1], "seq": [0, 0], "le": [1, 3]})).num_rows == 0
    assert wide.stage.rows.copies == 2
    blob = wide.snapshot()
    assert len(Before.restore(blob, lambda inner: Operator.restore(wide_pair, inner)).push(Punctuation(9))) == 2
    name, numbers, waiting, stream, inner = saved.unseal(blob, ["Cleanse"], "before")
    for text, bad in (
        ("expected an Arrow stream of rows but got something else", b"rows"),
        ("expected an Arrow stream of rows but got something else", stream[:40]),
        ("expected rows of the operator's events but got the columns x: int64", saved.stream_of(pa.table({"x": [1]}))),
    ):
        body = snapshot.plain([[name, "before"], numbers, waiting, bad, inner])
        with pytest.raises(SnapshotError, match=text):
            Before.restore(sealed.seal(saved.MAGIC, saved.VERSION, body), lambda inner: Operator.restore(wide_pair, inner))
    low = [numbers[0], numbers[1], 2, *numbers[3:]]
    body = snapshot.plain([[name, "before"], low, waiting, stream, inner])
    with pytest.raises(SnapshotError, match="expected rows at or above the bound 2 but got others"):
        Before.restore(sealed.seal(saved.MAGIC, saved.VERSION, body), lambda inner: Operator.restore(wide_pair, inner))


def restoring(here: Setting, operator: Any, engine: str) -> Any:
    more: dict[str, Any] = {"key": here.key} if here.keys else {}
    arcs = here.pool[len(here.automaton.arcs) :]
    return lambda blob: type(operator).restore(here.automaton, blob, arcs=arcs, engine=engine, **more)


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


@pytest.mark.parametrize("as_table", [False, True])
def test_what_breaks_a_promise_with_a_condition_is_late_at_once_not_when_it_would_leave(engine: str, as_table: bool) -> None:
    def pushed(before: Before, le: int, diff: int = 1) -> Any:
        if as_table:
            return before.push_many(pa.table({"sort": [0], "seq": [1], "le": [le], "diff": [diff]}))
        return before.push(Change(T(0, 1), le, None, diff))

    def made(late: str) -> Before:
        before = Cleanse(0).before(Operator(wide_pair, window=9, engine=engine, retractions=False, late=late))
        before.push_many([Punctuation(5), Punctuation(20, "sort == 0")])
        return before

    before = made("raise")
    with pytest.raises(LateEventError, match=r"expected le >= 20 \(promised, where e.sort == 0\) but got le=12"):
        pushed(before, 12)
    with pytest.raises(ChangeError, match="expected insertions only"):
        pushed(before, 30, -1)
    assert before.stage.statistics.held == 0
    pushed(before, 20)
    assert before.push(Punctuation(16)) == [Punctuation(16)]
    assert (before.stage.statistics.held, before.statistics.late) == (1, 0)
    dropping = made("drop")
    pushed(dropping, 12)
    assert (dropping.stage.statistics.held, dropping.statistics.late) == (0, 1)
