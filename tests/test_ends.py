"""Statistics of what is over (by the window, by no arc, time-outs past the window) and of what stands by state: by definition."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pytest

from afa import FOREVER, Arc, Automaton, Change, Keyed, Operator, Punctuation, insert, retract
from afa.model.arctable import ArcTable
from afa.model.pmatch import PMatch, Rest
from afa.model.transitions import Transitions


class E(NamedTuple):
    n: int
    key: str = ""


class R(NamedTuple):
    first: int = 0
    since: int = 0


PLAIN = [
    Arc("a", "b", lambda e, r: e.n % 4 == 0, lambda e, r: R(e.n, r.since)),
    Arc("b", "c", lambda e, r: e.n > r.first),
    Arc("b", "b", lambda e, r: e.n == 1, lambda e, r: R(r.first, r.since + 1)),
    Arc("c", "d", lambda e, r: e.n == 2),
]
STAYS = [Arc("b", "b", lambda e, r: e.n < 3), Arc("c", "c", lambda e, r: e.n != 5)]
WAITS = [Arc("a", "w", lambda e, r: e.n == 3, lambda e, r: R(e.n, 10 * e.n)), Arc.timeout("w", "d", lambda r: r.since)]
EPSILON = [Arc.epsilon("c", "e", lambda r: r.first == 0), Arc("e", "d", lambda e, r: e.n == 0)]
SKIPS = [Arc.skip("c", lambda e, r: e.n == 5)]
ARCS = {"plain": PLAIN, "runs": PLAIN + STAYS, "time-outs": PLAIN + WAITS, "all": PLAIN + STAYS + WAITS + EPSILON + SKIPS}


def automaton(kind: str) -> Automaton:
    return Automaton(start="a", final={"d"}, event=E, register=R(), arcs=ARCS[kind])


def lists(kind: str, events: Iterable[Change]) -> Iterator[tuple[int, list[PMatch], list[PMatch]]]:
    """By the definition, for the events in force of one key, none of them final: the lists before and at each step."""
    program = automaton(kind)
    transitions = Transitions(program, ArcTable.of(program.arcs))
    steps: dict[int, dict[tuple[Any, int], int]] = {}
    for change in sorted(events, key=lambda change: change.le or 0):
        steps.setdefault(change.le or 0, {})[change.payload, change.re or 0] = 1
    rows: list[PMatch] = []
    before = None
    for le, alternatives in steps.items():
        new = []
        for p in rows:
            assert before is not None
            came, stays = transitions.derive(p, Rest.behind(before), le, alternatives)
            new += came + [p] * stays
        new += transitions.begin(le, le, alternatives)
        yield le, rows, new
        rows, before = list(dict.fromkeys(new)), le


def slowly(kind: str, events: Iterable[Change]) -> tuple[int, int, int]:
    """What is over: runs by the window and by no arc, time-outs past it."""
    program = automaton(kind)
    table = ArcTable.of(program.arcs)
    transitions = Transitions(program, table)
    by_window = by_no_arc = 0
    past = set()
    for le, rows, new in lists(kind, events):
        for start in {p.start for p in rows} - {p.start for p in new}:
            by_window += all(p.re <= le for p in rows if p.start == start)
            by_no_arc += any(p.re > le for p in rows if p.start == start)
        for p in new:
            if any(p.re <= transitions.instant(arc, p.register, le) < FOREVER for arc, *_ in table.timeouts.get(p.state, ())):
                past.add(p.start)
    return by_window, by_no_arc, len(past)


def told(operator: Any) -> tuple[int, int, int]:
    found = operator.statistics
    return found.ended_by_window, found.ended_by_no_arc, found.timeouts_past


def world(seed: int, count: int) -> list[Change]:
    """Insertions and retractions in any order, of lifetimes of several lengths."""
    rng, held, out = random.Random(seed), [], []
    for _ in range(count):
        if held and rng.random() < 0.25:
            out.append(retract(*held.pop(rng.randrange(len(held)))[:3]))
        else:
            le = rng.randrange(40)
            held.append(insert(E(rng.randrange(6)), le, le + rng.choice([3, 8, 8, 8, 20])))
            out.append(held[-1])
    return out


def in_force(changes: Iterable[Change]) -> list[Change]:
    net: dict[Any, int] = {}
    for change in changes:
        known = change.payload, change.le, change.re
        net[known] = net.get(known, 0) + change.diff
    return [Change(*known, 1) for known, copies in net.items() if copies > 0]


@pytest.mark.parametrize("kind", list(ARCS))
def test_both_engines_count_what_the_definition_says(kind: str) -> None:
    seen = [0, 0, 0]
    for seed in (*range(5), 1008):  # the last one: an ignorable run that covers no step any more
        operators = [Operator(automaton(kind), engine=engine) for engine in ("interpreted", "compiled")]  # type: ignore[arg-type]
        changes = world(seed, 60 if seed > 1000 else 40)
        for i, change in enumerate(changes):
            for operator in operators:
                operator.push(change)
            if i % 6 == 3 or i == len(changes) - 1:
                wanted = slowly(kind, in_force(changes[: i + 1]))
                assert [told(operator) for operator in operators] == [wanted, wanted]
                seen = [count + more for count, more in zip(seen, wanted)]
    assert seen[0] > 10 < seen[1]
    assert (seen[2] > 0) == (kind in ("time-outs", "all"))


@pytest.mark.parametrize("kind", list(ARCS))
def test_it_is_the_set_of_events_that_counts(kind: str) -> None:
    """In order, in batches, by columns, with the promises on the way: both engines hold, and count, the same."""
    for seed in range(3):
        events = sorted(in_force(world(seed + 100, 120)), key=lambda change: (change.le, change.payload))
        steps: list[Any] = list({change.le: change for change in events}.values())
        orders = [steps, random.Random(seed).sample(steps, len(steps))]
        found = set()
        for order in orders:
            for engine in ("interpreted", "compiled"):
                operator = Operator(automaton(kind), engine=engine)  # type: ignore[arg-type]
                columns = {"n": [c.payload.n for c in order], "key": [""] * len(order), "le": [c.le for c in order]}
                operator.push_many({**columns, "re": [c.re for c in order]})
                found.add(told(operator))
        assert found == {slowly(kind, steps)}
        promised = set()
        for engine in ("interpreted", "compiled"):
            operator = Operator(automaton(kind), engine=engine)  # type: ignore[arg-type]
            said = []
            for change in steps:
                operator.push(change)
                if change.le % 7 == 0:
                    operator.push(Punctuation(change.le - 2))
                    said.append(told(operator))
            promised.add((*said, told(operator)))
        assert len(promised) == 1


class Numbered(NamedTuple):
    n: int
    seq: int
    key: str = ""


@pytest.mark.parametrize("kind", list(ARCS))
def test_with_a_sequence_keys_and_promises_both_engines_agree(kind: str) -> None:
    program = Automaton(start="a", final={"d"}, event=Numbered, register=R(), arcs=ARCS[kind])
    for seed in range(3):
        rng, promised, held = random.Random(seed), 0, []
        operators = [Keyed(program, key="key", order_by="seq", engine=engine) for engine in ("interpreted", "compiled")]  # type: ignore[arg-type]
        for i in range(80):
            item: Any
            if rng.random() < 0.1:
                promised = max(promised, i - rng.randrange(8))
                item, held = Punctuation(promised), [change for change in held if change.le >= promised]
            elif held and rng.random() < 0.2:
                item = retract(*held.pop(rng.randrange(len(held)))[:3])
            else:
                le = max(promised, i // 2 - rng.randrange(5))
                item = insert(Numbered(rng.randrange(6), rng.randrange(3), rng.choice("xy")), le, le + rng.choice([3, 8, 20]))
                held.append(item)
            for operator in operators:
                operator.push(item)
            assert i % 4 or told(operators[0]) == told(operators[1])


def test_keys_and_snapshots() -> None:
    rng = random.Random(3)
    rows = [insert(E(rng.randrange(6), rng.choice("xyz")), le, le + rng.choice([4, 9])) for le in range(150)]
    operators = [Keyed(automaton("all"), key="key", engine=engine) for engine in ("interpreted", "compiled")]  # type: ignore[arg-type]
    for operator in operators:
        operator.push_many(rows)
    parts = [slowly("all", [row for row in rows if row.payload.key == key]) for key in "xyz"]
    wanted = tuple(map(sum, zip(*parts)))
    assert [told(operator) for operator in operators] == [wanted, wanted]
    for operator in operators:
        operator.push(Punctuation(60))
    back = Keyed.restore(automaton("all"), operators[1].snapshot(), key="key", engine="compiled")
    assert told(operators[0]) == told(operators[1]) == told(back)


def test_many_beginnings_of_one_step() -> None:
    """A cover with more beginnings than steps: the table grows."""
    arcs = [Arc("a", "b", "True"), Arc("b", "b", "n >= 0")]
    operators = [
        Operator(Automaton(start="a", final={"c"}, event=E, arcs=arcs), engine=engine) for engine in ("interpreted", "compiled")
    ]  # type: ignore[arg-type]
    for operator in operators:
        operator.push_many([insert(E(0), le, 10_000) for le in range(300)])
        operator.push(Punctuation(300))
        operator.push(insert(E(-1), 400, 500))
        assert told(operator) == (0, 300, 0)
        operator.push(retract(E(-1), 400, 500))
        operator.push(insert(E(0), 20_000, 20_001))
        assert told(operator) == (300, 0, 0)


def test_the_window_and_no_arc() -> None:
    operator = Operator(
        Automaton(start="a", final={"c"}, event=E, arcs=[Arc("a", "b", "n == 0"), Arc("b", "c", "n == 1")]), window=10
    )
    operator.push_many([insert(E(0), 0), insert(E(2), 3), insert(E(0), 20), insert(E(1), 40), insert(E(0), 50)])
    assert told(operator) == (1, 1, 0)
    operator.push(insert(E(1), 2))  # late: the first one went on, and matched
    assert operator.statistics.ended_by_no_arc == 1
    operator.push(Punctuation(60))
    assert told(operator) == (0, 0, 0)


@pytest.mark.parametrize("engine", ["interpreted", "compiled", "auto"])
def test_no_function_of_the_user_is_called_for_it(engine: Any) -> None:
    """What raises, or can't be taken apart, counts nothing; on both engines."""
    asked: list[Any] = []

    def odd(r: Any) -> int:
        asked.append(r)
        return 10_000

    for at, count in (("r.since + 10", 1), ("r.since + 5", 0), ("10 + 0 // len(str(r.since))", 1), (odd, 0)):
        arcs = [Arc("a", "b", "True", "(n, 2)"), Arc.timeout("b", "d", at)]
        native = engine == "compiled" and at not in ("r.since + 10", "r.since + 5")
        program = Automaton(start="a", final={"d"}, event=E, register=R(), arcs=arcs)
        operator = Operator(program, window=8, engine="auto" if native else engine)
        operator.push(insert(E(0), 1))
        asked.clear()
        assert operator.statistics.timeouts_past == count
        assert not asked


