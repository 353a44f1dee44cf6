"""What a terminal shows: a console, a plain table, a progress bar."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from rich.console import Console
from rich.progress import Progress, ProgressColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text


class Terminal(Console):
    """A console that lets a closed pipe be ours to end; rich would end the process with status 1.

    ``width``: where it goes to no terminal; None: that of the environment.
    """

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        super().__init__(stderr=stderr, highlight=False)
        if width is not None and not self.is_terminal:
            self.width = width

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Bar(Progress):
    """A progress bar, where the console is a terminal. Standard output, a pipe maybe, is not sent there."""

    def __init__(self, *columns: ProgressColumn, console: Console, quiet: bool) -> None:
        said: dict[str, Any] = {"transient": True, "redirect_stdout": False, "redirect_stderr": False}
        super().__init__(*columns, TimeElapsedColumn(), console=console, disable=quiet or not console.is_terminal, **said)

    def stop(self) -> None:
        """End it; rich before 14 ends one that was never shown by an empty line."""
        if not self.disable:
            super().stop()


def plain_table(names: Iterable[str], rows: Iterable[Iterable[str]], right: Collection[str] = (), **said: Any) -> Table:
    """Return a table without lines, whose cells have no markup; those of some columns stand on the right."""
    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in names:
        shown.add_column(name, justify="right" if name in right else "left", **{"overflow": "fold", **said})
    for row in rows:
        shown.add_row(*map(Text, row))
    return shown
