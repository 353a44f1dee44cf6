"""A set of rules tells after every call what operators of single rules tell; most of its rules are in the store of shapes."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

import afa
from afa import Operator, Rules
from afa.rules.shape import NoShape, parts_of
from tests.rules.rule_sets import Payment, calls, rules


class Timed(NamedTuple):
    type: str
    key: int
    x: float
    at: afa.Instant | None = None


def table(batch: list[Any]) -> dict[str, Any]:
    columns = {name: [change[0][i] for change in batch] for i, name in enumerate(Payment._fields)}
    return columns | {"le": [change[1] for change in batch], "diff": [change[2] for change in batch]}


def items_of(batch: list[Any], promise: int | None, low: int = -(2**60), high: int = 2**60) -> list[Any]:
    items: list[Any] = [afa.Change(event, le, None, diff) for event, le, diff in batch if low <= le < high]
    return items + ([] if promise is None else [afa.Punctuation(promise)])


def add_to(net: Counter[Any], found: list[Any], name: str | None = None) -> None:
    for change in found:
        if isinstance(change, afa.Change):
            net[name or change.rule, change.payload._asdict().__repr__(), change.key, change.le, change.re] += change.diff


def plain(net: Counter[Any]) -> dict[Any, int]:
    return {row: n for row, n in net.items() if n}


def run(seed: int, engine: str, n: int, steps: int, most: int, restored: bool = False) -> int:
    """Events as tables and as lists, in turns, beside an operator a rule."""
    r = random.Random(seed)
    texts = rules(r, n)
    queries = {name: afa.query(text, event=Payment) for name, text in texts.items()}
    op: Any = Operator(Rules(texts, event=Payment), engine=engine)
    assert len(op._store.rules) == n
    single = {name: query.operator() for name, query in queries.items()}
    mine: Counter[Any] = Counter()
    theirs: Counter[Any] = Counter()
    for step, (batch, promise) in enumerate(calls(r, steps, most)):
        if step % 2:
            add_to(mine, op.push_many(items_of(batch, promise)))
        else:
            add_rows(mine, op.push_many(table(batch)), queries)
            add_to(mine, [] if promise is None else op.push(afa.Punctuation(promise)))
        for name, operator in single.items():
            add_to(theirs, operator.push_many(items_of(batch, promise)), name)
        assert plain(mine) == plain(theirs), (seed, step)
        if restored and step % 3 == 2:
            op = Operator.restore(Rules(texts, event=Payment), op.snapshot(), engine=engine)
            assert len(op._store.rules) == n
    return len(plain(mine))


def add_rows(net: Counter[Any], found: dict[str, Any], queries: dict[str, Any]) -> None:
    for i in range(len(found["le"])):
        row = {name: column.tolist()[i] for name, column in found.items()}
        query = queries[row["rule"]]
        shown = {name: row[name] for name in query.shown.cls._fields}
        net[row["rule"], repr(shown), None if query.key is None else row["key"], row["le"], row["re"]] += row["diff"]


def test_rules_begin_and_end_within_the_stream() -> None:
    """Each rule equals an operator whose events are those within its lifetime."""
    r = random.Random(5)
    queries = {name: afa.query(text, event=Payment) for name, text in rules(r, 8).items()}
    lifetimes = {name: (low := r.randrange(15), low + r.randrange(5, 40)) for name in queries}
    op: Any = Operator(Rules({}, event=Payment), engine="interpreted")
    for name, query in queries.items():
        op.add(name, query, *lifetimes[name])
    single = {name: query.operator(engine="interpreted") for name, query in queries.items()}
    mine: Counter[Any] = Counter()
    theirs: Counter[Any] = Counter()
    for batch, _ in calls(r, 20, 8):
        add_to(mine, op.push_many(items_of(batch, None)))
        for name in queries:
            add_to(theirs, single[name].push_many(items_of(batch, None, *lifetimes[name])), name)
        assert plain(mine) == plain(theirs)
    assert mine


OVERFLOWS = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [key] and a.x > LOW } WITHIN 9 RETURN a.n + b.n AS s"


@pytest.mark.parametrize("net", [True, False])
@pytest.mark.parametrize("others", [1, 5])
def test_a_rule_that_raises_in_the_store_is_put_aside_alone(others: int, net: bool) -> None:
    """Of rules of one shape, in one operator, some raise; the call has taken other events before, and takes more behind."""
    texts = {f"sum {i}": OVERFLOWS.replace("LOW", str(low)) for i, low in enumerate([0.1, *[0.6] * others, 0.2])}
    op: Any = Operator(Rules(texts, event=Payment), engine="interpreted")
    op.push(afa.insert(Payment("A", 1, 0.5, 2**62, "m"), 1))
    batch = [
        Payment("A", 1, 0.7, 1, "m"),
        Payment("B", 2, 0.5, 0, "m"),
        Payment("B", 1, 0.5, 2**62, "m"),
        Payment("B", 1, 0.5, 1, "m"),
    ]
    out = op.push_many([afa.insert(event, 2 + i) for i, event in enumerate(batch)], net=net)
    assert Counter(change.rule for change in out) == {f"sum {i + 1}": 1 for i in range(others)}
    aside = {rule.name for rule in op.rules if rule.state == "put aside"}
    assert aside == {"sum 0", f"sum {others + 1}"}
    assert {rule.why for rule in op.rules if rule.name in aside} != {None}
    other = Operator.restore(Rules(texts, event=Payment), op.snapshot(), engine="interpreted")
    for each in (op, other):
        found = each.push_many([afa.insert(Payment("A", 1, 0.9, 0, "m"), 8), afa.insert(Payment("B", 1, 0.9, 0, "m"), 9)])
        assert {change.rule for change in found} == {f"sum {i + 1}" for i in range(others)}


@pytest.mark.parametrize("engine", ["auto", "interpreted"])
@pytest.mark.parametrize("seed", [0, 1, 3, 5])
def test_a_set_equals_single_operators_after_every_call(seed: int, engine: str) -> None:
    assert run(seed, engine, n=5, steps=12, most=6)


def test_many_rules_over_dense_batches() -> None:
    assert run(900, "auto", n=25, steps=3, most=250) > 100


def test_a_restored_set_goes_on() -> None:
    assert run(77, "auto", n=5, steps=15, most=6, restored=True)


ONE = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [key] and a.x > 0.1 } WITHIN 9 RETURN a.x AS ax"


def test_a_removed_rule_takes_no_later_event_and_a_late_one() -> None:
    op: Any = Operator(Rules({"one": ONE}, event=Payment), engine="interpreted")
    a, b = Payment("A", 1, 0.5, 0, "m"), Payment("B", 1, 0.7, 0, "m")
    op.push_many([afa.insert(a, 1), afa.insert(b, 5)])
    op.remove("one")
    assert op.push(afa.insert(b, 7)) == []
    found = op.push(afa.insert(b, 3))
    assert [(change.le, change.diff) for change in found] == [(5, -1), (3, 1)]
    op.add("one", ONE)
    assert op.push(afa.insert(b, 9)) == [], "the new rule has seen no A"


def test_another_constant_is_another_rule() -> None:
    """Restored with one constant changed, a rule is replaced, though its shape is the same."""
    op: Any = Operator(Rules({"one": ONE}, event=Payment))
    op.push(afa.insert(Payment("A", 1, 0.5, 0, "m"), 1))
    for given in (ONE.replace("0.1", "0.2"), afa.query(ONE.replace("0.1", "0.2"), event=Payment)):
        other = Operator.restore(Rules({"one": given}, event=Payment), op.snapshot())
        assert [rule.state for rule in other.rules] == ["ended", "in force"]
        assert other.push(afa.insert(Payment("B", 1, 0.5, 0, "m"), 3)) == []
    same = Operator.restore(Rules({"one": afa.query(ONE, event=Payment)}, event=Payment), op.snapshot())
    assert [change.rule for change in same.push(afa.insert(Payment("B", 1, 0.5, 0, "m"), 3))] == ["one"]


def test_rules_of_one_shape_share_an_operator() -> None:
    texts = {}
    for i, (low, factor, window) in enumerate([(0.1, 1.5, 4), (0.2, 2.5, 9)]):
        where = f"[key] and a.x > {low} and b.x > a.x * {factor}"
        texts[str(i)] = f"PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) {{ {where} }} WITHIN {window} RETURN a.x AS v{i}"
    op: Any = Operator(Rules(texts, event=Payment))
    assert len(op._store.groups) == 1
    assert op.explain().splitlines() == [f"{i}: [{-(2**63)}, {2**63 - 1}), one of 2 of its shape" for i in range(2)]


def test_lineage_of_a_rule_in_the_store() -> None:
    op: Any = Operator(Rules({"one": ONE}, event=Payment))
    a, b = Payment("A", 1, 0.5, 0, "m"), Payment("B", 1, 0.7, 0, "m")
    (match,) = op.push_many([afa.insert(a, 1), afa.insert(b, 5)])
    assert [[change.payload for change in changes] for changes in op.lineage(match).events().values()] == [[a], [b]]


BY_HAND = [
    (afa.Arc("s", "a", "type != 'A'"), afa.Arc.skip("a", "type != 'B'"), afa.Arc("a", "f", "type == 'B'")),  # nearly any begins
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


WHOLE = [
    [afa.Arc("s", "a", "type == 'A'"), afa.Arc("a", "f", "type == 'B'")],  # nothing is passed
    [afa.Arc("s", "a", "type == 'A'"), afa.Arc("a", "a", "type != 'B'"), afa.Arc("a", "f", "type == 'B'")],  # taken, not passed
    [afa.Arc("s", "f", "type == 'A'"), afa.Arc.skip("f", "type != 'B'")],  # ends again at each
    [afa.Arc("s", "f", "type == 'A'"), afa.Arc("f", "f", "type == 'B'")],
    [afa.Arc("s", "a", "type == 'A'"), afa.Arc.skip("a", "type != 'B'"), afa.Arc.timeout("a", "f", "5")],
]


class Stamped(NamedTuple):
    type: str
    key: int
    x: float
    n: int
    who: str
    y: float | None = None
    at: afa.Instant | None = None


CONTIGUOUS = [
    "SEQ(A a, B b) WHERE partition_contiguity(a, b) { [key] } WITHIN 9",
    "SEQ(A a, B b) WHERE strict_contiguity(a, b) { a.x > 0.3 } WITHIN 9",
    "SEQ(A a, B+ b[], C c) WHERE partition_contiguity(a, b[], c) { [key] and b[i].x > b[i-1].x } WITHIN 9",
    "SEQ(A a, ~(B b)) WHERE skip_till_next_match(a) { [key] } WITHIN 9",
    "SEQ(A a, B b, ~(C c)) WHERE skip_till_any_match(a, b) { [key] and c.x > a.x } WITHIN 9",
]


@pytest.mark.parametrize("seed", range(3))
def test_rules_that_see_all_events_of_a_key(seed: int) -> None:
    """Contiguity, time-outs: from a begin on each event of the key counts, also one of which no condition is true."""
    patterns: dict[str, Any] = {f"text {i}": f"PATTERN {text} RETURN a.x AS ax" for i, text in enumerate(CONTIGUOUS)}
    for i, arcs in enumerate(WHOLE):
        patterns[f"arcs {i}"] = afa.Automaton(start="s", final={"f"}, event=Stamped, arcs=arcs)
    op: Any = Operator(Rules(patterns, event=Stamped, key="key"), window=9)
    assert len(op._store.rules) == len(patterns)
    assert all(rule.parts.shape.whole for rule in op._standing)
    single: dict[str, Any] = {}
    for name, given in patterns.items():
        made = afa.query(given, event=Stamped) if isinstance(given, str) else None
        key = {} if made is not None and made.key is not None else {"key": "key"}
        single[name] = Operator(given, **key, window=9) if made is None else made.operator(**key)
    mine: Counter[Any] = Counter()
    theirs: Counter[Any] = Counter()
    for step, (batch, promise) in enumerate(calls(random.Random(seed), 40, 12)):
        batch = [(Stamped(*event), le, diff) for event, le, diff in batch]
        add_to(mine, op.push_many(items_of(batch, promise)))
        for name, operator in single.items():
            add_to(theirs, operator.push_many(items_of(batch, promise)), name)
        assert plain(mine) == plain(theirs), (seed, step)
    assert len({row[0] for row in plain(mine)}) > 7


def test_steps_that_wait_for_nothing_are_not_sent() -> None:
    """A begin that comes late finds the events that came before it; what lies behind its end is not sent."""
    op: Any = Operator(Rules({"one": ONE}, event=Payment))
    a, b = Payment("A", 1, 0.5, 0, "m"), Payment("B", 1, 0.7, 0, "m")
    assert op.push_many([afa.insert(b, le) for le in range(5, 50, 5)]) == []
    assert op._store.counts(0) == (0, 0)
    assert [change.le for change in op.push(afa.insert(a, 23))] == [25]
    assert op._store.counts(0) == (3, 1)  # and the one at 30
    assert [(change.le, change.diff) for change in op.push(afa.retract(b, 25))] == [(25, -1), (30, 1)]
    assert [(change.le, change.diff) for change in op.push(afa.insert(a, 12))] == [(15, 1)]
    assert [(change.le, change.diff) for change in op.push(afa.insert(a, 32))] == [(35, 1)]
    op.push(afa.Punctuation(60))
    assert len(op._store.concerned.units) == 0


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("SEQ(~(B b), A a) WHERE skip_till_next_match(a) { [key] } WITHIN 9", "stage"),
    ],
)
def test_what_depends_on_other_events_has_no_shape(pattern: str, why: str) -> None:
    with pytest.raises(NoShape, match=why):
        parts_of(afa.query(f"PATTERN {pattern} RETURN a.x AS ax", event=Timed))


def test_text_that_no_utf_8_holds() -> None:
    """It goes through the store as through an operator; a table of matches can't hold it."""
    text = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [who] and a.x > 0.1 } WITHIN 90 RETURN a.who AS who2"
    op: Any = Operator(Rules({"one": text}, event=Payment))
    for low in (0, 200):  # some pairs, and many
        n = 1 if low == 0 else 30
        batch = [afa.insert(Payment(kind, 1, 0.5, 0, f"\ud800{i}"), low + i) for i in range(n) for kind in "A"]
        batch += [afa.insert(Payment("B", 1, 0.5, 0, f"\ud800{i}"), low + 40 + i) for i in range(n)]
        found = op.push_many(batch)
        assert [(change.key, change.payload.who2) for change in found] == [(f"\ud800{i}",) * 2 for i in range(n)]
    with pytest.raises(afa.ChangeError, match="expected values that Arrow holds"):
        op.push_many(
            [
                afa.insert(Payment("A", 1, 0.5, 0, "\ud800"), 400),
                afa.insert(Payment("B", 1, 0.5, 0, "\ud800"), 401),
                {"type": ["C"], "key": [1], "x": [0.5], "n": [0], "who": ["m"], "y": [None], "le": [402]},
            ]
        )
    assert op.push(afa.insert(Payment("B", 1, 0.5, 0, "\ud800"), 403)) == []


