"""Punctuations with conditions: the output is what it is without them, the state never larger."""

from __future__ import annotations

import itertools
import re
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import (
    BEGINNING,
    FOREVER,
    AfaError,
    Arc,
    Automaton,
    Change,
    ChangeError,
    Keyed,
    LateEventError,
    Operator,
    Punctuation,
    insert,
    retract,
)
from afa.compiled import superfluous as pruning
from afa.conditions.condition import Condition
from afa.conditions.implied import FEW, Implication
from tests import oracle
from tests.strategies import Seeded, arc, automaton, lifetime, payload, width_of
from tests.text import R1, E, arc_of, automaton_of
from tests.worlds.kind import in_turn


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """State is thinned out however little of it has come."""
    monkeypatch.setattr("afa.conditions.promised.ROOM", 0)


CONDITIONS = ["kind == 0", "kind != 1", "kind > 0", "seq < 2", "kind in (1, 2)", "kind == 2 and seq >= 1", "kind >= 0", "seq != 0"]


def chain(choose: Seeded) -> dict[str, Any]:
    """The spec of a chain whose states most events leave as they are."""
    arcs: list[dict[str, Any]] = []
    states = "abcd"[: choose.number(3, 4)]
    for src, dst in itertools.pairwise(states):
        fence = choose.one(["e.kind == 0", "e.kind == 1", "e.kind == 2", "e.kind < 2 and r.x < 2", "e.kind > 0"])
        arcs.append({"src": src, "dst": dst, "fence": fence, "transfer": choose.one(["R1(e.seq)", "R1((r.x + e.kind) % 3)", None])})
        if choose.chance(80):
            fence = choose.one(["e.kind != 2", "e.kind < 2", "True", "e.seq < 2", "e.kind == 1 or r.x == 0"])
            arcs.append({"src": dst, "dst": dst, "fence": fence})
    named = [{key: text for key, text in arc.items() if text is not None} | {"name": f"own{i}"} for i, arc in enumerate(arcs)]
    return {"start": "a", "final": [states[-1]], "arcs": named, "register": "R1(0)", "event": "E"}


def world(choose: Seeded, engine: str, keys: bool = False, chained: bool = False, longest: bool = False) -> tuple[int, int]:
    """Push a random stream into an operator with conditions and one without; how large each was, in all."""
    spec = chain(choose) if chained else automaton(choose)
    built = automaton_of(spec | {"event": "E"})
    options: dict[str, Any] = {"window": choose.one([3, 6, 20]), "engine": engine, "late": "raise", "longest": longest}
    make: Any = (
        (lambda **more: Keyed(built, key="seq", **options, **more)) if keys else (lambda **more: Operator(built, **options, **more))
    )
    op, plain = make(retractions=False), make()
    style, horizon = choose.one(["window", "mixed"]), choose.one([20, 60] if chained else [8, 20])
    events = [Change(E(*payload(choose)), *lifetime(choose, style, 0, horizon)) for _ in range(choose.number(3, 25 + 25 * chained))]
    events.sort(key=lambda change: change.le + choose.number(0, horizon))
    if chained or choose.chance(50):  # one kind is far behind the others
        events.sort(key=lambda change: change.payload.kind == 2)
    held: set[Any] = set()
    sizes = [0, 0]
    taken: list[Any] = []
    i = 0
    while i < len(events):
        batch = events[i : i + choose.one([1, 1, 1, 2, 5])]
        i += len(batch)
        held = oracle.net(_matches(op.push_many(batch)), held)
        plain.push_many(batch)
        taken += [(e.payload, e.le, e.le + options["window"] if e.re is None else e.re, 1) for e in batch]
        if choose.chance(5):
            new = arc_of(arc(choose, width_of(spec), ("a", "b"), f"new{i}"))
            held = oracle.net(_matches(op.push_arc(insert(new))), held)
            plain.push_arc(insert(new))
        if choose.chance(60):
            for _ in range(choose.number(1, 3)):
                condition = choose.one(["kind != 2", "kind < 2", "kind == 1", None] if chained else [*CONDITIONS, None])
                rest = [later.le for later in events[i:] if condition is None or _holds(condition, later.payload)]
                t = max(0, min([*rest, horizon + 5]) - choose.one([0, 0, 0, 2]))
                held = oracle.net(_matches(op.push(Punctuation(t, condition))), held)
                if condition is None:
                    plain.push(Punctuation(t))
        op._check()
        if choose.chance(10):
            op = _restored(op, built, choose.one([engine, "auto", "interpreted"]), keys)
            op._check()
        assert held == _expected(built, op, taken, keys), f"after {i} events"
        sizes = [sizes[0] + op.statistics.state_size, sizes[1] + plain.statistics.state_size]
    return sizes[0], sizes[1]


