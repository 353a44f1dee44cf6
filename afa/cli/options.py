"""What the commands share: their options in words, the choices of an option, and how its text is read."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from afa.errors import AfaError

OUTPUTS = (".parquet", ".pq", ".jsonl", ".ndjson")
Pattern = Annotated[
    str,
    typer.Argument(
        metavar="PATTERN",
        help="An automaton, a query or a temporal pattern: [bold]file.py:name[/], the only one: [bold]file.py[/]; "
        "as text: [bold]file.sase[/], [bold]file.sql[/].",
    ),
]
COLUMNS, ORDER, RESULT, PAGE = "Columns of the input", "Time and order", "Output", "The page"
FILE = "CSV, JSON lines or Parquet; .gz is read too. -: standard input, see --format."
INSERT = "What in the column of --diff means an insertion; may be repeated."
CANCEL = "The event's field by which a retraction names its event; its row needs no other value."
WINDOW = "Lifetime of an event: a match fits into it. 10m, '1h 30m', or a number of ticks."
TICK = "What one tick is; ms where times are timestamps, not integers."
LATENESS = "Promise after each batch that later rows are at most this much behind the latest (30s, or ticks); bounds the state."
END = (
    "What the input's end promises: nothing before its largest timestamp any more, or nothing at all, so that every time-out fires "
    "that is still open."
)
ARCS = "Follow the arc log in FOLDER: what `afa arcs FOLDER swap ..` writes takes effect before the next batch."
LONGEST = "Of matches that show the same at one timestamp tell the one that lasts longest only."
THREADS = "Match in so many threads, each for a part of the keys; what comes out is the same."
PARTIAL = "At most N partial matches of a key at one step; with a row that brings more it stops, and says why. 0: any number."
BYTES = "At most N bytes of state and work. By default three quarters of what the machine has free."
BATCH = "Rows a batch; changes are net of it. By default 10,000 at first, then 131,072."
VARY = (
    "Call PATTERN, a function, with each of these values: low:high:step, or a,b,c; several make a grid. Prints how many matches "
    "each has, and how many it would have withdrawn; --output writes the matches, --batch says how many rows come at once."
)
MEMBERS = (
    "Each match comes with FIELD of its events, or with their timestamps (le): a list, or one for each component that is named."
)
COLLAPSE = (
    "In place of matches tell one record of each payload and timestamp: how many paths lead to it, and count, sum, min and max of "
    "FIELD over all of them; component.FIELD: of the events of one component; *: the paths only."
)
HAVING = "Tell only matches of which a path satisfies CONDITION on sums, averages and counts: 'sum(b.price) > 100'."
REASONS = "Say of each match why it came or went: which row did it, and how. Rows are taken one by one, unless --batch is said."
REPORT = (
    "Write the run as a page, which needs no network: events by when they happened and arrived, partial matches, matches, what was "
    "withdrawn, and why. Rows are taken one by one, unless --batch says how many come at once."
)
FORCE = "Write over a file that is there and of another kind; never over one that is read."
OUTPUT = "Write all changes to FILE.parquet or FILE.jsonl; -: as JSON lines to standard output, and nothing else."
LATE_ROWS = "Leave out, and count, rows that are more than this behind the latest before their batch, as run --late drop does."
MOST_KEPT = "How many events are kept at most; of more those of some keys, or the first ones where there are no keys."
EXPLAIN = "Say what would be done, from the statistics alone; no row is read."
MATCHES_OUT = "Write the matches to FILE.parquet or FILE.jsonl; -: as JSON lines to standard output, and nothing else."
SOURCE = "Parquet files, or a folder of them."
SIGMA = "How far ahead of the last promise matches are told, and not held back; wants --lateness. By default there is no bound."
INDEXED = "Whose bounds and sums are kept; may be repeated. By default all of numbers, times and text."
SPEED = "How fast the rows come: so many a second (500), so many times as fast as their own times (60x), or max."
HOST = "Where the page is served: on this machine only by default. Elsewhere all is sent as it is, not encrypted."


class Form(str, enum.Enum):
    """How the input is written."""

    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"


class Labels(str, enum.Enum):
    """What stands beside an arc in a picture."""

    code = "code"
    names = "names"


class Tick(str, enum.Enum):
    """The unit of application time for columns of timestamps."""

    s = "s"
    ms = "ms"
    us = "us"
    ns = "ns"


class End(str, enum.Enum):
    """The promise at the end of the input."""

    latest = "latest"
    forever = "forever"


class Late(str, enum.Enum):
    """What becomes of a late change."""

    stop = "raise"
    drop = "drop"


def option(panel: str, text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


def none_if_zero(number: int) -> int | None:
    """Return a number as the library takes it, for which None is any number."""
    return number or None


def output_file(file: Path | None) -> Path | None:
    if file is not None and str(file) != "-" and file.suffix.lower() not in OUTPUTS:
        csv = "; CSV is read, and not written yet" if ".csv" in (suffix.lower() for suffix in file.suffixes) else ""
        raise typer.BadParameter(f"expected a name that ends in {', '.join(OUTPUTS)} but got {file.name!r}{csv}")
    return file


def page_file(file: Path | None) -> Path | None:
    if file is not None and file.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"expected a name that ends in .html but got {file.name!r}")
    return file


def duration(least: int) -> Callable[[str | None], Any]:
    """Return what reads a duration: a number of ticks, at least so many, or text with units, which waits for the tick."""

    def read(text: str | None) -> int | str | None:
        if text is None or not re.fullmatch(r"\s*-?[0-9]{1,30}\s*", text):
            if text is not None:
                _check_duration(text)
            return text
        if int(text) < least:
            raise typer.BadParameter(f"expected {least} or more but got {text}")
        return int(text)

    return read


def _check_duration(text: str) -> None:
    from punctuation.durations import nanoseconds_of  # numpy is loaded only where it is needed

    try:
        nanoseconds_of(text, "DURATION")
    except AfaError as error:
        raise typer.BadParameter(str(error)) from None