def test_a_skip_that_takes_note() -> None:
    class Low(NamedTuple):
        low: float = 9.0

    arcs = [
        afa.Arc("s", "a", "type == 'A'"),
        afa.Arc.skip("a", "type != 'B'", "r._replace(low=min(r.low, e.x))"),
        afa.Arc("a", "f", "type == 'B'"),
    ]
    pattern = afa.Automaton(start="s", final={"f"}, event=Payment, register=Low(), arcs=arcs)
    op: Any = Operator(Rules({"one": pattern}, event=Payment, key="key"), window=50)
    assert len(op._store.rules) == 1
    events = [("A", 0.9), ("C", 0.4), ("D", 0.6), ("B", 0.5)]
    found = op.push_many([afa.insert(Payment(kind, 1, x, 0, "m"), i) for i, (kind, x) in enumerate(events)])
    assert [change.payload.low for change in found] == [0.4]


def test_a_watermark_alone_lets_time_outs_fire() -> None:
    text = "PATTERN SEQ(A a, ~(B b)) WHERE skip_till_next_match(a) { [key] and a.x > 0.1 } WITHIN 9 RETURN a.x AS ax"
    op: Any = Operator(Rules({"one": text}, event=Stamped))
    assert op.push(afa.insert(Stamped("A", 1, 0.5, 0, "m"), 8)) == []
    assert [getattr(item, "le", None) for item in op.push(afa.Punctuation(30))] == [17, None]
