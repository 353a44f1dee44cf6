"""A prepared frame is taken in the place of the frame, by any number of patterns."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import afa
from afa import AfaError, Arc, Automaton, BudgetError
from afa.compiled import choices
from afa.frames import lanes


class Trade(NamedTuple):
    price: float


QUERY = "PATTERN SEQ(Named a, Named b) WHERE partition_contiguity { [symbol] and b.price > a.price } WITHIN 30"
TRADES = {"symbol": ["A", "B", "A", "B", None, "A"], "price": [8.0, 8.5, 9.5, 9.9, 8.0, 7.0], "at": [10, 11, 12, 13, 13, 14]}


class Named(NamedTuple):
    symbol: str | None
    price: float


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "LONG", 0)
    monkeypatch.setattr(lanes, "SLICE", 1)


def rise(limit: float) -> Automaton:
    """A price below a limit, and one above it, in a row."""
    arcs = [Arc("0", "1", f"price < {limit}"), Arc("1", "2", f"price > {limit}")]
    return Automaton(start="0", final={"2"}, event=Trade, arcs=arcs)


def listed(frame: Any) -> dict[str, list[Any]]:
    return {name: column.tolist() for name, column in frame.items()}


def test_many_patterns_over_one_frame() -> None:
    with afa.prepared(TRADES, key="symbol", time="at") as held:
        for window in (2, 60):
            for limit in (8.2, 9.0, 9.7):
                expected = afa.find(rise(limit), TRADES, key="symbol", time="at", window=window)
                assert listed(afa.find(rise(limit), held, window=window)) == listed(expected)
        query = afa.query(QUERY, event=Named)
        found = listed(afa.find(query, held))
        assert found == listed(afa.find(query, TRADES, time="at"))
        assert (found["symbol"], found["le"], found["re"]) == (["A", "B"], [12, 13], [40, 41])
        assert held.nbytes <= held.most
        assert held.nbytes
    assert not held.nbytes
    assert listed(afa.find(rise(9.0), held, window=60))["le"] == [12, 13]


def test_variants_are_counted_only() -> None:
    patterns = {limit: rise(limit) for limit in (8.2, 9.0, 9.7)}
    with afa.prepared(TRADES, key="symbol", time="at") as held:
        whole = afa.backtest(patterns, held, window=60)
        counted = afa.backtest(patterns, held, window=60, counts=True, order_by="price")
    assert counted.matches is None
    assert (
        listed(counted.table) == listed(whole.table) == {"variant": [8.2, 9.0, 9.7], "matches": [1, 2, 1], "withdrawn": [0, 0, 0]}
    )
    assert listed(whole.matches) == listed(afa.backtest(patterns, TRADES, key="symbol", time="at", window=60).matches)


REFUSED: list[tuple[Callable[[], Any], type[AfaError], str]] = [
    (lambda: afa.prepared(TRADES, key="card"), AfaError, "'card'"),
    (lambda: afa.prepared(TRADES, time="when"), AfaError, "'when'"),
    (lambda: afa.prepared("trades.parquet"), AfaError, "expected a frame in memory"),
    (lambda: afa.prepared(TRADES, max_bytes=10), BudgetError, "expected at most max_bytes=10 but got a frame that may take 708"),
    (lambda: afa.prepared(TRADES, max_bytes=0), AfaError, "max_bytes=0"),
    (lambda: afa.find(rise(9.0), afa.prepared(TRADES, key="symbol"), key="price", window=9, time="at"), AfaError, "'symbol'"),
]


@pytest.mark.parametrize(("call", "error", "said"), REFUSED)
def test_refused(call: Callable[[], Any], error: type[AfaError], said: str) -> None:
    with pytest.raises(error, match=said):
        call()


def test_an_interrupt_ends_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell in the background has turned off
    begun, ended = [], []

    def run(program: Any, rows: Any, low: int, high: int, write: bool, over: Callable[[], bool]) -> Any:
        begun.append(low)
        if len(begun) == 2:  # then all threads have been started
            os.kill(os.getpid(), signal.SIGINT)
        for _ in range(100_000):
            if over():
                ended.append(low)
                break
            time.sleep(0.001)

    monkeypatch.setattr(lanes, "run", run)
    try:
        with pytest.raises(KeyboardInterrupt):
            afa.find(rise(9.0), TRADES, key="symbol", time="at", window=60, threads=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended
