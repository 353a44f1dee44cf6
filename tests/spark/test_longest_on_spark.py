"""`match(.., longest=True)`: of matches of one key that show the same at one time the one that lasts longest."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import afa
from afa import AfaError, Arc, Automaton
from afa import spark as afa_spark
from afa.spark import shared
from tests.spark.buckets import Buckets, job_of
from tests.spark.streams import SECOND
from tests.strategies import Seeded

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Row(NamedTuple):
    sort: str


ANY = Automaton(
    start="0", final={"2"}, event=Row, arcs=[Arc("0", "1", "sort == 'a'"), Arc.skip("1", "True"), Arc("1", "2", "sort == 'b'")]
)
SQL = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY who ORDER BY time MEASURES B.sort AS last AFTER MATCH SKIP PAST LAST ROW
PATTERN (A B) WITHIN INTERVAL '10' SECOND DEFINE A AS sort = 'a', B AS sort = 'b')"""


class Choice(NamedTuple):
    who: str
    sort: str
    time: afa.Instant


def frame(spark: Any) -> Any:
    rows = [("k", "a", 1), ("k", "a", 3), ("m", "a", 2), ("k", "b", 5), ("m", "b", 6)]
    return spark.createDataFrame(
        [(k, kind, START + timedelta(seconds=t)) for k, kind, t in rows], "who string, sort string, at timestamp"
    )


def ends(found: Any) -> set[Any]:
    return {(row["who"], row["re"] - row["le"]) for row in found.where("kind = 'match'").collect()}


def test_a_table(spark: Any) -> None:
    rows = frame(spark)
    plain, longest = (
        rows.transform(afa_spark.match(ANY, key="who", time="at", window="10 seconds", longest=longest))
        for longest in (False, True)
    )
    assert ends(longest) == {("k", timedelta(seconds=8)), ("m", timedelta(seconds=6))}
    assert ends(plain) == {*ends(longest), ("k", timedelta(seconds=6))}


def test_a_query_that_chooses_is_refused(spark: Any) -> None:
    chosen = afa.sql(SQL, event=Choice, tick="us")
    with pytest.raises(AfaError, match="longest=True can't be combined with AFTER MATCH SKIP because it chooses among all matches"):
        frame(spark).withColumnRenamed("at", "time").transform(afa_spark.match(chosen, time="time", longest=True))


def test_a_bucket_that_is_saved_and_left_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    here = job_of(ANY, "who", "10 seconds", None, 1, "raise", [pa.string()], longest=True)
    assert here.digest != job_of(ANY, "who", "10 seconds", None, 1, "raise", [pa.string()]).digest
    buckets, found = Buckets(here, Seeded("longest 2")), []
    for sort, le in [("a", 1), ("a", 3), ("b", 5), ("a", 4)]:
        row = {"who": "k", "sort": sort, "le": le * SECOND, "diff": 1}
        (answer,) = buckets.run(pa.Table.from_pylist([row], here.schema))
        found += [(each["diff"], (each["re"] - each["le"]) // SECOND) for table in answer.changes for each in table.to_pylist()]
    assert 0 < buckets.taken < 3
    assert found == [(1, 8), (-1, 8), (1, 9)]
