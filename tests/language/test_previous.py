"""The event before, said as an event of a component: what matches stays what it was."""

from __future__ import annotations

from afa.expression.nodes import Compare, FieldRead
from afa.language.pattern import NEXT, STRICT, Component, Either, Gap, Pattern, Repeat, Seq, Tree
from afa.language.previous import with_known_previous
from afa.language.terms import Ref
from tests.language.oracle import Event, choices
from tests.language.test_oracle import Row
from tests.strategies import Seeded

RISES = Compare(">", FieldRead("e", "x"), Ref("", "last", "x"))


def c(name: str) -> Component:
    return Component(name, None, (RISES,))


def several(name: str, low: int = 1, high: int | None = None) -> Repeat:
    return Repeat(c(name), low, high, Gap(NEXT))


def seq(*items: Pattern) -> Seq:
    return Seq(items, tuple(Gap(STRICT if i % 2 else NEXT) for i in range(len(items) - 1)))


A = Component("a")
PATTERNS = [
    seq(A, c("b")),
    seq(A, several("b"), c("c")),
    seq(A, several("b"), several("c")),
    seq(A, several("b", 0), c("c")),
    seq(A, Either((c("b"), several("c"))), c("d")),
    seq(Repeat(seq(A, c("b")), 1, 2, Gap(NEXT)), several("c")),
    seq(A, several("b", 0, 1), several("c", 2, 3)),
    seq(A, c("b"), A),
]


def test_what_matches_is_the_same() -> None:
    changed = 0
    for number, pattern in enumerate(PATTERNS):
        choose = Seeded(number)
        other = with_known_previous(pattern)
        changed += other != pattern
        for _ in range(20):
            rows = [Event(Row("a", n, choose.one((None, 1, 2, 3))), n) for n in range(7)]
            found, expected = (list(choices(Tree(each, Row, window=9), rows)) for each in (other, pattern))
            assert found == expected, pattern
    assert changed == len(PATTERNS) - 1  # not where a name stands twice


def test_of_the_first_component_it_is_asked_from_the_second_event_on() -> None:
    rises = Compare(">", FieldRead("e", "x"), Ref("a", "last", "x"))
    assert with_known_previous(several("a")) == Repeat(Component("a", rest=(rises,)), gap=Gap(NEXT))
