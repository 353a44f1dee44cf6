"""What the commands share: their options in words, the choices of an option, and how its text is read."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, cast

import typer
import typer.core

from afa.cli.fault import tell
from afa.cli.log import LogForm, log_as
from afa.engine.budget import LEAST_BYTES, PARTIAL_MATCHES
from afa.errors import AfaError
from afa.io.formats import FEEDS, FILES

F = TypeVar("F", bound=Callable[..., Any])
COLUMNS, ORDER, RESULT, PAGE = "Columns of the input", "Time and order", "Output", "The page"
FILE = "CSV, JSON lines or Parquet; .gz is read too. -: standard input, see --format."
OLD_NAMES = {"--le": "--time", "--re": "--until", "--cancel": "--id", "--sequence": "--order-by", "--sigma": "--speculation"}


InputFormat = enum.Enum("InputFormat", {name: name for name in (*FILES, *FEEDS)})  # type: ignore[misc]
OutputFormat = enum.Enum("OutputFormat", {"changes": "changes", "debezium": "debezium", "upsert": "upsert"})
Labels = enum.Enum("Labels", {"code": "code", "names": "names"})
Tick = enum.Enum("Tick", {"s": "s", "ms": "ms", "us": "us", "ns": "ns"})
InputEnd = enum.Enum("InputEnd", {"latest": "latest", "forever": "forever"})
LateRows = enum.Enum("LateRows", {"stop": "raise", "drop": "drop", "report": "report"})


class Command(typer.core.TyperCommand):
    """A command whose options go on working under their old names, with a word about the new one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        found, said = [], []
        for text in args:
            name, equals, value = text.partition("=")
            new = OLD_NAMES.get(name)
            if new is not None:
                said.append(f"{name} is now {new}; the old name goes on working")
            found.append(text if new is None else f"{new}{equals}{value}")
        try:
            return super().parse_args(ctx, found)
        finally:  # behind --log
            for text in said:
                tell(text, "renamed")


def option(panel: str, text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


def page_file(file: Path | None) -> Path | None:
    if file is not None and file.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"expected a name that ends in .html but got {file.name!r}")
    return file


def duration(least: int) -> Callable[[str | None], Any]:
    """Return a reader of durations: a number of ticks, at least so many, or text with units, which waits for the tick."""

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


# -- what several commands take ------------------------------------------------------------------------------------------------


class Flag(NamedTuple):
    """An option of several commands: its type, its value where it is not said, where it is told."""

    type: Any
    default: Any
    panel: str
    text: str
    metavar: str | None = None
    more: Mapping[str, Any] = {}  # of typer's option
    short: tuple[str, ...] = ()

    def parameter(self, name: str, default: Any) -> inspect.Parameter:
        """Return it as a parameter of a command."""
        of_typer = option(self.panel, self.text, f"--{name.replace('_', '-')}", *self.short, metavar=self.metavar, **self.more)
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(name, kind, default=default, annotation=Annotated[self.type, of_typer])


