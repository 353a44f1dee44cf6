"""What buckets are given, without Spark: the job, rows packed by bucket, the bucket of a key."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from afa import AfaError, Arc, Automaton
from afa.spark.hashing import bucket_numbers
from afa.spark.packed_rows import pack, read_parts
from tests.spark.buckets import job_of
from tests.spark.streams import of_program


def test_parts_come_back() -> None:
    key, wrong = [1, 2, 1, None, 2, 1, 3], json.dumps({"who": 3, "x": "?"})
    batch = pa.RecordBatch.from_pydict(
        {
            "who": pa.array(key, pa.int64()),
            "x": pa.array([1, 2, 3, 4, None, 6, None]),
            "diff": pa.array([1, -1, 1, 1, 1, 2, 1]),
            "le": pa.array([0, 1, 2, 3, 4, 5, 6]),
            "bad": pa.array([None] * 6 + [wrong]),
        }
    )
    (packed,) = pack([batch], ["who"], ["who", "x", "diff"], 4, {"le": "at"})
    of: dict[int, list[tuple[int, bytes]]] = {}
    for bucket, part, blob in zip(*(column.to_pylist() for column in packed.columns)):
        of.setdefault(bucket, []).append((part, blob))
    moment = "1970-01-01 00:00:00.00000{}"
    one, two, none, three = (int(bucket_numbers([pa.chunked_array([pa.array([k])])], 4)[0]) for k in (1, 2, 0, 3))
    assert len({one, two}) == 2
    assert {bucket: read_parts(parts).events.to_pylist() for bucket, parts in of.items() if read_parts(parts).events} == {
        one: [{"who": 1, "x": 1, "diff": 1, "le": 0}, {"who": 1, "x": 3, "diff": 1, "le": 2}],
        two: [{"who": 2, "x": 2, "diff": -1, "le": 1}],
    }
    bad = [(bucket, *each) for bucket, parts in of.items() for each in read_parts(parts).bad]
    assert sorted(bad, key=repr) == sorted(
        [
            (none, {"who": None, "x": 4, "diff": 1, "at": moment.format(3)}, 3),
            (two, {"who": 2, "x": None, "diff": 1, "at": moment.format(4)}, 4),
            (one, {"who": 1, "x": 6, "diff": 2, "at": moment.format(5)}, 5),
            (three, {"who": 3, "x": "?"}, 6),
        ],
        key=repr,
    )


@pytest.mark.parametrize(
    ("kind", "values", "numbers"),
    [
        (pa.int64(), [1, 0, -7, None], [465, 535, 752, 535]),
        (pa.int8(), [1, 0, -7, None], [465, 535, 752, 535]),
        (pa.bool_(), [True, False, None], [465, 535, 535]),
        (pa.string(), ["a", "", "caf\u00e9", None], [774, 535, 716, 535]),
    ],
)
def test_the_bucket_of_a_key_stays(kind: pa.DataType, values: list[Any], numbers: list[int]) -> None:
    column = pa.chunked_array([pa.array(values, kind)])
    assert bucket_numbers([column], 1000).tolist() == numbers
    assert bucket_numbers([column], 1 << 20).dtype == np.int32


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"buckets": 0}, "at least one bucket"),
        ({"on_fault": "ignore"}, "on_fault='ignore'"),
        ({"late": "ignore"}, "late='ignore'"),
        ({"window": "a while"}, "expected a duration"),
        ({"window": "0 seconds"}, "a duration of 1 microseconds at least"),
        ({"speculation": "-1 second"}, "expected a duration such as .* but got speculation='-1 second'"),
        ({"speculation": timedelta(seconds=-1)}, "a duration of 0 microseconds at least but got speculation=datetime.timedelta"),
    ],
)
def test_what_makes_no_job_is_refused(options: dict[str, Any], message: str) -> None:
    given = {"window": "25 seconds", "order_by": None, "buckets": 1, "on_fault": "report", **options}
    with pytest.raises(AfaError, match=message):
        job_of(of_program("runs", ("who",)).automaton, "who", key_types=[pa.int64()], **given)


@pytest.mark.parametrize("name", ["le", "bucket", "bad"])
def test_a_field_named_as_a_column_of_ours_is_refused(name: str) -> None:
    event = NamedTuple("Event", [(name, int)])  # type: ignore[misc]
    automaton = Automaton(start="a", final={"b"}, event=event, arcs=[Arc("a", "b", lambda e, r: True)])
    with pytest.raises(AfaError, match=f"expected other names than .* but got '{name}'"):
        job_of(automaton, "who", None, None, 1, "report", [pa.int64()])
