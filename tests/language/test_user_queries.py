"""Queries of users, by construct and dialect: what must come, by hand and by brute force; which the library answers by now."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.language.user_queries import UserQuery, due, not_yet, outcome, queries, written

QUERIES = queries()


def name_of(query: UserQuery) -> str:
    return f"{query.name} [{query.manner}]"


@pytest.mark.parametrize("query", QUERIES, ids=name_of)
def test_what_is_due_has_been_worked_out(query: UserQuery) -> None:
    """Brute force and DuckDB have the rows that stand in the file: a third of them was worked out by hand."""
    assert due(query)[1] == Counter(query.rows)


@pytest.mark.parametrize("query", QUERIES, ids=name_of)
def test_what_the_library_answers(query: UserQuery) -> None:
    """It is right, or refuses; what it does not do yet stands in ``not_yet.txt``, and goes from there once it does."""
    verdict, words = outcome(query)
    listed = {each.partition(": ")[2]: each.partition(": ")[0] for each in not_yet()}
    expected = listed.get(name_of(query), "right")
    assert verdict == expected, f"{words}; python -m tests.language.user_queries --write"
    if verdict == "right":
        assert outcome(query, "interpreted") == ("right", "")


def test_many_were_worked_out_by_hand() -> None:
    assert len(QUERIES) > 400
    assert sum(query.checked for query in written()) > len(written()) / 3


def test_each_of_the_list_is_a_query() -> None:
    assert {each.partition(": ")[2] for each in not_yet()} <= set(map(name_of, QUERIES))
