"""Tables of readings, taken as columns, say what the same readings say one by one."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from afa import AfaError, Int64Error, Punctuation, insert, retract
from afa.compiled import kernel_arrays
from afa.compiled.kernel.layout import Memory
from afa.extra.situations import (
    Derive,
    Situation,
    TemporalPattern,
    held_readings,
    situated,
    told_forms,
)


class Reading(NamedTuple):
    key: str
    a: bool
    x: float
    v: int | None


TOLD = [f"{fold}({of}.{field})" for fold in ("sum", "avg", "min", "max", "first", "last", "count") for of in "ab" for field in "xv"]
TOLD += ["count(a)", "count(b)"]


ONE_BY_ONE = "x > 0.5 and 10 // v > 1"
"""A condition that may raise: it is asked of each reading."""


def _pattern(rng: random.Random) -> TemporalPattern:
    def durations() -> dict[str, int | None]:
        at_least = rng.choice([None, None, 1, 2, 4])
        return {"at_least": at_least, "at_most": rng.choice([None, None, 4, 9])}

    relations = rng.sample(["before", "meets", "overlaps", "starts", "during", "finishes", "equals", "contains", "after"], 4)
    return TemporalPattern(
        event=Reading,
        within=rng.choice([9, 12, 40]),
        a=Situation("a", **durations()),
        b=Situation(rng.choice(["x > 0.5 and not (a and x > 0.9)", ONE_BY_ONE]), **durations()),
        where=f"a {'|'.join(relations)} b",
        returns={f"told{i}": rng.choice(TOLD) for i in range(rng.choice([0, 1, 3]))},
    )


def _net(found: Counter[Any], out: Any) -> None:
    """Add a table of output, or changes, to a net output."""
    if isinstance(out, dict):
        names = [name for name in out if name != "diff"]
        for *row, diff in zip(*(list(map(_one, out[name].tolist())) for name in names), out["diff"].tolist()):
            found[tuple(row)] += diff
        return
    for change in out:
        if not isinstance(change, Punctuation):
            key = () if change.key is None else (change.key,)
            found[(*key, *map(_one, change.payload), change.le, change.re)] += change.diff


def _one(value: Any) -> Any:
    return "NaN" if value != value else value


def _net_of(found: Counter[Any]) -> Counter[Any]:
    return Counter({row: copies for row, copies in found.items() if copies})


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_worlds(monkeypatch: pytest.MonkeyPatch, keyed: bool, seed: int) -> None:
    """Late rows, promises in the call and apart, retractions row by row between tables, snapshots, another condition."""
    monkeypatch.setattr(told_forms, "FEW", 2 if seed % 2 else 64)
    threads = 3 if seed % 2 else 1
    monkeypatch.setattr(situated, "MANY", 64 if seed % 3 else 4)
    monkeypatch.setattr(held_readings, "PACE", 0 if seed % 3 else 16)
    rng = random.Random(f"tables {keyed} {seed}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pattern = _pattern(rng)
    options: dict[str, Any] = {
        "late": "drop",
        "engine": "compiled" if seed % 4 else "interpreted",
        **({"key": "key"} if keyed else {}),
    }
    by_tables, by_rows = pattern.operator(**options, threads=threads), pattern.operator(**options)
    nets = Counter[Any](), Counter[Any]()
    taken: dict[Any, Reading] = {}
    promised, clock = 0, 0
    for _ in range(12):
        rows = []
        for _ in range(rng.choice([0, 1, 5, 30])):
            le = max(0, clock + rng.choice([1, 1, 1, 1, -3, -8]))
            clock = max(clock, le)
            x, v = rng.choice([0.0, 0.6, 0.95, 0.7, float("nan")]), rng.choice([None, -1, 2, 5])
            row = Reading(rng.choice("abc") if keyed else "a", rng.random() < 0.5, x, v)
            place = (row.key, le)
            if place in taken or any(other[:2] == place for other in rows):
                continue
            rows.append((*place, row))
            if le >= promised:
                taken[place] = row
        table = {name: np.array([getattr(row, name) for *_, row in rows]) for name in Reading._fields}
        table |= {"key": np.array([row.key for *_, row in rows], object), "le": np.array([le for _, le, _ in rows], np.int64)}
        table |= {"v": [row.v for *_, row in rows]}
        table |= {"a": table["a"].astype(bool), "x": table["x"].astype(float)}
        ahead = rng.random() < 0.5
        promise = Punctuation(max(promised, clock - rng.randint(0, 9)))
        changes = [insert(row, le) for _, le, row in rows]
        if ahead:
            out = by_tables.push_many([table, promise])
            for part in out:
                _net(nets[0], part if isinstance(part, dict) else [part])
            _net(nets[1], by_rows.push_many([*changes, promise]))
        else:
            _net(nets[0], by_tables.push_many(table))
            _net(nets[1], by_rows.push_many(changes))
            if rng.random() < 0.5:
                _net(nets[0], by_tables.push(promise))
                _net(nets[1], by_rows.push(promise))
                ahead = True
        if ahead:
            promised = promise.t
        step = rng.random()
        there = [place for place in taken if place[1] >= promised]
        if step < 0.3 and there:
            gone = rng.choice(there)
            change = retract(taken.pop(gone), gone[1])
            _net(nets[0], by_tables.push(change))
            _net(nets[1], by_rows.push(change))
        elif step < 0.4:
            again = {name: value for name, value in options.items() if name != "late"}
            held = by_tables.stage.numbers(), by_tables.stage.waiting()
            due = by_tables.stage.due
            by_tables = pattern.restore(by_tables.snapshot(), **again, threads=threads)
            assert held == (by_tables.stage.numbers(), by_tables.stage.waiting())
            assert held[1] == by_rows.stage.waiting()
            assert due == by_tables.stage.due == by_rows.stage.due
        elif step < 0.5:
            at = max(promised, clock - 4)
            _net(nets[0], by_tables.redefine("b", f"x > {rng.choice([0.5, 0.7])}", le=at))
            _net(nets[1], by_rows.redefine("b", by_tables.stage.judged.lines[1][-1].condition.text, le=at))
        assert _net_of(nets[0]) == _net_of(nets[1])
        mine, other = by_tables.stage.statistics, by_rows.stage.statistics
        assert mine[:3] == other[:3]
    assert by_tables.statistics.late == by_rows.statistics.late


def test_a_table_stays_a_table() -> None:
    """A table of insertions makes no object of a row; a retraction does, of its own."""
    pattern = TemporalPattern(event=Reading, within=9, a=Situation("a"), b=Situation("x > 0.5"), where="a overlaps b")
    op = pattern.operator(key="key")
    table = {"key": ["k"] * 40, "a": [True, False] * 20, "x": [0.0, 1.0, 1.0, 0.0] * 10, "v": [1] * 40, "le": list(range(40))}
    op.push_many(table)
    assert not op.stage.held.several
    assert op.stage.statistics[:3] == (40, 1, 0)
    op.push(retract(Reading("k", True, 0.0, 1), 0))
    assert not op.stage.held.several
    assert op.stage.statistics[:3] == (39, 1, 0)
    op.push(insert(Reading("k", True, 0.0, 1), 8))  # one more of what is there
    assert list(op.stage.held.several) == [(8, 0)]
    assert op.stage.statistics[:3] == (39, 1, 0)


def test_sums_that_leave_int64() -> None:
    """A sum of ints is exact as long as it does not leave int64, and refused where it does."""
    pattern = TemporalPattern(
        event=Reading, within=99, a=Situation("a"), b=Situation("x > 0.5"), where="a overlaps b", returns={"sum": "sum(a.v)"}
    )
    table = {"key": ["k"] * 4, "a": [True, True, True, False], "x": [0.0, 0.0, 1.0, 1.0], "le": list(range(4))}
    op = pattern.operator()
    out = op.push_many({**table, "v": [2**62, -(2**62), 7, 0]})
    assert out["sum"].tolist() == [7]
    with pytest.raises(Int64Error, match="expected a sum within int64"):
        pattern.operator().push_many({**table, "v": [2**62, 2**62, 7, 0]})
    assert pattern.operator().push_many({**table, "v": [2, 3, 7, 0]})["sum"].tolist() == [12]


@pytest.mark.parametrize("given", [0, -1, True, 2.0, "2"])
def test_threads_are_a_number(given: Any) -> None:
    pattern = TemporalPattern(event=Reading, within=9, a=Situation("a"), b=Situation("x > 0.5"), where="a overlaps b")
    for key in (None, "key"):
        with pytest.raises(AfaError, match="expected a number of threads, at least 1, but got threads="):
            pattern.operator(key=key, threads=given)


def test_returns_in_pandas_have_the_types_of_arrow() -> None:
    """Columns of values that may be missing are objects only where one is."""

    class Room(NamedTuple):
        temp: float | None
        n: int

    frame = pd.DataFrame({"temp": [60.0, 90.0, 60.0, 95.0, 40.0], "n": range(5), "le": range(5)})
    asked = {"top": "max(hot.temp)", "many": "count(hot)", "last": "last(hot.n)"}
    hot, cold = Situation("n % 2 == 1"), Situation("n % 2 == 0")
    pattern = TemporalPattern(event=Room, hot=hot, cold=cold, where="hot meets cold", within=9, returns=asked)
    for made in (pattern.operator, lambda: Derive(Room, hot=hot, returns=asked)):
        found, arrow = made().push_many(frame), made().push_many(pa.Table.from_pandas(frame))
        assert [found[name].dtype for name in asked] == [arrow[name].type.to_pandas_dtype() for name in asked]
        assert found[list(asked)].values.tolist() == arrow.select(list(asked)).to_pandas().values.tolist()
    found = made().push_many(frame.assign(temp=[60.0, None, 60.0, 95.0, 40.0]))
    assert found["top"].tolist() == [None, 95.0]
    assert found["top"].dtype == object


def _states(op: Any) -> Any:
    """Return what is held, as a snapshot has it."""
    return op.stage.numbers(), op.stage.waiting()


@pytest.mark.parametrize("n", range(8, 48))
def test_what_went_and_came_is_undone_within_its_block(n: int) -> None:
    """Readings go and others fill their places, whatever room is left: the readings of other keys stay as they are."""

    class On(NamedTuple):
        key: str
        on: bool

    op = Derive(On, key="key", on=Situation("on"))
    rows = {(key, le): On(key, le % 2 == 0) for key in "abc" for le in range(n)}
    for (_, le), row in rows.items():
        op.push(insert(row, le))
    before = _states(op)
    gone = [retract(rows["a", le], le) for le in (0, 1, 5)]
    tables = [{"key": [key] * 3, "on": [False] * 3, "le": [n, n + 1, n + 2]} for key in "ba"]
    with pytest.raises(AfaError, match="expected a change"):
        op.push_many([*gone, *tables, "none"])
    assert _states(op) == before


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_calls_that_fail(monkeypatch: pytest.MonkeyPatch, keyed: bool, alone: bool, seed: int) -> None:
    """Late tables, retractions, promises, and then an error: all is as it was, and goes on like what has never seen the call.

    The heap moves whenever it grows. Half of the tables lie far back, so that they are merged with most of what is held.
    """
    monkeypatch.setattr(kernel_arrays, "RESERVED", 0)
    monkeypatch.setattr(held_readings, "PACE", 0 if seed % 3 else 16)
    rng = random.Random(f"fails {keyed} {alone} {seed}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pattern = _pattern(rng)
    options: dict[str, Any] = {"key": "key"} if keyed else {}
    made: Any = lambda: pattern.operator(**options)  # noqa: E731
    if alone:
        a = Situation("a", at_least=rng.choice([None, 3]), at_most=rng.choice([None, 9]))
        returns = {"sum": "sum(a.v)", "n": "count(a)", "top": "max(b.x)"} if seed % 2 else None
        made = lambda: Derive(Reading, **options, late="raise", returns=returns, a=a, b=Situation("x > 0.5"))  # noqa: E731
    ops = made(), made()
    nets = Counter[Any](), Counter[Any]()
    held: dict[tuple[str, int], Reading] = {}
    promised, clock = 0, 20
    for op in ops:
        op.push(Punctuation(promised))

    def calls(far: bool) -> list[Any]:
        """Draw what comes in one call, and let it be held."""
        nonlocal promised, clock
        items: list[Any] = []
        for _ in range(rng.choice([1, 2, 4])):
            low = promised if far else max(promised, clock - 4)
            places = [(key, le) for key in ("abc" if keyed else "a") for le in range(low, clock + 9)]
            free = [place for place in places if place not in held]
            step = rng.random()
            there = [place for place in held if place[1] >= promised]
            if step < 0.6 and free:
                chosen = rng.sample(free, min(len(free), rng.choice([1, 3, 20])))
                rows = [Reading(key, rng.random() < 0.5, rng.choice([0.0, 0.7]), rng.choice([None, 2, 5])) for key, _ in chosen]
                held.update(zip(chosen, rows))
                clock = max(clock, *(le for _, le in chosen))
                if rng.random() < 0.5:
                    items.append({**{name: [*each] for name, each in zip(Reading._fields, zip(*rows))}, "le": [*zip(*chosen)][1]})
                else:
                    items += [insert(row, le) for row, (_, le) in zip(rows, chosen)]
            elif step < 0.85 and there:
                items += [retract(held.pop(place), place[1]) for place in rng.sample(there, min(len(there), rng.choice([1, 3, 9])))]
            else:
                promised = min(clock, promised + rng.randint(0, 3))
                items.append(Punctuation(promised))
        return items

    for step in range(25):
        was = dict(held), promised, clock
        before = _states(ops[0])
        with pytest.raises(AfaError):
            ops[0].push_many([*calls(rng.random() < 0.5), rng.choice(["none", insert(Reading("a", True, 0.0, 1), promised - 1)])])
        assert _states(ops[0]) == before, step
        held, promised, clock = was
        items = calls(rng.random() < 0.5)
        for net, op in zip(nets, ops):
            for item in items:
                out = op.push_many(item if isinstance(item, dict) else [item])
                _net(net, out)
        assert _states(ops[0]) == _states(ops[1]), step
        assert _net_of(nets[0]) == _net_of(nets[1]), step


def test_tables_of_calls_that_fail_are_forgotten() -> None:
    """A table that is refused again and again takes no memory; those before it stay."""
    op = Derive(Reading, a=Situation("a"))
    table = {"key": ["k"] * 9, "a": [True] * 9, "x": [0.0] * 9, "v": [1] * 9, "le": list(range(9))}
    op.push_many(table)
    for _ in range(3):
        with pytest.raises(AfaError, match="expected one reading of a key at a time"):
            op.push_many({**table, "x": [1.0] * 9})
    assert len(op.stage.held._tables) == len(op.stage.held._ends) == 1
    assert op.stage.waiting() == [insert(Reading("k", True, 0.0, 1), le) for le in range(9)]


@pytest.mark.parametrize("order_by", [None, "n"])
def test_two_readings_of_a_time_within_a_call(order_by: str | None) -> None:
    """What counts is what a call comes to, also where they come in tables; at a promise, what it comes to so far."""

    class Row(NamedTuple):
        n: int
        a: bool

    def table(*les: int, rows: list[Row]) -> dict[str, Any]:
        return {"n": [row.n for row in rows], "a": [row.a for row in rows], "le": list(les)}

    on, off = Row(1, True), Row(2, False)
    for items in (
        [insert(on, 1), insert(off, 1)],
        [insert(on, 1), table(1, 2, rows=[off, off])],
        [table(1, rows=[on]), table(1, rows=[off])],
        [table(1, 1, rows=[on, off]), table(2, rows=[off])],
    ):
        op, net = Derive(Row, order_by=order_by, a=Situation("a")), Counter[Any]()
        for out in op.push_many([*items, retract(on, 1), insert(on, 5)]):
            _net(net, out if isinstance(out, dict) else [out])
        assert [row[:4] for row in _net_of(net)] == [("a", 5, None, 5)]
        assert op.stage.waiting()[0] == insert(off, 1)
        op = Derive(Row, a=Situation("a"))
        with pytest.raises(AfaError, match="expected one reading of a key at a time"):
            op.push_many([*items, Punctuation(1), retract(on, 1)])


def test_a_sum_may_leave_int64_within_a_call() -> None:
    """What counts is what a call comes to: a large value goes, and another one comes."""
    large, small = Reading("k", True, 0.0, 2**62), Reading("k", True, 0.0, 1)
    op = Derive(Reading, a=Situation("a"), returns={"sum": "sum(a.v)"})
    op.push_many([insert(large, 1), insert(small, 2)])
    found = op.push_many([retract(large, 1), insert(large, 3)])
    assert [(change.diff, change.payload[1:]) for change in found] == [(-1, (1, None, 2**62 + 1)), (1, (2, None, 2**62 + 1))]
    assert op.push_many([insert(large, 4), retract(large, 4)]) == []
    before = _states(op)
    with pytest.raises(Int64Error, match="expected a sum within int64"):
        op.push_many([insert(large, 4), insert(small, 5)])
    assert _states(op) == before
    op, short = Derive(Reading, a=Situation("a", at_least=9), returns={"sum": "sum(a.v)"}), Reading("k", False, 0.0, 0)
    with pytest.raises(Int64Error, match="expected a sum within int64"):  # of a situation that is not told, but may be
        op.push_many([insert(large, 1), insert(large, 2), insert(short, 3)])
    assert op.push_many([insert(large, 1), insert(large, 2), insert(short, 3), retract(large, 1)]) == []


def test_memory_moves_from_key_to_key() -> None:
    """Of readings that are final the memory serves those of other keys; a call that fails takes it back."""
    op, n = Derive(Reading, key="key", a=Situation("a")), 3000
    tops, t = [], 0
    for i in range(12):
        table = {"key": [f"k{i}"] * n, "a": [le % 2 == 0 for le in range(n)], "x": [0.0] * n, "v": [1] * n}
        op.push_many({**table, "le": [*range(t, t + n)]})
        last = insert(Reading(f"k{i}", False, 0.0, 1), t + n)
        before = _states(op)
        with pytest.raises(AfaError, match="expected a change"):
            op.push_many([last, Punctuation(t + n), {**table, "le": [*range(t + n + 1, t + 2 * n + 1)]}, "none"])
        assert _states(op) == before
        op.push_many([last, Punctuation(t + n + i % 2)])
        assert op.stage.statistics.held == 1 - i % 2
        t += n + 2
        tops.append(int(op.stage.held.memory.m[Memory.top]))
    assert tops[-1] - tops[3] < n
