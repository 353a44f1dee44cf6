"""What lies at the ends of int64: an event may not come at FOREVER, by no way in, and all say so in the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from afa import BEGINNING, FOREVER, AfaError, Arc, Automaton, Change, Keyed, Operator, Punctuation, insert, retract
from punctuation import BoundedDisorder, ObservedLateness, Union
from speculation import Cleanse, Consolidate, Ordered


class Tick(NamedTuple):
    """An event in a table of which a column ``kind`` can stand."""

    sort: int
    seq: int


PAIR = Automaton(start="a", final={"c"}, event=Tick, arcs=[Arc("a", "b", "sort == 0"), Arc("b", "c", "sort == 1")])


AT_THE_END = r"expected le < 9223372036854775807 \(FOREVER: after every event\) but got le=9223372036854775807"


def table(le: int, **more: Any) -> dict[str, Any]:
    return {"sort": np.array([0, 1]), "seq": np.array([1, 2]), "le": np.array([3, le]), **more}


def kinds(le: int) -> dict[str, Any]:
    return table(le, kind=np.array([0, 0], np.int8))


Make = Callable[..., Any]
OPERATORS: dict[str, Callable[[Any, int], Any]] = {
    "push": lambda op, le: op.push(insert(Tick(0, 1), le)),
    "retraction": lambda op, le: op.push(retract(Tick(0, 1), le)),
    "list": lambda op, le: op.push_many([insert(Tick(0, 1), 3), insert(Tick(1, 2), le)]),
    "one by one": lambda op, le: op.push_many([insert(Tick(0, 1), 3), insert(Tick(1, 2), le)], net=False),
    "dict": lambda op, le: op.push_many(table(le)),
    "arrow": lambda op, le: op.push_many(pa.table(table(le))),
    "pandas": lambda op, le: op.push_many(pd.DataFrame(table(le))),
    "kinds": lambda op, le: op.push_many(kinds(le)),
    "table in a list": lambda op, le: op.push_many([table(le), Punctuation(2)]),
}
AROUND: dict[str, Callable[[Any], Any]] = {
    "operator": lambda make: make(Operator),
    "keyed": lambda make: make(Keyed, key="seq"),
    "sets": lambda make: make(Operator, retractions=False, keep_payloads=False),
    "before": lambda make: Cleanse(5).before(make(Operator)),
    "after": lambda make: Cleanse(5).after(make(Operator)),
    "ordered": lambda make: make(Ordered, number="seq"),
}


NOT_TAKEN = [("sets", "retraction"), ("ordered", "one by one")]
"""By other rules."""


def making(engine: str, window: int | None) -> Make:
    return lambda kind, **options: kind(PAIR, window=window, engine=engine, **options)


@pytest.mark.parametrize("way", OPERATORS)
@pytest.mark.parametrize("place", AROUND)
def test_no_event_comes_at_the_end(place: str, way: str, engine: str) -> None:
    if (place, way) in NOT_TAKEN:
        return
    op = AROUND[place](making(engine, None))
    before = op.snapshot()
    with pytest.raises(AfaError, match=AT_THE_END):
        OPERATORS[way](op, FOREVER)
    assert op.snapshot() == before
    op._check()
    OPERATORS[way](op, FOREVER - 1)
    op._check()


@pytest.mark.parametrize("way", OPERATORS)
@pytest.mark.parametrize("place", AROUND)
def test_a_lifetime_ends_within_int64(place: str, way: str, engine: str) -> None:
    if (place, way) in NOT_TAKEN:
        return
    op = AROUND[place](making(engine, 9))
    before = op.snapshot()
    with pytest.raises(AfaError, match=r"expected an int64 \(ticks\) but got le \+ window=9223372036854775808"):
        OPERATORS[way](op, FOREVER - 8)
    assert op.snapshot() == before
    OPERATORS[way](op, FOREVER - 9)
    op._check()


ALONE: dict[str, Callable[[int], Any]] = {
    "cleanse": lambda le: Cleanse(5).push(insert(Tick(0, 1), le)),
    "cleanse, many": lambda le: Cleanse(None).push_many([insert(Tick(0, 1), le, None)]),
    "consolidate": lambda le: Consolidate("call").push(insert(Tick(0, 1), le)),
    "bounded": lambda le: BoundedDisorder(5).push(insert(Tick(0, 1), le)),
    "bounded, list": lambda le: BoundedDisorder(5).push_many([insert(Tick(0, 1), le)]),
    "bounded, table": lambda le: BoundedDisorder(5).push_many(table(le)),
    "bounded, kinds": lambda le: BoundedDisorder(5, kinds=True).push_many(kinds(le)),
    "observed": lambda le: ObservedLateness(0.5).push_many(pa.table(table(le))),
    "union": lambda le: Union({"a": BoundedDisorder(0)}).push("a", insert(Tick(0, 1), le)),
}


@pytest.mark.parametrize("way", ALONE)
def test_stages_and_sources_take_none_there_either(way: str) -> None:
    with pytest.raises(AfaError, match=AT_THE_END):
        ALONE[way](FOREVER)
    ALONE[way](FOREVER - 1)


def test_promises_and_arcs_reach_to_the_end(engine: str) -> None:
    op = Operator(PAIR, engine=engine)
    rows = {"sort": [0, 1, 0], "seq": [1, 2, 0], "le": [BEGINNING, FOREVER - 1, FOREVER], "kind": [0, 0, 2]}
    out = op.push_many({name: np.array(column) for name, column in rows.items()})
    assert list(zip(out["le"].tolist(), out["kind"].tolist())) == [(FOREVER - 1, 0), (FOREVER, 2)]
    assert op.statistics.state_size == 0
    assert Operator.restore(PAIR, op.snapshot(), engine=engine).snapshot() == op.snapshot()
    op = Operator(PAIR, engine=engine)
    with pytest.raises(AfaError, match=r"expected re > le but got le=9223372036854775807, re=9223372036854775807 for arc"):
        op.push_arc(insert(PAIR.arcs[0], FOREVER))
    op.push_arc(retract(PAIR.arcs[1], BEGINNING, FOREVER))
    op.push_arc(insert(PAIR.arcs[1], FOREVER - 1))
    assert op.push_many([insert(Tick(0, 1), FOREVER - 2), insert(Tick(1, 1), FOREVER - 1)]) == [
        Change(PAIR.register, FOREVER - 1, FOREVER, 1)
    ]
    op._check()
