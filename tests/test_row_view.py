"""WHERE in front of an operator: it gives what an operator gives to which those events alone come of which the condition holds."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import afa
from afa import AfaError, Change, SnapshotError, insert
from speculation.layers import Layer, restore
from speculation.row_view import RowView, ViewInput
from tests.forged import forged
from tests.keyed_rows import stream


class Tick(NamedTuple):
    k: str
    x: int
    z: int | None


RISES = afa.sql(
    "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES a.x AS low, LAST(b.x) AS top PATTERN (a b+) WITHIN 9 "
    "DEFINE b AS x > PREV(x))",
    event=Tick,
)
NEXT = (
    "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES a.x AS low, NEXT(LAST(b.x)) AS behind "
    "PATTERN (a b+) WITHIN 9 DEFINE b AS x > PREV(x))"
)
WHERE = "z is None or z > 1"


def holds(change: Any) -> bool:
    return not isinstance(change, Change) or change.payload.z is None or change.payload.z > 1


def made(random: Random) -> Callable[[str], Tick]:
    return lambda k: Tick(k, random.randrange(9), random.choice((None, 0, 1, 2, 3)))


def filtered(engine: str) -> ViewInput:
    return ViewInput(RowView(Tick, WHERE), RISES.operator(engine=engine))  # type: ignore[arg-type]


def again(blob: bytes, where: str = WHERE, engine: str = "auto") -> Any:
    layers = [Layer("RowView", ViewInput, lambda _: RowView(Tick, where))]
    return restore(blob, lambda part: RISES.restore(part, engine=engine), layers)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(12))
def test_what_is_left_out_never_came(seed: int, engine: str) -> None:
    random = Random(seed)
    op, plain, left_out = filtered(engine), RISES.operator(engine=engine), 0  # type: ignore[arg-type]
    for item in stream(random, made(random)):
        left_out += not holds(item)
        assert op.push(item) == (plain.push(item) if holds(item) else [])
        if random.random() < 0.1:
            op = again(op.snapshot(), engine=engine)
    assert op.stage.left_out == left_out > 0


@pytest.mark.parametrize("seed", range(4))
def test_tables_go_as_columns(seed: int, engine: str) -> None:
    random = Random(seed)
    rows = [(random.choice("ab"), random.randrange(9), random.choice((None, 0, 2, 3)), le) for le in range(200)]
    k, x, z, le = zip(*rows)
    op, plain = filtered(engine), RISES.operator(engine=engine)  # type: ignore[arg-type]
    found = op.push_many({"k": list(k), "x": np.array(x), "z": list(z), "le": np.array(le)})
    kept = [insert(Tick(*row), at) for *row, at in rows]
    wanted = plain.push_many([change for change in kept if holds(change)])
    shown = list(zip(found["k"], found["low"], found["top"], found["le"]))  # type: ignore[call-overload]
    assert shown == [(change.key, *change.payload, change.le) for change in wanted]  # type: ignore[union-attr, misc]


@pytest.mark.parametrize("own", [False, True])
def test_in_front_of_another_stage_tables_stay_tables(own: bool, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Late rows and such that are taken back, too; ``own``: rows say when they end."""
    random = Random(f"tables {own}")
    query = afa.sql(NEXT.replace("WITHIN 9", "" if own else "WITHIN 9"), event=Tick)
    op, plain = ViewInput(RowView(Tick, WHERE), query.operator(engine=engine)), query.operator(engine=engine)  # type: ignore[arg-type]
    monkeypatch.setattr(ViewInput, "_item_reaches", None)
    rows = [
        (random.choice("ab"), random.randrange(9), random.choice((None, 0, 2, 3)), le, le + random.randrange(1, 30))
        for le in range(300)
    ]
    gone = random.sample(rows[:150], 20)
    left_out = 0
    for part in (rows[:100], rows[200:], rows[100:200]):
        some = [(*row, 1) for row in part] + [(*row, -1) for row in gone if row in part]
        tables = [
            {
                name: pa.array(column)
                for name, column in zip(("k", "x", "z", "le", "re", "diff"), zip(*found))
                if own or name != "re"
            }
            for found in (some, [row for row in some if row[2] is None or row[2] > 1])
        ]
        left_out += len(some) - len(tables[1]["le"])
        found, wanted = (op.push_many(pa.table(table)) for op, table in zip((op, plain), tables))
        assert found.equals(wanted)
        assert len(found)
    assert op.stage.left_out == left_out > 0


def test_a_condition_that_raises_fails_the_call(engine: str) -> None:
    op = ViewInput(RowView(Tick, "10 % x == 0"), RISES.operator(engine=engine))  # type: ignore[arg-type]
    op.push(insert(Tick("a", 5, 0), 1))
    before = op.snapshot()
    with pytest.raises(ZeroDivisionError):
        op.push_many([insert(Tick("a", 2, 0), 2), insert(Tick("a", 0, 0), 3)])
    assert op.snapshot() == before


def test_another_where_is_refused() -> None:
    blob = filtered("auto").snapshot()
    with pytest.raises(SnapshotError, match="expected how many changes were left out but got -5"):
        again(forged(blob, (1, 0), -5))
    with pytest.raises(SnapshotError, match=r"a query with WHERE e.z is None but got one with \['WHERE e.z is None or e.z > 1'\]"):
        again(blob, "z is None")
    with pytest.raises(AfaError, match="no field of Tick"):
        RowView(Tick, "y > 1")
