"""Fences that ask for ranges of ordered registers, where only the longest count: random arcs, in order, late and taken back.

Beside the interpreted engine, whose lists `_check` derives anew; comparisons in all forms, of ints and of floats with NaN and -0.0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from afa import Arc, Automaton, Operator, Punctuation, insert, retract
from afa.compiled import batches, inforce, memory
from afa.compiled.kernel import layout as k
from tests import oracle
from tests.lanes import sample
from tests.strategies import Seeded


class Tick(NamedTuple):
    """What happens."""

    sort: int
    val: int
    size: float


class Known(NamedTuple):
    """What is remembered."""

    last: int = 0
    size: float = 0.0
    kept: int = 0


INTS = ("e.val >= r.last", "e.val > r.last", "r.last >= e.val", "e.val < r.last", "3 <= r.last", "r.last > 5")
FLOATS = ("e.size >= r.size", "e.size > r.size", "r.size >= e.size", "e.size < r.size", "1.5 <= r.size", "r.size <= e.size + 1.0")
OTHERS = (
    "e.val != r.last",
    "e.val >= r.last and e.size >= r.size",
    "r.last % 3 != e.sort",
    "e.val >= r.kept",
    "e.val < r.last + 1",
)
TRANSFERS = ("Known(e.val, e.size)", "r._replace(last=e.val, size=e.size)", "r._replace(last=e.val)", "r._replace(size=-e.size)")
SIZES = (0.0, -0.0, 1.5, -1.5, 2.0, -3.0, math.nan, math.inf, -math.inf)


def arcs(choose: Seeded) -> list[Arc]:
    """Random arcs between states that events mostly leave as they are."""
    form = choose.one([INTS, FLOATS])

    def fence(sort: int) -> str:
        pool = form if choose.chance(80) else choose.one([INTS, FLOATS, OTHERS])
        return f"e.sort == {sort}" + (f" and {choose.one(pool)}" if choose.chance(85) else "")

    def skip(state: str) -> Arc:
        return Arc.skip(state, choose.one(["True"] * 6 + ["e.sort != 3", "e.val > 1", "e.val != r.last"]), name=f"skip {state}")

    begin = choose.one([None, "r._replace(kept=e.val % 2)", "Known(e.val, e.size)"])
    found = [Arc("s", "a", "e.sort == 0", begin, name="begin"), skip("a"), skip("b")]
    found += [Arc("a", "b", fence(1), choose.one(TRANSFERS), name="ab")]
    found += [Arc("b", "b", fence(1), choose.one(TRANSFERS), name=f"bb {i}") for i in range(choose.number(1, 2))]
    if choose.chance(50):
        found += [Arc("b", "d", fence(1), choose.one(TRANSFERS), name="bd"), skip("d")]
        found += [Arc("d", choose.one(["d", "b"]), fence(1), choose.one(TRANSFERS), name="dd")]
        found += [Arc("d", "c", fence(2), choose.one(["Known(e.val)", None]), name="dc")]
    found += [Arc("b", "c", fence(2), choose.one(["Known(e.val)", "Known(e.val)", "r._replace(last=0)", None]), name="bc")]
    return [*found, skip("c")] if choose.chance(15) else found


def rows(choose: Seeded, low: int, high: int, window: int | None, gap: int) -> dict[str, Any]:
    """Events at most instants from ``low`` to ``high``, some of them late, hardly ever two at one."""
    le = [t for t in range(low, high, gap) if choose.chance(90)]
    for _ in range(choose.number(0, len(le) // 6)):
        le.insert(choose.number(0, len(le)), le.pop(choose.number(0, len(le) - 1)))
    if choose.chance(20):
        le.append(choose.one(le))
    n = len(le)
    columns = {"le": np.array(le), "sort": np.array([choose.one([0, 1, 1, 1, 1, 1, 1, 2, 3]) for _ in range(n)])}
    columns |= {"val": np.array([choose.number(0, 12) for _ in range(n)]), "size": np.array([choose.one(SIZES) for _ in range(n)])}
    if window is None:
        columns["re"] = columns["le"] + np.array([choose.one([60, 60, 60, 60, choose.number(1, 90)]) for _ in range(n)])
    return columns


def changes(found: Any) -> list[Any]:
    return [(insert if diff > 0 else retract)(repr(tuple(payload)), le, re) for payload, le, re, diff, *_ in found]


def told(table: pa.Table) -> list[Any]:
    return [([row[name] for name in Known._fields], row["le"], row["re"], row["diff"]) for row in table.to_pylist()]


def one(number: int, n: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """A random automaton over a random stream; how many matches there were, and of how many events ranges were asked."""
    choose = Seeded(f"ranges/{number}")
    constants = (inforce, "WARM", 0), (memory, "SAMPLE", 8), (memory, "SOON", choose.one([1, 1, 4]))
    for module, name, value in (*constants, (batches, "CHUNK", choose.one([16, 64, 8192]))):
        monkeypatch.setattr(module, name, value)
    window, gap = choose.one([None, 40, 90, 250]), choose.one([1, 2])
    automaton = Automaton(start="s", final={"c"}, event=Tick, register=Known(), arcs=arcs(choose))
    options: dict[str, Any] = {} if window is None else {"window": window}
    sides = [Operator(automaton, longest=True, late="drop", engine=engine, **options) for engine in ("compiled", "interpreted")]
    more = Arc("b", "b", "e.sort == 3", "Known(e.val, e.size)", name="more")
    held: list[set[Any]] = [set(), set()]
    there: list[tuple[Any, ...]] = []
    clock = seen = quick = promised = 0
    while clock < n:
        high = clock + choose.number(20, 120)
        columns = rows(choose, max(promised, clock - choose.one([0, 0, 30])), high, window, gap)
        given = list(zip(*(column.tolist() for column in columns.values())))
        singles = []
        for _ in range(choose.number(0, 3)):
            le = choose.number(promised, high)
            singles.append(insert(Tick(choose.one([0, 1, 1, 2]), 6, choose.one(SIZES)), le, le + (window or 60)))
            if there and choose.chance(50):
                le, sort, val, size, *re = choose.one(there)
                singles.append(retract(Tick(sort, val, size), le, *(re or [le + (window or 60)])))
                there.remove((le, sort, val, size, *re))
        swap = choose.number(0, 9)
        for i, side in enumerate(sides):
            (table,) = side.push_many([pa.table(columns)])
            found = changes(told(table))
            for change in singles:
                found += changes(tuple(each) for each in side.push(change))
            if swap < 2:
                found += changes(tuple(each) for each in side.push_arc(insert(more, max(promised, clock - 20), high)))
            held[i] = oracle.net(found, held[i])
            side._check()
        assert held[0] == held[1], f"{number}, at {clock}: too much {held[0] - held[1]}, missing {held[1] - held[0]}"
        w = sides[0]._core.engine.store.memory.w if hasattr(sides[0]._core.engine, "store") else None
        quick += 0 if w is None else int(w[w[k.Scratch.loop] + k.Loop.quick])
        there = [row for row in there + given if row[0] >= promised]
        if choose.chance(30):
            promised = max(promised, high - choose.number(10, 80))
            for side in sides:
                side.push(Punctuation(promised))
            there = [row for row in there if row[0] >= promised]
        clock, seen = high, seen + len(held[0])
    return seen, quick


@sample(9, 300)
def test_random_ranges(numbers: range, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [one(number, 150 if len(numbers) < 10 else 1500, monkeypatch) for number in numbers]
    assert sum(seen for seen, _ in found) > 10 * len(numbers)
    assert sum(quick for _, quick in found) > len(numbers) // 3
