"""Small worlds, exhaustively: a family of automata up to three states x all streams up to four events x all arrival orders.

After every arrival the net output is the oracle's for what has arrived, so at the end it is the same for every order; then one
event is retracted, and inserted again. The family is the product of what may stand between each two of the states; c is final.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import permutations, product
from typing import Any

import pytest

from afa import Operator, insert, retract
from tests import oracle
from tests.conftest import ENGINES
from tests.text import E, arc_of, automaton_of

Event = tuple[Any, int, int]

ONE = {"fence": "e.kind == 0"}
TWO = {"fence": "e.kind == 1"}
COUNTS = {"transfer": "R1((r.x + 1) % 3)"}
COUNTS_TWO = {**TWO, **COUNTS}
JUMP = {"kind": "epsilon"}
WAIT = {"kind": "timeout", "at": "3"}

FAMILY = {
    "ab": [ONE, COUNTS],
    "ac": [None, TWO],
    "bb": [None, ONE, COUNTS_TWO],
    "bc": [TWO, COUNTS, WAIT],
    "cc": [None, COUNTS_TWO],
    "cb": [None, JUMP],
}
SKIPS = {**FAMILY, "bb": [{"kind": "skip"}, {}, COUNTS_TWO], "ac": [None, TWO]}
LARGE = {
    "ab": [ONE, COUNTS, JUMP],
    "ac": [None, TWO, WAIT],
    "bb": [None, ONE, {}, COUNTS_TWO],
    "bc": [None, TWO, COUNTS, WAIT, JUMP],
    "cc": [None, TWO, COUNTS],
    "cb": [None, ONE, JUMP],
    "ba": [None, TWO],
}


def automata(family: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """The specs of a family; those that can't mean anything are left out."""
    for choice in product(*family.values()):
        arcs = [{"src": ends[0], "dst": ends[1], "name": ends, **what} for ends, what in zip(family, choice) if what is not None]
        if any(arc["dst"] == "c" and arc["src"] != "c" for arc in arcs):
            yield {"start": "a", "final": ["c"], "arcs": arcs, "register": "R1(0)", "event": "E"}


def streams(events: int, window: int) -> Iterator[tuple[Event, ...]]:
    """Streams of so many events of two kinds: each at its own LE (the last one a tick apart), or two of them at one LE."""
    for kinds in product((0, 1), repeat=events):
        yield tuple((E(kind), le, le + window) for kind, le in zip(kinds, (1, 2, 3, 5)))
        if events > 2 and kinds[1] < kinds[2]:
            yield tuple((E(kind), le, le + window) for kind, le in zip(kinds, (1, 2, 2, 3)))


def mixed(events: int) -> Iterator[tuple[Event, ...]]:
    """Streams in which one event lives longer or shorter than the others."""
    for stream in streams(events, 4):
        for i, (payload, le, _) in enumerate(stream):
            yield (*stream[:i], (payload, le, le + 1), *stream[i + 1 :])
            yield (*stream[:i], (payload, le, le + 9), *stream[i + 1 :])


def check(automaton: Any, stream: tuple[Event, ...], engine: str, longest: bool = False) -> int:
    """All arrival orders of a stream; how many matches there are in the end."""
    arcs = oracle.own_arcs(automaton)

    @cache
    def expected(arrived: frozenset[Event]) -> set[Any]:
        found = oracle.matches(automaton, [(*event, 1) for event in arrived], arcs)
        return oracle.longest(found) if longest else found

    def say(what: str) -> str:
        return f"{automaton}, arcs {[(a.name, a.kind) for a in automaton.arcs]}, order {order}: {what}"

    whole = frozenset(stream)
    for number, order in enumerate(permutations(stream)):
        operator = Operator(automaton, engine=engine, longest=longest)
        held: set[Any] = set()
        for i, event in enumerate(order):
            held = oracle.net(operator.push(insert(*event)), held)
            assert held == expected(frozenset(order[: i + 1])), say(f"after arrival {i}")
        out = order[number % len(order)]
        held = oracle.net(operator.push(retract(*out)), held)
        assert held == expected(whole - {out}), say(f"after the retraction of {out}")
        held = oracle.net(operator.push(insert(*out)), held)
        assert held == expected(whole), say(f"after {out} came again")
    return len(expected(whole))


