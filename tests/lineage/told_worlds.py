"""Random automata with members and ``tell="lineage"``: what each call announces and tells again must be what brute force says.

Worlds are those of `tests.lineage.worlds`. Of each call, brute force says what stands behind each match before and behind it: each
match that is announced comes with the members that it says; with ``diff`` 0 exactly those matches are told that stay while their
events, by component, change. All ways in: changes one by one, batches with and without ``net``, tables, lists of tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from afa import Change, Punctuation
from tests.lineage import worlds
from tests.lineage.brute_force import Behind
from tests.oracle import one_nan
from tests.stress import run as stress
from tests.stress.generate import BATCHES, World, parts, push
from tests.worlds.kind import Seen, TooManyError, Worlds

FORMS = (("field", None), (True, None), ("le", "lineage"), ("*", "lineage"), (None, "lineage"))
"""Members and ``tell``, in turn; "field": the first one of the event."""


def judged(
    spec: dict[str, Any],
    make: Callable[[World], Any],
    restored: Callable[[World, Any], Any],
    judge: Callable[[World, list[Any], list[Any]], Seen],
) -> Seen:
    """Carry out a world's operations; ``judge(here, out, models)`` holds what a call has told against the models of its parts.

    The first model is that before the call.
    """
    here, seen = stress.made(spec), Seen()
    operator = make(here)
    for number, op in enumerate(spec["ops"]):
        try:
            if op[0] == "save":
                operator = restored(here, operator)
                continue
            items = here.items(op)
            models, refused = [here.model, here.model.fork()], False
            for each, (item, _) in zip(parts(op), items):
                refused = push(models[-1], each, item) != stress.OK
                if refused:
                    break
                if op[0] in BATCHES and not op[2]:
                    models.append(models[-1].fork())
            if op[0] in BATCHES and not op[2] and len(models) > 2:
                models.pop()
            out, ended = stress.call(here, operator, op, items)
            assert (ended != stress.OK) == refused, f"it ended {ended}"
            operator._check()
            if refused:
                seen["refused"] += 1
                continue
            seen.update(judge(here, [item for item in out if not isinstance(item, Punctuation)], models))
            here.model = models[-1]
        except TooManyError:
            return seen + Seen(given_up=1)
        except Exception as error:
            raise AssertionError(f"step {number}, {op}: {type(error).__name__}: {error}") from error
    return seen


def policy(here: World) -> str:
    """The policy for late changes, none of which is a callback."""
    return "drop" if here.options["late"] == "callback" else str(here.options["late"])


def all_behind(model: Any, automaton: Any, known: dict[Any, Any]) -> dict[Any, Behind]:
    """What stands behind each match in force, by the match as the model has it."""
    return {
        (register if key is None else (key, register), le, re): each
        for key, found in worlds.expected(model, automaton, known).items()
        for (register, le, re), each in found.items()
    }


def events_in(each: Behind) -> frozenset[Any]:
    """The events of a match, with their components."""
    return frozenset(pick for path in each.paths for pick in path)


def members_of(each: Behind, asked: Any, automaton: Any, sequence: str | None) -> Any:
    """What a match comes with, as a multiset of what is told of each event: by component, or of all of them."""
    picks, found = events_in(each), {}
    if any(arc.select for arc in automaton.arcs):
        for component, event in picks:
            found.setdefault(component, set()).add(event)
    else:
        found = {"": {event for _, event in picks}}
    return {name: [value(event, asked) for event in sorted(events, key=order(sequence))] for name, events in found.items()}


def order(sequence: str | None) -> Any:
    return lambda event: (event.le, 0 if sequence is None else getattr(event.payload, sequence))


def value(event: Any, asked: Any) -> Any:
    return event.le if asked == "le" else event if asked in (True, "*") else getattr(event.payload, asked)


def check(here: World, changes: list[Any], models: list[Any], form: tuple[Any, Any], known: dict[Any, Any]) -> Seen:
    """Hold the changes that a call has told against what brute force says of it; ``models``: before it, and behind each part."""
    members, tell = form
    announced: Counter[Any] = Counter()
    again: Counter[Any] = Counter()
    told: dict[Any, list[Any]] = {}
    behinds = [all_behind(model, here.automaton, known) for model in models]
    for (before, now), model in zip(pairwise(behinds), models):
        for match, each in now.items():
            if match not in before:
                announced[match] += 1
            elif tell and match[1] >= model.effective and events_in(each) != events_in(before[match]):
                again[match] += 1
            else:
                continue
            if members is not None:
                told.setdefault(match, []).append(members_of(each, members, here.automaton, here.model.sequence))
    got = Counter(stress.match_of(change) for change in changes if change.diff == 0)
    assert got == again, f"told again {dict(got - again)} too much, {dict(again - got)} missing"
    come = Counter(stress.match_of(change) for change in changes if change.diff > 0)
    assert come == announced, f"announced {dict(come - announced)} too much, {dict(announced - come)} missing"
    for change in changes:
        assert isinstance(change, Change), change
        if members is None or change.diff < 0:
            assert change.members is None, change
            continue
        found = plain(change.members, members)
        named = any(arc.select for arc in here.automaton.arcs)
        assert isinstance(change.members, dict if named else tuple), change
        expected = told[stress.match_of(change)]
        fits = [each for each in expected if same(found, each, members)]
        assert fits, f"{change} with {found}, expected one of {expected}"
    return Seen(calls=1, announced=come.total(), again=got.total())


def plain(told: Any, asked: Any) -> dict[str, list[Any]]:
    """Members by component, with events as brute force has them."""
    by = told if isinstance(told, dict) else {"": told}
    if asked not in (True, "*"):
        return {name: list(each) for name, each in by.items()}
    return {name: [(one_nan(change.payload), change.le, change.re) for change in each] for name, each in by.items()}


def same(found: dict[str, list[Any]], expected: dict[str, list[Any]], asked: Any) -> bool:
    """Whether members are those expected; of events of one instant in any order."""

    def tell(by: dict[str, list[Any]]) -> Any:
        whole = asked in (True, "*")
        return {name: sorted(repr(tuple(event) if whole else event) for event in each) for name, each in by.items() if each}

    in_order = asked != "le" or all(each == sorted(each) for each in found.values())
    return in_order and tell(found) == tell(expected)


def numbered(seed: str, number: int) -> tuple[dict[str, Any], tuple[Any, Any]]:
    """The world of a number, and members and ``tell`` of its operator."""
    return worlds.numbered(seed, number), FORMS[number % len(FORMS)]


def run(world: tuple[dict[str, Any], tuple[Any, Any]], engine: str) -> Seen:
    """Run a world; an AssertionError tells the first call whose output is wrong."""
    spec, (members, tell) = world
    known: dict[Any, Any] = {}
    if not spec["automaton"]["event"]:
        members, engine = "le" if members else None, "interpreted"

    def form(here: World) -> tuple[Any, Any]:
        return here.event._fields[0] if members == "field" else members, tell

    def make(here: World) -> Any:
        members, tell = form(here)
        return stress.make(here, engine, policy(here), members=members, tell=tell)

    return judged(
        spec,
        make,
        lambda here, operator: stress.restored(here, operator, None, engine),
        lambda here, changes, models: check(here, changes, models, form(here), known),
    )


def smaller(world: tuple[dict[str, Any], tuple[Any, Any]]) -> Iterator[Any]:
    """Worlds with one thing less."""
    return ((less, world[1]) for less in stress.smaller(world[0]))


WORLDS = Worlds("told", numbered, run, smaller)
