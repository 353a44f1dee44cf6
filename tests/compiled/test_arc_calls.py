"""Arcs that come and go by calls: the kernels change them where they stand, and no program is made anew."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import AfaError, Arc, Automaton, Change, Operator, Punctuation, insert, retract
from afa.compiled import choices, inforce
from afa.compiled.arc_swaps import _changes
from afa.compiled.kernel import layout as k
from afa.model.arctable import ArcEvent
from tests.automata import Total

PLACES = 3


class Step(NamedTuple):
    change: int


POOL = [
    *(Arc(str(i), str(i + 1), "e.change > 0", name=f"{i} up") for i in range(PLACES)),
    *(Arc(str(i), str(i + 1), "e.change < 0", "(r.total + e.change,)", name=f"{i} down") for i in range(PLACES)),
    *(Arc(str(i), str(i + 1), f"e.change > {i + 1}", name=f"{i} high") for i in range(PLACES)),
]


def operator(engine: str = "compiled", arcs: list[Arc] | None = None) -> Operator:
    automaton = Automaton(
        start="0", final={str(PLACES)}, register=Total(), event=Step, arcs=POOL[:PLACES] if arcs is None else arcs
    )
    return Operator(automaton, window=9, late="drop", engine=engine)  # type: ignore[arg-type]


def net(changes: list[Any]) -> list[Any]:
    return sorted((c.payload, c.le, c.re, c.diff) for c in changes if isinstance(c, Change))


def items_of(rng: Any, n: int) -> list[Any]:
    """Events, some of them late, and changes of arcs: from now on, with lifetimes, of arcs that are in force already."""
    found: list[Any] = []
    now = dict.fromkeys(range(PLACES), 1)
    for le in range(n):
        found.append(insert(Step(int(rng.integers(-3, 5))), int(le - (rng.random() < 0.2) * rng.integers(0, 8))))
        what = rng.random()
        if what < 0.3:
            at = int(rng.integers(0, len(POOL)))
            now[at] = now.get(at, 0) + 1
            found.append(insert(POOL[at]))
        elif what < 0.6 and sum(now.values()) > 2:
            at = int(rng.choice([at for at, copies in now.items() if copies]))
            now[at] -= 1
            found.append(retract(POOL[at]))
        elif what < 0.65:
            begin = int(le + rng.integers(-6, 6))
            arc = Arc("0", "1", "e.change == 0", name=f"of {le}")
            found.append(insert(arc, begin, begin + int(rng.integers(1, 9))))
        elif what < 0.75:
            found.append(Punctuation(le - 9))
    return found


def push(op: Operator, item: Any) -> list[Any]:
    return op.push_arc(item) if isinstance(item, Change) and isinstance(item.payload, Arc) else op.push(item)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("warm", [0, 256])
def test_both_engines_give_the_same(seed: int, warm: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "WARM", warm)
    monkeypatch.setattr(inforce, "LITTLE", 4)
    rng = np.random.default_rng(seed)
    one, other = operator("interpreted"), operator()
    count = 0
    for item in items_of(rng, 120):
        outs = [net(push(op, item)) for op in (one, other)]
        assert outs[0] == outs[1]
        count += len(outs[0])
        other._check()
    assert count


def test_no_program_is_made_for_arcs_that_it_knows() -> None:
    """It took 0.4 ms for ten arc events, and 15 for two thousand."""
    op = operator(arcs=POOL)
    arcs = op._core.engine.store.arcs
    op.push(insert(Step(1), 1))
    op.push_arc(retract(POOL[3]))
    made = [arcs.program]
    for le in range(2, 200):
        op.push(insert(Step(1), le))
        op.push_arc(retract(POOL[4 - le % 2]))
        op.push_arc(insert(POOL[3 + le % 2]))
        if arcs.program is not made[-1]:
            made.append(arcs.program)
    assert len(made) <= 6  # each has twice the room of the one before
    assert len(arcs.table.events) > 200
    op.push(Punctuation(199))
    assert len(arcs.table.events) < 20
    before = arcs.program
    for le in range(200, 210):
        op.push_arc(retract(POOL[5]) if le % 2 else insert(POOL[5]))
        op.push(insert(Step(-1), le))
    assert arcs.program is before


def test_an_arc_without_a_slot_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "WARM", 0)
    many = [Arc("0", "1", f"e.change > {i}", name=f"of {i}") for i in range(40)]
    op = operator(arcs=many)
    for arc in many[1:]:
        op.push_arc(retract(arc))
    rows = {"change": np.full(300, 1000), "le": np.arange(300)}
    op.push_many(rows)
    arcs = op._core.engine.store.arcs
    for arc in many[1:]:
        op.push_arc(insert(arc))
    op.push_many({**rows, "le": rows["le"] + 300})
    assert arcs.program.words[k.Program.slotcount] >= 40
    assert arcs.program.words[k.Program.spill] == 0


def test_a_call_that_fails_behind_a_swap_leaves_no_trace() -> None:
    one, other = operator(arcs=POOL), operator(arcs=POOL)
    for op in (one, other):
        op.push_arc(retract(POOL[6]))
        op.push(insert(Step(3), 1))
    with pytest.raises(AfaError, match="expected"):
        one.push_many([insert(POOL[6]), insert(Step(4), 5), insert(POOL[7]), retract(Arc("0", "1", "e.change > 7"))])
    for item in (insert(Step(2), 2), insert(POOL[6]), insert(Step(4), 3), retract(POOL[0]), insert(Step(4), 4), insert(Step(5), 5)):
        assert net(push(one, item)) == net(push(other, item))
        one._check()
    assert one.snapshot() == other.snapshot()


def test_a_swap_by_name_is_one_change_of_the_program() -> None:
    op = operator(arcs=POOL)
    arcs = op._core.engine.store.arcs
    op.push(insert(Step(1), 1))
    op.push_arc(retract(POOL[8]))
    before = arcs.program
    op.swap("2 up", POOL[8])
    assert arcs.program is before
    outs = [net(op.push(insert(Step(4), le))) for le in range(2, 6)]
    assert any(outs)
    op._check()


def test_of_two_lifetimes_of_one_arc_the_later_one_ends_whatever_was_dropped_before(at_once: None) -> None:
    """The program has them in the order in which they came."""
    tables = []
    for engine in ("interpreted", "compiled"):
        op = operator(engine)
        op.push(insert(Step(1), 1))
        for item in (insert(POOL[3], 10), insert(POOL[3], 3), retract(POOL[1])):
            op.push_arc(item)
        rows = {"change": [0], "arc": [0], "kind": np.zeros(1, np.int8), "diff": [1]}
        op.push_many({**rows, "le": [20]}, arcs=POOL)
        op.push(Punctuation(5))  # drops an arc that ended
        op.push_many({**rows, "le": [k.BEGINNING], "kind": np.ones(1, np.int8), "diff": [-1], "arc": [3]}, arcs=POOL)
        tables.append(sorted((event.arc.name, event.le, event.re) for event in op._core.arcs.table.events))
        op._check()
    assert tables[0] == tables[1]
    assert ("0 down", 10, 21) in tables[0]


@pytest.mark.parametrize("diff", [1, -1])
def test_before_anything_was_seen_arcs_of_a_table_change_from_the_beginning(at_once: None, diff: int) -> None:
    arc = {1: 8, -1: 0}[diff]
    tables = []
    for engine in ("interpreted", "compiled"):
        op = operator(engine)
        op.push_many({"change": [0], "le": [k.BEGINNING], "kind": np.ones(1, np.int8), "diff": [diff], "arc": [arc]}, arcs=POOL)
        tables.append(sorted((event.arc.name, event.le, event.re) for event in op._core.arcs.table.events))
        op.push(insert(Step(1), k.BEGINNING))
        op._check()
    assert tables[0] == tables[1]
    assert ((POOL[arc].name, k.BEGINNING, k.FOREVER) in tables[0]) == (diff == 1)


def test_a_lifetime_that_ends_earlier_than_it_did_is_no_end_of_another_one_of_the_arc() -> None:
    lasts, ends = ArcEvent(POOL[0], 7, k.FOREVER), ArcEvent(POOL[0], 5, 30)
    assert _changes((lasts, ends), (lasts, ends._replace(re=20)), 20) is None
    assert _changes((lasts, ends), (ends, lasts._replace(re=20)), 20) == [(POOL[0], k.END_ARC)]
