"""What every match must contain: random automata, each accepted run of which meets every witness, in order."""

from __future__ import annotations

import itertools
import random
from typing import Any, NamedTuple

import pytest

from afa import Arc, Automaton, Operator, insert
from afa.errors import AutomatonError
from afa.replay.witness import ArcLifetime, Witness, necessary
from afa.replay.witness.boxes import boxes_of


class Ev(NamedTuple):
    x: int
    y: float | None = None


class Reg(NamedTuple):
    peak: int = 0
    n: int = 0


FENCES = ("x == 0", "x == 1", "x in (0, 2)", "x >= 2", "x < 2", "x != 1", "True", "x >= 1 and r.n < 2", "x > 0 or r.n == 1",
          "x >= r.peak", "r.peak >= 2", "r.peak >= 1 and x < 3", "r.n >= 1")  # fmt: skip
TRANSFERS = (None, None, "r._replace(peak=e.x)", "r._replace(peak=max(r.peak, e.x))", "r._replace(n=r.n + 1)", "r._replace(n=1)",
             "r._replace(peak=e.x if e.x > 1 else r.peak)", "r._replace(peak=0)", "(min(r.peak, e.x), r.peak)")  # fmt: skip


def automaton_of(rng: random.Random) -> Automaton | None:
    """Return a random automaton; None: it was refused."""
    states = "abcd"[: rng.randint(2, 4)]
    arcs = [Arc(src, dst, rng.choice(FENCES), rng.choice(TRANSFERS)) for src, dst in itertools.pairwise(states)]
    for _ in range(rng.randint(0, 4)):
        src, dst = rng.choice(states), rng.choice(states)
        if rng.random() < 0.2 and src < dst:
            arcs.append(Arc.epsilon(src, dst, rng.choice(["r.peak >= 2", "r.n < 2", "True"])))
        elif rng.random() < 0.2:
            arcs.append(Arc.skip(src, rng.choice(["x > 0", "True"])))
        else:
            arcs.append(Arc(src, dst, rng.choice(FENCES), rng.choice(TRANSFERS)))
    try:
        return Automaton(
            start="a", final=set(rng.sample(states[1:], rng.randint(1, len(states) - 1))), arcs=arcs, register=Reg(), event=Ev
        )
    except AutomatonError:
        return None


def accepted(automaton: Automaton, word: tuple[int, ...]) -> bool:
    """Whether some computation consumes or skips all of a word, by the definition: each event is a step of its own."""

    def closure(pairs: set[tuple[str, Reg]]) -> set[tuple[str, Reg]]:
        ahead = list(pairs)
        while ahead:
            state, register = ahead.pop()
            for arc in automaton.arcs:
                if arc.kind == "epsilon" and arc.src == state and arc.fence(register):
                    found = arc.dst, arc.transfer(register) if arc.transfer else register
                    if found not in pairs:
                        pairs.add(found)
                        ahead.append(found)
        return pairs

    pairs = closure({("a", Reg())})
    for i, x in enumerate(word):
        event, behind = Ev(x), set()
        for state, register in pairs:
            for arc in automaton.arcs:
                if arc.src == state and (arc.kind == "consume" or (arc.kind == "skip" and i)) and arc.fence(event, register):
                    behind.add((arc.dst, arc.transfer(event, register) if arc.transfer else register))
        pairs = closure(behind)
    return any(state in automaton.final for state, _ in pairs)


def met_in_order(word: tuple[int, ...], witnesses: tuple[Witness, ...]) -> bool:
    """Whether a run has an event for each witness, in order, at the distances that they tell."""
    if not witnesses:
        return True
    places = list(range(len(word)))
    for picks in itertools.combinations(places, len(witnesses)):
        good = all(any(box.allows({"x": word[i], "y": None}, i) for box in one.boxes) for i, one in zip(picks, witnesses))
        good = good and all(
            one.distance is None or place - before == one.distance for before, place, one in zip(picks, picks[1:], witnesses[1:])
        )
        good = good and (not witnesses[0].first or picks[0] == 0) and (not witnesses[-1].last or picks[-1] == len(word) - 1)
        if good:
            return True
    return False


