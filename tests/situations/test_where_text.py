"""The text of where: what it says, and what is refused."""

from __future__ import annotations

import pytest

from afa.errors import QueryError
from afa.extra.situations.where_text import RelationConstraint, constraints_of


def said(text: str, definitions: str = "abc") -> list[str]:
    return [str(each) for each in constraints_of(text, list(definitions))]


def test_constraints() -> None:
    assert said("a meets|overlaps b and b before c") == ["a meets|overlaps b", "b before c"]
    assert said("a overlaps | meets b AND\n b before c") == ["a meets|overlaps b", "b before c"]


def test_several_of_one_pair_are_what_they_have_in_common() -> None:
    assert said("a meets|overlaps|before b and b before c and b met_by|after a") == ["a before|meets b", "b before c"]


def test_names_that_are_relations() -> None:
    assert constraints_of("meets meets before", ["meets", "before"]) == (RelationConstraint("meets", "before", ("meets",)),)


def test_names_that_begin_with_and() -> None:
    assert constraints_of("android before order", ["android", "order"]) == (RelationConstraint("android", "order", ("before",)),)


def test_one_definition_needs_none() -> None:
    assert constraints_of(None, ["a"]) == ()


def test_turned() -> None:
    assert str(RelationConstraint("a", "b", ("before", "starts")).turned()) == "b after|started_by a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a befor b", "column 3: expected a relation but got 'befor'; did you mean 'before'"),
        ("a precedes b", "expected a relation but got 'precedes'; write 'before|meets'"),
        ("a SUCCEEDS b", "write 'after|met_by'"),
        ("a immediately precedes b", "column 24: .*for SQL's immediately precedes write 'meets'"),
        ("a immediately succeeds b", "for SQL's immediately succeeds write 'met_by'"),
        ("a while b", "write 'starts.during.finishes.equals'"),
        ("a xyzzy b", "the relations are before, meets, overlaps, starts, during, finishes, equals, after, "),
        ("a before d", "column 10: expected a definition but got 'd'; the definitions are a, b, c"),
        ("alpha before b", "expected a definition but got 'alpha'"),
        ("a before a", "expected two definitions but got 'a' twice"),
        ("a before b", "expected each definition in a constraint but got none with 'c'"),
        (
            "a before b or b before c",
            "column 12: expected constraints .* but got 'or'; alternatives of one pair stand side by side",
        ),
        ("not a before b", "column 1: .* but got 'not'; there is no 'not'; name the relations that are left"),
        ("a before b and not b before c", "column 16: .*there is no 'not'"),
        ("a !before b", "there is no 'not'"),
        ("a (meets|overlaps) b", "there are no parentheses"),
        ("a before b, b before c", "write 'and' between constraints"),
        ("a before", "line 1, column 9: .* but got the end; write a constraint as 'a overlaps b'"),
        ("a before b and\nb meets|", "line 2, column 9: .* but got the end"),
        ("a before b c", "but got 'c'; write a constraint as"),
        ("a before b and b before c; drop", "but got ';'; write 'and' between constraints"),
        ("", "expected where= to relate the definitions a, b, c but got where=''"),
        ("  ", "expected where= to relate the definitions"),
        (
            "a before b and b before|meets a",
            "column 16: .*leave 'a' and 'b' a relation but got 'b before.meets a' beside 'a before b'",
        ),
        ("a before b and " * 1000 + "b before c", "expected at most 10000 characters"),
        (None, "expected where= to relate the definitions a, b, c but got where=None"),
        (7, "but got where=7"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        constraints_of(text, ["a", "b", "c"])


def test_the_closest_definition() -> None:
    with pytest.raises(QueryError, match="did you mean 'speeding'"):
        constraints_of("speding before braking", ["speeding", "braking"])
