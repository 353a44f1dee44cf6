"""Allen's relations against their definition over all small stretches of time."""

from __future__ import annotations

import itertools

import pytest

from afa.extra.situations.relations import ALL, INVERSES, NAMES, ORDERS, composed, inverted, names_of, narrowed, set_of
from tests.situations.oracle import RELATIONS

SPANS = [(start, end) for start in range(6) for end in range(start + 1, 7)]


def named(a: tuple[int, int], b: tuple[int, int]) -> str:
    """The one relation that holds."""
    (found,) = [name for name, holds in RELATIONS.items() if holds(*a, *b)]
    return found


def test_the_names() -> None:
    assert len(NAMES) == 13
    assert set(NAMES) == set(RELATIONS)


@pytest.mark.parametrize("name", NAMES)
def test_orders_say_what_the_relation_says(name: str) -> None:
    assert named(ORDERS[name][:2], ORDERS[name][2:]) == name  # type: ignore[arg-type]


def test_inverses() -> None:
    for a, b in itertools.product(SPANS, repeat=2):
        assert INVERSES[named(a, b)] == named(b, a)
    assert inverted(ALL) == ALL
    assert names_of(inverted(set_of(["starts", "before"]))) == ("after", "started_by")


def test_compositions() -> None:
    found: dict[tuple[str, str], set[str]] = {}
    for a, b, c in itertools.product(SPANS, repeat=3):
        found.setdefault((named(a, b), named(b, c)), set()).add(named(a, c))
    assert len(found) == 169
    for (first, second), names in found.items():
        assert set(names_of(composed(set_of([first]), set_of([second])))) == names


def test_what_is_possible_is_what_can_still_come() -> None:
    for a, b in itertools.product(SPANS, repeat=2):
        possible, seen = ALL, [0, 0]
        for t in sorted({*a, *b}):
            possible = narrowed(possible, *seen, t in a, t in b)
            seen = [sum(x <= t for x in each) for each in (a, b)]
            assert set(names_of(possible)) == to_come(a, b, t)
        assert names_of(possible) == (named(a, b),)


def to_come(a: tuple[int, int], b: tuple[int, int], t: int) -> set[str]:
    """The relations of all stretches that are like these up to an instant."""

    def alike(span: tuple[int, int]) -> list[tuple[int, int]]:
        later = [[t + 1, t + 2, t + 3, t + 4] if x > t else [x] for x in span]
        return [(start, end) for start, end in itertools.product(*later) if start < end]

    return {named(x, y) for x in alike(a) for y in alike(b)}


def test_nothing_that_happens_leaves_all_as_it_was() -> None:
    assert narrowed(set_of(["meets"]), 1, 0, False, False) == set_of(["meets"])
