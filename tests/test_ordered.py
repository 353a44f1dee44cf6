"""AFA+O, one thing each: gaps, numbers that come twice, time-outs, arcs, snapshots; random worlds: `test_gapless_worlds.py`."""

from __future__ import annotations

from typing import Any

import pytest

from afa import (
    AfaError,
    Arc,
    Automaton,
    AutomatonError,
    Change,
    ChangeError,
    LateEventError,
    Operator,
    Punctuation,
    SnapshotError,
    insert,
    retract,
)
from punctuation.time import BEGINNING, FOREVER
from speculation import Ordered
from tests.numbered import FALLS, event, spans
from tests.text import E, F


def test_a_retraction_that_comes_first_takes_its_insertion_only(engine: str) -> None:
    op = Ordered(FALLS, number="seq", window=99, engine=engine)
    op.push_many([event(1, 10), retract(E(0, 2), 20)])
    op.push(event(2, 20, 1))  # another version of that number
    assert op.statistics.pending == 1
    op.push(event(2, 20, 0))  # meets its retraction
    assert op.statistics.pending == 0
    assert op.statistics.repeated == 0
    op._check()


def test_a_dict_is_an_event_of_its_key(engine: str) -> None:
    op = Ordered(FALLS, number="seq", key="kind", window=99, engine=engine)
    op.push({"kind": 0, "seq": 1, "le": 10})
    op.push({"kind": 0, "seq": 2, "le": 20}, key=7)
    assert op._core.engine.keys() == [0, 7]


@pytest.mark.parametrize("gaps", ["break", "join"])
def test_a_gap_that_never_closes_is_told_once(engine: str, gaps: Any) -> None:
    told: list[Any] = []
    op = Ordered(FALLS, number="seq", window=99, engine=engine, gaps=gaps, on_gap=lambda *gap: told.append(gap))
    op.push_many([event(1, 10), event(4, 40, 1), event(9, 90)])
    assert spans(op.push(Punctuation(40))) == [40]
    assert told == []
    assert spans(op.push(Punctuation(41))) == ([(40, 1), 41] if gaps == "join" else [41])
    assert spans(op.push(Punctuation(42))) == [42]
    assert told == [(None, 2, 3)]
    assert (op.statistics.gaps, op.statistics.missing, op.statistics.barriers, op.statistics.changes) == (1, 2, 1, 3)
    assert Operator(FALLS).statistics[-4:] == (0, 0, 0, 0)


def test_a_callback_for_gaps_that_raises_rejects_the_call(engine: str) -> None:
    def refuse(key: Any, first: int, last: int) -> None:
        raise RuntimeError("no gaps here")

    op = Ordered(FALLS, number="seq", window=99, engine=engine, gaps="join", on_gap=refuse)
    op.push_many([event(1, 10), event(3, 30, 1)])
    before = op.snapshot()
    with pytest.raises(RuntimeError, match="no gaps here"):
        op.push(Punctuation(50))
    assert op.snapshot() == before
    op._check()
    assert spans(op.push(event(2, 20, 2))) == []
    assert spans(op.push(Punctuation(50))) == [50]


def test_a_fault_in_a_fence_leaves_it_as_it_was(engine: str) -> None:
    def brittle(e: E, r: Any) -> bool:
        if e.seq == 3:
            raise KeyError("three")
        return e.kind == 0

    name = "auto" if engine == "compiled" else engine
    op = Ordered(Automaton(start="a", final={"b"}, event=E, arcs=[Arc("a", "b", brittle)]), number="seq", engine=name)
    op.push_many([event(1, 10), event(5, 50)])
    before = op.snapshot()
    with pytest.raises(KeyError, match="three") as raised:
        op.push_many([event(2, 20), event(3, 30), Punctuation(25)])
    assert any("on event E(kind=0, seq=3)" in note for note in getattr(raised.value, "__notes__", ["on event E(kind=0, seq=3)"]))
    assert op.snapshot() == before
    op._check()
    assert spans(op.push(event(2, 20))) == [(20, 1)]


