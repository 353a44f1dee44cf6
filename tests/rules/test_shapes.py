"""A store of shapes tells after every call what operators of single rules tell."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

import afa
from afa.rules.shape import NoShape, RuleParts, parts_of
from afa.rules.shape_store import ShapeStore
from tests.rules.rule_sets import Payment, calls, rules


class Timed(NamedTuple):
    type: str
    key: int
    x: float
    at: afa.Instant | None = None


def table(batch: list[Any]) -> dict[str, Any]:
    columns = {name: [change[0][i] for change in batch] for i, name in enumerate(Payment._fields)}
    return columns | {"le": [change[1] for change in batch], "diff": [change[2] for change in batch]}


def net_of_store(found: Any, net: Counter[Any]) -> None:
    for row in found.to_pylist():
        diff = row.pop("diff")
        net[tuple(sorted((name, value) for name, value in row.items() if value is not None))] += diff


def net_of_operator(name: str, query: Any, out: list[Any], net: Counter[Any]) -> None:
    for change in out:
        if isinstance(change, afa.Change):
            row = {"rule": name, **change.payload._asdict(), "le": change.le, "re": change.re}
            row |= {} if query.key is None else {"key": change.key}
            net[tuple(sorted((key, value) for key, value in row.items() if value is not None))] += change.diff


def plain(net: Counter[Any]) -> dict[Any, int]:
    return {row: n for row, n in net.items() if n}


def run(seed: int, engine: str, n: int, steps: int, most: int, restored: bool = False) -> int:
    r = random.Random(seed)
    queries = {name: afa.query(text, event=Payment) for name, text in rules(r, n).items()}
    parts: dict[str, RuleParts] = {}
    for name, query in queries.items():
        parts[name] = parts_of(query)
    store = ShapeStore(Payment, engine=engine)
    for name in queries:
        store.add(name, parts[name])
    single = {name: query.operator() for name, query in queries.items()}
    mine: Counter[Any] = Counter()
    theirs: Counter[Any] = Counter()
    for step, (batch, promise) in enumerate(calls(r, steps, most)):
        net_of_store(store.push(table(batch), promise), mine)
        for name, operator in single.items():
            items = [afa.Change(event, le, None, diff) for event, le, diff in batch]
            items += [] if promise is None else [afa.Punctuation(promise)]
            net_of_operator(name, queries[name], operator.push_many(items), theirs)
        assert plain(mine) == plain(theirs), (seed, step)
        if restored and step % 3 == 2:
            store = ShapeStore.restore(Payment, store.snapshot(), parts, engine=engine)
    return len(plain(mine))


def test_rules_begin_and_end_within_the_stream() -> None:
    """Each rule equals an operator whose events are those within its lifetime."""
    r = random.Random(5)
    queries = {name: afa.query(text, event=Payment) for name, text in rules(r, 8).items()}
    lifetimes = {name: (low := r.randrange(15), low + r.randrange(5, 40)) for name in queries}
    store = ShapeStore(Payment, engine="interpreted")
    for name, query in queries.items():
        store.add(name, parts_of(query), *lifetimes[name])
    single = {name: query.operator(engine="interpreted") for name, query in queries.items()}
    mine: Counter[Any] = Counter()
    theirs: Counter[Any] = Counter()
    for batch, _ in calls(r, 20, 8):
        net_of_store(store.push(table(batch)), mine)
        for name, operator in single.items():
            low, high = lifetimes[name]
            items = [afa.Change(event, le, None, diff) for event, le, diff in batch if low <= le < high]
            net_of_operator(name, queries[name], operator.push_many(items), theirs)
        assert plain(mine) == plain(theirs)
    assert mine


def test_a_call_that_fails_changes_no_group() -> None:
    texts = {
        "sum": "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [key] } WITHIN 9 RETURN a.n + b.n AS s",
        "two": "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [key] } WITHIN 9 RETURN a.x AS ax",
    }
    store = ShapeStore(Payment, engine="interpreted")
    for name in ("two", "sum"):
        store.add(name, parts_of(afa.query(texts[name], event=Payment)))
    store.push(table([(Payment("A", 1, 0.5, 2**62, "m"), 1, 1)]))
    with pytest.raises(afa.AfaError):
        store.push(table([(Payment("B", 1, 0.5, 2**62, "m"), 2, 1)]))
    found = store.push(table([(Payment("B", 1, 0.5, 1, "m"), 3, 1)])).to_pylist()
    assert [(row["rule"], row["le"], row["diff"]) for row in found] == [("two", 3, 1), ("sum", 3, 1)]


def test_a_column_of_another_type_is_refused_by_name() -> None:
    store = ShapeStore(Payment, engine="interpreted")
    for shown in ("a.x", "a.n"):
        text = f"PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) {{ [key] }} WITHIN 9 RETURN {shown} AS v"
        parts = parts_of(afa.query(text, event=Payment))
        if shown == "a.x":
            store.add("float", parts)
        else:
            with pytest.raises(afa.AfaError, match="expected v of rule 'int' as float, as rule 'float' shows it"):
                store.add("int", parts)


@pytest.mark.parametrize("engine", ["auto", "interpreted"])
@pytest.mark.parametrize("seed", range(4))
def test_a_store_equals_single_operators_after_every_call(seed: int, engine: str) -> None:
    assert run(seed, engine, n=5, steps=12, most=6)


def test_many_rules_over_dense_batches() -> None:
    assert run(900, "auto", n=25, steps=3, most=250) > 100


def test_a_restored_store_goes_on() -> None:
    assert run(77, "auto", n=5, steps=15, most=6, restored=True)


def test_a_removed_rule_takes_no_later_event_and_a_late_one() -> None:
    query = afa.query("PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [key] } WITHIN 9 RETURN a.x AS ax", event=Payment)
    store = ShapeStore(Payment, engine="interpreted")
    store.add("one", parts_of(query))
    a, b = Payment("A", 1, 0.5, 0, "m"), Payment("B", 1, 0.7, 0, "m")
    store.push(table([(a, 1, 1), (b, 5, 1)]))
    store.remove("one")
    assert store.push(table([(b, 7, 1)])).num_rows == 0
    found = store.push(table([(b, 3, 1)])).to_pylist()
    assert [(row["le"], row["diff"]) for row in found] == [(5, -1), (3, 1)]
    store.add("one", parts_of(query))
    assert store.push(table([(b, 9, 1)])).num_rows == 0, "the new rule has seen no A"


def test_rules_of_one_shape_share_an_operator() -> None:
    store = ShapeStore(Payment, engine="interpreted")
    for i, (low, factor, window) in enumerate([(0.1, 1.5, 4), (0.2, 2.5, 9)]):
        where = f"[key] and a.x > {low} and b.x > a.x * {factor}"
        text = f"PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) {{ {where} }} WITHIN {window} RETURN a.x AS v{i}"
        store.add(str(i), parts_of(afa.query(text, event=Payment)))
    assert len(store.groups) == 1


BY_HAND = [
    (afa.Arc("s", "a", "type == 'A'"), afa.Arc("a", "f", "type == 'B'")),  # nothing is passed
    (afa.Arc("s", "a", "type == 'A'"), afa.Arc("a", "a", "type != 'B'"), afa.Arc("a", "f", "type == 'B'")),  # taken, not passed
    (afa.Arc("s", "a", "type != 'A'"), afa.Arc.skip("a", "type != 'B'"), afa.Arc("a", "f", "type == 'B'")),  # nearly any begins
    (afa.Arc("s", "f", "type == 'A'"), afa.Arc.skip("f", "type != 'B'")),  # ends again at each event
    (afa.Arc("s", "f", "type == 'A'"), afa.Arc("f", "f", "type == 'B'")),
    (afa.Arc("s", "f", "n % x > 1"),),  # may raise
    (afa.Arc("s", "a", "type == 'A'"), afa.Arc.epsilon("a", "f")),
    (afa.Arc("s", "f", lambda e, r: str(e) == "A"),),
]


@pytest.mark.parametrize("arcs", BY_HAND, ids=range(len(BY_HAND)))
def test_automata_by_hand_without_a_shape(arcs: tuple[afa.Arc, ...]) -> None:
    with pytest.raises(NoShape):
        parts_of(afa.Automaton(start="s", final={"f"}, event=Payment, arcs=arcs), window=9)


def test_an_automaton_by_hand_has_a_shape() -> None:
    arcs = [afa.Arc("s", "a", "type == 'A'"), afa.Arc.skip("a", "type != 'B'"), afa.Arc("a", "f", "type == 'B' and n > 1")]
    found = parts_of(afa.Automaton(start="s", final={"f"}, event=Payment, arcs=arcs), key="key", window=9)
    assert found.shape.bits == 3


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("SEQ(A a, B b) WHERE partition_contiguity(a, b) { [key] } WITHIN 9", "may not pass"),
        ("SEQ(A a, B+ b[], C c) WHERE partition_contiguity(a, b[], c) { [key] } WITHIN 9", "may not pass"),
        ("SEQ(A a, ~(B b)) WHERE skip_till_next_match(a) { [key] } WITHIN 9", "waits"),
        ("SEQ(~(B b), A a) WHERE skip_till_next_match(a) { [key] } WITHIN 9", "stage"),
    ],
)
def test_what_depends_on_other_events_has_no_shape(pattern: str, why: str) -> None:
    with pytest.raises(NoShape, match=why):
        parts_of(afa.query(f"PATTERN {pattern} RETURN a.x AS ax", event=Timed))
