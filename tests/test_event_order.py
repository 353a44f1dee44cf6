"""Events of one LE in the order of a list, ``order_by="price desc nulls first, id, *"``: against rows sorted by hand."""

from __future__ import annotations

import math
from collections import Counter
from functools import cmp_to_key
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import afa
from afa import Arc, Automaton, Keyed, Operator, Punctuation, insert, retract
from afa.errors import AfaError, AutomatonError, ChangeError
from afa.model.event_order import EventOrder
from afa.schema import Schema
from tests.strategies import Seeded


class Trade(NamedTuple):
    price: int
    rate: float | None
    venue: str
    buys: bool | None
    id: int


class Two(NamedTuple):
    first: int = -1
    second: int = -1


PRICES = (-(2**63), -1, 0, 1, 2**63 - 1)
RATES = (None, -math.inf, -2.5, -1.5, -0.0, 0.0, 5e-324, 1.5, math.inf)
VENUES = ("", "\0", "a", "a\0", "a\0b", "a\x01", "ab", "b", "ÿ", "\uffff", "\U00010000", "\U0010ffff")
LISTS = {
    "price desc, rate nulls first, venue desc, buys nulls last, *": "-price rate^ -venue buys id",
    "venue, rate DESC NULLS LAST, buys desc nulls first, id desc": "venue -rate -buys^ -id",
    "rate desc nulls first, *": "-rate^ price venue buys id",
    "*": "price rate venue buys id",
    "id desc": "-id",
}
"""Lists, and how a row is sorted by hand: a field with - descends, with ^ has None first."""
PAIRS = Automaton(
    start="0",
    final={"2"},
    event=Trade,
    register=Two(),
    arcs=[Arc("0", "1", "True", "(id, -1)"), Arc("1", "2", "True", "(r.first, id)")],
)
"""Each event and the next one."""


def before(one: Trade, other: Trade, said: str) -> int:
    """Negative where an event stands before another one."""
    for part in said.split():
        name, first = part.strip("-^"), part.endswith("^")
        x, y = getattr(one, name), getattr(other, name)
        if x == y:
            continue
        if x is None or y is None:
            return -1 if (x is None) is first else 1
        return -1 if (x < y) is not part.startswith("-") else 1
    return 0


def pairs(events: list[tuple[int, Trade]], said: str) -> Counter[Any]:
    """The matches of PAIRS: (first, second, le)."""
    by_list = cmp_to_key(lambda one, other: before(one, other, said))
    rows = sorted(sorted(events, key=lambda row: by_list(row[1])), key=lambda row: row[0])
    return Counter((one.id, other.id, le) for (_, one), (le, other) in pairwise(rows))


def trade(choose: Any, number: int) -> Trade:
    return Trade(choose.one(PRICES), choose.one(RATES), choose.one(VENUES), choose.one((None, False, True)), number)


def table(rows: list[tuple[int, Trade]]) -> pa.Table:
    kinds = {"price": pa.int64(), "rate": pa.float64(), "venue": pa.string(), "buys": pa.bool_(), "id": pa.int64()}
    columns = {name: pa.array([getattr(event, name) for _, event in rows], kind) for name, kind in kinds.items()}
    return pa.table({**columns, "le": pa.array([le for le, _ in rows], pa.int64())})


@pytest.mark.parametrize("said", LISTS)
def test_the_text_of_a_list_stands_as_its_values_do(said: str) -> None:
    choose, order = Seeded(f"event order/{said}"), EventOrder.of(said, Schema.of(Trade, "event"))
    trades = [trade(choose, i) for i in range(120)]
    for one in trades:
        for other in trades:
            x, y = order.text(one), order.text(other)
            assert (x > y) - (x < y) == before(one, other, LISTS[said]), (one, other)


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
@pytest.mark.parametrize("said", LISTS)
def test_late_events_among_ties(said: str, engine: Any) -> None:
    """Pushed, in lists, in tables; retracted, saved, restored by the other engine: after each step as sorted by hand."""
    for world in range(6):
        choose = Seeded(f"event order/{said}/{world}")
        events = [(choose.number(0, 2), trade(choose, i)) for i in range(choose.number(2, 14))]
        op: Any = Operator(PAIRS, engine=engine, order_by=said)
        net: Counter[Any] = Counter()
        there: list[tuple[int, Trade]] = []
        while events:
            part = [events.pop() for _ in range(min(len(events), choose.number(1, 4)))]
            way = choose.one(("one", "list", "table"))
            if way == "table":
                out = op.push_many(table(part)).to_pylist()
                net.update({(row["first"], row["second"], row["le"]): row["diff"] for row in out})
            else:
                items = [insert(event, le) for le, event in part]
                out = op.push_many(items) if way == "list" else [change for item in items for change in op.push(item)]
                for change in out:
                    net[(*change.payload, change.le)] += change.diff
            there += part
            if choose.chance(40):
                le, event = there.pop(choose.number(0, len(there) - 1))
                for change in op.push(retract(event, le)):
                    net[(*change.payload, change.le)] += change.diff
            if choose.chance(30):
                op = Operator.restore(PAIRS, op.snapshot(), engine=choose.one(("compiled", "interpreted")), order_by=said)
            op._check()
            assert +net == pairs(there, LISTS[said])
            assert min(net.values(), default=0) >= 0