def test_without_payloads() -> None:
    arcs = [Arc("a", "b", "n == 0"), Arc("b", "c", "n == 1")]
    program = Automaton(start="a", final={"c"}, event=E, arcs=arcs)
    operator = Operator(program, window=10, retractions=False, keep_payloads=False)
    operator.push_many([insert(E(0), 0), insert(E(2), 3), insert(E(0), 20), insert(E(1), 40)])
    assert told(operator) == (1, 1, 0)


# -- partial matches by state ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_by_state_as_defined(engine: Any, seed: int) -> None:
    rng = random.Random(seed)
    events = [insert(E(rng.randrange(6)), le, le + rng.randrange(1, 12)) for le in rng.sample(range(60), 40)]
    op = Operator(automaton("plain"), engine=engine)
    op.push_many(events)
    assert op.partial_matches_by_state == Counter(p.state for _, _, new in lists("plain", events) for p in dict.fromkeys(new))


@pytest.mark.parametrize("kind", ARCS)
@pytest.mark.parametrize("seed", range(3))
def test_by_state_engines_agree_and_the_sum_is_that_of_statistics(kind: str, seed: int) -> None:
    ops: list[Any] = [
        Keyed(automaton(kind), key="key", engine="compiled"),
        Keyed(automaton(kind), key="key", engine="interpreted"),
        Keyed(automaton(kind), key="key", threads=2),
    ]
    for change in [*world(seed, 60), Punctuation(15)]:
        for op in ops:
            op.push(change)
        found = [op.partial_matches_by_state for op in ops]
        assert found[0] == found[2]
        assert kind in ("runs", "all") or found[0] == found[1]  # how often what rests is stored is the engine's business
        for states, op in zip(found, ops):
            assert all(n > 0 for n in states.values())
            assert sum(states.values()) == op.statistics.partial_matches
