"""Random whole statements through `afa.spark.sql`, many in one job, beside DuckDB's answer over what a matcher shows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any, NamedTuple

from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

import afa
from afa import AfaError
from tests.language import statement_worlds
from tests.worlds.kind import ENGINES, RefusedError, Seen, TooManyError

PLAIN = {"adaptive.enabled": "false", "codegen.wholeStage": "false", "codegen.factoryMode": "NO_CODEGEN", "shuffle.partitions": "1"}
"""Of Spark's settings those with which a small job is sooner done."""
TOGETHER = 20
"""How many statements one job of Spark answers."""


class Planned(NamedTuple):
    """A statement that Spark has planned, and what it must answer."""

    number: int
    wanted: Counter[Any]
    frame: Any
    text: str
    in_order: bool


def run(spark: Any, seed: str, numbers: Iterable[int]) -> Seen:
    """Ask Spark; what was met. An `AssertionError` tells the first world that is answered otherwise."""
    seen, planned = Seen(), list[Planned]()
    with settings(spark):
        for number in numbers:
            planned += _planned(spark, seed, number, seen)
            if len(planned) == TOGETHER:
                _compare(planned, seen)
                planned.clear()
        _compare(planned, seen)
    return seen


@contextmanager
def settings(spark: Any) -> Iterator[None]:
    """Let Spark have `PLAIN` meanwhile."""
    before = {name: spark.conf.get(f"spark.sql.{name}", None) for name in PLAIN}
    try:
        for name, value in PLAIN.items():
            spark.conf.set(f"spark.sql.{name}", value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(f"spark.sql.{name}") if value is None else spark.conf.set(f"spark.sql.{name}", value)


def _planned(spark: Any, seed: str, number: int, seen: Seen) -> list[Planned]:
    world = statement_worlds.numbered(seed, number)
    try:
        text, wanted, con, _ = statement_worlds.asked(world)
    except (TooManyError, RefusedError):
        return []
    for name in ("t", "s"):
        spark.createDataFrame(con.table(name).to_arrow_table()).createOrReplaceTempView(name)
    try:
        frame = afa.spark.sql(spark, text, dialect="duckdb", tick="s", buckets=2, engine=ENGINES[number % 2])
    except AfaError as error:
        if "what Spark refuses" not in str(error):
            raise AssertionError(f"world {number} of {seed!r}: {error}\n{text}") from error
        seen["refused by Spark"] += 1
        return []
    seen[world.template] += 1
    seen[world.front] += 1
    return [Planned(number, wanted, frame, text, "USING" not in statement_worlds.FRONTS[world.front])]


def _compare(planned: list[Planned], seen: Seen) -> None:
    if not planned:
        return
    rows = [
        each.frame.toDF(*(f"c{i}" for i in range(len(each.frame.columns))))
        .select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("row"))
        .select(F.lit(place).alias("place"), "row")
        for place, each in enumerate(planned)
    ]
    found: list[Counter[Any]] = [Counter() for _ in planned]
    for place, row in reduce(lambda left, right: left.unionAll(right), rows).collect():
        (asked, *_), *_ = planned[place].wanted or [[planned[place].frame.columns]]
        named = zip(asked, planned[place].frame.columns)
        columns = tuple(name if "(" in name else said for name, said in named)  # a function without AS has a name of the engine's
        found[place][(columns, *map(statement_worlds.plain, json.loads(row).values()))] += 1
    for each, answer in zip(planned, found):
        if not each.in_order:  # Spark has the columns of USING in front, in `u.*`, too
            each, answer = each._replace(wanted=_paired(each.wanted)), _paired(answer)
        said = f"world {each.number}: missing {each.wanted - answer}, too much {answer - each.wanted}\n{each.text}"
        assert answer == each.wanted, said
        seen["compared"] += 1
        seen["rows"] += sum(answer.values())


def _paired(rows: Counter[Any]) -> Counter[Any]:
    """Rows of names with values, whatever the order of columns."""
    found = Counter[Any]()
    for (names, *values), n in rows.items():
        found[tuple(sorted(zip(names, values), key=lambda each: str(each[0])))] += n
    return found
