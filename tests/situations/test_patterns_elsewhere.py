"""Temporal patterns wherever a pattern is taken beside operators: the same matches, or refused in words."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import afa
from afa.replay import amend, explain, replay, sweep
from afa.situations import Situation, TemporalPattern


class Reading(NamedTuple):
    car: str
    speed: int
    wet: bool


FULL = "a stage in front of the operator looks at what was before a match"


def driving(speed: int = 3) -> TemporalPattern:
    return TemporalPattern(
        event=Reading,
        within=40,
        key="car",
        fast=Situation(f"speed > {speed}", at_least=2),
        rain=Situation("wet"),
        where="fast overlaps|during|contains rain",
        returns={"top": "max(fast.speed)"},
    )


def readings(seed: int = 1, n: int = 300) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [{"car": rng.choice("AB"), "speed": rng.randint(0, 6), "wet": rng.random() < 0.4, "le": t} for t in range(n)]


def stored(path: Path, rows: list[dict[str, Any]]) -> str:
    pq.write_table(pa.Table.from_pylist(rows), path / "cars.parquet", row_group_size=40)
    return str(path / "cars.parquet")


def found(rows: list[dict[str, Any]], speed: int = 3) -> Counter[Any]:
    return counted(afa.find(driving(speed), pa.Table.from_pylist(rows), time="le"))


def counted(table: pa.Table) -> Counter[Any]:
    net: Counter[Any] = Counter()
    for row in table.to_pylist():
        net[tuple(sorted((name, value) for name, value in row.items() if name not in ("diff", "variant")))] += row.get("diff", 1)
    return net


def test_stored_history(tmp_path: Path) -> None:
    """Rows that are left out would change what holds between the others, so that all of them are read."""
    rows = readings()
    path = stored(tmp_path, rows)
    got = replay(driving(), path, time="le")
    assert counted(got.matches) == found(rows)
    assert len(got.matches) > 5
    assert str(got.plan) == f"full run ({FULL}): 300 rows in 8 row groups"
    assert explain(driving(), path, time="le").reason == FULL
    with pytest.raises(afa.AfaError, match=f"expected a pattern that needs some rare event, with require=True, .*: {FULL}"):
        replay(driving(), path, time="le", require=True)


def test_variants(tmp_path: Path) -> None:
    rows = readings()
    table = pa.Table.from_pylist(rows)
    patterns = {"three": driving(3), "four": driving(4)}
    told = afa.backtest(patterns, table, time="le", batch=20).table.to_pylist()
    wanted = [found(rows, 3).total(), found(rows, 4).total()]
    assert [row["matches"] for row in told] == wanted
    assert [counted(each) for each in sweep(patterns, stored(tmp_path, rows), time="le").matches.values()] == [
        found(rows, 3),
        found(rows, 4),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_late_rows_of_stored_history(seed: int, tmp_path: Path) -> None:
    rows, rng = readings(), random.Random(seed)
    late = rng.sample(rows, rng.randint(1, 6))
    before = [row for row in rows if row not in late]
    changes = [afa.insert(Reading(row["car"], row["speed"], row["wet"]), row["le"]) for row in late]
    got = counted(amend(driving(), stored(tmp_path, before), changes, time="le", applied=False))
    wanted = found(rows)
    wanted.subtract(found(before))
    assert {match: n for match, n in got.items() if n} == {match: n for match, n in wanted.items() if n}


def test_what_asks_of_single_events_is_refused() -> None:
    said = r"expected an operator of events but got one of situations, whose matches stand on instants, so that no reading is a"
    with pytest.raises(afa.AfaError, match=said):
        afa.Reasons(driving().operator(lineage=True))
    with pytest.raises(afa.AfaError, match=said):
        afa.trace(driving(), pa.Table.from_pylist(readings()))
