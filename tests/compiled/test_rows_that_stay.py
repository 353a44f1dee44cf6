"""Rows in order that leave a list as it is for what registers hold: steps without nodes, until a row or a late event changes it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import Arc, Automaton, Keyed, Operator


class Trade(NamedTuple):
    symbol: int
    price: int


class Peak(NamedTuple):
    top: int = 0
    n: int = 0


BEGINS = {"event": "price % 7 == 0", "register": "price % 7 == r.n", "never": "price > 1000"}
SHAPES: dict[str, list[Arc]] = {
    "next": [
        Arc("a", "a", "price > r.top", "(price, r.n + 1)", name="take"),
        Arc("a", "a", "not (price > r.top)", name="pass"),
        Arc("a", "F", "price == r.top - 1 and r.n > 1"),
    ],
    "two states": [
        Arc("a", "b", "price > r.top", "(price, r.n)"),
        Arc("a", "a", "price <= r.top", name="pass a"),
        Arc("b", "b", "price >= r.top", name="pass b"),
        Arc("b", "F", "price < r.top", "(r.top, 1)"),
    ],
    "twice": [
        Arc("a", "a", "price < r.top", name="once"),
        Arc("a", "a", "price < r.top + 3", name="again"),
        Arc("a", "F", "price >= r.top + 3"),
    ],
    "a final state that stays": [
        Arc("a", "a", "price < r.top", name="pass"),
        Arc("a", "F", "price > r.top + 1"),
        Arc("F", "F", "price != r.top + 5", name="goes on"),
    ],
    "skip": [
        Arc("a", "a", "price > r.top", "(price, r.n)", name="take"),
        Arc.skip("a", "not (price > r.top)"),
        Arc("a", "F", "price < r.top - 2"),
    ],
}


def rows_of(rng: Any, n: int, turn: int) -> dict[str, Any]:
    """Prices that wander, a tenth of them late, some back."""
    price = np.abs(np.cumsum(rng.choice([-1, 1, 2], n, p=[0.5, 0.4, 0.1]))) % 40
    late = rng.integers(0, 12, n) * (rng.random(n) < (0.0, 0.1)[turn % 2])
    return {"symbol": rng.integers(0, 3, n), "price": price, "le": np.arange(n) + n * turn - late}


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("begins", BEGINS)
@pytest.mark.parametrize("shape", SHAPES)
def test_engines_agree(at_once: None, shape: str, begins: str, keyed: bool) -> None:
    n = 60
    begin = [Arc("start", "a", BEGINS[begins], "(price, 0)"), *([Arc("start", "a", "price == 3")] if begins == "never" else [])]
    program = Automaton(start="start", final={"F"}, register=Peak(), event=Trade, arcs=[*begin, *SHAPES[shape]])
    outs: list[list[Any]] = []
    for engine in ("interpreted", "compiled"):
        given: Any = {"window": 25, "late": "drop", "engine": engine}
        op: Any = Keyed(program, key="symbol", **given) if keyed else Operator(program, **given)
        found: list[Any] = []
        before: dict[str, Any] = {}
        random = np.random.default_rng([7, len(shape)])
        for turn in range(6):
            rows = rows_of(random, n, turn)
            rows |= {"re": rows["le"] + random.choice([4, 25, 60], n)} if turn == 3 else {}
            if turn == 4:  # some of what came is taken back
                back = {name: column[:20] for name, column in before.items()}
                rows = {name: np.concatenate([back[name], column]) for name, column in rows.items()}
                rows["diff"] = np.append(np.full(20, -1), np.ones(n, np.int64))
            before = rows
            for part in np.array_split(np.arange(len(rows["le"])), 3):
                out = op.push_many({name: column[part] for name, column in rows.items()})
                names = [name for name in ("symbol", "top", "n", "le", "re", "diff") if name in out]
                found.append(sorted(zip(*(out[name].tolist() for name in names))))
            op._check()
            found.append([(op.statistics.ended_by_window, op.statistics.ended_by_no_arc)])
        outs.append(found)
    assert outs[0] == outs[1]
    assert sum(map(len, outs[0])) > 0
