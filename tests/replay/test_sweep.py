"""`sweep`: of each pattern what `replay` finds; patterns that differ in more than arcs are refused."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import afa
from afa import BEGINNING, AfaError, Arc, Automaton, insert
from afa.replay import sweep, sweeping
from afa.replay.replaying import located
from tests.automata import Count
from tests.replay.stored_files import same, saved


class Trade(NamedTuple):
    price: float
    n: int


def spike(high: float, low: float = 50, **more: Any) -> Automaton:
    arcs = [Arc("0", "1", f"price > {high}", "r._replace(n=e.n)"), Arc("1", "1", "price > 70"), Arc("1", "2", f"price < {low}")]
    return Automaton(**{"start": "0", "final": {"2"}, "event": Trade, "register": Count(), "arcs": arcs, **more})


def rows(seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    price = random.choice([60.0, 75.0, 81.0, 92.0, 97.0, 48.0, 30.0], 80, p=[0.65, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05])
    return pa.table(
        {"at": np.cumsum(random.integers(1, 4, 80)), "price": price, "n": np.arange(80), "k": random.choice(["a", "b"], 80)}
    )


ORDERS: list[list[tuple[str, ...]] | None] = [None, [], [("price",)]]


@pytest.mark.parametrize("order", ORDERS, ids=["costs", "statistics", "scan"])
@pytest.mark.parametrize("key", [None, "k"])
def test_each_pattern_finds_what_it_would_find_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: Any, key: str | None
) -> None:
    monkeypatch.setattr(sweeping, "located", functools.partial(located, order=order))
    other = spike(95, arcs=[Arc("0", "3", "price > 96", "r._replace(n=e.n)"), Arc("3", "2", "n > 40"), Arc.skip("3", "price > 70")])
    waits = spike(95, arcs=[Arc("0", "1", "price > 96", "r._replace(n=e.n)"), Arc.timeout("1", "2", "r.n * 0 + 50")])
    patterns = {
        "80": spike(80),
        "95": spike(95, 40),
        "never": spike(1e9),
        "other": other,
        "ends": spike(90, final={"1"}),
        "waits": waits,
    }
    for seed in range(3):
        table = rows(seed)
        path = saved(table, tmp_path / f"{seed}.parquet", 4)
        for end in ("latest", "forever"):
            said: dict[str, Any] = {"time": "at", "window": 9, "key": key, "end": end}
            found = sweep(patterns, path, **said)
            for name, each in patterns.items():
                same(found.matches[name], afa.find(each, table, **said))
            assert order is None or found.plan.replayed < 80


def test_queries_that_differ_in_constants_and_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "located", functools.partial(located, order=[("price",)]))
    text = (
        "PATTERN SEQ(Trade a, Trade b) WHERE skip_till_next_match(a, b) {{a.price > {} and b.price < {}}} WITHIN {} RETURN a.n, b.n"
    )

    class Typed(NamedTuple):
        type: str
        price: float
        n: int

    patterns = {f"{x}": afa.query(text.format(*x), event=Typed) for x in ((90, 50, 9), (95, 40, 20), (80, 50, 2))}
    for seed in range(3):
        table = rows(seed).append_column("type", pa.array(["Trade"] * 80))
        found = sweep(patterns, saved(table, tmp_path / "a.parquet", 4), time="at")
        for name, each in patterns.items():
            same(found.matches[name], afa.find(each, table, time="at"))
        assert found.plan.replayed < 80


def test_a_pattern_for_which_all_rows_count(tmp_path: Path) -> None:
    table = rows(1)
    path = saved(table, tmp_path / "a.parquet", 4)
    patterns = {"90": spike(90), "all": spike(90, arcs=[Arc("0", "2", "True")])}
    found = sweep(patterns, path, time="at", window=9)
    assert found.plan.reason == "every event may be part of a match"
    for name, each in patterns.items():
        same(found.matches[name], afa.find(each, table, time="at", window=9))


def test_arcs_of_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "located", functools.partial(located, order=[("price",)]))
    path = saved(rows(2), tmp_path / "a.parquet", 4)
    arcs = [
        insert(Arc("0", "2", "price == 81", name="more"), BEGINNING, 90),
        insert(Arc.timeout("1", "2", "60", name="wait"), 10, 80),
    ]
    patterns = {"90": spike(90), "96": spike(96)}
    found = sweep(patterns, path, time="at", window=9, arcs=arcs)
    for name, each in patterns.items():
        alone = afa.replay.replay(each, path, time="at", window=9, arcs=arcs)
        same(found.matches[name], alone.matches)


def test_patterns_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    path = saved(rows(1), tmp_path / "a.parquet")

    class Other(NamedTuple):
        m: int = 0

    class Less(NamedTuple):
        price: float

    bare = [Arc("0", "1", "price > 90"), Arc("1", "2", "price < 50")]
    for what, other in (
        ("register", spike(90, register=Other(), arcs=bare)),
        ("register", spike(90, register=Count(5))),
        ("event", spike(90, event=Less, arcs=bare)),
        ("start", spike(90, start="1", arcs=bare[1:])),
    ):
        with pytest.raises(AfaError, match=f"expected patterns that differ in arcs only but got {what}=.* of 'b' beside"):
            sweep({"a": spike(80), "b": other}, path, time="at", window=9)
    for patterns in ({}, [spike(80)], spike(80), None):
        with pytest.raises(AfaError, match="expected patterns by name"):
            sweep(patterns, path, time="at", window=9)  # type: ignore[arg-type]
    with pytest.raises(AfaError, match="expected a column 'att'"):
        sweep({"a": spike(80)}, path, time="att", window=9)
