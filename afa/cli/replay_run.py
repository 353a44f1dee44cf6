"""Carry out `afa replay` and `afa index`: matches of stored history on standard output, the plan and progress on standard error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import typer
from rich.progress import BarColumn, TaskProgressColumn, TextColumn

from afa.cli.console import Bar, Terminal
from afa.cli.fault import CommandError
from afa.cli.load import load_query
from afa.cli.pattern_run import given_pattern, job_of
from afa.cli.request import CommandRequest
from afa.cli.write import check_output, writing
from afa.io.column_texts import in_text
from afa.io.event_class import times_among
from afa.io.file_bytes import STREAM
from afa.io.files import open_source
from afa.model.conflicts import QUERY, TEMPORAL
from afa.operator.contract import Pattern
from afa.replay.replaying import explain, replay
from afa.replay.sidecar import index
from afa.replay.stored import Stored


def replay_job(job: CommandRequest, source: Sequence[str], explained: bool, require: bool) -> None:
    """Replay stored history, and show what was found, and how; ``explained``: only how it would be."""
    stored = Stored(source[0] if len(source) == 1 else list(source))
    check_output(job.output, None, [job.pattern, *source, *(file.path for file in stored.files)], job.force)
    pattern, job = _pattern(job, stored)
    said: dict[str, Any] = {"time": job.time, "until": job.until, "tick": job.tick}
    if QUERY not in pattern.traits:
        said |= {"key": job.key, "window": job.window, "order_by": job.order_by}
    console = Terminal(stderr=True)
    if explained:
        plan = explain(pattern, stored, **said)
        for n, text in enumerate(plan.witnesses, 1):
            typer.echo(f"{n}. {text}")
        typer.echo(str(plan))
        return
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,} of {task.total:,} row groups")
    with Bar(*columns, console=console, quiet=job.quiet) as bar:
        tasks = dict[str, Any]()

        def progress(what: str, done: int, many: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=many)
            bar.update(tasks[what], completed=done, total=many)

        found = replay(
            pattern,
            stored,
            **said,
            diff=job.diff,
            end=job.end,  # type: ignore[arg-type]
            longest=job.longest,
            **job.bounds,
            require=require,
            progress=progress,
        )
    with writing(job.output, found.matches.schema) as write:
        write(found.matches)
    if job.output != STREAM:
        _shown(found.matches, job)
    if not job.quiet:
        many = found.matches.num_rows
        console.print(f"{many:,} match{'' if many == 1 else 'es'}", style="bold")
        console.print(str(found.plan), style="dim", markup=False, soft_wrap=True)


def _pattern(job: CommandRequest, stored: Stored) -> tuple[Pattern, CommandRequest]:
    found = given_pattern(job.pattern)
    if found is not None and QUERY not in found.traits:
        job = _in_ticks(job, stored) if found.tick is None else job
        return found, job_of(job, found, _kinds(stored)) if TEMPORAL in found.traits else job
    if not stored.files or not stored.files[0].parquet:
        raise CommandError(f"expected Parquet files for a query, whose columns are its fields, but got {stored.name}")
    return load_query(job, open_source(stored.files[0].path, "parquet"), found)


def _kinds(stored: Stored) -> dict[str, Any]:
    return dict(zip(stored.schema.names, stored.schema.types))


def _in_ticks(job: CommandRequest, stored: Stored) -> CommandRequest:
    """Return a job whose tick is said: ms where times are timestamps, as of `afa run`."""
    times = times_among(_kinds(stored))
    name = job.time or ("le" if "le" in stored.schema.names else times[0] if len(times) == 1 else None)
    return job._replace(tick=job.tick or ("ms" if name in times else None))


def _shown(matches: pa.Table, job: CommandRequest) -> None:
    part = matches if job.matches < 0 else matches.slice(0, job.matches)
    for row in in_text(part).to_pylist():
        le, re = row.pop("le"), row.pop("re")
        values = " ".join(f"{name}={value}" for name, value in row.items())
        typer.echo(f"[{le}, {'forever' if re is None else re}) {values}".rstrip())
    if len(part) < len(matches) and part.num_rows:
        left = len(matches) - len(part)
        typer.echo(f"... {left:,} more matches (--matches N prints more, --output FILE writes all)", err=True)


def write_indexes(source: Sequence[str], time: str, columns: Sequence[str], block: int, quiet: bool) -> None:
    """Write the indexes, and say how many rows and blocks they tell of."""
    given = source[0] if len(source) == 1 else list(source)
    total = Stored(given).total
    shown = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
    with Bar(*shown, console=Terminal(stderr=True), quiet=quiet) as bar:
        task = bar.add_task("index", total=total)
        found = index(given, time=time, columns=columns or None, block=block, progress=lambda rows: bar.advance(task, rows))
    if not quiet:
        files = "1 file" if len(found.paths) == 1 else f"{len(found.paths):,} files"
        typer.echo(f"indexed {found.rows:,} rows of {files}: {found.blocks:,} blocks, {max(found.bytes // 1024, 1):,} KiB")
