"""What the user of the command line asked for."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import typer

from afa.cli.fault import CommandError, tell
from afa.engine.budget import PARTIAL_MATCHES
from afa.io.file_bytes import STREAM
from afa.io.file_writing import WRITTEN
from afa.io.formats import FEEDS
from afa.model.conflicts import check
from afa.schema import Schema
from punctuation.durations import ticks_of_duration

WAITS = "what waits for a promise would wait for ever without one"
FIRST, ROWS = 10_000, 131_072
"""Rows of the first batch, so that the first matches are soon there, and of the others."""


class CommandRequest(NamedTuple):
    """The request of the user: what the options of the commands are called there."""

    pattern: str
    file: str
    form: str | None = None
    time: str | None = None
    until: str | None = None
    diff: str | None = None
    insert: tuple[str, ...] = ()
    retract: tuple[str, ...] = ()
    id: tuple[str, ...] = ()
    on_repeat: str | None = None
    version: str | None = None
    remember: int | str | None = None
    keys: tuple[str, ...] = ()
    window: int | str | None = None
    tick: str | None = None
    lateness: int | str | None = None
    late: str = "raise"
    order_by: str | None = None
    speculation: int | str | None = None
    type: str | None = None
    batch: int | None = None
    end: str = "latest"
    output: str | None = None
    matches: int = 20
    quiet: bool = False
    arcs: str | None = None
    rules: str | None = None
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
    metrics: str | None = None
    log: str = "text"
    state: str | None = None
    state_every: int | str | None = None
    follow: bool = False
    output_format: str = "changes"
    output_id: tuple[str, ...] = ()
    feed: Mapping[str, Any] | None = None
    """Where the input is messages of a database: the options of their feed, which alone is told their ids; ``time`` is le."""
    made: tuple[str, ...] = ()
    """Of the keys those that no column holds: what a query computes of its rows, or takes from matches."""

    @classmethod
    def of(cls, pattern: str, file: str, said: Mapping[str, Any]) -> CommandRequest:
        """Return the request that the options of a command make."""
        found = {IN_JOB.get(name, name): value for name, value in said.items()}
        found = {name: _plain(value) for name, value in found.items() if value is not None}
        output = found.get("output")
        suffix = "" if output in (None, STREAM) else Path(output).suffix.lower()
        if output not in (None, STREAM) and suffix not in (*WRITTEN, *([""] if "state" in found else [])):
            raise typer.BadParameter(
                f"expected a name that ends in {', '.join(WRITTEN)} but got {Path(output).name!r}", param_hint="'--output'"
            )
        if found.get("partial_matches") == 0:  # any number
            found["partial_matches"] = None
        table, facts = found.pop("table", None), found.pop("fact", ())
        job = cls(pattern, file, **found | {"keys": tuple(dict.fromkeys(found.get("keys", ())))})
        if job.form in FEEDS:
            return job._of_feed(table, facts)
        if table is not None or facts:
            raise CommandError("expected --format of a database's messages, debezium for example, beside --table and --fact")
        return job

    def _of_feed(self, table: str | None, facts: Sequence[str]) -> CommandRequest:
        """Return the request whose input is the changes that messages make."""
        if self.diff or self.insert or self.retract:
            raise CommandError(f"--diff can't be combined with --format {self.form} because its messages say what they do")
        if self.on_repeat is not None or self.remember is not None:
            option = "--on-repeat" if self.on_repeat is not None else "--remember"
            raise CommandError(f"{option} can't be combined with --format {self.form} because of each id its latest message counts")
        said = dict(text.partition("=")[::2] for text in facts)
        if not all(name and column for name, column in said.items()):
            raise CommandError(f"expected --fact NAME=COL but got {next(text for text in facts if not all(text.partition('=')))}")
        key = list(self.id) or None
        feed = {"key": key, "time": self.time, "until": self.until, "facts": said, "table": table, "version": self.version}
        return self._replace(feed=feed, id=(), version=None, time="le", until=self.until and "re")

    @property
    def said(self) -> dict[str, Any]:
        """The options that are not as they are by default."""
        given = {name: value for name, value in self._asdict().items() if name not in NO_OPTIONS}
        said = {name: value for name, value in given.items() if value != self._field_defaults[name]}
        return {"key" if name == "keys" else name: value for name, value in said.items()}

    def check(self, *traits: str) -> None:
        """Refuse options that contradict each other, or what they stand beside: `afa.model.conflicts`."""
        check(self.said | dict.fromkeys(traits, True), lambda name, _: f"--{name.replace('_', '-')}")
        if self.speculation is not None and self.lateness is None:
            raise CommandError(f"--speculation needs --lateness because {WAITS}")

    @property
    def key(self) -> Any:
        """The key, as operators take it."""
        return None if not self.keys else self.keys[0] if len(self.keys) == 1 else list(self.keys)

    @property
    def on_late(self) -> Any:
        """The policy for late rows; told of, they are counted, too."""
        return self.late if self.late != "report" else _late

    def options(self, *names: str) -> dict[str, Any]:
        """Return those options of an operator, as it takes them, and what bounds it."""
        found = {name: getattr(self, name) for name in names} | self.bounds
        return found | ({"id": self.ids} if "id" in names else {})

    @property
    def ids(self) -> Any:
        """What names an event, as operators take it."""
        return None if not self.id else self.id[0] if len(self.id) == 1 else list(self.id)

    def in_ticks(self, kinds: Mapping[str, Any], event: Any) -> CommandRequest:
        """Return the job with its durations in ticks, and a tick; without one where it says none, and times are integers.

        ``kinds``: the Arrow types of the input's columns.
        """
        instant = Schema.of(event, "event").instant
        le = self.time or (instant if instant is not None and instant in kinds and "le" not in kinds else "le")
        integers = all(pa.types.is_integer(kinds[name]) for name in (le, self.until or "re") if name in kinds)
        tick = self.tick or (None if integers else "ms")

        def ticks(name: str, said: int | str | None) -> int | None:
            if not isinstance(said, str):
                return said
            if tick is None:
                raise CommandError(
                    f"expected --tick, what an integer of column {le!r} counts, beside {name} {said!r} but got none; "
                    f"say --tick ms, for example, or {name} as a number of ticks"
                )
            return ticks_of_duration(said, tick, name)

        found: dict[str, Any] = {
            name: ticks(f"--{name}", getattr(self, name)) for name in ("window", "lateness", "speculation", "remember")
        }
        return self._replace(tick=tick, **found)

    @property
    def bounds(self) -> dict[str, Any]:
        return {"partial_matches": self.partial_matches, "max_bytes": self.max_bytes}

    @property
    def rows(self) -> int:
        return self.batch or ROWS


def _late(change: Any) -> None:
    row = change.payload._asdict() if hasattr(change.payload, "_asdict") else change.payload
    tell(f"late: {change}", "late", key=change.key, le=change.le, re=change.re, diff=change.diff, row=row)


NO_OPTIONS = ("pattern", "file", "feed", "made")
"""What of a request no option says."""
IN_JOB = {"key": "keys", "format": "form"}
"""What of the options of a command is called otherwise here."""


def _plain(value: Any) -> Any:
    """Return an argument without what typer makes of it."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, list):
        return tuple(value)
    return str(value) if isinstance(value, Path) else value
