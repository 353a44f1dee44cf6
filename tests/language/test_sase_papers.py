"""The papers' queries as they are printed (line breaks apart, and names that the printer's hyphens and blanks took apart)."""

# ruff: noqa: RUF001 (the signs that the papers print)
from __future__ import annotations

from typing import NamedTuple

import pytest

from afa.expression.nodes import Binary, Compare, Const, FieldRead
from afa.language.pattern import Component, Gap, Repeat, Seq, Tree
from afa.language.sase_printer import sase_text
from afa.language.sase_reader import read_sase
from afa.language.terms import Aggregate, Ref


class Reading(NamedTuple):
    type: str
    tag_id: int
    place: str = ""


class Food(NamedTuple):
    kind: str
    type: str = ""
    site: str = ""
    from_: str = ""
    to: str = ""


class Stock(NamedTuple):
    symbol: str
    price: float
    volume: int


class Log(NamedTuple):
    type: str
    job_id: int = 0
    task_id: int = 0
    period: float = 0.0
    timestamp: int = 0
    size: int = 0
    val: float = 0.0


SASE: dict[str, tuple[str, type, str | None]] = {
    "Q1": (
        """PATTERN SEQ(Shelf a, ∼(Register b), Exit c)
           WHERE    skip_till_next_match(a, b, c) {
                              a.tag_id = b.tag_id
                   and     a.tag_id = c.tag_id
                              /* equivalently, [tag_id] */     }
           WITHIN    12 hours""",
        Reading,
        None,
    ),
    "Q2": (
        """PATTERN SEQ(Alert a, Shipment+ b[ ])
           WHERE    skip_till_any_match(a, b[ ]) {
                                a.type = 'contaminated'
                   and       b[1].from = a.site
                   and       b[i].from = b[i-1].to }
           WITHIN    3 hours""",
        Food,
        "kind",
    ),
    "Q3": (
        """PATTERN SEQ(Stock+ a[ ], Stock b)
           WHERE    skip_till_next_match(a[ ], b) {
                                [symbol]
                   and       a[1].volume > 1000
                   and       a[i].price > avg(a[..i-1].price)
                   and       b.volume < 80%*a[a.LEN].volume }
           WITHIN    1 hour""",
        Stock,
        None,
    ),
}
SASE_PLUS_PLUS = {
    "Q1": """Pattern seq(JobStart a, Mapper+ b[ ], JobEnd c) Where a.job_id = b[i].job_id ∧ a.job_id=c.job_id
             Within 1 day Return avg(b[ ].period), max(b[ ].period)""",
    "Q2": """Pattern seq(JobStart a, Reducer+ b[ ], JobEnd c) Where [job_id] Within 1 day
             Return avg(b[ ].period), max(b[ ].period)""",
    "Q3": """Pattern seq(ReducerStart a, DataPull+ b[ ]) Where [task_id] ∧ (b[b.len].period > 2×avg(b[ ].period))
             Within 10 minutes Return a.(task_id, period)""",
    "Q4": """Pattern seq(JobStart a, DataIO+ b[ ]) Where [task_id] Within 1 day
             Return a.timestamp, b[b.LEN].timestamp, sum(b[ ].size)""",
    "Q5": """Pattern seq(Balance a, ReducerStart b, Imbalance+ c[], ReducerEnd d, Balance e) Where [task_id]
             Within 10 minutes Return a.task_id""",
    "Q6, option 1": """Pattern seq(ReducerStart a, LoadStd+ b[ ], ReducerEnd c) Where [task_id] ∧ (b[i].val ≥ b[i-1].val)
             Within 10 minutes Return a.task_id""",
    "Q6, option 2": """Pattern seq(ReducerStart a, LoadStd+ b[ ], ReducerEnd c) Where [task_id] ∧ (b[i].val ≥ max(b[1..i-1].val))
             Within 10 minutes Return a.task_id""",
}
EVERY = {
    **{f"SASE+ {name}": query for name, query in SASE.items()},
    **{f"SASE++ {name}": (text, Log, None) for name, text in SASE_PLUS_PLUS.items()},
}


