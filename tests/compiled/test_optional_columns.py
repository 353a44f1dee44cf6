"""Columns with nulls, and of bools, go through the loops for rows in order as through the interpreted engine."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from afa import Arc, Automaton, Keyed, Operator, Punctuation
from afa.compiled import inforce
from afa.compiled.encode import Encoded
from tests.strategies import Seeded


class Event(NamedTuple):
    """Fields of each type that may be None, and a bool that may not."""

    tag: int
    up: bool
    who: int | None = None
    price: float | None = None
    name: str | None = None
    sure: bool | None = None


class Low(NamedTuple):
    low: float | None = None
    n: int = 0


ARCS = [
    Arc("s", "a", "up and price is not None", "(price, 0)"),
    Arc("a", "a", "price is not None and price > r.low", "(price, r.n + 1)", name="take"),
    Arc("a", "a", "sure is None and not up", name="pass"),
    Arc("a", "b", "name == 'x' or sure", "(None if sure else price, r.n)"),
    Arc.skip("b", "who is not None and who > 1"),
    Arc("b", "f", "price is None or price != price", "(r.low, r.n + who if who is not None else -1)"),
]
AUTOMATON = Automaton(start="s", final={"f"}, event=Event, register=Low(), arcs=ARCS)


def table(choose: Any, begin: int, n: int, shuffled: bool) -> pa.Table:
    """Rows of which a third has no value in some column; every other batch has no nulls at all."""
    nulls = choose.chance(50)
    le = list(range(begin, begin + n))
    if shuffled:
        le = sorted(le, key=lambda t: t + choose.number(0, 5))

    def column(options: list[Any], type_: Any) -> pa.Array:
        given = [choose.one(options) for _ in le]
        return pa.array([value if not nulls or choose.chance(70) else None for value in given], type_)

    columns = {
        "tag": pa.array([choose.number(0, 1) for _ in le]),
        "up": pa.array([choose.chance(50) for _ in le]),
        "who": column([0, 1, 2, 3], pa.int64()),
        "price": column([1.0, 2.5, -0.0, float("nan")], pa.float64()),
        "name": column(["x", "y"], pa.string()),
        "sure": column([True, False], pa.bool_()),
        "le": pa.array(le),
    }
    return pa.table(columns)


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("key", [None, "tag"])
def test_tables_with_nulls_go_through_the_loops(shuffled: bool, key: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inforce, "WARM", 1)
    monkeypatch.setattr(inforce, "LONG", 1)
    straight, taken = Encoded.straight, []

    def counted(self: Encoded, codes: Any) -> Any:
        taken.append(straight(self, codes))
        return taken[-1]

    monkeypatch.setattr(Encoded, "straight", counted)
    found = 0
    for seed in range(4):
        choose = Seeded(f"nulls {seed}")
        made: list[Any] = [
            Operator(AUTOMATON, window=12, engine=engine) if key is None else Keyed(AUTOMATON, key=key, window=12, engine=engine)
            for engine in ("interpreted", "compiled")
        ]
        for begin in range(0, 400, 80):
            rows = table(choose, begin, 80, shuffled)
            outs = [op.push_many(rows) for op in made]
            told = [sorted(map(repr, pa.table(out).to_pylist())) for out in outs]
            assert told[0] == told[1], (seed, begin)
            found += len(told[0])
            for op in made:
                op._check()
                op.push(Punctuation(begin + 60))
    assert found > 100
    assert len(taken) > 10
    assert all(columns is not None for columns in taken)