def test_a_fence_in_python_sees_the_users_event_and_no_barrier(engine: str) -> None:
    seen = set()

    def odd(e: Any, r: Any) -> bool:
        kind, number = e  # two fields, as the user's event has
        seen.add((type(e), number))
        return bool(sum([kind]) == 0)

    automaton = Automaton(start="a", final={"b"}, event=E, arcs=[Arc("a", "b", odd)])
    op = Ordered(automaton, number="seq", window=9, engine="auto" if engine == "compiled" else engine)
    out = op.push_many([event(1, 1), event(5, 5)])
    assert spans(out) == [(1, 1), (5, 1)]
    assert seen == {(E, 1), (E, 5)}


def test_arcs_stay_compiled_and_ignorable() -> None:
    more = [Arc("b", "b", lambda e, r: e.kind == 2 and e[-1] > 0), Arc("b", "d", "kind == 3", "()")]
    automaton = Automaton(start="a", final={"c"}, event=E, arcs=[*FALLS.arcs, *more])
    op = Ordered(automaton, number="seq", engine="compiled")
    assert op._core.engine.name == "compiled"
    assert [item.rung.rung for item in op._core.automaton.explain()] == ["compiled"] * 4
    assert [arc.ignorable for arc in op._core.automaton.arcs] == [False, False, True, False]
    assert op.automaton is automaton
    assert "e.kind == 2 and e.seq > 0" in str(op.automaton.explain())  # e[-1] is the user's last field
    loops = Automaton(start="a", final={"b"}, event=E, arcs=[Arc("a", "b", lambda e, r: [e.kind] > [0])])
    with pytest.raises(
        AutomatonError, match=r"arcs that compile for engine=\"compiled\" but got arc a -> b: fence: a list is used"
    ):
        Ordered(loops, number="seq", engine="compiled")


def test_what_comes_late_is_the_policys(engine: str) -> None:
    late: list[Any] = []
    op = Ordered(FALLS, number="seq", window=9, engine=engine, late=late.append)
    op.push_many([event(1, 10), retract(E(0, 5), 30), Punctuation(20), event(2, 15, 1), event(3, 25), Punctuation(40)])
    assert late == [Change(E(1, 2), 15, 24), Change(E(0, 5), 30, 39, -1)]
    assert {type(change.payload) for change in late} == {E}
    assert (op.statistics.late, op.statistics.missing) == (2, 1)
    with pytest.raises(LateEventError, match=r"expected le >= 20 \(promised\) but got le=15 for E\(kind=1, seq=2\)"):
        Ordered(FALLS, number="seq", window=9, engine=engine).push_many([event(1, 10), Punctuation(20), event(2, 15, 1)])


def test_a_number_that_is_in_force_is_refused(engine: str) -> None:
    again = [event(1, 10, 1), event(1, 10, 0), event(2, 20)]
    with pytest.raises(ChangeError, match=r"expected each number once but got seq=1 again at le=10 of key 7: .* in force at le=10"):
        Ordered(FALLS, number="seq", key=lambda e: 7, engine=engine).push_many(again)
    op = Ordered(FALLS, number="seq", engine=engine, repeated="drop")
    op.push_many(again)
    op.push(event(2, 20)._replace(diff=3))
    assert (op.statistics.repeated, op.statistics.changes) == (4, 2)


def test_numbers_against_their_times_are_refused(engine: str) -> None:
    op = Ordered(FALLS, number="seq", engine=engine)
    op.push_many([event(1, 10), event(5, 50)])
    for wrong in (event(2, 60), event(6, 49), event(0, 11), event(3, 5)):
        with pytest.raises(ChangeError, match=r"times that follow the numbers but got seq=\d at le=\d+ and seq=\d at le=\d+"):
            op.push(wrong)
    op.push_many([retract(E(0, 1), 10), retract(E(0, 5), 50), event(5, 5), event(1, 5)])  # in one call both may move
    op.push(Punctuation(30))
    with pytest.raises(ChangeError, match="got seq=2 at le=40 and seq=5 at le=5"):
        op.push(event(2, 40))
    op._check()


