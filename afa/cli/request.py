"""What the user of the command line asked for."""

from __future__ import annotations

from typing import NamedTuple

FIRST, ROWS = 10_000, 131_072
"""Rows of the first batch, so that the first matches are soon there, and of the others."""


class Job(NamedTuple):
    """The request of the user."""

    pattern: str
    file: str
    form: str | None = None
    le: str | None = None
    re: str | None = None
    diff: str | None = None
    keys: tuple[str, ...] = ()
    window: int | None = None
    tick: str = "ms"
    lateness: int | None = None
    late: str = "raise"
    sequence: str | None = None
    type: str | None = None
    batch: int | None = None
    end: str = "latest"
    output: str | None = None
    matches: int = 20
    quiet: bool = False

    @property
    def rows(self) -> int:
        """Rows of a batch."""
        return self.batch or ROWS