def check(seed: int) -> tuple[int, int]:
    """Check an automaton; return how many witnesses it has, and how many accepted runs were seen."""
    rng = random.Random(seed)
    automaton = automaton_of(rng)
    if automaton is None:
        return 0, 0
    needs, runs = necessary(automaton), 0
    words: list[tuple[int, ...]] = [word for n in (1, 2, 3) for word in itertools.product(range(4), repeat=n)]
    words += [tuple(rng.randrange(4) for _ in range(rng.randint(4, 6))) for _ in range(60)]
    for word in words:
        if accepted(automaton, word):
            runs += 1
            assert needs.possible, (seed, word)
            assert met_in_order(word, needs.witnesses), (seed, word, needs.witnesses, automaton.arcs)
    return len(needs.witnesses), runs


def test_accepted_runs_meet_all_witnesses_in_order() -> None:
    found = [check(seed) for seed in range(500)]
    assert sum(runs for _, runs in found) > 15_000
    assert sum(many for many, _ in found) > 200


@pytest.mark.stress
def test_accepted_runs_of_many_automata() -> None:
    found = [check(seed) for seed in range(1000, 11_000)]
    assert sum(runs for _, runs in found) > 300_000


def chain(*fences: str, more: list[Arc] | None = None, register: Any = None) -> Automaton:
    arcs = [Arc(str(i), str(i + 1), fence) for i, fence in enumerate(fences)]
    return Automaton(start="0", final={str(len(fences))}, arcs=[*arcs, *(more or [])], event=Ev, register=register)


def said(automaton: Automaton) -> list[str]:
    return [witness.text(automaton.event_schema) for witness in necessary(automaton).witnesses]


def test_a_chain_has_each_of_its_events_at_exact_distances() -> None:
    automaton = chain("x > 1", "x < 5 and x > 2", "x == 7")
    found = necessary(automaton).witnesses
    assert said(automaton) == ["x > 1 (0 -> 1)", "x > 2 and x < 5 (1 -> 2)", "x = 7 (2 -> 3)"]
    assert [(one.first, one.last, one.distance) for one in found] == [(True, False, None), (False, False, 1), (False, True, 1)]


def test_a_loop_between_two_events_leaves_their_distance_open() -> None:
    found = necessary(chain("x > 1", "x == 7", more=[Arc("1", "1", "True")])).witnesses
    assert [one.distance for one in found] == [None, None]


def test_of_two_ways_both_are_named_and_the_rarer_cut_is_taken() -> None:
    arcs = [
        Arc("0", "1", "x > 1"),
        Arc("1", "2", "x == 3"),
        Arc("1", "2", "x == 4"),
        Arc("0", "2", "x > 5"),
        Arc("2", "3", "x > 2"),
    ]
    automaton = Automaton(start="0", final={"3"}, arcs=arcs, event=Ev)
    assert said(automaton)[-1] == "x > 2 (2 -> 3)"
    assert necessary(automaton).witnesses[-1].last
    rare = necessary(automaton, share=lambda box: 0.9 if box.fields[0][1].low in (1, 2) else 0.01).witnesses
    assert [set(one.arcs) for one in rare] == [{arcs[1], arcs[2], arcs[3]}, {arcs[4]}]


def test_epsilon_arcs_and_timeouts_can_t_be_cut() -> None:
    assert said(chain("x > 1", "x > 3", more=[Arc.epsilon("1", "2")])) == ["x > 1 (0 -> 1)"]
    waiting = chain("x > 1", "x > 3", more=[Arc.timeout("1", "2", "5")], register=Reg())
    assert said(waiting) == ["x > 1 (0 -> 1)"]
    assert necessary(waiting).waits


