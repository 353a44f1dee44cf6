"""Random queries that choose x streams, with ``members=`` and ``tell="lineage"``: what each call tells must be right.

The matches in force must be those of the oracle, as often, each last told with the events of all chosen matches that show the same;
where no further one comes it is told again, with a diff of 0, in those calls alone that change them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from afa import Change, Punctuation
from afa.language.pattern import Tree
from afa.language.terms import Aggregate, Ref
from tests.language.oracle import Event, choices, chosen, payload
from tests.language.row_worlds import tree, world
from tests.language.trees import names_of
from tests.language.worlds import Op, Side, World, run, smaller, words
from tests.strategies import Seeded
from tests.worlds.kind import Seen, Worlds

Members = frozenset[tuple[str, Any]]


def members(of: Tree, events: Iterable[Event]) -> dict[Any, tuple[int, Members]]:
    """The matches ``(payload, le, re, key)`` that are shown, how often, and the events ``(component, event)`` behind each."""
    found: dict[Any, tuple[int, Members]] = {}
    for match in chosen(of, choices(of, events)):
        name = payload(of, match), match.le, match.re, match.key
        window = of.window
        picks = {(component, (e.payload, e.le, e.le + window if e.re is None and window else e.re)) for component, e in match.picks}
        n, before = found.get(name, (0, frozenset()))
        found[name] = n + 1, before | picks
    return found


class MemberSide(Side):
    """An operator at work that tells members."""

    def __init__(self, of: Tree, engine: str, longest: bool) -> None:
        self.tree, self.seen = of, dict[Any, tuple[int, Members]]()
        super().__init__(of, engine)
        self.operator = self.query.operator(engine=engine, members=True, tell="lineage")  # type: ignore[arg-type]

    def judge(self, op: Op, out: list[Any]) -> Seen:
        before, known = self.seen, dict[Any, int]()
        self.seen = dict(before)
        for change in out:
            if isinstance(change, Punctuation):
                continue
            name = tuple(change.payload), change.le, change.re, change.key
            assert op[0] == "batch" or name not in known or (known[name] < 0 and not change.diff), f"{change} is told twice"
            known[name] = change.diff
            n, held = self.seen.get(name, (0, None))
            assert n + change.diff >= bool(change.diff >= 0), f"{change} does not fit what is in force"
            told = held if change.diff < 0 else events_in(change)
            assert change.diff or told != held, f"{change} says nothing new"
            self.seen[name] = n + change.diff, told  # type: ignore[assignment]
            if not n + change.diff:
                del self.seen[name]
        expected = members(self.tree, [event for event, n in self.copies.items() if n > 0])
        assert self.seen == expected, f"expected {expected} but got {self.seen}"
        self.operator._check()
        again = sum(before[name][1] != self.seen[name][1] for name in before.keys() & self.seen.keys())
        return Seen(steps=1, matches=len(self.seen.keys() - before.keys()), again=again)


def events_in(change: Change) -> Members:
    """The members of a match; they are in order."""
    found = set()
    for component, events in change.members.items():
        places = [(event.le, event.payload.seq) for event in events]
        assert places == sorted(places)
        found |= {(component, (event.payload, event.le, none_of(event.re))) for event in events}
    return frozenset(found)


def none_of(re: int) -> int | None:
    """RE as events have it."""
    return None if re > 1 << 62 else re


def numbered(seed: str, number: int, *, family: int = 4) -> World:
    """The world of a number: few values are returned, so that matches stay while their events change."""
    choose = Seeded(f"members/{seed}/family {number // family}")
    query = tree(choose)
    first = names_of(query.pattern)[0]
    returns = choose.one(
        ((("n", Aggregate("", "count")),), (("x", Ref("", "first", "x")),), (("m", Aggregate(first, "max", "y")),))
    )
    return world(Seeded(f"members/{seed}/{number}"), replace(query, rows=None, returns=returns))


WORLDS = Worlds("chosen-members", numbered, partial(run, of=MemberSide), smaller, words)
