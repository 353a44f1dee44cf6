"""What the driver says, without a Spark: columns and keys that are refused, warnings that come once."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import afa
from afa import AfaError
from afa.operator.options import Options
from afa.spark.metrics import FirstWarnings
from afa.spark.pattern_said import said_of, tell_of_carried
from afa.spark.session import NEEDED, PARTITIONS, PROVIDER, check
from afa.spark.typed import keyed, taken

types = pytest.importorskip("pyspark.sql.types")


class Reading(NamedTuple):
    sym: str
    type: str
    x: float


def of(kind: str) -> Any:
    """A schema of one column."""
    return types.StructType().add("k", {"int": "integer", "bigint": "long", "smallint": "short"}.get(kind, kind))


SUM = """PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_any_match(a, b[], c) { [sym] and sum(b[].x) > 5 }
WITHIN 100 seconds RETURN a.x AS ax"""


def test_a_sum_that_is_carried_is_told_when_it_is_planned(caplog: pytest.LogCaptureFixture) -> None:
    query = afa.query(SUM, event=Reading, tick="us")
    waits = query.explain().waits or ""
    assert waits.startswith("sum(b.x) > 5; ")
    assert waits.endswith("so flat holds of that only; on Spark (afa.spark.match) it is carried, by up to 2^n partial matches")
    with caplog.at_level(logging.WARNING, "afa.spark"):
        tell_of_carried(said_of(query, Options()).pattern)
        tell_of_carried(afa.query(SUM.replace("any_match", "next_match"), event=Reading, tick="us"))
        tell_of_carried(None)
    (record,) = caplog.records
    assert "on Spark this condition is carried: sum(b.x) > 5. Of n events" in record.getMessage()


@pytest.mark.parametrize("kind", ["array<double>", "struct<x:double>", "map<int,double>", "variant", "interval year"])
@pytest.mark.parametrize("target", [int, float, bool, str])
def test_a_column_that_no_field_takes_is_refused(kind: str, target: type) -> None:
    if kind.startswith("interval") and target is not bool:
        return
    with pytest.raises(AfaError, match=rf"expected a column 'v' of boolean, .* field is {target.__name__}, but got {kind[:5]}"):
        taken("v", kind, target)


@pytest.mark.parametrize(
    ("column", "target"),
    [("string", int), ("boolean", int), ("string", float), ("boolean", float), ("int", bool), ("string", bool)],
)
def test_a_key_that_its_field_does_not_take_is_refused(column: str, target: type) -> None:
    table = SimpleNamespace(schema=of(column))
    field = afa.schema.Field("k", target, False)
    with pytest.raises(
        AfaError, match=rf"expected a key column 'k' of .*, as the event's field is {target.__name__}, but got {column}"
    ):
        keyed(table, "k", [field])


@pytest.mark.parametrize(("column", "target"), [("string", str), ("int", int), ("bigint", int), ("int", float), ("boolean", bool)])
def test_a_key_that_its_field_takes_stays(column: str, target: type) -> None:
    table = SimpleNamespace(schema=of(column))
    assert keyed(table, ("k",), [afa.schema.Field("k", target, False)]) is table
    assert keyed(table, "k", []) is table


def test_an_int_or_boolean_key_of_a_field_of_str_is_cast() -> None:
    class Table(SimpleNamespace):
        def withColumn(self, name: str, _: Any) -> str:
            return f"another {name}"

    for column in ("int", "smallint", "bigint", "boolean"):
        table = Table(schema=of(column))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("afa.spark.typed.column", lambda name: SimpleNamespace(cast=lambda kind: (name, kind)))
            assert keyed(table, "k", [afa.schema.Field("k", str, False)]) == "another k"


def test_the_first_late_and_faulty_rows_of_a_query_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    watching = FirstWarnings()
    with caplog.at_level(logging.WARNING, "afa.spark"):
        watching.progressed("run 1", "query now", {"afa": {"late": 0, "faults": None}})
        assert not caplog.records
        watching.progressed("run 1", "query now", {"afa": {"late": 1200}, "afa 2": {"late": 34}})
        watching.progressed("run 1", "query now", {"afa": {"late": 7, "faults": 2}})
        watching.progressed("run 1", "query now", {"afa": {"late": 7, "faults": 2}})
        watching.progressed("run 2", "query then", {"afa": {"late": 1}})
    first, second, third = (record.getMessage() for record in caplog.records)
    assert first.startswith("query now: 1,234 rows came behind the watermark and were not taken: kind = late; lateness= says")
    assert second.startswith("query now: 2 rows, or functions over them, went wrong: kind = fault; reason says")
    assert third.startswith("query then: 1 rows")


def test_too_many_partitions_are_told_once_a_session(caplog: pytest.LogCaptureFixture) -> None:
    def session(name: str) -> Any:
        return SimpleNamespace(conf={PROVIDER: NEEDED[PROVIDER], PARTITIONS: "2"}, session_id=name)

    with caplog.at_level(logging.WARNING, "afa.spark"):
        for name in ("told 1", "told 1", "told 2"):
            check(session(name), 1)
        check(session("told 1"), 2)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [f"{PARTITIONS} is 2, and there is 1 bucket"] * 2


def test_a_pattern_without_a_key_is_told_what_does_it() -> None:
    query = afa.query(SUM.replace("[sym] and ", ""), event=Reading, tick="us")
    with pytest.raises(
        AfaError, match=r"expected a query with a key .* but got none; where all rows are of one key, a constant column"
    ):
        said_of(query, Options())
