"""Random queries x streams: after every step the net output of the query's operator must equal the oracle.

``--kind`` has queries of one of `KINDS` only, of which ``--family`` worlds share one; ``--no-ties`` no two events of one instant
and no lifetimes of their own; ``--longest`` operators with ``longest=True``.
"""

from __future__ import annotations

import pprint
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from afa import AfaError, Punctuation, insert, retract
from afa.language.pattern import Tree
from afa.language.query import Query
from punctuation.time import BEGINNING
from tests import oracle
from tests.language.oracle import Event, counted
from tests.language.shrink import smaller_trees
from tests.language.trees import TYPES, Allowed, Tick, tree
from tests.strategies import Choices, Seeded
from tests.worlds.kind import RefusedError, Seen, TooManyError, Worlds

Op = tuple[Any, ...]
"""("+" or "-", event), ("promise", t), ("save",), ("batch", ops, net)."""


@dataclass(frozen=True)
class World:
    """A query, and what is done to its operator."""

    tree: Tree
    ops: tuple[Op, ...]
    longest: bool = False


class Shape(NamedTuple):
    """How many changes over how many instants, and how many events are in force at most."""

    changes: tuple[int, int]
    instants: tuple[int, int]
    most: int


SHAPES = (Shape((8, 16), (4, 8), 8), Shape((12, 40), (3, 6), 7), Shape((20, 40), (8, 16), 9))
"""Mixed, dense, long."""


KINDS = {
    "plain": Allowed(),
    "ends": Allowed(end=True),
    "start": Allowed(start=True, end=True),
    "names": Allowed(names=True, end=True),
    "skip": Allowed(names=True, skip=True, ties=False),
    "later": Allowed(end=True, later=True),
    "sums": Allowed(start=True, end=True, names=True, sums=True),
    "beside": Allowed(start=True, end=True, beside=True),
    "groups": Allowed(names=True, skip=True, ties=False, groups=True),
}
"""Queries as they are; with negation at the end; at the start, too;
with names at several places, subsets, terms over all; with AFTER MATCH SKIP; with negations that name what comes behind them;
with sums of whole components, which wait for the match (`afa.language.postponed`); with fields of neighbours;
with PERMUTE, and groups of what may be empty."""

# -- random worlds ---------------------------------------------------------------------------------------------------------------


def world(choose: Choices, allowed: Allowed, shown: Tree | None = None) -> World:
    """A random world, of a random query or the one that is shown."""
    query = shown or tree(choose, allowed)
    shape = choose.one(SHAPES)
    stream = Stream(choose, query, allowed, choose.number(*shape.instants), shape.most)
    return World(query, operations(choose, stream, choose.number(*shape.changes), (10, 18, 50)))


def operations(choose: Choices, stream: Stream, n: int, percents: tuple[int, int, int]) -> tuple[Op, ...]:
    """So many operations; percents: up to where there is a promise, up to where a batch, and how many batches are net."""
    ops: list[Op] = []
    promises, batches, net = percents
    for _ in range(n):
        kind = choose.number(0, 99)
        if kind < 4:
            ops.append(("save",))
        elif kind < promises:
            ops.append(stream.promise())
        elif kind < batches:
            ops.append(("batch", tuple(stream.change() for _ in range(choose.number(1, 4))), choose.chance(net)))
        else:
            ops.append(stream.change())
    return tuple(op for op in ops if op)


class Stream:
    """Changes that fit: none is late, none takes out what is not there, unless it comes before its insertion."""

    def __init__(self, choose: Choices, query: Tree, allowed: Allowed, instants: int, most: int) -> None:
        self.choose, self.query, self.allowed, self.instants, self.most = choose, query, allowed, instants, most
        self.force: list[Event] = []
        self.owed: list[Event] = []  # retracted before they came
        self.promised = BEGINNING

    def promise(self) -> Op:
        """A punctuation: what is owed comes before it, else its retraction would be late."""
        limit = min([event.le for event in self.owed] + [self.instants + 3])
        self.promised = max(self.promised, self.choose.number(0, limit))
        return "promise", self.promised

    def change(self) -> Op:
        """An insertion or a retraction; empty if there is no room."""
        open_ = [event for event in self.force if event.le >= self.promised]
        full = len(self.force) >= self.most
        if open_ and self.choose.chance(75 if full else 30):
            event = self.choose.one(open_)
            self.force.remove(event)
            return "-", event
        if self.owed and self.choose.chance(50):
            return "+", self.owed.pop()
        event_ = None if full else self.event()
        if event_ is None:
            return ()
        if self.choose.chance(4):
            self.owed.append(event_)
            return "-", event_
        self.force.append(event_)
        return "+", event_

    def event(self) -> Event | None:
        """A new event, of one that is there now and then; None: all instants are taken or over."""
        choose = self.choose
        first = max(self.promised, 1)
        if first > self.instants:
            return None
        kind = None if choose.chance(3) else choose.one(TYPES)
        key, x = choose.number(0, 1), None if choose.chance(18) else choose.number(0, 3)
        y, s, seq = choose.number(0, 6) / 2, choose.one(("p", "q", "pq")), choose.number(0, 3)
        le = choose.number(first, self.instants)
        payload = Tick(kind, key, x, y, s, seq, le)
        if not self.allowed.ties and any(e.le == le for e in (*self.force, *self.owed)):
            return None
        window = self.query.window
        short = self.allowed.ties and choose.chance(8) and not self.query.after
        re = le + choose.number(1, window or 6) if short else None
        return Event(payload, le, re)


