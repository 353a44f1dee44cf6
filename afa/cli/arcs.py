"""Carry out ``afa arcs FOLDER ..``: write lines of an arc log that a running job follows, checked before; list what they come to.

from another shell -> `afa arcs FOLDER swap` -> a file in FOLDER -> `afa run --arcs FOLDER`, `afa.ArcLog.poll`, Spark's `match`
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from afa.cli.fault import plain_exit

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    subcommand_metavar="COMMAND ..",
    context_settings={"help_option_names": ["-h", "--help"]},
)
Pattern = Annotated[
    str | None,
    typer.Option(metavar="FILE.py:NAME", help="The automaton or query whose arcs these are. Else: what the job has said of them."),
]
At = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="The timestamp from which on it holds: ISO 8601, or a number of ticks. Else: from when the job reads the line.",
    ),
]
Tick = Annotated[
    str | None, typer.Option(metavar="UNIT", help="What a number of ticks is: s, ms, us, ns. Else: what the job takes it for.")
]


@app.callback()
def arcs(
    context: typer.Context, folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the arc log.")]
) -> None:
    """Swap, end and list the arcs of a job that follows the arc log in FOLDER.

    A line is checked before it is written. A running [bold]afa run --arcs FOLDER[/] takes it before its next batch.

    [bold]afa arcs rules swap "above 500" --fence "amount > 300"[/]
    """
    context.obj = folder


@app.command()
def swap(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The arc that goes.")],
    pattern: Pattern = None,
    fence: Annotated[str | None, typer.Option(metavar="TEXT", help="Another fence for it.")] = None,
    transfer: Annotated[str | None, typer.Option(metavar="TEXT", help="Another transfer for it.")] = None,
    arc: Annotated[str | None, typer.Option(metavar="JSON", help="A whole arc in its place.")] = None,
    at: At = None,
    tick: Tick = None,
) -> None:
    """Put another arc in the place of the one of a name."""
    with plain_exit():
        from afa.cli.arcs_work import write_swap

        write_swap(context.obj, name, pattern, (fence, transfer, arc), at, tick)


@app.command()
def insert(
    context: typer.Context,
    arc: Annotated[str, typer.Argument(metavar="JSON", help="The arc, with a name.")],
    pattern: Pattern = None,
    at: At = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Where it ends.")] = None,
    tick: Tick = None,
) -> None:
    """Put an arc in force."""
    with plain_exit():
        from afa.cli.arcs_work import write_insert

        write_insert(context.obj, arc, pattern, at, until, tick)


@app.command()
def end(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The arc that goes.")],
    pattern: Pattern = None,
    at: At = None,
    tick: Tick = None,
) -> None:
    """End the arc of a name."""
    with plain_exit():
        from afa.cli.arcs_work import write_end

        write_end(context.obj, name, pattern, at, tick)


@app.command("list")
def list_(
    context: typer.Context,
    pattern: Annotated[
        str | None, typer.Option("--pattern", metavar="FILE.py:NAME", help="Whose own arcs are listed, too.")
    ] = None,
    tick: Tick = None,
) -> None:
    """List the arcs, from when until when each is in force, and what is wrong with lines."""
    with plain_exit():
        from afa.cli.arcs_work import show_list

        show_list(context.obj, pattern, tick)
