"""Columns that a query in SQL computes of each row, its keys among them: in front of the shuffle, by a function on the workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

from afa.errors import AfaError
from afa.frames.asked import computed_by
from afa.language.query import Query
from afa.language.stacked_query import StackedQuery
from afa.spark.shipped import shipped
from afa.spark.typed import SPARK, column, micros, taken
from speculation.row_view import ComputedValue


def computed_rows(query: Any, time: str) -> tuple[Any, Callable[[DataFrame], DataFrame], list[str]]:
    """Return a pattern over rows that have the columns which it computes of each, what gives them to rows, and their texts.

    ``time`` is the column of times. Times among them are microseconds, as elsewhere on Spark.
    """
    first, *rest = getattr(query, "links", (query,))
    stage = computed_by(first) if isinstance(first, Query) else None
    if stage is None:
        return query, lambda rows: rows, []
    instant = stage.event_schema.instant

    def with_columns(rows: DataFrame) -> DataFrame:
        kinds = {field.name: field.dataType.simpleString() for field in rows.schema}

        def read(field: Any) -> Any:
            name = time if field.name == instant else field.name
            if name not in kinds:
                raise AfaError(f"expected a column {name!r} but got the columns {', '.join(kinds)}")
            return micros(column(name)) if field.name == instant else taken(name, kinds[name], field.type).column

        for value in stage.values:
            if value.field.name in kinds:
                raise AfaError(f"expected no column {value.field.name!r}, as the query computes one of this name: rename it")
            of = F.udf(_of_row(value), SPARK[value.field.type], useArrow=True)
            rows = rows.withColumn(value.field.name, of(*map(read, value.read)))
        return rows

    return StackedQuery([first.filled, *rest], query.unordered) if rest else first.filled, with_columns, first.computed


def _of_row(value: ComputedValue) -> Callable[..., Any]:
    """Return a value as a function of columns; None where one is missing that must not be, of which `match` tells."""
    needed = [i for i, field in enumerate(value.read) if not field.optional]
    of = shipped(lambda row: None if any(row[i] is None for i in needed) else value.of_row(*row))
    return lambda *row: of(row)
