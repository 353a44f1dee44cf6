"""Queries in SQL in buckets that are lost after each batch: random ones, what they hold, checkpoints of older versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgpack
import pytest

import afa
from afa import SnapshotError
from afa.spark import shared
from afa.spark.bucket import Bucket, BucketState
from punctuation.time import BEGINNING
from tests.spark.sql_in_buckets import WORLDS
from tests.spark.test_stages import Row, found, job, letters, sql

FINAL = afa.sql(
    "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY key ORDER BY at MEASURES FINAL COUNT(*) AS n ALL ROWS PER MATCH PATTERN (a b+) "
    "WITHIN 50 DEFINE a AS sort = 'a', b AS sort = 'b')",
    event=Row,
)
"""One that shows each row, with what the last one says."""


def test_random_worlds() -> None:
    stages = {"RowView": 99, "LastBefore": 99, "MatchNumbers": 99, "look ahead": 50}
    WORLDS.run("sample 3", range(48), more_than={"came": 20, "images": 50, "moves": 5, "swaps": 2, **stages})


@pytest.mark.parametrize("query", [sql(within=50), FINAL], ids=["one row", "all rows"])
def test_what_a_bucket_holds_is_told(query: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bytes, too; from its state and from its image alike."""
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    here = job(query)
    bucket = Bucket(here, 0)
    bucket.run(letters(here, "abbb", 1), [], BEGINNING)
    held, blobs = bucket.numbers(True), [bucket.save(False)]
    assert held["memory_bytes"]
    assert (held["keys"], held["candidates"]) == (1, 4 if query is FINAL else 1)
    bucket.leave(b"it")
    for again in (Bucket(here, 0, blobs), Bucket(here, 0, image=shared.take(b"it"))):
        assert again.numbers(True).items() >= {(name, n) for name, n in held.items() if name != "memory_bytes"}
        assert {row[1:] for row in found(again.run(letters(here, "b", 5), [], BEGINNING))} >= {(5, 1)}


def test_checkpoints_of_queries_that_were_no_scans_are_refused() -> None:
    """Then matches were chosen by a stage behind the operator, of whose options a recipe spoke."""
    here = job(sql())
    bucket = Bucket(here, 0)
    bucket.run(letters(here, "abab", 1), [], 2)
    state = msgpack.unpackb(bucket.save(False))
    place = 1 + BucketState._fields.index("recipes")
    for recipe in state[place]:
        recipe["choose"] = {"window": 10, "start": [], "end": [], "prefer": ["choose1"], "skip": "past last row"}
    said = "expected the checkpoint of a query that chooses while it matches .* but got one of an older version, .* begin anew with"
    with pytest.raises(SnapshotError, match=said):
        Bucket(here, 0, [msgpack.packb(state)])
