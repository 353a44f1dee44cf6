"""A driver of random queries x streams: ``python -m tests.language.worlds --worlds 10000 --seed 1``.

After *every* step the net output of the query's operator must equal the oracle, on both engines. Prints what it has met, and the
smallest world that it finds for the first failure, to paste.
"""

from __future__ import annotations

import argparse
import pprint
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from afa import AfaError, Punctuation, insert, retract
from afa.language.pattern import Tree
from afa.language.query import Query
from punctuation.time import BEGINNING
from tests import oracle
from tests.language.oracle import Event, matches
from tests.language.shrink import smaller_trees
from tests.language.trees import TYPES, Allowed, Tick, tree
from tests.strategies import Choices, Seeded

ENGINES = ("interpreted", "compiled")
Op = tuple[Any, ...]
"""("+" or "-", event), ("promise", t), ("save",), ("batch", ops, net)."""


@dataclass(frozen=True)
class World:
    """A query, and what is done to its operator."""

    tree: Tree
    ops: tuple[Op, ...]
    longest: bool = False


class Seen(NamedTuple):
    """What runs have met."""

    steps: int = 0
    matches: int = 0
    retractions: int = 0
    refused: int = 0
    postponed: int = 0

    def plus(self, other: Seen) -> Seen:
        return Seen(*(a + b for a, b in zip(self, other)))


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
    "groups": Allowed(names=True, skip=True, ties=False, groups=True),
}
"""Queries as they are; with negation at the end; at the start, too;
with names at several places, subsets, terms over all; with AFTER MATCH SKIP; with negations that name what comes behind them;
with sums of whole components, which wait for the match (`afa.language.postponed`); with PERMUTE, and groups of what may be
empty."""

# -- random worlds ---------------------------------------------------------------------------------------------------------------


def world(choose: Choices, allowed: Allowed, shown: Tree | None = None) -> World:
    """A random world, of a random query or the one that is shown."""
    query = shown or tree(choose, allowed)
    shape = choose.one(SHAPES)
    stream = Stream(choose, query, allowed, choose.number(*shape.instants), shape.most)
    ops: list[Op] = []
    for _ in range(choose.number(*shape.changes)):
        kind = choose.number(0, 99)
        if kind < 4:
            ops.append(("save",))
        elif kind < 10:
            ops.append(stream.promise())
        elif kind < 18:
            ops.append(("batch", tuple(stream.change() for _ in range(choose.number(1, 4))), choose.chance(50)))
        else:
            ops.append(stream.change())
    return World(query, tuple(op for op in ops if op))


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


class RefusedError(Exception):
    """The query can't be lowered, and says so."""


def run(here: World, engine: str) -> Seen:
    """Run a world.

    Raises
    ------
    AssertionError
        At the first step after which operator and oracle differ, or what the operator raises unasked.
    RefusedError
    """
    try:
        side = Side(here.tree, engine, here.longest)
    except AfaError as error:
        raise RefusedError(str(error)) from None
    seen = Seen(postponed=side.waits)
    for number, op in enumerate(here.ops):
        try:
            seen = seen.plus(side.step(op))
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
        self.held: set[Any] = set()

    def step(self, op: Op) -> Seen:
        """One operation, held against the oracle."""
        if op[0] == "save":
            self.operator = self.query.restore(self.operator.snapshot(), engine=self.engine)  # type: ignore[arg-type]
            self.operator._check()
            return Seen(1)
        for each in op[1] if op[0] == "batch" else [op]:
            self.note(each)
        out = self.push(op)
        before, retractions = self.held, 0
        self.held = set(before)
        for change in out:
            if isinstance(change, Punctuation):
                continue
            match = shown(change)
            retractions += change.diff < 0
            assert (match in self.held) == (change.diff < 0), f"{change} does not fit what is in force"
            self.held ^= {match}
        expected = matches(self.query.tree, [event for event, n in self.copies.items() if n > 0], self.promised)
        expected = oracle.longest(expected) if self.longest else expected
        assert self.held == expected, f"missing {expected - self.held}, too much {self.held - expected}"
        self.operator._check()
        return Seen(1, len(self.held - before), retractions)

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


# -- failures --------------------------------------------------------------------------------------------------------------------


def failure(here: World, engine: str) -> str | None:
    """Why a world fails; None if it does not, or is refused."""
    try:
        run(here, engine)
    except AssertionError as error:
        return str(error)
    except Exception:  # a tree that the shrinker broke
        return None
    return None


def smaller(here: World, fails: Callable[[World], bool]) -> World:
    """The world with all left out that its failure does not need."""
    progress = True
    while progress:
        progress = False
        for candidate in cuts(here):
            if fails(candidate):
                here, progress = candidate, True
                break
    return here


def cuts(here: World) -> Iterator[World]:
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


def report(here: World, engine: str) -> str:
    """The smallest world found that fails in the same way, as text to paste."""
    kind = str(failure(here, engine)).partition(":")[0]
    small = smaller(here, lambda candidate: str(failure(candidate, engine)).partition(":")[0] == kind)
    text = re.sub(r"<class '[\w.]*Tick'>", "Tick", pprint.pformat(small, width=140))
    return f"{failure(small, engine)}\n\nrun({text}, {engine!r})"


def main(arguments: list[str] | None = None) -> int:
    """Run the worlds; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="number of the first world; with --worlds 1: just that one")
    parser.add_argument("--family", type=int, default=4, help="so many worlds share a query")
    parser.add_argument("--engine", choices=[*ENGINES, "both"], default="both")
    parser.add_argument("--failures", type=int, default=1, help="stop after so many")
    parser.add_argument("--no-ties", action="store_true", help="no two events of one instant, no lifetimes of their own")
    parser.add_argument("--kind", choices=[*KINDS, "all"], default="all", help="which queries: see KINDS")
    parser.add_argument("--longest", action="store_true", help="operators with longest=True")
    options = parser.parse_args(arguments)
    engines = ENGINES if options.engine == "both" else (options.engine,)
    seen, failed, begin, reasons = Seen(), 0, time.perf_counter(), Counter[str]()
    for number in range(options.first, options.first + options.worlds):
        for engine in engines:
            here = numbered(options.seed, number, options.family, options.kind, options.no_ties)
            here = replace(here, longest=options.longest)
            try:
                seen = seen.plus(run(here, engine))
            except RefusedError as error:
                seen = seen.plus(Seen(refused=1))
                reasons[str(error)[:100]] += 1
            except AssertionError:
                failed += 1
                print(f"seed {options.seed}, world {number} fails: {report(here, engine)}\n", flush=True)
                break
        if failed >= options.failures:
            break
    print(f"seed {options.seed}, worlds {number + 1 - options.first}, failed {failed}, {seen}, {time.perf_counter() - begin:.0f} s")
    for reason, count in reasons.most_common(8):
        print(f"    refused {count}: {reason}")
    return int(failed > 0)


def numbered(seed: str, number: int, family: int = 4, kind: str = "all", no_ties: bool = False) -> World:
    """The world of a number; of all kinds, each family of worlds has another one."""
    group = number // family
    allowed = KINDS[tuple(KINDS)[group % len(KINDS)] if kind == "all" else kind]
    allowed = replace(allowed, ties=allowed.ties and not no_ties)
    return world(Seeded(f"{seed}/{number}"), allowed, tree(Seeded(f"{seed}/family {group}"), allowed))


if __name__ == "__main__":
    sys.exit(main())
