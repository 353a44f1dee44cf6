"""Rows where only the longest count: lists of many registers through random arcs, some of which ask for ranges of registers.

In order, late and taken back; arcs come and go. Beside the interpreted engine, whose lists `_check` derives anew; comparisons in
all forms, of ints and of floats with NaN and -0.0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from afa import Arc, Automaton, Operator, Punctuation, insert, retract
from afa.compiled import batches, choices
from afa.compiled.kernel import layout as k
from tests import oracle
from tests.lanes import sample
from tests.strategies import Seeded
from tests.stress.tables import is_arc


class Sale(NamedTuple):
    """What happens."""

    sort: int
    val: int
    size: float
    text: str


class Held(NamedTuple):
    """What is remembered."""

    last: int = 0
    first: int = 0
    total: float = 0.0
    note: str | None = None


INTS = ("e.val >= r.last", "e.val > r.last", "r.last >= e.val", "e.val < r.last", "3 <= r.last", "r.last > 5")
FLOATS = (
    *("e.size >= r.total", "e.size > r.total", "r.total >= e.size"),
    *("e.size < r.total", "1.5 <= r.total", "r.total <= e.size + 1.0"),
)
OTHERS = (
    *("e.val != r.last", "e.val != r.first", "e.val >= r.last and e.size >= r.total", "r.last % 3 != e.sort", "e.val >= r.first"),
    *("e.val < r.last + 1", "r.note is None", "e.text != r.note", "e.val > r.first + 9"),
)
EVENTS = ("e.sort == 1", "e.sort != 2", "e.val > 20", "e.text == 'x'", "e.sort == 1 and e.size > 0")
ORDERED = ("Held(e.val, 0, e.size)", "r._replace(last=e.val, total=e.size)", "r._replace(last=e.val)", "r._replace(total=-e.size)")
TRANSFERS = (
    *("r._replace(last=e.val)", "r._replace(last=e.val, first=0)", "Held(e.val)", "r._replace(total=e.size, note=e.text)"),
    *("r._replace(first=r.last, last=e.val % 7)", "r._replace(last=3)"),
)
SIZES = ((0.0, -0.0, 1.5, -1.5, 2.0, -3.0, math.nan, math.inf, -math.inf), tuple(n / 2 for n in range(-2, 6)))


def arcs(choose: Seeded, ranges: bool) -> list[Arc]:
    """Random arcs between states that events mostly leave as they are; those for ``ranges`` ask for hardly anything else."""
    form, transfers = choose.one([INTS, FLOATS]), ORDERED if ranges else TRANSFERS

    def fence(sort: int) -> str:
        if not ranges:
            alone = choose.one(EVENTS) if sort == 1 else f"e.sort == {sort}"
            return " and ".join([alone, *([choose.one(INTS + FLOATS + OTHERS)] if choose.chance(60 if sort == 1 else 20) else [])])
        pool = form if choose.chance(80) else choose.one([INTS, FLOATS, OTHERS])
        return f"e.sort == {sort}" + (f" and {choose.one(pool)}" if choose.chance(85) else "")

    def skip(state: str) -> Arc:
        note = None if ranges or state == "a" else choose.one([None, None, "r._replace(first=max(r.first, e.sort))"])
        return Arc.skip(
            state, choose.one(["True"] * 6 + ["e.sort != 3", "e.val > 1", "e.val != r.last"]), note, name=f"skip {state}"
        )

    begin = choose.one([None, "r._replace(first=e.val % 3)", "Held(e.val, 0, e.size)"])
    found = [Arc("s", "a", "e.sort == 0", begin, name="begin"), skip("a"), skip("b")]
    found += [Arc("a", "b", fence(1), choose.one(transfers), name="ab")]
    found += [Arc("b", "b", fence(1), choose.one(transfers), name=f"bb {i}") for i in range(choose.number(1, 2))]
    if choose.chance(50):
        found += [Arc("b", "d", fence(1), choose.one([None, *transfers]), name="bd"), *([skip("d")] if ranges else [])]
        found += [
            Arc("d", choose.one(["d", "b"]), fence(1), choose.one([None, *transfers] if not ranges else transfers), name="dd")
        ]
        found += [Arc("d", "c", fence(2), choose.one(["Held(e.val)", "Held(0, r.first)", None]), name="dc")]
    found += [
        Arc("b", "c", fence(2), choose.one(["Held(e.val)", "Held(e.val)", "Held(r.last)", "r._replace(last=0)", None]), name="bc")
    ]
    return [*found, skip("c")] if choose.chance(15) else found


def more_arcs(choose: Seeded) -> list[Arc]:
    """Arcs that come and go: some make states final."""
    found = [Arc("b", "b", choose.one(EVENTS), choose.one([None, *TRANSFERS]), name=f"more {i}", final=i == 0) for i in range(2)]
    found += [
        Arc("b", "d", choose.one(OTHERS), name="to d", final=choose.chance(50)),
        Arc.skip("d", choose.one(EVENTS), name="more skip"),
    ]
    return [*found, Arc("a", "c", "e.sort == 3", choose.one(TRANSFERS), name="ac")]


def rows(choose: Seeded, low: int, high: int, window: int | None, gap: int, late: bool, most: int) -> dict[str, Any]:
    """Events at most instants from ``low`` to ``high``, hardly ever two at one; in order, or some of them ``late``."""
    le = [t for t in range(low, high, gap) if choose.chance(90)]
    for _ in range(choose.number(0, len(le) // 6) if late else 0):
        le.insert(choose.number(0, len(le)), le.pop(choose.number(0, len(le) - 1)))
    if late and choose.chance(20):
        le.append(choose.one(le))
    n, sizes = len(le), choose.one(SIZES)
    columns = {"le": np.array(le), "sort": np.array([choose.one([0, 1, 1, 1, 1, 1, 1, 2, 3]) for _ in range(n)])}
    columns |= {
        "val": np.array([choose.number(0, most) for _ in range(n)]),
        "size": np.array([choose.one(sizes) for _ in range(n)]),
    }
    columns["text"] = np.array([choose.one(["x", "y", "z"]) for _ in range(n)])
    if window is None:
        columns["re"] = columns["le"] + np.array([choose.one([5, 60, 60, 60, 200, choose.number(1, 90)]) for _ in range(n)])
    return columns


def single(choose: Seeded, columns: dict[str, Any]) -> Any:
    """A row taken back, or one more like it."""
    at = choose.number(0, len(columns["le"]) - 1)
    payload = Sale(*(columns[name][at].item() for name in Sale._fields))
    lifetime = [int(columns[name][at]) for name in ("le", "re") if name in columns]
    if choose.chance(50):
        return retract(payload, *lifetime)
    return insert(payload._replace(val=choose.one([6, 7]), sort=choose.number(0, 2)), *lifetime)


def swapped(choose: Seeded, columns: dict[str, Any], pool: list[Arc], there: set[int]) -> dict[str, Any]:
    """The same with arcs that come and go between its rows, in the default mode; ``there``: which of them are in force."""
    n = len(columns["le"])
    out = {**columns, "kind": np.zeros(n, np.int8), "arc": np.zeros(n, np.int64), "diff": np.ones(n, np.int64)}
    at = sorted(choose.number(1, n - 1) for _ in range(choose.number(1, 3)))
    for shift, place in enumerate(at):
        arc = choose.number(0, len(pool) - 1)
        new = {"kind": 1, "arc": arc, "diff": -1 if arc in there else 1, "le": -(2**63), "re": 2**63 - 1}
        out = {name: np.insert(column, place + shift, new.get(name, column[0])) for name, column in out.items()}
        there ^= {arc}
    return out


def matches(changes: Any) -> list[Any]:
    """Changes of matches by what they show, in which NaN is one value."""
    return [(insert if diff > 0 else retract)(repr(tuple(payload)), le, re) for payload, le, re, diff, *_ in changes]


def told(table: pa.Table) -> list[Any]:
    """A table of changes as rows."""
    return [([row[name] for name in Held._fields], row["le"], row["re"], row["diff"]) for row in table.to_pylist()]


def one(number: int, n: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """A random automaton over a random stream; how many matches there were, and of how many events ranges were asked."""
    choose = Seeded(f"longest/{number}")
    constants = (choices, "WARM", 0), (choices, "SAMPLE", 8), (choices, "SOON", choose.one([1, 1, 4]))
    for module, name, value in (*constants, (batches, "CHUNK", choose.one([16, 64, 8192]))):
        monkeypatch.setattr(module, name, value)
    ranges, window, gap, late = choose.chance(50), choose.one([None, 40, 90, 250]), choose.one([1, 2]), choose.chance(50)
    automaton = Automaton(start="s", final={"c"}, event=Sale, register=Held(), arcs=arcs(choose, ranges))
    options: dict[str, Any] = {} if window is None else {"window": window}
    sides = [Operator(automaton, longest=True, late="drop", engine=engine, **options) for engine in ("compiled", "interpreted")]
    swaps, pool, there = choose.chance(60), more_arcs(choose), set[int]()
    held: list[set[Any]] = [set(), set()]
    before: list[dict[str, Any]] = []
    clock = seen = quick = promised = 0
    while clock < n:
        high = clock + choose.number(20, 100)
        columns = rows(
            choose, max(promised, clock - (choose.one([0, 0, 30]) if late else 0)), high, window, gap, late, 12 if ranges else 40
        )
        before.append(columns)
        singles = [single(choose, columns if choose.chance(60) else choose.one(before[-4:])) for _ in range(choose.number(0, 3))]
        if swaps and choose.chance(20):
            singles.append(insert(pool[1], max(promised, clock - 20), high))
        given = swapped(choose, columns, pool, there) if swaps and choose.chance(40) else columns
        for i, side in enumerate(sides):
            (table,) = side.push_many([pa.table(given)], arcs=pool)
            found = matches(told(table))
            for change in singles:
                found += matches(side.push_arc(change) if is_arc(change) else side.push(change))
            held[i] = oracle.net(found, held[i])
            side._check()
        assert held[0] == held[1], f"{number}, at {clock}: too much {held[0] - held[1]}, missing {held[1] - held[0]}"
        w = sides[0]._core.engine.store.memory.w if hasattr(sides[0]._core.engine, "store") else None
        quick += 0 if w is None else int(w[w[k.Scratch.loop] + k.Loop.quick])
        if choose.chance(30):
            promised = max(promised, high - choose.number(10, 80))
            for side in sides:
                side.push(Punctuation(promised))
        if choose.chance(20):
            name = "interpreted" if choose.chance(30) else "compiled"
            sides[0] = Operator.restore(automaton, sides[0].snapshot(), arcs=pool, late="drop", engine=name)
        clock, seen = high, seen + len(held[0])
    return seen, quick


@sample(10, 500)
def test_random_arcs(numbers: range, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [one(number, 100 if len(numbers) < 20 else 1500, monkeypatch) for number in numbers]
    assert sum(seen for seen, _ in found) > 10 * len(numbers)
    assert sum(quick for _, quick in found) > len(numbers) // 3


def test_a_state_becomes_final_in_the_midst_of_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "WARM", 0)
    own = [Arc("s", "b", "e.sort == 0", "Held(e.val)", name="begin"), Arc.skip("b", "True", name="skip")]
    ends = Arc("s", "b", "e.sort == 3", final=True, name="ends")
    automaton = Automaton(start="s", final={"c"}, event=Sale, register=Held(), arcs=own)
    n = 40
    columns = {"le": np.arange(n), "sort": np.arange(n) % 2, "val": np.arange(n) % 5}
    columns |= {"size": np.zeros(n), "text": np.array(["x"] * n)}
    columns["kind"] = np.where(np.isin(np.arange(n), (20, 30)), 1, 0).astype(np.int8)
    columns["diff"] = np.where(np.arange(n) == 30, -1, 1)
    columns["arc"] = np.zeros(n, np.int64)
    columns["le"] = np.where(columns["kind"] == 1, -(2**63), columns["le"])
    found = []
    for engine in ("compiled", "interpreted"):
        op = Operator(automaton, window=15, longest=True, engine=engine)
        op.push_many(pa.table({name: column[:4] for name, column in columns.items()}), arcs=[ends])
        (table,) = op.push_many([pa.table({name: column[4:] for name, column in columns.items()})], arcs=[ends])
        op._check()
        found.append(sorted(map(str, told(table))))
    assert found[0] == found[1]
    assert len(found[0]) > 20
