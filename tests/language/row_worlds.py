"""Random queries of ALL ROWS PER MATCH x streams: after every step the rows in force must be those of brute force.

They are the rows of the matches that the oracle chooses, each value by brute force over what the match has taken up to the row; and
no call says of a row that it comes and goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

from afa.expression.nodes import Const, Expr, changed
from afa.language.pattern import PARTITION, Tree
from afa.language.terms import Aggregate, Classifier, Final, Ref
from punctuation.time import BEGINNING
from tests.language.meaning import Taken, value
from tests.language.oracle import Event, Found, choices, chosen
from tests.language.trees import SKIPS, Allowed, Maker, Tick, names_of
from tests.language.worlds import SHAPES, Side, Stream, World, operations, run, smaller, words
from tests.strategies import Choices, Seeded
from tests.worlds.kind import Worlds

COLUMNS = tuple(name for name in Tick._fields if name != "key")


def tree(choose: Choices) -> Tree:
    """A random query whose rows are shown."""
    keyed = choose.chance(50)
    make = Maker(choose, PARTITION, keyed, choose.chance(50))
    make.negations, make.groups, make.wholes = 0, choose.one((0, 60)), False
    pattern = make.pattern()
    names = names_of(pattern)
    skip = choose.one((*SKIPS, f"to {choose.one(('first', 'last'))} {choose.one(make.known).name}"))
    hidden = tuple(i for i, name in enumerate(names) if names.count(name) == 1 and choose.chance(12))
    return Tree(
        pattern,
        Tick,
        "type",
        key=choose.one((("key",), ("key",), ("key", "s"))) if keyed else (),
        order="seq" if choose.chance(30) else None,
        window=None if choose.chance(15) else choose.number(3, 12),
        returns=returns(make),
        subsets=tuple(make.subsets),
        time="at",
        skip=skip,
        rows=hidden,
        ties=False,
    )


def returns(make: Maker) -> tuple[tuple[str, Expr], ...]:
    """What rows show: some columns, some values as of the row or of the end."""
    choose, found = make.choose, list[Expr]()
    found += [Ref("", "last", name) for name in COLUMNS if choose.chance(40)]
    for _ in range(choose.number(0, 3)):
        one = make.value(2, event=False)
        found.append(changed(one, lambda node: Final(node) if is_term(node) and choose.chance(30) else None))
    if choose.chance(50):
        found.append(Classifier())
    if choose.chance(40):
        found.append(Aggregate("", "count"))
    return tuple((f"v{i}", each) for i, each in enumerate(found or [Classifier()]))


def is_term(node: Expr) -> bool:
    return isinstance(node, Ref | Aggregate)


# -- what must come --------------------------------------------------------------------------------------------------------------


def rows(of: Tree, events: Iterable[Event], punctuation: int = BEGINNING) -> Counter[Any]:
    """The rows ``(payload, le, re)`` of all chosen matches, and how often; with a key ``((key, payload), le, re)``."""
    found = Counter[Any]()
    for match in chosen(of, choices(of, events, punctuation)):
        for i, (name, event) in enumerate(match.picks):
            if name not in {names_of(of.pattern)[place] for place in of.rows or ()}:
                payload = tuple(seen(of, match, i, expr) for _, expr in of.returns)
                found[payload if match.key is None else (match.key, payload), event.le, match.re] += 1
    return found


def seen(of: Tree, match: Found, i: int, expr: Expr) -> Any:
    """A value as of a row of a match."""
    picks = tuple((name, event.payload) for name, event in match.picks)
    whole, here = Taken(picks, dict(of.subsets)), Taken(picks[: i + 1], dict(of.subsets))

    def ended(node: Expr) -> Expr | None:
        return Const(value(node.x, None, whole)) if isinstance(node, Final) else None

    return value(changed(expr, ended), None, here)


class RowSide(Side):
    """An operator at work that tells rows."""

    def expected(self, events: list[Event]) -> Counter[Any]:
        return rows(self.query.tree, events, self.promised)


class TiedStream(Stream):
    """Events of one instant, too, where a field orders them; copies of one event."""

    def event(self) -> Event | None:
        made = super().event()
        if made is not None and self.query.window is not None:
            made = made._replace(re=None)
        if made is None or self.query.order is None:
            return made
        if self.force and self.choose.chance(8):
            again = self.choose.one(self.force)
            return again if again.le >= self.promised else None
        places = {(e.le, e.payload.seq) for e in (*self.force, *self.owed)}
        return None if (made.le, made.payload.seq) in places else made


def world(choose: Choices, query: Tree) -> World:
    """A random world of a query."""
    shape = choose.one(SHAPES)
    allowed = Allowed(skip=True, ties=query.order is not None)
    stream = TiedStream(choose, query, allowed, choose.number(*shape.instants), shape.most)
    return World(query, operations(choose, stream, choose.number(*shape.changes), (12, 25, 60)))


def numbered(seed: str, number: int, *, family: int = 4) -> World:
    """The world of a number; so many worlds share a query."""
    return world(Seeded(f"rows/{seed}/{number}"), tree(Seeded(f"rows/{seed}/family {number // family}")))


WORLDS = Worlds("rows", numbered, partial(run, of=RowSide), smaller, words)
