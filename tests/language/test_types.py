"""Which events a component takes by its type: where the event class bears the name of a type, and how to say any event."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import pytest

import afa
from afa import insert
from afa.language import one
from afa.language.sase_printer import sase_text


class Order(NamedTuple):
    type: str
    id: int


class Other(NamedTuple):
    type: str
    id: int


TYPES = ("Order", "Payment", "Refund", "_")
WRITTEN = {"_": "'_'", None: "_"}


def in_text(first: str | None, second: str | None, event: type) -> Any:
    a, b = (WRITTEN.get(each, each) for each in (first, second))
    said = f"PATTERN SEQ({a} a, {b} b) WHERE skip_till_any_match(a, b) {{ [id] }} WITHIN 9 RETURN a.type AS first, b.type AS second"
    return afa.query(said, event=event)


def built(first: str | None, second: str | None, event: type) -> Any:
    a, b = (one(name) if kind is None else one(name, kind) for name, kind in (("a", first), ("b", second)))
    shown = a.followed_by_any(b).by("id").within(9).returns(first=lambda m: m.a.type, second=lambda m: m.b.type)
    return shown.of(event).query()


@pytest.mark.parametrize("event", [Order, Other])
@pytest.mark.parametrize("second", ["Order", "Payment", "_", None])
@pytest.mark.parametrize("first", ["Order", "Payment", "_", None])
def test_what_is_taken(first: str | None, second: str | None, event: Any) -> None:
    """Of each pair of types, in both notations: the class's name beside another type is a type; alone, or beside itself, any."""
    others = {first, second} - {None, event.__name__}
    means = [None if kind == event.__name__ and not others else kind for kind in (first, second)]
    asked = [in_text(first, second, event), built(first, second, event)]
    assert asked[0].tree == asked[1].tree == in_text(first, second, event).tree
    assert afa.query(sase_text(asked[0].tree), event=event) == asked[0]
    said = [f"{name} is any event" if kind is None else f"{name} is {kind!r}" for name, kind in zip("ab", means)]
    for query in asked:
        assert f"types: {', '.join(said)}" in str(query.explain()).splitlines()
        for kinds in itertools.product(TYPES, TYPES):
            found = query.operator().push_many([insert(event(kind, 1), at) for at, kind in enumerate(kinds)])
            right = all(kind in (None, here) for kind, here in zip(means, kinds))
            assert [tuple(change.payload) for change in found] == ([kinds] if right else [])


def test_absent_types_count() -> None:
    said = "PATTERN SEQ(Order a, ~(Refund n), Order b) WHERE { [id] } WITHIN 9"
    assert [str(each.type) for each in afa.query(said, event=Order).tree.pattern.items] == ["Order", "Order"]
    absent = one("a", "Order").absent("n", "Refund").followed_by(one("b", "Order")).by("id").within(9).of(Order).query()
    assert [each.type for each in absent.tree.pattern.items] == ["Order", "Order"]


def test_the_class_itself_is_any_event() -> None:
    made = one("a", Order).followed_by(one("b", "Payment")).within(9).query()
    assert [each.type for each in made.tree.pattern.items] == [None, "Payment"]


def test_events_without_types() -> None:
    class Plain(NamedTuple):
        id: int

    query = afa.query("PATTERN SEQ(_ a, Plain b) WITHIN 9", event=Plain)
    assert [each.type for each in query.tree.pattern.items] == [None, None]
    assert "types" not in str(query.explain())
    with pytest.raises(afa.QueryError, match="expected the type Plain but got 'Order', as no field of Plain holds a type"):
        afa.query("PATTERN SEQ(Plain a, Order b) WITHIN 9", event=Plain)
