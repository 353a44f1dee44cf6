"""Whole statements in SQL by Spark: each MATCH_RECOGNIZE is afa's, what stands around it Spark's.

A table is matched as a whole, in buckets of its keys, by `afa.find`. A stream is matched by `match`, which answers changes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)
from pyspark.sql.pandas.types import from_arrow_schema

from afa.errors import AfaError, QueryError
from afa.language.query import Query
from afa.language.shown_columns import ShownColumn
from afa.language.sql_layers import layers_of
from afa.language.sql_query import sql as read_sql
from afa.language.sql_reader import reading
from afa.language.sql_statement import Statement
from afa.language.stacked_query import StackedQuery
from afa.language.whole_statement import RelationalEngine, whole
from afa.operator.options import check_options
from afa.replay.table_answer import answered, numbered
from afa.schema import SCALARS, Schema
from afa.spark.changes_read import CHANGE, ChangesRead
from afa.spark.plan import match
from afa.spark.session import BUCKETS
from afa.spark.shipped import by_value, shipped
from afa.spark.typed import arrow_schema, column

OF_TABLES = ("engine", "max_bytes", "partial_matches")
OF_STREAMS = ("checkpoint", "lateness", "metrics", "partial_matches", "since", "speculation")
"""The options that say something of a MATCH_RECOGNIZE."""


def sql(
    spark: Any,
    text: str,
    *,
    dialect: str | None = "spark",
    tick: str | None = None,
    ties: str | None = None,
    buckets: int = BUCKETS,
    late: str = "drop",
    **options: Any,
) -> DataFrame:
    """Run a statement in SQL with MATCH_RECOGNIZE in it, wherever a table may stand; over tables, and over a stream.

    Parameters
    ----------
    spark : SparkSession
        Tables are those of its catalog, and temporary views. Nothing is left there.
    text : str
        ``SELECT ..``, with joins, groups, windows, unions, CTEs, and any number of MATCH_RECOGNIZE, also over one another.
    dialect : str, optional
        The dialect that the text is in, as of `afa.sql`; it is brought into Spark's.
    tick, ties : optional
        As of `afa.sql`.
    buckets : int
        How many parts the values of PARTITION BY are hashed into, each of which a task matches.
    late : "drop" or "raise"
        Of a stream: whether rows behind the watermark are counted only, or stop the query.
    options
        Of a stream, as of `match`: ``lateness=``, ``speculation=``, ``checkpoint=``, ``since=``, ``metrics=``,
        ``partial_matches=``.
        Of a table, as of `afa.find`: ``engine=``, ``partial_matches=``, ``max_bytes=``.

    Returns
    -------
    DataFrame
        Of MATCH_RECOGNIZE SQL's columns: of ONE ROW PER MATCH those of PARTITION BY and MEASURES; of ALL ROWS PER MATCH those of
        PARTITION BY, of ORDER BY, MEASURES, and all others of the input. Of a stream these are changes, with ``le``, ``re`` and
        ``diff`` behind them, which a SELECT over MATCH_RECOGNIZE has, too: -1 takes a row back.

    Raises
    ------
    AfaError
        The text is no such statement, with line and column; or Spark refuses a part of it; or it asks of a stream what would have
        to read changes as rows: a group, an aggregate, a window, DISTINCT that does not name ``diff``, a match over matches.
    """
    if late not in ("drop", "raise"):
        raise AfaError(f'expected "drop" or "raise" but got late={late!r}: a late row is no row of the answer')
    check_options(options, sorted({*OF_STREAMS, *OF_TABLES}), "afa.spark.sql")
    engine = _Spark(spark, buckets, {"late": late}, options)
    found = engine.over_one_another(text, dialect, tick, ties)
    return whole(engine, text, dialect, tick, ties) if found is None else found


class _Spark(RelationalEngine):
    name, dialect = "Spark", "spark"

    def __init__(self, spark: Any, buckets: int, of_streams: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        self._spark, self._buckets, self._of_streams, self._options = spark, buckets, of_streams, options
        self._changes, self._streams = ChangesRead(), itertools.count(1)

    def answer(self, statement: str, views: Mapping[str, Any]) -> DataFrame:
        if not views:
            return self._spark.sql(statement)  # type: ignore[no-any-return]
        text = statement.replace("{", "{{").replace("}", "}}")
        for name in views:  # which Spark replaces by views of its own, or by the plans, and so keeps none
            text = text.replace(f"`{name}`", f"{{{name}}}")
        named = {name: view for name, view in views.items() if f"{{{name}}}" in text}
        return self._spark.sql(text, **named)  # type: ignore[no-any-return]

    def rows(self, statement: str, views: Mapping[str, Any]) -> DataFrame:
        found = self.answer(statement, views)
        found.schema  # noqa: B018  (Spark Connect reads a statement when it is asked something)
        return found

    def columns(self, rows: DataFrame) -> list[str]:
        return list(rows.columns)

    def renamed(self, rows: DataFrame, names: Sequence[str]) -> DataFrame:
        return rows.toDF(*names)

    def events(self, rows: DataFrame) -> pa.Schema:
        schema = arrow_schema(rows)
        return schema if rows.isStreaming else numbered(schema)

    def has_null(self, rows: DataFrame, column: str) -> bool:
        return False

    def beside(self, rows: DataFrame) -> Sequence[str]:
        return CHANGE if rows.isStreaming else ()

    def rewritten(self, statement: Statement, name: str, rows: DataFrame) -> bool:
        """With the columns of changes in each SELECT, in a stream."""
        if not rows.isStreaming:
            return False
        self._changes.follow(statement, name)
        return True

    def matches(self, query: Query, rows: DataFrame, shown: Sequence[ShownColumn], numbers: Mapping[str, str]) -> DataFrame:
        check_options(self._options, *((OF_STREAMS, "a stream") if rows.isStreaming else (OF_TABLES, "a table, a bucket a thread")))
        if not rows.isStreaming:
            return self._found(query, rows, shown, numbers)
        twice = next((each.name for each in shown if each.name.lower() in CHANGE), None)
        if twice is not None:
            raise AfaError(
                f"expected another name than {twice} in a stream, whose changes have it; write AS in MEASURES, or in front"
            )
        scales = dict(query.tree.decimals) | {each.field: each.scale for each in shown if each.scale is not None}
        return self._in_stream(query, query.events, rows, {each.name: each.field for each in shown}, scales)

    def over_one_another(self, text: str, dialect: str | None, tick: str | None, ties: str | None) -> DataFrame | None:
        """Return the changes of several MATCH_RECOGNIZE alone, over one another and a stream; None: it is another statement."""
        layers = reading(text, dialect, lambda statement: layers_of(statement) if len(statement.matches) > 1 else None)
        if layers is None or layers.relational is not None:
            return None
        table = layers.table.copy()
        table.set("alias", None)
        rows = self.rows(f"SELECT * FROM {table.sql(dialect=self.dialect)}", {})
        if not rows.isStreaming:
            return None
        try:
            query: StackedQuery = read_sql(text, event=self.events(rows), dialect=dialect, tick=tick, ties=ties)
        except QueryError:  # which is told where it stands round a stream
            return None
        check_options(self._options, OF_STREAMS, "a stream")
        last = query.links[-1].tree
        return self._in_stream(query, query.links[0].events, rows, {name: name for name in last.columns}, dict(last.decimals))

    def _in_stream(
        self,
        query: Query | StackedQuery,
        events: Schema | None,
        rows: DataFrame,
        fields: Mapping[str, str],
        scales: Mapping[str, int],
    ) -> DataFrame:
        """Return changes in a stream; ``fields``: by columns of the answer, ``scales``: of those that are DECIMALs."""
        time = None if events is None else events.instant
        if time is None:
            raise AfaError("expected a stream in the order of a column of timestamps but got ORDER BY of another one, or of none")
        said = {"name": f"match {next(self._streams)}", **self._of_streams, **self._options}  # each has numbers of its own
        found = rows.transform(match(query, time=time, buckets=self._buckets, on_fault="raise", **said)).where("kind = 'match'")
        arrays = {field.name for field in query.shown.fields if field.type not in SCALARS}
        columns = {name: column(field) for name, field in fields.items()}
        for name, field in fields.items():
            if field in scales:
                kind = f"decimal(38, {scales[field]})"
                columns[name] = columns[name].cast(f"array<{kind}>" if field in arrays else kind)
        return found.select(*(each.alias(name) for name, each in columns.items()), *map(column, CHANGE))

    def _found(self, query: Query, rows: DataFrame, shown: Sequence[ShownColumn], numbers: Mapping[str, str]) -> DataFrame:
        """Return the matches in a table; a bucket of keys is a table of its own."""
        options = self._options

        def work(table: pa.Table) -> pa.Table:
            return answered(query, table, shown, numbers, threads=1, **options).cast(schema)

        empty = arrow_schema(rows).empty_table()
        schema = answered(query, empty, shown, numbers, threads=1, **options).schema
        fields = {number: name for name, number in numbers.items()}  # which are numbers in a bucket
        keys = [column(fields.get(name, name)) for name in query.tree.key]
        number = F.pmod(F.xxhash64(*keys), F.lit(self._buckets)) if keys else F.lit(0)
        bucket = "afa_bucket"
        with by_value(query.automaton, query.event):
            parts = rows.groupBy(number.alias(bucket))
            return parts.applyInArrow(shipped(work, query.automaton.arcs), from_arrow_schema(schema))
