"""``match(members=)``: the events of each match as a column, of a table, of a stream that starts again, of what is in force."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from afa import AfaError, Arc, Automaton, query
from tests.automata import Log
from tests.spark.streams import when
from tests.spark.test_stream import Files, read, run

afa_spark = pytest.importorskip("afa.spark", reason='pyspark is not installed: pip install "afa[spark]"')
SCHEMA = "who long, kind string, id long, at timestamp, diff int"


def tries(select: str | None) -> Automaton:
    arcs = [
        Arc("0", "try", "kind == 'try'", name="first"),
        Arc("try", "try", "kind != 'login'", name="wait"),
        Arc("try", "in", "kind == 'login'", name="login", select=select),
    ]
    return Automaton(start="0", final={"in"}, event=Log, arcs=arcs)


def rows(*some: tuple[int, str, int, int, int]) -> list[str]:
    fields = ("who", "kind", "id", "at", "diff")
    return [json.dumps(dict(zip(fields, (*row[:3], when(row[3]).isoformat(), row[4])))) for row in some]


FIRST = rows((1, "try", 10, 1, 1), (1, "look", 11, 2, 1), (1, "login", 12, 4, 1), (2, "try", 20, 3, 1))
SECOND = rows((2, "login", 21, 9, 1), (1, "login", 12, 4, -1))
THIRD = rows((2, "try", 22, 5, 1), (1, "login", 13, 6, 1))


def told(table: Any) -> list[Any]:
    return sorted((row["who"], row["diff"], row["members"]) for row in table.where("kind = 'match'").collect())


def test_a_table_of_each_form(spark: Any, tmp_path: Path) -> None:
    files = Files(tmp_path / "rows")
    files.put(FIRST)
    table = spark.read.schema(SCHEMA).json(str(files.path))
    for select, members, expected in (
        (None, "id", [10, 12]),
        ("login", "id", (["try", "login"], [[10], [12]])),
        (None, "le", [when(1).replace(tzinfo=None), when(4).replace(tzinfo=None)]),
    ):
        found = table.transform(
            afa_spark.match(tries(select), key="who", time="at", window="25 seconds", diff="diff", buckets=2, members=members)
        )
        (row,) = found.collect()
        value = row["members"]
        assert (value if select is None else (list(value.asDict()), list(value))) == expected
        (kept,) = afa_spark.current(found).collect()
        assert kept["members"] == value
    asked = query("PATTERN SEQ(try a, login b) WHERE skip_till_next_match(a, b) { [who] } WITHIN 25 seconds RETURN b.id",
                  event=NamedTuple("Who", [("who", int), ("kind", str), ("id", int)]), type="kind", tick="us")  # fmt: skip
    (row,) = table.transform(afa_spark.match(asked, time="at", diff="diff", buckets=1, members="id")).collect()
    assert row["members"].asDict() == {"a": [10], "b": [12]}


def test_a_stream_that_starts_again(spark: Any, tmp_path: Path) -> None:
    files = Files(tmp_path / "rows")
    options: dict[str, Any] = {"key": "who", "time": "at", "window": "25 seconds", "diff": "diff", "buckets": 2}
    for batches in ((FIRST,), (SECOND, THIRD)):
        for lines in batches:
            files.put(lines)
        stream = read(spark, files, SCHEMA).transform(
            afa_spark.match(tries("login"), lateness="5 seconds", members="id", **options)
        )
        run(stream, tmp_path)
    changes = spark.read.parquet(str(tmp_path / "changes"))
    found = [(who, diff, None if value is None else list(value)) for who, diff, value in told(changes)]
    assert found == [(1, -1, None), (1, 1, [[10], [12]]), (1, 1, [[10], [13]]), (2, 1, [[20], [21]]), (2, 1, [[22], [21]])]
    afa_spark.keep_current(tmp_path / "table", run="r")(changes, 0)
    kept = spark.read.parquet(str(tmp_path / "table")).collect()
    assert sorted(list(row["members"]) for row in kept) == [[[10], [13]], [[20], [21]], [[22], [21]]]


def test_what_is_refused(spark: Any) -> None:
    table = spark.createDataFrame([], SCHEMA)
    for members, message in (("ids", "but got members='ids'"), (True, "a column has one type")):
        with pytest.raises(AfaError, match=message):
            table.transform(afa_spark.match(tries(None), key="who", time="at", members=members))