# -- runs ------------------------------------------------------------------------------------------------------------------------


def run(here: World, engine: str, of: Callable[..., Any] | None = None) -> Seen:
    """Run a world on a `Side`, or what ``of`` makes.

    An `AssertionError` tells the first step after which operator and oracle differ, or what the operator raises unasked.
    """
    try:
        side = (of or Side)(here.tree, engine, here.longest)
    except AfaError as error:
        raise RefusedError(str(error)) from None
    seen = Seen(postponed=side.waits)
    for number, op in enumerate(here.ops):
        try:
            seen.update(side.step(op))
        except TooManyError:
            return seen + Seen(given_up=1)
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}; step {number}, {op} ({engine})") from error
    return seen


class Side:
    """An operator at work, the events in force, and what its output has come to."""

    def __init__(self, of: Tree, engine: str, longest: bool = False) -> None:
        self.query, self.engine, self.longest = Query(of), engine, longest
        self.operator = self.query.operator(engine=engine, longest=longest)
        self.waits = int(self.operator.automaton.having is not None)
        self.copies: Counter[Event] = Counter()
        self.promised = BEGINNING
        self.held = Counter[Any]()

    def step(self, op: Op) -> Seen:
        """One operation, and what `judge` says of it."""
        if op[0] == "save":
            self.operator = self.query.restore(self.operator.snapshot(), engine=self.engine)  # type: ignore[arg-type]
            self.operator._check()
            return Seen(steps=1)
        for each in op[1] if op[0] == "batch" else [op]:
            self.note(each)
        return self.judge(op, self.push(op))

    def judge(self, op: Op, out: list[Any]) -> Seen:
        """Hold what an operation has told against the oracle."""
        before, retractions = self.held, self.take(out, op[0] != "batch" or op[2])
        expected = self.expected([event for event, n in self.copies.items() if n > 0])
        assert self.held == expected, f"missing {expected - self.held}, too much {self.held - expected}"
        self.operator._check()
        return Seen(steps=1, matches=(self.held - before).total(), retractions=retractions)

    def take(self, out: list[Any], net: bool) -> int:
        """Take the output of a call; of a net one each match is told once. Returns how many matches were withdrawn."""
        self.held, retractions, met = self.held.copy(), 0, set()
        for change in out:
            if isinstance(change, Punctuation):
                continue
            match = shown(change)
            retractions -= min(change.diff, 0)
            self.held[match] += change.diff
            assert change.diff, f"{change} says nothing"
            assert self.held[match] >= 0, f"{change} does not fit what is in force"
            assert not net or match not in met, f"{change} is told twice in one call"
            met.add(match)
        self.held = +self.held
        return retractions

    def expected(self, events: list[Event]) -> Counter[Any]:
        """What is in force by the oracle, and how often."""
        found = counted(self.query.tree, events, self.promised)
        return Counter(oracle.longest(set(found))) if self.longest else found

    def note(self, op: Op) -> None:
        """What an operation says of the events in force."""
        if op and op[0] == "promise":
            self.promised = max(self.promised, op[1])
        elif op:
            self.copies[op[1]] += 1 if op[0] == "+" else -1

    def push(self, op: Op) -> list[Any]:
        """Do an operation."""
        if op[0] == "batch":
            return list(self.operator.push_many([self.item(each) for each in op[1] if each], net=op[2]))
        return list(self.operator.push(self.item(op)))

    def item(self, op: Op) -> Any:
        """What is pushed: the operator fills in the LE."""
        if op[0] == "promise":
            return Punctuation(op[1])
        payload, le, re = op[1]
        return (insert if op[0] == "+" else retract)(payload._replace(at=None), le, re)


def shown(change: Any) -> tuple[Any, int, int]:
    """The match of an output change, as the oracle has it."""
    payload = tuple(change.payload)
    return (payload if change.key is None else (change.key, payload)), change.le, change.re


# -- kinds of worlds ---------------------------------------------------------------------------------------------------------------


def smaller(here: World) -> Iterator[World]:
    """Worlds with one thing less."""
    ops = here.ops
    for size in (8, 4, 2, 1):
        for i in range(len(ops) - size, -1, -size):
            yield replace(here, ops=ops[:i] + ops[i + size :])
    for i, op in enumerate(ops):
        if op[0] == "batch":
            yield replace(here, ops=ops[:i] + op[1] + ops[i + 1 :])
    for less in smaller_trees(here.tree):
        yield replace(here, tree=less)


def numbered(seed: str, number: int, *, family: int = 4, kind: str = "all", no_ties: bool = False, longest: bool = False) -> World:
    """The world of a number; of all kinds, each family of worlds has another one."""
    group = number // family
    allowed = KINDS[tuple(KINDS)[group % len(KINDS)] if kind == "all" else kind]
    allowed = replace(allowed, ties=allowed.ties and not no_ties)
    of_family = tree(Seeded(f"{seed}/family {group}"), allowed)
    return replace(world(Seeded(f"{seed}/{number}"), allowed, of_family), longest=longest)


def words(here: World) -> str:
    """A world as text to paste."""
    return re.sub(r"<class '[\w.]*Tick'>", "Tick", pprint.pformat(here, width=140))


WORLDS = Worlds("queries", numbered, run, smaller, words)
