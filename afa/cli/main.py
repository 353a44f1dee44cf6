"""Define the commands: ``afa run`` runs a pattern over a file, ``afa show`` shows a pattern."""

from __future__ import annotations

import enum
import importlib.metadata
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from afa.cli.arcs import app as arcs_app
from afa.cli.fault import Terminal, plain_exit
from afa.errors import AfaError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(arcs_app, name="arcs")
OUTPUTS = (".parquet", ".pq", ".jsonl", ".ndjson")
WIDE = 100
"""The width of a table that does not go to a terminal."""


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


def main() -> None:
    """Run the command line. A standard stream that is closed from the beginning is replaced by the null device."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (for as long as the process lives)
    try:
        with plain_exit():
            app(prog_name="afa", standalone_mode=True)
    except typer.Exit as end:
        raise SystemExit(end.exit_code) from None


def _version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f"afa {importlib.metadata.version('afa')}")
        except importlib.metadata.PackageNotFoundError:
            typer.echo("afa (from source, not installed)")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Exact pattern matching over event streams that arrive late, out of order and get revised."""


def _output(file: Path | None) -> Path | None:
    if file is not None and str(file) != "-" and file.suffix.lower() not in OUTPUTS:
        raise typer.BadParameter(f"expected a name that ends in {', '.join(OUTPUTS)} but got {file.name!r}")
    return file


def _page(file: Path | None) -> Path | None:
    if file is not None and file.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"expected a name that ends in .html but got {file.name!r}")
    return file


def _duration(least: int) -> Callable[[str | None], Any]:
    """Return what reads a duration: a number of ticks, at least so many, or text with units, which waits for the tick."""

    def read(text: str | None) -> int | str | None:
        if text is None or not text.strip().removeprefix("-").isdigit():
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


