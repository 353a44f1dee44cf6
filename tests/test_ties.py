"""Events that share an instant of a key: counted by the statistics, refused where a query's ORDER BY must tell rows apart."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

import afa
from afa import AfaError, Arc, Automaton, Change, ChangeError, Keyed, Operator, Punctuation, insert, retract
from tests.conftest import ENGINES


class Tick(NamedTuple):
    """A row."""

    symbol: str
    price: int
    seq: int = 0


def falling(order: str = "at") -> afa.Query:
    return afa.sql(
        f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY {order} MEASURES LAST(d.price) AS low, COUNT(*) AS n "
        "PATTERN (s d+) WITHIN 10 DEFINE d AS price < PREV(price))",
        event=Tick,
    )


TWO = Automaton(start="0", final={"2"}, event=Tick, arcs=[Arc("0", "1", "price > 0"), Arc("1", "2", "price > 1")])


@pytest.mark.parametrize("sequence", [None, "seq"])
def test_statistics_count_ties(engine: Any, sequence: str | None) -> None:
    for seed in range(8):
        choose = random.Random(seed)
        op = Keyed(TWO, key="symbol", window=5, engine=engine, order_by=sequence)
        held: Counter[tuple[Tick, int]] = Counter()
        for _ in range(25):
            if held and choose.random() < 0.35:
                event = choose.choice(list(held))
                held[event] -= 1
                held += Counter()
                op.push(retract(*event))
            else:
                event = Tick(choose.choice("AB"), choose.randint(0, 2), choose.randint(0, 1)), choose.randint(0, 4)
                held[event] += 1
                op.push(insert(*event))
            steps = {(e.symbol, le, e.seq if sequence else 0) for e, le in held}
            assert op.statistics.ties == len(held) - len(steps)
        saved = Keyed.restore(TWO, op.snapshot(), key="symbol", engine=engine)
        assert saved.statistics.ties == op.statistics.ties
        op.push(Punctuation(99))
        assert op.statistics.ties == 0


def rows(*events: tuple[str, int, int], diff: list[int] | None = None) -> dict[str, Any]:
    symbols, prices, times = (list(column) for column in zip(*events))
    columns = {"symbol": symbols, "price": np.array(prices), "seq": np.zeros(len(events), int), "le": np.array(times)}
    return columns | ({} if diff is None else {"diff": np.array(diff)})


def calls(op: Any) -> list[Any]:
    """Ways to bring a second row of one key and instant, where A has one at 4."""
    one = insert(Tick("A", 7), 4)
    return [
        lambda: op.push(one),
        lambda: op.push_many([one]),
        lambda: op.push_many([insert(Tick("B", 1), 8), one, Punctuation(9)]),
        lambda: op.push_many([insert(Tick("C", 1), 4), insert(Tick("C", 2), 4)]),
        lambda: op.push_many(rows(("A", 7, 4))),
        lambda: op.push_many(rows(("C", 1, 6), ("C", 2, 6))),
        lambda: op.push_many(rows(("C", 1, 6), ("C", 2, 6)), net=False),
        lambda: op.push_many([rows(("C", 1, 6), ("B", 3, 7), ("C", 2, 6)), Punctuation(20)]),
        lambda: op.push_many([rows(("C", 1, 6)), Punctuation(6), rows(("C", 2, 6))]),
    ]


def test_a_call_that_brings_a_tie_is_refused(engine: Any) -> None:
    op = falling().operator(engine=engine)
    op.push_many([insert(Tick("A", 5), 2), insert(Tick("A", 4), 4), insert(Tick("B", 4), 4)])
    before, statistics = op.snapshot(), op.statistics
    for call in calls(op):
        with pytest.raises(
            ChangeError,
            match=r"expected rows of one key that ORDER BY tells apart but got Tick.* and Tick.* at le=[46] of key '[AC]'"
            r".*: name a further column in ORDER BY, or give order_by=, to say which comes first",
        ):
            call()
        assert op.snapshot() == before
        assert op.statistics == statistics
    assert [c.payload for c in op.push(insert(Tick("A", 3), 6))] == [(4, 2), (3, 3)]
    again = Keyed.restore(falling().automaton, op.snapshot(), key="symbol")
    with pytest.raises(ChangeError, match="ORDER BY tells apart"):  # what a snapshot or a pickle brings back refuses, too
        again.push(insert(Tick("A", 1), 4))
    with pytest.raises(ChangeError, match="ORDER BY tells apart"):
        pickle.loads(pickle.dumps(falling())).operator(engine=engine).push_many([insert(Tick("A", 1), 4), insert(Tick("A", 2), 4)])


def test_revisions_copies_and_late_rows_are_no_ties(engine: Any) -> None:
    op = falling().operator(engine=engine)
    old, new = Tick("A", 4), Tick("A", 3)
    op.push_many(rows(("A", 5, 2), ("A", 4, 4), ("B", 4, 4)))
    for batch in (
        [insert(new, 4), retract(old, 4)],
        [retract(new, 4), insert(old, 4)],
        rows(("A", 3, 4), ("A", 4, 4), diff=[1, -1]),
        rows(("A", 3, 4), ("A", 4, 4), diff=[-1, 1]),
        [rows(("A", 3, 4)), rows(("A", 4, 4), diff=[-1])],
    ):
        op.push_many(batch)
        assert op.statistics.ties == 0
    assert op.push(insert(new, 4)) == []  # a copy
    assert op.push(insert(Tick("A", 9), 1))  # late
    op.push_many([insert(old, 6), retract(old, 6), insert(new, 6)])
    op.push(retract(Tick("A", 8), 7))
    op.push(insert(Tick("A", 6), 7))
    op.push(insert(Tick("A", 8), 7))  # which its retraction has waited for


@pytest.mark.parametrize("key", ["A", None])
def test_a_revision_may_be_spread_over_a_large_table(key: str | None) -> None:
    text = falling().operator().automaton
    n = 140_000
    op: Any = Keyed(text, key="symbol", window=10) if key else Operator(text, window=10)
    events = [("A", 5, i) for i in range(n)]
    op.push_many(rows(("A", 1, 0)))
    op.push_many([rows(*events, ("A", 1, 0), diff=[1] * n + [-1]), Punctuation(n)])
    before = op.statistics
    with pytest.raises(ChangeError, match="ORDER BY tells apart"):
        op.push_many([rows(("A", 1, n), *[("A", 5, n + 1 + i) for i in range(n)], ("A", 2, n)), Punctuation(3 * n)])
    assert op.statistics == before


def test_order_tells_rows_apart(engine: Any) -> None:
    for query in (falling("at, seq"), afa.sql(falling_text(), event=Tick, order_by="seq")):
        op = query.operator(engine=engine)
        assert op.push_many([insert(Tick("A", 5, 0), 2), insert(Tick("A", 4, 1), 2)])
        with pytest.raises(ChangeError, match="ORDER BY tells apart"):
            op.push(insert(Tick("A", 7, 1), 2))


def falling_text() -> str:
    return "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at PATTERN (s d) WITHIN 9 DEFINE d AS price < s.price)"


def test_worlds_with_ties_are_refused_by_both_engines_alike() -> None:
    refused = 0
    for seed in range(30):
        choose = random.Random(seed)
        ops = [falling().operator(engine=engine) for engine in ENGINES]
        held: list[tuple[Tick, int]] = []
        for _ in range(20):
            batch: list[Change] = []
            now = list(held)
            for _ in range(choose.randint(1, 3)):
                if now and choose.random() < 0.4:
                    batch.append(retract(*now.pop(choose.randrange(len(now)))))
                else:
                    now.append((Tick(choose.choice("AB"), choose.randint(0, 3)), choose.randint(0, 12)))
                    batch.append(insert(*now[-1]))
            choose.shuffle(batch)
            tied = len({(e.symbol, le) for e, le in now}) < len(set(now))
            outputs = []
            for op in ops:
                try:
                    outputs.append(set(op.push_many(batch)))
                except ChangeError:
                    outputs.append(None)
            assert [out is None for out in outputs] == [tied, tied]
            assert outputs[0] == outputs[1]
            refused += tied
            held = held if tied else now
    assert refused > 50


def test_payload_free_operators_are_refused() -> None:
    with pytest.raises(AfaError, match="keep_payloads=False can't be combined with ORDER BY that must tell events apart because"):
        falling().operator(keep_payloads=False, retractions=False)
