"""A tree as SASE+ text reads back as an equal tree."""

from __future__ import annotations

import math
import random
from typing import NamedTuple

import pytest

from afa.errors import QueryError
from afa.expression.nodes import (
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    FieldRead,
    If,
    In,
    IsNone,
    Not,
    Or,
    Text,
    conjunction,
    disjunction,
)
from afa.language.conjuncts import (
    AggregateTerm,
    FieldTerm,
    MisplacedError,
    PatternPlace,
    filled,
    filled_component,
    place,
    places,
    returned,
)
from afa.language.neighbours import with_neighbours
from afa.language.pattern import ANY, NEXT, PARTITION, STRICT, Component, Either, Gap, Pattern, Repeat, Seq, Tree
from afa.language.sase_printer import sase_text
from afa.language.sase_reader import read_sase
from afa.language.terms import Aggregate, Beside, Ref
from tests.language import trees
from tests.strategies import Seeded


class Event(NamedTuple):
    type: str
    x: float
    n: int
    from_: str
    note: str | None = None


class Maker:
    """Random trees as text makes them: conditions at their last component."""

    def __init__(self, seed: int) -> None:
        self.rng, self.of_beside = random.Random(seed), random.Random(seed)
        self.names = iter(f"{letter}{'' if n == 0 else n}" for n in range(9) for letter in "abcdefghjklmnop")
        self.strategies = self.rng.choice([[NEXT], [ANY], [PARTITION], [STRICT], [NEXT, NEXT, ANY], [NEXT, ANY, PARTITION]])

    def tree(self) -> Tree:
        rng = self.rng
        pattern = self.pattern(0)
        before, after = self.absent(0.1), self.absent(0.1)
        where = places(pattern, before, after)
        placed = [found for _ in range(rng.randint(0, 6)) if (found := self.conjunct(where)) is not None]
        strategies = {gap.strategy for gap in _gaps(pattern)} or {NEXT}
        key: tuple[str, ...] = ()
        if STRICT not in strategies and (PARTITION in strategies or rng.random() < 0.4):
            key = ("note", "n") if rng.random() < 0.2 else ("from_",)
        tree = Tree(
            filled(pattern, placed),
            Event,
            "type",
            key,
            rng.choice([None, "n"]),
            rng.choice([None, 1, 100]),
            tuple(filled_component(each, placed) for each in before),
            tuple(filled_component(each, placed) for each in after),
            self.returns(where),
        )
        return with_neighbours(tree)

    def pattern(self, depth: int) -> Pattern:
        rng = self.rng
        kind = rng.randint(0, 9) if depth < 3 else 0
        if kind < 3:
            return Component(next(self.names), rng.choice(["A", "B", None, "out of stock"]))
        if kind < 6:
            items = tuple(self.pattern(depth + 1) for _ in range(rng.randint(2, 3)))
            return Seq(items, tuple(self.gap() for _ in items[1:]))
        if kind < 7:
            return Either(tuple(self.pattern(depth + 1) for _ in range(2)))
        low, high = rng.choice([(1, None), (0, None), (0, 1), (2, 2), (1, 1), (2, None), (0, 3), (2, 5)])
        gap = Gap() if high == 1 else self.gap()
        return Repeat(self.pattern(depth + 1), low, high, gap, rng.random() < 0.8)

    def gap(self) -> Gap:
        return Gap(self.rng.choice(self.strategies), self.absent(0.2))

    def absent(self, chance: float) -> tuple[Component, ...]:
        return tuple(Component(next(self.names), "N") for _ in range(2) if self.rng.random() < chance)

    def conjunct(self, where: dict[str, PatternPlace]) -> object:
        for _ in range(20):
            try:
                return place(self.condition(where, 2), where)
            except MisplacedError:
                continue
        return None

    def returns(self, where: dict[str, PatternPlace]) -> tuple[tuple[str, Expr], ...]:
        found = []
        for k in range(self.rng.randint(0, 3)):
            try:
                found.append((f"v{k}", returned(self.number(where, 2), where)))
            except MisplacedError:
                continue
        return tuple(found)

    def condition(self, where: dict[str, PatternPlace], deep: int) -> Expr:
        kind = self.rng.randint(0, 9)
        if kind < 4 or deep == 0:
            op = self.rng.choice(["<", "<=", "==", "!=", ">"])
            return Compare(op, self.number(where, deep), self.number(where, deep))
        if kind == 4:
            both = conjunction([self.condition(where, deep - 1) for _ in range(2)])
            return disjunction([self.condition(where, deep - 1), both])
        if kind == 5:
            return Not(self.condition(where, deep - 1))
        if kind == 6:
            return In(self.term(where, "note"), (Const("it's"), Const('"')))
        if kind == 7:
            return IsNone(self.term(where, "note"))
        if kind == 8:
            return Text(self.rng.choice(["startswith", "contains"]), self.term(where, "from_"), (Const("a\n'b"),))
        return Compare("==", self.term(where, "from_"), self.term(where, "note"))

    def number(self, where: dict[str, PatternPlace], deep: int) -> Expr:
        kind = self.rng.randint(0, 9)
        if kind < 5 or deep == 0:
            return (
                self.term(where, "x")
                if self.rng.random() < 0.8
                else Const(self.rng.choice([0, -3, 2.5, math.inf, -math.inf, 1e300]))
            )
        if kind < 8:
            return Binary(self.rng.choice("+-*/%"), self.number(where, deep - 1), self.number(where, deep - 1))
        if kind == 8:
            return Call(self.rng.choice(["min", "max"]), (self.number(where, deep - 1), self.number(where, deep - 1)))
        return If(self.condition(where, 0), self.number(where, 0), self.number(where, 0))

    def term(self, where: dict[str, PatternPlace], field: str) -> Expr:
        term = self.own_term(where, field)
        beside = isinstance(term, FieldTerm) and self.of_beside.random() < 0.1
        return Beside(term, self.of_beside.choice([-2, -1, 1, 64])) if beside else term

    def own_term(self, where: dict[str, PatternPlace], field: str) -> Expr:
        name = self.rng.choice(list(where))
        if not where[name].many:
            return FieldTerm(name, "one", field)
        which = self.rng.choice(["first", "this", "this", "before", "last", "over"])
        if which == "over" and field == "x":
            function = self.rng.choice(["min", "max", "sum", "avg", "count"])
            return AggregateTerm(name, function, None if function == "count" else "x", self.rng.choice(["before", "now", "all"]))
        back = self.rng.choice([0, 0, 1, 2]) if which in ("before", "last") else 0
        return FieldTerm(name, which if which != "over" else "this", field, back)


