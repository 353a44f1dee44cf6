"""Times of each library, unit and zone: they leave as they came, and say what ints say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pytest

from tests.contract.operators import KINDS, ROWS, Kind, columns
from tests.contract.test_contract import as_ints, listed, seconds, table

UNITS = ("s", "ms", "us", "ns")
ZONES = (None, "UTC", "Europe/Berlin")
LIBRARIES = ("lists", "dict", "pandas", "polars", "arrow", "duckdb")


def forms(library: str) -> list[tuple[str, Callable[[Any], Any]]]:
    """The types of times of a library, each with what makes a column of it of int64 of seconds."""
    if library == "lists":
        naive = lambda les: [datetime.fromtimestamp(le, timezone.utc).replace(tzinfo=None) for le in les.tolist()]  # noqa: E731
        return [("naive", naive), ("UTC", lambda les: [datetime.fromtimestamp(le, timezone.utc) for le in les.tolist()])]
    if library == "dict":
        return [(unit, lambda les, unit=unit: les.astype("M8[s]").astype(f"M8[{unit}]")) for unit in UNITS]
    return [
        (f"{unit} {zone}", lambda les, unit=unit, zone=zone: column(library, les, unit, zone)) for unit in UNITS for zone in ZONES
    ]


def column(library: str, les: Any, unit: str, zone: str | None) -> Any:
    import pandas as pd
    import pyarrow as pa

    stamps = les.astype("M8[s]").astype(f"M8[{unit}]")
    if library == "pandas":
        return pd.Series(stamps) if zone is None else pd.Series(stamps).dt.tz_localize("UTC").dt.tz_convert(zone)
    arrow = pa.array(stamps.astype(np.int64), pa.timestamp(unit, zone))
    if library != "polars":
        return arrow
    import polars as pl

    return pl.from_arrow(arrow)


def type_of(given: Any, name: str) -> str:
    """The type of a column of times, and of the first of a list."""
    if hasattr(given, "schema") and not hasattr(given, "dtypes"):
        return str(given.schema.field(name).type)
    column = given[name]
    return str(column.dtype) if getattr(column, "dtype", "object") != "object" else repr((type(column[0]), column[0].tzinfo))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", KINDS)
def test_times_leave_as_they_came(name: str, library: str) -> None:
    kind: Kind = KINDS[name]
    wanted = Counter(map(int, listed(kind.make().push_many(columns(kind, as_ints)))["le"]))
    for said, times in forms(library):
        given = table("dict" if library == "lists" else library, columns(kind, lambda les, times=times: times(as_ints(les))))
        out = kind.make().push_many(given)
        assert Counter(map(seconds, listed(out)["le"])) == wanted, said
        if wanted:
            came = given.to_arrow_table() if library == "duckdb" else given
            assert type_of(out, "le") == type_of(came, "lower" if kind.ends else "le"), said
    assert wanted or name == "Before", f"{name} tells none of {len(ROWS)} rows"
