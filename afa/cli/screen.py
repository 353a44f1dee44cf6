"""Show the work of ``afa run``: changes on standard output, progress and summary on standard error."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa
from rich.progress import BarColumn, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from afa.cli.console import Bar, Terminal
from afa.cli.fault import close_pipes, tell
from afa.cli.log import as_json
from afa.cli.request import CommandRequest
from afa.explain.reasons.because import BECAUSE
from afa.io.column_texts import in_text, json_texts
from afa.io.file_bytes import STREAM
from afa.operator.members import MEMBERS
from afa.operator.statistics import statistics_of
from afa.rules.rule_set_operator import RuleSetOperator
from punctuation.time import FOREVER

MANY = 10_000
"""Of fewer events the time is that of the start."""
EVERY = 10.0
"""So many seconds lie between two lines of progress, in JSON."""
STYLES = {"+": "green", "-": "red"}


class Summary:
    """The numbers of a run. ``rated``: whether it took batches, so that it says something how many events a second it took.

    ``batch``: how many rows they had, by which changes are net; None: not said.
    """

    def __init__(self, *, keyed: bool, rated: bool = True, batch: int | None = None) -> None:
        self.keyed, self._rated = keyed, rated
        rows = "10,000 rows, then of 131,072" if batch is None else "1 row" if batch == 1 else f"{batch:,} rows"
        self._net = f"net of batches of {rows}"
        self.began = time.perf_counter()
        self.events = self.inserted = self.withdrawn = self.late = self.state = self.keys = self.pending = 0
        self.not_final = 0
        self.open: int | str | None = None  # how many matches time-outs would still bring; None: there are no time-outs
        self.snapshots: list[tuple[int, float]] = []  # bytes and seconds of each commit of --state
        self._before = 0  # events of runs before this one
        self._unseen = 0  # events since it was looked what is held
        self._top = np.zeros((2, 0), np.int64)  # LE and diff of the changes at or past the largest timestamp

    def count(self, le: Any, diff: Any, latest: int) -> None:
        """Count the changes of a batch; ``latest``: the largest timestamp of the input so far."""
        top = np.array([le, diff], np.int64)
        self.inserted += int(np.maximum(top[1], 0).sum())
        self.withdrawn -= int(np.minimum(top[1], 0).sum())
        top = np.concatenate([self._top, top], axis=1)
        self._top = top[:, top[0] >= latest]

    def progress(self, rows: int, operator: Any) -> None:
        """Count the rows of a batch; now and then, since it costs as much as there is, look at what is held."""
        self.events += rows
        self._unseen += rows
        if 4 * self._unseen >= self.state:
            self.look(operator)

    def look(self, operator: Any) -> None:
        """Keep the high-water marks."""
        cores = [getattr(link, "_core", None) for link in getattr(operator, "links", (operator,))]
        found = [operator.statistics if core is None else core.calls.call(statistics_of, core, False) for core in cores]
        self._unseen = 0
        self.late = found[0].late
        if isinstance(operator, RuleSetOperator):  # which does not count the keys of its rules
            sizes = [found[0].held, found[0].partial_matches]
        else:
            sizes = [statistics.state_size for statistics in found]
            self.keys = max(self.keys, found[0].keys)
        self.state = max(self.state, sum(sizes))

    def finish(self, statistics: Any, end: int) -> None:
        """Note what is left when ``end`` is promised."""
        self.not_final = int(self._top[1, self._top[0] >= end].sum())
        self.late, self.pending = statistics.late, getattr(statistics, "pending", 0)

    @property
    def saved(self) -> list[Any]:
        """The counts as plain JSON, of a run that goes on later: `go_on`."""
        return [self.events, self.inserted, self.withdrawn, self._top.tolist()]

    def go_on(self, saved: list[Any]) -> None:
        self.events, self.inserted, self.withdrawn, top = saved
        self._before, self._top = self.events, np.array(top, np.int64).reshape(2, -1)

    @property
    def rate(self) -> float:
        return (self.events - self._before) / max(time.perf_counter() - self.began, 1e-9)

    def _snapshots(self) -> list[tuple[str, int | str, str]]:
        if not self.snapshots:
            return []
        size, seconds = self.snapshots[-1][0], [each for _, each in self.snapshots]
        remark = f"{size:,} bytes the last; {sum(seconds):.2f} s in all, {max(seconds):.2f} s at most"
        return [("snapshots", len(self.snapshots), remark)]

    @property
    def fields(self) -> dict[str, int | str]:
        """The numbers of `lines`, by names for programs."""
        return {name.replace(" ", "_").replace("-", "_"): number for name, number, _ in self.lines()}

    def lines(self) -> list[tuple[str, int | str, str]]:
        """Name, number and remark of each line."""
        late = f"{'dropped: ' if self.late else ''}behind a promise"
        keys = [("keys", self.keys, "most held at once")] if self.keyed else []
        more = [
            ("matches not final", self.not_final, "at the largest timestamp, where events may follow"),
            ("time-outs open", self.open or 0, "matches that would come later; --end forever lets them come"),
            ("retractions open", self.pending, "of events that have not come"),
        ]
        return [
            ("events", self.events, f"{self.rate:,.0f} a second" if self._rated and self.events >= MANY else ""),
            ("late", self.late, late),
            *keys,
            ("state", self.state, "most held at once: events, partial matches, matches"),
            ("matches inserted", self.inserted, ""),
            ("matches withdrawn", self.withdrawn, self._net if self._rated and self.events > 1 else ""),
            ("matches final", self.inserted - self.withdrawn - self.not_final, ""),
            *self._snapshots(),
            *(line for line in more if line[1] or (line[0] == "time-outs open" and self.open is not None)),
        ]


class Screen:
    """Standard output for changes, standard error for the rest; one console where both are the same terminal."""

    def __init__(self, job: CommandRequest, total: int, union: bool = False) -> None:
        self._job, self._union = job, union  # whether columns are those of many patterns, of which a match has some
        self._err = Terminal(stderr=True)
        both = sys.stdout.isatty() and self._err.is_terminal and not as_json()
        self._out = self._err if both else Terminal()
        self._left = 0 if job.output == STREAM else job.matches if job.matches >= 0 else -1
        self._open = True
        columns = TextColumn("{task.fields[events]:,} events"), BarColumn(), TaskProgressColumn()
        self._bar = Bar(*columns, TextColumn("{task.fields[rate]:,.0f}/s"), console=self._err, quiet=job.quiet or as_json())
        self._progressed = time.monotonic()
        self._task = self._bar.add_task("", total=max(total, 1), events=0, rate=0.0)

    def __enter__(self) -> Screen:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def note(self, text: str, event: str, **fields: Any) -> None:
        """Say something on standard error, above the progress bar; event and fields in JSON only."""
        if self._job.quiet:
            return
        if as_json():
            tell(text, event, "info", **fields)
        else:
            self._err.print(f"afa: {text}", markup=False, soft_wrap=True)

    def progress(self, done: int, summary: Summary) -> None:
        self._bar.update(self._task, completed=done, events=summary.events, rate=summary.rate)
        if as_json() and not self._job.quiet and time.monotonic() - self._progressed >= EVERY:
            self._progressed = time.monotonic()
            tell(f"{summary.events:,} events, {summary.rate:,.0f} a second", "progress", "info", **summary.fields)

    def show(self, changes: pa.Table, summary: Summary) -> None:
        """Print the changes of a batch, as many as are wanted."""
        if not self._open or not self._left:
            return
        part = changes if self._left < 0 else changes.slice(0, self._left)
        self._left -= len(part) if self._left > 0 else 0
        if MEMBERS in part.column_names and self._job.members:
            texts = pa.array(json_texts(part[MEMBERS]), pa.string())
            part = part.set_column(part.column_names.index(MEMBERS), MEMBERS, texts)
        lines = (self._line(row) for row in in_text(part).to_pylist())
        try:
            if self._out.is_terminal:
                for line in lines:
                    self._out.print(Text(line, style=STYLES[line[0]]), soft_wrap=True)
            else:
                sys.stdout.writelines(f"{line}\n" for line in lines)
                sys.stdout.flush()
        except BrokenPipeError:
            if self._job.output is None:
                raise
            close_pipes()  # the reader has seen enough; the file is still wanted
            self._open = False

    def _line(self, row: dict[str, Any]) -> str:
        sign = "+" if row["diff"] > 0 else "-"
        left = ("le", "re", "diff", *([MEMBERS] if self._job.members else []), *([BECAUSE] if self._job.reasons else []))
        payload = (
            f"{name}={plain_text(value)}" for name, value in row.items() if name not in left and not (value is None and self._union)
        )
        members = [f"{MEMBERS}={row[MEMBERS]}"] if self._job.members and row["diff"] > 0 else []
        why = f"\n    {row[BECAUSE]['text']}" if self._job.reasons else ""
        return " ".join((sign, f"[{time_text(row['le'])}, {time_text(row['re'])})", *payload, *members)) + why

    def finish(self, summary: Summary) -> None:
        self._bar.stop()
        if self._job.quiet:
            return
        changes = summary.inserted + summary.withdrawn
        if as_json():
            written = {} if self._job.output in (None, STREAM) else {"output": self._job.output}
            tell(f"{summary.events:,} events, {changes:,} changes", "summary", "info", **summary.fields, **written)
            return
        shown = Table(box=None, show_header=False, pad_edge=False)
        shown.add_column(style="bold")
        shown.add_column(justify="right")
        shown.add_column(style="dim")
        for name, number, remark in summary.lines():
            shown.add_row(name, number if isinstance(number, str) else f"{number:,}", remark)
        if 0 <= self._job.matches < changes and self._job.matches and self._job.output != STREAM:
            hint = "--matches N prints more, --output FILE writes all"
            self._err.print(f"... {changes - self._job.matches:,} more changes ({hint})", style="dim")
        self._err.print()
        self._err.print(shown)
        if self._job.output not in (None, STREAM):
            self._err.print(f"\n{changes:,} changes in {self._job.output}", soft_wrap=True)


def time_text(time: int | str | None) -> str:
    return "forever" if time in (None, FOREVER) else str(time)


def plain_text(value: Any) -> str:
    """Return a value as it is, or quoted where it would not stand for itself in a line."""
    text = str(value)
    return text if text and text.isprintable() and " " not in text else repr(text)