def _gaps(pattern: Pattern) -> list[Gap]:
    match pattern:
        case Component():
            return []
        case Repeat(item, _, high, gap):
            return [*_gaps(item), *([] if high == 1 else [gap])]
        case Seq(items, gaps):
            return [*gaps, *(gap for item in items for gap in _gaps(item))]
        case Either(items):
            return [gap for item in items for gap in _gaps(item)]
    raise AssertionError(pattern)


def back(tree: Tree) -> Tree:
    return read_sase(sase_text(tree), tree.event, type=tree.type_column, order=tree.order)


def test_random_trees() -> None:
    slots, beside = dict.fromkeys(("where", "first", "rest", "done"), 0), 0
    for seed in range(400):
        tree = Maker(seed).tree()
        assert back(tree) == tree, seed
        beside += bool(tree.neighbours)
        for slot in slots:
            slots[slot] += f"{slot}=(Com" in str(tree.pattern) or f"{slot}=(Or" in str(tree.pattern)
    assert min(*slots.values(), beside) > 5, (slots, beside)


def test_trees_of_other_notations_are_printed_or_refused() -> None:
    """What text can't say: ``Ref("", ..)``, done of a group, a condition that is not at its last component."""
    printed, refused = 0, list[str]()
    for seed in range(300):
        tree = trees.tree(Seeded(seed), trees.Allowed(start=True, end=True, beside=seed % 2 == 0))
        try:
            text = sase_text(tree)
        except QueryError as error:
            refused.append(str(error))
        else:
            assert read_sase(text, tree.event, type="type", order=tree.order) == tree
            printed += 1
    assert all("expected a query that SASE+ text can say but got" in message for message in refused)
    assert printed > 30


def test_what_text_cannot_say() -> None:
    one = Component("a", "A")
    for pattern, message in [
        (Component("a", "A", first=(Compare(">", FieldRead("e", "x"), Const(1)),)), "a condition of a.first"),
        (Component("a", "A", (Compare(">", FieldRead("e", "x"), Ref("", "last", "x")),)), "a condition of a.where"),
        (Seq((one, Component("b", "B", (Compare(">", Ref("a", "one", "x"), Const(1)),))), (Gap(),)), "a condition of b.where"),
        (Component("sum", "A"), "what does not read back: line 1, column 15: expected a name but got 'sum'"),
        (Component("a", "Event"), "another one, which reads back differently"),
        (Component("a", "\\"), "what does not read back: .* expected a type without"),
        (Repeat(one, 0, 1, Gap(ANY)), "another one, which reads back differently"),
        (Seq((one, Component("b")), (Gap(PARTITION),)), r"what does not read back: .* expected \[..\] with partition contiguity"),
    ]:
        with pytest.raises(QueryError, match=f"expected a query that SASE\\+ text can say but got {message}"):
            sase_text(Tree(pattern, Event, "type"))
    with pytest.raises(QueryError, match="another one, which reads back differently"):
        sase_text(Tree(one, Event, "type", skip="past last row"))


def test_all_of_it_as_text() -> None:
    text = """PATTERN SEQ(~(N l), (A a[] =>any ~(N m)){2,5}? =>any ~(N n), (B b | 'out of stock'* c[]), Event d, ~(N o))
WHERE skip_till_next_match(l, a[], m, n, b, c[], d, o) {
    [from_, n]
    and (count(a[..i-1]) > 2 or a[i].x < avg(a[..i].x))
    and m.x > a[i].x
    and (c[1].note is not None or c[1].x == inf)
    and max(c[].x) - a[a.LEN-2].x < c.LEN
    and d.x in (1, 2.5)
    and o.from_.startswith('it')
}
WITHIN 12
RETURN Found(a[1].x, avg(c[].x), (a.LEN + 1) / 2 AS half)"""
    tree = read_sase(text, Event)
    assert sase_text(tree) == text
    assert [name for name, _ in tree.returns] == ["a_first_x", "c_avg_x", "half"]
    assert tree.payload == "Found"


def test_further_back_than_one() -> None:
    """``a[i-2]`` is asked from the third iteration on, and printed as it was written."""
    tree = read_sase("PATTERN Event+ a[] WHERE a[i].x > a[i-2].x", Event)
    grows = Compare(">", FieldRead("e", "x"), Ref("a", "last", "x", 1))
    assert tree.pattern == Repeat(Component("a", rest=(Or((Compare("<", Aggregate("a", "count"), Const(2)), grows)),)))
    assert sase_text(tree).split("\n")[2].strip() == "a[i].x > a[i-2].x"
    with pytest.raises(QueryError, match=r"a condition of a\.rest"):
        sase_text(Tree(Repeat(Component("a", rest=(grows,))), Event, "type"))
