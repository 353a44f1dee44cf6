"""A field of the event class annotated `afa.Instant` is filled with the event's LE, on every way in."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pytest

import afa
from afa import Arc, Automaton, AutomatonError, ChangeError, Keyed, Operator, insert, retract
from speculation import Cleanse


class Tick(NamedTuple):
    price: int
    at: afa.Instant | None = None


class Dated(NamedTuple):
    at: afa.Instant
    price: int
    symbol: str = "A"


class Span(NamedTuple):
    begun: int = 0
    ended: int = 0


def pair(event: type) -> Automaton:
    return Automaton(
        start="s",
        final={"f"},
        event=event,
        register=Span(),
        arcs=[
            Arc("s", "a", "price == 1", "(at, 0)", name="a"),
            Arc.skip("a", "price != 2", name="skip"),
            Arc("a", "f", "price == 2 and at - r.begun < 5", "(r.begun, at)", name="b"),
        ],
    )


def seen(changes: Any) -> list[tuple[int, ...]]:
    return [(*c.payload, c.le, c.diff) for c in changes if isinstance(c, afa.Change)]


def test_left_out_none_or_right(engine: str) -> None:
    op = Operator(pair(Tick), window=9, engine=engine)
    op.push(insert(Tick(1), 3))
    op.push(insert(Tick(1, None), 4))
    op.push(insert(Tick(1, 5), 5))
    assert seen(op.push(insert(Tick(2), 8))) == [(4, 8, 8, 1), (5, 8, 8, 1)]
    assert seen(op.push(retract(Tick(1, 4), 4))) == [(4, 8, 8, -1)]
    assert seen(op.push(retract(Tick(2), 8))) == [(5, 8, 8, -1)]
    op._check()


def test_another_time_is_refused(engine: str) -> None:
    op = Operator(pair(Dated), window=9, engine=engine)
    with pytest.raises(ChangeError, match=r"expected at=3, the event's LE, or None but got at=4 in Dated"):
        op.push(insert(Dated(4, 1), 3))
    with pytest.raises(ChangeError, match=r"expected at=3, the event's LE, or None but got at=4 in Dated"):
        op.push_many({"at": [2, 4], "price": [1, 1], "symbol": ["A", "A"], "le": [2, 3]})
    assert op.statistics.changes == 0
    with pytest.raises(ChangeError, match="expected at: int but got at=None"):
        op.push(afa.Change(Dated(None, 1), None))  # type: ignore[arg-type]


ROWS = {"price": [1, 7, 2, 2], "symbol": ["A", "A", "A", "B"], "le": [3, 4, 6, 6]}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pa.table, lambda rows: pa.table({**rows, "at": [3, 4, 6, 6]})])
@pytest.mark.parametrize("net", [True, False])
def test_tables_need_no_column(make: Any, net: bool, engine: str) -> None:
    op = Keyed(pair(Dated), key="symbol", window=9, engine=engine)
    out = op.push_many(make(ROWS), net=net)
    assert [pa.array(out[name]).to_pylist() for name in ("symbol", "begun", "ended")] == [["A"], [3], [6]]
    assert op.statistics.changes == 4


def test_a_column_may_be_empty(engine: str) -> None:
    op = Operator(pair(Dated), window=9, engine=engine)
    out = op.push_many({**ROWS, "at": [None, 4, None, 6]})
    assert out["ended"].tolist() == [6]


def test_in_lists_with_arcs_and_promises(engine: str) -> None:
    op = Operator(pair(Tick), window=9, engine=engine)
    table = {"kind": [0, 2, 0], "price": [1, 0, 2], "le": [3, 4, 6]}
    out = op.push_many(table)
    assert (out["kind"].tolist(), out["ended"].tolist()[0]) == ([0, 2], 6)
    assert seen(op.push_many([insert(Tick(1), 5)])) == [(5, 6, 6, 1)]


def test_keys_see_it() -> None:
    op = Keyed(pair(Tick), key=lambda e: e.at // 100, window=99)
    op.push(insert(Tick(1), 201))
    op.push(insert(Tick(2), 203))
    assert op.keys == [2]
    out = op.push_many({"price": [1, 2], "le": [301, 302]})
    assert out["key"].tolist() == [3]


@pytest.mark.parametrize("table", [True, False])
def test_stages_take_it_for_the_same_event(table: bool, engine: str) -> None:
    stage = Cleanse(0).before(Operator(pair(Tick), window=9, engine=engine))
    if table:
        stage.push_many(pa.table({"price": [1, 2], "le": [3, 6]}))
    else:
        stage.push(insert(Tick(1), 3))
        stage.push(insert(Tick(2), 6))
    stage.push(insert(Tick(1, 5), 5))
    stage.push(retract(Tick(1), 5))
    assert seen(stage.push(afa.Punctuation(9))) == [(3, 6, 6, 1)]


def test_snapshots_have_it(engine: str) -> None:
    op = Operator(pair(Tick), window=9, engine=engine)
    op.push(insert(Tick(1), 3))
    op = Operator.restore(op.automaton, op.snapshot(), engine=engine)
    assert seen(op.push(insert(Tick(2), 6))) == [(3, 6, 6, 1)]
    assert seen(op.push(retract(Tick(1), 3))) == [(3, 6, 6, -1)]


class Twice(NamedTuple):
    a: afa.Instant
    b: afa.Instant


def test_refused_schemas() -> None:
    with pytest.raises(AutomatonError, match=r"expected one afa\.Instant but got 'a' and 'b' in Twice"):
        Automaton(start="s", final={"f"}, event=Twice, arcs=[])
    with pytest.raises(AutomatonError, match=r"expected afa\.Instant in the event schema only but got 'at' in the register Tick"):
        Automaton(start="s", final={"f"}, register=Tick(1), arcs=[])
