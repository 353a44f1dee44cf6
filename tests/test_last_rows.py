"""LastBefore over tables, before the compiled operator and the interpreted one: the same matches."""

from __future__ import annotations

import copy
import random
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from afa import FOREVER, AfaError, Arc, Automaton, Change, ChangeError, Keyed, LateEventError, Punctuation
from afa.compiled import kernel_arrays
from afa.errors import SnapshotError
from afa.schema import Instant, Schema
from afa.state.plain import field_columns
from speculation import LastBefore, LookBack
from speculation.last_rows import LastRows
from speculation.rows import row_layout, row_memory
from speculation.rows.row_entry import main
from speculation.rows.row_memory import RowMemory
from tests.compiled.plain import plain
from tests.nojit import Columns, Words


class Tick(NamedTuple):
    symbol: str
    sort: str
    x: float | None
    n: int
    yes: bool
    seq: int


WHERE: dict[str, Any] = {
    "last_a": "sort == 'a'",
    "small": "x < 1 or yes and n == 3",
    "odd": "n % 2 == 1",
}


def look(engine: str, window: int | None, order: str | None, late: Any = "raise") -> LookBack:
    stage = LastBefore(Tick, WHERE, window=window, order_by=order)
    calm = Automaton(
        start="0",
        final={"1"},
        event=stage.filled,
        arcs=[
            Arc("0", "1", "sort == 'b' and (last_a is None or small is not None)"),
            Arc("0", "1", "n == 2 and odd is not None and odd < 40"),
        ],
    )
    op = Keyed(calm, key="symbol", window=9, engine=engine, order_by=order, late=late)  # type: ignore[arg-type]
    return stage.before(op)


class World:
    """Tables of all kinds, with late rows, retractions and promises among them."""

    def __init__(self, seed: int) -> None:
        self.random = choose = random.Random(seed)
        window, order = choose.choice([None, 4, 30]), choose.choice([None, "seq"])
        self.late: tuple[list[Any], list[Any]] = [], []
        self.ops = [look(name, window, order, late.append) for name, late in zip(("interpreted", "compiled"), self.late)]
        self.there: list[tuple[Tick, int]] = []
        self.promised = -5

    def rows(self, number: int) -> dict[str, list[Any]]:
        choose, found = self.random, []
        for _ in range(choose.choice([1, 6, 25, 60])):
            if self.there and choose.random() < 0.25:
                payload, le = self.there.pop(choose.randrange(len(self.there)))
                found.append((*payload, le, -1))
                continue
            tick = Tick(
                choose.choice("XYZ"),
                choose.choice("abcd"),
                choose.choice([None, 0.5, -0.0, 2.0, float("nan")]),
                choose.randint(0, 4),
                choose.random() < 0.5,
                choose.randint(0, 3),
            )
            le = number * 10 + choose.randint(-12, 12)
            self.there.append((tick, le))
            found.append((*tick, le, 1))
        return {name: list(column) for name, column in zip((*Tick._fields, "le", "diff"), zip(*found))}

    def tables(self, rows: dict[str, list[Any]]) -> Any:
        """The rows as a call: a table of some kind, in pieces, with punctuations."""
        choose, n = self.random, len(rows["le"])
        if choose.random() < 0.3:
            rows = {**rows, "kind": [0] * n}
            at = choose.randint(0, n)
            for name, column in rows.items():
                blank = {"kind": 2, "le": self.promise(min(rows["le"][at:], default=10**9)), "diff": 1}
                filler = blank.get(name, None if name == "x" else column[0])
                column.insert(at, filler)
        kind = choose.choice(["dict", "arrays", "arrow", "pandas"])
        if kind == "arrow":
            return pa.table(rows)
        if kind == "pandas":
            return pd.DataFrame({**rows, "x": pd.array(rows["x"], dtype=object)})
        return rows if kind == "dict" else {name: column if name == "x" else np.array(column) for name, column in rows.items()}

    def promise(self, limit: int) -> int:
        if self.random.random() < 0.8:  # else rows come late
            limit = min([limit, *(le for _, le in self.there)]) if self.random.random() < 0.5 else limit
            self.promised = max(self.promised, min(limit, self.promised + 8))
        else:
            self.promised += 3
        return self.promised

    def step(self, number: int) -> int:
        rows = self.rows(number)
        call: Any = self.tables(rows)
        if self.random.random() < 0.5:
            call = [call, Punctuation(self.promise(10**9))]
        net = self.random.random() < 0.7
        out = [told(op.push_many(call, net=net)) for op in self.ops]
        assert out[0] == out[1]
        assert self.late[0] == self.late[1]
        assert self.ops[0].stage.statistics == self.ops[1].stage.statistics
        if self.random.random() < 0.3:
            assert self.ops[0].stage.numbers() == self.ops[1].stage.numbers()
            assert set(map(repr, self.ops[0].stage.waiting())) == set(map(repr, self.ops[1].stage.waiting()))
        return len(out[0])


