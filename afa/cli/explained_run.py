"""`afa run --reasons`, `--report`: the operator with a stage that tells why matches come and go, and keeps what has happened."""

from __future__ import annotations

import os
from typing import Any

import typer

from afa.cli.fault import CommandError
from afa.cli.request import CommandRequest
from afa.cli.write import check_output, reads
from afa.io.table_times import TimeType
from afa.io.whole_file import write_text
from afa.reasons import Reasons
from afa.tracing.recorder import Trace


def explaining(operator: Any, job: CommandRequest) -> Any:
    """Return the operator, with the stage around it where reasons are asked.

    Raises
    ------
    CommandError
        Beside an option with which matches have no reasons.
    """
    if not job.reasons and job.report is None:
        return operator
    if job.report is None:
        return Reasons(operator)
    check_output(job.report, "html", reads(job), job.force)
    folder = os.path.dirname(job.report)
    if folder and not os.path.isdir(folder):
        raise CommandError(f"can't write {job.report}: there is no folder {folder}")
    return Trace(operator)


def how_pushed(job: CommandRequest) -> dict[str, bool]:
    """Return how batches are pushed: reasons are told of each row as it came, unless the user says how many come at once."""
    return {"net": False} if (job.reasons or job.report is not None) and job.batch is None else {}


def write_report(operator: Any, job: CommandRequest, why: str = "") -> None:
    """Write the page of a run; ``why``: why nothing has matched."""
    if job.report is None:
        return
    try:
        write_text(job.report, operator.html(title=f"{job.pattern} {job.file}", why=why))
    except OSError as error:
        raise CommandError(f"can't write {job.report}: {os.strerror(error.errno) if error.errno else error}") from error
    if not job.quiet:
        typer.echo(f"afa: {job.report} shows the run: open it in a browser", err=True)


def told_as_times(operator: Any, times: TimeType | None) -> None:
    """Let sentences tell times where the input has some."""
    if isinstance(operator, Reasons) and times is not None:
        operator.tell_times(getattr(times.times.type, "tz", None))