def _holds(condition: str, event: E) -> bool:
    return bool(eval(condition, {"kind": event.kind, "seq": event.seq}))


def _matches(out: list[Any]) -> list[Any]:
    return [change._replace(payload=(change.key, change.payload)) for change in out if isinstance(change, Change)]


def _expected(built: Automaton, op: Any, taken: list[Any], keys: bool) -> set[Any]:
    in_force = [(event.arc, event.le, event.re) for event in op._core.arcs.table.events]
    found = set()
    for key in {event.seq for event, *_ in taken} if keys else {None}:
        own = [change for change in taken if key is None or change[0].seq == key]
        found |= {((key, register), le, re) for register, le, re in oracle.matches(built, own, in_force, op._core.progress.events)}
    return oracle.longest(found) if op._core.longest else found


def _restored(op: Any, built: Automaton, engine: str, keys: bool) -> Any:
    arcs = [event.arc for event in op._core.arcs.table.events if event.arc.name.startswith("new")]
    more = {"key": "seq"} if keys else {}
    again = type(op).restore(built, op.snapshot(), arcs=arcs, engine=engine, **more)
    same = again._core.engine.name == op._core.engine.name
    if same and not op._core.arcs.table.timeouts:  # which look at steps anew; a run whose begin was dropped has an anchor again
        assert again.statistics.state_size <= op.statistics.state_size + op.statistics.intervals
    return again


@pytest.mark.parametrize("keys", [False, True])
def test_conditions_change_nothing_of_the_longest(engine: str, keys: bool) -> None:
    for seed in range(12):
        try:
            world(Seeded(f"longest/{keys}/{seed}"), engine, keys, seed % 3 == 0, longest=True)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


@pytest.mark.parametrize("keys", [False, True])
@pytest.mark.parametrize("block", ["0", *(pytest.param(block, marks=pytest.mark.stress) for block in "1234"), "chain"])
def test_conditions_change_nothing_but_the_state(turns: str, keys: bool, block: str) -> None:
    sizes = [0, 0]
    for seed in range(40):
        try:
            with_conditions, without = world(
                Seeded(f"predicates/{keys}/{block}/{seed}"), in_turn(seed, turns), keys, block == "chain"
            )
        except AssertionError as error:
            raise AssertionError(f"seed predicates/{keys}/{block}/{seed}") from error
        sizes = [sizes[0] + with_conditions, sizes[1] + without]
    assert sizes[0] <= sizes[1]
    assert sizes[0] < sizes[1]


class Reading(NamedTuple):
    feed: int
    value: float


def pairs() -> Automaton:
    """A high value of feed 1, then one of feed 2; what others say in between is passed over."""
    return Automaton(
        start="a",
        final={"c"},
        event=Reading,
        arcs=[
            Arc("a", "b", "feed == 1 and value > 9"),
            Arc("b", "b", "feed > 2"),
            Arc("b", "c", "feed == 2 and value > 9"),
        ],
    )