def told(output: Any) -> Any:
    """Output, for comparison."""
    if isinstance(output, list):
        return [each for part in output for each in (told(part) if not isinstance(part, Punctuation) else [repr(part)])]
    columns = output.to_pydict() if isinstance(output, pa.Table) else {name: list(output[name]) for name in output}
    return sorted(map(repr, zip(*([str(value) for value in column] for column in columns.values()))))


@pytest.mark.parametrize("seed", range(3))
def test_tables_say_what_changes_say(seed: int) -> None:
    matches = late = 0
    for number in range(6):
        world = World(100 * seed + number)
        for step in range(12):
            matches += world.step(step)
        late += len(world.late[0])
    assert matches > 200
    assert late > 5


def test_kernels_as_python_never_leave_their_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = plain(main)
    monkeypatch.setattr(row_memory, "main", lambda: lambda memory, *what: int(checked(Words(memory.m), Columns(memory.r), *what)))
    monkeypatch.setattr(row_memory, "HEAP", 1 << 12)
    monkeypatch.setattr(kernel_arrays, "RESERVED", 0)
    for number in range(2):
        world = World(number)
        for step in range(6):
            world.step(step)


def test_rows_are_free_once_after_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = fresh()
    events = [Change(Tick("X", "a", 1.0, 1, True, 0), le, le + 9, 1, "X") for le in range(9, 29)]
    stage.push_many(events)
    called = row_memory.main()

    def interrupted(memory: RowMemory, what: int, n: int) -> int:
        if what == row_layout.COMMIT:
            monkeypatch.setattr(row_memory, "main", lambda: called)
            raise KeyboardInterrupt
        return called(memory, what, n)

    monkeypatch.setattr(row_memory, "main", lambda: interrupted)
    with pytest.raises(KeyboardInterrupt):
        stage.push_many([event._replace(diff=-1) for event in events[:10]])
    stage.push(events[0])
    memory = stage.rows._memory
    free, held = memory._free.tolist(), memory.held()[0].tolist()
    assert len({*free, *held}) == len(free) + len(held)
    assert stage.statistics.held == 11


def test_a_copy_has_arrays_of_its_own() -> None:
    memory = fresh().rows._memory
    other = copy.deepcopy(memory)
    assert other.addresses[0] != memory.addresses[0]
    assert other.addresses == (other.m.ctypes.data, 0, other.r.ctypes.data, other.width)


