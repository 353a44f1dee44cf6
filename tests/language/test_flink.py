"""The patterns of Flink's tests as queries give the matches that Flink gives, however the events arrive: as Flink means them all of
them, word for word those that ``docs/flink.md`` does not list.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from afa import AfaError, Punctuation, QueryError, insert
from afa.language.builder_printer import builder_text
from afa.language.pattern import PARTITION, STRICT, Tree, gaps_of
from afa.language.query import Query
from afa.language.sase_printer import sase_text
from afa.language.sase_reader import read_sase
from speculation import Cleanse
from tests.language.flink import CASES, STREAMS, Item, Match, arrivals, expected, items, net, operator, skipping, stream
from tests.language.flink_trees import RULES, UnsaidError, tree
from tests.language.oracle import Event, matches
from tests.language.test_builder_printer import built
from tests.pages import ROOT

ALL, NONE = frozenset(RULES), frozenset[str]()
PAGE = (ROOT / "docs" / "flink.md").read_text(encoding="utf-8")
ORDERS = 2


def found(case: dict[str, Any], query: Tree, engine: str = "interpreted") -> set[Match]:
    """The matches of a query where the events come as they are."""
    return net(operator(case, query, engine), arrivals(items(case), None))


@pytest.mark.parametrize("name", CASES)
def test_as_flink_means_it(name: str, engine: str) -> None:
    case = CASES[name]
    query, wanted = tree(case, ALL), expected(case)
    assert found(case, query, engine) == wanted
    for order in range(ORDERS):
        assert net(operator(case, query, engine), arrivals(items(case), f"{name}/{order}")) == wanted, order


@pytest.mark.parametrize("name", STREAMS)
def test_streams_out_of_order(name: str, engine: str) -> None:
    """Only what is final leaves, as at Flink's operator; an event is late here where it is late there."""
    case, late = STREAMS[name], list[int]()
    started = operator(case, tree(case, ALL), engine, late=lambda change: late.append(change.payload.number))
    rows = [item if isinstance(item, Punctuation) else insert(item, item.at) for item in stream(case)]
    shown = net(Cleanse(0).after(started), rows)
    assert {sum(bits for _, bits in match) for match in shown} == {sum(2**i for i in events) for events in case["matches"]}
    assert late == case["late"]


def table() -> Iterator[tuple[str, frozenset[str], str]]:
    """The rows of the page: case, the rules that it needs, and how many matches Flink and a query word for word give."""
    for name, rules, flink, ours in re.findall(r"^\| (test\w+) \| ([\w, ]+) \| (\d+) \| (\d+|-) \|$", PAGE, re.MULTILINE):
        yield name, frozenset(rules.split(", ")), f"{flink}, {ours}"


def test_the_page_lists_what_differs_word_for_word() -> None:
    listed = {name: (rules, counts) for name, rules, counts in table()}
    for name, case in CASES.items():
        wanted = expected(case)
        try:
            plain = found(case, tree(case, NONE))
        except UnsaidError:
            plain = None
        if name not in listed:
            assert plain == wanted, name
            continue
        rules, counts = listed[name]
        assert plain != wanted, name
        assert counts == f"{len(wanted)}, {'-' if plain is None else len(plain)}", name
        assert found(case, tree(case, rules)) == wanted, name
    assert f"**{len(CASES) - len(listed)} of the {len(CASES)} patterns" in PAGE
    assert f"The other {len(listed)} need" in PAGE
    assert listed.keys() <= CASES.keys()
    assert len(STREAMS) == 10


def test_the_oracle_means_the_same() -> None:
    for name, case in CASES.items():
        if "skip" in case:
            continue
        query = tree(case, ALL)
        names = [field for field, _ in query.returns]
        rows = [Event(item, item.at) for item in items(case)]
        shown = {frozenset((field, n) for field, n in zip(names, payload) if n) for payload, _, _ in matches(query, rows)}
        assert shown == expected(case), name


def test_after_match_skip_in_words_of_sql() -> None:
    choose = {name: case for name, case in CASES.items() if "skip" in case}
    said = 0
    for name, case in choose.items():
        words = replace(skipping(case, tree(case, NONE)), ties=False)
        if all(gap.strategy in (STRICT, PARTITION) for gap in gaps_of(words.pattern)):
            assert net(Query(words).operator(), arrivals(items(case), name)) == expected(case), name
            said += 1
        else:
            with pytest.raises(AfaError, match="expected neighbours with nothing between them where a query chooses"):
                Query(words)
    assert f"{len(choose)} patterns choose" in PAGE
    assert f"{said} of the {len(choose)} can be said so" in PAGE


def queries() -> list[Tree]:
    """All cases, word for word and as Flink means them."""
    found = []
    for case in CASES.values():
        found.append(tree(case, ALL))
        with contextlib.suppress(UnsaidError):
            found.append(tree(case, NONE))
    return found


def test_the_builder_says_them(tmp_path: Path) -> None:
    trees, texts = [], []
    for query in queries():
        try:
            texts.append(builder_text(query))
            trees.append(query)
        except QueryError as error:
            refused = str(error)
            assert "at several places; give each a name of its own" in refused  # the alternatives of an optional stage
    assert len(trees) > 250
    for query, words in zip(trees, built(texts, tmp_path)):
        assert words.of(Item).tree() == query


def test_the_text_says_them() -> None:
    said = 0
    for query in queries():
        with contextlib.suppress(QueryError):
            assert read_sase(sase_text(query), Item, order=query.order) == query
            said += 1
    assert said > 250
