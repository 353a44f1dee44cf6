"""What the user of the command line asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from afa.cli.fault import CommandError, on_the_line
from afa.engine.budget import PARTIAL_MATCHES
from afa.errors import AfaError
from afa.schema import Schema
from punctuation.durations import ticks_of_duration

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
    insert: tuple[str, ...] = ()
    retract: tuple[str, ...] = ()
    cancel: str | None = None
    keys: tuple[str, ...] = ()
    window: int | str | None = None
    tick: str | None = None
    lateness: int | str | None = None
    late: str = "raise"
    sequence: str | None = None
    type: str | None = None
    batch: int | None = None
    end: str = "latest"
    output: str | None = None
    matches: int = 20
    quiet: bool = False
    arcs: str | None = None
    vary: tuple[str, ...] = ()
    threads: int = 1
    partial_matches: int | None = PARTIAL_MATCHES
    max_bytes: int | None = None
    longest: bool = False
    members: str | None = None
    collapse: str | None = None
    having: str | None = None
    reasons: bool = False
    report: str | None = None
    force: bool = False

    def in_ticks(self, kinds: Mapping[str, Any], event: Any) -> Job:
        """Return the job with its durations in ticks, and a tick; without one where it says none, and times are integers.

        Parameters
        ----------
        kinds : mapping of str to Arrow type
            The input's columns.
        event : NamedTuple class

        Raises
        ------
        CommandError
            A duration has a unit, and times are integers of which the user does not say what one counts; or it is no whole number.
        """
        instant = Schema.of(event, "event").instant
        le = self.le or (instant if instant is not None and instant in kinds and "le" not in kinds else "le")
        integers = all(pa.types.is_integer(kinds[name]) for name in (le, self.re or "re") if name in kinds)
        tick = self.tick or (None if integers else "ms")

        def ticks(name: str, said: int | str | None) -> int | None:
            if not isinstance(said, str):
                return said
            if tick is None:
                raise CommandError(
                    f"expected --tick, what an integer of column {le!r} counts, beside {name} {said!r} but got none; "
                    f"say --tick ms, for example, or {name} as a number of ticks"
                )
            try:
                return ticks_of_duration(said, tick, name)
            except AfaError as error:
                raise CommandError(on_the_line(error)) from error

        return self._replace(tick=tick, window=ticks("--window", self.window), lateness=ticks("--lateness", self.lateness))

    @property
    def bounds(self) -> dict[str, Any]:
        """The options of an operator that bound what it holds."""
        return {"partial_matches": self.partial_matches, "max_bytes": self.max_bytes}

    @property
    def rows(self) -> int:
        """Rows of a batch."""
        return self.batch or ROWS
