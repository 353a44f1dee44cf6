"""Operators that keep triggering sets in place of payloads: what they hold, refuse, tell and save."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from afa import (
    BEGINNING,
    FOREVER,
    AfaError,
    Arc,
    Automaton,
    AutomatonError,
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
from afa.rewrite.triggers import Triggers
from punctuation import SideOutput
from tests.automata import Count
from tests.forged import forged
from tests.kinds_of_calls import end_of_arc

REDUCED: dict[str, Any] = {"retractions": False, "keep_payloads": False}


class Report(NamedTuple):
    """An event of which little is asked."""

    who: str
    heat: float
    text: str = ""


def rises(*more: Arc) -> Automaton:
    """Three hot reports, none of them cold in between."""
    arcs = [
        Arc("a", "b", "heat > 9", name="first"),
        Arc("b", "b", "heat > 9 and r.n < 1", "(r.n + 1,)", name="again"),
        Arc("b", "c", lambda e, r: r.n == 1 and e.heat > 9 and e.who.startswith("N"), lambda e, r: Count(r.n + 1), name="last"),
    ]
    return Automaton(start="a", final={"c"}, arcs=[*arcs, *more], register=Count(), event=Report)


def hot(op: Any, *les: int) -> list[Any]:
    return [change for le in les for change in op.push(insert(Report("N1", 10.0, "x"), le))]


def test_what_is_held_are_sets(engine: str) -> None:
    op = Operator(rises(), window=9, engine=engine, **REDUCED)
    assert hot(op, 1, 2, 3) == [Change(Count(2), 3, 10, 1)]
    assert op._core.engine.bits is not None
    assert op._core.engine.bits == [0, 0, 1]
    (column,) = op._core.engine.save().payloads
    assert column.values.tolist() == [3, 3, 3]


def test_a_snapshot_does_not_grow_with_what_is_not_asked(engine: str) -> None:
    sizes = {}
    for keep in (True, False):
        op = Operator(rises(), window=1000, engine=engine, retractions=False, keep_payloads=keep)
        columns = {"who": ["N1"] * 500, "heat": [float(i % 12) for i in range(500)], "text": [f"{i} " * 500 for i in range(500)]}
        op.push_many({**columns, "le": list(range(500))})
        sizes[keep] = len(op.snapshot())
    assert sizes[True] > 900_000
    assert sizes[False] < 5_000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Arc("a", "b", "heat > 9 and heat > r.n"), "arc a -> b: fence: e.heat > r.n needs the event and the register at once"),
        (Arc("a", "b", "heat > 9 or r.n == 1"), "fence: e.heat > 9 or r.n == 1 needs the event and the register at once"),
        (Arc("a", "b", "r.n != 0 and 1 / heat > 9"), "fence: 1 / e.heat > 9 needs the event and the register at once"),
        (Arc("b", "b", "True", "(len(who),)", name="x"), "arc 'x': b -> b: transfer: (len(e.who),) reads the event"),
        (Arc("a", "b", lambda e, r: [e.heat]), "arc a -> b: fence: "),
        (Arc("a", "b", "True", lambda e, r: max([r])), "arc a -> b: transfer: "),
    ],
)
def test_what_does_not_split_is_refused(engine: str, wrong: Arc, message: str) -> None:
    text = re.escape("expected arcs that split for keep_payloads=False but got ") + ".*" + re.escape(message)
    with pytest.raises(AutomatonError, match=text):
        Operator(rises(wrong), engine=engine, **REDUCED)
    op = Operator(rises(), window=9, engine=engine, **REDUCED)
    hot(op, 1, 2)
    before = op.snapshot()
    with pytest.raises(AutomatonError, match=text):
        op.push_arc(insert(wrong))
    with pytest.raises(AutomatonError, match=text):
        op.push_many([insert(Report("N1", 10.0), 3), insert(wrong), insert(Report("N1", 10.0), 4)])
    assert op.snapshot() == before
    assert hot(op, 3) == [Change(Count(2), 3, 10, 1)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retractions": True}, "keep_payloads=False needs retractions=False because an event that is gone"),
        (
            {"arc_punctuation": True},
            "arc_punctuation=True can't be combined with keep_payloads=False because without",
        ),
    ],
)
def test_options_that_need_payloads_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(AfaError, match=message):
        Operator(rises(), **REDUCED | options)
    with pytest.raises(AfaError, match=message):
        Keyed(rises(), key="who", **REDUCED | options)


def test_an_automaton_without_a_schema_is_refused() -> None:
    untyped = Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: e > 1)])
    with pytest.raises(AfaError, match="expected an automaton with event= for keep_payloads=False but got Automaton"):
        Operator(untyped, **REDUCED)


def test_arcs_of_the_past_are_refused(engine: str) -> None:
    op = Operator(rises(), window=9, engine=engine, **REDUCED)
    hot(op, 1, 2, 5)
    own, new = op.automaton.arcs[0], Arc("a", "c", "heat > 99", name="new")
    text = "expected a change of an arc from 6 on (keep_payloads=False: the payloads before it are gone) but got le="
    before = op.snapshot()
    for change, le in ((insert(new, 5), "5 for arc 'new'"), (insert(new, 2, 3), "2 for"), (retract(own, BEGINNING), "-92")):
        with pytest.raises(ChangeError, match=re.escape(text) + le):
            op.push_arc(change)
    with pytest.raises(ChangeError, match="but got le=4 for arc 'first'"):
        end_of_arc(op, own, 4)
    assert op.snapshot() == before
    op.push_arc(insert(new, 6))
    op.push_arc(retract(own))
    assert [event.arc.name for event in op._core.arcs.table.events if event.re > 6] == ["again", "last", "new"]


def test_there_are_62_bits_at_an_instant_and_those_that_ended_are_given_again(engine: str) -> None:
    op = Operator(rises(), window=9, engine=engine, **REDUCED)
    for i in range(70):
        arc = Arc("b", "c", f"heat == {i + 100}", name=f"new{i}")
        op.push_arc(insert(arc))
        assert len(op.push(insert(Report("N1", 10.0), 2 * i)) + op.push(insert(Report("N1", i + 100.0), 2 * i + 1))) >= 1
        op.push_arc(retract(arc))
    assert op._core.engine.bits is not None
    assert max(bit for bit in op._core.engine.bits if bit is not None) == 2
    many = [Arc("b", "c", f"heat == {i + 100}", name=f"many{i}") for i in range(60)]
    for arc in many:
        op.push_arc(insert(arc, 1000))
    with pytest.raises(AutomatonError, match="more than 62 different event parts are in force at le=1000"):
        op.push_arc(insert(Arc("b", "c", "heat == 50"), 1000))
    op.push_arc(insert(Arc("b", "c", "heat == 103 and r.n == 2", name="shares"), 1000))
    op.push_arc(insert(Arc("b", "c", "heat == 50", name="before"), 999, 1000))
    assert len(op.push_many([insert(Report("N1", heat), le) for heat, le in ((10.0, 1001), (159.0, 1002))])) == 1
    again = Operator.restore(op.automaton, op.snapshot(), arcs=[e.arc for e in op._core.arcs.table.events][3:], engine=engine)
    assert again.snapshot() == op.snapshot()


def test_what_an_event_part_raises_is_told_of_the_event(engine: str) -> None:
    op = Operator(rises(Arc("b", "c", "1 / heat > 9", name="odd")), window=9, engine=engine, late="drop", **REDUCED)
    hot(op, 1)
    before = op.snapshot()
    columns = {"who": ["N1", "N2"], "heat": [1.0, 0.0], "text": ["", ""], "le": [2, 3]}
    for call in (lambda: op.push(insert(Report("N2", 0.0), 3)), lambda: op.push_many({n: np.array(c) for n, c in columns.items()})):
        with pytest.raises(ZeroDivisionError, match="division by zero") as caught:
            call()
        assert "in the fence of arc 'odd': b -> c on event Report(who='N2', heat=0.0, text='') at le=3" in str(notes(caught.value))
    assert op.snapshot() == before
    op.push_arc(retract(Arc("b", "c", "True", name="odd")))
    op.push(insert(Report("N2", 0.0), 4))
    op.push(Punctuation(4))
    op.push(insert(Report("N2", 0.0), 3))
    op.push_many({n: np.array(c) for n, c in columns.items()})
    assert op.statistics.late == 3


def notes(error: BaseException) -> list[str]:
    return [*getattr(error, "__notes__", []), *map(str, error.args)]


@pytest.mark.parametrize("frame", [dict, pd.DataFrame])
def test_policies_get_payloads(engine: str, frame: Any) -> None:
    side = SideOutput()
    op = Keyed(rises(), key="who", window=9, engine=engine, late=side, **REDUCED)
    op.push(Punctuation(5))
    columns = {"who": ["N1", "N2", "N1"], "heat": [10.0, -0.0, 10.0], "text": ["", "x", ""], "le": [6, 4, 7]}
    op.push_many(
        frame({name: np.array(column, object if name != "heat" and name != "le" else None) for name, column in columns.items()})
    )
    assert side.changes == [Change(Report("N2", 0.0, "x"), 4, 13, 1, "N2")]
    assert str(side.changes[0].payload.heat) == "0.0"
    strict = Operator(rises(), window=9, engine=engine, **REDUCED)
    strict.push(Punctuation(5))
    with pytest.raises(LateEventError, match=re.escape("expected le >= 5 (promised) but got le=4 for Report(who='N2', heat=0.0")):
        strict.push_many({name: np.array(column) for name, column in columns.items()})
    some = Operator(rises(), window=9, engine=engine, **REDUCED)
    some.push(Punctuation(5, "heat > 1"))
    with pytest.raises(LateEventError, match=re.escape("expected le >= 5 (promised, where e.heat > 1) but got le=4 for Report(")):
        some.push(insert(Report("N1", 2.0), 4))


def test_a_snapshot_whose_bits_do_not_fit_is_refused(engine: str) -> None:
    op = Operator(rises(), window=9, engine=engine, **REDUCED)
    hot(op, 1, 2)
    for bits in ([0, 1, 0], [0, 0, 62], [0, 0, -1], [0, 0], [0, 0, 1, 2], [0, 0, "1"], [None, 0, 1], [0, 0, 0], 7):
        with pytest.raises(SnapshotError, match="expected a snapshot's fields"):
            Operator.restore(op.automaton, forged(op.snapshot(), (2, -1), bits), engine=engine)
    same = Operator.restore(op.automaton, forged(op.snapshot(), (2, -1), [7, 7, 3]), engine=engine)
    assert same._core.engine.bits is not None


def test_a_restore_is_under_the_option_that_was_saved(engine: str) -> None:
    op = Operator(rises(), window=9, engine=engine, **REDUCED)
    hot(op, 1, 2)
    again = Operator.restore(op.automaton, op.snapshot(), engine=engine)
    with pytest.raises(ChangeError, match="insertions only"):
        again.push(retract(Report("N1", 10.0, "x"), 1))
    assert hot(again, 3) == [Change(Count(2), 3, 10, 1)]
    mixed = [Arc("a", "b", "heat > r.n", name="first"), *op.automaton.arcs[1:]]
    other = Automaton(start="a", final={"c"}, arcs=mixed, register=Count(), event=Report)
    with pytest.raises(AutomatonError, match="expected arcs that split for keep_payloads=False but got arc 'first'"):
        Operator.restore(other, op.snapshot(), engine=engine)


def test_what_only_python_can_ask_of_an_event_is_asked_once(engine: str) -> None:
    """A field of any value, a comparison that has no machine code: the compiled engine takes them, too."""

    class Anything(NamedTuple):
        what: Any
        name: str

    arcs = [Arc("a", "b", "len(name) > 2 and name < 'q'"), Arc("b", "c", lambda e, r: e.what is not None)]
    op = Operator(Automaton(start="a", final={"c"}, arcs=arcs, event=Anything), window=9, engine=engine, **REDUCED)
    op.push(insert(Anything((1, 2), "abc"), 1))
    out = op.push_many({"what": [None, (3,)], "name": ["abcd", "x"], "le": [2, 3]})
    assert list(out["le"]) == [3]


def test_the_changes_of_arcs_in_a_table_are_known_before_its_first_row(monkeypatch: pytest.MonkeyPatch) -> None:
    swaps: list[int] = []
    followed_by = Triggers.followed_by

    def counted(self: Triggers, events: Any, le: int, now: int) -> Triggers:
        swaps.append(le)
        return followed_by(self, events, le, now)

    def table(*rows: Any) -> dict[str, Any]:
        heat, le, diff, kind, arc = zip(*[row if isinstance(row, tuple) else (row, next(les), 1, 0, 0) for row in rows])
        who, text = ["N1"] * len(rows), [""] * len(rows)
        return {"who": who, "heat": heat, "text": text, "le": le, "diff": diff, "kind": kind, "arc": arc}

    monkeypatch.setattr(Triggers, "followed_by", counted)
    arcs = [Arc("a", "c", "heat < 2", name="cold"), Arc("a", "c", "heat < 1", name="icy"), Arc.timeout("a", "c", "9", name="waits")]
    cold, icy, waits = [(0.0, BEGINNING, 1, 1, number) for number in range(3)]
    op, les = Operator(rises(), window=9, engine="compiled", **REDUCED), iter([1, 3, 2, 5, 6, 7])
    out = op.push_many(table(0.5, cold, 0.5, 1.5, (0.0, BEGINNING, -1, 1, 0), icy, 0.5), arcs=arcs)
    assert sorted(out["le"].tolist()) == [2, 3, 5]
    assert swaps == [2]
    found = [(event.arc.name, event.le, event.re) for event in op._core.arcs.table.events[3:]]
    assert found == [("cold", 2, 4), ("icy", 4, FOREVER)]
    op.push_many(table(0.5, waits, 0.5, cold), arcs=arcs)
    assert swaps == [2, 7, 8]  # a time-out: the batch is cut
