"""A running query of Spark on the live page: its numbers, its partial matches by state, a swap made there."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from afa import AfaError, Keyed, insert
from afa.extra.live.live_query import LiveQuery
from tests.spark.streams import SECOND, ZERO, when
from tests.spark.test_stream import Files, afa_spark
from tests.test_serve import FALLS, Tick, ask

GIVEN = {"key": "key", "time": "at", "window": "1 hour", "lateness": "10 minutes", "buckets": 2}


def row(key: str, second: int, change: int) -> str:
    return json.dumps({"key": key, "change": change, "at": when(second).isoformat()})


def started(spark: Any, tmp_path: Path, log: Any, **more: Any) -> tuple[Any, Files]:
    events = Files(tmp_path / "in")
    pattern = afa_spark.match(FALLS, arcs=log.read(spark), **GIVEN, **more)
    stream = spark.readStream.schema("key string, change long, at timestamp").json(str(events.path)).transform(pattern)
    to = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    return to.start(str(tmp_path / "changes")), events


def until(site: Any, wanted: Any) -> Any:
    """The last sample, once it is as wanted."""
    for _ in range(600):
        found = ask(site)[1]
        if found["samples"] and wanted(found["samples"][-1]):
            return found["samples"][-1]
        time.sleep(0.1)
    raise AssertionError(found)


def test_a_running_query_is_shown_and_steered(spark: Any, tmp_path: Path) -> None:
    log = afa_spark.arc_log(tmp_path / "arcs", FALLS)
    query, events = started(spark, tmp_path, log, metrics=True)
    by_hand = Keyed(FALLS, key="key", window=3600 * SECOND)
    out: list[Any] = []
    try:
        with afa_spark.serve(query, FALLS, arcs=log) as site:
            events.put([row("a", 1, -3), row("b", 2, -3)])
            for key, second in (("a", 1), ("b", 2)):
                out += by_hand.push(insert(Tick(key, -3), ZERO + second * SECOND))
            found = until(site, lambda sample: sample["rows"] == 2)
            assert (found["by_state"], found["partial_matches"], found["keys"], found["late"]) == ({"falling": 2}, 2, 2, 0)
            about = ask(site)[1]["about"]
            assert about["at"] == f"{when(2).isoformat()[:-6]}.000001+00:00"
            told = {"Authorization": f"Bearer {site.token}"}
            swap = {"do": "swap", "name": "turn", "fence": "change > 0 and r.total < -5"}
            status, said = ask(site, "POST", "/change", swap, **told)
            assert (status, said["said"].startswith("swapped 'turn'; from 2026-01-01T00:00:02.000001+00:00 on")) == (200, True)
            by_hand.swap("turn", fence="change > 0 and r.total < -5", at=ZERO + 2 * SECOND + 1)
            assert "-5" in ask(site)[1]["picture"]["arcs"][-1]["fence"]
            assert ask(site, "POST", "/change", {**swap, "fence": "chang > 0"}, **told)[0] == 422
            rest = [("a", 10, 1), ("b", 11, -4), ("b", 12, 1)]
            events.put([row(*each) for each in rest])
            for key, second, change in rest:
                out += by_hand.push(insert(Tick(key, change), ZERO + second * SECOND))
            found = until(site, lambda sample: sample["rows"] == 5)
            assert (found["matches"], found["withdrawn"], found["faults"]) == (1, 0, 0)
            assert 600 <= found["lag"] <= 610  # the watermark of a batch is that of the rows before it
            query.stop()
            for _ in range(100):
                if (status := ask(site)[1]["status"]) == "ended":
                    break
                time.sleep(0.1)
            assert status == "ended"
    finally:
        query.stop()
    shown = afa_spark.current(spark.read.parquet(str(tmp_path / "changes"))).select("key", "total").collect()
    assert sorted(map(tuple, shown)) == sorted((match.key, match.payload.total) for match in out) == [("b", -7)]


def test_a_query_without_a_log_is_only_shown(spark: Any, tmp_path: Path) -> None:
    log = afa_spark.arc_log(tmp_path / "arcs", FALLS)
    query, events = started(spark, tmp_path, log, name="falls")
    try:
        with afa_spark.serve(query, FALLS, name="falls") as site:
            events.put([row("a", 1, -3), row("a", 2, 1)])
            found = until(site, lambda sample: sample["rows"] == 2)
            assert (found["matches"], "by_state" in found) == (1, False)
            about = ask(site)[1]["about"]
            assert about["controls"] == []
            assert "metrics=True" in about["hints"]["states"]
            status, said = ask(site, "POST", "/change", {"do": "end", "name": "turn"}, Authorization=f"Bearer {site.token}")
            assert (status, "serve(.., arcs=log)" in said["error"]) == (422, True)
    finally:
        query.stop()


def test_a_change_before_the_first_row_says_its_time(tmp_path: Path) -> None:
    live = LiveQuery(None, FALLS, afa_spark.arc_log(tmp_path, FALLS), None, None)
    with pytest.raises(AfaError, match="expected the time from which on the change holds but got none"):
        live.change({"do": "end", "name": "turn"})
    assert live.change({"do": "end", "name": "turn", "at": "2026-01-01"}) == "ended 'turn'; from 2026-01-01 on, with the next batch"


def test_what_is_no_pattern_and_no_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AfaError, match="expected an automaton or a query but got 7"):
        afa_spark.serve(None, 7)  # type: ignore[arg-type]
    with pytest.raises(AfaError, match=r"expected an arc log, afa\.spark\.arc_log"):
        afa_spark.serve(None, FALLS, arcs="arcs")  # type: ignore[arg-type]
