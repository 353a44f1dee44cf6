"""Tables in which arcs come and go between the events, with promises and late rows: in the loops for rows in order, and else."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import BEGINNING, AfaError, Arc, Automaton, Operator
from afa.compiled import batches
from afa.compiled.kernel import layout as k
from afa.compiled.mixed_rows import STEP, mixed_rows
from tests.automata import Total

PLACES = 4


class Step(NamedTuple):
    change: int


def arc(place: int, form: int) -> Arc:
    """One of several for the same place: two shapes, one of them with several constants, one with a transfer, one that is final."""
    src, dst, name = str(place), str(place + 1), f"{place} {form}"
    if form == 0:
        return Arc(src, dst, "e.change > 0", name=name)
    if form == 1:
        return Arc(src, dst, "e.change < 0", "(r.total + e.change,)", name=name)
    return Arc(src, dst, f"e.change > {form - 3}", name=name, final=form == 5)


FORMS = 6
POOL = [arc(place, form) for place in range(PLACES) for form in range(FORMS)]


def automaton() -> Automaton:
    return Automaton(
        start="0", final={str(PLACES)}, register=Total(), event=Step, arcs=[POOL[i * FORMS + i % 2] for i in range(PLACES)]
    )


def rows_of(rng: Any, n: int) -> dict[str, Any]:
    """Rows of a table: swaps of either order, arcs that come twice, promises that are true, now and then a late event."""
    late = (rng.random(n) < 0.3) & (rng.random() < 0.5)
    le = np.arange(n) - late * rng.integers(0, 12, n)
    least = np.minimum.accumulate(le[::-1])[::-1]
    found: list[tuple[int, int, int, int, int]] = []  # change, le, kind, arc, diff
    now = {i * FORMS + i % 2: 1 for i in range(PLACES)}
    for i in range(n):
        what = rng.random()
        if what < 0.15 and i:
            come, go = int(rng.integers(0, len(POOL))), int(rng.choice([at for at, copies in now.items() if copies]))
            changes = [(come, 1), (go, -1)]
            for at, diff in changes[:: rng.choice([1, -1])][: rng.integers(1, 3)]:
                if diff < 0 and sum(now.values()) < 3:
                    continue
                now[at] = now.get(at, 0) + diff
                found.append((0, BEGINNING, 1, at, diff))
        elif what < 0.2 and i:
            found.append((0, int(least[i]), 2, 0, 1))
        found.append((int(rng.integers(-3, 4)), int(le[i]), 0, 0, 1))
    names = ("change", "le", "kind", "arc", "diff")
    return {name: np.array(column) for name, column in zip(names, zip(*found))}


def cut(rows: dict[str, Any], begin: int, end: int) -> dict[str, Any]:
    return {name: column[begin:end] for name, column in rows.items()}


@pytest.mark.parametrize("seed", range(30))
def test_both_engines_give_the_same(at_once: None, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(batches, "CHUNK", int(rng.choice([40, 8192])))
    rows = rows_of(rng, 400)
    rows["kind"] = rows["kind"].astype(rng.choice([np.int8, np.int64]))
    n = len(rows["le"])
    cuts = [0, *sorted(rng.integers(1, n, 3).tolist()), n]
    sides = {engine: Operator(automaton(), window=9, late="drop", engine=engine) for engine in ("interpreted", "compiled")}
    count = 0
    for begin, end in itertools.pairwise(cuts):
        outs = []
        for op in sides.values():
            out = op.push_many(cut(rows, begin, end), arcs=POOL)
            outs.append(sorted(zip(*(out[name].tolist() for name in ("total", "le", "re", "diff", "kind")))))
            op._check()
        assert outs[0] == outs[1]
        count += len(outs[0])
        tables = [sorted((event.arc.name or "", *event[1:]) for event in op._core.arcs.table.events) for op in sides.values()]
        assert tables[0] == tables[1]
        assert sides["interpreted"].statistics == sides["compiled"].statistics
    assert count


@pytest.mark.parametrize("seed", range(6))
def test_a_call_that_fails_behind_swaps_leaves_no_trace(at_once: None, seed: int) -> None:
    """Arcs that came and went in the loop are as they were, and serve on."""
    rng = np.random.default_rng(seed)
    rows = rows_of(rng, 300)
    one, other = (Operator(automaton(), window=9, late="drop", engine="compiled") for _ in range(2))
    for op in (one, other):
        op.push_many(cut(rows, 0, 150), arcs=POOL)
    before = one.snapshot()
    bad = cut(rows, 150, len(rows["le"]))
    gone = {"change": [0] * 40, "le": [BEGINNING] * 40, "kind": [1] * 40, "arc": [5] * 40, "diff": [-1] * 40}  # more than there are
    bad = {name: np.append(column, gone[name]) for name, column in bad.items()}
    with pytest.raises(AfaError, match="expected"):
        one.push_many(bad, arcs=POOL)
    same = one.snapshot() == before  # which pytest would explain for minutes
    assert same
    one._check()
    outs = [op.push_many(cut(rows, 150, len(rows["le"])), arcs=POOL) for op in (one, other)]
    assert [outs[0][name].tolist() for name in outs[0]] == [outs[1][name].tolist() for name in outs[1]]


@pytest.mark.parametrize(("name", "value"), [("kind", 3), ("kind", -1), ("kind", 258), ("arc", len(POOL)), ("arc", -1)])
def test_a_row_of_no_kind_or_of_no_arc_is_refused(name: str, value: int) -> None:
    rows = {"change": np.zeros(20, np.int64), "le": np.arange(20), "kind": np.zeros(20, np.int64), "arc": np.zeros(20, np.int64)}
    rows["kind"][11], rows["le"][11] = 1, BEGINNING
    rows[name][11] = value
    op = Operator(automaton(), window=9, engine="compiled")
    with pytest.raises(AfaError, match="expected"):
        op.push_many(rows, arcs=POOL)
    assert op.statistics.events == 0


@pytest.mark.parametrize("seed", range(40))
def test_rows_that_are_no_events_are_found(seed: int) -> None:
    """Against what numpy finds, whatever they are near to: the begin, the end, each other."""
    rng = np.random.default_rng(seed)
    store = Operator(automaton(), window=9, engine="compiled")._core.engine.store
    n, many = int(rng.integers(1, 300)), len(POOL)
    kind = rng.choice([0, 1, 2], n, p=[[0.5, 0.3, 0.2], [0.9, 0.05, 0.05], [0.99, 0.005, 0.005]][seed % 3]).astype(np.int8)
    le, arc = rng.integers(-99, 99, n), rng.integers(0, many, n)
    le[(kind == 1) & (rng.random(n) < 0.9)] = BEGINNING
    copies = rng.choice([1, 2], n, p=[1 - seed % 2 / 9, seed % 2 / 9])
    diff = np.where(kind == 0, copies, rng.choice([1, -1, 2], n, p=[0.5, 0.4, 0.1]))
    found = mixed_rows(store, le, kind, arc, diff, many)
    assert found is not None
    rows = np.flatnonzero(kind)
    what = np.select([kind == 2, le != BEGINNING, diff == 1, diff == -1], [k.PROMISED, k.UNFIT, k.COMES, k.GOES], k.UNFIT)
    value = np.where(kind == 2, le, arc)
    assert found.others.tolist() == np.stack([4 * rows + what[rows], value[rows]], axis=1).tolist()
    assert found.promises().tolist() == np.flatnonzero(kind == 2).tolist()
    assert found.own_lifetimes == bool((what[rows] == k.UNFIT).any())
    assert found.single == bool((diff[kind == 0] == 1).all())
    least = np.where(kind == 0, le, k.FOREVER)
    assert found.ahead(np.array([0])).tolist() == [least.min()]
    assert found.least[: -(-n // STEP)].tolist() == [least[at : at + STEP].min() for at in range(0, n, STEP)]
    arc[rng.integers(0, n)], kind[rng.integers(0, n)] = many, 3
    assert mixed_rows(store, le, kind, arc, diff, many) is None


def test_slots_are_for_the_arcs_in_force(at_once: None) -> None:
    """There was one for each arc of the batch, and for each that ever was."""
    many = [Arc("0", "1", f"e.change > {i}", name=f"of {i}") for i in range(200)]
    op = Operator(Automaton(start="0", final={"1"}, event=Step, arcs=many[:1]), window=9, engine="compiled")
    store = op._core.engine.store
    n = 300
    kind, arc = np.zeros(3 * n, np.int64), np.zeros(3 * n, np.int64)
    diff, le = np.ones(3 * n, np.int64), np.repeat(np.arange(n), 3)
    kind[3::3] = kind[4::3] = 1  # each event but the first has the next arc before it
    arc[3::3], arc[4::3] = np.arange(n - 1) % 200, np.arange(1, n) % 200
    diff[3::3] = -1
    keep = np.ones(3 * n, bool)
    keep[1:3] = False
    le = np.where(kind == 1, BEGINNING, le)
    rows = {"change": np.where(kind == 0, 1000, 0), "le": le, "kind": kind, "arc": arc, "diff": diff}
    out = op.push_many({name: column[keep] for name, column in rows.items()}, arcs=many)
    assert len(out["le"]) == n
    assert store.arcs._slots is not None
    assert store.arcs.program.words[k.Program.slotcount] <= 2
    assert store.arcs.program.words[k.Program.spill] == 0


def test_arcs_that_come_at_once_get_their_slots_in_the_next_batch(at_once: None) -> None:
    many = [Arc("0", "1", f"e.change > {i}", name=f"of {i}") for i in range(30)]
    op = Operator(Automaton(start="0", final={"1"}, event=Step, arcs=many[:1]), window=9, engine="compiled")
    arcs = op._core.engine.store.arcs
    rows = {"change": np.full(400, 1000), "le": np.arange(400), "kind": np.zeros(400, np.int8), "arc": np.zeros(400, np.int64)}
    rows["kind"][100:129], rows["le"][100:129], rows["arc"][100:129] = 1, BEGINNING, np.arange(1, 30)
    op.push_many(rows, arcs=many)
    rows = {"change": np.full(400, 1000), "le": np.arange(400, 800), "kind": np.zeros(400, np.int8)}
    op.push_many(rows, arcs=many)
    assert arcs.program.words[k.Program.spill] == 0
    assert arcs.program.words[k.Program.slotcount] >= 30
