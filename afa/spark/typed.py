"""Give the rows of a DataFrame the columns of the job's schema; refuse tables, columns and names that can't have them.

A value that a field's type can't hold becomes null and is reported:

    bool, str, int, float     by Spark's casts; a number only if the field's type holds it exactly, as an operator takes it
    timestamps, dates         of an int or float field: microseconds since 1970, as ``le`` has them. Where a column names no zone (a
                              date is its midnight) the session's holds
    intervals of days         of an int or float field: microseconds
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, StructType

from afa.errors import AfaError
from afa.schema import Field
from afa.spark.job import Job
from afa.spark.packed_rows import OF_FEED, changes_schema

SPARK = {int: "bigint", float: "double", bool: "boolean", str: "string"}
WHOLE = ("tinyint", "smallint", "int")
SAFE = {
    int: (*WHOLE, "bigint"),
    float: (*WHOLE, "float", "double"),
    bool: ("boolean",),
    str: ("string",),
}
"""The types of columns whose casts lose no value."""
MOMENTS = ("timestamp", "timestamp_ntz", "date")
NUMBERS = (*WHOLE, "bigint", "float", "double", "decimal")
_ANY = ("boolean", "string", *NUMBERS, "void")
CASTS = {
    int: (*_ANY, *MOMENTS, "interval"),
    float: (*_ANY, *MOMENTS, "interval"),
    bool: _ANY,
    str: (*_ANY, *MOMENTS, "interval", "binary", "char", "varchar"),
}
"""The types of columns that Spark casts to a field's; what it would make text of, an array or a struct, says nothing to a field."""
EDGE = 2.0**63
"""The float next to the largest int64, which Spark's casts take for it."""
SHIFTED = "afa_watermark"
"""The column of the watermark of a stream that begins before 1970."""
KEY_TYPES = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "smallint": pa.int16(),
    "tinyint": pa.int8(),
    "boolean": pa.bool_(),
}


def quoted(name: str) -> str:
    """Return a column's name as Spark reads one that may hold dots and spaces."""
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> Any:
    """Return a column by its name, whatever that holds."""
    return F.col(quoted(name))


class TypedColumn(NamedTuple):
    """A column in the type of a field; where it has lost a value, and None if it can't."""

    column: Any
    lost: Any


def micros(moment: Any) -> Any:
    """Return a moment in microseconds since 1970, exactly, before it too."""
    return F.unix_micros(moment.cast("timestamp"))


def taken(name: str, kind: str, target: type) -> TypedColumn:
    """Return a column, of a type in Spark's words, as a field of type ``target``. Refuse one whose values are none of these."""
    if kind.partition("(")[0].partition(" ")[0] not in CASTS[target]:
        raise AfaError(
            f"expected a column {name!r} of {', '.join(each for each in CASTS[target] if each != 'void')}, as its field is "
            f"{target.__name__}, but got {kind}: select of it what a match reads"
        )
    given = column(name)
    if target in (int, float):
        if kind in MOMENTS:
            given, kind = micros(given), "bigint"
        elif kind.startswith("interval") and not any(unit in kind for unit in ("year", "month")):
            given, kind = F.unix_micros(F.timestamp_micros(F.lit(0)) + given), "bigint"
    found = given.try_cast(SPARK[target])
    if kind in SAFE[target]:
        return TypedColumn(found, None)
    lost = found.isNull() & given.isNotNull()
    if kind.split("(")[0] in NUMBERS and target is not str:
        there = found.cast("int") if target is bool else found
        lost |= ~F.coalesce(there.try_cast(kind) == given, F.lit(False)) & given.isNotNull()
        if target is int or kind == "bigint":
            lost |= F.coalesce(given.try_cast("double") >= EDGE, F.lit(False))
    return TypedColumn(F.when(~lost, found), lost)


def arrow_schema(rows: DataFrame) -> pa.Schema:
    """Return the columns as Arrow has them on workers."""
    try:
        return to_arrow_schema(rows.schema, timezone=rows.sparkSession.conf.get("spark.sql.session.timeZone"))
    except TypeError:  # before Spark 4.1
        return to_arrow_schema(rows.schema)


def check_tables(events: Any, arcs: Any) -> None:
    """Refuse what is no DataFrame, and an arc log without its column."""
    for what, table in (("events", events), ("arcs=", arcs)):
        if not hasattr(table, "isStreaming") and (table is not None or what == "events"):
            hint = "arc_log(folder, automaton).read(spark) is one" if what == "arcs=" else "events.transform(match(..))"
            raise AfaError(f"expected {what} as a DataFrame but got {table!r}: {hint}")
    if arcs is not None and "value" not in arcs.columns:
        raise AfaError(f"expected lines of an arc log in a column 'value' but got the columns {', '.join(arcs.columns)}")


def check_names(events: DataFrame, job: Job) -> None:
    """Refuse columns that Spark takes for one, where it does not look at upper and lower case."""
    if events.sparkSession.conf.get("spark.sql.caseSensitive") == "true":
        return
    changes = [*changes_schema(job).names, "id"]
    for names in (changes, [*job.rows.names, "bad"], events.schema.names):
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(name.lower(), name)
            if other != name:
                raise AfaError(
                    f"expected names that differ in more than upper and lower case but got {other!r} and {name!r}, which Spark "
                    'takes for one: rename one of them, or set "spark.sql.caseSensitive" to "true"'
                )


