"""Define the commands: ``afa run`` runs a pattern over a file, ``afa show`` shows a pattern."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from afa.cli.arcs import app as arcs_app
from afa.cli.fault import Terminal, plain_exit
from afa.cli.options import (
    ARCS,
    BATCH,
    BYTES,
    CANCEL,
    COLLAPSE,
    COLUMNS,
    END,
    EXPLAIN,
    FILE,
    FORCE,
    HAVING,
    HOST,
    INDEXED,
    INSERT,
    LATE_ROWS,
    LATENESS,
    LONGEST,
    MATCHES_OUT,
    MEMBERS,
    MOST_KEPT,
    ORDER,
    OUTPUT,
    PAGE,
    PARTIAL,
    REASONS,
    REPORT,
    RESULT,
    SIGMA,
    SOURCE,
    SPEED,
    THREADS,
    TICK,
    VARY,
    WINDOW,
    End,
    Form,
    Labels,
    Late,
    Pattern,
    Tick,
    duration,
    none_if_zero,
    option,
    output_file,
    page_file,
)
from afa.engine.budget import LEAST_BYTES, PARTIAL_MATCHES

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(arcs_app, name="arcs")
WIDE = 100
"""The width of a table that does not go to a terminal."""


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


@app.command()
def run(
    pattern: Pattern,
    file: Annotated[str, typer.Argument(metavar="INPUT", help=FILE)],
    le: Annotated[str | None, option(COLUMNS, "Timestamps: integers, or timestamps (see --tick).", metavar="COL")] = None,
    key: Annotated[list[str] | None, option(COLUMNS, "Match within each value of COL; may be repeated.", metavar="COL")] = None,
    re: Annotated[str | None, option(COLUMNS, "Ends of lifetimes; empty ones end by --window.", metavar="COL")] = None,
    diff: Annotated[str | None, option(COLUMNS, "1 for insertions, -1 for retractions.", metavar="COL")] = None,
    insert: Annotated[list[str] | None, option(COLUMNS, INSERT, metavar="VALUE")] = None,
    retract: Annotated[list[str] | None, option(COLUMNS, "The same of retractions.", metavar="VALUE")] = None,
    cancel: Annotated[str | None, option(COLUMNS, CANCEL, metavar="FIELD")] = None,
    form: Annotated[Form | None, option(COLUMNS, "Form of INPUT, where its extension does not tell.", "--format")] = None,
    window: Annotated[str | None, option(ORDER, WINDOW, metavar="DURATION", callback=duration(1))] = None,
    tick: Annotated[Tick | None, option(ORDER, TICK)] = None,
    lateness: Annotated[str | None, option(ORDER, LATENESS, metavar="DURATION", callback=duration(0))] = None,
    late: Annotated[Late, option(ORDER, "On a row that breaks this promise: stop, or drop and count it.")] = Late.stop,
    type_: Annotated[
        str | None, option(COLUMNS, "The column of events' types, for a query in text.", "--type", metavar="COLUMN")
    ] = None,
    sequence: Annotated[str | None, option(ORDER, "Event field that orders rows of equal timestamps.", metavar="FIELD")] = None,
    end: Annotated[End, option(ORDER, END)] = End.latest,
    batch: Annotated[int | None, option(ORDER, BATCH, metavar="ROWS", min=1)] = None,
    vary: Annotated[list[str] | None, option(RESULT, VARY, metavar="NAME=VALUES")] = None,
    output: Annotated[Path | None, option(RESULT, OUTPUT, metavar="FILE", callback=output_file)] = None,
    matches: Annotated[int, option(RESULT, "How many changes to print; -1: all.", metavar="N", min=-1)] = 20,
    members: Annotated[str | None, option(RESULT, MEMBERS, metavar="FIELD")] = None,
    collapse: Annotated[str | None, option(RESULT, COLLAPSE, metavar="FIELD")] = None,
    having: Annotated[str | None, option(RESULT, HAVING, metavar="CONDITION")] = None,
    reasons: Annotated[bool, option(RESULT, REASONS, "--reasons")] = False,
    report: Annotated[Path | None, option(RESULT, REPORT, metavar="FILE.html", callback=page_file)] = None,
    force: Annotated[bool, option(RESULT, FORCE, "--force")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no summary.", rich_help_panel=RESULT)] = False,
    arcs: Annotated[Path | None, option(ORDER, ARCS, metavar="FOLDER")] = None,
    longest: Annotated[bool, option(RESULT, LONGEST, "--longest")] = False,
    threads: Annotated[int, option(ORDER, THREADS, metavar="N", min=1)] = 1,
    partial_matches: Annotated[int, option(ORDER, PARTIAL, metavar="N", min=0)] = PARTIAL_MATCHES,
    max_bytes: Annotated[int | None, option(ORDER, BYTES, metavar="N", min=LEAST_BYTES)] = None,
) -> None:
    """Run a pattern over a file; print matches as they are inserted (+) and withdrawn (-).

    Rows are taken as they arrive, in any order; what a late row changes is withdrawn and replaced. Columns named le, re and diff
    are found without --le, --re and --diff. Timestamps become ticks since 1970 (UTC where they name no zone), integers are taken
    as they are. A match is printed as its lifetime, key and register, on standard output; all else goes to standard error.
    What window, sequence and late mean stands in docs/guide/options.md.

    A query reads all columns by their names; its key and window are its own, --tick is what one tick is, --sequence its order=.
    A temporal pattern takes readings; its window is its own, its key where it says one.

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
                partial_matches=none_if_zero(partial_matches),
                max_bytes=max_bytes,
                members=members,
                collapse=collapse,
                having=having,
                reasons=reasons,
                report=None if report is None else str(report),
                force=force,
            )
        )


