"""Windowed aggregates by brute force over lists of rows, and random stored tables for them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Rows = list[dict[str, Any]]
TIMES = [pa.int64(), pa.int64(), pa.int32(), pa.uint16(), pa.date32(), pa.timestamp("ms")]
TIMES += [pa.timestamp("us", "Europe/Berlin"), pa.timestamp("ns")]
INTS = [pa.int64(), pa.int64(), pa.int8(), pa.uint64(), pa.bool_()]
NUMBERS = ["count", "sum", "avg", "min", "max"]


class World(NamedTuple):
    """A table that is stored, its rows in the order in which they stand there (times as ints), and the source to open."""

    kind: pa.DataType
    rows: Rows
    schema: pa.Schema
    source: Any
    files: list[Path]


def plain(column: Any) -> list[Any]:
    """A column of Arrow as Python's values, times as ints of their unit."""
    kind = column.type
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        column = column.cast(pa.int64())
    return list(column.to_pylist())


def value(kind: pa.DataType, rng: random.Random, nulls: float) -> Any:
    if rng.random() < nulls:
        return None
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    if pa.types.is_floating(kind):
        odd = [math.nan, -0.0, 0.0, math.inf, -math.inf, 1e300 if pa.types.is_float64(kind) else 1.0]
        return rng.choice(odd) if rng.random() < 0.1 else float(np.float32(rng.gauss(0, 100)))
    if pa.types.is_string(kind):
        return rng.choice(["a", "b", "", "ü" * 200])
    return rng.randint(0 if pa.types.is_unsigned_integer(kind) else -100, 100)


def world(seed: int, folder: Path) -> World:
    """A random table in files, row groups, blocks."""
    rng = random.Random(seed)
    kind = rng.choice(TIMES)
    low = 0 if pa.types.is_unsigned_integer(kind) else rng.choice([-40, 0, 1000])
    times = [rng.randint(low, low + rng.choice([5, 60, 300])) for _ in range(rng.choice([0, 1, 5, 30, 60]))]
    order = rng.random()
    if order < 0.7:
        times.sort()
    for _ in range(rng.randint(1, 4) if times and order < 0.4 else 0):
        i, j = rng.randrange(len(times)), rng.randrange(len(times))
        times[i], times[j] = times[j], times[i]
    nulls = rng.choice([0.0, 0.0, 0.2, 0.9])
    kinds = {
        "n": rng.choice(INTS),
        "x": rng.choice([pa.float64(), pa.float64(), pa.float32()]),
        "s": pa.string(),
        "t": pa.timestamp("ms"),
    }
    rows = [{"at": time, **{name: value(of, rng, nulls) for name, of in kinds.items()}} for time in times]
    schema = pa.schema([("at", kind), *kinds.items()])
    files = []
    cuts = sorted(rng.randint(0, len(rows)) for _ in range(rng.randint(0, 2)))
    for i, (begin, end) in enumerate(zip([0, *cuts], [*cuts, len(rows)])):
        files.append(folder / f"{i}.parquet")
        size = rng.choice([1, 3, 7, 20, 100])
        pq.write_table(stored(rows[begin:end], schema), files[-1], row_group_size=size, write_statistics=rng.random() < 0.7)
    return World(kind, rows, schema, str(folder) if rng.random() < 0.5 else [str(file) for file in files], files)


def stored(rows: Rows, schema: pa.Schema) -> pa.Table:
    columns = []
    for field in schema:
        values = [row[field.name] for row in rows]
        whole = pa.int32() if pa.types.is_date32(field.type) else pa.int64()
        timed = pa.types.is_temporal(field.type)
        columns.append(pa.array(values, whole).cast(field.type) if timed else pa.array(values, field.type))
    return pa.table(columns, schema=schema)


def of_time(rows: Rows, size: int, slide: int, origin: int) -> Iterator[tuple[tuple[int, int], Rows]]:
    """Windows that hold rows: beginning and end, and the rows."""
    first = {(row["at"] - origin - back) // slide for row in rows for back in range(0, size + slide, min(slide, size))}
    for k in sorted(first):
        le = origin + k * slide
        held = [row for row in rows if le <= row["at"] < le + size]
        if held:
            yield (le, le + size), held


def of_rows(rows: Rows, size: int, slide: int) -> Iterator[tuple[tuple[int, int, int], Rows]]:
    """Windows of rows: the place of the first row, the times of the first and the last; and the rows."""
    ordered = sorted(rows, key=lambda row: row["at"])
    for place in range(0, len(ordered), slide):
        held = ordered[place : place + size]
        yield (place, held[0]["at"], held[-1]["at"]), held


def aggregate(word: str, values: list[Any]) -> Any:
    """An aggregate of the values that are there."""
    there = [item for item in values if item is not None]
    if word == "count":
        return len(there)
    if not there:
        return None
    if word in ("sum", "avg"):
        try:
            total = math.fsum(there) if isinstance(there[0], float) else sum(there)
        except (OverflowError, ValueError):
            total = sum(there)  # of infinities
        return total if word == "sum" else total / len(there)
    known = [item for item in there if item == item]
    return (min if word == "min" else max)(known) if known else math.nan


def same(found: Any, wanted: Any, scale: float = 0.0) -> bool:
    """Whether two values are one; floats up to rounding of sums of this size."""
    if not isinstance(wanted, float) or found is None:
        return bool(found == wanted) and (found is None) == (wanted is None)
    if math.isnan(wanted) or math.isinf(wanted):
        return math.isnan(found) if math.isnan(wanted) else found == wanted
    return math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-14 * scale) and math.copysign(1, found + 0.0) == math.copysign(
        1, found
    )
