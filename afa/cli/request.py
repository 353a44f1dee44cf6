"""What the user of the command line asked for."""

from __future__ import annotations

from typing import NamedTuple

FIRST, ROWS = 10_000, 131_072
"""Rows of the first batch, so that the first matches are soon there, and of the others."""


class Job(NamedTuple):
    """The request of the user."""

    pattern: str
    file: str
    form: str | None
    le: str | None
    re: str | None
    diff: str | None
    keys: tuple[str, ...]
    window: int | None
    tick: str
    lateness: int | None
    late: str
    sequence: str | None
    type: str | None
    batch: int | None
    end: str
    output: str | None
    matches: int
    quiet: bool

    @property
    def rows(self) -> int:
        """Rows of a batch."""
        return self.batch or ROWS