@app.command()
def serve(
    pattern: Pattern,
    file: Annotated[str, typer.Argument(metavar="INPUT", help=FILE)],
    le: Annotated[str | None, option(COLUMNS, "Timestamps: integers, or timestamps (see --tick).", metavar="COL")] = None,
    key: Annotated[list[str] | None, option(COLUMNS, "Match within each value of COL; may be repeated.", metavar="COL")] = None,
    re: Annotated[str | None, option(COLUMNS, "Ends of lifetimes; empty ones end by --window.", metavar="COL")] = None,
    diff: Annotated[str | None, option(COLUMNS, "1 for insertions, -1 for retractions.", metavar="COL")] = None,
    insert: Annotated[list[str] | None, option(COLUMNS, INSERT, metavar="VALUE")] = None,
    retract: Annotated[list[str] | None, option(COLUMNS, "The same of retractions.", metavar="VALUE")] = None,
    cancel: Annotated[str | None, option(COLUMNS, CANCEL, metavar="FIELD")] = None,
    form: Annotated[Form | None, option(COLUMNS, "Form of INPUT, where its extension does not tell.", "--format")] = None,
    type_: Annotated[
        str | None, option(COLUMNS, "The column of events' types, for a query in text.", "--type", metavar="COLUMN")
    ] = None,
    window: Annotated[str | None, option(ORDER, WINDOW, metavar="DURATION", callback=duration(1))] = None,
    tick: Annotated[Tick | None, option(ORDER, TICK)] = None,
    lateness: Annotated[str | None, option(ORDER, LATENESS, metavar="DURATION", callback=duration(0))] = None,
    late: Annotated[Late, option(ORDER, "On a row that breaks this promise: stop, or drop and count it.")] = Late.drop,
    sequence: Annotated[str | None, option(ORDER, "Event field that orders rows of equal timestamps.", metavar="FIELD")] = None,
    sigma: Annotated[str | None, option(ORDER, SIGMA, metavar="DURATION")] = None,
    arcs: Annotated[Path | None, option(ORDER, ARCS, metavar="FOLDER")] = None,
    longest: Annotated[bool, option(RESULT, LONGEST, "--longest")] = False,
    threads: Annotated[int, option(ORDER, THREADS, metavar="N", min=1)] = 1,
    partial_matches: Annotated[int, option(ORDER, PARTIAL, metavar="N", min=0)] = PARTIAL_MATCHES,
    max_bytes: Annotated[int | None, option(ORDER, BYTES, metavar="N", min=LEAST_BYTES)] = None,
    speed: Annotated[str, option(PAGE, SPEED, metavar="SPEED")] = "1000",
    follow: Annotated[bool, option(PAGE, "At the end of INPUT wait for more: it grows.", "--follow")] = False,
    browse: Annotated[bool, option(PAGE, "Open the page in the browser.", "--open")] = False,
    host: Annotated[str, option(PAGE, HOST, metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, option(PAGE, "0: any that is free.", metavar="PORT", min=0, max=65535)] = 0,
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
            partial_matches=none_if_zero(partial_matches),
            max_bytes=max_bytes,
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
    force: Annotated[bool, typer.Option("--force", help=FORCE)] = False,
) -> None:
    """Show a pattern as a table of arcs and as Mermaid text (GitHub and notebooks draw it); of a query also what became of it.

    With --svg, --html or --dot it is drawn into a file, which needs no network and no other program to be seen.

    [bold]afa show vees.py:two_vees[/]
    [bold]afa show theft.sase readings.csv --html theft.html --labels names[/]
    """
    from afa.cli.show import check_pictures, facts, loaded, write_pictures
    from afa.draw.mermaid import mermaid as drawn
    from afa.draw.terminal import table
    from afa.draw.words import final_states
    from afa.model.reach import loose

    with plain_exit():
        files = {form: path for form, path in (("svg", svg), ("html", html), ("dot", dot)) if path is not None}
        check_pictures(pattern, file, files, force)
        automaton, query = loaded(pattern, file, type_, tick.value if tick else None)
        for path in write_pictures(pattern, automaton, query, files, labels.value):
            typer.echo(f"wrote {path}", err=True)
        if mermaid:
            typer.echo(drawn(automaton, labels.value))
        if mermaid or files:
            return
        console = Terminal(highlight=False)
        if not console.is_terminal and "COLUMNS" not in os.environ:
            console.width = WIDE
        finals = ", ".join(sorted(final_states(automaton)))
        for word, text in (
            ("pattern", pattern),
            *facts(automaton, query),
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
    le: Annotated[str | None, option(COLUMNS, "Timestamps: integers, or timestamps (see --tick).", metavar="COL")] = None,
    key: Annotated[list[str] | None, option(COLUMNS, "Match within each value of COL; may be repeated.", metavar="COL")] = None,
    re: Annotated[str | None, option(COLUMNS, "Ends of lifetimes; empty ones end by --window.", metavar="COL")] = None,
    diff: Annotated[str | None, option(COLUMNS, "1 for insertions, -1 for retractions.", metavar="COL")] = None,
    insert: Annotated[list[str] | None, option(COLUMNS, INSERT, metavar="VALUE")] = None,
    retract: Annotated[list[str] | None, option(COLUMNS, "The same of retractions.", metavar="VALUE")] = None,
    cancel: Annotated[str | None, option(COLUMNS, CANCEL, metavar="FIELD")] = None,
    form: Annotated[Form | None, option(COLUMNS, "Form of INPUT, where its extension does not tell.", "--format")] = None,
    window: Annotated[str | None, option(ORDER, WINDOW, metavar="DURATION", callback=duration(1))] = None,
    tick: Annotated[Tick | None, option(ORDER, TICK)] = None,
    lateness: Annotated[str | None, option(ORDER, LATE_ROWS, metavar="DURATION", callback=duration(0))] = None,
    type_: Annotated[
        str | None, option(COLUMNS, "The column of events' types, for a query in text.", "--type", metavar="COLUMN")
    ] = None,
    sequence: Annotated[str | None, option(ORDER, "Event field that orders rows of equal timestamps.", metavar="FIELD")] = None,
    end: Annotated[End, option(ORDER, END)] = End.latest,
    batch: Annotated[int | None, option(ORDER, "Rows a batch, for --lateness.", metavar="ROWS", min=1)] = None,
    most: Annotated[int, option(RESULT, MOST_KEPT, metavar="EVENTS", min=1)] = 1_000_000,
    as_json: Annotated[bool, option(RESULT, "All counts as JSON.", "--json")] = False,
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
def replay(
    pattern: Pattern,
    source: Annotated[list[str], typer.Argument(metavar="SOURCE...", help=SOURCE)],
    time: Annotated[
        str | None, option(COLUMNS, "When each row happened: integers or timestamps.", "--time", "--le", metavar="COL")
    ] = None,
    key: Annotated[list[str] | None, option(COLUMNS, "Match within each value of COL; may be repeated.", metavar="COL")] = None,
    until: Annotated[
        str | None, option(COLUMNS, "Ends of lifetimes; empty ones end by --window.", "--until", "--re", metavar="COL")
    ] = None,
    diff: Annotated[str | None, option(COLUMNS, "1 for insertions, -1 for retractions.", metavar="COL")] = None,
    type_: Annotated[
        str | None, option(COLUMNS, "The column of events' types, for a query in text.", "--type", metavar="COLUMN")
    ] = None,
    window: Annotated[str | None, option(ORDER, WINDOW, metavar="DURATION", callback=duration(1))] = None,
    tick: Annotated[Tick | None, option(ORDER, TICK)] = None,
    sequence: Annotated[str | None, option(ORDER, "Event field that orders rows of equal timestamps.", metavar="FIELD")] = None,
    end: Annotated[End, option(ORDER, END)] = End.latest,
    explain: Annotated[bool, option(RESULT, EXPLAIN, "--explain")] = False,
    require: Annotated[bool, option(RESULT, "Stop where all rows would have to be read, and say why.", "--require")] = False,
    output: Annotated[Path | None, option(RESULT, MATCHES_OUT, metavar="FILE", callback=output_file)] = None,
    matches: Annotated[int, option(RESULT, "How many matches to print; -1: all.", metavar="N", min=-1)] = 20,
    partial_matches: Annotated[int, option(ORDER, PARTIAL, metavar="N", min=0)] = PARTIAL_MATCHES,
    max_bytes: Annotated[int | None, option(ORDER, BYTES, metavar="N", min=LEAST_BYTES)] = None,
    longest: Annotated[bool, option(RESULT, LONGEST, "--longest")] = False,
    force: Annotated[bool, option(RESULT, FORCE, "--force")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no plan.", rich_help_panel=RESULT)] = False,
) -> None:
    """Find the matches of stored history, and read only where one can lie.

    What a match must contain follows from the pattern; statistics of the files, and scans of single columns, tell where that can
    be; the rows around go through the pattern. Matches are those of `afa run` over all rows. The plan says what was read.

    [bold]afa replay insider.py trades/ --time at --key symbol --window 10s[/]
    [bold]afa replay insider.py trades/ --time at --key symbol --window 10s --explain[/]
    """
    from afa.cli.replay_run import Replaying, replay_job
    from afa.cli.request import Job

    with plain_exit():
        job = Job(
            pattern=pattern,
            file=source[0],
            le=time,
            re=until,
            diff=diff,
            keys=tuple(dict.fromkeys(key or ())),
            window=window,
            tick=tick.value if tick else None,
            sequence=sequence,
            type=type_,
            end=end.value,
            output=None if output is None else str(output),
            matches=matches,
            quiet=quiet,
            longest=longest,
            partial_matches=none_if_zero(partial_matches),
            max_bytes=max_bytes,
            force=force,
        )
        replay_job(job, Replaying(tuple(source), explain, require))


@app.command()
def index(
    source: Annotated[list[str], typer.Argument(metavar="SOURCE", help="Parquet files, or a folder of them.")],
    time: Annotated[str, typer.Option(metavar="COL", help="When each row happened: integers, timestamps or dates.")],
    column: Annotated[list[str] | None, typer.Option(metavar="COL", help=INDEXED)] = None,
    block: Annotated[int, typer.Option(metavar="ROWS", min=1, help="How many rows a block has at most.")] = 16_384,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no summary.")] = False,
) -> None:
    """Write an index beside each file, .NAME.afa-index: times, bounds and sums of blocks of its rows.

    Replays and windowed aggregates then read only what they must. A file that is written anew wants a new index.

    [bold]afa index trades/ --time at --column price --column amount[/]
    """
    with plain_exit():
        from afa.cli.index_run import write_indexes

        write_indexes(source, time, list(dict.fromkeys(column or ())), block, quiet)


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
