"""What a component's conditions say to be there costs no test, and is never None where it is shown."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import afa


class Tick(NamedTuple):
    type: str | None
    price: float | None = None
    size: int | None = None


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("a.price > 3 and b.size < 9", {"a_price": False, "b_size": False}),
        ("b.size < 9", {"a_price": True, "b_size": False}),
        ("b.size < a.size", {"a_price": True, "b_size": False}),
        ("(a.price > 3 or a.price is None)", {"a_price": True, "b_size": True}),
        ("(a.price > 3 or not a.price < 9)", {"a_price": False, "b_size": True}),
        ("a.price is not None and b.size in (1, 2)", {"a_price": False, "b_size": False}),
        ("(a.price if a.type == 'x' else a.size) > 3", {"a_price": True, "b_size": True}),
    ],
)
def test_what_is_shown_of_one_event(condition: str, shown: dict[str, bool]) -> None:
    text = f"PATTERN SEQ(Tick a, Tick b) WHERE skip_till_any_match(a, b) {{ {condition} }} WITHIN 9 RETURN a.price, b.size"
    fields = afa.query(text, event=Tick).automaton.match_schema.fields
    assert {field.name: field.optional for field in fields} == shown


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("a[1].price > 3", [False, True, True]),
        ("a[i].price > 3", [False, False, False]),
        ("a[1].price > 3 and a[i].price > a[i-1].price", [False, False, False]),
        ("a[i].price > avg(a[..i-1].price)", [True, True, True]),  # says nothing of the first one
    ],
)
def test_what_is_shown_of_a_repetition(condition: str, shown: list[bool]) -> None:
    returned = "a[1].price AS first, a[a.LEN].price AS last, min(a[].price) AS low"
    text = f"PATTERN SEQ(Tick+ a[], Tick b) WHERE skip_till_next_match(a[], b) {{ {condition} }} WITHIN 9 RETURN {returned}"
    assert [field.optional for field in afa.query(text, event=Tick).automaton.match_schema.fields] == shown
