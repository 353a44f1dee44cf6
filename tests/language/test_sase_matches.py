"""SASE+ text all the way: text, operator, matches, by the papers' examples. What trees mean: worlds of queries."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

import afa
from afa import insert
from tests.language import by_hand, test_sase_papers
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