def run(
    family: dict[str, list[Any]], all_streams: list[tuple[Event, ...]], engine: str, every: int = 1, longest: bool = False
) -> tuple[int, int]:
    """All automata of a family on all streams, or on every so many of them, by `turn`; how many worlds, how many matches."""
    automatons = [automaton_of(spec) for spec in automata(family)]
    worlds = [(each, stream) for number, each in enumerate(automatons) for stream in all_streams[number % every :: every]]
    worlds = turn(worlds, engine, every)
    return len(worlds), sum(check(*world, engine, longest) for world in worlds)


def turn(worlds: list[Any], engine: str, every: int) -> list[Any]:
    """All worlds; where they are a sample, those of an engine: each runs on one of the two."""
    return worlds if every < 10 else worlds[ENGINES.index(engine) :: len(ENGINES)]


STREAMS = [stream for events in (1, 2, 3, 4) for stream in streams(events, 4)]


@pytest.mark.parametrize(
    ("every", "matches"),
    [(36, {"interpreted": 210, "compiled": 305}), pytest.param(1, dict.fromkeys(ENGINES, 16760), marks=pytest.mark.stress)],
)
def test_all_orders(engine: str, every: int, matches: dict[str, int]) -> None:
    """By default each automaton meets one stream on one of the engines, each stream a thirty-sixth of the automata."""
    worlds = 144 * 36 if every == 1 else 144 // 2
    assert run(FAMILY, STREAMS, engine, every) == (worlds, matches[engine]), (
        "the family or the streams have changed, or the contract"
    )


@pytest.mark.parametrize("every", [pytest.param(4, marks=pytest.mark.stress), 400])
def test_the_longest_in_all_orders(engine: str, every: int) -> None:
    """Lifetimes of mixed length, so that any one may be the longest."""
    worlds, matches = run(SKIPS, [stream for events in (3, 4) for stream in mixed(events)], engine, every, longest=True)
    assert worlds > 9_000 // every // (1 if every < 10 else 2)
    assert matches > worlds


@pytest.mark.parametrize("every", [pytest.param(9, marks=pytest.mark.stress), 72])
def test_arcs_arrive_in_any_order(engine: str, every: int) -> None:
    """Three events and one arc with a lifetime, in all orders: the arc is data like any other."""
    arcs = [
        arc_of({"src": "b", "dst": "c", "fence": "e.kind == 0", "name": "x"}),
        arc_of({"src": "a", "dst": "b", "fence": "e.kind == 1", "transfer": "R1(2)", "name": "y"}),
        arc_of({"src": "b", "dst": "b", "fence": "e.kind == 1", "name": "z", "final": True}),
    ]
    automatons = [automaton_of(spec) for spec in list(automata(FAMILY))[::every]]
    worlds = turn(list(product(automatons, streams(3, 4), arcs, ((2, 3), (2, 5)))), engine, every)
    matches = sum(check_with_arc(automaton, stream, (arc, *lifetime), engine) for automaton, stream, arc, lifetime in worlds)
    assert matches > 9000 // every // (1 if every < 10 else 2), matches


def check_with_arc(automaton: Any, stream: tuple[Event, ...], arc: Any, engine: str) -> int:
    """All arrival orders of a stream and an arc; how many matches there are in the end."""
    own = oracle.own_arcs(automaton)

    @cache
    def expected(arrived: frozenset[Any]) -> set[Any]:
        events = [(*event, 1) for event in arrived if event is not arc]
        return oracle.matches(automaton, events, own + [arc] * (arc in arrived))

    for order in permutations([*stream, arc]):
        operator = Operator(automaton, engine=engine)
        held: set[Any] = set()
        for i, item in enumerate(order):
            push = operator.push_arc if item is arc else operator.push
            held = oracle.net(push(insert(*item)), held)
            assert held == expected(frozenset(order[: i + 1])), f"{automaton}, {automaton.arcs}, {order}, after arrival {i}"
        held = oracle.net(operator.push_arc(retract(*arc)), held)
        assert held == expected(frozenset(stream)), f"{automaton}, {automaton.arcs}, {order}, after the arc's retraction"
    return len(expected(frozenset([*stream, arc])))


@pytest.mark.stress
def test_all_orders_of_the_large_family(engine: str) -> None:
    worlds, matches = run(LARGE, STREAMS, engine)
    assert worlds > 100_000
    assert matches > worlds


@pytest.mark.stress
def test_all_orders_with_mixed_lifetimes(engine: str) -> None:
    _, matches = run(FAMILY, [stream for events in (2, 3, 4) for stream in mixed(events)], engine)
    assert matches > 50_000