def paper(name: str) -> Tree:
    """One of the papers' queries, an LE a second."""
    text, event, column = EVERY[name]
    return read_sase(text, event, tick="s", type=column)


def test_shoplifting() -> None:
    same = Compare("==", Ref("a", "one", "tag_id"), FieldRead("e", "tag_id"))
    register, leave = Component("b", "Register", (same,)), Component("c", "Exit", (same,))
    assert paper("SASE+ Q1") == Tree(
        Seq((Component("a", "Shelf"), leave), (Gap("next", (register,)),)), Reading, "type", window=12 * 3600
    )


def test_contamination() -> None:
    shipment = Component(
        "b",
        "Shipment",
        first=(Compare("==", FieldRead("e", "from_"), Ref("a", "one", "site")),),
        rest=(Compare("==", FieldRead("e", "from_"), Ref("b", "last", "to")),),
    )
    alert = Component("a", "Alert", (Compare("==", FieldRead("e", "type"), Const("contaminated")),))
    assert paper("SASE+ Q2") == Tree(
        Seq((alert, Repeat(shipment, 1, None, Gap("any"))), (Gap("any"),)), Food, "kind", window=3 * 3600
    )


def test_stock_trend() -> None:
    rising = Component(
        "a",
        first=(Compare(">", FieldRead("e", "volume"), Const(1000)),),
        rest=(Compare(">", FieldRead("e", "price"), Aggregate("a", "avg", "price")),),
    )
    falling = Component("b", where=(Compare("<", FieldRead("e", "volume"), Binary("*", Const(0.8), Ref("a", "last", "volume"))),))
    assert paper("SASE+ Q3") == Tree(Seq((Repeat(rising), falling), (Gap(),)), Stock, key=("symbol",), window=3600)


def test_mappers_of_a_job() -> None:
    tree = paper("SASE++ Q1")
    assert isinstance(tree.pattern, Seq)
    assert tree.pattern.items[1] == Repeat(
        Component("b", "Mapper", (Compare("==", Ref("a", "one", "job_id"), FieldRead("e", "job_id")),))
    )
    assert tree.returns == (("b_avg_period", Aggregate("b", "avg", "period")), ("b_max_period", Aggregate("b", "max", "period")))
    assert (tree.key, tree.window) == ((), 86_400)


def test_data_pull_stragglers_are_asked_when_the_match_ends() -> None:
    tree = paper("SASE++ Q3")
    assert isinstance(tree.pattern, Seq)
    over = Compare(">", Ref("b", "last", "period"), Binary("*", Const(2), Aggregate("b", "avg", "period")))
    assert tree.pattern.items[1] == Repeat(Component("b", "DataPull", done=(over,)))
    assert [name for name, _ in tree.returns] == ["a_task_id", "a_period"]


def test_queued_data() -> None:
    assert [name for name, _ in paper("SASE++ Q4").returns] == ["a_timestamp", "b_last_timestamp", "b_sum_size"]


@pytest.mark.parametrize(("option", "than"), [(1, Ref("b", "last", "val")), (2, Aggregate("b", "max", "val"))])
def test_imbalanced_load(option: int, than: Ref | Aggregate) -> None:
    tree = paper(f"SASE++ Q6, option {option}")
    assert isinstance(tree.pattern, Seq)
    assert tree.pattern.items[1] == Repeat(Component("b", "LoadStd", rest=(Compare(">=", FieldRead("e", "val"), than),)))


@pytest.mark.parametrize("name", EVERY)
def test_printed_again_it_reads_back_equal(name: str) -> None:
    tree = paper(name)
    assert read_sase(sase_text(tree), tree.event, type=tree.type_column) == tree
