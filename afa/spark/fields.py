"""Convert the columns of a DataFrame to fields of an event. A value that the field's type can't hold becomes null and is reported.

bool, str, int, float     by Spark's casts; a number only if the field's type holds it exactly, as an operator takes it
timestamps, dates         of an int or float field: microseconds since 1970, as ``le`` has them. Where a column names no zone (a
                          date is its midnight) the session's holds
intervals of days         of an int or float field: microseconds
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

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
EDGE = 2.0**63
"""The float next to the largest int64, which Spark's casts take for it."""


def quoted(name: str) -> str:
    """Return a column's name as Spark reads one that may hold dots and spaces."""
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> Any:
    """Return a column by its name, whatever that holds."""
    return F.col(quoted(name))


class Taken(NamedTuple):
    """A column in the type of a field; where it has lost a value, and None if it can't."""

    column: Any
    lost: Any


def micros(moment: Any) -> Any:
    """Return a moment in microseconds since 1970, exactly, before it too."""
    return F.unix_micros(moment.cast("timestamp"))


def taken(given: Any, kind: str, target: type) -> Taken:
    """Return a column, of a type in Spark's words, as a field of type ``target``."""
    if target in (int, float):
        if kind in MOMENTS:
            given, kind = micros(given), "bigint"
        elif kind.startswith("interval") and not any(unit in kind for unit in ("year", "month")):
            given, kind = F.unix_micros(F.timestamp_micros(F.lit(0)) + given), "bigint"
    found = given.try_cast(SPARK[target])
    if kind in SAFE[target]:
        return Taken(found, None)
    lost = found.isNull() & given.isNotNull()
    if kind.split("(")[0] in NUMBERS and target is not str:
        there = found.cast("int") if target is bool else found
        lost |= ~F.coalesce(there.try_cast(kind) == given, F.lit(False)) & given.isNotNull()
        if target is int or kind == "bigint":
            lost |= F.coalesce(given.try_cast("double") >= EDGE, F.lit(False))
    return Taken(F.when(~lost, found), lost)
