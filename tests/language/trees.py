"""Random pattern trees over events `Tick`: all strategies, repetitions, alternatives, groups, negations, terms of every kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from typing import NamedTuple

import afa
from afa.expression.nodes import (
    And,
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
    Text,
    conjunction,
    disjunction,
)
from afa.language.neighbours import changed_in, with_neighbours
from afa.language.pattern import ANY, NEXT, PARTITION, STRICT, Component, Either, Gap, Pattern, Repeat, Seq, Tree
from afa.language.terms import Aggregate, Beside, Classifier, Ref
from tests.strategies import Choices

TYPES = ("a", "a", "b", "b", "c")
BOUNDS = ((1, None), (1, None), (0, None), (0, 1), (1, 2), (2, 2), (2, 3), (2, None), (0, 2))


SKIPS = ("past last row", "past last row", "to next row")


class Tick(NamedTuple):
    """An event."""

    type: str | None
    key: int
    x: int | None
    y: float
    s: str
    seq: int
    at: afa.Instant


class Known(NamedTuple):
    """A component that predicates may name, and whether it takes one event at most."""

    name: str
    one: bool


@dataclass
class Allowed:
    """What a tree may have."""

    ties: bool = True
    start: bool = False  # negation before the first event
    end: bool = False  # negation behind the last one
    names: bool = False  # a name at several places, subsets, terms over all events, CLASSIFIER
    skip: bool = False  # AFTER MATCH SKIP
    later: bool = False  # negations that name what comes behind them
    sums: bool = False  # conditions on sums of whole components, under any
    beside: bool = False  # fields of neighbours
    groups: bool = False  # PERMUTE, groups of parts that may be empty, names at several places of them


def tree(choose: Choices, allowed: Allowed) -> Tree:
    """A random tree."""
    skip = allowed.skip and choose.chance(60)
    strategy = choose.one(
        (STRICT, PARTITION, *(() if skip else (NEXT, NEXT, NEXT, NEXT, ANY, ANY, ANY, "mixed", "mixed", "mixed")))
    )
    keyed = strategy != STRICT and choose.chance(50)
    if allowed.sums and choose.chance(80):
        strategy = choose.one((ANY, ANY, "mixed"))
    make = Maker(choose, strategy, keyed, allowed.names)
    make.sums, make.groups = allowed.sums, 60 if allowed.groups else 0
    make.negations = 0 if skip else 60 if allowed.later else 20
    make.wholes = not skip
    pattern = make.pattern()
    if allowed.later:
        pattern = make.with_later(pattern, [])
    made = Tree(
        pattern,
        Tick,
        "type",
        key=choose.one((("key",), ("key",), ("key",), ("key", "s"))) if keyed else (),
        order="seq" if (skip or allowed.ties) and choose.chance(30) else None,
        window=None if choose.chance(10) else choose.number(3, 12),
        before=tuple(make.absent(alone=True) for _ in range(choose.one((0, 1, 1, 2)) if allowed.start else 0)),
        returns=make.returns(),
        subsets=tuple(make.subsets),
        time="at" if skip else None,
        skip=choose.one((*SKIPS, f"to {choose.one(('first', 'last'))} {choose.one(make.known).name}")) if skip else None,
        ties=not skip,
    )
    if allowed.end and made.window is not None and not skip and choose.chance(15):  # SQL has no negation at the end
        made = replace(made, after=(make.absent(),))
    return with_neighbours(neighbourly(choose, made)) if allowed.beside else made


def neighbourly(choose: Choices, tree: Tree) -> Tree:
    """A tree of which some terms ask for neighbours; not those of what is absent at the start."""

    def change(node: Expr) -> Expr | None:
        known = isinstance(node, FieldRead | Ref) and choose.chance(25)
        return Beside(node, choose.one((-1, -1, -2, -3, 1, 1, 2))) if known else None

    return replace(changed_in(tree, change), before=tree.before)


class Maker:
    """One tree in the making: its names so far, and what they may be asked for."""

    def __init__(self, choose: Choices, strategy: str, keyed: bool, several: bool) -> None:
        self.choose, self.strategy, self.keyed, self.several = choose, strategy, keyed, several
        self.names = iter("abcdefghijklmnopqrstuvw")
        self.known: list[Known] = []
        self.again: list[Component] = []  # may stand at one more place
        self.subsets: list[tuple[str, tuple[str, ...]]] = []
        self.sums = False  # whether whole components are asked for sums mostly
        self.wholes = True  # whether whole components are asked for anything
        self.negations = 20  # how many percent of the gaps have one
        self.groups = 0  # how many percent of the items are groups of parts that may be empty, or PERMUTE

    # -- patterns ----------------------------------------------------------------------------------------------------------------

    def pattern(self) -> Pattern:
        items, gaps = [self.item()], []
        if self.sums and self.choose.chance(80):
            low = self.choose.one((1, 1, 1, 0, 2))
            items.append(Repeat(self.many(), low, None, Gap(ANY)))
            gaps.append(self.gap())
        for _ in range(self.choose.one((0, 1, 1, 1, 2, 2))):
            gaps.append(self.gap())
            items.append(self.item())
        return Seq(tuple(items), tuple(gaps)) if gaps else items[0]

    def item(self) -> Pattern:
        if self.groups and self.choose.chance(self.groups):
            return self.permuted() if self.choose.chance(40) else self.grouped(2)
        kind = self.choose.number(0, 99)
        if kind < (25 if self.sums else 50):
            return self.component()
        if kind < 80:
            return self.repeat()
        if kind < 90:
            return Either((self.item(), self.component()))
        first, gap, second = self.component(group=True), self.gap(), self.component(group=True)
        return Repeat(Seq((first, second), (gap,)), *self.choose.one(((1, 2), (2, 2), (1, None), (0, 2))), gap=self.gap())

    def permuted(self) -> Pattern:
        """PERMUTE: its items in each order, some of them with a filler behind, or a choice."""
        plain = self.choose.chance(60)
        count = self.choose.one((2, 2, 3))
        more, missing = (0, 0) if plain else (1, 30)
        items = [[self.part(missing), *(self.part(100) for _ in range(self.choose.number(0, more)))] for _ in range(count)]
        return Either(tuple(self.row([part for item in order for part in item]) for order in permutations(items)))

    def grouped(self, deep: int) -> Pattern:
        """Parts that may be empty, or stand elsewhere, too, in groups that may be missing or repeat."""
        kind = self.choose.number(0, 99)
        if not deep or kind < 15:
            return self.part(30 if deep else 70)
        if kind < 40:
            return Either(tuple(self.grouped(deep - 1) for _ in range(self.choose.one((2, 2, 3)))))
        if kind < 65:
            return self.row([self.grouped(deep - 1) for _ in range(2)])
        return self.times(
            self.grouped(deep - 1), self.choose.one(((0, 1), (0, 1), (0, 1), (0, None), (1, None), (0, 2), (2, 2), (2, None)))
        )

    def part(self, missing: int) -> Pattern:
        """A component, mostly one that may stand at one more place; now and then it may be missing."""
        one: Pattern = self.component(group=True)
        return self.times(one, self.choose.one(((0, 1), (0, None), (0, 2)))) if self.choose.chance(missing) else one

    def row(self, items: list[Pattern]) -> Pattern:
        return Seq(tuple(items), tuple(self.gap() for _ in items[1:]))

    def times(self, item: Pattern, bounds: tuple[int, int | None]) -> Repeat:
        return Repeat(item, *bounds, self.gap(), greedy=self.choose.chance(50))

    def repeat(self) -> Repeat:
        low, high = self.choose.one(BOUNDS)
        item = self.component() if high == 1 else self.many()
        return Repeat(item, low, high, self.gap(), greedy=self.choose.chance(70))

    def gap(self) -> Gap:
        strategy = self.strategy
        if strategy == "mixed":
            strategy = self.choose.one((PARTITION if self.keyed else STRICT, NEXT, ANY))
        return Gap(strategy, (self.absent(),) if self.choose.chance(self.negations) else ())

    def component(self, group: bool = False) -> Component:
        """One that takes one event; one an iteration, in a group."""
        if self.again and self.choose.chance(60 if self.groups else 40):
            return self.choose.one(self.again)
        name = next(self.names)
        made = Component(name, self.type(), self.some(25))
        again = self.several and self.choose.chance(60 if self.groups else 30)
        if (group or again) and self.choose.chance(30):
            made = replace(made, rest=(self.own(name),))
        if again:
            self.again.append(made)
        self.known.append(Known(name, not (group or again)))
        self.subset()
        return made

    def subset(self) -> None:
        """A name for two components, now and then."""
        members = [known.name for known in self.known if not known.name.isupper()]
        if self.several and len(members) > 1 and not self.subsets and self.choose.chance(30):
            self.subsets.append(("U", tuple(members[-2:])))
            self.known.append(Known("U", False))

    def many(self) -> Component:
        """One that repeats."""
        name, chance = next(self.names), self.choose.chance
        made = Component(
            name, self.type(), self.some(15), self.some(15), (self.own(name),) if chance(15 if self.sums else 50) else ()
        )
        self.known.append(Known(name, False))
        if self.sums and chance(70):
            return replace(made, done=tuple(self.sum(name) for _ in range(self.choose.one((1, 1, 2)))))
        return replace(made, done=(self.about(name),)) if self.wholes and chance(35) else made

    def absent(self, alone: bool = False) -> Component:
        known, self.known = self.known, [] if alone else self.known
        made = Component(next(self.names), self.type(), self.some(25))
        self.known = known
        return made

    def with_later(self, pattern: Pattern, behind: list[str]) -> Pattern:
        """The pattern, whose negations name components that come behind them, too; ``behind`` it."""
        match pattern:
            case Repeat(item, _, _, gap):
                return replace(pattern, item=self.with_later(item, behind), gap=self.late_gap(gap, behind))
            case Either(items):
                return Either(tuple(self.with_later(item, behind) for item in items))
            case Seq(items, gaps):
                made = []
                for i, item in enumerate(items):
                    rest = [name for each in items[i + 1 :] for name in names_of(each)] + behind
                    made.append((self.with_later(item, rest), self.late_gap(gaps[i], rest) if i < len(gaps) else None))
                return Seq(tuple(item for item, _ in made), tuple(gap for _, gap in made if gap is not None))
        return pattern

    def late_gap(self, gap: Gap, behind: list[str]) -> Gap:
        known = [each for each in self.known if each.name in behind]
        if not (gap.absent and known and self.choose.chance(80)):
            return gap
        return replace(gap, absent=tuple(self.late(each, known) for each in gap.absent))

    def late(self, absent: Component, known: list[Known]) -> Component:
        """An absent component that is compared with others that come behind it."""
        earlier, self.known = self.known, known
        own = self.choose.one(
            (FieldRead("e", "x"), FieldRead("e", "x"), FieldRead("e", "y"), Binary("-", FieldRead("e", "y"), Const(1)))
        )
        op = self.choose.one((("<", "<="), (">", ">=")))
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
        found: list[Expr] = []
        for _ in range(self.choose.one((1, 1, 1, 2))):
            sign, other = self.choose.one(op), self.ref(self.choose.one(("x", "y")))
            assert other is not None
            other = Binary("+", other, Const(1)) if self.choose.chance(20) else other
            found.append(Compare(sign, own, other) if self.choose.chance(60) else Compare(turned[sign], other, own))
        self.known = earlier
        alone = self.choose.chance(60)  # so that more events satisfy it
        return replace(absent, type=None if alone else absent.type, where=(*(() if alone else absent.where), *found))

    def type(self) -> str | None:
        return self.choose.one(TYPES) if self.choose.chance(15 if self.sums else 55) else None

    # -- predicates --------------------------------------------------------------------------------------------------------------

    def some(self, percent: int) -> tuple[Expr, ...]:
        """Predicates of one event, perhaps none."""
        percent = percent // 4 if self.sums else percent
        found = [self.predicate() for _ in range(self.choose.one((1, 1, 1, 2)) if self.choose.chance(percent) else 0)]
        return tuple(item for expr in found for item in (expr.items if isinstance(expr, And) else (expr,)))

    def predicate(self, deep: int = 2) -> Expr:
        kind = self.choose.number(0, 99)
        if deep and kind < 24:
            items = [self.predicate(deep - 1), self.predicate(deep - 1)]
            return conjunction(items) if kind < 8 else disjunction(items)
        if deep and kind < 34:
            return Not(self.predicate(deep - 1))
        if kind < 40:
            return In(FieldRead("e", "x"), tuple(Const(n) for n in range(self.choose.number(1, 3))))
        if kind < 46:
            return IsNone(self.choose.one((FieldRead("e", "x"), self.value(1))))
        if kind < 52:
            return Text(self.choose.one(("startswith", "contains")), FieldRead("e", "s"), (Const(self.choose.one("pq")),))
        if kind < 58:
            return Compare(self.choose.one(("==", "!=")), FieldRead("e", "s"), self.text())
        return Compare(self.op(), self.choose.one((FieldRead("e", "x"), FieldRead("e", "y"), self.value(1))), self.value(2))

    def own(self, name: str) -> Expr:
        """A predicate on one more event of a component, beside those that it has taken."""
        back = self.choose.one((0, 0, 0, 1, 2))
        terms = [Ref(name, "last", "x", back), Ref(name, "last", "y"), Ref(name, "first", "y"), Ref("", "last", "y", back)]
        terms += [Aggregate(name, of, self.choose.one(("x", "y"))) for of in ("avg", "min", "max", "sum")]
        terms += [Aggregate(name, "avg", "y", now=True), Aggregate(name, "count")]
        return Compare(self.op(), FieldRead("e", self.choose.one(("x", "y"))), self.choose.one(terms))

    def about(self, name: str) -> Expr:
        """A predicate on all events of a component."""
        total = Aggregate(name, self.choose.one(("avg", "sum", "max")), "y")
        found = self.choose.one((Compare(">=", Aggregate(name, "count"), Const(2)), Compare("<=", Ref(name, "last", "y"), total)))
        return Not(found) if self.choose.chance(20) else found

    def sum(self, name: str) -> Expr:
        """A predicate on the sum or the mean of a component."""
        function = self.choose.one(("avg", "sum", "sum"))
        total = Aggregate(name, function, self.choose.one(("x", "y")))
        kind = self.choose.number(0, 99)
        if kind < 65:
            bounds = (0.5, 1, 1.5, 2, 2.5) if function == "avg" else (1, 2, 3, 4, 5, 6, 7, 8, 5.5)
            bound, op = Const(self.choose.one(bounds)), self.choose.one(("<", "<=", ">", ">=", ">", ">=", "==", "!="))
            return Compare(op, total, bound) if kind < 55 else Compare(op, bound, total)
        if kind < 72:
            return Compare(self.op(), total, Aggregate(name, self.choose.one(("avg", "sum", "max", "count")), "y"))
        if kind < 80:
            other = Compare("==", Aggregate(name, "count"), Const(self.choose.number(1, 2)))
            return disjunction([Compare(self.op(), total, Const(2)), other])
        found = Compare(self.op(), total, self.value(1, event=False))
        return Not(found) if self.choose.chance(40) else found

    def op(self) -> str:
        return self.choose.one(("<=", ">=", "<=", ">=", "!=", "<", ">", "=="))

    def text(self) -> Expr:
        name = self.ref("s")
        return name if name and self.choose.chance(50) else Const(self.choose.one(("p", "q")))

    def value(self, deep: int, event: bool = True) -> Expr:
        """A number, or None."""
        kind = self.choose.number(0, 99)
        if deep and kind < 12:
            return Binary(self.choose.one("+-*"), self.value(deep - 1, event), self.value(deep - 1, event))
        if deep and kind < 18:
            return Call(self.choose.one(("min", "max")), (self.value(deep - 1, event), self.value(deep - 1, event)))
        if deep and kind < 22:
            return Call(self.choose.one(("abs", "abs", "atan", "floor")), (self.value(deep - 1, event),))
        if deep and kind < 26:
            test = Compare(self.op(), self.value(0, event), self.value(0, event))
            return If(test, self.value(0, event), self.value(0, event))
        found = self.ref(self.choose.one(("x", "y", "x", "y", "at"))) if kind < 75 else None
        if found is None and event and self.choose.chance(20):
            return FieldRead("e", "y")
        return found or Const(self.choose.number(0, 3))

    def ref(self, name: str) -> Expr | None:
        """A term about a component that comes before; None if there is none."""
        if not self.known:
            return None
        known = Known("", False) if self.several and self.choose.chance(15) else self.choose.one(self.known)
        if known.one:
            return Ref(known.name, "one", name)
        back = self.choose.one((0, 0, 0, 1))
        terms: list[Expr] = [Ref(known.name, "first", name), Ref(known.name, "last", name, back)]
        if name != "s":
            terms += [Aggregate(known.name, of, name) for of in ("min", "max", "sum", "avg", "count")]
            terms += [Aggregate(known.name, "count")]
        return self.choose.one(terms)

    def returns(self) -> tuple[tuple[str, Expr], ...]:
        if self.choose.chance(70 if self.sums else 20):
            return ()
        values = [self.value(2, event=False) for _ in range(self.choose.number(1, 3))]
        if self.several and self.choose.chance(30):
            values.append(Classifier())
        return tuple((f"v{i}", value) for i, value in enumerate(values))


def names_of(pattern: Pattern) -> list[str]:
    """The components that take events, from left to right."""
    if isinstance(pattern, Component):
        return [pattern.name]
    if isinstance(pattern, Repeat):
        return names_of(pattern.item)
    return [name for item in pattern.items for name in names_of(item)]
