"""Queries over stored tables: text, words, SQL; what is chosen, counted, put together of matches. Each as `afa.find` has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import afa
from afa import Arc, Automaton
from afa.language import many, one
from tests.replay.stored_files import agree, forced, saved


class Log(NamedTuple):
    type: str
    user: str
    price: float
    id: int
    at: afa.Instant


class Made(NamedTuple):
    first: float
    last: float


def logs(seed: int = 1, many_rows: int = 90) -> pa.Table:
    """Rows of few users, of which few are of interest."""
    random = np.random.default_rng(seed)
    kinds = random.choice(["view", "view", "view", "view", "buy", "fail", "pay"], many_rows)
    return pa.table(
        {
            "at": np.cumsum(random.integers(1, 4, many_rows)),
            "type": kinds,
            "user": random.choice(["ann", "bob", "cyd"], many_rows),
            "price": random.integers(0, 12, many_rows) + 0.5,
            "id": np.arange(many_rows),
        }
    )


@pytest.fixture
def path(tmp_path: Path) -> str:
    return saved(logs(), tmp_path / "logs.parquet", 4)


TEXTS = [
    "PATTERN SEQ(buy a, fail b) WHERE skip_till_next_match(a, b) {[user]} WITHIN 20 RETURN a.id, b.id",
    "PATTERN SEQ(buy a, fail b) WHERE skip_till_any_match(a, b) {[user] and b.price > a.price} WITHIN 20 RETURN a.id, b.id",
    "PATTERN SEQ(buy a, view+ b[], pay c) WHERE partition_contiguity(a, b[], c) {[user] and c.price > 3} WITHIN 40 RETURN b.LEN",
    "PATTERN SEQ(buy a, view b) WHERE strict_contiguity(a, b) {a.price > 9} WITHIN 9 RETURN a.id",
    "PATTERN SEQ(buy a, ~(fail f), pay b) WHERE skip_till_next_match(a, b) {[user]} WITHIN 30 RETURN a.id, b.id",
    "PATTERN SEQ(buy a, ~(pay p)) WHERE skip_till_next_match(a) {[user] and a.price > 5} WITHIN 12 RETURN a.id",
    "PATTERN SEQ(buy a, pay b) WHERE skip_till_next_match(a, b) {[user] and b.at - a.at < 6} WITHIN 30 RETURN a.id, b.at",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("end", ["latest", "forever"])
def test_texts_of_queries(path: str, text: str, end: str) -> None:
    query = afa.query(text, event=Log)
    plan = agree(query, logs(), path, window=None, end=end)
    assert plan.reason is None
    assert plan.replayed < 90


def test_a_negation_at_the_start_looks_at_what_was_before(path: str) -> None:
    query = afa.query("PATTERN SEQ(~(fail f), buy a) WHERE skip_till_next_match(a) {[user]} WITHIN 12 RETURN a.id", event=Log)
    plan = agree(query, logs(), path, window=None)
    assert plan.reason == "a stage in front of the operator looks at what was before a match"
    with pytest.raises(afa.AfaError, match=r"expected a pattern that needs some rare event, with require=True.*looks at what was"):
        afa.replay.replay(query, path, time="at", require=True)


def test_words_of_a_query(path: str) -> None:
    built = (
        one("a", where=lambda e, m: e.price > 10)
        .next(many("d", where=lambda e, m: e.price < m.prev.price))
        .by("user")
        .within(20)
        .returns(lambda m: Made(m.a.price, m.d.last.price))
    )
    query = built.of(Log)
    assert agree(query, logs(), path, window=None).replayed < 90
    assert agree(query, logs(), path, window=None, key="user").replayed < 90


SKIPS = ["PAST LAST ROW", "TO NEXT ROW", "TO FIRST b", "TO LAST b"]


@pytest.mark.parametrize("skip", SKIPS)
@pytest.mark.parametrize("rows", ["ONE ROW", "ALL ROWS"])
@pytest.mark.parametrize("partition", ["PARTITION BY user", ""])
def test_sql(path: str, skip: str, rows: str, partition: str) -> None:
    query = afa.sql(
        f"""SELECT * FROM logs MATCH_RECOGNIZE ({partition} ORDER BY at
            MEASURES a.id AS first, COUNT(b.*) AS n {rows} PER MATCH AFTER MATCH SKIP {skip}
            PATTERN (a b+) WITHIN 15 DEFINE a AS type = 'buy', b AS price < 9)""",
        event=Log,
    )
    plan = agree(query, logs(), path, window=None)
    assert plan.reason is None
    assert agree(query, logs(), path, window=None, end="forever").replayed < 90


def tries() -> Automaton:
    class Seen(NamedTuple):
        n: int = 0

    return Automaton(
        start="0", final={"2"}, event=Log, register=Seen(),
        arcs=[
            Arc("0", "1", "type == 'buy'", "r._replace(n=e.id)"), Arc("1", "1", "type == 'view'"), Arc.skip("1", "type != 'pay'"),
            Arc("1", "2", "type == 'pay' and price > 3"),
        ],
    )  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [{"longest": True}, {"members": "id"}, {"members": "le"}, {"members": True}, {"collapse": "price"}, {"collapse": True}],
)
@pytest.mark.parametrize("key", [None, "user"])
def test_what_is_told_of_matches(path: str, options: dict[str, Any], key: str | None) -> None:
    plan = agree(tries(), logs(), path, window=30, key=key, **options)
    assert plan.reason is None
    assert plan.steps


def test_conditions_on_whole_paths(path: str) -> None:
    query = afa.query(
        "PATTERN SEQ(buy a, view+ b[], pay c) WHERE skip_till_any_match(a, b[], c) {[user] and sum(b[].price) > 20} "
        "WITHIN 30 RETURN a.id",
        event=Log,
    )
    agree(query, logs(), path, window=None)
    agree(query, logs(), path, window=None, members="id")
    counting = Automaton(
        start="0", final={"c"}, event=Log,
        arcs=[Arc("0", "a", "type == 'buy'"), Arc("a", "a", "type == 'view'"), Arc("a", "c", "type == 'pay'")],
    )  # fmt: skip
    assert agree(counting, logs(), path, window=30, having="sum(a.price) > 20").steps


def test_several_seeds_of_rows_in_any_order(tmp_path: Path) -> None:
    for seed in range(4):
        table = logs(seed)
        table = table.take(np.random.default_rng(seed).permutation(90)) if seed % 2 else table
        path = saved(table, tmp_path / f"{seed}.parquet", 5)
        for text in TEXTS[seed % 2 :: 2]:
            agree(afa.query(text, event=Log), table, path, window=None)


def test_an_option_that_a_query_says_itself_is_refused(path: str) -> None:
    query = afa.query(TEXTS[0], event=Log)
    with pytest.raises(afa.AfaError, match="window"):
        forced(query, path, window=5)
