"""The patterns of Flink's tests as queries give the matches that Flink gives, however the events arrive: as Flink means them all of
them, word for word those that ``docs/flink.md`` does not list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from afa import Punctuation, QueryError, insert
from afa.language.builder_printer import builder_text
from afa.language.pattern import Component, Pattern, Repeat, Seq, Tree
from afa.language.query import Query
from speculation import Cleanse
from tests.language.flink import CASES, STREAMS, Item, Match, arrivals, expected, items, net, operator, skipping, stream
from tests.language.flink_trees import RULES, UnsaidError, tree
from tests.language.oracle import Event, matches
from tests.language.test_builder_printer import built
from tests.pages import ROOT

ALL, NONE = frozenset(RULES), frozenset[str]()
PAGE = (ROOT / "docs" / "flink.md").read_text(encoding="utf-8")
ORDERS = 4


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
    differ = set()
    for name, case in CASES.items():
        if "skip" in case:
            query = Query(skipping(case, tree(case, NONE)))
            if net(query.operator(), arrivals(items(case), name)) != expected(case):
                differ.add(name)
    assert differ == {"testSkipToNextWithFollowedByAny", "testNotFollowedByWithinAtEndAfterMatch"}
    assert all(f"`{name}`" in PAGE for name in differ)
    assert f"{sum('skip' in case for case in CASES.values())} patterns choose" in PAGE


def names_in(pattern: Pattern) -> list[str]:
    """The names of the components, of absent ones too, as often as they stand there."""
    if isinstance(pattern, Component):
        return [pattern.name]
    parts = (pattern.item,) if isinstance(pattern, Repeat) else pattern.items
    gaps = (pattern.gap,) if isinstance(pattern, Repeat) else pattern.gaps if isinstance(pattern, Seq) else ()
    absent = [component.name for gap in gaps for component in gap.absent]
    return [name for part in parts for name in names_in(part)] + absent


def test_the_builder_says_them(tmp_path: Path) -> None:
    trees, texts, refused = [], [], 0
    for case in CASES.values():
        for rules in (NONE, ALL):
            try:
                query = tree(case, rules)
                texts.append(builder_text(query))
                trees.append(query)
            except UnsaidError:
                continue
    for query, words in zip(trees, built(texts, tmp_path)):
        if len(set(names := names_in(query.pattern))) == len(names):
            assert words.of(Item).tree() == query
            continue
        refused += 1  # the alternatives of an optional stage: the builder wants a name of its own for each component
        with pytest.raises(QueryError, match="a name of its own for each component"):
            words.of(Item).tree()
    assert len(trees) - refused > 240, (len(trees), refused)