def key_types(schema: StructType, key: str | Sequence[str]) -> list[pa.DataType]:
    names = [key] if isinstance(key, str) else list(key)
    found = []
    for name in names:
        if name not in schema.names:
            raise AfaError(f"expected a key column {name!r} but got the columns {', '.join(schema.names)}")
        kind: DataType = schema[name].dataType
        if kind.simpleString() not in KEY_TYPES:
            raise AfaError(f"expected a key of {', '.join(KEY_TYPES)} but got {name} {kind.simpleString()}: cast it")
        found.append(KEY_TYPES[kind.simpleString()])
    return found


def keyed(events: DataFrame, key: str | Sequence[str], fields: Sequence[Field]) -> DataFrame:
    """Return a table in which a key column that is a field of str is one; refuse one that the field of its name does not take."""
    types = {field.name: field.type for field in fields}
    for name in [key] if isinstance(key, str) else key:
        target = types.get(name)
        kind = events.schema[name].dataType.simpleString() if name in events.schema.names else None
        if kind not in KEY_TYPES or target is None or kind in SAFE[target]:
            continue
        if target is not str:
            raise AfaError(
                f"expected a key column {name!r} of {', '.join(SAFE[target])}, as the event's field is {target.__name__}, but got "
                f"{kind}: cast it, or declare the field as the column is"
            )
        events = events.withColumn(name, column(name).cast("string"))
    return events


def timed(events: DataFrame, time: str) -> DataFrame:
    """Return a table with a timestamp if its time column names no zone (the session's holds): watermarks need one."""
    _micros(events, time)  # there is one
    if events.schema[time].dataType.simpleString() == "timestamp_ntz":
        return events.withColumn(time, column(time).cast("timestamp"))
    return events


def with_moments(events: DataFrame, names: Iterable[str]) -> DataFrame:
    """Returns a table whose columns of times are timestamps: of microseconds, or of times without a zone, too."""
    for name in names:
        kind = events.schema[name].dataType.simpleString() if name in events.schema.names else None
        if kind in ("int", "bigint"):
            events = events.withColumn(name, F.timestamp_micros(column(name)))
        elif kind not in ("timestamp", "timestamp_ntz"):
            there = f"{kind}: cast it" if kind else f"the columns {', '.join(events.schema.names)}"
            raise AfaError(f"expected a column {name!r} of timestamps, or of microseconds as bigint, but got {there}")
    return events


def typed_rows(events: DataFrame, job: Job, time: str, until: str | None, diff: str | None) -> DataFrame:
    """Return rows with the columns of the job's schema; ``bad`` marks rows in which a cast loses a value.

    ``bad`` is there only if a cast may lose one: each column costs.
    """
    own = job.asked.own
    times = {"le": _micros(events, time)}
    if until is not None:
        times["re"] = _micros(events, until)
    more = {} if own is None else {name: _micros(events, given) for name, given in own.times.items()}
    lost: list[Any] = [F.coalesce(times["le"] > each, F.lit(False)) for each in more.values()]
    instant = job.instant
    if own is None and instant in events.schema.names and instant != time:
        raise AfaError(f"expected no column {instant!r}, which is filled with time={time!r}, or time={instant!r}: rename it")
    missing = [field.name for field in job.fields if field.name not in events.schema.names and field.name != instant]
    if missing:
        raise AfaError(f"expected a column {missing[0]!r} but got the columns {', '.join(events.schema.names)}")
    columns: dict[str, Any] = {name: column(name) for name in job.keys}
    wanted = {field.name: (field.name, field.type) for field in job.fields if field.name not in columns and field.name != instant}
    columns |= {instant: times["le"]} if instant is not None and own is None else {}
    wanted |= {} if job.messages is None else {name: (name, kind) for name, kind in job.messages.beside.items()}
    named: set[str] = {"diff"} if job.messages is None else {"diff", *job.messages.columns}
    lost_of_name: list[Any] = []
    if diff is not None:
        if diff not in events.schema.names:
            raise AfaError(f"expected a column {diff!r} of 1 and -1 (diff=) but got the columns {', '.join(events.schema.names)}")
        wanted["diff"] = (diff, int)
    for name, (source, target) in wanted.items():
        assert target is not None
        columns[name], loses = taken(source, events.schema[source].dataType.simpleString(), target)
        (lost_of_name if name in named else lost).extend([] if loses is None else [loses])
    columns |= times | more
    if job.messages is not None and "diff" in columns and lost:  # of a retraction only what names its event is read
        lost = [reduce(or_, lost) & F.coalesce(columns["diff"] != -1, F.lit(True))]
    lost += lost_of_name
    faults = [column(field.name) for field in events.schema if field.metadata.get(OF_FEED)]
    told = [F.when(each.isNotNull(), F.to_json(F.struct(each.alias(OF_FEED)))) for each in faults]
    if lost:
        whole = F.to_json(
            F.struct(*(column(name) for name in events.schema.names if name != SHIFTED)), {"ignoreNullFields": "false"}
        )
        told.append(F.when(reduce(or_, lost), whole))
    if told:
        columns["bad"] = F.coalesce(*told)
    return events.select(*(column.alias(name) for name, column in columns.items()))


def _micros(events: DataFrame, name: str) -> Any:
    kind = events.schema[name].dataType.simpleString() if name in events.schema.names else None
    if kind not in ("timestamp", "timestamp_ntz"):
        there = f"{kind}: cast it" if kind else f"the columns {', '.join(events.schema.names)}"
        raise AfaError(f"expected a timestamp column {name!r} but got {there}")
    return micros(column(name))
