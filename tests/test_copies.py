"""Counts of copies: the sum for one event stays within int64 on every way in, and a change of many copies is one record."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from afa import Arc, Automaton, Change, ChangeError, Keyed, Operator, Punctuation, SnapshotError, insert, retract
from afa.model.copies import total
from punctuation.late import SideOutput
from speculation import Cleanse, Consolidate, Ordered, consolidate
from speculation.control import Chattiness
from tests.cli import call, fails, write
from tests.cli import there as there  # a fixture

MOST = 2**63 - 1
FULL = r"expected at most 9223372036854775807 copies of an event but got diff=1 beside those of "
EMPTY = r"expected at most 9223372036854775807 retractions of an event that wait but got diff=-1 beside those of "


class E(NamedTuple):
    kind: int
    name: str = "n"


arcs = [Arc("a", "b", "kind == 1"), Arc("b", "c", "kind == 2")]
two = Automaton(start="a", final={"c"}, event=E, arcs=arcs)


def rows(op: Any, changes: list[Change]) -> None:
    for change in changes:
        op.push(change)


def listed(op: Any, changes: list[Change]) -> None:
    op.push_many(changes)


def columns_of(changes: list[Change]) -> dict[str, Any]:
    return {
        "kind": np.array([change.payload.kind for change in changes], np.int64),
        "name": np.array([change.payload.name for change in changes], object),
        "le": np.array([change.le for change in changes], np.int64),
        "re": np.array([change.le + 9 for change in changes], np.int64),  # type: ignore[operator]
        "diff": np.array([change.diff for change in changes], np.int64),
    }


def one_table(op: Any, changes: list[Change]) -> None:
    op.push_many(columns_of(changes))


def tables(op: Any, changes: list[Change]) -> None:
    for change in changes:
        op.push_many(pa.table(columns_of([change])))


def frames(op: Any, changes: list[Change]) -> None:
    op.push_many([pd.DataFrame(columns_of([change])) for change in changes])


class S(NamedTuple):
    sort: int


WAYS = [rows, listed, one_table, tables, frames]
PLACES: dict[str, Callable[[str], Any]] = {
    "operator": lambda engine: Operator(two, window=9, engine=engine),
    "keyed": lambda engine: Keyed(two, key="name", window=9, engine=engine),
    "cleanse before": lambda engine: Cleanse(0).before(Operator(two, window=9, engine=engine)),
    "cleanse before, open": lambda engine: Cleanse().before(Operator(two, window=9, engine=engine)),
    "cleanse before a keyed": lambda engine: Cleanse(0).before(Keyed(two, key="name", window=9, engine=engine)),
    "cleanse after": lambda engine: Cleanse(0).after(Operator(two, window=9, engine=engine)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", PLACES)
def test_no_way_in_takes_more_copies_than_int64_counts(engine: str, place: str, way: Any) -> None:
    for first, then, message in ((MOST, 1, FULL), (-MOST, -1, EMPTY)):
        op = PLACES[place](engine)
        op.push(insert(E(0), 2))
        way(op, [Change(E(1), 3, 12, first)])
        before, saved = op.statistics, op.snapshot()
        with pytest.raises(ChangeError, match=message):
            way(op, [Change(E(1), 3, 12, then)])
        with pytest.raises(ChangeError, match=message):
            op.push_many([Change(E(1), 3, 12, -then), insert(E(2), 4), Change(E(1), 3, 12, then), Change(E(1), 3, 12, then)])
        assert (op.statistics, op.snapshot()) == (before, saved)
        way(op, [Change(E(1), 3, 12, -first), insert(E(1), 4), Change(E(1), 4, 13, MOST - 1), insert(E(2), 5)])
        out = [item for item in op.push(Punctuation(30)) if isinstance(item, Change)]
        assert len(out) == ("cleanse" in place and "open" not in place)
        op._check()


@pytest.mark.parametrize("way", WAYS)
def test_the_sum_counts_after_each_change(engine: str, way: Any) -> None:
    """Not only at the end of a call; and what is many over all events is none too many for each."""
    op = Operator(two, window=9, engine=engine)
    way(op, [Change(E(kind), kind, kind + 9, MOST) for kind in range(5)])
    assert op.statistics.events == 5 * MOST
    with pytest.raises(ChangeError, match=FULL):
        way(op, [insert(E(3), 3, 12)])
    way(op, [Change(E(3), 3, 12, -MOST), Change(E(3), 3, 12, MOST)])
    way(op, [Change(E(kind), kind, kind + 9, -MOST) for kind in range(5)])
    way(op, [Change(E(kind), kind, kind + 9, -MOST) for kind in range(5)])
    assert (op.statistics.events, op.statistics.pending, op.statistics.changes) == (0, 5 * MOST, 17 * MOST)
    again = Operator.restore(two, op.snapshot(), engine=engine)
    assert again.statistics == op.statistics


@pytest.mark.parametrize("diff", [2**63, -(2**63), 2**70, -(2**70)])
def test_a_change_of_more_copies_than_int64_counts(engine: str, diff: int) -> None:
    for make in PLACES.values():
        op = make(engine)
        with pytest.raises(ChangeError, match=rf"expected at most {MOST} copies but got diff={diff} for E\(kind=1, name='n'\)"):
            op.push(Change(E(1), 3, None, diff))
        with pytest.raises(ChangeError, match=rf"expected at most {MOST} copies but got diff={diff} for "):
            op.push_many({"kind": [1], "name": ["n"], "le": [3], "diff": np.array([diff], object)})
    if diff == -(2**63):
        with pytest.raises(ChangeError, match=rf"expected at most {MOST} copies but got diff={diff} for "):
            one_table(Operator(two, window=9, engine=engine), [Change(E(1), 3, None, diff)])
    for stage in (Cleanse(0), Consolidate()):
        with pytest.raises(ChangeError, match=rf"expected at most {MOST} copies but got diff={diff} for 'a'"):
            stage.push(Change("a", 3, None, diff))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", PLACES)
def test_many_copies_that_wait_in_vain_are_one_record(engine: str, place: str, way: Any) -> None:
    op = PLACES[place](engine)
    inner = getattr(op, "operator", op)
    inner._core.late.policy = side = SideOutput()
    way(op, [Change(E(1), 3, 12, -(10**12)), Change(E(1), 4, 13, 10**12), insert(E(1), 4, 13)])
    op.push(Punctuation(30))
    assert [change[:4] for change in side.changes] == [(E(1), 3, 12, -(10**12))]
    assert op.statistics.late == 1
    way(op, [Change(E(1), 5, 14, 10**12)])
    assert [change[:4] for change in side.changes[1:]] == [(E(1), 5, 14, 10**12)]
    assert op.statistics.late == 2


def test_rows_of_kinds_count_as_well(engine: str) -> None:
    three = Automaton(start="a", final={"b"}, event=S, arcs=[Arc("a", "b", "sort == 1")])
    op = Operator(three, window=9, engine=engine)
    batch = {"sort": [1, 1, 0, 1], "le": [3, 3, 2, 3], "kind": [0, 0, 2, 0], "diff": [2**62, 2**62 - 1, 1, 1], "re": [12] * 4}
    arrays = {name: np.array(column, np.int64) for name, column in batch.items()}
    with pytest.raises(ChangeError, match=FULL):
        op.push_many(arrays)
    assert op.statistics == Operator(three, window=9, engine=engine).statistics
    assert op.push_many({name: column[:3] for name, column in arrays.items()})["diff"].tolist() == [1, 0]
    assert op.statistics.changes == MOST


def test_numbered_events(engine: str) -> None:
    class N(NamedTuple):
        kind: int
        seq: int

    falls = Automaton(start="a", final={"b"}, event=N, arcs=[Arc("a", "b", "kind == 1")])
    op = Ordered(falls, number="seq", window=9, engine=engine)
    op.push(Change(N(1, 1), 3, None, -MOST))
    before = op.snapshot()
    with pytest.raises(ChangeError, match=EMPTY + r"N\(kind=1, seq=1\) at le=3"):
        op.push(retract(N(1, 1), 3))
    with pytest.raises(ChangeError, match=EMPTY):
        op.push_many({"kind": [1], "seq": [1], "le": [3], "diff": [-1]})
    assert op.snapshot() == before
    op.push(Change(N(1, 1), 3, None, MOST))
    op.push(Change(N(1, 2), 4, None, -MOST))
    assert Ordered.restore(falls, op.snapshot(), engine=engine).statistics == op.statistics
    assert op.statistics.changes == 3 * MOST


def test_stages_alone() -> None:
    for stage in (Cleanse(0), Consolidate()):
        stage.push_many([Change("a", 3, None, MOST), Change("b", 3, None, MOST), Change("c", 3, None, -MOST)])
        before = stage.snapshot()
        with pytest.raises(ChangeError, match=FULL + "'a' at le=3"):
            stage.push_many([insert("x", 3), insert("a", 3)])
        with pytest.raises(ChangeError, match=EMPTY + "'c' at le=3"):
            stage.push(retract("c", 3))
        assert stage.snapshot() == before
        again = type(stage).restore(before)
        assert again.statistics == stage.statistics
        assert again.statistics.held == 3 * MOST
        assert len([item for item in again.push(Punctuation(9)) if isinstance(item, Change)]) == 3
        assert type(stage).restore(again.snapshot()).statistics == again.statistics


def test_consolidated_changes_and_tables() -> None:
    with pytest.raises(ChangeError, match=FULL + "'a' at le=3"):
        consolidate([Change("a", 3, None, MOST), insert("a", 3)])
    per_call = Consolidate(per="call")
    table = {"x": [float("nan"), float("nan")], "le": [3, 3], "diff": [MOST, 1]}
    for batch in (table, pa.table(table), pd.DataFrame(table)):
        with pytest.raises(ChangeError, match=FULL):
            per_call.push_many(batch)
    assert per_call.statistics.came == 0
    out = per_call.push_many({"x": [1, 1, 2, 2], "le": [3] * 4, "diff": [MOST, -1, -MOST, 1]})
    assert out["diff"].tolist() == [1 - MOST, MOST - 1]
    assert per_call.statistics == (0, 2 * MOST + 2, 2 * MOST - 2)


@pytest.mark.parametrize("seed", range(8))
def test_a_controller_takes_many_copies_as_one_record(seed: int) -> None:
    """What it makes of them is what it makes of as many changes of one copy; and of very many it costs no more."""
    choose = random.Random(seed)
    one, many = Chattiness(1.5, memory=40), Chattiness(1.5, memory=40)
    sigmas = set()
    for t in range(120):
        for _ in range(3):
            le, n, withdrawn = t + choose.randrange(12), choose.randrange(1, 4), choose.randrange(3)
            many.came(le, n, promised=t)
            many.came(le, -min(n, withdrawn), promised=t)
            for _ in range(n):
                one.came(le, 1, promised=t)
            for _ in range(min(n, withdrawn)):
                one.came(le, -1, promised=t)
        sigmas.add(one.sigma(t))
        assert many.sigma(t) == one.sigma(t)
        many = Chattiness.of(many.state())
    assert len(sigmas) > 2
    many.came(200, -(10**15), promised=120)
    assert Chattiness.of(many.state()).state() == many.state()


def test_counts_of_a_snapshot_are_checked() -> None:
    stage = Consolidate()
    stage.push(Change("a", 3, None, MOST))
    numbers, waiting = stage.numbers(), stage.waiting()
    assert numbers == ["punctuation", MOST, 0]
    stage.push(Change("b", 3, None, MOST))
    assert stage.numbers() == ["punctuation", str(2 * MOST), 0]
    for wrong in ("-5", "1e3", "9" * 41, "\u0661", -1, 2**64, 1.5, None):
        with pytest.raises(SnapshotError, match=r"expected the numbers of a Consolidate"):
            Consolidate.of(["punctuation", wrong, 0], [None, [], [], [], [], []], lambda value: value)
    assert waiting == [Change("a", 3, None, MOST)]


def test_totals_do_not_wrap() -> None:
    for diffs in ([], [1, -1], [MOST, MOST, 5], [-MOST - 1, -MOST - 1], [2**62] * 9):
        assert total(np.array(diffs, np.int64)) == sum(map(abs, diffs))


def test_the_command_line(there: Path) -> None:
    """Counts in a file are counted as others; what waits in vain is one row that is late."""
    pattern = """
from typing import NamedTuple
from afa import Arc, Automaton
class E(NamedTuple):
    kind: int
a = Automaton(start="a", final={"b"}, event=E, arcs=[Arc("a", "b", "kind == 1")])
"""
    write("p.py", pattern)
    write("e.csv", f"kind,le,diff\n1,3,{MOST}\n1,3,1\n")
    words = "expected at most 9223372036854775807 copies of an event but got diff=1 beside those of E(kind=1) at le=3"
    assert words in fails("run", "p.py:a", "e.csv")
    write("e.csv", f"kind,le,diff\n1,3,{MOST}\n1,4,-{MOST}\n")
    result = call("run", "p.py:a", "e.csv", "--late", "drop", "--lateness", "0", "--end", "forever")
    assert re.search(r"^late +1  dropped", result.stderr, re.MULTILINE)