def test_what_a_register_must_hold_some_event_has_set() -> None:
    arcs = [Arc("0", "1", "x < 3", "r._replace(peak=e.x)"), Arc("1", "1", "True", "r._replace(peak=max(r.peak, e.x))"),
            Arc("1", "2", "r.peak >= 60")]  # fmt: skip
    assert said(Automaton(start="0", final={"2"}, arcs=arcs, event=Ev, register=Reg())) == ["x < 3 (0 -> 1)", "x >= 60 (1 -> 1)"]
    held = Automaton(start="0", final={"2"}, arcs=arcs, event=Ev, register=Reg(peak=99))
    assert said(held) == ["x < 3 (0 -> 1)", "x >= 60 (1 -> 1)"], "the first event overwrites it"
    kept = [Arc("0", "1", "x < 3"), *arcs[1:]]
    assert said(Automaton(start="0", final={"2"}, arcs=kept, event=Ev, register=Reg(peak=99))) == ["x < 3 (0 -> 1)"]
    computed = [Arc("0", "1", "x < 3", "r._replace(peak=e.x * 2)"), arcs[2]]
    assert said(Automaton(start="0", final={"2"}, arcs=computed, event=Ev, register=Reg())) == ["x < 3 (0 -> 1)"]


def test_a_register_that_no_arc_can_bring_about_leaves_no_way() -> None:
    arcs = [Arc("0", "1", "x < 3", "r._replace(peak=1)"), Arc("1", "2", "r.peak >= 60")]
    assert not necessary(Automaton(start="0", final={"2"}, arcs=arcs, event=Ev, register=Reg())).possible


def boxes(fence: str) -> list[str]:
    automaton = chain(fence, register=Reg())
    found = boxes_of(ArcLifetime(automaton.arcs[0]), automaton.event_schema, automaton.register_schema)
    return [box.text(automaton.event_schema) for box in found]


def test_nothing_is_taken_from_behind_a_clause_that_may_raise() -> None:
    assert boxes("x > 3 and 10 // x > 1 and x < 9") == ["x > 3"]
    assert boxes("10 // x > 1 and x > 3") == ["any event"]


def test_none_is_one_more_alternative_where_a_clause_raises_for_it() -> None:
    assert boxes("y > 1.0 and x > 3") == ["x > 3 and y > 1.0", "y is None"]
    assert boxes("x > 3 and y > 1.0") == ["x > 3 and y > 1.0", "x > 3 and y is None"]
    assert boxes("y is not None and y > 1.0") == ["y > 1.0"]


def test_fences_that_can_t_be_read_allow_everything_and_are_named() -> None:
    odd = Arc("0", "1", lambda e, r: sum(i for i in range(e.x)) > 3, name="odd")
    needs = necessary(Automaton(start="0", final={"2"}, arcs=[odd, Arc("1", "2", "x > 5")], event=Ev))
    assert [one.arcs[0].src for one in needs.witnesses] == ["1"]
    assert needs.opaque == (odd,)


def test_lifetimes_of_arcs_narrow_what_they_ask_for() -> None:
    automaton = chain("x > 1", "x > 3")
    servings = [ArcLifetime(automaton.arcs[0], 10, 20), ArcLifetime(automaton.arcs[1])]
    (box,) = necessary(automaton, servings).witnesses[0].boxes
    assert (box.since, box.until, box.allows({"x": 5}, 9), box.allows({"x": 5}, 10)) == (10, 20, False, True)


def test_a_final_start_state_still_needs_an_event() -> None:
    automaton = Automaton(start="0", final={"0"}, arcs=[Arc("0", "0", "x > 5")], event=Ev)
    assert said(automaton) == ["x > 5 (0 -> 0)"]
    assert [len(Operator(automaton, window=9).push(insert(Ev(x), le=1))) for x in (5, 6)] == [0, 1]


def test_explain_tells_them() -> None:
    explained = chain("x > 1", "x > 3").explain()
    assert explained.witnesses == ["x > 1 (0 -> 1)", "x > 3 (1 -> 2)"]
    assert str(explained).endswith("every match has, in this order:\n    x > 1 (0 -> 1)\n    x > 3 (1 -> 2)")
    assert chain("True").explain().witnesses == []