def test_a_key_whose_last_event_is_retracted_is_forgotten_as_by_a_promise(engine: str) -> None:
    """It was kept until the next one, though what it held was over."""
    op = Ordered(FALLS, number="seq", key=lambda e: e.kind, window=10, engine=engine)
    op.push_many([insert(E(0, 1), 10, 12), insert(E(0, 2), 30), Punctuation(30)])
    op.push(retract(E(0, 2), 30))
    op._check()
    assert op.statistics.keys == 0


def test_wrong_arguments_are_refused() -> None:
    """As those of an operator that is `gapless`, by `test_gapless.py`; a wrong key is the operator's own."""
    with pytest.raises(AfaError, match="got key=5"):
        Ordered(FALLS, number="seq", key=5)  # type: ignore[arg-type]


def test_automata_that_do_not_fit_are_refused() -> None:
    with pytest.raises(AfaError, match="expected an Automaton but got 5"):
        Ordered(5, number="seq")  # type: ignore[arg-type]
    any_event = Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: True)])
    with pytest.raises(AfaError, match="expected an automaton with event=<a NamedTuple with the field 'seq'> but got Automaton"):
        Ordered(any_event, number="seq")
    floats = Automaton(start="a", final={"b"}, event=F, arcs=[Arc("a", "b", "kind == 0")])
    with pytest.raises(AutomatonError, match="expected an int field but got gapless='value'"):
        Ordered(floats, number="value")


def test_a_key_where_none_is() -> None:
    with pytest.raises(AfaError, match="expected no key, as the operator was made without one, but got key='a'"):
        Ordered(FALLS, number="seq").push(event(1, 1), key="a")


# -- snapshots ---------------------------------------------------------------------------------------------------------------------


def test_a_snapshot_holds_the_numbers(engine: str) -> None:
    told: list[Any] = []
    automaton = FALLS
    op = Ordered(automaton, number="seq", key="kind", window=9, engine=engine, repeated="drop", gaps="join")
    op.push_many([event(1, 10), event(1, 10), event(3, 12), retract(E(0, 9), 99), event(4, 30, 1)])
    again = Ordered.restore(automaton, op.snapshot(), key="kind", engine=engine, on_gap=lambda *gap: told.append(gap))
    again._check()
    assert again.snapshot() == op.snapshot()
    assert again.statistics == op.statistics
    again.push_many([event(4, 31, 1), Punctuation(40)])
    assert (told, again.statistics.repeated, again.statistics.gaps) == ([(0, 2, 2)], 2, 1)


@pytest.mark.parametrize("keys", [1, 2])
def test_a_snapshot_holds_more_missing_numbers_than_an_int64(engine: str, keys: int) -> None:
    op = Ordered(FALLS, number="seq", key="kind", engine=engine)
    for key in range(keys):
        op.push_many([event(BEGINNING, 1, key), event(FOREVER, 5, key)])
    op.push(Punctuation(10))
    assert op.statistics.missing == keys * (2**64 - 2)
    found = Ordered.restore(FALLS, op.snapshot(), key="kind", engine=engine)
    assert found.statistics == op.statistics


def test_blobs_that_are_none_are_refused() -> None:
    """What is wrong in them is told by `test_damage.py`."""
    automaton = FALLS
    op = Ordered(automaton, number="seq", repeated="drop")
    op.push(event(1, 10))
    with pytest.raises(SnapshotError, match="a snapshot of an Ordered but got one of an operator whose events have no numbers"):
        Ordered.restore(automaton, Operator(automaton).snapshot())
    with pytest.raises(SnapshotError, match="use Operator"):
        Ordered.restore(automaton, op.snapshot(), key="kind")
