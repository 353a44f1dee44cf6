"""What the commands share: their options in words, the choices of an option, and how its text is read."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from afa.engine.budget import LEAST_BYTES
from afa.errors import AfaError

OUTPUTS = (".parquet", ".pq", ".jsonl", ".ndjson")
COLUMNS, ORDER, RESULT, PAGE = "Columns of the input", "Time and order", "Output", "The page"
FILE = "CSV, JSON lines or Parquet; .gz is read too. -: standard input, see --format."
OLD_NAMES = {"--le": "--time", "--re": "--until", "--cancel": "--id", "--sequence": "--order-by", "--sigma": "--speculation"}


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
    """The watermark at the end of the input."""

    latest = "latest"
    forever = "forever"


class Late(str, enum.Enum):
    """What becomes of a late change."""

    stop = "raise"
    drop = "drop"
    report = "report"


class Command(typer.core.TyperCommand):
    """A command whose options go on working under their old names, with a word about the new one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        found = []
        for text in args:
            name, equals, value = text.partition("=")
            new = OLD_NAMES.get(name)
            if new is not None:
                typer.echo(f"afa: {name} is now {new}; the old name goes on working", err=True)
            found.append(text if new is None else f"{new}{equals}{value}")
        return super().parse_args(ctx, found)


def option(panel: str, text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


def known(name: str, panel: str, metavar: str | None = None, *more: str, **further: Any) -> Any:
    """Return an option of several commands, with its text of HELP."""
    return option(panel, HELP[name], f"--{name}", *more, metavar=metavar, **further)


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


# -- what commands take --------------------------------------------------------------------------------------------------------

HELP = {
    "time": "When each row happened: integers or timestamps (see --tick).",
    "key": "Match within each value of COL; may be repeated.",
    "until": "Until when each row lives; empty ones end by --window.",
    "diff": "1 for insertions, -1 for retractions.",
    "insert": "What in the column of --diff means an insertion; may be repeated.",
    "retract": "The same of retractions.",
    "id": "The event's field by which a retraction names its event; its row needs no other value.",
    "format": "Form of INPUT, where its extension does not tell.",
    "type": "The column of events' types, for a query in text.",
    "window": "Lifetime of an event: a match fits into it. 10m, '1h 30m', or a number of ticks.",
    "tick": "What one tick is; ms where times are timestamps, not integers.",
    "lateness": "Make a watermark after each batch: later rows are at most this much behind the latest (30s, or ticks). It bounds "
    "the state.",
    "late": "On a row behind the watermark: stop, drop and count it, or report it, too, on standard error.",
    "order-by": "Event field that orders rows of equal timestamps.",
    "speculation": "How far ahead of the last watermark matches are told, and not held back; wants --lateness. "
    "By default no bound.",
    "end": "The watermark at the end of the input: nothing comes before its largest timestamp any more, or nothing at all, so that "
    "every time-out fires that is still open.",
    "batch": "Rows a batch; changes are net of it. By default 10,000 at first, then 131,072.",
    "arcs": "Follow the arc log in FOLDER: what `afa arcs FOLDER swap ..` writes takes effect before the next batch.",
    "threads": "Match in so many threads, each for a part of the keys; what comes out is the same.",
    "partial-matches": "At most N partial matches of a key at one step; with a row that brings more it stops, and says why. 0: any "
    "number.",
    "max-bytes": "At most N bytes of state and work. By default three quarters of what the machine has free.",
    "vary": "Call PATTERN, a function, with each of these values: low:high:step, or a,b,c; several make a grid. Prints how many "
    "matches each has, and how many it would have withdrawn; --output writes the matches, --batch says how many rows come at once.",
    "output": "Write all changes to FILE.parquet or FILE.jsonl; -: as JSON lines to standard output, and nothing else.",
    "matches": "How many changes to print; -1: all.",
    "members": "Each match comes with FIELD of its events, or with their timestamps (le): a list, or one for each component that "
    "is named.",
    "collapse": "In place of matches tell one record of each payload and timestamp: how many paths lead to it, and count, sum, min "
    "and max of FIELD over all of them; component.FIELD: of the events of one component; *: the paths only.",
    "having": "Tell only matches of which a path satisfies CONDITION on sums, averages and counts: 'sum(b.price) > 100'.",
    "longest": "Of matches that show the same at one timestamp tell the one that lasts longest only.",
    "reasons": "Say of each match why it came or went: which row did it, and how. Rows are taken one by one, unless --batch is "
    "said.",
    "report": "Write the run as a page, which needs no network: events by when they happened and arrived, partial matches, "
    "matches, what was withdrawn, and why. Rows are taken one by one, unless --batch says how many come at once.",
    "force": "Write over a file that is there and of another kind; never over one that is read.",
    "quiet": "No progress bar, no summary.",
}
LATE_ROWS = "Leave out, and count, rows that are more than this behind the latest before their batch, as run --late drop does."
PATTERN = (
    "An automaton, a query or a temporal pattern: [bold]file.py:name[/], the only one: [bold]file.py[/]; "
    "as text: [bold]file.sase[/], [bold]file.sql[/]."
)

Pattern = Annotated[str, typer.Argument(metavar="PATTERN", help=PATTERN)]
Input = Annotated[str, typer.Argument(metavar="INPUT", help=FILE)]
Source = Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Parquet files, or a folder of them.")]

Time = Annotated[str | None, known("time", COLUMNS, "COL")]
Key = Annotated[list[str] | None, known("key", COLUMNS, "COL")]
Until = Annotated[str | None, known("until", COLUMNS, "COL")]
Diff = Annotated[str | None, known("diff", COLUMNS, "COL")]
Insert = Annotated[list[str] | None, known("insert", COLUMNS, "VALUE")]
Retract = Annotated[list[str] | None, known("retract", COLUMNS, "VALUE")]
Id = Annotated[str | None, known("id", COLUMNS, "FIELD")]
Format = Annotated[Form | None, known("format", COLUMNS)]
TypeColumn = Annotated[str | None, known("type", COLUMNS, "COLUMN")]

Window = Annotated[str | None, known("window", ORDER, "DURATION", callback=duration(1))]
TickOf = Annotated[Tick | None, known("tick", ORDER)]
Lateness = Annotated[str | None, known("lateness", ORDER, "DURATION", callback=duration(0))]
LateRows = Annotated[str | None, option(ORDER, LATE_ROWS, "--lateness", metavar="DURATION", callback=duration(0))]
OnLate = Annotated[Late, known("late", ORDER)]
OrderBy = Annotated[str | None, known("order-by", ORDER, "FIELD")]
Speculation = Annotated[str | None, known("speculation", ORDER, "DURATION", callback=duration(0))]
EndOf = Annotated[End, known("end", ORDER)]
Batch = Annotated[int | None, known("batch", ORDER, "ROWS", min=1)]
Arcs = Annotated[Path | None, known("arcs", ORDER, "FOLDER")]
Threads = Annotated[int, known("threads", ORDER, "N", min=1)]
PartialMatches = Annotated[int, known("partial-matches", ORDER, "N", min=0)]
MaxBytes = Annotated[int | None, known("max-bytes", ORDER, "N", min=LEAST_BYTES)]

Vary = Annotated[list[str] | None, known("vary", RESULT, "NAME=VALUES")]
Output = Annotated[Path | None, known("output", RESULT, "FILE", callback=output_file)]
Matches = Annotated[int, known("matches", RESULT, "N", min=-1)]
Members = Annotated[str | None, known("members", RESULT, "FIELD")]
Collapse = Annotated[str | None, known("collapse", RESULT, "FIELD")]
Having = Annotated[str | None, known("having", RESULT, "CONDITION")]
Longest = Annotated[bool, known("longest", RESULT)]
Reasons = Annotated[bool, known("reasons", RESULT)]
Report = Annotated[Path | None, known("report", RESULT, "FILE.html", callback=page_file)]
Force = Annotated[bool, known("force", RESULT)]
Quiet = Annotated[bool, known("quiet", RESULT, None, "-q")]
