"""Rows in order where only the longest count: lists of many registers, through random arcs, beside the interpreted engine."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from afa import Arc, Automaton, Operator, Punctuation, insert, retract
from afa.compiled import batches, inforce, memory
from tests import oracle
from tests.strategies import Seeded


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


FENCES = ("e.sort == 1", "e.sort != 2", "e.val > 20", "e.text == 'x'", "e.sort == 1 and e.size > 0")
MIXED = ("e.val >= r.last", "e.val != r.first", "e.size >= r.total", "r.note is None", "e.text != r.note", "e.val > r.first + 9")
TRANSFERS = (
    "r._replace(last=e.val)",
    "r._replace(last=e.val, first=0)",
    "Held(e.val)",
    "r._replace(total=e.size, note=e.text)",
    "r._replace(first=r.last, last=e.val % 7)",
    "r._replace(last=3)",
)


def arcs(choose: Seeded) -> list[Arc]:
    """Random arcs; all states have skips, most for any event."""

    def fence() -> str:
        return " and ".join([choose.one(FENCES), *([choose.one(MIXED)] if choose.chance(60) else [])])

    found = [Arc("s", "a", "e.sort == 0", choose.one([None, "r._replace(first=e.val % 3)", "Held()"]), name="begin")]
    found += [Arc.skip("a", "True", name="skip a")]
    found += [Arc("a", "b", "e.sort == 1", choose.one(TRANSFERS), name="ab")]
    found += [Arc("b", "b", fence(), choose.one(TRANSFERS), name=f"bb {i}") for i in range(choose.number(1, 2))]
    skip = choose.one(["True", "True", "e.sort != 3", "e.val != r.last"])
    found += [Arc.skip("b", skip, choose.one([None, None, "r._replace(first=max(r.first, e.sort))"]), name="skip b")]
    found += [Arc("b", "c", "e.sort == 2", choose.one(["Held(e.val)", "Held(r.last)", "r._replace(last=0)", None]), name="bc")]
    if choose.chance(50):
        found += [Arc("b", "d", fence(), choose.one([None, *TRANSFERS]), name="bd"), Arc("d", "d", fence(), name="dd")]
        found += [Arc("d", "c", "e.sort == 2 and e.val > r.last", "Held(0, r.first)", name="dc")]
    if choose.chance(20):
        found += [Arc.skip("c", "e.val < 30", name="skip c")]
    return found


def more_arcs(choose: Seeded) -> list[Arc]:
    """Arcs that come and go: some make states final."""
    found = [Arc("b", "b", choose.one(FENCES), choose.one([None, *TRANSFERS]), name=f"more {i}", final=i == 0) for i in range(2)]
    found += [
        Arc("b", "d", choose.one(MIXED), name="to d", final=choose.chance(50)),
        Arc.skip("d", choose.one(FENCES), name="more skip"),
    ]
    return [*found, Arc("a", "c", "e.sort == 3", choose.one(TRANSFERS), name="ac")]


def rows(choose: Seeded, low: int, high: int, window: int | None) -> dict[str, Any]:
    """Events at most instants from ``low`` to ``high``, in order."""
    le = np.array([t for t in range(low, high) if choose.chance(90)], np.int64)
    n = len(le)
    sorts = [choose.one([0, 1, 1, 1, 1, 1, 2, 3]) for _ in range(n)]
    columns = {"le": le, "sort": np.array(sorts), "val": np.array([choose.number(0, 40) for _ in range(n)])}
    columns["size"] = np.array([choose.number(-2, 5) / 2 for _ in range(n)])
    columns["text"] = np.array([choose.one(["x", "y", "z"]) for _ in range(n)])
    if window is None:
        columns["re"] = le + np.array([choose.one([5, 60, 200, choose.number(1, 90)]) for _ in range(n)])
    return columns


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


def changes(table: pa.Table) -> list[Any]:
    """A table of changes as matches."""
    return [(Held(**{name: row[name] for name in Held._fields}), row["le"], row["re"], row["diff"]) for row in table.to_pylist()]


def one(number: int, n: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """A random automaton over a random stream; how many matches there were."""
    choose = Seeded(f"best/{number}")
    for module, name, value in ((inforce, "WARM", 0), (memory, "SAMPLE", 8), (batches, "CHUNK", choose.one([64, 8192]))):
        monkeypatch.setattr(module, name, value)
    window = choose.one([None, 40, 90, 250])
    automaton = Automaton(start="s", final={"c"}, event=Sale, register=Held(), arcs=arcs(choose))
    options: dict[str, Any] = {} if window is None else {"window": window}
    sides = [Operator(automaton, longest=True, late="drop", engine=engine, **options) for engine in ("compiled", "interpreted")]
    held: list[set[Any]] = [set(), set()]
    pool = more_arcs(choose)
    there: set[int] = set()
    clock, seen = 0, 0
    while clock < n:
        high = clock + choose.number(20, 150)
        columns, late = rows(choose, clock, high, window), []
        for _ in range(choose.number(0, 2)):
            at = choose.number(0, len(columns["le"]) - 1)
            payload = Sale(*(columns[name][at].item() for name in Sale._fields))
            lifetime = [int(columns[name][at]) for name in ("le", "re") if name in columns]
            late.append((retract if choose.chance(50) else insert)(payload, *lifetime))
            if late[-1].diff > 0:
                late[-1] = late[-1]._replace(payload=payload._replace(val=7, sort=choose.number(0, 2)))
        given = swapped(choose, columns, pool, there) if choose.chance(40) else columns
        for i, side in enumerate(sides):
            (table,) = side.push_many([pa.table(given)], arcs=pool)
            found = changes(table)
            for change in late:
                found += [tuple(each)[:4] for each in side.push(change)]
            held[i] = oracle.net([oracle_change(each) for each in found], held[i])
            side._check()
        assert held[0] == held[1], f"{number}, at {clock}: too much {held[0] - held[1]}, missing {held[1] - held[0]}"
        if choose.chance(30):
            for side in sides:
                side.push(Punctuation(high - choose.number(10, 60)))
        if choose.chance(20):
            name = "interpreted" if choose.chance(30) else "compiled"
            sides[0] = Operator.restore(automaton, sides[0].snapshot(), arcs=pool, engine=name)
        clock, seen = high, seen + len(held[0])
    return seen


def oracle_change(change: tuple[Any, ...]) -> Any:
    payload, le, re, diff = change
    return (insert if diff > 0 else retract)(payload, le, re)


@pytest.mark.parametrize("number", [0, 1, 2, 4, 5, 6, 7, 8, 9])
def test_random_arcs(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert one(number, 180, monkeypatch) > 0


@pytest.mark.stress
@pytest.mark.parametrize("number", range(10, 210))
def test_random_arcs_long(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one(number, 1500, monkeypatch)


def test_a_state_becomes_final_in_the_midst_of_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inforce, "WARM", 0)
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
        found.append(sorted(map(str, changes(table))))
    assert found[0] == found[1]
    assert len(found[0]) > 20
