"""Cleanse before an operator and after one: worlds, calls that fail, keys, tables."""

from __future__ import annotations

import copy
from typing import Any

import pyarrow as pa
import pytest

from afa import (
    FOREVER,
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
)
from speculation import Before, Cleanse, Consolidate
from speculation.stage_state import stream_of
from tests import around, oracle
from tests.automata import arc, pair, silence, small
from tests.forged import forged
from tests.strategies import Seeded
from tests.streams import PROGRAMS, Mix, Quote, Setting, Tick, as_match, recomputed, rows, setting, stream, table
from tests.stress import generate
from tests.stress.mutate import opened
from tests.stress.tables import is_arc
from tests.text import E, T

SIGMAS = (0, 3, 1000, None)
wide_pair = small("a", "c", arc("a", "b", "e.sort == 0"), arc("b", "c", "e.sort == 1"), event="T")
"""`pair` over an event in a table of which a column ``kind`` can stand."""


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


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("as_table", [False, True])
def test_an_operator_that_has_been_promised_something_finds_late_at_once(engine: str, sigma: int | None, as_table: bool) -> None:
    """It waited, and then each punctuation was refused, as what it released was late."""

    def made(late: str) -> Before:
        op = Operator(wide_pair, window=9, engine=engine, late=late)
        op.push(Punctuation(50))
        return Cleanse(sigma).before(op)

    def pushed(before: Before, le: int) -> Any:
        return before.push_many(pa.table({"sort": [0], "seq": [1], "le": [le]})) if as_table else before.push(insert(T(0, 1), le))

    before = made("raise")
    with pytest.raises(LateEventError, match=r"expected le >= 50 \(promised\) but got le=49"):
        pushed(before, 49)
    pushed(before, 50)
    assert before.push(Punctuation(60)) == [Punctuation(60)]
    dropping = made("drop")
    pushed(dropping, 49)
    assert dropping.push(Punctuation(60)) == [Punctuation(60)]
    assert (dropping.statistics.late, dropping.statistics.changes, before.statistics.changes) == (1, 0, 1)


def test_a_key_that_is_given_by_hand_is_kept(engine: str) -> None:
    before = Cleanse(0).before(Keyed(pair, key="who", window=9, engine=engine))
    for key in ("ann", "bob"):
        before.push(insert(E(0), 1), key=key)
    before.push(insert(E(1), 3), key="bob")
    before = Keyed.restore(pair, before.snapshot(), key="who", engine=engine)
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
                sides[1] = restored(here, sides[1], engine)
            for i, side in enumerate(sides):
                alone = choose.chance(10) and i
                out = fed(side, part, here, "items" if alone or not i else shape, promise)
                held[i] = oracle.net([as_match(change) for change in out if isinstance(change, Change)], held[i])
                side._check()
            assert held[0] == held[1]
            one, two = (side.stage.statistics._replace(peak_held=0) for side in sides)
            assert one == two
            rows_waited += place == "before" and sides[1].stage.rows is not None
        model.push(Punctuation(FOREVER))
        assert held[0] == recomputed(here, model, engine)
    assert rows_waited > 2 or place == "after"


def test_rows_of_a_snapshot_are_checked() -> None:
    before = Cleanse(0).before(Operator(pair, window=9))
    before.push_many(pa.table({"kind": [0, 1], "seq": [0, 0], "le": [1, 3]}))
    assert before.stage.rows is None, "a field called kind leaves no room for that column: they wait as changes"
    wide = Cleanse(0).before(Operator(wide_pair, window=9))
    assert wide.push_many(pa.table({"sort": [0, 1], "seq": [0, 0], "le": [1, 3]})).num_rows == 0
    assert wide.stage.rows.num_rows == 2
    blob = wide.snapshot()
    assert len(Operator.restore(wide_pair, blob).push(Punctuation(9))) == 2
    rows_of = opened(blob)[3]
    for place, value, text in (
        ((3,), b"rows", "expected an Arrow stream of rows but got something else"),
        ((3,), rows_of[:40], "expected an Arrow stream of rows but got something else"),
        ((3,), stream_of(pa.table({"x": [1]})), "expected rows of the operator's events but got the columns x: int64"),
        ((1, 2), 2, "expected rows at or above the bound 2 but got others"),
        ((2,), [["sort", "seq"], [None], [5], [14], [1], [[0], [0]]], "expected changes or rows that wait but got both"),
        ((1, -1), ["Delay", [3, 0.1, 100, []]], "expected changes that wait, as a controller must see each, but got rows"),
    ):
        with pytest.raises(SnapshotError, match=text):
            Operator.restore(wide_pair, forged(blob, place, value))
    merged = Consolidate(per="punctuation").before(Operator(wide_pair, window=9)).snapshot()
    with pytest.raises(SnapshotError, match="expected changes that wait but got rows"):
        Operator.restore(wide_pair, forged(merged, (3,), rows_of))


def test_rows_that_wait_are_changes_to_who_looks_at_the_stage_alone() -> None:
    wide = Cleanse(0).before(Keyed(wide_pair, key="seq", window=9))
    wide.push_many([pa.table({"sort": [1, 0], "seq": [3, 3], "le": [7, 2]}), Punctuation(1)])
    held = [Change(T(0, 3), 2, 11, 1, 3), Change(T(1, 3), 7, 16, 1, 3)]
    assert wide.stage.rows.num_rows == len(held)
    assert wide.stage.waiting() == held
    assert Cleanse.restore(wide.stage.snapshot(), payload=T).push(Punctuation(99))[:-1] == held
    assert copy.copy(wide.stage).push(Punctuation(99)) == [*held, Punctuation(99)]
    assert wide.push(insert(T(0, 4), 3)) == []
    assert (wide.stage.rows, wide.stage.statistics.held) == (None, 3), "beside a change they are changes"
    assert [match.key for match in wide.push(Punctuation(99))[:-1]] == [3]
    stage = Cleanse(0)
    stage.before(Operator(wide_pair)).push_many(pa.table({"sort": [0], "seq": [3], "le": [7]}))
    moved = stage.after(Operator(wide_pair))
    assert moved.push_many([insert(T(0, 1), 8), insert(T(1, 2), 9)]) == []
    assert [change.le for change in moved.push(Punctuation(20))[:-1]] == [7, 9]


def restored(here: Setting, around: Any, engine: str) -> Any:
    more: dict[str, Any] = {"key": here.key} if here.keys else {}
    arcs = here.pool[len(here.automaton.arcs) :]
    return type(around).restore(here.automaton, around.snapshot(), arcs=arcs, engine=engine, **more)


def test_rows_that_wait_while_the_operator_itself_is_promised_something_are_late_when_they_leave(engine: str) -> None:
    before = Cleanse(0).before(Operator(wide_pair, window=9, engine=engine, retractions=False, late="drop"))
    before.push_many(pa.table({"sort": [0, 1], "seq": [1, 1], "le": [7, 8]}))
    before.operator.push(Punctuation(20, where="sort == 0"))
    assert before.push(Punctuation(30)) == [Punctuation(30)]
    assert before.statistics.late == 1


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
