"""Derive: situations as an operator: keys, tables, promises, snapshots, definitions that change, what it refuses."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

from afa import (
    FOREVER,
    AfaError,
    Arc,
    Automaton,
    Change,
    Instant,
    LateEventError,
    Operator,
    Punctuation,
    SnapshotError,
    find,
    insert,
    retract,
)
from afa.compiled.code import strings
from afa.situations import Derive, Situation, TemporalPattern
from tests.situations.derived import aggregate, situations


class Reading(NamedTuple):
    key: str
    a: bool
    x: float | None


class Numbered(NamedTuple):
    a: bool
    n: int


RETURNS = {"n": "count(a)", "top": "max(b.x)", "sum": "sum(b.x)"}


def _op(**options: Any) -> Derive:
    return Derive(
        Reading, key="key", returns=RETURNS, a=Situation("a", at_least=2), b=Situation("x is not None and x > 0.5"), **options
    )


def _wanted(in_force: dict[tuple[str, int], Any], promised: int, start: float) -> set[Any]:
    found = set()
    for key in {key for key, _ in in_force}:
        mine = {
            le: (re, (row.a, row.x is not None and row.x > start), (row.x, row.x))
            for (of, le), (row, re) in in_force.items()
            if of == key
        }
        clock = max([promised, *mine])
        for name, number in (("a", 0), ("b", 1)):
            for ts, te, readings in situations(mine, clock, number):
                if name == "a" and (clock if te is None else te) - ts < 2:
                    continue
                values = [value for _, value in readings]
                told = (len(values), None, None) if name == "a" else (None, aggregate("max", values), aggregate("sum", values))
                found.add((key, name, ts, te, *told, ts, FOREVER if te is None else te))
    return found


@pytest.mark.parametrize("seed", range(30))
def test_worlds(seed: int) -> None:
    """After each step the situations in force are those of the readings in force."""
    rng = random.Random(f"derive {seed}")
    op, promised, start = _op(), 0, 0.5
    net: Counter[Any] = Counter()
    in_force: dict[tuple[str, int], tuple[Reading, int | None]] = {}
    for _ in range(30):
        step = rng.random()
        out: list[Any] = []
        if step < 0.6:
            rows = {}
            for _ in range(rng.choice([1, 5])):
                row, le = (
                    Reading(rng.choice("ab"), rng.random() < 0.6, rng.choice([None, 0.2, 0.6, 0.9])),
                    promised + rng.randint(0, 15),
                )
                if (row.key, le) not in in_force:
                    rows[row.key, le] = row, rng.choice([None, None, le + rng.randint(1, 5)])
            in_force |= rows
            out = op.push_many([insert(row, le, re) for (_, le), (row, re) in rows.items()])
        elif step < 0.75 and (there := [place for place in in_force if place[1] >= promised]):
            gone = rng.choice(there)
            row, re = in_force.pop(gone)
            out = op.push(retract(row, gone[1], re))
        elif step < 0.85:
            promised += rng.randint(1, 5)
            out = op.push(Punctuation(promised))
        elif step < 0.92:
            op = op.restore(op.snapshot())
        elif not in_force or min(le for _, le in in_force) >= promised:
            start = rng.choice([0.1, 0.5, 0.7])
            out = op.redefine("b", f"x is not None and x > {start}", le=promised)
        for change in out:
            if not isinstance(change, Punctuation):
                net[(change.key, *change.payload, change.le, change.re)] += change.diff
        assert {each for each, copies in net.items() if copies} == _wanted(in_force, promised, start)
        assert all(copies in (0, 1) for copies in net.values())


def test_tables_come_and_go() -> None:
    """A table of readings gives a table of situations."""
    op = Derive(Reading, key="key", b=Situation("x > 0.5"))
    out = op.push_many({"key": ["k"] * 3, "a": [False] * 3, "x": [0.0, 1.0, 0.0], "le": [1, 2, 5]})
    assert [list(column) for column in out.values()] == [["k"], ["b"], [2], [5], [2], [5], [1]]
    assert list(out) == ["key", "name", "ts", "te", "le", "re", "diff"]


def test_a_promise_waits_for_what_goes_on() -> None:
    """A situation that goes on may still end: what is told of it is not final."""
    op = Derive(Reading, a=Situation("a"))
    row = Reading("k", True, None)
    assert op.push_many([insert(row, 3), Punctuation(9)])[-1] == Punctuation(3)
    assert op.push_many([insert(row._replace(a=False), 11), Punctuation(12)])[-1] == Punctuation(12)
    assert op.stage.statistics[:3] == (0, 0, 0)


def test_readings_at_one_time() -> None:
    """Two readings of one key and time are refused, and leave no trace; with an order the last one holds."""
    op = Derive(Reading, a=Situation("a"))
    on, off = Reading("k", True, 1.0), Reading("k", False, 2.0)
    op.push(insert(on, 3))
    with pytest.raises(AfaError, match=r"one reading of a key at a time .* at le=3; order_by="):
        op.push(insert(off, 3))
    assert op.stage.statistics.held == 1
    revised = op.push_many([retract(on, 3), insert(off, 3)])
    assert [change.diff for change in revised] == [-1]
    ordered = Derive(Numbered, order_by="n", a=Situation("a"))
    assert ordered.push_many([insert(Numbered(False, 2), 3), insert(Numbered(True, 1), 3)]) == []
    assert [change.diff for change in ordered.push(insert(Numbered(True, 3), 3))] == [1]


def test_durations_with_units_and_refusals() -> None:
    """Durations mean their length under the tick; what is wrong is told, and nothing changes."""
    op = Derive(Reading, tick="s", a=Situation("a", at_least=timedelta(minutes=1)))
    assert op.push_many([insert(Reading("k", True, None), 0), Punctuation(59)])[:-1] == []
    assert [change.le for change in op.push(Punctuation(60)) if not isinstance(change, Punctuation)] == [0]
    with pytest.raises(AfaError, match="expected definitions but got none"):
        Derive(Reading)
    with pytest.raises(AfaError, match="tick"):
        Derive(Reading, a=Situation("a", at_least="1 minute"))
    with pytest.raises(AfaError, match="name of a definition, of a, but got 'b'"):
        op.redefine("b", "a")
    with pytest.raises(LateEventError, match=r"expected le >= 60 \(promised\) but got le=3 for the definition 'a'"):
        op.redefine("a", "not a", le=3)
    with pytest.raises(AfaError, match="expected a promise of all readings"):
        op.push(Punctuation(99, where="a"))
    with pytest.raises(LateEventError, match=r"expected le >= 60 \(promised\) but got le=5"):
        op.push(insert(Reading("k", True, None), 5))
    with pytest.raises(SnapshotError, match="definitions"):
        Derive(Reading, tick="s", a=Situation("a", at_least=30)).restore(op.snapshot())
    with pytest.raises(AfaError, match="names beside name, ts and te"):
        Derive(Reading, a=Situation("a"), returns={"ts": "count(a)"})


def test_a_whole_frame() -> None:
    """`find` takes situations alone: gaps and islands of a frame."""
    frame = {"key": ["k", "l", "k", "k"], "a": [False] * 4, "x": [1.0, 1.0, 0.0, 1.0], "at": [1, 2, 4, 6]}
    found = find(Derive(Reading, key="key", b=Situation("x > 0.5")), frame, time="at")
    assert [(key, ts, te) for key, ts, te in zip(found["key"], found["ts"], found["te"])] == [
        ("k", 1, 4),
        ("l", 2, None),
        ("k", 6, None),
    ]
    assert repr(Derive(Reading, b=Situation("x > 0.5"))).startswith("Derive(b, at ")
    for name, value in {"partial_matches": 5, "max_bytes": 10_000_000, "window": 3, "longest": True, "engine": "compiled"}.items():
        with pytest.raises(AfaError, match=rf"expected options of Derive, key, tick, but got {name}={value!r}"):
            find(Derive(Reading, key="key", b=Situation("x > 0.5")), frame, time="at", **{name: value})  # type: ignore[arg-type]


class Span(NamedTuple):
    ts: int = 0
    te: int = 0


class Timed(NamedTuple):
    a: bool
    t: Instant


def test_an_automaton_of_six_arcs_says_the_same(engine: Any) -> None:
    """Where a reading comes before the first situation, and one ends each: outside, began, inside, over."""
    began, inside, over = "Span(t, 0)", "r", "Span(r.ts, t)"
    six = Automaton(
        start="0",
        final={"over"},
        event=Timed,
        register=Span(),
        arcs=[
            Arc("0", "outside", "not a"),
            Arc("outside", "began", "a", began),
            Arc("began", "inside", "a", inside),
            Arc("inside", "inside", "a", inside),
            Arc("began", "over", "not a", over),
            Arc("inside", "over", "not a", over),
        ],
    )
    for seed in range(10):
        rng = random.Random(f"six {seed}")
        automaton, derive = Operator(six, engine=engine), Derive(Timed, engine=engine, a=Situation("a"))
        rows = {le: Timed(rng.random() < 0.6, le) for le in range(40)}
        changes = [insert(row, le) for le, row in rows.items()]
        changes += [retract(rows[le], le) for le in rng.sample(range(40), 8)]
        rng.shuffle(changes)  # a retraction may come before its insertion
        nets: list[Counter[Any]] = [Counter(), Counter()]
        for change in changes:
            for net, op in zip(nets, (automaton, derive)):
                for found in op.push(change):
                    net[found.payload[-2:]] += found.diff
        spans, situations_told = ({each for each, copies in net.items() if copies} for net in nets)
        left = sorted(le for le, row in rows.items() if sum(each.diff for each in changes if each.le == le))
        assert spans == {(ts, te) for ts, te in situations_told if te is not None and ts != left[0]}
        assert len(spans) > 2


def test_a_snapshot_with_aggregates_of_another_type() -> None:
    """What an aggregate has come to is of its field's type, within int64; else the snapshot is refused."""
    op = Derive(Reading, returns={"sum": "sum(b.x)", "n": "count(b)", "mean": "avg(b.x)"}, b=Situation("x > 0.5"))
    op.push_many([insert(Reading("k", True, 1.0), 1), Punctuation(3)])
    numbers = op.stage.numbers()
    held = numbers[-1][0][2][0][2]
    assert held == [1.0, 1, [1.0, 1]]
    for place, bad in ((0, "1"), (0, 1), (0, True), (1, 0), (1, 2**63), (2, [1.0, 0]), (2, [1, 1]), (2, 1.0)):
        like = Derive(Reading, returns={"sum": "sum(b.x)", "n": "count(b)", "mean": "avg(b.x)"}, b=Situation("x > 0.5")).stage
        covers = [[None, numbers[-1][0][1], [[1, True, [bad if i == place else each for i, each in enumerate(held)]]]]]
        with pytest.raises(SnapshotError):
            like.load([*numbers[:-1], covers], [None, [], [], [], [], []])