def test_what_is_behind_a_promise_with_a_condition_is_late(engine: str) -> None:
    op = Operator(pairs(), window=9, engine=engine, retractions=False)
    assert op.push(Punctuation(5, "feed <= 2")) == []
    text = "expected le >= 5 (promised, where e.feed <= 2) but got le=4 for Reading(feed=2, value=1.0)"
    with pytest.raises(LateEventError, match=re.escape(text)):
        op.push(insert(Reading(2, 1.0), 4))
    op.push(insert(Reading(3, 1.0), 4))
    columns = {"feed": [3, 1], "value": [1.0, 2.0], "le": [3, 4]}
    with pytest.raises(LateEventError, match="le=4 for Reading"):
        op.push_many(columns)
    assert op.statistics.changes == 1
    op.push_many({**columns, "le": [3, 5]})
    assert op.statistics.changes == 3
    dropping = Operator(pairs(), window=9, engine=engine, retractions=False, late="drop")
    dropping.push(Punctuation(5, lambda e: e.feed <= 2))
    dropping.push_many(columns)
    assert (dropping.statistics.late, dropping.statistics.changes) == (1, 1)
    dropping.push_arc(insert(Arc("a", "c", "feed == 3", name="new"), 4))
    assert dropping.statistics.late == 2, "an arc may not serve what was promised away under other arcs"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("fed == 1", "expected condition(e) as text but fed is no field of Reading; its fields: feed, value"),
        ("r.n == 1", "r is the register, which a condition does not see"),
        (lambda e: [e.feed], "expected a condition(e) that can be taken apart"),
    ],
)
def test_what_is_no_condition_is_refused(engine: str, where: Any, message: str) -> None:
    op = Operator(pairs(), window=9, engine=engine, retractions=False)
    with pytest.raises(AfaError, match=re.escape(message)):
        op.push(Punctuation(5, where))
    assert op.statistics.stale == 0


def test_conditions_want_an_input_without_retractions(engine: str) -> None:
    with pytest.raises(AfaError, match="expected an operator with retractions=False for a Punctuation with a condition"):
        Operator(pairs(), engine=engine).push(Punctuation(5, "feed == 1"))
    op = Operator(pairs(), window=9, engine=engine, retractions=False)
    op.push(insert(Reading(1, 10.0), 4))
    for refused in (lambda: op.push(retract(Reading(1, 10.0), 4)), lambda: op.push_many({**ROW, "diff": [-1]})):
        with pytest.raises(ChangeError, match=re.escape("expected insertions only (retractions=False) but got diff=-1")):
            refused()
    with pytest.raises(ChangeError, match="expected a Punctuation without a condition on the arc input"):
        op.push_arc(Punctuation(5, "feed == 1"))
    untyped = Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: e > 1)])
    with pytest.raises(AfaError, match="expected an automaton with event="):
        Operator(untyped, retractions=False).push(Punctuation(5, "feed == 1"))


ROW = {"feed": [1], "value": [10.0], "le": [4]}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"le": ["a"]}, "expected int ticks in column 'le' but got 'a' in row 0"),
        ({"le": [None]}, "expected int ticks in column 'le' but got None in row 0"),
        ({"diff": ["a"]}, "expected int ticks in column 'diff' but got 'a' in row 0"),
        ({"le": [3, 4], "feed": [2, 2]}, "expected columns of one length but got 1 in 'value', 2 in 'le'"),
    ],
)
def test_columns_that_are_none_are_told_as_without_promises(engine: str, wrong: dict[str, Any], message: str) -> None:
    op = Operator(pairs(), window=9, engine=engine, retractions=False)
    op.push(Punctuation(5, "feed == 1"))
    with pytest.raises(ChangeError, match=re.escape(message)):
        op.push_many(ROW | wrong)