@pytest.mark.parametrize("threads", [1, 2])
def test_tables_of_many_rows_and_keys(threads: int) -> None:
    """In pieces, out of order, beside a watermark."""
    choose, said = Seeded("event order/many"), "price desc, rate nulls first, venue desc, buys nulls last, *"
    rows = [(choose.number(0, 40), trade(choose, i)) for i in range(3000)]
    keys = [choose.number(0, 12) for _ in rows]
    op: Any = Keyed(PAIRS, key="who", engine="compiled", order_by=said, threads=threads)
    net: Counter[Any] = Counter()
    for low in range(0, 3000, 700):
        part = table(rows[low : low + 700]).append_column("who", pa.array(keys[low : low + 700]))
        for row in op.push_many(part).to_pylist():
            net[row["who"], row["first"], row["second"], row["le"]] += row["diff"]
    op._check()
    wanted: Counter[Any] = Counter()
    for who in set(keys):
        own = pairs([row for row, key in zip(rows, keys) if key == who], LISTS[said])
        wanted.update({(who, *match): count for match, count in own.items()})
    assert +net == wanted
    op.push(Punctuation(2**62))


def test_a_frame_and_what_a_live_run_would_withdraw() -> None:
    choose, said = Seeded("event order/frame"), "price desc, *"
    rows = [(choose.number(0, 5), trade(choose, i)) for i in range(40)]
    found = afa.find(PAIRS, table(rows), order_by=said)
    wanted = pairs(rows, "-price rate venue buys id")
    assert Counter((row["first"], row["second"], row["le"]) for row in found.to_pylist()) == wanted
    told = afa.backtest({"pairs": PAIRS}, table(rows), order_by=said)
    op: Any = Operator(PAIRS, order_by=said)
    assert told.table["withdrawn"].to_pylist() == [
        sum(change.diff < 0 for le, event in rows for change in op.push(insert(event, le)))
    ]


def test_strings_that_orders_no_longer_need_are_forgotten() -> None:
    op: Any = Operator(PAIRS, engine="compiled", order_by="*", window=10)
    for i in range(200):
        op.push_many([*(insert(Trade(j, None, "x", None, 100 * i + j), 100 * i) for j in range(100)), Punctuation(100 * i + 50)])
    assert len(op._core.engine.store.strings) < 10_000


def test_copies_of_an_event_agree_in_all_values() -> None:
    for engine in ("compiled", "interpreted"):
        op: Any = Operator(PAIRS, engine=engine, order_by="*")
        one, other = Trade(1, None, "x", None, 1), Trade(1, None, "x", None, 2)
        out = op.push_many([insert(one, 3), insert(other, 3), insert(one, 3)])
        assert [(change.payload, change.diff) for change in out] == [(Two(1, 2), 1)]
        assert op.push(retract(one, 3)) == []
        assert [change.diff for change in op.push(retract(one, 3))] == [-1]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("price, nobody", r"expected a field of Trade.* but got 'nobody' in order_by="),
        ("price, rate", "expected to read where None stands, rate nulls first or rate nulls last, but got order_by='price, rate'"),
        ("price, price desc", "expected each field once but got 'price' twice"),
        ("*, price", "expected fields, each perhaps with desc and nulls first or nulls last, and .* but got '\\*'"),
        ("price up", "but got 'price up'"),
        ("price,", "but got ''"),
        ("rate", "annotate it without None, or say where it stands: rate nulls last"),
    ],
)
def test_a_list_that_is_none(said: str, words: str) -> None:
    with pytest.raises(AutomatonError, match=words):
        Operator(PAIRS, order_by=said)


def test_what_does_not_go_with_a_list() -> None:
    with pytest.raises(AfaError, match="can't be combined with keep_payloads=False because one field of an event is kept"):
        Operator(PAIRS, order_by="price, id", keep_payloads=False, retractions=False)
    with pytest.raises(AfaError, match="expected the field 'id', which numbers the events"):
        Operator(PAIRS, order_by="price, id", gapless="id")
    with pytest.raises(AutomatonError, match="expected an automaton with event="):
        Operator(Automaton(start="0", final={"1"}, arcs=[Arc("0", "1", lambda e, r: True)]), order_by="price, id")

    class Odd(NamedTuple):
        what: Any
        n: int

    with pytest.raises(AutomatonError, match="but got what, which holds anything"):
        Operator(Automaton(start="0", final={"1"}, event=Odd, arcs=[Arc("0", "1", "n > 0")]), order_by="n, *")
    blob = Operator(PAIRS, order_by="price, id").snapshot()
    with pytest.raises(AfaError, match="order_by"):
        Operator.restore(PAIRS, blob, order_by="price, id desc")


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
def test_nan_has_no_place_unless_all_values_order(engine: Any) -> None:
    one, nan = Trade(1, 2.5, "x", None, 1), Trade(1, math.nan, "x", None, 2)
    for op in (Operator(PAIRS, engine=engine, order_by=said) for said in ("rate nulls last, id", "id, rate desc nulls first")):
        for rows in ([insert(one, 3), insert(nan, 3)], table([(3, one), (3, nan)])):
            with pytest.raises(ChangeError, match=r"expected a number that has a place in order_by=.* but got rate=nan"):
                op.push_many(rows)
    op = Operator(PAIRS, engine=engine, order_by="*")
    assert [change.payload for change in op.push_many([insert(nan, 3), insert(one, 3)])] == [Two(1, 2)]