def test_rows_that_do_not_fit_are_told_as_ever() -> None:
    op = look("compiled", 20, None)
    good = {"symbol": ["X"] * 3, "sort": ["a"] * 3, "x": [1.0, None, 2.0], "n": [1, 2, 3], "yes": [True] * 3, "seq": [0] * 3}
    op.push_many({**good, "le": [5, 6, 7]})
    before = op.snapshot()
    for wrong, message in (
        ({"le": [5, 6, 7], "re": [9, 6, 10]}, "expected re > le"),
        ({"le": [5, 6, 7], "diff": [1, 0, 1]}, "expected diff=1 or -1"),
        ({"le": [5, FOREVER, 7]}, "expected le < "),
        ({"le": [5, 6, 7], "n": [1, "b", 2]}, "expected n: int"),
    ):
        with pytest.raises(AfaError, match=message):
            op.push_many({**good, **wrong})
        assert op.snapshot() == before
    op.push(Punctuation(6))
    with pytest.raises(LateEventError, match=r"expected le >= 6 \(promised\) but got le=5 for Tick"):
        op.push_many({**good, "le": [8, 5, 9]})
    many = {**good, "le": [8, 8, 8], "diff": [2**63 - 1, 1, 1]}
    with pytest.raises(ChangeError, match="expected at most 9223372036854775807 copies of an event but got diff=1"):
        op.push_many({name: [column[0]] * 3 if name not in ("diff", "le") else column for name, column in many.items()})
    assert op.push_many({**good, "le": [8, 8, 8]})["diff"].tolist() == [1]


def test_a_long_line_and_many_keys_find_room() -> None:
    op, other = look("compiled", None, None), look("interpreted", None, None)
    n = 6000
    symbol, le = np.array([f"s{i % 2000}" if i % 2 else "X" for i in range(n)]), np.arange(n)[::-1].copy()
    sort = np.where(np.arange(n) % 50 == 0, "a", "b")
    table = {"symbol": symbol, "sort": sort, "x": np.ones(n), "n": np.full(n, 2), "yes": le % 2 == 0, "seq": le % 3, "le": le}
    assert told(op.push_many(table)) == told(other.push_many(table))
    late = {name: column[:20].copy() for name, column in table.items()}
    late["le"], late["sort"], late["symbol"] = np.full(20, 7), np.full(20, "a"), np.full(20, "X")
    late["seq"] = np.arange(20)
    assert told(op.push_many(late)) == told(other.push_many(late))
    assert op.stage.statistics == other.stage.statistics
    for each in (op, other):
        each.push(Punctuation(5000))
    assert op.stage.statistics == other.stage.statistics


CONDITIONS = [
    "True",
    "yes",
    "not yes",
    "sort == 'a'",
    "'b' <= sort",
    "sort in ('a', 'c') and n != 2",
    "x < 1",
    "x is None or x >= 2.0",
    "not x < 1",
    "x == 0.5 or n > 2 and not yes",
    "x < 1 and sort > 'a'",
    "n < 2.5",
    "n + seq == 3",
    "10 // n > 3",
    "sort.startswith('a')",
]


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_over_columns_means_what_it_means_of_one_event(text: str) -> None:
    choose, schema = random.Random(1), Schema.of(Tick, "event")
    ticks = [
        Tick(
            "X", choose.choice("abc"), choose.choice([None, 0.5, 2.0, float("nan")]), choose.randint(0, 4), choose.random() < 0.5, 1
        )
        for _ in range(200)
    ]
    columns = dict(zip(Tick._fields, field_columns([list(column) for column in zip(*ticks)], schema.fields, len(ticks))))
    stage = LastBefore(Tick, {"first": "True", "last": text})
    first, last = (np.broadcast_to(truth, len(ticks)).tolist() for truth in LastRows(stage)._truths(columns, len(ticks)))
    assert last == [stage.conditions["last"].holds(tick) for tick in ticks]
    assert all(first)


def test_the_instant_is_filled_on_the_way() -> None:
    class At(NamedTuple):
        kind: str
        at: Instant

    found = []
    for engine in ("interpreted", "compiled"):
        stage = LastBefore(At, {"alarm": "kind == 'a' and at > 3"})
        soon = Automaton(
            start="0",
            final={"1"},
            event=stage.filled,
            arcs=[Arc("0", "1", "alarm is not None and at - alarm == 1 and kind == 'b'")],
        )
        op = stage.before(Keyed(soon, key="group", window=5, engine=engine))  # type: ignore[arg-type]
        table = {"kind": ["a", "b"] * 10, "group": [1] * 20, "le": list(range(20))}
        found.append([op.push_many(table)["le"].tolist(), told(op.push_many({**table, "at": table["le"]}))])
        with pytest.raises(ChangeError, match="expected at=3, the event's LE"):
            op.push_many({**table, "at": [*range(3), 2, *range(4, 20)]})
    assert found[0] == found[1]
    assert found[0][0] == list(range(5, 20, 2))