TEXT, TEXTS, NUMBER = str | None, list[str] | None, int | None
AT_LEAST_ONE, AT_LEAST_NONE = {"callback": duration(1)}, {"callback": duration(0)}
FLAGS: dict[str, Flag] = {
    "time": Flag(TEXT, None, COLUMNS, "When each row happened: integers or timestamps (see --tick).", "COL"),
    "key": Flag(TEXTS, None, COLUMNS, "Match within each value of COL; may be repeated.", "COL"),
    "until": Flag(TEXT, None, COLUMNS, "Until when each row lives; empty ones end by --window.", "COL"),
    "diff": Flag(TEXT, None, COLUMNS, "1 for insertions, -1 for retractions.", "COL"),
    "insert": Flag(TEXTS, None, COLUMNS, "What in the column of --diff means an insertion; may be repeated.", "VALUE"),
    "retract": Flag(TEXTS, None, COLUMNS, "The same of retractions.", "VALUE"),
    "id": Flag(TEXTS, None, COLUMNS, "What names an event: rows are messages, and one that comes twice counts once; a retraction "
        "needs no other value. May be repeated.", "COL"),
    "on_repeat": Flag(TEXT, None, COLUMNS, "update: a row of an id that is known is another version of its event; wants --version.",
        "update"),
    "version": Flag(TEXT, None, COLUMNS, "What orders the versions of an id; the largest counts, in any order of arrival.", "COL"),
    "format": Flag(InputFormat | None, None, COLUMNS, "Form of INPUT, where its extension does not tell; or what its lines are: "
        "messages of a database, with --id, the columns that tell its rows apart."),
    "table": Flag(TEXT, None, COLUMNS, "The table that is read, where messages are of several.", "TABLE"),
    "fact": Flag(TEXTS, None, COLUMNS, "Of a row of messages: an event of type NAME at the time in COL, if there is one; may be "
        "repeated, in place of --time.", "NAME=COL"),
    "type": Flag(TEXT, None, COLUMNS, "The column of events' types, for a query in text.", "COLUMN"),
    "window": Flag(TEXT, None, ORDER, "Lifetime of an event: a match fits into it. 10m, '1h 30m', or a number of "
        "ticks.", "DURATION", AT_LEAST_ONE),
    "tick": Flag(Tick | None, None, ORDER, "What one tick is; ms where times are timestamps, not integers."),
    "lateness": Flag(TEXT, None, ORDER, "Make a watermark after each batch: later rows are at most this much behind the latest "
        "(30s, or ticks). It bounds the state.", "DURATION", AT_LEAST_NONE),
    "late": Flag(LateRows, LateRows.stop, ORDER, "On a row behind the watermark: stop, drop and count it, or report it, too, on "
        "standard error."),
    "order_by": Flag(TEXT, None, ORDER, "Event field that orders rows of equal timestamps.", "FIELD"),
    "speculation": Flag(TEXT, None, ORDER, "How far ahead of the last watermark matches are told, and not held back; wants "
        "--lateness. By default no bound.", "DURATION", AT_LEAST_NONE),
    "remember": Flag(TEXT, None, ORDER, "How much longer an id is remembered than until the watermark has passed its event.",
        "DURATION", AT_LEAST_NONE),
    "end": Flag(InputEnd, InputEnd.latest, ORDER, "The watermark at the end of the input: nothing comes before its largest "
        "timestamp any more, or nothing at all, so that every time-out fires that is still open."),
    "batch": Flag(NUMBER, None, ORDER, "Rows a batch; changes are net of it. By default 10,000 at first, then "
        "131,072.", "ROWS", {"min": 1}),
    "arcs": Flag(Path | None, None, ORDER, "Follow the arc log in FOLDER: what `afa arcs FOLDER swap ..` writes takes effect "
        "before the next batch.", "FOLDER"),
    "rules": Flag(Path | None, None, ORDER, "Of a folder of rules: follow the log of rules in LOG; what `afa rules LOG add ..` "
        "writes takes effect before the next batch.", "LOG"),
    "threads": Flag(int, 1, ORDER, "Match in so many threads, each for a part of the keys; what comes out is the "
        "same.", "N", {"min": 1}),
    "partial_matches": Flag(int, PARTIAL_MATCHES, ORDER, "At most N partial matches of a key at one step; with a row that brings "
        "more it stops, and says why. 0: any number.", "N", {"min": 0}),
    "max_bytes": Flag(NUMBER, None, ORDER, "At most N bytes of state and work. By default three quarters of what the machine has "
        "free.", "N", {"min": LEAST_BYTES}),
    "vary": Flag(TEXTS, None, RESULT, "Call PATTERN, a function, with each of these values: low:high:step, or a,b,c; several "
        "make a grid. Prints how many matches each has, and how many it would have withdrawn; --output writes the matches, "
        "--batch says how many rows come at once.", "NAME=VALUES"),
    "output": Flag(Path | None, None, RESULT, "Write all changes to FILE.parquet, FILE.jsonl or FILE.csv; -: as JSON lines to "
        "standard output, and nothing else.", "FILE"),
    "matches": Flag(int, 20, RESULT, "How many changes to print; -1: all.", "N", {"min": -1}),
    "members": Flag(TEXT, None, RESULT, "Each match comes with FIELD of its events, or with their timestamps (le): a list, or "
        "one for each component that is named.", "FIELD"),
    "collapse": Flag(TEXT, None, RESULT, "In place of matches tell one record of each payload and timestamp: how many paths lead "
        "to it, and count, sum, min and max of FIELD over all of them; component.FIELD: of the events of one component; *: the "
        "paths only.", "FIELD"),
    "having": Flag(TEXT, None, RESULT, "Tell only matches of which a path satisfies CONDITION on sums, averages and counts: "
        "'sum(b.price) > 100'.", "CONDITION"),
    "longest": Flag(bool, False, RESULT, "Of matches that show the same at one timestamp tell the one that lasts longest only."),
    "reasons": Flag(bool, False, RESULT, "Say of each match why it came or went: which row did it, and how. Rows are taken one "
        "by one, unless --batch is said."),
    "report": Flag(Path | None, None, RESULT, "Write the run as a page, which needs no network: events by when they happened and "
        "arrived, partial matches, matches, what was withdrawn, and why. Rows are taken one by one, unless --batch says how many "
        "come at once.", "FILE.html", {"callback": page_file}),
    "state": Flag(Path | None, None, RESULT, "Keep in FOLDER, which is this job's alone, where it is, and append to --output, a "
        "file .jsonl or .csv, or a folder for Parquet: killed anywhere, the same command goes on without a lost or doubled change. "
        "INPUT is a file, or a folder whose files are read by their names.", "FOLDER"),
    "state_every": Flag(TEXT, None, RESULT, "How often that is written: each so many rows, or a time. By default 5s.", "ROWS|TIME",
        AT_LEAST_ONE),
    "follow": Flag(bool, False, RESULT, "With --state: at the end of INPUT wait for more, until Ctrl-C; no watermark ends it."),
    "output_format": Flag(OutputFormat, OutputFormat.changes, RESULT, "How --output tells changes: each with its sign; as "
        "Debezium's messages; as rows to write over others of their id, those with diff -1 to be deleted."),
    "output_id": Flag(TEXTS, None, RESULT, "A column that identifies a match in --output-format; may be repeated. By default all "
        "columns do, for debezium.", "COL"),
    "force": Flag(bool, False, RESULT, "Write over a file that is there and of another kind; never over one that is read."),
    "metrics": Flag(TEXT, None, RESULT, "Serve the run's numbers for Prometheus at PORT, /metrics, and whether it takes rows, "
        "/healthz; on this machine only, unless HOST:PORT is said.", "PORT"),
    "log": Flag(LogForm, LogForm.text, RESULT, "How lines on standard error are told: as text, or each as a JSON object.",
        more={"callback": log_as, "is_eager": True}),
    "quiet": Flag(bool, False, RESULT, "No progress bar, no summary.", short=("-q",)),
}  # fmt: skip
OF_INPUT = ("time", "key", "until", "diff", "insert", "retract", "id", "on_repeat", "version", "format", "type", "table", "fact")
"""What says how an input is read."""


def takes(*names: str, **defaults: Any) -> Callable[[F], F]:
    """Give a command these options of FLAGS, with other defaults; its function gets them as keyword arguments."""

    def decorate(function: F) -> F:
        own = [each for each in inspect.signature(function, eval_str=True).parameters.values() if each.kind is not each.VAR_KEYWORD]
        more = [FLAGS[name].parameter(name, defaults.get(name, FLAGS[name].default)) for name in names]
        last = [each for each in own if each.kind is each.KEYWORD_ONLY]
        cast(Any, function).__signature__ = inspect.Signature([*(each for each in own if each not in last), *more, *last])
        return function

    return decorate


Pattern = Annotated[
    str,
    typer.Argument(
        metavar="PATTERN",
        help="An automaton, a query or a temporal pattern: [bold]file.py:name[/], the only one: [bold]file.py[/]; "
        "as text: [bold]file.sase[/], [bold]file.sql[/]; a folder of such files is a set of rules.",
    ),
]
Input = Annotated[str, typer.Argument(metavar="INPUT", help=FILE)]
SomeInput = Annotated[str | None, typer.Argument(metavar="INPUT", help=FILE)]
Source = Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Parquet files, or a folder of them.")]