def test_many_definitions() -> None:
    """As many as a word has bits for, and no more."""
    many = {f"s{i}": Situation("n > 1") for i in range(63)}
    with pytest.raises(AfaError, match="expected at most 62 definitions but got 63"):
        Derive(Numbered, **many)
    many.popitem()
    assert len(Derive(Numbered, **many).push(insert(Numbered(True, 2), 1))) == 62


def test_texts_that_nothing_holds_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ever new texts only those count that a situation or a reading still has."""

    class Named(NamedTuple):
        name: str
        on: bool

    monkeypatch.setattr(strings.Strings, "least", 8)
    op = Derive(Named, on=Situation("on"), returns={"first": "first(on.name)", "last": "last(on.name)"})
    for t in range(1, 200):
        op.push(insert(Named(f"n{t}", t % 9 != 0), t))
        op.push(Punctuation(t))
    found = [change.payload for change in op.push(insert(Named("", False), 200)) if isinstance(change, Change) and change.diff > 0]
    assert [each[3:] for each in found] == [("n199", "n199")]
    assert len(op.stage.held._strings) < 64


def test_texts_of_what_became_final_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A situation goes on from a reading that a promise has made final, before its key was looked through: it keeps its text."""

    class Named(NamedTuple):
        key: int
        name: str
        a: bool
        b: bool

    monkeypatch.setattr(strings.Strings, "least", 8)
    pattern = TemporalPattern(
        event=Named, within=100, a=Situation("a"), b=Situation("b"), where="a meets b", returns={"first": "first(a.name)"}
    )
    op = pattern.operator(key="key")
    op.push_many([*(insert(Named(key, "", False, False), 0) for key in range(500)), Punctuation(1)])
    over = Named(7, "over", False, True)
    assert len(op.push_many([insert(Named(7, "first", True, False), 5), insert(over, 10)])) == 1
    op.push(Punctuation(8))
    for i in range(20):
        op.push(insert(Named(8, f"n{i}", True, False), 50 + i))
    found = op.push_many([retract(over, 10), insert(over, 12)])
    assert [(change.diff, change.payload[-1]) for change in found if isinstance(change, Change)] == [(-1, "first"), (1, "first")]