Pattern = Annotated[
    str,
    typer.Argument(
        metavar="PATTERN",
        help="An automaton or a query: [bold]file.py:name[/], the only one: [bold]file.py[/]; "
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
OUTPUT = "Write all changes to FILE.parquet or FILE.jsonl; -: as JSON lines to standard output, and nothing else."

LATE_ROWS = "Leave out, and count, rows that are more than this behind the latest before their batch, as run --late drop does."
MOST_KEPT = "How many events are kept at most; of more those of some keys, or the first ones where there are no keys."


SIGMA = "How far ahead of the last promise matches are told, and not held back; wants --lateness. By default there is no bound."
SPEED = "How fast the rows come: so many a second (500), so many times as fast as their own times (60x), or max."
HOST = "Where the page is served: on this machine only by default. Elsewhere all is sent as it is, not encrypted."


def _option(panel: str, text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


@app.command()
def run(
    pattern: Pattern,
    file: Annotated[str, typer.Argument(metavar="INPUT", help=FILE)],
    le: Annotated[str | None, _option(COLUMNS, "Timestamps: integers, or timestamps (see --tick).", metavar="COL")] = None,
    key: Annotated[list[str] | None, _option(COLUMNS, "Match within each value of COL; may be repeated.", metavar="COL")] = None,
    re: Annotated[str | None, _option(COLUMNS, "Ends of lifetimes; empty ones end by --window.", metavar="COL")] = None,
    diff: Annotated[str | None, _option(COLUMNS, "1 for insertions, -1 for retractions.", metavar="COL")] = None,
    insert: Annotated[list[str] | None, _option(COLUMNS, INSERT, metavar="VALUE")] = None,
    retract: Annotated[list[str] | None, _option(COLUMNS, "The same of retractions.", metavar="VALUE")] = None,
    cancel: Annotated[str | None, _option(COLUMNS, CANCEL, metavar="FIELD")] = None,
    form: Annotated[Form | None, _option(COLUMNS, "Form of INPUT, where its extension does not tell.", "--format")] = None,
    window: Annotated[str | None, _option(ORDER, WINDOW, metavar="DURATION", callback=_duration(1))] = None,
    tick: Annotated[Tick | None, _option(ORDER, TICK)] = None,
    lateness: Annotated[str | None, _option(ORDER, LATENESS, metavar="DURATION", callback=_duration(0))] = None,
    late: Annotated[Late, _option(ORDER, "On a row that breaks this promise: stop, or drop and count it.")] = Late.stop,
    type_: Annotated[
        str | None, _option(COLUMNS, "The column of events' types, for a query in text.", "--type", metavar="COLUMN")
    ] = None,
    sequence: Annotated[str | None, _option(ORDER, "Event field that orders rows of equal timestamps.", metavar="FIELD")] = None,
    end: Annotated[End, _option(ORDER, END)] = End.latest,
    batch: Annotated[int | None, _option(ORDER, BATCH, metavar="ROWS", min=1)] = None,
    vary: Annotated[list[str] | None, _option(RESULT, VARY, metavar="NAME=VALUES")] = None,
    output: Annotated[Path | None, _option(RESULT, OUTPUT, metavar="FILE", callback=_output)] = None,
    matches: Annotated[int, _option(RESULT, "How many changes to print; -1: all.", metavar="N", min=-1)] = 20,
    members: Annotated[str | None, _option(RESULT, MEMBERS, metavar="FIELD")] = None,
    collapse: Annotated[str | None, _option(RESULT, COLLAPSE, metavar="FIELD")] = None,
    having: Annotated[str | None, _option(RESULT, HAVING, metavar="CONDITION")] = None,
    reasons: Annotated[bool, _option(RESULT, REASONS, "--reasons")] = False,
    report: Annotated[Path | None, _option(RESULT, REPORT, metavar="FILE.html", callback=_page)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no summary.", rich_help_panel=RESULT)] = False,
    arcs: Annotated[Path | None, _option(ORDER, ARCS, metavar="FOLDER")] = None,
    longest: Annotated[bool, _option(RESULT, LONGEST, "--longest")] = False,
    threads: Annotated[int, _option(ORDER, THREADS, metavar="N", min=1)] = 1,
) -> None:
    """Run a pattern over a file; print matches as they are inserted (+) and withdrawn (-).

    Rows are taken as they arrive, in any order; what a late row changes is withdrawn and replaced. Columns named le, re and diff
    are found without --le, --re and --diff. Timestamps become ticks since 1970 (UTC where they name no zone), integers are taken
    as they are. A match is printed as its lifetime, key and register, on standard output; all else goes to standard error.
    What window, sequence and late mean stands in docs/guide/options.md.

    A query reads all columns by their names; its key and window are its own, --tick is what one tick is, --sequence its order=.

    [bold]afa run vees.py:two_vees ticks.csv --le time --key symbol --window 7000[/]
    [bold]afa run theft.sase readings.csv --le at[/]
    [bold]afa run vees.py:make ticks.csv --key symbol --window 10m --vary drop=0.5:1.5:0.1[/]
    """
    from afa.cli.request import Job
    from afa.cli.run import run as run_job  # pyarrow is loaded only where a table is
    from afa.cli.vary import sweep

    with plain_exit():
        (sweep if vary else run_job)(
            Job(
                pattern=pattern,
                file=file,
                form=form.value if form else None,
                le=le,
                re=re,
                diff=diff,
                insert=tuple(insert or ()),
                retract=tuple(retract or ()),
                cancel=cancel,
                keys=tuple(dict.fromkeys(key or ())),
                window=window,
                tick=tick.value if tick else None,
                lateness=lateness,
                late=late.value,
                sequence=sequence,
                type=type_,
                batch=batch,
                end=end.value,
                output=None if output is None else str(output),
                matches=matches,
                quiet=quiet,
                arcs=None if arcs is None else str(arcs),
                vary=tuple(vary or ()),
                threads=threads,
                longest=longest,
                members=members,
                collapse=collapse,
                having=having,
                reasons=reasons,
                report=None if report is None else str(report),
            )
        )


@app.command()
def serve(
    pattern: Pattern,
    file: Annotated[str, typer.Argument(metavar="INPUT", help=FILE)],
    le: Annotated[str | None, _option(COLUMNS, "Timestamps: integers, or timestamps (see --tick).", metavar="COL")] = None,
    key: Annotated[list[str] | None, _option(COLUMNS, "Match within each value of COL; may be repeated.", metavar="COL")] = None,
    re: Annotated[str | None, _option(COLUMNS, "Ends of lifetimes; empty ones end by --window.", metavar="COL")] = None,
    diff: Annotated[str | None, _option(COLUMNS, "1 for insertions, -1 for retractions.", metavar="COL")] = None,
    insert: Annotated[list[str] | None, _option(COLUMNS, INSERT, metavar="VALUE")] = None,
    retract: Annotated[list[str] | None, _option(COLUMNS, "The same of retractions.", metavar="VALUE")] = None,
    cancel: Annotated[str | None, _option(COLUMNS, CANCEL, metavar="FIELD")] = None,
    form: Annotated[Form | None, _option(COLUMNS, "Form of INPUT, where its extension does not tell.", "--format")] = None,
    type_: Annotated[
        str | None, _option(COLUMNS, "The column of events' types, for a query in text.", "--type", metavar="COLUMN")
    ] = None,
    window: Annotated[str | None, _option(ORDER, WINDOW, metavar="DURATION", callback=_duration(1))] = None,
    tick: Annotated[Tick | None, _option(ORDER, TICK)] = None,
    lateness: Annotated[str | None, _option(ORDER, LATENESS, metavar="DURATION", callback=_duration(0))] = None,
    late: Annotated[Late, _option(ORDER, "On a row that breaks this promise: stop, or drop and count it.")] = Late.drop,
    sequence: Annotated[str | None, _option(ORDER, "Event field that orders rows of equal timestamps.", metavar="FIELD")] = None,
    sigma: Annotated[str | None, _option(ORDER, SIGMA, metavar="DURATION")] = None,
    arcs: Annotated[Path | None, _option(ORDER, ARCS, metavar="FOLDER")] = None,
    longest: Annotated[bool, _option(RESULT, LONGEST, "--longest")] = False,
    threads: Annotated[int, _option(ORDER, THREADS, metavar="N", min=1)] = 1,
    speed: Annotated[str, _option(PAGE, SPEED, metavar="SPEED")] = "1000",
    follow: Annotated[bool, _option(PAGE, "At the end of INPUT wait for more: it grows.", "--follow")] = False,
    browse: Annotated[bool, _option(PAGE, "Open the page in the browser.", "--open")] = False,
    host: Annotated[str, _option(PAGE, HOST, metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, _option(PAGE, "0: any that is free.", metavar="PORT", min=0, max=65535)] = 0,
) -> None:
    """Play an input through a pattern, and show it live in a browser, from where its arcs, its text and sigma can be changed.

    Prints the page's address, which holds the token that changes want. Changes of arcs are written to the arc log of --arcs.

    [bold]afa serve vees.py:two_vees ticks.csv --le time --key symbol --window 7000 --speed 60x[/]
    [bold]tail -f readings.jsonl | afa serve theft.sase - --format jsonl --lateness 30s[/]
    """
    from afa.cli.request import Job
    from afa.cli.serve_run import Serving
    from afa.cli.serve_run import serve as serve_job

    with plain_exit():
        job = Job(
            pattern=pattern,
            file=file,
            form=form.value if form else None,
            le=le,
            re=re,
            diff=diff,
            insert=tuple(insert or ()),
            retract=tuple(retract or ()),
            cancel=cancel,
            keys=tuple(dict.fromkeys(key or ())),
            window=window,
            tick=tick.value if tick else None,
            lateness=lateness,
            late=late.value,
            sequence=sequence,
            type=type_,
            arcs=None if arcs is None else str(arcs),
            threads=threads,
            longest=longest,
        )
        serve_job(job, Serving(host, port, speed, sigma, follow, browse))


@app.command()
def show(
    pattern: Pattern,
    file: Annotated[str | None, typer.Argument(metavar="INPUT", help="What a query in a file is to read: its columns.")] = None,
    type_: Annotated[str | None, typer.Option("--type", metavar="COLUMN", help="The column of events' types.")] = None,
    tick: Annotated[Tick | None, typer.Option(help=TICK)] = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Only the Mermaid text, to be piped.")] = False,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw it as SVG into FILE.")] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with the drawing into FILE.")] = None,
    dot: Annotated[Path | None, typer.Option("--dot", metavar="FILE", help="Write it for Graphviz into FILE.")] = None,
    labels: Annotated[Labels, typer.Option("--labels", help="What stands beside an arc: its code, or its name.")] = Labels.code,
) -> None:
    """Show a pattern as a table of arcs and as Mermaid text (GitHub and notebooks draw it); of a query also what became of it.

    With --svg, --html or --dot it is drawn into a file, which needs no network and no other program to be seen.

    [bold]afa show vees.py:two_vees[/]
    [bold]afa show theft.sase readings.csv --html theft.html --labels names[/]
    """
    from afa.cli.show import loaded, write_pictures
    from afa.draw.mermaid import mermaid as drawn
    from afa.draw.terminal import table
    from afa.draw.words import final_states
    from afa.model.reach import loose

    with plain_exit():
        automaton, query = loaded(pattern, file, type_, tick.value if tick else None)
        files = {form: path for form, path in (("svg", svg), ("html", html), ("dot", dot)) if path is not None}
        for path in write_pictures(pattern, automaton, query, files, labels.value):
            typer.echo(f"wrote {path}", err=True)
        if mermaid:
            typer.echo(drawn(automaton, labels.value))
        if mermaid or files:
            return
        console = Terminal(highlight=False)
        if not console.is_terminal and "COLUMNS" not in os.environ:
            console.width = WIDE
        schema = automaton.event_schema
        finals = ", ".join(sorted(final_states(automaton)))
        for word, text in (
            ("pattern", pattern),
            ("event", schema.describe() if schema else "any hashable payload"),
            ("register", repr(automaton.register)),
            ("start", automaton.start),
            ("final", finals),
        ):
            console.print(f"{word:<9}", text, style="none", markup=False, soft_wrap=True)
        if query is not None:
            console.print(f"\n{query.explain()}", style="none", markup=False, soft_wrap=True)
        console.print()
        console.print(table(automaton))
        for state in loose(automaton):
            console.print(str(state), style="none", markup=False, soft_wrap=True)
        console.print()
        console.print(drawn(automaton, labels.value), markup=False, soft_wrap=True)


@app.command()
def why(
    pattern: Pattern,
    file: Annotated[str, typer.Argument(metavar="INPUT", help=FILE)],
    le: Annotated[str | None, _option(COLUMNS, "Timestamps: integers, or timestamps (see --tick).", metavar="COL")] = None,
    key: Annotated[list[str] | None, _option(COLUMNS, "Match within each value of COL; may be repeated.", metavar="COL")] = None,
    re: Annotated[str | None, _option(COLUMNS, "Ends of lifetimes; empty ones end by --window.", metavar="COL")] = None,
    diff: Annotated[str | None, _option(COLUMNS, "1 for insertions, -1 for retractions.", metavar="COL")] = None,
    insert: Annotated[list[str] | None, _option(COLUMNS, INSERT, metavar="VALUE")] = None,
    retract: Annotated[list[str] | None, _option(COLUMNS, "The same of retractions.", metavar="VALUE")] = None,
    cancel: Annotated[str | None, _option(COLUMNS, CANCEL, metavar="FIELD")] = None,
    form: Annotated[Form | None, _option(COLUMNS, "Form of INPUT, where its extension does not tell.", "--format")] = None,
    window: Annotated[str | None, _option(ORDER, WINDOW, metavar="DURATION", callback=_duration(1))] = None,
    tick: Annotated[Tick | None, _option(ORDER, TICK)] = None,
    lateness: Annotated[str | None, _option(ORDER, LATE_ROWS, metavar="DURATION", callback=_duration(0))] = None,
    type_: Annotated[
        str | None, _option(COLUMNS, "The column of events' types, for a query in text.", "--type", metavar="COLUMN")
    ] = None,
    sequence: Annotated[str | None, _option(ORDER, "Event field that orders rows of equal timestamps.", metavar="FIELD")] = None,
    end: Annotated[End, _option(ORDER, END)] = End.latest,
    batch: Annotated[int | None, _option(ORDER, "Rows a batch, for --lateness.", metavar="ROWS", min=1)] = None,
    most: Annotated[int, _option(RESULT, MOST_KEPT, metavar="EVENTS", min=1)] = 1_000_000,
    as_json: Annotated[bool, _option(RESULT, "All counts as JSON.", "--json")] = False,
) -> None:
    """Say why a pattern finds nothing: in a sentence, what each arc was asked, where partial matches ended, the nearest misses.

    Options are those of `afa run`. All is counted, in whatever order the rows stand; of more than --most events those of some keys.

    [bold]afa why pay.py pay.csv --le at --key card --window 10m[/]
    """
    from afa.cli.request import Job
    from afa.cli.why import why as why_job
    from afa.cli.why_screen import show_funnel
    from afa.funnel.funnel import as_json as json_of

    with plain_exit():
        funnel = why_job(
            Job(
                pattern=pattern,
                file=file,
                form=form.value if form else None,
                le=le,
                re=re,
                diff=diff,
                insert=tuple(insert or ()),
                retract=tuple(retract or ()),
                cancel=cancel,
                keys=tuple(dict.fromkeys(key or ())),
                window=window,
                tick=tick.value if tick else None,
                lateness=lateness,
                sequence=sequence,
                type=type_,
                batch=batch,
                end=end.value,
            ),
            most,
        )
        if as_json:
            typer.echo(json_of(funnel))
            return
        console = Terminal(highlight=False)
        if not console.is_terminal and "COLUMNS" not in os.environ:
            console.width = WIDE
        show_funnel(funnel, console)


@app.command()
def new(
    pattern: Annotated[Path, typer.Argument(metavar="PATTERN.py", help="The file to write; it may not be there yet.")],
    file: Annotated[str | None, typer.Option("--from", metavar="INPUT", help=f"{FILE} Left out: an example.")] = None,
    le: Annotated[str | None, typer.Option(metavar="COL", help="Timestamps, where their column is not found by its name.")] = None,
    key: Annotated[list[str] | None, typer.Option(metavar="COL", help="Match within each value of COL; may be repeated.")] = None,
    form: Annotated[Form | None, typer.Option("--format", help="Form of INPUT, where its extension does not tell.")] = None,
) -> None:
    """Write an event class and a first pattern over the columns of a file: something to run, and to change.

    Without --from it is an example: a pattern, and an input of a few rows.

    [bold]afa new pay.py --from pay.jsonl[/]
    [bold]afa new pay.py[/]
    """
    from afa.cli.new import write_new
    from afa.cli.new_example import write_example

    with plain_exit():
        if file is not None:
            write_new(pattern, file, form.value if form else None, le, list(dict.fromkeys(key or ())))
        elif le or key or form:
            raise typer.BadParameter("expected --from INPUT beside --le, --key and --format")
        else:
            write_example(pattern)
