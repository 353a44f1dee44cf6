"""Members of matches of which an event took an arc that has ended since, in a bucket that is saved and restored."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from afa import Arc, Automaton
from afa.spark.bucket import Bucket
from tests.automata import Log
from tests.spark.buckets import job_of

S = 1_000_000


TRIES = Automaton(
    start="0", final={"in"}, event=Log,
    arcs=[
        Arc("0", "try", "kind == 'try'", name="first"),
        Arc("0", "try", "kind == 'old'", name="old", select="old"),
        Arc("try", "try", "kind != 'login'", name="wait"),
        Arc("try", "in", "kind == 'login'", name="login", select="login"),
    ],
)  # fmt: skip


@pytest.mark.parametrize("saved", [False, True])
def test_an_arc_that_has_ended(saved: bool) -> None:
    here = job_of(TRIES, "who", "25 seconds", None, 1, "raise", [pa.int64()], "raise", members="id")
    bucket = Bucket(here, 0)

    def run(rows: list[tuple[int, str, int]], lines: list[Any], promised: int) -> list[Any]:
        nonlocal bucket
        events = pa.Table.from_pylist(
            [{"who": 1, "kind": kind, "id": name, "le": le * S, "diff": 1} for le, kind, name in rows], here.schema
        )
        answer = bucket.run(events, [json.dumps(line) for line in lines], promised * S)
        blob = bucket.save(False)
        if saved:
            bucket = Bucket(here, 0, [blob])
        assert not answer.faults
        return [row["members"] for table in answer.changes for row in table.to_pylist()]

    assert run([(1, "old", 7), (2, "x", 8)], [], 0) == []
    end = {"op": "retract", "arc": {"name": "old"}, "at": 3 * S}
    assert run([(4, "x", 9), (5, "old", 10)], [end], 1) == []
    assert run([(12, "x", 11)], [], 8) == []
    other = {"op": "insert", "arc": Arc("0", "try", "kind == 'other'", name="other").to_json(TRIES), "at": 18 * S, "until": 30 * S}
    assert run([(20, "x", 12)], [other], 16) == []
    (found,) = run([(21, "login", 13)], [], 17)
    assert found["old"] == [7]
    assert run([(40, "x", 14)], [], 37) == []
    assert run([(90, "x", 15)], [], 89) == []
    assert run([(99, "x", 15)], [], 98) == []
    assert run([(110, "x", 15)], [{"op": "retract", "arc": {"name": "wait"}, "at": 105 * S}], 99) == []
    assert {event.arc.name for event in bucket._core.arcs.table.events} == {"first", "wait", "login"}