def test_the_end_of_an_arc_is_no_retraction_of_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    op = Operator(pairs(), window=9, engine="compiled", retractions=False)
    table = {"feed": [1, 0, 0, 2], "value": [10.0, 0.0, 0.0, 10.0], "le": [4, BEGINNING, BEGINNING, 5]}
    monkeypatch.setattr(op._core, "run", None)  # all of it goes as columns
    table |= {"kind": [0, 1, 1, 0], "arc": [0, 0, 0, 0], "diff": [1, -1, 1, 1]}
    out = op.push_many({name: np.array(column) for name, column in table.items()}, arcs=[op.automaton.arcs[1]])
    assert list(out["le"]) == [5]


def test_an_arc_may_end_where_a_key_is_promised_more_than_all(engine: str) -> None:
    op = Keyed(pairs(), key="feed", window=9, engine=engine, retractions=False)
    op.push_arc(insert(Arc("a", "c", "feed == 3", name="new"), 2, 4))
    op.push(insert(Reading(3, 1.0), 3))
    op.push(Punctuation(8, "feed == 3"))
    op._check()


def test_a_condition_that_promises_nothing_new_is_counted(engine: str) -> None:
    op = Operator(pairs(), window=9, engine=engine, retractions=False)
    op.push(Punctuation(5, "feed == 1"))
    op.push(Punctuation(5, lambda e: e.feed == 1))
    op.push(Punctuation(4, "feed == 1"))
    op.push(Punctuation(7))
    op.push(Punctuation(6, "feed == 2"))
    assert op.statistics.stale == 3


def test_only_what_the_late_feed_can_still_touch_is_kept(engine: str) -> None:
    sizes = {}
    for conditions in (False, True):
        op = Operator(pairs(), window=4, engine=engine, retractions=False)
        for t in range(1000):
            feed = 3 + t % 8 if t % 100 else 1
            op.push(insert(Reading(feed, 10.0), t))
            if conditions and t % 10 == 0:
                op.push(Punctuation(t - 10, "feed != 2"))
        op._check()
        sizes[conditions] = op.statistics.state_size
        out = op.push(insert(Reading(2, 10.0), 303))
        assert out == [Change(op.automaton.register, 303, 304, 1)]
    assert sizes[True] < sizes[False] / 10


def test_the_keys_whose_events_are_all_promised_are_cleaned(engine: str) -> None:
    sizes = {}
    for conditions in (False, True):
        op = Keyed(pairs(), key="feed", window=50, engine=engine, retractions=False)
        for t in range(100):
            for feed in range(10):
                op.push(insert(Reading(feed, 10.0), t))
            if conditions and t % 10 == 9:
                op.push(Punctuation(t - 5, "feed > 0"))
        op._check()
        op = Keyed.restore(op.automaton, op.snapshot(), key="feed", engine=engine)
        op._check()
        sizes[conditions] = op.statistics.state_size
        op.push(Punctuation(FOREVER))
        assert op.statistics.state_size == 0
    assert sizes[True] < 0.2 * sizes[False]


def test_what_a_key_is_promised_outlives_two_snapshots(engine: str) -> None:
    """The second is taken before anything has been pushed."""
    op = Keyed(pairs(), key="feed", window=9, engine=engine, retractions=False)
    for t in range(5):
        op.push(insert(Reading(1, 10.0), t))
    op.push(Punctuation(8, "feed == 1"))
    blob = op.snapshot()
    again = Keyed.restore(op.automaton, blob, key="feed", engine=engine)
    assert again.snapshot() == blob
    other = Keyed.restore(op.automaton, again.snapshot(), key="feed", engine="interpreted")
    other._check()
    assert again.statistics.state_size == other.statistics.state_size == op.statistics.state_size


def thinned(choices: int) -> Operator:
    """An operator that has dropped the events of a step at 10, but not its partial matches of so many registers."""
    built = automaton_of(
        {
            "start": "a",
            "final": ["c"],
            "register": "R1(0)",
            "event": "E",
            "arcs": [
                {"src": "a", "dst": "b", "fence": "e.kind == 1", "transfer": "R1(e.seq)", "name": "own0"},
                {"src": "b", "dst": "b", "fence": "e.kind == 3", "name": "own1"},
                {"src": "b", "dst": "c", "fence": "e.kind == 2", "name": "own2"},
            ],
        }
    )
    op = Operator(built, window=500, engine="compiled", retractions=False)
    op.push_many([insert(E(1, i), 10) for i in range(choices)])
    op.push(Punctuation(15, "kind == 0"))
    return op


