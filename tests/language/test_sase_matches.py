"""SASE+ text all the way: text, operator, matches; the papers' examples, and forms x random rows against the oracle of queries."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

import afa
from afa import insert
from tests.language import by_hand, test_sase_papers
from tests.language.oracle import Event, matches
from tests.language.test_sase_papers import Log, Stock

STRATEGIES = ["strict_contiguity", "skip_till_next_match", "skip_till_any_match"]


class Letter(NamedTuple):
    type: str
    n: int = 0


# -- the papers' examples --------------------------------------------------------------------------------------------------------

PRICES, VOLUMES = (100, 120, 120, 121, 120, 125, 120, 120), (1010, 990, 1005, 999, 999, 750, 950, 700)
FIGURE_3 = [insert(Stock("GOOG", float(price), volume), le) for le, (price, volume) in enumerate(zip(PRICES, VOLUMES), 1)]
R1, R2, R3 = ((100.0, 5, 750), 6, 3601), ((120.0, 2, 750), 6, 3603), ((100.0, 7, 700), 8, 3601)
"""e1 .. e5 | e6, e3 e4 | e6, e1 .. e7 | e8."""


def test_figure_3_of_2008_has_exactly_three_matches(engine: str) -> None:
    text = test_sase_papers.SASE["Q3"][0] + " RETURN a[1].price, a.LEN, b.volume"
    query = afa.query(text, event=Stock, tick="s")
    for seed in range(5):
        arrivals = random.Random(seed).sample(FIGURE_3, len(FIGURE_3)) if seed else FIGURE_3
        found = by_hand.net(query.operator(engine=engine), arrivals)
        assert found == Counter({(("GOOG", payload), le, re): 1 for payload, le, re in (R1, R2, R3)}), seed


@pytest.mark.parametrize(("strategy", "count"), [*zip(STRATEGIES, (1, 2, 6))])
def test_figure_3b_of_2014(strategy: str, count: int, engine: str) -> None:
    text = f"""PATTERN SEQ(A a, B+ b[], C c) WHERE {strategy}(a, b[], c) {{ }} WITHIN 100
               RETURN a.n AS a, b[1].n AS first, b[b.LEN].n AS last, count(b[]) AS n"""
    rows = [insert(Letter(letter, n), n) for n, letter in enumerate("AABBC")]
    found = by_hand.net(afa.query(text, event=Letter).operator(engine=engine), rows)
    assert len(found) == count


@pytest.mark.parametrize("strategy", ["skip_till_next_match", "skip_till_any_match"])
def test_non_decreasing_loads_of_2014(strategy: str, engine: str) -> None:
    """Section 2.1 there names two chains from 0.1 to 0.25 under any; there are five."""
    text = f"""PATTERN LoadStd+ b[] WHERE {strategy}(b[]) {{ b[i].val ≥ b[i-1].val }} WITHIN 10
               RETURN b[1].val, b[b.LEN].val, b.LEN, sum(b[].size)"""
    rows = [insert(Log("LoadStd", val=val, size=2**n), n) for n, val in enumerate((0.1, 0.2, 0.15, 0.19, 0.25))]
    found = by_hand.net(afa.query(text, event=Log).operator(engine=engine), rows)
    chains = sorted(n for ((first, last, n, _), _, _) in found if (first, last) == (0.1, 0.25))
    assert chains == ([3] if strategy == "skip_till_next_match" else [2, 3, 3, 3, 4])


# -- forms of text ---------------------------------------------------------------------------------------------------------------


FORMS = [
    "SEQ(A a, B b) WHERE strict_contiguity(a, b) { [n] and b.x >= a.x } WITHIN 9",
    "SEQ(A+ a[], ~(N n), C c) WHERE strict_contiguity { [n] } WITHIN 9 RETURN a.LEN, c.x",
    "SEQ(A a, B* b[], C c) WHERE partition_contiguity { [n] } WITHIN 9 RETURN a.x, sum(b[].x), b.LEN, c.x",
    "SEQ(A a =>any B b =>next C c) WHERE b.x > a.x WITHIN 6",
    "SEQ(A a, ~(N n), (B b =>any)+, ~(N m), C? c) WHERE n.x = a.x and m.x > b[b.LEN].x WITHIN 6 RETURN a.x, b.LEN, c.x",
    "SEQ(A a, (B b[], C c[] =>any){1,2}) WHERE b[i].x != c[i-1].x and c[i].x >= b[i].x WITHIN 9 RETURN a.x, b.LEN, c[c.LEN].x",
    "SEQ(A a, (B b | C+ c[]), _ d) WHERE [n] and c[i].x > max(c[..i-1].x) and (b.x = d.x or b.x is None) WITHIN 9 RETURN d.x",
    "SEQ(A a, B+ b[], ~(N n)) WHERE b[b.LEN].at - a.at > 2 and n.x = b[1].x WITHIN 6 RETURN a.at, max(b[].at)",
    "Row+ a[] WHERE a[1].x = 1 and a[i].x > a[i-2].x and a[a.LEN].x = 3 WITHIN 6 RETURN a.LEN, a[a.LEN].x, a[a.LEN-1].x",
    "SEQ(A a, B b) WHERE skip_till_any_match { [n] } RETURN b.x AS of_b, a.x AS of_a",
    "SEQ(A+ a[], B b) WHERE skip_till_next_match { [n] and a[i].x > min(a[..i-1].x) and b.x < 3 } WITHIN 9 RETURN a.LEN, b.x",
    "SEQ(A+ a[], ~(N n), C c) WHERE skip_till_any_match { n.x = a[a.LEN].x } WITHIN 9 RETURN a[a.LEN].x, a.LEN",
]


class Row(NamedTuple):
    type: str
    at: afa.Instant
    n: int
    x: int


@pytest.mark.parametrize("text", FORMS)
def test_forms_equal_the_oracle(text: str, engine: str) -> None:
    query = afa.query(f"PATTERN {text}", event=Row)
    found = 0
    for seed in range(8):
        rng = random.Random(seed)
        rows = [(rng.choice("AABBCCN"), rng.randint(0, 14), rng.choice([1, 1, 2]), rng.randint(1, 3)) for _ in range(10)]
        events = [Event(Row(kind, le, n, x), le) for kind, le, n, x in rows]
        arrivals: list[Any] = [insert(each.payload._replace(at=None), each.le) for each in events]
        rng.shuffle(arrivals)
        op = query.operator(engine=engine)
        want = matches(query.tree, events, 100)
        assert set(by_hand.net(op, [*arrivals, afa.Punctuation(100)])) == want, seed
        op._check()
        found += len(want)
    assert found


# -- ties ------------------------------------------------------------------------------------------------------------------------


class Attempt(NamedTuple):
    type: str
    job_id: int
    attempt: int
    period: float


def test_each_job_once_where_an_order_says_which_of_the_ties_comes_first(engine: str) -> None:
    """SASE++ Q1 on jobs whose mappers end in the same few milliseconds: alternatives without an order, a sequence with one."""
    rng, rows, want = random.Random(3), list[Any](), dict[int, tuple[float, float]]()
    for job in range(6):
        periods = [float(rng.randint(1, 9)) for _ in range(25)]
        want[job] = sum(periods) / len(periods), max(periods)
        rows.append(insert(Attempt("JobStart", job, 0, 0.0), job))
        rows += [insert(Attempt("Mapper", job, n, period), 10 + rng.randint(0, 4)) for n, period in enumerate(periods, 1)]
        rows.append(insert(Attempt("JobEnd", job, 99, 0.0), 20 + job))
    rng.shuffle(rows)
    text = test_sase_papers.SASE_PLUS_PLUS["Q2"].replace("Reducer", "Mapper")
    query = afa.query(text, event=Attempt, tick="h", order_by="attempt")
    found = by_hand.net(query.operator(engine=engine), rows)
    assert {key: payload for ((key, payload), _, _) in found} == want
    assert len(found) == 6
