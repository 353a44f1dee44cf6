"""What `afa index` does: indexes beside Parquet files, a progress bar meanwhile, and what was written in one line."""

from __future__ import annotations

from collections.abc import Sequence

import typer
from rich.progress import BarColumn, TaskProgressColumn, TextColumn

from afa.cli.console import Bar, Terminal
from afa.replay.sidecar import index
from afa.replay.stored import Stored


def write_indexes(source: Sequence[str], time: str, columns: Sequence[str], block: int, quiet: bool) -> None:
    """Write them, and say how many rows and blocks they tell of.

    Raises
    ------
    AfaError
        As `afa.replay.index`.
    """
    given = source[0] if len(source) == 1 else list(source)
    total = Stored(given).total
    shown = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
    with Bar(*shown, console=Terminal(stderr=True), quiet=quiet) as bar:
        task = bar.add_task("index", total=total)
        found = index(given, time=time, columns=columns or None, block=block, progress=lambda rows: bar.advance(task, rows))
    if not quiet:
        files = "1 file" if len(found.paths) == 1 else f"{len(found.paths):,} files"
        typer.echo(f"indexed {found.rows:,} rows of {files}: {found.blocks:,} blocks, {max(found.bytes // 1024, 1):,} KiB")
