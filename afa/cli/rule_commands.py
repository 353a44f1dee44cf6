"""Carry out ``afa rules LOG ..``: write lines of a log of rules that a running job follows, checked before; list what they come to.

from another shell -> `afa rules LOG add` -> a file in LOG -> `afa run FOLDER INPUT --rules LOG`
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from afa.cli.arcs import At, Tick
from afa.cli.fault import plain_exit

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    subcommand_metavar="COMMAND ..",
    context_settings={"help_option_names": ["-h", "--help"]},
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The rule.")]
RuleFile = Annotated[Path, typer.Argument(metavar="FILE", help="Its text: file.sase or file.sql.")]


@app.callback()
def rules(context: typer.Context, log: Annotated[Path, typer.Argument(metavar="LOG", help="The folder of the log.")]) -> None:
    """Add, remove, replace and list the rules of a job that follows the log of rules in LOG.

    A line is checked before it is written. A running [bold]afa run FOLDER INPUT --rules LOG[/] takes it before its next batch.

    [bold]afa rules changes add large large.sase[/]
    """
    context.obj = log


@app.command()
def add(
    context: typer.Context,
    name: Name,
    file: RuleFile,
    at: At = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Where it ends.")] = None,
    tick: Tick = None,
) -> None:
    """Put a rule in force."""
    with plain_exit():
        from afa.cli.rule_log_work import write_add

        write_add(context.obj, name, file, at, until, tick)


@app.command()
def remove(context: typer.Context, name: Name, at: At = None, tick: Tick = None) -> None:
    """End a rule."""
    with plain_exit():
        from afa.cli.rule_log_work import write_remove

        write_remove(context.obj, name, at, tick)


@app.command()
def replace(context: typer.Context, name: Name, file: RuleFile, at: At = None, tick: Tick = None) -> None:
    """Put another rule in the place of the one of a name."""
    with plain_exit():
        from afa.cli.rule_log_work import write_replace

        write_replace(context.obj, name, file, at, tick)


@app.command("list")
def list_(context: typer.Context, tick: Tick = None) -> None:
    """List the rules, from when until when each is in force in the job that runs, and what was refused, and why."""
    with plain_exit():
        from afa.cli.rule_log_work import show_rules

        show_rules(context.obj, tick)
