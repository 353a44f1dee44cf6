"""Consolidate as a stage: what leaves is the net, with each punctuation or of each call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from afa import AfaError, Change, ChangeError, Keyed, Operator, Punctuation, SnapshotError, insert, retract
from speculation import After, Cleanse, Consolidate, consolidate
from tests import around
from tests.automata import pair
from tests.model import Model
from tests.strategies import Seeded
from tests.stress import generate
from tests.stress.generate import BATCHES, World
from tests.text import E


def items(number: int, n: int) -> list[Any]:
    choose = Seeded(f"consolidate/{number}")

    def item() -> Any:
        if choose.chance(15):
            return Punctuation(choose.number(0, 9))
        return Change(
            choose.one("abc"), choose.number(0, 4), choose.one([9, None]), choose.one([1, 1, -1, -2]), choose.one([None, 1])
        )

    return [item() for _ in range(n)]


def ordered(out: list[Any]) -> bool:
    """Retractions first, then insertions, each by LE, then perhaps one punctuation; nothing twice."""
    changes = out[:-1] if out and isinstance(out[-1], Punctuation) else out
    places = [(change.diff > 0, change.le) for change in changes]
    return places == sorted(places) and len({change._replace(diff=1) for change in changes}) == len(changes)


@pytest.mark.parametrize("per", ["punctuation", "call"])
def test_what_leaves_is_the_net(per: Any) -> None:
    for number in range(30):
        stage, came, left = Consolidate(per), [], []
        choose = Seeded(f"cut/{number}")
        todo = items(number, 80)
        while todo:
            n = choose.number(1, 12)
            call, todo = todo[:n], todo[n:]
            came += call
            if choose.chance(30):
                stage = Consolidate.restore(stage.snapshot())
            if per == "call":
                out = stage.push_many(call)
                left += out
                assert ordered(out)
                assert set(consolidate(left)) == set(consolidate(came))
                promised = [item.t for item in call if isinstance(item, Punctuation)]
                assert [item.t for item in out if isinstance(item, Punctuation)] == ([max(promised)] if promised else [])
                continue
            for item in call:
                out = stage.push(item)
                left += out
                assert ordered(out)
                assert bool(out) == isinstance(item, Punctuation)
        statistics = stage.statistics
        assert statistics.came == sum(abs(change.diff) for change in came if isinstance(change, Change))
        assert statistics.left == sum(abs(change.diff) for change in left if isinstance(change, Change))
        assert statistics.held == 0 or per == "punctuation"
        stage.push(Punctuation(99))
        assert stage.statistics.held == 0


@pytest.mark.parametrize("per", ["punctuation", "call"])
def test_worlds(per: Any, engine: str) -> None:
    """Per call, all matches have left; with punctuations those of the last one."""
    seen: dict[str, Any] = {}

    def expected(here: World, stage: After, model: Model) -> set[Any]:
        if per == "call" or model.effective != seen.get("effective"):
            seen.update(effective=model.effective, matches=model.matches())
        return seen["matches"]

    matches = 0
    for number in range(20):
        seen.clear()
        spec = generate.world(Seeded(f"consolidate/{number}"))
        spec["ops"] = [(*op[:2], True) if op[0] in BATCHES else op for op in spec["ops"]]  # of each, what is in force at its end
        seen.update(effective=World(spec).model.effective, matches=set())
        ran = around.run(spec, engine, lambda operator: Consolidate(per).after(operator), expected)
        matches += len(ran.held)
    assert matches > 20


def test_a_batch_that_is_not_net_is_net_behind_the_stage(engine: str) -> None:
    come = [insert(E(0), 1), insert(E(1), 3), insert(E(2), 2)]
    out = Consolidate(per="call").after(Operator(pair, window=9, engine=engine)).push_many(come, net=False)
    assert out == []
    assert len(Operator(pair, window=9, engine=engine).push_many(come, net=False)) == 2


def test_stages_stand_behind_each_other(engine: str) -> None:
    keyed = Keyed(pair, key="seq", window=9, engine=engine)
    both = Consolidate().after(Cleanse(0).before(keyed))
    assert both.push_many([insert(E(0, 7), 1), insert(E(1, 7), 3)]) == []
    blob = both.snapshot()
    both = Keyed.restore(pair, blob, key="seq", engine=engine)
    assert [len(both.push(Punctuation(t))) for t in (2, 9)] == [1, 2]


@pytest.mark.parametrize("shape", [pa.table, pd.DataFrame, dict])
def test_a_table_is_a_call(shape: Any) -> None:
    stage = Consolidate(per="call")
    columns = {
        "size": np.array([1.5, np.nan, 0.0, 1.5, -np.nan, -0.0, 2.0]),
        "diff_sum": ["x"] * 7,
        "le": np.array([5, 4, 3, 5, 4, 3, 1]),
        "diff": np.array([1, 1, -1, -2, -1, -1, 1]),
    }
    out = stage.push_many(shape(columns))
    found = out.to_pydict() if isinstance(out, pa.Table) else {name: list(out[name]) for name in out}
    assert found == {"size": [0.0, 1.5, 2.0], "diff_sum": ["x"] * 3, "le": [3, 5, 1], "diff": [-2, -1, 1]}
    assert (type(out), stage.statistics) == (type(shape(columns)), (0, 8, 4))


def test_what_is_no_table_of_changes_is_refused() -> None:
    with pytest.raises(AfaError, match='expected per="call" for a table, in which no punctuation comes'):
        Consolidate().push_many({"le": [1], "diff": [1]})
    with pytest.raises(ChangeError, match="expected one column 'diff' of ints but got le: int64"):
        Consolidate("call").push_many({"le": [1]})
    with pytest.raises(ChangeError, match="expected columns of one type and length but got others"):
        Consolidate("call").push_many({"le": [1, 2], "diff": [1]})


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(AfaError, match='expected "punctuation" or "call" but got per=\'batch\''):
        Consolidate("batch")  # type: ignore[arg-type]
    stage = Consolidate()
    stage.push_many([insert("a", 1), retract("b", 2)])
    with pytest.raises(AfaError, match="expected a change of an event or match, or a Punctuation, but got None"):
        stage.push_many([retract("a", 1), None])  # type: ignore[list-item]
    assert stage.statistics == (2, 2, 0)
    with pytest.raises(SnapshotError, match="expected a snapshot of Consolidate alone but got one of Cleanse alone"):
        Consolidate.restore(Cleanse(0).snapshot())


BIG = 2**53 + 1
"""An int that no float holds."""


@pytest.mark.parametrize(
    ("batch", "re"),
    [
        ({"x": [1, 2], "le": [1, 2], "re": [None, BIG], "diff": [1, 1]}, [None, BIG]),
        (pd.DataFrame({"x": [1, 2], "le": [1, 2], "re": pd.array([None, BIG], dtype="Int64"), "diff": [1, 1]}), [pd.NA, BIG]),
        (pd.DataFrame({"x": [1, 2], "le": [1, 2], "re": pd.Series([None, BIG], dtype=object), "diff": [1, 1]}), [None, BIG]),
        (pa.table({"x": [1, 2], "le": [1, 2], "re": [None, BIG], "diff": [1, 1]}), [None, BIG]),
    ],
)
def test_ints_stay_ints_where_some_are_missing(batch: Any, re: list[Any]) -> None:
    found = Consolidate(per="call").push_many(batch)["re"]
    assert (found.to_pylist() if isinstance(batch, pa.Table) else list(found)) == re


def test_an_empty_table_is_one() -> None:
    stage = Consolidate(per="call")
    assert {name: list(column) for name, column in stage.push_many({"x": [], "le": [], "diff": []}).items()} == {
        "x": [],
        "le": [],
        "diff": [],
    }
    assert stage.push_many(pd.DataFrame({"x": [], "le": [], "diff": []})).columns.tolist() == ["x", "le", "diff"]
    assert stage.statistics == (0, 0, 0)


@pytest.mark.parametrize(
    "batch",
    [
        {"x": [[1], [2]], "le": [1, 2], "diff": [1, 1]},
        {"x": np.array([1, 2], np.float16), "le": [1, 2], "diff": [1, 1]},
        {"le": np.zeros(200, np.int64), "diff": np.ones(200, np.int8)},
    ],
)
def test_rows_that_cannot_be_merged_are_refused(batch: Any) -> None:
    stage = Consolidate(per="call")
    with pytest.raises(ChangeError, match="expected columns by which rows can be merged but got others: "):
        stage.push_many(batch)
    assert stage.statistics == (0, 0, 0)


def test_nan_is_equal_to_itself() -> None:
    nans = [float("nan") for _ in range(3)]
    assert consolidate([insert((nans[0],), 1), retract((nans[1],), 1)]) == []
    assert consolidate([insert("a", 1)._replace(key=nans[0]), retract("a", 1)._replace(key=nans[2])]) == []
    with pytest.raises(ChangeError, match=r"expected a hashable payload but got \[1\]"):
        consolidate([insert([1], 1)])