def test_an_event_joins_a_long_list_out_of_a_snapshot(engine: str) -> None:
    """The list is longer than the set of rows of a new operator has places; to look for one more in it did not end."""
    op = thinned(400)
    again = Operator.restore(op.automaton, op.snapshot(), engine=engine)
    again.push(insert(E(1, 400), 10))
    again._check()
    assert again.statistics.partial_matches == 401


def test_time_outs_of_a_thinned_out_step_outlive_a_snapshot(engine: str) -> None:
    """They stand for far more matches than there are partial matches, and fire between two steps whose lists are given."""
    op = thinned(4)
    more = [Arc.timeout("b", "t0", "30", name="wait")]
    more += [Arc.epsilon(f"t{i}", f"t{i + 1}", transfer=lambda r: R1(r.x + 4), name=f"on{i}", final=True) for i in range(20)]
    for new in more:
        op.push_arc(insert(new))
    assert len(op.push(insert(E(0, 0), 60))) == 80
    again = Operator.restore(op.automaton, op.snapshot(), engine=engine, arcs=more)
    again._check()
    assert again.statistics.matches == 80


def test_the_earliest_step_of_all_keeps_what_leads_on(engine: str) -> None:
    op = Operator(thinned(0).automaton, window=9, engine=engine, retractions=False)
    op.push(insert(E(1, 3), BEGINNING))
    op.push(Punctuation(BEGINNING + 5, "kind == 0"))
    op.push(insert(E(1, 4), BEGINNING))
    op._check()
    assert [change.payload.x for change in op.push(insert(E(2, 0), BEGINNING + 1))] == [3, 4]


@pytest.mark.parametrize("behind", ["interpreted", "compiled"])
def test_a_snapshot_says_nothing_of_how_the_state_came_about(engine: str, behind: str) -> None:
    """Neither a promise for a key that a plain one has passed since, nor a stone that no event can reach any more."""
    op = Keyed(thinned(0).automaton, key="seq", window=9, engine=engine, retractions=False)
    for kind, le in [(1, 1), (3, 2), (3, 4)]:
        op.push(insert(E(kind, 0), le))
    op.push(Punctuation(3, "seq == 0"))
    op.push(insert(E(1, 0), 6))
    op.push(Punctuation(5, "kind >= 2"))
    for _ in range(2):
        blob = op.snapshot()
        assert Keyed.restore(op.automaton, blob, key="seq", engine=behind).snapshot() == blob
        op.push(Punctuation(3))


def test_what_was_worked_out_of_conditions_that_are_promised_no_more_is_forgotten() -> None:
    schema = pairs().event_schema
    assert schema is not None
    any_event = Implication(None, schema)
    for n in range(500):
        assert any_event.until([(Condition(f"feed < {n}", schema), n), (Condition(f"feed >= {n}", schema), 9)]) == min(n, 9)
    (cases,) = any_event._cases.values()
    assert max(len(case._without) for case in cases) <= 2 * FEW


@pytest.mark.parametrize("sequence", [None, "seq"])
def test_a_key_that_has_not_grown_is_not_looked_at_again(sequence: str | None) -> None:
    op = Keyed(thinned(0).automaton, key="kind", window=50, engine="compiled", retractions=False, order_by=sequence)
    op.push_many([insert(E(i % 3, i), i) for i in range(30)])
    store = op._core.engine.store  # type: ignore[attr-defined]
    assert len(pruning._grown(store)) == 3
    op.push(Punctuation(9, "kind == 0"))
    assert pruning._grown(store) == []