def fresh() -> LastBefore:
    return LastBefore(Tick, WHERE, window=30)


def test_what_rows_hold_goes_over_as_columns() -> None:
    stage = fresh()
    ticks = [Tick("X", "a", None, 1, True, 0), Tick("Y", "b", 0.5, 3, True, 1), Tick("X", "b", float("nan"), 2, False, 2)]
    stage.push_many([Change(tick, le, le + 9, 1, tick.symbol) for le in range(0, 30, 5) for tick in ticks])
    stage.push_many([Change(ticks[0], 28, 37, -1, "X"), Change(ticks[1], 29, 38, 3, "Y"), Punctuation(15)])
    numbers, part = stage.numbers(), stage.part()
    other = fresh()
    other.load(numbers, part)
    assert (other.numbers(), other.snapshot(), other.statistics) == (numbers, stage.snapshot(), stage.statistics)
    by_key = fresh()
    by_key.load(stage.numbers(["X"]), stage.part(["X"]))
    by_key.load(numbers, part, without=["X"])
    assert by_key.snapshot() == stage.snapshot()
    late = Change(ticks[0], 16, 25, 1, "X")
    assert set(map(repr, stage.push(late))) == set(map(repr, by_key.push(late)))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ((0,), ["symbol"], "expected payload=Tick"),
        ((1,), ["X"], "expected columns of one length"),
        ((2, 0), 3, "expected events at or above the promise 10"),
        ((2, 0), "3", "expected matches with their times"),
        ((2, 0), FOREVER, "expected matches with their times"),
        ((3, 0), 10, "expected matches with their times"),
        ((4, 0), 0, "expected matches with their times"),
        ((4, 0), 2**63, "expected matches that wait but got something else"),
        ((5, 3, 0), True, "expected payload=Tick"),
        ((5, 3, 0), 2**63, "expected the numbers of a LastBefore but got something else"),
        ((5, 0, 0), "\udcff", None),
    ],
)
def test_columns_that_an_enemy_has_made_are_refused(place: Any, value: Any, message: str | None) -> None:
    stage = fresh()
    stage.push_many([Change(Tick("X", "a", 1.0, 1, True, 0), le, le + 9, 1, "X") for le in (5, 12, 14)] + [Punctuation(10)])
    numbers, part = stage.numbers(), copy.deepcopy(stage.part())
    at = part
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    if message is None:
        fresh().load(numbers, part)
        return
    with pytest.raises(SnapshotError, match=message):
        fresh().load(numbers, part)


def test_numbers_that_an_enemy_has_made_are_refused() -> None:
    stage = fresh()
    stage.push_many([Change(Tick("X", "a", 1.0, 1, True, 0), le, le + 9, 1, "X") for le in (5, 12)] + [Punctuation(10)])
    (said, promised, revised, floors), part = stage.numbers(), stage.part()
    for wrong in ([["X", (0, 10)]], [["X", (7, 5)]], [["X", (0, -21)]], [["X", (True, 5)]], [["X"]], [["X", (0, 5.0)]]):
        with pytest.raises(SnapshotError, match=r"expected the last events below the promise|expected the numbers of a LastBefore"):
            fresh().load([said, promised, revised, wrong], part)
    for other in ([said, promised, revised, floors], [[*said[:2], []], promised, revised, []]):
        with pytest.raises(SnapshotError, match=r"expected keys that are not held|expected the parameters"):
            stage.load(other, part)
