"""Define the commands: ``afa run`` runs a pattern over a file, ``afa show`` shows a pattern."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from afa import ADDED
from afa.cli import flags as o
from afa.cli.arcs import app as arcs_app
from afa.cli.fault import plain_exit
from afa.cli.flags import FLAGS, OF_INPUT, Command, Pattern, option, takes
from afa.cli.rule_commands import app as rules_app

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(arcs_app, name="arcs")
app.add_typer(rules_app, name="rules")
BOUNDS = ("threads", "partial_matches", "max_bytes")
OF_HISTORY = ("time", "key", "until", "diff", "type", "window", "tick", "order_by", "end")
LATE_ROWS = "Leave out, and count, rows that are more than this behind the latest before their batch, as run --late drop does."
OF = "Look at rows with this value of a column only, as of one key; may be repeated."
AT = "Say it as of an instant: of the rows up to then, from as long before as the window is."
MOST_KEPT = "How many events are kept at most; of more those of some keys, or the first ones where there are no keys."
EXPLAIN = "Say what would be done, from the statistics alone; no row is read."
TABLES = "The file of a table of a statement, file.sql, in place of INPUT; may be repeated."
INDEXED = "Whose bounds and sums are kept; may be repeated. By default all of numbers, times and text."


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


def _width() -> int | None:
    """Return the width of a table that does not go to a terminal; None: the environment says it."""
    return None if "COLUMNS" in os.environ else 100


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


@app.command(cls=Command)
@takes(*FLAGS)
def run(
    pattern: Pattern,
    file: o.SomeInput = None,
    *,
    tables: Annotated[list[str] | None, option(o.COLUMNS, TABLES, "--input", metavar="NAME=FILE")] = None,
    **said: Any,
) -> None:
    """Run a pattern over a file; print matches as they are inserted (+) and withdrawn (-).

    Rows are taken as they arrive, in any order; what a late row changes is withdrawn and replaced. Columns named le, re and diff
    are found without --time, --until and --diff. Timestamps become ticks since 1970 (UTC where they name no zone), integers are
    taken as they are. A match is printed as its lifetime, key and register, on standard output; all else goes to standard error.
    What the options of operators mean stands in docs/guide/options.md.

    A query reads all columns by their names; its key and window are its own, --tick is what one tick is, --order-by its order_by=.
    A temporal pattern takes readings; its window is its own, its key where it says one. A statement in SQL takes files by the names
    of its tables; where it joins, groups, counts, DuckDB does that (pip install "afa\\[duckdb]"), and the rows are printed.

    [bold]afa run vees.py:two_vees ticks.csv --time time --key symbol --window 7000[/]
    [bold]afa run theft.sase readings.csv --time at[/]
    [bold]afa run vees.py:make ticks.csv --key symbol --window 10m --vary drop=0.5:1.5:0.1[/]
    [bold]afa run falls.sql --input ticks=ticks.parquet --input stocks=stocks.csv[/]
    """
    from afa.cli.request import CommandRequest
    from afa.cli.run import run as run_job  # pyarrow is loaded only where a table is
    from afa.cli.vary import sweep

    if (file is None) == (tables is None):
        raise typer.BadParameter("expected INPUT, or the tables of a statement: --input NAME=FILE", param_hint="INPUT")
    with plain_exit():
        if tables is not None:
            from afa.cli.whole_run import run_tables  # which loads sqlglot

            run_tables(CommandRequest.of(pattern, "", said), tables)
        else:
            kind = sweep if said["vary"] else run_job
            if said["state"]:
                from afa.cli.state_run import run_with_state as kind  # which needs locks of POSIX
            kind(CommandRequest.of(pattern, str(file), said))


for _name, _module in ADDED["afa.cli"].items():  # commands of extras
    app.command(cls=Command)(getattr(importlib.import_module(_module), _name))


@app.command()
def show(
    pattern: Pattern,
    file: Annotated[str | None, typer.Argument(metavar="INPUT", help="What a query in a file is to read: its columns.")] = None,
    type_: Annotated[str | None, typer.Option("--type", metavar="COLUMN", help="The column of events' types.")] = None,
    tick: Annotated[o.Tick | None, typer.Option(help=FLAGS["tick"].text)] = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Only the Mermaid text, to be piped.")] = False,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw it as SVG into FILE.")] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with the drawing into FILE.")] = None,
    dot: Annotated[Path | None, typer.Option("--dot", metavar="FILE", help="Write it for Graphviz into FILE.")] = None,
    labels: Annotated[o.Labels, typer.Option("--labels", help="What stands beside an arc: its code, or its name.")] = o.Labels.code,
    force: Annotated[bool, typer.Option("--force", help=FLAGS["force"].text)] = False,
) -> None:
    """Show a pattern as a table of arcs and as Mermaid text (GitHub and notebooks draw it); of a query also what became of it.

    With --svg, --html or --dot it is drawn into a file, which needs no network and no other program to be seen.

    [bold]afa show vees.py:two_vees[/]
    [bold]afa show theft.sase readings.csv --html theft.html --labels names[/]
    """
    from afa.cli.console import Terminal
    from afa.cli.show import check_pictures, facts, loaded, table, write_pictures
    from afa.explain.draw.drawing import mermaid as drawn
    from afa.explain.draw.words import final_states
    from afa.model.reach import loose

    with plain_exit():
        files = {form: path for form, path in (("svg", svg), ("html", html), ("dot", dot)) if path is not None}
        check_pictures(pattern, file, files, force)
        found = loaded(pattern, file, type_, tick.value if tick else None)
        automaton, explained = found.automaton, found.explain()
        for path in write_pictures(pattern, found, files, labels.value):
            typer.echo(f"wrote {path}", err=True)
        if mermaid:
            typer.echo(drawn(automaton, labels.value))
        if mermaid or files:
            return
        console = Terminal(width=_width())
        finals = ", ".join(sorted(final_states(automaton)))
        for word, text in (
            ("pattern", pattern),
            *facts(found),
            ("start", automaton.start),
            ("final", finals),
        ):
            console.print(f"{word:<9}", text, style="none", markup=False, soft_wrap=True)
        if explained is not None:
            console.print(f"\n{explained}", style="none", markup=False, soft_wrap=True)
        console.print()
        console.print(table(automaton))
        for state in loose(automaton):
            console.print(str(state), style="none", markup=False, soft_wrap=True)
        console.print()
        console.print(drawn(automaton, labels.value), markup=False, soft_wrap=True)


@app.command(cls=Command)
@takes(*OF_INPUT, "window", "tick", "order_by", "end")
def why(
    pattern: Pattern,
    file: o.Input,
    *,
    lateness: Annotated[str | None, option(o.ORDER, LATE_ROWS, metavar="DURATION", callback=o.duration(0))] = None,
    batch: Annotated[int | None, option(o.ORDER, "Rows a batch, for --lateness.", metavar="ROWS", min=1)] = None,
    most: Annotated[int, option(o.RESULT, MOST_KEPT, metavar="EVENTS", min=1)] = 1_000_000,
    as_json: Annotated[bool, option(o.RESULT, "All counts as JSON.", "--json")] = False,
    of: Annotated[list[str] | None, option(o.RESULT, OF, metavar="COL=VALUE")] = None,
    at: Annotated[str | None, option(o.RESULT, AT, metavar="TIME")] = None,
    **said: Any,
) -> None:
    """Say why a pattern finds nothing: in a sentence, what each arc was asked, where partial matches ended, the nearest misses.

    Options are those of `afa run`. All is counted, in whatever order the rows stand; of more than --most events those of some keys.

    [bold]afa why pay.py pay.csv --time at --key card --window 10m[/]
    [bold]afa why pay.py pay.csv --time at --key card --window 10m --of card=c0002 --at 2026-03-01T10:05[/]
    """
    from afa.cli.console import Terminal
    from afa.cli.request import CommandRequest
    from afa.cli.why import show_funnel
    from afa.cli.why import why as why_job
    from afa.explain.funnel.funnel import as_json as json_of

    with plain_exit():
        request = CommandRequest.of(pattern, file, {**said, "lateness": lateness, "batch": batch})
        funnel = why_job(request, most, of or (), at)
        if as_json:
            typer.echo(json_of(funnel))
            return
        show_funnel(funnel, Terminal(width=_width()))


@app.command(cls=Command)
@takes(*OF_HISTORY, "output", "matches", "partial_matches", "max_bytes", "longest", "force", "quiet")
def replay(
    pattern: Pattern,
    source: o.Source,
    *,
    explain: Annotated[bool, option(o.RESULT, EXPLAIN, "--explain")] = False,
    require: Annotated[bool, option(o.RESULT, "Stop where all rows would have to be read, and say why.", "--require")] = False,
    **said: Any,
) -> None:
    """Find the matches of stored history, and read only where one can lie.

    What a match must contain follows from the pattern; statistics of the files, and scans of single columns, tell where that can
    be; the rows around go through the pattern. Matches are those of `afa run` over all rows. The plan says what was read.

    [bold]afa replay insider.py trades/ --time at --key symbol --window 10s[/]
    [bold]afa replay insider.py trades/ --time at --key symbol --window 10s --explain[/]
    """
    from afa.cli.replay_run import replay_job
    from afa.cli.request import CommandRequest

    with plain_exit():
        replay_job(CommandRequest.of(pattern, source[0], said), source, explain, require)


@app.command()
def index(
    source: o.Source,
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
        from afa.cli.replay_run import write_indexes

        write_indexes(source, time, list(dict.fromkeys(column or ())), block, quiet)


@app.command()
def devices() -> None:
    """List the devices that `find` and `backtest` take as device=, with their memory, and the rate of a small sweep on each.

    [bold]afa devices[/]
    """
    from afa.cli.console import Terminal
    from afa.cli.device_list import show_devices

    with plain_exit():
        show_devices(Terminal(width=_width()))


@app.command(cls=Command)
@takes("time", "key", "format", "id")
def new(
    pattern: Annotated[Path, typer.Argument(metavar="PATTERN.py", help="The file to write; it may not be there yet.")],
    file: Annotated[str | None, typer.Option("--from", metavar="INPUT", help=f"{o.FILE} Left out: an example.")] = None,
    **said: Any,
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
            form = said["format"]
            keys, ids = (list(dict.fromkeys(said[name] or ())) for name in ("key", "id"))
            write_new(pattern, file, form.value if form else None, said["time"], keys, ids)
        elif any(said.values()):
            raise typer.BadParameter("expected --from INPUT beside --time, --key, --id and --format")
        else:
            write_example(pattern)
